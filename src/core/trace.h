/* SPDX-License-Identifier: Apache-2.0 */
/* Records what a context does, for a timeline (weft/trace.h) and for profilers that read NVTX. A
 * context that is recorded has a tracer, which belongs to the thread that uses the context, so that
 * recording takes no lock; without one each hook costs a test of a pointer. */
#ifndef WI_TRACE_H
#define WI_TRACE_H

#include <stdio.h>

#include "core/core.h"
#include "core/rows.h"
#include "io/note.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Lanes of one tracer. */
enum {
    WI_LANE_HOST,
    WI_LANE_STREAM,
    WI_LANE_CALLER, /* a stream of the caller */
    WI_LANE_SIDE,
    WI_LANE_IN, /* copies to the device, of calls that run by segments */
    WI_LANE_OUT,
    WI_TRACE_LANES
};

enum {
    WI_TRACE_NOTHING = -1 /* a mark that was not made */
};

/* Bytes that a call, or a part of it, reads and writes. */
typedef struct wi_traffic {
    uint64_t in, out;
} wi_traffic;

/* Something that took time. The texts are constants. */
typedef struct wi_span {
    const char *op, *what; /* "scan", "lookback"; `what` may be NULL */
    double begin, end;     /* by wi_now */
    wi_traffic bytes;
    int lane;
} wi_span;

struct wi_gpu_marks;
struct wi_trace;

typedef struct wi_tracer {
    struct wi_tracer *next; /* of those whose record is complete */
    struct wi_trace *trace; /* NULL: only for profilers */
    bool profiled;          /* a profiler reads NVTX */
    int number;             /* in its trace */
    char place[WI_PLACE_BYTES];
    wi_traffic bytes; /* of the call that runs */
    wi_span *spans;
    size_t count, room;
    size_t dropped; /* spans for which there was no room */
    struct wi_gpu_marks *marks;
} wi_tracer;

/* A file that is to be written. */
typedef struct wi_trace {
    struct wi_trace *next;
    char *path;
    bool kept;       /* later contexts of this process go to the same file */
    int users;       /* contexts that are recorded, and holders */
    int tracers;     /* so far */
    int rank, ranks; /* of place mpi */
    bool sent;       /* rank 0 writes the file */
    double begun;    /* by wi_now: the origin of times */
    uint64_t origin; /* the same in nanoseconds since 1970 */
    wi_tracer *ended, **last;
    char *others; /* what other ranks have sent: lines of JSON */
    size_t others_bytes;
} wi_trace;

/* ---- hooks; what follows may only be called if ctx->tracer is not NULL ---- */

/* A span of the calling thread; wi_trace_host_end ends the one that began last. */
double wi_trace_host_begin(weft_context *ctx, const char *op, const char *what);
void wi_trace_host_end(weft_context *ctx, const char *op, const char *what, double begin);

/* Runs the row and records it: the thread, and what it queues on the context's stream. */
weft_status wi_trace_row(weft_context *ctx, const wi_ladder *ladder, const wi_row *row,
                         const void *args);

void wi_trace_add(wi_tracer *tracer, const wi_span *span);

/* ---- contexts ---- */

/* Makes a tracer if WEFT_TRACE or a profiler asks for it. */
weft_status wi_trace_open(weft_context *ctx, const char *path);
/* Ends the record of a context that closes. */
void wi_trace_close(weft_context *ctx);

/* Ends the record of a context, whose spans go to its trace, which is returned; NULL: it had none.
 * All that was queued is waited for. The caller calls wi_trace_leave. */
wi_trace *wi_trace_collect(weft_context *ctx);
/* Removes one user of the trace. The last one writes the file. */
weft_status wi_trace_leave(wi_trace *trace, wi_note *note);

/* Makes the caller a user of the trace in file `path`, to which all contexts opened from now on
 * with WEFT_TRACE=path belong; NULL: no memory. */
wi_trace *wi_trace_hold(const char *path);

/* ---- the file ---- */

/* The spans that have been collected, as lines of JSON with a comma before each but the first. The
 * text is from wi_host_alloc; NULL: no memory. */
char *wi_trace_text(const wi_trace *trace, uint64_t origin, size_t *bytes);
/* Writes all of it. False: see errno. */
bool wi_trace_write(const wi_trace *trace, FILE *file);
/* As wi_trace_text, for rank 0, which writes the file: afterwards the trace has no spans. */
char *wi_trace_take(wi_trace *trace, uint64_t origin, size_t *bytes);
/* The file begins at `origin`, and has these lines of other ranks, too. Takes `text` over. */
void wi_trace_give(wi_trace *trace, uint64_t origin, char *text, size_t bytes);

/* comm/trace_ranks.c: ends the record of this rank of a distributed context, and sends it to rank
 * 0. Collective; it may have none. */
weft_status wi_trace_gather(weft_context *ctx, wi_trace *trace);

/* ---- the GPU (gpu_trace.c), called like the hooks ---- */

/* Marks where something begins on a stream (a cudaStream_t), and where it ends. */
long wi_gpu_mark(weft_context *ctx, void *stream, const char *op, const char *what,
                 wi_traffic bytes);
void wi_gpu_mark_end(weft_context *ctx, long mark, void *stream);
/* The same for a copy, named by its direction. */
long wi_gpu_mark_copy(weft_context *ctx, void *stream, const void *to, const void *from,
                      size_t bytes);
/* The context's current stream. */
void *wi_gpu_stream(const weft_context *ctx);
/* Prepares the tracer; false: there is no memory, or the GPU has failed. */
bool wi_gpu_marks_open(weft_context *ctx);
/* Makes spans of all marks, waiting for the work between them, and frees what marks need. */
void wi_gpu_marks_close(weft_context *ctx);

/* ---- profilers (nvtx.c) ---- */

bool wi_nvtx_wanted(void);
void wi_nvtx_push(const char *op, const char *what);
void wi_nvtx_pop(void);

#ifdef __cplusplus
}
#endif
#endif
