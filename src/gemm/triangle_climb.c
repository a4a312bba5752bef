/* SPDX-License-Identifier: Apache-2.0 */
/* The climbs of trsm and trmm: a lower triangle A of order m on the left of n columns, stored by
 * columns. A is near the identity, so that B stays in range however often it is solved or
 * multiplied in place; above its diagonal there is NaN. The problem is a wi_data whose x is A,
 * whose y is B and whose z is what B becomes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "climb/data.h"
#include "climb/dense.h"
#include "gemm/trmm.h"
#include "gemm/trsm.h"

enum {
    M,
    N,
    USUAL_N = 4096,
    FIRST_N = 64
};

static const char no_room[] = "no memory to check the result";

/* The extents: of those asked for as much as n allows. */
static wi_setup setup_of(const wi_setup *setup) {
    wi_setup own = *setup;
    for (int e = 0; e < WI_EXTENTS; e++)
        if (own.extent[e] == 0 || own.extent[e] > setup->n)
            own.extent[e] = setup->n;
    return own;
}

/* The sums of a row beside the diagonal are a fraction of it. */
static void make_triangle(wi_data *data) {
    const size_t m = data->setup.extent[M];
    const weft_type type = data->setup.type;
    for (size_t j = 0; j < m; j++)
        for (size_t i = 0; i < m; i++) {
            const size_t at = i + j * m;
            const double small = wi_dense_get(type, data->host_x, at) / (16 * (double)m);
            wi_dense_put(type, data->host_x, at, i < j ? (double)NAN : i == j ? 1 : small);
        }
}

static size_t bytes_of_b(const wi_data *data) {
    const wi_setup *const s = &data->setup;
    return s->extent[M] * s->extent[N] * weft_type_size(s->type);
}

/* B as it was. */
static weft_status restore(wi_data *data) {
    return weft_copy(data->setup.ctx, data->z, data->y, bytes_of_b(data));
}

static weft_status make(const wi_setup *setup, void **problem) {
    wi_setup own = setup_of(setup);
    const size_t m = own.extent[M], n = own.extent[N];
    size_t a, b, bytes;
    if (__builtin_mul_overflow(m, m, &a) || __builtin_mul_overflow(m, n, &b) ||
        __builtin_mul_overflow(b, weft_type_size(own.type), &bytes))
        return wi_fail(setup->ctx, WEFT_ENOMEM,
                       "climb: matrices of %zu x %zu exceed the address space; choose a smaller "
                       "--n",
                       m, n);
    own.n = a > b ? a : b;
    weft_status status = wi_data_make(&own, WI_DATA_PLACE, true, bytes, problem);
    if (status != WEFT_OK)
        return status;
    wi_data *const data = *problem;
    make_triangle(data);
    if (!data->shared)
        status = weft_copy(setup->ctx, data->x, data->host_x, a * weft_type_size(own.type));
    if (status == WEFT_OK)
        status = restore(data);
    if (status != WEFT_OK)
        wi_data_drop(data);
    return status;
}

static weft_status call_trsm(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    return weft_trsm(s->ctx, 0, s->type, s->extent[M], s->extent[N], 1, data->x, s->extent[M],
                     data->z, s->extent[M]);
}

static weft_status call_trmm(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    return weft_trmm(s->ctx, 0, s->type, s->extent[M], s->extent[N], 1, data->x, s->extent[M],
                     data->z, s->extent[M]);
}

/* ---- the oracle: is P = A Q? ---- */

/* A vector, and the sum of the sizes of what was added up for each of its elements. */
typedef struct sums {
    double *value, *size;
} sums;

/* Columns `first` ... of a matrix of m rows, each with a factor, added up. */
static void add_columns(const wi_data *data, const void *matrix, size_t first, size_t end,
                        sums to) {
    const size_t m = data->setup.extent[M];
    memset(to.value, 0, m * sizeof *to.value);
    memset(to.size, 0, m * sizeof *to.size);
    for (size_t j = first; j < end; j++) {
        const double factor = 1 + (double)(j * 37 % 101) / 101;
        for (size_t i = 0; i < m; i++) {
            const double x = factor * wi_dense_get(data->setup.type, matrix, i + j * m);
            to.value[i] += x;
            to.size[i] += fabs(x);
        }
    }
}

static void times_triangle(const wi_data *data, sums x, sums to) {
    const size_t m = data->setup.extent[M];
    memset(to.value, 0, m * sizeof *to.value);
    memset(to.size, 0, m * sizeof *to.size);
    for (size_t k = 0; k < m; k++)
        for (size_t i = k; i < m; i++) {
            const double a = wi_dense_get(data->setup.type, data->host_x, i + k * m);
            to.value[i] += a * x.value[k];
            to.size[i] += fabs(a) * x.size[k];
        }
}

/* For the sum of these columns. Rounding is random enough that errors grow as a root does. */
static bool check_columns(const wi_data *data, const void *p, const void *q, size_t first,
                          size_t end, sums v[3], char *why, size_t bytes) {
    const size_t m = data->setup.extent[M];
    const double u = data->setup.type == WEFT_F64 ? 0x1p-53 : 0x1p-24;
    add_columns(data, q, first, end, v[0]);
    times_triangle(data, v[0], v[1]);
    add_columns(data, p, first, end, v[2]);
    for (size_t i = 0; i < m; i++) {
        const double off = fabs(v[1].value[i] - v[2].value[i]);
        if (!(off <= 16 * (sqrt((double)m) + 4) * u * (v[1].size[i] + v[2].size[i]))) {
            snprintf(why, bytes, "row %zu, summed over columns %zu to %zu, is off by %.3g", i,
                     first, end - 1, off);
            return false;
        }
    }
    return true;
}

/* All columns in one sum, and two of them alone. */
static bool check_product(const wi_data *data, const void *p, const void *q, char *why,
                          size_t bytes) {
    const size_t m = data->setup.extent[M], n = data->setup.extent[N];
    double *const room = wi_host_alloc(6 * m * sizeof *room);
    if (!room) {
        snprintf(why, bytes, "%s", no_room);
        return false;
    }
    sums v[3];
    for (size_t k = 0; k < 3; k++)
        v[k] = (sums){room + 2 * k * m, room + (2 * k + 1) * m};
    const bool right = check_columns(data, p, q, 0, n, v, why, bytes) &&
                       check_columns(data, p, q, n / 3, n / 3 + 1, v, why, bytes) &&
                       check_columns(data, p, q, n - 1, n, v, why, bytes);
    wi_host_free(room);
    return right;
}

/* One call on B as it was. */
static bool run(wi_data *data, weft_status (*call)(void *problem), char *why, size_t bytes) {
    weft_status status = restore(data);
    if (status == WEFT_OK)
        status = call(data);
    if (status == WEFT_OK)
        status = data->shared ? weft_sync(data->setup.ctx)
                              : weft_copy(data->setup.ctx, data->host_z, data->z, data->z_bytes);
    if (status != WEFT_OK)
        snprintf(why, bytes, "%s", weft_message(data->setup.ctx));
    return status == WEFT_OK;
}

static bool check_trsm(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    return run(data, call_trsm, why, bytes) &&
           check_product(data, data->host_y, data->host_z, why, bytes);
}

static bool check_trmm(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    return run(data, call_trmm, why, bytes) &&
           check_product(data, data->host_z, data->host_y, why, bytes);
}

static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    const double m = (double)s->extent[M], n = (double)s->extent[N];
    (void)rung;
    *facts = (wi_facts){.size = {{s->extent[M], s->extent[N]}},
                        .bytes = (m * (m + 1) / 2 + 2 * m * n) * (double)weft_type_size(s->type),
                        .flops = m * m * n,
                        .roof = wi_dense_roof(s)};
}

const wi_climb wi_trsm_climb = {
    .ladder = &wi_trsm_ladder,
    .example = "A X = B",
    .type = WEFT_F64,
    .types = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
    .has_extents = true,
    .lacks = WI_LACKS_K,
    .first_n = FIRST_N,
    .usual_n = USUAL_N,
    .make = make,
    .call = call_trsm,
    .check = check_trsm,
    .describe = describe,
    .drop = wi_data_drop,
};

const wi_climb wi_trmm_climb = {
    .ladder = &wi_trmm_ladder,
    .example = "B = A B",
    .type = WEFT_F64,
    .types = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
    .has_extents = true,
    .lacks = WI_LACKS_K,
    .first_n = FIRST_N,
    .usual_n = USUAL_N,
    .make = make,
    .call = call_trmm,
    .check = check_trmm,
    .describe = describe,
    .drop = wi_data_drop,
};
