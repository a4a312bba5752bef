/* SPDX-License-Identifier: Apache-2.0 */
/* Mailboxes between the GPUs of a process: their memory, when it is taken, and why it was not. */
#include "comm/comm_mailbox_open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/gpus.h"

#ifdef WEFT_CUDA

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
static wi_mail_state try_all(weft_context *ctx, wi_mailboxes *all) {
    const char *const blocking = getenv("CUDA_LAUNCH_BLOCKING"), *why;
    weft_context *rank[WI_MOST_GPUS];
    int before;
    for (int r = 0; r < all->ranks; r++)
        rank[r] = wi_gpus_rank(ctx, r);
    if (blocking && strcmp(blocking, "1") == 0) {
        snprintf(all->why, sizeof all->why, "CUDA_LAUNCH_BLOCKING is 1");
        return WI_MAIL_NONE;
    }
    if (!wi_dealt_reaches(wi_gpus_dealt(ctx), &why)) {
        snprintf(all->why, sizeof all->why, "%s", why);
        return WI_MAIL_NONE;
    }
    if (wi_gpu_enter(ctx->child, &before) != WEFT_OK) {
        snprintf(all->why, sizeof all->why, "a GPU is lost");
        return WI_MAIL_NONE;
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
    return error == cudaSuccess ? WI_MAIL_OPEN : WI_MAIL_NONE;
}

bool wi_mailboxes_are_open(weft_context *ctx, wi_mailboxes *all) {
    if (atomic_load(&all->state) == WI_MAIL_UNTRIED) {
        pthread_mutex_lock(&all->lock);
        if (atomic_load(&all->state) == WI_MAIL_UNTRIED)
            atomic_store(&all->state, try_all(ctx, all));
        pthread_mutex_unlock(&all->lock);
    }
    return atomic_load(&all->state) == WI_MAIL_OPEN;
}

void wi_comm_mailbox_open(weft_context *rank, wi_mailboxes *all) {
    if (!all)
        return;
    rank->comm->mail = all;
    rank->comm->by_mail = all->wished;
    wi_comm_layers_open(rank, false);
}

const char *wi_comm_mailbox_about(const weft_context *rank) {
    wi_mailboxes *const all = rank->comm ? rank->comm->mail : NULL;
    const wi_mail_state state = all ? (wi_mail_state)atomic_load(&all->state) : WI_MAIL_UNTRIED;
    if (state == WI_MAIL_UNTRIED)
        return "";
    if (state == WI_MAIL_OPEN)
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

const char *wi_comm_mailbox_about(const weft_context *rank) {
    (void)rank;
    return "";
}
#endif
