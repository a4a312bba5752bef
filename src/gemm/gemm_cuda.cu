/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs that users get, by type. Their copies take 16 bytes at a time: an operand whose lines
 * begin elsewhere is copied first, which costs less than copies of single elements would. */
#include "core/stage.h"
#include "gemm/gemm_launch.cuh"

static bool is_aligned(const void *p, size_t ld, size_t width) {
    return wi_is_aligned(p) && ld * width % 16 == 0;
}

/* Bytes from one line of an aligned copy to the next. */
static size_t pitch_of(wi_gemm_lines of, size_t width) {
    return wi_gemm_pieces(of.length * width, 16) * 16;
}

weft_status wi_gemm_align(weft_context *ctx, wi_gemm_lines of, size_t width, const void **p,
                          size_t *ld, void **copy) {
    if (is_aligned(*p, *ld, width))
        return WEFT_OK;
    const size_t pitch = pitch_of(of, width);
    weft_status status = wi_gpu_alloc(ctx, copy, of.count * pitch);
    if (status == WEFT_OK)
        status = wi_stage_queue_rows(ctx, {(char *)*copy, pitch}, {(char *)*p, *ld * width},
                                     of.count, of.length * width, ctx->gpu->stream);
    *p = *copy;
    *ld = pitch / width;
    return status;
}

static wi_gemm_lines lines_of_a(const wi_gemm_args *g) {
    return g->transposed_a ? wi_gemm_lines{g->m, g->k} : wi_gemm_lines{g->k, g->m};
}
static wi_gemm_lines lines_of_b(const wi_gemm_args *g) {
    return g->transposed_b ? wi_gemm_lines{g->k, g->n} : wi_gemm_lines{g->n, g->k};
}

/* Copies of what is not aligned; and sums of slices of k, of which there are only as many as fill
 * the device. */
size_t wi_gemm_most_bytes(const weft_context *ctx, const wi_gemm_args *g) {
    constexpr size_t sums = 1 << 17; /* on a multiprocessor: twice the most there are */
    const size_t width = weft_type_size(g->type);
    const wi_gemm_lines of_a = lines_of_a(g), of_b = lines_of_b(g);
    size_t bytes = (size_t)ctx->gpu->multiprocessors * sums;
    if (!is_aligned(g->a, g->lda, width))
        bytes += of_a.count * pitch_of(of_a, width);
    if (!is_aligned(g->b, g->ldb, width))
        bytes += of_b.count * pitch_of(of_b, width);
    return bytes;
}

/* Runs the call with operands that are aligned. */
static weft_status run_aligned(weft_context *ctx, const wi_gemm_args *args,
                               weft_status (*run)(weft_context *ctx, const wi_gemm_args *g)) {
    wi_gemm_args g = *args;
    const size_t width = weft_type_size(g.type);
    void *a = NULL, *b = NULL;
    weft_status status = WEFT_OK;
    if (g.k > 0)
        status = wi_gemm_align(ctx, lines_of_a(&g), width, &g.a, &g.lda, &a);
    if (status == WEFT_OK && g.k > 0)
        status = wi_gemm_align(ctx, lines_of_b(&g), width, &g.b, &g.ldb, &b);
    if (status == WEFT_OK)
        status = run(ctx, &g);
    const weft_status freed_a = a ? wi_gpu_free(ctx, a) : WEFT_OK;
    const weft_status freed_b = b ? wi_gpu_free(ctx, b) : WEFT_OK;
    return status != WEFT_OK ? status : freed_a != WEFT_OK ? freed_a : freed_b;
}

weft_status wi_gemm_pipeline(weft_context *ctx, const void *args) {
    return run_aligned(ctx, (const wi_gemm_args *)args, wi_gemm_pipeline_f32);
}

static weft_status tensor_of_type(weft_context *ctx, const wi_gemm_args *g) {
    switch (g->type) {
    case WEFT_F64:
        return wi_gemm_tensor_f64(ctx, g);
    case WEFT_F32:
        return wi_gemm_tensor_tf32(ctx, g);
    case WEFT_F16:
        return wi_gemm_tensor_f16(ctx, g);
    case WEFT_BF16:
        return wi_gemm_tensor_bf16(ctx, g);
    default:
        return wi_gemm_tensor_i8(ctx, g);
    }
}

weft_status wi_gemm_tensor(weft_context *ctx, const void *args) {
    return run_aligned(ctx, (const wi_gemm_args *)args, tensor_of_type);
}
