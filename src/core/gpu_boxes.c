/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of matrices for the copy engine (tensor maps of the TMA), made by the driver. */
#include "core/gpu_boxes.h"

#include <stdatomic.h>

#include "core/gpu_driver.h"

static CUtensorMapDataType data_type(weft_type type) {
    switch (type) {
    case WEFT_F64:
        return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case WEFT_F32:
        return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case WEFT_F16:
        return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case WEFT_BF16:
        return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    default:
        return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    }
}

static weft_status too_old(weft_context *ctx) {
    return wi_fail(ctx, WEFT_EUNSUPPORTED,
                   "the driver cannot describe matrices to the copy engine: it is older than "
                   "CUDA 12");
}

/* The driver's functions, looked up once. */
static PFN_cuTensorMapEncodeTiled_v12000 find_encoder(void) {
    static _Atomic(PFN_cuTensorMapEncodeTiled_v12000) known;
    PFN_cuTensorMapEncodeTiled_v12000 encode = atomic_load(&known);
    if (!encode) {
        wi_gpu_find_driver("cuTensorMapEncodeTiled", 12000, &encode);
        atomic_store(&known, encode);
    }
    return encode;
}

static PFN_cuTensorMapEncodeIm2col_v12000 find_walk_encoder(void) {
    static _Atomic(PFN_cuTensorMapEncodeIm2col_v12000) known;
    PFN_cuTensorMapEncodeIm2col_v12000 encode = atomic_load(&known);
    if (!encode) {
        wi_gpu_find_driver("cuTensorMapEncodeIm2col", 12000, &encode);
        atomic_store(&known, encode);
    }
    return encode;
}

/* Boxes of box_count x box_lines lines of `line` bytes. */
static weft_status describe(weft_context *ctx, const wi_box_source *from, unsigned line,
                            unsigned box_lines, unsigned box_count, CUtensorMapSwizzle swizzle,
                            wi_boxes *boxes) {
    const PFN_cuTensorMapEncodeTiled_v12000 encode = find_encoder();
    if (!encode)
        return too_old(ctx);
    const cuuint64_t extents[3] = {from->length, from->lines, from->count};
    const cuuint64_t strides[2] = {from->pitch,
                                   from->count > 1 ? from->apart : from->pitch * from->lines};
    const cuuint32_t box[3] = {(cuuint32_t)(line / weft_type_size(from->type)), box_lines,
                               box_count};
    const cuuint32_t steps[3] = {1, 1, 1};
    const CUresult result = encode(boxes, data_type(from->type), 3, (void *)from->base, extents,
                                   strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                   from->alone ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B
                                               : CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result == CUDA_SUCCESS)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EDEVICE,
                   "the driver refuses to describe %zu x %zu elements of %s at %p, %zu bytes apart "
                   "(CUDA error %d)",
                   from->length, from->lines, weft_type_name(from->type), from->base, from->pitch,
                   (int)result);
}

weft_status wi_gpu_describe_boxes(weft_context *ctx, const wi_box_source *from, unsigned box_lines,
                                  wi_boxes *boxes) {
    return wi_gpu_describe_deep_boxes(ctx, from, box_lines, 1, boxes);
}

weft_status wi_gpu_describe_deep_boxes(weft_context *ctx, const wi_box_source *from,
                                       unsigned box_lines, unsigned box_count, wi_boxes *boxes) {
    return describe(ctx, from, 128, box_lines, box_count, CU_TENSOR_MAP_SWIZZLE_128B, boxes);
}

weft_status wi_gpu_describe_narrow_boxes(weft_context *ctx, const wi_box_source *from,
                                         unsigned box_lines, unsigned box_count, wi_boxes *boxes) {
    return describe(ctx, from, 64, box_lines, box_count, CU_TENSOR_MAP_SWIZZLE_64B, boxes);
}

weft_status wi_gpu_describe_plain_boxes(weft_context *ctx, const wi_box_source *from, unsigned line,
                                        unsigned box_lines, wi_boxes *boxes) {
    return describe(ctx, from, line, box_lines, 1, CU_TENSOR_MAP_SWIZZLE_NONE, boxes);
}

weft_status wi_gpu_describe_walk(weft_context *ctx, const wi_walk_source *from, unsigned pixels,
                                 wi_boxes *boxes) {
    const PFN_cuTensorMapEncodeIm2col_v12000 encode = find_walk_encoder();
    if (!encode)
        return too_old(ctx);
    const cuuint64_t extents[4] = {from->extent[0], from->extent[1], from->extent[2],
                                   from->extent[3]};
    const cuuint64_t strides[3] = {from->apart[0], from->apart[1], from->apart[2]};
    const cuuint32_t steps[4] = {1, from->step[0], from->step[1], 1};
    const cuuint32_t channels = (cuuint32_t)(128 / weft_type_size(from->type));
    const CUresult result =
        encode(boxes, data_type(from->type), 4, (void *)from->base, extents, strides, from->first,
               from->past, channels, pixels, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
               CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result == CUDA_SUCCESS)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EDEVICE,
                   "the driver refuses to describe %zu images of %zu x %zu x %zu %s at %p (CUDA "
                   "error %d)",
                   from->extent[3], from->extent[2], from->extent[1], from->extent[0],
                   weft_type_name(from->type), from->base, (int)result);
}
