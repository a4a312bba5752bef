/* SPDX-License-Identifier: Apache-2.0 */
/* exact_segments on a GPU. Every block gets an equal stretch of the path of all elements and ends
 * of segments (group/README.md). A segment that ends in the stretch where it began is added up by a
 * cascade: by one thread if it is short, else by a warp. Where the cascade does not determine the
 * result, and for longer segments, the block adds up a wide integer in its shared memory. It keeps
 * such integers of the segments that cross the ends of its stretch; a second kernel adds those up.
 */
#include "exact/exact_cascade.h"
#include "exact/exact_cuda.cuh"
#include "exact/exact_segments.h"
#include "group/group_cuda.cuh"

constexpr int threads = 256;
constexpr uint64_t of_thread = 32; /* elements of a segment that a thread adds up, at most */
constexpr size_t blocks_per_multiprocessor = 8;
#ifdef WEFT_EMU
constexpr uint64_t of_warp = 600;
constexpr size_t least_stretch = 700; /* so that small arrays have several stretches */
#else
constexpr uint64_t of_warp = 8192;     /* the same for a warp */
constexpr size_t least_stretch = 8192; /* steps of the path for a block, at least */
#endif
constexpr int side_by_side = 4; /* elements that a thread loads at once */

namespace {

/* What a block keeps of the segments at the ends of its stretch. */
struct open_ends {
    uint64_t head;             /* the segment in which the stretch begins */
    uint32_t has_head, ends;   /* the segment began before the stretch; it ends in it */
    uint32_t has_tail, unused; /* a segment begins in the stretch, and goes on after it */
    int64_t head_word[WI_EXACT_WORDS], tail_word[WI_EXACT_WORDS];
};

struct segment_sums {
    const void *x;
    void *y;
    weft_type result_type;
    bool magnitudes, root;
    wi_group_starts starts;
    open_ends *open; /* of each block */
};

/* A wide integer in shared memory: `sum` has the words that threads add to, `word` the same after
 * carrying. */
struct block_sum {
    wi_exact_shared_sum sum;
    int64_t word[WI_EXACT_WORDS];
};

/* The segments of a turn that a warp, or the whole block, adds up: their numbers in the turn. */
struct path_turn {
    unsigned for_warps, for_block;
    uint8_t warps[threads], block[threads];
};

struct path_cut {
    uint64_t segment, at;
};

} // namespace

/* Where the stretch of a block begins; for block = gridDim.x, the end of the path. */
static __device__ path_cut cut_of(const wi_group_starts &starts, uint64_t count, uint64_t block) {
    const uint64_t steps = starts.n + count, each = (steps + gridDim.x - 1) / gridDim.x;
    const uint64_t step = block * each < steps ? block * each : steps;
    uint64_t low = 0, high = step < count ? step : count;
    while (low < high) { /* how many segments end before it */
        const uint64_t s = low + (high - low) / 2;
        if (starts.of(s + 1, count) + s < step)
            low = s + 1;
        else
            high = s;
    }
    if (block == gridDim.x || low == count)
        return {count, starts.n};
    return {low, step - low};
}

template <class T>
static __device__ double element(const segment_sums &p, uint64_t i) {
    const double x = (double)wi_load(((const T *)p.x)[i]);
    return p.magnitudes ? fabs(x) : x;
}

template <bool squares>
static __device__ void take(wi_cascade *c, double x) {
    if (squares)
        wi_cascade_add_product(c, x, x);
    else
        wi_cascade_add(c, x);
}

/* ---- by the wide integer ---- */

/* Adds x to a cascade, and what the cascade loses to the wide integer. */
static __device__ void add_kept(wi_cascade *c, wi_exact_shared_sum *wide, double x) {
    double rest, lost;
    c->high = wi_two_sum(c->high, x, &rest);
    c->low = wi_two_sum(c->low, rest, &lost);
    if (lost != 0)
        wi_exact_to_sum(wide, lost, 1);
}

template <bool squares>
static __device__ void take_kept(wi_cascade *c, wi_exact_shared_sum *wide, double x) {
    const double term = squares ? x * x : x;
    /* near overflow, or a square whose rounding error may not be a double */
    if (!(fabs(term) < 0x1p1000) || (squares && wi_is_faint(x, x, term))) {
        wi_exact_to_sum(wide, x, squares ? x : 1);
        return;
    }
    add_kept(c, wide, term);
    if (squares)
        add_kept(c, wide, fma(x, x, -term));
}

/* The carried words of the sum of elements [from, end), by all threads of the block. */
template <class T, bool squares>
static __device__ void add_range(const segment_sums &p, uint64_t from, uint64_t end,
                                 block_sum *wide) {
    wi_cascade c = {0, 0, 0};
    bool other = false; /* a term is not -0.0 */
    __syncthreads();
    for (int k = (int)threadIdx.x; k < WI_EXACT_WORDS; k += threads)
        wide->sum.word[k] = 0;
    __syncthreads();
    for (uint64_t i = from + threadIdx.x; i < end; i += side_by_side * threads) {
        double x[side_by_side];
#pragma unroll
        for (int k = 0; k < side_by_side; k++)
            x[k] = i + k * threads < end ? element<T>(p, i + k * threads) : -0.0;
#pragma unroll
        for (int k = 0; k < side_by_side; k++) {
            other |= i + k * threads < end && (squares || wi_exact_bits(x[k]) != (uint64_t)1 << 63);
            take_kept<squares>(&c, &wide->sum, x[k]);
        }
    }
    if (c.high != 0)
        wi_exact_to_sum(&wide->sum, c.high, 1);
    if (c.low != 0)
        wi_exact_to_sum(&wide->sum, c.low, 1);
    if (other)
        wi_exact_note_other(&wide->sum);
    __syncthreads();
    for (int k = (int)threadIdx.x; k < WI_EXACT_WORDS; k += threads)
        wide->word[k] = (int64_t)wide->sum.word[k];
    __syncthreads();
    if (threadIdx.x == 0) {
        wide->word[WI_EXACT_COUNT] = (int64_t)(end - from);
        wi_exact_carry(wide->word);
    }
    __syncthreads();
}

static __device__ void store_bits(const segment_sums &p, uint64_t s, uint64_t bits) {
    const size_t size = p.result_type == WEFT_F64 ? 8 : p.result_type == WEFT_F32 ? 4 : 2;
    char *const y = (char *)p.y + s * size;
    if (size == 8)
        *(uint64_t *)y = bits;
    else if (size == 4)
        *(uint32_t *)y = (uint32_t)bits;
    else
        *(uint16_t *)y = (uint16_t)bits;
}

/* ---- by cascades ---- */

/* Stores the result of segment s if the cascade determines it. */
static __device__ bool store_if_told(const segment_sums &p, uint64_t s, const wi_cascade &c) {
    uint64_t bits;
    if (!wi_cascade_round(&c, p.root, p.result_type, &bits))
        return false;
    store_bits(p, s, bits);
    return true;
}

template <class T, bool squares>
static __device__ bool sum_by_thread(const segment_sums &p, uint64_t s, uint64_t first,
                                     uint64_t end) {
    wi_cascade c = wi_cascade_empty();
    for (uint64_t i = first; i < end; i++)
        take<squares>(&c, element<T>(p, i));
    if (first == end)
        c.high = 0;
    return store_if_told(p, s, c);
}

template <class T, bool squares>
static __device__ bool sum_by_warp(const segment_sums &p, uint64_t s, uint64_t first,
                                   uint64_t end) {
    wi_cascade c = wi_cascade_empty();
    for (uint64_t i = first + (unsigned)wi_lane(); i < end; i += 32)
        take<squares>(&c, element<T>(p, i));
    c = wi_warp_reduce(c, [](wi_cascade a, const wi_cascade &b) {
        wi_cascade_merge(&a, &b);
        return a;
    });
    bool told = false;
    if (wi_lane() == 0)
        told = store_if_told(p, s, c);
    return wi_shuffle((uint32_t)told, 0) != 0;
}

/* ---- the kernels ---- */

/* Segments first ... first + threads - 1, below end. */
template <class T, bool squares>
static __device__ void take_turn(const segment_sums &p, uint64_t first, uint64_t end,
                                 uint64_t count, path_turn *turn, block_sum *wide) {
    const int me = (int)threadIdx.x;
    __syncthreads();
    if (me == 0)
        turn->for_warps = turn->for_block = 0;
    __syncthreads();
    const uint64_t s = first + (unsigned)me;
    if (s < end) {
        const uint64_t from = p.starts.of(s, count), to = p.starts.of(s + 1, count);
        if (to - from > of_warp)
            turn->block[atomicAdd(&turn->for_block, 1u)] = (uint8_t)me;
        else if (to - from > of_thread)
            turn->warps[atomicAdd(&turn->for_warps, 1u)] = (uint8_t)me;
        else if (!sum_by_thread<T, squares>(p, s, from, to))
            turn->block[atomicAdd(&turn->for_block, 1u)] = (uint8_t)me;
    }
    __syncthreads();
    for (unsigned k = (unsigned)me / 32; k < turn->for_warps; k += threads / 32) {
        const uint64_t of = first + turn->warps[k];
        const bool told =
            sum_by_warp<T, squares>(p, of, p.starts.of(of, count), p.starts.of(of + 1, count));
        if (!told && wi_lane() == 0)
            turn->block[atomicAdd(&turn->for_block, 1u)] = turn->warps[k];
    }
    __syncthreads();
    for (unsigned k = 0; k < turn->for_block; k++) {
        const uint64_t of = first + turn->block[k];
        add_range<T, squares>(p, p.starts.of(of, count), p.starts.of(of + 1, count), wide);
        if (me == 0)
            store_bits(p, of, wi_exact_round(wide->word, p.result_type, p.root));
    }
}

/* Keeps the words of elements [from, end). */
template <class T, bool squares>
static __device__ void keep_range(const segment_sums &p, uint64_t from, uint64_t end,
                                  block_sum *wide, int64_t *words) {
    add_range<T, squares>(p, from, end, wide);
    for (int k = (int)threadIdx.x; k < WI_EXACT_WORDS; k += threads)
        words[k] = wide->word[k];
}

template <class T, bool squares>
static __global__ void __launch_bounds__(threads) exact_stretches(segment_sums p) {
    WEFT_SHARED(block_sum, wide, );
    WEFT_SHARED(path_turn, turn, );
    const uint64_t count = p.starts.count();
    path_cut from = cut_of(p.starts, count, blockIdx.x);
    const path_cut end = cut_of(p.starts, count, blockIdx.x + 1);
    open_ends *const open = &p.open[blockIdx.x];
    const bool has_head = from.segment < count && from.at > p.starts.of(from.segment, count);
    const bool ends = has_head && from.segment < end.segment;
    const uint64_t first = has_head ? from.segment + 1 : from.segment;
    const bool has_tail =
        (!has_head || ends) && end.segment < count && end.at > p.starts.of(end.segment, count);
    if (threadIdx.x == 0) {
        open->head = from.segment;
        open->has_head = has_head;
        open->ends = ends;
        open->has_tail = has_tail;
    }
    if (has_head)
        keep_range<T, squares>(p, from.at, ends ? p.starts.of(first, count) : end.at, &wide,
                               open->head_word);
    for (uint64_t s = first; s < end.segment; s += threads)
        take_turn<T, squares>(p, s, end.segment, count, &turn, &wide);
    if (has_tail)
        keep_range<T, squares>(p, p.starts.of(end.segment, count), end.at, &wide, open->tail_word);
}

/* One block for each stretch. If a segment that began before the stretch ends in it, the block adds
 * up what all stretches have kept of that segment. */
static __global__ void __launch_bounds__(threads) exact_join(segment_sums p) {
    WEFT_SHARED(int64_t, word, [WI_EXACT_WORDS]);
    const open_ends *open = &p.open[blockIdx.x];
    const int k = (int)threadIdx.x;
    if (!open->ends)
        return;
    if (k < WI_EXACT_WORDS) {
        int64_t sum = open->head_word[k];
        for (open--; open->has_head && !open->ends; open--)
            sum += open->head_word[k];
        word[k] = sum + open->tail_word[k];
    }
    __syncthreads();
    if (k == 0) {
        wi_exact_carry(word);
        store_bits(p, p.open[blockIdx.x].head, wi_exact_round(word, p.result_type, p.root));
    }
}

static size_t blocks_of(const weft_context *ctx, const wi_group_args *a) {
    const size_t most = (size_t)ctx->gpu->multiprocessors * blocks_per_multiprocessor;
    const size_t useful = (a->n + a->segments + least_stretch - 1) / least_stretch;
    return useful < most ? useful : most;
}

static weft_status take_scratch(weft_context *ctx, const wi_group_args *a, void **open) {
    return wi_gpu_scratch(ctx, &wi_exact_segments_ladder, blocks_of(ctx, a) * sizeof(open_ends),
                          open);
}

weft_status wi_exact_segments_prepare(weft_context *ctx, const wi_group_args *args) {
    void *open;
    return take_scratch(ctx, args, &open);
}

weft_status wi_exact_segments_paths(weft_context *ctx, const void *arguments) {
    const wi_group_args *const a = (const wi_group_args *)arguments;
    const unsigned blocks = (unsigned)blocks_of(ctx, a);
    void *open;
    weft_status status = take_scratch(ctx, a, &open);
    if (status != WEFT_OK)
        return status;
    const segment_sums p = {a->x,
                            a->y,
                            a->result_type,
                            a->op == WI_RED_NRM1,
                            a->op == WI_RED_NRM2,
                            wi_group_starts_of(a),
                            (open_ends *)open};
    status = wi_with_float_type(a->type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        return p.root ? WEFT_LAUNCH((exact_stretches<T, true>), ctx, blocks, threads, 0, p)
                      : WEFT_LAUNCH((exact_stretches<T, false>), ctx, blocks, threads, 0, p);
    });
    return status == WEFT_OK ? WEFT_LAUNCH(exact_join, ctx, blocks, threads, 0, p) : status;
}
