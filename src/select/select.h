/* SPDX-License-Identifier: Apache-2.0 */
/* select, unique and expand inside the library: one call as the rungs get it, and the rungs. */
#ifndef WI_SELECT_H
#define WI_SELECT_H

#include "core/call.h"
#include "core/rows.h"
#include "weft/select.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A predicate as a range of keys, modulo 2^bits of the type. The key of an element is its bits, xor
 * `fold` if its top bit is set (which makes floats compare like signed integers). The element is
 * wanted if key - low <= span; with `negate`, if not. */
typedef struct wi_select_range {
    uint64_t low, span, fold;
    bool negate;
} wi_select_range;

typedef enum wi_select_job {
    WI_SELECT_KEEP, /* kept, rest and positions, as far as they are given */
    WI_SELECT_JUST_COUNT,
    WI_SELECT_EXPAND, /* elements of x go to the selected positions of kept */
    WI_SELECT_JOBS
} wi_select_job;

enum {
    WI_SELECT_FILL_BYTES = 16
};

/* One call on memory that the place can access directly. */
typedef struct wi_select_args {
    wi_select_job job;
    size_t n;
    const void *tested;    /* n elements */
    size_t tested_bytes;   /* of one: 1, 2, 4 or 8 */
    wi_select_range range; /* the keys that are wanted; ignored if `unique` */
    bool unique;           /* an element is wanted if it differs from the one before it */
    bool moves;            /* elements of x are moved; else only positions or counts are written */
    const void *x;         /* elements to move; NULL if there are none */
    size_t unit, units;    /* an element of x is `units` pieces of `unit` bytes (1, 2, 4, 8 or 16);
                              x, kept, rest and fill are aligned to `unit` */
    size_t packed;         /* EXPAND: elements of x */
    void *kept;            /* may be x if units is 1 */
    void *rest;            /* receives elements that are not kept; NULL: see rest_follows */
    bool rest_follows;     /* if rest is NULL: they go after the kept ones in `kept`; else they are
                              dropped */
    void *positions;       /* of the kept elements; NULL if not asked for, or if n is 0 */
    size_t position_bytes; /* 4 or 8; 0: not asked for */
    bool lengths; /* finally replace each position by its distance to the next (the last: to n) */
    bool has_fill;
    const void *fill; /* EXPAND: one element; NULL: its bytes are in fill_bytes */
    unsigned char fill_bytes[WI_SELECT_FILL_BYTES];
    uint64_t *count; /* NULL for EXPAND */
    /* The value of *count if that is in host memory, for calls whose outputs go back to the host.
     */
    uint64_t found;
    bool count_waits;
} wi_select_args;

extern const wi_ladder wi_select_ladder;

/* The range of keys that p stands for. */
wi_select_range wi_select_range_of(const weft_predicate *p);

/* The arrays of a call, by number. */
enum {
    WI_SELECT_S, /* tested */
    WI_SELECT_X, /* moved */
    WI_SELECT_Y, /* kept, or expanded into */
    WI_SELECT_Z, /* the rest */
    WI_SELECT_POSITIONS,
    WI_SELECT_FILL,
    WI_SELECT_COUNT,
    WI_SELECT_ARRAYS
};

/* Runs a checked call on its arrays. `args` has everything except the arrays. */
weft_status wi_select_run(weft_context *ctx, wi_call *call, wi_select_args *args);

/* On the cpu: turns the positions where `count` runs begin into the runs' lengths. */
void wi_select_take_distances(const wi_select_args *args, uint64_t count);
/* The same by all threads. */
void wi_select_take_lengths(const weft_context *ctx, const wi_select_args *args, uint64_t count);

/* What the rung over ranks gets. Its outputs are as of one rank; then the count becomes that of
 * all, positions those in the whole, and runs that begin on a rank before go there. */
typedef struct wi_select_request {
    const wi_call *call;
    const wi_select_args *args;
    weft_type index_type;    /* of positions or lengths, if asked for */
    weft_predicate expanded; /* of weft_expand */
} wi_select_request;

weft_status wi_select_ranks(weft_context *ctx, const void *request);
/* The same of weft_expand. */
weft_status wi_expand_ranks(weft_context *ctx, const wi_select_request *request);

/* The checks of a call, of its predicate, and of the bytes of an element; and the arguments of one
 * that tests n elements. */
weft_status wi_select_check_begin(weft_context *ctx, const char *call, const weft_predicate *p);
weft_status wi_select_check_width(weft_context *ctx, const char *call, size_t width);
wi_select_args wi_select_args_of(const weft_predicate *p, size_t n);

/* The rungs. */
weft_status wi_select_serial(weft_context *ctx, const void *arguments);
weft_status wi_select_threads(weft_context *ctx, const void *arguments);
weft_status wi_select_three_kernels(weft_context *ctx, const void *arguments);
weft_status wi_select_lookback(weft_context *ctx, const void *arguments);
weft_status wi_select_bulk(weft_context *ctx, const void *arguments);

#ifdef __cplusplus
}
#endif
#endif
