/* SPDX-License-Identifier: Apache-2.0 */
/* Segments that cross from rank to rank: every rank reduces what it has of them, all ranks get
 * these parts, and the rank that owns a segment joins its parts in their order. */
#include "group/group_dist.h"

#include <string.h>

#include "comm/borders.h"
#include "weft/reduce.h"

weft_status wi_group_joining_open(weft_context *ctx, const wi_group_pieces *pieces,
                                  wi_group_joining *j) {
    const size_t ranks = (size_t)ctx->comm->size;
    void *memory;
    j->pieces = pieces;
    const size_t border = wi_group_border_words(j);
    const weft_status status =
        wi_dist_take(ctx, border + ranks * (border + pieces->words), sizeof *j->own, &memory);
    j->own = memory;
    j->all = memory ? j->own + border : NULL;
    j->parts = memory ? j->all + ranks * border : NULL;
    return status;
}

void wi_group_joining_close(wi_group_joining *j) {
    wi_host_free(j->own);
}

weft_status wi_group_share_ends(weft_context *ctx, const char *name, const wi_group_args *column,
                                const wi_group_ends *ends, wi_group_joining *j) {
    uint64_t *const head = j->own + WI_GROUP_BORDER, *const tail = head + j->pieces->words;
    j->own[WI_GROUP_FLAGS] =
        (ends->n > 0 ? WI_GROUP_HAS : 0) | (ends->through ? WI_GROUP_THROUGH : 0);
    j->own[WI_GROUP_TAIL] = ends->tail;
    weft_status status = j->pieces->reduce(ctx, name, column, 0, ends->head, head);
    if (status == WEFT_OK)
        status = j->pieces->reduce(ctx, name, column, ends->tail, ends->n, tail);
    status = wi_agree(ctx, 0, status);
    return status == WEFT_OK ? ctx->comm->calls->all_gather(ctx, j->own, j->all,
                                                            wi_group_border_words(j), WEFT_U64)
                             : status;
}

void wi_group_join(weft_context *ctx, const wi_group_args *column, const wi_group_joining *j,
                   int first, uint64_t *result) {
    const size_t words = j->pieces->words, bytes = words * sizeof *j->parts;
    int count = 0;
    memcpy(j->parts, wi_group_border_of(j, first) + WI_GROUP_BORDER + words, bytes);
    count++;
    for (int r = first + 1; r < ctx->comm->size; r++) {
        const uint64_t *const border = wi_group_border_of(j, r);
        if (!(border[WI_GROUP_FLAGS] & WI_GROUP_HAS))
            continue;
        memcpy(j->parts + (size_t)count * words, border + WI_GROUP_BORDER, bytes);
        count++;
        if (!(border[WI_GROUP_FLAGS] & WI_GROUP_THROUGH))
            break;
    }
    j->pieces->join(ctx, column, j->parts, count, result);
}

/* ---- pieces as weft_reduce makes them ---- */

static weft_status reduce_piece(weft_context *ctx, const char *call, const wi_group_args *column,
                                size_t from, size_t end, uint64_t *piece) {
    const wi_reduce_args args = {.op = column->op,
                                 .type = column->type,
                                 .n = end - from,
                                 .x =
                                     (const char *)column->x + from * weft_type_size(column->type)};
    wi_reduce_partial part = {.n = 0};
    const weft_status status = end > from ? wi_reduce_part(ctx, call, &args, &part) : WEFT_OK;
    memcpy(piece, &part, sizeof part);
    return status;
}

static void join_pieces(weft_context *ctx, const wi_group_args *column, const uint64_t *pieces,
                        int count, uint64_t *result) {
    wi_reduce_join(ctx, column->op, column->type, (const void *)pieces, count, result);
}

static weft_status reduce_segments(weft_context *child, const wi_group_args *column, size_t n,
                                   const void *x, size_t segments, weft_type offset_type,
                                   const void *offsets, void *y) {
    return weft_reduce_segments(child, column->asked, column->type, n, x, segments, offset_type,
                                offsets, y);
}

const wi_group_pieces wi_group_rounded_pieces = {sizeof(wi_reduce_partial) / sizeof(uint64_t),
                                                 reduce_piece, join_pieces, reduce_segments};

/* ---- runs of equal keys ---- */

/* Flags of the keys that differ from the one before, in memory of the child's place. */
static weft_status mark(weft_context *child, const void *keys, size_t width, size_t n,
                        void **heads) {
    const weft_status status = wi_group_take(child, "weft_reduce_by_key", n, heads);
    return status == WEFT_OK ? wi_group_mark_keys(child, keys, width, n, *heads) : status;
}

/* Is any of these flags set? */
static weft_status any(weft_context *child, const uint8_t *heads, size_t n, bool *found) {
    uint8_t most = 0;
    const weft_status status =
        n > 0 ? weft_reduce(child, WEFT_MAX, WEFT_U8, n, heads, &most) : WEFT_OK;
    *found = most > 0;
    return status;
}

/* In device memory: the first run ends at the first flag, and halving finds the last one. */
static weft_status find_ends_there(weft_context *child, const void *keys, size_t width, size_t n,
                                   size_t *first_end, size_t *last_begin) {
    void *memory = NULL;
    uint64_t at = 0;
    bool found = false;
    weft_status status = mark(child, keys, width, n, &memory);
    const uint8_t *const heads = memory;
    if (status == WEFT_OK)
        status = any(child, heads + 1, n - 1, &found);
    if (status == WEFT_OK && found)
        status = weft_reduce(child, WEFT_ARGMAX, WEFT_U8, n - 1, heads + 1, &at);
    *first_end = found ? at + 1 : n;
    *last_begin = found ? *first_end : 0;
    for (size_t end = n; end > *last_begin + 1 && found && status == WEFT_OK;) {
        bool behind; /* the last flag is in [*last_begin, end) */
        const size_t half = *last_begin + (end - *last_begin) / 2;
        status = any(child, heads + half, end - half, &behind);
        *last_begin = behind ? half : *last_begin;
        end = behind ? end : half;
    }
    const weft_status freed = wi_group_give(child, memory);
    return status == WEFT_OK ? freed : status;
}

/* The same of keys in the memory of another GPU, which this one may not reach. */
static weft_status find_ends_far(weft_context *child, const void *keys, size_t width, size_t n,
                                 size_t *first_end, size_t *last_begin) {
    void *copy = NULL;
    weft_status status = weft_alloc(child, &copy, n * width);
    if (status == WEFT_OK)
        status = weft_copy(child, copy, keys, n * width);
    if (status == WEFT_OK)
        status = find_ends_there(child, copy, width, n, first_end, last_begin);
    const weft_status freed = weft_free(child, copy);
    return status == WEFT_OK ? freed : status;
}

/* Where the first run ends, and where the last begins. */
static weft_status find_ends(weft_context *child, const void *keys, size_t width, size_t n,
                             size_t *first_end, size_t *last_begin) {
    const char *const k = keys;
    if (wi_is_device(child, keys))
        return find_ends_there(child, keys, width, n, first_end, last_begin);
    if (!wi_is_host(child, keys))
        return find_ends_far(child, keys, width, n, first_end, last_begin);
    *first_end = 1;
    *last_begin = n - 1;
    while (*first_end < n && memcmp(k, k + *first_end * width, width) == 0)
        ++*first_end;
    while (*last_begin > 0 &&
           memcmp(k + (n - 1) * width, k + (*last_begin - 1) * width, width) == 0)
        --*last_begin;
    return WEFT_OK;
}

/* Is the last key of rank r the first of rank s? */
static bool are_joined(const wi_borders *b, int r, int s) {
    return r >= 0 && s >= 0 && memcmp(wi_borders_last(b, r), wi_borders_first(b, s), b->width) == 0;
}

weft_status wi_group_key_ends(weft_context *ctx, const void *keys, size_t width, size_t n,
                              wi_group_ends *ends) {
    const int rank = ctx->comm->rank;
    const char *const last = n > 0 ? (const char *)keys + (n - 1) * width : NULL;
    wi_borders b;
    size_t first_end = 0, last_begin = n;
    *ends = (wi_group_ends){.n = n, .tail = n};
    weft_status status = wi_borders_meet(ctx, &b, width, n, keys, last);
    if (status == WEFT_OK && n > 0) {
        const bool before = are_joined(&b, wi_borders_next(&b, rank, -1), rank);
        const bool behind = are_joined(&b, rank, wi_borders_next(&b, rank, 1));
        if (before || behind)
            status = wi_local(ctx, find_ends(ctx->child, keys, width, n, &first_end, &last_begin));
        ends->head = before ? first_end : 0;
        ends->through = before && behind && first_end == n;
        ends->tail = behind && !ends->through ? last_begin : n;
    }
    status = wi_agree(ctx, 0, status);
    wi_borders_close(&b);
    return status;
}
