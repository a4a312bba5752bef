/* SPDX-License-Identifier: Apache-2.0 */
/* `weft group` over ranks: every rank has read all rows and groups its share of them; the groups,
 * which the calls leave on the ranks where they begin, come together on rank 0. */
#include <string.h>

#include "cli/grouping.h"
#include "cli/ranks.h"
#include "comm/dist.h"
#include "cpu/team.h"

void wi_grouping_take_share(const weft_context *ctx, wi_grouping *g) {
    const size_t key_bytes = g->key_columns * weft_type_size(g->key_type);
    const size_t size = weft_type_size(g->value_type);
    const size_t first = wi_team_share(g->rows, weft_rank(ctx), weft_ranks(ctx));
    const size_t rows = wi_team_share(g->rows, weft_rank(ctx) + 1, weft_ranks(ctx)) - first;
    memmove(g->keys, (char *)g->keys + first * key_bytes, rows * key_bytes);
    for (size_t c = 0; c < g->value_columns; c++)
        memmove((char *)g->values + c * rows * size,
                (char *)g->values + (c * g->rows + first) * size, rows * size);
    g->rows = rows;
}

/* How many cells each rank sends to rank 0, and what this one sends and gets. */
static void count_cells(weft_context *ctx, const uint64_t *rows, size_t width, size_t *sent,
                        size_t *got) {
    const int ranks = weft_ranks(ctx), rank = weft_rank(ctx);
    for (int r = 0; r < ranks; r++) {
        sent[r] = r == 0 ? (size_t)rows[rank] * width : 0;
        got[r] = rank == 0 ? (size_t)rows[r] * width : 0;
    }
}

wi_exit wi_grouping_collect(const wi_arguments *args, weft_context *ctx, wi_npy *table) {
    const size_t ranks = (size_t)weft_ranks(ctx), width = table->layout.shape[1];
    const uint64_t own = table->layout.shape[0], *rows;
    uint64_t before, total;
    if (ranks == 1)
        return WI_EXIT_OK;
    if (wi_all_counts(ctx, own, &before, &total) != WEFT_OK)
        return wi_session_failed(ctx);
    const size_t most = weft_rank(ctx) == 0 ? (size_t)total * width : 0;
    void *const all = wi_host_alloc(most * sizeof(uint64_t));
    size_t *const sent = wi_host_alloc(2 * ranks * sizeof *sent);
    wi_exit result = WI_EXIT_OK;
    if (!all || !sent) {
        wi_say_error("group: no host memory for %zu groups", (size_t)total);
        result = WI_EXIT_FAILED;
    }
    result = wi_agree_result(args, ctx, result);
    weft_status status = WEFT_OK;
    if (result == WI_EXIT_OK)
        status = wi_all_words(ctx, &own, 1, &rows);
    if (result == WI_EXIT_OK && status == WEFT_OK) {
        count_cells(ctx, rows, width, sent, sent + ranks);
        status =
            ctx->comm->calls->all_to_all_v(ctx, table->data, sent, all, sent + ranks, WEFT_U64);
    }
    wi_host_free(sent);
    if (result != WI_EXIT_OK || status != WEFT_OK) {
        wi_host_free(all);
        return result != WI_EXIT_OK ? result : wi_session_failed(ctx);
    }
    wi_host_free(table->data);
    table->data = all;
    table->layout.shape[0] = most / width;
    table->layout.count = most;
    return WI_EXIT_OK;
}
