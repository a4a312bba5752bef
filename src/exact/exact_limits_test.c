/* SPDX-License-Identifier: Apache-2.0 */
/* How much fits before something has to be carried or emptied, at the very limit: folds of every
 * instruction set, words, and what a thread of a GPU has; and the same sums on any number of
 * threads. */
#include "exact/exact_rig.h"
#include "exact/exact_simd.h"
#if WEFT_CUDA
#    include "core/gpu.h"
#endif

/* ---- folds ---- */

enum {
    TOP = 6 /* of the window */
};

/* The sum in a block, rounded. */
static double sum_of(const wi_exact_run *run, const wi_exact_block *block) {
    int64_t word[WI_EXACT_WORDS] = {[WI_EXACT_OTHER] = 1};
    for (int f = 0; f < run->folds; f++) {
        const int unit = run->top + WI_EXACT_FIRST - f * WI_EXACT_FOLD_BITS - 52;
        const uint64_t bits = (uint64_t)block->sum[f];
        wi_exact_add_integer(word, block->sum[f] < 0, block->sum[f] < 0 ? 0 - bits : bits, unit);
    }
    wi_exact_carry(word);
    const uint64_t bits = wi_exact_round(word, WEFT_F64, false);
    double sum;
    memcpy(&sum, &bits, sizeof sum);
    return sum;
}

static void full_block(wi_isa isa, wi_exact_shape shape, double value) {
    static double x[WI_EXACT_BLOCK];
    static float narrow[WI_EXACT_BLOCK];
    const bool is_f32 = shape == WI_EXACT_FLOATS;
    wi_exact_run run = {.shape = shape,
                        .x = is_f32 ? (const void *)narrow : x,
                        .n = WI_EXACT_BLOCK,
                        .folds = wi_exact_least_folds(shape),
                        .top = TOP};
    wi_exact_block block;
    for (size_t i = 0; i < WI_EXACT_BLOCK; i++)
        x[i] = value, narrow[i] = (float)value;
    WI_OF_ISA(isa, wi_exact_simd)->fold(&run, &block);
    const double right = WI_EXACT_BLOCK * (is_f32 ? (double)narrow[0] : value);
    assert_true(block.largest < 0x1p6);
    if (!block.left && sum_of(&run, &block) != right)
        fail_msg("isa %d, shape %d: %d times %a is %a", (int)isa, (int)shape, WI_EXACT_BLOCK, value,
                 sum_of(&run, &block));
    if (shape == WI_EXACT_DOUBLES || value == 0x1.fffffep5)
        assert_false(block.left);
}

/* All elements just below the window's end, and of one sign; what the first fold leaves of each is
 * just below half its unit, of either sign. */
static void test_full_folds(void **state) {
    (void)state;
    for (int isa = WI_ISA_BASE; isa <= (int)wi_cpu_isa(); isa++) {
        for (int bit = 1; bit < 51; bit++) {
            for (int sign = -1; sign <= 1; sign += 2) {
                const double below = 1 - ldexp(1, -bit - 1) - 0x1p-53;
                const double above = 1 - ldexp(1, -bit - 1) + 0x1p-53;
                full_block((wi_isa)isa, WI_EXACT_DOUBLES, ldexp(sign * below, TOP));
                full_block((wi_isa)isa, WI_EXACT_DOUBLES, ldexp(sign * above, TOP));
            }
        }
        full_block((wi_isa)isa, WI_EXACT_FLOATS, 0x1.fffffep5);
        full_block((wi_isa)isa, WI_EXACT_FLOATS, -0x1.fffffep5);
    }
}

/* In the lowest window there is, the unit of the last fold is that of subnormal numbers: small
 * multiples of it between elements just below the window's end, which cancel. */
static void test_least_window(void **state) {
    static double x[WI_EXACT_BLOCK];
    const wi_exact_run run = {.shape = WI_EXACT_DOUBLES,
                              .x = x,
                              .n = WI_EXACT_BLOCK,
                              .folds = WI_EXACT_FOLDS,
                              .top = WI_EXACT_TOP_LEAST};
    double right = 0;
    (void)state;
    for (int i = 0; i < WI_EXACT_BLOCK; i++) {
        const double small = ldexp(2 * i + 1, -1074);
        x[i] = i % 2 == 0 ? small : ldexp(i % 4 == 1 ? 1 : -1, WI_EXACT_TOP_LEAST - 1);
        right += i % 2 == 0 ? small : 0;
    }
    for (int isa = WI_ISA_BASE; isa <= (int)wi_cpu_isa(); isa++) {
        wi_exact_block block;
        WI_OF_ISA((wi_isa)isa, wi_exact_simd)->fold(&run, &block);
        assert_false(block.left);
        if (sum_of(&run, &block) != right)
            fail_msg("isa %d: the sum is %a, not %a", isa, sum_of(&run, &block), right);
    }
}

/* ---- words ---- */

/* All words as far from 0 as additions can bring them: WI_EXACT_MOST_ADDS times 2^32 - 1, and then
 * carried. */
static void test_full_words(void **state) {
    enum {
        LAST = WI_EXACT_DIGITS - 3
    };
    int64_t word[WI_EXACT_WORDS] = {0};
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        for (int k = 0; k <= LAST; k++)
            word[k] = sign * (int64_t)WI_EXACT_MOST_ADDS * UINT32_MAX;
        wi_exact_carry(word); /* (2^(32 (LAST + 1)) - 1) 2^30 */
        for (int k = 0; k < WI_EXACT_DIGITS; k++) {
            const int64_t digit = k == 0          ? (int64_t)UINT32_MAX + 1 - WI_EXACT_MOST_ADDS
                                  : k <= LAST     ? UINT32_MAX
                                  : k == LAST + 1 ? WI_EXACT_MOST_ADDS - 1
                                                  : 0;
            const int64_t of_minus = k == 0                     ? WI_EXACT_MOST_ADDS
                                     : k == WI_EXACT_DIGITS - 1 ? -1
                                                                : UINT32_MAX - digit;
            assert_int_equal(word[k], sign > 0 ? digit : of_minus);
            word[k] = 0;
        }
    }
}

/* ---- a thread of a GPU ---- */

#if WEFT_CUDA
enum {
    /* Bytes of shared memory in which a block of each rung has one warp. */
    FOLDS_SHARED = 21 << 10,
    WINDOWS_SHARED = 13 << 10
};

/* As few threads as there can be, so that each has more than it can take at once. */
typedef struct one_warp {
    rig r;
    size_t shared;
    int multiprocessors;
} one_warp;

static one_warp one_warp_open(weft_context *ctx, size_t shared, size_t n) {
    one_warp w = {rig_open(ctx, 24, n), ctx->gpu->shared_optin, ctx->gpu->multiprocessors};
    ctx->gpu->multiprocessors = 1;
    ctx->gpu->shared_optin = shared;
    return w;
}

static void one_warp_close(one_warp *w) {
    w->r.ctx->gpu->multiprocessors = w->multiprocessors;
    w->r.ctx->gpu->shared_optin = w->shared;
    rig_close(&w->r);
}

static exact_case case_of(const char *rung, weft_type type, size_t n) {
    return (exact_case){.row = test_row_named(&wi_exact_ladder, rung),
                        .type = type,
                        .result_type = WEFT_F64,
                        .n = n,
                        .device = DEVICE_X | DEVICE_Y};
}

/* Every eighth element is `other`, all else `value`. */
static void fill(rig *r, const exact_case *c, double value, double other) {
    for (size_t i = 0; i < c->n; i++) {
        r->x[i] = i % 8 == 0 ? other : value;
        test_store(c->type, r->source_x, i, (test_value){.f = r->x[i]});
    }
}

/* Folds whose lanes are emptied several times, each time at their limit: elements just below the
 * end of the first window, of which the first fold leaves nearly half its unit, 2^-41. */
static void full_folds_of_a_thread(weft_context *ctx) {
    const size_t n = 32 * 64 * 4;
    if (ctx->kind != WI_CUDA)
        return;
    one_warp w = one_warp_open(ctx, FOLDS_SHARED, n);
    exact_case c = case_of("folds", WEFT_F64, n);
    for (int bit = 42; bit < 48; bit++) {
        const double value = ldexp(1 - ldexp(1, -bit - 1) - 0x1p-53, 4);
        fill(&w.r, &c, bit % 2 ? value : -value, bit % 2 ? value : -value);
        exact_run_drawn(&w.r, &c);
        c.terms = c.terms == WI_EXACT_SUM ? WI_EXACT_SQUARES : WI_EXACT_SUM;
        exact_run_drawn(&w.r, &c);
    }
    one_warp_close(&w);
}

/* More additions to one number of 128 bits than it can hold, were it not carried: small numbers
 * among them keep folds from taking them. */
static void full_bins_of_a_thread(weft_context *ctx) {
    const size_t n = 32 * 2500;
    if (ctx->kind != WI_CUDA)
        return;
    one_warp w = one_warp_open(ctx, FOLDS_SHARED, n);
    const exact_case c = case_of("folds", WEFT_F64, n);
    for (int sign = -1; sign <= 1; sign += 2) {
        fill(&w.r, &c, sign * 0x1.fffffffffffffp51, 0x1p-600);
        exact_run_drawn(&w.r, &c);
    }
    one_warp_close(&w);
}

/* Products that folds cannot take, as small ones are among them; all but what rounding takes from
 * each cancels. */
static void products_one_by_one(weft_context *ctx) {
    const size_t n = 4096;
    if (ctx->kind != WI_CUDA)
        return;
    one_warp w = one_warp_open(ctx, FOLDS_SHARED, n);
    exact_case c = case_of("folds", WEFT_F64, n);
    c.terms = WI_EXACT_DOT;
    const double a = any_of(&w.r.random, 0, 0), b = any_of(&w.r.random, 0, 0);
    const double x[4] = {0x1p-300, a, a * b, 0}, y[4] = {1, b, -1, 0};
    for (size_t i = 0; i < n; i++) {
        w.r.x[i] = x[i % 4], w.r.y[i] = y[i % 4];
        test_store(c.type, w.r.source_x, i, (test_value){.f = x[i % 4]});
        test_store(c.type, w.r.source_y, i, (test_value){.f = y[i % 4]});
    }
    exact_run_drawn(&w.r, &c);
    one_warp_close(&w);
}

/* Two blocks of a warp each; elements just below the end of a window, and small ones among them
 * that keep them from the fold in registers. */
static void full_windows_of_a_thread(weft_context *ctx) {
    const size_t n = 2 * 32 * 2500;
    if (ctx->kind != WI_CUDA)
        return;
    one_warp w = one_warp_open(ctx, WINDOWS_SHARED, n);
    exact_case c = case_of("windows", WEFT_F32, n);
    fill(&w.r, &c, 0x1.fffffep0, 0x1p-60);
    exact_run_drawn(&w.r, &c);
    fill(&w.r, &c, -0x1.fffffep16, -0x1p-60);
    exact_run_drawn(&w.r, &c);
    c.pattern = EVERYWHERE;
    exact_run_case(&w.r, &c);
    one_warp_close(&w);
}

/* Large elements that cancel, as the fold in registers meets them first, and small ones at the end
 * of what it can hold beside them: the last bit of one of these is lost if it takes too much. */
static void fill_span(rig *r, const exact_case *c, int exponent, double small) {
    const double large = ldexp(0x1.fffffep0, exponent);
    for (size_t i = 0; i < c->n; i++) {
        r->x[i] = i % 8 == 0 ? (double)(float)small : i % 8 == 4 ? 0 : i & 2 ? large : -large;
        test_store(c->type, r->source_x, i, (test_value){.f = r->x[i]});
    }
}

/* As full as it can be, of elements just below the first that it holds; then at both ends of what
 * it holds; and with an infinity beside the largest. */
static void full_register_fold(weft_context *ctx) {
    static const int exponents[] = {-126, -110, -109, -108, 0, 1, 126, 127};
    const size_t n = 2 * 32 * 1100, few = 4096;
    if (ctx->kind != WI_CUDA)
        return;
    one_warp w = one_warp_open(ctx, WINDOWS_SHARED, n);
    exact_case c = case_of("windows", WEFT_F32, n);
    for (int sign = -1; sign <= 1; sign += 2) {
        fill(&w.r, &c, sign * 0x1.fffffep0, sign * 0x1.fffffep0);
        exact_run_drawn(&w.r, &c);
    }
    c.n = few;
    for (size_t k = 0; k < sizeof exponents / sizeof *exponents; k++) {
        for (int below = 15; below < 20; below++) {
            fill_span(&w.r, &c, exponents[k], ldexp(0x1.000002p0, exponents[k] - below));
            exact_run_drawn(&w.r, &c);
        }
    }
    fill(&w.r, &c, 0x1.fffffep127, INFINITY);
    exact_run_drawn(&w.r, &c);
    one_warp_close(&w);
}

/* Three warps or six, who have a part of the array and share the rest: whole runs of it and a bit
 * more or less, twice, as a call begins to count where the last one stopped. */
static void shares_of_warps(weft_context *ctx) {
    const size_t chunk = 512, most = chunk * 6 * 40;
    if (ctx->kind != WI_CUDA)
        return;
    one_warp w = one_warp_open(ctx, FOLDS_SHARED, most);
    ctx->gpu->multiprocessors = 3;
    for (int type = 0; type < 2; type++) {
        exact_case c = case_of(type == 0 ? "folds" : "windows", type == 0 ? WEFT_F64 : WEFT_F32, 0);
        ctx->gpu->shared_optin = type == 0 ? FOLDS_SHARED : WINDOWS_SHARED;
        c.pattern = NEAR_ONE;
        for (size_t rounds = 14; rounds <= 40; rounds += rounds < 18 ? 1 : 11) {
            const size_t warps = type == 0 ? 3 : 6, chunks = rounds * warps;
            const size_t sizes[] = {chunks * chunk - 1, (chunks - 1) * chunk,
                                    (chunks - 2) * chunk + 1, chunks * chunk};
            for (int k = 0; k < 4; k++) {
                c.n = sizes[k];
                exact_run_case(&w.r, &c);
            }
        }
    }
    one_warp_close(&w);
}
#endif

/* ---- threads of a CPU ---- */

/* Enough elements for all threads to have some, and the same ones each time. */
static void test_threads(void **state) {
    static const char *const places[] = {"cpu:1", "cpu:1", "cpu:2", "cpu:7", "cpu:16"};
    static const exact_pattern patterns[] = {CANCELLING, EVERYWHERE, SPREAD,
                                             RISING,     ONE_HUGE,   FULL};
    const size_t n = 700001;
    (void)state;
    if (!test_size_wanted(n))
        return;
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        weft_context *const ctx = test_open(places[k]);
        rig r = rig_open(ctx, 20, n);
        for (int at = 0; at < 6; at++) {
            const exact_case c = {
                .row = test_row_named(&wi_exact_ladder, k == 0 ? "serial" : "threads"),
                .terms = (wi_exact_terms)(at % WI_EXACT_TERMS),
                .type = at < 4 ? WEFT_F64 : WEFT_F32,
                .result_type = WEFT_F64,
                .n = n,
                .pattern = patterns[at]};
            exact_run_case(&r, &c);
        }
        rig_close(&r);
        weft_close(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_folds),
        cmocka_unit_test(test_least_window),
        cmocka_unit_test(test_full_words),
#if WEFT_CUDA
        TEST_ON_EACH_PLACE(full_folds_of_a_thread),
        TEST_ON_EACH_PLACE(full_bins_of_a_thread),
        TEST_ON_EACH_PLACE(products_one_by_one),
        TEST_ON_EACH_PLACE(full_windows_of_a_thread),
        TEST_ON_EACH_PLACE(full_register_fold),
        TEST_ON_EACH_PLACE(shares_of_warps),
#endif
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests_name("exact, limits", tests, NULL, NULL);
}
