/* SPDX-License-Identifier: Apache-2.0 */
/* Small transposes for one instruction set. Tiles are transposed in registers: 4 x 4 elements of 4
 * or 8 bytes; of narrower ones as many columns as make groups of 8 bytes. */
#include "gemm/transpose_simd.h"

#include "cpu/stream.h"

typedef unsigned char bytes16 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint16_t halves8 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint32_t words4 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t longs2 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t longs4 __attribute__((vector_size(32), aligned(1), may_alias));
typedef uint64_t long1 __attribute__((aligned(1), may_alias));

typedef struct word3 {
    unsigned char bytes[3];
} word3;
typedef struct word12 {
    unsigned char bytes[12];
} word12;
typedef uint16_t word2 __attribute__((aligned(1), may_alias));
typedef uint32_t word4 __attribute__((aligned(1), may_alias));

/* The elements of the lower halves of a and b in turn, and those of the upper ones. */
#define LOW_8(a, b)                                                                                \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_8(a, b)                                                                               \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOW_16(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_16(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOW_32(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH_32(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)

/* 16 rows of 8 columns of bytes. */
WI_INLINE void turn_tile_1(const unsigned char *x, size_t ld, unsigned char *to, size_t step) {
    halves8 pair[8]; /* columns 0 and 1, low and high rows; 2 and 3; ... */
    words4 four[8];
    for (int k = 0; k < 4; k++) {
        const bytes16 a = *(const bytes16 *)(x + (size_t)(2 * k) * ld);
        const bytes16 b = *(const bytes16 *)(x + (size_t)(2 * k + 1) * ld);
        pair[2 * k] = (halves8)LOW_8(a, b);
        pair[2 * k + 1] = (halves8)HIGH_8(a, b);
    }
    for (int k = 0; k < 2; k++)
        for (int h = 0; h < 2; h++) {
            const halves8 a = pair[4 * k + h], b = pair[4 * k + 2 + h];
            four[4 * k + 2 * h] = (words4)LOW_16(a, b);
            four[4 * k + 2 * h + 1] = (words4)HIGH_16(a, b);
        }
    for (int r = 0; r < 4; r++) {
        const longs2 low = (longs2)LOW_32(four[r], four[4 + r]);
        const longs2 high = (longs2)HIGH_32(four[r], four[4 + r]);
        unsigned char *const line = to + (size_t)(4 * r) * step;
        *(long1 *)line = low[0];
        *(long1 *)(line + step) = low[1];
        *(long1 *)(line + 2 * step) = high[0];
        *(long1 *)(line + 3 * step) = high[1];
    }
}

/* 8 rows of 4 columns of 2 bytes. */
WI_INLINE void turn_tile_2(const word2 *x, size_t ld, word2 *to, size_t step) {
    const halves8 a = *(const halves8 *)x, b = *(const halves8 *)(x + ld),
                  c = *(const halves8 *)(x + 2 * ld), d = *(const halves8 *)(x + 3 * ld);
    const words4 ab[2] = {(words4)LOW_16(a, b), (words4)HIGH_16(a, b)};
    const words4 cd[2] = {(words4)LOW_16(c, d), (words4)HIGH_16(c, d)};
    for (int h = 0; h < 2; h++) {
        const longs2 low = (longs2)LOW_32(ab[h], cd[h]), high = (longs2)HIGH_32(ab[h], cd[h]);
        word2 *const line = to + (size_t)(4 * h) * step;
        *(long1 *)line = low[0];
        *(long1 *)(line + step) = low[1];
        *(long1 *)(line + 2 * step) = high[0];
        *(long1 *)(line + 3 * step) = high[1];
    }
}

/* 4 rows of 4 columns: of 4 bytes, and of 8. */
#define TURN_4X4(vector, x, ld, to, step)                                                          \
    const vector a = *(const vector *)(x), b = *(const vector *)((x) + (ld)),                      \
                 c = *(const vector *)((x) + 2 * (ld)), d = *(const vector *)((x) + 3 * (ld));     \
    const vector ab_even = __builtin_shufflevector(a, b, 0, 4, 2, 6),                              \
                 ab_odd = __builtin_shufflevector(a, b, 1, 5, 3, 7),                               \
                 cd_even = __builtin_shufflevector(c, d, 0, 4, 2, 6),                              \
                 cd_odd = __builtin_shufflevector(c, d, 1, 5, 3, 7);                               \
    *(vector *)(to) = __builtin_shufflevector(ab_even, cd_even, 0, 1, 4, 5);                       \
    *(vector *)((to) + (step)) = __builtin_shufflevector(ab_odd, cd_odd, 0, 1, 4, 5);              \
    *(vector *)((to) + 2 * (step)) = __builtin_shufflevector(ab_even, cd_even, 2, 3, 6, 7);        \
    *(vector *)((to) + 3 * (step)) = __builtin_shufflevector(ab_odd, cd_odd, 2, 3, 6, 7)

WI_INLINE void turn_tile_4(const word4 *x, size_t ld, word4 *to, size_t step) {
    TURN_4X4(words4, x, ld, to, step);
}

WI_INLINE void turn_tile_8(const long1 *x, size_t ld, long1 *to, size_t step) {
    TURN_4X4(longs4, x, ld, to, step);
}

/* Elements of which there are no squares: one at a time. */
#define TURN_ONE(x, ld, to, step) (*(to) = *(x), (void)(ld), (void)(step))

#define NAME(f) f##_1
#define T unsigned char
#define ROWS 16
#define COLUMNS 8
#define TILE turn_tile_1
#include "gemm/transpose_turn.inc"

#define NAME(f) f##_2
#define T word2
#define ROWS 8
#define COLUMNS 4
#define TILE turn_tile_2
#include "gemm/transpose_turn.inc"

#define NAME(f) f##_3
#define T word3
#define ROWS 1
#define COLUMNS 1
#define TILE TURN_ONE
#include "gemm/transpose_turn.inc"

#define NAME(f) f##_4
#define T word4
#define ROWS 4
#define COLUMNS 4
#define TILE turn_tile_4
#include "gemm/transpose_turn.inc"

#define NAME(f) f##_8
#define T long1
#define ROWS 4
#define COLUMNS 4
#define TILE turn_tile_8
#include "gemm/transpose_turn.inc"

#define NAME(f) f##_12
#define T word12
#define ROWS 1
#define COLUMNS 1
#define TILE TURN_ONE
#include "gemm/transpose_turn.inc"

#define NAME(f) f##_16
#define T longs2
#define ROWS 1
#define COLUMNS 1
#define TILE TURN_ONE
#include "gemm/transpose_turn.inc"

const wi_transpose_simd WI_FOR_ISA(wi_transpose_simd) = {
    .turn = {[1] = turn_1,
             [2] = turn_2,
             [3] = turn_3,
             [4] = turn_4,
             [8] = turn_8,
             [12] = turn_12,
             [16] = turn_16},
    .stream = wi_stream,
    .stream_done = wi_stream_done,
};
