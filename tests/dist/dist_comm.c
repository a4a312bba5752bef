/* SPDX-License-Identifier: Apache-2.0 */
/* The table of functions between ranks, in whole messages and in many small ones. */
#include <stdlib.h>
#include <string.h>

#include "comm/dist.h"
#include "core/gpu.h"
#include "dist.h"

enum {
    MOST_RANKS = 16,
    N = 23,
#ifdef WEFT_EMU
    EMULATED = 1
#else
    EMULATED = 0
#endif
};

/* What rank r contributes as element i. */
static uint32_t value(int r, size_t i) {
    return (uint32_t)(100 * r + 7 * (int)i + 1);
}

static void fill(uint32_t *x, int r, size_t n) {
    for (size_t i = 0; i < n; i++)
        x[i] = value(r, i);
}

static uint32_t sum_to(int ranks, size_t i) {
    uint32_t sum = 0;
    for (int r = 0; r < ranks; r++)
        sum += value(r, i);
    return sum;
}

/* An array of a step, in host memory, or with a copy in memory of the rank's GPU. */
typedef struct array {
    unsigned char host[8 * N * MOST_RANKS];
    void *device; /* NULL: none */
} array;

/* What the step gets. */
static void *given(array *a) {
    if (!a->device)
        return a->host;
    dist_ok(dist_ctx, weft_copy(dist_ctx, a->device, a->host, sizeof a->host));
    return a->device;
}

/* What it has left. */
static const void *left(array *a) {
    if (a->device)
        dist_ok(dist_ctx, weft_copy(dist_ctx, a->host, a->device, sizeof a->host));
    return a->host;
}

/* The arrays of a test: read, and written. */
static array x, y;

static void expect_u32(size_t i, uint32_t wanted) {
    assert_int_equal(((const uint32_t *)(const void *)y.host)[i], wanted);
}

static void fill_x(size_t n) {
    fill((uint32_t *)(void *)x.host, dist_rank, n);
}

static void test_broadcasts(const wi_comm_table *calls) {
    for (int root = 0; root < dist_ranks; root++) {
        fill((uint32_t *)(void *)y.host, dist_rank, N);
        dist_ok(dist_ctx, calls->broadcast(dist_ctx, given(&y), N, WEFT_U32, root));
        left(&y);
        for (size_t i = 0; i < N; i++)
            expect_u32(i, value(root, i));
        fill_x(N);
        dist_ok(dist_ctx,
                calls->reduce(dist_ctx, given(&x), given(&y), N, WEFT_U32, WEFT_MAX, root));
        left(&y);
        for (size_t i = 0; i < N && dist_rank == root; i++)
            expect_u32(i, value(dist_ranks - 1, i));
    }
}

static void test_sums(const wi_comm_table *calls) {
    double *const d = (double *)(void *)x.host, *const e = (double *)(void *)y.host;
    fill_x(N);
    dist_ok(dist_ctx, calls->all_reduce(dist_ctx, given(&x), given(&y), N, WEFT_U32, WEFT_SUM));
    left(&y);
    for (size_t i = 0; i < N; i++)
        expect_u32(i, sum_to(dist_ranks, i));
    memset(y.host, 0, sizeof y.host);
    dist_ok(dist_ctx, calls->exscan(dist_ctx, given(&x), given(&y), N, WEFT_U32, WEFT_SUM));
    left(&y);
    for (size_t i = 0; i < N; i++)
        expect_u32(i, sum_to(dist_rank, i));
    fill_x(N * (size_t)dist_ranks);
    dist_ok(dist_ctx, calls->reduce_scatter(dist_ctx, given(&x), given(&y), N, WEFT_U32, WEFT_SUM));
    left(&y);
    for (size_t i = 0; i < N; i++)
        expect_u32(i, sum_to(dist_ranks, (size_t)dist_rank * N + i));
    d[0] = 1.5;
    d[1] = 2;
    d[2] = dist_rank;
    dist_ok(dist_ctx, calls->all_reduce(dist_ctx, given(&x), given(&y), 3, WEFT_F64, WEFT_SUM));
    left(&y);
    assert_true(e[0] == 1.5 * dist_ranks && e[2] == dist_ranks * (dist_ranks - 1) / 2.0);
}

static void test_collectives(const wi_comm_table *calls) {
    double d[3] = {1.5, 2, dist_rank}, e[3];
    dist_ok(dist_ctx, calls->barrier(dist_ctx));
    test_broadcasts(calls);
    test_sums(calls);
    fill_x(N);
    dist_ok(dist_ctx, calls->all_gather(dist_ctx, given(&x), given(&y), N, WEFT_U32));
    left(&y);
    for (size_t i = 0; i < N * (size_t)dist_ranks; i++)
        expect_u32(i, value((int)(i / N), i % N));
    if (dist_ranks > 1)
        test_refused(dist_ctx, calls->all_reduce(dist_ctx, d, e, 3, WEFT_F64, WEFT_MIN),
                     WEFT_EUNSUPPORTED, "weft_open", "f64");
}

/* Rank r sends (r + 2 k) mod 5 elements to rank k. */
static size_t sent_to(int from, int to) {
    return (size_t)(from + 2 * to) % 5;
}

static void test_exchange(const wi_comm_table *calls) {
    uint16_t *const from = (uint16_t *)(void *)x.host, *const to = (uint16_t *)(void *)y.host;
    size_t sent[MOST_RANKS], got[MOST_RANKS], at = 0;
    for (int r = 0; r < dist_ranks; r++) {
        sent[r] = sent_to(dist_rank, r);
        got[r] = sent_to(r, dist_rank);
        for (size_t i = 0; i < sent[r]; i++)
            from[at++] = (uint16_t)(1000 * dist_rank + 10 * r + (int)i);
    }
    dist_ok(dist_ctx, calls->all_to_all_v(dist_ctx, given(&x), sent, given(&y), got, WEFT_BF16));
    left(&y);
    at = 0;
    for (int r = 0; r < dist_ranks; r++)
        for (size_t i = 0; i < got[r]; i++)
            assert_int_equal(to[at++], 1000 * r + 10 * dist_rank + (int)i);
}

/* Rank r has (r + 2) mod 5 elements. */
static void test_gather_uneven(const wi_comm_table *calls) {
    uint16_t *const from = (uint16_t *)(void *)x.host, *const to = (uint16_t *)(void *)y.host;
    size_t got[MOST_RANKS], at = 0;
    for (int r = 0; r < dist_ranks; r++)
        got[r] = sent_to(r, 1);
    for (size_t i = 0; i < got[dist_rank]; i++)
        from[i] = (uint16_t)(1000 * dist_rank + (int)i);
    dist_ok(dist_ctx, calls->all_gather_v(dist_ctx, given(&x), given(&y), got, WEFT_U16));
    left(&y);
    for (int r = 0; r < dist_ranks; r++)
        for (size_t i = 0; i < got[r]; i++)
            assert_int_equal(to[at++], 1000 * r + (int)i);
}

static void test_messages(const wi_comm_table *calls) {
    const int next = (dist_rank + 1) % dist_ranks, last = (dist_rank + dist_ranks - 1) % dist_ranks;
    fill_x(N);
    if (dist_ranks == 1)
        return;
    if (dist_rank % 2 == 0) {
        dist_ok(dist_ctx, calls->send(dist_ctx, given(&x), N, WEFT_U32, next));
        dist_ok(dist_ctx, calls->recv(dist_ctx, given(&y), N, WEFT_U32, last));
    } else {
        dist_ok(dist_ctx, calls->recv(dist_ctx, given(&y), N, WEFT_U32, last));
        dist_ok(dist_ctx, calls->send(dist_ctx, given(&x), N, WEFT_U32, next));
    }
    left(&y);
    for (size_t i = 0; i < N; i++)
        expect_u32(i, value(last, i));
}

/* As many words as there is room for come from all ranks; one more is refused before any is sent.
 */
static void test_words(void) {
    uint64_t own[WI_COMM_WORDS + 1];
    const uint64_t *all;
    for (size_t i = 0; i <= WI_COMM_WORDS; i++)
        own[i] = value(dist_rank, i);
    dist_ok(dist_ctx, wi_all_words(dist_ctx, own, WI_COMM_WORDS, &all));
    for (int r = 0; r < dist_ranks; r++)
        for (size_t i = 0; i < WI_COMM_WORDS; i++)
            assert_int_equal(all[(size_t)r * WI_COMM_WORDS + i], value(r, i));
    test_refused(dist_ctx, wi_all_words(dist_ctx, own, WI_COMM_WORDS + 1, &all), WEFT_EARG,
                 "wi_all_words", "9 words of each rank, and there is room for 8");
}

static void place_array(array *a, bool device) {
    a->device = NULL;
    if (device)
        dist_ok(dist_ctx, weft_alloc(dist_ctx, &a->device, sizeof a->host));
}

static void test_all(const wi_comm_table *calls, bool x_device, bool y_device) {
    place_array(&x, x_device);
    place_array(&y, y_device);
    test_collectives(calls);
    test_exchange(calls);
    test_gather_uneven(calls);
    test_messages(calls);
    if (x.device)
        dist_ok(dist_ctx, weft_free(dist_ctx, x.device));
    if (y.device)
        dist_ok(dist_ctx, weft_free(dist_ctx, y.device));
}

void dist_test_comm(void **state) {
    (void)state;
    wi_comm *const comm = dist_ctx->comm;
    const size_t piece = comm->piece, pieces[] = {piece, 1, 7};
    const bool direct = comm->takes_device;
    test_words();
    assert_true(dist_ranks <= MOST_RANKS);
    assert_string_equal(comm->calls->name, dist_ranks > 1 ? "mpi" : "self");
    assert_true(strlen(weft_comm(dist_ctx)) > 0);
    const bool shared = dist_ctx->gpu && dist_ranks > 1 && dist_ranks > wi_gpu_visible();
    assert_int_equal(strstr(weft_comm(dist_ctx), "share its GPUs") != NULL, shared);
    assert_string_equal(weft_comm(dist_one), "");
    assert_int_equal(weft_ranks(dist_one), 1);
    for (size_t k = 0; k < 6; k++) {
        comm->piece = pieces[k % 3];
        /* emulated memory is host memory, which MPI takes anyway */
        comm->takes_device = comm->calls->device && EMULATED && k % 2 == 0;
        test_all(comm->calls, false, false);
        if (comm->calls->device) {
            test_all(comm->calls, true, true);
            test_all(comm->calls, dist_rank % 2, dist_rank % 3); /* ranks differ */
        }
    }
    comm->piece = piece;
    comm->takes_device = direct;
}
