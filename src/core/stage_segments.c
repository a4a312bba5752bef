/* SPDX-License-Identifier: Apache-2.0 */
/* Staging by segments: the rung "segmented". While one segment's inputs travel to the device,
 * earlier ones are computed or travel back, and host threads copy between the caller's arrays and
 * the pinned buffers. */
#include "core/conveyor.h"
#include "core/stage_job.h"

enum {
    SEGMENT_BYTES = 8 << 20,      /* in the direction with more; all slots fit a last-level cache */
    PIECE_BYTES = 256 << 10,      /* what a thread copies before it looks for other work */
    SMALL_PIECE_BYTES = 32 << 10, /* the same where segments are small: many threads have a part */
    AREA_BYTES = SEGMENT_BYTES + WI_MAX_OPERANDS * WI_STAGE_ALIGNMENT /* of a slot and direction */
};

/* A call cut up, and where its arrays lie in the areas of a slot. */
typedef struct job {
    const wi_stage_job *call;
    wi_plan plan;
    size_t piece_bytes;
    size_t in_at[WI_MAX_OPERANDS], out_at[WI_MAX_OPERANDS], device_at[WI_MAX_OPERANDS];
} job;

static weft_status create_ring(weft_context *ctx) {
    struct wi_stage *const r = ctx->gpu->stage;
    cudaError_t error = cudaStreamCreateWithFlags(&r->in, cudaStreamNonBlocking);
    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&r->out, cudaStreamNonBlocking);
    for (int k = 0; k < WI_STAGE_SLOTS && error == cudaSuccess; k++) {
        error = cudaEventCreateWithFlags(&r->events[k].arrived, cudaEventDisableTiming);
        if (error == cudaSuccess)
            error = cudaEventCreateWithFlags(&r->events[k].computed, cudaEventDisableTiming);
        if (error == cudaSuccess)
            error = cudaEventCreateWithFlags(&r->events[k].finished, cudaEventDisableTiming);
    }
    if (error == cudaSuccess)
        error = cudaHostAlloc((void **)&r->pinned, 2 * WI_STAGE_SLOTS * (size_t)AREA_BYTES,
                              cudaHostAllocDefault);
    return wi_cuda(ctx, error, "setting up pinned buffers and streams for host data");
}

void wi_stage_drop_ring(weft_context *ctx) {
    struct wi_stage *const r = ctx->gpu->stage;
    for (int k = 0; k < WI_STAGE_SLOTS; k++) {
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
        wi_stage_drop_ring(ctx);
    return status;
}

static weft_status ensure_device_areas(weft_context *ctx) {
    struct wi_gpu *const gpu = ctx->gpu;
    struct wi_stage *const r = gpu->stage;
    if (r->device)
        return WEFT_OK;
    cudaError_t error = cudaMallocFromPoolAsync(
        (void **)&r->device, 2 * WI_STAGE_SLOTS * (size_t)AREA_BYTES, gpu->pool, gpu->own);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(gpu->own);
    else
        r->device = NULL;
    return wi_cuda(ctx, error, "taking buffers on the device for host data");
}

/* Cuts the call into segments, and finds where the arrays of a full one lie in a slot. */
static void lay_out(job *j) {
    size_t in_bytes = 0, out_bytes = 0; /* of one element of every array */
    for (int k = 0; k < j->call->arrays.count; k++) {
        const wi_operand *const o = &j->call->arrays.array[k];
        in_bytes += wi_on_device(j->call, k) || !o->in ? 0 : o->element_bytes;
        out_bytes += wi_on_device(j->call, k) || !o->out ? 0 : o->element_bytes;
    }
    const size_t busiest = in_bytes > out_bytes ? in_bytes : out_bytes;
    j->plan = wi_plan_of(
        j->call->arrays.rows, j->call->arrays.cols,
        wi_plan_most(j->call->arrays.rows * j->call->arrays.cols, busiest, (size_t)SEGMENT_BYTES));
    const size_t segment = j->plan.rows_each * j->plan.cols_each * busiest;
    j->piece_bytes = segment < SEGMENT_BYTES / 4 * 3 ? SMALL_PIECE_BYTES : PIECE_BYTES;
    size_t in = 0, out = 0, device = 0;
    for (int k = 0; k < j->call->arrays.count; k++) {
        const wi_operand *const o = &j->call->arrays.array[k];
        const size_t bytes =
            wi_stage_align(j->plan.rows_each * j->plan.cols_each * o->element_bytes);
        j->in_at[k] = in;
        j->out_at[k] = out;
        j->device_at[k] = device;
        in += wi_bounces_in(j->call, k) ? bytes : 0;
        out += wi_bounces_out(j->call, k) ? bytes : 0;
        device += wi_on_device(j->call, k) ? 0 : bytes;
    }
}

static char *in_area(const job *j, size_t segment, int k) {
    return j->call->ctx->gpu->stage->pinned + segment % WI_STAGE_SLOTS * AREA_BYTES + j->in_at[k];
}

static char *out_area(const job *j, size_t segment, int k) {
    return j->call->ctx->gpu->stage->pinned +
           (WI_STAGE_SLOTS + segment % WI_STAGE_SLOTS) * AREA_BYTES + j->out_at[k];
}

/* Where array k of a segment is in device memory; a copy's is the other array. */
static char *device_area(const job *j, size_t segment, wi_segment s, int k) {
    if (j->call->args->copies)
        return wi_stage_array_at(&j->call->arrays, 1 - k, s.row, s.col);
    return j->call->ctx->gpu->stage->device + segment % WI_STAGE_SLOTS * 2 * AREA_BYTES +
           j->device_at[k];
}

/* The part of array k that segment s has, where the caller has it. */
static wi_pitched user_part(const job *j, wi_segment s, int k) {
    return (wi_pitched){wi_stage_array_at(&j->call->arrays, k, s.row, s.col),
                        j->call->arrays.array[k].pitch_bytes};
}

/* Copies piece number `piece` of a segment to the pinned buffers, or back from them. Pieces count
 * the bytes of all arrays that go through these buffers, one array after the other. */
static void copy_piece(const job *j, size_t segment, size_t piece, bool in) {
    const wi_segment s = wi_plan_segment(&j->plan, segment);
    const size_t begin = piece * j->piece_bytes, end = begin + j->piece_bytes;
    size_t array_begin = 0;
    for (int k = 0; k < j->call->arrays.count; k++) {
        if (in ? !wi_bounces_in(j->call, k) : !wi_bounces_out(j->call, k))
            continue;
        const size_t row_bytes = s.cols * j->call->arrays.array[k].element_bytes;
        const size_t array_end = array_begin + s.rows * row_bytes;
        const size_t from = begin > array_begin ? begin : array_begin;
        const size_t to = end < array_end ? end : array_end;
        const wi_pitched user = user_part(j, s, k);
        const wi_pitched area = {in ? in_area(j, segment, k) : out_area(j, segment, k), row_bytes};
        if (from < to)
            wi_pitched_copy(in ? area : user, in ? user : area, row_bytes, from - array_begin,
                            to - array_begin);
        array_begin = array_end;
    }
}

static void fill_piece(void *user, size_t segment, size_t piece) {
    copy_piece(user, segment, piece, true);
}

static void drain_piece(void *user, size_t segment, size_t piece) {
    copy_piece(user, segment, piece, false);
}

/* How many pieces a full segment has, on the way in or out. */
static size_t pieces(const job *j, bool in) {
    size_t bytes = 0;
    for (int k = 0; k < j->call->arrays.count; k++)
        if (in ? wi_bounces_in(j->call, k) : wi_bounces_out(j->call, k))
            bytes += j->plan.rows_each * j->plan.cols_each * j->call->arrays.array[k].element_bytes;
    return (bytes + j->piece_bytes - 1) / j->piece_bytes;
}

static weft_status send_inputs(const job *j, size_t segment, wi_segment s) {
    struct wi_stage *const r = j->call->ctx->gpu->stage;
    weft_status status = WEFT_OK;
    for (int k = 0; k < j->call->arrays.count && status == WEFT_OK; k++) {
        if (wi_on_device(j->call, k) || !j->call->arrays.array[k].in)
            continue;
        const size_t row_bytes = s.cols * j->call->arrays.array[k].element_bytes;
        const wi_pitched from = wi_bounces_in(j->call, k)
                                    ? (wi_pitched){in_area(j, segment, k), row_bytes}
                                    : user_part(j, s, k);
        status = wi_stage_queue_rows(j->call->ctx,
                                     (wi_pitched){device_area(j, segment, s, k), row_bytes}, from,
                                     s.rows, row_bytes, r->in);
    }
    if (status != WEFT_OK)
        return status;
    const cudaEvent_t arrived = r->events[segment % WI_STAGE_SLOTS].arrived;
    status = wi_cuda(j->call->ctx, cudaEventRecord(arrived, r->in), "marking inputs sent");
    if (status == WEFT_OK)
        status = wi_cuda(j->call->ctx, cudaStreamWaitEvent(j->call->ctx->gpu->stream, arrived, 0),
                         "making the kernel wait for its inputs");
    return status;
}

static weft_status send_outputs(const job *j, size_t segment, wi_segment s) {
    struct wi_stage *const r = j->call->ctx->gpu->stage;
    const cudaEvent_t computed = r->events[segment % WI_STAGE_SLOTS].computed;
    weft_status status = wi_cuda(j->call->ctx, cudaEventRecord(computed, j->call->ctx->gpu->stream),
                                 "marking a segment computed");
    if (status == WEFT_OK)
        status = wi_cuda(j->call->ctx, cudaStreamWaitEvent(r->out, computed, 0),
                         "making outputs wait for their kernel");
    for (int k = 0; k < j->call->arrays.count && status == WEFT_OK; k++) {
        if (wi_on_device(j->call, k) || !j->call->arrays.array[k].out)
            continue;
        const size_t row_bytes = s.cols * j->call->arrays.array[k].element_bytes;
        const wi_pitched to = wi_bounces_out(j->call, k)
                                  ? (wi_pitched){out_area(j, segment, k), row_bytes}
                                  : user_part(j, s, k);
        status = wi_stage_queue_rows(j->call->ctx, to,
                                     (wi_pitched){device_area(j, segment, s, k), row_bytes}, s.rows,
                                     row_bytes, r->out);
    }
    if (status != WEFT_OK)
        return status;
    return wi_cuda(j->call->ctx,
                   cudaEventRecord(r->events[segment % WI_STAGE_SLOTS].finished, r->out),
                   "marking outputs sent");
}

static weft_status submit_segment(void *user, size_t segment) {
    const job *const j = user;
    const wi_segment s = wi_plan_segment(&j->plan, segment);
    char *at[WI_MAX_OPERANDS];
    for (int k = 0; k < j->call->arrays.count; k++)
        at[k] = device_area(j, segment, s, k);
    weft_status status = send_inputs(j, segment, s);
    if (status == WEFT_OK)
        status = wi_stage_run_kernel(j->call, s, at);
    return status == WEFT_OK ? send_outputs(j, segment, s) : status;
}

static weft_status ask(const job *j, cudaEvent_t event, bool *yes) {
    const cudaError_t error = cudaEventQuery(event);
    *yes = error == cudaSuccess;
    if (error == cudaErrorNotReady) {
        cudaGetLastError();
        return WEFT_OK;
    }
    return wi_cuda(j->call->ctx, error, "asking how far a segment has got");
}

static weft_status has_arrived(void *user, size_t segment, bool *yes) {
    const job *const j = user;
    return ask(j, j->call->ctx->gpu->stage->events[segment % WI_STAGE_SLOTS].arrived, yes);
}

static weft_status has_finished(void *user, size_t segment, bool *yes) {
    const job *const j = user;
    return ask(j, j->call->ctx->gpu->stage->events[segment % WI_STAGE_SLOTS].finished, yes);
}

/* The stream for inputs waits for all work queued before this call: it may write those inputs. */
static weft_status follow_queued_work(weft_context *ctx) {
    struct wi_gpu *const gpu = ctx->gpu;
    weft_status status =
        wi_cuda(ctx, cudaEventRecord(gpu->order, gpu->stream), "marking the work queued so far");
    if (status == WEFT_OK)
        status = wi_cuda(ctx, cudaStreamWaitEvent(gpu->stage->in, gpu->order, 0),
                         "making inputs wait for the work queued so far");
    return status;
}

weft_status wi_stage_run_segments(const wi_stage_job *call) {
    weft_context *const ctx = call->ctx;
    job j = {.call = call};
    weft_status status = ensure_ring(ctx);
    if (status == WEFT_OK && !call->args->copies)
        status = ensure_device_areas(ctx);
    if (status == WEFT_OK)
        status = follow_queued_work(ctx);
    if (status != WEFT_OK)
        return status;
    lay_out(&j);
    const wi_conveyor conveyor = {
        .ctx = ctx,
        .segments = j.plan.count,
        .slots = WI_STAGE_SLOTS,
        .fill_pieces = pieces(&j, true),
        .drain_pieces = pieces(&j, false),
        .threads = wi_stage_copiers(ctx),
        .user = &j,
        .fill = fill_piece,
        .drain = drain_piece,
        .submit = submit_segment,
        .arrived = has_arrived,
        .finished = has_finished,
    };
    status = wi_conveyor_run(&conveyor);
    /* Wait after a failure too: the caller may free or reuse its arrays once the call returns. */
    const cudaError_t in = cudaStreamSynchronize(ctx->gpu->stage->in);
    const cudaError_t kernels = cudaStreamSynchronize(ctx->gpu->stream);
    const cudaError_t out = cudaStreamSynchronize(ctx->gpu->stage->out);
    const cudaError_t first = in != cudaSuccess ? in : kernels != cudaSuccess ? kernels : out;
    if (status == WEFT_OK)
        status = wi_cuda(ctx, first, "waiting for the last segments");
    return status;
}
