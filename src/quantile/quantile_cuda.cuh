/* SPDX-License-Identifier: Apache-2.0 */
/* The searches of quantile on a GPU, and the pass that counts and keeps keys about their brackets.
 */
#ifndef WI_QUANTILE_CUDA_CUH
#define WI_QUANTILE_CUDA_CUH

#include "cuda/carry.cuh"
#include "cuda/launch.cuh"
#include "cuda/limit.cuh"
#include "cuda/memory.cuh"
#include "cuda/warp.cuh"
#include "quantile/quantile.h"
#include "sort/sort_key.cuh"

/* Keys kept for a search, in percent of what its bracket is expected to hold. */
WI_LIMIT(unsigned, wi_quantile_room_percent, 200)

/* Where the digits of a search are looked for. */
enum quantile_source : uint32_t {
    IN_ALL,
    IN_KEPT,
    FOUND /* nowhere: the key is known */
};

struct quantile_search {
    wi_quantile_job job;
    wi_quantile_bracket bracket;
    quantile_source source;
    uint32_t shift;  /* the key's bits above are `prefix` */
    uint32_t digit;  /* bits of a digit, but for the last */
    uint64_t prefix; /* in the end, the key */
    uint64_t need;   /* the key is the need-th of those with that prefix */
    uint64_t spare;  /* how many equal keys come after it */
    uint64_t next;   /* the least key above it, as far as is known */
};

/* What the kernels of one call share. */
template <class U>
struct quantile_task {
    const U *x;
    size_t n;
    wi_key_map<U> map;
    quantile_search *searches;
    U *kept; /* of each search `room` keys */
    size_t room;
};

constexpr unsigned digit_bits = 11; /* at most */
constexpr unsigned digit_bins = 1 << digit_bits;

__device__ inline void search_all(quantile_search *s, uint32_t bits) {
    s->digit = digit_bits;
    s->source = IN_ALL;
    s->shift = bits;
    s->prefix = 0;
    s->need = s->job.rank + 1;
    s->spare = 0;
    s->next = ~(uint64_t)0;
}

__global__ void begin_searches(quantile_search *searches, wi_quantile_group group, uint32_t bits) {
    if (threadIdx.x >= group.count)
        return;
    quantile_search s = {};
    s.job = group.job[threadIdx.x];
    search_all(&s, bits);
    searches[threadIdx.x] = s;
}

/* ---- the sample ---- */

constexpr unsigned sample_threads = 256;

template <class U>
__global__ void __launch_bounds__(sample_threads)
    draw_sample(quantile_task<U> task, U *sample, unsigned size) {
    const unsigned i = blockIdx.x * sample_threads + threadIdx.x;
    if (i < size)
        sample[i] = task.map.key(task.x[wi_quantile_sampled(i, size, task.n)]);
}

template <class U>
__global__ void guess_brackets(quantile_task<U> task, const U *sample, unsigned size,
                               unsigned jobs) {
    if (threadIdx.x >= jobs)
        return;
    quantile_search *const s = &task.searches[threadIdx.x];
    const wi_quantile_window w = wi_quantile_window_of(s->job.rank, task.n, size);
    wi_quantile_bracket b = {};
    b.low = w.first >= 0 ? sample[(size_t)w.first] : 0;
    b.high = w.last < size ? sample[(size_t)w.last] : (U) ~(U)0;
    s->bracket = b;
}

/* ---- the pass ---- */

constexpr unsigned pass_threads = 512;
constexpr int vectors = 4; /* that a thread loads at a time, of keys of two bytes or more */

/* The keys that a block takes in one turn. A thread's keys are numbered; a mask has a bit for
 * each. */
template <class U>
struct quantile_tile {
    static constexpr int wide = wi_vector<U>::count, loads = sizeof(U) == 1 ? 2 : vectors;
    static constexpr int own = loads * wide; /* of a thread */
    static constexpr size_t elements = (size_t)pass_threads * loads * wide;
    wi_vector<U> key[loads];
    uint32_t valid; /* those that are in x; the others are the largest keys */
    size_t first;   /* the tile's first element */

    __device__ size_t place(int number) const {
        const size_t v = (size_t)(number / wide);
        return first + (v * pass_threads + threadIdx.x) * wide + (size_t)(number % wide);
    }
    __device__ void load(const quantile_task<U> &task, bool aligned) {
        valid = 0;
#pragma unroll
        for (int v = 0; v < loads; v++) {
            const size_t at = place(v * wide);
            const size_t left = at < task.n ? task.n - at : 0;
            const bool whole = left >= wide;
            if (aligned && whole) {
                key[v] = *(const wi_vector<U> *)(task.x + at);
            } else {
#pragma unroll
                for (int e = 0; e < wide; e++)
                    key[v].at[e] = (size_t)e < left ? task.x[at + (size_t)e] : 0;
            }
            const uint32_t of_vector = whole ? (1u << wide) - 1 : (1u << left) - 1;
            valid |= of_vector << v * wide;
        }
#pragma unroll
        for (int v = 0; v < loads; v++)
#pragma unroll
            for (int e = 0; e < wide; e++) {
                const U own = task.map.key(key[v].at[e]);
                key[v].at[e] = valid >> (v * wide + e) & 1 ? own : (U) ~(U)0;
            }
    }
};

/* A block's counts, and its keys: a thread finds there those of its own that it has marked. */
template <class U>
struct quantile_block {
    wi_vector<U> key[quantile_tile<U>::loads][pass_threads];
    uint32_t valid[pass_threads];
    uint32_t below[WI_QUANTILE_GROUP], at_low[WI_QUANTILE_GROUP], at_high[WI_QUANTILE_GROUP];
    uint32_t inside[WI_QUANTILE_GROUP]; /* of this tile */
    uint64_t base[WI_QUANTILE_GROUP];   /* where the tile's keys go */
    uint64_t low[WI_QUANTILE_GROUP], high[WI_QUANTILE_GROUP];
    uint32_t mask[WI_QUANTILE_GROUP][pass_threads];   /* a thread's keys inside */
    uint16_t offset[WI_QUANTILE_GROUP][pass_threads]; /* and where they go, from the tile's first */
};

template <class U>
__device__ U own_key(const quantile_block<U> &block, int number) {
    constexpr int wide = wi_vector<U>::count;
    return block.key[number / wide][threadIdx.x].at[number % wide];
}

/* Of the marked keys those equal to an end lose their mark. Returns how many are at the low end,
 * and 2^16 times how many at the high one. */
template <class U>
__device__ uint32_t take_ends(const quantile_block<U> &block, U low, U width, uint32_t *mask) {
    uint32_t ends = 0;
    if (width == 0) { /* all that are marked */
        ends = (uint32_t)__popc(*mask);
        *mask = 0;
    }
    for (uint32_t left = *mask; left != 0; left &= left - 1) {
        const U above = (U)(own_key(block, __ffs((int)left) - 1) - low);
        if (above == 0 || above == width) {
            *mask ^= left & (0 - left);
            ends += above == 0 ? 1 : 1u << 16;
        }
    }
    return ends;
}

/* Counts this thread's keys about bracket j, and marks those inside. Few are there, as a rule: all
 * keys are only compared with the ends, in four instructions. */
template <class U>
__device__ void count_about(const quantile_tile<U> &tile, quantile_block<U> &block, unsigned j) {
    using Word = wi_carry_word<U>;
    const U low = (U)block.low[j], width = (U)((U)block.high[j] - low);
    uint32_t from_low = 0, mask = 0;
#pragma unroll
    for (int k = tile.own - 1; k >= 0; k--) {
        const Word above = wi_subtract_counting((Word)tile.key[k / tile.wide].at[k % tile.wide],
                                                (Word)low, &from_low);
        wi_mark_up_to(above, (Word)width, &mask);
    }
    mask &= block.valid[threadIdx.x];
    const uint32_t ends = wi_warp_sum(take_ends(block, low, width, &mask));
    const uint32_t below = wi_warp_sum((uint32_t)tile.own - from_low);
    if (wi_lane() == 0) {
        atomicAdd(&block.below[j], below);
        if (ends) {
            atomicAdd(&block.at_low[j], ends & 0xffff);
            atomicAdd(&block.at_high[j], ends >> 16);
        }
    }
    const uint32_t mine = (uint32_t)__popc(mask), through = wi_warp_sum_scan(mine);
    uint32_t before = 0;
    if (wi_lane() == 31 && through > 0)
        before = atomicAdd(&block.inside[j], through);
    before = wi_shuffle(before, 31);
    block.mask[j][threadIdx.x] = mask;
    block.offset[j][threadIdx.x] = (uint16_t)(before + through - mine);
}

template <class U>
__device__ void keep_inside(const quantile_task<U> &task, const quantile_block<U> &block,
                            unsigned j) {
    U *const kept = task.kept + j * task.room;
    uint64_t at = block.base[j] + block.offset[j][threadIdx.x];
    for (uint32_t left = block.mask[j][threadIdx.x]; left != 0; left &= left - 1, at++)
        if (at < task.room)
            kept[at] = own_key(block, __ffs((int)left) - 1);
}

template <class U>
__global__ void __launch_bounds__(pass_threads)
    count_and_keep(quantile_task<U> task, unsigned jobs) {
    WEFT_DYNAMIC_SHARED(shared);
    quantile_block<U> &c = *(quantile_block<U> *)shared;
    const bool aligned = wi_is_aligned(task.x);
    if (threadIdx.x < jobs) {
        const unsigned j = threadIdx.x;
        c.below[j] = c.at_low[j] = c.at_high[j] = c.inside[j] = 0;
        c.low[j] = task.searches[j].bracket.low;
        c.high[j] = task.searches[j].bracket.high;
    }
    __syncthreads();
    quantile_tile<U> tile;
    const size_t stride = gridDim.x * tile.elements;
    for (tile.first = blockIdx.x * tile.elements; tile.first < task.n; tile.first += stride) {
        tile.load(task, aligned);
#pragma unroll
        for (int v = 0; v < tile.loads; v++)
            c.key[v][threadIdx.x] = tile.key[v];
        c.valid[threadIdx.x] = tile.valid;
        for (unsigned j = 0; j < jobs; j++)
            count_about(tile, c, j);
        __syncthreads();
        if (threadIdx.x < jobs) {
            const unsigned j = threadIdx.x;
            const unsigned long long inside = c.inside[j];
            unsigned long long *const all = (unsigned long long *)&task.searches[j].bracket.inside;
            c.base[j] = inside ? atomicAdd(all, inside) : 0;
            c.inside[j] = 0;
        }
        __syncthreads();
        for (unsigned j = 0; j < jobs; j++)
            keep_inside(task, c, j);
    }
    if (threadIdx.x < jobs) {
        const unsigned j = threadIdx.x;
        wi_quantile_bracket *const b = &task.searches[j].bracket;
        atomicAdd((unsigned long long *)&b->below, (unsigned long long)c.below[j]);
        atomicAdd((unsigned long long *)&b->at_low, (unsigned long long)c.at_low[j]);
        if (c.low[j] != c.high[j])
            atomicAdd((unsigned long long *)&b->at_high, (unsigned long long)c.at_high[j]);
    }
}

/* Decides where the digits of each search are looked for; those that all keys of the bracket share
 * are known. */
template <class U>
__global__ void settle_brackets(quantile_task<U> task, unsigned jobs) {
    if (threadIdx.x >= jobs)
        return;
    quantile_search *const s = &task.searches[threadIdx.x];
    const wi_quantile_bracket b = s->bracket;
    if (!wi_quantile_holds(&b, &s->job) || b.inside > task.room)
        return; /* all of x, as begun */
    const uint64_t from = s->job.rank - b.below;
    s->next = b.high;
    s->source = FOUND;
    s->shift = 0;
    if (from < b.at_low) {
        s->prefix = b.low;
        s->spare = b.at_low - from - 1;
    } else if (from >= b.at_low + b.inside) {
        s->prefix = b.high;
        s->spare = b.at_low + b.inside + b.at_high - from - 1;
    } else {
        uint32_t shift = 8 * sizeof(U);
        while ((b.low ^ b.high) >> (shift - 1) == 0)
            shift--;
        s->source = IN_KEPT;
        s->shift = shift;
        s->prefix = shift < 8 * sizeof(U) ? b.low >> shift : 0;
        s->need = from - b.at_low + 1;
    }
}

#endif
