/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a matrix whose lines (its rows or columns, as they are stored) begin anywhere to where
 * each begins at a multiple of 128 bytes. The driver's copies of such lines reach a quarter of
 * memory's rate. */
#include "cuda/size.cuh"
#include "gemm/gemm_cuda.cuh"

constexpr unsigned threads = 256, most_lanes = 128, at_once = 4; /* elements of a thread */
constexpr size_t most_blocks = 1 << 14;

/* Lines are cut into pieces that `lanes` threads copy; a block has threads / lanes pieces. */
template <class T>
__global__ void __launch_bounds__(threads)
    copy_lines(wi_gemm_lines of, T *to, size_t to_ld, const T *from, size_t from_ld,
               unsigned lanes) {
    const size_t in_piece = (size_t)lanes * at_once, in_line = wi_gemm_pieces(of.length, in_piece);
    const size_t all = of.count * in_line, step = (size_t)gridDim.x * (threads / lanes);
    for (size_t piece = (size_t)blockIdx.x * (threads / lanes) + threadIdx.x / lanes; piece < all;
         piece += step) {
        const size_t line = piece / in_line,
                     first = piece % in_line * in_piece + threadIdx.x % lanes;
        const T *const source = from + line * from_ld;
        T *const target = to + line * to_ld;
        T x[at_once] = {};
#pragma unroll
        for (unsigned q = 0; q < at_once; q++)
            if (first + q * lanes < of.length)
                x[q] = source[first + q * lanes];
#pragma unroll
        for (unsigned q = 0; q < at_once; q++)
            if (first + q * lanes < of.length)
                target[first + q * lanes] = x[q];
    }
}

template <class T>
static weft_status copy_typed(weft_context *ctx, wi_gemm_lines of, void *to, size_t to_ld,
                              const void *from, size_t from_ld) {
    unsigned lanes = 8;
    while (lanes < most_lanes && lanes * at_once < of.length)
        lanes *= 2;
    const size_t pieces = of.count * wi_gemm_pieces(of.length, (size_t)lanes * at_once);
    const size_t blocks = wi_gemm_pieces(pieces, threads / lanes);
    return WEFT_LAUNCH(copy_lines<T>, ctx, (unsigned)(blocks < most_blocks ? blocks : most_blocks),
                       threads, 0, of, (T *)to, to_ld, (const T *)from, from_ld, lanes);
}

/* The widest access of which all lines begin and end at multiples, in bytes: a power of 2. */
static size_t widest(wi_gemm_lines of, size_t width, const void *from, size_t from_ld) {
    const size_t bits = (size_t)(uintptr_t)from | of.length * width | from_ld * width | 16;
    return bits & (~bits + 1);
}

weft_status wi_gemm_copy_lines(weft_context *ctx, wi_gemm_lines of, size_t width, void *to,
                               size_t to_ld, const void *from, size_t from_ld) {
    const size_t wide = widest(of, width, from, from_ld);
    const size_t to_step = to_ld * width / wide, from_step = from_ld * width / wide;
    const wi_gemm_lines wider = {of.count, of.length * width / wide};
    if (wide == 16)
        return copy_typed<uint4>(ctx, wider, to, to_step, from, from_step);
    return wi_with_size(wide, [&](auto tag) {
        return copy_typed<typename decltype(tag)::type>(ctx, wider, to, to_step, from, from_step);
    });
}
