/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes distributed places: a communicator, and each rank's own place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/comm_nccl.h"
#include "comm/comm_staged.h"
#include "comm/dist.h"
#include "comm/gpus.h"
#include "core/cores.h"
#include "core/gpu.h"
#include "core/gpu_limits.h"
#include "core/trace.h"
#include "weft/mpi.h"

#ifdef WEFT_EMU
#    define GPU "emu"
#else
#    define GPU "gpu"
#endif

/* The cores of the machine, divided among its ranks, unless this rank is bound to fewer. */
static int threads_of(const wi_comm *comm) {
    const int quota = wi_cores_of_quota(""), usual = wi_cores_usual();
    int cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    cores = quota > 0 && quota < cores ? quota : cores;
    const int share = cores / comm->host_size > 1 ? cores / comm->host_size : 1;
    return usual < share ? usual : share;
}

static const char prefix[] = "mpi:"; /* of places; what follows is each rank's own place */

/* Writes each rank's own place: `wish`, completed by a GPU's number or a count of threads. */
static void name_place(const weft_context *ctx, const char *wish, char *place, size_t room) {
    char why[WI_MESSAGE_BYTES];
    const char *const threads = getenv("WEFT_THREADS"); /* then it decides, as on place "cpu" */
    const bool gpu = strcmp(wish, GPU) == 0 || (!*wish && wi_gpu_present(why, sizeof why));
    if (gpu && wi_gpu_visible() > 0)
        snprintf(place, room, GPU ":%d", ctx->comm->host_rank % wi_gpu_visible());
    else if ((strcmp(wish, "cpu") == 0 || !*wish) && !(threads && *threads))
        snprintf(place, room, "cpu:%d", threads_of(ctx->comm));
    else
        snprintf(place, room, "%s", *wish ? wish : "cpu");
}

/* Opens the context for this rank's own work, and shares what it has. */
static weft_status open_child(weft_context *ctx, const char *source, const char *whole) {
    char place[WI_PLACE_BYTES];
    const bool bare = strlen(whole) < strlen(prefix); /* "mpi": the best place */
    const char *const wish = bare ? "" : whole + strlen(prefix);
    const bool one_place = strncmp(wish, "cpu", 3) == 0 || strncmp(wish, GPU, strlen(GPU)) == 0;
    if ((!bare && !one_place) || strncmp(wish, GPU "s", strlen(GPU "s")) == 0 ||
        strlen(wish) + strlen(prefix) >= sizeof place)
        return wi_fail(
            ctx, WEFT_EARG,
            "%s: \"%.64s\" is not a place of one rank; after \"mpi:\" write cpu, cpu:N, " GPU
            " or " GPU ":K",
            source, wish);
    name_place(ctx, wish, place, sizeof place);
    const weft_status status = weft_open(&ctx->child, place);
    if (status != WEFT_OK)
        return wi_fail(ctx, status, "%s", weft_message(NULL));
    const weft_context *const child = ctx->child;
    ctx->kind = child->kind;
    ctx->threads = child->threads;
    ctx->device = child->device;
    ctx->machine = child->machine;
    ctx->tracer = child->tracer;
    ctx->gpu = child->gpu;
    ctx->team = child->team;
    return WEFT_OK;
}

/* Where all ranks work on GPUs the communicator gets to take their memory: by NCCL, which wants a
 * GPU for each rank, in messages by MPI itself, or through pinned memory. */
static weft_status open_device_steps(weft_context *ctx) {
    enum {
        PIECE = 1 << 20 /* elements */
    };
    wi_comm *const comm = ctx->comm;
    bool all_on_gpus = false, all_alone = false;
    if (comm->size == 1)
        return WEFT_OK;
    weft_status status = wi_comm_all_say(ctx, ctx->gpu, &all_on_gpus);
    comm->takes_device = comm->takes_device && all_on_gpus;
    if (status != WEFT_OK || !all_on_gpus)
        return status;
    comm->piece = PIECE;
    status = wi_agree(ctx, 0, wi_comm_staged_open(ctx));
    if (status == WEFT_OK)
        status = wi_comm_all_say(ctx, comm->host_size <= wi_gpu_visible(), &all_alone);
    if (status == WEFT_OK && all_alone)
        wi_comm_nccl_open(ctx);
    return status;
}

/* What weft_comm tells. */
static void describe(weft_context *ctx) {
    wi_comm *const comm = ctx->comm;
    const int gpus = ctx->gpu ? wi_gpu_visible() : 0;
    const char *shares = "";
    char library[WI_COMM_ABOUT_BYTES];
    if (comm->size == 1)
        return;
    if (gpus > 0 && comm->host_size > gpus)
        shares = wi_gpu_has_service(ctx->device) ? ", which share its GPUs by MPS"
                                                 : ", which share its GPUs, in turns: MPS is off";
    memcpy(library, comm->about, sizeof library);
    const char *const memory = !comm->staged        ? ""
                               : comm->takes_device ? "; it takes memory of GPUs"
                                                    : "; memory of GPUs is staged";
    snprintf(comm->about, sizeof comm->about, "%.60s: %d ranks, %d on this machine%s%s", library,
             comm->size, comm->host_size, shares, memory);
}

weft_status wi_dist_room(weft_context *ctx, const char *source) {
    wi_comm *const comm = ctx->comm;
    const size_t size = (size_t)comm->size;
    comm->words = wi_host_alloc(size * (WI_COMM_WORDS * sizeof(uint64_t) + sizeof(size_t)));
    if (!comm->words)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no host memory for a communicator", source);
    comm->ones = (size_t *)(comm->words + size * WI_COMM_WORDS);
    for (size_t r = 0; r < size; r++)
        comm->ones[r] = 1;
    return WEFT_OK;
}

weft_status wi_dist_open(weft_context *ctx, const char *source, const char *place,
                         const void *handed) {
    ctx->comm = wi_host_alloc(sizeof *ctx->comm);
    if (!ctx->comm)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no host memory for a communicator", source);
    *ctx->comm = (wi_comm){.call = source};
    weft_status status = wi_comm_mpi_open(ctx, handed);
    if (status != WEFT_OK)
        return status;
    status = wi_dist_room(ctx, source);
    if (status == WEFT_OK)
        status = open_child(ctx, source, place);
    status = wi_agree(ctx, 0, status);
    if (status == WEFT_OK)
        status = open_device_steps(ctx);
    if (status != WEFT_OK)
        return status;
    snprintf(ctx->place, sizeof ctx->place, "%s%.*s", prefix,
             (int)(sizeof ctx->place - sizeof prefix), ctx->child->place);
    describe(ctx);
    return WEFT_OK;
}

/* Ends the record of this rank, if there is one. */
static void gather_trace(weft_context *ctx, weft_status status) {
    wi_note note;
    wi_trace *const trace = wi_trace_collect(ctx->child);
    ctx->tracer = NULL;
    if (status == WEFT_OK)
        wi_trace_gather(ctx, trace);
    if (trace)
        wi_trace_leave(trace, &note);
}

void wi_dist_close(weft_context *ctx) {
    static const char name[] = "weft_close";
    wi_comm *const comm = ctx->comm;
    if (comm->calls && ctx->place[0]) { /* it was open */
        comm->call = name;
        const weft_status status = wi_agree(ctx, wi_alike_bytes(0, name, sizeof name), WEFT_OK);
        gather_trace(ctx, status);
        if (status == WEFT_OK)
            wi_comm_nccl_end(ctx);
    }
    wi_comm_grid_close(ctx);
    if (comm->calls)
        comm->calls->close(ctx);
    weft_close(ctx->child);
    if (comm->broken)
        return; /* MPI may still write to its words */
    wi_host_free(comm->words);
    wi_host_free(comm);
}

/* ---- public ---- */

int weft_rank(const weft_context *ctx) {
    return ctx && ctx->comm ? ctx->comm->rank : 0;
}

int weft_ranks(const weft_context *ctx) {
    return ctx && ctx->comm ? ctx->comm->size : 1;
}

const char *weft_comm(const weft_context *ctx) {
    if (ctx && wi_is_gpus(ctx))
        return wi_gpus_about(ctx);
    return ctx && ctx->comm ? ctx->comm->about : "";
}

weft_status weft_own_count(weft_context *ctx, const uint64_t *count, uint64_t *own) {
    static const char name[] = "weft_own_count";
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    if (!count || !own)
        return wi_fail(ctx, WEFT_EARG, "%s: %s is NULL; pass the address of a uint64_t", name,
                       count ? "own" : "count");
    if (!ctx->comm)
        return weft_copy(ctx, own, count, sizeof *own);
    *own = ctx->comm->own_count;
    return WEFT_OK;
}
