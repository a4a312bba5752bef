/* SPDX-License-Identifier: Apache-2.0 */
/* The survey that tells whether a matrix needs scaling, on a GPU: of each row and each column the
 * largest and the sum of absolute values, of rows the smallest that is not 0, too; from one pass.
 * Sums are made in parts, which are added in order. */
#include <math.h>

#include "solve/solve_cuda.cuh"

constexpr int surveyors = 256; /* threads */
constexpr int survey_warps = surveyors / 32;
constexpr int rows_each = 4;                                  /* of a thread, 32 apart */
constexpr size_t survey_high = 32 * rows_each * survey_warps; /* rows of a block's tile */
constexpr size_t survey_wide = 256;                           /* and its columns */

namespace {

/* Of the absolute values of some elements of a row or a column. */
struct extent {
    double most, sum;

    __device__ void add(const extent &e) {
        most = wi_larger(most, e.most);
        sum += e.sum;
    }
};
struct row_extent {
    extent e;
    double least;

    __device__ void add(const row_extent &r) {
        e.add(r.e);
        least = r.least < least ? r.least : least;
    }
};

struct survey {
    size_t n;
    row_extent *rows; /* n for each part */
    extent *columns;
};

} // namespace

template <class T>
static __global__ void __launch_bounds__(surveyors) survey_tiles(wi_typed_grid<T> a, survey s) {
    WEFT_SHARED(extent, column, [survey_warps][survey_wide]);
    const int lane = wi_lane(), warp = (int)threadIdx.x / 32;
    const size_t first = blockIdx.x * survey_high + (size_t)warp * 32 * rows_each + (size_t)lane;
    const size_t begin = blockIdx.y * survey_wide, left = s.n - begin;
    const int wide = (int)(left < survey_wide ? left : survey_wide);
    row_extent row[rows_each];
#pragma unroll
    for (int r = 0; r < rows_each; r++)
        row[r] = {{0, 0}, (double)INFINITY};
#pragma unroll 2
    for (int c = 0; c < wide; c++) {
        extent mine = {0, 0};
#pragma unroll
        for (int r = 0; r < rows_each; r++) {
            const size_t i = first + (size_t)r * 32;
            const double size = i < s.n ? fabs(a.raw(i, begin + (size_t)c)) : 0;
            row[r].add({{size, size}, size > 0 ? size : (double)INFINITY});
            mine.add({size, size});
        }
#pragma unroll
        for (int step = 1; step < 32; step *= 2)
            mine.add(wi_shuffle_xor(mine, step));
        if (lane == 0)
            column[warp][c] = mine;
    }
#pragma unroll
    for (int r = 0; r < rows_each; r++)
        if (first + (size_t)r * 32 < s.n)
            s.rows[blockIdx.y * s.n + first + (size_t)r * 32] = row[r];
    __syncthreads();
    for (int c = (int)threadIdx.x; c < wide; c += surveyors) {
        extent all = column[0][c];
        for (int w = 1; w < survey_warps; w++)
            all.add(column[w][c]);
        s.columns[blockIdx.x * s.n + begin + (size_t)c] = all;
    }
}

static __global__ void __launch_bounds__(surveyors)
    sum_surveys(survey s, int row_parts, int column_parts, wi_survey to) {
    const size_t i = (size_t)blockIdx.x * surveyors + threadIdx.x;
    if (i >= s.n)
        return;
    row_extent row = {{0, 0}, (double)INFINITY};
    extent column = {0, 0};
    for (int k = 0; k < row_parts; k++)
        row.add(s.rows[(size_t)k * s.n + i]);
    for (int k = 0; k < column_parts; k++)
        column.add(s.columns[(size_t)k * s.n + i]);
    to.row_most[i] = row.e.most;
    to.row_least[i] = row.least;
    to.row_sum[i] = row.e.sum;
    to.column_most[i] = column.most;
    to.column_sum[i] = column.sum;
}

weft_status wi_system_survey_cuda(weft_context *ctx, const wi_grid *g, const wi_survey *to) {
    const size_t n = g->rows;
    const size_t row_parts = wi_pieces(n, survey_wide), column_parts = wi_pieces(n, survey_high);
    const dim3 tiles((unsigned)column_parts, (unsigned)row_parts);
    void *room = NULL;
    weft_status status = wi_gpu_alloc(
        ctx, &room, column_parts * n * sizeof(extent) + row_parts * n * sizeof(row_extent));
    if (status != WEFT_OK)
        return status;
    extent *const columns = (extent *)room; /* first, so each is at a multiple of its 16 bytes */
    const survey s = {n, (row_extent *)(void *)(columns + column_parts * n), columns};
    status = wi_with_grid(g, [=](auto a) {
        using T = typename decltype(a)::type;
        return WEFT_LAUNCH(survey_tiles<T>, ctx, tiles, surveyors, 0, a, s);
    });
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(sum_surveys, ctx, (unsigned)wi_pieces(n, surveyors), surveyors, 0, s,
                             (int)row_parts, (int)column_parts, *to);
    const weft_status freed = wi_gpu_free(ctx, room);
    return status == WEFT_OK ? freed : status;
}
