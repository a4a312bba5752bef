/* SPDX-License-Identifier: Apache-2.0 */
/* The climb of cholesky: the lower triangle of an n x n matrix, stored by columns. It is near the
 * identity, so that it stays positive definite however often it is factored in place; above its
 * diagonal there is NaN. The problem is a wi_data whose x is the matrix and whose z is what it
 * becomes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cholesky/cholesky.h"
#include "climb/data.h"
#include "climb/dense.h"

enum {
    USUAL_N = 4096,
    FIRST_N = 64
};

static size_t order_of(const wi_data *data) {
    return data->setup.extent[0];
}

/* The sums of a row beside the diagonal are a fraction of it. */
static void make_triangle(const wi_data *data) {
    const size_t n = order_of(data);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) {
            const double small =
                wi_dense_get(data->setup.type, data->host_x, i + j * n) / (16 * (double)n);
            wi_dense_put(data->setup.type, data->host_x, i + j * n,
                         i < j    ? (double)NAN
                         : i == j ? 1
                                  : small);
        }
}

static weft_status restore(const wi_data *data) {
    return weft_copy(data->setup.ctx, data->z, data->x, data->z_bytes);
}

static weft_status make(const wi_setup *setup, void **problem) {
    wi_setup own = *setup;
    size_t bytes;
    own.extent[0] = setup->n;
    if (__builtin_mul_overflow(setup->n, setup->n, &own.n) ||
        __builtin_mul_overflow(own.n, weft_type_size(own.type), &bytes))
        return wi_fail(setup->ctx, WEFT_ENOMEM,
                       "climb: a matrix of order %zu exceeds the address space; choose a smaller "
                       "--n",
                       setup->n);
    weft_status status = wi_data_make(&own, WI_DATA_PLACE, false, bytes, problem);
    if (status != WEFT_OK)
        return status;
    wi_data *const data = *problem;
    make_triangle(data);
    if (!data->shared)
        status = weft_copy(setup->ctx, data->x, data->host_x, bytes);
    if (status == WEFT_OK)
        status = restore(data);
    if (status != WEFT_OK)
        wi_data_drop(data);
    return status;
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    return weft_cholesky_factor(data->setup.ctx, 0, data->setup.type, order_of(data), data->z,
                                order_of(data));
}

static weft_status call_afresh(void *problem) {
    const weft_status status = restore(problem);
    return status == WEFT_OK ? call(problem) : status;
}

/* ---- the oracle: is A v = L L' v? ---- */

static double factor_of(size_t j) {
    return 1 + (double)(j * 37 % 101) / 101;
}

/* y = A v. */
static void multiply(const wi_data *data, double *y) {
    const size_t n = order_of(data);
    memset(y, 0, n * sizeof *y);
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            const double a = wi_dense_get(data->setup.type, data->host_x, i + j * n);
            y[i] += a * factor_of(j);
            y[j] += i == j ? 0 : a * factor_of(i);
        }
}

/* y = L L' v; size = |L| |L'| |v|. */
static void multiply_factors(const wi_data *data, double *y, double *size) {
    const size_t n = order_of(data);
    memset(y, 0, n * sizeof *y);
    memset(size, 0, n * sizeof *size);
    for (size_t j = 0; j < n; j++) {
        double sum = 0, sizes = 0;
        for (size_t i = j; i < n; i++) {
            const double l = wi_dense_get(data->setup.type, data->host_z, i + j * n);
            sum += l * factor_of(i);
            sizes += fabs(l) * factor_of(i);
        }
        for (size_t i = j; i < n; i++) {
            const double l = wi_dense_get(data->setup.type, data->host_z, i + j * n);
            y[i] += l * sum;
            size[i] += fabs(l) * sizes;
        }
    }
}

static bool compare(const wi_data *data, double *room, char *why, size_t bytes) {
    const size_t n = order_of(data);
    const double u = data->setup.type == WEFT_F64 ? 0x1p-53 : 0x1p-24;
    double *const right = room, *const found = room + n, *const size = room + 2 * n;
    multiply(data, right);
    multiply_factors(data, found, size);
    for (size_t i = 0; i < n; i++) {
        const double off = fabs(found[i] - right[i]);
        if (!(off <= 16 * (sqrt((double)n) + 4) * u * size[i])) {
            snprintf(why, bytes, "row %zu of L L', summed over all columns, is off by %.3g", i,
                     off);
            return false;
        }
    }
    return true;
}

static bool check(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    if (!wi_data_try(data, call_afresh, why, bytes))
        return false;
    double *const room = wi_host_alloc(3 * order_of(data) * sizeof *room);
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
    const double n = (double)order_of(data);
    (void)rung;
    *facts = (wi_facts){.size = wi_size_of(order_of(data)),
                        .bytes = n * (n + 1) * (double)weft_type_size(data->setup.type),
                        .flops = n * n * n / 3,
                        .roof = wi_dense_roof(&data->setup)};
}

const wi_climb wi_cholesky_climb = {
    .ladder = &wi_cholesky_ladder,
    .example = "A = L L'",
    .type = WEFT_F64,
    .types = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
    .first_n = FIRST_N,
    .usual_n = USUAL_N,
    .make = make,
    .call = call,
    .check = check,
    .describe = describe,
    .drop = wi_data_drop,
};
