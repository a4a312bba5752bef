/* SPDX-License-Identifier: Apache-2.0 */
/* The description of a call: what is refused, and how host arrays get to a GPU. */
#include "core/call.h"

#include <stdlib.h>
#include <string.h>

#include "core/gpu.h"
#include "testing.h"

enum {
    N = 1000,
    ROWS = 37,
    COLS = 53
};

static wi_call pair(wi_array a, wi_array b) {
    return (wi_call){.name = "f", .array = {a, b}, .count = 2};
}

/* ---- checks ---- */

static void refused(weft_context *ctx, wi_call call, const char *word) {
    test_refused(ctx, wi_call_check(ctx, &call), WEFT_EARG, "f", word);
}

static void accepted(weft_context *ctx, wi_call call) {
    assert_int_equal(wi_call_check(ctx, &call), WEFT_OK);
}

static void test_arrays(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:1");
    static float x[N];
    const wi_array y = wi_elements("y", x, 0, WEFT_F32, WI_OUT);
    refused(ctx, pair(wi_elements("x", NULL, 1, WEFT_F32, WI_IN), y), "x");
    refused(ctx, pair(wi_elements("x", x, SIZE_MAX / 4, WEFT_F32, WI_IN), y), "x");
    refused(ctx, pair(wi_elements("x", (char *)x + 2, 1, WEFT_F32, WI_IN), y), "x");
    refused(ctx, pair(wi_items("x", NULL, 1, 3, WI_IN), y), "x");
    refused(ctx, pair(wi_items("x", x, SIZE_MAX / 3, 3, WI_IN), y), "x");
    refused(ctx, pair(wi_matrix("x", x, 2, 3, "ldx", 2, WEFT_F32, WI_IN), y), "ldx");
    refused(ctx, pair(wi_matrix("x", x, SIZE_MAX, 3, "ldx", 4, WEFT_F32, WI_IN), y), "ldx");
    accepted(ctx, pair(wi_elements("x", NULL, 0, WEFT_F32, WI_IN), y));
    accepted(ctx, pair(wi_elements("x", NULL, 9, WEFT_F32, WI_IN | WI_OPTIONAL), y));
    accepted(ctx, pair(wi_items("x", (char *)x + 1, 9, 7, WI_IN), y));
    accepted(ctx, pair(wi_matrix("x", x, 0, 3, "ldx", 3, WEFT_F32, WI_IN), y));
    wi_call call = pair(wi_matrix("x", x, 3, 5, "ldx", 8, WEFT_F32, WI_IN), y);
    accepted(ctx, call);
    assert_int_equal(wi_call_check(ctx, &call), WEFT_OK);
    assert_int_equal(call.array[0].bytes, (2 * 8 + 5) * sizeof *x);
    weft_close(ctx);
}

/* An output must not overlap other arrays, or must be exactly the array that it may replace. */
static void test_pairs(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:1");
    static float x[N];
    const wi_array in = wi_elements("x", x, 10, WEFT_F32, WI_IN);
    wi_array out = wi_elements("y", x, 10, WEFT_F32, WI_OUT), matrix;
    refused(ctx, pair(in, out), "overlap");
    refused(ctx, pair(out, in), "overlap");
    refused(ctx, pair(out, out), "overlap");
    accepted(ctx, pair(in, in));
    accepted(ctx, pair(in, wi_elements("y", x + 10, 10, WEFT_F32, WI_OUT)));
    refused(ctx, pair(in, wi_elements("y", x + 9, 10, WEFT_F32, WI_OUT)), "y");
    out.in_place = 1;
    accepted(ctx, pair(in, out));
    out.cols = 9;
    refused(ctx, pair(in, out), "overlap");
    out = wi_elements("y", x + 1, 10, WEFT_F32, WI_OUT);
    out.in_place = 1;
    refused(ctx, pair(in, out), "overlap");

    /* Matrices in each other's gaps, and in place with rows that do not fit. */
    matrix = wi_matrix("x", x, 4, 3, "ldx", 8, WEFT_F32, WI_IN);
    accepted(ctx, pair(matrix, wi_matrix("y", x + 3, 4, 5, "ldy", 8, WEFT_F32, WI_OUT)));
    refused(ctx, pair(matrix, wi_matrix("y", x + 3, 4, 6, "ldy", 8, WEFT_F32, WI_OUT)), "overlap");
    refused(ctx, pair(matrix, wi_matrix("y", x + 3, 4, 3, "ldy", 9, WEFT_F32, WI_OUT)), "overlap");
    wi_call call = pair(matrix, wi_matrix("y", x, 4, 3, "ldy", 9, WEFT_F32, WI_OUT));
    call.array[1].in_place = 1;
    refused(ctx, call, "ldy");
    call.array[1].ld = 8;
    accepted(ctx, call);
    weft_close(ctx);
}

/* ---- running ---- */

/* y = x + 1, computed on the host. */
typedef struct job {
    size_t parts, elements;
    bool writes_half;
} job;

static weft_status add_one(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    job *const j = user;
    const size_t bytes = (part->rows - 1) * part->ld[0] + part->cols;
    uint8_t *const x = malloc(bytes), *const y = malloc(part->rows * part->ld[1]);
    assert_int_equal(part->index, j->parts++);
    assert_int_equal(part->first, j->elements);
    j->elements += part->rows * part->cols;
    assert_int_equal(part->last, j->elements == call->array[0].rows * call->array[0].cols);
    weft_status status = weft_copy(ctx, x, part->p[0], bytes);
    for (size_t r = 0; r < part->rows && status == WEFT_OK; r++) {
        for (size_t c = 0; c < part->cols; c++)
            y[r * part->ld[1] + c] = (uint8_t)(x[r * part->ld[0] + c] + 1);
        status = weft_copy(ctx, (uint8_t *)part->p[1] + r * part->ld[1], y + r * part->ld[1],
                           part->cols);
    }
    if (j->writes_half)
        call->array[1].bytes /= 2;
    free(x);
    free(y);
    return status;
}

/* Host and device memory, in place or not, cut or whole: always the same result, and unchanged
 * gaps. */
static void run_matrix(weft_context *ctx, const bool device[2], bool in_place, bool cut, size_t ldx,
                       size_t ldy) {
    test_buffer x = test_buffer_open(ctx, device[0], ROWS * ldx);
    test_buffer y = test_buffer_open(ctx, device[1], ROWS * ldy);
    uint8_t start[ROWS * 64], before[ROWS * 64];
    for (size_t i = 0; i < sizeof start; i++) {
        start[i] = (uint8_t)(i * 7);
        before[i] = (uint8_t)(i * 3);
    }
    test_buffer_load(&x, start, ROWS * ldx, 0);
    test_buffer_load(&y, before, ROWS * ldy, 0);
    wi_call call = pair(wi_matrix("x", x.p, ROWS, COLS, "ldx", ldx, WEFT_U8, WI_IN),
                        wi_matrix("y", in_place ? x.p : y.p, ROWS, COLS, "ldy",
                                  in_place ? ldx : ldy, WEFT_U8, WI_OUT));
    call.array[1].in_place = 1;
    call.rows = ROWS;
    call.cols = COLS;
    if (!cut) {
        call.array[0].use |= WI_WHOLE;
        call.array[1].use |= WI_WHOLE;
    }
    job j = {.parts = 0};
    assert_int_equal(wi_call_check(ctx, &call), WEFT_OK);
    if (wi_call_run(ctx, &call, add_one, &j) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    const uint8_t *const out = test_buffer_read(in_place ? &x : &y, "y");
    const size_t ld = in_place ? ldx : ldy;
    for (size_t i = 0; i < (ROWS - 1) * ld + COLS; i++) {
        const size_t r = i / ld, c = i % ld;
        const uint8_t old = in_place ? start[i] : before[i];
        assert_int_equal(out[i], c < COLS ? (uint8_t)(start[r * ldx + c] + 1) : old);
    }
    test_buffer_close(&x);
    test_buffer_close(&y);
}

static void matrices(weft_context *ctx) {
    for (unsigned k = 0; k < 32; k++) {
        const bool device[] = {k & 1, k & 2}, in_place = k & 4, cut = k & 8;
        run_matrix(ctx, device, in_place, cut, k & 16 ? COLS + 5 : COLS, COLS + 9);
    }
}

/* The second array begins at the same address as the first and is longer; both share a copy. */
static weft_status look(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    (void)ctx;
    (void)call;
    *(wi_part *)user = *part;
    return WEFT_OK;
}

static void sharing(weft_context *ctx) {
    static uint8_t memory[4 * N];
    wi_part part;
    wi_call call = {.name = "f",
                    .array = {wi_elements("a", memory, N, WEFT_U8, WI_IN),
                              wi_items("b", memory, 3 * N / 4, 4, WI_IN),
                              wi_elements("c", memory + 4 * N - 8, 2, WEFT_U8, WI_OUT),
                              wi_elements("d", memory + 1, N, WEFT_U8, WI_IN)},
                    .count = 4};
    assert_int_equal(wi_call_check(ctx, &call), WEFT_OK);
    assert_int_equal(wi_call_run(ctx, &call, look, &part), WEFT_OK);
    assert_ptr_equal(part.p[0], part.p[1]);
    assert_true(part.p[3] != part.p[1]);
    if (!ctx->gpu) {
        assert_ptr_equal(part.p[0], memory);
        return;
    }
    assert_true(part.mirrored);
    assert_true(part.p[0] != (void *)memory && part.p[2] != (void *)(memory + 4 * N - 8));
    size_t asked = 0; /* the long one, and the one at another address */
    call.asked = &asked;
    assert_int_equal(wi_call_run(ctx, &call, look, &part), WEFT_OK);
    assert_int_equal(asked, 3 * N + N);
}

/* The part of an output that a call says it has not written stays unchanged on the host. */
static void partly_written(weft_context *ctx) {
    static uint8_t x[ROWS * COLS], y[ROWS * COLS];
    job j = {.writes_half = true};
    memset(y, TEST_POISON, sizeof y);
    wi_call call = pair(wi_elements("x", x, sizeof x, WEFT_U8, WI_IN | WI_WHOLE),
                        wi_elements("y", y, sizeof y, WEFT_U8, WI_OUT | WI_WHOLE));
    call.rows = 1;
    call.cols = sizeof x;
    assert_int_equal(wi_call_check(ctx, &call), WEFT_OK);
    assert_int_equal(wi_call_run(ctx, &call, add_one, &j), WEFT_OK);
    for (size_t i = 0; i < sizeof y / 2; i++)
        assert_int_equal(y[i], 1);
    for (size_t i = sizeof y / 2; ctx->gpu && i < sizeof y; i++)
        assert_int_equal(y[i], TEST_POISON);
}

/* Calls that are made by calls, on small host arrays of their own: nobody's copies are another's.
 */
enum {
    DEEPEST = 5
};

static weft_status nest(weft_context *ctx, unsigned depth);

static weft_status inside(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    const unsigned depth = *(const unsigned *)user;
    uint8_t x[8];
    (void)call;
    weft_status status = nest(ctx, depth + 1);
    if (status == WEFT_OK)
        status = weft_copy(ctx, x, part->p[0], sizeof x);
    for (size_t i = 0; i < sizeof x; i++)
        x[i]++;
    return status == WEFT_OK ? weft_copy(ctx, part->p[1], x, sizeof x) : status;
}

static weft_status nest(weft_context *ctx, unsigned depth) {
    uint8_t x[8], y[8];
    memset(x, (int)(10 * depth), sizeof x);
    memset(y, TEST_POISON, sizeof y);
    wi_call call = pair(wi_elements("x", x, sizeof x, WEFT_U8, WI_IN | WI_WHOLE),
                        wi_elements("y", y, sizeof y, WEFT_U8, WI_OUT | WI_WHOLE));
    if (depth > DEEPEST)
        return WEFT_OK;
    weft_status status = wi_call_check(ctx, &call);
    if (status == WEFT_OK)
        status = wi_call_run(ctx, &call, inside, &depth);
    for (size_t i = 0; i < sizeof y; i++)
        assert_int_equal(y[i], 10 * depth + 1);
    return status;
}

static void nested(weft_context *ctx) {
    for (int turn = 0; turn < 2; turn++)
        assert_int_equal(nest(ctx, 0), WEFT_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays),      cmocka_unit_test(test_pairs),
        TEST_ON_EACH_PLACE(matrices),       TEST_ON_EACH_PLACE(sharing),
        TEST_ON_EACH_PLACE(partly_written), TEST_ON_EACH_PLACE(nested),
    };
    return cmocka_run_group_tests_name("call", tests, NULL, NULL);
}
