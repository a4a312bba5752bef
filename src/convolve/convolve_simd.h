/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a thread of convolve, compiled for each instruction set. */
#ifndef WI_CONVOLVE_SIMD_H
#define WI_CONVOLVE_SIMD_H

#include "convolve/convolve.h"
#include "cpu/isa.h"

enum {
    WI_CONVOLVE_ROWS = 4,   /* output rows that are computed together */
    WI_CONVOLVE_SPARE = 64, /* elements behind a line that whole vectors may touch */
    /* By strips. */
    WI_CONVOLVE_MOST_SIDE = 7, /* of filters that loops are unrolled for */
    WI_CONVOLVE_TURNS = 2,     /* how often such a loop goes around */
    WI_CONVOLVE_MOST_ROWS = (WI_CONVOLVE_TURNS + 1) * WI_CONVOLVE_MOST_SIDE - 1, /* with these,
                                                  output rows that are computed together */
    WI_CONVOLVE_PART_ROWS = 11,   /* the same where filters of 7 x 7 are taken in parts */
    WI_CONVOLVE_TALL_ROWS = 6,    /* the same with other filters */
    WI_CONVOLVE_MOST_HEIGHT = 33, /* of those */
    WI_CONVOLVE_MOST_LINES = WI_CONVOLVE_MOST_HEIGHT + WI_CONVOLVE_TALL_ROWS - 1, /* of x that they
                                                                                     take */
    WI_CONVOLVE_SEGMENT = 384,      /* columns of copies of lines */
    WI_CONVOLVE_AHEAD_BYTES = 1152, /* how far ahead a strip prefetches its own rows */
    WI_CONVOLVE_NARROW = 128        /* columns of images that do not gain by strips */
};

/* How a call is divided. Lines are the elements that are computed together: all channels of a row
 * or, if channels have different filters, one channel. */
typedef struct wi_convolve_plan {
    const wi_convolve_args *args;
    size_t terms;  /* of products of a column and a row that are added up; 0: all weights of the
                      filter are used */
    size_t step;   /* elements from a pixel to the next in a line: the channels, or 1 */
    size_t apart;  /* the same in x and y: the channels */
    size_t parts;  /* lines of a row of x or y: 1, or the channels */
    size_t length; /* elements of an output line */
    size_t block;  /* elements of a line that are computed at a time */
    size_t band;   /* rows of a piece of work */
    size_t blocks, bands;
    size_t pitch; /* of lines in `room` */
    size_t kept;  /* lines of x, or filtered rows of each term, that are kept */
    bool streams; /* outputs bypass the cache */
    /* By strips: how many output rows are computed together (0: not by strips); whether x is read
     * and y written as they lie; elements of a row of y before its first whole cache line, if that
     * matters. */
    size_t rows;
    bool reads, writes;
    size_t lead;
    const void *weights; /* rounded to f32 if sums are; all filters, or the rows of all terms, then
                            the columns */
} wi_convolve_plan;

/* Lines of `pitch` elements that a thread needs. */
static inline size_t wi_convolve_lines(const wi_convolve_plan *plan) {
    if (plan->rows)
        return plan->kept + plan->rows;
    return plan->kept * (plan->terms ? plan->terms : 1) + 2 * WI_CONVOLVE_ROWS;
}

/* Filters of sides that loops are unrolled for: 3, 5 and 7. */
static inline bool wi_convolve_is_unrolled(size_t width, size_t height) {
    return width == height && width % 2 == 1 && width > 1 && width <= WI_CONVOLVE_MOST_SIDE;
}

/* Output rows that a strip computes together, at most. */
static inline size_t wi_convolve_strip_rows(size_t width, size_t height, bool has_parts) {
    if (!wi_convolve_is_unrolled(width, height))
        return WI_CONVOLVE_TALL_ROWS;
    return has_parts && width == 7 ? WI_CONVOLVE_PART_ROWS : (WI_CONVOLVE_TURNS + 1) * width - 1;
}

/* Do strips compute this dense filter, where the processor has them? They gain nothing with narrow
 * images; nor where lines have to be copied, except with one channel and unrolled loops. */
static inline bool wi_convolve_by_strips(const wi_convolve_args *a) {
    const size_t width = a->filter_width, height = a->filter_height;
    const size_t length = a->out_width * a->channels;
    const bool is_unrolled = wi_convolve_is_unrolled(width, height);
    const bool reads =
        a->type == (a->doubles ? WEFT_F64 : WEFT_F32) && (a->channels == 1 || a->filters == 1);
    if (is_unrolled)
        return length > (a->channels == 1 ? WI_CONVOLVE_NARROW : WI_CONVOLVE_SEGMENT) &&
               (a->channels == 1 || (reads && !a->doubles));
    return reads && length > 4 * WI_CONVOLVE_SEGMENT && width <= WI_CONVOLVE_MOST_HEIGHT &&
           height >= WI_CONVOLVE_TALL_ROWS - 1 && height <= WI_CONVOLVE_MOST_HEIGHT;
}

/* Does piece `piece` of parts * blocks * bands * images. `room` has wi_convolve_lines lines, of f32
 * or f64. */
typedef void (*wi_convolve_work)(const wi_convolve_plan *plan, size_t piece, void *room);

typedef struct wi_convolve_simd {
    wi_convolve_work f32, f64;
    wi_convolve_work strips_f32, strips_f64; /* NULL: there are none */
    bool has_parts;                          /* they take filters of 7 x 7 in parts */
} wi_convolve_simd;

WI_DECLARE_ISAS(wi_convolve_simd, wi_convolve_simd);

#endif
