/* SPDX-License-Identifier: Apache-2.0 */
/* The rung fused: both passes of cut lines in one kernel. Lines go through in groups that are small
 * beside the L2 cache: blocks take tiles of the passes from one sequence,
 *
 *     first pass of groups 0 ... lead - 1, then in turn
 *     first pass of group g + lead, second pass of group g,
 *
 * so that what lies between the passes of some groups stays in the cache, and no pass waits for the
 * last blocks of the one before: there is always another group's work in between. Results of group
 * g's first pass are kept in slot g mod `slots`. A tile waits for its group's first pass, or for
 * the last reader of its slot; both have smaller numbers, so the block with the smallest number
 * never waits. */
#include "cuda/limit.cuh"
#include "cuda/memory.cuh"
#include "cuda/progress.cuh"
#include "fft/fft_cuda.h"
#include "fft/fft_shape.cuh"

#include <type_traits>

/* Lines from so long on are three passes through memory, of pieces of 128 bytes: two of them
 * together take longer (2^27: 2.02 ms, and 1.7 so, an H200, 2026-11-30). */
WI_LIMIT(size_t, wi_fft_plain_from, (size_t)1 << 25)

constexpr size_t most_tiles = 0x7fffffff; /* and the numbers of some that do not exist */

namespace {

/* All zeros between launches. */
struct counters {
    unsigned long long next; /* tile */
    unsigned left;           /* blocks that have ended */
    unsigned done[2];        /* and more: tiles of group g's pass k that have ended at 2 g + k */
};

template <class T>
struct fused_params {
    wi_fft_pass<T> a, b; /* of group 0 */
    size_t step_in, step_out, slot;
    unsigned groups, slots, lead, tiles_a, tiles_b;
    counters *count;
};

/* A tile, found by one thread. */
struct tile {
    bool is_first, is_end, is_ready;
    unsigned group;
    wi_fft_place at;
};

} // namespace

/* Lines of n1 and of n2 numbers. If it `finds_early`, a block finds its next tile while the loads
 * of the one before are on their way, which pays only for 2^18. */
template <class First, class Second, bool finds_early_ = false>
struct duo {
    using Type = typename First::Type;
    using A = First;
    using B = Second;
    static_assert(A::threads == B::threads, "a block does both");
    static constexpr unsigned threads = A::threads, n1 = A::n, n2 = B::n, n = n1 * n2;
    static constexpr unsigned blocks = A::blocks; /* at a time */
    static constexpr bool has_one_table = std::is_same_v<A, B>;
    static constexpr bool finds_early = finds_early_;
    static constexpr unsigned twiddles_a = A::count_twiddles(), twiddles_b = B::count_twiddles();
    static constexpr size_t lines = A::bytes > B::bytes ? A::bytes : B::bytes;
    static constexpr size_t bytes =
        lines + (twiddles_a + (has_one_table ? 0 : twiddles_b)) * sizeof(wi_fft_number<Type>);
};

template <class T>
static __device__ void locate(const fused_params<T> &p, unsigned number, tile *t) {
    const unsigned before = p.lead * p.tiles_a, both = p.tiles_a + p.tiles_b;
    const unsigned pairs = (p.groups - p.lead) * both;
    unsigned index;
    t->is_end = false;
    t->is_first = number < before;
    if (number < before) {
        t->group = number / p.tiles_a;
        index = number - t->group * p.tiles_a;
    } else if (number - before < pairs) {
        const unsigned turn = (number - before) / both;
        index = number - before - turn * both;
        t->is_first = index < p.tiles_a;
        t->group = t->is_first ? turn + p.lead : turn;
        index -= t->is_first ? 0 : p.tiles_a;
    } else {
        const unsigned rest = number - before - pairs, turn = rest / p.tiles_b;
        t->group = p.groups - p.lead + turn;
        index = rest - turn * p.tiles_b;
        t->is_end = t->group >= p.groups;
    }
    if (t->is_end)
        return;
    const size_t slot = t->group % p.slots * p.slot;
    wi_fft_place at = t->is_first ? wi_fft_place_of(p.a.grid, index, p.a.turning)
                                  : wi_fft_place_of(p.b.grid, index, p.b.turning);
    at.in += t->is_first ? t->group * p.step_in : slot;
    at.out += t->is_first ? slot : t->group * p.step_out;
    t->at = at;
}

/* Until all tiles of a group's pass have ended. */
static __device__ void await(const unsigned *done, unsigned tiles) {
    while (wi_progress(done) < tiles)
        wi_spin();
}

/* Before a tile of the second pass reads. */
template <class T>
static __device__ void await_first(const fused_params<T> &p, unsigned group) {
    await(&p.count->done[2 * (size_t)group], p.tiles_a);
}
/* Locates a tile, and sees whether it need not wait: if it is done early, also whether what it
 * would wait for has happened. */
template <class Duo>
static __device__ void find_tile(const fused_params<typename Duo::Type> &p, unsigned number,
                                 tile *t) {
    locate(p, number, t);
    t->is_ready = t->is_end || t->is_first;
    if (Duo::finds_early && !t->is_ready)
        t->is_ready = wi_progress(&p.count->done[2 * (size_t)t->group]) >= p.tiles_a;
}
/* Before a tile of the first pass writes. */
template <class T>
static __device__ void await_slot(const fused_params<T> &p, unsigned group) {
    if (group >= p.slots)
        await(&p.count->done[2 * (size_t)(group - p.slots) + 1], p.tiles_b);
}

/* The last block makes all counters zeros again. Called by one thread. */
template <class T>
static __device__ void leave(const fused_params<T> &p) {
    __threadfence();
    if (atomicAdd(&p.count->left, 1u) + 1 < gridDim.x)
        return;
    __threadfence();
    for (size_t k = 0; k < 2 * (size_t)p.groups; k++)
        p.count->done[k] = 0;
    p.count->next = 0;
    p.count->left = 0;
}

template <class T>
static __device__ void copy_twiddles(wi_fft_number<T> *to, const wi_fft_number<T> *from,
                                     unsigned count) {
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x)
        to[i] = from[i];
}

template <class Duo>
static __global__ void __launch_bounds__(Duo::threads, Duo::blocks)
    both_passes(const __grid_constant__ fused_params<typename Duo::Type> p) {
    using number = wi_fft_number<typename Duo::Type>;
    WEFT_DYNAMIC_SHARED(shared);
    WEFT_SHARED(tile, tiles, [Duo::finds_early ? 2 : 1]); /* this one and the next, in turn */
    number *const numbers = (number *)shared;
    number *const twiddles_a = (number *)(shared + Duo::lines);
    number *const twiddles_b = Duo::has_one_table ? twiddles_a : twiddles_a + Duo::twiddles_a;
    copy_twiddles(twiddles_a, p.a.twiddles, Duo::twiddles_a);
    if (!Duo::has_one_table)
        copy_twiddles(twiddles_b, p.b.twiddles, Duo::twiddles_b);
    unsigned long long next = 0;
    if (threadIdx.x == 0)
        next = wi_take_number(&p.count->next);
    if (Duo::finds_early && threadIdx.x == 0)
        find_tile<Duo>(p, (unsigned)next, &tiles[0]);
    for (unsigned turn = 0;; turn ^= Duo::finds_early) {
        tile &now = tiles[turn];
        if (threadIdx.x == 0) {
            if (!Duo::finds_early)
                find_tile<Duo>(p, (unsigned)next, &now);
            next = now.is_end ? next : wi_take_number(&p.count->next);
            if (!now.is_ready)
                await_first(p, now.group);
        }
        __syncthreads();
        if (now.is_end)
            break;
        const wi_fft_place at = now.at;
        const bool is_first = now.is_first;
        const unsigned group = now.group;
        const auto find_next = [&] {
            if (Duo::finds_early && threadIdx.x == 0)
                find_tile<Duo>(p, (unsigned)next, &tiles[turn ^ 1]);
        };
        if (is_first)
            Duo::A::template run_all<true, false>(p.a, at, numbers, twiddles_a, [&] {
                find_next();
                if (threadIdx.x == 0)
                    await_slot(p, group);
            });
        else
            Duo::B::template run_all<false, true>(p.b, at, numbers, twiddles_b, find_next);
        __syncthreads();
        if (threadIdx.x == Duo::threads - 1) /* while thread 0 goes on */
            wi_advance(&p.count->done[2 * (size_t)group + !is_first], 1);
    }
    if (threadIdx.x == 0)
        leave(p);
}

/* ---- launches ---- */

template <class Duo>
static weft_status run_duo(weft_context *ctx, const wi_fft_pair *pair, bool queues) {
    static const char key = 0;
    fused_params<typename Duo::Type> p = {};
    size_t resident = 0;
    void *count = NULL;
    unsigned *const tiles_a = queues ? &p.tiles_a : NULL;
    unsigned *const tiles_b = queues ? &p.tiles_b : NULL;
    weft_status status = wi_fft_pass_of(ctx, &pair->first, Duo::A::radix, Duo::A::stages,
                                        Duo::A::lines, &p.a, tiles_a);
    if (status == WEFT_OK)
        status = wi_fft_pass_of(ctx, &pair->second, Duo::B::radix, Duo::B::stages, Duo::B::lines,
                                &p.b, tiles_b);
    if (status == WEFT_OK)
        status = wi_gpu_scratch(ctx, &key, sizeof(counters) + pair->groups * 2 * sizeof(unsigned),
                                &count);
    if (status != WEFT_OK || !queues)
        return status;
    status = wi_grant_shared(ctx, "both_passes", both_passes<Duo>, Duo::bytes);
    if (status == WEFT_OK)
        status = wi_resident_blocks(ctx, both_passes<Duo>, Duo::threads, Duo::bytes, &resident);
    if (status != WEFT_OK)
        return status;
    p.count = (counters *)count;
    p.step_in = pair->step_in;
    p.step_out = pair->step_out;
    p.slot = pair->slot;
    p.groups = (unsigned)pair->groups;
    p.slots = pair->slots < p.groups ? (unsigned)pair->slots : p.groups;
    p.lead = p.slots > 2 ? p.slots / 2 : 1; /* both passes wait for one as far before them */
    const size_t tiles = pair->groups * ((size_t)p.tiles_a + p.tiles_b);
    const unsigned blocks = (unsigned)(tiles < resident ? tiles : resident);
    if (tiles > most_tiles)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "weft_fft: %zu tiles are more than a launch takes; transform a smaller "
                       "batch at a time",
                       tiles);
    return WEFT_LAUNCH(both_passes<Duo>, ctx, blocks, Duo::threads, Duo::bytes, p);
}

#define DUO(...)                                                                                   \
    case duo<__VA_ARGS__>::n:                                                                      \
        return run_duo<duo<__VA_ARGS__>>(ctx, pair, queues)

template <int... radices>
using f32 = wi_fft_shape<float, 4096, 256, radices...>;
template <int... radices>
using f32_long = wi_fft_shape<float, 8192, 256, radices...>; /* 32 numbers a thread */
template <int... radices>
using f32_longest = wi_fft_shape<float, 16384, 512, radices...>; /* pieces of 128 bytes */
template <int... radices>
using f64 = wi_fft_shape<double, 4096, 256, radices...>;

static weft_status run_f32(weft_context *ctx, const wi_fft_pair *pair, bool queues) {
    switch (pair->first.n * pair->second.n) {
        DUO(f32<8, 8>, f32<8, 4>);
        DUO(f32<8, 8>, f32<8, 8>);
        DUO(f32<16, 8>, f32<8, 8>);
        DUO(f32<16, 8>, f32<16, 8>);
        DUO(f32<16, 16>, f32<16, 8>);
        DUO(f32<16, 16>, f32<16, 16>);
        DUO(f32<16, 16>, f32<8, 8, 8>);
        DUO(f32_long<32, 16>, f32_long<32, 16>, true);
        DUO(f32_long<32, 16>, f32_long<32, 32>);
    case 1 << 20:
        if (ctx->gpu->shared_optin >= duo<f32_longest<32, 32>, f32_longest<32, 32>>::bytes)
            return run_duo<duo<f32_longest<32, 32>, f32_longest<32, 32>>>(ctx, pair, queues);
        return run_duo<duo<f32_long<32, 32>, f32_long<32, 32>>>(ctx, pair, queues);
    default:
        return wi_fail(ctx, WEFT_EUNSUPPORTED, "weft_fft: no kernel for lines of %zu x %zu",
                       pair->first.n, pair->second.n);
    }
}

static weft_status run_f64(weft_context *ctx, const wi_fft_pair *pair, bool queues) {
    switch (pair->first.n * pair->second.n) {
        DUO(f64<8, 8>, f64<8, 4>);
        DUO(f64<8, 8>, f64<8, 8>);
        DUO(f64<16, 8>, f64<8, 8>);
        DUO(f64<16, 8>, f64<16, 8>);
        DUO(f64<16, 16>, f64<16, 8>);
        DUO(f64<16, 16>, f64<16, 16>);
        DUO(f64<16, 16>, f64<8, 8, 8>);
        DUO(f64<8, 8, 8>, f64<8, 8, 8>);
        DUO(f64<8, 8, 8>, f64<16, 8, 8>);
        DUO(f64<16, 8, 8>, f64<16, 8, 8>);
    default:
        return wi_fail(ctx, WEFT_EUNSUPPORTED, "weft_fft: no kernel for lines of %zu x %zu",
                       pair->first.n, pair->second.n);
    }
}

static weft_status run_pair(weft_context *ctx, const wi_fft_pair *pair, bool queues) {
    return pair->first.type == WEFT_F64 ? run_f64(ctx, pair, queues) : run_f32(ctx, pair, queues);
}

/* Powers of 2 from 2^11 to 2^20, about the square root first; of 2^17 the smaller, because then
 * fewer neighbours make whole pieces of memory in the second pass. */
static size_t pairs(weft_type type, size_t n, size_t lines[2]) {
    unsigned bits = 0;
    while ((size_t)1 << bits < n)
        bits++;
    if ((size_t)1 << bits != n || bits < 11 || bits > 20)
        return 0;
    const unsigned first = bits / 2 + (bits % 2 && bits < 17);
    const size_t points = type == WEFT_F64 || bits <= 17 ? 4096 : bits < 20 ? 8192 : 16384;
    lines[0] = points >> first;
    lines[1] = points >> (bits - first);
    return (size_t)1 << first;
}

/* What is between both passes may take a third more than between launches (an H200, 2026-11-29).
 * Two launches for what fits a cache are slower than two for eight times as much, by a third: the
 * last blocks of each leave a device empty. */
void wi_fft_add_pairs(wi_fft_engine *engine) {
    engine->group_bytes = 8 * engine->kept_bytes;
    engine->kept_bytes += engine->kept_bytes / 3;
    engine->pairs = pairs;
    engine->pair = run_pair;
    engine->plain_from = wi_fft_plain_from;
    engine->passes_bytes = (size_t)1 << 30;
}

weft_status wi_fft_fused(weft_context *ctx, const void *args) {
    wi_fft_engine engine = wi_fft_block_engine(wi_fft_kept_bytes);
    wi_fft_add_pairs(&engine);
    return wi_fft_drive(ctx, &engine, (const wi_fft_args *)args);
}
