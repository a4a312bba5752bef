/* SPDX-License-Identifier: Apache-2.0 */
/* The climb of solve: A x = b of order n with one right-hand side, from A to a refined x. Eighths
 * between -8 and 8 stand beside a diagonal of 8 n, so that every rung's factors are good enough to
 * refine; x is known, and b = A x is exact, in f32 but for its rounding. The problem is a wi_data
 * whose x is A, by columns, whose y is b and whose z becomes x. */
#include <math.h>
#include <stdio.h>

#include "climb/data.h"
#include "climb/dense.h"
#include "cpu/team.h"
#include "solve/system.h"
#include "weft/solve.h"

enum {
    USUAL_N = 4096,
    FIRST_N = 64
};

static size_t order_of(const wi_data *data) {
    return data->setup.extent[0];
}

/* Element i of the solution. */
static double solution_of(size_t i) {
    return 1 + (double)(i % 8) / 8;
}

static void fill_diagonal(const wi_data *data) {
    const size_t n = order_of(data);
    for (size_t i = 0; i < n; i++)
        wi_dense_put(data->setup.type, data->host_x, i + i * n, 8 * (double)n);
}

static void fill_right_hand_side(void *user, int rank, int team) {
    const wi_data *const data = user;
    const size_t n = order_of(data), end = wi_team_share(n, rank + 1, team);
    for (size_t i = wi_team_share(n, rank, team); i < end; i++) {
        double sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += wi_dense_get(data->setup.type, data->host_x, i + j * n) * solution_of(j);
        wi_dense_put(data->setup.type, data->host_y, i, sum);
    }
}

static weft_status make(const wi_setup *setup, void **problem) {
    const size_t width = weft_type_size(setup->type);
    wi_setup own = *setup;
    size_t bytes;
    own.extent[0] = setup->n;
    if (__builtin_mul_overflow(setup->n, setup->n, &own.n) ||
        __builtin_mul_overflow(own.n, width, &bytes))
        return wi_fail(setup->ctx, WEFT_ENOMEM,
                       "climb: a matrix of order %zu exceeds the address space; choose a smaller "
                       "--n",
                       setup->n);
    weft_status status = wi_data_make(&own, WI_DATA_PLACE, false, setup->n * width, problem);
    if (status != WEFT_OK)
        return status;
    wi_data *const data = *problem;
    fill_diagonal(data);
    if (!data->shared)
        status = weft_copy(setup->ctx, data->x, data->host_x, bytes);
    if (status == WEFT_OK)
        return wi_data_add_y(data, setup->n * width, fill_right_hand_side);
    wi_data_drop(data);
    return status;
}

/* A rung that falls back to another one would be timed as what it is not. */
static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    const size_t n = order_of(data);
    weft_report report = {.size = sizeof report};
    const weft_status status =
        weft_solve(s->ctx, 0, s->type, n, 1, data->x, n, data->y, n, data->z, n, NULL, &report);
    return status == WEFT_OK && report.fell_back
               ? wi_fail(s->ctx, WEFT_EUNSUPPORTED, "climb: the rung fell back to direct")
               : status;
}

static bool check(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    const size_t n = order_of(data);
    const double u = data->setup.type == WEFT_F64 ? 0x1p-53 : 0x1p-24;
    if (!wi_data_try(data, call, why, bytes))
        return false;
    for (size_t i = 0; i < n; i++) {
        const double right = solution_of(i), x = wi_dense_get(data->setup.type, data->host_z, i);
        if (!(fabs(x - right) <= 16 * u * right)) {
            snprintf(why, bytes, "x[%zu] is %.17g, not %.17g", i, x, right);
            return false;
        }
    }
    return true;
}

static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    const double n = (double)order_of(data);
    (void)rung;
    *facts = (wi_facts){.size = wi_size_of(order_of(data)),
                        .bytes = n * (n + 2) * (double)weft_type_size(data->setup.type),
                        .flops = 2 * n * n * n / 3 + 2 * n * n,
                        .roof = wi_dense_roof(&data->setup)};
}

const wi_climb wi_solve_climb = {
    .ladder = &wi_solve_ladder,
    .example = "A x = b, refined",
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
