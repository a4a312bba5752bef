/* SPDX-License-Identifier: Apache-2.0 */
/* Agreement of the ranks, and the run of a distributed rung. */
#include "comm/dist.h"

#include <stdio.h>
#include <string.h>

#include "core/gpu.h"
#include "core/rowcopy.h"
#include "weft/reduce.h"

uint64_t wi_alike_bytes(uint64_t before, const void *p, size_t bytes) {
    const unsigned char *const b = p;
    uint64_t h = before ^ 0xcbf29ce484222325;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ b[i]) * 0x100000001b3; /* FNV-1a */
    return h;
}

uint64_t wi_alike(uint64_t before, uint64_t argument) {
    return wi_alike_bytes(before, &argument, sizeof argument);
}

/* ---- agreement ---- */

/* Gives all ranks the text of one. */
static weft_status share_text(weft_context *ctx, int from_rank, const char *own,
                              char text[WI_MESSAGE_BYTES]) {
    memset(text, 0, WI_MESSAGE_BYTES);
    strncpy(text, own, WI_MESSAGE_BYTES - 1);
    return ctx->comm->calls->broadcast(ctx, text, WI_MESSAGE_BYTES, WEFT_U8, from_rank);
}

static weft_status share_failure(weft_context *ctx, int rank, weft_status status) {
    char text[WI_MESSAGE_BYTES], own[WI_MESSAGE_BYTES];
    memcpy(own, ctx->message, sizeof own);
    const weft_status shared = share_text(ctx, rank, status == WEFT_OK ? "" : own, text);
    if (status != WEFT_OK) {
        memcpy(ctx->message, own, sizeof own);
        return status;
    }
    return shared != WEFT_OK
               ? shared
               : wi_fail(ctx, WEFT_ECOMM, "%s: rank %d failed: %s", ctx->comm->call, rank, text);
}

/* The ranks are out of step. Says which the first one is that differs from rank 0. */
static weft_status share_difference(weft_context *ctx, uint64_t alike) {
    const wi_comm *const comm = ctx->comm;
    uint64_t first = alike, differs, lowest = 0;
    char text[WI_MESSAGE_BYTES], why[WI_MESSAGE_BYTES];
    weft_status status = comm->calls->broadcast(ctx, &first, 1, WEFT_U64, 0);
    if (status != WEFT_OK)
        return status;
    differs = first == alike ? (uint64_t)comm->size : (uint64_t)comm->rank;
    status = comm->calls->all_reduce(ctx, &differs, &lowest, 1, WEFT_U64, WEFT_MIN);
    if (status == WEFT_OK)
        status = share_text(ctx, (int)lowest, comm->call, text);
    if (status != WEFT_OK)
        return status;
    snprintf(why, sizeof why,
             "the ranks are out of step: rank %d calls %.64s, and rank 0 another function, or the "
             "same with another type, operation or option; make the same calls on all ranks",
             (int)lowest, text);
    return wi_comm_break(ctx, why);
}

weft_status wi_agree(weft_context *ctx, uint64_t alike, weft_status status) {
    const wi_comm *const comm = ctx->comm;
    if (comm->broken)
        return status == WEFT_OK ? wi_comm_check(ctx) : status;
    const uint64_t well = (uint64_t)comm->size;
    const uint64_t own[3] = {status == WEFT_OK ? well : (uint64_t)comm->rank, alike, ~alike};
    uint64_t least[3] = {0};
    const weft_status reached = comm->calls->all_reduce(ctx, own, least, 3, WEFT_U64, WEFT_MIN);
    if (reached != WEFT_OK)
        return status == WEFT_OK ? reached : status;
    if (least[0] != well)
        return share_failure(ctx, (int)least[0], status);
    return least[1] == ~least[2] ? WEFT_OK : share_difference(ctx, alike);
}

/* ---- running ---- */

weft_status wi_dist_run(weft_context *ctx, const wi_ladder *ladder, const char *call,
                        weft_type type, uint64_t alike, weft_status status, const void *args) {
    const wi_row *row = NULL;
    ctx->comm->call = call;
    if (status == WEFT_OK)
        status = wi_choose_row(ctx, ladder, call, type, args, &row);
    alike = wi_alike_bytes(wi_alike(alike, (uint64_t)type), call, strlen(call));
    if (row)
        alike = wi_alike_bytes(alike, row->name, strlen(row->name));
    status = wi_agree(ctx, alike, status);
    if (status != WEFT_OK)
        return status;
    return wi_agree(ctx, alike, wi_run_row(ctx, ladder, row, args));
}

weft_status wi_local(weft_context *ctx, weft_status status) {
    if (status == WEFT_OK || strstr(weft_message(ctx->child), ctx->comm->call))
        return status == WEFT_OK ? status : wi_fail_as(ctx, status, ctx->child);
    return wi_fail(ctx, status, "%s: %s", ctx->comm->call, weft_message(ctx->child));
}

weft_status wi_run_own(weft_context *ctx, const void *own_call) {
    const wi_own_call *const own = own_call;
    return wi_local(ctx, own->call(ctx->child, own->user));
}

weft_status wi_all_words(weft_context *ctx, const uint64_t *own, size_t n, const uint64_t **all) {
    wi_comm *const comm = ctx->comm;
    *all = comm->words;
    if (n > WI_COMM_WORDS)
        return wi_fail(ctx, WEFT_EARG,
                       "wi_all_words: %zu words of each rank, and there is room for %d; send them "
                       "in several messages",
                       n, (int)WI_COMM_WORDS);
    return comm->calls->all_gather(ctx, own, comm->words, n, WEFT_U64);
}

weft_status wi_all_counts(weft_context *ctx, uint64_t n, uint64_t *before, uint64_t *total) {
    const uint64_t *all;
    const weft_status status = wi_all_words(ctx, &n, 1, &all);
    *before = *total = 0;
    for (int r = 0; r < ctx->comm->size && status == WEFT_OK; r++) {
        *before += r < ctx->comm->rank ? all[r] : 0;
        *total += all[r];
    }
    return status;
}

weft_status wi_exchange_counts(weft_context *ctx, const size_t sent[], size_t got[]) {
    const wi_comm *const comm = ctx->comm;
    return comm->calls->all_to_all_v(ctx, sent, comm->ones, got, comm->ones, WEFT_U64);
}

weft_status wi_dist_exchange(weft_context *ctx, const void *from, const size_t sent[], void *to,
                             const size_t got[], size_t width) {
    const size_t ranks = (size_t)ctx->comm->size;
    size_t *const sent_bytes = (size_t *)ctx->comm->words, *const got_bytes = sent_bytes + ranks;
    for (size_t r = 0; r < ranks; r++) {
        sent_bytes[r] = sent[r] * width;
        got_bytes[r] = got[r] * width;
    }
    return ctx->comm->calls->all_to_all_v(ctx, from, sent_bytes, to, got_bytes, WEFT_U8);
}

bool wi_dist_stays(const weft_context *ctx) {
    return ctx->comm->calls->device && ctx->child->gpu;
}

weft_status wi_dist_take_near(weft_context *ctx, size_t n, size_t width, void **p) {
    *p = NULL;
    if (!wi_dist_stays(ctx))
        return wi_dist_take(ctx, n, width, p);
    return n == 0 ? WEFT_OK : wi_local(ctx, weft_alloc(ctx->child, p, n * width));
}

void wi_dist_give_near(weft_context *ctx, void *p) {
    if (wi_dist_stays(ctx))
        weft_free(ctx->child, p);
    else
        wi_host_free(p);
}

weft_status wi_dist_take(weft_context *ctx, size_t n, size_t width, void **p) {
    size_t bytes;
    *p = NULL;
    if (n == 0 || width == 0)
        return WEFT_OK;
    if (!__builtin_mul_overflow(n, width, &bytes))
        *p = wi_host_alloc(bytes);
    if (*p)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_ENOMEM, "%s: no host memory for %zu elements of %zu bytes",
                   ctx->comm->call, n, width);
}

/* ---- arrays that may be on a device ---- */

weft_status wi_dist_copy_rows(weft_context *ctx, void *to, size_t to_pitch_bytes, const void *from,
                              size_t from_pitch_bytes, size_t rows, size_t row_bytes) {
    weft_context *const child = ctx->child;
    const wi_pitched there = {to, to_pitch_bytes},
                     here = {(char *)(uintptr_t)from, from_pitch_bytes};
    if (!wi_is_host(child, from) || !wi_is_host(child, to))
        return wi_local(ctx, wi_copy_rows(child, there, here, rows, row_bytes));
    wi_pitched_copy_all(child, child->threads, there, here, rows, row_bytes);
    return WEFT_OK;
}

static void add_to(void *p, size_t n, size_t width, uint64_t more) {
    for (size_t i = 0; i < n; i++) {
        if (width == 4)
            ((uint32_t *)p)[i] += (uint32_t)more;
        else if (((uint64_t *)p)[i] != WEFT_NOWHERE)
            ((uint64_t *)p)[i] += more;
    }
}

weft_status wi_dist_add(weft_context *ctx, void *p, size_t n, size_t width, uint64_t more) {
    weft_context *const child = ctx->child;
    if (n == 0 || more == 0)
        return WEFT_OK;
    if (wi_is_host(child, p)) {
        add_to(p, n, width, more);
        return WEFT_OK;
    }
    void *host;
    weft_status status = wi_dist_take(ctx, n, width, &host);
    if (status == WEFT_OK)
        status = wi_local(ctx, weft_copy(child, host, p, n * width));
    if (status == WEFT_OK) {
        add_to(host, n, width, more);
        status = wi_local(ctx, weft_copy(child, p, host, n * width));
    }
    wi_host_free(host);
    return status;
}

weft_status wi_dist_drop_first(weft_context *ctx, void *p, size_t n, size_t width) {
    weft_context *const child = ctx->child;
    const size_t bytes = (n - 1) * width;
    if (!p || bytes == 0)
        return WEFT_OK;
    if (wi_is_host(child, p)) {
        memmove(p, (char *)p + width, bytes);
        return WEFT_OK;
    }
    void *copy;
    weft_status status = weft_alloc(child, &copy, bytes);
    if (status == WEFT_OK)
        status = weft_copy(child, copy, (char *)p + width, bytes);
    if (status == WEFT_OK)
        status = weft_copy(child, p, copy, bytes);
    weft_free(child, copy);
    return wi_local(ctx, status);
}

/* ---- steps on memory that the place reaches ---- */

typedef struct entry {
    weft_context *ctx;
    wi_dist_steps steps;
    void *user;
    bool entered;
} entry;

static weft_status enter(weft_context *child, wi_call *call, const wi_part *part, void *user) {
    entry *const e = user;
    int before;
    (void)call;
    weft_status status = wi_gpu_enter(child, &before);
    if (status != WEFT_OK)
        return status;
    e->entered = true;
    status = e->steps(e->ctx, part, e->user);
    wi_gpu_leave(child, before);
    if (status != WEFT_OK)
        wi_take_message(child, e->ctx);
    return status;
}

weft_status wi_dist_call_run(weft_context *ctx, wi_call *call, wi_dist_steps steps, void *user) {
    entry e = {.ctx = ctx, .steps = steps, .user = user};
    const weft_status status = wi_local(ctx, wi_call_run(ctx->child, call, enter, &e));
    return e.entered ? status : wi_agree(ctx, 0, status);
}
