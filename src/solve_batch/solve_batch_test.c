/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of small systems: every rung, on every place, all six calls, against residuals in long
 * double; and what info tells of systems that cannot be solved. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gemm/matrix_rig.h"
#include "solve_batch/solve_batch.h"

enum {
    A,
    B,
    ARRAYS,
    MOST_GAP = 3,
    MOST_OFFSET = 3,
    MOST_ORDER = WEFT_BATCH_MOST,
    MOST_COUNT = 150,
    MOST_RHS = 6,
    ALL_ON_DEVICE = 3,
    STORED = 8 /* combinations of flags */
};

#ifdef WEFT_EMU
static const size_t most_elements = 6000;
#else
static const size_t most_elements = 60000;
#endif

static const size_t orders[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64};

/* One batch. */
typedef struct batch {
    const wi_row *row;
    weft_type type;
    bool spd;
    wi_batch_task task;
    unsigned how;
    size_t n, rhs, count;
    size_t ld[ARRAYS], stride[ARRAYS], offset[ARRAYS];
    unsigned device;
    double scale; /* of the elements of A */
} batch;

typedef struct results {
    int32_t pivot[MOST_COUNT * MOST_ORDER], info[MOST_COUNT];
} results;

static bool by_rows(const batch *b) {
    return b->how & WEFT_ROW_MAJOR;
}

static size_t lines_of(const batch *b, int array) {
    return by_rows(b) || array == A ? b->n : b->rhs;
}

static size_t length_of(const batch *b, int array) {
    return by_rows(b) && array == B ? b->rhs : b->n;
}

static size_t bytes_of(const batch *b, int array) {
    return ((b->count - 1) * b->stride[array] + (lines_of(b, array) - 1) * b->ld[array] +
            length_of(b, array)) *
           test_size_of(b->type);
}

static size_t place_of(const batch *b, int array, size_t s, size_t i, size_t j) {
    return s * b->stride[array] + (by_rows(b) ? i * b->ld[array] + j : i + j * b->ld[array]);
}

/* Of a symmetric matrix one triangle is there. */
static bool is_stored(const batch *b, size_t i, size_t j) {
    return !b->spd || (b->how & WEFT_UPPER_TRIANGLE ? i <= j : i >= j);
}

static const char *describe(const weft_context *ctx, const batch *b) {
    static char text[300];
    snprintf(
        text, sizeof text,
        "%s on %s, variant %s, task %d%s, how %#x, %zu of %zu with %zu, ld %zu %zu, stride %zu "
        "%zu, offset %zu %zu, device %#x",
        test_type_name(b->type), weft_place(ctx), b->row ? b->row->name : "auto", (int)b->task,
        b->spd ? " spd" : "", b->how, b->count, b->n, b->rhs, b->ld[A], b->ld[B], b->stride[A],
        b->stride[B], b->offset[A], b->offset[B], b->device);
    return text;
}

/* ---- what is wrong with a system ---- */

/* By its number: most are well. */
typedef enum fault {
    WELL,
    HAS_ZERO, /* a column that is zero from its pivot on down, or a pivot below 0 */
    HAS_NAN,
    HAS_INFINITY
} fault;

static fault fault_of(size_t s) {
    return s % 7 == 3 ? HAS_ZERO : s % 7 == 5 ? HAS_NAN : s % 11 == 6 ? HAS_INFINITY : WELL;
}

static size_t column_of(const batch *b, size_t s) {
    return (s * 5 + 1) % b->n;
}

static int32_t info_of(const batch *b, size_t s) {
    const int32_t column = (int32_t)column_of(b, s) + 1;
    const fault f = b->task == WI_BATCH_SUBSTITUTE ? WELL : fault_of(s);
    return f == WELL ? 0 : f == HAS_ZERO ? column : -column;
}

/* ---- data ---- */

/* Element (i, j), both counted as op(A) has them, of a matrix far from singular whose elimination
 * meets the fault in its column, and no other: beyond it there is nothing below the diagonal. */
static double drawn(test_random *r, const batch *b, size_t s, size_t i, size_t j) {
    const double x = test_unit(r), some = x == 0 ? 0.5 : x;
    const size_t column = column_of(b, s);
    const fault f = b->task == WI_BATCH_SUBSTITUTE ? WELL : fault_of(s);
    const size_t largest = b->spd ? j : (j + 1) % b->n; /* rows are to be exchanged */
    if (f != WELL && (i == column || j == column))
        return i != j ? 0 : f == HAS_NAN ? (double)NAN : f == HAS_ZERO ? 0 : (double)INFINITY;
    if (f != WELL)
        return i == j ? 1 + fabs(some) : 0;
    return i == largest ? (double)b->n + fabs(some) : some / 2;
}

static void fill(rig *r, const batch *b) {
    const bool turned = b->how & WEFT_TRANSPOSE_A;
    for (int k = 0; k < ARRAYS; k++)
        memset(r->source[k], 0xff, bytes_of(b, k));
    for (size_t s = 0; s < b->count; s++) {
        for (size_t i = 0; i < b->n; i++)
            for (size_t j = 0; j < b->n; j++)
                if (is_stored(b, i, j))
                    test_store(
                        b->type, r->source[A], place_of(b, A, s, i, j),
                        (test_value){.f = b->scale * (turned ? drawn(&r->random, b, s, j, i)
                                                             : drawn(&r->random, b, s, i, j))});
        for (size_t i = 0; i < b->n; i++)
            for (size_t j = 0; j < b->rhs; j++)
                test_store(b->type, r->source[B], place_of(b, B, s, i, j),
                           (test_value){.f = test_unit(&r->random)});
    }
}

/* Element (i, j) of op(A) before the call; symmetric matrices are whole. */
static long double element(const batch *b, const unsigned char *a, size_t s, size_t i, size_t j) {
    const bool other = b->spd ? !is_stored(b, i, j) : (b->how & WEFT_TRANSPOSE_A) != 0;
    return test_load(b->type, a, other ? place_of(b, A, s, j, i) : place_of(b, A, s, i, j)).f;
}

/* ---- checks ---- */

static long double allowed(const batch *b, long double size) {
    return 8 * ((long double)b->n + 4) * test_roundoff(b->type) * size;
}

/* |op(A) X - B| of system s is small. */
static void check_solution(const batch *b, const unsigned char *a, const unsigned char *before,
                           const unsigned char *after, size_t s, const char *what) {
    for (size_t j = 0; j < b->rhs; j++)
        for (size_t i = 0; i < b->n; i++) {
            const long double wanted = test_load(b->type, before, place_of(b, B, s, i, j)).f;
            long double sum = -wanted, size = fabsl(wanted);
            for (size_t k = 0; k < b->n; k++) {
                const long double y =
                    element(b, a, s, i, k) * test_load(b->type, after, place_of(b, B, s, k, j)).f;
                sum += y;
                size += fabsl(y);
            }
            if (!(fabsl(sum) <= allowed(b, size)))
                fail_msg("%s: row %zu of system %zu, right-hand side %zu is off by %Lg, of %Lg",
                         what, i, s, j, sum, size);
        }
}

/* Element (i, j) of L U, or of L L'. */
static long double product_at(const batch *b, const unsigned char *f, size_t s, size_t i, size_t j,
                              long double *size) {
    const bool upper = b->how & WEFT_UPPER_TRIANGLE;
    long double sum = 0;
    *size = 0;
    for (size_t k = 0; k <= i && k <= j; k++) {
        const size_t left = upper ? place_of(b, A, s, k, i) : place_of(b, A, s, i, k);
        const size_t right = !b->spd || upper ? place_of(b, A, s, k, j) : place_of(b, A, s, j, k);
        const long double l = !b->spd && k == i ? 1 : test_load(b->type, f, left).f;
        const long double y = l * test_load(b->type, f, right).f;
        sum += y;
        *size += fabsl(y);
    }
    return sum;
}

/* P A = L U or A = L L' of system s. */
static void check_factors(const batch *b, const unsigned char *before, const unsigned char *after,
                          const int32_t *pivot, size_t s, const char *what) {
    size_t row[MOST_ORDER];
    for (size_t k = 0; k < b->n; k++)
        row[k] = k;
    for (size_t k = 0; k < b->n && !b->spd; k++) {
        const int32_t with = pivot[s * b->n + k];
        if (with < (int32_t)k || with >= (int32_t)b->n)
            fail_msg("%s: pivot %zu of system %zu is %d", what, k, s, with);
        const size_t old = row[k];
        row[k] = row[with];
        row[with] = old;
    }
    for (size_t i = 0; i < b->n; i++)
        for (size_t j = 0; j < b->n; j++) {
            long double size;
            const long double found = product_at(b, after, s, i, j, &size);
            const long double off = found - element(b, before, s, row[i], j);
            if (!(fabsl(off) <= allowed(b, size)))
                fail_msg("%s: element (%zu, %zu) of system %zu is off by %Lg, of %Lg", what, i, j,
                         s, off, size);
            if (!b->spd && i > j &&
                !(fabsl(test_load(b->type, after, place_of(b, A, s, i, j)).f) <= 1))
                fail_msg("%s: a multiplier of system %zu is above 1", what, s);
        }
}

/* Elements that are no part of a matrix, or of the other triangle, are as they were. */
static void check_rest(const batch *b, int array, const unsigned char *before,
                       const unsigned char *after, const char *what) {
    const size_t width = test_size_of(b->type), all = bytes_of(b, array) / width;
    unsigned char *const part = calloc(all, 1);
    assert_non_null(part);
    for (size_t s = 0; s < b->count; s++)
        for (size_t i = 0; i < b->n; i++)
            for (size_t j = 0; j < (array == A ? b->n : b->rhs); j++)
                part[place_of(b, array, s, i, j)] = array == B || is_stored(b, i, j);
    const bool written = array == A ? b->task == WI_BATCH_FACTOR : b->task != WI_BATCH_FACTOR;
    for (size_t e = 0; e < all; e++)
        if (!(written && part[e]) && memcmp(before + e * width, after + e * width, width) != 0)
            fail_msg("%s: element %zu of %s was changed", what, e, array == A ? "a" : "b");
    free(part);
}

/* ---- calls ---- */

static weft_status call(rig *r, const batch *b, results *x) {
    void *const a = rig_buffer(r, b->device, A)->p, *const c = rig_buffer(r, b->device, B)->p;
    const size_t n = b->n, rhs = b->rhs, lda = b->ld[A], ldb = b->ld[B], count = b->count;
    test_use(r->ctx, "solve_batch", b->row);
    switch (b->task) {
    case WI_BATCH_FACTOR:
        return b->spd ? weft_cholesky_factor_batch_strided(r->ctx, b->how, b->type, n, a, lda,
                                                           b->stride[A], x->info, count)
                      : weft_lu_factor_batch_strided(r->ctx, b->how, b->type, n, a, lda,
                                                     b->stride[A], x->pivot, x->info, count);
    case WI_BATCH_SUBSTITUTE:
        return b->spd ? weft_cholesky_solve_batch_strided(r->ctx, b->how, b->type, n, rhs, a, lda,
                                                          b->stride[A], c, ldb, b->stride[B], count)
                      : weft_lu_solve_batch_strided(r->ctx, b->how, b->type, n, rhs, a, lda,
                                                    b->stride[A], x->pivot, c, ldb, b->stride[B],
                                                    count);
    default:
        return (b->spd ? weft_solve_spd_batch_strided : weft_solve_batch_strided)(
            r->ctx, b->how, b->type, n, rhs, a, lda, b->stride[A], c, ldb, b->stride[B], x->info,
            count);
    }
}

static void load(rig *r, const batch *b) {
    for (int k = 0; k < ARRAYS; k++)
        test_buffer_load(rig_buffer(r, b->device, k), r->source[k], bytes_of(b, k),
                         b->offset[k] * test_size_of(b->type));
}

static void make(rig *r, const batch *b, results *x, const char *what) {
    const weft_status status = call(r, b, x);
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", what, weft_status_name(status), weft_message(r->ctx));
    test_used(r->ctx, "solve_batch", b->row, what);
}

static void check_info(const batch *b, const results *x, const char *what) {
    for (size_t s = 0; s < b->count; s++)
        if (x->info[s] != info_of(b, s))
            fail_msg("%s: info of system %zu is %d, not %d", what, s, x->info[s], info_of(b, s));
}

static void run_factor(rig *r, const batch *b) {
    static results x;
    const char *const what = describe(r->ctx, b);
    make(r, b, &x, what);
    const unsigned char *const after = test_buffer_read(rig_buffer(r, b->device, A), what);
    check_info(b, &x, what);
    for (size_t s = 0; s < b->count; s++)
        if (x.info[s] == 0 || (!b->spd && x.info[s] > 0))
            check_factors(b, r->source[A], after, x.pivot, s, what);
    check_rest(b, A, r->source[A], after, what);
}

static void check_solutions(rig *r, const batch *b, const unsigned char *a, const results *x,
                            const char *what) {
    const unsigned char *const after = test_buffer_read(rig_buffer(r, b->device, B), what);
    const size_t width = test_size_of(b->type);
    for (size_t s = 0; s < b->count; s++) {
        if (!x || x->info[s] == 0) {
            check_solution(b, a, r->source[B], after, s, what);
            continue;
        }
        for (size_t i = 0; i < b->n; i++)
            for (size_t j = 0; j < b->rhs; j++) {
                const size_t at = place_of(b, B, s, i, j) * width;
                if (memcmp(r->source[B] + at, after + at, width) != 0)
                    fail_msg("%s: system %zu has no solution, and b was changed", what, s);
            }
    }
    check_rest(b, B, r->source[B], after, what);
}

static void run_solve(rig *r, const batch *b) {
    static results x;
    const char *const what = describe(r->ctx, b);
    make(r, b, &x, what);
    check_info(b, &x, what);
    check_solutions(r, b, r->source[A], &x, what);
    check_rest(b, A, r->source[A], test_buffer_read(rig_buffer(r, b->device, A), what), what);
}

/* Factors by the same rung first. */
static void run_substitute(rig *r, const batch *b) {
    static results x;
    batch factor = *b;
    factor.task = WI_BATCH_FACTOR;
    factor.how &= ~(unsigned)WEFT_TRANSPOSE_A;
    make(r, &factor, &x, describe(r->ctx, &factor));
    const char *const what = describe(r->ctx, b);
    make(r, b, &x, what);
    check_solutions(r, b, r->source[A], NULL, what);
}

/* ---- the sweep ---- */

static unsigned flags_of(const batch *b, size_t stored) {
    const unsigned second = b->spd                       ? WEFT_UPPER_TRIANGLE
                            : b->task == WI_BATCH_FACTOR ? 0
                                                         : WEFT_TRANSPOSE_A;
    return (stored & 1 ? WEFT_ROW_MAJOR : 0) | (stored & 2 ? second : 0);
}

static void choose_layout(rig *r, batch *b) {
    for (int k = 0; k < ARRAYS; k++) {
        const bool gaps = test_below(&r->random, 2);
        b->ld[k] = length_of(b, k) + (gaps ? test_below(&r->random, MOST_GAP) : 0);
        b->stride[k] = lines_of(b, k) * b->ld[k] + (gaps ? test_below(&r->random, MOST_GAP) : 0);
        b->offset[k] = test_below(&r->random, 2) ? test_below(&r->random, MOST_OFFSET) : 0;
    }
}

/* Elements near the ends of the range, of one batch in four. */
static double choose_scale(rig *r, const batch *b) {
    const int far = b->type == WEFT_F64 ? 1004 : 104;
    const size_t which = test_below(&r->random, 8);
    return which == 0 ? ldexp(1, far) : which == 1 ? ldexp(1, -far) : 1;
}

/* Axes: the type; the flags; the task; symmetric or not. */
static bool run_drawn(void *user, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = user;
    batch b = {.row = row,
               .type = at[0] ? WEFT_F32 : WEFT_F64,
               .task = (wi_batch_task)at[2],
               .spd = at[3],
               .n = n,
               .rhs = 1 + test_below(&r->random, MOST_RHS),
               .count = 1 + test_below(&r->random, MOST_COUNT),
               .device = ALL_ON_DEVICE};
    if (test_below(&r->random, 2))
        b.rhs = 1;
    while (b.count > 1 && b.count * n * n > most_elements)
        b.count /= 2;
    b.how = flags_of(&b, at[1]);
    b.scale = choose_scale(r, &b);
    choose_layout(r, &b);
    if (test_below(&r->random, 4) == 0)
        b.device = (unsigned)test_below(&r->random, ALL_ON_DEVICE);
    fill(r, &b);
    load(r, &b);
    (b.task == WI_BATCH_FACTOR       ? run_factor
     : b.task == WI_BATCH_SUBSTITUTE ? run_substitute
                                     : run_solve)(r, &b);
    return true;
}

static void all_rungs(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, (size_t)1 << 21);
    const test_sweep all = {.sizes = orders,
                            .size_count = sizeof orders / sizeof *orders,
                            .ladder = &wi_solve_batch_ladder,
                            .extent = {2, 4, 3, 2},
                            .must = 1 << 2 | 1 << 3,
                            .one_in = 8,
                            .share = 80,
                            .run = run_drawn};
    test_sweep_run(ctx, &r.random, &all, &r);
    rig_close(&r);
}

/* ---- exact systems ---- */

/* Equal elements: the first row is the pivot. The system (0 2; 1 1) x = (2; 3), and others. In the
 * last one nothing is taken from the row below a pivot of 0, not even 0 infinity. */
static void exact(weft_context *ctx) {
    const double a[] = {0, 1, 2, 1, /**/ 1, -1, 1, 1, /**/ 3, 3, 1, 1, /**/ 0, 0, INFINITY, 1};
    const double b[] = {2, 3, 4, 0, 1, 2, 1, 1};
    test_buffer matrices = test_buffer_open(ctx, ctx->kind == WI_CUDA, sizeof a);
    test_buffer sides = test_buffer_open(ctx, ctx->kind == WI_CUDA, sizeof b);
    int32_t pivot[8], info[4];
    test_buffer_load(&matrices, a, sizeof a, 0);
    test_buffer_load(&sides, b, sizeof b, 0);
    assert_int_equal(
        weft_solve_batch_strided(ctx, 0, WEFT_F64, 2, 1, matrices.p, 2, 4, sides.p, 2, 2, info, 4),
        WEFT_OK);
    const double solved[] = {2, 1, 2, 2, 1, 2, 1, 1};
    const double factors[] = {1, 0, 1, 2, 1, -1, 1, 2, 3, 1, 1, 0, 0, 0, INFINITY, 1};
    const int32_t infos[] = {0, 0, 2, 1}, pivots[] = {1, 1, 0, 1, 0, 1, 0, 1};
    assert_memory_equal(test_buffer_read(&sides, "x"), solved, sizeof solved);
    assert_memory_equal(info, infos, sizeof infos);
    assert_int_equal(
        weft_lu_factor_batch_strided(ctx, 0, WEFT_F64, 2, matrices.p, 2, 4, pivot, info, 4),
        WEFT_OK);
    assert_memory_equal(test_buffer_read(&matrices, "factors"), factors, sizeof factors);
    assert_memory_equal(pivot, pivots, sizeof pivots);
    assert_memory_equal(info, infos, sizeof infos);
    test_buffer_close(&matrices);
    test_buffer_close(&sides);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(all_rungs),
        TEST_ON_EACH_PLACE(exact),
    };
    return cmocka_run_group_tests_name("solve_batch", tests, NULL, NULL);
}
