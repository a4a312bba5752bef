/* SPDX-License-Identifier: Apache-2.0 */
/* Long lines: those that a block or a cluster holds, and groups of lines for a cache, which on emu
 * is small here; contiguous ones and columns, by every rung that has kernels of its own for them.
 */
#include "core/gpu.h"
#include "fft/fft_case.h"
#include "limits.h"

/* With `gap` numbers after each line. */
static void run_apart(rig *r, const wi_row *row, weft_type type, size_t n, size_t batch,
                      bool across, size_t gap) {
    picture p = {.row = row, .device = 3};
    weft_fft_description *const d = &p.d;
    d->type = type;
    d->rank = 1;
    d->n[0] = n;
    d->n[1] = d->n[2] = 1;
    d->batch = batch;
    d->direction = test_below(&r->random, 2) ? WEFT_FFT_INVERSE : WEFT_FFT_FORWARD;
    d->stride_x[0] = d->stride_y[0] = across ? batch : 1;
    d->apart_x = d->apart_y = across ? 1 : n + gap;
    p.in_place = test_below(&r->random, 2);
    run_case(r, &p);
}

static void run_long(rig *r, const wi_row *row, weft_type type, size_t n, size_t batch,
                     bool across) {
    run_apart(r, row, type, n, batch, across, 0);
}

/* Of f16: lines and columns, by kernels for a length, for any length and for large primes. */
static void run_halves(rig *r, const wi_row *row) {
    run_long(r, row, WEFT_F16, 1 << 13, 1, false);
    run_long(r, row, WEFT_F16, 1 << 12, 3, true);
    run_long(r, row, WEFT_F16, 1021, 3, false);
    run_long(r, row, WEFT_F16, 1000, 3, false);
    run_long(r, row, WEFT_F16, 16807, 1, false);
}

/* With large prime factors: cut, so that one kernel does the convolutions of a factor, or not. */
static void run_rough(rig *r, const wi_row *row) {
    static const size_t convolved[] = {514, 1030, 2053, 3089, 4099};
    static const size_t longer[] = {8209, 12289, 20011}, longer_f64[] = {2053, 4099, 10007};
    run_long(r, row, test_below(&r->random, 2) ? WEFT_F32 : WEFT_F16, 9738, 3, false);
    run_long(r, row, WEFT_F32, 17139, 1, false);
    run_long(r, row, WEFT_F32, 8258, 2, true);
    run_long(r, row, WEFT_F32, 97 * 101, 2, false);
    run_long(r, row, WEFT_F64, 4084, 3, test_below(&r->random, 2));
    run_long(r, row, WEFT_F64, 37 * 61, 3, test_below(&r->random, 2));
    run_long(r, row, WEFT_F32, 1021, 6, test_below(&r->random, 2));
    run_long(r, row, WEFT_F64, 1021, 3, test_below(&r->random, 2));
    for (size_t k = 0; k < sizeof convolved / sizeof *convolved; k++)
        run_long(r, row, WEFT_F32, convolved[k], 3, test_below(&r->random, 2));
    run_long(r, row, test_below(&r->random, 2) ? WEFT_F32 : WEFT_F16,
             longer[test_below(&r->random, 3)], 1, false);
    run_long(r, row, WEFT_F64, longer_f64[test_below(&r->random, 3)], 1, false);
}

#if defined WEFT_CUDA && !defined WEFT_EMU
/* The longest of them; comparing takes seconds. */
static void run_longest(rig *r, const wi_row *row) {
    static const size_t lengths[] = {30011, 34877, 70001};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
        run_long(r, row, k % 2 ? WEFT_F16 : WEFT_F32, lengths[k], 1, false);
    run_long(r, row, WEFT_F64, 40009, 1, false);
}
#endif

/* Dense lines whose first stage or last one, or both, are large primes, and with large radices. */
static void run_dense(rig *r, const wi_row *row) {
    static const size_t lengths[] = {37,   41,   43,   47,   53,   59,   61,  122, 1480, 1517,
                                     2021, 2809, 3355, 3599, 1054, 1029, 728, 992, 2356, 137};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
        run_long(r, row, WEFT_F32, lengths[k], 1 + test_below(&r->random, 5), false);
}

/* Lengths with a kernel of their own, so many lines that the last block lacks some, with gaps. */
static void run_known(rig *r, const wi_row *row) {
    static const size_t lengths[] = {
        507,  578,  722,  845,  867,  931,  1014, 1058, 1083, 1183, 1190, 1288, 1300, 1305,
        1330, 1352, 1360, 1377, 1380, 1445, 1449, 1587, 1624, 1625, 1690, 1700, 1734, 1736,
        1815, 1859, 2023, 2028, 2175, 2352, 2366, 2401, 2484, 2523, 2527, 2645, 2744, 2760,
        2890, 3174, 3179, 3185, 3430, 3468, 3703, 3920, 3971, 4000, 4046, 4056, 4500, 6561};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
        run_apart(r, row, WEFT_F32, lengths[k], 1 + test_below(&r->random, 6), false,
                  test_below(&r->random, 3));
}

/* Lines that a block holds as a whole, with each radix. */
static void run_whole(rig *r, const wi_row *row) {
    static const size_t of_f32[] = {6561, 13310, 13104, 15625, 14406, 24000},
                        of_f64[] = {6930, 8190, 8019};
    const size_t n = of_f32[test_below(&r->random, 6)];
    run_long(r, row, test_below(&r->random, 2) ? WEFT_F32 : WEFT_F16, n, 1, false);
    run_long(r, row, WEFT_F64, of_f64[test_below(&r->random, 3)], 2, false);
}

#ifdef WEFT_CUDA
/* On a device whose blocks have less shared memory such lines are cut. */
static void run_cut(rig *r, const wi_row *row) {
    struct wi_gpu *const gpu = r->ctx->gpu;
    const size_t most = gpu->shared_optin;
    gpu->shared_optin = 64 << 10;
    run_long(r, row, WEFT_F32, 13104, 1, false);
    run_long(r, row, WEFT_F32, 1 << 14, 1, false);
    gpu->shared_optin = most;
}

/* More blocks than multiprocessors, so that all but the last ones look ahead, at whole and at
 * smaller blocks of short lines. Lines with gaps begin and end anywhere in pieces of 16 bytes. */
static void run_ahead(rig *r, const wi_row *row) {
    static const size_t filling[] = {1 << 14, 16807, 19683};
    struct wi_gpu *const gpu = r->ctx->gpu;
    const int all = gpu->multiprocessors;
    const weft_type type = test_below(&r->random, 2) ? WEFT_F32 : WEFT_F16;
    gpu->multiprocessors = 2;
    run_apart(r, row, WEFT_F32, filling[test_below(&r->random, 3)], 5, false,
              test_below(&r->random, 3));
    run_apart(r, row, type, 1 << 13, 4, false, 1 + test_below(&r->random, 3));
    run_long(r, row, WEFT_F64, 1 << 12, 3, false);
    run_long(r, row, type, 512, 29, false);
    run_long(r, row, type, 1000, 7, false);
    run_apart(r, row, WEFT_F32, 1305, 9, false, test_below(&r->random, 3));
    gpu->multiprocessors = all;
}
#endif

/* Several groups, the last one smaller; on a GPU by each of the kernels. */
static void run_fused(rig *r, const wi_row *row, weft_type type) {
#ifdef WEFT_EMU
    if (type != WEFT_F32) {
        run_long(r, row, type, 1 << 13, 5, type == WEFT_F64);
        return;
    }
    run_long(r, row, type, 1 << 15, 2, false);
    if (test_largest_wanted())
        run_long(r, row, type, 1 << 18, 2, false); /* whose tiles are found early, */
    run_long(r, row, type, 1 << 18, 1, false);     /* some before they may be read */
    run_long(r, row, type, 1 << 11, 69, true);
#else
    for (unsigned bits = 11; bits < 20; bits++)
        run_long(r, row, type, (size_t)1 << bits, ((size_t)3 << 17 >> bits) + (bits > 18),
                 bits % 2 || bits < 15);
#endif
}

/* Lines in clusters, and groups of them; on emu, which takes long for them, one of each, and of f32
 * and f16, whose kernels differ in what they read and write, the longest of `longest` alone. */
static void run_clusters(rig *r, const wi_row *row, weft_type type, weft_type longest) {
    const size_t least = (size_t)1 << (type == WEFT_F64 ? 13 : 15);
    run_long(r, row, type, least, 2, false);
    run_long(r, row, type, 2 * least, 1, false);
    if (type == WEFT_F64 || type == longest)
        run_long(r, row, type, 4 * least, 1, false);
    run_long(r, row, type, type == WEFT_F64 ? 19683 : 16807, 1, false);
#ifdef WEFT_EMU
    if (type != WEFT_F64)
        return;
#endif
    run_long(r, row, type, 8 * least, 1, false);
#ifndef WEFT_EMU
    run_long(r, row, type, 19683, 3, false);
    run_long(r, row, type, 16807, 3, false);
#endif
}

/* Lines next to each other in clusters; the last of these have fewer. */
static void run_columns(rig *r, const wi_row *row, weft_type type) {
    for (size_t n = type == WEFT_F64 ? 4096 : 2048; n <= 8192; n *= 2)
        run_long(r, row, type, n, 8 + test_below(&r->random, n > 4096 ? 4 : 12), true);
}

#ifdef WEFT_CUDA
/* Lines of two passes of columns that fill a multiprocessor; on emu of small ones, and more tiles
 * than there are multiprocessors. */
static void run_tall(rig *r, const wi_row *row, weft_type type) {
#    ifdef WEFT_EMU
    struct wi_gpu *const gpu = r->ctx->gpu;
    const int all = gpu->multiprocessors;
    gpu->multiprocessors = 2;
    wi_fft_tall_small = true;
    for (size_t n = 4096; n <= 16384; n *= 2)
        run_apart(r, row, type, n, 1 + test_below(&r->random, 2), false, test_below(&r->random, 3));
    wi_fft_tall_small = false;
    gpu->multiprocessors = all;
#    else
    if (type == WEFT_F16)
        return;
    rig large = rig_open(r->ctx, ARRAYS, (size_t)1 << 28); /* all of it is compared each time */
    if (type == WEFT_F32)
        run_apart(&large, row, type, 1 << 21, 2, false, test_below(&r->random, 3));
    else
        run_apart(&large, row, type, 1 << 23, 1, false, 0);
    rig_close(&large);
#    endif
}
#endif

#ifdef WEFT_EMU
/* Planes whose rows and columns are one work, of small ones: with gaps between rows and between
 * planes, as two of three dimensions, and in place, where they are not. */
static void run_planes(rig *r, const wi_row *row) {
    picture p = {.row = row, .device = 3};
    weft_fft_description *const d = &p.d;
    const size_t gap = test_below(&r->random, 3), planes = 1 + test_below(&r->random, 2);
    wi_fft_tall_small = wi_fft_planes_small = true;
    d->type = WEFT_F32;
    d->batch = 1;
    d->rank = 3;
    d->n[0] = planes;
    d->n[1] = 256;
    d->n[2] = 512;
    d->scale = 0.5;
    d->direction = test_below(&r->random, 2) ? WEFT_FFT_INVERSE : WEFT_FFT_FORWARD;
    for (int array = X; array <= Y; array++) {
        size_t *const strides = array == X ? d->stride_x : d->stride_y;
        strides[2] = 1;
        strides[1] = 512 + (array == X ? gap : 0);
        strides[0] = strides[1] * 256 + gap;
        *(array == X ? &d->apart_x : &d->apart_y) = strides[0] * planes;
    }
    run_case(r, &p);
    memcpy(d->stride_x, d->stride_y, sizeof d->stride_x);
    d->apart_x = d->apart_y;
    p.in_place = true;
    run_case(r, &p);
    wi_fft_tall_small = wi_fft_planes_small = false;
}
#elif defined WEFT_CUDA
/* A plane whose rows and columns are one work, as by another rung: an oracle would take long. */
static void run_planes(rig *r, const wi_row *row) {
    const size_t rows = 8192, n = 8192, bytes = rows * n * 2 * sizeof(float);
    rig large = rig_open(r->ctx, 3, bytes);
    const weft_fft_description d = {
        .type = WEFT_F32, .rank = 2, .n = {rows, n}, .batch = 1, .scale = 0.25};
    double wrong = 0, size = 0;
    const float *y[2];
    test_fill(&large.random, TEST_ANY, WEFT_F32, 2 * rows * n, large.source[0]);
    test_buffer *const x = rig_buffer(&large, 7, 0);
    test_buffer_load(x, large.source[0], bytes, 0);
    for (int k = 0; k < 2; k++) {
        test_buffer *const to = rig_buffer(&large, 7, 1 + k);
        test_buffer_load(to, large.source[1 + k], bytes, 0);
        assert_int_equal(weft_use(r->ctx, "fft", k ? row->name : "cached"), WEFT_OK);
        assert_int_equal(weft_fft(r->ctx, &d, x->p, to->p), WEFT_OK);
        y[k] = test_buffer_read(to, "a plane");
    }
    for (size_t i = 0; i < 2 * rows * n; i++) {
        const double error = (double)y[1][i] - (double)y[0][i];
        wrong += error * error;
        size += (double)y[0][i] * (double)y[0][i];
    }
    if (!(sqrt(wrong) <= 0x1p-24 * 4 * sqrt(26 + 4) * sqrt(size)))
        fail_msg("a plane of %zu x %zu: differs by %.3g", rows, n, sqrt(wrong / size));
    rig_close(&large);
}
#endif

#ifdef WEFT_CUDA
/* Columns of 512 numbers, and on emu lines whose passes all go through memory: on a GPU they are
 * longer than what is compared here. */
static void run_plain(rig *r, const wi_row *row, weft_type type) {
#    ifdef WEFT_EMU
    const size_t from = wi_fft_plain_from;
    wi_fft_plain_from = (size_t)1 << 18;
    run_long(r, row, type, (size_t)1 << 18, test_largest_wanted() ? 2 : 1, false);
    wi_fft_plain_from = from;
#    endif
    run_long(r, row, type, 512, 3 + test_below(&r->random, 40), true);
}
#endif

static void run_pieces(rig *r, const wi_row *row, weft_type type) {
#ifdef WEFT_EMU
    run_long(r, row, type, 1 << (type == WEFT_F64 ? 13 : 15), type == WEFT_F64 ? 5 : 2,
             type == WEFT_F64);
#else
    run_long(r, row, type, 1 << 15, 2, false);
    run_long(r, row, type, 1 << 13, 5, true);
    run_long(r, row, type, 1 << 17, 1, false);
    run_long(r, row, type, 1 << 16, 2, true);
#endif
}

static void long_lines(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, capacity);
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_fft_ladder, rows);
    static const weft_type types[] = {WEFT_F32, WEFT_F64, WEFT_F16};
#ifdef WEFT_EMU
    const weft_type drawn = test_below(&r.random, 2) ? WEFT_F32 : WEFT_F16;
    const size_t kept = wi_fft_kept_bytes;
    wi_fft_kept_bytes = 1 << 16;
#endif
    for (size_t k = 0; k < count; k++) {
        const char *const name = rows[k] ? rows[k]->name : "";
        const bool is_cluster = strcmp(name, "clusters") == 0;
        const bool is_fused = strcmp(name, "fused") == 0;
        if (!is_cluster && !is_fused && strcmp(name, "cached") != 0 && strcmp(name, "threads") != 0)
            continue;
        if (!is_cluster && !is_fused) {
            run_halves(&r, rows[k]);
            run_whole(&r, rows[k]);
            run_rough(&r, rows[k]);
            run_dense(&r, rows[k]);
            run_known(&r, rows[k]);
#ifdef WEFT_CUDA
            if (ctx->gpu) {
#    ifndef WEFT_EMU
                run_longest(&r, rows[k]);
#    endif
                run_cut(&r, rows[k]);
                run_ahead(&r, rows[k]);
            }
#endif
        }
        for (int t = 0; t < 3; t++) {
            const weft_type type = types[t];
            if (is_fused)
                run_fused(&r, rows[k], type);
            else if (is_cluster) {
#ifdef WEFT_EMU
                run_clusters(&r, rows[k], type, drawn);
#else
                run_clusters(&r, rows[k], type, type);
#endif
                run_columns(&r, rows[k], type);
#ifdef WEFT_CUDA
                run_tall(&r, rows[k], type);
                if (ctx->gpu && type == WEFT_F32) {
                    run_plain(&r, rows[k], type);
                    run_planes(&r, rows[k]);
                }
#endif
            } else
                run_pieces(&r, rows[k], type);
        }
    }
#ifdef WEFT_EMU
    wi_fft_kept_bytes = kept;
#endif
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(long_lines)};
    return cmocka_run_group_tests_name("fft_long", tests, NULL, NULL);
}
