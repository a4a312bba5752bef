/* SPDX-License-Identifier: Apache-2.0 */
/* What ladders choose: on made-up machines, by the prediction alone; on this cpu, held against the
 * clock. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "climb/climb.h"
#include "climb/meter.h"
#include "histogram/histogram.h"
#include "scan/scan.h"
#include "select/select.h"
#include "sort/sort.h"
#include "testing.h"

#ifdef WEFT_RING
#    include "core/gpu.h"
#    include "gemm/gemm.h"
#endif

/* ---- made-up machines ---- */

/* An H200, as its driver tells it. */
static const wi_machine h200 = {.bytes_per_s = 4.18e12,
                                .cache_bytes_per_s = 6.3e12,
                                .cache_bytes = 60 << 20,
                                .launch_s = 3e-6,
                                .f32_flops = 66.9e12,
                                .f64_flops = 33.5e12,
                                .units = 132,
                                .unit_hz = 1.98e9};

/* A GPU nobody has seen, of half the multiprocessors and half the memory. */
static wi_machine half_of(wi_machine m) {
    m.bytes_per_s /= 2;
    m.cache_bytes_per_s /= 2;
    m.cache_bytes /= 2;
    m.f32_flops /= 2;
    m.f64_flops /= 2;
    m.units /= 2;
    return m;
}

/* A call of one of four operations on n elements. */
typedef struct question {
    const char *op;
    weft_type type;
    size_t bins; /* of histogram */
} question;

static const wi_row *answer(const weft_context *ctx, const question *q, size_t n) {
    static char memory[64] __attribute__((aligned(16)));
    const size_t size = weft_type_size(q->type);
    if (strcmp(q->op, "scan") == 0) {
        const wi_scan_args args = {.type = q->type, .n = n, .x = memory, .y = memory};
        return wi_pick(ctx, &wi_scan_ladder, q->type, &args);
    }
    if (strcmp(q->op, "select") == 0) {
        const wi_select_args args = {.n = n,
                                     .tested = memory,
                                     .tested_bytes = size,
                                     .moves = true,
                                     .x = memory,
                                     .unit = size,
                                     .units = 1,
                                     .kept = memory};
        return wi_pick(ctx, &wi_select_ladder, WI_NO_TYPE, &args);
    }
    if (strcmp(q->op, "sort") == 0) {
        const wi_sort_args args = {
            .type = q->type, .end_bit = 8 * (unsigned)size, .n = n, .x = memory, .y = memory};
        return wi_pick(ctx, &wi_sort_ladder, q->type, &args);
    }
    const wi_histogram_args args = {
        .type = q->type, .n = n, .channels = 1, .bins = {.count = (uint32_t)q->bins}, .x = memory};
    return wi_pick(ctx, &wi_histogram_ladder, q->type, &args);
}

static void expect(const weft_context *ctx, const question *q, size_t n, const char *row) {
    const wi_row *const picked = answer(ctx, q, n);
    if (!picked || strcmp(picked->name, row) != 0)
        fail_msg("%s of %zu %s in %zu bins: %s, and not %s", q->op, n, weft_type_name(q->type),
                 q->bins, picked ? picked->name : "nothing", row);
}

static const question scan = {"scan", WEFT_F32, 0}, keep = {"select", WEFT_F32, 0},
                      sort = {"sort", WEFT_U32, 0}, few_bins = {"histogram", WEFT_U32, 256},
                      some_bins = {"histogram", WEFT_U32, 1 << 16},
                      more_bins = {"histogram", WEFT_U32, 1 << 18},
                      many_bins = {"histogram", WEFT_U32, 1 << 22};

/* What was measured to be the fastest on an H200: the READMEs of the slices have the figures. */
static void choose_as_measured(const weft_context *ctx) {
    static const struct {
        const question *call;
        size_t n;
        const char *row;
    } measured[] = {
        {&scan, 1 << 20, "lookback"},     {&scan, 1 << 21, "lookback"},
        {&scan, 1 << 23, "bulk"},         {&scan, 1 << 28, "bulk"},
        {&keep, 1 << 20, "lookback"},     {&keep, 1 << 21, "lookback"},
        {&keep, 1 << 23, "bulk"},         {&keep, 1 << 28, "bulk"},
        {&sort, 1 << 10, "merge"},        {&sort, 1 << 14, "merge"},
        {&sort, 1 << 15, "onesweep"},     {&sort, 1 << 28, "onesweep"},
        {&few_bins, 1 << 10, "lanes"},    {&few_bins, 1 << 28, "lanes"},
        {&some_bins, 1 << 10, "packed"},  {&some_bins, 1 << 28, "packed"},
        {&more_bins, 1 << 19, "cached"},  {&more_bins, 1 << 21, "ranges"},
        {&more_bins, 1 << 28, "ranges"},  {&many_bins, 1 << 20, "cached"},
        {&many_bins, 1 << 23, "cached"},  {&many_bins, 1 << 25, "sampled"},
        {&many_bins, 1 << 28, "sampled"},
    };
    for (size_t k = 0; k < sizeof measured / sizeof *measured; k++)
        expect(ctx, measured[k].call, measured[k].n, measured[k].row);
}

/* The n from which on another rung is chosen than for few elements; it must not change twice. */
static size_t turn_of(const weft_context *ctx, const question *q) {
    const wi_row *const first = answer(ctx, q, 1 << 10), *last = first;
    size_t turn = 0;
    for (size_t n = 1 << 10; n < (size_t)1 << 40; n += n / 4) {
        const wi_row *const row = answer(ctx, q, n);
        assert_non_null(row);
        if (row == last)
            continue;
        if (turn)
            fail_msg("%s: %s again at %zu", q->op, row->name, n);
        turn = n;
        last = row;
    }
    return turn;
}

/* Where less is done in a second, what saves work pays sooner, but not much sooner. */
static void choose_sensibly(weft_context *ctx) {
    static const question *const calls[] = {&scan, &keep, &sort, &more_bins, &many_bins};
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        ctx->machine = h200;
        const size_t turn = turn_of(ctx, calls[k]);
        ctx->machine = half_of(h200);
        const size_t of_half = turn_of(ctx, calls[k]);
        if (!(of_half >= turn / 4 && of_half <= turn + turn / 4))
            fail_msg("%s: from %zu on, and on half of the device from %zu", calls[k]->op, turn,
                     of_half);
    }
    for (size_t n = 1 << 10; n < (size_t)1 << 30; n *= 2) {
        expect(ctx, &few_bins, n, "lanes");
        expect(ctx, &some_bins, n, "packed");
    }
}

static void test_made_up(weft_context *ctx) {
    if (ctx->kind != WI_CUDA || ctx->gpu == NULL)
        return;
    const wi_machine own = ctx->machine;
    ctx->machine = h200;
    choose_as_measured(ctx);
    choose_sensibly(ctx);
    ctx->machine = own;
}

#ifdef WEFT_RING
/* ---- products, whose tiles also depend on the multiprocessors there are ---- */

typedef struct made_product {
    weft_type type;
    wi_accuracy accuracy;
    size_t m, n, k;
    const char *row;
} made_product;

static const char *answer_product(const weft_context *ctx, const made_product *p) {
    static char memory[64] __attribute__((aligned(16)));
    const wi_gemm_args args = {.type = p->type,
                               .out = p->type,
                               .accuracy = p->accuracy,
                               .m = p->m,
                               .n = p->n,
                               .k = p->k,
                               .alpha = 1,
                               .a = memory,
                               .lda = p->m,
                               .b = memory,
                               .ldb = p->k,
                               .c = memory,
                               .ldc = p->m};
    return wi_pick(ctx, &wi_gemm_ladder, p->type, &args)->name;
}

/* What is the fastest on an H100, and as far as it was measured there on an H200; what is not
 * aligned, on an H200. */
static void multiply_as_measured(const weft_context *ctx) {
    static const made_product measured[] = {
        {WEFT_F64, WI_FULL_F32, 1000, 1000, 1000, "ring"},
        {WEFT_F64, WI_FULL_F32, 2000, 2000, 2000, "ring"},
        {WEFT_F64, WI_FULL_F32, 2048, 2048, 2048, "ring"},
        {WEFT_F64, WI_FULL_F32, 4096, 4096, 4096, "ring"},
        {WEFT_F64, WI_FULL_F32, 33, 8192, 8192, "ring"},
        {WEFT_F64, WI_FULL_F32, 333, 777, 555, "small"},
        {WEFT_F64, WI_FULL_F32, 127, 129, 131, "small"},
        {WEFT_F64, WI_FULL_F32, 384, 384, 384, "ring"},
        {WEFT_F64, WI_FULL_F32, 16, 16, 1 << 20, "small"},
        {WEFT_F64, WI_FULL_F32, 1001, 999, 1003, "ring"},
        {WEFT_F32, WI_TF32, 127, 129, 131, "small"},
        {WEFT_F32, WI_TF32, 33, 65, 300001, "small"},
        {WEFT_F32, WI_TF32, 256, 256, 256, "small"},
        {WEFT_F16, WI_FULL_F32, 7, 8191, 4097, "narrow"},
        {WEFT_F16, WI_FULL_F32, 1000, 64, 100000, "thin"},
        {WEFT_F32, WI_FULL_F32, 7, 8191, 4097, "thin"},
        {WEFT_F32, WI_FULL_F32, 33, 65, 300001, "narrow"},
        {WEFT_F32, WI_FULL_F32, 333, 777, 555, "small"},
        {WEFT_F32, WI_FULL_F32, 384, 384, 384, "ring"},
        {WEFT_F32, WI_FULL_F32, 8192, 48, 2048, "narrow"},
        {WEFT_F32, WI_FULL_F32, 10000, 100, 3000, "narrow"},
        {WEFT_F32, WI_FULL_F32, 128, 128, 1 << 18, "narrow"},
        {WEFT_F32, WI_STRICT_F32, 8192, 48, 2048, "ring"},
        {WEFT_F64, WI_FULL_F32, 8192, 1, 8192, "gemv"},
        {WEFT_F32, WI_FULL_F32, 4096, 4096, 4096, "parts"},
        {WEFT_F32, WI_FULL_F32, 8192, 16, 8192, "narrow"},
        {WEFT_F32, WI_FULL_F32, 33, 8192, 8192, "narrow"},
        {WEFT_F32, WI_FULL_F32, 64, 64, 1 << 20, "narrow"},
        {WEFT_F32, WI_STRICT_F32, 4096, 4096, 4096, "ring"},
        {WEFT_F32, WI_STRICT_F32, 8192, 1, 8192, "gemv"},
        {WEFT_F32, WI_TF32, 4096, 4096, 4096, "ring"},
        {WEFT_F32, WI_TF32, 8192, 16, 8192, "ring"},
        {WEFT_F32, WI_TF32, 64, 64, 1 << 20, "thin"},
        {WEFT_F32, WI_TF32, 33, 8192, 8192, "ring"},
        {WEFT_BF16, WI_FULL_F32, 4096, 4096, 4096, "ring"},
        {WEFT_BF16, WI_FULL_F32, 4096, 4096, 64, "ring"},
        {WEFT_BF16, WI_FULL_F32, 8192, 16, 8192, "narrow"},
        {WEFT_BF16, WI_FULL_F32, 8192, 1, 8192, "narrow"},
        {WEFT_F16, WI_FULL_F32, 1, 8192, 8192, "narrow"},
        {WEFT_F16, WI_FULL_F32, 8192, 8, 4096, "narrow"},
        {WEFT_F16, WI_FULL_F32, 2048, 16, 2048, "ring"},
        {WEFT_BF16, WI_FULL_F32, 33, 8192, 8192, "ring"},
        {WEFT_F16, WI_FULL_F32, 64, 64, 1 << 20, "ring"},
        {WEFT_BF16, WI_FULL_F32, 16, 16, 1 << 20, "thin"},
        {WEFT_BF16, WI_FULL_F32, 64, 64, 64, "ring"},
        {WEFT_BF16, WI_FULL_F32, 8192, 8192, 16, "ring"},
        {WEFT_BF16, WI_FULL_F32, 16384, 32, 4096, "ring"},
        {WEFT_F64, WI_FULL_F32, 8192, 16, 8192, "ring"},
        {WEFT_F32, WI_TF32, 4096, 4096, 64, "ring"},
    };
    for (size_t k = 0; k < sizeof measured / sizeof *measured; k++) {
        const made_product *const p = &measured[k];
        const char *const row = answer_product(ctx, p);
        if (strcmp(row, p->row) != 0)
            fail_msg("gemm of %s, %zu x %zu x %zu, at %g bytes a second: %s, and not %s",
                     weft_type_name(p->type), p->m, p->n, p->k, ctx->machine.bytes_per_s, row,
                     p->row);
    }
}

static void test_products(weft_context *ctx) {
    if (ctx->kind != WI_CUDA || ctx->gpu == NULL)
        return;
    const wi_machine own = ctx->machine;
    const int units = ctx->gpu->multiprocessors, capability = ctx->gpu->capability;
    ctx->gpu->multiprocessors = h200.units;
    ctx->gpu->capability = 90;
    ctx->machine = h200;
    multiply_as_measured(ctx);
    ctx->machine.bytes_per_s = 2.85e12; /* an H100: less memory, and a smaller cache */
    ctx->machine.cache_bytes = 50 << 20;
    multiply_as_measured(ctx);
    ctx->machine = own;
    ctx->gpu->multiprocessors = units;
    ctx->gpu->capability = capability;
}
#endif

static void test_figures(weft_context *ctx) {
    const wi_machine *const m = wi_machine_of(ctx);
    assert_true(m->bytes_per_s > 1e9 && m->bytes_per_s < 1e14);
    assert_true(m->cache_bytes_per_s > m->bytes_per_s && m->cache_bytes > 0);
    assert_true(m->launch_s >= 0 && m->launch_s < 1e-3);
    assert_true(m->f32_flops >= m->f64_flops && m->f64_flops > 1e9);
    assert_true(m->units > 0 && m->unit_hz > 1e8 && m->unit_hz < 1e11);
    assert_true(ctx->kind == WI_CUDA || m->units == ctx->threads);
}

/* ---- this cpu ---- */

enum {
    CALLS = 9, /* or FEW, if they take long: then a noise is a small part */
    FEW = 4,
    INPUTS = 8, /* of a case of few elements */
    TRIES = 4,
    ROUNDS = 8,
    MOST_CASES = 1 << 10,
    MOST_N = 1 << 20,
    LEARNT = 1 << 14,  /* elements whose branches a processor may learn to predict */
    MOST_SIDE = 1 << 8 /* of a matrix */
};

static const double least_seconds = 20e-6, long_seconds = 500e-6, tolerance = 1.5;
/* Who takes so many times as long as the fastest will not overtake it. */
static const double hopeless = 4;

/* Problems of one case, with different data. */
typedef struct inputs {
    size_t count;
    void *problems[INPUTS];
} inputs;

/* The least of some calls of each: names[0] is NULL, what the library chooses. They take turns, so
 * that all of them meet whatever else the machine does; and that only adds to a time. A rung that
 * is far behind gets no more turns; one that cannot do this call has none. Few elements are others
 * in each call: if they were the same again and again, the processor would predict every branch,
 * and code with branches would seem twice as fast as a user finds it. */
static void seconds_of(weft_context *ctx, const wi_climb *climb, const inputs *in, size_t count,
                       const char *const names[], double least[]) {
    double fastest = INFINITY;
    for (int call = -1; call < (fastest > long_seconds && call > 0 ? FEW : CALLS); call++) {
        void *const problem = in->problems[(size_t)(call + 1) % in->count];
        for (size_t k = 0; k < count; k++) {
            if (k > 0 && call > 0 && least[k] > hopeless * fastest)
                continue;
            assert_int_equal(weft_use(ctx, climb->ladder->op, names[k]), WEFT_OK);
            const double begin = wi_now();
            const weft_status status = climb->call(problem);
            const double seconds = wi_now() - begin;
            if (k > 0 && status == WEFT_EUNSUPPORTED) {
                least[k] = INFINITY;
                continue;
            }
            assert_int_equal(status, WEFT_OK);
            least[k] = call <= 0 ? seconds : fmin(least[k], seconds);
            if (call >= 0)
                fastest = fmin(fastest, seconds);
        }
    }
    assert_int_equal(weft_use(ctx, climb->ladder->op, NULL), WEFT_OK);
}

/* How much slower the chosen rung is than the fastest, of those that may be chosen; 1 if all are
 * too quick to tell. */
static double loss(weft_context *ctx, const wi_climb *climb, const inputs *in,
                   const char **fastest) {
    const wi_ladder *const ladder = climb->ladder;
    const char *names[TEST_MAX_ROWS + 1] = {NULL};
    double least[TEST_MAX_ROWS + 1];
    size_t count = 1, best = 1;
    for (size_t k = 0; k < ladder->count; k++) {
        const wi_row *const row = &ladder->rows[k];
        if (!row->seconds || !wi_row_serves(row, ctx))
            continue;
        assert_true(count <= TEST_MAX_ROWS);
        names[count++] = row->name;
    }
    seconds_of(ctx, climb, in, count, names, least);
    for (size_t k = 1; k < count; k++)
        best = least[k] < least[best] ? k : best;
    *fastest = names[best];
    return least[0] < least_seconds ? 1 : least[0] / least[best];
}

typedef struct timed_case {
    const wi_climb *climb;
    weft_type type;
    size_t n;
} timed_case;

/* Whether the chosen rung is fast enough at one of some tries. `last`: else the test fails. */
static bool is_well_chosen(weft_context *ctx, timed_case c, bool last) {
    const char *fastest = "";
    double least = INFINITY;
    inputs in = {.count = c.n > LEARNT ? 1 : INPUTS};
    for (size_t k = 0; k < in.count; k++) {
        const wi_setup setup = {.ctx = ctx, .type = c.type, .n = c.n, .seed = k + 1};
        assert_int_equal(c.climb->make(&setup, &in.problems[k]), WEFT_OK);
    }
    for (int k = 0; k < TRIES && least > tolerance; k++)
        least = fmin(least, loss(ctx, c.climb, &in, &fastest));
    for (size_t k = 0; k < in.count; k++)
        c.climb->drop(in.problems[k]);
    if (last && least > tolerance)
        fail_msg("%s of %zu %s: %.2f times the time of %s", c.climb->ladder->op, c.n,
                 weft_type_name(c.type), least, fastest);
    return least <= tolerance;
}

/* A machine may be busy with something else, for a while: what a neighbour on the same core takes
 * from vector units makes one rung slower than another. Only what is slow in each round is. */
static void hold_against_clock(weft_context *ctx, timed_case cases[], size_t count) {
    for (int round = 1; round <= ROUNDS && count > 0; round++) {
        size_t left = 0;
        for (size_t k = 0; k < count; k++)
            if (!is_well_chosen(ctx, cases[k], round == ROUNDS))
                cases[left++] = cases[k];
        count = left;
        if (count > 0)
            sleep(1);
    }
}

/* Rungs that may be chosen for elements of a type. */
static size_t rivals(const weft_context *ctx, const wi_ladder *ladder, weft_type type) {
    size_t count = 0;
    for (size_t k = 0; k < ladder->count; k++) {
        const wi_row *const row = &ladder->rows[k];
        count += row->seconds && row->types & WI_TYPE(type) && wi_row_serves(row, ctx);
    }
    return count;
}

/* Checkers and builds without optimization slow rungs down, each by a factor of its own. */
static void test_clock(void **state) {
    static const weft_type types[] = {WEFT_U8, WEFT_F16, WEFT_I32, WEFT_F32, WEFT_F64, WEFT_U64};
    static timed_case cases[MOST_CASES];
    size_t count = 0;
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(WEFT_EMU) || !defined(__OPTIMIZE__)
    skip();
#endif
    weft_context *const ctx = test_open("cpu:1");
    for (size_t k = 0; k < wi_climb_count; k++) {
        const wi_climb *const climb = wi_climbs[k];
        const size_t least = climb->has_extents ? 1 << 4 : 1 << 8;
        size_t most = climb->has_extents ? MOST_SIDE : MOST_N;
        if (climb->usual_n && climb->usual_n / 16 < most) /* its time grows faster than n */
            most = climb->usual_n / 16;
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            if (rivals(ctx, climb->ladder, types[t]) < 2 || !wi_climb_takes(climb, types[t]))
                continue;
            for (size_t n = least; n <= most; n *= 16) {
                assert_true(count < MOST_CASES);
                cases[count] = (timed_case){climb, types[t], n};
                count += test_size_wanted(n);
            }
        }
    }
    hold_against_clock(ctx, cases, count);
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(test_figures),
                                       TEST_ON_EACH_PLACE(test_made_up),
#ifdef WEFT_RING
                                       TEST_ON_EACH_PLACE(test_products),
#endif
                                       cmocka_unit_test(test_clock)};
    return cmocka_run_group_tests_name("choice", tests, NULL, NULL);
}
