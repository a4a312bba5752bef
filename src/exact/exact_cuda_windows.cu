/* SPDX-License-Identifier: Apache-2.0 */
/* exact sums of floats of 32 bits or less on a GPU: a float's significand is so short that an f64
 * adds many of like exponents without rounding. Each thread has 16 of them in shared memory, its
 * windows, one for every 16 exponents of f32, and adds each element to the one that its exponent
 * selects. So all data take the same time.
 *
 * A window begins with 1.5 2^p, as a fold does (exact_simd.h): its bits less those of its first
 * value count units of 2^(p - 52). Elements are below 2^(p - 12), so 2048 of them leave it between
 * 2^p and 2^(p+1); and the last place of the least of them is 2^(p - 51), or of a subnormal one
 * 2^-149. */
#include "exact/exact_cuda.cuh"

constexpr size_t static_room = 4096; /* for the kernels' own shared memory */
constexpr int window_threads = 512;
constexpr int window_blocks = 2; /* of a multiprocessor */
constexpr int windows = 16;
constexpr int window_adds = 2048;
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

/* What a block has emptied its windows into: sums of the low 32 bits, and of the high ones. */
struct emptied {
    unsigned long long low[windows], high[windows];
};

/* A thread's windows; those of the block are interleaved, so that its lanes never meet in a bank.
 */
struct thread_windows {
    double *mine;
    __device__ double &at(int k) const {
        return mine[k * (int)blockDim.x];
    }
    __device__ void add(uint32_t bits) const {
        at((int)(bits >> 27 & 15)) += (double)wi_bit_cast<float>(bits);
    }
    __device__ void begin() const {
        for (int k = 0; k < windows; k++)
            at(k) = window_first(k);
    }
    /* Gives what all lanes have to the block. */
    __device__ void empty(emptied *to) const {
        for (int k = 0; k < windows; k++) {
            int64_t change = wi_bit_cast<int64_t>(at(k)) - wi_bit_cast<int64_t>(window_first(k));
            if (__all_sync(wi_all_lanes, change == 0))
                continue;
            change = wi_warp_reduce(change, [](int64_t a, int64_t b) { return a + b; });
            if (wi_lane() == 0) {
                const int64_t low = change & UINT32_MAX;
                atomicAdd(&to->low[k], (unsigned long long)low);
                atomicAdd(&to->high[k], (unsigned long long)((change - low) / ((int64_t)1 << 32)));
            }
        }
    }
};

/* The bits of an element as f32, of its magnitude if that is what is added. */
template <bool magnitudes, class T>
__device__ inline uint32_t window_bits(T x) {
    return wi_bit_cast<uint32_t>((float)wi_load(x)) & (magnitudes ? 0x7fffffffu : ~0u);
}

/* Adds a chunk; tells whether anything in it was not -0.0. */
template <bool magnitudes, class T>
__device__ inline bool add_to_windows(const thread_windows &own, wi_exact_shared_sum *sum,
                                      const wi_exact_chunk<T, window_vectors<T>> &c) {
    constexpr int width = wi_vector<T>::count, elements = window_vectors<T> * width;
    uint32_t largest = 0;
#pragma unroll
    for (int e = 0; e < elements; e++) {
        const uint32_t size = window_bits<magnitudes>(c.at[e / width].at[e % width]) & 0x7fffffffu;
        largest = size > largest ? size : largest;
    }
    const bool finite = largest < 0x7f800000u;
    bool other = largest != 0;
#pragma unroll
    for (int e = 0; e < elements; e++) {
        const uint32_t bits = window_bits<magnitudes>(c.at[e / width].at[e % width]);
        if (finite || (bits & 0x7f800000u) != 0x7f800000u)
            own.add(bits);
        else
            wi_exact_to_sum(sum, (double)wi_bit_cast<float>(bits), 1);
        if (largest == 0)
            other |= bits != 0x80000000u;
    }
    return other;
}

/* Adds what the block has to the device's number. */
__device__ inline void gather_windows(wi_exact_shared_sum *sum, const emptied *from) {
    for (int k = (int)threadIdx.x; k < 2 * windows; k += (int)blockDim.x) {
        const int window = k % windows, exponent = window_unit(window) + (k < windows ? 0 : 32);
        const int64_t value = (int64_t)(k < windows ? from->low[window] : from->high[window]);
        const int first = (exponent - WI_EXACT_UNIT) / 32;
        int64_t word[3] = {};
        wi_exact_add_integer(word, value < 0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value,
                             exponent - 32 * first);
        wi_exact_to_words(sum, first, word);
    }
}

template <bool magnitudes, class T>
__global__ void __launch_bounds__(window_threads, window_blocks) exact_windows(wi_exact_params p) {
    using Tiles = wi_exact_tiles<T, window_vectors<T>>;
    constexpr int chunk_adds = window_vectors<T> * wi_vector<T>::count;
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(emptied, block, );
    const thread_windows own = {(double *)memory + threadIdx.x};
    const Tiles x(p.x, p.n);
    wi_exact_chunk<T, window_vectors<T>> now, next;
    int added = 0;
    bool other = false;
    x.load(&now, blockIdx.x, (T)-0.0f);
    own.begin();
    for (int k = (int)threadIdx.x; k < windows; k += (int)blockDim.x)
        block.low[k] = block.high[k] = 0;
    __syncthreads();
    for (size_t tile = blockIdx.x; tile * Tiles::per_tile() < p.n; tile += gridDim.x) {
        x.load(&next, tile + gridDim.x, (T)-0.0f);
        other |= add_to_windows<magnitudes>(own, p.sum, now);
        added += chunk_adds;
        if (added > window_adds - chunk_adds) {
            own.empty(&block);
            own.begin();
            added = 0;
        }
        now = next;
    }
    own.empty(&block);
    if (other)
        wi_exact_note_other(p.sum);
    __syncthreads();
    gather_windows(p.sum, &block);
    wi_exact_end(p);
}

template <bool magnitudes, class T>
static weft_status launch(weft_context *ctx, const wi_exact_args *args) {
    constexpr size_t each = windows * sizeof(double);
    constexpr size_t per_chunk = window_vectors<T> * wi_vector<T>::count;
    const size_t chunks = (args->n + per_chunk - 1) / per_chunk;
    const size_t room = (ctx->gpu->shared_optin - static_room) / window_blocks / each / 32 * 32;
    const int most_threads = room < (size_t)window_threads ? (int)room : window_threads;
    const int threads = wi_exact_threads_for(ctx, chunks, most_threads);
    const size_t useful = (chunks + (size_t)threads - 1) / (size_t)threads;
    const size_t most = window_blocks * (size_t)ctx->gpu->multiprocessors;
    const size_t blocks = useful < most ? useful ? useful : 1 : most;
    void *scratch;
    const weft_status status =
        wi_gpu_scratch(ctx, &wi_exact_ladder, sizeof(wi_exact_shared_sum), &scratch);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH((exact_windows<magnitudes, T>), ctx, (unsigned)blocks, threads,
                       each * (size_t)threads, wi_exact_params_of(args, scratch));
}

weft_status wi_exact_windows(weft_context *ctx, const void *arguments) {
    const wi_exact_args *const args = (const wi_exact_args *)arguments;
    const bool magnitudes = args->terms == WI_EXACT_NRM1;
    switch (args->type) {
    case WEFT_F16:
        return magnitudes ? launch<true, __half>(ctx, args) : launch<false, __half>(ctx, args);
    case WEFT_BF16:
        return magnitudes ? launch<true, __nv_bfloat16>(ctx, args)
                          : launch<false, __nv_bfloat16>(ctx, args);
    default:
        return magnitudes ? launch<true, float>(ctx, args) : launch<false, float>(ctx, args);
    }
}
