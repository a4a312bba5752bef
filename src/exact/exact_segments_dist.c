/* SPDX-License-Identifier: Apache-2.0 */
/* Exact sums of segments and runs over ranks: the rungs are those of group, and what crosses from
 * rank to rank is added up as words of exact_number.h, and rounded once. */
#include "comm/dist.h"
#include "exact/exact_segments.h"

static weft_status reduce_piece(weft_context *ctx, const char *call, const wi_group_args *column,
                                size_t from, size_t end, uint64_t *piece) {
    const wi_exact_args args = {.terms = wi_exact_segment_terms(column),
                                .type = column->type,
                                .n = end - from,
                                .x = (const char *)column->x + from * weft_type_size(column->type)};
    int64_t word[WI_EXACT_WORDS] = {0};
    const weft_status status = end > from ? wi_exact_add_part(ctx, call, args, word) : WEFT_OK;
    memcpy(piece, word, sizeof word);
    return status;
}

static void join(weft_context *ctx, const wi_group_args *column, const uint64_t *pieces, int count,
                 uint64_t *result) {
    int64_t all[WI_EXACT_WORDS] = {0}, word[WI_EXACT_WORDS];
    (void)ctx;
    for (int k = 0; k < count; k++) {
        memcpy(word, pieces + (size_t)k * WI_EXACT_WORDS, sizeof word);
        wi_exact_merge_words(all, word);
    }
    wi_exact_carry(all);
    const bool root = wi_exact_segment_terms(column) == WI_EXACT_SQUARES;
    wi_exact_store(column->result_type, wi_exact_round(all, column->result_type, root), result);
}

static weft_status reduce_segments(weft_context *child, const wi_group_args *column, size_t n,
                                   const void *x, size_t segments, weft_type offset_type,
                                   const void *offsets, void *y) {
    return weft_exact_reduce_segments(child, column->asked, column->type, n, x, segments,
                                      offset_type, offsets, column->result_type, y);
}

const wi_group_pieces wi_exact_pieces = {WI_EXACT_WORDS, reduce_piece, join, reduce_segments};
