/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs threads, separable and low_rank: a thread takes bands of rows, in blocks of columns
 * whose lines stay in its cache. */
#include <string.h>

#include "convolve/convolve_cost.h"
#include "convolve/convolve_simd.h"
#include "convolve/convolve_terms.h"
#include "cpu/team.h"

enum {
    CACHE_BYTES = 1 << 18, /* for the lines of a block */
    LEAST_BLOCK = 256,     /* elements */
    MOST_BLOCK = 16384,
    STRIPS_BYTES = 5 << 17, /* the same by strips: lines of x for a block */
    STRIPS_BLOCK = 768,     /* elements: a multiple of all widths of strips */
    LINE_BYTES = 64,
    STREAM_BYTES = 1 << 24, /* an output that no cache would keep */
    LEAST_BAND = 32         /* rows; lines above and below a band are taken twice */
};

static size_t pieces(size_t n, size_t size) {
    return (n + size - 1) / size;
}

static size_t round_up(size_t n, size_t to) {
    return pieces(n, to) * to;
}

static size_t sum_bytes(const wi_convolve_args *a) {
    return a->doubles ? sizeof(double) : sizeof(float);
}

/* Whether strips can use x and y as they lie: rows are lines of elements of the sums' type, and, if
 * outputs bypass the cache, all rows of y begin at the same place of a cache line. */
static void plan_access(wi_convolve_plan *p) {
    const wi_convolve_args *const a = p->args;
    const weft_type sums = a->doubles ? WEFT_F64 : WEFT_F32;
    const size_t size = sum_bytes(a), ends = (uintptr_t)a->y % LINE_BYTES;
    const bool is_even = ends % size == 0 && a->ldy * size % LINE_BYTES == 0 &&
                         (a->images == 1 || a->apart_y * size % LINE_BYTES == 0);
    p->reads = a->type == sums && p->apart == p->step;
    p->writes = p->reads && a->out == sums && (!p->streams || is_even);
    p->lead = p->writes && p->streams ? (LINE_BYTES - ends) % LINE_BYTES / size : 0;
}

/* The same plan for strips. */
static void plan_strips(wi_convolve_plan *p, int threads, bool has_parts) {
    const wi_convolve_args *const a = p->args;
    const size_t side = a->filter_width;
    plan_access(p);
    p->rows = wi_convolve_strip_rows(side, a->filter_height, has_parts);
    p->kept = p->rows + a->filter_height - 1;
    p->blocks = pieces(p->length * p->kept * sum_bytes(a), STRIPS_BYTES);
    p->block = round_up(pieces(p->length, p->blocks), STRIPS_BLOCK);
    p->pitch = round_up(WI_CONVOLVE_SEGMENT + (side - 1) * p->step, 16) + WI_CONVOLVE_SPARE;
    p->band = pieces(a->out_height, (size_t)threads); /* of more, each would have rows to spare */
    p->band = round_up(p->band < LEAST_BAND ? LEAST_BAND : p->band, p->rows);
    p->blocks = p->length > p->lead ? pieces(p->length - p->lead, p->block) : 1;
    p->bands = pieces(a->out_height, p->band);
}

/* By the strips of `strips`, or, if that is NULL, not by strips. */
static wi_convolve_plan plan_of(const wi_convolve_args *a, size_t terms, int threads,
                                const wi_convolve_simd *strips) {
    const bool apart = a->filters > 1 && a->channels > 1;
    wi_convolve_plan p = {.args = a,
                          .terms = terms,
                          .step = apart ? 1 : a->channels,
                          .apart = a->channels,
                          .parts = apart ? a->channels : 1};
    p.length = a->out_width * p.step;
    /* Lines are taken four at a time. */
    p.kept = round_up(a->filter_height + WI_CONVOLVE_ROWS - 1, WI_CONVOLVE_ROWS);
    p.block =
        round_up(CACHE_BYTES / (p.kept * (terms ? terms : 1) * sum_bytes(a)) + 1, LEAST_BLOCK);
    p.block = p.block > MOST_BLOCK ? MOST_BLOCK : p.block;
    p.block = p.block > p.length ? p.length : p.block;
    p.pitch = round_up(p.block + (a->filter_width - 1) * p.step, 16) + 2 * WI_CONVOLVE_SPARE;
    p.band = a->out_height / (4 * (size_t)threads) + 1;
    p.band = round_up(p.band < LEAST_BAND ? LEAST_BAND : p.band, WI_CONVOLVE_ROWS);
    p.band =
        p.band < 4 * a->filter_height ? round_up(4 * a->filter_height, WI_CONVOLVE_ROWS) : p.band;
    p.streams = a->out_height * a->out_width * a->channels * a->images * weft_type_size(a->out) >=
                STREAM_BYTES;
    p.blocks = pieces(p.length, p.block);
    p.bands = pieces(a->out_height, p.band);
    if (strips)
        plan_strips(&p, threads, strips->has_parts);
    return p;
}

/* How many weights an output pixel of each filter takes. */
static size_t weights_of(const wi_convolve_args *a, size_t terms) {
    return terms ? terms * (a->filter_width + a->filter_height)
                 : a->filter_width * a->filter_height;
}

/* The weights in the type of the sums. Those that low_rank has for one term are what separable has.
 */
static void put_weights(const wi_convolve_plan *p, void *weights) {
    const wi_convolve_args *const a = p->args;
    const double *const row = a->terms ? a->term_rows : a->row;
    const double *const column = a->terms ? a->term_columns : a->column;
    const size_t rows = p->terms * a->filters * a->filter_width;
    for (size_t k = 0; k < a->filters * weights_of(a, p->terms); k++) {
        const double weight = !p->terms ? a->filter[k] : k < rows ? row[k] : column[k - rows];
        if (a->doubles)
            ((double *)weights)[k] = weight;
        else
            ((float *)weights)[k] = (float)weight;
    }
}

typedef struct job {
    wi_convolve_plan plan;
    wi_convolve_work work;
    char *room;
    size_t room_bytes; /* of a thread */
    size_t count;
} job;

static void run_share(void *user, int rank, int team) {
    const job *const j = user;
    const size_t end = wi_team_share(j->count, rank + 1, team);
    for (size_t k = wi_team_share(j->count, rank, team); k < end; k++)
        j->work(&j->plan, k, j->room + (size_t)rank * j->room_bytes);
}

static weft_status run(weft_context *ctx, const wi_convolve_args *a, size_t terms) {
    const wi_convolve_simd *const simd = WI_OF_ISA(wi_cpu_isa(), wi_convolve_simd);
    const int threads = wi_convolve_team(ctx, a, (double)weights_of(a, terms));
    const bool strips = simd->strips_f32 && terms == 0 && wi_convolve_by_strips(a);
    job j = {.plan = plan_of(a, terms, threads, strips ? simd : NULL),
             .work = a->doubles ? simd->f64 : simd->f32};
    if (strips)
        j.work = a->doubles ? simd->strips_f64 : simd->strips_f32;
    const size_t weights = round_up(a->filters * weights_of(a, terms) * sum_bytes(a), 64);
    j.count = j.plan.parts * j.plan.blocks * j.plan.bands * a->images;
    j.room_bytes = round_up(wi_convolve_lines(&j.plan) * j.plan.pitch * sum_bytes(a) +
                                j.plan.kept * (terms ? terms : 1) * sizeof(void *),
                            64);
    const int team = j.count < (size_t)threads ? (int)j.count : threads;
    char *const memory = wi_host_alloc(weights + (size_t)team * j.room_bytes);
    if (!memory)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_convolve: no memory for %zu bytes of rows",
                       weights + (size_t)team * j.room_bytes);
    put_weights(&j.plan, memory);
    j.plan.weights = memory;
    j.room = memory + weights;
    memset(j.room, 0, (size_t)team * j.room_bytes); /* vectors touch what lies behind lines */
    wi_team_run(ctx, team, run_share, &j);
    wi_host_free(memory);
    return WEFT_OK;
}

weft_status wi_convolve_threads(weft_context *ctx, const void *args) {
    return run(ctx, args, 0);
}

weft_status wi_convolve_separable(weft_context *ctx, const void *args) {
    return run(ctx, args, 1);
}

weft_status wi_convolve_low_rank_cpu(weft_context *ctx, const wi_convolve_args *args) {
    return run(ctx, args, args->terms);
}
