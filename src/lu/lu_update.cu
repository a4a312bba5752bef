/* SPDX-License-Identifier: Apache-2.0 */
/* C -= L U for an inner size of at most 32. Such a product is over before a kernel that is made for
 * long ones has begun: this one is short, and reads all that a block needs at once. */
#include "cuda/launch.cuh"
#include "cuda/types.cuh"
#include "lu/lu_cuda.cuh"

constexpr int most_k = 32;
constexpr int side = 64;                         /* of a block's tile of C */
constexpr int threads = 256;                     /* 16 x 16 */
constexpr int across = 16, each = side / across; /* a thread has each x each elements */

template <class T>
struct update_params {
    const T *l, *u;
    T *c;
    size_t ld, m, n, tiles_m;
    int k;
};

template <class T>
__global__ void __launch_bounds__(threads) update(update_params<T> p) {
    WEFT_SHARED(T, l, [most_k][side]);
    WEFT_SHARED(T, u, [most_k][side + 1]);
    const size_t row = blockIdx.x % p.tiles_m * side, column = blockIdx.x / p.tiles_m * side;
    const int thread = (int)threadIdx.x, i = thread % across, j = thread / across;
    T c[each][each];
#pragma unroll
    for (int b = 0; b < each; b++)
#pragma unroll
        for (int a = 0; a < each; a++) {
            const size_t at_row = row + i + a * across, at_column = column + j + b * across;
            c[b][a] = at_row < p.m && at_column < p.n ? p.c[at_row + at_column * p.ld] : (T)0;
        }
#pragma unroll
    for (int e = thread; e < most_k * side; e += threads) {
        const int at = e % side, k = e / side, ku = e % most_k, jc = e / most_k;
        l[k][at] = k < p.k && row + at < p.m ? p.l[row + at + k * p.ld] : (T)0;
        u[ku][jc] = ku < p.k && column + jc < p.n ? p.u[ku + (column + jc) * p.ld] : (T)0;
    }
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < p.k; k++) {
        T x[each], y[each];
#pragma unroll
        for (int a = 0; a < each; a++) {
            x[a] = l[k][i + a * across];
            y[a] = u[k][j + a * across];
        }
#pragma unroll
        for (int b = 0; b < each; b++)
#pragma unroll
            for (int a = 0; a < each; a++)
                c[b][a] = wi_fma(-x[a], y[b], c[b][a]);
    }
#pragma unroll
    for (int b = 0; b < each; b++)
#pragma unroll
        for (int a = 0; a < each; a++) {
            const size_t at_row = row + i + a * across, at_column = column + j + b * across;
            if (at_row < p.m && at_column < p.n)
                p.c[at_row + at_column * p.ld] = c[b][a];
        }
}

template <class T>
static weft_status launch(weft_context *ctx, const wi_lu_panel *panel, wi_lu_columns columns) {
    const wi_lu_args *const args = panel->args;
    const size_t below = panel->first + panel->width, m = args->m - below, n = wi_lu_count(columns);
    const size_t tiles_m = (m + side - 1) / side, tiles_n = (n + side - 1) / side;
    const update_params<T> p = {(const T *)wi_lu_at(args, below, panel->first),
                                (const T *)wi_lu_at(args, panel->first, columns.first),
                                (T *)wi_lu_at(args, below, columns.first),
                                args->lda,
                                m,
                                n,
                                tiles_m,
                                (int)panel->width};
    if (m == 0 || n == 0)
        return WEFT_OK;
    return WEFT_LAUNCH(update<T>, ctx, (unsigned)(tiles_m * tiles_n), threads, 0, p);
}

weft_status wi_lu_update(weft_context *ctx, const wi_lu_panel *panel, wi_lu_columns columns) {
    return panel->args->type == WEFT_F64 ? launch<double>(ctx, panel, columns)
                                         : launch<float>(ctx, panel, columns);
}
