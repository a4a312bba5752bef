/* SPDX-License-Identifier: Apache-2.0 */
/* sparse's climb: factors the matrix of a 7-point mesh of about n points, which is analyzed once.
 */
#include <math.h>
#include <stdio.h>

#include "climb/climb.h"
#include "sparse/chol.h"
#include "sparse/generate.h"

/* A matrix, and the plan to factor it. */
typedef struct mesh_system {
    weft_context *ctx;
    size_t n; /* the number of rows asked for; the mesh has about as many */
    weft_sparse *matrix;
    weft_chol *plan;
} mesh_system;

static const char call_name[] = "climb sparse";

static void drop(void *problem) {
    mesh_system *const s = problem;
    weft_chol_destroy(s->plan);
    weft_sparse_destroy(s->matrix);
    wi_host_free(s);
}

static weft_status make(const wi_setup *setup, void **problem) {
    weft_context *const ctx = setup->ctx;
    const wi_recipe recipe = {.n = (size_t)fmax(1, round(cbrt((double)setup->n)))};
    mesh_system *const s = wi_host_alloc(sizeof *s);
    if (!s)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for a problem", call_name);
    *s = (mesh_system){.ctx = ctx, .n = setup->n};
    weft_status status = wi_find_generator("laplace3d")->make(ctx, call_name, &recipe, &s->matrix);
    if (status == WEFT_OK)
        status = weft_chol_analyze(ctx, s->matrix, NULL, &s->plan);
    if (status != WEFT_OK)
        drop(s);
    else
        *problem = s;
    return status;
}

static weft_status call(void *problem) {
    const mesh_system *const s = problem;
    return weft_chol_factor(s->ctx, s->plan, s->matrix);
}

/* Checks that L solves the system with b = 1 with a small backward error. */
static bool check(void *problem, char *why, size_t bytes) {
    const mesh_system *const s = problem;
    const size_t n = weft_sparse_rows(s->matrix);
    weft_chol_report report = {.size = sizeof report};
    double *const x = wi_host_alloc(n * sizeof *x);
    weft_status status = x ? call(problem) : WEFT_ENOMEM;
    for (size_t i = 0; x && i < n; i++)
        x[i] = 1;
    if (status == WEFT_OK)
        status = weft_chol_solve(s->ctx, s->plan, s->matrix, NULL, 1, x, n, x, n);
    if (status == WEFT_OK)
        status = weft_chol_get_report(s->ctx, s->plan, &report);
    wi_host_free(x);
    const bool good = status == WEFT_OK && report.backward_error <= 1e-13;
    if (!good)
        snprintf(why, bytes, "%s, backward error %g: %s", weft_status_name(status),
                 report.backward_error, weft_message(s->ctx));
    return good;
}

/* A is read once, L written once. A column of L with c entries takes c^2 flops: products and sums
 * for the columns to its right, a square root, and quotients. Explicit zeros, stored to make fronts
 * denser, do not count. */
static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const mesh_system *const s = problem;
    const weft_chol_report *const report = &s->plan->report;
    (void)rung;
    *facts = (wi_facts){.size = wi_size_of(s->n),
                        .bytes = 16 * (double)weft_sparse_entries(s->matrix) +
                                 (double)report->factor_bytes,
                        .flops = report->flops,
                        .roof = WI_ROOF_FMA_F64};
}

const wi_climb wi_sparse_climb = {
    .ladder = &wi_sparse_ladder,
    .example = "factor after analysis, 7-point mesh of about n points",
    .type = WEFT_F64,
    .types = WI_TYPE(WEFT_F64),
    .make = make,
    .call = call,
    .check = check,
    .describe = describe,
    .drop = drop,
};
