/* SPDX-License-Identifier: Apache-2.0 */
/* Every rank counts the steps alike. A rank that can take one by the mailboxes launches its kernel
 * without a word to the others. One that cannot, because its arrays lie elsewhere or are too large,
 * declines, which the others see: no kernel of that step can end then, for each waits for the flags
 * of all; so they give theirs up, which has written no result yet, and all go by the way that is
 * below. A rank whose GPU fails declines this step and all later ones. */
#include "comm/comm_mailbox.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "comm/comm_mailbox_open.h"
#include "comm/dist.h"
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
    SPINS = 4096 /* without leaving the core */
};

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
           wi_mailboxes_are_open(ctx, ctx->comm->mail);
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
    wi_mail_words *const own = &all->words[m->own];
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
    if (atomic_load(&all->state) != WI_MAIL_OPEN)
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

bool wi_comm_mailbox_use(weft_context *rank, bool use) {
    wi_comm *const comm = rank->comm;
    const bool before = comm->by_mail;
    comm->by_mail = use && comm->mail;
    return before;
}

#else

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
#endif
