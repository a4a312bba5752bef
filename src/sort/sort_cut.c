/* SPDX-License-Identifier: Apache-2.0 */
/* The key at which the share of each rank begins is found by bisection over all possible keys:
 * every rank counts, in its sorted part, how many keys are not above the middle, for all shares at
 * once, and the sum over ranks halves the range. Then the equal keys are divided in the order of
 * ranks. */
#include "sort/sort_cut.h"

#include <string.h>

#include "sort/sort_scalar.h"

/* What is known of each share: lines of one word for each rank. */
enum {
    WANTED, /* the position in the whole where the share begins */
    LOW,    /* the key there is from LOW to HIGH */
    HIGH,
    OWN,                   /* keys of this rank below it, and equal to it in each run */
    ALL = OWN + 3,         /* the same of all ranks together */
    BEFORE = ALL + 3,      /* and of lower ranks */
    SENT = BEFORE + 3,     /* a line for each run */
    GOT = SENT + 2,        /* and again */
    SCALED_SENT = GOT + 2, /* in bytes */
    SCALED_GOT,
    LINES
};

enum {
    SEEN = 1024 /* a power of 2 */
};

/* Reading from device memory takes long. Searches begin alike, so many keys are read again. */
struct wi_sort_seen {
    struct {
        size_t at; /* position + 1; 0: none */
        uint64_t key;
    } of[WI_SORT_RUNS][SEEN];
};

static uint64_t *line(const weft_context *ctx, const wi_sort_cut *cut, int k) {
    return cut->room + (size_t)k * (size_t)ctx->comm->size;
}

weft_status wi_sort_cut_open(weft_context *ctx, wi_sort_cut *cut) {
    void *room;
    const weft_status status =
        wi_dist_take(ctx, (size_t)ctx->comm->size, LINES * sizeof(uint64_t), &room);
    cut->room = room;
    for (int k = 0; k < WI_SORT_RUNS && status == WEFT_OK; k++) {
        cut->sent[k] = (size_t *)line(ctx, cut, SENT + k);
        cut->got[k] = (size_t *)line(ctx, cut, GOT + k);
    }
    cut->status = WEFT_OK;
    if (status != WEFT_OK || !wi_dist_stays(ctx))
        return status;
    void *seen;
    const weft_status taken = wi_dist_take(ctx, 1, sizeof *cut->seen, &seen);
    cut->seen = seen;
    if (taken == WEFT_OK)
        memset(cut->seen, 0, sizeof *cut->seen);
    return taken;
}

void wi_sort_cut_close(wi_sort_cut *cut) {
    wi_host_free(cut->room);
    wi_host_free(cut->seen);
}

/* ---- counting in this rank's parts ---- */

static uint64_t ones_of(const wi_sort_cut *cut) {
    const unsigned bits = cut->end_bit - cut->first_bit;
    return bits == 0 ? 0 : UINT64_MAX >> (64 - bits);
}

/* The key of element i of run k. */
static uint64_t key_at(weft_context *ctx, wi_sort_cut *cut, const wi_sort_key *key, int k,
                       size_t i) {
    const size_t size = weft_type_size(cut->type);
    uint64_t bits = 0;
    if (!cut->seen)
        return wi_sort_key_at(key, size, cut->x[k], i);
    size_t *const at = &cut->seen->of[k][i % SEEN].at;
    uint64_t *const known = &cut->seen->of[k][i % SEEN].key;
    if (*at != i + 1) {
        const weft_status status =
            wi_local(ctx, weft_copy(ctx->child, &bits, (const char *)cut->x[k] + i * size, size));
        cut->status = cut->status == WEFT_OK ? status : cut->status;
        *known = wi_sort_key_at(key, size, &bits, 0);
        *at = i + 1;
    }
    return *known;
}

/* How many keys of run k are below `bound`, or with `equal` not above it. */
static size_t count(weft_context *ctx, wi_sort_cut *cut, const wi_sort_key *key, int k,
                    uint64_t bound, bool equal) {
    const uint64_t ones = ones_of(cut);
    size_t first = 0, n = cut->n[k];
    if (ones == 0)
        return equal ? n : 0;
    while (n > 0) {
        const size_t half = n / 2;
        const uint64_t own = key_at(ctx, cut, key, k, first + half) >> cut->first_bit & ones;
        const bool counts = own < bound || (equal && own == bound);
        first = counts ? first + half + 1 : first;
        n = counts ? n - half - 1 : half;
    }
    return first;
}

/* ---- finding the shares ---- */

static weft_status find_wanted(weft_context *ctx, wi_sort_cut *cut) {
    uint64_t n = 0, *const wanted = line(ctx, cut, WANTED);
    const uint64_t *all = NULL;
    for (int k = 0; k < cut->runs; k++)
        n += cut->n[k];
    const weft_status status = wi_all_words(ctx, &n, 1, &all);
    uint64_t before = 0;
    for (int r = 0; r < ctx->comm->size && status == WEFT_OK; r++) {
        wanted[r] = before;
        before += all[r];
        line(ctx, cut, LOW)[r] = 0;
        line(ctx, cut, HIGH)[r] = ones_of(cut);
    }
    return status;
}

/* Halves the range of every share's first key. */
static weft_status halve(weft_context *ctx, wi_sort_cut *cut, const wi_sort_key *key) {
    uint64_t *const low = line(ctx, cut, LOW), *const high = line(ctx, cut, HIGH),
                    *const own = line(ctx, cut, OWN), *const all = line(ctx, cut, ALL);
    const int size = ctx->comm->size;
    for (int r = 0; r < size; r++) {
        own[r] = 0;
        for (int k = 0; k < cut->runs; k++)
            own[r] += count(ctx, cut, key, k, low[r] + (high[r] - low[r]) / 2, true);
    }
    const weft_status status =
        ctx->comm->calls->all_reduce(ctx, own, all, (size_t)size, WEFT_U64, WEFT_SUM);
    for (int r = 0; r < size && status == WEFT_OK; r++) {
        const uint64_t middle = low[r] + (high[r] - low[r]) / 2;
        if (low[r] == high[r])
            continue;
        if (all[r] > line(ctx, cut, WANTED)[r])
            high[r] = middle;
        else
            low[r] = middle + 1;
    }
    return status;
}

static weft_status count_equal(weft_context *ctx, wi_sort_cut *cut, const wi_sort_key *key) {
    const size_t size = (size_t)ctx->comm->size;
    const wi_comm_table *const calls = ctx->comm->calls;
    uint64_t *const own = line(ctx, cut, OWN), *const before = line(ctx, cut, BEFORE);
    memset(own, 0, 3 * size * sizeof *own);
    memset(before, 0, 3 * size * sizeof *before);
    for (size_t r = 0; r < size; r++) {
        for (int k = 0; k < cut->runs; k++) {
            const uint64_t first = line(ctx, cut, LOW)[r];
            const size_t below = count(ctx, cut, key, k, first, false);
            own[r] += below;
            own[(size_t)(1 + k) * size + r] = count(ctx, cut, key, k, first, true) - below;
        }
    }
    const weft_status status =
        calls->all_reduce(ctx, own, line(ctx, cut, ALL), 3 * size, WEFT_U64, WEFT_SUM);
    return status == WEFT_OK ? calls->exscan(ctx, own, before, 3 * size, WEFT_U64, WEFT_SUM)
                             : status;
}

/* How many of `equal` keys are taken, if `wanted` are after `before` others. */
static uint64_t taken(uint64_t wanted, uint64_t before, uint64_t equal) {
    const uint64_t left = wanted > before ? wanted - before : 0;
    return left < equal ? left : equal;
}

/* Where the share of rank r begins in this rank's part of run k. */
static size_t begin_of(weft_context *ctx, wi_sort_cut *cut, const wi_sort_key *key, int k,
                       size_t r) {
    const size_t size = (size_t)ctx->comm->size;
    const uint64_t *const own = line(ctx, cut, OWN), *const all = line(ctx, cut, ALL),
                          *const before = line(ctx, cut, BEFORE);
    const uint64_t wanted = taken(line(ctx, cut, WANTED)[r], all[r], UINT64_MAX);
    const uint64_t others = k > 0 ? all[size + r] : 0, run = (size_t)(1 + k) * size;
    return count(ctx, cut, key, k, line(ctx, cut, LOW)[r], false) +
           taken(wanted, others + before[run + r], own[run + r]);
}

static void cut_run(weft_context *ctx, wi_sort_cut *cut, const wi_sort_key *key, int k) {
    const size_t size = (size_t)ctx->comm->size;
    size_t begin = 0;
    for (size_t r = 0; r < size; r++) {
        size_t end = r + 1 < size ? begin_of(ctx, cut, key, k, r + 1) : cut->n[k];
        end = end < begin ? begin : end; /* of an array that is not in order */
        cut->sent[k][r] = end - begin;
        begin = end;
    }
}

/* Does this rank get as many elements as it has? */
static weft_status check_share(weft_context *ctx, const wi_sort_cut *cut) {
    size_t have = 0, get = 0;
    if (cut->status != WEFT_OK)
        return cut->status;
    for (int k = 0; k < cut->runs; k++) {
        have += cut->n[k];
        for (int r = 0; r < ctx->comm->size; r++)
            get += cut->got[k][r];
    }
    return have == get ? WEFT_OK
                       : wi_fail(ctx, WEFT_EARG, "%s: an array is not in order; sort it first",
                                 ctx->comm->call);
}

weft_status wi_sort_cut_find(weft_context *ctx, wi_sort_cut *cut) {
    const wi_sort_key key = wi_sort_key_of(cut->type, cut->descending);
    weft_status status = find_wanted(ctx, cut);
    for (unsigned bit = cut->first_bit; bit < cut->end_bit && status == WEFT_OK; bit++)
        status = halve(ctx, cut, &key);
    if (status == WEFT_OK)
        status = count_equal(ctx, cut, &key);
    for (int k = 0; k < cut->runs && status == WEFT_OK; k++) {
        cut_run(ctx, cut, &key, k);
        status = wi_exchange_counts(ctx, cut->sent[k], cut->got[k]);
    }
    return status == WEFT_OK ? wi_agree(ctx, 0, check_share(ctx, cut)) : status;
}

weft_status wi_sort_cut_exchange(weft_context *ctx, wi_sort_cut *cut, int k, const void *from,
                                 void *to, size_t width) {
    size_t *const sent = (size_t *)line(ctx, cut, SCALED_SENT), *const got = (size_t *)line(
                                                                    ctx, cut, SCALED_GOT);
    for (int r = 0; r < ctx->comm->size; r++) {
        sent[r] = cut->sent[k][r] * width;
        got[r] = cut->got[k][r] * width;
    }
    return ctx->comm->calls->all_to_all_v(ctx, from, sent, to, got, WEFT_U8);
}
