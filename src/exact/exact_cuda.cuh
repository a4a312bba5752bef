/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA rungs of exact share: the wide number in memory of the device, to which blocks add
 * by atomics, and how the last block ends a call. */
#ifndef WI_EXACT_CUDA_CUH
#define WI_EXACT_CUDA_CUH

#include "cuda/floats.cuh"
#include "cuda/launch.cuh"
#include "cuda/memory.cuh"
#include "cuda/ticket.cuh"
#include "cuda/types.cuh"
#include "cuda/warp.cuh"
#include "exact/exact.h"

/* Scratch, which is all zeros between calls. */
struct wi_exact_shared_sum {
    unsigned ticket; /* counts the blocks that have ended; returns to 0 */
    unsigned next;   /* counts the runs of chunks that warps have asked for; likewise */
    unsigned unused[30];
    unsigned long long word[WI_EXACT_WORDS];
};

struct wi_exact_params {
    const void *x, *y;
    size_t n;
    wi_exact_shared_sum *sum;
    void *result; /* as in wi_exact_args */
    int64_t *words;
    weft_type result_type;
    bool root, last;
};

inline wi_exact_params wi_exact_params_of(const wi_exact_args *args, void *scratch) {
    return {args->x,           args->terms == WI_EXACT_DOT ? args->y : args->x,
            args->n,           (wi_exact_shared_sum *)scratch,
            args->result,      args->sum,
            args->result_type, args->root,
            args->last};
}

/* Adds to a word of the device's number, modulo 2^64. */
__device__ inline void wi_exact_to_word(wi_exact_shared_sum *sum, int k, int64_t value) {
    if (value != 0)
        atomicAdd(&sum->word[k], (unsigned long long)value);
}

/* Adds a number of a few words, of which the first has number `first`. */
template <int count>
__device__ inline void wi_exact_to_words(wi_exact_shared_sum *sum, int first,
                                         const int64_t (&value)[count]) {
    for (int k = 0; k < count; k++)
        wi_exact_to_word(sum, first + k, value[k]);
}

/* Adds x y for any f64, or only counts it if it is not finite. */
__device__ inline void wi_exact_to_sum(wi_exact_shared_sum *sum, double x, double y) {
    const uint64_t a = wi_exact_bits(x), b = wi_exact_bits(y);
    const double product = x * y;
    wi_exact_to_word(sum, WI_EXACT_OTHER, wi_exact_bits(product) != (uint64_t)1 << 63);
    if ((a >> 52 & 2047) == 2047 || (b >> 52 & 2047) == 2047) {
        const uint64_t bits = wi_exact_bits(product);
        const bool is_nan = (bits & (((uint64_t)1 << 52) - 1)) != 0;
        wi_exact_to_word(sum,
                         is_nan       ? WI_EXACT_NAN
                         : bits >> 63 ? WI_EXACT_MINUS
                                      : WI_EXACT_PLUS,
                         1);
        return;
    }
    uint64_t m, n;
    const int exponent = wi_exact_split(a, &m) + wi_exact_split(b, &n);
    const wi_exact_u128 whole = (wi_exact_u128)m * n;
    const uint64_t low = (uint64_t)whole, high = (uint64_t)(whole >> 64);
    const unsigned first = (unsigned)(exponent - WI_EXACT_UNIT) / 32;
    int64_t value[5] = {};
    wi_exact_add_integer(value, (a ^ b) >> 63, low, exponent - 32 * (int)first);
    wi_exact_add_integer(value + 2, (a ^ b) >> 63, high, exponent - 32 * (int)first);
    wi_exact_to_words(sum, (int)first, value);
}

/* Tells that something else than -0.0 was added. */
__device__ inline void wi_exact_note_other(wi_exact_shared_sum *sum) {
    if (wi_glance(&sum->word[WI_EXACT_OTHER]) == 0)
        wi_exact_to_word(sum, WI_EXACT_OTHER, 1);
}

/* Ends a call, in the last block: carries, and rounds or stores the words if no segment follows. */
__device__ inline void wi_exact_end(const wi_exact_params &p) {
    WEFT_SHARED(int64_t, word, [WI_EXACT_WORDS]);
    WEFT_SHARED(int, range, [2]); /* the first word and the last that are not 0 */
    WEFT_SHARED(wi_exact_extent, extent, );
    const int me = (int)threadIdx.x, step = (int)blockDim.x;
    if (blockIdx.x == 0 && me == 0)
        wi_exact_to_word(p.sum, WI_EXACT_COUNT, (int64_t)p.n);
    __syncthreads();
    if (!wi_ends_last(&p.sum->ticket))
        return;
    if (me == 0) {
        p.sum->next = 0;
        range[0] = WI_EXACT_DIGITS;
        range[1] = -1;
    }
    __syncthreads();
    for (int k = me; k < WI_EXACT_WORDS; k += step) {
        word[k] = (int64_t)wi_glance(&p.sum->word[k]);
        if (word[k] != 0 && k < WI_EXACT_DIGITS) {
            atomicMin(&range[0], k);
            atomicMax(&range[1], k);
        }
    }
    __syncthreads();
    if (me == 0) {
        extent = wi_exact_carry_within(word, range[0] <= range[1] ? range[0] : 0, range[1]);
        if (p.last && p.result)
            wi_exact_store(p.result_type,
                           wi_exact_round_within(word, extent, p.result_type, p.root), p.result);
    }
    __syncthreads();
    for (int k = me; k < WI_EXACT_WORDS; k += step) {
        const bool is_one = extent.negative && k >= extent.end && k < WI_EXACT_DIGITS;
        const int64_t value = is_one ? wi_exact_ones(k) : word[k];
        if (p.last && p.words)
            p.words[k] = value;
        p.sum->word[k] = p.last ? 0 : (unsigned long long)value;
    }
}

/* How many threads of a block are worth it for that many chunks: enough that every multiprocessor
 * has a block. */
inline int wi_exact_threads_for(const weft_context *ctx, size_t chunks, int most) {
    const size_t each = chunks / (size_t)ctx->gpu->multiprocessors / 32 * 32 + 32;
    return each < (size_t)most ? (int)each : most;
}

#endif
