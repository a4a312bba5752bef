/* SPDX-License-Identifier: Apache-2.0 */
/* summary on a GPU in one pass: as many blocks as fit at once read 16-byte vectors; the last block
 * to end merges the blocks' states in a fixed order, so the same input gives the same bits. */
#include "cuda/launch.cuh"
#include "cuda/limit.cuh"
#include "cuda/ticket.cuh"
#include "summary/summary_merge.cuh"
#include "summary/summary_search.cuh"

constexpr size_t ticket_bytes = 128;

/* Blocks of a launch, at most; tests set it lower. */
WI_LIMIT(size_t, wi_summary_blocks, SIZE_MAX)

/* What a thread has collected. */
template <class T>
__device__ wi_summary_part<T> part_of_thread(const wi_summary_task<T> &p,
                                             const wi_summary_collector<T> &c) {
    using Bits = wi_bits<T>;
    const wi_summary_sums &s = c.closed;
    if (s.count == 0)
        return wi_summary_part<T>::nothing();
    return {s.count,
            s.shift,
            s.sum * wi_reciprocal((double)s.count),
            s.squares,
            p.map.key(wi_bit_cast<Bits>(c.least)),
            p.map.key(wi_bit_cast<Bits>(c.most)),
            c.least_in,
            c.most_in};
}

/* What a block has collected; of those that there are not, nothing. */
template <class T>
__device__ wi_summary_part<T> part_of_block(const wi_summary_part<T> *of_block, unsigned b) {
    return b < gridDim.x ? of_block[b] : wi_summary_part<T>::nothing();
}

template <class T>
__device__ T value_of_key(const wi_summary_task<T> &p, uint64_t key) {
    return wi_bit_cast<T>(p.map.bits((wi_bits<T>)key));
}

struct moments {
    double mean, variance;
};

__device__ inline moments moments_of(const wi_summary_sums &s) {
    const double n = (double)s.count;
    return {s.shift + s.sum / n, s.squares / n};
}

/* The result, or the state, of the call and those before: of the call the moments are known. */
template <class T>
__device__ void put_out(const wi_summary_task<T> &p, const wi_summary_state &of_call,
                        const moments &known) {
    const wi_summary_state s = p.state_in ? wi_summary_merge(*p.state_in, of_call) : of_call;
    if (p.state_out) {
        *p.state_out = s;
        return;
    }
    const double nan = (double)NAN;
    const bool any = s.sums.count > 0;
    const moments m = p.state_in ? moments_of(s.sums) : known;
    *p.result = {s.sums.count,
                 s.nans,
                 any ? (double)wi_load(value_of_key(p, s.least)) : nan,
                 any ? (double)wi_load(value_of_key(p, s.most)) : nan,
                 any ? s.least_at : WEFT_NOWHERE,
                 any ? s.most_at : WEFT_NOWHERE,
                 any ? m.mean : nan,
                 any ? m.variance : nan};
}

/* Half of the block looks up the least element, half the largest. */
__device__ inline bool seeks_most() {
    return threadIdx.x >= wi_summary_block / 2;
}
template <class T>
__device__ wi_summary_search<T> search_of(const wi_summary_task<T> &p,
                                          const wi_summary_part<T> &s) {
    return wi_summary_search<T>(p, seeks_most() ? s.most_in : s.least_in);
}

/* What the block does that has the state of all: looks up the extremes in their regions, which were
 * brought, and puts out the result. */
template <class T>
__device__ void end(const wi_summary_task<T> &p, const wi_summary_stages<T> &stages,
                    const wi_summary_part<T> &s, uint32_t (&found)[2]) {
    const wi_summary_search<T> search = search_of(p, s);
    const double n = s.count > 0 ? (double)s.count : 1;
    const moments m = {s.shift + s.mean, s.squares * wi_reciprocal(n)};
    wi_async_wait<0>();
    const uint32_t at =
        wi_warp_min(search.find(p, stages, value_of_key(p, seeks_most() ? s.most : s.least)));
    if (wi_lane() == 0)
        atomicMin(&found[seeks_most()], at);
    __syncthreads();
    if (threadIdx.x == 0)
        put_out(p,
                {{s.count, s.shift, s.mean * n, s.squares},
                 p.n - s.count,
                 s.least,
                 s.most,
                 p.first + s.least_in * wi_summary_region<T> + found[0],
                 p.first + s.most_in * wi_summary_region<T> + found[1]},
                m);
}

template <class T>
__global__ void __launch_bounds__(wi_summary_block, wi_summary_resident)
    summarise(wi_summary_task<T> p, unsigned *ticket, wi_summary_part<T> *of_block) {
    WEFT_DYNAMIC_SHARED(shared);
    WEFT_SHARED(wi_summary_part<T>, of_warp, [32]);
    WEFT_SHARED(uint32_t, found, [2]);
    const wi_summary_stages<T> stages = {(wi_summary_vector<T> *)shared + threadIdx.x,
                                         wi_is_aligned(p.x)};
    wi_summary_collector<T> c;
    wi_summary_collect(p, stages, c);
    if (threadIdx.x < 2)
        found[threadIdx.x] = wi_summary_nowhere;
    wi_summary_part<T> s = part_of_thread(p, c), beyond = wi_summary_part<T>::nothing();
#pragma unroll 1
    for (bool last = gridDim.x == 1;;) {
        if (threadIdx.x < 32 - wi_summary_warps)
            of_warp[wi_summary_warps + threadIdx.x] = beyond;
        s = wi_summary_merge_block(s, of_warp, last, [&](const wi_summary_part<T> &all) {
            if (!last)
                return;
            search_of(p, all).bring(p, stages);
            wi_async_commit();
        });
        if (last)
            break;
        if (threadIdx.x == 0)
            of_block[blockIdx.x] = s;
        last = wi_ends_last(ticket);
        if (!last)
            return;
        s = part_of_block(of_block, threadIdx.x);
        beyond = part_of_block(of_block, wi_summary_block + threadIdx.x);
    }
    end(p, stages, s, found);
}

template <class T>
static weft_status launch(weft_context *ctx, const wi_summary_args *args) {
    constexpr size_t per_block =
        (size_t)wi_summary_block * wi_summary_vectors * wi_vector<T>::count;
    const size_t useful = args->n / per_block + 1;
    size_t blocks;
    void *scratch;
    weft_status status = wi_grant_shared(ctx, "summarise", summarise<T>, wi_summary_shared_bytes);
    if (status == WEFT_OK)
        status = wi_resident_blocks(ctx, summarise<T>, wi_summary_block, wi_summary_shared_bytes,
                                    &blocks);
    if (status != WEFT_OK)
        return status;
    const size_t wanted = (size_t)wi_summary_resident * (size_t)ctx->gpu->multiprocessors;
    for (const size_t most : {wanted, wi_summary_most_blocks, (size_t)wi_summary_blocks, useful})
        blocks = blocks < most ? blocks : most;
    status = wi_gpu_scratch(ctx, &wi_summary_ladder,
                            ticket_bytes + blocks * sizeof(wi_summary_part<T>), &scratch);
    if (status != WEFT_OK)
        return status;
    const wi_summary_task<T> task = {
        (const T *)args->x, args->n,
        args->first,        wi_key_map_of<wi_bits<T>>(args->type, false),
        args->state_in,     args->state_out,
        args->result};
    return WEFT_LAUNCH(summarise<T>, ctx, (unsigned)blocks, wi_summary_block,
                       wi_summary_shared_bytes, task, (unsigned *)scratch,
                       (wi_summary_part<T> *)((char *)scratch + ticket_bytes));
}

weft_status wi_summary_one_pass(weft_context *ctx, const void *arguments) {
    const wi_summary_args *const args = (const wi_summary_args *)arguments;
    return wi_with_type(args->type,
                        [=](auto tag) { return launch<typename decltype(tag)::type>(ctx, args); });
}
