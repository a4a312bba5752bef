/* SPDX-License-Identifier: Apache-2.0 */
/* blend: two images become one. */
#ifndef WEFT_BLEND_H
#define WEFT_BLEND_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How images are blended. An initializer may leave out the four distances between rows, if rows
 * have no gaps, and weights that are 0 or, with a mask, not used. */
typedef struct weft_blending {
    weft_type type;                 /* of all images: u8, u16 or f32 */
    size_t width, height;           /* in pixels */
    unsigned channels;              /* interleaved in a pixel: 1 to 4 */
    size_t lda, ldb, ldmask, ldout; /* elements from one row to the next; 0: rows have no gaps */
    double weight_a, weight_b;      /* finite; not used with a mask */
} weft_blending;

/* out = weight_a a + weight_b b, element by element. With a mask, an image of one channel that
 * holds a number for each pixel, a pixel is m a + (1 - m) b, where m is the mask's number times
 * 1 / 255 (u8) or 1 / 65535 (u16) or, of f32, as it is. `mask` may be NULL: none.
 *
 * Weights are rounded to f32, and so are 1 / 255, 1 / 65535, m and 1 - m. An element is
 * fma(weight_a, a, weight_b b) in f32; u8 and u16 are rounded from that to nearest, ties to even,
 * and what is beyond the range becomes its end. So the bits of `out` are the same on every place.
 *
 * Images may be host or device memory, mixed freely. `out` may be a or b, with the same distance
 * between rows; it shares no other memory with them, and none with the mask. What lies between rows
 * is neither read nor written. With all on the device the call is queued on the context's stream.
 * It is fastest where rows begin at multiples of 16 bytes, or have no gaps.
 *
 * Over ranks each passes its own rows of all images: height is theirs, and may be 0. */
WEFT_API weft_status weft_blend(weft_context *ctx, const weft_blending *blending, const void *a,
                                const void *b, const void *mask, void *out);

#ifdef __cplusplus
}
#endif
#endif
