/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "lookahead" of lu on a cpu. When a panel is eliminated, the threads update the
 * columns after it strip by strip. The first of these tasks is the next panel: the thread that
 * takes it updates and eliminates it while the others still update the rest of the matrix. Earlier
 * panels get the exchanges of rows at the end. */
#include <stdatomic.h>

#include "core/smaller.h"
#include "cpu/team.h"
#include "gemm/gemm_simd.h"
#include "lu/lu_cpu.h"

enum {
    PANEL = 256,    /* columns: the depth of a product */
    STRIP = 192,    /* columns whose packed products stay in a second-level cache */
    TAIL = 1024,    /* columns that are left to "recursive": strips are too few for threads */
    PIECE = 8 * 48, /* rows of L that a thread packs at a time: a multiple of a tile's */
    ALIGNMENT = 64
};

typedef struct step {
    const wi_lu_work *w;
    const wi_gemm_kernel *kernel;
    weft_context alone;             /* the context with one thread */
    size_t width;                   /* of an element */
    wi_lu_columns done, next, rest; /* rest: those after the next panel */
    char *packed, *own;             /* L below the panel that is done; memory of the first thread */
    size_t strip_bytes;             /* of a packed strip, */
    size_t each;                    /* and of all memory of a thread */
    atomic_size_t count;            /* pieces or tasks that threads have taken */
} step;

static size_t pivots_of(const wi_lu_args *g) {
    return wi_smaller(g->m, g->n);
}

/* ---- one step ---- */

static void pack_pieces(void *user, int rank, int size) {
    step *const s = user;
    const wi_lu_args *const g = s->w->g;
    const size_t below = s->next.first, rows = g->m - below;
    (void)rank;
    (void)size;
    for (size_t i; (i = PIECE * atomic_fetch_add(&s->count, 1)) < rows;) {
        const wi_gemm_side side = {wi_lu_at(g, below + i, s->done.first), g->lda, false};
        s->kernel->pack_a(&side, wi_smaller(PIECE, rows - i), PANEL,
                          s->packed + i * PANEL * s->width);
    }
}

/* Updates these columns, at most STRIP of them, by the panel that is done. */
static void update_strip(const step *s, const wi_lu_work *own, wi_lu_columns c, char *strip) {
    const wi_lu_args *const g = s->w->g;
    const size_t below = s->next.first;
    const wi_triangle_args triangle = wi_lu_triangle_of(own, s->done, c);
    const wi_gemm_side side = {wi_lu_at(g, s->done.first, c.first), g->lda, true};
    const wi_gemm_block block = {.m = g->m - below,
                                 .n = c.count,
                                 .k = PANEL,
                                 .a = s->packed,
                                 .b = strip,
                                 .c = wi_lu_at(g, below, c.first),
                                 .row_step = 1,
                                 .column_step = g->lda,
                                 .alpha = -1,
                                 .beta = 1};
    wi_lu_exchange(own, s->done, c);
    wi_trsm_packed_in(own->ctx, &triangle, own->memory);
    s->kernel->pack_b(&side, c.count, PANEL, strip);
    s->kernel->multiply(&block);
}

static void update_columns(const step *s, const wi_lu_work *own, wi_lu_columns c, char *strip) {
    for (size_t j = 0; j < c.count; j += STRIP) {
        const wi_lu_columns some = {c.first + j, wi_smaller(STRIP, c.count - j)};
        update_strip(s, own, some, strip);
    }
}

/* Task 0 is the next panel, the others are strips of the rest. */
static void do_tasks(void *user, int rank, int size) {
    step *const s = user;
    weft_context alone = s->alone;
    char *const strip = s->own + (size_t)rank * s->each;
    const wi_lu_work own = {&alone, s->w->g, s->w->eliminate, strip + s->strip_bytes};
    (void)size;
    for (size_t task; (task = atomic_fetch_add(&s->count, 1)) * STRIP < s->rest.count + STRIP;) {
        if (task == 0) {
            update_columns(s, &own, s->next, strip);
            wi_lu_halve(&own, s->next);
            continue;
        }
        const size_t j = (task - 1) * STRIP;
        const wi_lu_columns c = {s->rest.first + j, wi_smaller(STRIP, s->rest.count - j)};
        update_strip(s, &own, c, strip);
    }
}

static void do_step(step *s) {
    weft_context *const ctx = s->w->ctx;
    atomic_store(&s->count, 0);
    wi_team_run(ctx, ctx->threads, pack_pieces, s);
    atomic_store(&s->count, 0);
    wi_team_run(ctx, ctx->threads, do_tasks, s);
}

/* ---- all of them ---- */

/* Is there a panel after this one that is not part of the tail? */
static bool goes_on(const wi_lu_args *g, size_t first) {
    return pivots_of(g) > first + PANEL + TAIL;
}

static step step_of(const wi_lu_work *w) {
    const wi_lu_args *const g = w->g;
    const size_t width = weft_type_size(g->type), rest = g->n - PANEL;
    step s = {.w = w,
              .kernel = &WI_OF_ISA(wi_cpu_isa(), wi_gemm_simd)->kernel[g->type],
              .alone = *w->ctx,
              .width = width};
    s.alone.threads = 1;
    const wi_lu_work own = {&s.alone, g, w->eliminate, NULL};
    const wi_lu_columns first = {0, PANEL}, strip = {PANEL, wi_smaller(STRIP, rest)};
    const wi_triangle_args triangle = wi_lu_triangle_of(&own, first, strip);
    s.strip_bytes = STRIP * PANEL * width;
    s.each = wi_round_up(s.strip_bytes + wi_greater(wi_trsm_packed_bytes(&s.alone, &triangle),
                                                    wi_lu_bytes_of_halves(&own, first)),
                         ALIGNMENT);
    return s;
}

static size_t bytes_of_packed(const step *s) {
    return wi_round_up(wi_round_up(s->w->g->m, s->kernel->rows) * PANEL * s->width, ALIGNMENT);
}

/* The columns with pivots after panel `done`. */
static wi_lu_columns tail_of(const wi_lu_args *g, wi_lu_columns done) {
    const size_t first = done.first + done.count;
    return (wi_lu_columns){first, pivots_of(g) - first};
}

static size_t bytes_of_all(const wi_lu_work *w) {
    const wi_lu_args *const g = w->g;
    wi_lu_columns done = {0, wi_smaller(PANEL, pivots_of(g))};
    size_t bytes = wi_lu_bytes_of_halves(w, done);
    if (goes_on(g, 0)) {
        const step s = step_of(w);
        bytes = wi_greater(bytes, bytes_of_packed(&s) + (size_t)w->ctx->threads * s.each);
    }
    while (goes_on(g, done.first))
        done.first += PANEL;
    const wi_lu_columns tail = tail_of(g, done);
    bytes = wi_greater(bytes, wi_lu_bytes_of_update(w, done, wi_lu_right_of(g, done)));
    bytes = wi_greater(bytes, wi_lu_bytes_of_halves(w, tail));
    return wi_greater(bytes, wi_lu_bytes_of_update(w, tail, wi_lu_right_of(g, tail)));
}

/* Makes all steps; returns the last panel that is eliminated. */
static wi_lu_columns do_steps(const wi_lu_work *w) {
    const wi_lu_args *const g = w->g;
    step s = step_of(w);
    s.packed = w->memory;
    s.own = s.packed + bytes_of_packed(&s);
    s.done = (wi_lu_columns){0, PANEL};
    for (; goes_on(g, s.done.first); s.done = s.next) {
        s.next = (wi_lu_columns){s.done.first + PANEL, PANEL};
        s.rest = wi_lu_right_of(g, s.next);
        do_step(&s);
    }
    return s.done;
}

static void do_all(const wi_lu_work *w) {
    const wi_lu_args *const g = w->g;
    wi_lu_columns done = {0, wi_smaller(PANEL, pivots_of(g))};
    wi_lu_halve(w, done);
    if (goes_on(g, 0))
        done = do_steps(w);
    const wi_lu_columns tail = tail_of(g, done);
    wi_lu_update(w, done, wi_lu_right_of(g, done));
    if (tail.count > 0) {
        wi_lu_halve(w, tail);
        wi_lu_update(w, tail, wi_lu_right_of(g, tail));
    }
    for (size_t first = 0; first <= done.first; first += PANEL) {
        const wi_lu_columns panel = {first, done.count};
        wi_lu_exchange(w, tail_of(g, panel), panel);
    }
}

weft_status wi_lu_lookahead(weft_context *ctx, const void *args) {
    return wi_lu_run(ctx, args, bytes_of_all, do_all);
}
