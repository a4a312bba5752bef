/* SPDX-License-Identifier: Apache-2.0 */
/* Host data on a GPU place: segments pass through pinned buffers, filled and emptied by several
 * host threads, while earlier segments compute and later ones travel. */
#ifndef WI_STAGE_H
#define WI_STAGE_H

#include "core/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_MAX_OPERANDS = 3
};

/* One array of a call: `rows` runs of `row_bytes` each, their starts `pitch_bytes` apart. It may
 * lie in pageable host, pinned host or device memory. */
typedef struct wi_operand {
    void *p;
    size_t element_bytes;
    size_t pitch_bytes; /* ignored when there is one row */
    bool in;            /* the kernel reads it */
    bool out;           /* the kernel writes all of it */
} wi_operand;

/* Queues the kernel on ctx's stream for one segment: `rows` rows of `cols` elements, the first of
 * them number `first` of the whole call (in elements, counting rows * cols). p[k] and ld[k] (in
 * elements) say where operand k of the segment lies in device memory. */
typedef weft_status (*wi_segment_run)(weft_context *ctx, const void *user, size_t first,
                                      size_t rows, size_t cols, void *const p[], const size_t ld[]);

typedef struct wi_stage_args {
    const char *call;
    size_t rows, cols;
    wi_operand operand[WI_MAX_OPERANDS];
    int operands;
    wi_segment_run run;
    const void *user;
} wi_stage_args;

extern const wi_ladder wi_stage_ladder; /* without rows in a build without CUDA */

/* Runs the call segment by segment, in order, with the ladder "stage" (pageable, pinned,
 * segmented). When every operand is device memory it is one segment, only queued. Returns when all
 * host outputs are written. Operands that are the same host array are staged once. A call of no
 * elements runs nothing. */
weft_status wi_stage_run(weft_context *ctx, const wi_stage_args *args);

/* Frees what staging holds on to between calls. */
void wi_stage_close(weft_context *ctx);

#ifdef __cplusplus
}
#endif
#endif
