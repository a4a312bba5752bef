/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs that users get, by type. Their copies take 16 bytes at a time: an operand whose lines
 * begin elsewhere is copied first, which costs less than copies of single elements would. */
#include "core/stage.h"
#include "gemm/gemm_launch.cuh"

/* An operand as it is stored, and what a rung wants of it. */
struct operand {
    const void **p;
    size_t *ld;
    bool *transposed;
    size_t lines, length; /* of the lines */
    bool turn;            /* its columns are to be lines instead, or the other way round */
};

constexpr int turned = 32; /* elements of a side of a piece */
constexpr int turners = 8;

/* to(j, i) = from(i, j) for `lines` lines of `length` elements, whose lines are `ld` apart. */
template <class T>
__global__ void turn_lines(T *to, size_t to_ld, const T *from, size_t ld, size_t lines,
                           size_t length) {
    WEFT_SHARED(T, piece, [turned][turned + 1]);
    const size_t across = wi_gemm_pieces(length, turned), down = wi_gemm_pieces(lines, turned);
    for (size_t b = blockIdx.x; b < across * down; b += gridDim.x) {
        const size_t line = b / across * turned, place = b % across * turned;
        for (size_t y = threadIdx.y; y < turned; y += turners)
            if (line + y < lines && place + threadIdx.x < length)
                piece[y][threadIdx.x] = from[(line + y) * ld + place + threadIdx.x];
        __syncthreads();
        for (size_t y = threadIdx.y; y < turned; y += turners)
            if (place + y < length && line + threadIdx.x < lines)
                to[(place + y) * to_ld + line + threadIdx.x] = piece[threadIdx.x][y];
        __syncthreads();
    }
}

template <class T>
static weft_status turn(weft_context *ctx, T *to, size_t to_ld, const operand *o) {
    const size_t pieces = wi_gemm_pieces(o->lines, turned) * wi_gemm_pieces(o->length, turned);
    const size_t most = (size_t)ctx->gpu->multiprocessors * 8;
    return WEFT_LAUNCH(turn_lines<T>, ctx, (unsigned)(pieces < most ? pieces : most),
                       dim3(turned, turners), 0, to, to_ld, (const T *)*o->p, *o->ld, o->lines,
                       o->length);
}

/* Makes of an operand a copy whose lines begin at multiples of 16 bytes, turned if need be, unless
 * it is like that already; *copy is to be freed. */
static weft_status prepare(weft_context *ctx, size_t width, const operand *o, void **copy) {
    if (!o->turn && wi_is_aligned(*o->p) && *o->ld * width % 16 == 0)
        return WEFT_OK;
    const size_t lines = o->turn ? o->length : o->lines, length = o->turn ? o->lines : o->length;
    const size_t pitch = wi_gemm_pieces(length * width, 16) * 16, ld = pitch / width;
    weft_status status = wi_gpu_alloc(ctx, copy, lines * pitch);
    if (status == WEFT_OK && o->turn)
        status =
            width == 4 ? turn(ctx, (uint32_t *)*copy, ld, o) : turn(ctx, (uint8_t *)*copy, ld, o);
    else if (status == WEFT_OK)
        status = wi_stage_queue_rows(ctx, {(char *)*copy, pitch}, {(char *)*o->p, *o->ld * width},
                                     lines, length * width, ctx->gpu->stream);
    *o->p = *copy;
    *o->ld = ld;
    *o->transposed = *o->transposed != o->turn;
    return status;
}

/* Runs the call with operands that are aligned and, if it must be so, lie along k. */
static weft_status run_prepared(weft_context *ctx, const wi_gemm_args *args, bool along_k,
                                weft_status (*run)(weft_context *ctx, const wi_gemm_args *g)) {
    wi_gemm_args g = *args;
    const size_t width = weft_type_size(g.type);
    const operand of_a = {&g.a,
                          &g.lda,
                          &g.transposed_a,
                          g.transposed_a ? g.m : g.k,
                          g.transposed_a ? g.k : g.m,
                          along_k && !g.transposed_a};
    const operand of_b = {&g.b,
                          &g.ldb,
                          &g.transposed_b,
                          g.transposed_b ? g.k : g.n,
                          g.transposed_b ? g.n : g.k,
                          along_k && g.transposed_b};
    void *a = NULL, *b = NULL;
    weft_status status = WEFT_OK;
    if (g.k > 0)
        status = prepare(ctx, width, &of_a, &a);
    if (status == WEFT_OK && g.k > 0)
        status = prepare(ctx, width, &of_b, &b);
    if (status == WEFT_OK)
        status = run(ctx, &g);
    const weft_status freed_a = a ? wi_gpu_free(ctx, a) : WEFT_OK;
    const weft_status freed_b = b ? wi_gpu_free(ctx, b) : WEFT_OK;
    return status != WEFT_OK ? status : freed_a != WEFT_OK ? freed_a : freed_b;
}

weft_status wi_gemm_pipeline(weft_context *ctx, const void *args) {
    return run_prepared(ctx, (const wi_gemm_args *)args, false, wi_gemm_pipeline_f32);
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
    return run_prepared(ctx, (const wi_gemm_args *)args, false, tensor_of_type);
}

#ifdef WEFT_RING
static weft_status ring_of_type(weft_context *ctx, const wi_gemm_args *g) {
    switch (g->type) {
    case WEFT_F64:
        return wi_gemm_ring_f64(ctx, g);
    case WEFT_F32:
        return wi_gemm_ring_tf32(ctx, g);
    case WEFT_F16:
        return wi_gemm_ring_f16(ctx, g);
    case WEFT_BF16:
        return wi_gemm_ring_bf16(ctx, g);
    default:
        return wi_gemm_ring_i8(ctx, g);
    }
}

/* With k = 0 there is nothing to bring. */
weft_status wi_gemm_ring(weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = (const wi_gemm_args *)args;
    if (g->k == 0)
        return wi_gemm_tensor(ctx, g);
    const bool along_k = g->type == WEFT_F32 || g->type == WEFT_I8;
    return run_prepared(ctx, g, along_k, ring_of_type);
}

/* Where an element has no parts, fused multiply-adds do the work instead; and where their memory is
 * not to be had. */
weft_status wi_gemm_parts(weft_context *ctx, const void *args) {
    wi_gemm_args g = *(const wi_gemm_args *)args;
    unsigned *unfit = NULL;
    if (g.k == 0)
        return wi_gemm_pipeline(ctx, &g);
    weft_status status = wi_gpu_alloc(ctx, (void **)&unfit, sizeof *unfit);
    if (status == WEFT_OK)
        status = wi_cuda(ctx, cudaMemsetAsync(unfit, 0, sizeof *unfit, ctx->gpu->stream),
                         "cudaMemsetAsync: before elements are split");
    if (status == WEFT_OK) {
        status = wi_gemm_ring_parts(ctx, &g, unfit);
        if (status == WEFT_OK)
            g.when = {unfit, 1};
        if (status == WEFT_OK || status == WEFT_ENOMEM)
            status = wi_gemm_pipeline(ctx, &g);
    }
    const weft_status freed = unfit ? wi_gpu_free(ctx, unfit) : WEFT_OK;
    return status == WEFT_OK ? freed : status;
}
#endif
