/* SPDX-License-Identifier: Apache-2.0 */
/* sparse's climb: the factorization of the 7-point mesh of about n points, analyzed once. */
#include <math.h>
#include <stdio.h>

#include "cli/climb.h"
#include "sparse/chol.h"
#include "sparse/generate.h"

typedef struct problem {
    weft_sparse *matrix;
    weft_chol *plan;
} problem;

static const char call_name[] = "climb sparse";

static void drop(wi_case *c) {
    problem *const p = c->expected;
    weft_chol_destroy(p->plan);
    weft_sparse_destroy(p->matrix);
    wi_host_free(p);
    c->expected = NULL;
}

static weft_status make(wi_case *c) {
    const wi_recipe recipe = {.n = (size_t)fmax(1, round(cbrt((double)c->n)))};
    problem *const p = wi_host_alloc(sizeof *p);
    if (!p)
        return wi_fail(c->ctx, WEFT_ENOMEM, "%s: no memory for a problem", call_name);
    *p = (problem){.matrix = NULL};
    c->expected = p;
    weft_status status =
        wi_find_generator("laplace3d")->make(c->ctx, call_name, &recipe, &p->matrix);
    if (status == WEFT_OK)
        status = weft_chol_analyze(c->ctx, p->matrix, NULL, &p->plan);
    if (status != WEFT_OK)
        drop(c);
    return status;
}

static weft_status call(wi_case *c) {
    problem *const p = c->expected;
    return weft_chol_factor(c->ctx, p->plan, p->matrix);
}

/* L has to solve the system with b = 1, to a small backward error. */
static bool check(wi_case *c, char *why, size_t bytes) {
    problem *const p = c->expected;
    const size_t n = weft_sparse_rows(p->matrix);
    weft_chol_report report = {.size = sizeof report};
    double *const x = wi_host_alloc(n * sizeof *x);
    weft_status status = x ? call(c) : WEFT_ENOMEM;
    for (size_t i = 0; x && i < n; i++)
        x[i] = 1;
    if (status == WEFT_OK)
        status = weft_chol_solve(c->ctx, p->plan, p->matrix, NULL, 1, x, n, x, n);
    if (status == WEFT_OK)
        status = weft_chol_get_report(c->ctx, p->plan, &report);
    wi_host_free(x);
    const bool good = status == WEFT_OK && report.backward_error <= 1e-13;
    if (!good)
        snprintf(why, bytes, "%s, backward error %g: %s", weft_status_name(status),
                 report.backward_error, weft_message(c->ctx));
    return good;
}

/* Each column of L, of c entries, takes c^2: products and sums of the columns to its right, a root,
 * quotients. Zeros that are stored to make fronts denser do not count. */
static double flops_needed(const wi_case *c) {
    const problem *const p = c->expected;
    return p->plan->report.flops;
}

/* A is read once, L written once. */
static double bytes_moved(const wi_case *c) {
    const problem *const p = c->expected;
    return 16 * (double)weft_sparse_entries(p->matrix) + (double)p->plan->report.factor_bytes;
}

const wi_climb wi_sparse_climb = {
    .ladder = &wi_sparse_ladder,
    .example = "factor after analysis, 7-point mesh of about n points",
    .type = WEFT_F64,
    .only_type = true,
    .roof = WI_ROOF_FMA,
    .make = make,
    .call = call,
    .check = check,
    .bytes = bytes_moved,
    .flops = flops_needed,
    .drop = drop,
};
