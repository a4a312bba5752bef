/* SPDX-License-Identifier: Apache-2.0 */
/* From positions to random numbers, the same on a cpu and in kernels. */
#ifndef WI_RANDOM_NUMBERS_H
#define WI_RANDOM_NUMBERS_H

#include "expr/expr_math.h"
#include <stdbool.h>

#include "weft/types.h"

/* What a call makes. */
typedef enum wi_random_op {
    WI_RANDOM_BITS,
    WI_RANDOM_INTEGERS_32, /* each from a word of 32 bits */
    WI_RANDOM_INTEGERS_64,
    WI_RANDOM_UNIFORM_32,
    WI_RANDOM_UNIFORM_64,
    WI_RANDOM_NORMAL_32,
    WI_RANDOM_NORMAL_64,
    WI_RANDOM_PERMUTATION,
    WI_RANDOM_SMALL_PERMUTATION
} wi_random_op;

enum {
    WI_RANDOM_PHILOX_ROUNDS = 10,
    WI_RANDOM_ROUNDS = 16, /* of a Feistel network */
    WI_RANDOM_SMALL = 1024 /* at most so many numbers are ordered by random keys */
};

/* One call on memory that the place can access. */
typedef struct wi_random_args {
    wi_random_op op;
    weft_type type;
    size_t n;
    uint64_t seed, first; /* number of the first element in the sequence */
    uint64_t low, span;   /* of integers: low + k, 0 <= k < span; span 0 stands for 2^64 */
    uint64_t refused;     /* so many of the products are drawn again */
    uint64_t total;       /* of a permutation: how many numbers */
    unsigned bits;        /* of the largest of them */
    uint32_t key[WI_RANDOM_ROUNDS];
    bool swap; /* numbers 0 and 1 change places: a network alone makes even permutations only */
    void *x;
} wi_random_args;

typedef struct wi_random_words {
    uint32_t at[4];
} wi_random_words;

/* What each round of Philox adds to two of its words. */
typedef struct wi_random_keys {
    uint32_t at[WI_RANDOM_PHILOX_ROUNDS][2];
} wi_random_keys;

WI_X_BOTH wi_random_keys wi_random_keys_of(uint64_t key) {
    wi_random_keys keys;
    for (uint32_t round = 0; round < WI_RANDOM_PHILOX_ROUNDS; round++) {
        keys.at[round][0] = (uint32_t)key + round * 0x9E3779B9u;
        keys.at[round][1] = (uint32_t)(key >> 32) + round * 0xBB67AE85u;
    }
    return keys;
}

/* Philox4x32-10. */
WI_X_BOTH wi_random_words wi_philox_with(const uint32_t counter[4], const wi_random_keys *keys) {
    uint32_t a = counter[0], b = counter[1], c = counter[2], d = counter[3];
#ifdef __CUDA_ARCH__
#    pragma unroll
#endif
    for (int round = 0; round < WI_RANDOM_PHILOX_ROUNDS; round++) {
#ifdef __CUDA_ARCH__ /* one instruction each; of a product of 64 bits nvcc makes two */
        const uint32_t p_upper = __umulhi(0xD2511F53u, a), p = 0xD2511F53u * a;
        const uint32_t q_upper = __umulhi(0xCD9E8D57u, c), q = 0xCD9E8D57u * c;
#else
        const uint64_t p_both = (uint64_t)0xD2511F53u * a, q_both = (uint64_t)0xCD9E8D57u * c;
        const uint32_t p_upper = (uint32_t)(p_both >> 32), p = (uint32_t)p_both;
        const uint32_t q_upper = (uint32_t)(q_both >> 32), q = (uint32_t)q_both;
#endif
        a = q_upper ^ b ^ keys->at[round][0];
        b = q;
        c = p_upper ^ d ^ keys->at[round][1];
        d = p;
    }
    const wi_random_words words = {{a, b, c, d}};
    return words;
}
WI_X_BOTH wi_random_words wi_philox(const uint32_t counter[4], uint64_t key) {
    const wi_random_keys keys = wi_random_keys_of(key);
    return wi_philox_with(counter, &keys);
}

/* Block k of the sequence; attempt > 0: others in its place. */
WI_X_BOTH wi_random_words wi_random_block(uint64_t seed, uint64_t k, uint32_t attempt) {
    const uint32_t counter[4] = {(uint32_t)k, (uint32_t)(k >> 32), attempt, 0};
    return wi_philox(counter, seed);
}
WI_X_BOTH wi_random_words wi_random_block_with(const wi_random_keys *keys, uint64_t k) {
    const uint32_t counter[4] = {(uint32_t)k, (uint32_t)(k >> 32), 0, 0};
    return wi_philox_with(counter, keys);
}

/* Elements that a block makes. */
WI_X_BOTH unsigned wi_random_each(wi_random_op op, unsigned size) {
    switch (op) {
    case WI_RANDOM_BITS:
        return 16 / size;
    case WI_RANDOM_INTEGERS_64:
    case WI_RANDOM_UNIFORM_64:
    case WI_RANDOM_NORMAL_64:
        return 2;
    case WI_RANDOM_PERMUTATION:
    case WI_RANDOM_SMALL_PERMUTATION:
        return 1;
    default:
        return 4;
    }
}

WI_X_BOTH uint64_t wi_random_wide(const wi_random_words *w, unsigned k) {
    return w->at[2 * k] | (uint64_t)w->at[2 * k + 1] << 32;
}

/* The upper half of a product. */
WI_X_BOTH uint64_t wi_random_upper(uint64_t a, uint64_t b) {
    const uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    const uint64_t low = al * bl, mid = ah * bl + (low >> 32), other = al * bh + (uint32_t)mid;
    return ah * bh + (mid >> 32) + (other >> 32);
}

/* One of `span` integers: the upper half of span times a random word. Of the lower halves the first
 * (2^bits mod span) are refused, so that each integer is left equally many. */
WI_X_BOTH uint64_t wi_random_integer_32(const wi_random_args *args, uint64_t k, unsigned e,
                                        uint32_t word) {
    uint64_t product = (uint64_t)word * args->span;
    for (uint32_t attempt = 1; (uint32_t)product < args->refused; attempt++)
        product = (uint64_t)wi_random_block(args->seed, k, attempt).at[e] * args->span;
    return args->low + (args->span >> 32 ? word : product >> 32);
}
WI_X_BOTH uint64_t wi_random_integer_64(const wi_random_args *args, uint64_t k, unsigned e,
                                        uint64_t word) {
    for (uint32_t attempt = 1; word * args->span < args->refused; attempt++) {
        const wi_random_words w = wi_random_block(args->seed, k, attempt);
        word = wi_random_wide(&w, e);
    }
    return args->low + (args->span ? wi_random_upper(word, args->span) : word);
}

WI_X_BOTH float wi_random_uniform_32(uint32_t word) {
    return (float)(int32_t)(word >> 8) * 0x1p-24f;
}
WI_X_BOTH double wi_random_uniform_64(uint64_t word) {
    return (double)(int64_t)(word >> 11) * 0x1p-53;
}

/* ---- normal numbers ---- */

/* The cosine and the sine of 2 pi v, 0 <= v < 1, by Taylor polynomials in the nearest quarter. */
WI_X_BOTH double wi_random_circle(double v, double *sine) {
    const double quarter = (4.0 * v + WI_X_TO_WHOLE) - WI_X_TO_WHOLE;
    const double a = (4.0 * v - quarter) * 0x1.921fb54442d18p+0, z = a * a;
    double s = 1.0 / 355687428096000.0, c = 1.0 / 20922789888000.0;
    s = s * z - 1.0 / 1307674368000.0;
    s = s * z + 1.0 / 6227020800.0;
    s = s * z - 1.0 / 39916800.0;
    s = s * z + 1.0 / 362880.0;
    s = s * z - 1.0 / 5040.0;
    s = s * z + 1.0 / 120.0;
    s = s * z - 1.0 / 6.0;
    c = c * z - 1.0 / 87178291200.0;
    c = c * z + 1.0 / 479001600.0;
    c = c * z - 1.0 / 3628800.0;
    c = c * z + 1.0 / 40320.0;
    c = c * z - 1.0 / 720.0;
    c = c * z + 1.0 / 24.0;
    c = c * z - 0.5;
    const double sin_a = a + a * (z * s), cos_a = 1.0 + z * c;
    const int odd = (quarter == 1) | (quarter == 3);
    const double x = wi_x_if_f64(odd, sin_a, cos_a), y = wi_x_if_f64(odd, cos_a, sin_a);
    *sine = wi_x_if_f64((quarter == 2) | (quarter == 3), -y, y);
    return wi_x_if_f64((quarter == 1) | (quarter == 2), -x, x);
}

/* The square of the radius, of u in (0, 1]. */
WI_X_BOTH double wi_random_square(double u) {
    return -2.0 * wi_x_log_f64(u);
}
WI_X_BOTH double wi_random_above_0_64(uint64_t word) {
    return ((double)(int64_t)(word >> 11) + 1.0) * 0x1p-53;
}

/* The same in f32, of a word. (word + 1) 2^-32 = m 2^k with sqrt(1/2) <= m < sqrt(2), and with f =
 * m - 1, log m = f - f^2 / 2 + f^3 p(f). Near 1, where the logarithm is small, f is made of what
 * the word lacks, so that no digit is lost. The coefficients here make the largest error small. */
WI_X_BOTH float wi_random_square_32(uint32_t word) {
    const uint32_t lack = ~word, root_half = 0x3f3504f3u, offset = 64u << 23;
    const int near_1 = lack < 0x40000000u;
    const float number = (float)wi_x_if_u32(near_1, lack, word + 1);
    const uint32_t bits = wi_x_bits_f32(number), exponent = (bits - root_half + offset) >> 23;
    const float m = wi_x_f32_of_bits(bits - (exponent << 23) + offset);
    const float f = wi_x_if_f32(near_1, number * -0x1p-32f, m - 1.0f);
    const float k = wi_x_if_f32(near_1, 0.0f, (float)((int32_t)exponent - 64 - 32));
    const float z = f * f;
    float p = -0x1.38b4e2p-4f;
    p = p * f + 0x1.055b58p-3f;
    p = p * f - 0x1.0d8556p-3f;
    p = p * f + 0x1.22da20p-3f;
    p = p * f - 0x1.547242p-3f;
    p = p * f + 0x1.99a008p-3f;
    p = p * f - 0x1.000228p-2f;
    p = p * f + 0x1.555554p-2f;
    const float small = (f * z * p + k * -0x1.bd0106p-13f) - 0.5f * z;
    return -2.0f * ((f + small) + k * 0x1.63p-1f); /* the two constants: log 2 */
}

/* The cosine and the sine of 2 pi word 2^-32: the nearest quarter of a turn is exact, and what is
 * left an angle of at most pi / 4. */
WI_X_BOTH float wi_random_circle_32(uint32_t word, float *sine) {
    const uint32_t moved = word + 0x20000000u, quarter = moved >> 30;
    const float rest = (float)((int32_t)(moved & 0x3fffffffu) - 0x20000000);
    const float a = rest * 0x1.921fb6p-30f, z = a * a;
    const float s = (z * -0x1.994eb0p-13f + 0x1.110760p-7f) * z - 0x1.555546p-3f;
    const float c = (z * 0x1.9a0256p-16f - 0x1.6c0c8cp-10f) * z + 0x1.55554ap-5f;
    const float sin_a = a + a * (z * s), cos_a = 1.0f - (0.5f * z - z * z * c);
    const int odd = (int)(quarter & 1);
    const uint32_t x = wi_x_bits_f32(wi_x_if_f32(odd, sin_a, cos_a));
    const uint32_t y = wi_x_bits_f32(wi_x_if_f32(odd, cos_a, sin_a));
    *sine = wi_x_f32_of_bits(y ^ (quarter >> 1) << 31);
    return wi_x_f32_of_bits(x ^ ((quarter + 1) >> 1 & 1) << 31);
}

/* ---- permutations ---- */

/* Position i of [0, 2^(left + right)) in another order: halves change each other in turn. */
WI_X_BOTH uint64_t wi_random_network(const wi_random_args *args, unsigned left, unsigned right,
                                     uint64_t i) {
    const uint32_t left_mask = (uint32_t)((1ull << left) - 1);
    const uint32_t right_mask = (uint32_t)((1ull << right) - 1);
    uint32_t a = (uint32_t)(i >> right) & left_mask, b = (uint32_t)i & right_mask;
    for (int round = 0; round < WI_RANDOM_ROUNDS; round += 2) {
        const uint64_t p = (uint64_t)0xD2511F53u * (b ^ args->key[round]);
        a ^= ((uint32_t)(p >> 32) ^ (uint32_t)p) & left_mask;
        const uint64_t q = (uint64_t)0xCD9E8D57u * (a ^ args->key[round + 1]);
        b ^= ((uint32_t)(q >> 32) ^ (uint32_t)q) & right_mask;
    }
    return (uint64_t)a << right | b;
}

/* Number i of a permutation of more than WI_RANDOM_SMALL numbers. What is not below `total` goes
 * through the network again, which leads back below it. */
WI_X_BOTH uint64_t wi_random_permuted(const wi_random_args *args, uint64_t i) {
    const unsigned left = args->bits / 2, right = args->bits - left;
    do
        i = wi_random_network(args, left, right, i);
    while (i >= args->total);
    return i < 2 && args->swap ? i ^ 1 : i;
}

/* The key by which number i of a small permutation is ordered. */
WI_X_BOTH uint64_t wi_random_order_key(uint64_t seed, uint64_t i) {
    const uint32_t counter[4] = {(uint32_t)i, 0, 0, 1};
    const wi_random_words w = wi_philox(counter, seed);
    return wi_random_wide(&w, 0);
}

/* ---- one element ---- */

/* Normal number e of a block. */
WI_X_BOTH double wi_random_normal_64(const wi_random_words *w, unsigned e) {
    const double u = wi_random_above_0_64(wi_random_wide(w, 0));
    double sine;
    const double cosine = wi_random_circle(wi_random_uniform_64(wi_random_wide(w, 1)), &sine);
    return sqrt(wi_random_square(u)) * (e & 1 ? sine : cosine);
}
WI_X_BOTH float wi_random_normal_32(const wi_random_words *w, unsigned e) {
    const unsigned pair = e & ~1u;
    float sine;
    const float cosine = wi_random_circle_32(w->at[pair + 1], &sine);
    return sqrtf(wi_random_square_32(w->at[pair])) * (e & 1 ? sine : cosine);
}

/* The bits of element i of a call, of `size` bytes; of all but small permutations. */
WI_X_BOTH uint64_t wi_random_element(const wi_random_args *args, unsigned size, size_t i) {
    const unsigned each = wi_random_each(args->op, size);
    const uint64_t position = args->first + i, k = position / each;
    const unsigned e = (unsigned)(position % each);
    const wi_random_words w = wi_random_block(args->seed, k, 0);
    const unsigned bit = 8 * e * size;
    switch (args->op) {
    case WI_RANDOM_BITS:
        return size == 8 ? wi_random_wide(&w, e) : w.at[bit / 32] >> bit % 32;
    case WI_RANDOM_INTEGERS_32:
        return wi_random_integer_32(args, k, e, w.at[e]);
    case WI_RANDOM_INTEGERS_64:
        return wi_random_integer_64(args, k, e, wi_random_wide(&w, e));
    case WI_RANDOM_UNIFORM_32:
        return wi_x_bits_f32(wi_random_uniform_32(w.at[e]));
    case WI_RANDOM_UNIFORM_64:
        return wi_x_bits_f64(wi_random_uniform_64(wi_random_wide(&w, e)));
    case WI_RANDOM_NORMAL_32:
        return wi_x_bits_f32(wi_random_normal_32(&w, e));
    case WI_RANDOM_NORMAL_64:
        return wi_x_bits_f64(wi_random_normal_64(&w, e));
    default:
        return wi_random_permuted(args, position);
    }
}

#endif
