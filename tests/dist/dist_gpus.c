/* SPDX-License-Identifier: Apache-2.0 */
/* Places of several GPUs: what is theirs alone. */
#include <stdlib.h>
#include <string.h>

#include "comm/gpus.h"
#include "core/gpu.h"
#include "dist.h"
#ifdef WEFT_EMU
#    include "emu_faults.h"
#endif

bool dist_on_gpus(void) {
    return wi_is_gpus(dist_ctx);
}

static const char *const spread_ops[] = {"exact",
                                         "exact_scan",
                                         "map",
                                         "expr",
                                         "random",
                                         "reduce",
                                         "summary",
                                         "scan",
                                         "select",
                                         "histogram",
                                         "sort",
                                         "merge",
                                         "search",
                                         "is_sorted",
                                         "top_k",
                                         "lu",
                                         "cholesky",
                                         "gemm",
                                         "blend",
                                         "nbody",
                                         "quantile",
                                         "gather",
                                         "scatter",
                                         "columns",
                                         "group",
                                         "group_keys",
                                         "group_scan",
                                         "record_runs",
                                         "search_records",
                                         "sort_records",
                                         "fft",
                                         "exact_segments",
                                         "expr_reduce",
                                         "sort_segments",
                                         "transpose",
                                         "gemm_batch",
                                         "solve_batch",
                                         "conv",
                                         "layers",
                                         "convolve",
                                         "gemv",
                                         "ger",
                                         "syrk",
                                         "trsm",
                                         "trmm"};

/* Makes every call that can go to all GPUs, or none if `variant` is "auto" and it is small. */
void dist_spread(const char *variant) {
    for (size_t k = 0; k < sizeof spread_ops / sizeof *spread_ops; k++)
        dist_ok(dist_ctx, weft_use(dist_ctx, spread_ops[k], variant));
}

/* ---- communication between the GPUs' threads ---- */

enum {
    N = 37,
    MOST = WI_MOST_GPUS
};

static uint32_t value(int r, size_t i) {
    return (uint32_t)(1000 * r + 7 * (int)i + 1);
}

static uint32_t sum_to(int ranks, size_t i) {
    uint32_t sum = 0;
    for (int r = 0; r < ranks; r++)
        sum += value(r, i);
    return sum;
}

/* Buffers of one rank, in host or device memory. */
typedef struct buffers {
    uint32_t *x, *y;
    bool device;
} buffers;

static weft_status give_x(weft_context *rank, buffers *b, size_t n) {
    uint32_t x[N * MOST];
    for (size_t i = 0; i < n; i++)
        x[i] = value(rank->comm->rank, i);
    return wi_local(rank, weft_copy(rank->child, b->x, x, n * sizeof *x));
}

/* Fails unless y[i] is wanted(i, first). */
static weft_status expect(weft_context *rank, const buffers *b, size_t n, const char *what,
                          uint32_t (*wanted)(const weft_context *rank, size_t i)) {
    uint32_t y[N * MOST];
    const weft_status status = wi_local(rank, weft_copy(rank->child, y, b->y, n * sizeof *y));
    for (size_t i = 0; i < n && status == WEFT_OK; i++) {
        if (y[i] != wanted(rank, i))
            return wi_fail(rank, WEFT_EARG, "%s: element %zu of rank %d is %u", what, i,
                           rank->comm->rank, y[i]);
    }
    return status;
}

static uint32_t of_last(const weft_context *rank, size_t i) {
    return value(rank->comm->size - 1, i);
}
static uint32_t of_sum(const weft_context *rank, size_t i) {
    return sum_to(rank->comm->size, i);
}
static uint32_t of_before(const weft_context *rank, size_t i) {
    return sum_to(rank->comm->rank, i);
}
static uint32_t of_each(const weft_context *rank, size_t i) {
    (void)rank;
    return value((int)(i / N), i % N);
}
static uint32_t of_own_sum(const weft_context *rank, size_t i) {
    return sum_to(rank->comm->size, (size_t)rank->comm->rank * N + i);
}
static uint32_t of_previous(const weft_context *rank, size_t i) {
    return value((rank->comm->rank + rank->comm->size - 1) % rank->comm->size, i);
}
/* Of all_to_all_v: rank r sends r + 1 elements to each, those of rank k beginning at k (r + 1). */
static uint32_t of_pieces(const weft_context *rank, size_t i) {
    int r = 0;
    while (i >= (size_t)r + 1)
        i -= (size_t)r++ + 1;
    return value(r, (size_t)rank->comm->rank * ((size_t)r + 1) + i);
}

/* From each rank to the next. */
static weft_status pass_on(weft_context *rank, const buffers *b) {
    const wi_comm *const comm = rank->comm;
    const int next = (comm->rank + 1) % comm->size,
              previous = (comm->rank + comm->size - 1) % comm->size;
    weft_status status = WEFT_OK;
    if (comm->rank == 0)
        status = comm->calls->send(rank, b->x, N, WEFT_U32, next);
    if (status == WEFT_OK)
        status = comm->calls->recv(rank, b->y, N, WEFT_U32, previous);
    if (comm->rank > 0 && status == WEFT_OK)
        status = comm->calls->send(rank, b->x, N, WEFT_U32, next);
    return status;
}

static weft_status use_calls(weft_context *rank, buffers *b) {
    const wi_comm_table *const calls = rank->comm->calls;
    const int size = rank->comm->size, own = rank->comm->rank;
    const size_t all = N * (size_t)size;
    size_t sent[MOST], got[MOST], total = 0;
    weft_status s = wi_agree(rank, 0, give_x(rank, b, all));
    for (int r = 0; r < size; r++) {
        sent[r] = (size_t)own + 1;
        total += got[r] = (size_t)r + 1;
    }
#define STEP(call, n, what, wanted)                                                                \
    do {                                                                                           \
        if (s == WEFT_OK)                                                                          \
            s = call;                                                                              \
        if (s == WEFT_OK)                                                                          \
            s = expect(rank, b, n, what, wanted);                                                  \
        s = wi_agree(rank, 0, s);                                                                  \
    } while (0)
    STEP(calls->reduce(rank, b->x, b->y, N, WEFT_U32, WEFT_MAX, 0), own == 0 ? N : 0, "reduce",
         of_last);
    STEP(calls->all_reduce(rank, b->x, b->y, N, WEFT_U32, WEFT_SUM), N, "all_reduce", of_sum);
    STEP(calls->all_gather(rank, b->x, b->y, N, WEFT_U32), all, "all_gather", of_each);
    STEP(calls->reduce_scatter(rank, b->x, b->y, N, WEFT_U32, WEFT_SUM), N, "reduce_scatter",
         of_own_sum);
    STEP(calls->exscan(rank, b->x, b->y, N, WEFT_U32, WEFT_SUM), own > 0 ? N : 0, "exscan",
         of_before);
    STEP(calls->all_to_all_v(rank, b->x, sent, b->y, got, WEFT_U32), total, "all_to_all_v",
         of_pieces);
    STEP(calls->all_gather_v(rank, b->x, b->y, got, WEFT_U32), 1, "all_gather_v", of_each);
    if (size > 1)
        STEP(pass_on(rank, b), N, "send and recv", of_previous);
    STEP(calls->broadcast(rank, b->x, N, WEFT_U32, size - 1), 0, "broadcast", of_last);
    STEP(calls->all_gather(rank, b->x, b->y, N, WEFT_U32), N, "broadcast", of_last);
    STEP(calls->barrier(rank), 0, "barrier", of_last);
#undef STEP
    return s;
}

static weft_status meet_on_rank(weft_context *rank, void *user) {
    buffers b = {.device = *(const bool *)user};
    const size_t bytes = N * (size_t)rank->comm->size * sizeof *b.x;
    uint32_t host[2][N * MOST];
    void *x = host[0], *y = host[1];
    if (b.device &&
        (weft_alloc(rank->child, &x, bytes) != WEFT_OK || weft_alloc(rank->child, &y, bytes)))
        return WEFT_ENOMEM;
    b.x = x;
    b.y = y;
    const weft_status status = use_calls(rank, &b);
    if (b.device) {
        weft_free(rank->child, x);
        weft_free(rank->child, y);
    }
    return status;
}

void dist_test_peers(void **state) {
    (void)state;
    for (int device = 0; device < 2; device++) {
        bool on_device = device;
        dist_ok(dist_ctx, wi_gpus_run(dist_ctx, NULL, "test", meet_on_rank, &on_device));
    }
    assert_non_null(strstr(weft_comm(dist_ctx), wi_gpus_count(dist_ctx) > 1 ? "peer" : "self"));
    assert_int_equal(weft_ranks(dist_ctx), 1);
}

/* A rank that fails alone, in a step: all return, and the next call works. */
static weft_status fail_on_last(weft_context *rank, void *user) {
    const bool wrong = rank->comm->rank == rank->comm->size - 1;
    uint64_t before, total;
    (void)user;
    const weft_status status =
        wi_agree(rank, 0, wrong ? wi_fail(rank, WEFT_ENOMEM, "test: nothing left") : WEFT_OK);
    return status == WEFT_OK ? wi_all_counts(rank, 1, &before, &total) : status;
}

void dist_test_peer_failure(void **state) {
    (void)state;
    const float x[3] = {1, 2, 3};
    float sum = 0;
    test_refused(dist_ctx, wi_gpus_run(dist_ctx, NULL, "test", fail_on_last, NULL), WEFT_ENOMEM,
                 "test", "nothing left");
    dist_ok(dist_ctx, weft_sum_fast(dist_ctx, 3, x, &sum));
    assert_true(sum == 6);
    test_refused(dist_ctx, weft_sum_fast(dist_ctx, 3, (const float *)NULL, &sum), WEFT_EARG,
                 "weft_reduce", "x");
}

/* Memory runs out at any moment of a call, on any GPU: the call says so, and the next one works. */
void dist_test_no_memory(void **state) {
    (void)state;
#ifdef WEFT_EMU
    enum {
        MANY = 700
    };
    test_random r = test_random_at(70);
    uint32_t x[MANY], y[MANY], wanted[MANY];
    static const uint8_t key[MANY];
    uint64_t sums[MANY];
    const weft_column column = {WEFT_SUM, WEFT_U32, x, sums};
    double median = 0, right = 0;
    const weft_predicate odd = {.test = WEFT_GT, .type = WEFT_U32, .a.u32 = 1u << 31};
    uint64_t count = 0;
    int failures = 0;
    test_fill(&r, TEST_ANY, WEFT_U32, MANY, x);
    dist_ok(dist_one, weft_sort(dist_one, WEFT_ASCENDING, WEFT_U32, MANY, x, wanted));
    dist_ok(dist_one, weft_median(dist_one, WEFT_U32, MANY, x, &right));
    for (size_t limit = 1; limit < (size_t)1 << 20; limit += limit / 2 + 500) {
        size_t left = 0, all = 0;
        cudaMemGetInfo(&left, &all);
        emu_set_memory(all - left + limit);
        const weft_status sorted = weft_sort(dist_ctx, WEFT_ASCENDING, WEFT_U32, MANY, x, y),
                          selected = weft_select(dist_ctx, odd, MANY, x, y, &count),
                          reduced =
                              weft_reduce_by_key(dist_ctx, MANY, 1, key, NULL, 1, &column, &count),
                          halved = weft_median(dist_ctx, WEFT_U32, MANY, x, &median);
        emu_set_memory(0);
        assert_true(reduced == WEFT_OK || reduced == WEFT_ENOMEM);
        assert_true(halved == WEFT_ENOMEM || (halved == WEFT_OK && median == right));
        assert_true(sorted == WEFT_OK || sorted == WEFT_ENOMEM);
        assert_true(selected == WEFT_OK || selected == WEFT_ENOMEM);
        failures += sorted == WEFT_ENOMEM;
        dist_ok(dist_ctx, weft_sort(dist_ctx, WEFT_ASCENDING, WEFT_U32, MANY, x, y));
        assert_memory_equal(y, wanted, sizeof y);
    }
    assert_true(failures > 0);
#endif
}

/* ---- memory ---- */

/* The GPUs hold equal blocks of a range; small memory lies on the first. */
void dist_test_blocks(void **state) {
    (void)state;
    const char *why, *begin;
    size_t block;
    void *p, *small;
    wi_dealt *const dealt = wi_gpus_dealt(dist_ctx);
    const size_t count = (size_t)wi_gpus_count(dist_ctx);
    const bool reach = wi_dealt_reaches(dealt, &why) && count > 1;
    const size_t bytes = 3 * wi_dealt_least(dealt) + 8;
    if (!wi_dealt_reaches(dealt, &why)) {
        assert_true(strlen(why) > 0);
        assert_non_null(strstr(weft_comm(dist_ctx), why));
    }
    dist_ok(dist_ctx, weft_alloc(dist_ctx, &small, 8));
    assert_false(wi_dealt_find(dealt, small, &begin, &block));
    dist_ok(dist_ctx, weft_alloc(dist_ctx, &p, bytes));
    assert_int_equal(wi_dealt_find(dealt, p, &begin, &block), reach);
    size_t next = 0;
    for (size_t r = 0; r < count; r++) {
        const wi_share share = wi_gpus_share(wi_gpus_rank(dist_ctx, (int)r), p, bytes / 8, 8);
        assert_int_equal(share.first, next);
        if (reach && r + 1 < count)
            assert_int_equal(share.n * 8, block);
        next = share.first + share.n;
    }
    assert_int_equal(next, bytes / 8);
    dist_ok(dist_ctx, weft_free(dist_ctx, p));
    dist_ok(dist_ctx, weft_free(dist_ctx, small));
    assert_false(wi_dealt_find(dealt, p, &begin, &block));
    test_refused(dist_ctx, weft_alloc(dist_ctx, &p, (size_t)1 << 60), WEFT_ENOMEM, "", "bytes");
}

/* Data goes to a range and back whole, also from the middle, and is worked on across the seams. */
void dist_test_seams(void **state) {
    (void)state;
    enum {
        MANY = 3001
    };
    test_random r = test_random_at(71);
    uint32_t x[MANY], y[MANY], z[MANY];
    uint64_t sum = 0, wanted = 0;
    char *p;
    test_fill(&r, TEST_ANY, WEFT_U32, MANY, x);
    dist_ok(dist_ctx, weft_alloc(dist_ctx, (void **)&p, sizeof x));
    dist_ok(dist_ctx, weft_copy(dist_ctx, p, x, sizeof x));
    dist_ok(dist_ctx, weft_copy(dist_ctx, y, p, sizeof y));
    assert_memory_equal(x, y, sizeof x);
    for (size_t at = 0; at < MANY; at += 577) {
        const size_t n = MANY - at;
        dist_ok(dist_one, weft_inclusive(dist_one, WEFT_SUM, n, x + at, y + at));
        dist_ok(dist_ctx, weft_inclusive(dist_ctx, WEFT_SUM, n, x + at, (uint32_t *)p + at));
        dist_ok(dist_ctx, weft_copy(dist_ctx, z, p + 4 * at, 4 * n));
        assert_memory_equal(z, y + at, 4 * n);
        dist_ok(dist_one, weft_sum(dist_one, n, y + at, &wanted));
        dist_ok(dist_ctx, weft_sum(dist_ctx, n, (const uint32_t *)p + at, &sum));
        assert_int_equal(sum, wanted);
    }
    dist_ok(dist_ctx, weft_free(dist_ctx, p));
}

/* ---- calls that have no distributed rung, and small ones ---- */

static void multiply(const float *a, const float *b, float *c, size_t n) {
    dist_ok(dist_ctx, weft_gemm(dist_ctx, 0, WEFT_F32, WEFT_F32, n, n, n, 1, a, n, b, n, 0, c, n));
}

/* They run on the first GPU, on memory that all hold. */
void dist_test_first(void **state) {
    (void)state;
    enum {
        ORDER = 40
    };
    test_random r = test_random_at(72);
    const size_t bytes = sizeof(float[ORDER * ORDER]);
    float a[ORDER * ORDER], b[ORDER * ORDER], c[ORDER * ORDER], d[ORDER * ORDER];
    void *p[3];
    test_fill(&r, TEST_SMALL, WEFT_F32, ORDER * ORDER, a);
    test_fill(&r, TEST_SMALL, WEFT_F32, ORDER * ORDER, b);
    multiply(a, b, c, ORDER);
    for (int k = 0; k < 3; k++)
        dist_ok(dist_ctx, weft_alloc(dist_ctx, &p[k], bytes));
    dist_ok(dist_ctx, weft_copy(dist_ctx, p[0], a, bytes));
    dist_ok(dist_ctx, weft_copy(dist_ctx, p[1], b, bytes));
    multiply(p[0], p[1], p[2], ORDER);
    dist_ok(dist_ctx, weft_copy(dist_ctx, d, p[2], bytes));
    assert_memory_equal(c, d, bytes);
    assert_non_null(weft_used(dist_ctx, "gemm"));
    for (int k = 0; k < 3; k++)
        dist_ok(dist_ctx, weft_free(dist_ctx, p[k]));
}

/* Which rung ran tells whether all GPUs did it. */
void dist_test_choice(void **state) {
    (void)state;
    enum {
        LARGE = 5 << 20
    };
    unsigned char *const x = calloc(1, LARGE);
    uint8_t top = 0;
    size_t bytes = 0;
    const bool several = wi_gpus_count(dist_ctx) > 1;
    assert_non_null(x);
    x[LARGE - 1] = 9;
    assert_string_equal(weft_used(dist_ctx, "reduce"), "ranks");
    test_refused(dist_ctx, weft_use(dist_ctx, "reduce", "serial"), WEFT_EUNSUPPORTED, "weft_use",
                 "serial");
    /* what cannot be spread says so when it must be */
    test_refused(dist_ctx, weft_sort_bytes(dist_ctx, WEFT_ASCENDING, WEFT_U8, 100, x, x, &bytes),
                 WEFT_EUNSUPPORTED, "weft_sort_bytes", "ranks");
    dist_spread("auto");
    dist_ok(dist_ctx, weft_sort_bytes(dist_ctx, WEFT_ASCENDING, WEFT_U8, 100, x, x, &bytes));
    dist_ok(dist_ctx, weft_reduce(dist_ctx, WEFT_MAX, WEFT_U8, 100, x, &top));
    assert_string_not_equal(weft_used(dist_ctx, "reduce"), "ranks");
    dist_ok(dist_ctx, weft_reduce(dist_ctx, WEFT_MAX, WEFT_U8, LARGE, x, &top));
    assert_int_equal(top, 9);
    assert_int_equal(strcmp(weft_used(dist_ctx, "reduce"), "ranks") == 0, several);
    dist_spread("ranks");
    free(x);
}

/* ---- opening ---- */

#ifdef WEFT_EMU
#    define GPU "emu"
#else
#    define GPU "gpu"
#endif

static void refused_place(const char *place, const char *word) {
    weft_context *ctx = NULL;
    test_refused(NULL, weft_open(&ctx, place), WEFT_EARG, "weft_open", word);
    assert_null(ctx);
}

void dist_test_places(void **state) {
    (void)state;
    weft_context *ctx;
    refused_place(GPU "s:", "names no GPU");
    refused_place(GPU "s:0,", "not a list");
    refused_place(GPU "s:-1", "not a list");
    refused_place(GPU "s:0;1", "not a list");
    refused_place(GPU "s:0,0", "twice");
    refused_place(GPU "s:0,99", "GPU 99");
    refused_place(GPU "sx", "not a place");
    dist_ok(NULL, weft_open(&ctx, GPU "s:0"));
    assert_string_equal(weft_place(ctx), GPU "s:0");
    assert_string_equal(weft_comm(ctx), "self");
    weft_close(ctx);
    if (wi_gpus_count(dist_ctx) > 1) {
        dist_ok(NULL, weft_open(&ctx, GPU "s:1,0"));
        assert_string_equal(weft_place(ctx), GPU "s:1,0");
        assert_int_equal(wi_gpus_rank(ctx, 0)->device, 1);
        weft_close(ctx);
    }
}
