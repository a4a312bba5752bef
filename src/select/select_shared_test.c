/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of one call that share memory: what is moved is what is tested, in elements of another
 * width, and the element that fills gaps is the first of either. In host and device memory. */
#include "select/select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

enum {
    COUNT = 300,
    WIDEST = 24,
    ROOM = COUNT * WIDEST,
    TESTED = 4, /* widths of what is tested: 1, 2, 4, 8 */
    WIDTHS = 7  /* of what is moved */
};

typedef enum call_kind {
    SELECT_WHERE,
    PARTITION_WHERE,
    EXPAND,
    CALLS
} call_kind;

static const char *const names[CALLS] = {"weft_select_where", "weft_partition_where",
                                         "weft_expand"};

typedef struct rig {
    weft_context *ctx;
    const char *rung;
    test_random random;
    test_buffer shared, y, z; /* of the case */
    unsigned char memory[ROOM], right_y[ROOM], right_z[ROOM];
} rig;

/* Elements that are not 0, of a type of so many bytes, are wanted. */
static weft_predicate not_zero(size_t bytes) {
    static const weft_type types[] = {
        [1] = WEFT_U8, [2] = WEFT_I16, [4] = WEFT_I32, [8] = WEFT_U64};
    return (weft_predicate){.test = WEFT_NE, .type = types[bytes]};
}

static bool wanted(const rig *r, size_t bytes, size_t i) {
    static const unsigned char zeros[8];
    return memcmp(r->memory + i * bytes, zeros, bytes) != 0;
}

/* Lays out the outputs of n elements, m to expand; gives the count. */
static size_t expect(rig *r, call_kind call, size_t tested, size_t n, size_t width, size_t m,
                     bool fills) {
    size_t kept = 0, rest = 0;
    memset(r->right_y, TEST_POISON, n * width);
    memset(r->right_z, TEST_POISON, n * width);
    for (size_t i = 0; i < n; i++) {
        const bool in = wanted(r, tested, i);
        if (call == EXPAND && ((in && kept < m) || fills))
            memcpy(r->right_y + i * width, r->memory + (in && kept < m ? kept * width : 0), width);
        else if (call != EXPAND && in)
            memcpy(r->right_y + kept * width, r->memory + i * width, width);
        else if (call == PARTITION_WHERE)
            memcpy(r->right_z + rest++ * width, r->memory + i * width, width);
        kept += in;
    }
    return kept;
}

static void compare(const rig *r, const char *what, test_buffer *b, const unsigned char *right,
                    size_t bytes) {
    const unsigned char *const got = test_buffer_read(b, what);
    for (size_t k = 0; k < bytes; k++)
        if (got[k] != right[k])
            fail_msg("%s on %s, %s: byte %zu is wrong", what, weft_place(r->ctx), r->rung, k);
}

static void run(rig *r, call_kind call, size_t tested, size_t width) {
    const size_t n = 1 + test_below(&r->random, COUNT);
    const size_t m = call == EXPAND ? test_below(&r->random, n + 1) : n;
    const bool fills = test_below(&r->random, 2);
    const size_t extent = n * tested > m * width ? n * tested : m * width;
    const size_t bytes = extent < width ? width : extent; /* of the fill as well */
    for (size_t k = 0; k < bytes; k++)
        r->memory[k] = test_below(&r->random, 3) ? 0 : (unsigned char)test_bits(&r->random);
    test_buffer_load(&r->shared, r->memory, bytes, 0);
    test_buffer_poison(&r->y, n * width, 0);
    test_buffer_poison(&r->z, n * width, 0);
    const void *const s = r->shared.p;
    const weft_predicate p = not_zero(tested);
    uint64_t count = 0;
    weft_status status;
    if (call == SELECT_WHERE)
        status = weft_select_where(r->ctx, p, n, s, width, s, r->y.p, &count);
    else if (call == PARTITION_WHERE)
        status = weft_partition_where(r->ctx, p, n, s, width, s, r->y.p, r->z.p, &count);
    else
        status = weft_expand(r->ctx, p, n, s, width, m, s, fills ? s : NULL, r->y.p);
    if (status == WEFT_EUNSUPPORTED)
        return;
    char what[160];
    snprintf(what, sizeof what, "%s, elements of %zu tested in %zu bytes, n %zu, m %zu%s",
             names[call], width, tested, n, m, fills ? ", filled" : "");
    if (status != WEFT_OK)
        fail_msg("%s: %s", what, weft_message(r->ctx));
    const size_t right = expect(r, call, tested, n, width, m, fills);
    if (call != EXPAND && count != right)
        fail_msg("%s: the count is %zu, not %zu", what, (size_t)count, right);
    compare(r, what, &r->y, r->right_y, n * width);
    compare(r, what, &r->z, r->right_z, n * width);
    compare(r, what, &r->shared, r->memory, bytes);
}

static bool run_at(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    static const size_t widths[WIDTHS] = {1, 2, 3, 4, 8, 16, WIDEST};
    rig *const r = rig_of_test;
    (void)n;
    test_use(r->ctx, "select", row);
    r->rung = row ? row->name : "auto";
    run(r, (call_kind)at[0], (size_t)1 << at[1], widths[at[2]]);
    return true;
}

static void shared(weft_context *ctx) {
    const test_sweep s = {.ladder = &wi_select_ladder,
                          .extent = {CALLS, TESTED, WIDTHS},
                          .must = 3,
                          .share = 50,
                          .run = run_at};
    for (int device = 0; device <= (ctx->kind == WI_CUDA); device++) {
        rig r = {.ctx = ctx, .random = test_random_at(9)};
        r.shared = test_buffer_open(ctx, device, ROOM);
        r.y = test_buffer_open(ctx, device, ROOM);
        r.z = test_buffer_open(ctx, device, ROOM);
        test_sweep_run(ctx, &r.random, &s, &r);
        test_buffer_close(&r.shared);
        test_buffer_close(&r.y);
        test_buffer_close(&r.z);
    }
    test_use(ctx, "select", NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(shared),
    };
    return cmocka_run_group_tests_name("select shared", tests, NULL, NULL);
}
