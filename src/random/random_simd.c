/* SPDX-License-Identifier: Apache-2.0 */
/* random for one instruction set. The four words of a batch of blocks are made side by side, and
 * kept two to a number of 64 bits; the results that are made of them go to a tile in the cache,
 * and those that are wanted from there to memory. */
#include "random/random_simd.h"

#include "cpu/lanes.h"
#include "cpu/stream.h"

enum {
    BATCH = 128, /* blocks */
    TOGETHER = 4,
    TILE_BYTES = BATCH * 4 * 8,
    STREAM_BYTES = 1 << 24 /* a larger array would not stay in a cache until it is next used */
};

typedef struct batch {
    const wi_random_args *args;
    unsigned size;
    uint64_t first;          /* block */
    uint64_t pair[2][BATCH]; /* words 0 and 1 of each block, and words 2 and 3; the first is low */
} batch;

/* The products of the low halves. */
WI_INLINE wi_longs products(wi_longs a, uint64_t m) {
#if defined(__AVX512F__)
    return (wi_longs)_mm512_mul_epu32((__m512i)a, _mm512_set1_epi64((long long)m));
#elif defined(__AVX2__)
    return (wi_longs)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi64x((long long)m));
#elif defined(__SSE2__)
    return (wi_longs)_mm_mul_epu32((__m128i)a, _mm_set1_epi64x((long long)m));
#else
    for (int k = 0; k < WI_WIDE; k++)
        a[k] = (int64_t)((uint64_t)(uint32_t)a[k] * m);
    return a;
#endif
}

typedef uint64_t words __attribute__((vector_size(WI_VECTOR_BYTES)));

/* The upper halves, as low ones. */
WI_INLINE wi_longs upper(wi_longs a) {
    return (wi_longs)((words)a >> 32);
}

/* The low halves of two numbers as one. */
WI_INLINE wi_longs paired(wi_longs low, wi_longs high) {
    const words mask = (words){0} + 0xFFFFFFFFu;
    return (wi_longs)(((words)low & mask) | (words)high << 32);
}

WI_INLINE wi_longs all(uint64_t v) {
    return (wi_longs){0} + (int64_t)v;
}

/* Philox4x32-10 of counters first, first + 1, ... in TOGETHER vectors, so that the multiplier never
 * waits. */
static void make_words(batch *b) {
    const wi_random_keys keys = wi_random_keys_of(b->args->seed);
    uint64_t key[WI_RANDOM_PHILOX_ROUNDS][2]; /* as wide as they are used */
    wi_longs v[4][TOGETHER], steps;
    for (int round = 0; round < WI_RANDOM_PHILOX_ROUNDS; round++)
        for (int k = 0; k < 2; k++)
            key[round][k] = keys.at[round][k];
    for (int e = 0; e < WI_WIDE; e++)
        steps[e] = e;
    for (int i = 0; i < BATCH; i += TOGETHER * WI_WIDE) {
        for (int t = 0; t < TOGETHER; t++) {
            v[0][t] = all(b->first + (uint64_t)(i + t * WI_WIDE)) + steps;
            v[1][t] = upper(v[0][t]);
            v[2][t] = v[3][t] = all(0);
        }
        for (int round = 0; round < WI_RANDOM_PHILOX_ROUNDS; round++)
            for (int t = 0; t < TOGETHER; t++) {
                const wi_longs p = products(v[0][t], 0xD2511F53u);
                const wi_longs q = products(v[2][t], 0xCD9E8D57u);
                v[0][t] = upper(q) ^ v[1][t] ^ all(key[round][0]);
                v[1][t] = q;
                v[2][t] = upper(p) ^ v[3][t] ^ all(key[round][1]);
                v[3][t] = p;
            }
        for (int t = 0; t < TOGETHER; t++)
            for (int half = 0; half < 2; half++) {
                const wi_longs both = paired(v[2 * half][t], v[2 * half + 1][t]);
                memcpy(&b->pair[half][i + t * WI_WIDE], &both, sizeof both);
            }
    }
}

WI_INLINE uint32_t word_of(const batch *b, int e, int i) {
    return (uint32_t)(b->pair[e / 2][i] >> 32 * (e % 2));
}

static void bits(const batch *b, void *tile) {
    typedef uint64_t pair __attribute__((may_alias));
    pair *const to = tile;
    for (int i = 0; i < BATCH; i++)
        for (int half = 0; half < 2; half++) {
            const uint64_t both = b->pair[half][i];
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
            to[2 * i + half] = both << 32 | both >> 32;
#else
            to[2 * i + half] = both;
#endif
        }
}

static void uniform_32(const batch *b, void *tile) {
    float *const to = tile;
    bits(b, tile);
    for (int i = 0; i < 4 * BATCH; i++) {
        uint32_t word;
        memcpy(&word, to + i, sizeof word);
        to[i] = wi_random_uniform_32(word);
    }
}

static void uniform_64(const batch *b, double *to) {
    for (int i = 0; i < BATCH; i++)
        for (int half = 0; half < 2; half++)
            to[2 * i + half] = wi_random_uniform_64(b->pair[half][i]);
}

/* Pairs of normal numbers, made of u and v: cosines and sines, both times the radius. */
static void circles(const double u[BATCH], const double v[BATCH], double x[BATCH],
                    double y[BATCH]) {
    double square[BATCH];
#pragma omp simd
    for (int i = 0; i < BATCH; i++)
        square[i] = wi_random_square(u[i]);
#pragma omp simd
    for (int i = 0; i < BATCH; i++) {
        double sine;
        x[i] = wi_random_circle(v[i], &sine);
        y[i] = sine;
    }
    for (int i = 0; i < BATCH; i++) {
        const double radius = wi_sqrt(square[i]);
        x[i] *= radius;
        y[i] *= radius;
    }
}

static void normal_32(const batch *b, float *to) {
    uint32_t u[BATCH], v[BATCH];
    float square[BATCH], x[BATCH], y[BATCH];
    for (int pair = 0; pair < 4; pair += 2) {
        for (int i = 0; i < BATCH; i++) {
            u[i] = word_of(b, pair, i);
            v[i] = word_of(b, pair + 1, i);
        }
#pragma omp simd
        for (int i = 0; i < BATCH; i++)
            square[i] = wi_random_square_32(u[i]);
#pragma omp simd
        for (int i = 0; i < BATCH; i++) {
            float sine;
            x[i] = wi_random_circle_32(v[i], &sine);
            y[i] = sine;
        }
        for (int i = 0; i < BATCH; i++) {
            const float radius = sqrtf(square[i]);
            to[4 * i + pair] = radius * x[i];
            to[4 * i + pair + 1] = radius * y[i];
        }
    }
}

static void normal_64(const batch *b, double *to) {
    double u[BATCH], v[BATCH], x[BATCH], y[BATCH];
    for (int i = 0; i < BATCH; i++) {
        u[i] = wi_random_above_0_64(b->pair[0][i]);
        v[i] = wi_random_uniform_64(b->pair[1][i]);
    }
    circles(u, v, x, y);
    for (int i = 0; i < BATCH; i++) {
        to[2 * i] = x[i];
        to[2 * i + 1] = y[i];
    }
}

static void put(unsigned char *tile, size_t element, unsigned size, uint64_t v) {
    memcpy(tile + element * size, &v, size);
}

static void integers(const batch *b, unsigned char *tile) {
    const wi_random_args *const args = b->args;
    for (int i = 0; i < BATCH; i++) {
        const uint64_t k = b->first + (uint64_t)i;
        if (args->op == WI_RANDOM_INTEGERS_32)
            for (unsigned e = 0; e < 4; e++)
                put(tile, 4 * (size_t)i + e, b->size,
                    wi_random_integer_32(args, k, e, word_of(b, (int)e, i)));
        else
            for (unsigned e = 0; e < 2; e++)
                put(tile, 2 * (size_t)i + e, b->size,
                    wi_random_integer_64(args, k, e, b->pair[e][i]));
    }
}

static void permuted(const batch *b, unsigned char *tile) {
    for (int i = 0; i < BATCH; i++)
        if (b->first + (uint64_t)i < b->args->total)
            put(tile, (size_t)i, b->size, wi_random_permuted(b->args, b->first + (uint64_t)i));
}

/* All elements of a batch. */
static void fill(batch *b, void *tile) {
    if (b->args->op == WI_RANDOM_PERMUTATION) {
        permuted(b, tile);
        return;
    }
    make_words(b);
    switch (b->args->op) {
    case WI_RANDOM_BITS:
        bits(b, tile);
        break;
    case WI_RANDOM_UNIFORM_32:
        uniform_32(b, tile);
        break;
    case WI_RANDOM_UNIFORM_64:
        uniform_64(b, tile);
        break;
    case WI_RANDOM_NORMAL_32:
        normal_32(b, tile);
        break;
    case WI_RANDOM_NORMAL_64:
        normal_64(b, tile);
        break;
    default:
        integers(b, tile);
    }
}

static void make(const wi_random_args *args, size_t from, size_t to) {
    _Alignas(WI_LINE_BYTES) unsigned char tile[TILE_BYTES];
    batch b = {.args = args, .size = (unsigned)weft_type_size(args->type)};
    const unsigned each = wi_random_each(args->op, b.size);
    const bool stream = args->n >= STREAM_BYTES / b.size;
    while (from < to) {
        const uint64_t position = args->first + from;
        const size_t skip = (size_t)(position % each);
        size_t n = (size_t)BATCH * each - skip;
        n = n < to - from ? n : to - from;
        b.first = position / each;
        fill(&b, tile);
        if (stream)
            wi_stream((char *)args->x + from * b.size, tile + skip * b.size, n * b.size);
        else
            memcpy((char *)args->x + from * b.size, tile + skip * b.size, n * b.size);
        from += n;
    }
    if (stream)
        wi_stream_done();
}

const wi_random_simd WI_FOR_ISA(wi_random_simd) = {.make = make};
