/* SPDX-License-Identifier: Apache-2.0 */
/* Lesson 9: one array on all GPUs of a machine, or over the processes of mpirun.
 *     lesson09_gpus [PLACE [N]]        as gpus, gpu, cpu
 *     mpirun -np 4 lesson09_gpus mpi */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>

static weft_context *ctx;

static void check(weft_status status) {
    if (status == WEFT_OK)
        return;
    fprintf(stderr, "%s\n", weft_message(ctx));
    exit(1);
}

int main(int argc, char **argv) {
    const size_t whole = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000000;
    const uint32_t low = 1, high = 6;
    uint32_t *d_x, smallest;
    uint64_t sum, sixes;
    check(weft_open(&ctx, argc > 1 ? argv[1] : NULL));
    /* Without mpirun there is one rank, and its part is the whole. */
    const size_t rank = (size_t)weft_rank(ctx), ranks = (size_t)weft_ranks(ctx);
    const size_t n = whole * (rank + 1) / ranks - whole * rank / ranks;

    /* On gpus one range of addresses, whose blocks the GPUs hold. */
    check(weft_alloc(ctx, (void **)&d_x, n * sizeof *d_x));
    check(weft_random_integers(ctx, WEFT_U32, n, &low, &high, 7, 0, d_x)); /* throws of a die */
    check(weft_sum(ctx, n, d_x, &sum));
    check(weft_select_count(ctx, (weft_predicate){WEFT_EQ, WEFT_U32, .a.u32 = 6}, n, d_x, &sixes));
    check(weft_sort_ascending(ctx, n, d_x, d_x));
    check(weft_copy(ctx, &smallest, d_x, sizeof smallest));
    if (rank == 0)
        printf("on %s: %zu throws, sum %" PRIu64 ", %" PRIu64
               " sixes; sorted, the first is %" PRIu32 "\n",
               weft_place(ctx), whole, sum, sixes, smallest);
    check(weft_free(ctx, d_x));
    weft_close(ctx);
    return 0;
}
