/* SPDX-License-Identifier: Apache-2.0 */
/* What a timeline shows of a GPU: marks, pairs of events on streams. A mark becomes a span once the
 * device has passed both events. This is looked for when all marks are in use, and when the record
 * ends; only then is queued work waited for. */
#include <string.h>

#include "core/gpu.h"
#include "core/stage_job.h"
#include "core/trace.h"

enum {
    MOST_MARKS = 4096, /* that the device has not passed; it queues fewer commands */
    TRIES = 3          /* to find what the host's clock says at an event */
};

static const double new_base_s = 1; /* CUDA gives times as float: not far from the base */

typedef struct mark {
    cudaEvent_t begin, end; /* kept from use to use */
    wi_span span;           /* all but its times */
    bool ended;
    bool in_use;
} mark;

struct wi_gpu_marks {
    cudaStream_t clock; /* has no work but the base */
    cudaEvent_t base, other;
    double base_at; /* by wi_now */
    size_t free_count;
    int free[MOST_MARKS];
    mark at[MOST_MARKS];
};

void *wi_gpu_stream(const weft_context *ctx) {
    return ctx->gpu->stream;
}

/* ---- clocks ---- */

/* Records the base anew, and finds what the host's clock said then. */
static cudaError_t set_base(struct wi_gpu_marks *m) {
    double best = 0;
    cudaError_t error = cudaSuccess;
    for (int k = 0; k < TRIES && error == cudaSuccess; k++) {
        const double before = wi_now();
        error = cudaEventRecord(m->other, m->clock);
        if (error == cudaSuccess)
            error = cudaEventSynchronize(m->other);
        const double after = wi_now();
        if (error != cudaSuccess || (k > 0 && after - before >= best))
            continue;
        const cudaEvent_t older = m->base;
        m->base = m->other;
        m->other = older;
        m->base_at = after;
        best = after - before;
    }
    return error;
}

static bool time_of(const struct wi_gpu_marks *m, cudaEvent_t event, double *at) {
    float ms;
    if (cudaEventElapsedTime(&ms, m->base, event) != cudaSuccess)
        return false;
    *at = m->base_at + (double)ms * 1e-3;
    return true;
}

/* ---- opening and closing ---- */

static void free_marks(struct wi_gpu_marks *m) {
    for (int k = 0; k < MOST_MARKS; k++) {
        if (m->at[k].begin)
            cudaEventDestroy(m->at[k].begin);
        if (m->at[k].end)
            cudaEventDestroy(m->at[k].end);
    }
    if (m->base)
        cudaEventDestroy(m->base);
    if (m->other)
        cudaEventDestroy(m->other);
    if (m->clock)
        cudaStreamDestroy(m->clock);
    wi_host_free(m);
    cudaGetLastError();
}

static cudaError_t create_clock(struct wi_gpu_marks *m) {
    cudaError_t error = cudaStreamCreateWithFlags(&m->clock, cudaStreamNonBlocking);
    if (error == cudaSuccess)
        error = cudaEventCreateWithFlags(&m->base, cudaEventDefault);
    if (error == cudaSuccess)
        error = cudaEventCreateWithFlags(&m->other, cudaEventDefault);
    return error == cudaSuccess ? set_base(m) : error;
}

bool wi_gpu_marks_open(weft_context *ctx) {
    int before;
    struct wi_gpu_marks *const m = wi_host_alloc(sizeof *m);
    if (!m || wi_gpu_enter(ctx, &before) != WEFT_OK) {
        wi_host_free(m);
        return false;
    }
    memset(m, 0, sizeof *m);
    m->free_count = MOST_MARKS;
    for (int k = 0; k < MOST_MARKS; k++)
        m->free[k] = MOST_MARKS - 1 - k;
    const bool created = create_clock(m) == cudaSuccess;
    if (!created)
        free_marks(m);
    ctx->tracer->marks = created ? m : NULL;
    wi_gpu_leave(ctx, before);
    return created;
}

/* Makes a span of a mark that the device has passed. */
static void resolve(wi_tracer *tracer, int k) {
    struct wi_gpu_marks *const m = tracer->marks;
    wi_span span = m->at[k].span;
    m->at[k].in_use = false;
    m->free[m->free_count++] = k;
    if (time_of(m, m->at[k].begin, &span.begin) && time_of(m, m->at[k].end, &span.end))
        wi_trace_add(tracer, &span);
    else
        tracer->dropped++;
}

/* Makes spans of the marks that the device has passed; with `wait` of all, once it has. */
static void resolve_all(wi_tracer *tracer, bool wait) {
    struct wi_gpu_marks *const m = tracer->marks;
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(&mode); /* as staging does: so events may be queried */
    for (int k = 0; k < MOST_MARKS; k++) {
        if (!m->at[k].in_use || !m->at[k].ended)
            continue;
        const cudaError_t error =
            wait ? cudaEventSynchronize(m->at[k].end) : cudaEventQuery(m->at[k].end);
        if (error != cudaErrorNotReady)
            resolve(tracer, k);
    }
    if (m->free_count == MOST_MARKS && wi_now() - m->base_at > new_base_s && !wait)
        set_base(m);
    cudaGetLastError(); /* what fails here fails again in the caller's own work */
    cudaThreadExchangeStreamCaptureMode(&mode);
}

void wi_gpu_marks_close(weft_context *ctx) {
    wi_tracer *const tracer = ctx->tracer;
    int before;
    if (!tracer->marks || wi_gpu_enter(ctx, &before) != WEFT_OK)
        return;
    resolve_all(tracer, true);
    free_marks(tracer->marks);
    tracer->marks = NULL;
    wi_gpu_leave(ctx, before);
}

/* ---- marks ---- */

static int lane_of(const weft_context *ctx, cudaStream_t stream) {
    const struct wi_gpu *const gpu = ctx->gpu;
    if (stream == gpu->own)
        return WI_LANE_STREAM;
    if (stream == gpu->side)
        return WI_LANE_SIDE;
    if (gpu->stage && stream == gpu->stage->in)
        return WI_LANE_IN;
    return gpu->stage && stream == gpu->stage->out ? WI_LANE_OUT : WI_LANE_CALLER;
}

static bool is_captured(cudaStream_t stream) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return cudaStreamIsCapturing(stream, &status) != cudaSuccess ||
           status != cudaStreamCaptureStatusNone;
}

/* Creates the events of a mark at its first use. */
static bool has_events(mark *t) {
    if (!t->begin && cudaEventCreateWithFlags(&t->begin, cudaEventDefault) != cudaSuccess)
        return false;
    return t->end || cudaEventCreateWithFlags(&t->end, cudaEventDefault) == cudaSuccess;
}

long wi_gpu_mark(weft_context *ctx, void *stream, const char *op, const char *what,
                 wi_traffic bytes) {
    wi_tracer *const tracer = ctx->tracer;
    const cudaStream_t on = (cudaStream_t)stream;
    if (!tracer->trace || is_captured(on))
        return WI_TRACE_NOTHING;
    struct wi_gpu_marks *const m = tracer->marks;
    if (m->free_count == 0)
        resolve_all(tracer, false);
    if (m->free_count == 0) {
        tracer->dropped++;
        return WI_TRACE_NOTHING;
    }
    const int k = m->free[m->free_count - 1];
    mark *const t = &m->at[k];
    if (!has_events(t) || cudaEventRecord(t->begin, on) != cudaSuccess) {
        cudaGetLastError();
        tracer->dropped++;
        return WI_TRACE_NOTHING;
    }
    m->free_count--;
    t->in_use = true;
    t->ended = false;
    t->span = (wi_span){.op = op, .what = what, .bytes = bytes, .lane = lane_of(ctx, on)};
    return k;
}

void wi_gpu_mark_end(weft_context *ctx, long which, void *stream) {
    struct wi_gpu_marks *const m = ctx->tracer->marks;
    if (which == WI_TRACE_NOTHING)
        return;
    mark *const t = &m->at[which];
    if (cudaEventRecord(t->end, (cudaStream_t)stream) != cudaSuccess) {
        cudaGetLastError();
        ctx->tracer->dropped++;
        t->in_use = false;
        m->free[m->free_count++] = (int)which;
        return;
    }
    t->ended = true;
}

long wi_gpu_mark_copy(weft_context *ctx, void *stream, const void *to, const void *from,
                      size_t bytes) {
    if (is_captured((cudaStream_t)stream)) /* CUDA may not know the memory yet */
        return WI_TRACE_NOTHING;
    const bool to_gpu = wi_gpu_memory(ctx, to, 1) <= WI_MEMORY_PEER;
    const bool from_gpu = wi_gpu_memory(ctx, from, 1) <= WI_MEMORY_PEER;
    const char *const what = to_gpu && from_gpu ? "within" : to_gpu ? "in" : "out";
    return wi_gpu_mark(ctx, stream, "copy", what, (wi_traffic){bytes, bytes});
}
