/* SPDX-License-Identifier: Apache-2.0 */
/* gemv on a GPU: the matrix is read once, 16 bytes a thread along its columns, several loads in
 * flight. Blocks share the results among them and, where those are few, the terms of their sums
 * too: slices, which a second kernel adds up. How sums are cut depends on the shape alone. */
#include <type_traits>

#include "core/smaller.h"
#include "cuda/ahead.cuh"
#include "cuda/limit.cuh"
#include "cuda/memory.cuh"
#include "cuda/warp.cuh"
#include "gemm/gemv_cuda.cuh"

constexpr int threads = 256;
constexpr int in_flight = 8; /* loads of a thread */
constexpr size_t most_slices = 1 << 11;
constexpr size_t block_bytes = 1 << 16; /* of short columns, at least, for a block */
constexpr int most_steps = 16;

/* Enough that the last ones to end keep few others idle. A quarter of them fills a device: with
 * that a block should rather have more to do, for it begins slowly. */
WI_LIMIT(size_t, wi_gemv_wanted_blocks, (size_t)1 << 13)
constexpr size_t enough_bytes = 1 << 17; /* for a block */

namespace {

/* `width` elements that are loaded together. */
template <class T, int width>
struct alignas(sizeof(T) * width) pack {
    T at[width];
};

/* Sums along the columns: a block has `high` threads along the rows, `width` rows each, and as many
 * groups of them as are left, which take columns in turn. */
template <class T, int width_, int high_>
struct along_shape {
    using Sum = wi_compute<T>;
    static constexpr int width = width_, high = high_, groups = threads / high;
    static constexpr int tile = high * width;        /* rows */
    static constexpr int blocks = width > 1 ? 4 : 8; /* of a multiprocessor, at least */
    static constexpr int piece = 512;                /* columns of which x is in shared memory */
};

/* Sums across the columns: `lanes` threads share the rows of `columns` columns, and a block has as
 * many such groups as fit. A column is read by as many loads in a row as there may be, but for
 * short ones, and where x would have to be read from shared memory too often. */
template <class T, int width_, int lanes_>
struct across_shape {
    using Sum = wi_compute<T>;
    static constexpr int width = width_, lanes = lanes_, groups = threads / lanes;
    static constexpr int columns = sizeof(T) == 2 ? 4 : lanes == 32 ? 1 : sizeof(T) == 8 ? 2 : 4;
    static constexpr int reach = groups * columns; /* columns of a block at a time */
    static constexpr int piece = 1024;             /* rows of which x is in shared memory */
    static constexpr int stride = lanes * width;   /* rows that a group reads at a time */
    static constexpr int ahead = in_flight / columns;
};

} // namespace

/* A pack on its way: 16-bit floats as words, or else the compiler gives each of them a register. */
template <class T, int width>
using held = std::conditional_t<sizeof(T) == 2 && width == 8, uint4, pack<T, width>>;

/* Loads elements of which `there` exist; the others become 0. */
template <int width, class T>
__device__ held<T, width> load(const T *p, int there) {
    if (there == width)
        return *(const held<T, width> *)p;
    pack<T, width> v = {};
#pragma unroll
    for (int e = 0; e < width; e++)
        if (e < there)
            v.at[e] = p[e];
    return wi_bit_cast<held<T, width>>(v);
}

template <class T, int width, class Sum>
__device__ void add(const held<T, width> &x, Sum by, Sum (&sum)[width]) {
    const pack<T, width> v = wi_bit_cast<pack<T, width>>(x);
#pragma unroll
    for (int e = 0; e < width; e++)
        sum[e] = wi_fma(wi_load(v.at[e]), by, sum[e]);
}

/* ---- y = S x: sums along the columns ---- */

/* One thread's rows of some columns. */
template <class Shape, class T>
__device__ void add_columns(const T *a, size_t lda, int there, const typename Shape::Sum *x,
                            int count, typename Shape::Sum (&sum)[Shape::width]) {
    constexpr int groups = Shape::groups;
    int j = (int)threadIdx.x / Shape::high;
    for (; j + (in_flight - 1) * groups < count; j += in_flight * groups) {
        held<T, Shape::width> v[in_flight];
#pragma unroll
        for (int u = 0; u < in_flight; u++)
            v[u] = load<Shape::width>(a + (size_t)(j + u * groups) * lda, there);
#pragma unroll
        for (int u = 0; u < in_flight; u++)
            add<T>(v[u], x[j + u * groups], sum);
    }
    for (; j < count; j += groups)
        add<T>(load<Shape::width>(a + (size_t)j * lda, there), x[j], sum);
}

template <class T, class Shape>
__global__ void __launch_bounds__(threads, Shape::blocks) along(wi_gemv_params<T> p) {
    using Sum = typename Shape::Sum;
    WEFT_SHARED(Sum, x, [Shape::piece]);
    WEFT_SHARED(Sum, sums, [Shape::groups][Shape::tile]);
    const size_t tiles = wi_gemm_pieces(p.rows, Shape::tile);
    const size_t first_row = blockIdx.x % tiles * Shape::tile, slice = blockIdx.x / tiles;
    const size_t first = slice * p.slice;
    const size_t end = p.terms - first < p.slice ? p.terms : first + p.slice;
    const int place = (int)threadIdx.x % Shape::high * Shape::width;
    const size_t row = first_row + place, left = row < p.rows ? p.rows - row : 0;
    const int there = left < Shape::width ? (int)left : Shape::width;
    Sum sum[Shape::width] = {};
    wi_wait_for_earlier();
    for (size_t from = first; from < end; from += Shape::piece) {
        const int count = end - from < Shape::piece ? (int)(end - from) : Shape::piece;
        if (from > first)
            __syncthreads();
        for (int k = (int)threadIdx.x; k < count; k += threads)
            x[k] = p.x_at(from + k);
        __syncthreads();
        if (there > 0)
            add_columns<Shape>(p.a + row + from * p.lda, p.lda, there, x, count, sum);
    }
#pragma unroll
    for (int e = 0; e < Shape::width; e++)
        sums[threadIdx.x / Shape::high][place + e] = sum[e];
    __syncthreads();
    for (int i = (int)threadIdx.x; i < Shape::tile && first_row + i < p.rows; i += threads) {
        Sum total = sums[0][i];
        for (int g = 1; g < Shape::groups; g++)
            total += sums[g][i];
        p.put(slice, first_row + i, total);
    }
}

/* ---- y = St x: sums across the columns ---- */

/* One thread's part of the sums of a group's columns over some rows. */
template <class Shape, class T>
__device__ void add_rows(const T *const (&column)[Shape::columns], const typename Shape::Sum *x,
                         int count, typename Shape::Sum (&sum)[Shape::columns]) {
    constexpr int width = Shape::width, ahead = Shape::ahead;
    const auto take = [&](const held<T, width> &held_v, int i, int k) {
        const pack<T, width> v = wi_bit_cast<pack<T, width>>(held_v);
#pragma unroll
        for (int e = 0; e < width; e++)
            sum[k] = wi_fma(wi_load(v.at[e]), x[i + e], sum[k]);
    };
    int i = (int)threadIdx.x % Shape::lanes * width;
    for (; i + (ahead - 1) * Shape::stride + width <= count; i += ahead * Shape::stride) {
        held<T, width> v[ahead][Shape::columns];
#pragma unroll
        for (int u = 0; u < ahead; u++)
#pragma unroll
            for (int k = 0; k < Shape::columns; k++)
                v[u][k] = load<width>(column[k] + i + u * Shape::stride, width);
#pragma unroll
        for (int u = 0; u < ahead; u++)
#pragma unroll
            for (int k = 0; k < Shape::columns; k++)
                take(v[u][k], i + u * Shape::stride, k);
    }
    for (; i < count; i += Shape::stride) {
        const int there = count - i < width ? count - i : width;
#pragma unroll
        for (int k = 0; k < Shape::columns; k++)
            take(load<width>(column[k] + i, there), i, k);
    }
}

/* The `steps` times `reach` columns of a block. */
template <class T, class Shape>
__global__ void __launch_bounds__(threads) across(wi_gemv_params<T> p, int steps) {
    using Sum = typename Shape::Sum;
    WEFT_SHARED(Sum, x, [Shape::piece]);
    const size_t tiles = wi_gemm_pieces(p.columns, (size_t)Shape::reach * steps);
    const size_t slice = blockIdx.x / tiles, first = slice * p.slice;
    const size_t end = p.terms - first < p.slice ? p.terms : first + p.slice;
    size_t column =
        blockIdx.x % tiles * Shape::reach * steps + threadIdx.x / Shape::lanes * Shape::columns;
    wi_wait_for_earlier();
    for (int step = 0; step < steps; step++, column += Shape::reach) {
        Sum sum[Shape::columns] = {};
        const T *line[Shape::columns]; /* beyond the last column that one again, to no effect */
#pragma unroll
        for (int k = 0; k < Shape::columns; k++)
            line[k] = p.a + (column + k < p.columns ? column + k : p.columns - 1) * p.lda;
        for (size_t from = first; from < end; from += Shape::piece) {
            const int count = end - from < Shape::piece ? (int)(end - from) : Shape::piece;
            if (step == 0 || p.slice > Shape::piece) {
                __syncthreads();
                for (int k = (int)threadIdx.x; k < Shape::piece; k += threads)
                    x[k] = k < count ? p.x_at(from + k) : (Sum)0;
                __syncthreads();
            }
            const T *at[Shape::columns];
#pragma unroll
            for (int k = 0; k < Shape::columns; k++)
                at[k] = line[k] + from;
            if (column < p.columns)
                add_rows<Shape>(at, x, count, sum);
        }
#pragma unroll
        for (int k = 0; k < Shape::columns; k++) {
#pragma unroll
            for (int apart = Shape::lanes / 2; apart > 0; apart /= 2)
                sum[k] += wi_shuffle_xor(sum[k], apart);
            if (threadIdx.x % Shape::lanes == 0 && column + k < p.columns)
                p.put(slice, column + k, sum[k]);
        }
    }
}

/* ---- the slices' sums ---- */

constexpr int sum_threads = 512;
constexpr int many_parts = 64, few_parts = 4; /* sums of a result that are made at once */

/* y from the sums of `slices` slices: each part takes every `parts`-th, then those are added up as
 * a tree. */
template <class T, int parts>
__global__ void __launch_bounds__(sum_threads) add_slices(wi_gemv_params<T> p, size_t slices) {
    using Sum = typename wi_gemv_params<T>::Sum;
    constexpr int results = sum_threads / parts; /* of a block */
    WEFT_SHARED(Sum, sums, [parts][results]);
    const int place = (int)threadIdx.x % results, part = (int)threadIdx.x / results;
    const size_t i = (size_t)blockIdx.x * results + place;
    Sum sum = 0;
    wi_wait_for_earlier();
    if (i < p.results)
#pragma unroll 8
        for (size_t s = part; s < slices; s += parts)
            sum += p.partial[s * p.results + i];
    for (int half = parts / 2; half > 0; half /= 2) {
        sums[part][place] = sum;
        __syncthreads();
        if (part < half)
            sum += sums[part + half][place];
        __syncthreads();
    }
    if (part == 0 && i < p.results)
        p.finish(i, sum);
}

/* ---- launches ---- */

static const char partial_sums = 0; /* its address is the key of their scratch memory */

template <class T, int parts>
static weft_status launch_adder(weft_context *ctx, const wi_gemv_params<T> &p, size_t slices) {
    return WEFT_LAUNCH_AHEAD((add_slices<T, parts>), ctx,
                             (unsigned)wi_gemm_pieces(p.results, sum_threads / parts), sum_threads,
                             0, p, slices);
}

template <class T>
static weft_status finish_slices(weft_context *ctx, const wi_gemv_params<T> &p, size_t slices) {
    return slices < many_parts ? launch_adder<T, few_parts>(ctx, p, slices)
                               : launch_adder<T, many_parts>(ctx, p, slices);
}

/* Blocks for a matrix, whatever the device. */
template <class T>
static size_t blocks_for(const wi_gemv_params<T> &p) {
    const size_t least = wi_gemv_wanted_blocks / 4;
    const size_t blocks = p.terms * p.results / (enough_bytes / sizeof(T));
    return blocks < least ? least : wi_smaller(blocks, wi_gemv_wanted_blocks);
}

/* Cuts the terms into slices of a multiple of `unit`, so that `tiles` blocks for each are enough;
 * half as many are, if a second kernel is saved. runs(p, slices) launches them. */
template <class T, class Run>
static weft_status run_slices(weft_context *ctx, wi_gemv_params<T> p, size_t tiles, size_t unit,
                              Run run) {
    using Sum = typename wi_gemv_params<T>::Sum;
    const size_t blocks = blocks_for(p);
    const size_t wanted = tiles < blocks / 2 ? wi_smaller(blocks / tiles, most_slices) : 1;
    p.slice = wi_gemm_pieces(wi_gemm_pieces(p.terms, wanted), unit) * unit;
    const size_t slices = wi_gemm_pieces(p.terms, p.slice);
    if (slices == 1)
        return run(p, slices);
    void *memory;
    weft_status status =
        wi_gpu_scratch(ctx, &partial_sums, slices * p.results * sizeof(Sum), &memory);
    p.partial = (Sum *)memory;
    if (status == WEFT_OK)
        status = run(p, slices);
    return status == WEFT_OK ? finish_slices(ctx, p, slices) : status;
}

template <class T, int width, int high>
static weft_status launch_along(weft_context *ctx, const wi_gemv_params<T> &params) {
    using Shape = along_shape<T, width, high>;
    const size_t tiles = wi_gemm_pieces(params.rows, Shape::tile);
    return run_slices(ctx, params, tiles, in_flight * Shape::groups,
                      [=](const wi_gemv_params<T> &p, size_t slices) {
                          return WEFT_LAUNCH_AHEAD((along<T, Shape>), ctx,
                                                   (unsigned)(tiles * slices), threads, 0, p);
                      });
}

/* Of short columns a block takes more, so that it has enough to do, if that leaves enough blocks.
 */
template <class T, class Shape>
static int steps_of(const wi_gemv_params<T> &p) {
    const size_t bytes = (size_t)Shape::reach * p.rows * sizeof(T);
    size_t steps = wi_smaller(wi_gemm_pieces(block_bytes, bytes), most_steps);
    while (steps > 1 && p.columns / (Shape::reach * steps) < wi_gemv_wanted_blocks / 4)
        steps /= 2;
    return (int)steps;
}

template <class T, int width, int lanes>
static weft_status launch_across(weft_context *ctx, const wi_gemv_params<T> &params) {
    using Shape = across_shape<T, width, lanes>;
    const int steps = steps_of<T, Shape>(params);
    const size_t tiles = wi_gemm_pieces(params.columns, (size_t)Shape::reach * steps);
    return run_slices(ctx, params, tiles, Shape::ahead * Shape::stride,
                      [=](const wi_gemv_params<T> &p, size_t slices) {
                          return WEFT_LAUNCH_AHEAD((across<T, Shape>), ctx,
                                                   (unsigned)(tiles * slices), threads, 0, p,
                                                   steps);
                      });
}

/* Few threads along short columns, many along long ones. */
template <class T, int width>
static weft_status launch(weft_context *ctx, const wi_gemv_params<T> &p, bool transposed) {
    const bool few = p.rows <= 32 * width;
    if (transposed)
        return few ? launch_across<T, width, 8>(ctx, p) : launch_across<T, width, 32>(ctx, p);
    return few ? launch_along<T, width, 8>(ctx, p) : launch_along<T, width, 64>(ctx, p);
}

weft_status wi_gemv_slices(weft_context *ctx, const void *args) {
    const wi_gemv_args *const g = (const wi_gemv_args *)args;
    const bool aligned = wi_is_aligned(g->a) && g->lda * weft_type_size(g->type) % 16 == 0;
    const auto of_type = [=](auto tag) {
        using T = typename decltype(tag)::type;
        const wi_gemv_params<T> p = wi_gemv_typed<T>(g);
        if (p.terms == 0)
            return finish_slices(ctx, p, 0);
        return aligned ? launch<T, 16 / sizeof(T)>(ctx, p, g->transposed)
                       : launch<T, 1>(ctx, p, g->transposed);
    };
    switch (g->type) {
    case WEFT_F64:
        return of_type(wi_tag<double>{});
    case WEFT_F32:
        return of_type(wi_tag<float>{});
    case WEFT_F16:
        return of_type(wi_tag<__half>{});
    default:
        return of_type(wi_tag<__nv_bfloat16>{});
    }
}
