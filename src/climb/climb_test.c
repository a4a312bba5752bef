/* SPDX-License-Identifier: Apache-2.0 */
/* The runner of ladders: sizes, limits, ratios at one size, wrong results; every slice's climb on a
 * small problem; every roof. */
#include <stdio.h>
#include <string.h>

#include "climb/rung.h"
#include "climb/tune.h"
#include "core/gpu.h"
#include "core/tuning.h"
#include "testing.h"

enum {
#ifdef WEFT_EMU
    SMALL_N = 260,
#else
    SMALL_N = 500,
#endif
    MOST_CHECKS = 16,
    ARENA_BYTES = 1 << 18
};

/* ---- a climb for this test ---- */

/* n x 2n x 3 elements, summed by the rungs of scan. */
typedef struct box {
    weft_context *ctx;
    size_t n;
    int32_t *x; /* host memory, all zeros */
} box;

/* How the rungs behave, and what the runner did with them. */
static size_t most_serial;   /* the rung "serial" refuses a larger n */
static size_t wrong_blocked; /* the rung "blocked" is wrong at that n */
static struct {
    size_t n;
    bool serial;
} checks[MOST_CHECKS];
static size_t check_count;

static size_t elements_of(size_t n) {
    return n * 2 * n * 3;
}

static void drop(void *problem) {
    box *const b = problem;
    wi_host_free(b->x);
    wi_host_free(b);
}

static weft_status make(const wi_setup *setup, void **problem) {
    box *const b = wi_host_alloc(sizeof *b);
    assert_non_null(b);
    *b = (box){setup->ctx, setup->n, wi_host_alloc(elements_of(setup->n) * sizeof *b->x)};
    assert_non_null(b->x);
    memset(b->x, 0, elements_of(setup->n) * sizeof *b->x);
    *problem = b;
    return WEFT_OK;
}

static bool ran_serial(const box *b) {
    return strcmp(weft_used(b->ctx, "scan"), "serial") == 0;
}

static weft_status call(void *problem) {
    const box *const b = problem;
    const weft_status status =
        weft_scan(b->ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_I32, elements_of(b->n), b->x, b->x, NULL);
    if (status == WEFT_OK && ran_serial(b) && b->n > most_serial)
        return wi_fail(b->ctx, WEFT_EUNSUPPORTED, "no more than %zu", most_serial);
    return status;
}

static bool check(void *problem, char *why, size_t bytes) {
    const box *const b = problem;
    test_ok(b->ctx, call(problem));
    assert_true(check_count < MOST_CHECKS);
    checks[check_count].serial = ran_serial(b);
    checks[check_count++].n = b->n;
    if (ran_serial(b) || b->n != wrong_blocked)
        return true;
    snprintf(why, bytes, "planted");
    return false;
}

static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const box *const b = problem;
    const double elements = (double)elements_of(b->n);
    const bool serial = rung && strcmp(rung, "serial") == 0;
    *facts = (wi_facts){.size = {{b->n, 2 * b->n, 3}},
                        .bytes = (serial ? 3 : 2) * 4 * elements,
                        .flops = elements,
                        .roof = serial ? WI_ROOF_COPY : WI_ROOF_FMA_F32};
}

static wi_climb box_climb(void) {
    most_serial = SIZE_MAX;
    wrong_blocked = check_count = 0;
    return (wi_climb){.ladder = wi_find_climb("scan")->ladder,
                      .example = "boxes",
                      .type = WEFT_I32,
                      .make = make,
                      .call = call,
                      .check = check,
                      .describe = describe,
                      .drop = drop};
}

static const wi_row *row_of(const wi_ladder *ladder, const char *name) {
    for (size_t k = 0; k < ladder->count; k++) {
        if (ladder->rows[k].kinds & WI_ON_CPU && strcmp(ladder->rows[k].name, name) == 0)
            return &ladder->rows[k];
    }
    fail_msg("%s has no rung %s", ladder->op, name);
    return NULL;
}

/* Runs both rungs on the boxes of n; `blocked` beside `serial`. */
static void run_boxes(const wi_climb *climb, size_t n, wi_rung *serial, wi_rung *blocked,
                      double *times) {
    weft_context *const ctx = test_open("cpu:2");
    wi_meter meter;
    wi_pool pool = {.climb = climb, .setup = {.ctx = ctx, .type = WEFT_I32}};
    test_ok(ctx, wi_meter_open_with(&meter, ctx, ARENA_BYTES, 0));
    test_ok(ctx, wi_rung_run(&pool, &meter, row_of(climb->ladder, "serial"), n, serial));
    test_ok(ctx, wi_rung_run(&pool, &meter, row_of(climb->ladder, "blocked"), n, blocked));
    test_ok(ctx, wi_rung_compare(&pool, &meter, blocked, serial, times));
    wi_pool_drop(&pool);
    wi_meter_close(&meter);
    weft_close(ctx);
}

static void test_sizes(void **state) {
    (void)state;
    wi_rung serial, blocked;
    double times;
    const wi_climb climb = box_climb();
    run_boxes(&climb, 50, &serial, &blocked, &times);
    assert_true(serial.ok && serial.limit == WI_LIMIT_NONE && serial.n == 50);
    assert_int_equal(serial.facts.size.extent[0], 50);
    assert_int_equal(serial.facts.size.extent[1], 100);
    assert_int_equal(serial.facts.size.extent[2], 3);
    /* each rung is compared with its own roof, and by its own count */
    assert_true(wi_work_of(&serial.facts) == 3.0 * 4 * 50 * 100 * 3);
    assert_true(wi_work_of(&blocked.facts) == 50.0 * 100 * 3);
    assert_true(serial.roof > 0 && blocked.roof > 0);
    assert_true(wi_rung_rate(&serial) > 0);
    assert_int_equal(check_count, 2); /* nothing was measured twice */
    assert_true(times == serial.seconds / blocked.seconds);
}

/* A rung that ran on more elements is timed again at the other's size: different sizes are never
 * compared. */
static void test_ratio_at_one_size(void **state) {
    (void)state;
    wi_rung serial, blocked;
    double times;
    const wi_climb climb = box_climb();
    most_serial = 20;
    run_boxes(&climb, 80, &serial, &blocked, &times);
    assert_int_equal(serial.limit, WI_LIMIT_MISFIT);
    assert_non_null(strstr(serial.why, "no more than 20"));
    assert_true(serial.n <= 20 && serial.n >= 10);
    assert_int_equal(blocked.n, 80);
    assert_true(times > 0);
    assert_int_equal(check_count, 3);
    assert_int_equal(checks[2].n, serial.n);
    assert_false(checks[2].serial);
    /* for a rung that cannot do so few there is no ratio */
    wi_rung cannot = serial;
    cannot.seconds = 0;
    check_count = 0;
    weft_context *const ctx = test_open("cpu:1");
    wi_pool pool = {.climb = &climb, .setup = {.ctx = ctx, .type = WEFT_I32}};
    test_ok(ctx, wi_rung_compare(&pool, NULL, &blocked, &cannot, &times));
    test_ok(ctx, wi_rung_compare(&pool, NULL, &blocked, NULL, &times));
    assert_true(times == 0 && check_count == 0);
    weft_close(ctx);
}

static void test_wrong_results(void **state) {
    (void)state;
    wi_rung serial, blocked;
    double times;
    const wi_climb climb = box_climb();
    wrong_blocked = 30;
    run_boxes(&climb, 30, &serial, &blocked, &times);
    assert_true(serial.ok && !blocked.ok && blocked.seconds == 0 && times == 0);
    assert_string_equal(blocked.why, "planted");
    box_climb(); /* wrong only where it is compared */
    most_serial = 16;
    wrong_blocked = 12;
    run_boxes(&climb, 24, &serial, &blocked, &times);
    assert_int_equal(serial.n, 12);
    assert_true(!blocked.ok && blocked.n == 12 && times == 0);
    assert_string_equal(blocked.why, "planted");
}

/* The pool makes each problem once; when it is full, it drops the one that is cheapest to make
 * again. */
static void test_pool(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:1");
    const wi_climb climb = box_climb();
    wi_pool pool = {.climb = &climb, .setup = {.ctx = ctx, .type = WEFT_I32}};
    void *first, *again;
    for (size_t n = 1; n <= WI_MOST_PROBLEMS + 2; n++)
        test_ok(ctx, wi_pool_get(&pool, n, &first));
    assert_int_equal(pool.count, WI_MOST_PROBLEMS);
    test_ok(ctx, wi_pool_get(&pool, WI_MOST_PROBLEMS + 2, &again));
    assert_ptr_equal(first, again);
    test_ok(ctx, wi_pool_get(&pool, 1, &again));
    assert_int_equal(((const box *)again)->n, 1);
    wi_pool_drop(&pool);
    weft_close(ctx);
}

/* ---- the slices' climbs ---- */

static size_t first_extent(const wi_climb *climb) {
    return climb->first_n ? climb->first_n : SMALL_N;
}

/* Every rung of the place is right on a small problem, or says why it cannot do it; its cost is
 * known. */
static void check_rungs(weft_context *ctx, const wi_climb *climb, void *problem) {
    char why[WI_MESSAGE_BYTES];
    for (size_t k = 0; k < climb->ladder->count; k++) {
        const wi_row *const row = &climb->ladder->rows[k];
        wi_facts facts;
        if (!wi_row_serves(row, ctx))
            continue;
        test_ok(ctx, weft_use(ctx, climb->ladder->op, row->name));
        const weft_status status = climb->call(problem);
        if (status == WEFT_EUNSUPPORTED)
            continue;
        test_ok(ctx, status);
        if (!climb->check(problem, why, sizeof why))
            fail_msg("%s, %s: %s", climb->ladder->op, row->name, why);
        climb->describe(problem, row->name, &facts);
        if (!(facts.bytes > 0 && wi_work_of(&facts) > 0 &&
              facts.size.extent[0] == first_extent(climb)))
            fail_msg("%s, %s: no bytes, flops or size", climb->ladder->op, row->name);
    }
    test_ok(ctx, weft_use(ctx, climb->ladder->op, NULL));
}

/* Is it an extent that the climb was asked for, or none? */
static bool is_asked_for(const wi_setup *setup, size_t extent) {
    return extent == 0 || extent == setup->extent[0] || extent == setup->n ||
           extent == setup->extent[2] || extent == setup->extent[3];
}

/* Products of a few columns of few terms, of a batch three. */
static void check_extents(weft_context *ctx, const wi_climb *climb) {
    const wi_setup setup = {.ctx = ctx,
                            .type = climb->type,
                            .n = SMALL_N,
                            .extent = {40, SMALL_N + 1, 7, 3},
                            .seed = 1};
    wi_facts facts;
    void *problem;
    char why[128];
    test_ok(ctx, climb->make(&setup, &problem));
    if (!climb->check(problem, why, sizeof why))
        fail_msg("%s: %s", climb->ladder->op, why);
    climb->describe(problem, NULL, &facts);
    for (size_t e = 0; e < WI_EXTENTS; e++)
        assert_true(is_asked_for(&setup, facts.size.extent[e]));
    if (!climb->lacks) {
        assert_int_equal(facts.size.extent[0], 40);
        assert_int_equal(facts.size.extent[1], SMALL_N);
        assert_int_equal(facts.size.extent[2], 7);
    }
    climb->drop(problem);
}

static void test_climbs(weft_context *ctx) {
    for (size_t k = 0; k < wi_climb_count; k++) {
        const wi_climb *const climb = wi_climbs[k];
        const wi_setup setup = {
            .ctx = ctx, .type = climb->type, .n = first_extent(climb), .seed = 1};
        void *problem;
        if (!wi_has_rungs(climb->ladder, ctx->kind))
            continue;
        test_ok(ctx, climb->make(&setup, &problem));
        if (climb->serial)
            test_ok(ctx, climb->serial(problem));
        check_rungs(ctx, climb, problem);
        climb->drop(problem);
        if (climb->has_extents)
            check_extents(ctx, climb);
    }
    assert_null(wi_find_climb("no such operation"));
}

/* Each type that a climb says it takes is one that its call takes, with a right result. */
static void test_types(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:2");
    for (size_t k = 0; k < wi_climb_count * WEFT_TYPE_COUNT; k++) {
        const wi_climb *const climb = wi_climbs[k / WEFT_TYPE_COUNT];
        const weft_type type = (weft_type)(k % WEFT_TYPE_COUNT);
        const wi_setup setup = {.ctx = ctx, .type = type, .n = first_extent(climb), .seed = 1};
        void *problem;
        char why[WI_MESSAGE_BYTES];
        if (!wi_has_rungs(climb->ladder, ctx->kind) || !wi_climb_takes(climb, type))
            continue;
        test_ok(ctx, climb->make(&setup, &problem));
        test_ok(ctx, climb->call(problem));
        if (!climb->check(problem, why, sizeof why))
            fail_msg("%s, %s: %s", climb->ladder->op, weft_type_name(type), why);
        climb->drop(problem);
    }
    assert_false(wi_climb_takes(wi_find_climb("gemm"), WEFT_U8));
    weft_close(ctx);
}

/* ---- roofs ---- */

static bool has_peer(const weft_context *ctx) {
#ifdef WEFT_CUDA
    int count = 0, can = 0;
    if (!ctx->gpu || cudaGetDeviceCount(&count) != cudaSuccess)
        return false;
    for (int peer = 0; peer < count; peer++) {
        if (peer != ctx->device &&
            cudaDeviceCanAccessPeer(&can, ctx->device, peer) == cudaSuccess && can)
            return true;
    }
    return false;
#else
    (void)ctx;
    return false;
#endif
}

/* Does the place have this roof? */
static bool is_there(const weft_context *ctx, wi_roof roof) {
    switch (roof) {
    case WI_ROOF_PEER:
        return has_peer(ctx);
    case WI_ROOF_LINK:
    case WI_ROOF_LINK_BACK:
    case WI_ROOF_TENSOR_F64:
    case WI_ROOF_TENSOR_TF32:
    case WI_ROOF_TENSOR_BF16:
    case WI_ROOF_TENSOR_INT8:
        return ctx->kind == WI_CUDA;
    case WI_ROOF_LAUNCH:
        return ctx->kind == WI_CUDA || ctx->threads > 1;
    default:
        return true;
    }
}

static void test_roofs(weft_context *ctx) {
    wi_meter meter;
    test_ok(ctx, wi_meter_open_with(&meter, ctx, ARENA_BYTES, 0));
    for (int roof = 0; roof < WI_ROOFS; roof++) {
        double value = -1;
        assert_non_null(wi_roof_rows[roof].name);
        test_ok(ctx, wi_roof_measure(&meter, (wi_roof)roof, &value));
        if (is_there(ctx, (wi_roof)roof) ? !(value > 0) : value != 0)
            fail_msg("%s: %g", wi_roof_rows[roof].name, value);
    }
    wi_meter_close(&meter);
}

/* A meter that keeps roofs measures one once, and gives one that it has. */
static void test_kept_roofs(weft_context *ctx) {
    double roofs[WI_ROOFS] = {[WI_ROOF_COPY] = 3}, value;
    wi_meter meter;
    test_ok(ctx, wi_meter_open_with(&meter, ctx, ARENA_BYTES, 0));
    meter.roofs = roofs;
    test_ok(ctx, wi_roof_measure(&meter, WI_ROOF_COPY, &value));
    assert_true(value == 3);
    test_ok(ctx, wi_roof_measure(&meter, WI_ROOF_READ, &value));
    assert_true(value > 0 && roofs[WI_ROOF_READ] == value);
    wi_meter_close(&meter);
}

/* ---- tuning ---- */

/* Two rungs on three problems, of which the model is wrong about one, and a sample of rounded f32.
 */
static const wi_sample planted[] = {
    {0, 0, WEFT_F32, WI_SHAPE_THIN, 1, 2},
    {1, 0, WEFT_F32, WI_SHAPE_THIN, 2, 1},
    {0, 1, WEFT_F32, WI_SHAPE_LARGE, 1, 1},
    {1, 1, WEFT_F32, WI_SHAPE_LARGE, 2, 2},
    {0, 2, WEFT_F32, WI_SHAPE_LARGE, 1, 1},
    {1, 2, WEFT_F32, WI_SHAPE_LARGE, 2, 2},
    {0, 2, WEFT_F32, WI_ROUNDED + WI_SHAPE_LARGE, 1, 1e9},
};

enum {
    PLANTED = sizeof planted / sizeof *planted
};

static void test_factors(void **state) {
    (void)state;
    wi_sample at[PLANTED];
    double ratios[PLANTED];
    size_t count;
    memcpy(at, planted, sizeof at);
    const wi_samples s = {
        .at = at, .ratios = ratios, .count = PLANTED, .room = PLANTED, .problems = 3};
    assert_true(wi_tune_factor(&s, 0, WEFT_F32, WI_SHAPE_THIN, &count) == 2 && count == 1);
    assert_true(wi_tune_factor(&s, 1, WEFT_F32, WI_SHAPE_THIN, &count) == 0.5 && count == 1);
    assert_true(wi_tune_factor(&s, 0, WEFT_F32, WI_SHAPE_ANY, &count) == 1 && count == 3);
    assert_true(wi_tune_factor(&s, 0, WEFT_F64, WI_SHAPE_ANY, &count) == 0 && count == 0);
    assert_true(wi_tune_factor(&s, 0, WEFT_F32, WI_ROUNDED, &count) == WI_TUNING_MOST);
    const wi_tune_loss loss = wi_tune_find_loss(&s, WEFT_F32, WI_SHAPE_ANY);
    assert_int_equal(loss.problems, 3);
    assert_true(loss.model > 1.25 && loss.model < 1.27); /* the third root of 2 */
    assert_true(loss.table == 1);
    assert_int_equal(wi_tune_find_loss(&s, WEFT_F32, WI_ROUNDED).problems, 0);
}

/* Measures what one operation's rungs take on a small problem. */
static size_t count_samples(weft_context *ctx, const char *op, weft_type type) {
    wi_meter meter;
    wi_samples samples = {.climb = wi_find_climb(op)};
    const wi_setup setup = {.ctx = ctx, .type = type, .n = 64, .seed = 1};
    test_ok(ctx, wi_meter_open_with(&meter, ctx, ARENA_BYTES, 0));
    test_ok(ctx, wi_tune_problem(&samples, &meter, &setup));
    assert_int_equal(samples.problems, 1);
    for (size_t k = 0; k < samples.count; k++)
        assert_true(samples.at[k].predicted > 0 && samples.at[k].seconds > 0 &&
                    samples.at[k].type == type);
    const size_t count = samples.count;
    wi_tune_free(&samples);
    wi_meter_close(&meter);
    assert_null(ctx->forecast);
    return count;
}

static void test_tune(weft_context *ctx) {
    assert_true(count_samples(ctx, "scan", WEFT_F32) >= (ctx->kind == WI_CPU ? 2 : 1));
    const size_t of_gemm = count_samples(ctx, "gemm", WEFT_F64);
    assert_true(ctx->kind == WI_CPU ? of_gemm == 0 : of_gemm >= 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),         cmocka_unit_test(test_ratio_at_one_size),
        cmocka_unit_test(test_wrong_results), cmocka_unit_test(test_pool),
        TEST_ON_EACH_PLACE(test_climbs),      cmocka_unit_test(test_types),
        TEST_ON_EACH_PLACE(test_roofs),       TEST_ON_EACH_PLACE(test_kept_roofs),
        cmocka_unit_test(test_factors),       TEST_ON_EACH_PLACE(test_tune),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
