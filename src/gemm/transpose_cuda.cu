/* SPDX-License-Identifier: Apache-2.0 */
/* transpose on a GPU. A block turns one tile: a thread loads a few packs of neighbouring elements
 * from as many lines, which are a small square, turns the square in registers, and stores it in
 * shared memory the way B has it; packs of B's lines then go from there to global memory. Both ways
 * a warp accesses whole lines of 128 bytes or more. */
#include "cuda/memory.cuh"
#include "cuda/warp.cuh"
#include "gemm/gemm_cuda.cuh"
#include "gemm/transpose.h"

constexpr int threads = 256;

namespace {

/* A's elements and B's, of type T. */
template <class T>
struct matrices {
    size_t rows, columns, lda, ldb;
    const T *a;
    T *b;
};

/* `width` elements that are loaded and stored together. */
template <class T, int width>
struct alignas(sizeof(T) * width) pack {
    T at[width];
};
template <class T>
struct pack<T, 1> {
    T at[1];
};

/* An element that is no number: `count` units, each copied by itself, as they are aligned and it is
 * not. */
template <class Unit, int count>
struct units {
    Unit at[count];

    units() = default;
    __device__ units(const units &other) {
        *this = other;
    }
    __device__ units &operator=(const units &other) {
#pragma unroll
        for (int k = 0; k < count; k++)
            at[k] = other.at[k];
        return *this;
    }
};

/* A tile of `across` x `across` squares of `width` x `width` elements. In shared memory it is lines
 * of packs; where in its line a pack lies depends on the line, so that the lanes of a warp, which
 * store at the same place of different lines, meet different banks. */
template <class T_, int width_, int across_>
struct tile_shape {
    using T = T_;
    static constexpr int width = width_, across = across_;
    static constexpr int side = width * across;
    static constexpr int squares = across * across / threads; /* of a thread */
    static_assert(across * across % threads == 0, "whole shares");
    using Pack = pack<T, width>;
    using Tile = Pack[side][across];

    __device__ static int place(int line, int at) {
        return at ^ (line / width % across);
    }
};

} // namespace

/* Loads a pack of which `there` elements exist. Four bytes are loaded as a word, which turn_bytes
 * takes: as bytes the compiler would take them apart. */
template <bool is_whole, class T, int width>
static __device__ void load(pack<T, width> &v, const T *p, int there) {
    if constexpr (is_whole && sizeof(T) == 1 && width == 4) {
        const uint32_t word = *(const uint32_t *)p;
        memcpy(&v, &word, sizeof word);
    } else if (is_whole || there >= width) {
        v = *(const pack<T, width> *)p;
    } else {
        v = {};
#pragma unroll
        for (int e = 0; e < width; e++)
            if (e < there)
                v.at[e] = p[e];
    }
}

/* How many of `width` elements from `first` on lie before `end`: 0 or less if none. */
static __device__ int left_of(size_t first, size_t end, int width) {
    return first >= end ? 0 : end - first < (size_t)width ? (int)(end - first) : width;
}

/* Four packs of four bytes each, turned: first single bytes change places, then pairs of them. */
template <class Pack>
static __device__ void turn_bytes(const Pack (&v)[4], Pack (&turned)[4]) {
    constexpr uint32_t even = 0x00ff00ff, low = 0x0000ffff;
    uint32_t x[4], y[4];
    memcpy(x, v, sizeof x);
#pragma unroll
    for (int k = 0; k < 4; k += 2) {
        y[k] = (x[k] & even) | (x[k + 1] & even) << 8;
        y[k + 1] = (x[k] >> 8 & even) | (x[k + 1] & ~even);
    }
#pragma unroll
    for (int k = 0; k < 2; k++) {
        x[k] = (y[k] & low) | y[k + 2] << 16;
        x[k + 2] = y[k] >> 16 | (y[k + 2] & ~low);
    }
    memcpy(turned, x, sizeof x);
}

/* A square, turned. */
template <class Pack, int width>
static __device__ void turn(const Pack (&v)[width], Pack (&turned)[width]) {
    if constexpr (sizeof(Pack) == 4 && width == 4) /* bytes */
        turn_bytes(v, turned);
    else
#pragma unroll
        for (int e = 0; e < width; e++)
#pragma unroll
            for (int k = 0; k < width; k++)
                turned[e].at[k] = v[k].at[e];
}

/* The tile of A whose first element is (row, column), turned. */
template <class Shape, bool is_whole>
static __device__ void take(const matrices<typename Shape::T> &x, size_t row, size_t column,
                            typename Shape::Tile &tile) {
    using Pack = typename Shape::Pack;
    constexpr int width = Shape::width;
    Pack v[Shape::squares][width];
#pragma unroll
    for (int s = 0; s < Shape::squares; s++) {
        const int index = (int)threadIdx.x + s * threads;
        const size_t i = row + index % Shape::across * width;
        const size_t j = column + index / Shape::across * width;
        const int there = is_whole ? width : left_of(i, x.rows, width);
#pragma unroll
        for (int e = 0; e < width; e++)
            if (is_whole || (there > 0 && j + e < x.columns))
                load<is_whole>(v[s][e], x.a + i + (j + e) * x.lda, there);
    }
#pragma unroll
    for (int s = 0; s < Shape::squares; s++) {
        const int index = (int)threadIdx.x + s * threads;
        const int line = index % Shape::across * width, at = index / Shape::across;
        Pack turned[width];
        turn<Pack, width>(v[s], turned);
#pragma unroll
        for (int e = 0; e < width; e++)
            tile[line + e][Shape::place(line + e, at)] = turned[e];
    }
}

/* A turned tile to B, where element (row, column) of A goes to (column, row). */
template <class Shape, bool is_whole>
static __device__ void put(const matrices<typename Shape::T> &x, size_t row, size_t column,
                           const typename Shape::Tile &tile) {
    using Pack = typename Shape::Pack;
    constexpr int width = Shape::width, packs = Shape::side * Shape::across;
#pragma unroll
    for (int first = 0; first < packs; first += threads) {
        const int index = first + (int)threadIdx.x;
        const int line = index / Shape::across, at = index % Shape::across;
        const int there = is_whole ? width : left_of(column + at * width, x.columns, width);
        if (!is_whole && (row + line >= x.rows || there == 0))
            continue;
        const Pack v = tile[line][Shape::place(line, at)];
        typename Shape::T *const to = x.b + column + at * width + (row + line) * x.ldb;
        /* Had it a branch of its own, the compiler would make elements of this store too. */
        if constexpr (width > 1)
            wi_store_if(there == width, (Pack *)to, v);
        if (width == 1 || there < width)
#pragma unroll
            for (int e = 0; e < width; e++)
                if (e < there)
                    to[e] = v.at[e];
    }
}

/* One tile, without a question where both matrices have all of it. */
template <class Shape>
static __global__ void __launch_bounds__(threads) packs(matrices<typename Shape::T> x) {
    WEFT_SHARED(typename Shape::Tile, tile, );
    const size_t tiles = wi_gemm_pieces(x.rows, Shape::side);
    const size_t row = blockIdx.x % tiles * Shape::side, column = blockIdx.x / tiles * Shape::side;
    if (row + Shape::side <= x.rows && column + Shape::side <= x.columns) {
        take<Shape, true>(x, row, column, tile);
        __syncthreads();
        put<Shape, true>(x, row, column, tile);
    } else {
        take<Shape, false>(x, row, column, tile);
        __syncthreads();
        put<Shape, false>(x, row, column, tile);
    }
}

/* In place: the block of a tile below the diagonal exchanges it with the one above. */
template <class Shape>
static __global__ void __launch_bounds__(threads) swaps(matrices<typename Shape::T> x) {
    WEFT_SHARED(typename Shape::Tile, low, );
    WEFT_SHARED(typename Shape::Tile, high, );
    const size_t tiles = wi_gemm_pieces(x.rows, Shape::side);
    const size_t down = blockIdx.x % tiles, over = blockIdx.x / tiles;
    const size_t row = down * Shape::side, column = over * Shape::side;
    if (down < over)
        return;
    take<Shape, false>(x, row, column, low);
    if (down != over)
        take<Shape, false>(x, column, row, high);
    __syncthreads();
    put<Shape, false>(x, row, column, low);
    if (down != over)
        put<Shape, false>(x, column, row, high);
}

/* ---- elements of any width ---- */

namespace {

constexpr int any_side = 32, any_most = 16; /* a tile's elements, and their bytes at most */

struct bytes_of_matrices {
    size_t rows, columns, lda, ldb;
    int width;
    const uint8_t *a;
    uint8_t *b;
};

/* Lines of A. The gap puts those that a warp reads at once into different banks. */
struct any_tile {
    uint8_t at[any_side][any_side * any_most + 4];
};

} // namespace

/* A warp loads a line of the tile, byte by byte. */
static __device__ void take_bytes(const bytes_of_matrices &x, size_t row, size_t column,
                                  any_tile &tile) {
    const int bytes = left_of(row, x.rows, any_side) * x.width;
    const int lines = left_of(column, x.columns, any_side);
    for (int line = (int)threadIdx.x / 32; line < lines; line += threads / 32) {
        const uint8_t *const from = x.a + ((column + line) * x.lda + row) * x.width;
        for (int k = wi_lane(); k < bytes; k += 32)
            tile.at[line][k] = from[k];
    }
}

/* A warp stores a line of B, which has an element of every line of the tile. */
static __device__ void put_bytes(const bytes_of_matrices &x, size_t row, size_t column,
                                 const any_tile &tile) {
    const int bytes = left_of(column, x.columns, any_side) * x.width;
    const int lines = left_of(row, x.rows, any_side);
    for (int line = (int)threadIdx.x / 32; line < lines; line += threads / 32) {
        uint8_t *const to = x.b + ((row + line) * x.ldb + column) * x.width;
        for (int k = wi_lane(); k < bytes; k += 32) {
            const int element = k / x.width;
            to[k] = tile.at[element][(line - element) * x.width + k];
        }
    }
}

/* As `packs` and `swaps`, for elements whose width the launch says. */
static __global__ void __launch_bounds__(threads) packs_of_bytes(bytes_of_matrices x) {
    WEFT_SHARED(any_tile, tile, );
    const size_t tiles = wi_gemm_pieces(x.rows, any_side);
    const size_t row = blockIdx.x % tiles * any_side, column = blockIdx.x / tiles * any_side;
    take_bytes(x, row, column, tile);
    __syncthreads();
    put_bytes(x, row, column, tile);
}

static __global__ void __launch_bounds__(threads) swaps_of_bytes(bytes_of_matrices x) {
    WEFT_SHARED(any_tile, low, );
    WEFT_SHARED(any_tile, high, );
    const size_t tiles = wi_gemm_pieces(x.rows, any_side);
    const size_t row = blockIdx.x % tiles * any_side, column = blockIdx.x / tiles * any_side;
    if (row < column)
        return;
    take_bytes(x, row, column, low);
    if (row != column)
        take_bytes(x, column, row, high);
    __syncthreads();
    put_bytes(x, row, column, low);
    if (row != column)
        put_bytes(x, column, row, high);
}

static weft_status launch_bytes(weft_context *ctx, const wi_transpose_args *t) {
    const bytes_of_matrices x = {
        t->rows, t->columns, t->lda, t->ldb, (int)t->width, (const uint8_t *)t->a, (uint8_t *)t->b};
    const size_t blocks = wi_gemm_pieces(t->rows, any_side) * wi_gemm_pieces(t->columns, any_side);
    return t->a == t->b ? WEFT_LAUNCH(swaps_of_bytes, ctx, (unsigned)blocks, threads, 0, x)
                        : WEFT_LAUNCH(packs_of_bytes, ctx, (unsigned)blocks, threads, 0, x);
}

/* ---- the call ---- */

template <class Shape>
static weft_status launch(weft_context *ctx, const wi_transpose_args *t) {
    using T = typename Shape::T;
    const matrices<T> x = {t->rows, t->columns, t->lda, t->ldb, (const T *)t->a, (T *)t->b};
    const size_t blocks =
        wi_gemm_pieces(t->rows, Shape::side) * wi_gemm_pieces(t->columns, Shape::side);
    return t->a == t->b ? WEFT_LAUNCH(swaps<Shape>, ctx, (unsigned)blocks, threads, 0, x)
                        : WEFT_LAUNCH(packs<Shape>, ctx, (unsigned)blocks, threads, 0, x);
}

/* Are all lines of both matrices aligned to so many bytes? */
static bool is_aligned_to(const wi_transpose_args *t, size_t bytes) {
    return (uintptr_t)t->a % bytes == 0 && (uintptr_t)t->b % bytes == 0 &&
           t->lda * t->width % bytes == 0 && t->ldb * t->width % bytes == 0;
}

/* Elements of a number's size: packs if they are aligned as such. */
template <class T, int width, int across>
static weft_status launch_packs(weft_context *ctx, const wi_transpose_args *t) {
    if (is_aligned_to(t, sizeof(T) * width))
        return launch<tile_shape<T, width, across>>(ctx, t);
    return launch<tile_shape<T, 1, 32>>(ctx, t);
}

/* Elements of other sizes, or at other addresses: those that are usual by units that are aligned,
 * pixels of three bytes and pairs and triples of numbers; all others by bytes. */
static weft_status launch_others(weft_context *ctx, const wi_transpose_args *t) {
    if (t->width == 3)
        return launch<tile_shape<units<uint8_t, 3>, 1, 32>>(ctx, t);
    if (t->width == 6 && is_aligned_to(t, 2))
        return launch<tile_shape<units<uint16_t, 3>, 1, 32>>(ctx, t);
    if (t->width == 8 && is_aligned_to(t, 4))
        return launch<tile_shape<units<uint32_t, 2>, 1, 32>>(ctx, t);
    if (t->width == 12 && is_aligned_to(t, 4))
        return launch<tile_shape<units<uint32_t, 3>, 1, 32>>(ctx, t);
    if (t->width == 16 && is_aligned_to(t, 8))
        return launch<tile_shape<units<uint64_t, 2>, 1, 32>>(ctx, t);
    return launch_bytes(ctx, t);
}

weft_status wi_transpose_packs(weft_context *ctx, const void *args) {
    const wi_transpose_args *const t = (const wi_transpose_args *)args;
    if (is_aligned_to(t, t->width))
        switch (t->width) {
        case 1:
            return launch_packs<uint8_t, 4, 32>(ctx, t);
        case 2:
            return launch_packs<uint16_t, 4, 16>(ctx, t);
        case 4:
            return launch_packs<uint32_t, 4, 16>(ctx, t);
        case 8:
            return launch_packs<uint64_t, 2, 16>(ctx, t);
        case 16:
            return launch<tile_shape<pack<uint64_t, 2>, 1, 32>>(ctx, t);
        default:
            break;
        }
    return launch_others(ctx, t);
}
