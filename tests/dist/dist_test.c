/* SPDX-License-Identifier: Apache-2.0 */
/* The calls over ranks, run by mpirun with several numbers of ranks:
 *     mpirun -np 4 dist_test PLACE       all tests on place PLACE, as mpi:cpu
 *     dist_test gpus                     the calls, and what is special, on a place of several GPUs
 *     mpirun -np 4 dist_test PLACE kill sort
 *                                        one rank dies while all sort (or as dist_kill.c has it);
 *                                        --enable-recovery keeps the others alive
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/dist.h"
#include "comm/gpus.h"
#include "core/core.h"
#include "dist.h"

weft_context *dist_ctx, *dist_one;
int dist_rank, dist_ranks;

enum {
    SKIPPED = 77,
    SLOW_MOST = 400
};

size_t dist_draw(test_random *r, size_t bound) {
    return (size_t)test_below(r, bound);
}

/* ---- the library's host memory ---- */

size_t dist_live, dist_peak;
long dist_left = -1;

enum {
    HEAD = 64 /* before a block: its size */
};

static void *take_counted(void *user, size_t alignment, size_t bytes) {
    const size_t head = alignment > HEAD ? alignment : HEAD;
    void *base;
    (void)user;
    if (dist_left >= 0 && dist_left-- == 0)
        return NULL;
    if (posix_memalign(&base, head, head + bytes) != 0)
        return NULL;
    char *const p = (char *)base + head;
    memcpy(p - sizeof bytes, &bytes, sizeof bytes);
    memcpy(p - sizeof bytes - sizeof base, &base, sizeof base);
    const size_t now = __atomic_add_fetch(&dist_live, bytes, __ATOMIC_SEQ_CST);
    size_t most = __atomic_load_n(&dist_peak, __ATOMIC_SEQ_CST);
    while (now > most && !__atomic_compare_exchange_n(&dist_peak, &most, now, false,
                                                      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
    return p;
}

static void give_counted(void *user, void *p) {
    size_t bytes;
    void *base;
    (void)user;
    memcpy(&bytes, (char *)p - sizeof bytes, sizeof bytes);
    memcpy(&base, (char *)p - sizeof bytes - sizeof base, sizeof base);
    __atomic_sub_fetch(&dist_live, bytes, __ATOMIC_SEQ_CST);
    free(base);
}

/* Does a GPU do the work? */
static bool has_gpu(void) {
    return dist_ctx->gpu;
}

/* Other shapes come first with other seeds and numbers of ranks. */
static size_t first_turn(void) {
    return (size_t)(test_seed() % DIST_SHAPES) + (size_t)dist_ranks;
}

/* On place emu every rank takes as long as one alone does: with the usual budget, one or two have
 * every second size of a list, and more of them every third. The seed chooses which, and of the two
 * rounds that a number of workers is in each has another. */
static bool has_turn(size_t k) {
    uint64_t every = 1;
#ifdef WEFT_EMU
    const size_t workers = dist_on_gpus() ? (size_t)wi_gpus_count(dist_ctx) : (size_t)dist_ranks;
    if (has_gpu() && test_times(4) < 4)
        every = workers > 2 ? 3 : 2;
#endif
    return (test_seed() / 2 + k) % every == 0;
}

bool dist_wanted(size_t k, int shape, size_t n) {
    return !has_gpu() ||
           (n <= SLOW_MOST && has_turn(k) && (first_turn() + k) % DIST_SHAPES == (size_t)shape);
}

void dist_for_each(uint64_t stream, const size_t sizes[], size_t count, dist_case *body) {
    test_random r = test_random_at(stream);
    int type = has_gpu() ? (int)dist_draw(&r, WEFT_TYPE_COUNT) : 0;
    for (size_t k = 0; k < count; k++)
        for (int shape = 0; shape < DIST_SHAPES; shape++)
            if (dist_wanted(k, shape, sizes[k]))
                body(&r, (dist_shape)shape, sizes[k], (weft_type)(type++ % WEFT_TYPE_COUNT));
}

static bool is_small(const size_t size[2]) {
    return size[0] <= DIST_SMALL && size[1] <= DIST_SMALL;
}

void dist_for_each_matrix(uint64_t stream, const size_t sizes[][2], size_t count, int rungs,
                          dist_matrix_case *body) {
    test_random r = test_random_at(stream);
    const int shapes = has_gpu() ? rungs : DIST_SHAPES;
    size_t large = 0, begun = first_turn();
    int turn = has_gpu() ? (int)dist_draw(&r, (size_t)rungs) : 0;
    for (size_t k = 0; k < count; k++)
        large += !is_small(sizes[k]);
    const size_t drawn = dist_draw(&r, large);
    large = 0;
    for (size_t k = 0; k < count; k++) {
        const bool one = has_gpu() && !is_small(sizes[k]);
        if (one ? large++ != drawn : !has_turn(k))
            continue;
        for (int each = 0; each < (one ? 1 : shapes); each++)
            body(&r, (dist_shape)((begun + (size_t)each) % DIST_SHAPES), sizes[k], turn++);
        begun++;
    }
}

size_t dist_runs_before(const uint64_t *count, uint64_t wanted, uint64_t *own) {
    uint64_t before, all;
    assert_int_equal(*count, wanted);
    dist_ok(dist_ctx, weft_own_count(dist_ctx, count, own));
    if (dist_on_gpus())
        return 0;
    dist_ok(dist_ctx, wi_all_counts(dist_ctx, *own, &before, &all));
    assert_int_equal(all, wanted);
    return (size_t)before;
}

dist_part dist_deal(test_random *r, dist_shape shape, size_t n) {
    dist_part part = {0};
    size_t begin = 0;
    for (int k = 0; k < dist_ranks; k++) {
        const size_t left = n - begin, even = n / (size_t)dist_ranks;
        size_t own = k == dist_ranks - 1 ? left : even;
        const bool last = k == dist_ranks - 1;
        if (shape == DIST_UNEVEN)
            own = last ? left : dist_draw(r, left / 2 + 2) % (left + 1);
        else if (shape == DIST_SOME_EMPTY)
            own = last ? left : k % 2 ? 0 : dist_draw(r, left + 1);
        else if (shape == DIST_ALL_ON_FIRST)
            own = k == 0 ? n : 0;
        else if (shape == DIST_ALL_ON_LAST)
            own = last ? n : 0;
        if (k == dist_rank)
            part = (dist_part){begin, own};
        begin += own;
    }
    return part;
}

static void *host(size_t bytes) {
    void *const p = malloc(bytes + 1);
    assert_non_null(p);
    return p;
}

void *dist_whole(test_random *r, test_pattern pattern, weft_type type, size_t n) {
    void *const p = host(n * test_size_of(type));
    test_fill(r, pattern, type, n, p);
    return p;
}

/* ---- arrays ---- */

enum {
    GUARD = 64
};

dist_array dist_take(test_random *r, const void *from, size_t bytes) {
    dist_array a = {.bytes = bytes, .device = dist_draw(r, 2) && has_gpu()};
    unsigned char *const fill = host(bytes + GUARD);
    memset(fill, TEST_POISON, bytes + GUARD);
    if (from)
        memcpy(fill, from, bytes);
    if (!a.device) {
        a.p = fill;
        return a;
    }
    dist_ok(dist_ctx, weft_alloc(dist_ctx, &a.p, bytes + GUARD));
    dist_ok(dist_ctx, weft_copy(dist_ctx, a.p, fill, bytes + GUARD));
    free(fill);
    return a;
}

void *dist_fetch(const dist_array *a) {
    unsigned char *const got = host(a->bytes + GUARD);
    dist_ok(dist_ctx, weft_copy(dist_ctx, got, a->p, a->bytes + GUARD));
    return got;
}

void dist_expect(const dist_array *a, const void *wanted, size_t bytes, const char *what) {
    unsigned char *const got = dist_fetch(a);
    if (bytes > 0 && memcmp(got, wanted, bytes) != 0) {
        size_t at = 0;
        while (got[at] == ((const unsigned char *)wanted)[at])
            at++;
        fail_msg("%s: rank %d of %d: byte %zu of %zu differs", what, dist_rank, dist_ranks, at,
                 bytes);
    }
    for (size_t k = a->bytes; k < a->bytes + GUARD; k++) {
        if (got[k] != TEST_POISON)
            fail_msg("%s: rank %d of %d wrote behind its array", what, dist_rank, dist_ranks);
    }
    free(got);
}

void dist_refused_by_one(weft_status status, int culprit, const char *call, const char *word) {
    char rank[32];
    snprintf(rank, sizeof rank, "%d", culprit);
    if (dist_rank == culprit)
        test_refused(dist_ctx, status, WEFT_EARG, call, word);
    else
        test_refused(dist_ctx, status, WEFT_ECOMM, call, rank);
}

void dist_give(dist_array *a) {
    if (a->device)
        dist_ok(dist_ctx, weft_free(dist_ctx, a->p));
    else
        free(a->p);
}

static int run_on_gpus(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dist_test_peers),       cmocka_unit_test(dist_test_peer_failure),
        cmocka_unit_test(dist_test_no_memory),   cmocka_unit_test(dist_test_blocks),
        cmocka_unit_test(dist_test_seams),       cmocka_unit_test(dist_test_map),
        cmocka_unit_test(dist_test_reduce),      cmocka_unit_test(dist_test_scan),
        cmocka_unit_test(dist_test_histogram),   cmocka_unit_test(dist_test_select),
        cmocka_unit_test(dist_test_unique),      cmocka_unit_test(dist_test_sort),
        cmocka_unit_test(dist_test_merge),       cmocka_unit_test(dist_test_search),
        cmocka_unit_test(dist_test_top_k),       cmocka_unit_test(dist_test_first),
        cmocka_unit_test(dist_test_choice),      cmocka_unit_test(dist_test_places),
        cmocka_unit_test(dist_test_lu_factor),   cmocka_unit_test(dist_test_lu_solve),
        cmocka_unit_test(dist_test_cholesky),    cmocka_unit_test(dist_test_solve),
        cmocka_unit_test(dist_test_gemm),        cmocka_unit_test(dist_test_transpose),
        cmocka_unit_test(dist_test_batches),     cmocka_unit_test(dist_test_blend),
        cmocka_unit_test(dist_test_nbody),       cmocka_unit_test(dist_test_nbody_tree),
        cmocka_unit_test(dist_test_elements),    cmocka_unit_test(dist_test_quantile),
        cmocka_unit_test(dist_test_gather),      cmocka_unit_test(dist_test_columns),
        cmocka_unit_test(dist_test_group),       cmocka_unit_test(dist_test_by_key),
        cmocka_unit_test(dist_test_records),     cmocka_unit_test(dist_test_fft),
        cmocka_unit_test(dist_test_solve_exact), cmocka_unit_test(dist_test_fft_ahead),
        cmocka_unit_test(dist_test_solve_spd),   cmocka_unit_test(dist_test_layers),
        cmocka_unit_test(dist_test_convolve),    cmocka_unit_test(dist_test_gemv),
        cmocka_unit_test(dist_test_ger),         cmocka_unit_test(dist_test_syrk),
        cmocka_unit_test(dist_test_trsm),        cmocka_unit_test(dist_test_trmm),
        cmocka_unit_test(dist_test_lu_inverse),  cmocka_unit_test(dist_test_sort_ranges),
    };
    dist_spread("ranks");
    cmocka_set_test_filter(getenv("WEFT_TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}

static int run_over_ranks(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dist_test_comm),          cmocka_unit_test(dist_test_agreement),
        cmocka_unit_test(dist_test_memory),        cmocka_unit_test(dist_test_trace),
        cmocka_unit_test(dist_test_unsupported),   cmocka_unit_test(dist_test_map),
        cmocka_unit_test(dist_test_reduce),        cmocka_unit_test(dist_test_scan),
        cmocka_unit_test(dist_test_histogram),     cmocka_unit_test(dist_test_select),
        cmocka_unit_test(dist_test_unique),        cmocka_unit_test(dist_test_sort),
        cmocka_unit_test(dist_test_merge),         cmocka_unit_test(dist_test_search),
        cmocka_unit_test(dist_test_top_k),         cmocka_unit_test(dist_test_order),
        cmocka_unit_test(dist_test_leaving),       cmocka_unit_test(dist_test_open),
        cmocka_unit_test(dist_test_lu_factor),     cmocka_unit_test(dist_test_lu_solve),
        cmocka_unit_test(dist_test_cholesky),      cmocka_unit_test(dist_test_solve),
        cmocka_unit_test(dist_test_gemm),          cmocka_unit_test(dist_test_transpose),
        cmocka_unit_test(dist_test_batches),       cmocka_unit_test(dist_test_gemm_failure),
        cmocka_unit_test(dist_test_blend),         cmocka_unit_test(dist_test_nbody),
        cmocka_unit_test(dist_test_nbody_tree),    cmocka_unit_test(dist_test_elements),
        cmocka_unit_test(dist_test_quantile),      cmocka_unit_test(dist_test_gather),
        cmocka_unit_test(dist_test_columns),       cmocka_unit_test(dist_test_group),
        cmocka_unit_test(dist_test_by_key),        cmocka_unit_test(dist_test_records),
        cmocka_unit_test(dist_test_fft),           cmocka_unit_test(dist_test_fft_refusals),
        cmocka_unit_test(dist_test_solve_exact),   cmocka_unit_test(dist_test_fft_ahead),
        cmocka_unit_test(dist_test_solve_spd),     cmocka_unit_test(dist_test_report),
        cmocka_unit_test(dist_test_sparse),        cmocka_unit_test(dist_test_sparse_failures),
        cmocka_unit_test(dist_test_sparse_owners), cmocka_unit_test(dist_test_layers),
        cmocka_unit_test(dist_test_convolve),      cmocka_unit_test(dist_test_gemv),
        cmocka_unit_test(dist_test_ger),           cmocka_unit_test(dist_test_syrk),
        cmocka_unit_test(dist_test_trsm),          cmocka_unit_test(dist_test_trmm),
        cmocka_unit_test(dist_test_lu_inverse),    cmocka_unit_test(dist_test_blas_memory),
    };
    cmocka_set_test_filter(getenv("WEFT_TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv) {
    const char *const place = argc > 1 ? argv[1] : "mpi:cpu:1";
    if (argc > 2 && strcmp(argv[2], "kill") == 0)
        return dist_kill(place, argc > 3 ? argv[3] : "sort");
    const weft_allocator counted = {
        .size = sizeof counted, .allocate = take_counted, .release = give_counted};
    weft_status status = weft_set_allocator(&counted);
    if (status == WEFT_OK)
        status = weft_open(&dist_ctx, place);
    if (status == WEFT_EUNSUPPORTED || (status == WEFT_EDEVICE && strncmp(place, "gpu", 3) == 0)) {
        printf("dist_test: skipped: %s\n", weft_message(NULL));
        return SKIPPED;
    }
    if (status != WEFT_OK || weft_open(&dist_one, "cpu:1") != WEFT_OK) {
        printf("dist_test: %s\n", weft_message(NULL));
        return 1;
    }
    dist_rank = weft_rank(dist_ctx);
    dist_ranks = weft_ranks(dist_ctx);
    const int failed = dist_on_gpus() ? run_on_gpus() : run_over_ranks();
    weft_close(dist_ctx);
    weft_close(dist_one);
    return failed;
}
