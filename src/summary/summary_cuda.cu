/* SPDX-License-Identifier: Apache-2.0 */
/* summary on a GPU in one pass: as many blocks as fit at once read 16-byte vectors; the block that
 * began last merges the blocks' states in a fixed order, so the same input gives the same bits. */
#include "cuda/carries.cuh"
#include "cuda/launch.cuh"
#include "cuda/limit.cuh"
#include "summary/summary_merge.cuh"
#include "summary/summary_search.cuh"

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

/* Blocks post what they have collected, for the one that began last: so those that it waits for are
 * done or under way. No access has to be ordered with another, as each word tells whether it is
 * there. All is 0 before a launch and after it. */
struct meeting {
    unsigned long long *begun; /* blocks */
    wi_posts posts;
};
constexpr size_t begun_bytes = 128;
constexpr uint64_t posted = 1;

/* What block b has posted; of a block that there is not, nothing. */
template <class T>
__device__ wi_summary_part<T> wait_for_post(const wi_posts &posts, unsigned b) {
    using Part = wi_summary_part<T>;
    if (b >= gridDim.x)
        return Part::nothing();
    wi_posted<Part> seen = wi_read_posted<Part>(posts, b);
    for (; !seen.is_in(posted); seen = wi_read_posted<Part>(posts, b))
        wi_spin();
#pragma unroll
    for (int k = 0; k < wi_carry_words<Part>; k++)
        wi_write_pair(&posts.word[k * posts.count + b], 0, 0);
    return seen.carry();
}

/* What block b has collected, in the block that has `own`. */
template <class T>
__device__ wi_summary_part<T> part_of_block(const wi_posts &posts, unsigned b,
                                            const wi_summary_part<T> &own) {
    return b == blockIdx.x ? own : wait_for_post<T>(posts, b);
}

/* By a warp: what is looked through if the extremes are those of this block. */
template <class T>
__device__ void prefetch(const wi_summary_task<T> &p, const wi_summary_part<T> &s) {
    constexpr int line = 128 / (int)sizeof(T), lines = (int)wi_summary_region<T> / line;
    static_assert(2 * lines == 32, "one for each lane");
    const size_t begin = (wi_lane() < lines ? s.least_in : s.most_in) * wi_summary_region<T>;
    const size_t at = begin + wi_lane() % lines * line;
    if (at < p.n)
        wi_prefetch(p.x + at);
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
    summarise(wi_summary_task<T> p, meeting m) {
    WEFT_DYNAMIC_SHARED(shared);
    WEFT_SHARED(wi_summary_part<T>, of_warp, [32]);
    WEFT_SHARED(wi_summary_part<T>, own, );
    WEFT_SHARED(uint32_t, found, [2]);
    WEFT_SHARED(bool, began_last, );
    const wi_summary_stages<T> stages = {(wi_summary_vector<T> *)shared + threadIdx.x,
                                         wi_is_aligned(p.x)};
    wi_summary_begin(p, stages);
    if (gridDim.x > 1 && threadIdx.x == 0)
        began_last = wi_take_number(m.begun) == gridDim.x - 1;
    wi_summary_collector<T> c;
    wi_summary_collect(p, stages, c);
    if (threadIdx.x < 2)
        found[threadIdx.x] = wi_summary_nowhere;
    wi_summary_part<T> s = part_of_thread(p, c), beyond = wi_summary_part<T>::nothing();
#pragma unroll 1
    for (bool has_all = gridDim.x == 1;; has_all = true) {
        if (threadIdx.x < 32 - wi_summary_warps)
            of_warp[wi_summary_warps + threadIdx.x] = beyond;
        s = wi_summary_merge_block(s, of_warp, has_all, [&](const wi_summary_part<T> &all) {
            if (!has_all)
                return;
            search_of(p, all).bring(p, stages);
            wi_async_commit();
        });
        if (has_all)
            break;
        if (!began_last) {
            if (threadIdx.x == 0)
                wi_post(m.posts, blockIdx.x, s, posted);
            if (threadIdx.x < 32)
                prefetch(p, s);
            return;
        }
        if (threadIdx.x == 0) {
            own = s;
            *m.begun = 0;
        }
        __syncthreads();
        s = part_of_block(m.posts, threadIdx.x, own);
        beyond = part_of_block(m.posts, wi_summary_block + threadIdx.x, own);
    }
    end(p, stages, s, found);
}

template <class T>
static weft_status launch(weft_context *ctx, const wi_summary_args *args) {
    constexpr size_t per_block =
        (size_t)wi_summary_block * wi_summary_vectors * wi_vector<T>::count;
    const size_t useful = args->n / per_block + 1,
                 resident = (size_t)wi_summary_resident * (size_t)ctx->gpu->multiprocessors;
    constexpr size_t words = wi_carry_words<wi_summary_part<T>>;
    size_t blocks = wi_summary_most_blocks;
    void *scratch;
    for (const size_t most : {resident, (size_t)wi_summary_blocks, useful})
        blocks = blocks < most ? blocks : most;
    const weft_status status = wi_gpu_scratch(
        ctx, &wi_summary_ladder, begun_bytes + blocks * words * sizeof(wi_pair), &scratch);
    if (status != WEFT_OK)
        return status;
    const wi_summary_task<T> task = {
        (const T *)args->x, args->n,
        args->first,        wi_key_map_of<wi_bits<T>>(args->type, false),
        args->state_in,     args->state_out,
        args->result};
    const meeting m = {(unsigned long long *)scratch,
                       {(wi_pair *)((char *)scratch + begun_bytes), blocks}};
    return WEFT_LAUNCH(summarise<T>, ctx, (unsigned)blocks, wi_summary_block,
                       wi_summary_shared_bytes, task, m);
}

weft_status wi_summary_one_pass(weft_context *ctx, const void *arguments) {
    const wi_summary_args *const args = (const wi_summary_args *)arguments;
    return wi_with_type(args->type,
                        [=](auto tag) { return launch<typename decltype(tag)::type>(ctx, args); });
}
