/* SPDX-License-Identifier: Apache-2.0 */
/* Staging: host arrays on a GPU place. A call is cut into segments, some rows or a part of one row.
 * They pass through pinned buffers, which several host threads fill and empty: while one segment
 * computes, later ones are copied in and earlier ones out. (Rung segmented; the others copy whole
 * arrays.) */
#ifndef WI_STAGE_H
#define WI_STAGE_H

#include "core/gpu.h"
#include "core/rowcopy.h"
#include "core/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_MAX_OPERANDS = 8
};

/* One array of a staged call: `rows` rows, consecutive ones `pitch_bytes` apart. It may be in
 * pageable host, pinned host or device memory. */
typedef struct wi_operand {
    void *p;
    size_t element_bytes;
    size_t pitch_bytes; /* ignored when there is one row */
    bool in;            /* the kernel reads it */
    bool out;           /* the kernel writes all of it */
} wi_operand;

/* Queues the kernel for one segment on ctx's stream: `rows` rows of `cols` elements. `first` is the
 * number of its first element in the whole call (of rows * cols). p[k] and ld[k] (in elements) say
 * where operand k of the segment is in device memory. */
typedef weft_status (*wi_segment_run)(weft_context *ctx, const void *user, size_t first,
                                      size_t rows, size_t cols, void *const p[], const size_t ld[]);

typedef struct wi_stage_args {
    const char *call;
    size_t rows, cols;
    wi_operand operand[WI_MAX_OPERANDS];
    int operands;
    wi_segment_run run;
    const void *user;
    bool copies;     /* instead of `run`: operand 0 is copied to operand 1, one of which is device
                        memory, so that nothing on the way takes more of it */
    bool *over_link; /* not NULL: kernels can access pinned memory over the link; set if they do */
} wi_stage_args;

extern const wi_ladder wi_stage_ladder; /* it has no rungs in a build without CUDA */

/* Runs the call segment by segment, in order, with the ladder "stage" (pageable, pinned,
 * segmented). If every operand is in device memory it is one segment, and only queued; otherwise
 * this returns when all host outputs are written. Operands that are the same host array are copied
 * once. A call of no elements runs nothing. */
weft_status wi_stage_run(weft_context *ctx, const wi_stage_args *args);

/* Frees what staging keeps between calls. */
void wi_stage_close(weft_context *ctx);

#ifdef WEFT_CUDA
/* Queues a copy of rows on a stream, as one command where the runtime can express it. */
weft_status wi_stage_queue_rows(weft_context *ctx, wi_pitched to, wi_pitched from, size_t rows,
                                size_t row_bytes, cudaStream_t stream);
#endif

#ifdef __cplusplus
}
#endif
#endif
