/* SPDX-License-Identifier: Apache-2.0 */
/* The rung of trmm that users get. */
#include "cuda/tensor_f64.cuh"
#include "gemm/triangle_work.cuh"
#include "gemm/trmm.h"

constexpr int copiers = 256; /* threads */

/* Copies the blocks on the diagonal, with zeros in place of what is not to be read. */
template <class T>
__global__ void __launch_bounds__(copiers)
    copy_diagonal(const T *t, ptrdiff_t t_row, ptrdiff_t t_column, size_t order, bool unit,
                  T *blocks) {
    const size_t first = (size_t)blockIdx.x * wi_triangle_side, left = order - first;
    const T *const from = t + (ptrdiff_t)first * (t_row + t_column);
    T *const to = blocks + (size_t)blockIdx.x * wi_triangle_block;
    for (int e = (int)threadIdx.x; e < (int)wi_triangle_block; e += copiers) {
        const int i = e % wi_triangle_side, k = e / wi_triangle_side;
        const bool there = (size_t)i < left && (k < i || (k == i && !unit));
        to[e] = there ? from[i * t_row + k * t_column] : (T)(i == k ? 1 : 0);
    }
}

/* X(rows) = alpha T(rows, rows) X(rows) */
template <class T>
static weft_status multiply(const wi_triangle_work<T> &work, wi_rows_part rows) {
    const double alpha = work.t->alpha;
    if (rows.count <= work.rows())
        return work.template run_rows<false>(rows, (T)alpha);
    const wi_rows_part above = wi_triangle_above(rows, work.rows());
    const wi_rows_part below = wi_triangle_below(rows, work.rows());
    weft_status status = multiply(work, below);
    if (status == WEFT_OK)
        status = work.multiply(below, above, alpha, 1);
    if (status == WEFT_OK)
        status = multiply(work, above);
    return status;
}

template <class T>
static weft_status run(weft_context *ctx, const wi_triangle *t) {
    return wi_triangle_queue<T, false>(ctx, t, [&](const wi_triangle_work<T> &work) {
        const weft_status status =
            WEFT_LAUNCH(copy_diagonal<T>, ctx, (unsigned)work.blocks(), copiers, 0, (const T *)t->t,
                        t->t_row, t->t_column, t->order, t->unit, work.diagonal);
        return status == WEFT_OK ? multiply(work, {0, t->order}) : status;
    });
}

weft_status wi_trmm_halves(weft_context *ctx, const void *args) {
    const wi_triangle_args *const g = (const wi_triangle_args *)args;
    if (g->alpha == 0)
        return wi_triangle_zero(ctx, g);
    const wi_triangle t = wi_triangle_of(g);
    return t.type == WEFT_F64 ? run<double>(ctx, &t) : run<float>(ctx, &t);
}
