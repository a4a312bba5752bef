/* SPDX-License-Identifier: Apache-2.0 */
/* `weft group` over ranks: every rank has read all rows and groups its share of them; the groups,
 * which the calls leave on the ranks where they begin, come together on rank 0. */
#include <string.h>

#include "cli/grouping.h"
#include "cli/ranks.h"
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

wi_exit wi_grouping_collect(const wi_arguments *args, weft_context *ctx, wi_npy *table) {
    const size_t width = table->layout.shape[1];
    const wi_exit result =
        wi_collect(args, ctx, sizeof(uint64_t), &table->layout.count, &table->data);
    if (result == WI_EXIT_OK)
        table->layout.shape[0] = table->layout.count / width;
    return result;
}
