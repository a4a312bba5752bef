/* SPDX-License-Identifier: Apache-2.0 */
/* Calls about numbers: reductions, exact sums, scans, element by element, random numbers. The rows
 * at the end name their arguments. */
#include "core.h"

static weft_status reduce(weft_context *ctx, wp_arguments *v) {
    return wp.weft_reduce(ctx, (weft_op)v->i[0], v->a[0].type, v->a[0].n, v->a[0].p, v->a[1].p);
}

static weft_status reduce_segments(weft_context *ctx, wp_arguments *v) {
    return wp.weft_reduce_segments(ctx, (weft_op)v->i[0], v->a[0].type, v->a[0].n, v->a[0].p,
                                   v->a[1].n - 1, v->a[1].type, v->a[1].p, v->a[2].p);
}

static weft_status exact_reduce_segments(weft_context *ctx, wp_arguments *v) {
    return wp.weft_exact_reduce_segments(ctx, (weft_op)v->i[0], v->a[0].type, v->a[0].n, v->a[0].p,
                                         v->a[1].n - 1, v->a[1].type, v->a[1].p, v->a[2].type,
                                         v->a[2].p);
}

static weft_status exact_reduce(weft_context *ctx, wp_arguments *v) {
    return wp.weft_exact_reduce(ctx, (weft_op)v->i[0], v->a[0].type, v->a[0].n, v->a[0].p,
                                v->a[1].type, v->a[1].p);
}

static weft_status exact_dot(weft_context *ctx, wp_arguments *v) {
    return wp.weft_exact_dot(ctx, v->a[0].type, v->a[0].n, v->a[0].p, v->a[1].p, v->a[2].type,
                             v->a[2].p);
}

static weft_status dot_fast(weft_context *ctx, wp_arguments *v) {
    return wp.weft_dot_fast(ctx, v->a[0].type, v->a[0].n, v->a[0].p, v->a[1].p, v->a[2].p);
}

static weft_status mean(weft_context *ctx, wp_arguments *v) {
    return wp.weft_mean(ctx, v->a[0].type, v->a[0].n, v->a[0].p, v->a[1].type, v->a[1].p);
}

static weft_status variance(weft_context *ctx, wp_arguments *v) {
    return wp.weft_variance(ctx, v->a[0].type, v->a[0].n, v->a[0].p, (size_t)v->i[0], v->a[1].type,
                            v->a[1].p);
}

static weft_status summary(weft_context *ctx, wp_arguments *v) {
    return wp.weft_summary(ctx, v->a[0].type, v->a[0].n, v->a[0].p, v->a[1].p);
}

static weft_status scan(weft_context *ctx, wp_arguments *v) {
    return wp.weft_scan(ctx, (weft_scan_kind)v->i[0], (weft_op)v->i[1], v->a[0].type, v->a[0].n,
                        v->a[0].p, v->a[1].p, NULL);
}

static weft_status scan_wide(weft_context *ctx, wp_arguments *v) {
    return wp.weft_scan_wide(ctx, (weft_scan_kind)v->i[0], (weft_op)v->i[1], v->a[0].type,
                             v->a[0].n, v->a[0].p, v->a[1].type, v->a[1].p, NULL, v->a[2].p);
}

static weft_status scan_segments(weft_context *ctx, wp_arguments *v) {
    return wp.weft_scan_segments(ctx, (weft_scan_kind)v->i[0], (weft_op)v->i[1], v->a[0].type,
                                 v->a[0].n, v->a[0].p, v->a[1].p, v->a[2].n - 1, v->a[2].type,
                                 v->a[2].p);
}

static weft_status unary(weft_context *ctx, wp_arguments *v) {
    return wp.weft_unary(ctx, (weft_expr_op)v->i[0], v->a[0].type, v->a[0].n, v->a[0].p, v->a[1].p);
}

static weft_status binary(weft_context *ctx, wp_arguments *v) {
    return wp.weft_binary(ctx, (weft_expr_op)v->i[0], v->a[0].type, v->a[0].n, v->a[0].p, v->a[1].p,
                          v->a[2].p);
}

static weft_status binary_scalar(weft_context *ctx, wp_arguments *v) {
    return wp.weft_binary_scalar(ctx, (weft_expr_op)v->i[0], v->a[0].type, v->a[0].n, v->a[0].p,
                                 v->a[1].p, v->a[2].p);
}

static weft_status where(weft_context *ctx, wp_arguments *v) {
    return wp.weft_where(ctx, v->a[1].type, v->a[1].n, v->a[0].p, v->a[1].p, v->a[2].p, v->a[3].p);
}

static weft_status convert(weft_context *ctx, wp_arguments *v) {
    return wp.weft_convert(ctx, (weft_expr_op)v->i[0], v->a[0].type, v->a[1].type, v->a[0].n,
                           v->a[0].p, v->a[1].p);
}

/* A formula of up to seven arrays, as an array of i64, three numbers for a step: op, argument, and
 * the bits of the constant. */
typedef struct formula {
    weft_expr_step program[WEFT_EXPR_MAX_STEPS];
    weft_expr_input inputs[WEFT_EXPR_MAX_INPUTS];
    size_t steps, count;
} formula;

static bool take_formula(wp_arguments *v, size_t count, formula *f) {
    const int64_t *number = v->a[0].p;
    f->steps = v->a[0].n / 3;
    f->count = count;
    if (f->steps > WEFT_EXPR_MAX_STEPS) {
        v->refused = "evaluate: the formula has too many steps; split it";
        return false;
    }
    for (size_t k = 0; k < f->steps; k++) {
        f->program[k].op = (weft_expr_op)number[3 * k];
        f->program[k].argument = (int)number[3 * k + 1];
        f->program[k].value.i = number[3 * k + 2];
    }
    for (size_t k = 0; k < count; k++)
        f->inputs[k] = (weft_expr_input){v->a[k + 1].type, v->a[k + 1].p};
    return true;
}

static weft_status expr(weft_context *ctx, wp_arguments *v) {
    const wp_array *z = &v->a[WEFT_EXPR_MAX_INPUTS + 1];
    formula f;
    if (!take_formula(v, (size_t)v->i[0], &f))
        return WEFT_EARG;
    return wp.weft_expr(ctx, f.program, f.steps, z->n, f.inputs, f.count, z->type, z->p);
}

static weft_status expr_reduce(weft_context *ctx, wp_arguments *v) {
    const wp_array *z = &v->a[WEFT_EXPR_MAX_INPUTS + 1];
    formula f;
    if (!take_formula(v, (size_t)v->i[2], &f))
        return WEFT_EARG;
    return wp.weft_expr_reduce(ctx, (weft_op)v->i[0], f.program, f.steps, v->a[1].n, f.inputs,
                               f.count, (weft_type)v->i[1], z->p);
}

static weft_status random_bits(weft_context *ctx, wp_arguments *v) {
    return wp.weft_random_bits(ctx, v->a[0].type, v->a[0].n, (uint64_t)v->i[0], (uint64_t)v->i[1],
                               v->a[0].p);
}

static weft_status random_uniform(weft_context *ctx, wp_arguments *v) {
    return wp.weft_random_uniform(ctx, v->a[0].type, v->a[0].n, (uint64_t)v->i[0],
                                  (uint64_t)v->i[1], v->a[0].p);
}

static weft_status random_normal(weft_context *ctx, wp_arguments *v) {
    return wp.weft_random_normal(ctx, v->a[0].type, v->a[0].n, (uint64_t)v->i[0], (uint64_t)v->i[1],
                                 v->a[0].p);
}

static weft_status random_integers(weft_context *ctx, wp_arguments *v) {
    return wp.weft_random_integers(ctx, v->a[2].type, v->a[2].n, v->a[0].p, v->a[1].p,
                                   (uint64_t)v->i[0], (uint64_t)v->i[1], v->a[2].p);
}

static weft_status random_permutation(weft_context *ctx, wp_arguments *v) {
    return wp.weft_random_permutation(ctx, v->a[0].type, v->a[0].n, (uint64_t)v->i[0], v->a[0].p);
}

const wp_row wp_number_rows[] = {
    {"reduce", "ivo", reduce},                                /* op, x, result */
    {"reduce_segments", "iaao", reduce_segments},             /* op, x, offsets, results */
    {"exact_reduce", "iao", exact_reduce},                    /* op, x, result */
    {"exact_reduce_segments", "iaao", exact_reduce_segments}, /* op, x, offsets, results */
    {"exact_dot", "aao", exact_dot},                          /* x, y, result */
    {"dot_fast", "vvo", dot_fast},                            /* x, y, result */
    {"mean", "ao", mean},                                     /* x, result */
    {"variance", "iao", variance},                            /* correction, x, result */
    {"summary", "vo", summary},                /* x, the bytes of a weft_statistics */
    {"scan", "iivo", scan},                    /* kind, op, x, y */
    {"scan_wide", "iivoo", scan_wide},         /* kind, op, x, y, total or None */
    {"scan_segments", "iiaoa", scan_segments}, /* kind, op, x, y, offsets */
    {"unary", "ivo", unary},                   /* op, x, z */
    {"binary", "ivvo", binary},                /* op, x, y, z */
    {"binary_scalar", "ivao", binary_scalar},  /* op, x, an array of one element, z */
    {"where", "vvvo", where},                  /* mask, x, y, z */
    {"convert", "ivo", convert},               /* how, x, z */
    /* how many arrays, the formula, 7 arrays, some of them None, z */
    {"expr", "iaaaaaaaao", expr},
    /* op, the type of the values, then as expr; z takes the result */
    {"expr_reduce", "iiiaaaaaaaao", expr_reduce},
    {"random_bits", "iio", random_bits},              /* seed, offset, x */
    {"random_uniform", "iio", random_uniform},        /* seed, offset, x */
    {"random_normal", "iio", random_normal},          /* seed, offset, x */
    {"random_integers", "iiaao", random_integers},    /* seed, offset, low, high, x */
    {"random_permutation", "io", random_permutation}, /* seed, x */
    {NULL, NULL, NULL},
};
