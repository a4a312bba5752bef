/* SPDX-License-Identifier: Apache-2.0 */
/* Staging: how calls are cut up, the conveyor with a simulated device, and staging as a whole on
 * GPUs. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/conveyor.h"
#include "core/gpu.h"
#include "core/rowcopy.h"
#include "core/stage_plan.h"
#include "stage_copy.h"
#include "testing.h"

extern const wi_ladder wi_stage_ladder;

/* ---- plans ---- */

/* Segments must come in order, be neither empty nor too large, and cover every element once. */
static void check_plan(size_t rows, size_t cols, size_t most) {
    const wi_plan plan = wi_plan_of(rows, cols, most);
    unsigned char *const seen = calloc(rows, cols);
    size_t next = 0;
    for (size_t k = 0; k < plan.count; k++) {
        const wi_segment s = wi_plan_segment(&plan, k);
        assert_true(s.rows > 0 && s.cols > 0);
        assert_true(s.rows * s.cols <= most);
        assert_true(s.rows <= plan.rows_each && s.cols <= plan.cols_each);
        assert_true(s.rows == 1 || s.cols == cols);
        assert_int_equal(s.row * cols + s.col, next);
        next += s.rows * s.cols;
        for (size_t r = 0; r < s.rows; r++)
            for (size_t c = 0; c < s.cols; c++)
                assert_int_equal(seen[(s.row + r) * cols + s.col + c]++, 0);
    }
    assert_int_equal(next, rows * cols);
    free(seen);
}

static void test_plans(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, 3, 7, 8, 9, 64, 100};
    const size_t count = sizeof sizes / sizeof *sizes;
    for (size_t r = 0; r < count; r++)
        for (size_t c = 0; c < count; c++)
            for (size_t m = 0; m < count; m++)
                check_plan(sizes[r], sizes[c], sizes[m]);
    /* Far beyond 2^32 only the two ends are checked. */
    const size_t rows = (size_t)1 << 20, cols = ((size_t)1 << 20) + 1;
    const wi_plan plan = wi_plan_of(rows, cols, 1 << 22);
    const wi_segment last = wi_plan_segment(&plan, plan.count - 1);
    assert_int_equal(plan.rows_each, 3);
    assert_int_equal(last.row + last.rows, rows);
    const wi_plan line = wi_plan_of(1, rows * cols, 1 << 22);
    const wi_segment end = wi_plan_segment(&line, line.count - 1);
    assert_int_equal(end.col + end.cols, rows * cols);
}

static void test_segment_sizes(void **state) {
    (void)state;
    enum {
        SEGMENT = 4 << 20
    };
    static const size_t busiest[] = {1, 2, 4, 8, 12, 16, 24};
    for (size_t k = 0; k < sizeof busiest / sizeof *busiest; k++) {
        for (size_t n = 1; n < (size_t)1 << 40; n = 3 * n + 1) {
            const size_t most = wi_plan_most(n, busiest[k], SEGMENT);
            assert_true(most > 0 && most * busiest[k] <= SEGMENT);
            assert_int_equal(most % 4096, 0);
            /* A long call fills its segments. */
            if (n * busiest[k] >= (size_t)16 * SEGMENT)
                assert_true(most * busiest[k] > SEGMENT - 4096 * busiest[k]);
        }
    }
}

static void test_arrays(void **state) {
    (void)state;
    char x[72], y[72];
    wi_stage_args args = {
        .rows = 3,
        .cols = 5,
        .operand = {{x, 4, 20, true, false}, {y, 4, 20, true, false}, {y, 4, 20, false, true}},
        .operands = 3,
    };
    wi_stage_arrays arrays = wi_stage_arrays_of(&args);
    assert_int_equal(arrays.count, 2); /* y is in place */
    assert_int_equal(arrays.of[2], 1);
    assert_true(arrays.array[1].in && arrays.array[1].out && !arrays.array[0].out);
    assert_int_equal(arrays.rows, 1); /* no gaps: one row */
    assert_int_equal(arrays.cols, 15);
    assert_int_equal(wi_stage_array_span(&arrays, 0), 60);

    args.operand[0].pitch_bytes = 24;
    arrays = wi_stage_arrays_of(&args);
    assert_int_equal(arrays.rows, 3);
    assert_int_equal(wi_stage_array_span(&arrays, 0), 2 * 24 + 20);
    assert_int_equal(wi_stage_array_span(&arrays, 1), 60);
    assert_ptr_equal(wi_stage_array_at(&arrays, 0, 2, 1), x + 2 * 24 + 4);

    args.operand[2].element_bytes = 2; /* the same address, but another kind of array */
    arrays = wi_stage_arrays_of(&args);
    assert_int_equal(arrays.count, 3);

    args.rows = 1;
    args.operand[1].pitch_bytes = 0; /* has no meaning for one row */
    arrays = wi_stage_arrays_of(&args);
    assert_int_equal(wi_stage_array_span(&arrays, 1), 20);
}

/* ---- row copies ---- */

static void check_rows(size_t rows, size_t row_bytes, size_t to_pitch, size_t from_pitch) {
    const size_t to_bytes = rows * to_pitch, from_bytes = rows * from_pitch;
    unsigned char *const from = malloc(from_bytes), *const to = malloc(to_bytes);
    for (size_t i = 0; i < from_bytes; i++)
        from[i] = (unsigned char)(i * 7 % 127);
    memset(to, TEST_POISON, to_bytes);
    for (size_t begin = 0; begin < rows * row_bytes; begin += 11) {
        const size_t end = begin + 11 < rows * row_bytes ? begin + 11 : rows * row_bytes;
        wi_pitched_copy((wi_pitched){(char *)to, to_pitch}, (wi_pitched){(char *)from, from_pitch},
                        row_bytes, begin, end);
    }
    weft_context *const ctx = test_open("cpu:3");
    unsigned char *const all = malloc(to_bytes);
    memset(all, TEST_POISON, to_bytes);
    wi_pitched_copy_all(ctx, 3, (wi_pitched){(char *)all, to_pitch},
                        (wi_pitched){(char *)from, from_pitch}, rows, row_bytes);
    for (size_t i = 0; i < to_bytes; i++) {
        const size_t row = i / to_pitch, column = i % to_pitch;
        const unsigned char want =
            column < row_bytes ? from[row * from_pitch + column] : TEST_POISON;
        assert_int_equal(to[i], want);
        assert_int_equal(all[i], want);
    }
    weft_close(ctx);
    free(from);
    free(to);
    free(all);
}

static void test_rows_copy(void **state) {
    (void)state;
    check_rows(1, 1, 1, 1);
    check_rows(5, 3, 3, 3);
    check_rows(5, 3, 4, 7);
    check_rows(7, 40, 40, 41);
    check_rows(3, 11, 30, 11);
    check_rows(3, (1 << 20) + 5, (1 << 20) + 9, (1 << 20) + 5);
    wi_pitched_copy_all(NULL, 4, (wi_pitched){NULL, 0}, (wi_pitched){NULL, 0}, 0, 0);
}

/* ---- the conveyor ---- */

enum {
    PIECES = 5, /* of a segment, one byte each */
    MOST_SEGMENTS = 100,
    WORDS = 16 /* copied with each piece, so that a race would be noticed */
};

/* A device that answers late, and checks the order of events. Threads of the team cannot use the
 * test program's assertions: they set `broken` instead. */
typedef struct pretended {
    wi_conveyor c;
    weft_context *ctx; /* whose threads are used */
    uint32_t input[MOST_SEGMENTS * PIECES * WORDS], output[MOST_SEGMENTS * PIECES * WORDS];
    uint32_t slot_in[WI_CONVEYOR_SLOTS][PIECES * WORDS];
    uint32_t slot_out[WI_CONVEYOR_SLOTS][PIECES * WORDS];
    atomic_int filled[MOST_SEGMENTS], drained[MOST_SEGMENTS];
    atomic_size_t submitted, arrived, finished;
    atomic_bool broken;
    test_random delay;
    size_t fail_submit, fail_arrived, fail_finished; /* the segment that fails */
} pretended;

static void expect(pretended *p, bool right) {
    if (!right)
        atomic_store(&p->broken, true);
}

static void pretend_fill(void *user, size_t segment, size_t piece) {
    pretended *const p = user;
    expect(p, segment < p->c.segments && piece < PIECES);
    expect(p, segment < atomic_load(&p->arrived) + p->c.slots);
    memcpy(p->slot_in[segment % p->c.slots] + piece * WORDS,
           p->input + (segment * PIECES + piece) * WORDS, WORDS * sizeof(uint32_t));
    atomic_fetch_add(&p->filled[segment], 1);
}

static void pretend_drain(void *user, size_t segment, size_t piece) {
    pretended *const p = user;
    expect(p, segment < atomic_load(&p->finished) && piece < PIECES);
    memcpy(p->output + (segment * PIECES + piece) * WORDS,
           p->slot_out[segment % p->c.slots] + piece * WORDS, WORDS * sizeof(uint32_t));
    atomic_fetch_add(&p->drained[segment], 1);
}

static weft_status pretend_submit(void *user, size_t segment) {
    pretended *const p = user;
    expect(p, segment == atomic_load(&p->submitted));
    expect(p, !p->c.fill_pieces || atomic_load(&p->filled[segment]) == PIECES);
    if (segment >= p->c.slots) {
        expect(p, atomic_load(&p->finished) > segment - p->c.slots);
        expect(p, !p->c.drain_pieces || atomic_load(&p->drained[segment - p->c.slots]) == PIECES);
    }
    atomic_fetch_add(&p->submitted, 1);
    return segment == p->fail_submit ? WEFT_EDEVICE : WEFT_OK;
}

static weft_status pretend_arrived(void *user, size_t segment, bool *yes) {
    pretended *const p = user;
    expect(p, segment == atomic_load(&p->arrived) && segment < atomic_load(&p->submitted));
    *yes = test_below(&p->delay, 3) == 0;
    if (*yes) { /* the device has read the slot: later contents must not matter */
        for (size_t k = 0; k < PIECES * WORDS; k++)
            p->slot_out[segment % p->c.slots][k] = p->slot_in[segment % p->c.slots][k] + 1;
        atomic_fetch_add(&p->arrived, 1);
    }
    return segment == p->fail_arrived ? WEFT_ENOMEM : WEFT_OK;
}

static weft_status pretend_finished(void *user, size_t segment, bool *yes) {
    pretended *const p = user;
    expect(p, segment == atomic_load(&p->finished) && segment < atomic_load(&p->arrived));
    *yes = test_below(&p->delay, 3) == 0;
    if (*yes)
        atomic_fetch_add(&p->finished, 1);
    return segment == p->fail_finished ? WEFT_EIO : WEFT_OK;
}

static pretended *pretend(size_t segments, size_t slots, int threads) {
    pretended *const p = calloc(1, sizeof *p);
    char place[16];
    snprintf(place, sizeof place, "cpu:%d", threads);
    p->ctx = test_open(place);
    p->c = (wi_conveyor){.ctx = p->ctx,
                         .segments = segments,
                         .slots = slots,
                         .fill_pieces = PIECES,
                         .drain_pieces = PIECES,
                         .threads = threads,
                         .user = p,
                         .fill = pretend_fill,
                         .drain = pretend_drain,
                         .submit = pretend_submit,
                         .arrived = pretend_arrived,
                         .finished = pretend_finished};
    p->delay = test_random_at(segments);
    p->fail_submit = p->fail_arrived = p->fail_finished = SIZE_MAX;
    for (size_t k = 0; k < MOST_SEGMENTS * PIECES * WORDS; k++)
        p->input[k] = (uint32_t)test_bits(&p->delay);
    return p;
}

static void pretend_no_more(pretended *p) {
    weft_close(p->ctx);
    free(p);
}

static void test_conveyor(void **state) {
    (void)state;
    static const size_t segments[] = {1, 2, 3, 4, 5, 9, MOST_SEGMENTS};
    for (size_t s = 0; s < sizeof segments / sizeof *segments; s++) {
        for (size_t slots = 1; slots <= 4; slots++) {
            for (int threads = 1; threads <= 5; threads += 2) {
                pretended *const p = pretend(segments[s], slots, threads);
                assert_int_equal(wi_conveyor_run(&p->c), WEFT_OK);
                assert_false(atomic_load(&p->broken));
                for (size_t k = 0; k < segments[s] * PIECES * WORDS; k++)
                    assert_int_equal(p->output[k], p->input[k] + 1);
                pretend_no_more(p);
            }
        }
    }
}

/* If no input (or output) needs a pinned buffer, there are no pieces to fill (or drain). */
static void test_conveyor_sides(void **state) {
    (void)state;
    for (int sides = 0; sides < 4; sides++) {
        for (int threads = 1; threads <= 3; threads++) {
            pretended *const p = pretend(20, 4, threads);
            p->c.fill_pieces = sides & 1 ? PIECES : 0;
            p->c.drain_pieces = sides & 2 ? PIECES : 0;
            assert_int_equal(wi_conveyor_run(&p->c), WEFT_OK);
            assert_false(atomic_load(&p->broken));
            assert_int_equal(atomic_load(&p->finished), 20);
            assert_int_equal(atomic_load(&p->filled[19]), sides & 1 ? PIECES : 0);
            assert_int_equal(atomic_load(&p->drained[19]), sides & 2 ? PIECES : 0);
            pretend_no_more(p);
        }
    }
}

static void test_conveyor_failures(void **state) {
    (void)state;
    for (int what = 0; what < 3; what++) {
        for (size_t segment = 0; segment < 12; segment += 3) {
            for (int threads = 1; threads <= 3; threads += 2) {
                pretended *const p = pretend(12, 3, threads);
                size_t *const fails[] = {&p->fail_submit, &p->fail_arrived, &p->fail_finished};
                const weft_status statuses[] = {WEFT_EDEVICE, WEFT_ENOMEM, WEFT_EIO};
                *fails[what] = segment;
                assert_int_equal(wi_conveyor_run(&p->c), statuses[what]);
                assert_false(atomic_load(&p->broken));
                assert_true(atomic_load(&p->submitted) <= segment + p->c.slots + 1);
                pretend_no_more(p);
            }
        }
    }
}

/* ---- staging as a whole, on GPUs ---- */

/* The rungs that take every call; they come first. stage_link_test.c has the other. */
static size_t rungs(void) {
    size_t count = 0;
    while (count < wi_stage_ladder.count && !wi_stage_ladder.rows[count].misfit)
        count++;
    return count;
}

/* z = x + y on matrices; the bits of `where` say which operands are in host memory and which on the
 * device. */
static void check_add(weft_context *ctx, size_t rows, size_t cols, size_t gap, unsigned where,
                      bool in_place) {
    const size_t ld = cols + gap, count = rows * ld, bytes = count * sizeof(float);
    float *const x = malloc(bytes), *const y = malloc(bytes);
    for (size_t k = 0; k < count; k++) {
        x[k] = (float)(k % 1000);
        y[k] = (float)(k % 777) * 1000;
    }
    test_buffer b[3];
    for (int k = 0; k < 3; k++) {
        b[k] = test_buffer_open(ctx, where >> k & 1, bytes);
        test_buffer_load(&b[k], k == 1 ? y : x, bytes, 4 * (size_t)k);
    }
    if (!in_place)
        test_buffer_poison(&b[2], bytes, 4);
    void *const z = in_place ? b[0].p : b[2].p;
    const weft_status status =
        weft_add_matrix(ctx, WEFT_F32, rows, cols, b[0].p, ld, b[1].p, ld, z, ld);
    if (status != WEFT_OK)
        fail_msg("add of %zu x %zu: %s", rows, cols, weft_message(ctx));
    const float *const got = test_buffer_read(in_place ? &b[0] : &b[2], "add");
    uint32_t poison;
    memset(&poison, TEST_POISON, sizeof poison);
    for (size_t k = 0; k < count; k++) {
        uint32_t bits;
        memcpy(&bits, &got[k], sizeof bits);
        const bool is_gap = k % ld >= cols;
        if (is_gap ? (in_place ? got[k] != x[k] : bits != poison) : !(got[k] == x[k] + y[k]))
            fail_msg("%zu x %zu + %zu, %s: wrong at %zu", rows, cols, gap, weft_used(ctx, "stage"),
                     k);
    }
    for (int k = 0; k < 3; k++)
        test_buffer_close(&b[k]);
    free(x);
    free(y);
}

static const struct {
    size_t rows, cols, gap;
} shapes[] = {
    {1, 1, 0}, {1, 1000, 0}, {1, 65537, 0},  {1, 1000003, 0}, {1, 5000000, 0}, {3, 5, 0},
    {3, 5, 2}, {1000, 1, 3}, {777, 1001, 1}, {5, 200000, 7},  {2, 3000000, 5}, {3000000, 2, 1},
};

static void test_whole_path(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    for (size_t row = 0; row < rungs(); row++) {
        const wi_row *const rung = &wi_stage_ladder.rows[row];
        test_use(ctx, "stage", rung);
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            if (!test_size_wanted(shapes[s].rows * shapes[s].cols))
                continue;
            for (unsigned where = 0; where < 7; where++)
                check_add(ctx, shapes[s].rows, shapes[s].cols, shapes[s].gap, where, false);
            check_add(ctx, shapes[s].rows, shapes[s].cols, shapes[s].gap, 0, true);
            test_used(ctx, "stage", rung, "add of host arrays");
        }
    }
    test_use(ctx, "stage", NULL);
}

#ifdef WEFT_CUDA
struct failing {
    size_t bytes; /* of the whole call */
    int calls;
};

/* Fails in the third segment, or at once if there is only one. */
static weft_status fail_third(weft_context *ctx, const void *user, size_t first, size_t rows,
                              size_t cols, void *const p[], const size_t ld[]) {
    (void)first;
    (void)rows;
    (void)p;
    (void)ld;
    struct failing *const f = *(struct failing *const *)user;
    return ++f->calls == 3 || cols == f->bytes ? wi_fail(ctx, WEFT_ENOTSPD, "the third") : WEFT_OK;
}

/* If a kernel cannot be queued, the call returns its status, and the next call works. */
static void test_failure(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    const size_t bytes = test_size_wanted(16 << 20) ? 16 << 20 : 2 << 20; /* eight segments */
    const size_t next = test_size_wanted(3000000) ? 3000000 : 10007;
    char *const x = calloc(1, bytes);
    for (size_t row = 0; row < rungs(); row++) {
        struct failing failing = {bytes, 0}, *const user = &failing;
        const wi_stage_args args = {
            .call = "weft_mock",
            .rows = 1,
            .cols = bytes,
            .operand = {{x, 1, bytes, true, true}},
            .operands = 1,
            .run = fail_third,
            .user = &user,
        };
        test_use(ctx, "stage", &wi_stage_ladder.rows[row]);
        assert_int_equal(wi_stage_run(ctx, &args), WEFT_ENOTSPD);
        assert_string_equal(weft_message(ctx), "the third");
        check_add(ctx, 1, next, 0, 0, false);
    }
    test_use(ctx, "stage", NULL);
    free(x);
}

/* ---- many segments, and work queued before ---- */

enum {
    MANY_BYTES = (3 << 20) + 77 /* for eight segments, twice as many as there are slots */
};

static void fill_bytes(char *p, unsigned salt) {
    for (size_t k = 0; k < MANY_BYTES; k++)
        p[k] = (char)(k * 7 / 5 + (k >> 13) + salt);
}

/* Each slot is used twice, with inputs and outputs pageable or pinned. */
static void test_many_segments(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    char *pinned[2], *pageable[2] = {malloc(MANY_BYTES), malloc(MANY_BYTES)};
    for (int k = 0; k < 2; k++)
        assert_int_equal(cudaHostAlloc((void **)&pinned[k], MANY_BYTES, cudaHostAllocDefault), 0);
    for (size_t k = 0; k < 4 * rungs(); k++) {
        char *const x = k & 1 ? pinned[0] : pageable[0], *const y = k & 2 ? pinned[1] : pageable[1];
        test_use(ctx, "stage", &wi_stage_ladder.rows[k / 4]);
        fill_bytes(x, (unsigned)k);
        memset(y, TEST_POISON, MANY_BYTES);
        assert_int_equal(test_stage_copy(ctx, x, y, MANY_BYTES), WEFT_OK);
        assert_memory_equal(x, y, MANY_BYTES);
    }
    test_use(ctx, "stage", NULL);
    for (int k = 0; k < 2; k++) {
        cudaFreeHost(pinned[k]);
        free(pageable[k]);
    }
}

/* Work queued before may write a call's inputs: here, a copy to pinned memory. */
static void test_queued_before(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    char *x, *const right = malloc(MANY_BYTES), *const y = malloc(MANY_BYTES);
    void *device = NULL;
    fill_bytes(right, 5);
    assert_int_equal(cudaHostAlloc((void **)&x, MANY_BYTES, cudaHostAllocDefault), 0);
    assert_int_equal(weft_alloc(ctx, &device, MANY_BYTES), WEFT_OK);
    assert_int_equal(weft_copy(ctx, device, right, MANY_BYTES), WEFT_OK);
    for (size_t row = 0; row < rungs(); row++) {
        test_use(ctx, "stage", &wi_stage_ladder.rows[row]);
        memset(x, 0, MANY_BYTES);
        memset(y, TEST_POISON, MANY_BYTES);
        assert_int_equal(
            cudaMemcpyAsync(x, device, MANY_BYTES, cudaMemcpyDefault, ctx->gpu->stream), 0);
        assert_int_equal(test_stage_copy(ctx, x, y, MANY_BYTES), WEFT_OK);
        assert_memory_equal(y, right, MANY_BYTES);
    }
    test_use(ctx, "stage", NULL);
    assert_int_equal(weft_free(ctx, device), WEFT_OK);
    cudaFreeHost(x);
    free(right);
    free(y);
}

/* Pinned memory needs no bounce buffer; memory pinned only in part counts as pageable. */
static void test_pinned(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    const size_t n = test_size_wanted(3000000) ? 3000000 : 10240;
    float *pinned, *const half = aligned_alloc(4096, 2 * n * sizeof(float) / 4096 * 4096 + 4096);
    assert_int_equal(cudaHostAlloc((void **)&pinned, n * sizeof(float), cudaHostAllocDefault), 0);
    assert_int_equal(cudaHostRegister(half, n * sizeof(float), cudaHostRegisterDefault), 0);
    assert_int_equal(wi_gpu_memory(ctx, pinned, n * sizeof(float)), WI_MEMORY_PINNED);
    assert_int_equal(wi_gpu_memory(ctx, half, n * sizeof(float)), WI_MEMORY_PINNED);
    assert_int_equal(wi_gpu_memory(ctx, half, 2 * n * sizeof(float)), WI_MEMORY_PAGEABLE);
    for (size_t row = 0; row < rungs(); row++) {
        test_use(ctx, "stage", &wi_stage_ladder.rows[row]);
        for (size_t k = 0; k < n; k++) {
            pinned[k] = (float)(k % 1000);
            half[k] = (float)(k % 77);
        }
        assert_int_equal(weft_add(ctx, WEFT_F32, n, pinned, half, pinned), WEFT_OK);
        assert_int_equal(weft_add(ctx, WEFT_F32, n, half, half, half), WEFT_OK);
        for (size_t k = 0; k < n; k++)
            if (pinned[k] != (float)(k % 1000 + k % 77) || half[k] != (float)(2 * (k % 77)))
                fail_msg("%s: wrong at %zu", wi_stage_ladder.rows[row].name, k);
    }
    test_use(ctx, "stage", NULL);
    cudaHostUnregister(half);
    cudaFreeHost(pinned);
    free(half);
}

#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_segment_sizes),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_rows_copy),
        cmocka_unit_test(test_conveyor),
        cmocka_unit_test(test_conveyor_sides),
        cmocka_unit_test(test_conveyor_failures),
        TEST_ON_EACH_PLACE(test_whole_path),
#ifdef WEFT_CUDA
        TEST_ON_EACH_PLACE(test_failure),
        TEST_ON_EACH_PLACE(test_pinned),
        TEST_ON_EACH_PLACE(test_many_segments),
        TEST_ON_EACH_PLACE(test_queued_before),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
