/* SPDX-License-Identifier: Apache-2.0 */
/* What the host sends to a GPU before it can factor there: where the entries of A go in L, and the
 * matrix for residuals. */
#include <string.h>

#include "core/gpu.h"
#include "sparse/chol_device.h"

/* ---- the matrix ---- */

static void narrow(size_t n, const int64_t *from, int32_t *to) {
    for (size_t k = 0; k < n; k++)
        to[k] = (int32_t)from[k];
}

/* `room` has place for the larger of n and the entries. */
static weft_status send_matrix(weft_context *ctx, const weft_chol *plan, const weft_sparse *matrix,
                               int32_t *room) {
    const wi_device_matrix to = wi_chol_device_matrix(plan);
    const size_t n = plan->report.n, entries = plan->report.nnz_a;
    const size_t by_rows = (size_t)matrix->row_start[n];
    const struct {
        int32_t *to;
        const int64_t *from;
        size_t count;
    } narrowed[] = {{to.col, matrix->col, by_rows},
                    {to.row, matrix->row, entries},
                    {to.perm, plan->symbolic.perm, n}};
    weft_status status =
        wi_gpu_copy(ctx, to.row_start, matrix->row_start, (n + 1) * sizeof(int64_t));
    if (status == WEFT_OK)
        status = wi_gpu_copy(ctx, to.start, matrix->start, (n + 1) * sizeof(int64_t));
    if (status == WEFT_OK && by_rows > 0)
        status = wi_gpu_copy(ctx, to.at, matrix->at, by_rows * sizeof(int64_t));
    for (size_t k = 0; k < sizeof narrowed / sizeof *narrowed && status == WEFT_OK; k++) {
        narrow(narrowed[k].count, narrowed[k].from, room);
        if (narrowed[k].count > 0)
            status = wi_gpu_copy(ctx, narrowed[k].to, room, narrowed[k].count * sizeof *room);
    }
    if (status == WEFT_OK && plan->kind == WEFT_CHOL_INDEFINITE) /* the last of them once more */
        status = wi_gpu_copy(ctx, (int32_t *)wi_chol_device_view(plan).pivots.perm, room,
                             n * sizeof *room);
    return status;
}

/* ---- maps ---- */

/* Host memory while the maps are made. */
typedef struct map_room {
    wi_numbers maps;
    int64_t *at, *place;
    int32_t *spare; /* for the most of rows, columns and entries */
} map_room;

static map_room rooms_in(void *memory, size_t n, size_t entries, size_t rows) {
    map_room room = {.at = memory};
    room.maps.entry_at = room.at + n;
    room.maps.entry = room.maps.entry_at + n + 1;
    room.place = room.maps.entry + entries + 1;
    room.maps.slot = (int32_t *)(room.place + entries);
    room.maps.relative = room.maps.slot + entries + 1;
    room.spare = room.maps.relative + rows;
    return room;
}

/* Where in L of this GPU every entry of A goes. */
static void find_places(const wi_schedule *schedule, size_t entries, const map_room *room) {
    int64_t panel = 0;                                        /* they follow each other in L */
    memset(room->place, 0xff, entries * sizeof *room->place); /* -1: of another GPU */
    for (int64_t f = 0; f < schedule->fronts; f++) {
        const wi_front_record *const r = &schedule->front[f];
        for (int64_t j = 0; j < r->columns; j++, panel += r->ld) {
            const int64_t *const at = room->maps.entry_at + r->first + j;
            for (int64_t e = at[0]; e < at[1]; e++)
                room->place[room->maps.entry[e]] = panel + room->maps.slot[e];
        }
    }
}

static weft_status send_maps(weft_context *ctx, const weft_chol *plan, const map_room *room,
                             size_t rows) {
    const wi_device_chol to = wi_chol_device_view(plan);
    const size_t bytes = rows * sizeof(int32_t);
    weft_status status = wi_gpu_copy(ctx, (int32_t *)to.relative, room->maps.relative, bytes);
    narrow(rows, plan->symbolic.rows, room->spare);
    if (status == WEFT_OK)
        status = wi_gpu_copy(ctx, (int32_t *)to.rows, room->spare, bytes);
    if (status == WEFT_OK && plan->report.nnz_a > 0)
        status = wi_gpu_copy(ctx, (int64_t *)wi_chol_device_places(plan), room->place,
                             plan->report.nnz_a * sizeof(int64_t));
    return status;
}

/* What all GPUs get. */
typedef struct map_sending {
    const map_room *room;
    const weft_sparse *matrix;
    size_t rows;
} map_sending;

static weft_status send_all_maps(weft_context *ctx, weft_chol *plan, void *user) {
    const map_sending *const s = user;
    find_places(&plan->device->schedule, plan->report.nnz_a, s->room);
    weft_status status = send_maps(ctx, plan, s->room, s->rows);
    if (status == WEFT_OK)
        status = send_matrix(ctx, plan, s->matrix, s->room->spare);
    plan->device->mapped = status == WEFT_OK;
    return status;
}

weft_status wi_chol_device_map(weft_context *ctx, const char *call, weft_chol *plan,
                               const weft_sparse *matrix) {
    const wi_symbolic *const symbolic = &plan->symbolic;
    const size_t n = plan->report.n, entries = plan->report.nnz_a;
    const size_t rows = (size_t)symbolic->rows_at[symbolic->supernodes];
    const size_t spare = rows > entries ? rows : entries; /* rows are at least the columns */
    const size_t bytes = (2 * n + 2 * entries + 2) * sizeof(int64_t) +
                         (entries + 1 + rows + spare) * sizeof(int32_t);
    if (plan->device->mapped || n == 0)
        return WEFT_OK;
    void *const memory = wi_host_alloc(bytes);
    if (!memory)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "%s: no memory for %zu bytes, the maps of a factor; free "
                       "some",
                       call, bytes);
    map_room room = rooms_in(memory, n, entries, rows);
    memset(room.maps.relative, 0, rows * sizeof(int32_t)); /* of the columns there is none */
    weft_status status = wi_numbers_fill_maps(ctx, call, symbolic, matrix, &room.maps, room.at);
    if (status == WEFT_OK)
        status = wi_chol_each_gpu(ctx, plan, send_all_maps, &(map_sending){&room, matrix, rows});
    wi_host_free(memory);
    return status;
}
