/* SPDX-License-Identifier: Apache-2.0 */
/* gemm, the teaching rungs for f32 and f64: from one thread for one element to sums in registers
 * and tiles in shared memory, read while the next ones are on their way. */
#include "cuda/memory.cuh"
#include "cuda/warp.cuh"
#include "gemm/gemm_cuda.cuh"

/* An operand wherever its elements lie: row i of A, or column i of B, and k. */
template <class T>
struct view {
    const T *p;
    size_t along_i, along_k; /* from one element to the next */

    __device__ T at(size_t i, size_t k) const {
        return p[i * along_i + k * along_k];
    }
};

template <class T>
struct product {
    wi_gemm_params<T, T, T> g;
    view<T> a, b;
};

template <class T>
static view<T> view_of(const T *p, size_t ld, bool by_k) {
    view<T> v = {p, 1, ld};
    if (by_k)
        v = {p, ld, 1};
    return v;
}

template <class T>
static product<T> product_of(const wi_gemm_args *args) {
    const wi_gemm_params<T, T, T> g = wi_gemm_typed<T, T, T>(args);
    return {g, view_of(g.a, g.lda, args->transposed_a), view_of(g.b, g.ldb, !args->transposed_b)};
}

/* ---- one thread for one element ---- */

constexpr int side = 16; /* of a block of threads */

template <class T>
__device__ void one_element(const product<T> &x, size_t i, size_t j) {
    T sum = 0;
    for (size_t k = 0; k < x.g.k; k++)
        sum = wi_fma(x.a.at(i, k), x.b.at(j, k), sum);
    wi_gemm_store(x.g, i, j, sum);
}

/* Threads of a warp have neighbouring columns: what they read and write lies ld apart. */
template <class T>
__global__ void naive(product<T> x) {
    const size_t blocks_n = wi_gemm_pieces(x.g.n, side);
    const size_t i = blockIdx.x / blocks_n * side + threadIdx.x / side;
    const size_t j = blockIdx.x % blocks_n * side + threadIdx.x % side;
    if (i < x.g.m && j < x.g.n)
        one_element(x, i, j);
}

/* Threads of a warp have neighbouring rows: what they read of A and write lies together. */
template <class T>
__global__ void coalesced(product<T> x) {
    const size_t blocks_n = wi_gemm_pieces(x.g.n, side);
    const size_t i = blockIdx.x / blocks_n * side + threadIdx.x % side;
    const size_t j = blockIdx.x % blocks_n * side + threadIdx.x / side;
    if (i < x.g.m && j < x.g.n)
        one_element(x, i, j);
}

/* ---- tiles in shared memory ---- */

/* Each element of a tile is read from global memory once for the block, not once for each thread.
 * Columns of the tiles are one longer, so that lanes that go along k meet different banks. */
template <class T, int size>
__global__ void __launch_bounds__(size *size) tiles(product<T> x) {
    WEFT_SHARED(T, a, [size][size + 1]);
    WEFT_SHARED(T, b, [size][size + 1]);
    const size_t tiles_n = wi_gemm_pieces(x.g.n, size);
    const size_t row = blockIdx.x / tiles_n * size, column = blockIdx.x % tiles_n * size;
    const int u = (int)threadIdx.x % size, v = (int)threadIdx.x / size;
    T sum = 0;
    for (size_t k = 0; k < x.g.k; k += size) {
        const auto take = [&](T(&tile)[size][size + 1], const view<T> &from, size_t first,
                              size_t extent) {
            const bool by_k = from.along_k == 1;
            const size_t i = (size_t)(by_k ? v : u), p = (size_t)(by_k ? u : v);
            tile[p][i] = first + i < extent && k + p < x.g.k ? from.at(first + i, k + p) : (T)0;
        };
        take(a, x.a, row, x.g.m);
        take(b, x.b, column, x.g.n);
        __syncthreads();
#pragma unroll
        for (int p = 0; p < size; p++)
            sum = wi_fma(a[p][u], b[p][v], sum);
        __syncthreads();
    }
    if (row + u < x.g.m && column + v < x.g.n)
        wi_gemm_store(x.g, row + u, column + v, sum);
}

/* ---- sums in registers ---- */

enum level {
    STRIP,   /* a column of 8 sums a thread: an element of B is used 8 times from a register */
    PATCH,   /* 8 x 8 sums: elements of A too */
    VECTOR,  /* 16 bytes for each read of shared memory */
    DOUBLED, /* two tiles of each: the next arrives while this one is used; one barrier a step */
    WARPS    /* a warp's sums are a block of their own: its lanes share more of what they read */
};

template <class T, int level>
struct patches {
    static constexpr int rows = 8, columns = level == STRIP ? 1 : 8;
    static constexpr int tile_m = level == STRIP ? 64 : 128, tile_n = tile_m, tile_k = 8;
    static constexpr int threads = tile_m / rows * (tile_n / columns);
    static constexpr int buffers = level >= DOUBLED ? 2 : 1;
    static constexpr int width = level >= VECTOR ? 16 / (int)sizeof(T) : 1;
    static constexpr int warps_m = 2; /* of WARPS: warps of 8 x 4 lanes, 64 x 32 elements */
    static constexpr int lanes_m = level == WARPS ? 8 : tile_m / rows;
    static constexpr int lanes_n = level == WARPS ? 4 : tile_n / columns;
    static constexpr int each = tile_m * tile_k / threads; /* elements a thread brings of a tile */
    static_assert(tile_m * tile_k % threads == 0 && each > 0, "whole shares");
    using tile = T[tile_k][tile_m];

    const product<T> &x;
    tile *a, *b;
    size_t row, column;

    __device__ static int warp_row() {
        return level == WARPS ? (int)threadIdx.x / 32 % warps_m * 64 : 0;
    }
    __device__ static int warp_column() {
        return level == WARPS ? (int)threadIdx.x / 32 / warps_m * 32 : 0;
    }
    /* The q-th row, or column, of a thread: in groups that one read of shared memory brings. */
    __device__ static int place(int lane, int lanes, int q) {
        return q / width * width * lanes + lane * width + q % width;
    }
    __device__ static int row_of(int q) {
        const int lane = (level == WARPS ? wi_lane() : (int)threadIdx.x) % lanes_m;
        return warp_row() + place(lane, lanes_m, q);
    }
    __device__ static int column_of(int q) {
        const int lane = (level == WARPS ? wi_lane() : (int)threadIdx.x) / lanes_m;
        return level == STRIP ? lane : warp_column() + place(lane, lanes_n, q);
    }

    /* Which element of a tile is the e-th that this thread brings: its row (or column), and p along
     * k. fetch() reads these elements from global memory, put() writes them to shared memory. */
    __device__ static int share(const view<T> &from, int e, int &p) {
        const int index = (int)threadIdx.x + e * threads;
        p = from.along_k == 1 ? index % tile_k : index / tile_m;
        return from.along_k == 1 ? index / tile_k : index % tile_m;
    }
    __device__ void fetch(const view<T> &from, size_t first, size_t extent, size_t k,
                          T (&mine)[each]) const {
#pragma unroll
        for (int e = 0; e < each; e++) {
            int p;
            const size_t i = first + (size_t)share(from, e, p);
            const bool there = i < extent && k + (size_t)p < x.g.k;
            mine[e] = there ? from.at(i, k + (size_t)p) : (T)0;
        }
    }
    __device__ static void put(const view<T> &from, tile &to, const T (&mine)[each]) {
#pragma unroll
        for (int e = 0; e < each; e++) {
            int p;
            const int i = share(from, e, p);
            to[p][i] = mine[e];
        }
    }

    template <int count, class Place>
    __device__ static void take(const T *line, T (&mine)[count], const Place &at) {
#pragma unroll
        for (int q = 0; q < count; q += width) {
            if constexpr (width > 1) {
                const wi_vector<T> v = *(const wi_vector<T> *)(line + at(q));
#pragma unroll
                for (int e = 0; e < width; e++)
                    mine[q + e] = v.at[e];
            } else {
                mine[q] = line[at(q)];
            }
        }
    }
    __device__ static void add(const tile &a, const tile &b, T (&sum)[rows][columns]) {
#pragma unroll
        for (int p = 0; p < tile_k; p++) {
            T u[rows], v[columns];
            take(a[p], u, row_of);
            take(b[p], v, column_of);
#pragma unroll
            for (int i = 0; i < rows; i++)
#pragma unroll
                for (int j = 0; j < columns; j++)
                    sum[i][j] = wi_fma(u[i], v[j], sum[i][j]);
        }
    }

    __device__ void run() const {
        T sum[rows][columns] = {}, of_a[each], of_b[each];
        int now = 0;
        for (size_t k = 0; k < x.g.k; k += tile_k) {
            if (k == 0 || buffers == 1) {
                fetch(x.a, row, x.g.m, k, of_a);
                fetch(x.b, column, x.g.n, k, of_b);
                put(x.a, a[now], of_a);
                put(x.b, b[now], of_b);
                __syncthreads();
            }
            const bool ahead = buffers == 2 && k + tile_k < x.g.k;
            if (ahead) {
                fetch(x.a, row, x.g.m, k + tile_k, of_a);
                fetch(x.b, column, x.g.n, k + tile_k, of_b);
            }
            add(a[now], b[now], sum);
            if (ahead) {
                now = 1 - now;
                put(x.a, a[now], of_a);
                put(x.b, b[now], of_b);
            }
            __syncthreads();
        }
#pragma unroll
        for (int j = 0; j < columns; j++)
#pragma unroll
            for (int i = 0; i < rows; i++)
                if (row + row_of(i) < x.g.m && column + column_of(j) < x.g.n)
                    wi_gemm_store(x.g, row + row_of(i), column + column_of(j), sum[i][j]);
    }
};

template <class T, int level>
__global__ void __launch_bounds__(patches<T, level>::threads) sums(product<T> x) {
    using block = patches<T, level>;
    WEFT_DYNAMIC_SHARED(memory);
    const size_t tiles_n = wi_gemm_pieces(x.g.n, block::tile_n);
    typename block::tile *const a = (typename block::tile *)memory;
    block{x, a, a + block::buffers, blockIdx.x / tiles_n * block::tile_m,
          blockIdx.x % tiles_n * block::tile_n}
        .run();
}

/* ---- launches ---- */

static unsigned blocks_of(const wi_gemm_args *g, size_t high, size_t wide) {
    return (unsigned)(wi_gemm_pieces(g->m, high) * wi_gemm_pieces(g->n, wide));
}

template <class T>
static weft_status launch_naive(weft_context *ctx, const wi_gemm_args *g) {
    return WEFT_LAUNCH(naive<T>, ctx, blocks_of(g, side, side), side * side, 0, product_of<T>(g));
}

template <class T>
static weft_status launch_coalesced(weft_context *ctx, const wi_gemm_args *g) {
    return WEFT_LAUNCH(coalesced<T>, ctx, blocks_of(g, side, side), side * side, 0,
                       product_of<T>(g));
}

template <class T, int size>
static weft_status launch_tiles(weft_context *ctx, const wi_gemm_args *g) {
    return WEFT_LAUNCH((tiles<T, size>), ctx, blocks_of(g, size, size), size * size, 0,
                       product_of<T>(g));
}

template <class T, int level>
static weft_status launch_sums(weft_context *ctx, const wi_gemm_args *g) {
    using block = patches<T, level>;
    return WEFT_LAUNCH((sums<T, level>), ctx, blocks_of(g, block::tile_m, block::tile_n),
                       block::threads, 2 * block::buffers * sizeof(typename block::tile),
                       product_of<T>(g));
}

weft_status wi_gemm_naive(weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = (const wi_gemm_args *)args;
    return g->type == WEFT_F64 ? launch_naive<double>(ctx, g) : launch_naive<float>(ctx, g);
}

weft_status wi_gemm_coalesced(weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = (const wi_gemm_args *)args;
    return g->type == WEFT_F64 ? launch_coalesced<double>(ctx, g) : launch_coalesced<float>(ctx, g);
}

template <int size>
static weft_status tiles_of(weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = (const wi_gemm_args *)args;
    return g->type == WEFT_F64 ? launch_tiles<double, size>(ctx, g)
                               : launch_tiles<float, size>(ctx, g);
}

weft_status wi_gemm_tile16(weft_context *ctx, const void *args) {
    return tiles_of<16>(ctx, args);
}
weft_status wi_gemm_tile32(weft_context *ctx, const void *args) {
    return tiles_of<32>(ctx, args);
}

template <int level>
static weft_status sums_of(weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = (const wi_gemm_args *)args;
    return g->type == WEFT_F64 ? launch_sums<double, level>(ctx, g)
                               : launch_sums<float, level>(ctx, g);
}

weft_status wi_gemm_strip(weft_context *ctx, const void *args) {
    return sums_of<STRIP>(ctx, args);
}
weft_status wi_gemm_patch(weft_context *ctx, const void *args) {
    return sums_of<PATCH>(ctx, args);
}
weft_status wi_gemm_vector(weft_context *ctx, const void *args) {
    return sums_of<VECTOR>(ctx, args);
}
weft_status wi_gemm_doubled(weft_context *ctx, const void *args) {
    return sums_of<DOUBLED>(ctx, args);
}
weft_status wi_gemm_warps(weft_context *ctx, const void *args) {
    return sums_of<WARPS>(ctx, args);
}
