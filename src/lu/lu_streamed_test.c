/* SPDX-License-Identifier: Apache-2.0 */
/* Host matrices that do not fit a GPU's memory: on emu a limit is lowered, so that small ones are
 * streamed in panels of 16 columns; elsewhere they are factored as they are. */
#include "limits.h"
#include "lu/lu_rig.h"

enum {
    A,
    PIVOT,
    B,
    ARRAYS,
    CAPACITY = 1 << 17,
    SIDES = 5,
    PIVOT_ON_DEVICE = 1 << PIVOT,
    PIVOT_AND_B = PIVOT_ON_DEVICE | 1 << B
};

/* Panels that are whole and cut, more rows than columns and fewer, one panel alone. */
static const size_t shapes[][2] = {{64, 64}, {70, 70}, {33, 50}, {50, 33}, {16, 40}, {90, 17}};

typedef struct problem {
    matrix a, b;
    bool transposed;
    unsigned device;
    char what[128];
} problem;

static unsigned how_of(const problem *p) {
    return (p->a.by_rows ? WEFT_ROW_MAJOR : 0) | (p->transposed ? WEFT_TRANSPOSE_A : 0);
}

static problem draw(rig *r, const size_t shape[2]) {
    const bool by_rows = test_below(&r->random, 2);
    const weft_type type = test_below(&r->random, 2) ? WEFT_F32 : WEFT_F64;
    problem p = {.a = {type, by_rows, shape[0], shape[1], 0, 0},
                 .b = {type, by_rows, shape[0], SIDES, 0, 0},
                 .transposed = test_below(&r->random, 2),
                 .device = (unsigned)test_below(&r->random, 8) & PIVOT_AND_B};
    choose_layout(&r->random, &p.a);
    choose_layout(&r->random, &p.b);
    snprintf(p.what, sizeof p.what, "%zu x %zu of %s by %s, op %d, device %#x", shape[0], shape[1],
             test_type_name(type), by_rows ? "rows" : "columns", p.transposed, p.device);
    return p;
}

static weft_status factor(rig *r, const problem *p) {
    const size_t width = test_size_of(p->a.type), steps = wi_smaller(p->a.rows, p->a.columns);
    test_buffer *const a = rig_buffer(r, p->device, A), *const b = rig_buffer(r, p->device, PIVOT);
    test_buffer_load(a, r->source[A], bytes_of(&p->a), p->a.offset * width);
    test_buffer_poison(b, steps * sizeof(int64_t), p->a.offset * sizeof(int64_t));
    return weft_lu_factor(r->ctx, how_of(p) & WEFT_ROW_MAJOR, p->a.type, p->a.rows, p->a.columns,
                          a->p, p->a.ld, (int64_t *)(void *)b->p);
}

static void check(rig *r, const problem *p) {
    const unsigned char *const after = test_buffer_read(rig_buffer(r, p->device, A), p->what);
    const int64_t *const pivot = test_buffer_read(rig_buffer(r, p->device, PIVOT), p->what);
    long double *const a = widened(&p->a, r->source[A]), *const f = widened(&p->a, after);
    check_gaps(&p->a, after, p->what);
    check_factors(p->a.type, p->a.rows, p->a.columns, a, f, pivot, p->what);
    free(a);
    free(f);
}

/* |B - op(A) X| of X = (1, 2, ...), of a matrix that is well conditioned. */
static void solve(rig *r, const problem *p) {
    const size_t n = p->a.rows;
    test_buffer *const b = rig_buffer(r, p->device, B);
    long double *const a = widened(&p->a, r->source[A]), *const t = table_of(n, SIDES);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < SIDES; j++)
                t[i * SIDES + j] +=
                    (p->transposed ? a[k * n + i] : a[i * n + k]) * (long double)(k + j + 1);
    stored(&p->b, t, r->source[B]);
    test_buffer_load(b, r->source[B], bytes_of(&p->b), p->b.offset * test_size_of(p->b.type));
    if (weft_lu_solve(r->ctx, how_of(p), p->a.type, n, SIDES, rig_buffer(r, p->device, A)->p,
                      p->a.ld, (int64_t *)(void *)rig_buffer(r, p->device, PIVOT)->p, b->p,
                      p->b.ld) != WEFT_OK)
        fail_msg("%s: %s", p->what, weft_message(r->ctx));
    const unsigned char *const after = test_buffer_read(b, p->what);
    long double *const x = widened(&p->b, after);
    check_gaps(&p->b, after, p->what);
    for (size_t e = 0; e < n * SIDES; e++) {
        const long double right = (long double)(e / SIDES + e % SIDES + 1);
        if (!(fabsl(x[e] - right) <= 64 * (long double)n * test_roundoff(p->a.type) * right))
            fail_msg("%s: x %zu is %Lg, not %Lg", p->what, e, x[e], right);
    }
    free(x);
    free(t);
    free(a);
}

/* Random, or with a large diagonal in rows that are turned. */
static void fill(rig *r, const problem *p, bool steep) {
    const size_t m = p->a.rows, n = p->a.columns;
    long double *const a = table_of(m, n);
    fill_kind(&r->random, RANDOM, p->a.type, m, n, a);
    for (size_t j = 0; j < n && steep; j++)
        a[(j + m / 3) % m * n + j] += 2 * (long double)n;
    stored(&p->a, a, r->source[A]);
    free(a);
}

static void streamed(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, CAPACITY);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const problem p = draw(&r, shapes[s]);
        fill(&r, &p, shapes[s][0] == shapes[s][1]);
        if (factor(&r, &p) != WEFT_OK)
            fail_msg("%s: %s", p.what, weft_message(ctx));
        check(&r, &p);
        if (shapes[s][0] == shapes[s][1])
            solve(&r, &p);
    }
    rig_close(&r);
}

/* Zero and NaN in a late panel are told with their column. */
static void told(weft_context *ctx) {
    static const long double bad[] = {0, NAN};
    static const weft_status expected[] = {WEFT_ESINGULAR, WEFT_ENONFINITE};
    rig r = rig_open(ctx, ARRAYS, CAPACITY);
    for (size_t k = 0; k < 2; k++) {
        const size_t shape[] = {64, 64};
        problem p = draw(&r, shape);
        long double *const a = table_of(64, 64);
        for (size_t i = 0; i < 64; i++)
            a[i * 64 + i] = i == 37 ? bad[k] : 1;
        stored(&p.a, a, r.source[A]);
        free(a);
        test_refused(ctx, factor(&r, &p), expected[k], "weft_lu_factor", NULL);
        assert_non_null(strstr(weft_message(ctx), "column 37 "));
    }
    rig_close(&r);
}

static void test_streamed(void **state) {
    (void)state;
#ifdef WEFT_EMU
    wi_lu_resident_bytes = 256;
#endif
    test_each_place(streamed);
    test_each_place(told);
#ifdef WEFT_EMU
    wi_lu_resident_bytes = 0;
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_streamed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
