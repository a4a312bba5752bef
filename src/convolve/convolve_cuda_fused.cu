/* SPDX-License-Identifier: Apache-2.0 */
/* The rung fused of convolve: which kernel a call takes. */
#include "convolve/convolve_rows.cuh"
#include "convolve/convolve_sizes.h"

/* `side` of args, of those that `sides` lists. */
#define CASE(In, channels, size)                                                                   \
    case size:                                                                                     \
        return wi_strip_run<wi_strip_shape<In, size, channels, true>>(ctx, args);
#define F32(size) CASE(float, 1, size)
#define U8(size) CASE(uint8_t, 1, size)
#define RGB(size) CASE(uint8_t, 3, size)
#define RGBA(size) CASE(uint8_t, 4, size)

static weft_status run_f32(weft_context *ctx, const wi_convolve_args *args) {
    switch (args->filter_width) { WI_CONVOLVE_FUSED_F32(F32) }
    return WEFT_EUNSUPPORTED;
}

static weft_status run_u8(weft_context *ctx, const wi_convolve_args *args) {
    switch (args->filter_width) { WI_CONVOLVE_FUSED_U8(U8) }
    return WEFT_EUNSUPPORTED;
}

static weft_status run_rgb(weft_context *ctx, const wi_convolve_args *args) {
    switch (args->filter_width) { WI_CONVOLVE_FUSED_RGB(RGB) }
    return WEFT_EUNSUPPORTED;
}

static weft_status run_rgba(weft_context *ctx, const wi_convolve_args *args) {
    switch (args->filter_width) { WI_CONVOLVE_FUSED_RGB(RGBA) }
    return WEFT_EUNSUPPORTED;
}

weft_status wi_convolve_fused(weft_context *ctx, const void *arguments) {
    const wi_convolve_args *const args = (const wi_convolve_args *)arguments;
    if (args->type == WEFT_F32)
        return run_f32(ctx, args);
    return args->channels == 1   ? run_u8(ctx, args)
           : args->channels == 3 ? run_rgb(ctx, args)
                                 : run_rgba(ctx, args);
}
