/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests over ranks share. All ranks draw the same whole arrays from the same seed, and
 * deal them out in the same way; each passes its part to the call on place mpi, and the whole to
 * the same call on place cpu, whose answer its own part must equal. */
#ifndef WEFT_TEST_DIST_H
#define WEFT_TEST_DIST_H

#include "testing.h"

/* The place over ranks, and a place of this process alone. */
extern weft_context *dist_ctx, *dist_one;
extern int dist_rank, dist_ranks;
extern long
    dist_left; /* that many of the library's allocations succeed, and one fails; < 0: all do */
extern size_t dist_live, dist_peak; /* bytes of host memory that the library has, and had at most */

/* How a whole is dealt out to ranks. */
typedef enum dist_shape {
    DIST_EVEN,
    DIST_UNEVEN,
    DIST_SOME_EMPTY,
    DIST_ALL_ON_FIRST,
    DIST_ALL_ON_LAST,
    DIST_SHAPES
} dist_shape;

/* The part of this rank: where it begins in the whole, and its length. */
typedef struct dist_part {
    size_t first, n;
} dist_part;

dist_part dist_deal(test_random *r, dist_shape shape, size_t n);

/* Is this case, the k-th size in that shape, to be run? On place cpu all of them are; on place emu,
 * which is slow, each small size with one shape: the shapes in turn, from one on that the seed and
 * the number of ranks choose. With the usual budget, three ranks or GPUs and more have every second
 * of these sizes there, and five and more every third, another one with the next seed. */
bool dist_wanted(size_t k, int shape, size_t n);

/* Calls body for every size and shape that is wanted, with the types in turn. */
typedef void dist_case(test_random *r, dist_shape shape, size_t n, weft_type type);
void dist_for_each(uint64_t stream, const size_t sizes[], size_t count, dist_case *body);

/* The same for sizes of matrices, of which `rungs` rungs take turns. On place emu each small size
 * whose turn it is goes once to each rung, so that five of them take every rung through every
 * shape, and of the larger sizes one case is drawn. A test of a matrix larger than DIST_SMALL may
 * do less there. */
enum {
    DIST_SMALL = 40
};
typedef void dist_matrix_case(test_random *r, dist_shape shape, const size_t size[2], int turn);
void dist_for_each_matrix(uint64_t stream, const size_t sizes[][2], size_t count, int rungs,
                          dist_matrix_case *body);

/* Checks the total of the runs of all ranks, and fetches how many this one has: *own. Returns how
 * many the ranks before have. */
size_t dist_runs_before(const uint64_t *count, uint64_t wanted, uint64_t *own);

/* A number from 0 to bound - 1 that all ranks draw alike. */
size_t dist_draw(test_random *r, size_t bound);

/* A whole array of n elements. */
void *dist_whole(test_random *r, test_pattern pattern, weft_type type, size_t n);

/* Memory of `bytes` bytes that begins with those at `from`, unless NULL: host memory or, on a GPU
 * place for about every second array, device memory. */
typedef struct dist_array {
    void *p;
    size_t bytes;
    bool device;
} dist_array;

dist_array dist_take(test_random *r, const void *from, size_t bytes);
/* Fails the test if the array does not begin with these `bytes` bytes, or if what follows them has
 * been written to. */
void dist_expect(const dist_array *a, const void *wanted, size_t bytes, const char *what);
/* Copies the array to new host memory. */
void *dist_fetch(const dist_array *a);
void dist_give(dist_array *a);

/* A call for which rank `culprit` alone has passed something wrong: its message names `word`, and
 * that of the others the rank. */
void dist_refused_by_one(weft_status status, int culprit, const char *call, const char *word);

#define dist_ok(ctx, call)                                                                         \
    do {                                                                                           \
        const weft_status status_ = (call);                                                        \
        if (status_ != WEFT_OK)                                                                    \
            fail_msg("%s: %s", weft_status_name(status_), weft_message(ctx));                      \
    } while (0)

/* The tests of a file, in dist_test.c's order. */
void dist_test_comm(void **state);
void dist_test_agreement(void **state);
void dist_test_open(void **state);
void dist_test_memory(void **state);
void dist_test_trace(void **state);
void dist_test_unsupported(void **state);
void dist_test_elements(void **state);
void dist_test_map(void **state);
void dist_test_reduce(void **state);
void dist_test_scan(void **state);
void dist_test_histogram(void **state);
void dist_test_gemm(void **state);
void dist_test_transpose(void **state);
void dist_test_batches(void **state);
void dist_test_gemm_failure(void **state);
void dist_test_gemv(void **state);
void dist_test_ger(void **state);
void dist_test_syrk(void **state);
void dist_test_blas_memory(void **state);
void dist_test_trsm(void **state);
void dist_test_trmm(void **state);
void dist_test_lu_inverse(void **state);
void dist_test_fft(void **state);
void dist_test_fft_refusals(void **state);
void dist_test_fft_ahead(void **state);
void dist_test_blend(void **state);
void dist_test_layers(void **state);
void dist_test_convolve(void **state);
void dist_test_nbody(void **state);
void dist_test_nbody_tree(void **state);
void dist_test_select(void **state);
void dist_test_unique(void **state);
void dist_test_sort(void **state);
void dist_test_sort_ranges(void **state);
void dist_test_merge(void **state);
void dist_test_search(void **state);
void dist_test_top_k(void **state);
void dist_test_lu_factor(void **state);
void dist_test_lu_solve(void **state);
void dist_test_cholesky(void **state);
void dist_test_solve_spd(void **state);
void dist_test_report(void **state);
void dist_test_sparse(void **state);
void dist_test_sparse_owners(void **state);
void dist_test_sparse_failures(void **state);
void dist_test_quantile(void **state);
void dist_test_gather(void **state);
void dist_test_columns(void **state);
void dist_test_group(void **state);
void dist_test_by_key(void **state);
void dist_test_records(void **state);
void dist_test_order(void **state);
void dist_test_leaving(void **state);

/* The tests of places of several GPUs. */
void dist_test_peers(void **state);
void dist_test_peer_failure(void **state);
void dist_test_no_memory(void **state);
void dist_test_blocks(void **state);
void dist_test_seams(void **state);
void dist_test_first(void **state);
void dist_test_choice(void **state);
void dist_test_places(void **state);
void dist_test_solve(void **state);
void dist_test_solve_exact(void **state);

/* Is dist_ctx such a place? Then there is one rank, which passes whole arrays. */
bool dist_on_gpus(void);
/* Chooses the variant of every operation that can go to all GPUs. */
void dist_spread(const char *variant);

/* Instead of the tests: one rank dies in the middle of an operation, "sort" and so on. */
int dist_kill(const char *place, const char *op);

#endif
