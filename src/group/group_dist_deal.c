/* SPDX-License-Identifier: Apache-2.0 */
/* Segments to the ranks that have their elements. Offsets are positions in the whole, and never
 * fall: so what a rank's segments have on another rank are neighbours, found by searching. */
#include <string.h>

#include "group/group_dist.h"
#include "weft/sort.h"

enum {
    N,
    SEGMENTS,
    FIRST, /* its first offset, and the last */
    LAST,
    WORDS
};

/* What a rank has, in host memory of each. */
static weft_status look(weft_context *ctx, const wi_group_args *a, uint64_t own[WORDS]) {
    const size_t at[2] = {0, a->segments};
    weft_status status = WEFT_OK;
    memset(own, 0, WORDS * sizeof *own);
    own[N] = a->n;
    own[SEGMENTS] = a->segments;
    for (int k = 0; k < 2 && a->segments > 0 && status == WEFT_OK; k++)
        status = weft_copy(ctx->child, &own[FIRST + k],
                           (const char *)a->starts + at[k] * a->start_bytes, a->start_bytes);
    return wi_local(ctx, status);
}

/* Do the offsets of all ranks go on from one to the next, from 0 to the number of elements? */
static weft_status check_whole(weft_context *ctx, const char *call, const uint64_t *all,
                               uint64_t total) {
    uint64_t expected = 0;
    bool any = false;
    for (int r = 0; r < ctx->comm->size; r++, all += WORDS) {
        if (all[SEGMENTS] == 0)
            continue;
        if (all[FIRST] != expected)
            return wi_fail(ctx, WEFT_EARG,
                           "%s: the offsets of rank %d begin with %llu, and those before end with "
                           "%llu; offsets are positions in the whole, and go on from rank to rank",
                           call, r, (unsigned long long)all[FIRST], (unsigned long long)expected);
        expected = all[LAST];
        any = true;
    }
    if (expected == total)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG,
                   any ? "%s: the offsets of all ranks end with %llu, and there are %llu elements; "
                         "the last offset is the number of elements of all ranks"
                       : "%s: segments is 0 on all ranks (%llu), and there are %llu elements; pass "
                         "offsets of segments that hold them",
                   call, (unsigned long long)expected, (unsigned long long)total);
}

static weft_status take(weft_context *ctx, wi_group_dealt *d) {
    void *memory = NULL;
    const size_t ranks = (size_t)ctx->comm->size;
    const weft_status status = wi_dist_take(ctx, ranks, 4 * sizeof *d->sent, &memory);
    if (status != WEFT_OK)
        return status;
    d->sent = memory;
    d->got = d->sent + ranks;
    d->first = d->got + ranks;
    d->cut = d->first + ranks;
    memset(memory, 0, ranks * 4 * sizeof *d->sent);
    return WEFT_OK;
}

/* Finds the bounds of where each rank's part begins, and of the end, among this rank's offsets. */
static weft_status find_bounds(weft_context *ctx, const wi_group_args *a, const uint64_t *begins,
                               uint64_t *lower, uint64_t *upper) {
    const size_t m = (size_t)ctx->comm->size + 1;
    const weft_type type = a->start_bytes == 4 ? WEFT_U32 : WEFT_U64;
    void *wanted;
    weft_status status = wi_dist_take(ctx, m, a->start_bytes, &wanted);
    if (status != WEFT_OK)
        return status;
    for (size_t r = 0; r < m; r++)
        memcpy((char *)wanted + r * a->start_bytes, &begins[r], a->start_bytes);
    status = weft_search(ctx->child, WEFT_LOWER, WEFT_ASCENDING, type, a->segments + 1, a->starts,
                         m, wanted, lower);
    if (status == WEFT_OK)
        status = weft_search(ctx->child, WEFT_UPPER, WEFT_ASCENDING, type, a->segments + 1,
                             a->starts, m, wanted, upper);
    wi_host_free(wanted);
    return wi_local(ctx, status);
}

static size_t at_most(uint64_t a, size_t most) {
    return a < most ? (size_t)a : most;
}

/* Which segments go to each rank: those with elements there, and the empty ones that lie in its
 * part or at its beginning; the last rank with elements gets those at the end, too. */
static void divide(const weft_context *ctx, const wi_group_args *a, const uint64_t *lower,
                   const uint64_t *upper, wi_group_dealt *d) {
    const uint64_t *const begins = d->begins;
    for (int r = 0; r < ctx->comm->size; r++) {
        if (begins[r] == begins[r + 1])
            continue;
        const bool is_last = begins[r + 1] == d->total;
        size_t end = is_last ? a->segments : at_most(lower[r + 1], a->segments);
        d->cut[r] = lower[r] == upper[r] && lower[r] > 0;
        d->first[r] = at_most(lower[r] - d->cut[r], a->segments);
        end = end > d->first[r] ? end : d->first[r]; /* of offsets that fall */
        d->sent[r] = end - d->first[r];
        d->cut[r] = d->cut[r] && d->sent[r] > 0;
    }
}

/* Copies the offsets of the segments that are sent, in the order of the ranks. */
static weft_status pack(weft_context *ctx, const wi_group_args *a, wi_group_dealt *d) {
    size_t all = 0;
    for (int r = 0; r < ctx->comm->size; r++)
        all += d->sent[r];
    weft_status status = wi_dist_take(ctx, all, a->start_bytes, &d->sent_offsets);
    char *to = d->sent_offsets;
    for (int r = 0; r < ctx->comm->size && status == WEFT_OK; r++) {
        const size_t bytes = d->sent[r] * a->start_bytes;
        if (bytes > 0)
            status = wi_local(ctx, weft_copy(ctx->child, to,
                                             (const char *)a->starts + d->first[r] * a->start_bytes,
                                             bytes));
        to += bytes;
    }
    return status;
}

static weft_status prepare(weft_context *ctx, const wi_group_args *a, wi_group_dealt *d) {
    const size_t m = (size_t)ctx->comm->size + 1;
    void *bounds = NULL;
    weft_status status = take(ctx, d);
    if (status != WEFT_OK || a->segments == 0)
        return status;
    status = wi_dist_take(ctx, m, 2 * sizeof(uint64_t), &bounds);
    uint64_t *const lower = bounds, *const upper = bounds ? lower + m : NULL;
    if (status == WEFT_OK)
        status = find_bounds(ctx, a, d->begins, lower, upper);
    if (status == WEFT_OK) {
        divide(ctx, a, lower, upper, d);
        status = pack(ctx, a, d);
    }
    wi_host_free(bounds);
    return status;
}

static weft_status take_rest(weft_context *ctx, const wi_group_args *a, wi_group_dealt *d) {
    void *starts = NULL;
    for (int r = 0; r < ctx->comm->size; r++)
        d->count += d->got[r];
    weft_status status = wi_dist_take(ctx, d->count, a->start_bytes, &d->got_offsets);
    if (status == WEFT_OK)
        status = wi_dist_take(ctx, d->count + 1, sizeof *d->starts, &starts);
    d->starts = starts;
    return status;
}

/* Turns the offsets that came into starts in this rank's part. Returns whether the first segment
 * begins before it. */
static bool unpack(const wi_group_args *a, wi_group_dealt *d) {
    const wi_group_args came = {.starts = d->got_offsets, .start_bytes = a->start_bytes};
    uint64_t least = 0;
    for (size_t s = 0; s < d->count; s++) {
        const uint64_t start = wi_group_start(&came, s);
        const uint64_t here = start > d->before ? start - d->before : 0;
        least = here > least ? here : least; /* of offsets that fall */
        least = least < a->n ? least : a->n;
        d->starts[s] = s > 0 ? least : 0;
    }
    d->starts[d->count] = a->n;
    return d->count > 0 && wi_group_start(&came, 0) < d->before;
}

/* Learns where the first and the last segment go on. */
static weft_status find_ends(weft_context *ctx, const wi_group_args *a, bool is_cut,
                             wi_group_dealt *d) {
    const uint64_t own[2] = {d->count, is_cut}, *all = NULL;
    const weft_status status = wi_all_words(ctx, own, 2, &all);
    d->ends = (wi_group_ends){.n = a->n, .tail = a->n};
    if (status != WEFT_OK || d->count == 0)
        return status;
    int next = ctx->comm->rank + 1;
    while (next < ctx->comm->size && all[2 * next] == 0)
        next++;
    const bool goes_on = next < ctx->comm->size && all[2 * next + 1];
    d->ends.head = is_cut ? d->starts[1] : 0;
    d->ends.through = is_cut && goes_on && d->count == 1;
    d->ends.tail = goes_on && !d->ends.through ? d->starts[d->count - 1] : a->n;
    return status;
}

static void add_up(const weft_context *ctx, const uint64_t *all, wi_group_dealt *d) {
    d->begins[0] = 0;
    for (int r = 0; r < ctx->comm->size; r++)
        d->begins[r + 1] = d->begins[r] + all[r * WORDS + N];
    d->before = d->begins[ctx->comm->rank];
    d->total = d->begins[ctx->comm->size];
}

static weft_status deal(weft_context *ctx, const wi_group_args *a, wi_group_dealt *d) {
    weft_status status = wi_agree(ctx, 0, prepare(ctx, a, d));
    if (status == WEFT_OK)
        status = wi_exchange_counts(ctx, d->sent, d->got);
    if (status == WEFT_OK)
        status = wi_agree(ctx, 0, take_rest(ctx, a, d));
    if (status == WEFT_OK)
        status =
            wi_dist_exchange(ctx, d->sent_offsets, d->sent, d->got_offsets, d->got, a->start_bytes);
    return status == WEFT_OK ? find_ends(ctx, a, unpack(a, d), d) : status;
}

weft_status wi_group_deal(weft_context *ctx, const wi_group_args *a, weft_type offset_type,
                          wi_group_dealt *d) {
    uint64_t own[WORDS];
    const uint64_t *all = NULL;
    void *begins = NULL;
    *d = (wi_group_dealt){.count = 0};
    weft_status status = wi_dist_take(ctx, (size_t)ctx->comm->size + 1, sizeof *d->begins, &begins);
    d->begins = begins;
    if (status == WEFT_OK)
        status = look(ctx, a, own);
    status = wi_agree(ctx, 0, status);
    if (status == WEFT_OK)
        status = wi_all_words(ctx, own, WORDS, &all);
    if (status == WEFT_OK) { /* what these say is the same on all ranks */
        add_up(ctx, all, d);
        status = wi_check_index_type(ctx, a->call, "offset_type", offset_type, d->total);
        if (status == WEFT_OK)
            status = check_whole(ctx, a->call, all, d->total);
    }
    return status == WEFT_OK && d->total > 0 ? deal(ctx, a, d) : status;
}

void wi_group_deal_close(wi_group_dealt *d) {
    wi_host_free(d->begins);
    wi_host_free(d->sent);
    wi_host_free(d->sent_offsets);
    wi_host_free(d->got_offsets);
    wi_host_free(d->starts);
}
