/* SPDX-License-Identifier: Apache-2.0 */
/* The teaching rungs of nbody: one thread for one body. */
#include "nbody/nbody_cuda.cuh"

constexpr int step_threads = WI_NBODY_SUMMED;

/* Adds sums in T to those in f64. */
template <class T>
static __device__ inline void collect(wi_nbody_sums<double> &total, const wi_nbody_sums<T> &sum) {
    total.x += (double)sum.x;
    total.y += (double)sum.y;
    total.z += (double)sum.z;
    total.phi += (double)sum.phi;
}

/* Every thread reads every body. */
template <class T>
static __global__ void __launch_bounds__(step_threads)
    global(wi_nbody_bodies<T> bodies, T eps2, wi_nbody_results<T> results) {
    const size_t i = (size_t)blockIdx.x * step_threads + threadIdx.x;
    if (i >= bodies.own)
        return;
    const wi_nbody_body<T> own = bodies.at(bodies.first + i);
    wi_nbody_sums<double> total = {};
    for (size_t first = 0; first < bodies.n; first += WI_NBODY_SUMMED) {
        const size_t end = bodies.n - first < WI_NBODY_SUMMED ? bodies.n : first + WI_NBODY_SUMMED;
        wi_nbody_sums<T> sum = {};
        for (size_t j = first; j < end; j++)
            wi_nbody_add<false>(bodies.at(j), own.x, own.y, own.z, eps2, sum);
        collect(total, sum);
    }
    results.put(i, total.x, total.y, total.z, total.phi);
}

/* A block reads a tile of bodies together; then every thread takes all of it. */
template <class T>
static __global__ void __launch_bounds__(step_threads)
    tile(wi_nbody_bodies<T> bodies, T eps2, wi_nbody_results<T> results) {
    WEFT_SHARED(wi_nbody_body<T>, others, [step_threads]);
    const size_t i = (size_t)blockIdx.x * step_threads + threadIdx.x;
    const wi_nbody_body<T> own = bodies.at(bodies.first + (i < bodies.own ? i : bodies.own - 1));
    wi_nbody_sums<double> total = {};
    for (size_t first = 0; first < bodies.n; first += step_threads) {
        const int count = bodies.n - first < step_threads ? (int)(bodies.n - first) : step_threads;
        __syncthreads();
        if ((int)threadIdx.x < count)
            others[threadIdx.x] = bodies.at(first + threadIdx.x);
        __syncthreads();
        wi_nbody_sums<T> sum = {};
        for (int j = 0; j < count; j++)
            wi_nbody_add<false>(others[j], own.x, own.y, own.z, eps2, sum);
        collect(total, sum);
    }
    if (i < bodies.own)
        results.put(i, total.x, total.y, total.z, total.phi);
}

static unsigned step_blocks(const wi_nbody_args *a) {
    return (unsigned)((a->own + step_threads - 1) / step_threads);
}

template <class T>
static weft_status run_global(weft_context *ctx, const wi_nbody_args *a) {
    return WEFT_LAUNCH(global<T>, ctx, step_blocks(a), step_threads, 0, wi_nbody_bodies_of<T>(a),
                       (T)(a->softening * a->softening), wi_nbody_results_of<T>(a));
}

template <class T>
static weft_status run_tile(weft_context *ctx, const wi_nbody_args *a) {
    return WEFT_LAUNCH(tile<T>, ctx, step_blocks(a), step_threads, 0, wi_nbody_bodies_of<T>(a),
                       (T)(a->softening * a->softening), wi_nbody_results_of<T>(a));
}

weft_status wi_nbody_global(weft_context *ctx, const void *args) {
    const wi_nbody_args *const a = (const wi_nbody_args *)args;
    return a->type == WEFT_F32 ? run_global<float>(ctx, a) : run_global<double>(ctx, a);
}

weft_status wi_nbody_tile(weft_context *ctx, const void *args) {
    const wi_nbody_args *const a = (const wi_nbody_args *)args;
    return a->type == WEFT_F32 ? run_tile<float>(ctx, a) : run_tile<double>(ctx, a);
}
