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

/* What every public call returns. A call that does not return WEFT_OK has changed nothing, with two
 * exceptions after which outputs are undefined: WEFT_EDEVICE, and WEFT_ENOMEM in the middle of a
 * call whose host arrays cross to a GPU in segments. */
typedef enum weft_status {
    WEFT_OK = 0,
    WEFT_EARG,         /* an argument is wrong; the message names it */
    WEFT_ENOMEM,       /* host or device memory ran out */
    WEFT_EDEVICE,      /* the device or its driver failed */
    WEFT_EUNSUPPORTED, /* a valid request that this type, place or build does not support */
    WEFT_ESINGULAR,    /* the matrix is singular */
    WEFT_ENOTSPD,      /* the matrix is not symmetric positive definite */
    WEFT_ENONFINITE,   /* NaN or infinity where the operation cannot use it */
    WEFT_EIO,          /* reading or writing a file failed */
    WEFT_EFORMAT,      /* the file is not what it claims to be */
    WEFT_ECOMM,        /* communication between processes (ranks) or devices failed */
    WEFT_ECANCELLED    /* the caller's own function asked to stop */
} weft_status;

/* Arrays, in every call: one that has elements is not NULL, and one that has none may be; it has
 * the alignment that its header asks for; and an output overlaps no other array of the call unless
 * the header allows it. Anything else is WEFT_EARG. Counts may be 0. */

/* A place to compute, with its streams, memory pools and settings. Only one thread may use a
 * context at a time; different threads may use different contexts at the same time. On a GPU place,
 * managed memory counts as device memory. */
typedef struct weft_context weft_context;

/* Opens a place. `place` is one of
 *     "cpu"      the cores of this process
 *     "cpu:4"    four threads
 *     "gpu"      the best GPU
 *     "gpu:1"    the GPU numbered 1
 *     "gpus"     all GPUs of this machine together; "gpus:0,2": these two
 *     "mpi"      many processes, each with its part of every array: see weft/mpi.h
 *     NULL       what WEFT_PLACE names, else the best place there is: a GPU if one works, else cpu
 * These environment variables are read here: WEFT_PLACE (only when `place` is NULL), WEFT_THREADS
 * (the number of threads, for "cpu" without a number; on a GPU place, of the threads that copy host
 * data), WEFT_VARIANT (see weft_use), WEFT_TUNING (see weft_set_tuning), WEFT_TRACE (see
 * weft/trace.h), WEFT_NCCL (the file of the NCCL library, or "off"; for gpus and mpi), WEFT_MPI_GPU
 * ("direct" or "staged": how MPI takes device memory), WEFT_MAILBOX ("on" or "off": small steps
 * between the GPUs of place gpus), and OMP_NUM_THREADS. Later calls read one more variable,
 * WEFT_GRID (see weft/lu.h). An empty variable counts as unset. On failure *ctx is NULL and
 * weft_message(NULL) says why.
 *
 * Several GPUs. On place gpus the calls are the same, on whole arrays, and so are their results;
 * what a header says of ranks does not apply. Most calls (docs/gpus.md lists them) run on all GPUs
 * if their largest array is large and lies on all GPUs (weft_alloc) or in host memory: each GPU
 * works on what it holds, or on an equal part. All others run on the first GPU, and so do calls in
 * a stream capture. weft_used tells which: if it is "ranks", all GPUs took part; weft_use with
 * "ranks" forces that. A sum or product of floats that is not exact is computed for each GPU's
 * part, and these are combined in f64 in the order of the GPUs: the same bits in every run on the
 * same GPUs. A call that runs on all GPUs returns when it is done. weft_comm says whether the GPUs
 * can access each other's memory.
 *
 * Threads. If neither the place nor WEFT_THREADS gives their number, it is the smallest of three:
 * the cores that the calling thread's affinity allows, the CPU quota of the process's control
 * groups (rounded up), and the first number in OMP_NUM_THREADS. A call uses only as many of them as
 * make it faster; a small call runs on the calling thread alone. Threads are made when a call first
 * has work for them, each with a stack of 1 MiB and all signals blocked; they inherit the affinity
 * of the thread that makes them. If the system refuses some of them, calls run on the others. They
 * sleep after about a millisecond without work, and end with the context. If a thread has
 * not begun its part of a call because another program occupies its core, the calling thread does
 * that part. On the cpu a call takes less than 64 KiB of the calling thread's stack.
 *
 * fork. In the child, contexts of place cpu work as before, also those opened before the fork,
 * unless another thread was inside a call on them during the fork; their threads are made again.
 * CUDA does not survive a fork: in the child of a process that has opened or looked for a GPU
 * place, opening a GPU context and calls on one return WEFT_EDEVICE, and a context opened before
 * the fork can only be closed. */
WEFT_API weft_status weft_open(weft_context **ctx, const char *place);

/* Waits for all work (on place mpi, also for the other ranks), then frees the context and all that
 * it owns. It does not free memory from weft_alloc: do that first. NULL is allowed. */
WEFT_API void weft_close(weft_context *ctx);

/* The place a context is open on, written in full: "cpu:2", "gpu:0". */
WEFT_API const char *weft_place(const weft_context *ctx);

/* One line about the latest failed call of this context: what went wrong, where, and what to do
 * about it; "" if none has failed. With NULL: why the calling thread's latest weft_open, or other
 * call without a context, failed. The text is UTF-8: control characters, and bytes that are not
 * UTF-8 (in file names, for example), are written as escapes like \n and \xff. Valid until the next
 * call on the context (for NULL: the next call on the thread). */
WEFT_API const char *weft_message(const weft_context *ctx);

/* Called with weft_message's text when a call on the context fails, before the call returns, from
 * the thread that made the call; it may write a log, for example. If a call fails because a call
 * inside it failed, the handler may be called twice, with a message of each. `status` belongs to
 * the message; the call may return another. The handler must not use the context. */
typedef void (*weft_error_handler)(void *user, weft_status status, const char *message);

/* Makes later failures of this context call `handler` with `user`; NULL: none. */
WEFT_API weft_status weft_on_error(weft_context *ctx, weft_error_handler handler, void *user);

/* "WEFT_OK", "WEFT_EARG", ... */
WEFT_API const char *weft_status_name(weft_status status);

/* The library's version, "MAJOR.MINOR.PATCH". */
WEFT_API const char *weft_version(void);

/* Where the library's host memory comes from. Set `size` to sizeof(weft_allocator). Both functions
 * may be called by several threads at once. */
typedef struct weft_allocator {
    size_t size;
    /* Returns at least `bytes` bytes (> 0) at an address that is a multiple of `alignment` (a power
     * of two, at least 64); NULL if there is no memory. */
    void *(*allocate)(void *user, size_t alignment, size_t bytes);
    void (*release)(void *user, void *memory); /* never NULL */
    void *user;
} weft_allocator;

/* Makes the library take all its host memory from the caller's functions: contexts, plans,
 * matrices, scratch memory, and weft_alloc on place cpu. NULL goes back to those of C. This applies
 * to the whole process, and is allowed only while the library holds no memory: before the first
 * weft_open, or after everything is closed and destroyed. Otherwise it returns WEFT_EARG, and
 * weft_message(NULL) says why. The functions are not used for memory of GPUs, pinned memory, stacks
 * of threads, and what other libraries take (the C library for files and threads, METIS, OpenBLAS,
 * MPI, NCCL, the CUDA driver). */
WEFT_API weft_status weft_set_allocator(const weft_allocator *allocator);

/* Forces a variant of operation `op` ("map", "reduce", "scan", ...) in this context. NULL or "auto"
 * as variant lets the library choose again. If a forced variant cannot do a call, that call fails
 * with a message that says why; another variant never takes its place silently.
 * WEFT_VARIANT="scan:lookback,reduce:serial" does the same for every context opened, and ignores
 * variants that belong to another kind of place. */
WEFT_API weft_status weft_use(weft_context *ctx, const char *op, const char *variant);

/* Reads a table that `weft tune` has measured on this device. The library chooses variants by the
 * times that it predicts, and the table corrects these times: a variant that was measured to be
 * slower than predicted is chosen less often. NULL drops the table. A forced variant (weft_use)
 * runs whatever the table says. Results are as accurate as without a table; but variants may round
 * differently, so bits may change, as they may between devices. A table of another device, kind of
 * place or version of the library is refused with WEFT_EUNSUPPORTED and a damaged one with
 * WEFT_EFORMAT; the earlier table then stays. WEFT_TUNING=FILE does the same for every context
 * opened, but ignores a table of another kind of place. */
WEFT_API weft_status weft_set_tuning(weft_context *ctx, const char *path);

/* The variant that the latest successful call of `op` on this context ran; NULL if none did. */
WEFT_API const char *weft_used(const weft_context *ctx, const char *op);

/* Allocates memory of the place: device memory on a GPU, host memory (aligned to 64 bytes) on the
 * cpu. Its contents are undefined. *memory is NULL for bytes = 0 and after a failure. On a GPU,
 * allocation and freeing are ordered on the context's stream. On place gpus, 2 MiB or more for each
 * GPU become one range of addresses: it consists of equal blocks, one on each GPU, in their order,
 * and all GPUs can access all of it. Smaller memory is on the first GPU; so is all memory if the
 * GPUs cannot access each other's. */
WEFT_API weft_status weft_alloc(weft_context *ctx, void **memory, size_t bytes);

/* Frees memory from weft_alloc, taken by a context of the same place. NULL is allowed. */
WEFT_API weft_status weft_free(weft_context *ctx, void *memory);

/* Copies `bytes` bytes from `from` to `to`. Each may be host or device memory; they must not
 * overlap. Returns when the copy is done if either is host memory; a copy from device to device is
 * queued. */
WEFT_API weft_status weft_copy(weft_context *ctx, void *to, const void *from, size_t bytes);

/* Waits until all work queued on this context is done, and reports any error in it. */
WEFT_API weft_status weft_sync(weft_context *ctx);

/* On a GPU: queue all later work on `stream`, a cudaStream_t that the caller owns and keeps alive;
 * NULL goes back to the context's own stream. Later work waits for the work queued so far. On place
 * gpus, `stream` belongs to the first GPU; the other GPUs begin when the work queued so far is
 * done.
 *
 * Order: calls of one context run in the order in which they were made. The context's own stream is
 * also ordered with the device's legacy default stream (stream 0, which cudaMemcpy, <<<>>> without
 * a stream and most frameworks use): a call sees the results of all work queued there before it,
 * and work queued there later sees the call's results. Nothing else is ordered with it: not streams
 * made with cudaStreamNonBlocking, not the per-thread default stream, and not other contexts. To
 * order those, pass the stream here, or wait (weft_sync, cudaStreamSynchronize). On the caller's
 * stream, calls have the order of that stream: after and before the legacy default stream too,
 * unless it was made with cudaStreamNonBlocking.
 *
 * Calls on device memory may be captured into a CUDA graph. A graph uses the context's scratch
 * memory: launch it while the context is open, and never at the same time as other work of the
 * context. */
WEFT_API weft_status weft_set_stream(weft_context *ctx, void *stream);

#ifdef __cplusplus
}
#endif
#endif
