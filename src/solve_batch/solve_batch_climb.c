/* SPDX-License-Identifier: Apache-2.0 */
/* solve_batch's climb: n systems of order 32 with one right-hand side each, by columns, one behind
 * the other. Each call begins with a copy of the right-hand sides, which is timed. The problem is a
 * wi_data whose x is A, and whose z is X with info behind it; the right-hand sides are the first
 * elements of A again. */
#include <math.h>
#include <stdio.h>

#include "climb/data.h"
#include "climb/dense.h"
#include "solve_batch/solve_batch.h"

enum {
    ORDER = 32,
    USUAL_COUNT = 1 << 14,
    FIRST_COUNT = 64
};

static size_t bytes_of_x(const wi_data *data) {
    return data->setup.n / ORDER * weft_type_size(data->setup.type);
}

static size_t count_of(const wi_data *data) {
    return data->setup.n / (ORDER * ORDER);
}

static weft_status make(const wi_setup *setup, void **problem) {
    wi_setup own = *setup;
    const size_t line = ORDER * weft_type_size(setup->type) + sizeof(int32_t);
    size_t bytes;
    if (__builtin_mul_overflow(setup->n, (size_t)ORDER * ORDER, &own.n) ||
        __builtin_mul_overflow(setup->n, line, &bytes))
        return wi_fail(setup->ctx, WEFT_ENOMEM,
                       "climb: %zu systems exceed the address space; choose a smaller --n",
                       setup->n);
    return wi_data_make(&own, WI_DATA_PLACE, false, bytes, problem);
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    int32_t *const info = (int32_t *)(void *)((char *)data->z + bytes_of_x(data));
    const weft_status status = weft_copy(s->ctx, data->z, data->x, bytes_of_x(data));
    if (status != WEFT_OK)
        return status;
    return weft_solve_batch_strided(s->ctx, 0, s->type, ORDER, 1, data->x, ORDER, ORDER * ORDER,
                                    data->z, ORDER, ORDER, info, count_of(data));
}

/* ---- the oracle: is A x = b? ---- */

static bool check_system(const wi_data *data, size_t s, char *why, size_t bytes) {
    const double u = data->setup.type == WEFT_F64 ? 0x1p-53 : 0x1p-24;
    for (size_t i = 0; i < ORDER; i++) {
        const double b = wi_dense_get(data->setup.type, data->host_x, s * ORDER + i);
        double sum = -b, size = fabs(b);
        for (size_t j = 0; j < ORDER; j++) {
            const double y =
                wi_dense_get(data->setup.type, data->host_x, (s * ORDER + j) * ORDER + i) *
                wi_dense_get(data->setup.type, data->host_z, s * ORDER + j);
            sum += y;
            size += fabs(y);
        }
        if (!(fabs(sum) <= 16 * ORDER * u * size)) {
            snprintf(why, bytes, "row %zu of system %zu is off by %.3g", i, s, sum);
            return false;
        }
    }
    return true;
}

static bool check(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    if (!wi_data_try(data, call, why, bytes))
        return false;
    const int32_t *const info =
        (const int32_t *)(const void *)((const char *)data->host_z + bytes_of_x(data));
    for (size_t s = 0; s < count_of(data); s++) {
        if (info[s] != 0) {
            snprintf(why, bytes, "info of system %zu is %d", s, info[s]);
            return false;
        }
        if (!check_system(data, s, why, bytes))
            return false;
    }
    return true;
}

/* On a GPU memory takes longer than arithmetic. */
static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    const double n = ORDER, count = (double)count_of(data);
    const bool f64 = data->setup.type == WEFT_F64;
    (void)rung;
    *facts = (wi_facts){.size = wi_size_of(count_of(data)),
                        .bytes = count * (n * n + 2 * n) * (double)weft_type_size(data->setup.type),
                        .flops = count * (2 * n * n * n / 3 + 2 * n * n),
                        .roof = data->setup.ctx->kind == WI_CUDA ? WI_ROOF_READ
                                : f64                            ? WI_ROOF_FMA_F64
                                                                 : WI_ROOF_FMA_F32};
}

const wi_climb wi_solve_batch_climb = {
    .ladder = &wi_solve_batch_ladder,
    .example = "A x = b of order 32 each",
    .type = WEFT_F64,
    .types = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
    .first_n = FIRST_COUNT,
    .usual_n = USUAL_COUNT,
    .make = make,
    .call = call,
    .check = check,
    .describe = describe,
    .drop = wi_data_drop,
};
