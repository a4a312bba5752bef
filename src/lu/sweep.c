/* SPDX-License-Identifier: Apache-2.0 */
/* On a GPU the next block is factored and sent on the side lane, while the lane of the context has
 * the rest of the work; or, if a block takes all of the GPU, only sent there. On a cpu the owner of
 * the next block factors it first; it is sent in the background, where the communicator can, while
 * all change the rest of their columns. */
#include "lu/sweep.h"

#include "core/gpu.h"
#include "core/machine.h"

enum {
    STRIPS = 8, /* in which columns are changed during a broadcast that must be driven on */
    SPARE = 8,  /* bytes */
    STRIP = 512 /* columns of one at least, so that products stay efficient */
};

static bool on_gpu(const wi_sweep *s) {
    return s->c->ctx->child->gpu;
}

static weft_context *child_of(const wi_sweep *s) {
    return s->c->ctx->child;
}

static const wi_comm_table *calls_of(const wi_sweep *s) {
    return s->c->ctx->comm->calls;
}

/* ---- blocks ---- */

void wi_sweep_add(wi_sweep *s, size_t end, size_t width) {
    const int n = s->stretches;
    if (end > (n > 0 ? s->stretch[n - 1].end : 0))
        s->stretch[s->stretches++] = (wi_sweep_stretch){end, width};
}

size_t wi_sweep_first(const wi_sweep *s, size_t k) {
    size_t first = 0, width = s->c->block;
    for (int n = 0; n < s->stretches; n++) {
        const size_t blocks = (s->stretch[n].end - first) / s->stretch[n].width;
        width = s->stretch[n].width;
        if (k <= blocks || n + 1 == s->stretches)
            break;
        k -= blocks;
        first = s->stretch[n].end;
    }
    return first + k * width;
}

static int owner_of(const wi_sweep *s, size_t k) {
    return wi_cyclic_owner(s->c, wi_sweep_first(s, k) / s->c->block);
}

static bool is_own(const wi_sweep *s, size_t k) {
    return owner_of(s, k) == s->c->ctx->comm->rank;
}

/* Own columns before block k. */
static size_t own_before(const wi_sweep *s, size_t k) {
    return wi_cyclic_below(s->c, s->c->ctx->comm->rank, wi_sweep_first(s, k));
}

/* ---- memory ---- */

static size_t largest_message(const wi_sweep *s) {
    size_t most = 0;
    for (size_t k = 0; k < s->blocks; k++) {
        const size_t bytes = s->steps->message_bytes(s->user, k);
        most = bytes > most ? bytes : most;
    }
    return most;
}

weft_status wi_sweep_take(wi_sweep *s) {
    weft_context *const ctx = s->c->ctx;
    const size_t bytes = largest_message(s);
    void *memory = NULL;
    weft_status status = WEFT_OK;
    s->message_bytes = bytes;
    for (int k = 0; k < 2 && status == WEFT_OK; k++) {
        status = wi_local(ctx, weft_alloc(ctx->child, &memory, bytes + SPARE));
        s->message[k] = memory;
    }
    if (status == WEFT_OK && on_gpu(s) && !wi_dist_stays(ctx)) {
        status = wi_dist_take(ctx, bytes, 1, &memory);
        s->wire = memory;
    }
    return status;
}

/* ---- lanes: on a cpu there is one ---- */

static void note(wi_sweep *s, weft_status status) {
    if (s->status == WEFT_OK)
        s->status = status;
}

static void take_side(const wi_sweep *s, bool side) {
#ifdef WEFT_CUDA
    if (on_gpu(s))
        wi_gpu_take_side(child_of(s), side);
#endif
    (void)s;
    (void)side;
}

static weft_status fork_lanes(const wi_sweep *s) {
#ifdef WEFT_CUDA
    if (on_gpu(s))
        return wi_local(s->c->ctx, wi_gpu_fork(child_of(s)));
#endif
    (void)s;
    return WEFT_OK;
}

static weft_status join_lanes(const wi_sweep *s) {
#ifdef WEFT_CUDA
    if (on_gpu(s))
        return wi_local(s->c->ctx, wi_gpu_join(child_of(s)));
#endif
    (void)s;
    return WEFT_OK;
}

static void end_fork(wi_sweep *s) {
    if (s->forked)
        note(s, join_lanes(s));
    s->forked = false;
}

static void mark_cluster(const wi_sweep *s) {
#ifdef WEFT_CUDA
    wi_gpu_mark_cluster(child_of(s));
#endif
    (void)s;
}

/* The lane of the context waits until the marked cluster has begun. */
static weft_status join_cluster(const wi_sweep *s) {
#ifdef WEFT_CUDA
    return wi_local(s->c->ctx, wi_gpu_join_cluster(child_of(s)));
#else
    (void)s;
    return WEFT_OK;
#endif
}

void wi_sweep_end(wi_sweep *s) {
    end_fork(s);
    for (int k = 0; k < 2; k++)
        weft_free(child_of(s), s->message[k]);
    wi_host_free(s->wire);
}

/* ---- steps of this rank alone ---- */

#define STEP(s, call) WI_LOCAL_STEP((s)->c->ctx, (s)->status, call)

static char *message_of(const wi_sweep *s, size_t k) {
    return s->message[k % 2];
}

static void factor(wi_sweep *s, size_t k, wi_sweep_part part) {
    if (is_own(s, k))
        STEP(s, s->steps->factor(s->user, k, message_of(s, k), part));
}

static void update_part(wi_sweep *s, size_t k, size_t first, size_t n, wi_sweep_part part,
                        bool beside) {
    if (n > 0)
        STEP(s, s->steps->update(s->user, k, message_of(s, k), first, n, part, beside));
}

static void update(wi_sweep *s, size_t k, size_t first, size_t n) {
    update_part(s, k, first, n, WI_SWEEP_ALL, false);
}

static void update_left(wi_sweep *s, size_t k) {
    const size_t n = own_before(s, k);
    if (s->steps->update_left && n > 0)
        STEP(s, s->steps->update_left(s->user, k, message_of(s, k), n));
}

/* ---- communication ---- */

/* Between GPUs that reach each other's memory messages are copied: a kernel that sends one waits
 * for multiprocessors that a product has, or keeps them from it while it waits for the message. */
static const wi_comm_table *messages_of(const wi_sweep *s) {
    const wi_comm_table *const below = s->c->ctx->comm->below;
    return on_gpu(s) && below && below->device ? below : calls_of(s);
}

/* Sends the message about block k to all. */
static weft_status broadcast(wi_sweep *s, size_t k) {
    const size_t bytes = s->steps->message_bytes(s->user, k);
    const int root = owner_of(s, k);
    const bool own = is_own(s, k);
    char *const message = message_of(s, k), *const data = s->wire ? s->wire : message;
    if (s->wire && own)
        STEP(s, weft_copy(child_of(s), s->wire, message, bytes));
    const weft_status status = messages_of(s)->broadcast(s->c->ctx, data, bytes, WEFT_U8, root);
    if (status == WEFT_OK && s->wire && !own)
        STEP(s, weft_copy(child_of(s), message, s->wire, bytes));
    if (status == WEFT_OK)
        STEP(s, s->steps->arrived(s->user, k, message));
    if (status == WEFT_OK && own && s->steps->sent)
        STEP(s, s->steps->sent(s->user, k));
    return status;
}

/* ---- on a GPU ---- */

/* Does the product with n own columns take longer than factoring a block, at 2.2 us a column (seen
 * on an H200) and sending it? */
static bool is_long(const wi_sweep *s, size_t k, size_t n) {
    const wi_machine *const m = wi_machine_of(child_of(s));
    const double rate = s->c->given.type == WEFT_F64 ? m->f64_flops : m->f32_flops;
    const double rows = (double)(s->c->given.m - wi_sweep_first(s, k));
    return 2 * rows * (double)n / rate > 4e-6; /* both of one column of the block */
}

/* A cluster needs multiprocessors that are neighbours: it has them if the product, which leaves as
 * many, begins while a cluster runs. So the rest of the factoring waits for all that comes before a
 * long product, and the product for a few microseconds more, in which the next cluster begins. */
static void begin_together(wi_sweep *s, bool waits) {
    note(s, join_lanes(s));
    if (waits)
        note(s, fork_lanes(s));
}

static void let_begin(wi_sweep *s, size_t k) {
    char *const message = message_of(s, k);
    STEP(s, weft_copy(child_of(s), message + s->message_bytes, message, SPARE));
}

/* The rest of the columns is multiplied while the side lane factors block k + 1. */
static void change_beside(wi_sweep *s, size_t k, size_t first, size_t n, bool forked) {
    const bool own = is_own(s, k + 1) && forked, waits = own && is_long(s, k, n);
    take_side(s, forked);
    factor(s, k + 1, WI_SWEEP_BEGIN);
    take_side(s, false);
    update_part(s, k, first, n, WI_SWEEP_BEGIN, own);
    if (own)
        begin_together(s, waits);
    take_side(s, forked);
    factor(s, k + 1, WI_SWEEP_REST);
    take_side(s, false);
    if (waits)
        let_begin(s, k);
    update_part(s, k, first, n, WI_SWEEP_REST, own);
    update_left(s, k);
}

/* The same, if a cluster factors the block. It needs multiprocessors that are neighbours: so all
 * else begins when it has begun, and the product leaves it as many. */
static void change_beside_cluster(wi_sweep *s, size_t k, size_t first, size_t n) {
    take_side(s, true);
    mark_cluster(s);
    factor(s, k + 1, WI_SWEEP_ALL);
    take_side(s, false);
    note(s, join_cluster(s));
    update_left(s, k);
    update_part(s, k, first, n, WI_SWEEP_ALL, true);
}

/* The block is done with before they are; only its message goes beside them. */
static void change_in_turn(wi_sweep *s, size_t k, size_t first, size_t n) {
    update(s, k, first, n);
    update_left(s, k);
}

static weft_status step_on_gpu(wi_sweep *s, size_t k, size_t first, size_t n) {
    if (s->in_turn)
        factor(s, k + 1, WI_SWEEP_ALL);
    const weft_status forking = fork_lanes(s);
    const bool forked = forking == WEFT_OK;
    const bool in_cluster =
        is_own(s, k + 1) && s->steps->in_cluster && s->steps->in_cluster(s->user, k + 1);
    note(s, forking);
    if (s->in_turn)
        change_in_turn(s, k, first, n);
    else if (forked && in_cluster)
        change_beside_cluster(s, k, first, n);
    else
        change_beside(s, k, first, n, forked);
    take_side(s, forked);
    const weft_status status = broadcast(s, k + 1);
    take_side(s, false);
    if (forked)
        note(s, join_lanes(s));
    return status;
}

/* ---- on a cpu ---- */

/* Changes columns strip by strip, and drives the broadcast on between them. */
static weft_status update_driving(wi_sweep *s, size_t k, size_t first, size_t n) {
    const size_t each = n / STRIPS > STRIP ? n / STRIPS : STRIP;
    weft_status status = WEFT_OK;
    bool over = false;
    for (size_t at = 0; at < n && status == WEFT_OK; at += each) {
        update(s, k, first + at, n - at < each ? n - at : each);
        if (!over)
            status = calls_of(s)->poll(s->c->ctx, false, &over);
    }
    update_left(s, k);
    return status == WEFT_OK && !over ? calls_of(s)->poll(s->c->ctx, true, &over) : status;
}

static weft_status step_on_cpu(wi_sweep *s, size_t k, size_t first, size_t n) {
    char *const message = message_of(s, k + 1);
    factor(s, k + 1, WI_SWEEP_ALL);
    if (!calls_of(s)->begin_broadcast) {
        const weft_status status = broadcast(s, k + 1);
        update(s, k, first, n);
        update_left(s, k);
        return status;
    }
    weft_status status = calls_of(s)->begin_broadcast(
        s->c->ctx, message, s->steps->message_bytes(s->user, k + 1), WEFT_U8, owner_of(s, k + 1));
    if (status == WEFT_OK)
        status = update_driving(s, k, first, n);
    if (status == WEFT_OK)
        STEP(s, s->steps->arrived(s->user, k + 1, message));
    return status;
}

/* ---- all of it ---- */

static weft_status step(wi_sweep *s, size_t k) {
    const size_t first = own_before(s, k + 1), next = own_before(s, k + 2) - first;
    const size_t rest = s->c->own - first - next;
    if (s->ahead && k + 1 < s->blocks) {
        update(s, k, first, next);
        return on_gpu(s) ? step_on_gpu(s, k, first + next, rest)
                         : step_on_cpu(s, k, first + next, rest);
    }
    update(s, k, first, next + rest);
    update_left(s, k);
    if (k + 1 == s->blocks)
        return WEFT_OK;
    factor(s, k + 1, WI_SWEEP_ALL);
    return broadcast(s, k + 1);
}

weft_status wi_sweep_run(wi_sweep *s) {
    weft_status status = WEFT_OK;
    s->status = WEFT_OK;
    if (s->blocks > 0) {
        factor(s, 0, WI_SWEEP_ALL);
        status = broadcast(s, 0);
        end_fork(s);
    }
    for (size_t k = 0; k < s->blocks && status == WEFT_OK; k++)
        status = step(s, k);
    if (status != WEFT_OK)
        return status;
    STEP(s, weft_sync(child_of(s)));
    return wi_agree(s->c->ctx, 0, s->status);
}

unsigned wi_sweep_blocks_beside(const weft_context *child) {
#ifdef WEFT_CUDA
    if (child->gpu && child->gpu->multiprocessors > 2 * WI_LARGEST_CLUSTER)
        return (unsigned)child->gpu->multiprocessors - WI_LARGEST_CLUSTER;
#endif
    (void)child;
    return 0;
}
