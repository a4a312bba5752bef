/* SPDX-License-Identifier: Apache-2.0 */
/* Segments that cross from rank to rank: every rank reduces what it has of them, all ranks get
 * these parts, and the rank that owns a segment joins its parts in their order. */
#include "group/group_dist.h"

#include <string.h>

#include "comm/borders.h"
#include "weft/reduce.h"

enum {
    END_WORDS = sizeof(wi_group_border) / sizeof(uint64_t)
};

weft_status wi_group_joining_open(weft_context *ctx, wi_group_joining *j) {
    const size_t ranks = (size_t)ctx->comm->size;
    void *memory;
    const weft_status status = wi_dist_take(ctx, ranks, sizeof *j->all + sizeof *j->parts, &memory);
    j->all = memory;
    j->parts = memory ? (wi_reduce_partial *)(j->all + ranks) : NULL;
    return status;
}

void wi_group_joining_close(wi_group_joining *j) {
    wi_host_free(j->all);
}

/* Reduces elements [from, end) of this rank. */
static weft_status reduce_piece(weft_context *ctx, const char *name, const wi_group_args *column,
                                size_t from, size_t end, wi_reduce_partial *part) {
    const wi_reduce_args args = {.op = column->op,
                                 .type = column->type,
                                 .n = end - from,
                                 .x =
                                     (const char *)column->x + from * weft_type_size(column->type)};
    *part = (wi_reduce_partial){.n = 0};
    return end > from ? wi_reduce_part(ctx, name, &args, part) : WEFT_OK;
}

weft_status wi_group_share_ends(weft_context *ctx, const char *name, const wi_group_args *column,
                                const wi_group_ends *ends, wi_group_joining *j) {
    wi_group_border own = {.flags = (ends->n > 0 ? WI_GROUP_HAS : 0) |
                                    (ends->through ? WI_GROUP_THROUGH : 0),
                           .tail = ends->tail};
    const uint64_t *all = NULL;
    uint64_t words[END_WORDS];
    weft_status status = reduce_piece(ctx, name, column, 0, ends->head, &own.head_part);
    if (status == WEFT_OK)
        status = reduce_piece(ctx, name, column, ends->tail, ends->n, &own.tail_part);
    status = wi_agree(ctx, 0, status);
    memcpy(words, &own, sizeof words);
    if (status == WEFT_OK)
        status = wi_all_words(ctx, words, END_WORDS, &all);
    if (status == WEFT_OK)
        memcpy(j->all, all, (size_t)ctx->comm->size * sizeof *j->all);
    return status;
}

void wi_group_join(weft_context *ctx, const wi_group_args *column, const wi_group_joining *j,
                   int first, uint64_t *result) {
    int count = 0;
    j->parts[count++] = j->all[first].tail_part;
    for (int r = first + 1; r < ctx->comm->size; r++) {
        if (!(j->all[r].flags & WI_GROUP_HAS))
            continue;
        j->parts[count++] = j->all[r].head_part;
        if (!(j->all[r].flags & WI_GROUP_THROUGH))
            break;
    }
    wi_reduce_join(ctx, column->op, column->type, j->parts, count, result);
}

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
