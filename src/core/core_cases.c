/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of core for the tests of all calls: with no context, with wrong arguments, and with
 * each of their allocations failed. */
#include "arguments.h"
#include "cases.h"
#include "weft/mpi.h"
#include "weft/trace.h"

static void without_context(void) {
    float x = 1, y = 2;
    void *memory = &x;
    weft_close(NULL);
    assert_null(weft_used(NULL, "map"));
    assert_int_equal(weft_open(NULL, "cpu"), WEFT_EARG);
    assert_int_equal(weft_use(NULL, "map", NULL), WEFT_EARG);
    assert_int_equal(weft_alloc(NULL, &memory, 8), WEFT_EARG);
    assert_int_equal(weft_free(NULL, &x), WEFT_EARG);
    assert_int_equal(weft_copy(NULL, &y, &x, sizeof x), WEFT_EARG);
    assert_int_equal(weft_sync(NULL), WEFT_EARG);
    assert_int_equal(weft_set_stream(NULL, NULL), WEFT_EARG);
    assert_int_equal(weft_set_tuning(NULL, NULL), WEFT_EARG);
    assert_int_equal(weft_on_error(NULL, NULL, NULL), WEFT_EARG);
    assert_int_equal(weft_trace_begin(NULL, "t.json"), WEFT_EARG);
    assert_int_equal(weft_trace_end(NULL), WEFT_EARG);
    uint64_t count = 1, own;
    assert_int_equal(weft_own_count(NULL, &count, &own), WEFT_EARG);
    assert_int_equal(weft_open_mpi(NULL, "mpi", &x), WEFT_EARG);
    weft_context *ctx = (weft_context *)(void *)&x;
    assert_int_equal(weft_open_mpi(&ctx, "mpi", NULL), WEFT_EARG);
    assert_null(ctx);
    assert_int_equal(weft_rank(NULL), 0);
    assert_int_equal(weft_ranks(NULL), 1);
    assert_string_equal(weft_comm(NULL), "");
    assert_true(y == 2);
}

static void null_arguments(weft_context *ctx) {
    rig r = rig_open(ctx);
    REFUSED("weft_copy", "to", weft_copy(ctx, NULL, r.x, 4));
    REFUSED("weft_copy", "from", weft_copy(ctx, r.x, NULL, 4));
    REFUSED("weft_alloc", "memory", weft_alloc(ctx, NULL, 4));
    REFUSED("weft_use", "op", weft_use(ctx, NULL, "serial"));
    REFUSED("weft_trace_begin", "path", weft_trace_begin(ctx, NULL));
    assert_int_equal(weft_free(ctx, NULL), WEFT_OK);
    uint64_t count = 3, own = 0;
    REFUSED("weft_own_count", "count", weft_own_count(ctx, NULL, &own));
    REFUSED("weft_own_count", "own", weft_own_count(ctx, &count, NULL));
    assert_int_equal(weft_own_count(ctx, &count, &own), WEFT_OK);
    assert_true(own == 3);
    rig_close(&r);
}

static void overlaps(weft_context *ctx) {
    rig r = rig_open(ctx);
    REFUSED("weft_copy", "from", weft_copy(ctx, r.x, (char *)r.x + 3, 4));
    rig_close(&r);
}

/* More memory than there is. AddressSanitizer would end the process instead of returning NULL. */
static void impossible_memory(weft_context *ctx) {
#if !defined(__SANITIZE_ADDRESS__)
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 60};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        void *memory = ctx;
        weft_status status = weft_alloc(ctx, &memory, sizes[k]);
        test_refused(ctx, status, WEFT_ENOMEM, "memory", NULL);
        assert_null(memory);
    }
#else
    (void)ctx;
#endif
}

static void empty(weft_context *ctx) {
    void *memory = &memory;
    assert_int_equal(weft_copy(ctx, NULL, NULL, 0), WEFT_OK);
    assert_int_equal(weft_alloc(ctx, &memory, 0), WEFT_OK);
    assert_null(memory);
}

/* ---- allocations ---- */

static weft_status run_alloc(weft_context *ctx, test_arrays *a) {
    return weft_alloc(ctx, &a->allocated, 1000);
}

static weft_status run_copy(weft_context *ctx, test_arrays *a) {
    return weft_copy(ctx, a->z, a->x, a->n * sizeof *a->x);
}

static weft_status run_sync(weft_context *ctx, test_arrays *a) {
    (void)a;
    weft_status status = weft_sync(ctx);
    return status == WEFT_OK ? weft_set_stream(ctx, NULL) : status;
}

static weft_status run_trace(weft_context *ctx, test_arrays *a) {
    const weft_status status = weft_trace_begin(ctx, "/dev/null");
    if (status != WEFT_OK)
        return status;
    const weft_status copied = weft_copy(ctx, a->z, a->x, a->n * sizeof *a->x);
    const weft_status ended = weft_trace_end(ctx);
    return copied == WEFT_OK ? ended : copied;
}

static const test_refusal refusals[] = {
    {"core: null arguments", null_arguments},
    {"core: overlaps", overlaps},
    {"core: impossible memory", impossible_memory},
    {"core: empty", empty},
};

static const test_call calls[] = {
    {"weft_alloc", run_alloc, NULL, NULL},
    {"weft_copy", run_copy, NULL, NULL},
    {"weft_sync", run_sync, NULL, NULL},
    {"weft_trace_begin", run_trace, NULL, NULL},
};

const test_cases wi_core_cases = {.without_context = without_context,
                                  .refusals = refusals,
                                  .refusal_count = sizeof refusals / sizeof *refusals,
                                  .calls = calls,
                                  .call_count = sizeof calls / sizeof *calls};
