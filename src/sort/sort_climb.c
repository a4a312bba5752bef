/* SPDX-License-Identifier: Apache-2.0 */
/* sort's climb: random keys in ascending order. */
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
