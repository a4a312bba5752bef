/* SPDX-License-Identifier: Apache-2.0 */
/* A tracer records one context; a trace is a file, which tracers share. WEFT_TRACE names one file
 * for the whole process, so the open traces are in a global list. Its lock is taken when a record
 * begins and ends, never to record a span. */
#include "core/trace.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "comm/dist.h"
#include "comm/gpus.h"
#include "core/gpu.h"
#include "io/target.h"
#include "weft/trace.h"

enum {
    FIRST_ROOM = 256,
    MOST_SPANS = 1 << 20 /* of one context: 56 MiB */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static wi_trace *traces;

/* ---- recording ---- */

/* Makes room for the first spans, or for more. */
static bool grow(wi_tracer *tracer) {
    const size_t room = tracer->room ? 2 * tracer->room : FIRST_ROOM;
    wi_span *const spans = room <= MOST_SPANS ? wi_host_alloc(room * sizeof *spans) : NULL;
    if (!spans)
        return false;
    if (tracer->count > 0)
        memcpy(spans, tracer->spans, tracer->count * sizeof *spans);
    wi_host_free(tracer->spans);
    tracer->spans = spans;
    tracer->room = room;
    return true;
}

void wi_trace_add(wi_tracer *tracer, const wi_span *span) {
    if (tracer->count == tracer->room && !grow(tracer))
        tracer->dropped++;
    else
        tracer->spans[tracer->count++] = *span;
}

double wi_trace_host_begin(weft_context *ctx, const char *op, const char *what) {
    if (ctx->tracer->profiled)
        wi_nvtx_push(op, what);
    return wi_now();
}

void wi_trace_host_end(weft_context *ctx, const char *op, const char *what, double begin) {
    wi_tracer *const tracer = ctx->tracer;
    const wi_span span = {op, what, begin, wi_now(), tracer->bytes, WI_LANE_HOST};
    if (tracer->profiled)
        wi_nvtx_pop();
    if (tracer->trace)
        wi_trace_add(tracer, &span);
}

weft_status wi_trace_row(weft_context *ctx, const wi_ladder *ladder, const wi_row *row,
                         const void *args) {
    const bool queues = ctx->gpu && row->scope == WI_LOCAL;
    void *const stream = queues ? wi_gpu_stream(ctx) : NULL;
    const double begin = wi_trace_host_begin(ctx, ladder->op, row->name);
    const long mark =
        queues ? wi_gpu_mark(ctx, stream, ladder->op, row->name, ctx->tracer->bytes) : 0;
    const weft_status status = row->run(ctx, args);
    if (queues)
        wi_gpu_mark_end(ctx, mark, stream);
    wi_trace_host_end(ctx, ladder->op, row->name, begin);
    return status;
}

/* ---- traces ---- */

static wi_trace *find(const char *path) {
    wi_trace *trace = traces;
    while (trace && strcmp(trace->path, path) != 0)
        trace = trace->next;
    return trace;
}

static wi_trace *make(const char *path) {
    struct timespec now;
    const size_t length = strlen(path) + 1;
    wi_trace *const trace = wi_host_alloc(sizeof *trace + length);
    if (!trace)
        return NULL;
    clock_gettime(CLOCK_REALTIME, &now);
    *trace = (wi_trace){.next = traces,
                        .path = (char *)(trace + 1),
                        .ranks = 1,
                        .begun = wi_now(),
                        .origin = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec};
    trace->last = &trace->ended;
    memcpy(trace->path, path, length);
    traces = trace;
    return trace;
}

/* Finds or makes the trace of this file, with the caller as one more user. *number, if not NULL, is
 * the number in the trace for a new tracer. */
static wi_trace *join(const char *path, bool kept, int *number) {
    pthread_mutex_lock(&lock);
    wi_trace *trace = find(path);
    if (!trace)
        trace = make(path);
    if (trace) {
        trace->users++;
        trace->kept = trace->kept || kept;
        if (number)
            *number = trace->tracers++;
    }
    pthread_mutex_unlock(&lock);
    return trace;
}

wi_trace *wi_trace_hold(const char *path) {
    return join(path, true, NULL);
}

/* Frees the tracers whose records have ended, and their spans. */
static void forget(wi_trace *trace) {
    while (trace->ended) {
        wi_tracer *const tracer = trace->ended;
        trace->ended = tracer->next;
        wi_host_free(tracer->spans);
        wi_host_free(tracer);
    }
    trace->last = &trace->ended;
}

/* Takes the trace off the list and frees it. */
static void drop(wi_trace *trace) {
    wi_trace **at = &traces;
    while (*at != trace)
        at = &(*at)->next;
    *at = trace->next;
    forget(trace);
    wi_host_free(trace->others);
    wi_host_free(trace);
}

char *wi_trace_take(wi_trace *trace, uint64_t origin, size_t *bytes) {
    pthread_mutex_lock(&lock);
    char *const text = wi_trace_text(trace, origin, bytes);
    *bytes = text ? *bytes : 0;
    forget(trace);
    trace->sent = true;
    pthread_mutex_unlock(&lock);
    return text;
}

void wi_trace_give(wi_trace *trace, uint64_t origin, char *text, size_t bytes) {
    pthread_mutex_lock(&lock);
    const size_t before = trace->others_bytes, comma = before > 0 ? 2 : 0;
    char *const both = bytes > 0 ? wi_host_alloc(before + comma + bytes) : NULL;
    trace->begun -= (double)(int64_t)(trace->origin - origin) * 1e-9;
    trace->origin = origin;
    if (both) {
        if (before > 0) {
            memcpy(both, trace->others, before);
            memcpy(both + before, ",\n", comma);
        }
        memcpy(both + before + comma, text, bytes);
        wi_host_free(trace->others);
        trace->others = both;
        trace->others_bytes = before + comma + bytes;
    }
    wi_host_free(text);
    pthread_mutex_unlock(&lock);
}

static weft_status write_file(const wi_trace *trace, wi_note *note) {
    wi_target target;
    const weft_status status = wi_target_open(trace->path, &target, note);
    if (status != WEFT_OK)
        return status;
    return wi_trace_write(trace, target.file) ? wi_target_close(&target, note)
                                              : wi_target_fail(&target, note);
}

/* Writes with the lock held, so that nobody else writes the same file. */
weft_status wi_trace_leave(wi_trace *trace, wi_note *note) {
    weft_status status = WEFT_OK;
    pthread_mutex_lock(&lock);
    if (--trace->users == 0) {
        status = trace->sent ? WEFT_OK : write_file(trace, note);
        if (!trace->kept)
            drop(trace);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* Leaves without writing anything. */
static void abandon(wi_trace *trace) {
    pthread_mutex_lock(&lock);
    if (--trace->users == 0 && !trace->kept)
        drop(trace);
    pthread_mutex_unlock(&lock);
}

/* ---- contexts ---- */

static weft_status no_memory(weft_context *ctx, const char *call) {
    return wi_fail(ctx, WEFT_ENOMEM, "%s: no host memory to record a timeline", call);
}

/* Gives the context a tracer; path NULL: for profilers only. */
static weft_status attach(weft_context *ctx, const char *call, const char *path, bool kept) {
    const int error = path ? wi_target_foresee(path) : 0;
    if (error != 0)
        return wi_fail(ctx, WEFT_EIO, "%s: cannot write %.256s: %s; name another file", call, path,
                       strerror(error));
    wi_tracer *tracer = ctx->tracer;
    if (!tracer) {
        tracer = wi_host_alloc(sizeof *tracer);
        if (!tracer)
            return no_memory(ctx, call);
        *tracer = (wi_tracer){.profiled = wi_nvtx_wanted()};
        memcpy(tracer->place, ctx->place, sizeof tracer->place);
        ctx->tracer = tracer;
    }
    if (!path)
        return WEFT_OK;
    if (tracer->room == 0 && !grow(tracer))
        return no_memory(ctx, call);
    if (ctx->gpu && !tracer->marks && !wi_gpu_marks_open(ctx))
        return no_memory(ctx, call);
    tracer->trace = join(path, kept, &tracer->number);
    return tracer->trace ? WEFT_OK : no_memory(ctx, call);
}

weft_status wi_trace_open(weft_context *ctx, const char *path) {
    return path || wi_nvtx_wanted() ? attach(ctx, "WEFT_TRACE", path, true) : WEFT_OK;
}

wi_trace *wi_trace_collect(weft_context *ctx) {
    wi_tracer *const tracer = ctx->tracer;
    if (!tracer)
        return NULL;
    wi_trace *const trace = tracer->trace;
    if (ctx->gpu)
        wi_gpu_marks_close(ctx);
    ctx->tracer = NULL;
    if (!trace) {
        wi_host_free(tracer->spans);
        wi_host_free(tracer);
        return NULL;
    }
    tracer->next = NULL;
    pthread_mutex_lock(&lock);
    *trace->last = tracer;
    trace->last = &tracer->next;
    pthread_mutex_unlock(&lock);
    return trace;
}

void wi_trace_close(weft_context *ctx) {
    wi_note note;
    wi_trace *const trace = wi_trace_collect(ctx);
    if (trace)
        wi_trace_leave(trace, &note);
}

/* ---- public ---- */

/* How many contexts record for this one: it or its child, or one for each GPU. */
static int recorders(const weft_context *ctx) {
    return wi_is_gpus(ctx) ? wi_gpus_count(ctx) : 1;
}

static weft_context *recorder(weft_context *ctx, int k) {
    if (wi_is_gpus(ctx))
        return wi_gpus_rank(ctx, k)->child;
    return ctx->child ? ctx->child : ctx;
}

/* Gives each context that uses a recorder's tracer the one that the recorder has now, or NULL. */
static void share(weft_context *ctx) {
    for (int r = 0; wi_is_gpus(ctx) && r < wi_gpus_count(ctx); r++)
        wi_gpus_rank(ctx, r)->tracer = recorder(ctx, r)->tracer;
    ctx->tracer = recorder(ctx, 0)->tracer;
}

/* Ends the records of the first `count` recorders. */
static weft_status end_records(weft_context *ctx, int count, wi_note *note) {
    weft_status status = WEFT_OK;
    for (int k = 0; k < count; k++) {
        wi_trace *const trace = wi_trace_collect(recorder(ctx, k));
        if (ctx->comm && status == WEFT_OK)
            status = wi_trace_gather(ctx, trace);
        const weft_status left = trace ? wi_trace_leave(trace, note) : WEFT_OK;
        if (status == WEFT_OK && left != WEFT_OK)
            status = wi_fail(ctx, left, "weft_trace_end: %s", note->text);
        wi_trace_open(recorder(ctx, k), NULL); /* goes on for profilers */
    }
    share(ctx);
    return status;
}

/* Takes back what the first `count` recorders have begun. */
static void abandon_records(weft_context *ctx, int count) {
    for (int k = 0; k < count; k++) {
        wi_trace *const trace = wi_trace_collect(recorder(ctx, k));
        if (trace)
            abandon(trace);
        wi_trace_open(recorder(ctx, k), NULL);
    }
    share(ctx);
}

static weft_status begin_records(weft_context *ctx, const char *path) {
    weft_status status = WEFT_OK;
    int begun = 0;
    if (ctx->tracer && ctx->tracer->trace)
        return wi_fail(ctx, WEFT_EARG,
                       "weft_trace_begin: the context is being recorded; end that with "
                       "weft_trace_end, or unset WEFT_TRACE");
    if (!path || !*path)
        return wi_fail(ctx, WEFT_EARG, "weft_trace_begin: path is %s; name a file",
                       path ? "empty" : "NULL");
    for (; begun < recorders(ctx) && status == WEFT_OK; begun += status == WEFT_OK) {
        weft_context *const one = recorder(ctx, begun);
        status = attach(one, "weft_trace_begin", path, false);
        if (status != WEFT_OK && one != ctx)
            wi_fail_as(ctx, status, one);
    }
    if (status != WEFT_OK)
        abandon_records(ctx, begun);
    share(ctx);
    return status;
}

/* On place mpi: fails on all ranks if `status` is a failure on one. Collective. */
static weft_status agree(weft_context *ctx, const char *call, weft_status status) {
    if (!ctx->comm)
        return status;
    ctx->comm->call = call;
    return wi_agree(ctx, wi_alike_bytes(0, call, strlen(call)), status);
}

weft_status weft_trace_begin(weft_context *ctx, const char *path) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const weft_status begun = begin_records(ctx, path);
    const weft_status status = agree(ctx, "weft_trace_begin", begun);
    if (begun == WEFT_OK && status != WEFT_OK)
        abandon_records(ctx, recorders(ctx));
    return status;
}

weft_status weft_trace_end(weft_context *ctx) {
    static const char name[] = "weft_trace_end";
    wi_note note = {""};
    weft_status status = WEFT_OK;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    if (!ctx->tracer || !ctx->tracer->trace)
        status =
            wi_fail(ctx, WEFT_EARG, "%s: nothing is recorded; call weft_trace_begin before", name);
    else if (ctx->gpu && wi_gpu_capturing(ctx))
        status = wi_fail(ctx, WEFT_EUNSUPPORTED,
                         "%s: the stream is being captured; end the capture first", name);
    status = agree(ctx, name, status);
    return status == WEFT_OK ? end_records(ctx, recorders(ctx), &note) : status;
}
