/* SPDX-License-Identifier: Apache-2.0 */
/* Residuals that are correctly rounded, on a cpu: cascades of three sums for 64 rows at a time; a
 * row whose result these do not tell is added up by the wide integer. */
#include "solve/solve_exact.h"

#include "cpu/team.h"
#include "exact/exact_cascade.h"
#include "solve/solve_grid.h"

enum {
    ROWS = WI_SOLVE_EXACT_ROWS,
    AT_ONCE = 4 /* right-hand sides */
};

/* Rows of the product, for some right-hand sides. */
typedef struct strip {
    const wi_product *p;
    const wi_solve_exact_simd *simd;
    size_t first, rows;
    size_t column, count; /* right-hand sides */
    wi_solve_exact_sums sums[AT_ONCE];
} strip;

static double element_or_0(const wi_grid *g, size_t i, size_t j) {
    const bool is_there = j >= wi_half_begin(g->half, i) && j < wi_half_end(g->half, i, g->columns);
    return is_there ? wi_element(g, i, j) : 0;
}

static void add_grid(strip *s, const wi_grid *g) {
    const wi_product *const p = s->p;
    const size_t n = g->columns;
    double a[ROWS] = {0};
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < s->rows; i++)
            a[i] = element_or_0(g, s->first + i, k);
        for (size_t r = 0; r < s->count; r++) {
            const size_t at = k + (s->column + r) * n;
            s->simd->add(a, -p->x[at], &s->sums[r]);
            if (p->low && p->low[at] != 0)
                s->simd->add(a, -p->low[at], &s->sums[r]);
        }
    }
}

/* ---- a row by the wide integer ---- */

static void add_row_wide(const wi_product *p, const wi_grid *g, size_t i, size_t column,
                         int64_t *word) {
    const size_t n = g->columns;
    for (size_t k = 0; k < n; k++) {
        const double a = element_or_0(g, i, k);
        wi_exact_add_product(word, -a, p->x[k + column * n]);
        if (p->low)
            wi_exact_add_product(word, -a, p->low[k + column * n]);
    }
}

/* Adds -G (x + low). */
static void add_wide(const wi_product *p, size_t i, size_t column, int64_t *word) {
    add_row_wide(p, &p->g, i, column, word);
    if (p->symmetric) {
        const wi_grid mirrored = wi_grid_mirrored(&p->g);
        add_row_wide(p, &mirrored, i, column, word);
    }
}

static uint64_t row_wide(const wi_product *p, size_t i, size_t column) {
    int64_t word[WI_EXACT_WORDS] = {0};
    wi_exact_add_f64(word, p->c ? p->c[i + column * p->g.rows] : 0);
    add_wide(p, i, column, word);
    wi_exact_carry(word);
    return wi_exact_round(word, WEFT_F64, false);
}

static void share_wide(void *user, int rank, int size) {
    const wi_wide_args *const args = user;
    const size_t rows = args->p->g.rows, end = wi_team_share(args->count, rank + 1, size);
    for (size_t k = wi_team_share(args->count, rank, size); k < end; k++) {
        int64_t *const word = args->words + k * WI_EXACT_WORDS;
        memset(word, 0, WI_EXACT_WORDS * sizeof *word);
        add_wide(args->p, args->which[k] % rows, args->which[k] / rows, word);
    }
}

weft_status wi_system_wide_cpu(weft_context *ctx, const wi_wide_args *args) {
    const size_t bytes = args->count * args->p->g.columns * weft_type_size(args->p->g.type);
    wi_team_run(ctx, wi_team_size(ctx, args->count, bytes), share_wide, (void *)(uintptr_t)args);
    return WEFT_OK;
}

/* ---- strips ---- */

static void begin_strip(strip *s) {
    for (size_t r = 0; r < s->count; r++) {
        s->sums[r] = (wi_solve_exact_sums){.lost = {0}};
        for (size_t i = 0; i < s->rows && s->p->c; i++)
            s->sums[r].sum[0][i] = s->p->c[s->first + i + (s->column + r) * s->p->g.rows];
    }
}

static void finish_strip(const strip *s) {
    for (size_t r = 0; r < s->count; r++)
        for (size_t i = 0; i < s->rows; i++) {
            const wi_solve_exact_sums *const all = &s->sums[r];
            const wi_deep_cascade c = {{all->sum[0][i], all->sum[1][i], all->sum[2][i]},
                                       all->lost[i]};
            const size_t row = s->first + i, column = s->column + r;
            uint64_t bits;
            if (s->p->sums) {
                s->p->sums[row + column * s->p->g.rows] = c;
                continue;
            }
            if (!wi_deep_round(&c, WEFT_F64, &bits))
                bits = row_wide(s->p, row, column);
            memcpy(&s->p->r[row + column * s->p->g.rows], &bits, sizeof bits);
        }
}

static void do_strip(strip *s) {
    begin_strip(s);
    add_grid(s, &s->p->g);
    if (s->p->symmetric) {
        const wi_grid mirrored = wi_grid_mirrored(&s->p->g);
        add_grid(s, &mirrored);
    }
    finish_strip(s);
}

static void share_strips(void *user, int rank, int size) {
    const wi_product *const p = user;
    const size_t rows = p->g.rows, strips = (rows + ROWS - 1) / ROWS;
    const size_t end = wi_team_share(strips, rank + 1, size);
    strip s = {.p = p, .simd = WI_OF_ISA(wi_cpu_isa(), wi_solve_exact_simd)};
    for (size_t k = wi_team_share(strips, rank, size); k < end; k++) {
        s.first = k * ROWS;
        s.rows = rows - s.first < ROWS ? rows - s.first : ROWS;
        for (s.column = 0; s.column < p->count; s.column += AT_ONCE) {
            s.count = p->count - s.column < AT_ONCE ? p->count - s.column : AT_ONCE;
            do_strip(&s);
        }
    }
}

void wi_system_exact_cpu(weft_context *ctx, const wi_product *p) {
    const wi_grid *const g = &p->g;
    const size_t bytes = g->rows * g->columns * weft_type_size(g->type);
    wi_team_run(ctx, wi_team_size(ctx, (g->rows + ROWS - 1) / ROWS, bytes), share_strips,
                (void *)(uintptr_t)p);
}
