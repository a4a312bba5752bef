/* SPDX-License-Identifier: Apache-2.0 */
/* C -= L U for an inner size of at most 32. Such a product is over before a kernel that is made for
 * long ones has begun: this one is short, and reads all that a block needs at once. f64 go by
 * tensor cores: beside a long product there are only the multiprocessors of a cluster, and what
 * they read from shared memory for each product counts. */
#include "cuda/launch.cuh"
#include "cuda/tensor_f64.cuh"
#include "cuda/types.cuh"
#include "lu/lu_cuda.cuh"

constexpr int most_k = 32;
constexpr int update_side = 64;     /* of a block's tile of C */
constexpr int update_threads = 256; /* eight warps */

template <class T>
struct update_params {
    const T *l, *u;
    T *c;
    size_t ld, m, n, tiles_m;
    int k;
};

/* What a block reads of L and U, by columns; the gaps keep lanes that read four rows of four
 * columns in different banks. */
template <class T>
struct update_factors {
    static constexpr int gap = 4;
    T l[most_k][update_side + gap], u[update_side][most_k + gap];
};

/* A block's tile of C; a lane has 16 elements. */
template <class T>
struct tile_by_lanes {
    static constexpr int across = 16,
                         each = update_side / across; /* 16 x 16 threads, each x each */
    T c[each][each];
    int i, j; /* the first row and column of this thread in the tile */

    __device__ tile_by_lanes() : c(), i((int)threadIdx.x % across), j((int)threadIdx.x / across) {}

    /* f(element, its row, its column) */
    template <class F>
    __device__ void for_each(const F &f) {
#pragma unroll
        for (int b = 0; b < each; b++)
#pragma unroll
            for (int a = 0; a < each; a++)
                f(c[b][a], i + a * across, j + b * across);
    }
    __device__ void subtract(const update_factors<T> &s, int k_end) {
#pragma unroll 4
        for (int k = 0; k < k_end; k++) {
            T x[each], y[each];
#pragma unroll
            for (int a = 0; a < each; a++) {
                x[a] = s.l[k][i + a * across];
                y[a] = s.u[j + a * across][k];
            }
#pragma unroll
            for (int b = 0; b < each; b++)
#pragma unroll
                for (int a = 0; a < each; a++)
                    c[b][a] = wi_fma(-x[a], y[b], c[b][a]);
        }
    }
};

/* The same, 16 rows and 32 columns a warp, as wi_multiply_f64 has them. */
struct tile_by_tensor {
    static constexpr int wide = 4; /* products of 8 columns */
    double c[wide][4];
    int g, t, row, column;

    __device__ tile_by_tensor() : c(), g(wi_lane() / 4), t(wi_lane() % 4) {
        const int warp = (int)threadIdx.x / 32, high = update_side / 16;
        row = warp % high * 16;
        column = warp / high * 8 * wide;
    }
    template <class F>
    __device__ void for_each(const F &f) {
#pragma unroll
        for (int b = 0; b < wide; b++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                f(c[b][e], row + g + e / 2 * 8, column + b * 8 + 2 * t + e % 2);
    }
    /* Beyond the last of k, s has zeros. */
    __device__ void subtract(const update_factors<double> &s, int k_end) {
        for (int k = 0; k < k_end; k += 16) {
            double a[8];
#pragma unroll
            for (int e = 0; e < 8; e++)
                a[e] = -s.l[k + t + e / 2 * 4][row + g + e % 2 * 8];
#pragma unroll
            for (int b = 0; b < wide; b++) {
                double u[4];
#pragma unroll
                for (int e = 0; e < 4; e++)
                    u[e] = s.u[column + b * 8 + g][k + t + e * 4];
                wi_multiply_f64(c[b], a, u);
            }
        }
    }
};

template <class T>
struct tile_of : tile_by_lanes<T> {};
template <>
struct tile_of<double> : tile_by_tensor {};

/* How many blocks a multiprocessor must have registers for. */
template <class T>
constexpr int resident = sizeof(T) == 8 ? 3 : 2;

template <class T>
__global__ void __launch_bounds__(update_threads, resident<T>) update(update_params<T> p) {
    WEFT_SHARED(update_factors<T>, s, );
    const size_t row = blockIdx.x % p.tiles_m * update_side,
                 column = blockIdx.x / p.tiles_m * update_side;
    const auto in_matrix = [&](int i, int j) { return row + i < p.m && column + j < p.n; };
    tile_of<T> tile;
    tile.for_each([&](T &c, int i, int j) {
        if (in_matrix(i, j))
            c = p.c[row + i + (column + j) * p.ld];
    });
#pragma unroll
    for (int e = (int)threadIdx.x; e < most_k * update_side; e += update_threads) {
        const int i = e % update_side, k = e / update_side, ku = e % most_k, j = e / most_k;
        s.l[k][i] = k < p.k && row + i < p.m ? p.l[row + i + k * p.ld] : (T)0;
        s.u[j][ku] = ku < p.k && column + j < p.n ? p.u[ku + (column + j) * p.ld] : (T)0;
    }
    __syncthreads();
    tile.subtract(s, p.k);
    tile.for_each([&](T &c, int i, int j) {
        if (in_matrix(i, j))
            p.c[row + i + (column + j) * p.ld] = c;
    });
}

template <class T>
static weft_status launch_update(weft_context *ctx, const wi_lu_panel *panel,
                                 wi_lu_columns columns) {
    const wi_lu_args *const args = panel->args;
    const size_t below = panel->first + panel->width, m = args->m - below, n = wi_lu_count(columns);
    const size_t tiles_m = (m + update_side - 1) / update_side,
                 tiles_n = (n + update_side - 1) / update_side;
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
    return WEFT_LAUNCH(update<T>, ctx, (unsigned)(tiles_m * tiles_n), update_threads, 0, p);
}

weft_status wi_lu_update(weft_context *ctx, const wi_lu_panel *panel, wi_lu_columns columns) {
    return panel->args->type == WEFT_F64 ? launch_update<double>(ctx, panel, columns)
                                         : launch_update<float>(ctx, panel, columns);
}
