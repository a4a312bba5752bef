/* SPDX-License-Identifier: Apache-2.0 */
/* Permutations of eight lanes that bring some of them to the front: for packing and partitioning.
 * For *_simd.c files. */
#ifndef WI_CPU_TO_FRONT_H
#define WI_CPU_TO_FRONT_H

#include <stdint.h>

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

#endif
