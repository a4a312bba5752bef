/* SPDX-License-Identifier: Apache-2.0 */
/* Copies matrices whose lines (rows or columns, as they are stored) begin anywhere to where each
 * begins at a multiple of 128 bytes: both operands of a product by one kernel. The driver's copies
 * of such lines reach a quarter of memory's rate. */
#include "cuda/ahead.cuh"
#include "cuda/types.cuh"
#include "gemm/gemm_cuda.cuh"

constexpr unsigned threads = 256, most_lanes = 128, at_once = 4; /* elements of a thread */
constexpr size_t most_blocks = 1 << 14;

/* Elements are as wide as accesses can be. Lines are cut into pieces that `lanes` threads copy; a
 * block has threads / lanes pieces at a time. */
struct copying {
    wi_gemm_lines of;
    char *to;
    const char *from;
    size_t to_ld, from_ld;
    unsigned width, lanes, blocks;
};

template <class T>
__device__ static void copy_lines(const copying &c, unsigned block) {
    const size_t in_piece = (size_t)c.lanes * at_once,
                 in_line = wi_gemm_pieces(c.of.length, in_piece);
    const unsigned pieces = threads / c.lanes;
    const size_t all = c.of.count * in_line, step = (size_t)c.blocks * pieces;
    for (size_t piece = (size_t)block * pieces + threadIdx.x / c.lanes; piece < all;
         piece += step) {
        const size_t line = piece / in_line,
                     first = piece % in_line * in_piece + threadIdx.x % c.lanes;
        const T *const source = (const T *)c.from + line * c.from_ld;
        T *const target = (T *)c.to + line * c.to_ld;
        T x[at_once] = {};
#pragma unroll
        for (unsigned q = 0; q < at_once; q++)
            if (first + q * c.lanes < c.of.length)
                x[q] = source[first + q * c.lanes];
#pragma unroll
        for (unsigned q = 0; q < at_once; q++)
            if (first + q * c.lanes < c.of.length)
                target[first + q * c.lanes] = x[q];
    }
}

__device__ static void copy(const copying &c, unsigned block) {
    switch (c.width) {
    case 1:
        return copy_lines<uint8_t>(c, block);
    case 2:
        return copy_lines<uint16_t>(c, block);
    case 4:
        return copy_lines<uint32_t>(c, block);
    case 8:
        return copy_lines<uint64_t>(c, block);
    default:
        return copy_lines<uint4>(c, block);
    }
}

/* Two calls, not one of a reference to either: for that the compiler keeps both in local memory. */
static __global__ void __launch_bounds__(threads, 5) copy_two(copying a, copying b) {
    wi_wait_for_earlier();
    if (blockIdx.x < a.blocks)
        copy(a, blockIdx.x);
    else
        copy(b, blockIdx.x - a.blocks);
}

/* The widest access of which all lines begin and end at multiples, in bytes: a power of 2. */
static size_t widest(const wi_gemm_copy &c) {
    const size_t bits =
        (size_t)(uintptr_t)c.from | c.of.length * c.width | c.from_ld * c.width | 16;
    return bits & (~bits + 1);
}

static copying copying_of(const wi_gemm_copy &c) {
    const size_t wide = widest(c);
    const wi_gemm_lines of = {c.of.count, c.of.length * c.width / wide};
    unsigned lanes = 8;
    while (lanes < most_lanes && lanes * at_once < of.length)
        lanes *= 2;
    const size_t pieces = of.count * wi_gemm_pieces(of.length, (size_t)lanes * at_once);
    const size_t blocks = wi_gemm_pieces(pieces, threads / lanes);
    return {of,
            (char *)c.to,
            (const char *)c.from,
            c.to_ld * c.width / wide,
            c.from_ld * c.width / wide,
            (unsigned)wide,
            lanes,
            (unsigned)(blocks < most_blocks ? blocks : most_blocks)};
}

weft_status wi_gemm_copy_lines(weft_context *ctx, const wi_gemm_copy *copies, int count) {
    const copying first = copying_of(copies[0]);
    const copying second = count > 1 ? copying_of(copies[1]) : copying{};
    return WEFT_LAUNCH_AHEAD(copy_two, ctx, first.blocks + second.blocks, threads, 0, first,
                             second);
}
