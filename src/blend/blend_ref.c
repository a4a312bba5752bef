/* SPDX-License-Identifier: Apache-2.0 */
/* The rung serial: one element after the other. */
#include "blend/blend.h"
#include "blend/blend_pixels.h"

#define SERIAL(element, suffix)                                                                    \
    for (size_t r = 0; r < args->rows; r++)                                                        \
        for (size_t c = 0; c < args->cols; c++) {                                                  \
            const float a = (float)((const element *)args->a)[r * args->lda + c];                  \
            const float b = (float)((const element *)args->b)[r * args->ldb + c];                  \
            float share_a = args->weight_a, share_b = args->weight_b;                              \
            if (args->mask) {                                                                      \
                share_a =                                                                          \
                    (float)((const element *)args->mask)[r * args->ldmask + c / args->channels] *  \
                    wi_blend_unit_##suffix;                                                        \
                share_b = 1 - share_a;                                                             \
            }                                                                                      \
            wi_blend_put_##suffix((element *)args->out + r * args->ldout + c,                      \
                                  wi_blend_mix(share_a, a, share_b, b));                           \
        }

weft_status wi_blend_serial(weft_context *ctx, const void *arguments) {
    const wi_blend_args *const args = arguments;
    (void)ctx;
    if (args->type == WEFT_U8)
        SERIAL(uint8_t, u8)
    else if (args->type == WEFT_U16)
        SERIAL(uint16_t, u16)
    else
        SERIAL(float, f32)
    return WEFT_OK;
}
