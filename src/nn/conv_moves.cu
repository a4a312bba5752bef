/* SPDX-License-Identifier: Apache-2.0 */
/* conv: matrices are turned, and sums of slices added up. */
#include "nn/conv_moves.cuh"

constexpr int side = 32, lines = 8; /* of a tile; lines that a block copies at once */
constexpr int join_threads = 256;

/* A block turns a tile: lanes lie along what lies together in `from`, and then in `to`. */
template <class T>
static __global__ void __launch_bounds__(side *lines)
    turn_matrices(const __grid_constant__ wi_conv_turning t, const T *from, T *to) {
    WEFT_SHARED(T, tile, [side][side + 1]);
    const unsigned across = (unsigned)((t.padded + side - 1) / side);
    const unsigned down = (unsigned)((t.rows + side - 1) / side);
    unsigned rest = blockIdx.x;
    const int first = (int)(rest % across) * side;
    rest /= across;
    const int row = (int)(rest % down) * side;
    rest /= down;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const size_t i = rest % (unsigned)t.count[k];
        rest /= (unsigned)t.count[k];
        from += i * t.from_step[k];
        to += i * t.to_step[k];
    }
    const bool along_rows = t.from_row < t.from_inner;
    const int x = (int)threadIdx.x;
    for (int y = (int)threadIdx.y; y < side; y += lines) {
        const int i = along_rows ? x : y, j = along_rows ? y : x;
        T element = {};
        if (row + i < t.rows && first + j < t.inner)
            element = from[(size_t)(row + i) * t.from_row + (size_t)(first + j) * t.from_inner];
        tile[i][j] = element;
    }
    __syncthreads();
    for (int y = (int)threadIdx.y; y < side; y += lines)
        if (row + y < t.rows && first + x < t.padded)
            to[(size_t)(row + y) * t.to_row + (size_t)(first + x)] = tile[y][x];
}

weft_status wi_conv_turn(weft_context *ctx, size_t width, const wi_conv_turning &t,
                         const void *from, void *to) {
    const size_t tiles = wi_conv_pieces((size_t)t.padded, side) *
                         wi_conv_pieces((size_t)t.rows, side) * (size_t)t.count[0] *
                         (size_t)t.count[1] * (size_t)t.count[2];
    const weft_status status = wi_conv_check_grid(ctx, tiles);
    if (status != WEFT_OK || tiles == 0)
        return status;
    if (width == 2)
        return WEFT_LAUNCH(turn_matrices<uint16_t>, ctx, (unsigned)tiles, dim3(side, lines), 0, t,
                           (const uint16_t *)from, (uint16_t *)to);
    return WEFT_LAUNCH(turn_matrices<uint32_t>, ctx, (unsigned)tiles, dim3(side, lines), 0, t,
                       (const uint32_t *)from, (uint32_t *)to);
}

/* The sums of all slices, in their order. */
template <class T>
static __global__ void __launch_bounds__(join_threads)
    join_slices(const __grid_constant__ wi_conv_joining j, const float *partial, T *to) {
    const size_t all = (size_t)j.line.by * (size_t)j.rows * (size_t)j.groups;
    const size_t i = (size_t)blockIdx.x * join_threads + threadIdx.x;
    if (i >= all)
        return;
    const size_t line = j.narrow ? j.line.of((unsigned)i) : i / j.line.by;
    const unsigned column = (unsigned)(i - line * j.line.by);
    const size_t group = j.groups == 1 ? 0 : line / (unsigned)j.rows;
    const unsigned row = (unsigned)(line - group * (unsigned)j.rows);
    const unsigned split = j.taps ? column : row;
    const unsigned outer = j.outer.of(split), in_outer = split - outer * j.outer.by;
    const unsigned inner = j.inner.of(j.taps ? outer : in_outer);
    const unsigned last = (j.taps ? outer : in_outer) - inner * j.inner.by;
    if (j.taps && (int)in_outer >= j.channels)
        return;
    float sum = 0;
#pragma unroll 4
    for (int slice = 0; slice < j.slices; slice++)
        sum += partial[(size_t)slice * all + i];
    const size_t own =
        j.taps ? row * j.filter + in_outer * j.other : outer * j.image + column * j.other;
    to[group * j.group + own + inner * j.row + last * j.column] = (T)sum;
}

weft_status wi_conv_join(weft_context *ctx, weft_type type, wi_conv_joining j, const float *partial,
                         void *to) {
    const size_t all = (size_t)j.groups * (size_t)j.rows * (size_t)j.columns;
    const size_t blocks = wi_conv_pieces(all, join_threads);
    j.line = wi_nn_divisor((unsigned)j.columns);
    j.narrow = all <= UINT32_MAX;
    const weft_status status = wi_conv_check_grid(ctx, blocks);
    if (status != WEFT_OK)
        return status;
    switch (type) {
    case WEFT_F16:
        return WEFT_LAUNCH(join_slices<__half>, ctx, (unsigned)blocks, join_threads, 0, j, partial,
                           (__half *)to);
    case WEFT_BF16:
        return WEFT_LAUNCH(join_slices<__nv_bfloat16>, ctx, (unsigned)blocks, join_threads, 0, j,
                           partial, (__nv_bfloat16 *)to);
    default:
        return WEFT_LAUNCH(join_slices<float>, ctx, (unsigned)blocks, join_threads, 0, j, partial,
                           (float *)to);
    }
}
