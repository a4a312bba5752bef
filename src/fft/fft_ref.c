/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs definition and radix2 of the cpu: one line after the other, by one thread. */
#include "cpu/half.h"
#include "fft/fft.h"
#include "fft/fft_cpu.h"
#include "fft/fft_tables.h"

#define T float
#define NAME(f) f##_f32
#include "fft/fft_cpu_loops.inc"
#define T double
#define NAME(f) f##_f64
#include "fft/fft_cpu_loops.inc"

typedef void line_work(const wi_fft_lines *l, const void *table, size_t in, size_t out, void *room);

void wi_fft_move_some(const wi_fft_move *m, size_t first, size_t end) {
    for (size_t row = first; row < end; row++) {
        size_t in, out;
        wi_fft_loops_at(&m->loops, row, &in, &out);
        (m->type == WEFT_F64 ? move_f64 : move_f32)(m, in, out);
    }
}

void wi_fft_fold_some(const wi_fft_fold *f, size_t first, size_t end) {
    for (size_t row = first; row < end; row++) {
        size_t in, out;
        wi_fft_loops_at(&f->loops, row, &in, &out);
        (f->type == WEFT_F64 ? fold_f64 : fold_f32)(f, in, out);
    }
}

static weft_status move_all(weft_context *ctx, const wi_fft_move *m) {
    (void)ctx;
    wi_fft_move_some(m, 0, wi_fft_loops_lines(&m->loops));
    return WEFT_OK;
}

static weft_status fold_all(weft_context *ctx, const wi_fft_fold *f) {
    (void)ctx;
    wi_fft_fold_some(f, 0, wi_fft_loops_lines(&f->loops));
    return WEFT_OK;
}

static bool takes_all(const weft_context *ctx, const wi_fft_lines *l) {
    (void)ctx;
    (void)l;
    return true;
}

/* All powers of exp(-2 pi i / n). */
static weft_status powers_of(weft_context *ctx, const wi_fft_lines *l, const void **table) {
    const wi_fft_table_key key = {.kind = WI_FFT_POWERS, .type = l->type, .n = l->n, .part = l->n};
    return wi_fft_table(ctx, &key, table);
}

static weft_status prepare(weft_context *ctx, const wi_fft_lines *l, size_t *room_bytes) {
    const void *table;
    *room_bytes = l->n * wi_fft_number_bytes(l->type);
    return powers_of(ctx, l, &table);
}

static weft_status run(weft_context *ctx, const wi_fft_lines *l, line_work *work, void *room) {
    const void *table = NULL;
    const size_t lines = wi_fft_loops_lines(&l->loops);
    const weft_status status = powers_of(ctx, l, &table);
    for (size_t line = 0; line < lines && status == WEFT_OK; line++) {
        size_t in, out;
        wi_fft_loops_at(&l->loops, line, &in, &out);
        work(l, table, in, out, room);
    }
    return status;
}

static weft_status define(weft_context *ctx, const wi_fft_lines *l, void *room) {
    return run(ctx, l, l->type == WEFT_F64 ? define_f64 : define_f32, room);
}

static weft_status double_up(weft_context *ctx, const wi_fft_lines *l, void *room) {
    return run(ctx, l, l->type == WEFT_F64 ? double_up_f64 : double_up_f32, room);
}

weft_status wi_fft_definition(weft_context *ctx, const void *args) {
    static const wi_fft_engine engine = {.takes = takes_all,
                                         .any_length = true,
                                         .prepare = prepare,
                                         .lines = define,
                                         .move = move_all,
                                         .fold = fold_all};
    return wi_fft_drive(ctx, &engine, args);
}

weft_status wi_fft_radix2(weft_context *ctx, const void *args) {
    static const wi_fft_engine engine = {.takes = takes_all,
                                         .most_prime = 2,
                                         .prepare = prepare,
                                         .lines = double_up,
                                         .move = move_all,
                                         .fold = fold_all};
    return wi_fft_drive(ctx, &engine, args);
}
