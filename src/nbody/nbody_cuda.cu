/* SPDX-License-Identifier: Apache-2.0 */
/* The rung blocked: several bodies in the registers of a thread meet tiles of others in shared
 * memory. */
#include "nbody/nbody_cuda.cuh"

constexpr int tile_size = WI_NBODY_SUMMED;

/* f64 needs twice the registers, and its arithmetic half as many instructions a cycle. */
template <class T>
constexpr int each = sizeof(T) == 4 ? 4 : 2; /* bodies of a thread */
constexpr int threads = 128;                 /* few: they wait for each other at each tile */
constexpr int blocks_resident = 4;           /* of a multiprocessor, at least */
constexpr int unrolled = 8;                  /* others a pass of the inner loop */

/* The others, padded to whole tiles by bodies without mass. */
template <class T>
static __global__ void __launch_bounds__(threads)
    gather(wi_nbody_bodies<T> bodies, wi_nbody_body<T> *packed, size_t padded) {
    const size_t i = (size_t)blockIdx.x * threads + threadIdx.x;
    if (i >= padded)
        return;
    wi_nbody_body<T> body = bodies.at(i < bodies.n ? i : bodies.n - 1);
    if (i >= bodies.n)
        body.m = 0;
    packed[i] = body;
}

template <class T>
struct blocked_params {
    const wi_nbody_body<T> *bodies;
    size_t first, own; /* bodies on which they act */
    size_t tiles, parts;
    unsigned blocks; /* of a part */
    T eps2;
    wi_nbody_sums<double> *sums; /* `own` of each part */
};

/* What the bodies of a part do to those of a block. The sums of a tile are in T, those of tiles in
 * f64. */
template <class T, bool soft>
static __global__ void __launch_bounds__(threads, blocks_resident)
    blocked(const __grid_constant__ blocked_params<T> p) {
    WEFT_SHARED(wi_nbody_body<T>, others, [tile_size]);
    const size_t part = blockIdx.x / p.blocks, end = p.tiles * (part + 1) / p.parts;
    const size_t first = (size_t)(blockIdx.x % p.blocks) * threads * each<T> + threadIdx.x;
    T x[each<T>], y[each<T>], z[each<T>];
    wi_nbody_sums<double> total[each<T>] = {};
#pragma unroll
    for (int k = 0; k < each<T>; k++) {
        const size_t i = first + (size_t)k * threads;
        const wi_nbody_body<T> own = p.bodies[p.first + (i < p.own ? i : p.own - 1)];
        x[k] = own.x;
        y[k] = own.y;
        z[k] = own.z;
    }
    for (size_t t = p.tiles * part / p.parts; t < end; t++) {
        wi_nbody_sums<T> sum[each<T>] = {};
        __syncthreads();
#pragma unroll
        for (int j = 0; j < tile_size; j += threads)
            others[j + threadIdx.x] = p.bodies[t * tile_size + j + threadIdx.x];
        __syncthreads();
#pragma unroll unrolled
        for (int j = 0; j < tile_size; j++) {
            const wi_nbody_body<T> other = others[j];
#pragma unroll
            for (int k = 0; k < each<T>; k++)
                wi_nbody_add<soft>(other, x[k], y[k], z[k], p.eps2, sum[k]);
        }
#pragma unroll
        for (int k = 0; k < each<T>; k++) {
            total[k].x += (double)sum[k].x;
            total[k].y += (double)sum[k].y;
            total[k].z += (double)sum[k].z;
            total[k].phi += (double)sum[k].phi;
        }
    }
#pragma unroll
    for (int k = 0; k < each<T>; k++) {
        const size_t i = first + (size_t)k * threads;
        if (i < p.own)
            p.sums[part * p.own + i] = total[k];
    }
}

/* The sums of all parts, in their order. */
template <class T>
static __global__ void __launch_bounds__(threads)
    join_parts(const wi_nbody_sums<double> *sums, size_t n, size_t parts,
               wi_nbody_results<T> results) {
    const size_t i = (size_t)blockIdx.x * threads + threadIdx.x;
    if (i >= n)
        return;
    wi_nbody_sums<double> total = sums[i];
    for (size_t part = 1; part < parts; part++) {
        const wi_nbody_sums<double> more = sums[part * n + i];
        total.x += more.x;
        total.y += more.y;
        total.z += more.z;
        total.phi += more.phi;
    }
    results.put(i, total.x, total.y, total.z, total.phi);
}

static size_t pieces(size_t n, size_t size) {
    return (n + size - 1) / size;
}

/* As many parts as make `waves` times the blocks that the device holds at once, so that none of it
 * is idle for long at the end. */
static size_t parts_of(size_t blocks, size_t resident, size_t tiles) {
    constexpr size_t waves = 32, most = 1024;
    size_t parts = pieces(waves * resident, blocks);
    parts = parts < most ? parts : most;
    return parts < tiles ? parts : tiles;
}

template <class T>
static weft_status launch(weft_context *ctx, const wi_nbody_args *a, const blocked_params<T> &p) {
    const unsigned grid = p.blocks * (unsigned)p.parts;
    if (wi_nbody_takes_soft(a))
        return WEFT_LAUNCH((blocked<T, true>), ctx, grid, threads, 0, p);
    return WEFT_LAUNCH((blocked<T, false>), ctx, grid, threads, 0, p);
}

template <class T>
static weft_status run_blocked(weft_context *ctx, const wi_nbody_args *a) {
    const size_t blocks = pieces(a->own, (size_t)threads * each<T>);
    const size_t tiles = pieces(a->n, tile_size);
    const size_t parts =
        parts_of(blocks, (size_t)blocks_resident * (size_t)ctx->gpu->multiprocessors, tiles);
    const size_t padded = tiles * tile_size, packed_bytes = padded * sizeof(wi_nbody_body<T>);
    void *room = NULL;
    weft_status status =
        wi_gpu_alloc(ctx, &room, packed_bytes + parts * a->own * sizeof(wi_nbody_sums<double>));
    if (status != WEFT_OK)
        return status;
    wi_nbody_body<T> *const packed = (wi_nbody_body<T> *)room;
    wi_nbody_sums<double> *const sums =
        (wi_nbody_sums<double> *)(void *)((char *)room + packed_bytes);
    status = WEFT_LAUNCH(gather<T>, ctx, (unsigned)pieces(padded, threads), threads, 0,
                         wi_nbody_bodies_of<T>(a), packed, padded);
    if (status == WEFT_OK)
        status = launch(ctx, a,
                        blocked_params<T>{packed, a->first, a->own, tiles, parts, (unsigned)blocks,
                                          (T)(a->softening * a->softening), sums});
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(join_parts<T>, ctx, (unsigned)pieces(a->own, threads), threads, 0,
                             sums, a->own, parts, wi_nbody_results_of<T>(a));
    const weft_status freed = wi_gpu_free(ctx, room);
    return status == WEFT_OK ? freed : status;
}

weft_status wi_nbody_blocked(weft_context *ctx, const void *args) {
    const wi_nbody_args *const a = (const wi_nbody_args *)args;
    return a->type == WEFT_F32 ? run_blocked<float>(ctx, a) : run_blocked<double>(ctx, a);
}
