/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs that users get, by type. Their copies take 16 bytes at a time: an operand whose lines
 * begin elsewhere is copied first, which costs less than copies of single elements would. */
#include "core/smaller.h"
#include "cuda/ahead.cuh"
#include "gemm/gemm_launch.cuh"
#include "gemm/gemm_thin.cuh"
#include "gemm/gemv.h"
#include "gemm/transpose.h"

constexpr size_t chunk = 16, line = 128; /* bytes */

static bool is_aligned(const void *p, size_t ld, size_t width, size_t to = chunk) {
    return (uintptr_t)p % to == 0 && ld * width % to == 0;
}

/* Bytes from one line of an aligned copy to the next: lines of memory, which boxes then are. Those
 * that are read once may lie closer together. */
static size_t pitch_of(wi_gemm_lines of, size_t width, size_t to = line) {
    return wi_gemm_pieces(of.length * width, to) * to;
}

/* Of 16-bit floats: with a side or k below it, copies would cost more than they save. */
WI_LIMIT(size_t, wi_gemm_least_lined, 2048)

/* A box's lines that do not begin where lines of memory do take half as many reads more from the
 * second-level cache, which sets the pace of large products of 16-bit floats: so operands of these
 * are copied. Not where C is thin: its product takes no longer than reading the long operand; nor
 * where blocks in pairs may share what they read. */
static size_t alignment_of(const wi_gemm_args *g) {
    const size_t least = wi_smaller(wi_smaller(g->m, g->n), g->k);
    return weft_type_size(g->type) == 2 && least >= wi_gemm_least_lined && !wi_gemm_may_be_lean(g)
               ? line
               : chunk;
}

weft_status wi_gemm_align(weft_context *ctx, wi_gemm_lines of, size_t width, const void **p,
                          size_t *ld, void **copy) {
    if (is_aligned(*p, *ld, width))
        return WEFT_OK;
    const size_t pitch = pitch_of(of, width);
    weft_status status = wi_gpu_alloc(ctx, copy, of.count * pitch);
    const wi_gemm_copy lines = {of, width, *copy, pitch / width, *p, *ld};
    if (status == WEFT_OK)
        status = wi_gemm_copy_lines(ctx, &lines, 1);
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

/* Copies of what is not aligned, or turned; parts of f32; and sums of slices of k, of which there
 * are only as many as fill the device. */
size_t wi_gemm_most_bytes(const weft_context *ctx, const wi_gemm_args *g) {
    constexpr size_t sums = 1 << 18; /* on a multiprocessor, of two tiles */
    const size_t width = weft_type_size(g->type);
    const size_t elements = (g->m + g->n) * (pitch_of({1, g->k}, width) / width);
    const wi_gemm_lines of_a = lines_of_a(g), of_b = lines_of_b(g);
    size_t bytes = (size_t)ctx->gpu->multiprocessors * sums;
    if (!is_aligned(g->a, g->lda, width, alignment_of(g)))
        bytes += of_a.count * pitch_of(of_a, width);
    if (!is_aligned(g->b, g->ldb, width, alignment_of(g)))
        bytes += of_b.count * pitch_of(of_b, width);
    const size_t parts_width = 3 * 2, turned_width = g->type == WEFT_I8 ? 1 : 0;
    return bytes + (g->type == WEFT_F32 ? parts_width : turned_width) * elements;
}

/* How operands are to lie. */
enum layout {
    AS_THEY_DO,
    ALONG_K,
    B_ALONG_K, /* and A as it does */
    ACROSS_K
};

/* Where an operand has to go: nowhere, to aligned lines, or turned to lines that were its columns.
 */
struct placing {
    wi_gemm_lines lines;
    const void **p;
    size_t *ld;
    bool turns;
    size_t new_ld, bytes; /* 0: it stays */
};

static placing placing_of(wi_gemm_lines of, size_t width, size_t to, size_t apart, bool turns,
                          const void **p, size_t *ld) {
    const size_t pitch =
        turns ? wi_gemm_pieces(of.count * width, chunk) * chunk : pitch_of(of, width, apart);
    const size_t lines = turns ? of.length : of.count;
    const bool stays = !turns && is_aligned(*p, *ld, width, to);
    return {
        of, p, ld, turns, pitch / width, stays ? 0 : wi_gemm_pieces(lines * pitch, line) * line};
}

/* Brings two operands where they have to go, in memory for both. */
static weft_status place(weft_context *ctx, const placing (&operands)[2], size_t width,
                         char *memory) {
    weft_status status = WEFT_OK;
    wi_gemm_copy copies[2];
    int count = 0;
    for (const placing &x : operands) {
        if (x.bytes == 0)
            continue;
        const wi_transpose_args turn = {width, x.lines.length, x.lines.count, *x.p,
                                        *x.ld, memory,         x.new_ld};
        if (!x.turns)
            copies[count++] = {x.lines, width, memory, x.new_ld, *x.p, *x.ld};
        else if (status == WEFT_OK)
            status = wi_transpose_packs(ctx, &turn);
        *x.p = memory;
        *x.ld = x.new_ld;
        memory += x.bytes;
    }
    return status == WEFT_OK && count > 0 ? wi_gemm_copy_lines(ctx, copies, count) : status;
}

/* The key under which memory for operands is borrowed. */
static const char placed_key = 0;

/* Is B read again and again beside a long A, by lines of which memory has pieces? Copied to whole
 * ones it takes less of what comes from the second-level cache. */
static bool wants_lines_of_b(const wi_gemm_args *g, size_t width) {
    constexpr size_t times = 16, piece = 64;
    return g->type == WEFT_F32 && !g->transposed_a && !g->transposed_b && g->m / times >= g->n &&
           g->ldb * width % piece != 0;
}

/* Runs the call with operands that are aligned, and lie as they must. */
static weft_status run_prepared(weft_context *ctx, const wi_gemm_args *args, layout wanted,
                                wi_gemm_work *run) {
    wi_gemm_args g = *args;
    const size_t width = weft_type_size(g.type), to = alignment_of(&g);
    const size_t apart = g.m <= line && g.n <= line ? chunk : line; /* of tiles that are few */
    const bool turn_a = wanted == (g.transposed_a ? ACROSS_K : ALONG_K);
    const bool b_along = wanted == ALONG_K || wanted == B_ALONG_K;
    const bool turn_b = g.transposed_b ? b_along : wanted == ACROSS_K;
    const bool line_b = wanted == B_ALONG_K && wants_lines_of_b(&g, width);
    const placing operands[2] = {
        placing_of(lines_of_a(&g), width, to, apart, turn_a, &g.a, &g.lda),
        placing_of(lines_of_b(&g), width, line_b ? line : to, apart, turn_b, &g.b, &g.ldb)};
    const size_t bytes = g.k > 0 ? operands[0].bytes + operands[1].bytes : 0;
    void *memory = NULL;
    weft_status status = WEFT_OK;
    if (bytes > 0)
        status = wi_gpu_borrow(ctx, &placed_key, bytes, &memory);
    if (memory)
        status = place(ctx, operands, width, (char *)memory);
    g.transposed_a = g.transposed_a != turn_a;
    g.transposed_b = g.transposed_b != turn_b;
    if (status == WEFT_OK)
        status = run(ctx, &g);
    const weft_status returned = memory ? wi_gpu_hand_back(ctx, memory) : WEFT_OK;
    return status != WEFT_OK ? status : returned;
}

/* A column of C is op(A) times one of op(B); a row is op(B)' times one of op(A). */
weft_status wi_gemm_by_gemv(weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = (const wi_gemm_args *)args;
    const bool column = g->n == 1, transposed = column ? g->transposed_a : !g->transposed_b;
    const size_t results = column ? g->m : g->n;
    const size_t x_step = column ? (g->transposed_b ? g->ldb : 1) : g->transposed_a ? 1 : g->lda;
    wi_gemv_args v = {};
    v.type = g->type;
    v.out = g->out;
    v.transposed = transposed;
    v.rows = transposed ? g->k : results;
    v.columns = transposed ? results : g->k;
    v.results = results;
    v.terms = g->k;
    v.alpha = g->alpha;
    v.beta = g->beta;
    v.a = column ? g->a : g->b;
    v.lda = column ? g->lda : g->ldb;
    v.x = {(void *)(uintptr_t)(column ? g->b : g->a), (ptrdiff_t)x_step};
    v.y = {g->c, column ? 1 : (ptrdiff_t)g->ldc};
    return wi_gemv_slices(ctx, &v);
}

/* Is the long factor of a thin product aligned? */
static bool is_long_aligned(const wi_gemm_args *g) {
    const size_t width = weft_type_size(g->type);
    return g->m > g->n ? is_aligned(g->a, g->lda, width) : is_aligned(g->b, g->ldb, width);
}

/* Tiles of f64 and f32 copy single elements where they must. So where the long factor of tf32 would
 * have to be copied first it is multiplied as f32. */
weft_status wi_gemm_thin(weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = (const wi_gemm_args *)args;
    switch (g->type) {
    case WEFT_F64:
        return wi_gemm_thin_f64(ctx, g);
    case WEFT_F32:
        return g->accuracy == WI_TF32 && is_long_aligned(g) && wi_gemm_has_room_for_thin_tf32(ctx)
                   ? run_prepared(ctx, g, AS_THEY_DO, wi_gemm_thin_tf32)
                   : wi_gemm_thin_f32(ctx, g);
    case WEFT_F16:
        return run_prepared(ctx, g, AS_THEY_DO, wi_gemm_thin_f16);
    default:
        return run_prepared(ctx, g, AS_THEY_DO, wi_gemm_thin_bf16);
    }
}

weft_status wi_gemm_small(weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = (const wi_gemm_args *)args;
    switch (g->type) {
    case WEFT_F64:
        return wi_gemm_small_f64(ctx, g);
    case WEFT_F32:
        return g->accuracy == WI_TF32 ? wi_gemm_small_tf32(ctx, g) : wi_gemm_small_f32(ctx, g);
    case WEFT_F16:
        return wi_gemm_small_f16(ctx, g);
    default:
        return wi_gemm_small_bf16(ctx, g);
    }
}

/* Is it better to copy elements of A and B than to align them first? */
static bool prefers_elements(const wi_gemm_args *g) {
    const size_t width = weft_type_size(g->type);
    return wi_gemm_takes_elements(g) &&
           !(is_aligned(g->a, g->lda, width) && is_aligned(g->b, g->ldb, width));
}

weft_status wi_gemm_pipeline(weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = (const wi_gemm_args *)args;
    return prefers_elements(g) ? wi_gemm_pipeline_f32_elements(ctx, g)
                               : run_prepared(ctx, g, AS_THEY_DO, wi_gemm_pipeline_f32);
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
    const wi_gemm_args *const g = (const wi_gemm_args *)args;
    return g->type == WEFT_F64 && prefers_elements(g) && wi_gemm_has_room_for_elements_f64(ctx)
               ? wi_gemm_tensor_f64_elements(ctx, g)
               : run_prepared(ctx, g, AS_THEY_DO, tensor_of_type);
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

/* With k = 0 there is nothing to bring. Tensor cores take i8 along k alone, and tf32 too unless A
 * goes through registers; the largest tiles of fused multiply-adds want f32 across. */
weft_status wi_gemm_ring(weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = (const wi_gemm_args *)args;
    if (g->k == 0)
        return wi_gemm_tensor(ctx, g);
    if (g->type == WEFT_F32 && g->accuracy != WI_TF32)
        return wi_gemm_ring_f32_wants_across(ctx, g)
                   ? run_prepared(ctx, g, ACROSS_K, wi_gemm_ring_f32_across)
                   : run_prepared(ctx, g, AS_THEY_DO, wi_gemm_ring_f32);
    if (g->type == WEFT_F32 && wi_gemm_ring_tf32_wants_both_across(ctx, g))
        return run_prepared(ctx, g, AS_THEY_DO, wi_gemm_ring_tf32_both_across);
    if (g->type == WEFT_F32 && wi_gemm_ring_tf32_wants_across(ctx, g))
        return run_prepared(ctx, g, B_ALONG_K, wi_gemm_ring_tf32);
    if (g->type == WEFT_F32 && g->transposed_a && g->transposed_b && g->beta == 0 &&
        g->wanted == WI_ALL && !g->c_by_rows) {
        const wi_gemm_args turned = wi_gemm_turned(g); /* then no factor has to be copied */
        if (wi_gemm_ring_tf32_wants_across(ctx, &turned))
            return run_prepared(ctx, &turned, B_ALONG_K, wi_gemm_ring_tf32);
    }
    const bool along_k = g->type == WEFT_F32 || g->type == WEFT_I8;
    return run_prepared(ctx, g, along_k ? ALONG_K : AS_THEY_DO, ring_of_type);
}

/* Where an element has no parts, `instead` does the work. */
static weft_status queue_parts(weft_context *ctx, wi_gemm_args g, wi_gemm_work *instead) {
    unsigned *unfit = NULL;
    weft_status status = wi_gpu_alloc(ctx, (void **)&unfit, sizeof *unfit);
    if (status != WEFT_OK)
        return status;
    status = wi_cuda(ctx, cudaMemsetAsync(unfit, 0, sizeof *unfit, ctx->gpu->stream),
                     "cudaMemsetAsync: before elements are split");
    if (status == WEFT_OK)
        status = wi_gemm_ring_parts(ctx, &g, unfit);
    g.when = {unfit, 1};
    if (status == WEFT_OK)
        status = instead(ctx, &g);
    const weft_status freed = wi_gpu_free(ctx, unfit);
    return status == WEFT_OK ? freed : status;
}

/* All memory is taken first, so that none lacks between the two. */
weft_status wi_gemm_parts_or(weft_context *ctx, const wi_gemm_args *g, bool is_forced,
                             wi_gemm_work *instead) {
    constexpr size_t of_the_flag = 256;
    weft_status status = wi_gpu_reserve(ctx, wi_gemm_most_bytes(ctx, g) + of_the_flag);
    if (status == WEFT_ENOMEM && !is_forced)
        return instead(ctx, g);
    if (status != WEFT_OK)
        return status;
    status = queue_parts(ctx, *g, instead);
    const weft_status released = wi_gpu_release(ctx);
    return status == WEFT_OK ? released : status;
}

static weft_status run_pipeline(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_pipeline(ctx, g);
}

weft_status wi_gemm_parts(weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = (const wi_gemm_args *)args;
    if (g->k == 0)
        return wi_gemm_pipeline(ctx, g);
    return wi_gemm_parts_or(ctx, g, wi_is_forced(ctx, &wi_gemm_ladder), run_pipeline);
}
#endif
