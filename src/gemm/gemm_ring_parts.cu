/* SPDX-License-Identifier: Apache-2.0 */
/* f32 by products of its parts, in a ring of boxes. */
#include "gemm/gemm_boxes_launch.cuh"
#include "gemm/gemm_parts.cuh"
#include "gemm/gemm_two_f16.h"

constexpr int side = 32, rows_at_once = 8; /* of a piece */

/* An f32 matrix as it is stored, times `factor`; and where its parts go: along k, a line every
 * `pitch`. */
template <class Tile>
struct matrix {
    using part = typename Tile::T;
    const float *x;
    size_t ld, lines, length;
    float factor;
    part *parts;
    size_t pitch, apart;
};

template <class Tile>
__device__ inline void store_parts(float x, typename Tile::T *to, size_t apart) {
#pragma unroll
    for (int part = 0; part < Tile::parts; part++) {
        const typename Tile::T rounded = (typename Tile::T)x;
        to[(size_t)part * apart] = rounded;
        x -= (float)rounded;
    }
}

/* *unfit = 1 if an element cannot be the sum of its parts; unfit = NULL: nobody asks. */
template <class Tile, bool by_k>
__global__ void split(matrix<Tile> m, unsigned *unfit) {
    WEFT_SHARED(float, piece, [side][side + 1]);
    const size_t across = wi_gemm_pieces(m.length, side), down = wi_gemm_pieces(m.lines, side);
    bool any = false;
    for (size_t b = blockIdx.x; b < across * down; b += gridDim.x) {
        const size_t line = b / across * side, place = b % across * side;
        for (size_t y = threadIdx.y; y < side; y += rows_at_once)
            if (line + y < m.lines && place + threadIdx.x < m.length) {
                const float x = m.factor * m.x[(line + y) * m.ld + place + threadIdx.x];
                any = any || wi_gemm_has_no_parts(x);
                piece[y][threadIdx.x] = x;
            }
        __syncthreads();
        const size_t i = by_k ? line : place, p = (by_k ? place : line) + threadIdx.x;
        const size_t end_i = by_k ? m.lines : m.length, end_p = by_k ? m.length : m.lines;
        for (size_t y = threadIdx.y; y < side; y += rows_at_once)
            if (i + y < end_i && p < end_p)
                store_parts<Tile>(by_k ? piece[y][threadIdx.x] : piece[threadIdx.x][y],
                                  m.parts + (i + y) * m.pitch + p, m.apart);
        __syncthreads();
    }
    if (any && unfit)
        atomicMax(unfit, 1u);
}

template <class Tile>
static weft_status launch_split(weft_context *ctx, const wi_gemm_args *g, bool by_k,
                                const matrix<Tile> &m, unsigned *unfit) {
    const size_t pieces = wi_gemm_pieces(m.length, side) * wi_gemm_pieces(m.lines, side);
    const size_t most = wi_gemm_units(ctx, g) * 8;
    const unsigned blocks = (unsigned)(pieces < most ? pieces : most);
    const dim3 threads(side, rows_at_once);
    return by_k ? WEFT_LAUNCH((split<Tile, true>), ctx, blocks, threads, 0, m, unfit)
                : WEFT_LAUNCH((split<Tile, false>), ctx, blocks, threads, 0, m, unfit);
}

/* By parts of A times 2^power_a and of B times 2^power_b. */
template <class Tile>
static weft_status run(weft_context *ctx, wi_gemm_args g, int power_a, int power_b,
                       unsigned *unfit) {
    using part = typename Tile::T;
    const size_t pitch = wi_gemm_pieces(g.k, 8) * 8;
    const size_t size_a = g.m * pitch, size_b = g.n * pitch;
    const bool a_by_k = g.transposed_a, b_by_k = !g.transposed_b;
    const bool same = g.a == g.b && g.lda == g.ldb && g.m == g.n && a_by_k == b_by_k;
    part *parts = NULL;
    weft_status status = wi_gpu_alloc(
        ctx, (void **)&parts, Tile::parts * (same ? size_a : size_a + size_b) * sizeof *parts);
    if (status != WEFT_OK)
        return status;
    const matrix<Tile> a = {(const float *)g.a,
                            g.lda,
                            a_by_k ? g.m : g.k,
                            a_by_k ? g.k : g.m,
                            ldexpf(1, power_a),
                            parts,
                            pitch,
                            size_a};
    const matrix<Tile> b = {(const float *)g.b,
                            g.ldb,
                            b_by_k ? g.n : g.k,
                            b_by_k ? g.k : g.n,
                            ldexpf(1, power_b),
                            parts + Tile::parts * size_a,
                            pitch,
                            size_b};
    g.type = std::is_same_v<part, __half> ? WEFT_F16 : WEFT_BF16;
    g.a = a.parts;
    g.b = same ? a.parts : b.parts;
    g.lda = g.ldb = pitch;
    g.alpha = ldexp(g.alpha, -power_a - power_b);
    status = launch_split<Tile>(ctx, &g, a_by_k, a, unfit);
    if (status == WEFT_OK && !same)
        status = launch_split<Tile>(ctx, &g, b_by_k, b, unfit);
    if (status == WEFT_OK)
        status = wi_gemm_launch_boxed<Tile, true, true>(ctx, &g);
    const weft_status freed = wi_gpu_free(ctx, parts);
    return status == WEFT_OK ? freed : status;
}

double wi_gemm_ring_parts_seconds(const weft_context *ctx, const wi_gemm_args *args) {
    wi_gemm_args g = *args;
    g.type = WEFT_BF16;
    return wi_gemm_boxed_seconds<wi_gemm_three_parts>(ctx, &g);
}

/* Sets *unfit, which must be 0, and leaves C alone, if some element has no parts. */
weft_status wi_gemm_ring_parts(weft_context *ctx, const wi_gemm_args *args, unsigned *unfit) {
    wi_gemm_args g = *args;
    g.when = {unfit, 0};
    return run<wi_gemm_three_parts>(ctx, g, 0, 0, unfit);
}

weft_status wi_gemm_two_f16(weft_context *ctx, const wi_gemm_args *g, int power_a, int power_b) {
    return run<wi_gemm_two_parts>(ctx, *g, power_a, power_b, NULL);
}
