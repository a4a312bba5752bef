/* SPDX-License-Identifier: Apache-2.0 */
/* How a staged call is cut up: which arrays cross to the device, and which elements make a segment.
 * Pure arithmetic, so that it is tested without a GPU. */
#ifndef WI_STAGE_PLAN_H
#define WI_STAGE_PLAN_H

#include "core/stage.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The distinct arrays of a call: an array that is both input and output is one. */
typedef struct wi_stage_arrays {
    wi_operand array[WI_MAX_OPERANDS];
    int count;
    int of[WI_MAX_OPERANDS]; /* which of them each operand is */
    size_t rows, cols;       /* of the call; one row if no array has gaps between its rows */
} wi_stage_arrays;

wi_stage_arrays wi_stage_arrays_of(const wi_stage_args *args);

/* Bytes from the first element of array k to its last. */
size_t wi_stage_array_span(const wi_stage_arrays *arrays, int k);

/* The address of element (row, col) of array k. */
char *wi_stage_array_at(const wi_stage_arrays *arrays, int k, size_t row, size_t col);

/* Segments of whole rows or, where one row is too long, of parts of a row. */
typedef struct wi_plan {
    size_t rows, cols;           /* of the call */
    size_t rows_each, cols_each; /* of a full segment */
    size_t count;                /* segments */
} wi_plan;

typedef struct wi_segment {
    size_t row, col; /* its first element */
    size_t rows, cols;
} wi_segment;

/* Cuts rows x cols elements, neither 0, into segments of at most `most` elements. */
wi_plan wi_plan_of(size_t rows, size_t cols, size_t most);
wi_segment wi_plan_segment(const wi_plan *plan, size_t index);

/* How many elements a segment should have: as many as bring `busiest` bytes each to segment_bytes
 * in the direction with more bytes; fewer if the call is short, so that copies and kernels can
 * still overlap. */
size_t wi_plan_most(size_t elements, size_t busiest, size_t segment_bytes);

#ifdef __cplusplus
}
#endif
#endif
