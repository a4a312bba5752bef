/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of gemm's ladder, on every place: sizes, types, ways to store a matrix, gaps between
 * columns, alignments, alpha and beta, special numbers, host and device memory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gemm/gemm_cases.h"
#include "gemm/matrix_rig.h"
#include "limits.h"

enum {
    STORED = 8, /* ways to store the matrices */
    SHAPES = 6, /* square, and long in one direction or two */
    SCALINGS = 16,
    KINDS = 4, /* of numbers */
    ALL_ON_DEVICE = 7,
    MOST_OFFSET = 7,
    MOST_GAP = 5
};

#ifdef WEFT_EMU
static const size_t most_products = 30000, capacity = 300000;
#else
static const size_t most_products = 300000, capacity = 1 << 20;
#endif

static const size_t sizes[] = {0,  1,  2,  3,  7,  8,  11, 15, 16,  17,  23,
                               31, 32, 33, 47, 63, 64, 65, 97, 127, 128, 129};
static const size_t long_sizes[] = {255, 256, 257, 511, 513, 769, 1021, 2049};
static const size_t short_sizes[] = {1, 2, 3, 4, 5, 8, 9};

/* Emu rounds sums as the cpu does. */
static bool is_gpu(const rig *r) {
#ifdef WEFT_EMU
    (void)r;
    return false;
#else
    return r->ctx->kind == WI_CUDA;
#endif
}

static const char *describe(const rig *r, const product *p) {
    static char text[400];
    snprintf(text, sizeof text,
             "%s and %s on %s, variant %s, how %#x, %zu x %zu x %zu, ld %zu %zu %zu, offsets %zu "
             "%zu %zu, alpha %g, beta %g, pattern %d, device %#x%s",
             test_type_name(p->types.type), test_type_name(p->types.out), weft_place(r->ctx),
             p->row ? p->row->name : "auto", p->how, p->m, p->n, p->k, p->ld[A], p->ld[B], p->ld[C],
             p->offset[A], p->offset[B], p->offset[C], p->alpha, p->beta, p->pattern, p->device,
             p->same ? ", A is B" : "");
    return text;
}

static test_buffer *buffer_of(rig *r, const product *p, int array) {
    const int home = array == B && p->same ? A : array;
    return rig_buffer(r, p->device, home);
}

/* All bits set: NaN, and -1. What a call must not read, or must leave as it is. */
static void fill_gaps(const product *p, int array, unsigned char *bytes) {
    const size_t width = test_size_of(type_of(p, array));
    size_t lines, length;
    stored_as(p, array, &lines, &length);
    for (size_t line = 0; line + 1 < lines; line++)
        memset(bytes + (line * p->ld[array] + length) * width, 0xff,
               (p->ld[array] - length) * width);
}

/* Fills the sources. What is not to be read holds NaN. */
static void fill(rig *r, const product *p) {
    const bool unread = p->alpha == 0;
    for (int k = 0; k < ARRAYS; k++) {
        const weft_type type = type_of(p, k);
        if ((k == C && p->beta == 0) || (k != C && unread)) {
            memset(r->source[k], 0xff, bytes_of(p, k));
            continue;
        }
        if (k == B && p->same)
            continue;
        const size_t extent = extent_of(p, k), other = k == A && p->same ? extent_of(p, B) : 0;
        test_fill(&r->random, p->pattern, type, extent > other ? extent : other, r->source[k]);
        if (!p->same || k == C)
            fill_gaps(p, k, r->source[k]);
    }
}

static void load(rig *r, const product *p) {
    for (int k = 0; k < ARRAYS; k++) {
        size_t bytes = bytes_of(p, k);
        if (p->same && k == B)
            continue;
        if (p->same && k == A && bytes_of(p, B) > bytes)
            bytes = bytes_of(p, B);
        assert_true(bytes + MOST_OFFSET * 8 <= capacity);
        test_buffer_load(buffer_of(r, p, k), r->source[k], bytes,
                         p->offset[k] * test_size_of(type_of(p, k)));
    }
}

/* What an array held, as values. */
static test_value *widened(const rig *r, const product *p, int array) {
    const size_t extent = extent_of(p, array);
    test_value *const values = malloc((extent + 1) * sizeof *values);
    assert_non_null(values);
    test_widen(type_of(p, array), extent, r->source[array == B && p->same ? A : array], values);
    return values;
}

/* Each element of C; what has been looked at is overwritten as gaps are filled. */
static void compare_elements(const rig *r, const product *p, unsigned char *got) {
    test_value *const x[] = {widened(r, p, A), widened(r, p, B), widened(r, p, C)};
    const weft_type out = p->types.out;
    for (size_t j = 0; j < p->n; j++)
        for (size_t i = 0; i < p->m; i++) {
            const right_value right =
                out == WEFT_I32 ? right_whole(p, x, i, j) : right_float(p, x, i, j);
            const size_t at = place_of(p, C, i, j);
            const test_value value = test_load(out, got, at);
            if (!is_right(p, value, &right))
                fail_msg("%s: element (%zu, %zu) is %s, should be %s within %g", describe(r, p), i,
                         j, test_text(out, value), test_text(out, right.value), right.within);
            memset(got + at * test_size_of(out), 0xff, test_size_of(out));
        }
    for (int k = 0; k < ARRAYS; k++)
        free(x[k]);
}

/* Of C each element and the gaps, and what A and B hold. */
static void compare(rig *r, const product *p) {
    unsigned char *const got = malloc(bytes_of(p, C) + 1);
    assert_non_null(got);
    memcpy(got, test_buffer_read(buffer_of(r, p, C), describe(r, p)), bytes_of(p, C));
    compare_elements(r, p, got);
    for (size_t b = 0; b < bytes_of(p, C); b++)
        if (got[b] != 0xff)
            fail_msg("%s: a gap of C was written, byte %zu", describe(r, p), b);
    free(got);
    for (int k = A; k <= (p->same ? A : B); k++)
        if (memcmp(test_buffer_read(buffer_of(r, p, k), describe(r, p)), r->source[k],
                   bytes_of(p, k)) != 0)
            fail_msg("%s: %c was changed", describe(r, p), "AB"[k]);
}

static void run_case(rig *r, const product *p) {
    fill(r, p);
    load(r, p);
    test_use(r->ctx, "gemm", p->row);
    const weft_status status =
        call_gemm(r->ctx, p, buffer_of(r, p, A)->p, buffer_of(r, p, B)->p, buffer_of(r, p, C)->p);
    if (status == WEFT_EUNSUPPORTED && may_refuse(p)) {
        test_refused(r->ctx, status, WEFT_EUNSUPPORTED, "weft_gemm", p->row->name);
        return;
    }
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", describe(r, p), weft_status_name(status), weft_message(r->ctx));
    if (p->m > 0 && p->n > 0)
        test_used(r->ctx, "gemm", p->row, describe(r, p));
    compare(r, p);
}

/* ---- drawn cases ---- */

static size_t one_of(rig *r, const size_t *from, size_t count) {
    return from[test_below(&r->random, count)];
}

/* Extents of which the largest is n: equal, or some of them short. */
static void choose_extents(rig *r, product *p, size_t n, size_t shape) {
    const size_t count = sizeof short_sizes / sizeof *short_sizes;
    const bool near = shape == 0;
    p->m = shape == 1 || shape == 4 || shape == 5 || near ? n : one_of(r, short_sizes, count);
    p->n = shape == 2 || shape == 4 || near ? n : one_of(r, short_sizes, count);
    p->k = shape == 3 || shape == 5 || near ? n : one_of(r, short_sizes, count);
    if (near && n > 2) {
        p->n -= test_below(&r->random, 3);
        p->k -= test_below(&r->random, 3);
    }
    if (test_below(&r->random, 16) == 0)
        p->k = 0;
    while (p->m * p->n * 8 > capacity / 2)
        p->n /= 2;
    while ((double)p->m * (double)p->n * (double)p->k > (double)most_products ||
           p->m * p->k * 8 > capacity / 2 || p->n * p->k * 8 > capacity / 2)
        p->k = p->k > 1 ? p->k / 2 : 0;
}

static void choose_layout(rig *r, product *p, size_t stored) {
    p->how |= (stored & 1 ? WEFT_TRANSPOSE_A : 0) | (stored & 2 ? WEFT_TRANSPOSE_B : 0) |
              (stored & 4 ? WEFT_ROW_MAJOR : 0);
    for (int k = 0; k < ARRAYS; k++) {
        size_t lines, length;
        stored_as(p, k, &lines, &length);
        p->ld[k] = length + (test_below(&r->random, 2) ? test_below(&r->random, MOST_GAP) : 0);
        p->offset[k] = test_below(&r->random, 2) ? test_below(&r->random, MOST_OFFSET) : 0;
        if (bytes_of(p, k) + MOST_OFFSET * 8 > capacity)
            p->ld[k] = length;
    }
}

static void choose_numbers(rig *r, product *p, size_t scaling, size_t kind) {
    static const double whole[] = {0, 1, -1, 7}, broken[] = {0, 1, -1, 0.3},
                        half[] = {0, 1, -1, 0.5};
    static const test_pattern patterns[KINDS] = {TEST_SMALL, TEST_ANY, TEST_SPECIAL, TEST_NANS};
    p->pattern = p->types.type == WEFT_I8 ? TEST_ANY : patterns[kind];
    const double *const from = p->types.type == WEFT_I8   ? whole
                               : p->pattern == TEST_SMALL ? half
                                                          : broken;
    p->alpha = from[scaling % 4];
    p->beta = from[scaling / 4];
    if (p->types.type == WEFT_F32)
        p->how |= (unsigned[]){0, WEFT_F32_STRICT, WEFT_TF32}[test_below(&r->random, 3)];
}

/* Axes: the pair of types; how matrices are stored; the shape; alpha and beta; kind of numbers. */
static bool run_drawn(void *user, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = user;
    product p = {.row = row, .types = pairs[at[0]], .device = ALL_ON_DEVICE, .on_gpu = is_gpu(r)};
    choose_numbers(r, &p, at[3], at[4]);
    choose_extents(r, &p, n, at[2]);
    choose_layout(r, &p, at[1]);
    if (test_below(&r->random, 4) == 0)
        p.device = (unsigned)test_below(&r->random, ALL_ON_DEVICE);
    if (test_below(&r->random, 8) == 0) {
        p.same = true;
        p.offset[B] = p.offset[A];
    }
    run_case(r, &p);
    return true;
}

static test_sweep sweep_of(const size_t *from, size_t count) {
    return (test_sweep){.sizes = from,
                        .size_count = count,
                        .ladder = &wi_gemm_ladder,
                        .extent = {PAIRS, STORED, SHAPES, SCALINGS, KINDS},
                        .must = 1,
                        .one_in = 16,
                        .run = run_drawn};
}

static void usual_sizes(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, capacity);
    test_sweep s = sweep_of(sizes, sizeof sizes / sizeof *sizes);
    s.share = 30;
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

/* Long in one direction: as far as the cut into blocks goes. */
static void longer_sizes(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, capacity);
    test_sweep s = sweep_of(long_sizes, sizeof long_sizes / sizeof *long_sizes);
    s.extent[2] = 4;
    s.must = 0; /* each rung, of any type: such cases take long */
    s.one_in = 64;
    s.share = 15;
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

/* ---- cases that must be ---- */

/* Each rung and pair of types at a size where the sums are cut, with everything in its way: gaps,
 * transposed factors, C read. */
static void each_rung_once(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, capacity);
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_gemm_ladder, rows);
    for (size_t k = 0; k < count; k++)
        for (size_t t = 0; t < PAIRS; t++) {
            product p = {
                .row = rows[k], .types = pairs[t], .device = ALL_ON_DEVICE, .on_gpu = is_gpu(&r)};
            p.m = ctx->kind == WI_CPU ? 61 : 37;
            p.n = ctx->kind == WI_CPU ? 53 : 35;
            p.k = ctx->kind == WI_CPU ? 601 : 41;
            choose_numbers(&r, &p, 15, 1);
            choose_layout(&r, &p, k + t);
            run_case(&r, &p);
        }
    rig_close(&r);
}

/* Products so deep that every slot of a ring is used again, of two tiles of C, which is less than
 * the multiprocessors are: their steps of k, an odd number, are then dealt out in shares, and those
 * of f64 may end in the next tile. */
static void deep_products(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, capacity);
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = ctx->kind == WI_CUDA ? test_rows(ctx, &wi_gemm_ladder, rows) : 0;
    for (size_t k = 0; k < count; k++)
        for (size_t t = 0; t < PAIRS; t++) {
            const bool parts = rows[k] && strcmp(rows[k]->name, "parts") == 0;
            if (!parts && !(rows[k] && strcmp(rows[k]->name, "ring") == 0))
                continue;
            product p = {.row = rows[k],
                         .types = pairs[t],
                         .device = ALL_ON_DEVICE,
                         .on_gpu = is_gpu(&r),
                         .m = 100,
                         .n = 100};
            const size_t step = 128 / test_size_of(p.types.type);
            p.k = step * (p.types.type == WEFT_F64 ? 23 : 9) - 5;
            if (parts && p.types.type != WEFT_F32)
                continue;
            p.alpha = p.beta = 1;
            p.pattern = p.types.type == WEFT_I8 ? TEST_ANY : TEST_SMALL;
            choose_layout(&r, &p, test_below(&r.random, STORED));
            run_case(&r, &p);
        }
    rig_close(&r);
}

/* Each shape of the ring's tiles, its slices joined in both ways. Where C is low and the tile is
 * not, the product is turned. Elsewhere than on emu the library chooses the tiles. There, with the
 * usual budget, a tile has two of the ways of storing: tiles and seeds have others in turn. */
static const struct {
    weft_type type;
    int tile_m, tile_n;
    bool tf32;
} ring_tiles[] = {
    {WEFT_F64, 96, 128, false},  {WEFT_F64, 64, 128, false},  {WEFT_F64, 64, 64, false},
    {WEFT_F64, 128, 32, false},  {WEFT_F64, 128, 16, false},  {WEFT_F32, 128, 256, false},
    {WEFT_F32, 128, 128, false}, {WEFT_F32, 256, 64, false},  {WEFT_F32, 256, 32, false},
    {WEFT_F32, 64, 64, false},   {WEFT_F16, 256, 128, false}, {WEFT_F16, 128, 128, false},
    {WEFT_F16, 128, 64, false},  {WEFT_F16, 64, 64, false},   {WEFT_F16, 192, 192, false},
    {WEFT_F32, 128, 256, true},  {WEFT_F32, 128, 128, true},  {WEFT_F32, 256, 128, true},
    {WEFT_F32, 128, 64, true},   {WEFT_F32, 64, 64, true},    {WEFT_F32, 256, 64, true},
    {WEFT_F64, 64, 32, false}};

static void run_ring_tile(rig *r, size_t tile, bool is_low, unsigned stored) {
    const weft_type type = ring_tiles[tile].type;
    product p = {.row = test_row_named(&wi_gemm_ladder, "ring"),
                 .types = {type, type},
                 .device = ALL_ON_DEVICE,
                 .on_gpu = is_gpu(r),
                 .m = is_low ? 21 : 141,
                 .n = is_low ? 141 : 21,
                 .alpha = 1,
                 .beta = stored % 3 == 0 ? 0 : 1,
                 .pattern = TEST_SMALL};
    const size_t step = 128 / test_size_of(type);
    p.k = step * (type == WEFT_F64 ? 11 : 5) - 3;
    if (type == WEFT_F32)
        p.how = ring_tiles[tile].tf32 ? WEFT_TF32 : WEFT_F32_STRICT;
    choose_layout(r, &p, stored);
    run_case(r, &p);
}

/* tf32 has tiles of 128 x 256 and 256 x 64 only where A lies across k; by rows, B takes its part.
 */
static bool has_ring_tile(size_t tile, unsigned stored) {
    const unsigned along = stored & 4 ? stored & 2 : stored & 1;
    const bool is_across = ring_tiles[tile].tile_n == 256 ||
                           (ring_tiles[tile].tile_m == 256 && ring_tiles[tile].tile_n == 64);
    return !ring_tiles[tile].tf32 || !is_across || !along;
}

/* The k-th way of storing the matrices, where turn `begun` begins: of two that follow each other,
 * one transposes A where the other does not, and B as well. */
static unsigned ring_stored(size_t begun, size_t k) {
    static const unsigned turns[STORED / 2] = {0, 1, 4, 5};
    return turns[(begun + k / 2) % (STORED / 2)] ^ (k % 2 ? 3 : 0);
}

static void ring_shapes(weft_context *ctx) {
    if (ctx->kind != WI_CUDA)
        return;
    rig r = rig_open(ctx, ARRAYS, capacity);
    size_t ways = STORED;
    const size_t begun = test_below(&r.random, STORED);
#ifdef WEFT_EMU
    ways = test_largest_wanted() ? test_times(STORED) : 1;
#endif
    for (size_t tile = 0; tile < sizeof ring_tiles / sizeof *ring_tiles; tile++)
        for (size_t k = 0; k < ways; k++) {
            const unsigned stored = ring_stored(begun / 2 + tile, k);
#ifdef WEFT_EMU
            const bool by_warps = (begun + tile + k) % 2;
            wi_gemm_only_tile_m = ring_tiles[tile].tile_m;
            wi_gemm_only_tile_n = ring_tiles[tile].tile_n;
            wi_gemm_least_lined = by_warps ? 1 : 2048;
            wi_gemm_least_written = (begun + tile + k) / 2 % 2 ? 128 : 1;
            wi_gemm_price_by_warps = by_warps ? 0 : 1e9;
            wi_gemm_price_by_kernel = by_warps ? 1e9 : 0;
#endif
            if (has_ring_tile(tile, stored))
                run_ring_tile(&r, tile, test_below(&r.random, 2), stored);
        }
#ifdef WEFT_EMU
    wi_gemm_only_tile_m = wi_gemm_only_tile_n = 0;
    wi_gemm_least_lined = 2048;
    wi_gemm_least_written = 128;
    wi_gemm_price_by_warps = wi_gemm_price_by_kernel = 1;
#endif
    rig_close(&r);
}

/* Each tile of the rung for a thin C, its k cut into slices where there are few tiles. On emu a few
 * steps are slices, and many of them. */
static void thin_shapes(weft_context *ctx) {
    static const size_t shapes[][3] = {{64, 61, 130}, {30, 17, 150}, {260, 5, 70},  {257, 20, 40},
                                       {256, 33, 36}, {130, 60, 70}, {140, 41, 66}, {3, 259, 70},
                                       {20, 256, 40}, {33, 260, 36}, {60, 130, 70}, {41, 140, 66},
                                       {1, 600, 33},  {600, 1, 0}};
    if (ctx->kind != WI_CUDA)
        return;
    rig r = rig_open(ctx, ARRAYS, capacity);
#ifdef WEFT_EMU
    const size_t least = wi_gemm_thin_least_steps, many = wi_gemm_thin_many_slices;
    wi_gemm_thin_least_steps = 1;
#endif
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t t = 0; t < 2; t++) {
            product p = {.row = test_row_named(&wi_gemm_ladder, "thin"),
                         .types = pairs[t],
                         .device = ALL_ON_DEVICE,
                         .m = shapes[s][0],
                         .n = shapes[s][1],
                         .k = shapes[s][2]};
#ifdef WEFT_EMU
            wi_gemm_thin_many_slices = s % 2 ? many : 2;
#endif
            choose_numbers(&r, &p, s % 4 + 4 * (t + s / 4 % 2), s % 3);
            choose_layout(&r, &p, test_below(&r.random, STORED));
            run_case(&r, &p);
        }
#ifdef WEFT_EMU
    wi_gemm_thin_least_steps = least;
    wi_gemm_thin_many_slices = many;
#endif
    rig_close(&r);
}

/* The same of tf32 and 16-bit floats, on tensor cores: all layouts, k in slices or whole. The lines
 * of matrices are aligned, else tf32 would be multiplied as f32. */
static void thin_on_tensor_cores(weft_context *ctx) {
    static const size_t shapes[][3] = {{132, 5, 200}, {260, 16, 136}, {7, 150, 72}, {129, 41, 136},
                                       {64, 60, 200}, {50, 130, 64},  {1, 9, 16},   {300, 17, 0}};
    if (ctx->kind != WI_CUDA)
        return;
    rig r = rig_open(ctx, ARRAYS, capacity);
#ifdef WEFT_EMU
    const size_t least = wi_gemm_least_steps;
    wi_gemm_least_steps = 1;
#endif
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t t = 1; t < PAIRS - 1; t++) {
            product p = {.row = test_row_named(&wi_gemm_ladder, "thin"),
                         .types = pairs[t],
                         .device = ALL_ON_DEVICE,
                         .on_gpu = is_gpu(&r),
                         .m = shapes[s][0],
                         .n = shapes[s][1],
                         .k = shapes[s][2],
                         .alpha = 1,
                         .beta = (double)(s % 2),
                         .pattern = TEST_SMALL};
            choose_layout(&r, &p, (s + 3 * t) % STORED);
            for (int k = A; k <= B; k++) {
                p.ld[k] = (p.ld[k] + 7) / 8 * 8;
                p.offset[k] = 0;
            }
            if (p.types.type == WEFT_F32)
                p.how |= WEFT_TF32;
            run_case(&r, &p);
        }
#ifdef WEFT_EMU
    wi_gemm_least_steps = least;
#endif
    rig_close(&r);
}

/* The rung for 16 rows or columns: blocks of few warps and of many, k whole and in slices, lines
 * that are aligned and others. */
static void narrow_shapes(weft_context *ctx) {
    static const size_t shapes[][3] = {{70, 3, 40},    {64, 16, 265}, {130, 9, 530},
                                       {9, 100, 1030}, {1, 77, 300},  {77, 1, 64},
                                       {16, 65, 133},  {257, 8, 1},   {128, 16, 512}};
    if (ctx->kind != WI_CUDA)
        return;
    rig r = rig_open(ctx, ARRAYS, capacity);
    size_t longer = 4;
#ifdef WEFT_EMU
    const size_t least = wi_gemm_narrow_least_pieces;
    wi_gemm_narrow_least_pieces = 1;
    longer = 1;
#endif
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t t = 0; t < PAIRS; t++) {
            product p = {.row = test_row_named(&wi_gemm_ladder, "narrow"),
                         .types = pairs[t],
                         .device = ALL_ON_DEVICE,
                         .on_gpu = is_gpu(&r),
                         .m = shapes[s][0],
                         .n = shapes[s][1],
                         .k = shapes[s][2] * longer};
            if (test_size_of(p.types.type) != 2)
                continue;
            choose_numbers(&r, &p, (s + t) % SCALINGS, s % KINDS);
            choose_layout(&r, &p, test_below(&r.random, STORED));
            for (int k = A; k <= B && s % 2 == 0; k++) {
                p.ld[k] = (p.ld[k] + 7) / 8 * 8;
                p.offset[k] = 0;
            }
            run_case(&r, &p);
        }
#ifdef WEFT_EMU
    wi_gemm_narrow_least_pieces = least;
#endif
    rig_close(&r);
}

/* f32 with at most 8 rows or columns, the long factor lying along k from anywhere: several pieces
 * of the short one, k whole and in slices, which end in the midst of a piece. */
static void few_columns(weft_context *ctx) {
    static const size_t shapes[][3] = {{70, 3, 300}, {8, 97, 600},  {65, 8, 1030},
                                       {1, 66, 64},  {130, 5, 256}, {7, 200, 1}};
    if (ctx->kind != WI_CUDA)
        return;
    rig r = rig_open(ctx, ARRAYS, capacity);
#ifdef WEFT_EMU
    const size_t least = wi_gemm_few_least_steps;
#endif
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t time = 0; time < 2; time++) {
            product p = {.row = test_row_named(&wi_gemm_ladder, "thin"),
                         .types = pairs[1],
                         .device = ALL_ON_DEVICE,
                         .on_gpu = is_gpu(&r),
                         .m = shapes[s][0],
                         .n = shapes[s][1],
                         .k = shapes[s][2]};
#ifdef WEFT_EMU
            wi_gemm_few_least_steps = time ? least : 1;
#endif
            choose_numbers(&r, &p, 4 + (3 * s + time) % 12, s % KINDS); /* alpha is not 0 */
            const size_t either = test_below(&r.random, 2);
            choose_layout(&r, &p, p.m > p.n ? 1 + 2 * either : either);
            p.how &= ~(unsigned)WEFT_TF32;
            run_case(&r, &p);
        }
#ifdef WEFT_EMU
    wi_gemm_few_least_steps = least;
#endif
    rig_close(&r);
}

/* The same of f32, by parts: fewer columns than a block has and more, few rows, lines that are
 * aligned and others; and where k ends with a piece, or in its midst. The last shapes have a factor
 * that is long enough for boxes, on emu others as well. */
static void narrow_f32_shapes(weft_context *ctx) {
    static const size_t shapes[][3] = {{300, 3, 70},  {130, 16, 264}, {257, 40, 100}, {9, 260, 133},
                                       {70, 270, 31}, {33, 65, 700},  {64, 64, 513},  {16, 1, 64},
                                       {256, 80, 96}, {1, 300, 50},   {800, 33, 70},  {60, 780, 66},
                                       {790, 7, 80}};
    if (ctx->kind != WI_CUDA)
        return;
    rig r = rig_open(ctx, ARRAYS, capacity);
    size_t longer = 4;
#ifdef WEFT_EMU
    const size_t least = wi_gemm_narrow_least_f32_pieces;
    const size_t least_boxed = wi_gemm_narrow_least_boxed_pieces;
    const size_t least_long = wi_gemm_narrow_least_long, times = wi_gemm_narrow_long_times;
    const size_t least_deep = wi_gemm_narrow_least_deep;
    wi_gemm_narrow_least_f32_pieces = wi_gemm_narrow_least_boxed_pieces = 1;
    longer = 1;
#endif
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t kind = 0; kind < KINDS; kind++) {
            product p = {.row = test_row_named(&wi_gemm_ladder, "narrow"),
                         .types = pairs[1],
                         .device = ALL_ON_DEVICE,
                         .on_gpu = is_gpu(&r),
                         .m = shapes[s][0],
                         .n = shapes[s][1],
                         .k = shapes[s][2] * longer};
            if (is_gpu(&r) || kind == (s + (size_t)test_below(&r.random, KINDS)) % KINDS) {
                choose_numbers(&r, &p, (s + kind) % SCALINGS, kind);
                choose_layout(&r, &p, test_below(&r.random, STORED));
                for (int k = A; k <= B && test_below(&r.random, 2) == 0; k++) {
                    p.ld[k] = (p.ld[k] + 7) / 8 * 8;
                    p.offset[k] = 0;
                }
                p.how &= ~(unsigned)(WEFT_F32_STRICT | WEFT_TF32);
#ifdef WEFT_EMU
                if (s >= 10 && !test_largest_wanted()) /* the long ones */
                    continue;
                const uint64_t which = test_below(&r.random, 3);
                wi_gemm_narrow_least_long = which == 0 ? 1 : least_long;
                wi_gemm_narrow_long_times = which == 0 ? 0 : times;
                wi_gemm_narrow_least_deep = which == 1 ? 1 : least_deep;
#endif
                run_case(&r, &p);
            }
        }
#ifdef WEFT_EMU
    wi_gemm_narrow_least_f32_pieces = least;
    wi_gemm_narrow_least_boxed_pieces = least_boxed;
    wi_gemm_narrow_least_long = least_long;
    wi_gemm_narrow_long_times = times;
    wi_gemm_narrow_least_deep = least_deep;
#endif
    rig_close(&r);
}

/* Few terms: their own rung, with C's rows and columns beyond a block's, and at odd addresses. */
static void few_terms(weft_context *ctx) {
    if (ctx->kind != WI_CUDA)
        return;
    rig r = rig_open(ctx, ARRAYS, capacity);
    for (size_t t = 0; t < PAIRS - 1; t++)
        for (size_t stored = 0; stored < STORED; stored++) {
            product p = {.row = test_row_named(&wi_gemm_ladder, "outer"),
                         .types = pairs[t],
                         .device = ALL_ON_DEVICE,
                         .on_gpu = is_gpu(&r),
                         .m = 200 + 100 * (stored % 3),
                         .n = 30 + stored,
                         .k = (stored * 5 + t) % (WI_GEMM_OUTER_TERMS + 1)};
            choose_numbers(&r, &p, (stored + t) % SCALINGS, stored % KINDS);
            choose_layout(&r, &p, stored);
            run_case(&r, &p);
        }
    rig_close(&r);
}

/* Many terms of a small C: k is cut into several slices, whose sums are added up afterwards. */
static void deep_sums(weft_context *ctx) {
    static const char *const names[] = {"pipeline", "tensor"};
    if (ctx->kind != WI_CUDA)
        return;
    rig r = rig_open(ctx, ARRAYS, capacity);
    for (size_t t = 0; t < PAIRS; t++)
        for (size_t k = 0; k < 2; k++) {
            product p = {.row = test_row_named(&wi_gemm_ladder, names[k]),
                         .types = pairs[t],
                         .device = ALL_ON_DEVICE,
                         .on_gpu = is_gpu(&r),
                         .m = 5,
                         .n = 9,
                         .k = 1290,
                         .alpha = 1,
                         .pattern = TEST_SMALL};
            if (!(p.row->types & WI_TYPE(p.types.type)))
                continue;
            choose_layout(&r, &p, test_below(&r.random, STORED));
            run_case(&r, &p);
        }
    rig_close(&r);
}

/* C of one row or one column, stored in each way. */
static void one_line(weft_context *ctx) {
    if (ctx->kind != WI_CUDA)
        return;
    rig r = rig_open(ctx, ARRAYS, capacity);
    for (size_t t = 0; t < PAIRS - 1; t++)
        for (size_t stored = 0; stored < STORED; stored++)
            for (size_t row = 0; row < 2; row++) {
                product p = {.row = test_row_named(&wi_gemm_ladder, "gemv"),
                             .types = pairs[t],
                             .device = ALL_ON_DEVICE,
                             .on_gpu = is_gpu(&r),
                             .m = row ? 1 : 70,
                             .n = row ? 61 : 1,
                             .k = stored == 7 ? 0 : 45};
                choose_numbers(&r, &p, (stored + t) % SCALINGS, stored % KINDS);
                choose_layout(&r, &p, stored);
                run_case(&r, &p);
            }
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(each_rung_once),
        TEST_ON_EACH_PLACE(thin_shapes),
        TEST_ON_EACH_PLACE(thin_on_tensor_cores),
        TEST_ON_EACH_PLACE(narrow_shapes),
        TEST_ON_EACH_PLACE(few_columns),
        TEST_ON_EACH_PLACE(narrow_f32_shapes),
        TEST_ON_EACH_PLACE(deep_products),
        TEST_ON_EACH_PLACE(ring_shapes),
        TEST_ON_EACH_PLACE(one_line),
        TEST_ON_EACH_PLACE(few_terms),
        TEST_ON_EACH_PLACE(deep_sums),
        TEST_ON_EACH_PLACE(usual_sizes),
        TEST_ON_EACH_PLACE(longer_sizes),
    };
    return cmocka_run_group_tests_name("gemm", tests, NULL, NULL);
}
