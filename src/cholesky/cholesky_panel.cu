/* SPDX-License-Identifier: Apache-2.0 */
/* A panel of up to 64 columns on a GPU: the block on its diagonal in the registers of one block of
 * threads, and the rows below it by substitution, a thread each. */
#include "cholesky/cholesky_panel.cuh"
#include "cuda/memory.cuh"

constexpr int side = wi_cholesky_side;
constexpr int parts = wi_cholesky_parts;
constexpr int factorers = side * parts;
constexpr int solvers = 128;

template <class T>
struct wi_cholesky_panel_params {
    T *a; /* L(i, j) is a[i * down + j * across], from the panel's first element on */
    size_t down, across;
    int order; /* columns */
    size_t below;
    int64_t number; /* of its first column */
    int64_t *first;
};

template <class T>
__global__ void __launch_bounds__(factorers) factor_diagonal(wi_cholesky_panel_params<T> p) {
    WEFT_SHARED(T, line, [side]);
    WEFT_SHARED(T, corner, [2]);
    const int row = (int)threadIdx.x % side, part = (int)threadIdx.x / side;
    wi_cholesky_block<T, side> block = {{}, line, corner};
    if (wi_cholesky_has_failed(p.first))
        return;
#pragma unroll
    for (int c = 0; c < block.own; c++) {
        const int j = c * parts + part;
        if (j <= row && row < p.order)
            block.a[c] = p.a[row * p.down + j * p.across];
    }
    const int done = block.run(p.order, row, part);
#pragma unroll
    for (int c = 0; c < block.own; c++) {
        const int j = c * parts + part;
        if (j == done && row == done && done < p.order)
            wi_cholesky_tell(p.first, block.a[c], p.number + done);
        if (j <= row && row < p.order && (j < done || (j == done && row == done)))
            p.a[row * p.down + j * p.across] = block.a[c]; /* the pivot tells why */
    }
}

/* A row x of the panel becomes x / L', L being its block on the diagonal. */
template <class T>
struct row_below {
    static constexpr int width = 16 / (int)sizeof(T);
    T x[side];

    __device__ void solve(const T (&l)[side][side], const T (&reciprocal)[side], int order) {
#pragma unroll
        for (int j = 0; j < side; j++) {
            if (j >= order)
                return;
            const T found = wi_divisor<T>(l[j][j], reciprocal[j]).of(x[j]);
            x[j] = found;
#pragma unroll
            for (int k = j + 1; k < side; k++)
                x[k] = wi_fma(-found, l[j][k], x[k]);
        }
    }
};

template <class T>
__global__ void __launch_bounds__(solvers) solve_rows(wi_cholesky_panel_params<T> p) {
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(T, reciprocal, [side]);
    T(&l)[side][side] = *(T(*)[side][side])memory; /* L(i, j) at l[j][i] */
    if (wi_cholesky_has_failed(p.first))
        return;
    for (int e = (int)threadIdx.x; e < side * side; e += solvers) {
        const int i = e % side, j = e / side;
        l[j][i] = i >= j && i < p.order ? p.a[i * p.down + j * p.across] : (T)0;
    }
    __syncthreads();
    if ((int)threadIdx.x < p.order)
        reciprocal[threadIdx.x] = wi_reciprocal(l[threadIdx.x][threadIdx.x]);
    __syncthreads();
    const size_t number = (size_t)blockIdx.x * solvers + threadIdx.x;
    if (number >= p.below)
        return;
    T *const own = p.a + ((size_t)p.order + number) * p.down;
    row_below<T> row;
#pragma unroll
    for (int j = 0; j < side; j++)
        row.x[j] = j < p.order ? own[j * p.across] : (T)0;
    row.solve(l, reciprocal, p.order);
#pragma unroll
    for (int j = 0; j < side; j++)
        if (j < p.order)
            own[j * p.across] = row.x[j];
}

template <class T>
static weft_status run_panel(weft_context *ctx, const wi_cholesky_args *g, size_t first,
                             size_t columns) {
    const wi_cholesky_panel_params<T> p = {(T *)wi_cholesky_at(g, first, first),
                                           g->upper ? g->lda : 1,
                                           g->upper ? 1 : g->lda,
                                           (int)columns,
                                           g->n - first - columns,
                                           (int64_t)first,
                                           g->first};
    const weft_status status = WEFT_LAUNCH(factor_diagonal<T>, ctx, 1, factorers, 0, p);
    if (status != WEFT_OK || p.below == 0)
        return status;
    return WEFT_LAUNCH(solve_rows<T>, ctx, (unsigned)((p.below - 1) / solvers + 1), solvers,
                       side * side * sizeof(T), p);
}

weft_status wi_cholesky_panel(weft_context *ctx, const wi_cholesky_args *args, size_t first,
                              size_t columns) {
    return args->type == WEFT_F64 ? run_panel<double>(ctx, args, first, columns)
                                  : run_panel<float>(ctx, args, first, columns);
}
