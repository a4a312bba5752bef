/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the ranks that communicate among themselves. */
#include "comm/dist.h"

/* Steps on host memory: what stands above the backend for memory of GPUs is left out. */
static const wi_comm_table *backend_of(const weft_context *ctx) {
    return ctx->comm->below ? ctx->comm->below : ctx->comm->calls;
}

bool wi_comm_splits(const weft_context *ctx) {
    return ctx->comm && backend_of(ctx)->split;
}

static weft_context *take_part(weft_context *ctx) {
    weft_context *const part = wi_host_alloc(sizeof *part);
    wi_comm *const comm = wi_host_alloc(sizeof *comm);
    if (!part || !comm) {
        wi_host_free(part);
        wi_host_free(comm);
        wi_fail(ctx, WEFT_ENOMEM, "%s: no host memory for a communicator", ctx->comm->call);
        return NULL;
    }
    *comm = (wi_comm){.call = ctx->comm->call};
    *part = (weft_context){
        .kind = ctx->kind, .threads = ctx->threads, .comm = comm, .child = ctx->child};
    return part;
}

static void close_part(weft_context *part) {
    if (!part)
        return;
    if (part->comm->calls)
        part->comm->calls->close(part);
    wi_host_free(part->comm);
    wi_host_free(part);
}

void wi_comm_grid_close(weft_context *ctx) {
    wi_comm *const comm = ctx->comm;
    close_part(comm->grid_row);
    close_part(comm->grid_column);
    comm->grid_row = comm->grid_column = NULL;
    comm->grid_rows = 0;
}

static weft_status open_grid(weft_context *ctx, size_t rows) {
    wi_comm *const comm = ctx->comm;
    const int rank = comm->rank, down = (int)rows;
    wi_comm_grid_close(ctx);
    comm->grid_row = take_part(ctx);
    comm->grid_column = take_part(ctx);
    weft_status status =
        wi_agree(ctx, rows, comm->grid_row && comm->grid_column ? WEFT_OK : WEFT_ENOMEM);
    if (status == WEFT_OK)
        status = wi_agree(ctx, 0, backend_of(ctx)->split(ctx, comm->grid_row, rank % down));
    if (status == WEFT_OK)
        status = wi_agree(ctx, 0, backend_of(ctx)->split(ctx, comm->grid_column, rank / down));
    comm->grid_rows = status == WEFT_OK ? rows : 0;
    return status;
}

weft_status wi_comm_grid(weft_context *ctx, size_t rows, weft_context **row,
                         weft_context **column) {
    wi_comm *const comm = ctx->comm;
    const weft_status status = comm->grid_rows == rows ? WEFT_OK : open_grid(ctx, rows);
    *row = comm->grid_row;
    *column = comm->grid_column;
    if (status == WEFT_OK)
        (*row)->comm->call = (*column)->comm->call = comm->call;
    return status;
}

weft_status wi_comm_part(weft_context *ctx, const weft_context *part, weft_status status) {
    return status == WEFT_OK ? status : wi_comm_break(ctx, part->comm->why);
}
