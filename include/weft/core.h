/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts, places, statuses and memory. */
#ifndef WEFT_CORE_H
#define WEFT_CORE_H

#include <stddef.h>

#include "weft/export.h"
#include "weft/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What every public call returns. A call that does not return WEFT_OK has changed nothing, unless
 * its status is WEFT_EDEVICE, or WEFT_ENOMEM half-way through host arrays that cross to a GPU in
 * segments: then outputs are undefined. */
typedef enum weft_status {
    WEFT_OK = 0,
    WEFT_EARG,         /* an argument is wrong; the message names it */
    WEFT_ENOMEM,       /* host or device memory ran out */
    WEFT_EDEVICE,      /* the device or its driver failed */
    WEFT_EUNSUPPORTED, /* right in itself, but not offered for this type, place or build */
    WEFT_ESINGULAR,    /* the matrix is singular */
    WEFT_ENOTSPD,      /* the matrix is not symmetric positive definite */
    WEFT_ENONFINITE,   /* NaN or infinity where the operation cannot use it */
    WEFT_EIO,          /* reading or writing a file failed */
    WEFT_EFORMAT,      /* the file is not what it claims to be */
    WEFT_ECOMM,        /* communication between ranks or devices failed */
    WEFT_ECANCELLED    /* the caller's own function asked to stop */
} weft_status;

/* One place to compute, with its streams, pools and settings. A context belongs to one thread at a
 * time; different contexts may be used at the same time. On a GPU place, managed memory counts as
 * device memory. */
typedef struct weft_context weft_context;

/* Opens a place. `place` is one of
 *     "cpu"      the cores of this process
 *     "cpu:4"    four threads
 *     "gpu"      the best GPU
 *     "gpu:1"    the GPU numbered 1
 *     NULL       what WEFT_PLACE names, else the best place there is: a GPU if one works, else cpu
 * The environment is read here and nowhere else: WEFT_PLACE (only when `place` is NULL),
 * WEFT_THREADS (threads of "cpu" when it names no number; on a GPU, those that move host data),
 * WEFT_VARIANT (see weft_use), and OMP_NUM_THREADS. An empty variable counts as unset. On failure
 * *ctx is NULL and weft_message(NULL) says why.
 *
 * Threads. Where neither the place nor WEFT_THREADS tells their number, it is the least of the
 * cores that the calling thread's affinity allows, the CPU quota of the process's control groups
 * (rounded up), and the number that OMP_NUM_THREADS begins with. A call uses as many of them as its
 * work is worth; small ones run on the calling thread alone. Threads are made when a call first has
 * work for them, with a stack of their own of 1 MiB and all signals blocked; they run where the
 * thread that makes them may. If the system gives fewer, calls go on with those. They sleep after
 * about a millisecond without work, and end with the context. What a thread has not begun because
 * other programs have its core, the calling thread does. On the cpu a call takes less than 64 KiB
 * of the calling thread's stack.
 *
 * fork. In the child, contexts of place cpu work as before, those opened earlier too, unless
 * another thread was in a call on one during the fork; threads are made anew. CUDA does not survive
 * a fork: in the child of a process that has opened or looked for a GPU place, calls on GPU
 * contexts and their opening are WEFT_EDEVICE, and a context from before the fork can only be
 * closed. */
WEFT_API weft_status weft_open(weft_context **ctx, const char *place);

/* Waits for all work, then frees the context and all it owns. Memory taken with weft_alloc and
 * still held is the caller's to free first. NULL is allowed. */
WEFT_API void weft_close(weft_context *ctx);

/* The place a context is open on, written in full: "cpu:2", "gpu:0". */
WEFT_API const char *weft_place(const weft_context *ctx);

/* One line on the latest failed call of this context: what, where and what to do about it; "" if
 * none has failed. With NULL: why the calling thread's latest weft_open failed. It is UTF-8: other
 * bytes, and control characters, of names and the like are spelled out, as \xff and \n. Valid until
 * the next call on the context (on the thread, for NULL). */
WEFT_API const char *weft_message(const weft_context *ctx);

/* "WEFT_OK", "WEFT_EARG", ... */
WEFT_API const char *weft_status_name(weft_status status);

/* The library's version, "MAJOR.MINOR.PATCH". */
WEFT_API const char *weft_version(void);

/* Forces operation `op` ("map", "reduce", "scan", ...) to the variant named, for this context. NULL
 * or "auto" as variant hands the choice back to the library. A forced variant that does not fit a
 * call makes that call fail with a message that says why; it never falls back in silence.
 * WEFT_VARIANT="scan:lookback,reduce:serial" does the same for every context opened; of it, names
 * that exist but belong to another kind of place are passed over. */
WEFT_API weft_status weft_use(weft_context *ctx, const char *op, const char *variant);

/* The variant that the latest successful call of `op` on this context ran; NULL if none did. */
WEFT_API const char *weft_used(const weft_context *ctx, const char *op);

/* Memory of the place: device memory on a GPU, host memory (aligned to 64 bytes) on the cpu. It is
 * not cleared. bytes = 0 gives NULL, and so does a failure. On a GPU both are ordered on the
 * context's stream. */
WEFT_API weft_status weft_alloc(weft_context *ctx, void **memory, size_t bytes);

/* Frees memory from weft_alloc of a context of the same place. NULL is allowed. */
WEFT_API weft_status weft_free(weft_context *ctx, void *memory);

/* Copies `bytes` from `from` to `to`, each host or device memory; the two must not overlap. Returns
 * when the copy is done if either side is host memory; device to device is queued. */
WEFT_API weft_status weft_copy(weft_context *ctx, void *to, const void *from, size_t bytes);

/* Waits until all work queued on this context is done, and reports what went wrong in it. */
WEFT_API weft_status weft_sync(weft_context *ctx);

/* On a GPU: queue all later work on `stream`, a cudaStream_t that the caller owns and keeps alive;
 * NULL goes back to the context's own stream. Later work waits for the work queued so far.
 *
 * What is ordered with what: calls of one context run in the order in which they were made. The
 * context's own stream is also ordered with the device's legacy default stream (stream 0, which
 * cudaMemcpy, <<<>>> without a stream and most frameworks use): a call sees all that was queued
 * there before it, and what is queued there later sees the call's results. Nothing else is ordered
 * with it: neither streams made with cudaStreamNonBlocking, nor the per-thread default stream, nor
 * another context. For those pass the stream here, or wait (weft_sync, cudaStreamSynchronize). On a
 * stream of the caller's, calls are ordered as that stream is and no more: with the legacy default
 * stream unless it was made with cudaStreamNonBlocking.
 *
 * Calls on device memory may be captured into a CUDA graph. A graph uses the context's scratch
 * memory: launch it while the context is open, and never beside other work of the context. */
WEFT_API weft_status weft_set_stream(weft_context *ctx, void *stream);

#ifdef __cplusplus
}
#endif
#endif
