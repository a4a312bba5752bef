/* SPDX-License-Identifier: Apache-2.0 */
/* weft_scan. Integers, MIN and MAX exactly; float sums and products within what any order of
 * operations can round off, which is nothing where the sums are whole numbers, as long as no prefix
 * leaves the range that scan.h states. */
#include "calls/calls.h"

#include <math.h>
#include <string.h>

/* Float sums and products so far. */
typedef struct prefix {
    weft_op op;
    weft_type type;
    long double value, absolute; /* the sum or product, and the sum of finite absolute values */
    long double up, down;        /* of products: by how many powers of two they may grow, shrink */
    bool whole, negative, zero, nan;
    bool left; /* the range in which scan.h promises something */
    size_t terms;
} prefix;

/* Rounding in the type that a tile computes in; in f64 beyond. */
static long double unit_of(weft_type type) {
    return type == WEFT_F64 ? 0x1p-53L : 0x1p-24L;
}

static long double smallest_normal(weft_type type) {
    return type == WEFT_F64 ? 0x1p-1022L : test_half_tiny(type) / test_roundoff(type);
}

/* Is a finite prefix so near the ends of the range, or beyond, that rounding decides? */
static bool leaves(const prefix *p) {
    const long double v = fabsl(p->value);
    const long double least = smallest_normal(p->type);
    return v > 0.99L * test_largest_of(p->type) ||
           (p->op == WEFT_PRODUCT && !p->zero && v < 1.01L * least);
}

static void add_term(prefix *p, double v) {
    const bool sum = p->op == WEFT_SUM;
    p->terms++;
    p->nan = p->nan || isnan(v);
    p->zero = p->zero || v == 0;
    p->negative ^= signbit(v) != 0;
    p->whole = p->whole && v == nearbyint(v);
    p->left = p->left || (!sum && isinf(v));
    p->value = p->terms == 1 ? v : sum ? p->value + v : p->value * v; /* a lone -0.0 stays so */
    p->absolute += isfinite(v) ? fabs(v) : 0;
    if (isfinite(v) && v != 0) {
        const long double e = logbl(v);
        p->up += e + 1 > 0 ? e + 1 : 0;
        p->down += e < 0 ? -e : 0;
    }
    p->left = p->left || (isfinite(p->value) && leaves(p));
}

/* What the element has to be: `value`, give or take `bound`. */
static void tell(const prefix *p, long double *value, long double *bound) {
    const bool sum = p->op == WEFT_SUM;
    const bool exact = sum && p->whole && p->absolute < 1 / unit_of(p->type);
    const long double size = sum ? p->absolute : fabsl(p->value);
    *value = p->nan               ? NAN
             : !sum && p->zero    ? (p->negative ? -0.0L : 0.0L)
             : isfinite(p->value) ? test_round(p->type, p->value)
                                  : p->value;
    *bound = p->left ? INFINITY : 0;
    if (!p->left && isfinite(*value) && !exact && (sum || !p->zero)) {
        *bound = size * (long double)p->terms * 2 * unit_of(p->type) +
                 fabsl(p->value) * 2 * test_roundoff(p->type) +
                 2 * (long double)test_half_tiny(p->type);
    }
}

/* On a GPU all magnitudes together have to stay in range. */
static bool promises(const fuzz *f, const prefix *all) {
    const weft_type type = f->type;
    if (!f->gpu) {
        return true;
    }
    if (all->op == WEFT_SUM) {
        return all->absolute < 0.99L * test_largest_of(type);
    }
    return all->up < logbl(test_largest_of(type)) && all->down < -logbl(smallest_normal(type));
}

/* Elements first ... end - 1 are scanned by themselves. */
static void scan_floats(const fuzz *f, weft_scan_kind kind, weft_op op, size_t first, size_t end,
                        const void *x, const void *init, fuzz_array *y) {
    const double start = init ? test_load(f->type, init, 0).f : op == WEFT_PRODUCT;
    prefix p = {.op = op, .type = f->type, .whole = true}, all = p;
    add_term(&p, start);
    add_term(&all, start);
    for (size_t i = first; i < end; i++) {
        add_term(&all, test_load(f->type, x, i).f);
    }
    p.left = p.left || !promises(f, &all);
    for (size_t i = first; i < end; i++) {
        const double v = test_load(f->type, x, i).f;
        if (kind == WEFT_EXCLUSIVE) {
            tell(&p, &y->value[i], &y->bound[i]);
        }
        add_term(&p, v);
        if (kind == WEFT_INCLUSIVE) {
            tell(&p, &y->value[i], &y->bound[i]);
        }
    }
}

static test_value identity(weft_type type, weft_op op) {
    const unsigned bits = 8 * (unsigned)test_size_of(type);
    const uint64_t top = UINT64_C(1) << (bits - 1);
    switch (op) {
    case WEFT_PRODUCT:
        return (test_value){.u = 1};
    case WEFT_MIN:
        return test_is_float(type)    ? (test_value){.f = INFINITY}
               : test_is_signed(type) ? (test_value){.u = top - 1}
                                      : (test_value){.u = UINT64_MAX >> (64 - bits)};
    case WEFT_MAX:
        return test_is_float(type)    ? (test_value){.f = -INFINITY}
               : test_is_signed(type) ? (test_value){.i = -(int64_t)(top - 1) - 1}
                                      : (test_value){.u = 0};
    case WEFT_AND:
        return (test_value){.u = test_wrap(type, UINT64_MAX)};
    default:
        return (test_value){.u = 0};
    }
}

/* a before b in the order of MIN and MAX: -0.0 before +0.0; neither is NaN. */
static bool is_less(weft_type type, test_value a, test_value b) {
    if (test_is_float(type)) {
        return a.f < b.f || (a.f == b.f && signbit(a.f) && !signbit(b.f));
    }
    return test_is_signed(type) ? a.i < b.i : a.u < b.u;
}

static test_value combine(weft_type type, weft_op op, test_value a, test_value b) {
    switch (op) {
    case WEFT_SUM:
        return (test_value){.u = test_wrap(type, a.u + b.u)};
    case WEFT_PRODUCT:
        return (test_value){.u = test_wrap(type, a.u * b.u)};
    case WEFT_AND:
        return (test_value){.u = a.u & b.u};
    case WEFT_OR:
        return (test_value){.u = a.u | b.u};
    case WEFT_XOR:
        return (test_value){.u = a.u ^ b.u};
    default:
        if (test_is_float(type) && (isnan(a.f) || isnan(b.f))) {
            return (test_value){.f = NAN};
        }
        return is_less(type, a, b) == (op == WEFT_MIN) ? a : b;
    }
}

static void scan_exactly(const fuzz *f, weft_scan_kind kind, weft_op op, size_t first, size_t end,
                         const void *x, const void *init, fuzz_array *y) {
    test_value so_far = init ? test_load(f->type, init, 0) : identity(f->type, op);
    for (size_t i = first; i < end; i++) {
        const test_value before = so_far;
        so_far = combine(f->type, op, so_far, test_load(f->type, x, i));
        test_store(f->type, y->want, i, kind == WEFT_EXCLUSIVE ? before : so_far);
    }
}

void fuzz_expect_scans(fuzz *f, weft_op op, fuzz_array *y) {
    y->type = f->type;
    y->compare = FUZZ_SAME;
    if (!test_is_float(f->type) || op > WEFT_PRODUCT)
        return;
    y->compare = FUZZ_BOUNDED;
    y->signs = true;
    y->value = fuzz_take(f, f->n * sizeof *y->value);
    y->bound = fuzz_take(f, f->n * sizeof *y->bound);
}

void fuzz_expect_scan(const fuzz *f, weft_scan_kind kind, weft_op op, size_t first, size_t end,
                      const void *x, const void *init, fuzz_array *y) {
    (y->compare == FUZZ_BOUNDED ? scan_floats : scan_exactly)(f, kind, op, first, end, x, init, y);
}

/* Again, and on the cpu with another number of threads: the same bits. */
static void run_again(fuzz *f, weft_scan_kind kind, weft_op op, const fuzz_array *x, fuzz_array *y,
                      const void *init) {
    weft_context *const ctx = f->twin && fuzz_one_in(f, 2) ? f->twin : f->ctx;
    unsigned char *const first = fuzz_take(f, y->bytes);
    if (y->bytes == 0) {
        return;
    }
    memcpy(first, fuzz_read(f, y), y->bytes);
    test_use(ctx, "scan", f->forced);
    if (weft_scan(ctx, kind, op, f->type, f->n, x->p, y->p, init) != WEFT_OK) {
        fail_msg("a second time: %s", weft_message(ctx));
    }
    const unsigned char *const again = fuzz_read(f, y);
    for (size_t i = 0; i < f->n; i++) {
        const size_t size = test_size_of(f->type);
        if (memcmp(first + i * size, again + i * size, size) != 0) {
            fail_msg("a second time, on %s, y[%zu] is %s, not %s", weft_place(ctx), i,
                     test_text(f->type, test_load(f->type, again, i)),
                     test_text(f->type, test_load(f->type, first, i)));
        }
    }
}

weft_op fuzz_scan_op(fuzz *f) {
    const weft_op op = (weft_op)fuzz_below(f, WEFT_XOR + 1);
    return op < WEFT_AND || !test_is_float(f->type) ? op : WEFT_SUM;
}

void fuzz_scan(fuzz *f) {
    fuzz_begin(f, "scan");
    weft_scan_kind kind = (weft_scan_kind)fuzz_below(f, 2);
    weft_op op = fuzz_scan_op(f);
    const size_t size = test_size_of(f->type);
    fuzz_array *const x = fuzz_elements(f, "x", f->n), *init = NULL;
    fuzz_array *const y = fuzz_output_or(f, x, "y");
    if (fuzz_one_in(f, 2)) {
        void *const first = fuzz_take(f, size);
        fuzz_fill(f, f->type, 1, first);
        init = fuzz_input(f, "init", size, size, first);
        init->optional = true;
        /* On the host it is copied, and for no elements it is not looked at. */
        init->align = init->buffer.device && f->n > 0 ? size : 1;
    }
    fuzz_expect_scans(f, op, y);
    fuzz_expect_scan(f, kind, op, 0, f->n, x->before, init ? init->before : NULL, y);
    fuzz_spoil(f);
    if (fuzz_spoil_own(f, "op")) {
        op = (weft_op)(WEFT_OP_COUNT + fuzz_below(f, 9));
    }
    if (fuzz_spoil_own(f, "kind")) {
        kind = (weft_scan_kind)(2 + fuzz_below(f, 9));
    }
    fuzz_say(f, "weft_scan(kind %d, op %d, %s, %zu)", (int)kind, (int)op, weft_type_name(f->type),
             f->n);
    void *const start = init ? init->p : NULL;
    if (fuzz_end(f, "weft_scan", weft_scan(f->ctx, kind, op, f->type, f->n, x->p, y->p, start)) &&
        x != y && fuzz_one_in(f, 3)) {
        run_again(f, kind, op, x, y, start);
    }
}
