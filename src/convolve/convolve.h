/* SPDX-License-Identifier: Apache-2.0 */
/* convolve inside the library: one checked call as its rungs get it, the steps from the public call
 * to that, and the rungs. */
#ifndef WI_CONVOLVE_H
#define WI_CONVOLVE_H

#include "core/call.h"
#include "core/rows.h"
#include "weft/convolve.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_CONVOLVE_MOST = (1 << 30) - 1, /* elements of a row, rows of an image, sides of a filter */
    WI_CONVOLVE_TAUGHT_WEIGHTS = 900, /* that teaching rungs take as parameters of a kernel */
    WI_CONVOLVE_TAUGHT_SIDE = 64,     /* of a filter whose tile fits shared memory */
    WI_CONVOLVE_MOST_TERMS = 8        /* of a filter of low rank */
};

/* One checked call on memory that the place can access. It is a correlation: filters are turned if
 * they need be. Sizes are in pixels, distances in elements. */
typedef struct wi_convolve_args {
    weft_type type, out;
    bool doubles, truncates;
    bool any_order; /* of sums */
    weft_border border;
    size_t channels;
    size_t width, height, out_width, out_height, images;
    const void *x;
    void *y;
    size_t ldx, ldy, apart_x, apart_y;
    size_t rows_apart_x, rows_apart_y; /* of the call as its user makes it */
    size_t filter_width, filter_height;
    size_t left, above; /* pixels of a filter before the one that is computed */
    size_t filters;
    const double *filter;       /* in host memory */
    const double *column, *row; /* of each filter, if the call is computed by them; else NULL */
    /* If sums may have any order: of how many products of a column and a row each filter is the
     * sum, near enough (0: not known to be so), and those of all filters for the first term, then
     * for the next. */
    size_t terms;
    const double *term_columns, *term_rows;
    size_t summed, apart_summed; /* x is so many sets of images, each with `filters` of its own,
                                    whose outputs are added up; 0: one set */
} wi_convolve_args;

extern const wi_ladder wi_convolve_ladder;

/* What a valid description says, but for the distances between images and rows; these, refused if
 * they are too small; and the call of args->x and args->y, whose arrays it checks. */
wi_convolve_args wi_convolve_args_of(const weft_convolution *c);
weft_status wi_convolve_distances(weft_context *ctx, const weft_convolution *c,
                                  wi_convolve_args *args);
weft_status wi_convolve_describe(weft_context *ctx, const weft_convolution *c,
                                 wi_convolve_args *args, wi_call *call);
/* Runs it: makes copies of the weights as rungs want them. */
weft_status wi_convolve_call_run(weft_context *ctx, const weft_convolution *c,
                                 wi_convolve_args *args, wi_call *call);

/* Runs a public call over ranks; `status` is what the checks of `c` have said. And, checked, over
 * all GPUs. */
weft_status wi_convolve_over_ranks(weft_context *ctx, const weft_convolution *c, const void *x,
                                   void *y, weft_status status);
bool wi_convolve_wants_gpus(weft_context *ctx, const wi_convolve_args *args);
weft_status wi_convolve_over_gpus(weft_context *ctx, const weft_convolution *c,
                                  const wi_convolve_args *args);

/* Writes each filter's column (filter_height weights) and row (filter_width). False if one of them
 * is not separable. */
bool wi_convolve_factors(const wi_convolve_args *args, double *column, double *row);

/* Two calls that filter the rows and then the columns, whose filters are to be set; `between` has
 * room for their sums, wi_convolve_between elements of f32 or f64. */
size_t wi_convolve_between(const wi_convolve_args *args);
wi_convolve_args wi_convolve_of_rows(const wi_convolve_args *args, void *between);
wi_convolve_args wi_convolve_of_columns(const wi_convolve_args *args, const void *between);

/* The rungs. */
weft_status wi_convolve_serial(weft_context *ctx, const void *args);
weft_status wi_convolve_threads(weft_context *ctx, const void *args);
weft_status wi_convolve_separable(weft_context *ctx, const void *args);
weft_status wi_convolve_low_rank(weft_context *ctx, const void *args);
weft_status wi_convolve_transforms(weft_context *ctx, const void *args);
weft_status wi_convolve_direct(weft_context *ctx, const void *args);
weft_status wi_convolve_constant(weft_context *ctx, const void *args);
weft_status wi_convolve_tile(weft_context *ctx, const void *args);
weft_status wi_convolve_blocks(weft_context *ctx, const void *args);
weft_status wi_convolve_rows(weft_context *ctx, const void *args);
weft_status wi_convolve_two_pass(weft_context *ctx, const void *args);
weft_status wi_convolve_fused(weft_context *ctx, const void *args);
weft_status wi_convolve_low_rank_fused(weft_context *ctx, const void *args);
weft_status wi_convolve_tensor(weft_context *ctx, const void *args);
weft_status wi_convolve_quads(weft_context *ctx, const void *args);
weft_status wi_convolve_ranks(weft_context *ctx, const void *request);

#ifdef __cplusplus
}
#endif
#endif
