/* SPDX-License-Identifier: Apache-2.0 */
/* random for one instruction set. The four words of a batch of blocks are made side by side, each
 * word of all blocks in an array of its own; what is made of them goes to a tile in cache, and the
 * part of it that is wanted to memory. */
#include "random/random_simd.h"

#include "cpu/lanes.h"
#include "cpu/stream.h"

enum {
    BATCH = 128, /* blocks */
    TILE_BYTES = BATCH * 4 * 8,
    STREAM_BYTES = 1 << 24 /* a larger array would not stay in a cache until it is next used */
};

typedef struct batch {
    const wi_random_args *args;
    unsigned size;
    uint64_t first; /* block */
    uint32_t word[4][BATCH];
} batch;

/* Philox4x32-10 of counters first, first + 1, ... */
static void make_words(batch *b) {
    uint32_t *const x = b->word[0], *const y = b->word[1], *const z = b->word[2],
                    *const w = b->word[3];
    uint32_t k = (uint32_t)b->args->seed, l = (uint32_t)(b->args->seed >> 32);
#pragma omp simd
    for (int i = 0; i < BATCH; i++) {
        const uint64_t counter = b->first + (uint64_t)i;
        x[i] = (uint32_t)counter;
        y[i] = (uint32_t)(counter >> 32);
        z[i] = w[i] = 0;
    }
    for (int round = 0; round < 10; round++) {
#pragma omp simd
        for (int i = 0; i < BATCH; i++) {
            const uint64_t p = (uint64_t)0xD2511F53u * x[i], q = (uint64_t)0xCD9E8D57u * z[i];
            x[i] = (uint32_t)(q >> 32) ^ y[i] ^ k;
            y[i] = (uint32_t)q;
            z[i] = (uint32_t)(p >> 32) ^ w[i] ^ l;
            w[i] = (uint32_t)p;
        }
        k += 0x9E3779B9u;
        l += 0xBB67AE85u;
    }
}

WI_INLINE uint64_t wide(const batch *b, int half, int i) {
    return b->word[2 * half][i] | (uint64_t)b->word[2 * half + 1][i] << 32;
}

static void bits(const batch *b, uint32_t *to) {
    for (int i = 0; i < BATCH; i++)
        for (int e = 0; e < 4; e++)
            to[4 * i + e] = b->word[e][i];
}

static void uniform_32(const batch *b, float *to) {
    for (int i = 0; i < BATCH; i++)
        for (int e = 0; e < 4; e++)
            to[4 * i + e] = wi_random_uniform_32(b->word[e][i]);
}

static void uniform_64(const batch *b, double *to) {
    for (int i = 0; i < BATCH; i++)
        for (int e = 0; e < 2; e++)
            to[2 * i + e] = wi_random_uniform_64(wide(b, e, i));
}

/* Pairs of normal numbers of u and v: cosines and sines, both times the radius. */
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
    double u[BATCH], v[BATCH], x[BATCH], y[BATCH];
    for (int pair = 0; pair < 4; pair += 2) {
#pragma omp simd
        for (int i = 0; i < BATCH; i++) {
            u[i] = wi_random_above_0_32(b->word[pair][i]);
            v[i] = b->word[pair + 1][i] * 0x1p-32;
        }
        circles(u, v, x, y);
        for (int i = 0; i < BATCH; i++) {
            to[4 * i + pair] = (float)x[i];
            to[4 * i + pair + 1] = (float)y[i];
        }
    }
}

static void normal_64(const batch *b, double *to) {
    double u[BATCH], v[BATCH], x[BATCH], y[BATCH];
    for (int i = 0; i < BATCH; i++) {
        u[i] = wi_random_above_0_64(wide(b, 0, i));
        v[i] = wi_random_uniform_64(wide(b, 1, i));
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
                    wi_random_integer_32(args, k, e, b->word[e][i]));
        else
            for (unsigned e = 0; e < 2; e++)
                put(tile, 2 * (size_t)i + e, b->size,
                    wi_random_integer_64(args, k, e, wide(b, (int)e, i)));
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
