/* SPDX-License-Identifier: Apache-2.0 */
/* random: numbers by the generator Philox4x32-10 of Salmon, Moraes, Dror and Shaw (2011), which
 * makes each number from its position alone.
 *
 * A seed chooses one of 2^64 endless sequences, and `offset` the element at which an array begins:
 * calls with offsets 0 and n give what one call for 2 n elements gives, on every place and with any
 * number of threads, GPUs or ranks, bit for bit. Sequences of different seeds are independent; so
 * take another seed, or go on with the offset, for each array.
 *
 * The sequence. Block k (k = 0, 1, ...) is the four words of 32 bits that Philox makes of the
 * counter (k mod 2^32, k / 2^32, 0, 0) and the key (seed mod 2^32, seed / 2^32). The words of all
 * blocks, in order, are u32 elements 0, 1, 2, ...; two of them, the first the lower, are a u64
 * element.
 *
 * x may be host or device memory and needs no alignment beyond that of C's own types. On host
 * memory a call returns when the answer is there; on device memory it is queued on the context's
 * stream. Over ranks (place mpi) every rank passes its part of x, and the parts continue the
 * sequence in the order of the ranks; the other arguments are the same on all. */
#ifndef WEFT_RANDOM_H
#define WEFT_RANDOM_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every bit is random; any integer type. Elements of 8 and 16 bits are the bytes of the words, the
 * lowest first. */
WEFT_API weft_status weft_random_bits(weft_context *ctx, weft_type type, size_t n, uint64_t seed,
                                      uint64_t offset, void *x);

/* Integers from *low to *high, both included, all equally likely: no remainder is taken, what would
 * favour some is drawn again (from counters whose third word is 1, 2, ...). Any integer type; low
 * and high are elements of it in host memory, *low <= *high. An element is made of one u32 of the
 * sequence if high - low < 2^32, else of one u64. */
WEFT_API weft_status weft_random_integers(weft_context *ctx, weft_type type, size_t n,
                                          const void *low, const void *high, uint64_t seed,
                                          uint64_t offset, void *x);

/* Floats with 0 <= x < 1: the first 24 bits of a u32 of the sequence, times 2^-24, for f32, and the
 * first 53 bits of a u64, times 2^-53, for f64. Other types are WEFT_EUNSUPPORTED; weft_convert
 * makes them. */
WEFT_API weft_status weft_random_uniform(weft_context *ctx, weft_type type, size_t n, uint64_t seed,
                                         uint64_t offset, void *x);

/* Normally distributed floats with mean 0 and variance 1, f32 and f64, by Box and Muller: elements
 * 2 k and 2 k + 1 are r cos(2 pi v) and r sin(2 pi v), where r = sqrt(-2 log u), and u in (0, 1]
 * and v in [0, 1) are made of two elements a and b of the sequence: u32 for f32, u = (a + 1) 2^-32
 * and v = b 2^-32; u64 for f64, u = (a' + 1) 2^-53 and v = b' 2^-53, where a' and b' are the first
 * 53 bits. The arithmetic is in the type of x, of the same bits on every place: an f32 is at most 6
 * units in the last place from the formula's value, an f64 at most 1e-15 (0.1 + its magnitude). No
 * f32 is beyond 6.7, and no f64 beyond 8.6. */
WEFT_API weft_status weft_random_normal(weft_context *ctx, weft_type type, size_t n, uint64_t seed,
                                        uint64_t offset, void *x);

/* x = the numbers 0 ... n - 1 in an order that the seed chooses; of u32, u64, i32 or i64, large
 * enough for n - 1. Up to 1024 numbers all orders are equally likely; of more, one of 2^64 is taken
 * that a Feistel network makes of each position alone, so that no memory is needed. Over ranks n
 * counts this rank's elements, as elsewhere, and the numbers are those below the sum of all n. */
WEFT_API weft_status weft_random_permutation(weft_context *ctx, weft_type type, size_t n,
                                             uint64_t seed, void *x);

#ifdef __cplusplus
}
#endif
#endif
