/* SPDX-License-Identifier: Apache-2.0 */
/* summary on a GPU in one pass: as many blocks as fit at once read 16-byte vectors; the last block
 * to end merges the blocks' states in a fixed order, so the same input gives the same bits. */
#include "cuda/launch.cuh"
#include "cuda/limit.cuh"
#include "cuda/ticket.cuh"
#include "cuda/warp.cuh"
#include "summary/summary_collect.cuh"

constexpr int warps = wi_summary_block / 32;
constexpr size_t ticket_bytes = 128;

/* Blocks of a launch, at most; tests set it lower. */
WI_LIMIT(size_t, wi_summary_blocks, SIZE_MAX)

/* The values of the first `lanes` of every 32 lanes combined in their order, in all of them. A loop
 * that is not unrolled: code that runs once is read from memory, which takes longer than to run it.
 */
template <int lanes, class S, class Combine>
__device__ S over_lanes(S s, Combine combine) {
#pragma unroll 1
    for (int step = 1; step < lanes; step *= 2) {
        const S other = wi_shuffle_xor(s, step);
        s = wi_lane() & step ? combine(other, s) : combine(s, other);
    }
    return s;
}

/* The threads' values combined in their order, in every thread. */
template <class S, class Combine>
__device__ S over_block(S s, Combine combine) {
    WEFT_SHARED(S, of_warp, [warps]);
    s = over_lanes<32>(s, combine);
    __syncthreads();
    if (wi_lane() == 0)
        of_warp[threadIdx.x / 32] = s;
    __syncthreads();
    return over_lanes<warps>(of_warp[wi_lane() % warps], combine);
}

/* What a block learns first of its threads' states, and then. */
struct summary_range {
    uint64_t least, most; /* keys */
    double shift;         /* of the first thread with elements */
    bool any;
};
struct summary_totals {
    uint64_t count, nans, least_at, most_at;
    double sum; /* about that shift */
};

/* The states of a block's threads as one, in every thread. All sums are brought to one shift, and
 * all squares to the mean, when it is known: so they are only added, and the few divisions are made
 * by all threads at once. place(most) tells where a thread's least or largest element is; only
 * those that have the block's are asked. */
template <class Place>
__device__ wi_summary_state merge_block(const wi_summary_state &s, Place place) {
    const bool any = s.sums.count > 0;
    const summary_range range =
        over_block(summary_range{any ? s.least : ~(uint64_t)0, any ? s.most : 0, s.sums.shift, any},
                   [](const summary_range &a, const summary_range &b) {
                       return summary_range{a.least < b.least ? a.least : b.least,
                                            a.most > b.most ? a.most : b.most,
                                            a.any ? a.shift : b.shift, a.any || b.any};
                   });
    const double n = any ? (double)s.sums.count : 1, apart = any ? s.sums.shift - range.shift : 0;
    summary_totals totals = {s.sums.count, s.nans, ~(uint64_t)0, ~(uint64_t)0,
                             any ? s.sums.sum + n * apart : 0};
    if (any && s.least == range.least)
        totals.least_at = place(false);
    if (any && s.most == range.most)
        totals.most_at = place(true);
    totals = over_block(totals, [](const summary_totals &a, const summary_totals &b) {
        return summary_totals{a.count + b.count, a.nans + b.nans,
                              a.least_at < b.least_at ? a.least_at : b.least_at,
                              a.most_at < b.most_at ? a.most_at : b.most_at, a.sum + b.sum};
    });
    const double all = totals.count > 0 ? (double)totals.count : 1;
    const double off = apart + s.sums.sum / n - totals.sum / all;
    const double squares = over_block(any ? s.sums.squares + n * (off * off) : 0,
                                      [](double a, double b) { return a + b; });
    return {{totals.count, range.shift, totals.sum, squares},
            totals.nans,
            range.least,
            range.most,
            totals.least_at,
            totals.most_at};
}

/* What a thread has collected. Where its extremes are is yet to be looked up. */
template <class T>
__device__ wi_summary_state state_of_thread(const wi_summary_task<T> &p,
                                            const wi_summary_collector<T> &c) {
    using Bits = wi_bits<T>;
    return {c.closed,
            c.nans,
            p.map.key(wi_bit_cast<Bits>(c.least)),
            p.map.key(wi_bit_cast<Bits>(c.most)),
            0,
            0};
}

/* True in the block that ends last, which then has the states of all blocks in its threads. */
static __device__ bool takes_all(wi_summary_state *s, unsigned *ticket,
                                 wi_summary_state *of_block) {
    if (threadIdx.x == 0)
        of_block[blockIdx.x] = *s;
    if (!wi_ends_last(ticket))
        return false;
    *s = wi_summary_state{};
    for (unsigned b = threadIdx.x; b < gridDim.x; b += wi_summary_block)
        *s = wi_summary_merge(*s, of_block[b]);
    return true;
}

template <class T>
__device__ void put_out(const wi_summary_task<T> &p, wi_summary_state s) {
    using Bits = wi_bits<T>;
    if (p.state_in)
        s = wi_summary_merge(*p.state_in, s);
    const double nan = (double)NAN, n = (double)s.sums.count;
    const bool any = s.sums.count > 0;
    if (p.state_out) {
        *p.state_out = s;
        return;
    }
    *p.result = {s.sums.count,
                 s.nans,
                 any ? wi_value_of_bits(p.type, p.map.bits((Bits)s.least)) : nan,
                 any ? wi_value_of_bits(p.type, p.map.bits((Bits)s.most)) : nan,
                 any ? s.least_at : WEFT_NOWHERE,
                 any ? s.most_at : WEFT_NOWHERE,
                 any ? s.sums.shift + s.sums.sum / n : nan,
                 any ? s.sums.squares / n : nan};
}

template <class T>
__global__ void __launch_bounds__(wi_summary_block, wi_summary_resident)
    summarise(wi_summary_task<T> p, unsigned *ticket, wi_summary_state *of_block) {
    WEFT_DYNAMIC_SHARED(shared);
    const wi_summary_stages<T> stages = {(wi_summary_vector<T> *)shared + threadIdx.x,
                                         wi_is_aligned(p.x)};
    wi_summary_collector<T> c;
    wi_summary_collect(p, stages, c);
    wi_summary_state s = state_of_thread(p, c);
    /* First threads are merged, then blocks, by the same code. */
#pragma unroll 1
    for (bool of_threads = true;; of_threads = false) {
        s = merge_block(s, [&](bool most) {
            if (!of_threads)
                return most ? s.most_at : s.least_at;
            return p.first + wi_summary_locate(stages, p.x, most ? c.most : c.least,
                                               most ? c.most_in : c.least_in, wi_summary_apart<T>);
        });
        if (!of_threads || gridDim.x == 1)
            break;
        if (!takes_all(&s, ticket, of_block))
            return;
    }
    if (threadIdx.x == 0)
        put_out(p, s);
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
    blocks = blocks < wi_summary_blocks ? blocks : wi_summary_blocks;
    blocks = blocks < useful ? blocks : useful;
    status = wi_gpu_scratch(ctx, &wi_summary_ladder,
                            ticket_bytes + blocks * sizeof(wi_summary_state), &scratch);
    if (status != WEFT_OK)
        return status;
    const wi_summary_task<T> task = {
        (const T *)args->x, args->n,
        args->first,        wi_key_map_of<wi_bits<T>>(args->type, false),
        args->type,         args->state_in,
        args->state_out,    args->result};
    return WEFT_LAUNCH(summarise<T>, ctx, (unsigned)blocks, wi_summary_block,
                       wi_summary_shared_bytes, task, (unsigned *)scratch,
                       (wi_summary_state *)((char *)scratch + ticket_bytes));
}

weft_status wi_summary_one_pass(weft_context *ctx, const void *arguments) {
    const wi_summary_args *const args = (const wi_summary_args *)arguments;
    return wi_with_type(args->type,
                        [=](auto tag) { return launch<typename decltype(tag)::type>(ctx, args); });
}
