/* SPDX-License-Identifier: Apache-2.0 */
/* syrk's climb: the lower triangle of C = A A', stored by columns, of whole numbers or eighths
 * whose sums are exact. The problem is a wi_data whose x is A, n x k, and whose z is C; what is
 * above C's diagonal must stay the pattern that it was filled with. */
#include <stdio.h>
#include <string.h>

#include "climb/data.h"
#include "climb/dense.h"
#include "gemm/syrk.h"

enum {
    N = 1,
    K = 2,
    USUAL_N = 4096,
    FIRST_N = 64
};

static const char no_room[] = "no memory to check the product";

/* The extents: of those asked for as much as n allows. */
static wi_setup setup_of(const wi_setup *setup) {
    wi_setup own = *setup;
    for (int e = 0; e < WI_EXTENTS; e++)
        if (own.extent[e] == 0 || own.extent[e] > setup->n)
            own.extent[e] = setup->n;
    return own;
}

static weft_status make(const wi_setup *setup, void **problem) {
    wi_setup own = setup_of(setup);
    const size_t n = own.extent[N], k = own.extent[K];
    size_t a, c;
    if (__builtin_mul_overflow(n, k, &a) || __builtin_mul_overflow(n, n, &c) || c > SIZE_MAX / 8)
        return wi_fail(setup->ctx, WEFT_ENOMEM,
                       "climb: matrices of %zu x %zu exceed the address space; choose a smaller "
                       "--n",
                       n, k);
    own.n = a;
    return wi_data_make(&own, WI_DATA_PLACE, false, c * weft_type_size(own.type), problem);
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    const size_t n = s->extent[N];
    return weft_syrk(s->ctx, 0, s->type, n, s->extent[K], 1, data->x, n, 0, data->z, n);
}

/* ---- the oracle: 64-bit integers ---- */

/* An element of C in 64ths; those of sums of so few eighths have no other part. */
static int64_t found_at(const wi_data *data, size_t i, size_t j) {
    const size_t at = i + j * data->setup.extent[N], width = weft_type_size(data->setup.type);
    const double value =
        64 * wi_element_value(data->setup.type, (const char *)data->host_z + at * width);
    return value > -0x1p62 && value < 0x1p62 && value == (double)(int64_t)value ? (int64_t)value
                                                                                : INT64_MIN;
}

/* No factor is 0, so that one wrong element is always seen. */
static int64_t factor(size_t j) {
    return 1 + (int64_t)(j * 37 % 101);
}

/* The lower triangle L of C, diagonal included: L v of both, modulo 2^64. Column p of A contributes
 * a_p(i) times the sum of a_p(j) v(j) over all j <= i. */
static void expect(const wi_data *data, int64_t *column, uint64_t *to) {
    const size_t n = data->setup.extent[N];
    for (size_t p = 0; p < data->setup.extent[K]; p++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < n; i += WI_DATA_CHUNK)
            wi_data_draw(data, 0, p * n + i, n - i < WI_DATA_CHUNK ? n - i : WI_DATA_CHUNK,
                         column + i);
        for (size_t i = 0; i < n; i++) {
            sum += (uint64_t)column[i] * (uint64_t)factor(i);
            to[i] += (uint64_t)column[i] * sum;
        }
    }
}

static bool find(const wi_data *data, uint64_t *to) {
    const size_t n = data->setup.extent[N];
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            const int64_t element = found_at(data, i, j);
            if (element == INT64_MIN)
                return false;
            to[i] += (uint64_t)element * (uint64_t)factor(j);
        }
    return true;
}

/* Are all bytes above the diagonal those of the first one there? */
static bool is_kept(const wi_data *data) {
    const size_t n = data->setup.extent[N], width = weft_type_size(data->setup.type);
    const char *const c = data->host_z;
    for (size_t j = 1; j < n; j++)
        for (size_t i = 0; i < j * width; i++)
            if (c[j * n * width + i] != c[n * width])
                return false;
    return true;
}

static bool check(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    const size_t n = data->setup.extent[N];
    if (!wi_data_try(data, call, why, bytes))
        return false;
    uint64_t *const sums = wi_host_alloc(3 * n * sizeof *sums);
    if (!sums) {
        snprintf(why, bytes, "%s", no_room);
        return false;
    }
    memset(sums, 0, 3 * n * sizeof *sums);
    expect(data, (int64_t *)sums + 2 * n, sums);
    bool right = find(data, sums + n);
    size_t i = 0;
    while (right && i < n && sums[i] == sums[n + i])
        i++;
    right = right && i == n;
    if (!right)
        snprintf(why, bytes, "row %zu of the triangle is wrong", i);
    wi_host_free(sums);
    if (right && !is_kept(data)) {
        snprintf(why, bytes, "the other triangle was written");
        right = false;
    }
    return right;
}

static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    const double n = (double)s->extent[N], k = (double)s->extent[K];
    (void)rung;
    *facts = (wi_facts){.size = {{s->extent[N], s->extent[K]}},
                        .bytes = (n * k + n * (n + 1) / 2) * (double)weft_type_size(s->type),
                        .flops = n * (n + 1) * k,
                        .roof = wi_dense_roof(s)};
}

const wi_climb wi_syrk_climb = {
    .ladder = &wi_syrk_ladder,
    .example = "C = A A'",
    .type = WEFT_F64,
    .types = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
    .has_extents = true,
    .lacks = WI_LACKS_M,
    .first_n = FIRST_N,
    .usual_n = USUAL_N,
    .make = make,
    .call = call,
    .check = check,
    .describe = describe,
    .drop = wi_data_drop,
};
