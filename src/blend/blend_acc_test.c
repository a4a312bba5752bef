/* SPDX-License-Identifier: Apache-2.0 */
/* A tour of OpenACC beyond blend.c: each directive with a result that is checked, on a GPU if the
 * compiler has a back end for it, else on the host. */
#include "testing.h"

#ifdef _OPENACC
#    include <openacc.h>
#    include <stdlib.h>

enum {
    N = 1000,
    ROWS = 37,
    COLS = 53
};

/* Opens the place whose memory OpenACC's device can access. Where loops run on a GPU, a library
 * without CUDA has none. */
static weft_context *open_place(void) {
    const bool on_gpu = acc_get_num_devices(acc_device_nvidia) > 0;
    weft_context *ctx = NULL;
    const weft_status status = weft_open(&ctx, on_gpu ? "gpu" : "cpu:2");
    if (on_gpu && status == WEFT_EUNSUPPORTED)
        skip();
    assert_int_equal(status, WEFT_OK);
    return ctx;
}

static float *numbers(size_t n) {
    float *const x = malloc(n * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)i;
    return x;
}

/* Three levels of parallelism: gangs are the blocks of a GPU, workers its warps, vectors their
 * lanes. On a host each has one member. */
static void levels(void **state) {
    int sum[ROWS] = {0};
    (void)state;
#    pragma acc parallel num_gangs(8) num_workers(4) vector_length(32) copy(sum)
    {
#    pragma acc loop gang
        for (int r = 0; r < ROWS; r++) {
            int of_row = 0;
#    pragma acc loop worker vector reduction(+ : of_row)
            for (int c = 0; c < COLS; c++)
                of_row += r * c;
            sum[r] = of_row;
        }
    }
    for (int r = 0; r < ROWS; r++)
        assert_int_equal(sum[r], r * (COLS * (COLS - 1) / 2));
}

/* Two loops become one, or are cut into tiles. */
static void collapsed_and_tiled(void **state) {
    int a[ROWS][COLS], b[ROWS][COLS];
    (void)state;
#    pragma acc parallel loop collapse(2) copyout(a)
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLS; c++)
            a[r][c] = r * COLS + c;
#    pragma acc parallel loop tile(8, 8) copyin(a) copyout(b)
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLS; c++)
            b[r][c] = 2 * a[r][c];
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLS; c++)
            assert_int_equal(b[r][c], 2 * (r * COLS + c));
}

/* In `kernels` the compiler decides which loops are parallel; in `parallel` the programmer does. */
static void kernels_and_parallel(void **state) {
    float *const x = numbers(N), y[N], z[N];
    (void)state;
#    pragma acc kernels copyin(x [0:N]) copyout(y)
    for (int i = 0; i < N; i++)
        y[i] = x[i] + 1;
#    pragma acc parallel loop copyin(x [0:N]) copyout(z)
    for (int i = 0; i < N; i++)
        z[i] = x[i] + 1;
    assert_memory_equal(y, z, sizeof y);
    free(x);
}

/* Each gang has its own copy of what is private; a reduction joins the copies. */
static void private_and_reduction(void **state) {
    int squares[N], scratch, most = -1;
    long total = 0;
    (void)state;
#    pragma acc parallel loop private(scratch) reduction(+ : total) reduction(max : most)          \
        copyout(squares)
    for (int i = 0; i < N; i++) {
        scratch = i * i;
        squares[i] = scratch;
        total += scratch;
        most = scratch > most ? scratch : most;
    }
    assert_int_equal(total, (long)(N - 1) * N * (2 * N - 1) / 6);
    assert_int_equal(most, (N - 1) * (N - 1));
    assert_int_equal(squares[17], 289);
}

/* Data stays on the device from one region to the next; `update` copies in between. On a host
 * device both are one memory, so only what the program says it copied is compared. */
static void data_regions(void **state) {
    float *const x = numbers(N);
    (void)state;
#    pragma acc enter data copyin(x [0:N])
#    pragma acc parallel loop present(x [0:N])
    for (int i = 0; i < N; i++)
        x[i] += 1;
#    pragma acc update self(x [0:N / 2])
    assert_true(x[0] == 1 && x[N / 2 - 1] == N / 2);
    x[3] = 50;
#    pragma acc update device(x [3:1])
#    pragma acc data present(x [0:N])
    {
#    pragma acc parallel loop
        for (int i = 0; i < N; i++)
            x[i] *= 2;
    }
#    pragma acc exit data copyout(x [0:N])
    assert_true(x[3] == 100 && x[N - 1] == 2 * N);
    free(x);
}

/* Memory from weft_alloc in an OpenACC loop, and an OpenACC array in a call of weft. */
static void joined_with_weft(void **state) {
    weft_context *const ctx = open_place();
    float *const x = numbers(N), *there = NULL, y[N], sum = 0;
    (void)state;
    assert_int_equal(weft_alloc(ctx, (void **)&there, N * sizeof *there), WEFT_OK);
    assert_int_equal(weft_sync(ctx), WEFT_OK);
#    pragma acc parallel loop deviceptr(there)
    for (int i = 0; i < N; i++)
        there[i] = (float)(3 * i);
    assert_int_equal(weft_copy(ctx, y, there, sizeof y), WEFT_OK);
    assert_true(y[N - 1] == 3 * (N - 1));
#    pragma acc data copyin(x [0:N])
    {
#    pragma acc host_data use_device(x)
        assert_int_equal(weft_reduce(ctx, WEFT_SUM, WEFT_F32, N, x, &sum), WEFT_OK);
    }
    assert_true(sum == N * (N - 1) / 2);
    assert_int_equal(weft_free(ctx, there), WEFT_OK);
    weft_close(ctx);
    free(x);
}

/* Work on two queues, a third that waits for both; on a GPU a queue is a stream, which weft joins.
 */
static void queues(void **state) {
    weft_context *const ctx = open_place();
    float *const x = numbers(N), *const y = numbers(N), sum = 0;
    (void)state;
#    pragma acc data copyin(x [0:N], y [0:N])
    {
#    pragma acc parallel loop present(x [0:N]) async(1)
        for (int i = 0; i < N; i++)
            x[i] += 1;
#    pragma acc parallel loop present(y [0:N]) async(2)
        for (int i = 0; i < N; i++)
            y[i] *= 2;
#    pragma acc parallel loop present(x [0:N], y [0:N]) wait(1, 2) async(3)
        for (int i = 0; i < N; i++)
            x[i] += y[i];
        if (acc_get_num_devices(acc_device_nvidia) > 0)
            assert_int_equal(weft_set_stream(ctx, acc_get_cuda_stream(3)), WEFT_OK);
        else
            acc_wait(3);
#    pragma acc host_data use_device(x)
        assert_int_equal(weft_reduce(ctx, WEFT_SUM, WEFT_F32, N, x, &sum), WEFT_OK);
        assert_int_equal(weft_sync(ctx), WEFT_OK);
    }
    assert_true(sum == N + 3 * (N * (N - 1) / 2));
    weft_close(ctx);
    free(x);
    free(y);
}

#    pragma acc routine seq
static int twice_plus_one(int i) {
    return 2 * i + 1;
}

/* A function that loops on the device call. */
static void routines(void **state) {
    int odd[N];
    (void)state;
#    pragma acc parallel loop copyout(odd)
    for (int i = 0; i < N; i++)
        odd[i] = twice_plus_one(i);
    for (int i = 0; i < N; i++)
        assert_int_equal(odd[i], 2 * i + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels),
        cmocka_unit_test(collapsed_and_tiled),
        cmocka_unit_test(kernels_and_parallel),
        cmocka_unit_test(private_and_reduction),
        cmocka_unit_test(data_regions),
        cmocka_unit_test(joined_with_weft),
        cmocka_unit_test(queues),
        cmocka_unit_test(routines),
    };
    return cmocka_run_group_tests_name("openacc", tests, NULL, NULL);
}
#else
int main(void) {
    print_message("without OpenACC: nothing to test\n");
    return 0;
}
#endif
