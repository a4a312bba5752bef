/* SPDX-License-Identifier: Apache-2.0 */
/* A panel whose rows a column of ranks has: for each pivot there is one message, in which every
 * rank passes its best row, and the rank of the diagonal the row that gives way. All then know
 * which row is the pivot's, and what is in it. */
#include <math.h>
#include <string.h>

#include "cpu/team.h"
#include "lu/lu_grid.h"

typedef struct candidate {
    double size; /* -1: there is none */
    int64_t row; /* own at first, of the whole in a message */
} candidate;

/* A NaN is larger than any number, and as large as another. */
static bool is_larger(double a, double b) {
    return a > b || (isnan(a) && !isnan(b));
}

/* Of rows `from` on, by the pivot's row. */
typedef struct elimination {
    const wi_lu_grid_panel *p;
    size_t from, t;
    const char *row;
} elimination;

#define NAME(f) f##_f64
#define WORD double
#include "lu/lu_grid_loops.inc"

#define NAME(f) f##_f32
#define WORD float
#include "lu/lu_grid_loops.inc"

/* A message: a candidate, its row, and the row on the diagonal. */
static size_t line_of(weft_type type, size_t columns) {
    return (columns * weft_type_size(type) + 7) / 8 * 8;
}

size_t wi_lu_grid_said_bytes(weft_type type, size_t columns) {
    return sizeof(candidate) + 2 * line_of(type, columns);
}

typedef struct step {
    size_t t, line, bytes;
    size_t holder; /* the rank of the column that has the diagonal */
    bool holds;
} step;

static char *row_at(const wi_lu_grid_panel *p, size_t r) {
    return p->w + r * p->columns * weft_type_size(p->g->c.given.type);
}

static void say(const wi_lu_grid_panel *p, const step *s) {
    const bool f64 = p->g->c.given.type == WEFT_F64;
    const size_t bytes = p->columns * weft_type_size(p->g->c.given.type);
    const size_t before = wi_rank_grid_rows_below(p->g, p->first);
    candidate best = {-1, 0};
    char *const rows = p->said + sizeof best;
    memset(p->said, 0, s->bytes);
    (f64 ? find_f64 : find_f32)(p, s->holds ? s->t : 0, s->t, &best);
    if (best.size != -1) {
        memcpy(rows, row_at(p, (size_t)best.row), bytes);
        best.row = (int64_t)wi_rank_grid_row_of(p->g, before + (size_t)best.row);
    }
    if (s->holds)
        memcpy(rows + s->line, row_at(p, s->t), bytes);
    memcpy(p->said, &best, sizeof best);
}

/* Of equal ones the first row. */
static candidate choose(const wi_lu_grid_panel *p, const step *s, size_t *rank) {
    candidate best = {-1, INT64_MAX};
    for (size_t i = 0; i < p->g->p; i++) {
        candidate c;
        memcpy(&c, p->heard + i * s->bytes, sizeof c);
        if (is_larger(c.size, best.size) ||
            (c.size != -1 && !is_larger(best.size, c.size) && c.row < best.row)) {
            best = c;
            *rank = i;
        }
    }
    return best;
}

static void exchange(const wi_lu_grid_panel *p, const step *s, size_t row, size_t rank,
                     const char *pivot) {
    const size_t bytes = p->columns * weft_type_size(p->g->c.given.type);
    const size_t before = wi_rank_grid_rows_below(p->g, p->first);
    const char *const diagonal = p->heard + s->holder * s->bytes + sizeof(candidate) + s->line;
    if (rank == p->g->i)
        memcpy(row_at(p, wi_rank_grid_rows_below(p->g, row) - before), diagonal, bytes);
    if (s->holds)
        memcpy(row_at(p, s->t), pivot, bytes);
    memcpy(p->top + s->t * bytes, pivot, bytes);
}

static void share_rows(void *user, int rank, int size) {
    const elimination *const e = user;
    const size_t rows = e->p->rows - e->from;
    const size_t first = e->from + wi_team_share(rows, rank, size),
                 end = e->from + wi_team_share(rows, rank + 1, size);
    (e->p->g->c.given.type == WEFT_F64 ? eliminate_f64 : eliminate_f32)(e, first, end);
}

/* Returns the pivot. If it is 0, so is all below. */
static double eliminate(const wi_lu_grid_panel *p, const step *s, const char *row) {
    const weft_context *const child = p->g->ctx->child;
    const size_t width = weft_type_size(p->g->c.given.type), from = s->holds ? s->t + 1 : 0;
    const double value = width == sizeof(double) ? ((const double *)(const void *)row)[s->t]
                                                 : (double)((const float *)(const void *)row)[s->t];
    elimination e = {p, from, s->t, row};
    const size_t rows = from < p->rows ? p->rows - from : 0;
    if (value != 0 && rows > 0)
        wi_team_run(child, wi_team_size(child, rows, rows * p->columns * width), share_rows, &e);
    return value;
}

static void note(int64_t *word, size_t column) {
    if (*word == WI_LU_NONE)
        *word = (int64_t)column;
}

static void finish_column(const wi_lu_grid_panel *p, const step *s) {
    size_t rank = 0;
    const candidate best = choose(p, s, &rank);
    const char *const pivot = p->heard + rank * s->bytes + sizeof best;
    p->pivot[s->t] = best.row;
    exchange(p, s, (size_t)best.row, rank, pivot);
    const double value = eliminate(p, s, pivot);
    if (!isfinite(value))
        note(&p->words[WI_LU_INFINITE], p->first + s->t);
    else if (value == 0)
        note(&p->words[WI_LU_SINGULAR], p->first + s->t);
}

weft_status wi_lu_grid_factor(const wi_lu_grid_panel *p) {
    const weft_type type = p->g->c.given.type;
    weft_context *const column = p->g->column;
    step s = {.line = line_of(type, p->columns),
              .bytes = wi_lu_grid_said_bytes(type, p->columns),
              .holder = wi_rank_grid_holder(p->g, p->first)};
    weft_status status = WEFT_OK;
    s.holds = s.holder == p->g->i;
    for (; s.t < p->pivots && status == WEFT_OK; s.t++) {
        say(p, &s);
        status = column->comm->calls->all_gather(column, p->said, p->heard, s.bytes, WEFT_U8);
        if (status == WEFT_OK)
            finish_column(p, &s);
    }
    return wi_comm_part(p->g->ctx, column, status);
}

/* ---- what the exchanges do to whole rows ---- */

/* Where row `row` is in the list, which it enters if it is not there. */
static size_t find_row(wi_lu_moves *m, size_t first, size_t row) {
    size_t k = m->pivots;
    if (row < first + m->pivots)
        return row - first;
    while (k < m->count && m->to[k] != row)
        k++;
    if (k == m->count) {
        m->to[k] = m->from[k] = row;
        m->count++;
    }
    return k;
}

void wi_lu_moves_plan(wi_lu_moves *m, const wi_rank_grid *g, size_t first, size_t pivots,
                      const int64_t *pivot) {
    m->pivots = m->count = pivots;
    for (size_t t = 0; t < pivots; t++)
        m->to[t] = m->from[t] = first + t;
    for (size_t t = 0; t < pivots; t++) {
        const size_t k = find_row(m, first, (size_t)pivot[t]), row = m->from[t];
        m->from[t] = m->from[k];
        m->from[k] = row;
    }
    m->all = 0;
    for (size_t i = 0; i < g->p; i++) {
        const size_t before = m->all;
        for (size_t k = 0; k < m->count; k++)
            if (wi_rank_grid_holder(g, m->from[k]) == i)
                m->slot[k] = k < pivots || m->from[k] != m->to[k] ? m->all++ : SIZE_MAX;
        m->passed[i] = m->all - before;
    }
}
