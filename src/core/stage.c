/* SPDX-License-Identifier: Apache-2.0 */
/* Host data on a GPU place: the rungs of the ladder "stage". Their sizes count bytes of host data.
 */
#include "core/stage.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "core/conveyor.h"
#include "core/gpu.h"
#include "core/rowcopy.h"
#include "core/rows.h"
#include "core/stage_plan.h"

enum {
    SLOTS = 4, /* segments on their way at once */
    SEGMENT_BYTES =
        8 << 20, /* in the busier direction; all slots together fit a last-level cache */
    PIECE_BYTES = 256 << 10, /* what a thread copies before it looks for other work */
    LANE_ALIGNMENT = 256,
    AREA_BYTES = SEGMENT_BYTES + WI_MAX_OPERANDS * LANE_ALIGNMENT, /* of one slot and direction */
    MOST_COPIERS = 14 /* more threads than saturate the memory only get in each other's way */
};

/* What a context keeps between calls. */
struct wi_stage {
    bool has_ring; /* all of the next five exist */
    cudaStream_t in, out;
    struct {
        cudaEvent_t arrived, computed, finished;
    } events[SLOTS];
    char *pinned; /* SLOTS areas for inputs, then SLOTS areas for outputs */
    char *device; /* SLOTS times two areas */
    char *whole;  /* pinned memory of the rung that stages whole arrays */
    size_t whole_bytes;
};

/* One call on its way through a rung. */
typedef struct job {
    weft_context *ctx;
    const wi_stage_args *args;
    wi_lanes lanes;
    wi_memory memory[WI_MAX_OPERANDS]; /* by lane */
    size_t host_bytes;                 /* all that must cross the link */
    /* Of the segmented rung: where lanes lie in a slot's areas. */
    wi_plan plan;
    size_t in_at[WI_MAX_OPERANDS], out_at[WI_MAX_OPERANDS], device_at[WI_MAX_OPERANDS];
} job;

static int copiers(const weft_context *ctx) {
    return ctx->threads < MOST_COPIERS ? ctx->threads : MOST_COPIERS;
}

static size_t align_up(size_t bytes) {
    return (bytes + LANE_ALIGNMENT - 1) / LANE_ALIGNMENT * LANE_ALIGNMENT;
}

static bool on_device(const job *j, int k) {
    return j->memory[k] == WI_MEMORY_DEVICE;
}

static bool bounces_in(const job *j, int k) {
    return j->memory[k] == WI_MEMORY_PAGEABLE && j->lanes.lane[k].in;
}

static bool bounces_out(const job *j, int k) {
    return j->memory[k] == WI_MEMORY_PAGEABLE && j->lanes.lane[k].out;
}

/* Queues a copy of rows, by one command where the runtime can express it. */
static weft_status queue_rows(weft_context *ctx, wi_rows to, wi_rows from, size_t rows,
                              size_t row_bytes, cudaStream_t stream) {
    const bool dense = to.pitch_bytes == row_bytes && from.pitch_bytes == row_bytes;
    if (rows == 1 || dense)
        return wi_cuda(ctx,
                       cudaMemcpyAsync(to.p, from.p, rows * row_bytes, cudaMemcpyDefault, stream),
                       "queueing a copy between host and device");
    if (to.pitch_bytes <= INT_MAX && from.pitch_bytes <= INT_MAX)
        return wi_cuda(ctx,
                       cudaMemcpy2DAsync(to.p, to.pitch_bytes, from.p, from.pitch_bytes, row_bytes,
                                         rows, cudaMemcpyDefault, stream),
                       "queueing a copy of rows between host and device");
    weft_status status = WEFT_OK;
    for (size_t row = 0; row < rows && status == WEFT_OK; row++)
        status =
            queue_rows(ctx, (wi_rows){to.p + row * to.pitch_bytes, row_bytes},
                       (wi_rows){from.p + row * from.pitch_bytes, row_bytes}, 1, row_bytes, stream);
    return status;
}

/* Runs the caller's kernel on a segment; at[k] is where lane k was put, rows dense, unless it is
 * device memory already. */
static weft_status run_segment(const job *j, wi_segment s, char *const at[]) {
    void *p[WI_MAX_OPERANDS];
    size_t ld[WI_MAX_OPERANDS];
    for (int k = 0; k < j->args->operands; k++) {
        const int lane = j->lanes.of[k];
        const wi_operand *const o = &j->lanes.lane[lane];
        const bool direct = on_device(j, lane);
        p[k] = direct ? wi_lane_at(&j->lanes, lane, s.row, s.col) : at[lane];
        ld[k] = direct ? o->pitch_bytes / o->element_bytes : s.cols;
    }
    return j->args->run(j->ctx, j->args->user, s.row * j->lanes.cols + s.col, s.rows, s.cols, p,
                        ld);
}

/* ---- whole arrays in one go: rungs "pageable" and "pinned" ---- */

static weft_status reserve_whole(const job *j, size_t bytes) {
    struct wi_stage *const stage = j->ctx->gpu->stage;
    if (bytes <= stage->whole_bytes)
        return WEFT_OK;
    cudaFreeHost(stage->whole);
    stage->whole = NULL;
    stage->whole_bytes = 0;
    const weft_status status =
        wi_cuda(j->ctx, cudaHostAlloc((void **)&stage->whole, bytes, cudaHostAllocDefault),
                "taking pinned host memory for whole arrays; variant segmented needs less");
    if (status == WEFT_OK)
        stage->whole_bytes = bytes;
    else
        stage->whole = NULL;
    return status;
}

/* How one lane crosses the link in one go. */
typedef struct crossing {
    char *device[WI_MAX_OPERANDS]; /* dense copies; NULL for lanes that are on the device */
    wi_rows host[WI_MAX_OPERANDS]; /* what the link reads and writes: bounce buffer or the array */
    size_t row_bytes[WI_MAX_OPERANDS];
} crossing;

static wi_rows user_rows(const job *j, int k) {
    return (wi_rows){j->lanes.lane[k].p, j->lanes.lane[k].pitch_bytes};
}

/* Takes device memory for all lanes and, if they are to bounce, pinned memory. */
static weft_status reserve_crossing(const job *j, bool bounce, crossing *c) {
    size_t pinned_bytes = 0, pinned_at[WI_MAX_OPERANDS];
    weft_status status = WEFT_OK;
    for (int k = 0; k < j->lanes.count && status == WEFT_OK; k++) {
        c->row_bytes[k] = j->lanes.cols * j->lanes.lane[k].element_bytes;
        c->host[k] = user_rows(j, k);
        if (on_device(j, k))
            continue;
        const size_t bytes = j->lanes.rows * c->row_bytes[k];
        pinned_at[k] = pinned_bytes;
        pinned_bytes += align_up(bytes);
        status = wi_gpu_alloc(j->ctx, (void **)&c->device[k], bytes);
    }
    if (status != WEFT_OK || !bounce)
        return status;
    status = reserve_whole(j, pinned_bytes);
    for (int k = 0; k < j->lanes.count && status == WEFT_OK; k++)
        if (j->memory[k] == WI_MEMORY_PAGEABLE)
            c->host[k] = (wi_rows){j->ctx->gpu->stage->whole + pinned_at[k], c->row_bytes[k]};
    return status;
}

static weft_status cross_over(const job *j, const crossing *c, bool bounce) {
    weft_status status = WEFT_OK;
    for (int k = 0; k < j->lanes.count && status == WEFT_OK; k++) {
        if (on_device(j, k) || !j->lanes.lane[k].in)
            continue;
        if (bounce && bounces_in(j, k))
            wi_rows_copy_all(j->ctx, copiers(j->ctx), c->host[k], user_rows(j, k), j->lanes.rows,
                             c->row_bytes[k]);
        status = queue_rows(j->ctx, (wi_rows){c->device[k], c->row_bytes[k]}, c->host[k],
                            j->lanes.rows, c->row_bytes[k], j->ctx->gpu->stream);
    }
    return status;
}

static weft_status cross_back(const job *j, const crossing *c, bool bounce) {
    weft_status status = WEFT_OK;
    for (int k = 0; k < j->lanes.count && status == WEFT_OK; k++)
        if (!on_device(j, k) && j->lanes.lane[k].out)
            status = queue_rows(j->ctx, c->host[k], (wi_rows){c->device[k], c->row_bytes[k]},
                                j->lanes.rows, c->row_bytes[k], j->ctx->gpu->stream);
    if (status == WEFT_OK)
        status = wi_cuda(j->ctx, cudaStreamSynchronize(j->ctx->gpu->stream),
                         "waiting for outputs on their way to the host");
    for (int k = 0; k < j->lanes.count && status == WEFT_OK; k++)
        if (bounce && bounces_out(j, k))
            wi_rows_copy_all(j->ctx, copiers(j->ctx), user_rows(j, k), c->host[k], j->lanes.rows,
                             c->row_bytes[k]);
    return status;
}

static weft_status run_whole(const job *j, bool bounce) {
    crossing c = {.device = {NULL}};
    weft_status status = reserve_crossing(j, bounce, &c);
    if (status != WEFT_OK)
        goto done;
    status = cross_over(j, &c, bounce);
    if (status != WEFT_OK)
        goto done;
    status = run_segment(j, (wi_segment){0, 0, j->lanes.rows, j->lanes.cols}, c.device);
    if (status == WEFT_OK)
        status = cross_back(j, &c, bounce);
done:
    /* After a failure too, nothing may be on its way to memory that the caller has back. */
    if (status != WEFT_OK)
        cudaStreamSynchronize(j->ctx->gpu->stream);
    for (int k = 0; k < j->lanes.count; k++)
        if (c.device[k])
            cudaFreeAsync(c.device[k], j->ctx->gpu->stream);
    return status;
}

static weft_status run_pageable(weft_context *ctx, const void *args) {
    (void)ctx;
    return run_whole(args, false);
}

static weft_status run_pinned(weft_context *ctx, const void *args) {
    (void)ctx;
    return run_whole(args, true);
}

/* ---- segment by segment: rung "segmented" ---- */

static weft_status create_ring(weft_context *ctx) {
    struct wi_gpu *const gpu = ctx->gpu;
    struct wi_stage *const r = gpu->stage;
    cudaError_t error = cudaStreamCreateWithFlags(&r->in, cudaStreamNonBlocking);
    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&r->out, cudaStreamNonBlocking);
    for (int k = 0; k < SLOTS && error == cudaSuccess; k++) {
        error = cudaEventCreateWithFlags(&r->events[k].arrived, cudaEventDisableTiming);
        if (error == cudaSuccess)
            error = cudaEventCreateWithFlags(&r->events[k].computed, cudaEventDisableTiming);
        if (error == cudaSuccess)
            error = cudaEventCreateWithFlags(&r->events[k].finished, cudaEventDisableTiming);
    }
    if (error == cudaSuccess)
        error = cudaHostAlloc((void **)&r->pinned, 2 * SLOTS * (size_t)AREA_BYTES,
                              cudaHostAllocDefault);
    if (error == cudaSuccess)
        error = cudaMallocFromPoolAsync((void **)&r->device, 2 * SLOTS * (size_t)AREA_BYTES,
                                        gpu->pool, gpu->own);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(gpu->own);
    return wi_cuda(ctx, error, "setting up pinned buffers and streams for host data");
}

/* Frees the ring, or as much of it as there is. */
static void drop_ring(weft_context *ctx) {
    struct wi_stage *const r = ctx->gpu->stage;
    for (int k = 0; k < SLOTS; k++) {
        const cudaEvent_t events[] = {r->events[k].arrived, r->events[k].computed,
                                      r->events[k].finished};
        for (size_t e = 0; e < sizeof events / sizeof *events; e++)
            if (events[e])
                cudaEventDestroy(events[e]);
    }
    if (r->in)
        cudaStreamDestroy(r->in);
    if (r->out)
        cudaStreamDestroy(r->out);
    if (r->pinned)
        cudaFreeHost(r->pinned);
    if (r->device)
        cudaFreeAsync(r->device, ctx->gpu->own);
    *r = (struct wi_stage){.whole = r->whole, .whole_bytes = r->whole_bytes};
}

static weft_status ensure_ring(weft_context *ctx) {
    struct wi_stage *const r = ctx->gpu->stage;
    if (r->has_ring)
        return WEFT_OK;
    const weft_status status = create_ring(ctx);
    if (status == WEFT_OK)
        r->has_ring = true;
    else
        drop_ring(ctx);
    return status;
}

/* Cuts the call up and lays the lanes of a full segment out in a slot. */
static void lay_out(job *j) {
    size_t in_bytes = 0, out_bytes = 0; /* of one element of every lane */
    for (int k = 0; k < j->lanes.count; k++) {
        const wi_operand *const o = &j->lanes.lane[k];
        in_bytes += on_device(j, k) || !o->in ? 0 : o->element_bytes;
        out_bytes += on_device(j, k) || !o->out ? 0 : o->element_bytes;
    }
    const size_t busiest = in_bytes > out_bytes ? in_bytes : out_bytes;
    j->plan =
        wi_plan_of(j->lanes.rows, j->lanes.cols,
                   wi_plan_most(j->lanes.rows * j->lanes.cols, busiest, (size_t)SEGMENT_BYTES));
    size_t in = 0, out = 0, device = 0;
    for (int k = 0; k < j->lanes.count; k++) {
        const wi_operand *const o = &j->lanes.lane[k];
        const size_t bytes = align_up(j->plan.rows_each * j->plan.cols_each * o->element_bytes);
        j->in_at[k] = in;
        j->out_at[k] = out;
        j->device_at[k] = device;
        in += bounces_in(j, k) ? bytes : 0;
        out += bounces_out(j, k) ? bytes : 0;
        device += on_device(j, k) ? 0 : bytes;
    }
}

static char *in_area(const job *j, size_t segment, int k) {
    return j->ctx->gpu->stage->pinned + segment % SLOTS * AREA_BYTES + j->in_at[k];
}

static char *out_area(const job *j, size_t segment, int k) {
    return j->ctx->gpu->stage->pinned + (SLOTS + segment % SLOTS) * AREA_BYTES + j->out_at[k];
}

static char *device_area(const job *j, size_t segment, int k) {
    return j->ctx->gpu->stage->device + segment % SLOTS * 2 * AREA_BYTES + j->device_at[k];
}

/* A lane's part of a segment, in the caller's array. */
static wi_rows user_part(const job *j, wi_segment s, int k) {
    return (wi_rows){wi_lane_at(&j->lanes, k, s.row, s.col), j->lanes.lane[k].pitch_bytes};
}

/* Copies piece `piece` of those lanes that bounce in (or out), read one after the other. */
static void copy_piece(const job *j, size_t segment, size_t piece, bool in) {
    const wi_segment s = wi_plan_segment(&j->plan, segment);
    const size_t begin = piece * PIECE_BYTES, end = begin + PIECE_BYTES;
    size_t lane_begin = 0;
    for (int k = 0; k < j->lanes.count; k++) {
        if (in ? !bounces_in(j, k) : !bounces_out(j, k))
            continue;
        const size_t row_bytes = s.cols * j->lanes.lane[k].element_bytes;
        const size_t lane_end = lane_begin + s.rows * row_bytes;
        const size_t from = begin > lane_begin ? begin : lane_begin;
        const size_t to = end < lane_end ? end : lane_end;
        const wi_rows user = user_part(j, s, k);
        const wi_rows area = {in ? in_area(j, segment, k) : out_area(j, segment, k), row_bytes};
        if (from < to)
            wi_rows_copy(in ? area : user, in ? user : area, row_bytes, from - lane_begin,
                         to - lane_begin);
        lane_begin = lane_end;
    }
}

static void fill_piece(void *user, size_t segment, size_t piece) {
    copy_piece(user, segment, piece, true);
}

static void drain_piece(void *user, size_t segment, size_t piece) {
    copy_piece(user, segment, piece, false);
}

/* Pieces of a full segment, on the way in or out. */
static size_t pieces(const job *j, bool in) {
    size_t bytes = 0;
    for (int k = 0; k < j->lanes.count; k++)
        if (in ? bounces_in(j, k) : bounces_out(j, k))
            bytes += j->plan.rows_each * j->plan.cols_each * j->lanes.lane[k].element_bytes;
    return (bytes + PIECE_BYTES - 1) / PIECE_BYTES;
}

static weft_status send_inputs(const job *j, size_t segment, wi_segment s) {
    struct wi_stage *const r = j->ctx->gpu->stage;
    weft_status status = WEFT_OK;
    for (int k = 0; k < j->lanes.count && status == WEFT_OK; k++) {
        if (on_device(j, k) || !j->lanes.lane[k].in)
            continue;
        const size_t row_bytes = s.cols * j->lanes.lane[k].element_bytes;
        const wi_rows from =
            bounces_in(j, k) ? (wi_rows){in_area(j, segment, k), row_bytes} : user_part(j, s, k);
        status = queue_rows(j->ctx, (wi_rows){device_area(j, segment, k), row_bytes}, from, s.rows,
                            row_bytes, r->in);
    }
    if (status != WEFT_OK)
        return status;
    const cudaEvent_t arrived = r->events[segment % SLOTS].arrived;
    status = wi_cuda(j->ctx, cudaEventRecord(arrived, r->in), "marking inputs sent");
    if (status == WEFT_OK)
        status = wi_cuda(j->ctx, cudaStreamWaitEvent(j->ctx->gpu->stream, arrived, 0),
                         "making the kernel wait for its inputs");
    return status;
}

static weft_status send_outputs(const job *j, size_t segment, wi_segment s) {
    struct wi_stage *const r = j->ctx->gpu->stage;
    const cudaEvent_t computed = r->events[segment % SLOTS].computed;
    weft_status status = wi_cuda(j->ctx, cudaEventRecord(computed, j->ctx->gpu->stream),
                                 "marking a segment computed");
    if (status == WEFT_OK)
        status = wi_cuda(j->ctx, cudaStreamWaitEvent(r->out, computed, 0),
                         "making outputs wait for their kernel");
    for (int k = 0; k < j->lanes.count && status == WEFT_OK; k++) {
        if (on_device(j, k) || !j->lanes.lane[k].out)
            continue;
        const size_t row_bytes = s.cols * j->lanes.lane[k].element_bytes;
        const wi_rows to =
            bounces_out(j, k) ? (wi_rows){out_area(j, segment, k), row_bytes} : user_part(j, s, k);
        status = queue_rows(j->ctx, to, (wi_rows){device_area(j, segment, k), row_bytes}, s.rows,
                            row_bytes, r->out);
    }
    if (status != WEFT_OK)
        return status;
    return wi_cuda(j->ctx, cudaEventRecord(r->events[segment % SLOTS].finished, r->out),
                   "marking outputs sent");
}

static weft_status submit_segment(void *user, size_t segment) {
    const job *const j = user;
    const wi_segment s = wi_plan_segment(&j->plan, segment);
    char *at[WI_MAX_OPERANDS];
    for (int k = 0; k < j->lanes.count; k++)
        at[k] = device_area(j, segment, k);
    weft_status status = send_inputs(j, segment, s);
    if (status == WEFT_OK)
        status = run_segment(j, s, at);
    return status == WEFT_OK ? send_outputs(j, segment, s) : status;
}

static weft_status ask(const job *j, cudaEvent_t event, bool *yes) {
    const cudaError_t error = cudaEventQuery(event);
    *yes = error == cudaSuccess;
    if (error == cudaErrorNotReady) {
        cudaGetLastError();
        return WEFT_OK;
    }
    return wi_cuda(j->ctx, error, "asking how far a segment has got");
}

static weft_status has_arrived(void *user, size_t segment, bool *yes) {
    const job *const j = user;
    return ask(j, j->ctx->gpu->stage->events[segment % SLOTS].arrived, yes);
}

static weft_status has_finished(void *user, size_t segment, bool *yes) {
    const job *const j = user;
    return ask(j, j->ctx->gpu->stage->events[segment % SLOTS].finished, yes);
}

/* Copies must not overtake work queued before this call, on whatever memory it works. */
static weft_status follow_queued_work(weft_context *ctx) {
    struct wi_gpu *const gpu = ctx->gpu;
    weft_status status =
        wi_cuda(ctx, cudaEventRecord(gpu->order, gpu->stream), "marking the work queued so far");
    if (status == WEFT_OK)
        status = wi_cuda(ctx, cudaStreamWaitEvent(gpu->stage->in, gpu->order, 0),
                         "making inputs wait for the work queued so far");
    return status;
}

static weft_status run_segmented(weft_context *ctx, const void *args) {
    job j = *(const job *)args;
    weft_status status = ensure_ring(ctx);
    if (status == WEFT_OK)
        status = follow_queued_work(ctx);
    if (status != WEFT_OK)
        return status;
    lay_out(&j);
    const wi_conveyor conveyor = {
        .ctx = ctx,
        .segments = j.plan.count,
        .slots = SLOTS,
        .fill_pieces = pieces(&j, true),
        .drain_pieces = pieces(&j, false),
        .threads = copiers(ctx),
        .user = &j,
        .fill = fill_piece,
        .drain = drain_piece,
        .submit = submit_segment,
        .arrived = has_arrived,
        .finished = has_finished,
    };
    status = wi_conveyor_run(&conveyor);
    /* After a failure too, nothing may be on its way to memory that the caller has back. */
    const cudaError_t in = cudaStreamSynchronize(ctx->gpu->stage->in);
    const cudaError_t kernels = cudaStreamSynchronize(ctx->gpu->stream);
    const cudaError_t out = cudaStreamSynchronize(ctx->gpu->stage->out);
    const cudaError_t first = in != cudaSuccess ? in : kernels != cudaSuccess ? kernels : out;
    if (status == WEFT_OK)
        status = wi_cuda(ctx, first, "waiting for the last segments");
    return status;
}

/* ---- the ladder and its entry ---- */

/* Costs on an H200 whose link carries 55 GB/s each way: what a rung needs to begin, and how many
 * bytes then cross the link in a second. */
static double link_seconds(const void *args, double begin_s, double bytes_per_s) {
    return begin_s + (double)((const job *)args)->host_bytes / bytes_per_s;
}

static double pageable_seconds(const weft_context *ctx, const void *args) {
    (void)ctx;
    return link_seconds(args, 0, 6.5e9);
}

static double pinned_seconds(const weft_context *ctx, const void *args) {
    (void)ctx;
    return link_seconds(args, 6.6e-6, 19e9);
}

static double segmented_seconds(const weft_context *ctx, const void *args) {
    (void)ctx;
    return link_seconds(args, 41.2e-6, 51e9);
}

static const wi_row rows[] = {
    {.name = "pageable",
     .what = "whole arrays, copied by the driver from where they lie",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = pageable_seconds,
     .run = run_pageable},
    {.name = "pinned",
     .what = "whole arrays through pinned memory, filled by several threads",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = pinned_seconds,
     .run = run_pinned},
    {.name = "segmented",
     .what = "segments: threads, link and kernels all busy at once",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = segmented_seconds,
     .run = run_segmented},
};

const wi_ladder wi_stage_ladder = {"stage", rows, sizeof rows / sizeof *rows};

static weft_status ensure_stage(weft_context *ctx) {
    if (ctx->gpu->stage)
        return WEFT_OK;
    ctx->gpu->stage = wi_host_alloc(sizeof *ctx->gpu->stage);
    if (!ctx->gpu->stage)
        return wi_fail(ctx, WEFT_ENOMEM, "no host memory for staging (%zu bytes)",
                       sizeof *ctx->gpu->stage);
    *ctx->gpu->stage = (struct wi_stage){.has_ring = false};
    return WEFT_OK;
}

void wi_stage_close(weft_context *ctx) {
    struct wi_stage *const stage = ctx->gpu->stage;
    if (!stage)
        return;
    drop_ring(ctx);
    if (stage->whole)
        cudaFreeHost(stage->whole);
    wi_host_free(stage);
    ctx->gpu->stage = NULL;
}

static job job_of(weft_context *ctx, const wi_stage_args *args) {
    job j = {.ctx = ctx, .args = args, .lanes = wi_lanes_of(args)};
    for (int k = 0; k < j.lanes.count; k++) {
        const wi_operand *const o = &j.lanes.lane[k];
        j.memory[k] = wi_gpu_memory(ctx, o->p, wi_lane_span(&j.lanes, k));
        if (!on_device(&j, k))
            j.host_bytes +=
                j.lanes.rows * j.lanes.cols * o->element_bytes * ((size_t)o->in + (size_t)o->out);
    }
    return j;
}

weft_status wi_stage_run(weft_context *ctx, const wi_stage_args *args) {
    if (args->rows == 0 || args->cols == 0)
        return WEFT_OK;
    const job j = job_of(ctx, args);
    if (j.host_bytes == 0)
        return run_segment(&j, (wi_segment){0, 0, j.lanes.rows, j.lanes.cols},
                           (char *[WI_MAX_OPERANDS]){NULL});
    if (wi_gpu_capturing(ctx))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: host memory cannot take part in a stream capture; pass device memory",
                       args->call);
    weft_status status = ensure_stage(ctx);
    if (status != WEFT_OK)
        return status;
    /* A capture elsewhere in the program, in "global" mode, would forbid asking events. */
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(&mode);
    status = wi_run(ctx, &wi_stage_ladder, args->call, WI_NO_TYPE, &j);
    cudaThreadExchangeStreamCaptureMode(&mode);
    return status;
}
