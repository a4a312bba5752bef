/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs openacc and openacc_blocks: the loops of `serial` under directives. They run on a GPU
 * if the compiler has a back end for it, else on the calling thread. */
#ifdef WEFT_OPENACC
#    include <openacc.h>

#    include "blend/blend.h"
#    include "blend/blend_pixels.h"

enum {
    QUEUES = 3,            /* one copies in, one computes, one copies out */
    BLOCK_BYTES = 4 << 20, /* of an image */
    WHOLE = 0              /* the queue of a call that is not cut */
};

#    define ELEMENT uint8_t
#    define NAME(name) name##_u8
#    include "blend/blend_acc_lines.inc"
#    undef ELEMENT
#    undef NAME

#    define ELEMENT uint16_t
#    define NAME(name) name##_u16
#    include "blend/blend_acc_lines.inc"
#    undef ELEMENT
#    undef NAME

#    define ELEMENT float
#    define NAME(name) name##_f32
#    include "blend/blend_acc_lines.inc"

static void blend_rows(const wi_blend_args *args, size_t first, size_t rows, int queue) {
    if (args->type == WEFT_U8)
        rows_u8(args, first, rows, queue);
    else if (args->type == WEFT_U16)
        rows_u16(args, first, rows, queue);
    else
        rows_f32(args, first, rows, queue);
}

weft_status wi_blend_openacc(weft_context *ctx, const void *args) {
    const wi_blend_args *const a = args;
    (void)ctx;
    blend_rows(a, 0, a->rows, WHOLE);
#    pragma acc wait
    return WEFT_OK;
}

weft_status wi_blend_openacc_blocks(weft_context *ctx, const void *args) {
    const wi_blend_args *const a = args;
    const size_t row_bytes = a->cols * weft_type_size(a->type);
    const size_t rows = row_bytes < BLOCK_BYTES ? BLOCK_BYTES / row_bytes : 1;
    int queue = 0;
    (void)ctx;
    for (size_t first = 0; first < a->rows; first += rows) {
        const size_t left = a->rows - first;
        blend_rows(a, first, left < rows ? left : rows, queue);
        queue = (queue + 1) % QUEUES;
    }
#    pragma acc wait
    return WEFT_OK;
}

const char *wi_blend_openacc_device(void) {
    return acc_get_num_devices(acc_device_nvidia) > 0 ? "a GPU" : "the calling thread";
}
#else
typedef int wi_without_openacc;
#endif
