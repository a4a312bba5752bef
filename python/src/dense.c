/* SPDX-License-Identifier: Apache-2.0 */
/* Calls about matrices, Fourier transforms, filters and images. The rows at the end name their
 * arguments. A matrix may lie by rows or by columns; right-hand sides lie by rows. */
#include "core.h"

static unsigned major(const wp_array *a) {
    return a->by_columns ? 0 : WEFT_ROW_MAJOR;
}

/* A matrix that lies by columns is, by rows, its transpose. */
static unsigned by_rows(const wp_array *a) {
    return WEFT_ROW_MAJOR | (a->by_columns ? WEFT_TRANSPOSE_A : 0);
}

/* The same of a triangle: the lower one of A is the upper one of its transpose. */
static unsigned triangle_by_rows(const wp_array *a) {
    return WEFT_ROW_MAJOR | (a->by_columns ? WEFT_UPPER_TRIANGLE : 0);
}

static weft_status refuse_columns(wp_arguments *v) {
    v->refused = "right-hand sides must lie by rows";
    return WEFT_EARG;
}

static weft_status gemm(weft_context *ctx, wp_arguments *v) {
    const wp_array *a = &v->a[0], *b = &v->a[1], *c = &v->a[2];
    unsigned how = (unsigned)v->i[0] | major(c);
    if (a->by_columns != c->by_columns)
        how |= WEFT_TRANSPOSE_A;
    if (b->by_columns != c->by_columns)
        how |= WEFT_TRANSPOSE_B;
    return wp.weft_gemm(ctx, how, a->type, c->type, c->rows, c->cols, a->cols, v->r[0], a->p, a->ld,
                        b->p, b->ld, v->r[1], c->p, c->ld);
}

/* y = A x or, with WEFT_TRANSPOSE_A, At x. */
static weft_status gemv(weft_context *ctx, wp_arguments *v) {
    const wp_array *a = &v->a[0], *x = &v->a[1], *y = &v->a[2];
    return wp.weft_gemv(ctx, (unsigned)v->i[0] | major(a), a->type, y->type, y->n, x->n, 1, a->p,
                        a->ld, x->p, 1, 0, y->p, 1);
}

static weft_status gemm_batch(weft_context *ctx, wp_arguments *v) {
    unsigned how = (unsigned)v->i[0] | WEFT_ROW_MAJOR;
    size_t m = (size_t)v->i[1], n = (size_t)v->i[2], k = (size_t)v->i[3];
    return wp.weft_gemm_batch_strided(ctx, how, v->a[0].type, v->a[2].type, m, n, k, 1, v->a[0].p,
                                      k, (size_t)v->i[4], v->a[1].p, n, (size_t)v->i[5], 0,
                                      v->a[2].p, n, m * n, (size_t)v->i[6]);
}

static weft_status trsm(weft_context *ctx, wp_arguments *v) {
    unsigned flip = v->a[0].by_columns ? WEFT_TRANSPOSE_A | WEFT_UPPER_TRIANGLE : 0;
    if (v->a[1].by_columns)
        return refuse_columns(v);
    return wp.weft_trsm(ctx, ((unsigned)v->i[0] | WEFT_ROW_MAJOR) ^ flip, v->a[0].type,
                        v->a[1].rows, v->a[1].cols, 1, v->a[0].p, v->a[0].ld, v->a[1].p,
                        v->a[1].ld);
}

static weft_status lu_factor(weft_context *ctx, wp_arguments *v) {
    return wp.weft_lu_factor(ctx, WEFT_ROW_MAJOR, v->a[0].type, v->a[0].rows, v->a[0].cols,
                             v->a[0].p, v->a[0].ld, v->a[1].p);
}

static weft_status lu_solve(weft_context *ctx, wp_arguments *v) {
    if (v->a[2].by_columns)
        return refuse_columns(v);
    unsigned how = (unsigned)v->i[0] | WEFT_ROW_MAJOR;
    return wp.weft_lu_solve(ctx, how, v->a[0].type, v->a[0].rows, v->a[2].cols, v->a[0].p,
                            v->a[0].ld, v->a[1].p, v->a[2].p, v->a[2].ld);
}

static weft_status lu_inverse(weft_context *ctx, wp_arguments *v) {
    return wp.weft_lu_inverse(ctx, WEFT_ROW_MAJOR, v->a[0].type, v->a[0].rows, v->a[0].p,
                              v->a[0].ld, v->a[1].p);
}

static weft_status cholesky_factor(weft_context *ctx, wp_arguments *v) {
    return wp.weft_cholesky_factor(ctx, (unsigned)v->i[0] ^ triangle_by_rows(&v->a[0]),
                                   v->a[0].type, v->a[0].rows, v->a[0].p, v->a[0].ld);
}

static weft_status cholesky_solve(weft_context *ctx, wp_arguments *v) {
    if (v->a[1].by_columns)
        return refuse_columns(v);
    return wp.weft_cholesky_solve(ctx, (unsigned)v->i[0] ^ triangle_by_rows(&v->a[0]), v->a[0].type,
                                  v->a[0].rows, v->a[1].cols, v->a[0].p, v->a[0].ld, v->a[1].p,
                                  v->a[1].ld);
}

static weft_status fft(weft_context *ctx, wp_arguments *v) {
    weft_fft_description d = {
        .type = v->a[0].type,
        .kind = (weft_fft_kind)v->i[0],
        .direction = (weft_fft_direction)v->i[1],
        .rank = (unsigned)v->i[2],
        .n = {(size_t)v->i[3], (size_t)v->i[4], (size_t)v->i[5]},
        .batch = (size_t)v->i[6],
        .scale = v->r[0],
    };
    return wp.weft_fft(ctx, &d, v->a[0].p, v->a[1].p);
}

static weft_status convolve(weft_context *ctx, wp_arguments *v) {
    weft_convolution c = {
        .type = v->a[0].type,
        .out = v->a[2].type,
        .border = (weft_border)v->i[0],
        .how = (unsigned)v->i[1],
        .width = (size_t)v->i[2],
        .height = (size_t)v->i[3],
        .channels = (unsigned)v->i[4],
        .images = (size_t)v->i[5],
        .filter_width = (size_t)v->i[6],
        .filter_height = (size_t)v->i[7],
        .filter = v->a[1].p,
    };
    return wp.weft_convolve(ctx, &c, v->a[0].p, v->a[2].p);
}

static weft_status solve_batch(weft_context *ctx, wp_arguments *v) {
    size_t n = (size_t)v->i[1], sides = (size_t)v->i[2];
    __typeof__(weft_solve_batch_strided) *run =
        v->i[0] != 0 ? wp.weft_solve_spd_batch_strided : wp.weft_solve_batch_strided;
    return run(ctx, WEFT_ROW_MAJOR, v->a[0].type, n, sides, v->a[0].p, n, n * n, v->a[1].p, sides,
               n * sides, v->a[2].p, v->a[2].n);
}

static weft_status cholesky_batch(weft_context *ctx, wp_arguments *v) {
    size_t n = (size_t)v->i[1];
    return wp.weft_cholesky_factor_batch_strided(ctx, (unsigned)v->i[0] | WEFT_ROW_MAJOR,
                                                 v->a[0].type, n, v->a[0].p, n, n * n, v->a[1].p,
                                                 v->a[1].n);
}

static weft_status blend(weft_context *ctx, wp_arguments *v) {
    weft_blending b = {
        .type = v->a[0].type,
        .width = (size_t)v->i[0],
        .height = (size_t)v->i[1],
        .channels = (unsigned)v->i[2],
        .weight_a = v->r[0],
        .weight_b = v->r[1],
    };
    return wp.weft_blend(ctx, &b, v->a[0].p, v->a[1].p, v->a[2].p, v->a[3].p);
}

const wp_row wp_dense_rows[] = {
    {"gemm", "irrmmw", gemm},                 /* how, alpha, beta, a, b, c */
    {"gemv", "imao", gemv},                   /* how, a, x, y */
    {"gemm_batch", "iiiiiiiaao", gemm_batch}, /* how, m, n, k, strides of a and b, count, a, b, c */
    {"trsm", "imw", trsm},                    /* how, a, b */
    {"lu_factor", "wo", lu_factor},           /* a, by rows, pivot */
    {"lu_solve", "imaw", lu_solve},           /* how, lu, pivot, b */
    {"lu_inverse", "wa", lu_inverse},         /* lu, pivot */
    {"cholesky_factor", "iw", cholesky_factor}, /* how, a */
    {"cholesky_solve", "imw", cholesky_solve},  /* how, l, b */
    {"fft", "iiiiiiirzZ", fft}, /* kind, direction, rank, n (3), batch, scale, x, y */
    /* border, how, width, height, channels, images, filter width, filter height, x, filter, y */
    {"convolve", "iiiiiiiiaao", convolve},
    {"solve_batch", "iiiaoo", solve_batch},     /* spd, n, right-hand sides, a, b and x, info */
    {"cholesky_batch", "iioo", cholesky_batch}, /* how, n, a, info */
    {"blend", "iiirraaao", blend}, /* width, height, channels, weights, a, b, mask or None, out */
    {NULL, NULL, NULL},
};

/* What a report says, as a dict. */
static PyObject *dict_of(const weft_report *r) {
    return Py_BuildValue(
        "{s:n,s:n,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:i,s:n,s:n,s:n,s:O,s:s,s:s,s:O,s:i,s:d,s:d,s:O}",
        "n", (Py_ssize_t)r->n, "right_hand_sides", (Py_ssize_t)r->right_hand_sides,
        "backward_error", r->backward_error, "normwise_error", r->normwise_error, "forward_bound",
        r->forward_bound, "forward_estimate", r->forward_estimate, "condition_estimate",
        r->condition_estimate, "growth", r->growth, "log_abs_det", r->log_abs_det, "sign_det",
        r->sign_det, "refinements", (Py_ssize_t)r->refinements, "iterations",
        (Py_ssize_t)r->iterations, "stalled", (Py_ssize_t)r->stalled, "equilibrated",
        r->equilibrated ? Py_True : Py_False, "method", r->method, "variant", r->variant,
        "fell_back", r->fell_back ? Py_True : Py_False, "streamed", r->streamed, "factor_seconds",
        r->factor_seconds, "solve_seconds", r->solve_seconds, "exact",
        r->exact ? Py_True : Py_False);
}

/* solve(context, spd, how, refine, precision, no_estimates, exact, a, b, x) gives the report as a
 * dict */
static PyObject *solve(PyObject *module, PyObject *args) {
    (void)module;
    wp_context *c;
    int spd, how, refine, precision, no_estimates, exact;
    PyObject *given[3];
    if (!PyArg_ParseTuple(args, "O&piiippOOO:solve", wp_take_context, &c, &spd, &how, &refine,
                          &precision, &no_estimates, &exact, &given[0], &given[1], &given[2]))
        return NULL;
    wp_array a[3] = {0};
    bool taken = true;
    for (int k = 0; taken && k < 3; k++)
        taken = wp_take(given[k], &a[k], WP_MATRIX | (k == 2 ? WP_WRITE : 0U));
    if (taken && (a[1].by_columns || a[2].by_columns)) {
        PyErr_SetString(PyExc_ValueError, "right-hand sides and solutions must lie by rows");
        taken = false;
    }
    if (!taken) {
        wp_unlock(c);
        wp_release(a, 3);
        return NULL;
    }
    weft_solve_options options = {.size = sizeof options,
                                  .refine = refine,
                                  .precision = (weft_precision)precision,
                                  .no_estimates = no_estimates,
                                  .exact = exact};
    weft_report report = {.size = sizeof report};
    __typeof__(weft_solve) *run = spd ? wp.weft_solve_spd : wp.weft_solve;
    PyThreadState *save = PyEval_SaveThread();
    weft_status status =
        run(c->ctx, spd ? (unsigned)how ^ triangle_by_rows(&a[0]) : (unsigned)how ^ by_rows(&a[0]),
            a[0].type, a[0].rows, a[1].cols, a[0].p, a[0].ld, a[1].p, a[1].ld, a[2].p, a[2].ld,
            &options, &report);
    PyEval_RestoreThread(save);
    return wp_end(c, status, a, 3) ? dict_of(&report) : NULL;
}

PyMethodDef wp_dense_methods[] = {
    {"solve", solve, METH_VARARGS,
     "solve(context, spd, how, refine, precision, no_estimates, exact, a, b, x): the report"},
    {NULL, NULL, 0, NULL}};
