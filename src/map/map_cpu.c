/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "threads" of map: rows are divided into chunks, of which each thread gets a contiguous
 * share, so that it goes through memory in one direction. */
#include "cpu/team.h"
#include "map/map_simd.h"

enum {
    CHUNK_BYTES = 1 << 17,
    STREAM_CHUNK_BYTES = 1 << 20,
    /* A larger array would not stay in a cache until it is next used. */
    STREAM_BYTES = 1 << 24
};

/* A call divided into chunks of `chunk` elements, `per_row` in a row. */
typedef struct plan {
    wi_map_args args;
    size_t chunk, per_row, chunks;
    wi_map_loop loop;
    void (*stream)(wi_map_loop loop, const wi_map_run *run, size_t size); /* NULL: no streaming */
} plan;

static bool is_packed(const wi_map_args *args) {
    return (!args->x || args->ldx == args->cols) && (!args->y || args->ldy == args->cols) &&
           args->ldz == args->cols;
}

/* Streaming pays if the output is large and not in cache (an input's lines were just read). It
 * writes whole lines, which elements that straddle lines do not fill. */
static bool should_stream(const wi_map_args *args, size_t size) {
    bool in_place = args->z == args->x || args->z == args->y;
    return !in_place && (uintptr_t)args->z % size == 0 &&
           args->rows * args->cols * size >= STREAM_BYTES && args->cols * size >= CHUNK_BYTES;
}

static plan make_plan(const wi_map_args *args) {
    const size_t size = weft_type_size(args->type);
    const wi_map_simd *simd = WI_OF_ISA(wi_cpu_isa(), wi_map_simd);
    plan p = {.args = *args, .loop = simd->loops[args->op][args->type]};
    if (is_packed(args)) {
        p.args.cols *= p.args.rows;
        p.args.rows = 1;
    }
    p.stream = should_stream(&p.args, size) ? simd->stream : NULL;
    p.chunk = (p.stream ? STREAM_CHUNK_BYTES : CHUNK_BYTES) / size;
    p.per_row = p.args.cols / p.chunk + (p.args.cols % p.chunk != 0);
    p.chunks = p.per_row * p.args.rows;
    return p;
}

static void run_share(void *user, int rank, int team) {
    const plan *const p = user;
    const size_t from = wi_team_share(p->chunks, rank, team);
    const size_t to = wi_team_share(p->chunks, rank + 1, team);
    const size_t size = weft_type_size(p->args.type);
    for (size_t k = from; k < to; k++) {
        size_t row = k / p->per_row, col = k % p->per_row * p->chunk;
        size_t left = p->args.cols - col;
        wi_map_run run = wi_map_run_of(&p->args, row, col, left < p->chunk ? left : p->chunk);
        if (p->stream)
            p->stream(p->loop, &run, size);
        else
            p->loop(&run);
    }
}

weft_status wi_map_threads(weft_context *ctx, const void *args) {
    plan p = make_plan(args);
    const size_t bytes = p.args.rows * p.args.cols * weft_type_size(p.args.type);
    wi_team_run(ctx, wi_team_size(ctx, p.chunks, bytes), run_share, &p);
    return WEFT_OK;
}
