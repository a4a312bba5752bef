/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes, four in a word: sums of products, and the least and the largest of many. */
#ifndef WI_BYTES_CUH
#define WI_BYTES_CUH

#include <cuda_fp16.h>
#include <stdint.h>

#include "cuda/bits.cuh"

/* sum + the four products of the bytes of a and b, all unsigned. */
__device__ inline uint32_t wi_add_products(uint32_t a, uint32_t b, uint32_t sum) {
#ifdef WEFT_EMU
    for (unsigned k = 0; k < 32; k += 8)
        sum += (a >> k & 0xff) * (b >> k & 0xff);
    return sum;
#else
    return __dp4a(a, b, sum);
#endif
}

/* Four of the eight bytes of a (0 to 3) and b (4 to 7): those that the digits of `which` name, the
 * last digit for the lowest. */
__device__ inline uint32_t wi_pick_bytes(uint32_t a, uint32_t b, uint32_t which) {
#ifdef WEFT_EMU
    const uint64_t all = (uint64_t)b << 32 | a;
    uint32_t picked = 0;
    for (unsigned k = 0; k < 4; k++)
        picked |= (uint32_t)(all >> 8 * (which >> 4 * k & 7) & 0xff) << 8 * k;
    return picked;
#else
    return __byte_perm(a, b, which);
#endif
}

/* Byte k of a word as a number of 2^-24: with a byte of zeros above, it is the f16 of that value,
 * which one instruction makes an f32. One more sets two bytes apart. Of conversions from integers
 * few can be made at a time. */
constexpr float wi_byte_unit = 0x1p-24f;
__device__ inline float wi_byte_units(uint32_t word, int k) {
#ifdef WEFT_EMU
    return (float)(word >> 8 * k & 0xff) * wi_byte_unit;
#else
    const uint32_t two = k % 2 ? __byte_perm(word, 0, 0x4341) : word & 0x00ff00ffu;
    const __half2 numbers = wi_bit_cast<__half2>(two);
    return k < 2 ? __low2float(numbers) : __high2float(numbers);
#endif
}

/* Whole numbers as bytes, the first in the lowest: at least 0 and at most 255. (Two instructions on
 * 9.0.) */
__device__ inline uint32_t wi_pack_bytes(int32_t a, int32_t b, int32_t c, int32_t d) {
#ifdef WEFT_EMU
    const auto byte = [](int32_t n) { return (uint32_t)(n < 0 ? 0 : n > 255 ? 255 : n); };
    return byte(a) | byte(b) << 8 | byte(c) << 16 | byte(d) << 24;
#else
    uint32_t high, bytes;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;" : "=r"(high) : "r"(d), "r"(c));
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(b), "r"(a), "r"(high));
    return bytes;
#endif
}

/* The same of numbers, rounded to nearest, ties to even; NaN becomes 0. */
__device__ inline uint32_t wi_pack_bytes(float a, float b, float c, float d) {
#ifdef WEFT_EMU
    const float all[4] = {a, b, c, d};
    uint32_t bytes = 0;
    for (int k = 0; k < 4; k++) {
        const float low = all[k] > 0 ? all[k] : 0, v = low < 255 ? low : 255;
        bytes |= (wi_bit_cast<uint32_t>(v + 0x1.8p23f) & 0xff) << 8 * k;
    }
    return bytes;
#else
    return wi_pack_bytes(__float2int_rn(a), __float2int_rn(b), __float2int_rn(c),
                         __float2int_rn(d));
#endif
}

/* The top bits of the bytes of a word that are `byte`: right up to the first of them, and 0 if
 * there is none. */
__device__ inline uint32_t wi_bytes_that_are(uint8_t byte, uint32_t word) {
    const uint32_t apart = word ^ byte * 0x01010101u;
    return (apart - 0x01010101u) & ~apart & 0x80808080u;
}

/* Of two halves of a word at a time, each a number of 16 bits, the smaller or the larger. */
__device__ inline uint32_t wi_min_halves(uint32_t a, uint32_t b) {
#ifdef WEFT_EMU
    const uint32_t low = (a & 0xffff) < (b & 0xffff) ? a & 0xffff : b & 0xffff;
    return low | (a >> 16 < b >> 16 ? a >> 16 : b >> 16) << 16;
#else
    return __vminu2(a, b);
#endif
}
__device__ inline uint32_t wi_max_halves(uint32_t a, uint32_t b) {
#ifdef WEFT_EMU
    const uint32_t low = (a & 0xffff) > (b & 0xffff) ? a & 0xffff : b & 0xffff;
    return low | (a >> 16 > b >> 16 ? a >> 16 : b >> 16) << 16;
#else
    return __vmaxu2(a, b);
#endif
}

/* The same of halves with a sign. */
__device__ inline uint32_t wi_min_signed_halves(uint32_t a, uint32_t b) {
#ifdef WEFT_EMU
    const uint32_t signs = 0x80008000u;
    return wi_min_halves(a ^ signs, b ^ signs) ^ signs;
#else
    return __vmins2(a, b);
#endif
}

/* The least and the largest of unsigned bytes. Those at even places and those at odd ones are kept
 * apart, in halves of 16 bits: the odd ones with what is below them, which does not change their
 * order. */
struct wi_byte_range {
    uint32_t even_least = 0xffffffffu, even_most = 0, odd_least = 0xffffffffu, odd_most = 0;

    __device__ void take(uint32_t word) {
        const uint32_t even = word & 0x00ff00ffu;
        even_least = wi_min_halves(even_least, even);
        even_most = wi_max_halves(even_most, even);
        odd_least = wi_min_halves(odd_least, word);
        odd_most = wi_max_halves(odd_most, word);
    }
    __device__ uint32_t least() const {
        const uint32_t halves = wi_min_halves(even_least, odd_least >> 8 & 0x00ff00ffu);
        const uint32_t low = halves & 0xffff, high = halves >> 16;
        return low < high ? low : high;
    }
    __device__ uint32_t most() const {
        const uint32_t halves = wi_max_halves(even_most, odd_most >> 8 & 0x00ff00ffu);
        const uint32_t low = halves & 0xffff, high = halves >> 16;
        return low > high ? low : high;
    }
};

#endif
