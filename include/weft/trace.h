/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines: a file that shows when each call, rung and copy ran, in lanes beside each other. The
 * viewers ui.perfetto.dev and chrome://tracing open it.
 *
 * There is a lane for the calling thread, and on a GPU for the context's stream, for the stream of
 * the caller (weft_set_stream), for the side lane and for copies in each direction; on place gpus
 * for each GPU, and on place mpi for each rank. Spans are named by public call, or by operation and
 * rung, and tell the bytes that the call reads and writes. On a GPU their times are those of the
 * device. Recording queues two events for each span of a GPU and never waits for queued work; work
 * that is captured into a graph is not recorded.
 *
 * WEFT_TRACE=FILE records every context from weft_open to weft_close. All contexts of a process
 * share the file, which is written whenever the last of those that are open closes. If it cannot be
 * written weft_open fails with WEFT_EIO; a failure at weft_close is not reported.
 *
 * Programs that run under a profiler which reads NVTX (Nsight Systems and Compute) show the same
 * spans there as ranges, without any of this; builds without CUDA do not. */
#ifndef WEFT_TRACE_H
#define WEFT_TRACE_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Begins to record this context, for a timeline in the file `path`. Contexts that record at the
 * same time with the same path, of any threads, share the file. On place mpi all ranks call this,
 * and the file is written by rank 0. WEFT_EARG if the context is being recorded; WEFT_EIO if the
 * file cannot be written. */
WEFT_API weft_status weft_trace_begin(weft_context *ctx, const char *path);

/* Waits for queued work and ends the record. The file is written when the last context that shares
 * it ends; until then an older file of this name stays. WEFT_EARG if weft_trace_begin was not
 * called; WEFT_EIO if writing failed. */
WEFT_API weft_status weft_trace_end(weft_context *ctx);

#ifdef __cplusplus
}
#endif
#endif
