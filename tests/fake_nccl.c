/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for NCCL in the tests on emulated GPUs: the functions that the library loads, between
 * the threads of one process. FAKE_NCCL=init lets the last rank fail to open it, FAKE_NCCL=step its
 * fourth all-reduce. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "comm/nccl.h"

/* NCCL's header, which would declare them, is not needed here. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define OUT __attribute__((visibility("default")))

enum {
    MOST_RANKS = 16,
    MOST_MESSAGES = 64,
    FAILED = 3,
    FAILING_STEP = 4
};

typedef struct message {
    const void *from;
    void *to;
    size_t bytes;
    int rank;
} message;

struct member;

/* Where the ranks of a communicator meet. */
typedef struct group {
    int ranks, here;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned turns;
    struct member *member[MOST_RANKS];
} group;

typedef struct member {
    group *g;
    int rank, steps;
    const void *from;
    message messages[MOST_MESSAGES];
    int count;
} member;

static __thread member *grouped; /* whose messages wait for the end of the group */
static __thread cudaStream_t stream_of_group;

static const char *wish(void) {
    const char *const text = getenv("FAKE_NCCL");
    return text ? text : "";
}

static void meet(group *g) {
    pthread_mutex_lock(&g->lock);
    const unsigned turn = g->turns;
    if (++g->here == g->ranks) {
        g->here = 0;
        g->turns++;
        pthread_cond_broadcast(&g->changed);
    }
    while (g->turns == turn)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static void copy(void *to, const void *from, size_t bytes, cudaStream_t stream) {
    cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
    cudaStreamSynchronize(stream);
}

/* ---- opening ---- */

OUT int ncclGetVersion(int *version) {
    *version = 22000;
    return WI_NCCL_OK;
}

OUT const char *ncclGetErrorString(int result) {
    return result == WI_NCCL_OK ? "no error" : "the fake was told to fail";
}

OUT int ncclGetUniqueId(wi_nccl_id *id) {
    group *const g = calloc(1, sizeof *g);
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
    memcpy(id->bytes, &g, sizeof g);
    return WI_NCCL_OK;
}

OUT int ncclCommInitRank(void **comm, int ranks, wi_nccl_id id, int rank) {
    group *g;
    memcpy(&g, id.bytes, sizeof g);
    if (strcmp(wish(), "init") == 0 && rank == ranks - 1)
        return FAILED;
    member *const m = calloc(1, sizeof *m);
    *m = (member){.g = g, .rank = rank};
    pthread_mutex_lock(&g->lock);
    g->ranks = ranks;
    g->member[rank] = m;
    pthread_mutex_unlock(&g->lock);
    if (strcmp(wish(), "init") != 0)
        meet(g);
    *comm = m;
    return WI_NCCL_OK;
}

OUT int ncclCommAbort(void *comm) {
    (void)comm; /* others may still look at it */
    return WI_NCCL_OK;
}

OUT int ncclCommDestroy(void *comm) {
    meet(((member *)comm)->g); /* as NCCL, which waits for the others of the process */
    return WI_NCCL_OK;
}

OUT int ncclCommGetAsyncError(void *comm, int *result) {
    (void)comm;
    *result = WI_NCCL_OK;
    return WI_NCCL_OK;
}

/* ---- steps ---- */

static size_t size_of(int type) {
    static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8};
    return sizes[type];
}

static void combine(void *to, const void *x, size_t n, int type, int op) {
    for (size_t i = 0; i < n; i++) {
        if (type == WI_NCCL_U32 && op == WI_NCCL_SUM)
            ((uint32_t *)to)[i] += ((const uint32_t *)x)[i];
        else if (type == WI_NCCL_U64 && op == WI_NCCL_MAX &&
                 ((const uint64_t *)x)[i] > ((uint64_t *)to)[i])
            ((uint64_t *)to)[i] = ((const uint64_t *)x)[i];
        else if (type == WI_NCCL_F32)
            ((float *)to)[i] += ((const float *)x)[i];
    }
}

/* Begins a step: `from` of all members can be read, and is complete. */
static void show(member *m, const void *from, cudaStream_t stream) {
    cudaStreamSynchronize(stream);
    m->from = from;
    meet(m->g);
}

/* to = elements first ... first + n - 1 of all, combined; NULL: nothing is wanted. */
static int reduce(member *m, const void *from, void *to, size_t first, size_t n, int type, int op,
                  cudaStream_t stream) {
    const size_t bytes = n * size_of(type);
    char *const sum = malloc(bytes), *const x = malloc(bytes);
    show(m, from, stream);
    for (int r = 0; r < m->g->ranks && to; r++) {
        copy(r == 0 ? sum : x, (const char *)m->g->member[r]->from + first * size_of(type), bytes,
             stream);
        if (r > 0)
            combine(sum, x, n, type, op);
    }
    meet(m->g);
    if (to)
        copy(to, sum, bytes, stream);
    free(sum);
    free(x);
    return WI_NCCL_OK;
}

OUT int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, void *comm,
                      void *stream) {
    member *const m = comm;
    if (strcmp(wish(), "step") == 0 && ++m->steps == FAILING_STEP)
        return FAILED; /* on all ranks: the fake cannot leave others waiting on a stream */
    return reduce(m, from, to, 0, n, type, op, stream);
}

OUT int ncclReduce(const void *from, void *to, size_t n, int type, int op, int root, void *comm,
                   void *stream) {
    member *const m = comm;
    return reduce(m, from, m->rank == root ? to : NULL, 0, n, type, op, stream);
}

OUT int ncclReduceScatter(const void *from, void *to, size_t n, int type, int op, void *comm,
                          void *stream) {
    member *const m = comm;
    return reduce(m, from, to, n * (size_t)m->rank, n, type, op, stream);
}

OUT int ncclBroadcast(const void *from, void *to, size_t n, int type, int root, void *comm,
                      void *stream) {
    member *const m = comm;
    show(m, from, stream);
    if (m->rank != root)
        copy(to, m->g->member[root]->from, n * size_of(type), stream);
    meet(m->g);
    return WI_NCCL_OK;
}

OUT int ncclAllGather(const void *from, void *to, size_t n, int type, void *comm, void *stream) {
    member *const m = comm;
    const size_t bytes = n * size_of(type);
    show(m, from, stream);
    for (int r = 0; r < m->g->ranks; r++)
        copy((char *)to + (size_t)r * bytes, m->g->member[r]->from, bytes, stream);
    meet(m->g);
    return WI_NCCL_OK;
}

/* ---- messages, which are in groups only ---- */

static int add(void *comm, message one, void *stream) {
    member *const m = comm;
    if (m->count == MOST_MESSAGES)
        return FAILED;
    m->messages[m->count++] = one;
    grouped = m;
    stream_of_group = stream;
    return WI_NCCL_OK;
}

OUT int ncclGroupStart(void) {
    grouped = NULL;
    return WI_NCCL_OK;
}

OUT int ncclSend(const void *from, size_t n, int type, int rank, void *comm, void *stream) {
    return add(comm, (message){from, NULL, n * size_of(type), rank}, stream);
}

OUT int ncclRecv(void *to, size_t n, int type, int rank, void *comm, void *stream) {
    return add(comm, (message){NULL, to, n * size_of(type), rank}, stream);
}

/* What rank `from` sends to rank `to`; there is at most one message between two ranks. */
static const message *find(const group *g, int from, int to) {
    const member *const m = g->member[from];
    for (int k = 0; k < m->count; k++) {
        if (m->messages[k].from && m->messages[k].rank == to)
            return &m->messages[k];
    }
    return NULL;
}

OUT int ncclGroupEnd(void) {
    member *const m = grouped;
    int result = WI_NCCL_OK;
    if (!m)
        return WI_NCCL_OK;
    show(m, NULL, stream_of_group);
    for (int k = 0; k < m->count; k++) {
        const message *const want = &m->messages[k];
        const message *const sent = want->to ? find(m->g, want->rank, m->rank) : NULL;
        if (want->to && (!sent || sent->bytes != want->bytes))
            result = FAILED;
        else if (want->to)
            copy(want->to, sent->from, sent->bytes, stream_of_group);
    }
    meet(m->g);
    m->count = 0;
    return result;
}
