/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for NCCL in the tests on emulated GPUs: the functions that the library loads, between
 * threads or processes of one machine. What a rank gives to a step lies in memory that all share.
 * FAKE_NCCL=init lets the last rank fail to open it, FAKE_NCCL=step its fourth all-reduce. */
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "comm/nccl.h"

/* NCCL's header, which would declare them, is not needed here. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define OUT __attribute__((visibility("default")))

enum {
    MOST_RANKS = 16,
    MOST_MESSAGES = 64,
    FAILED = 3,
    FAILING_STEP = 4,
    ROOM = 1 << 23 /* bytes that a rank can give to a step */
};

/* What a rank sends to another one; and what it wants, with `to`, which is its own memory. */
typedef struct message {
    const void *from;
    void *to;
    size_t bytes, at; /* `at`: in the room of the rank that sends */
    int rank;
} message;

/* What a rank shows the others in a step. */
typedef struct shown {
    message messages[MOST_MESSAGES];
    int count;
    char room[ROOM];
} shown;

/* Where the ranks of a communicator meet: memory that all share. */
typedef struct group {
    int ranks, here;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned turns;
    shown rank[MOST_RANKS];
} group;

typedef struct member {
    group *g;
    shown *own;
    int rank, steps;
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

/* The memory of a name; the last rank that maps it removes the name. */
static group *map(const char *name, int flags) {
    const int file = shm_open(name, O_RDWR | flags, 0600);
    if (file < 0 || (flags && ftruncate(file, sizeof(group)) != 0))
        return NULL;
    void *const p = mmap(NULL, sizeof(group), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return p == MAP_FAILED ? NULL : p;
}

OUT int ncclGetUniqueId(wi_nccl_id *id) {
    static atomic_int made;
    pthread_mutexattr_t lock;
    pthread_condattr_t changed;
    snprintf(id->bytes, sizeof id->bytes, "/weft-fake-nccl-%d-%d", (int)getpid(),
             atomic_fetch_add(&made, 1));
    group *const g = map(id->bytes, O_CREAT | O_EXCL);
    if (!g)
        return FAILED;
    pthread_mutexattr_init(&lock);
    pthread_mutexattr_setpshared(&lock, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&g->lock, &lock);
    pthread_condattr_init(&changed);
    pthread_condattr_setpshared(&changed, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&g->changed, &changed);
    munmap(g, sizeof *g);
    return WI_NCCL_OK;
}

OUT int ncclCommInitRank(void **comm, int ranks, wi_nccl_id id, int rank) {
    group *const g = map(id.bytes, 0);
    const bool fails = strcmp(wish(), "init") == 0;
    if (!g)
        return FAILED;
    pthread_mutex_lock(&g->lock);
    g->ranks = ranks;
    const bool last = ++g->here == ranks;
    if (last) {
        g->here = 0;
        g->turns++;
        shm_unlink(id.bytes);
        pthread_cond_broadcast(&g->changed);
    }
    while (g->turns == 0)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
    if (fails && rank == ranks - 1)
        return FAILED;
    member *const m = calloc(1, sizeof *m);
    *m = (member){.g = g, .own = &g->rank[rank], .rank = rank};
    *comm = m;
    return WI_NCCL_OK;
}

/* Frees what is this rank's alone: others may still look at what all share. */
OUT int ncclCommAbort(void *comm) {
    free(comm);
    return WI_NCCL_OK;
}

OUT int ncclCommDestroy(void *comm) {
    meet(((member *)comm)->g); /* as NCCL, which waits for the others of the process */
    free(comm);
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

/* Begins a step: what this rank gives can be read by all. */
static int show(member *m, const void *from, size_t bytes, cudaStream_t stream) {
    if (bytes > ROOM)
        return FAILED;
    if (bytes > 0)
        copy(m->own->room, from, bytes, stream);
    meet(m->g);
    return WI_NCCL_OK;
}

/* to = elements first ... first + n - 1 of the `all` of each rank, combined; NULL: nothing is
 * wanted. */
static int reduce(member *m, const void *from, size_t all, void *to, size_t first, size_t n,
                  int type, int op, cudaStream_t stream) {
    const size_t bytes = n * size_of(type), at = first * size_of(type);
    char *const sum = malloc(bytes);
    const int result = show(m, from, all * size_of(type), stream);
    for (int r = 0; r < m->g->ranks && to && result == WI_NCCL_OK; r++) {
        if (r == 0)
            memcpy(sum, m->g->rank[r].room + at, bytes);
        else
            combine(sum, m->g->rank[r].room + at, n, type, op);
    }
    if (to && result == WI_NCCL_OK)
        copy(to, sum, bytes, stream);
    if (result == WI_NCCL_OK)
        meet(m->g);
    free(sum);
    return result;
}

OUT int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, void *comm,
                      void *stream) {
    member *const m = comm;
    if (strcmp(wish(), "step") == 0 && ++m->steps == FAILING_STEP)
        return FAILED; /* on all ranks: the fake cannot leave others waiting on a stream */
    return reduce(m, from, n, to, 0, n, type, op, stream);
}

OUT int ncclReduce(const void *from, void *to, size_t n, int type, int op, int root, void *comm,
                   void *stream) {
    member *const m = comm;
    return reduce(m, from, n, m->rank == root ? to : NULL, 0, n, type, op, stream);
}

OUT int ncclReduceScatter(const void *from, void *to, size_t n, int type, int op, void *comm,
                          void *stream) {
    member *const m = comm;
    const size_t all = n * (size_t)m->g->ranks;
    return reduce(m, from, all, to, n * (size_t)m->rank, n, type, op, stream);
}

OUT int ncclBroadcast(const void *from, void *to, size_t n, int type, int root, void *comm,
                      void *stream) {
    member *const m = comm;
    const size_t bytes = n * size_of(type);
    const int result = show(m, from, m->rank == root ? bytes : 0, stream);
    if (m->rank != root && result == WI_NCCL_OK)
        copy(to, m->g->rank[root].room, bytes, stream);
    if (result == WI_NCCL_OK)
        meet(m->g);
    return result;
}

OUT int ncclAllGather(const void *from, void *to, size_t n, int type, void *comm, void *stream) {
    member *const m = comm;
    const size_t bytes = n * size_of(type);
    const int result = show(m, from, bytes, stream);
    for (int r = 0; r < m->g->ranks && result == WI_NCCL_OK; r++)
        copy((char *)to + (size_t)r * bytes, m->g->rank[r].room, bytes, stream);
    if (result == WI_NCCL_OK)
        meet(m->g);
    return result;
}

/* ---- messages, which are in groups only ---- */

static int add(void *comm, message one, void *stream) {
    member *const m = comm;
    if (m->own->count == MOST_MESSAGES)
        return FAILED;
    m->own->messages[m->own->count++] = one;
    grouped = m;
    stream_of_group = stream;
    return WI_NCCL_OK;
}

OUT int ncclGroupStart(void) {
    grouped = NULL;
    return WI_NCCL_OK;
}

OUT int ncclSend(const void *from, size_t n, int type, int rank, void *comm, void *stream) {
    return add(comm, (message){.from = from, .bytes = n * size_of(type), .rank = rank}, stream);
}

OUT int ncclRecv(void *to, size_t n, int type, int rank, void *comm, void *stream) {
    return add(comm, (message){.to = to, .bytes = n * size_of(type), .rank = rank}, stream);
}

/* Copies what is sent to the room of this rank. */
static int show_messages(member *m, cudaStream_t stream) {
    size_t used = 0;
    for (int k = 0; k < m->own->count; k++) {
        message *const one = &m->own->messages[k];
        if (!one->from)
            continue;
        if (one->bytes > ROOM - used)
            return FAILED;
        one->at = used;
        copy(m->own->room + used, one->from, one->bytes, stream);
        used += one->bytes;
    }
    meet(m->g);
    return WI_NCCL_OK;
}

/* What rank `from` sends to rank `to`; there is at most one message between two ranks. */
static const message *find(const group *g, int from, int to) {
    const shown *const s = &g->rank[from];
    for (int k = 0; k < s->count; k++) {
        if (s->messages[k].from && s->messages[k].rank == to)
            return &s->messages[k];
    }
    return NULL;
}

OUT int ncclGroupEnd(void) {
    member *const m = grouped;
    if (!m)
        return WI_NCCL_OK;
    int result = show_messages(m, stream_of_group);
    if (result != WI_NCCL_OK)
        return result;
    for (int k = 0; k < m->own->count; k++) {
        const message *const want = &m->own->messages[k];
        const message *const sent = want->to ? find(m->g, want->rank, m->rank) : NULL;
        if (want->to && (!sent || sent->bytes != want->bytes))
            result = FAILED;
        else if (want->to)
            copy(want->to, m->g->rank[want->rank].room + sent->at, sent->bytes, stream_of_group);
    }
    meet(m->g);
    m->own->count = 0;
    return result;
}
