/* SPDX-License-Identifier: Apache-2.0 */
/* Each element beside the one before it, in the rung "tiles" of expr: one launch, in which an
 * element is read once. A thread has a vector of neighbours; what comes before its first is the
 * last of the lane before. */
#include "cuda/launch.cuh"
#include "cuda/memory.cuh"
#include "cuda/types.cuh"
#include "cuda/warp.cuh"
#include "expr/expr_neighbours.h"

constexpr unsigned threads = 256, at_once = 2;
constexpr size_t most_blocks = 0x7fffffff;

/* z[i] = x[i] - x[i - 1], or whether they differ. */
template <class T, bool flags>
struct neighbours {
    using Out = typename wi_choose<flags, uint8_t, T>::type;
    const T *x;
    Out *z;
    size_t n, tiles;
    T before; /* what comes before x[0], if anything does */
    bool has_before;

    __device__ static Out value(T before, T x) {
        if constexpr (flags)
            return (Out)(wi_load(x) != wi_load(before));
        else if constexpr (wi_traits<T>::is_float)
            return (Out)(wi_load(x) - wi_load(before));
        else
            return (Out)((wi_wrapping<T>)x - (wi_wrapping<T>)before);
    }

    __device__ Out first() const {
        if (has_before)
            return value(before, x[0]);
        if constexpr (flags)
            return 1;
        else
            return x[0];
    }

    __device__ Out at(size_t i) const {
        return i > 0 ? value(x[i - 1], x[i]) : first();
    }
};

/* As many results as a vector of elements has. */
template <class Out, int count>
struct alignas(sizeof(Out) * count) results {
    Out at[count];
};

/* Whole vectors, x at a 16-byte boundary and z at one of its vectors of results. */
template <class T, bool flags>
__device__ void aligned_tile(const neighbours<T, flags> &g, size_t tile) {
    using Out = typename neighbours<T, flags>::Out;
    using Vector = wi_vector<T>;
    constexpr unsigned width = Vector::count;
    const size_t vectors = g.n / width, first = tile * (threads * at_once) + threadIdx.x;
    Vector a[at_once];
    T edge[at_once];
#pragma unroll
    for (unsigned k = 0; k < at_once; k++) {
        const size_t v = first + k * threads;
        if (v < vectors)
            a[k] = ((const Vector *)g.x)[v];
        if (v < vectors && v > 0 && wi_lane() == 0)
            edge[k] = g.x[v * width - 1];
    }
#pragma unroll
    for (unsigned k = 0; k < at_once; k++) {
        const size_t v = first + k * threads;
        const T up = wi_shuffle_up(a[k].at[width - 1], 1);
        T before = wi_lane() == 0 ? edge[k] : up;
        results<Out, width> out;
#pragma unroll
        for (unsigned e = 0; e < width; e++) {
            out.at[e] = neighbours<T, flags>::value(before, a[k].at[e]);
            before = a[k].at[e];
        }
        if (v == 0)
            out.at[0] = g.first();
        wi_store_if(v < vectors, (results<Out, width> *)g.z + v, out);
    }
    const size_t i = vectors * width + threadIdx.x;
    if (tile == 0 && i < g.n)
        g.z[i] = g.at(i);
}

template <class T, bool flags>
__global__ void __launch_bounds__(threads) compare(neighbours<T, flags> g, bool aligned) {
    constexpr size_t tile_size = (size_t)threads * at_once * wi_vector<T>::count;
    for (size_t tile = blockIdx.x; tile < g.tiles; tile += gridDim.x) {
        if (aligned) {
            aligned_tile(g, tile);
            continue;
        }
        const size_t end = (tile + 1) * tile_size < g.n ? (tile + 1) * tile_size : g.n;
        for (size_t i = tile * tile_size + threadIdx.x; i < end; i += threads)
            g.z[i] = g.at(i);
    }
}

template <class T, bool flags>
static weft_status launch(weft_context *ctx, const wi_expr_args *args) {
    using Out = typename neighbours<T, flags>::Out;
    constexpr size_t width = wi_vector<T>::count, tile = threads * at_once * width;
    const wi_expr_neighbours *const w = args->neighbours;
    neighbours<T, flags> g = {(const T *)args->x[0],
                              (Out *)args->z,
                              args->n,
                              (args->n + tile - 1) / tile,
                              wi_bit_cast<T>((wi_bits<T>)w->before),
                              w->has_before};
    const bool aligned = wi_is_aligned(g.x) && (uintptr_t)g.z % (sizeof(Out) * width) == 0;
    return WEFT_LAUNCH((compare<T, flags>), ctx,
                       (unsigned)(g.tiles < most_blocks ? g.tiles : most_blocks), threads, 0, g,
                       aligned);
}

weft_status wi_expr_compare(weft_context *ctx, const wi_expr_args *args) {
    return wi_with_unsigned_type(args->neighbours->type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        return args->neighbours->op == WEFT_X_SUB ? launch<T, false>(ctx, args)
                                                  : launch<T, true>(ctx, args);
    });
}
