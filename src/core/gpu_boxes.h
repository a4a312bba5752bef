/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps: descriptions of matrices in device memory for the Tensor Memory Accelerator (TMA,
 * "the copy engine"), which copies boxes of lines from them to shared memory (cuda/boxes.cuh). */
#ifndef WI_GPU_BOXES_H
#define WI_GPU_BOXES_H

#include <cudaTypedefs.h>

#include "core/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef CUtensorMap wi_boxes;

/* `count` matrices of the same shape: `lines` lines of `length` elements, a line `pitch` bytes
 * behind the one before and a matrix `apart` bytes (any, if there is one). The base, pitch and
 * apart are multiples of 16 bytes, all extents positive and below 2^31. If boxes are `alone`,
 * memory is read 128 bytes at a time; else 256, so that the next box along the lines finds its own
 * in the cache. */
typedef struct wi_box_source {
    weft_type type;
    const void *base;
    size_t length, lines, pitch, count, apart;
    bool alone;
} wi_box_source;

/* Describes them for boxes of `box_lines` lines of 128 bytes, at most 256. Kernels take *boxes as a
 * parameter that says __grid_constant__. */
weft_status wi_gpu_describe_boxes(weft_context *ctx, const wi_box_source *from, unsigned box_lines,
                                  wi_boxes *boxes);
/* The same for boxes that have so many lines of each of `box_count` matrices. */
weft_status wi_gpu_describe_deep_boxes(weft_context *ctx, const wi_box_source *from,
                                       unsigned box_lines, unsigned box_count, wi_boxes *boxes);
/* The same for lines of 64 bytes. */
weft_status wi_gpu_describe_narrow_boxes(weft_context *ctx, const wi_box_source *from,
                                         unsigned box_lines, unsigned box_count, wi_boxes *boxes);
/* The same for lines of `line` bytes, a multiple of 16 and at most 256 elements, which lie
 * in shared memory as they are: their chunks of 16 bytes are not swizzled. */
weft_status wi_gpu_describe_plain_boxes(weft_context *ctx, const wi_box_source *from, unsigned line,
                                        unsigned box_lines, wi_boxes *boxes);

/* Images with channels side by side: `extent` channels, columns, rows and images, `apart` bytes
 * from a column, a row and an image to the next, the base and those multiples of 16 bytes. Boxes
 * take pixels in the order of a walk (a tensor map of kind im2col): along the rows of a frame, then
 * from row to row, then from image to image, `step` columns and rows (1 to 8) at a time. The frame
 * begins at column and row `first` of an image and ends `past` columns and rows beyond its end,
 * both -128 to 127. */
typedef struct wi_walk_source {
    weft_type type;
    const void *base;
    size_t extent[4], apart[3];
    int first[2], past[2];
    unsigned step[2];
} wi_walk_source;

/* Describes them for boxes of `pixels` lines, at most 1024, each of them 128 bytes of a pixel. */
weft_status wi_gpu_describe_walk(weft_context *ctx, const wi_walk_source *from, unsigned pixels,
                                 wi_boxes *boxes);

#ifdef __cplusplus
}
#endif
#endif
