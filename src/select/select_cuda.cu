/* SPDX-License-Identifier: Apache-2.0 */
/* What comes before the one-pass rungs of select: counting the wanted elements. */
#include "select/select_cuda.cuh"

constexpr int count_threads = 256;

static wi_select_params params_of(const wi_select_args *args) {
    wi_select_params p = {};
    p.tested = args->tested;
    p.n = args->n;
    p.range = args->range;
    p.unique = args->unique;
    p.has_fill = args->has_fill;
    p.rest_follows = args->rest_follows;
    p.lengths = args->lengths;
    p.tested_bytes = (int)args->tested_bytes;
    p.position_bytes = (int)args->position_bytes;
    p.units = args->units;
    p.packed = args->packed;
    p.x = args->x;
    p.kept = args->kept;
    p.rest = args->rest;
    p.positions = args->positions;
    p.fill = args->fill;
    memcpy(p.fill_bytes, args->fill_bytes, sizeof p.fill_bytes);
    p.count = args->count;
    return p;
}

/* ---- the count ---- */

constexpr int vectors = 4; /* that a thread has in flight at once */

/* How many of x[0 .. n) are wanted, this thread's share: vectors from the first 16-byte boundary
 * on, and single elements before and after them. Vectors are read from the last to the first,
 * because a partition then reads the array from its start, which by then is in the second-level
 * cache. */
template <class S>
__device__ uint64_t count_share(const S *x, uint64_t n, const wi_in_range<S> &in_range) {
    constexpr uint64_t width = wi_vector<S>::count;
    const uint64_t id = (uint64_t)blockIdx.x * count_threads + threadIdx.x;
    const uint64_t all = (uint64_t)gridDim.x * count_threads;
    uint64_t head = (width - wi_past_boundary(x)) % width;
    head = head < n ? head : n;
    const uint64_t whole = (n - head) / width, behind = head + whole * width;
    const wi_vector<S> *const last = (const wi_vector<S> *)(x + behind) - 1;
    uint64_t count = 0, k = id;
    for (; k + (vectors - 1) * all < whole; k += vectors * all) {
        wi_vector<S> x4[vectors];
#pragma unroll
        for (int j = 0; j < vectors; j++)
            x4[j] = *(last - (k + (uint64_t)j * all));
#pragma unroll
        for (int j = 0; j < vectors; j++)
            count += in_range.count(x4[j]);
    }
    for (; k < whole; k += all)
        count += in_range.count(*(last - k));
    for (uint64_t i = id; i < head; i += all)
        count += in_range.wants(x[i]);
    for (uint64_t i = behind + id; i < n; i += all)
        count += in_range.wants(x[i]);
    return count;
}

__global__ void __launch_bounds__(count_threads)
    count_wanted(const void *x, uint64_t n, int bytes, wi_select_range range, uint64_t *count) {
    WEFT_SHARED(unsigned long long, block_count, );
    if (threadIdx.x == 0)
        block_count = 0;
    __syncthreads();
    const uint64_t mine = wi_with_tested(bytes, [&](auto zero) {
        using S = decltype(zero);
        return count_share((const S *)x, n, wi_in_range<S>(range));
    });
    const uint64_t of_warp = wi_warp_reduce(mine, wi_add_counts::combine<uint64_t>);
    if (wi_lane() == 0)
        atomicAdd(&block_count, (unsigned long long)of_warp);
    __syncthreads();
    if (threadIdx.x == 0 && block_count > 0)
        atomicAdd((unsigned long long *)count, block_count);
}

weft_status wi_select_count_queue(weft_context *ctx, const wi_select_args *args, uint64_t *count) {
    constexpr uint64_t share = (uint64_t)count_threads * vectors * 16;
    weft_status status = wi_cuda(ctx, cudaMemsetAsync(count, 0, sizeof *count, ctx->gpu->stream),
                                 "clearing the count");
    size_t resident = 0;
    if (status == WEFT_OK)
        status = wi_resident_blocks(ctx, count_wanted, count_threads, 0, &resident);
    const uint64_t useful = args->n * args->tested_bytes / share + 1;
    if (status != WEFT_OK || args->n == 0)
        return status;
    return WEFT_LAUNCH(count_wanted, ctx, (unsigned)(useful < resident ? useful : resident),
                       count_threads, 0, args->tested, args->n, (int)args->tested_bytes,
                       args->range, count);
}

/* ---- the counts of tiles ---- */

constexpr int tile_warps = count_threads / 32;

/* How many elements of a whole tile's vectors are wanted, this thread's share. */
template <class S>
__device__ unsigned count_tile(const wi_vector<S> *x, unsigned whole,
                               const wi_in_range<S> &in_range) {
    constexpr unsigned at_once = 2 * vectors;
    unsigned count = 0, k = threadIdx.x;
    for (; k + (at_once - 1) * count_threads < whole; k += at_once * count_threads) {
        wi_vector<S> batch[at_once];
#pragma unroll
        for (unsigned j = 0; j < at_once; j++)
            batch[j] = x[k + j * count_threads];
#pragma unroll
        for (unsigned j = 0; j < at_once; j++)
            count += in_range.count(batch[j]);
    }
    for (; k < whole; k += count_threads)
        count += in_range.count(x[k]);
    return count;
}

/* The counts of tiles, and their sum in *all. Tiles are taken from the last to the first, as
 * count_share takes vectors; the last one may be incomplete. */
template <class S>
__device__ void count_all_tiles(const S *x, uint64_t n, uint64_t tile_elements,
                                const wi_in_range<S> &in_range, uint32_t *counts,
                                unsigned long long *all) {
    WEFT_SHARED(unsigned, of_warp, [2][tile_warps]);
    const uint64_t tiles = wi_tiles_of(n, tile_elements);
    unsigned long long sum = 0;
    int turn = 0; /* alternates, so that one barrier for each tile is enough */
    for (uint64_t k = blockIdx.x; k < tiles; k += gridDim.x, turn ^= 1) {
        const uint64_t tile = tiles - 1 - k, first = tile * tile_elements;
        unsigned mine = 0;
        if (n - first >= tile_elements)
            mine = count_tile((const wi_vector<S> *)(x + first),
                              (unsigned)(tile_elements / wi_vector<S>::count), in_range);
        else
            for (uint64_t i = first + threadIdx.x; i < n; i += count_threads)
                mine += in_range.wants(x[i]);
        mine = wi_warp_sum(mine);
        if (wi_lane() == 0)
            of_warp[turn][threadIdx.x / 32] = mine;
        __syncthreads();
        if (threadIdx.x >= 32)
            continue;
        const unsigned count = wi_warp_sum(wi_lane() < tile_warps ? of_warp[turn][wi_lane()] : 0);
        if (wi_lane() == 0)
            counts[tile] = count;
        sum += count;
    }
    if (threadIdx.x == 0 && sum > 0)
        atomicAdd(all, sum);
}

__global__ void __launch_bounds__(count_threads)
    count_tiles(const void *x, uint64_t n, int bytes, uint64_t tile_elements, wi_select_range range,
                uint32_t *counts, uint64_t *all) {
    wi_with_tested(bytes, [&](auto zero) {
        using S = decltype(zero);
        count_all_tiles((const S *)x, n, tile_elements, wi_in_range<S>(range), counts,
                        (unsigned long long *)all);
    });
}

static weft_status queue_tile_counts(weft_context *ctx, const wi_select_args *args, uint64_t tile,
                                     uint32_t *counts, uint64_t *all) {
    const uint64_t tiles = wi_tiles_of(args->n, tile);
    size_t resident = 0;
    weft_status status =
        wi_cuda(ctx, cudaMemsetAsync(all, 0, sizeof *all, ctx->gpu->stream), "clearing the count");
    if (status == WEFT_OK)
        status = wi_resident_blocks(ctx, count_tiles, count_threads, 0, &resident);
    if (status != WEFT_OK || tiles == 0)
        return status;
    return WEFT_LAUNCH(count_tiles, ctx, (unsigned)(tiles < resident ? tiles : resident),
                       count_threads, 0, args->tested, args->n, (int)args->tested_bytes, tile,
                       args->range, counts, all);
}

/* ---- before one pass ---- */

/* Their addresses are the keys of scratch memory. */
const char wi_select_runs_key = 0;
static const char total_key = 0;

/* Allocates all memory before the first launch: if that fails, nothing has been written. */
weft_status wi_select_begin(weft_context *ctx, const wi_select_args *args, size_t bytes,
                            uint64_t tile, wi_select_params *p, void **scratch) {
    void *total, *counts = NULL;
    *p = params_of(args);
    weft_status status = wi_gpu_scratch(ctx, &wi_select_ladder, bytes, scratch);
    if (status != WEFT_OK || !args->rest_follows)
        return status;
    status = wi_gpu_scratch(ctx, &total_key, sizeof(uint64_t), &total);
    if (status == WEFT_OK && tile)
        status = wi_gpu_scratch(ctx, &wi_select_runs_key,
                                wi_tiles_of(args->n, tile) * sizeof(uint32_t), &counts);
    if (status != WEFT_OK)
        return status;
    p->total = (const uint64_t *)total;
    p->tile_counts = (const uint32_t *)counts;
    if (!tile)
        return wi_select_count_queue(ctx, args, (uint64_t *)total);
    return queue_tile_counts(ctx, args, tile, (uint32_t *)counts, (uint64_t *)total);
}
