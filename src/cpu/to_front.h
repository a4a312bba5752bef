/* SPDX-License-Identifier: Apache-2.0 */
/* Permutations of eight lanes that bring some of them to the front: for packing and partitioning.
 * For *_simd.c files. */
#ifndef WI_CPU_TO_FRONT_H
#define WI_CPU_TO_FRONT_H

#include <stdint.h>

#include "cpu/vector.h"

/* For each mask of 8 lanes, a byte for each lane of a permutation that brings those in the mask to
 * the front: lane k goes behind the lanes before it that are also in the mask, or also not. */
#define BITS_BELOW(m, k) (uint64_t) __builtin_popcount((m) & ((1u << (k)) - 1))
#define PLACE(m, k) ((m) >> (k)&1 ? BITS_BELOW(m, k) : BITS_BELOW(m, 8) + BITS_BELOW(~(m), k))
#define LANE(m, k) ((uint64_t)(k) << (8 * PLACE(m, k)))
#define LANES_OF_2(m, k) LANE(m, k) | LANE(m, k + 1)
#define FRONT(m) LANES_OF_2(m, 0) | LANES_OF_2(m, 2) | LANES_OF_2(m, 4) | LANES_OF_2(m, 6)
#define FRONT_4(m) FRONT(m), FRONT(m + 1), FRONT(m + 2), FRONT(m + 3)
#define FRONT_16(m) FRONT_4(m), FRONT_4(m + 4), FRONT_4(m + 8), FRONT_4(m + 12)
#define FRONT_64(m) FRONT_16(m), FRONT_16(m + 16), FRONT_16(m + 32), FRONT_16(m + 48)
static const uint64_t wi_to_front[256] = {FRONT_64(0u), FRONT_64(64u), FRONT_64(128u),
                                          FRONT_64(192u)};
#undef BITS_BELOW
#undef PLACE
#undef LANE
#undef LANES_OF_2
#undef FRONT
#undef FRONT_4
#undef FRONT_16
#undef FRONT_64

#ifdef __AVX2__
/* Brings the lanes of 4 bytes that `lanes` has a bit for to the front; all keep their order. */
WI_INLINE __m256i wi_bring_to_front_4(uint64_t lanes, __m256i v) {
    const __m128i order = _mm_loadl_epi64((const __m128i *)(const void *)&wi_to_front[lanes]);
    return _mm256_permutevar8x32_epi32(v, _mm256_cvtepu8_epi32(order));
}

/* The same of lanes of 8 bytes, each of which is two of 4. */
WI_INLINE __m256i wi_bring_to_front_8(uint64_t lanes, __m256i v) {
    static const uint8_t twice[16] = {0x00, 0x03, 0x0c, 0x0f, 0x30, 0x33, 0x3c, 0x3f,
                                      0xc0, 0xc3, 0xcc, 0xcf, 0xf0, 0xf3, 0xfc, 0xff};
    return wi_bring_to_front_4(twice[lanes], v);
}
#endif

#endif
