/* SPDX-License-Identifier: Apache-2.0 */
/* Every rank counts the steps alike. A rank that can take one by the mailboxes launches its kernel
 * without a word to the others. One that cannot, because its arrays lie elsewhere or are too large,
 * declines, which the others see: no kernel of that step can end then, for each waits for the flags
 * of all; so they give theirs up, which has written no result yet, and all go by the way that is
 * below. A rank whose GPU fails declines this step and all later ones. */
#include "comm/comm_mailbox.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/gpus.h"
#include "comm/mailbox.h"
#include "cpu/team.h"

#ifdef WEFT_CUDA

enum {
#    ifdef WEFT_EMU
    LOOK_TURNS = 1, /* work is done there when the host asks, */
    ASK_LOOKS = 1,
    WORDS_TELL = 0, /* and what it learns from pinned memory is not seen */
#    else
    LOOK_TURNS = 64, /* looks at the kernel's words for one at the other ranks */
    ASK_LOOKS = 64,  /* and so many of these for a question to CUDA, which takes microseconds */
    WORDS_TELL = 1,
#    endif
    SPINS = 4096, /* without leaving the core */
    WHY_BYTES = 160,
    LINE = 8 /* words in a line of the cache */
};

typedef enum mail_state {
    UNTRIED,
    OPEN,
    NONE
} mail_state;

/* What a rank tells: each has a line. */
typedef struct told {
    _Alignas(8 * LINE) _Atomic uint64_t declined; /* the latest step; UINT64_MAX: all to come */
    uint64_t step;                                /* the rank's own: how many it has counted */
} told;

/* A rank's words in pinned memory, by which its host and its kernel talk. */
typedef struct words {
    uint64_t abandoned;
    uint64_t unused[LINE - 1];
    uint64_t done[WI_MAIL_BLOCKS];
} words;

struct wi_mailboxes {
    int ranks;
    bool wished; /* WEFT_MAILBOX=on */
    pthread_mutex_t lock;
    atomic_int state; /* changed once, under the lock */
    char why[WHY_BYTES];
    char about[WHY_BYTES + 64];
    words *words; /* of each rank */
    void *box[WI_MOST_GPUS];
    wi_launch_graph graph[WI_MOST_GPUS];
    told told[WI_MOST_GPUS];
};

/* ---- opening ---- */

wi_mailboxes *wi_mailboxes_open(int ranks) {
    const char *const wish = getenv("WEFT_MAILBOX");
    wi_mailboxes *const all = wish && strcmp(wish, "off") == 0 ? NULL : wi_host_alloc(sizeof *all);
    if (!all)
        return NULL;
    memset(all, 0, sizeof *all);
    all->ranks = ranks;
    all->wished = wish && strcmp(wish, "on") == 0;
    pthread_mutex_init(&all->lock, NULL);
    return all;
}

static void give_all(wi_mailboxes *all) {
    for (int r = 0; r < all->ranks; r++) {
        wi_gpu_drop(all->box[r]);
        wi_gpu_drop_graph(&all->graph[r]);
        all->box[r] = NULL;
    }
    if (all->words && cudaFreeHost(all->words) != cudaSuccess)
        cudaGetLastError();
    all->words = NULL;
}

void wi_mailboxes_close(wi_mailboxes *all) {
    if (!all)
        return;
    give_all(all);
    pthread_mutex_destroy(&all->lock);
    wi_host_free(all);
}

/* After a failure ranks may have counted differently, and marks that others forgot may still lie
 * with a rank that had left. So all count on from where all forget them. All kernels have ended. */
void wi_mailboxes_clear(wi_mailboxes *all) {
    uint64_t latest = 0, first = UINT64_MAX;
    for (int r = 0; all && r < all->ranks; r++) {
        const uint64_t step = all->told[r].step;
        latest = step > latest ? step : latest;
        first = step < first ? step : first;
    }
    if (first < latest)
        latest += WI_MAIL_MARKS - 1 - latest % WI_MAIL_MARKS;
    for (int r = 0; all && r < all->ranks; r++) {
        all->told[r].step = latest;
        atomic_store(&all->told[r].declined, 0);
    }
}

/* A mailbox of the current GPU, all zeros. */
static cudaError_t take_box(wi_mailboxes *all, int r) {
    const size_t bytes = wi_mail_bytes(all->ranks);
    cudaError_t error = cudaMalloc(&all->box[r], bytes);
    if (error != cudaSuccess)
        all->box[r] = NULL;
    if (error == cudaSuccess)
        error = cudaMemsetAsync(all->box[r], 0, bytes, NULL);
    return error == cudaSuccess ? cudaStreamSynchronize(NULL) : error;
}

static cudaError_t take_all(wi_mailboxes *all, weft_context *const rank[]) {
    const size_t bytes = (size_t)all->ranks * sizeof *all->words;
    cudaError_t error = cudaHostAlloc((void **)&all->words, bytes, cudaHostAllocPortable);
    if (error == cudaSuccess)
        memset(all->words, 0, bytes);
    else
        all->words = NULL;
    for (int r = 0; r < all->ranks && error == cudaSuccess; r++) {
        error = cudaSetDevice(rank[r]->device);
        if (error == cudaSuccess)
            error = take_box(all, r);
    }
    return error;
}

/* Takes the memory of all ranks. The lock is held. */
static mail_state try_all(weft_context *ctx, wi_mailboxes *all) {
    const char *const blocking = getenv("CUDA_LAUNCH_BLOCKING"), *why;
    weft_context *rank[WI_MOST_GPUS];
    int before;
    for (int r = 0; r < all->ranks; r++)
        rank[r] = wi_gpus_rank(ctx, r);
    if (blocking && strcmp(blocking, "1") == 0) {
        snprintf(all->why, sizeof all->why, "CUDA_LAUNCH_BLOCKING is 1");
        return NONE;
    }
    if (!wi_dealt_reaches(wi_gpus_dealt(ctx), &why)) {
        snprintf(all->why, sizeof all->why, "%s", why);
        return NONE;
    }
    if (wi_gpu_enter(ctx->child, &before) != WEFT_OK) {
        snprintf(all->why, sizeof all->why, "a GPU is lost");
        return NONE;
    }
    const cudaError_t error = take_all(all, rank);
    if (error != cudaSuccess) {
        cudaGetLastError();
        snprintf(all->why, sizeof all->why, "taking memory for it failed: %s",
                 cudaGetErrorName(error));
        give_all(all);
    }
    cudaSetDevice(ctx->device);
    wi_gpu_leave(ctx->child, before);
    return error == cudaSuccess ? OPEN : NONE;
}

/* The first rank that needs the mailboxes takes them for all. */
static bool is_open(weft_context *ctx, wi_mailboxes *all) {
    if (atomic_load(&all->state) == UNTRIED) {
        pthread_mutex_lock(&all->lock);
        if (atomic_load(&all->state) == UNTRIED)
            atomic_store(&all->state, try_all(ctx, all));
        pthread_mutex_unlock(&all->lock);
    }
    return atomic_load(&all->state) == OPEN;
}

/* ---- which steps ---- */

static bool combines(wi_comm_kind kind) {
    return kind == WI_COMM_REDUCE || kind == WI_COMM_ALL_REDUCE || kind == WI_COMM_REDUCE_SCATTER;
}

/* Does every rank know the counts of all others? */
static bool is_even(const wi_comm_step *s) {
    return !s->from.counts && !s->to.counts;
}

/* The part of block k of one side; NULL has the same block for all. */
static wi_mail_part part_of(const wi_comm_side *side, int k) {
    wi_mail_part part = {0, 0};
    if (side->blocks == 1)
        return (wi_mail_part){0, wi_comm_count(side, 0)};
    for (int b = 0; b <= k && b < side->blocks; b++) {
        part.at += part.n;
        part.n = wi_comm_count(side, b);
    }
    return part;
}

/* Does rank `from` send anything to rank `to`? */
static bool sends(const wi_comm_step *s, int from, int to) {
    if (s->kind == WI_COMM_BROADCAST)
        return from == s->other && to != s->other;
    return s->kind != WI_COMM_REDUCE || to == s->other;
}

static void describe(const weft_context *ctx, const wi_comm_step *s, wi_mail *m) {
    const wi_comm *const comm = ctx->comm;
    memset(m, 0, sizeof *m);
    m->own = comm->rank;
    m->ranks = comm->size;
    m->op = combines(s->kind) ? (int)s->op : WI_MAIL_KEEP;
    m->from = s->from.p;
    m->to = s->to.p;
    for (int r = 0; r < comm->size; r++) {
        if (sends(s, comm->rank, r))
            m->sent[r] = part_of(&s->from, r);
        if (sends(s, r, comm->rank))
            m->got[r] = part_of(&s->to, r);
    }
}

/* The bytes of the largest message of this rank. */
static size_t largest(const wi_mail *m, size_t size) {
    size_t most = 0;
    for (int r = 0; r < m->ranks; r++) {
        most = m->sent[r].n > most ? m->sent[r].n : most;
        most = m->got[r].n > most ? m->got[r].n : most;
    }
    return most > SIZE_MAX / size ? SIZE_MAX : most * size;
}

/* Can this rank take the step? */
static bool can(weft_context *ctx, const wi_comm_step *s, const wi_mail *m, size_t bytes) {
    if (bytes > WI_MAIL_SLOT || (is_even(s) && bytes == 0))
        return false;
    if (m->op != WI_MAIL_KEEP && !wi_comm_reduces(s->type, s->op))
        return false;
    return wi_comm_on_gpu(ctx, &s->from) && wi_comm_on_gpu(ctx, &s->to) &&
           is_open(ctx, ctx->comm->mail);
}

/* As many on all ranks: where each knows its own counts only, always the most. */
static unsigned blocks_for(const wi_comm_step *s, size_t bytes) {
    const size_t each = (size_t)WI_MAIL_THREADS * WI_MAIL_VECTOR,
                 blocks = (bytes + each - 1) / each;
    return !is_even(s) || blocks > WI_MAIL_BLOCKS ? WI_MAIL_BLOCKS : (unsigned)blocks;
}

/* ---- steps ---- */

static void decline(weft_context *ctx, uint64_t step) {
    atomic_store(&ctx->comm->mail->told[ctx->comm->rank].declined, step);
}

/* Does another rank decline this step? One that declines a later step has ended this one, and its
 * result here is on its way. */
static bool another_declines(const weft_context *ctx, uint64_t step) {
    wi_mailboxes *const all = ctx->comm->mail;
    for (int r = 0; r < all->ranks; r++) {
        const uint64_t declined = atomic_load(&all->told[r].declined);
        if (r != ctx->comm->rank && (declined == step || declined == UINT64_MAX))
            return true;
    }
    return false;
}

static bool is_done(const wi_mail *m, unsigned blocks) {
    for (unsigned b = 0; b < blocks; b++) {
        if (__atomic_load_n(&m->done[b], __ATOMIC_ACQUIRE) != m->step)
            return false;
    }
    return true;
}

/* Waits until the kernel has ended, or all but: *done, its result is there. */
static weft_status wait(weft_context *ctx, const wi_mail *m, unsigned blocks, bool *done) {
    uint64_t *const abandoned = &ctx->comm->mail->words[m->own].abandoned;
    for (unsigned turn = 1;; turn++) {
        if (turn % (LOOK_TURNS * ASK_LOOKS) == 0) {
            const cudaError_t error = cudaStreamQuery(ctx->child->gpu->stream);
            if (error == cudaSuccess) {
                *done = is_done(m, blocks);
                return WEFT_OK;
            }
            if (error != cudaErrorNotReady)
                return wi_cuda(ctx->child, error, "communication by mailboxes");
            cudaGetLastError();
        }
        if (turn % LOOK_TURNS == 0 && another_declines(ctx, m->step))
            __atomic_store_n(abandoned, m->step, __ATOMIC_RELEASE);
        *done = WORDS_TELL && is_done(m, blocks);
        if (*done)
            return WEFT_OK;
        if (turn < SPINS)
            wi_cpu_relax();
        else
            sched_yield();
    }
}

static weft_status launch_and_wait(weft_context *ctx, const wi_comm_step *s, wi_mail *m,
                                   unsigned blocks, bool *done) {
    wi_mailboxes *const all = ctx->comm->mail;
    words *const own = &all->words[m->own];
    int before;
    memcpy(m->box, all->box, sizeof m->box);
    m->abandoned = &own->abandoned;
    m->done = own->done;
    *done = false;
    weft_status status = wi_gpu_enter(ctx->child, &before);
    const bool entered = status == WEFT_OK;
    if (entered)
        status = wi_mail_launch(ctx->child, &all->graph[m->own], s->type, blocks, m);
    if (status == WEFT_OK) {
        status = wait(ctx, m, blocks, done);
    } else { /* what is below tells of the failure, if it lasts */
        decline(ctx, m->step);
        status = WEFT_OK;
    }
    if (entered)
        wi_gpu_leave(ctx->child, before);
    return status;
}

/* Forgets the marks that lie in this rank's mailbox, if it has one. */
static weft_status forget_marks(weft_context *ctx) {
    wi_mailboxes *const all = ctx->comm->mail;
    int before;
    if (atomic_load(&all->state) != OPEN)
        return WEFT_OK;
    weft_status status = wi_gpu_enter(ctx->child, &before);
    if (status != WEFT_OK)
        return status;
    const cudaStream_t stream = ctx->child->gpu->stream;
    cudaError_t error =
        cudaMemsetAsync(all->box[ctx->comm->rank], 0, wi_mail_bytes(all->ranks), stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    status = wi_cuda(ctx->child, error, "communication by mailboxes");
    wi_gpu_leave(ctx->child, before);
    return status;
}

/* Before marks come again all ranks forget those that lie there: when the kernels of all have
 * ended, and before any is launched. */
static weft_status begin_again(weft_context *ctx) {
    const wi_comm_table *const below = ctx->comm->below;
    weft_status status = below->look(ctx, wi_local(ctx, weft_sync(ctx->child)));
    if (status == WEFT_OK)
        status = below->barrier(ctx);
    if (status == WEFT_OK)
        status = below->look(ctx, wi_local(ctx, forget_marks(ctx)));
    return status == WEFT_OK ? below->barrier(ctx) : status;
}

weft_status wi_comm_mailbox_run(weft_context *ctx, const wi_comm_step *s, bool *taken) {
    const wi_comm *const comm = ctx->comm;
    wi_mail m;
    *taken = false;
    if (!comm->by_mail || comm->broken || s->kind == WI_COMM_EXSCAN || s->kind == WI_COMM_SEND ||
        s->kind == WI_COMM_RECV)
        return WEFT_OK;
    uint64_t step = ++comm->mail->told[comm->rank].step;
    if (step % WI_MAIL_MARKS == 0) {
        const weft_status status = begin_again(ctx);
        if (status != WEFT_OK) {
            comm->mail->told[comm->rank].step--; /* whoever comes next begins again */
            return status;
        }
        step = ++comm->mail->told[comm->rank].step;
    }
    if (atomic_load(&comm->mail->told[comm->rank].declined) == UINT64_MAX)
        return WEFT_OK;
    describe(ctx, s, &m);
    m.step = step;
    const size_t bytes = largest(&m, weft_type_size(s->type));
    if (!can(ctx, s, &m, bytes)) {
        decline(ctx, step);
        return WEFT_OK;
    }
    const weft_status status = launch_and_wait(ctx, s, &m, blocks_for(s, bytes), taken);
    if (status != WEFT_OK) {
        decline(ctx, UINT64_MAX);
        return comm->below->look(ctx, wi_local(ctx, status));
    }
    ctx->comm->carried = *taken ? "mailbox" : comm->carried;
    return WEFT_OK;
}

void wi_comm_mailbox_leave(weft_context *rank) {
    if (rank->comm->mail)
        decline(rank, UINT64_MAX);
}

void wi_comm_mailbox_open(weft_context *rank, wi_mailboxes *all) {
    if (!all)
        return;
    rank->comm->mail = all;
    rank->comm->by_mail = all->wished;
    wi_comm_layers_open(rank, false);
}

bool wi_comm_mailbox_use(weft_context *rank, bool use) {
    wi_comm *const comm = rank->comm;
    const bool before = comm->by_mail;
    comm->by_mail = use && comm->mail;
    return before;
}

const char *wi_comm_mailbox_about(const weft_context *rank) {
    wi_mailboxes *const all = rank->comm ? rank->comm->mail : NULL;
    const mail_state state = all ? (mail_state)atomic_load(&all->state) : UNTRIED;
    if (state == UNTRIED)
        return "";
    if (state == OPEN)
        snprintf(all->about, sizeof all->about, "small steps by mailboxes, %s",
                 all->wished ? "as WEFT_MAILBOX says" : "only where WEFT_MAILBOX is on");
    else
        snprintf(all->about, sizeof all->about, "not by mailboxes: %s", all->why);
    return all->about;
}

#else

wi_mailboxes *wi_mailboxes_open(int ranks) {
    (void)ranks;
    return NULL;
}

void wi_mailboxes_close(wi_mailboxes *all) {
    (void)all;
}

void wi_mailboxes_clear(wi_mailboxes *all) {
    (void)all;
}

void wi_comm_mailbox_open(weft_context *rank, wi_mailboxes *all) {
    (void)rank;
    (void)all;
}

void wi_comm_mailbox_leave(weft_context *rank) {
    (void)rank;
}

bool wi_comm_mailbox_use(weft_context *rank, bool use) {
    (void)rank;
    (void)use;
    return false;
}

weft_status wi_comm_mailbox_run(weft_context *ctx, const wi_comm_step *s, bool *taken) {
    (void)ctx;
    (void)s;
    *taken = false;
    return WEFT_OK;
}

const char *wi_comm_mailbox_about(const weft_context *rank) {
    (void)rank;
    return "";
}
#endif
