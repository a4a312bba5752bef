/* SPDX-License-Identifier: Apache-2.0 */
/* Q, which mixes unknowns: H Q y = c and z = Q y. Of 2^k unknowns it is a product of k levels of
 * butterflies, of unknowns whose numbers differ in one bit: a + s b and s a - b, with a random sign
 * of s for each. Of n, not a power of two, it is that of the first 2^k < n, of the last and of the
 * first again, or more of these, so that all meet all. Each column of H Q is a sum of many columns
 * of H, so that some hundred rows represent all; and as signs are random its leading blocks are as
 * regular as H, however few elements H has. (With s = 1 and one sign for each unknown, of a
 * Hadamard matrix, many are not.) */
#ifndef WI_SOLVE_MIX_H
#define WI_SOLVE_MIX_H

#include "solve/system.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wi_mixed_part {
    size_t first;
    int levels;
    uint32_t salt; /* of its signs */
} wi_mixed_part;

enum {
    WI_MIXED_PARTS = 5,
    WI_MIXED_SIZES = 7 /* different s, in turn; each is a multiple of 1/16 */
};

/* 16 s of a level. */
#ifdef __CUDACC__
#    define WI_MIX_BOTH __host__ __device__
#else
#    define WI_MIX_BOTH
#endif
WI_MIX_BOTH static inline int wi_mixed_size(int level) {
    return (int)(UINT64_C(0x0f0d0b080e0a0c) >> level % WI_MIXED_SIZES * 8 & 0xff);
}

/* Qt of n unknowns is that of part 0, then of part 1 ...; returns how many there are. */
int wi_mixed_parts(size_t n, wi_mixed_part *part);

/* Each part is divided by 2^this, so that it is orthogonal but for a factor between 1 and 2. */
int wi_mixed_power(int levels);

/* The sign of the determinant of Q, and the logarithm of its size. */
int wi_mixed_sign(size_t n, double *log_size);

/* f32 vectors of n elements, of which `count` begin `apart` from each other: element j of one is
 * at j * across. */
typedef struct wi_mixed_vectors {
    size_t n, count;
    float *p;
    size_t across, apart;
    /* NULL: these are what they are at first. Else, where Q has one part, of at least two unknowns,
     * f64: element j of vector i at i + j * source_across. */
    const double *source;
    size_t source_across;
} wi_mixed_vectors;

/* x = Qt x for each, or x = Q x. Queued, on a GPU. */
weft_status wi_mix(weft_context *ctx, const wi_mixed_vectors *x, bool transposed);

/* d = Qt d or d = Q d, `count` vectors; H Q to f; and its factors. Of a system that is mixed. */
weft_status wi_system_mix(wi_system *s, size_t count, bool transposed);
weft_status wi_system_fill_mixed(wi_system *s);
weft_status wi_system_factor_mixed(wi_system *s);

/* Random bits. */
WI_MIX_BOTH static inline uint32_t wi_mixed_bits(uint32_t at, uint32_t salt) {
    uint32_t h = at * 0x9e3779b9u + salt;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

#ifdef __cplusplus
}
#endif
#endif
