/* SPDX-License-Identifier: Apache-2.0 */
/* The rung threads: each thread takes groups of lines, as many as a vector has lanes. A line that
 * is alone is cut, so that it becomes lines next to each other. */
#include "fft/fft_cpu.h"

#include <string.h>

#include "cpu/team.h"
#include "fft/fft_simd.h"
#include "fft/fft_tables.h"

enum {
    MOST_RADIX = 10,  /* 11 and 13 if n needs them; larger ones have more numbers than registers */
    WIDE_BYTES = 64,  /* of vectors of which there are 32 registers: */
    WIDE_RADIX = 16,  /* 16 numbers just fit, which pays if it saves a stage */
    MOST_NEAR = 1024, /* numbers of a line whose vectors fit half of a second-level cache */
    MOST_DIRECT = 4096,    /* not cut if there are lines for several vectors */
    LEAST_CUT = 64,        /* a shorter line is not worth cutting */
    TURNS_BYTES = 1 << 19, /* a longer table of factors would drive numbers from the cache */
    KEPT_BYTES = 1 << 20   /* for a thread; what it reads and writes takes cache, too */
};

static const wi_fft_simd *simd_of(void) {
    return WI_OF_ISA(wi_cpu_isa(), wi_fft_simd);
}

static size_t lanes_of(weft_type type) {
    return simd_of()->bytes / weft_type_size(type);
}

/* ---- tables ---- */

static size_t radices_of(size_t n, unsigned *radix) {
    unsigned wide[WI_FFT_MOST_CPU_STAGES];
    if (simd_of()->bytes < WIDE_BYTES)
        return wi_fft_cheap_radices(n, radix);
    const size_t stages = wi_fft_radices(n, MOST_RADIX, radix);
    const size_t fewer = wi_fft_radices(n, WIDE_RADIX, wide);
    if (fewer < stages)
        memcpy(radix, wide, fewer * sizeof *radix);
    return fewer;
}

static weft_status work_of(weft_context *ctx, const wi_fft_lines *l, wi_fft_work *work) {
    wi_fft_table_key key = {.kind = WI_FFT_STAGES_OF, .type = l->type, .n = l->n};
    *work = (wi_fft_work){.lines = l};
    work->stages = radices_of(l->n, work->radix);
    for (size_t k = 0; k < work->stages; k++)
        key.radix[k] = (unsigned char)work->radix[k];
    weft_status status = wi_fft_table(ctx, &key, &work->twiddles);
    if (status != WEFT_OK || l->period == 0)
        return status;
    if (l->turning == 0 && l->period * wi_fft_number_bytes(l->type) <= TURNS_BYTES) {
        key = (wi_fft_table_key){.kind = WI_FFT_TURNS,
                                 .type = l->type,
                                 .n = l->period,
                                 .part = lanes_of(l->type),
                                 .rows = l->n};
        return wi_fft_table(ctx, &key, &work->turns);
    }
    work->part = wi_fft_powers_part(l->period);
    key = (wi_fft_table_key){
        .kind = WI_FFT_POWERS, .type = l->type, .n = l->period, .part = work->part};
    status = wi_fft_table(ctx, &key, &work->powers);
    if (status != WEFT_OK || l->turning != 0)
        return status;
    key = (wi_fft_table_key){.kind = WI_FFT_LANES,
                             .type = l->type,
                             .n = l->period,
                             .part = lanes_of(l->type),
                             .rows = l->n};
    return wi_fft_table(ctx, &key, &work->lanes);
}

static weft_status prepare(weft_context *ctx, const wi_fft_lines *l, size_t *room_bytes) {
    wi_fft_work work;
    *room_bytes = (size_t)ctx->threads * 4 * l->n * simd_of()->bytes;
    return work_of(ctx, l, &work);
}

/* ---- lines ---- */

typedef struct job {
    wi_fft_work work;
    wi_fft_transform_lines *transform;
    size_t lanes, lines;
    size_t run;    /* lines that a group does not go beyond: those of the innermost loop, or all */
    size_t groups; /* of a run */
    char *room;
    size_t room_bytes; /* of a thread */
} job;

static void run_share(void *user, int rank, int team) {
    const job *const j = user;
    const size_t all = j->lines / j->run * j->groups, end = wi_team_share(all, rank + 1, team);
    for (size_t k = wi_team_share(all, rank, team); k < end; k++) {
        const size_t at = k % j->groups * j->lanes, left = j->run - at;
        j->transform(&j->work, k / j->groups * j->run + at, left < j->lanes ? left : j->lanes,
                     j->room + (size_t)rank * j->room_bytes);
    }
}

static weft_status transform(weft_context *ctx, const wi_fft_lines *l, void *room) {
    const wi_fft_simd *const simd = simd_of();
    job j = {.transform = l->type == WEFT_F64         ? simd->f64
                          : l->half_in || l->half_out ? simd->half
                                                      : simd->f32,
             .lanes = lanes_of(l->type),
             .lines = wi_fft_loops_lines(&l->loops),
             .room_bytes = 4 * l->n * simd_of()->bytes};
    const weft_status status = work_of(ctx, l, &j.work);
    if (status != WEFT_OK || j.lines == 0)
        return status;
    j.run = l->period && l->loops.used > 0 ? l->loops.count[0] : j.lines;
    j.groups = (j.run + j.lanes - 1) / j.lanes;
    const int team = wi_team_size(ctx, j.lines / j.run * j.groups,
                                  4 * j.lines * l->n * wi_fft_number_bytes(l->type));
    j.room = room;
    wi_team_run(ctx, team, run_share, &j);
    return WEFT_OK;
}

/* ---- rows ---- */

typedef struct rows_job {
    const wi_fft_move *move; /* or NULL */
    const wi_fft_fold *fold;
    size_t rows;
} rows_job;

static void run_rows(void *user, int rank, int team) {
    const rows_job *const j = user;
    const size_t first = wi_team_share(j->rows, rank, team);
    const size_t end = wi_team_share(j->rows, rank + 1, team);
    if (j->move)
        wi_fft_move_some(j->move, first, end);
    else
        wi_fft_fold_some(j->fold, first, end);
}

static weft_status move(weft_context *ctx, const wi_fft_move *m) {
    rows_job j = {.move = m, .rows = wi_fft_loops_lines(&m->loops)};
    wi_team_run(ctx, wi_team_size(ctx, j.rows, j.rows * m->n_out * wi_fft_number_bytes(m->type)),
                run_rows, &j);
    return WEFT_OK;
}

static weft_status fold(weft_context *ctx, const wi_fft_fold *f) {
    rows_job j = {.fold = f, .rows = wi_fft_loops_lines(&f->loops)};
    wi_team_run(ctx, wi_team_size(ctx, j.rows, j.rows * f->n * weft_type_size(f->type)), run_rows,
                &j);
    return WEFT_OK;
}

/* ---- the rung ---- */

static bool cuts(weft_type type, size_t n) {
    (void)type;
    return n <= WI_FFT_MOST_CUT;
}

static bool takes(const weft_context *ctx, const wi_fft_lines *l) {
    const size_t lines = l->whole ? l->whole : wi_fft_loops_lines(&l->loops);
    const size_t lanes = lanes_of(l->type);
    (void)ctx;
    if (l->n <= MOST_NEAR)
        return l->n < LEAST_CUT || l->period || lines >= lanes;
    return l->n <= MOST_DIRECT && lines >= 2 * lanes;
}

weft_status wi_fft_threads(weft_context *ctx, const void *args) {
    const wi_fft_engine engine = {.halves = true,
                                  .most_prime = 13,
                                  .takes = takes,
                                  .cuts = cuts,
                                  .kept_bytes = KEPT_BYTES * (size_t)ctx->threads,
                                  .group_bytes = KEPT_BYTES * (size_t)ctx->threads,
                                  .together = simd_of()->bytes / sizeof(float),
                                  .prepare = prepare,
                                  .lines = transform,
                                  .move = move,
                                  .fold = fold};
    return wi_fft_drive(ctx, &engine, args);
}
