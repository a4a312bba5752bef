/* SPDX-License-Identifier: Apache-2.0 */
/* weft_open_mpi in a program that uses MPI itself: a place over every second rank. */
#include <mpi.h>

#include "testing.h"

static void test_handed(void **state) {
    int rank, size;
    weft_context *ctx = NULL;
    MPI_Comm half, none = MPI_COMM_NULL;
    (void)state;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    assert_int_equal(weft_open_mpi(&ctx, "mpi:cpu:1", &half), WEFT_OK);
    MPI_Comm_free(&half); /* it has been copied */
    assert_int_equal(weft_rank(ctx), rank / 2);
    assert_int_equal(weft_ranks(ctx), (size + 1 - rank % 2) / 2);
    const int32_t own = rank;
    int64_t sum = -1, wanted = 0;
    for (int r = rank % 2; r < size; r += 2)
        wanted += r;
    assert_int_equal(weft_sum(ctx, 1, &own, &sum), WEFT_OK);
    assert_int_equal(sum, wanted);
    weft_close(ctx);
    assert_int_equal(weft_open_mpi(&ctx, "mpi", &none), WEFT_EARG);
    test_refused(NULL, weft_open_mpi(&ctx, "cpu", &none), WEFT_EARG, "weft_open_mpi", "cpu");
}

int main(void) {
    int threads;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_handed)};
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &threads) != MPI_SUCCESS)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
