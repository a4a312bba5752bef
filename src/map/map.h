/* SPDX-License-Identifier: Apache-2.0 */
/* map inside the library: one call as its rungs get it, and the rungs. */
#ifndef WI_MAP_H
#define WI_MAP_H

#include "core/call.h"
#include "core/rows.h"
#include "weft/map.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wi_map_op {
    WI_MAP_ADD,  /* z = x + y */
    WI_MAP_AXPY, /* z = a x + y; the public call has z = y */
    WI_MAP_FILL, /* z = a */
    WI_MAP_IOTA  /* z = a + i b, where i counts from `first` */
} wi_map_op;

/* A scalar of any weft_type, as the caller stores it. */
typedef union wi_scalar {
    uint64_t bits;
    unsigned char bytes[8];
} wi_scalar;

/* One call on memory that the place can access directly. A vector is one row. */
typedef struct wi_map_args {
    wi_map_op op;
    weft_type type;
    size_t rows, cols;
    wi_scalar a, b;
    uint64_t first; /* number of the first element, for IOTA */
    const void *x;  /* NULL if the operation reads none */
    const void *y;
    void *z;
    size_t ldx, ldy, ldz; /* elements from one row's start to the next */
} wi_map_args;

extern const wi_ladder wi_map_ladder;

/* Runs a checked call on this place alone; nothing if it is empty. */
weft_status wi_map_call_run(weft_context *ctx, wi_call *call, wi_map_args *args);

/* The rungs; `ranks` gets wi_dist_args. */
weft_status wi_map_serial(weft_context *ctx, const void *args);
weft_status wi_map_threads(weft_context *ctx, const void *args);
weft_status wi_map_one_each(weft_context *ctx, const void *args);
weft_status wi_map_blocks_2d(weft_context *ctx, const void *args);
weft_status wi_map_grid_stride(weft_context *ctx, const void *args);
weft_status wi_map_vector(weft_context *ctx, const void *args);
weft_status wi_map_ranks(weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
