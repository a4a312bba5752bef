/* SPDX-License-Identifier: Apache-2.0 */
/* The table of functions between ranks, in whole messages and in many small ones. */
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"
#include "core/gpu.h"
#include "dist.h"

enum {
    MOST_RANKS = 16,
    N = 23
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

static void test_collectives(const wi_comm_table *calls) {
    uint32_t x[N * MOST_RANKS], y[N * MOST_RANKS];
    double d[3] = {1.5, 2, dist_rank}, e[3];
    dist_ok(dist_ctx, calls->barrier(dist_ctx));
    for (int root = 0; root < dist_ranks; root++) {
        fill(x, dist_rank, N);
        dist_ok(dist_ctx, calls->broadcast(dist_ctx, x, N, WEFT_U32, root));
        for (size_t i = 0; i < N; i++)
            assert_int_equal(x[i], value(root, i));
        fill(x, dist_rank, N);
        dist_ok(dist_ctx, calls->reduce(dist_ctx, x, y, N, WEFT_U32, WEFT_MAX, root));
        for (size_t i = 0; i < N && dist_rank == root; i++)
            assert_int_equal(y[i], value(dist_ranks - 1, i));
    }
    dist_ok(dist_ctx, calls->all_reduce(dist_ctx, x, y, N, WEFT_U32, WEFT_SUM));
    for (size_t i = 0; i < N; i++)
        assert_int_equal(y[i], sum_to(dist_ranks, i));
    memset(y, 0, sizeof y);
    dist_ok(dist_ctx, calls->exscan(dist_ctx, x, y, N, WEFT_U32, WEFT_SUM));
    for (size_t i = 0; i < N; i++)
        assert_int_equal(y[i], sum_to(dist_rank, i));
    dist_ok(dist_ctx, calls->all_gather(dist_ctx, x, y, N, WEFT_U32));
    for (size_t i = 0; i < N * (size_t)dist_ranks; i++)
        assert_int_equal(y[i], value((int)(i / N), i % N));
    fill(x, dist_rank, N * (size_t)dist_ranks);
    dist_ok(dist_ctx, calls->reduce_scatter(dist_ctx, x, y, N, WEFT_U32, WEFT_SUM));
    for (size_t i = 0; i < N; i++)
        assert_int_equal(y[i], sum_to(dist_ranks, (size_t)dist_rank * N + i));
    dist_ok(dist_ctx, calls->all_reduce(dist_ctx, d, e, 3, WEFT_F64, WEFT_SUM));
    assert_true(e[0] == 1.5 * dist_ranks && e[2] == dist_ranks * (dist_ranks - 1) / 2.0);
    if (dist_ranks > 1)
        test_refused(dist_ctx, calls->all_reduce(dist_ctx, d, e, 3, WEFT_F64, WEFT_MIN),
                     WEFT_EUNSUPPORTED, "weft_open", "f64");
}

/* Rank r sends (r + 2 k) mod 5 elements to rank k. */
static size_t sent_to(int from, int to) {
    return (size_t)(from + 2 * to) % 5;
}

static void test_exchange(const wi_comm_table *calls) {
    uint16_t x[5 * MOST_RANKS], y[5 * MOST_RANKS];
    size_t sent[MOST_RANKS], got[MOST_RANKS], at = 0;
    for (int r = 0; r < dist_ranks; r++) {
        sent[r] = sent_to(dist_rank, r);
        got[r] = sent_to(r, dist_rank);
        for (size_t i = 0; i < sent[r]; i++)
            x[at++] = (uint16_t)(1000 * dist_rank + 10 * r + (int)i);
    }
    dist_ok(dist_ctx, calls->all_to_all_v(dist_ctx, x, sent, y, got, WEFT_BF16));
    at = 0;
    for (int r = 0; r < dist_ranks; r++)
        for (size_t i = 0; i < got[r]; i++)
            assert_int_equal(y[at++], 1000 * r + 10 * dist_rank + (int)i);
    for (int r = 0; r < dist_ranks; r++)
        got[r] = sent_to(r, 1);
    dist_ok(dist_ctx, calls->all_gather_v(dist_ctx, x, y, got, WEFT_U16));
    at = 0;
    for (int r = 0; r < dist_ranks; r++)
        at += got[r];
    assert_true(at == 0 || got[dist_rank] == 0 || y[0] == y[0]);
    at = 0;
    for (int r = 0; r < dist_rank; r++)
        at += got[r];
    assert_memory_equal(y + at, x, got[dist_rank] * sizeof *x);
}

static void test_messages(const wi_comm_table *calls) {
    uint32_t x[N], y[N];
    const int next = (dist_rank + 1) % dist_ranks, last = (dist_rank + dist_ranks - 1) % dist_ranks;
    fill(x, dist_rank, N);
    if (dist_ranks == 1)
        return;
    if (dist_rank % 2 == 0) {
        dist_ok(dist_ctx, calls->send(dist_ctx, x, N, WEFT_U32, next));
        dist_ok(dist_ctx, calls->recv(dist_ctx, y, N, WEFT_U32, last));
    } else {
        dist_ok(dist_ctx, calls->recv(dist_ctx, y, N, WEFT_U32, last));
        dist_ok(dist_ctx, calls->send(dist_ctx, x, N, WEFT_U32, next));
    }
    for (size_t i = 0; i < N; i++)
        assert_int_equal(y[i], value(last, i));
}

void dist_test_comm(void **state) {
    (void)state;
    wi_comm *const comm = dist_ctx->comm;
    const size_t piece = comm->piece, pieces[] = {piece, 1, 7};
    assert_true(dist_ranks <= MOST_RANKS);
    assert_string_equal(comm->calls->name, dist_ranks > 1 ? "mpi" : "self");
    assert_true(strlen(weft_comm(dist_ctx)) > 0);
    const bool shared = dist_ctx->gpu && dist_ranks > 1 && dist_ranks > wi_gpu_visible();
    assert_int_equal(strstr(weft_comm(dist_ctx), "share its GPUs") != NULL, shared);
    assert_string_equal(weft_comm(dist_one), "");
    assert_int_equal(weft_ranks(dist_one), 1);
    for (size_t k = 0; k < 3; k++) {
        comm->piece = pieces[k];
        test_collectives(comm->calls);
        test_exchange(comm->calls);
        test_messages(comm->calls);
    }
    comm->piece = piece;
}
