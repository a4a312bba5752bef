/* SPDX-License-Identifier: Apache-2.0 */
/* The climb of lu: an m x n matrix of eighths, stored by columns. Each call begins with a copy of
 * it, which is timed: factors that were factored again and again would leave the range. The problem
 * is a wi_data whose x is the matrix and whose z is what it becomes, the pivots behind it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "climb/data.h"
#include "climb/dense.h"
#include "lu/lu.h"

enum {
    M,
    N,
    USUAL_N = 4096,
    FIRST_N = 64
};

static size_t bytes_of_a(const wi_data *data) {
    const wi_setup *const s = &data->setup;
    return s->extent[M] * s->extent[N] * weft_type_size(s->type);
}

/* Where the pivots are in z. */
static size_t pivots_at(const wi_data *data) {
    return (bytes_of_a(data) + sizeof(int64_t) - 1) / sizeof(int64_t) * sizeof(int64_t);
}

static size_t steps_of(const wi_data *data) {
    const wi_setup *const s = &data->setup;
    return s->extent[M] < s->extent[N] ? s->extent[M] : s->extent[N];
}

static weft_status make(const wi_setup *setup, void **problem) {
    wi_setup own = *setup;
    size_t bytes;
    for (int e = 0; e < WI_EXTENTS; e++)
        if (own.extent[e] == 0 || own.extent[e] > setup->n)
            own.extent[e] = setup->n;
    if (__builtin_mul_overflow(own.extent[M], own.extent[N], &own.n) ||
        __builtin_mul_overflow(own.n + own.extent[M] + 1, sizeof(double), &bytes))
        return wi_fail(setup->ctx, WEFT_ENOMEM,
                       "climb: a matrix of %zu x %zu exceeds the address space; choose a smaller "
                       "--n",
                       own.extent[M], own.extent[N]);
    return wi_data_make(&own, WI_DATA_PLACE, false, bytes, problem);
}

/* Eighths may well make a small matrix singular; it is factored all the same. */
static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    int64_t *const pivot = (int64_t *)(void *)((char *)data->z + pivots_at(data));
    weft_status status = weft_copy(s->ctx, data->z, data->x, bytes_of_a(data));
    if (status == WEFT_OK)
        status = weft_lu_factor(s->ctx, 0, s->type, s->extent[M], s->extent[N], data->z,
                                s->extent[M], pivot);
    return status == WEFT_ESINGULAR ? WEFT_OK : status;
}

/* ---- the oracle: is P A v = L U v? ---- */

static double factor_of(size_t j) {
    return 1 + (double)(j * 37 % 101) / 101;
}

/* y = A v, or U v of the factors. */
static void multiply(const wi_data *data, const void *a, bool upper, double *y) {
    const size_t m = data->setup.extent[M], n = data->setup.extent[N];
    memset(y, 0, m * sizeof *y);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < m && (!upper || i <= j); i++)
            y[i] += wi_dense_get(data->setup.type, a, i + j * m) * factor_of(j);
}

/* y = |L| |U| |v|, which bounds the sums' rounding; and x = L x for x = U v. */
static void multiply_lower(const wi_data *data, const void *f, double *x, double *y) {
    const size_t m = data->setup.extent[M], n = data->setup.extent[N], steps = steps_of(data);
    memset(y, 0, m * sizeof *y);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < m && i <= j; i++)
            y[i] += fabs(wi_dense_get(data->setup.type, f, i + j * m)) * factor_of(j);
    for (size_t k = steps; k-- > 0;)
        for (size_t i = k + 1; i < m; i++) {
            x[i] += wi_dense_get(data->setup.type, f, i + k * m) * x[k];
            y[i] += fabs(wi_dense_get(data->setup.type, f, i + k * m)) * y[k];
        }
}

static bool permute(const wi_data *data, double *y, char *why, size_t bytes) {
    const int64_t *const pivot =
        (const int64_t *)(const void *)((const char *)data->host_z + pivots_at(data));
    for (size_t k = 0; k < steps_of(data); k++) {
        if (pivot[k] < (int64_t)k || (uint64_t)pivot[k] >= data->setup.extent[M]) {
            snprintf(why, bytes, "pivot %zu is %lld", k, (long long)pivot[k]);
            return false;
        }
        const double old = y[k];
        y[k] = y[pivot[k]];
        y[pivot[k]] = old;
    }
    return true;
}

static bool compare(const wi_data *data, double *room, char *why, size_t bytes) {
    const size_t m = data->setup.extent[M];
    const double u = data->setup.type == WEFT_F64 ? 0x1p-53 : 0x1p-24;
    double *const right = room, *const found = room + m, *const size = room + 2 * m;
    multiply(data, data->host_x, false, right);
    if (!permute(data, right, why, bytes))
        return false;
    multiply(data, data->host_z, true, found);
    multiply_lower(data, data->host_z, found, size);
    for (size_t i = 0; i < m; i++) {
        const double off = fabs(found[i] - right[i]);
        if (!(off <= 16 * (sqrt((double)steps_of(data)) + 4) * u * size[i])) {
            snprintf(why, bytes, "row %zu of L U, summed over all columns, is off by %.3g", i, off);
            return false;
        }
    }
    return true;
}

static bool check(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    if (!wi_data_try(data, call, why, bytes))
        return false;
    double *const room = wi_host_alloc(3 * data->setup.extent[M] * sizeof *room);
    if (!room) {
        snprintf(why, bytes, "no memory to check the result");
        return false;
    }
    const bool right = compare(data, room, why, bytes);
    wi_host_free(room);
    return right;
}

static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    const double m = (double)s->extent[M], n = (double)s->extent[N], r = (double)steps_of(data);
    (void)rung;
    *facts = (wi_facts){.size = {{s->extent[M], s->extent[N]}},
                        .bytes = 2 * m * n * (double)weft_type_size(s->type),
                        .flops = 2 * (m * n * r - (m + n) * r * r / 2 + r * r * r / 3),
                        .roof = wi_dense_roof(s)};
}

const wi_climb wi_lu_climb = {
    .ladder = &wi_lu_ladder,
    .example = "P A = L U",
    .type = WEFT_F64,
    .types = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
    .has_extents = true,
    .lacks = WI_LACKS_K,
    .first_n = FIRST_N,
    .usual_n = USUAL_N,
    .make = make,
    .call = call,
    .check = check,
    .describe = describe,
    .drop = wi_data_drop,
};
