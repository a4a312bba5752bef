/* SPDX-License-Identifier: Apache-2.0 */
/* exact sums of floats of 32 bits or less on a GPU: a float's significand is so short that an f64
 * adds many of like exponents without rounding. Each thread has 16 of them in shared memory, its
 * windows, one for every 16 exponents of f32, and adds each element to the one that its exponent
 * selects. Elements of a warp that are like each other are added in registers before that comes to
 * it: to one f64 more of each thread, the fold, which is a window that moves.
 *
 * A window begins with 1.5 2^p, as a fold does (exact_simd.h): its bits less those of its first
 * value count units of 2^(p - 52). Elements are below 2^(p - 12), so 2048 of them leave it between
 * 2^p and 2^(p+1); and the last place of the least of them is 2^(p - 51), or of a subnormal one
 * 2^-149. Elements of the fold are below 2^(p - 11), so it takes 1024, and their last places are
 * 2^(p - 52) or more. */
#include "exact/exact_chunks.cuh"

constexpr size_t windows_room = 4096; /* for the kernels' own shared memory */
constexpr int window_threads = 384;
constexpr int window_blocks = 2; /* of a multiprocessor */
constexpr int windows = 16;
constexpr int window_adds = 1024; /* to a window or a fold before it is emptied */
/* Vectors of a chunk: 16 elements. */
template <class T>
constexpr int window_vectors = sizeof(T) == 4 ? 4 : 2;

/* Exponent of the unit of window k: p - 52, with p = 16 (k + 1) - 127 + 12. */
__device__ inline int window_unit(int k) {
    return 16 * k - 151;
}

__device__ inline double window_first(int k) {
    return wi_bit_cast<double>((uint64_t)(window_unit(k) + 52 + 1023) << 52 | (uint64_t)1 << 51);
}

/* What a block has emptied its windows and folds into, by units that are 2^8 apart: sums of the low
 * 32 bits, and of the high ones. */
struct emptied {
    unsigned long long low[2 * windows], high[2 * windows];
};

/* Gives what all lanes have, in units of 2^(window_unit(0) + place), to the block. */
__device__ inline void give(emptied *to, int64_t change, int place) {
    if (__all_sync(wi_all_lanes, change == 0))
        return;
    change = wi_warp_reduce(change, [](int64_t a, int64_t b) { return a + b; });
    if (wi_lane() == 0) {
        const int64_t low = change & UINT32_MAX, high = (change - low) / ((int64_t)1 << 32);
        const int64_t unit = (int64_t)1 << place % 8;
        atomicAdd(&to->low[place / 8], (unsigned long long)(low * unit));
        atomicAdd(&to->high[place / 8], (unsigned long long)(high * unit));
    }
}

/* A thread's windows. Those of a block's threads are interleaved, so that the lanes of a warp use
 * different banks. */
struct thread_windows {
    double *mine;
    __device__ double &at(int k) const {
        return mine[k * (int)blockDim.x];
    }
    __device__ void add(uint32_t bits) const {
        at((int)(bits >> 27 & 15)) += (double)wi_bit_cast<float>(bits);
    }
    __device__ void begin() const {
#pragma unroll 1
        for (int k = 0; k < windows; k++)
            at(k) = window_first(k);
    }
    /* Gives what all lanes have to the block. */
    __device__ void empty(emptied *to) const {
#pragma unroll 1
        for (int k = 0; k < windows; k++)
            give(to, wi_bit_cast<int64_t>(at(k)) - wi_bit_cast<int64_t>(window_first(k)), 16 * k);
    }
};

/* The bits of an element as f32, of its magnitude if that is what is added. */
template <bool magnitudes, class T>
__device__ inline uint32_t window_bits(T x) {
    return wi_bit_cast<uint32_t>((float)wi_load(x)) & (magnitudes ? 0x7fffffffu : ~0u);
}

/* A lane's elements of a chunk, as f32. */
template <bool magnitudes, class T>
struct lane_floats {
    static constexpr int width = wi_vector<T>::count, count = window_vectors<T> * width;
    const wi_exact_chunk<T, window_vectors<T>> &c;
    __device__ uint32_t bits(int e) const {
        return window_bits<magnitudes>(c.element(e));
    }
    __device__ double value(int e) const {
        return (double)wi_bit_cast<float>(bits(e));
    }
};

/* What a warp adds in registers: elements below 2^top and not below 2^(top - span), and zeros. With
 * p = top + room its unit, 2^(p - 52), is their least last place, 2^(top - span - 23). */
struct register_fold {
    static constexpr int span = 18, room = 11, waits = 8;
    static constexpr int lowest = -126 + span, highest = 128;
    double s;
    int top;
    int wait; /* how many chunks go to the windows before it tries again */

    __device__ double first() const {
        return wi_bit_cast<double>((uint64_t)(top + room + 1023) << 52 | (uint64_t)1 << 51);
    }
    __device__ void begin() {
        s = first();
    }
    __device__ void start() {
        top = 1;
        wait = 0;
        begin();
    }
    __device__ void empty(emptied *to) {
        give(to, wi_bit_cast<int64_t>(s) - wi_bit_cast<int64_t>(first()),
             top + room - 52 - window_unit(0));
        begin();
    }
    /* Of all lanes. `least` is the smallest of the magnitudes less one: that of a zero is the
     * largest number there is, and does not count. */
    __device__ bool holds(uint32_t least, uint32_t largest) const {
        return largest < (uint32_t)(top + 127) << 23 &&
               least >= ((uint32_t)(top - span + 127) << 23) - 1;
    }
    __device__ bool reaches(uint32_t least, uint32_t largest, emptied *to) {
        if (__all_sync(wi_all_lanes, holds(least, largest)))
            return true;
        const uint32_t low = wi_warp_min(least), high = wi_warp_max(largest);
        const int fit = (int)(high >> 23) - 127 + 2;
        const int allowed = fit < lowest ? lowest : fit > highest ? highest : fit;
        if (allowed == top)
            return false;
        empty(to);
        top = allowed;
        begin();
        return holds(low, high);
    }
    /* Takes a chunk in all lanes or in none. */
    template <class Floats>
    __device__ bool take(const Floats &x, emptied *to) {
        if (wait > 0) {
            wait--;
            return false;
        }
        uint32_t least = UINT32_MAX, largest = 0;
#pragma unroll
        for (int e = 0; e < Floats::count; e++) {
            const uint32_t size = x.bits(e) & 0x7fffffffu;
            least = size - 1 < least ? size - 1 : least;
            largest = size > largest ? size : largest;
        }
        if (!reaches(least, largest, to)) {
            wait = waits;
            return false;
        }
#pragma unroll
        for (int e = 0; e < Floats::count; e++)
            s += x.value(e);
        return true;
    }
};

template <class Floats>
__device__ inline bool all_minus_zero(const Floats &x) {
    bool all = true;
#pragma unroll
    for (int e = 0; e < Floats::count; e++)
        all &= x.bits(e) == 0x80000000u;
    return all;
}

template <class Floats>
__device__ inline bool all_finite(const Floats &x) {
    bool all = true;
#pragma unroll
    for (int e = 0; e < Floats::count; e++)
        all &= (x.bits(e) & 0x7f800000u) != 0x7f800000u;
    return __all_sync(wi_all_lanes, all);
}

/* Adds elements of which some are infinities or NaN. Not inlined, so that the loop it is called
 * from keeps its registers. */
__device__ __attribute__((noinline)) void add_specials(thread_windows own, wi_exact_shared_sum *sum,
                                                       const uint32_t *bits, int n) {
#pragma unroll 1
    for (int e = 0; e < n; e++) {
        if ((bits[e] & 0x7f800000u) != 0x7f800000u)
            own.add(bits[e]);
        else
            wi_exact_to_sum(sum, (double)wi_bit_cast<float>(bits[e]), 1);
    }
}

/* Adds what the block has to the device's number. */
__device__ inline void gather_windows(wi_exact_shared_sum *sum, const emptied *from) {
    for (int k = (int)threadIdx.x; k < 4 * windows; k += (int)blockDim.x) {
        const bool is_low = k < 2 * windows;
        const int at = k % (2 * windows), exponent = window_unit(0) + 8 * at + (is_low ? 0 : 32);
        const int64_t value = (int64_t)(is_low ? from->low[at] : from->high[at]);
        const int first = (exponent - WI_EXACT_UNIT) / 32;
        int64_t word[3] = {};
        wi_exact_add_integer(word, value < 0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value,
                             exponent - 32 * first);
        wi_exact_to_words(sum, first, word);
    }
}

/* A thread's part of what its warp does; its lanes have the same `added`. */
template <bool magnitudes, class T>
struct window_worker {
    using Floats = lane_floats<magnitudes, T>;
    wi_exact_shared_sum *sum;
    emptied *block;
    thread_windows own;
    register_fold fold;
    int added;  /* elements of each lane since all was emptied */
    bool other; /* something else than -0.0 was added */

    __device__ window_worker(wi_exact_shared_sum *to, emptied *of_block, double *mine)
        : sum(to), block(of_block), own{mine}, added(0), other(false) {
        own.begin();
        fold.start();
    }
    __device__ void empty() {
        fold.empty(block);
        own.empty(block);
        own.begin();
        added = 0;
    }
    __device__ void add_by_windows(const Floats &floats) const {
        if (all_finite(floats)) {
#pragma unroll
            for (int e = 0; e < Floats::count; e++)
                own.add(floats.bits(e));
        } else {
            uint32_t bits[Floats::count];
#pragma unroll
            for (int e = 0; e < Floats::count; e++)
                bits[e] = floats.bits(e);
            add_specials(own, sum, bits, Floats::count);
        }
    }
    __device__ void add_chunk(const wi_exact_chunk<T, window_vectors<T>> &c) {
        const Floats floats = {c};
        if (!fold.take(floats, block))
            add_by_windows(floats);
        if (!other)
            other = !all_minus_zero(floats);
        added += Floats::count;
        if (added > window_adds - Floats::count)
            empty();
    }
};

template <bool magnitudes, class T>
__global__ void __launch_bounds__(window_threads, window_blocks)
    exact_windows(wi_exact_params p, wi_exact_shares shares) {
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(emptied, block, );
    const wi_exact_array<T, window_vectors<T>> x(p.x, p.n);
    for (int e = (int)threadIdx.x; e < 2 * windows; e += (int)blockDim.x)
        block.low[e] = block.high[e] = 0;
    window_worker<magnitudes, T> worker(p.sum, &block, (double *)memory + threadIdx.x);
    __syncthreads();
    wi_exact_chunk<T, window_vectors<T>> zeros;
    zeros.fill((T)-0.0f);
    wi_exact_each_chunk(
        shares, p.sum, zeros,
        [&](wi_exact_chunk<T, window_vectors<T>> *c, size_t k) { x.load(c, k, (T)-0.0f); },
        [&](const wi_exact_chunk<T, window_vectors<T>> &c) { worker.add_chunk(c); });
    worker.empty();
    if (worker.other)
        wi_exact_note_other(p.sum);
    __syncthreads();
    gather_windows(p.sum, &block);
    wi_exact_end(p);
}

template <bool magnitudes, class T>
static weft_status launch_windows(weft_context *ctx, const wi_exact_args *args) {
    constexpr size_t each = windows * sizeof(double);
    constexpr size_t per_lane = window_vectors<T> * wi_vector<T>::count;
    const size_t lanes = (args->n + per_lane - 1) / per_lane;
    const size_t room = (ctx->gpu->shared_optin - windows_room) / window_blocks / each / 32 * 32;
    const int most_threads = room < (size_t)window_threads ? (int)room : window_threads;
    const int threads = wi_exact_threads_for(ctx, lanes, most_threads);
    const size_t useful = (lanes + (size_t)threads - 1) / (size_t)threads;
    const size_t most = window_blocks * (size_t)ctx->gpu->multiprocessors;
    const size_t blocks = useful < most ? useful ? useful : 1 : most;
    const wi_exact_shares shares = wi_exact_shares_of(
        (lanes + 31) / 32, blocks * (size_t)(threads / 32), per_lane * sizeof(T));
    void *scratch;
    const weft_status status =
        wi_gpu_scratch(ctx, &wi_exact_ladder, sizeof(wi_exact_shared_sum), &scratch);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH((exact_windows<magnitudes, T>), ctx, (unsigned)blocks, threads,
                       each * (size_t)threads, wi_exact_params_of(args, scratch), shares);
}

weft_status wi_exact_windows(weft_context *ctx, const void *arguments) {
    const wi_exact_args *const args = (const wi_exact_args *)arguments;
    const bool magnitudes = args->terms == WI_EXACT_NRM1;
    switch (args->type) {
    case WEFT_F16:
        return magnitudes ? launch_windows<true, __half>(ctx, args)
                          : launch_windows<false, __half>(ctx, args);
    case WEFT_BF16:
        return magnitudes ? launch_windows<true, __nv_bfloat16>(ctx, args)
                          : launch_windows<false, __nv_bfloat16>(ctx, args);
    default:
        return magnitudes ? launch_windows<true, float>(ctx, args)
                          : launch_windows<false, float>(ctx, args);
    }
}
