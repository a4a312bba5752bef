/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution as a product of matrices. The pixels that the weights of a filter meet, for all
 * pixels of y, are its matrix of columns: for NCHW [channel, row, column of the weight][pixel of
 * y] of one image, for NHWC [pixel of y][row, column, channel of the weight] of several. */
#ifndef WI_CONV_COLUMNS_H
#define WI_CONV_COLUMNS_H

#include "gemm/gemm.h"
#include "nn/conv.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Pixels of one image of y. */
static inline size_t wi_conv_pixels(const wi_conv_args *a) {
    return a->out.h * a->out.w;
}

/* The columns of a group: their address for this image, and the elements between lines. If the
 * convolution is pointwise they are x itself; else they are in `room`, for all images alike. */
typedef struct wi_conv_matrix {
    void *p;
    size_t ld;
} wi_conv_matrix;

static inline void *wi_conv_at(const wi_conv_args *a, void *p, size_t element) {
    return (char *)p + element * weft_type_size(a->in.type);
}

wi_conv_matrix wi_conv_columns_of(const wi_conv_args *a, size_t image, size_t group, void *room);

/* The product that is the pass, for one group of an image; of NHWC for `images` of them. Data: the
 * product is the columns, and their elements are still to be added up to x. `beta`: 1 adds the
 * product to what is there. */
wi_gemm_args wi_conv_product(const wi_conv_args *a, size_t image, size_t images, size_t group,
                             wi_conv_matrix columns, double beta);

#ifdef __cplusplus
}
#endif
#endif
