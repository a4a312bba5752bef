/* SPDX-License-Identifier: Apache-2.0 */
/* What a system needs of its numbers, on a cpu. Rows and columns are computed alike however many
 * threads share them. */
#include <math.h>

#include "core/smaller.h"
#include "cpu/team.h"
#include "solve/solve_exact.h"
#include "solve/solve_grid.h"
#include "solve/solve_simd.h"
#include "solve/system.h"

enum {
    STRIP = 128, /* rows worked on together, */
    TILE = 64,   /* rows and columns, */
    AT_ONCE = 4  /* right-hand sides */
};

static void set_value(weft_type type, void *p, size_t at, double x) {
    if (type == WEFT_F64)
        ((double *)p)[at] = x;
    else
        ((float *)p)[at] = (float)x;
}

/* ---- the range of rows, and entries that are not finite ---- */

typedef struct range_work {
    const wi_grid *g;
    double *most, *least;
} range_work;

static void note(const range_work *w, size_t i, double size) {
    w->most[i] = wi_larger(w->most[i], size);
    w->least[i] = size > 0 && size < w->least[i] ? size : w->least[i];
}

static void range_of_strip(const range_work *w, size_t first, size_t end) {
    const wi_grid *const g = w->g;
    for (size_t i = first; i < end; i++) {
        w->most[i] = 0;
        w->least[i] = INFINITY;
    }
    if (g->down == 1) {
        for (size_t j = 0; j < g->columns; j++)
            for (size_t i = first; i < end; i++)
                if (j >= wi_half_begin(g->half, i) && j < wi_half_end(g->half, i, g->columns))
                    note(w, i, fabs(wi_element(g, i, j)));
        return;
    }
    for (size_t i = first; i < end; i++)
        for (size_t j = wi_half_begin(g->half, i); j < wi_half_end(g->half, i, g->columns); j++)
            note(w, i, fabs(wi_element(g, i, j)));
}

static void share_ranges(void *user, int rank, int size) {
    const range_work *const w = user;
    const size_t strips = (w->g->rows + STRIP - 1) / STRIP;
    const size_t end = wi_team_share(strips, rank + 1, size);
    for (size_t k = wi_team_share(strips, rank, size); k < end; k++)
        range_of_strip(w, k * STRIP, wi_smaller((k + 1) * STRIP, w->g->rows));
}

static int team_of(const weft_context *ctx, const wi_grid *g, size_t pieces) {
    return wi_team_size(ctx, pieces, g->rows * g->columns * weft_type_size(g->type));
}

static weft_status rows_range(weft_context *ctx, const wi_grid *g, double *most, double *lowest) {
    range_work w = {g, most, lowest};
    wi_team_run(ctx, team_of(ctx, g, (g->rows + STRIP - 1) / STRIP), share_ranges, &w);
    return WEFT_OK;
}

static weft_status first_bad(weft_context *ctx, const wi_grid *g, uint64_t *at) {
    (void)ctx;
    *at = UINT64_MAX;
    for (size_t j = 0; j < g->columns && *at == UINT64_MAX; j++)
        for (size_t i = 0; i < g->rows && *at == UINT64_MAX; i++)
            if (j >= wi_half_begin(g->half, i) && j < wi_half_end(g->half, i, g->columns) &&
                !isfinite(wi_value_at(g->type, g->p, i * g->down + j * g->across)))
                *at = j * g->rows + i;
    return WEFT_OK;
}

/* ---- copies ---- */

typedef struct copy_work {
    const wi_grid *g;
    weft_type type;
    void *to;
    size_t ld;
} copy_work;

/* Reads along the lines in memory, whichever they are. */
static void copy_tile(const copy_work *w, size_t row, size_t column) {
    const wi_grid *const g = w->g;
    const size_t rows = wi_smaller(TILE, g->rows - row),
                 columns = wi_smaller(TILE, g->columns - column);
    const bool by_columns = g->down == 1;
    for (size_t u = 0; u < (by_columns ? columns : rows); u++)
        for (size_t v = 0; v < (by_columns ? rows : columns); v++) {
            const size_t i = row + (by_columns ? v : u), j = column + (by_columns ? u : v);
            if (j >= wi_half_begin(g->half, i) && j < wi_half_end(g->half, i, g->columns))
                set_value(w->type, w->to, i + j * w->ld, wi_element(g, i, j));
        }
}

static void share_copy(void *user, int rank, int size) {
    const copy_work *const w = user;
    const size_t across = (w->g->columns + TILE - 1) / TILE;
    const size_t end = wi_team_share(across, rank + 1, size);
    for (size_t k = wi_team_share(across, rank, size); k < end; k++)
        for (size_t row = 0; row < w->g->rows; row += TILE)
            copy_tile(w, row, k * TILE);
}

static weft_status copy(weft_context *ctx, const wi_grid *g, weft_type type, void *to, size_t ld) {
    copy_work w = {g, type, to, ld};
    wi_team_run(ctx, team_of(ctx, g, (g->columns + TILE - 1) / TILE), share_copy, &w);
    return WEFT_OK;
}

/* ---- residuals ---- */

/* Sums of the rows of a strip, for some right-hand sides. */
typedef struct strip_sums {
    double high[AT_ONCE][STRIP], low[AT_ONCE][STRIP], size[AT_ONCE][STRIP];
} strip_sums;

typedef struct strip {
    const wi_product *p;
    const wi_solve_simd *simd;
    size_t first, rows;   /* of the matrix */
    size_t column, count; /* right-hand sides */
    strip_sums *sums;
} strip;

/* `count` elements from (i, j) on, down or along, as doubles: where they are, or in `room`. */
static const double *elements(const strip *s, const wi_grid *g, size_t i, size_t j, size_t count,
                              bool along, double *room) {
    const size_t at = i * g->down + j * g->across;
    if (g->row_power || g->column_power) {
        for (size_t k = 0; k < count; k++)
            room[k] = along ? wi_element(g, i, j + k) : wi_element(g, i + k, j);
        return room;
    }
    if (g->type == WEFT_F64)
        return (const double *)g->p + at;
    s->simd->widen(count, (const float *)g->p + at, room);
    return room;
}

static void strip_down(const strip *s, const wi_grid *g) {
    double room[STRIP];
    const size_t n = g->columns;
    for (size_t j = 0; j < n; j++) {
        size_t i = s->first;
        const size_t end = s->first + s->rows;
        /* rows i with an element in column j; that of a half is one range */
        if (g->half == WI_HALF_LOWER || g->half == WI_HALF_BELOW)
            i = i > j + (g->half == WI_HALF_BELOW) ? i : j + (g->half == WI_HALF_BELOW);
        const size_t stop = g->half == WI_HALF_UPPER   ? wi_smaller(end, j + 1)
                            : g->half == WI_HALF_ABOVE ? wi_smaller(end, j)
                                                       : end;
        if (i >= stop)
            continue;
        const double *const a = elements(s, g, i, j, stop - i, false, room);
        for (size_t r = 0; r < s->count; r++)
            s->simd->down(stop - i, a, s->p->x[j + (s->column + r) * n],
                          s->sums->high[r] + (i - s->first), s->sums->low[r] + (i - s->first),
                          s->sums->size[r] + (i - s->first));
    }
}

/* high + low += x */
static void add(double x, double *high, double *low) {
    const double sum = *high + x, part = sum - *high;
    *low += (*high - (sum - part)) + (x - part);
    *high = sum;
}

static void add_lanes(const wi_solve_sums *lanes, strip_sums *sums, size_t r, size_t row) {
    for (int k = 0; k < WI_SOLVE_LANES; k++) {
        add(lanes->high[k], &sums->high[r][row], &sums->low[r][row]);
        sums->low[r][row] += lanes->low[k];
        sums->size[r][row] += lanes->size[k];
    }
}

static void strip_along(const strip *s, const wi_grid *g) {
    double room[STRIP];
    for (size_t row = 0; row < s->rows; row++) {
        const size_t i = s->first + row, end = wi_half_end(g->half, i, g->columns);
        wi_solve_sums lanes[AT_ONCE] = {{{0}, {0}, {0}}};
        for (size_t j = wi_half_begin(g->half, i); j < end; j += STRIP) {
            const size_t some = wi_smaller(STRIP, end - j);
            const double *const a = elements(s, g, i, j, some, true, room);
            for (size_t r = 0; r < s->count; r++)
                s->simd->along(some, a, s->p->x + j + (s->column + r) * g->columns, &lanes[r]);
        }
        for (size_t r = 0; r < s->count; r++)
            add_lanes(&lanes[r], s->sums, r, row);
    }
}

static void strip_product(const strip *s, const wi_grid *g) {
    if (g->down == 1)
        strip_down(s, g);
    else
        strip_along(s, g);
}

static void do_strip(const strip *s) {
    const wi_product *const p = s->p;
    const size_t n = p->g.rows;
    for (size_t r = 0; r < s->count; r++)
        for (size_t row = 0; row < s->rows; row++) {
            const size_t at = s->first + row + (s->column + r) * n;
            s->sums->high[r][row] = p->c ? p->c[at] : 0;
            s->sums->low[r][row] = s->sums->size[r][row] = 0;
        }
    strip_product(s, &p->g);
    if (p->symmetric) {
        const wi_grid mirrored = wi_grid_mirrored(&p->g);
        strip_product(s, &mirrored);
    }
    for (size_t r = 0; r < s->count; r++)
        for (size_t row = 0; row < s->rows; row++) {
            const size_t at = s->first + row + (s->column + r) * n;
            p->r[at] = s->sums->high[r][row] + s->sums->low[r][row];
            p->size[at] = s->sums->size[r][row];
        }
}

static void share_product(void *user, int rank, int size) {
    const wi_product *const p = user;
    const size_t strips = (p->g.rows + STRIP - 1) / STRIP;
    const size_t end = wi_team_share(strips, rank + 1, size);
    strip_sums sums;
    for (size_t k = wi_team_share(strips, rank, size); k < end; k++)
        for (size_t column = 0; column < p->count; column += AT_ONCE)
            do_strip(&(strip){.p = p,
                              .simd = WI_OF_ISA(wi_cpu_isa(), wi_solve_simd),
                              .first = k * STRIP,
                              .rows = wi_smaller(STRIP, p->g.rows - k * STRIP),
                              .column = column,
                              .count = wi_smaller(AT_ONCE, p->count - column),
                              .sums = &sums});
}

static weft_status multiply(weft_context *ctx, const wi_product *p) {
    wi_team_run(ctx, team_of(ctx, &p->g, (p->g.rows + STRIP - 1) / STRIP), share_product,
                (void *)(uintptr_t)p);
    if (p->exact)
        wi_system_exact_cpu(ctx, p);
    return WEFT_OK;
}

static size_t room_bytes(const wi_product *p) {
    (void)p;
    return 0;
}

/* ---- columns of blocks of vectors ---- */

/* `column` for each of `count` columns of n numbers. */
typedef struct columns_work {
    void (*column)(const void *args, size_t j);
    const void *args;
    size_t count;
} columns_work;

static void share_columns(void *user, int rank, int size) {
    const columns_work *const w = user;
    const size_t end = wi_team_share(w->count, rank + 1, size);
    for (size_t j = wi_team_share(w->count, rank, size); j < end; j++)
        w->column(w->args, j);
}

static weft_status each_column(weft_context *ctx, size_t n, size_t count,
                               void (*column)(const void *args, size_t j), const void *args) {
    columns_work w = {column, args, count};
    wi_team_run(ctx, wi_team_size(ctx, count, n * count * sizeof(double)), share_columns, &w);
    return WEFT_OK;
}

/* The arguments of what follows; each uses some. */
typedef struct block {
    weft_type type;
    size_t n;
    const void *from;
    void *to;
    double *low;
    const int32_t *power, *row_power;
    bool first;
    const wi_grid *g;
    const wi_misfit_args *m;
} block;

static void peak_of_column(const void *args, size_t j) {
    const block *const b = args;
    const wi_grid *const g = b->g;
    int32_t peak = WI_EXPONENT_OF_0;
    for (size_t i = 0; i < g->rows; i++) {
        const int32_t e = wi_exponent(wi_value_at(g->type, g->p, i * g->down + j * g->across));
        const int32_t whole =
            e == WI_EXPONENT_OF_0 || e == WI_EXPONENT_OF_BAD ? e : e + wi_power_at(g, i, j);
        peak = whole > peak ? whole : peak;
    }
    ((int32_t *)b->to)[j] = peak;
}

static weft_status peaks(weft_context *ctx, const wi_grid *g, int32_t *power) {
    return each_column(ctx, g->rows, g->columns, peak_of_column, &(block){.g = g, .to = power});
}

static void most_of_column(const void *args, size_t j) {
    const block *const b = args;
    double most = 0;
    for (size_t i = 0; i < b->n; i++)
        most = wi_larger(most, fabs(wi_value_at(b->type, b->from, i + j * b->n)));
    ((double *)b->to)[j] = most;
}

static weft_status columns_most(weft_context *ctx, weft_type type, size_t n, size_t count,
                                const void *x, double *most) {
    return each_column(ctx, n, count, most_of_column,
                       &(block){.type = type, .n = n, .from = x, .to = most});
}

static void misfit_of_column(const void *args, size_t j) {
    const wi_misfit_args *const m = ((const block *)args)->m;
    const double tiny = 1000 * (double)m->n * 0x1p-53;
    double error = 0;
    for (size_t i = 0; i < m->n; i++) {
        const size_t at = i + j * m->n;
        error = wi_larger(error, wi_row_error(fabs(m->r[at]), m->size[at], fabs(m->c[at]),
                                              m->row_most[i] * m->most[j], tiny));
    }
    m->error[j] = error;
}

static weft_status misfit(weft_context *ctx, const wi_misfit_args *m) {
    return each_column(ctx, m->n, m->count, misfit_of_column, &(block){.m = m});
}

static void narrow_column(const void *args, size_t j) {
    const block *const b = args;
    const double *const r = (const double *)b->from + j * b->n;
    for (size_t i = 0; i < b->n; i++)
        set_value(b->type, b->to, i + j * b->n, wi_times_power(r[i], -b->power[j]));
}

static weft_status narrow(weft_context *ctx, weft_type type, size_t n, size_t count,
                          const double *r, const int32_t *power, void *d) {
    return each_column(ctx, n, count, narrow_column,
                       &(block){.type = type, .n = n, .from = r, .power = power, .to = d});
}

static void add_column(const void *args, size_t j) {
    const block *const b = args;
    double *const z = (double *)b->to + j * b->n;
    double *const low = b->low ? b->low + j * b->n : NULL;
    for (size_t i = 0; i < b->n && (b->first || b->power[j] != WI_EXPONENT_OF_0); i++) {
        const double d = wi_times_power(wi_value_at(b->type, b->from, i + j * b->n), b->power[j]);
        if (low)
            wi_add_to_pair(d, b->first, &z[i], &low[i]);
        else
            z[i] = b->first ? d : z[i] + d;
    }
}

static weft_status add_all(weft_context *ctx, weft_type type, size_t n, size_t count, const void *d,
                           const int32_t *power, bool first, double *z, double *low) {
    return each_column(
        ctx, n, count, add_column,
        &(block){
            .type = type, .n = n, .from = d, .power = power, .first = first, .to = z, .low = low});
}

static void settle_column(const void *args, size_t j) {
    const block *const b = args;
    double *const z = (double *)b->to + j * b->n;
    for (size_t i = 0; i < b->n; i++) {
        const int power = (b->row_power ? b->row_power[i] : 0) + b->power[j];
        const double x = wi_times_power(z[i], power);
        z[i] = wi_times_power(b->type == WEFT_F32 ? (float)x : x, -power);
    }
}

static weft_status settle(weft_context *ctx, weft_type type, size_t n, size_t count,
                          const int32_t *column_power, const int32_t *shift, double *z) {
    return each_column(
        ctx, n, count, settle_column,
        &(block){.type = type, .n = n, .row_power = column_power, .power = shift, .to = z});
}

static void store_column(const void *args, size_t j) {
    const wi_answer *const x = args;
    for (size_t i = 0; i < x->n; i++) {
        const int power = (x->column_power ? x->column_power[i] : 0) + x->shift[j];
        set_value(x->type, x->x, i * x->down + j * x->across,
                  wi_times_power(x->z[i + j * x->n], power));
    }
}

static weft_status store(weft_context *ctx, const wi_answer *x) {
    return each_column(ctx, x->n, x->count, store_column, x);
}

static weft_status weigh(weft_context *ctx, size_t n, size_t count, const double *r,
                         const double *size, const double *most, double slack, double *w) {
    (void)ctx;
    for (size_t j = 0; j < count; j++)
        for (size_t i = 0; i < n && most[j] > 0; i++) {
            const size_t at = i + j * n;
            w[i] = wi_larger(w[i], (fabs(r[at]) + slack * size[at]) / most[j]);
        }
    return WEFT_OK;
}

const wi_system_place wi_system_on_cpu = {.rows_range = rows_range,
                                          .first_bad = first_bad,
                                          .copy = copy,
                                          .multiply = multiply,
                                          .room_bytes = room_bytes,
                                          .wide = wi_system_wide_cpu,
                                          .peaks = peaks,
                                          .columns_most = columns_most,
                                          .misfit = misfit,
                                          .narrow = narrow,
                                          .add = add_all,
                                          .settle = settle,
                                          .store = store,
                                          .weigh = weigh};
