/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation in every public call, failed in turn: the call must say WEFT_ENOMEM, leave its
 * outputs as they were, and leak nothing; and the context must still work afterwards.
 *
 * The calls are from the slices, SLICE_cases.c. The linker's --wrap redirects the library's
 * allocating calls to injection.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "core/stage.h"
#include "injection.h"
#include "testing.h"

enum {
#ifdef WEFT_EMU
    GPU_ELEMENTS = 12 * 1000 + 7, /* kernels are slow there; stage_test runs the segments */
    MUST = 0,                     /* only the cases that are drawn */
#else
    GPU_ELEMENTS = 3 * 1000 * 1000 + 7, /* so many floats on the host are staged in segments */
    MUST = 3,                           /* each call on each rung */
#endif
    CPU_ELEMENTS = 400 * 1000 + 7, /* enough for all threads of a context */
    MOST_CALLS = 512
};

/* The calls of all slices. */
static const test_call *calls[MOST_CALLS];
static size_t call_count;

static void list_calls(void) {
    call_count = 0;
    for (const test_cases *const *slice = test_all_cases; *slice; slice++) {
        for (size_t k = 0; k < (*slice)->call_count; k++) {
            if (call_count == MOST_CALLS)
                fail_msg("more than %d calls; raise MOST_CALLS", MOST_CALLS);
            calls[call_count++] = &(*slice)->calls[k];
        }
    }
}

static int allocations(void) {
    return counted;
}

/* ---- one call, each of its allocations failed ---- */

/* Arrays for the whole test, and what z and result hold before a call. */
typedef struct rig {
    weft_context *owner; /* allocated what is on the device */
    size_t n;
    test_buffer x, y, z, result;
    test_random random; /* draws the cases to run, under slow sanitizers */
} rig;

static rig rig_open(weft_context *owner, bool device) {
    const size_t n = owner->kind == WI_CUDA ? GPU_ELEMENTS : CPU_ELEMENTS;
    const size_t bytes = n * sizeof(float);
    rig r = {.owner = owner,
             .n = n,
             .x = test_buffer_open(owner, device, bytes),
             .y = test_buffer_open(owner, device, bytes),
             .z = test_buffer_open(owner, device, bytes),
             .result = test_buffer_open(owner, device, 8),
             .random = test_random_at(device)};
    float *ones = malloc(bytes);
    assert_non_null(ones);
    for (size_t i = 0; i < n; i++) {
        ones[i] = 1;
    }
    test_buffer_load(&r.x, ones, bytes, 0);
    test_buffer_load(&r.y, ones, bytes, 0);
    test_buffer_poison(&r.z, bytes, 0);
    test_buffer_poison(&r.result, 8, 0);
    free(ones);
    return r;
}

static void rig_close(rig *r) {
    test_buffer_close(&r->x);
    test_buffer_close(&r->y);
    test_buffer_close(&r->z);
    test_buffer_close(&r->result);
}

static void check_untouched(test_buffer *b, const char *what) {
    const unsigned char *bytes = test_buffer_read(b, what);
    if (bytes[0] == TEST_POISON && memcmp(bytes, bytes + 1, b->bytes - 1) == 0) {
        return; /* one byte at a time this takes two fifths of the program's time */
    }
    for (size_t i = 0; i < b->bytes; i++) {
        if (bytes[i] != TEST_POISON) {
            fail_msg("%s: failed, yet byte %zu of an output was written", what, i);
        }
    }
}

static weft_context *open_watched(const char *place, const test_call *call, const wi_row *row,
                                  const wi_row *stage_row) {
    weft_context *ctx = NULL;
    watch(true);
    arm(NEVER);
    weft_status status = weft_open(&ctx, place);
    watch(false);
    if (status != WEFT_OK) {
        fail_msg("%s: %s", place, weft_message(NULL));
    }
    if (row) {
        test_use(ctx, call->ladder->op, row);
    }
    if (stage_row) {
        test_use(ctx, "stage", stage_row);
    }
    return ctx;
}

static void close_watched(weft_context *ctx, test_arrays *a, const char *what) {
    watch(true);
    arm(NEVER);
    weft_free(ctx, a->allocated);
    weft_close(ctx);
    watch(false);
    if (live_count) {
        fail_msg("%s: %zu allocations were not given back", what, live_count);
    }
}

static weft_status run_watched(weft_context *ctx, const test_call *call, test_arrays *a,
                               int which) {
    watch(true);
    arm(which);
    now_bytes = most_bytes = 0;
    weft_status status = call->run(ctx, a);
    if (status == WEFT_OK) {
        status = weft_sync(ctx);
    }
    watch(false);
    return status;
}

/* A call must take and return as many bytes as it said; what remains is the context's scratch. On a
 * GPU this is exact; on a cpu, which allocates whole cache lines and pages, to a page for each
 * allocation. */
static void check_bytes(weft_context *ctx, const test_call *call, const test_arrays *a,
                        const char *what) {
    size_t asked = 0;
    const size_t most = most_bytes - now_bytes;
    const size_t page = ctx->kind == WI_CPU ? (size_t)counted << 21 : 0;
    watch(true);
    arm(0);
    const weft_status status = call->ask(ctx, a, &asked);
    watch(false);
    if (status != WEFT_OK || counted > 0)
        fail_msg("%s: asked for its bytes: %s, %d allocations", what, weft_message(ctx), counted);
    if (asked > most || most - asked > page)
        fail_msg("%s: said it takes %zu bytes, and took %zu", what, asked, most);
}

/* Fails the allocation numbered `which` of a call on a new context; false if the call makes fewer.
 */
static bool fail_one(rig *r, const test_call *call, const wi_row *row, const wi_row *stage_row,
                     int which) {
    char what[128];
    const char *place = weft_place(r->owner);
    test_arrays a = {.n = r->n,
                     .x = (float *)r->x.p,
                     .y = (float *)r->y.p,
                     .z = (float *)r->z.p,
                     .result = r->result.p,
                     .allocations = allocations};
    weft_context *ctx = open_watched(place, call, row, stage_row);
    snprintf(what, sizeof what, "%s on %s, variant %s, allocation %d failed", call->name, place,
             row ? row->name : "auto", which);
    weft_status status = run_watched(ctx, call, &a, which);
    bool injected = counted > which;
    if (status == WEFT_EUNSUPPORTED && (row || stage_row)) {
        injected = false; /* the rung does not fit this call */
    } else if (!injected && status != WEFT_OK) {
        fail_msg("%s: %s: %s", what, weft_status_name(status), weft_message(ctx));
    } else if (!injected && call->ask) {
        check_bytes(ctx, call, &a, what);
    } else if (injected) {
        if (status != WEFT_ENOMEM || strlen(weft_message(ctx)) == 0) {
            fail_msg("%s: %s, message \"%s\"", what, weft_status_name(status), weft_message(ctx));
        }
        check_untouched(&r->z, what);
        check_untouched(&r->result, what);
        status = run_watched(ctx, call, &a, NEVER);
        if (status != WEFT_OK && !(status == WEFT_EUNSUPPORTED && row)) {
            fail_msg("%s, then tried again: %s", what, weft_message(ctx));
        }
    }
    close_watched(ctx, &a, what);
    test_buffer_poison(&r->z, r->n * sizeof(float), 0);
    test_buffer_poison(&r->result, 8, 0);
    return injected;
}

static void fail_each(rig *r, const test_call *call, const wi_row *row, const wi_row *stage_row) {
    int which = 0;
    while (fail_one(r, call, row, stage_row, which)) {
        which++;
    }
}

/* Each call on each of its rungs; for host memory on a GPU place, on every rung of staging instead.
 */
static bool fail_at_rung(void *rig_of_test, size_t n, const wi_row *none, const size_t at[]) {
    rig *const r = rig_of_test;
    const test_call *const call = calls[at[0]];
    const bool staged = r->owner->kind == WI_CUDA && !r->x.device;
    const wi_ladder *const ladder = !call->ladder ? NULL : staged ? &wi_stage_ladder : call->ladder;
    const wi_row *rows[TEST_MAX_ROWS] = {NULL};
    const size_t count = ladder ? test_rows(r->owner, ladder, rows) : 1;
    (void)n;
    (void)none;
    if (at[1] >= count)
        return false;
    const wi_row *const row = rows[at[1]];
    if (row && strcmp(row->name, "all_prefixes") == 0)
        return false; /* its work grows as n^2 */
    if (staged && row && row->misfit)
        return false; /* it takes pinned memory alone */
    fail_each(r, call, staged ? NULL : row, staged ? row : NULL);
    return true;
}

static void failing_calls(weft_context *ctx) {
    list_calls();
    const test_sweep s = {
        .extent = {call_count, TEST_MAX_ROWS}, .must = MUST, .share = 50, .run = fail_at_rung};
    bool gpu = ctx->kind == WI_CUDA;
    only_own = gpu;
    for (int device = 0; device <= (gpu ? 1 : 0); device++) {
        rig r = rig_open(ctx, device);
        test_sweep_run(ctx, &r.random, &s, &r);
        rig_close(&r);
    }
}

static void failing_open(weft_context *other) {
    const char *place = weft_place(other);
    only_own = other->kind == WI_CUDA;
    for (int which = 0;; which++) {
        weft_context *ctx = other;
        watch(true);
        arm(which);
        weft_status status = weft_open(&ctx, place);
        bool injected = counted > which;
        arm(NEVER);
        if (status == WEFT_OK) {
            weft_close(ctx);
        }
        watch(false);
        assert_int_equal(live_count, 0);
        if (!injected) {
            assert_int_equal(status, WEFT_OK);
            return;
        }
        assert_int_equal(status, WEFT_ENOMEM);
        assert_null(ctx);
        assert_true(strlen(weft_message(NULL)) > 0);
    }
}

/* The test itself must be able to fail: without --wrap no allocation would be counted. */
static void test_injection_works(void **state) {
    (void)state;
    weft_context *ctx = NULL;
    only_own = false;
    watch(true);
    arm(0);
    weft_status status = weft_open(&ctx, "cpu:1");
    watch(false);
    assert_int_equal(counted, 1);
    assert_int_equal(status, WEFT_ENOMEM);
    assert_null(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_injection_works),
        TEST_ON_EACH_PLACE(failing_open),
        TEST_ON_EACH_PLACE(failing_calls),
    };
    return cmocka_run_group_tests_name("allocation", tests, NULL, NULL);
}
