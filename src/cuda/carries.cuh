/* SPDX-License-Identifier: Apache-2.0 */
/* Carries that tiles post for each other in memory (lookback.cuh), each word with the number of the
 * launch, by which a reader sees whether it is there yet. */
#ifndef WI_CARRIES_CUH
#define WI_CARRIES_CUH

#include "cuda/bits.cuh"
#include "cuda/memory.cuh"

/* The words of a carry: one with 8 bytes of it, or several with 12 each. */
template <class Carry>
constexpr int wi_carry_words = sizeof(Carry) <= 8 ? 1 : (sizeof(Carry) + 11) / 12;

/* Conversions of a carry of one word to and from the 8 bytes that tiles and calls exchange. */
template <class Carry>
__host__ __device__ inline uint64_t wi_carry_bits(Carry c) {
    if constexpr (wi_traits<Carry>::is_float)
        return wi_bit_cast<uint64_t>(c);
    else
        return (uint64_t)c;
}
template <class Carry>
__host__ __device__ inline Carry wi_carry_from(uint64_t bits) {
    if constexpr (wi_traits<Carry>::is_float)
        return wi_bit_cast<Carry>(bits);
    else
        return (Carry)bits;
}

/* A carry as tiles exchange it: the words, and whether they are those of this launch. A word of
 * several has the epoch in the upper half of its flag, and 4 bytes of the carry in the lower. */
template <class Carry>
struct wi_posted {
    static constexpr int words = wi_carry_words<Carry>;
    wi_pair word[words];

    __device__ bool is_in(uint64_t epoch) const {
        if constexpr (words == 1)
            return word[0].flag == epoch;
        bool in = true;
#pragma unroll
        for (int k = 0; k < words; k++)
            in = in && (uint32_t)(word[k].flag >> 32) == (uint32_t)epoch;
        return in;
    }
    __device__ Carry carry() const {
        if constexpr (words == 1) {
            return wi_carry_from<Carry>(word[0].value);
        } else {
            Carry c;
            uint32_t raw[3 * words];
#pragma unroll
            for (int k = 0; k < words; k++) {
                raw[3 * k] = (uint32_t)word[k].value;
                raw[3 * k + 1] = (uint32_t)(word[k].value >> 32);
                raw[3 * k + 2] = (uint32_t)word[k].flag;
            }
            memcpy(&c, raw, sizeof c);
            return c;
        }
    }
};

/* A carry that a warp has looked at: it means nothing if it is not in yet. */
template <class Carry>
struct wi_seen {
    Carry carry;
    bool in;
};
template <class Carry>
__device__ inline wi_seen<Carry> wi_seen_of(const wi_posted<Carry> &posted, uint64_t epoch) {
    return {posted.carry(), posted.is_in(epoch)};
}

/* An array of posted carries: the first words of all, then the second ones, and so on, so that
 * lanes that read neighbours read whole sectors. */
struct wi_posts {
    wi_pair *word;
    uint64_t count;
};
template <class Carry>
__device__ inline wi_posted<Carry> wi_read_posted(const wi_posts &posts, uint64_t at) {
    wi_posted<Carry> p;
#pragma unroll
    for (int k = 0; k < wi_carry_words<Carry>; k++)
        p.word[k] = wi_read_pair(&posts.word[k * posts.count + at]);
    return p;
}
template <class Carry>
__device__ inline void wi_post(const wi_posts &posts, uint64_t at, const Carry &carry,
                               uint64_t epoch) {
    constexpr int words = wi_carry_words<Carry>;
    if constexpr (words == 1) {
        wi_write_pair(&posts.word[at], wi_carry_bits(carry), epoch);
    } else {
        uint32_t raw[3 * words] = {};
        memcpy(raw, &carry, sizeof carry);
#pragma unroll
        for (int k = 0; k < words; k++)
            wi_write_pair(&posts.word[k * posts.count + at],
                          raw[3 * k] | (uint64_t)raw[3 * k + 1] << 32,
                          epoch << 32 | raw[3 * k + 2]);
    }
}

#endif
