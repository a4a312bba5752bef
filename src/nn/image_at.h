/* SPDX-License-Identifier: Apache-2.0 */
/* For tests: where an element of images lies. */
#ifndef WEFT_IMAGE_AT_H
#define WEFT_IMAGE_AT_H

#include "weft/nn.h"

/* Row h, column w, channel c of image n, counted in elements. */
static inline size_t image_at(const weft_images *x, size_t n, size_t c, size_t h, size_t w) {
    return x->layout == WEFT_NCHW ? ((n * x->c + c) * x->h + h) * x->w + w
                                  : ((n * x->h + h) * x->w + w) * x->c + c;
}

#endif
