/* SPDX-License-Identifier: Apache-2.0 */
/* weft_reduce of every op, and weft_dot_fast. Exact where the contract is; where the order of
 * additions is free, within what the additions of any order can round off. */
#include "calls/calls.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "reduce/reduce_rig.h"

/* What any order of additions and multiplications gives, and by how much it may differ. */
typedef struct interval {
    long double value, bound;
} interval;

static const interval anything = {0, INFINITY};

/* The largest of a partial sum that no order can bring beyond f64. */
static const long double safe = 0x1p1000L;

static const char *op_word(unsigned op) {
    return op < WEFT_OP_COUNT ? test_op_name((weft_op)op) : "dot";
}

/* ---- integers ---- */

static uint64_t magnitude(weft_type type, test_value v) {
    return test_is_signed(type) && v.i < 0 ? 0 - v.u : v.u;
}

/* The result as 64 bits, wrapping; 0 and 1 are the results of nothing. */
static uint64_t reduce_integers(weft_type type, unsigned op, size_t n, const void *x,
                                const void *y) {
    uint64_t r = op == WEFT_PRODUCT;
    for (size_t i = 0; i < n; i++) {
        const test_value v = test_load(type, x, i);
        const uint64_t m = magnitude(type, v);
        r = op == WEFT_SUM       ? r + v.u
            : op == WEFT_PRODUCT ? r * v.u
            : op == WEFT_NRM1    ? r + m
            : op == WEFT_NRMINF  ? (m > r ? m : r)
                                 : r + v.u * test_load(type, y, i).u;
    }
    return r;
}

/* ---- the smallest and the largest ---- */

/* The first of the smallest (largest), NaN before all; n if there is none. */
static size_t first_extreme(weft_type type, bool largest, size_t n, const void *x) {
    size_t best = n;
    uint64_t best_rank = 0;
    for (size_t i = 0; i < n; i++) {
        if (test_is_float(type) && isnan(test_load(type, x, i).f)) {
            return i;
        }
        const uint64_t rank = fuzz_rank(type, x, i);
        if (best == n || (largest ? rank > best_rank : rank < best_rank)) {
            best = i;
            best_rank = rank;
        }
    }
    return best;
}

/* The largest value for MIN of nothing, the smallest for MAX. */
static test_value extreme_of_none(weft_type type, bool largest) {
    if (test_is_float(type)) {
        return (test_value){.f = largest ? -INFINITY : INFINITY};
    }
    const unsigned bits = 8 * (unsigned)test_size_of(type);
    const uint64_t top = UINT64_C(1) << (bits - 1);
    if (test_is_signed(type)) {
        return (test_value){.u = largest ? 0 - top : top - 1};
    }
    return (test_value){.u = largest ? 0 : top | (top - 1)};
}

/* ---- floats ---- */

/* Sums by `row`, NULL for one that adds in f64: of x, of |x|, or of products, whose own rounding in
 * f64 counts. */
static interval sum(const wi_row *row, weft_type type, unsigned op, size_t n, const void *x,
                    const void *y) {
    const bool narrow = type == WEFT_F32 && reduce_adds_in_type(row);
    long double s = 0, absolute = 0, rounding = 0;
    bool infinite = false;
    for (size_t i = 0; i < n; i++) {
        long double v = test_load(type, x, i).f;
        if (op == WEFT_NRM1) {
            v = fabsl(v);
        } else if (op != WEFT_SUM) {
            v *= test_load(type, y, i).f;
            rounding += fabsl(v) * 0x1p-53L + 0x1p-1074L;
        }
        s += v;
        infinite = infinite || isinf(v);
        absolute += isinf(v) ? 0 : fabsl(v);
    }
    if (isnan(s)) {
        return (interval){s, 0};
    }
    if ((type == WEFT_F64 && absolute >= safe) || (narrow && absolute >= FLT_MAX / 4)) {
        return anything; /* what is finite may become an infinity too, of either sign */
    }
    if (infinite) {
        return (interval){s, 0};
    }
    const long double own = absolute * (long double)n * 0x1p-57L;
    return (interval){s, reduce_sum_bound(row, type, n, absolute, s) + own +
                             (type == WEFT_F64 && op > WEFT_NRMINF ? rounding : 0)};
}

static interval product(weft_type type, size_t n, const void *x) {
    long double p = 1, up = 0, down = 0;
    bool zero = false, infinite = false, nan = false, negative = false;
    for (size_t i = 0; i < n; i++) {
        const double v = test_load(type, x, i).f;
        negative ^= signbit(v) != 0;
        nan = nan || isnan(v);
        zero = zero || v == 0;
        infinite = infinite || isinf(v);
        if (isfinite(v) && v != 0) {
            const long double e = logbl(v);
            up += e + 1 > 0 ? e + 1 : 0;
            down += e < 0 ? -e : 0;
            p *= v;
        }
    }
    const long double most = 1000;
    if (nan) {
        return (interval){NAN, 0};
    }
    if ((zero && up > most) || (infinite && down > most) || (up > most) || (down > most)) {
        return anything; /* partial products can overflow or vanish */
    }
    if (zero || infinite) {
        const long double v = zero && infinite ? NAN : zero ? 0 : INFINITY;
        return (interval){negative ? -v : v, 0};
    }
    return (interval){p, fabsl(p) * (long double)n * 0x1.1p-53L};
}

static interval norm(size_t n, weft_type type, const void *x) {
    long double s = 0;
    for (size_t i = 0; i < n; i++) {
        const long double v = test_is_float(type)    ? test_load(type, x, i).f
                              : test_is_signed(type) ? (long double)test_load(type, x, i).i
                                                     : (long double)test_load(type, x, i).u;
        s += v * v;
    }
    s = sqrtl(s);
    return (interval){s, isfinite(s) ? s * ((long double)n + 4) * 0x1.1p-53L + 0x1p-1074L : 0};
}

static interval largest_magnitude(weft_type type, size_t n, const void *x) {
    long double largest = 0;
    for (size_t i = 0; i < n; i++) {
        const long double v = fabs(test_load(type, x, i).f);
        if (isnan(v) || isnan(largest)) {
            largest = NAN;
        } else if (v > largest) {
            largest = v;
        }
    }
    return (interval){largest, 0};
}

/* The result is rounded to its type once. */
static interval rounded(weft_type type, interval v) {
    if (!isfinite(v.value) || isinf(v.bound)) {
        return v;
    }
    const long double exact = v.value;
    v.value = test_round(type, exact);
    if (v.bound > 0) {
        v.bound += fabsl(exact) * 2 * test_roundoff(type) + 2 * (long double)test_half_tiny(type) +
                   0x1p-1074L;
    }
    /* Beside the largest number either it or infinity is right. */
    if (fabsl(exact) + v.bound > test_largest_of(type)) {
        return fabsl(exact) - v.bound > test_largest_of(type) * (1 + 0x1p-20L) ? v : anything;
    }
    return v;
}

static interval reduce_floats(const wi_row *row, weft_type type, unsigned op, size_t n,
                              const void *x, const void *y) {
    switch (op) {
    case WEFT_PRODUCT:
        return product(type, n, x);
    case WEFT_NRM2:
        return norm(n, type, x);
    case WEFT_NRMINF:
        return largest_magnitude(type, n, x);
    default:
        return sum(row, type, op, n, x, y);
    }
}

/* ---- a case ---- */

weft_type fuzz_reduction_type(weft_type type, unsigned op) {
    const weft_type wide = test_is_signed(type)   ? WEFT_I64
                           : !test_is_float(type) ? WEFT_U64
                           : type == WEFT_F64     ? WEFT_F64
                                                  : WEFT_F32;
    switch (op) {
    case WEFT_MIN:
    case WEFT_MAX:
        return type;
    case WEFT_ARGMIN:
    case WEFT_ARGMAX:
        return WEFT_U64;
    case WEFT_NRM1:
        return test_is_float(type) ? wide : WEFT_U64;
    case WEFT_NRM2:
        return test_is_float(type) ? wide : WEFT_F64;
    case WEFT_NRMINF:
        return test_is_float(type) ? type : WEFT_U64;
    default:
        return wide;
    }
}

void fuzz_expect_reductions(fuzz *f, unsigned op, size_t count, fuzz_array *results) {
    results->type = fuzz_reduction_type(f->type, op);
    results->compare = FUZZ_SAME;
    if (!test_is_float(results->type) || op == WEFT_MIN || op == WEFT_MAX)
        return;
    results->compare = FUZZ_BOUNDED;
    results->value = fuzz_take(f, count * sizeof *results->value);
    results->bound = fuzz_take(f, count * sizeof *results->bound);
}

void fuzz_expect_reduction(const fuzz *f, unsigned op, size_t n, const void *x, const void *y,
                           fuzz_array *results, size_t i) {
    const weft_type type = f->type;
    const bool largest = op == WEFT_MAX || op == WEFT_ARGMAX;
    if (op == WEFT_MIN || op == WEFT_MAX) {
        const size_t at = first_extreme(type, largest, n, x);
        test_store(type, results->want, i,
                   at < n ? test_load(type, x, at) : extreme_of_none(type, largest));
    } else if (op == WEFT_ARGMIN || op == WEFT_ARGMAX) {
        const size_t at = first_extreme(type, largest, n, x);
        test_store(WEFT_U64, results->want, i, (test_value){.u = at < n ? at : WEFT_NOWHERE});
    } else if (results->compare == FUZZ_SAME) {
        test_store(WEFT_U64, results->want, i,
                   (test_value){.u = reduce_integers(type, op, n, x, y)});
    } else {
        const wi_row *const row = strcmp(f->op, "reduce") == 0 ? f->forced : NULL;
        const interval v = rounded(results->type, reduce_floats(row, type, op, n, x, y));
        results->value[i] = v.value;
        results->bound[i] = v.bound;
    }
}

static weft_status call(fuzz *f, weft_context *ctx, unsigned op, const void *x, const void *y,
                        void *result) {
    return op == WEFT_OP_COUNT ? weft_dot_fast(ctx, f->type, f->n, x, y, result)
                               : weft_reduce(ctx, (weft_op)op, f->type, f->n, x, result);
}

/* Again, and on the cpu with another number of threads: the same bits. */
static void run_again(fuzz *f, unsigned op, const fuzz_array *x, const fuzz_array *y,
                      fuzz_array *result) {
    unsigned char first[8], again[8];
    const size_t size = test_size_of(result->type);
    weft_context *const ctx = f->twin && fuzz_one_in(f, 2) ? f->twin : f->ctx;
    memcpy(first, fuzz_read(f, result), size);
    test_use(ctx, "reduce", f->forced);
    if (call(f, ctx, op, x->p, y ? y->p : NULL, result->p) != WEFT_OK) {
        fail_msg("a second time: %s", weft_message(ctx));
    }
    memcpy(again, fuzz_read(f, result), size);
    if (memcmp(first, again, size) != 0 && result->compare == FUZZ_BOUNDED) {
        fail_msg("a second time, on %s, the result is %s, not %s", weft_place(ctx),
                 test_text(result->type, test_load(result->type, again, 0)),
                 test_text(result->type, test_load(result->type, first, 0)));
    }
}

static void check_type(fuzz *f, unsigned op) {
    weft_type type = (weft_type)99;
    if (weft_reduce_type((weft_op)op, f->type, &type) != WEFT_OK ||
        type != fuzz_reduction_type(f->type, op)) {
        fail_msg("weft_reduce_type(%s, %s) is %s", op_word(op), test_type_name(f->type),
                 weft_type_name(type));
    }
}

void fuzz_reduce(fuzz *f) {
    static const unsigned ops[] = {WEFT_SUM,    WEFT_PRODUCT, WEFT_MIN,  WEFT_MAX,
                                   WEFT_ARGMIN, WEFT_ARGMAX,  WEFT_NRM1, WEFT_NRM2,
                                   WEFT_NRMINF, WEFT_OP_COUNT};
    fuzz_begin(f, "reduce");
    unsigned op = ops[fuzz_below(f, sizeof ops / sizeof *ops)];
    const bool dot = op == WEFT_OP_COUNT;
    const char *const name = dot ? "weft_dot_fast" : "weft_reduce";
    const size_t size = test_size_of(fuzz_reduction_type(f->type, op));
    fuzz_array *const x = fuzz_elements(f, "x", f->n), *y = NULL;
    if (dot) {
        y = fuzz_one_in(f, 4) ? x : fuzz_elements(f, "y", f->n);
        x->shared = x == y;
    }
    /* A result in host memory needs no alignment. */
    fuzz_array *const result = fuzz_one_in(f, 2)
                                   ? fuzz_output(f, "result", size, size)
                                   : fuzz_host_output(f, "result", size, f->gpu ? size : 1);
    fuzz_expect_reductions(f, op, 1, result);
    fuzz_expect_reduction(f, op, f->n, x->before, y ? y->before : NULL, result, 0);
    if (!dot) {
        check_type(f, op);
    }
    if (!result->buffer.device) {
        result->align = 1;
    }
    fuzz_spoil(f);
    if (!dot && fuzz_spoil_own(f, "op")) {
        op = WEFT_OP_COUNT + 1;
    }
    fuzz_say(f, "%s(%s, %s, %zu)", name, op_word(op), weft_type_name(f->type), f->n);
    if (fuzz_end(f, name, call(f, f->ctx, op, x->p, y ? y->p : NULL, result->p)) &&
        fuzz_one_in(f, 3)) {
        run_again(f, op, x, y, result);
    }
}
