/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of transpose on a cpu. */
#include <string.h>

#include "cpu/team.h"
#include "gemm/transpose.h"
#include "gemm/transpose_simd.h"

/* ---- serial ---- */

static void swap(unsigned char *x, unsigned char *y, size_t width) {
    for (size_t k = 0; k < width; k++) {
        const unsigned char byte = x[k];
        x[k] = y[k];
        y[k] = byte;
    }
}

weft_status wi_transpose_serial(weft_context *ctx, const void *args) {
    const wi_transpose_args *const t = args;
    const unsigned char *const a = t->a;
    unsigned char *const b = t->b;
    (void)ctx;
    for (size_t j = 0; j < t->columns; j++)
        for (size_t i = 0; i < t->rows; i++) {
            unsigned char *const to = b + (j + i * t->ldb) * t->width;
            const unsigned char *const from = a + (i + j * t->lda) * t->width;
            if (a != b)
                memcpy(to, from, t->width);
            else if (i < j)
                swap(to, b + (i + j * t->ldb) * t->width, t->width);
        }
    return WEFT_OK;
}

/* ---- tiles ---- */

enum {
    TILE_BYTES = 1 << 13,
    MOST_SIDE = 64,
    LINE_BYTES = 64,
    /* A larger matrix would not stay in a cache until it is next used. */
    STREAM_BYTES = 1 << 24
};

typedef struct plan {
    const wi_transpose_args *t;
    const wi_transpose_simd *simd;
    bool streams; /* B goes past the caches */
    size_t side;  /* of a tile */
    size_t tiles_down, tiles;
} plan;

/* A tile of A, transposed, into a buffer whose lines are `side` elements. The tile below it is
 * fetched. */
static void take(const plan *p, size_t i, size_t j, size_t m, size_t n, unsigned char *to) {
    const wi_transpose_args *const t = p->t;
    const size_t width = t->width, pitch = t->lda * width;
    const unsigned char *const from = (const unsigned char *)t->a + (i + j * t->lda) * width;
    for (size_t c = 0; c < n; c++)
        for (size_t at = 0; at < m * width; at += LINE_BYTES)
            __builtin_prefetch(from + c * pitch + m * width + at);
    if (p->simd->turn[width]) {
        p->simd->turn[width](m, n, from, t->lda, to, p->side);
        return;
    }
    for (size_t c = 0; c < n; c++)
        for (size_t r = 0; r < m; r++)
            memcpy(to + (r * p->side + c) * width, from + r * width + c * pitch, width);
}

/* The buffer's m lines of n elements to B, where those of element (i, j) of A lie. */
static void put(const plan *p, size_t i, size_t j, size_t m, size_t n, const unsigned char *from) {
    const wi_transpose_args *const t = p->t;
    unsigned char *const to = (unsigned char *)t->b + (j + i * t->ldb) * t->width;
    for (size_t r = 0; r < m; r++) {
        unsigned char *const line = to + r * t->ldb * t->width;
        const unsigned char *const taken = from + r * p->side * t->width;
        if (p->streams)
            p->simd->stream(line, taken, n * t->width);
        else
            memcpy(line, taken, n * t->width);
    }
}

/* In place, the tile below the diagonal takes the place of the one above it, and the other way
 * round. */
static void do_tile(const plan *p, size_t down, size_t over, unsigned char (*buffer)[TILE_BYTES]) {
    const wi_transpose_args *const t = p->t;
    const size_t i = down * p->side, j = over * p->side;
    const size_t m = t->rows - i < p->side ? t->rows - i : p->side;
    const size_t n = t->columns - j < p->side ? t->columns - j : p->side;
    const bool swaps = t->a == t->b && down != over;
    if (t->a == t->b && down < over)
        return;
    take(p, i, j, m, n, buffer[0]);
    if (swaps)
        take(p, j, i, n, m, buffer[1]);
    put(p, i, j, m, n, buffer[0]);
    if (swaps)
        put(p, j, i, n, m, buffer[1]);
}

static void do_share(void *user, int rank, int size) {
    const plan *const p = user;
    _Alignas(64) unsigned char buffer[2][TILE_BYTES];
    const size_t end = wi_team_share(p->tiles, rank + 1, size);
    for (size_t k = wi_team_share(p->tiles, rank, size); k < end; k++)
        do_tile(p, k % p->tiles_down, k / p->tiles_down, buffer);
    if (p->streams)
        p->simd->stream_done();
}

weft_status wi_transpose_tiles(weft_context *ctx, const void *args) {
    const wi_transpose_args *const t = args;
    const size_t bytes = t->rows * t->columns * t->width;
    plan p = {.t = t,
              .simd = WI_OF_ISA(wi_cpu_isa(), wi_transpose_simd),
              .streams = t->a != t->b && bytes >= STREAM_BYTES,
              .side = MOST_SIDE};
    while (p.side * p.side * t->width > TILE_BYTES)
        p.side /= 2;
    p.tiles_down = (t->rows + p.side - 1) / p.side;
    p.tiles = p.tiles_down * ((t->columns + p.side - 1) / p.side);
    wi_team_run(ctx, wi_team_size(ctx, p.tiles, 2 * bytes), do_share, &p);
    return WEFT_OK;
}
