/* SPDX-License-Identifier: Apache-2.0 */
/* The climbs of random keys: sort, in ascending order; sort_segments; top_k. */
#include "climb/data.h"
#include "cpu/team.h"
#include "sort/sort.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* The finalizer of MurmurHash3: counting numbers become as good as random. */
static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 33)) * 0xFF51AFD7ED558CCDu;
    z = (z ^ (z >> 33)) * 0xC4CEB9FE1A85EC53u;
    return z ^ (z >> 33);
}

static weft_status make(const wi_setup *setup, void **problem) {
    return wi_data_make_random(setup, wi_data_bytes(setup), problem);
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    return weft_sort(data->setup.ctx, WEFT_ASCENDING, data->setup.type, data->setup.n, data->x,
                     data->z);
}

static weft_status serial(void *problem) {
    const wi_data *const data = problem;
    const wi_sort_args args = {.call = "weft_sort",
                               .type = data->setup.type,
                               .end_bit = 8 * (unsigned)weft_type_size(data->setup.type),
                               .n = data->setup.n,
                               .x = data->host_x,
                               .y = data->host_z};
    return wi_sort_serial_quick(data->setup.ctx, &args);
}

static double double_at(weft_type type, const void *p, size_t i) {
    switch (type) {
    case WEFT_F16:
        return weft_f16_to_float(((const weft_f16 *)p)[i]);
    case WEFT_BF16:
        return weft_bf16_to_float(((const weft_bf16 *)p)[i]);
    case WEFT_F32:
        return ((const float *)p)[i];
    default:
        return ((const double *)p)[i];
    }
}

static bool is_above(weft_type type, const void *p, size_t i, size_t k) {
    if (wi_type_is_float(type))
        return !(double_at(type, p, i) <= double_at(type, p, k));
    const size_t size = weft_type_size(type);
    const unsigned unused = 64 - 8 * (unsigned)size;
    const uint64_t a = wi_element_bits(p, size, i) << unused, b = wi_element_bits(p, size, k)
                                                                  << unused;
    return wi_type_is_signed(type) ? (int64_t)a > (int64_t)b : a > b;
}

/* The arguments and results of the threads: the first element that is less than the one before, and
 * the differences of two hashes between input and output. */
typedef struct comparison {
    const wi_data *data;
    atomic_size_t first;
    _Atomic uint64_t sum, other;
} comparison;

static void compare_part(void *user, int rank, int team) {
    comparison *const all = user;
    const wi_data *const data = all->data;
    const weft_type type = data->setup.type;
    const size_t n = data->setup.n, size = weft_type_size(type);
    const size_t end = wi_team_share(n, rank + 1, team);
    size_t first = n, known = n;
    uint64_t sum = 0, other = 0;
    for (size_t i = wi_team_share(n, rank, team); i < end; i++) {
        const uint64_t was = wi_element_bits(data->host_x, size, i);
        const uint64_t is = wi_element_bits(data->host_z, size, i);
        sum += mix(was + 1) - mix(is + 1);
        other += mix(~was) - mix(~is);
        if (i > 0 && is_above(type, data->host_z, i - 1, i))
            first = i < first ? i : first;
    }
    atomic_fetch_add(&all->sum, sum);
    atomic_fetch_add(&all->other, other);
    while (first < known && !atomic_compare_exchange_weak(&all->first, &known, first)) {
    }
}

/* The output is right if it is in order and has the same elements: the sums of two hashes of the
 * elements are equal. */
static bool compare(const wi_data *data, char *why, size_t bytes) {
    weft_context *const ctx = data->setup.ctx;
    const size_t n = data->setup.n;
    comparison all = {.data = data, .first = n};
    wi_team_run(ctx, ctx->threads, compare_part, &all);
    const size_t wrong = all.first;
    if (wrong < n) {
        snprintf(why, bytes, "element %zu of %zu belongs before the one in front of it", wrong, n);
        return false;
    }
    if (all.sum == 0 && all.other == 0)
        return true;
    snprintf(why, bytes, "the %zu elements in order are not those that came in", n);
    return false;
}

static bool check(void *problem, char *why, size_t bytes) {
    return wi_data_try(problem, call, why, bytes) && compare(problem, why, bytes);
}

/* ---- bytes ---- */

/* What a rung does several times, counted in arrays read or written: a pass over a digit of `digit`
 * bits, or halving n until `leaf` elements are left. */
typedef struct passes {
    const char *rung;
    double once;    /* arrays read or written before and after the passes */
    double each;    /* and in each pass */
    unsigned digit; /* bits; 0: each pass halves n */
    size_t leaf;
    double side_bytes; /* in each pass, besides the keys, for each element */
} passes;

static const passes all_passes[] = {
    {"serial_quick", 4, 2, 0, 16, 0}, /* keys are made, partitioned, and made elements again */
    {"serial_radix", 5, 2, 8, 0, 0},  /* the same; and keys are counted */
    {"buckets", 5, 0, 0, 0, 0},       /* keys are counted, moved to buckets, and sorted in cache */
    {"ballot32", 2, 0, 0, 0, 0},
    {"split_bits", 0, 3, 1, 0, 16},  /* zeros are marked, marks are scanned, keys are moved */
    {"digits4", 0, 3, 4, 0, 0},      /* keys are counted, then read and written */
    {"quick_naive", 2, 2, 0, 32, 0}, /* keys are made, then partitioned */
    {"quick", 2, 2, 0, 4096, 0},     /* keys are partitioned; parts are sorted in shared memory */
    {"merge", 2, 2, 0, 4096, 0},     /* tiles are sorted; runs are merged two by two */
    {"onesweep", 1, 2, 8, 0, 0},     /* keys are counted; read and written once for each digit */
};

/* How often n must be halved until at most `leaf` remain. */
static double halvings(size_t n, size_t leaf) {
    double count = 0;
    for (; n > leaf; n = n / 2 + n % 2)
        count++;
    return count;
}

/* The passes of a rung. For a rung that is not in the table they are zero, which a test detects. */
static passes passes_of(const char *rung) {
    for (size_t k = 0; k < sizeof all_passes / sizeof *all_passes; k++) {
        if (strcmp(all_passes[k].rung, rung) == 0)
            return all_passes[k];
    }
    return (passes){.rung = rung};
}

/* The bytes that a rung's passes read and write; README.md says what is counted. If the rung is not
 * known yet, the minimum: each element is read once and written once. */
static double bytes_moved(const wi_setup *setup, const char *rung) {
    const double array = (double)wi_data_bytes(setup);
    const unsigned bits = 8 * (unsigned)weft_type_size(setup->type);
    if (!rung)
        return 2 * array;
    const passes p = passes_of(rung);
    const unsigned digits = p.digit ? (bits + p.digit - 1) / p.digit : 0;
    const double count = p.leaf ? halvings(setup->n, p.leaf) : digits;
    return p.once * array + count * (p.each * array + p.side_bytes * (double)setup->n);
}

static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    *facts = (wi_facts){.size = wi_size_of(data->setup.n),
                        .bytes = bytes_moved(&data->setup, rung),
                        .roof = WI_ROOF_COPY};
}

const wi_climb wi_sort_climb = {
    .ladder = &wi_sort_ladder,
    .example = "ascending keys",
    .type = WEFT_U32,
    .make = make,
    .call = call,
    .serial = serial,
    .check = check,
    .describe = describe,
    .drop = wi_data_drop,
};

/* ---- segments ---- */

/* Segment s has 1 + 37 s mod 255 elements, 128 on average. */
enum {
    LENGTHS = 255,
    ALL_LENGTHS = LENGTHS * (LENGTHS + 1) / 2
};

static size_t offset_of(size_t segment) {
    size_t at = segment / LENGTHS * ALL_LENGTHS;
    for (size_t s = 0; s < segment % LENGTHS; s++)
        at += 1 + 37 * s % LENGTHS;
    return at;
}

/* How many segments n elements have; the last may be cut short. */
static size_t segments_of(size_t n) {
    size_t s = n / ALL_LENGTHS * LENGTHS;
    while (offset_of(s) < n)
        s++;
    return s;
}

static void fill_offsets(void *user, int rank, int team) {
    const wi_data *const data = user;
    const size_t n = data->setup.n, segments = segments_of(n);
    const size_t end = wi_team_share(segments + 1, rank + 1, team);
    for (size_t s = wi_team_share(segments + 1, rank, team); s < end; s++)
        ((uint64_t *)data->host_y)[s] = s < segments ? offset_of(s) : n;
}

/* x has the elements, y the offsets, z the sorted elements. */
static weft_status make_segments(const wi_setup *setup, void **problem) {
    const size_t bytes = (segments_of(setup->n) + 1) * sizeof(uint64_t);
    const weft_status status = wi_data_make_random(setup, wi_data_bytes(setup), problem);
    return status == WEFT_OK ? wi_data_add_y(*problem, bytes, fill_offsets) : status;
}

static weft_status call_segments(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const setup = &data->setup;
    return weft_sort_segments(setup->ctx, WEFT_ASCENDING, setup->type, setup->n, data->x, data->z,
                              0, NULL, NULL, segments_of(setup->n), data->y);
}

static bool check_segments(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    const weft_type type = data->setup.type;
    const size_t size = weft_type_size(type), segments = segments_of(data->setup.n);
    const uint64_t *const offsets = data->host_y;
    if (!wi_data_try(data, call_segments, why, bytes))
        return false;
    for (size_t s = 0; s < segments; s++) {
        uint64_t sum = 0, other = 0;
        bool falls = false;
        for (size_t i = offsets[s]; i < offsets[s + 1]; i++) {
            const uint64_t was = wi_element_bits(data->host_x, size, i);
            const uint64_t is = wi_element_bits(data->host_z, size, i);
            sum += mix(was + 1) - mix(is + 1);
            other += mix(~was) - mix(~is);
            falls = falls || (i > offsets[s] && is_above(type, data->host_z, i - 1, i));
        }
        if (falls || sum != 0 || other != 0) {
            snprintf(why, bytes, "segment %zu of %zu is not its elements in order", s, segments);
            return false;
        }
    }
    return true;
}

/* Each element is read once and written once, each offset read once. */
static void describe_segments(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    const double offsets = (double)segments_of(data->setup.n) + 1;
    (void)rung;
    *facts = (wi_facts){.size = wi_size_of(data->setup.n),
                        .bytes = 2 * (double)wi_data_bytes(&data->setup) + 8 * offsets,
                        .roof = WI_ROOF_COPY};
}

const wi_climb wi_sort_segments_climb = {
    .ladder = &wi_sort_segments_ladder,
    .example = "128 on average",
    .type = WEFT_U32,
    .make = make_segments,
    .call = call_segments,
    .check = check_segments,
    .describe = describe_segments,
    .drop = wi_data_drop,
};

/* ---- the first k ---- */

enum {
    FIRST = 100
};

static size_t k_of(const wi_setup *setup) {
    return setup->n < FIRST ? setup->n : FIRST;
}

/* z has positions, and behind them elements. */
static weft_status make_top_k(const wi_setup *setup, void **problem) {
    return wi_data_make_random(
        setup, k_of(setup) * (sizeof(uint64_t) + weft_type_size(setup->type)), problem);
}

static weft_status call_top_k(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const setup = &data->setup;
    const size_t k = k_of(setup);
    uint64_t *const positions = data->z;
    return weft_top_k(setup->ctx, WEFT_DESCENDING, setup->type, setup->n, data->x, k, positions + k,
                      positions);
}

/* Is element i of x before element j in the order of the call? */
static bool is_first(const wi_data *data, size_t i, size_t j) {
    const weft_type type = data->setup.type;
    return is_above(type, data->host_x, i, j) || (i < j && !is_above(type, data->host_x, j, i));
}

/* They are the first k if they are in order and as many elements as that come up to the last. */
static bool check_top_k(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    const size_t n = data->setup.n, k = k_of(&data->setup);
    const size_t size = weft_type_size(data->setup.type);
    const uint64_t *const positions = data->host_z;
    if (!wi_data_try(data, call_top_k, why, bytes))
        return false;
    for (size_t j = 0; j < k; j++) {
        const uint64_t at = positions[j];
        if (at < n &&
            wi_element_bits(data->host_x, size, at) == wi_element_bits(positions + k, size, j) &&
            (j == 0 || is_first(data, positions[j - 1], at)))
            continue;
        snprintf(why, bytes, "number %zu of the first %zu, at position %llu, is not in its place",
                 j, k, (unsigned long long)at);
        return false;
    }
    size_t before = 0;
    for (size_t i = 0; i < n; i++)
        before += k > 0 && is_first(data, i, positions[k - 1]);
    if (k == 0 || before + 1 == k)
        return true;
    snprintf(why, bytes, "%zu elements come before the last of the first %zu", before, k);
    return false;
}

const wi_climb wi_top_k_climb = {
    .ladder = &wi_top_k_ladder,
    .example = "the 100 largest",
    .type = WEFT_F32,
    .make = make_top_k,
    .call = call_top_k,
    .check = check_top_k,
    .describe = wi_data_describe_read,
    .drop = wi_data_drop,
};
