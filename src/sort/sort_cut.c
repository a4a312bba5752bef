/* SPDX-License-Identifier: Apache-2.0 */
/* The key at which the share of each rank begins is found among all possible keys: every rank
 * counts, in its sorted part, how many keys are not above a guess, for all shares at once, and the
 * sum over ranks tells on which side of it the key is. In host memory one guess halves the range;
 * on a GPU, where a search takes some 30 us and hardly longer for many keys, 255 guesses leave a
 * 256th of it. Then the equal keys are divided in the order of ranks. */
#include "sort/sort_cut.h"

#include <string.h>

#include "sort/sort_scalar.h"

/* What is known of each share: lines of one word for each rank. */
enum {
    WANTED, /* the position in the whole where the share begins */
    LOW,    /* the key there is from LOW to HIGH */
    HIGH,
    BELOW,             /* keys of each run of this rank below it */
    OWN = BELOW + 2,   /* the same of all runs; and keys equal to it in each run */
    ALL = OWN + 3,     /* the same of all ranks together */
    BEFORE = ALL + 3,  /* and of lower ranks */
    SENT = BEFORE + 3, /* a line for each run */
    GOT = SENT + 2,    /* and again */
    LINES = GOT + 2
};

/* Behind the lines, and as long as the guesses for all ranks. */
enum {
    GUESS,
    GUESS_COUNT,
    GUESS_OWN,
    GUESS_ALL,
    GUESS_LINES
};

enum {
    SEEN = 1024, /* a power of 2 */
    GUESSES = 255
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

static uint64_t *guess_line(const weft_context *ctx, const wi_sort_cut *cut, int k) {
    return line(ctx, cut, LINES) + (size_t)k * cut->guesses * (size_t)ctx->comm->size;
}

/* Does weft_search count? It compares whole keys. All ranks answer alike. */
static bool searches(const weft_context *ctx, const wi_sort_cut *cut) {
    return ctx->comm->calls->device && cut->first_bit == 0 &&
           cut->end_bit == 8 * (unsigned)weft_type_size(cut->type);
}

weft_status wi_sort_cut_open(weft_context *ctx, wi_sort_cut *cut) {
    void *room;
    cut->guesses = searches(ctx, cut) ? GUESSES : 1;
    const weft_status status =
        wi_dist_take(ctx, (size_t)ctx->comm->size,
                     (LINES + GUESS_LINES * cut->guesses) * sizeof(uint64_t), &room);
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

/* The element that has this key, as bits. */
static uint64_t element_of(const wi_sort_key *key, size_t size, uint64_t k) {
    const uint64_t ones = UINT64_MAX >> (64 - 8 * size), t = ((k ^ key->flip) + key->lowest) & ones;
    const bool top = t >> (8 * size - 1);
    return (t ^ (top ? key->sign : key->sign | key->floats)) & ones;
}

/* The bounds are replaced by the elements that are searched. */
static weft_status search(weft_context *ctx, const wi_sort_cut *cut, const wi_sort_key *key, int k,
                          size_t m, uint64_t *bounds, bool equal, uint64_t *counts) {
    const size_t size = weft_type_size(cut->type);
    for (size_t j = 0; j < m; j++) {
        const uint64_t bits = element_of(key, size, bounds[j]);
        memcpy((char *)bounds + j * size, &bits, size);
    }
    return wi_local(ctx, weft_search(ctx->child, equal ? WEFT_UPPER : WEFT_LOWER,
                                     cut->descending ? WEFT_DESCENDING : WEFT_ASCENDING, cut->type,
                                     cut->n[k], cut->x[k], m, bounds, counts));
}

/* counts[j] = how many keys of run k are below bounds[j], or with `equal` not above it. */
static void count_all(weft_context *ctx, wi_sort_cut *cut, const wi_sort_key *key, int k, size_t m,
                      uint64_t *bounds, bool equal, uint64_t *counts) {
    memset(counts, 0, m * sizeof *counts);
    if (searches(ctx, cut)) {
        const weft_status status = search(ctx, cut, key, k, m, bounds, equal, counts);
        cut->status = cut->status == WEFT_OK ? status : cut->status;
        return;
    }
    for (size_t j = 0; j < m; j++)
        counts[j] = count(ctx, cut, key, k, bounds[j], equal);
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

/* What lies between two guesses of a range, and is at least 1. */
static uint64_t step_of(const wi_sort_cut *cut, uint64_t low, uint64_t high) {
    return (high - low) / (cut->guesses + 1) + 1;
}

/* Guess number g of a share's first key: below `high`, or that if there are fewer. */
static uint64_t guess_of(const wi_sort_cut *cut, uint64_t low, uint64_t high, size_t g) {
    const uint64_t after = step_of(cut, low, high) * (g + 1) - 1;
    return after < high - low ? low + after : high;
}

static void fill_guesses(const weft_context *ctx, const wi_sort_cut *cut, uint64_t *guess) {
    for (size_t r = 0; r < (size_t)ctx->comm->size; r++)
        for (size_t g = 0; g < cut->guesses; g++)
            *guess++ = guess_of(cut, line(ctx, cut, LOW)[r], line(ctx, cut, HIGH)[r], g);
}

/* Leaves the range in which the first key of share r is; all[g] keys are not above guess g. */
static void narrow(const weft_context *ctx, wi_sort_cut *cut, size_t r, const uint64_t *all) {
    uint64_t *const low = &line(ctx, cut, LOW)[r], *const high = &line(ctx, cut, HIGH)[r];
    const uint64_t from = *low, to = *high;
    for (size_t g = 0; g < cut->guesses; g++) {
        const uint64_t guess = guess_of(cut, from, to, g);
        if (guess == to)
            return;
        if (all[g] > line(ctx, cut, WANTED)[r]) {
            *high = guess;
            return;
        }
        *low = guess + 1;
    }
}

/* Counts for all guesses of all shares, and narrows their ranges. */
static weft_status narrow_all(weft_context *ctx, wi_sort_cut *cut, const wi_sort_key *key) {
    const size_t size = (size_t)ctx->comm->size, m = size * cut->guesses;
    uint64_t *const guess = guess_line(ctx, cut, GUESS),
                    *const counts = guess_line(ctx, cut, GUESS_COUNT),
                    *const own = guess_line(ctx, cut, GUESS_OWN),
                    *const all = guess_line(ctx, cut, GUESS_ALL);
    memset(own, 0, m * sizeof *own);
    for (int k = 0; k < cut->runs; k++) {
        fill_guesses(ctx, cut, guess);
        count_all(ctx, cut, key, k, m, guess, true, counts);
        for (size_t j = 0; j < m; j++)
            own[j] += counts[j];
    }
    const weft_status status = ctx->comm->calls->all_reduce(ctx, own, all, m, WEFT_U64, WEFT_SUM);
    for (size_t r = 0; r < size && status == WEFT_OK; r++)
        narrow(ctx, cut, r, all + r * cut->guesses);
    return status;
}

static bool is_found(const weft_context *ctx, const wi_sort_cut *cut) {
    return memcmp(line(ctx, cut, LOW), line(ctx, cut, HIGH),
                  (size_t)ctx->comm->size * sizeof(uint64_t)) == 0;
}

static weft_status count_equal(weft_context *ctx, wi_sort_cut *cut, const wi_sort_key *key) {
    const size_t size = (size_t)ctx->comm->size;
    const wi_comm_table *const calls = ctx->comm->calls;
    uint64_t *const own = line(ctx, cut, OWN), *const before = line(ctx, cut, BEFORE),
                    *const guess = guess_line(ctx, cut, GUESS);
    memset(own, 0, 3 * size * sizeof *own);
    memset(before, 0, 3 * size * sizeof *before);
    for (int k = 0; k < cut->runs; k++) {
        uint64_t *const below = line(ctx, cut, BELOW + k);
        uint64_t *const equal = own + (size_t)(1 + k) * size;
        memcpy(guess, line(ctx, cut, LOW), size * sizeof *guess);
        count_all(ctx, cut, key, k, size, guess, false, below);
        memcpy(guess, line(ctx, cut, LOW), size * sizeof *guess);
        count_all(ctx, cut, key, k, size, guess, true, equal);
        for (size_t r = 0; r < size; r++) {
            own[r] += below[r];
            equal[r] -= below[r];
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
static size_t begin_of(const weft_context *ctx, const wi_sort_cut *cut, int k, size_t r) {
    const size_t size = (size_t)ctx->comm->size;
    const uint64_t *const own = line(ctx, cut, OWN), *const all = line(ctx, cut, ALL),
                          *const before = line(ctx, cut, BEFORE);
    const uint64_t wanted = taken(line(ctx, cut, WANTED)[r], all[r], UINT64_MAX);
    const uint64_t others = k > 0 ? all[size + r] : 0, run = (size_t)(1 + k) * size;
    return line(ctx, cut, BELOW + k)[r] + taken(wanted, others + before[run + r], own[run + r]);
}

static void cut_run(const weft_context *ctx, wi_sort_cut *cut, int k) {
    const size_t size = (size_t)ctx->comm->size;
    size_t begin = 0;
    for (size_t r = 0; r < size; r++) {
        size_t end = r + 1 < size ? begin_of(ctx, cut, k, r + 1) : cut->n[k];
        end = end < begin ? begin : end; /* of an array that is not in order */
        cut->sent[k][r] = end - begin;
        begin = end;
    }
}

weft_status wi_sort_check_share(weft_context *ctx, int runs, const size_t n[],
                                size_t *const got[]) {
    size_t have = 0, get = 0;
    for (int k = 0; k < runs; k++) {
        have += n[k];
        for (int r = 0; r < ctx->comm->size; r++)
            get += got[k][r];
    }
    return have == get ? WEFT_OK
                       : wi_fail(ctx, WEFT_EARG, "%s: an array is not in order; sort it first",
                                 ctx->comm->call);
}

weft_status wi_sort_cut_find(weft_context *ctx, wi_sort_cut *cut) {
    const wi_sort_key key = wi_sort_key_of(cut->type, cut->descending);
    weft_status status = find_wanted(ctx, cut);
    while (status == WEFT_OK && !is_found(ctx, cut))
        status = narrow_all(ctx, cut, &key);
    if (status == WEFT_OK)
        status = count_equal(ctx, cut, &key);
    for (int k = 0; k < cut->runs && status == WEFT_OK; k++) {
        cut_run(ctx, cut, k);
        status = wi_exchange_counts(ctx, cut->sent[k], cut->got[k]);
    }
    if (status == WEFT_OK)
        status = wi_agree(ctx, 0, cut->status); /* or others would take wrong counts for disorder */
    return status == WEFT_OK
               ? wi_agree(ctx, 0, wi_sort_check_share(ctx, cut->runs, cut->n, cut->got))
               : status;
}

weft_status wi_sort_cut_exchange(weft_context *ctx, wi_sort_cut *cut, int k, const void *from,
                                 void *to, size_t width) {
    return wi_dist_exchange(ctx, from, cut->sent[k], to, cut->got[k], width);
}
