/* SPDX-License-Identifier: Apache-2.0 */
/* The powers of two that scale a system over ranks, chosen as on one place: R and C are the same on
 * all ranks, and each rank scales its own right-hand sides. */
#include <math.h>

#include "core/smaller.h"
#include "solve/solve_ranks.h"

/* Right-hand sides within 2^+-this are not shifted. A solution of f32 is kept in f32. */
static int range_of(weft_type type) {
    return type == WEFT_F64 ? 300 : 60;
}

weft_status wi_ranks_lines_most(wi_ranks *s, bool columns, double *most, weft_status status) {
    const wi_grid g = columns ? wi_grid_turned(&s->a) : s->a;
    const size_t from = columns != s->args->transposed ? s->first : 0;
    memset(most, 0, s->n * sizeof *most);
    if (s->own > 0 && status == WEFT_OK) {
        status = wi_local(s->ctx, s->place->rows_range(s->child, &g, s->place_r, s->place_size));
        if (status == WEFT_OK)
            status = wi_ranks_move(s, most + from, s->place_r, g.rows * sizeof *most);
    }
    return wi_ranks_combine(s, most, s->n, true, status);
}

/* H gets the powers that have been chosen. */
static weft_status put_powers(wi_ranks *s) {
    const bool transposed = s->args->transposed;
    s->a.row_power = s->place_power + (transposed ? s->first : 0);
    s->a.column_power = s->place_power + s->n + (transposed ? 0 : s->first);
    return wi_ranks_move(s, s->place_power, s->power, 2 * s->n * sizeof *s->power);
}

/* Of a symmetric matrix, by its diagonal. */
static weft_status balance_both(wi_ranks *s) {
    const wi_grid diagonal = {.type = s->type,
                              .rows = s->own,
                              .columns = 1,
                              .p = s->whole + s->first * weft_type_size(s->type),
                              .down = s->n + 1,
                              .across = 1};
    double *const d = s->vector;
    weft_status status = WEFT_OK;
    memset(d, 0, s->n * sizeof *d);
    if (s->own > 0) {
        status = wi_local(s->ctx, s->place->copy(s->child, &diagonal, WEFT_F64, s->place_x, s->n));
        if (status == WEFT_OK)
            status = wi_ranks_move(s, d + s->first, s->place_x, s->own * sizeof *d);
    }
    status = wi_ranks_combine(s, d, s->n, false, status);
    for (size_t i = 0; i < s->n; i++)
        d[i] = d[i] > 0 ? d[i] : 0;
    s->scaled = status == WEFT_OK && wi_system_choose(s->n, d, 2, s->factor, s->power);
    if (!s->scaled)
        return status;
    memcpy(s->power + s->n, s->power, s->n * sizeof *s->power);
    return put_powers(s);
}

/* Of a general matrix: rows, then columns, if they still differ. */
static weft_status balance_rows(wi_ranks *s) {
    int32_t *const row = s->power, *const column = row + s->n;
    const size_t line = s->n * sizeof *row;
    weft_status status = wi_ranks_lines_most(s, false, s->vector, WEFT_OK);
    const bool rows = status == WEFT_OK && wi_system_choose(s->n, s->vector, 1, s->factor, row);
    if (status != WEFT_OK)
        return status;
    memset(column, 0, line);
    if (rows)
        status = put_powers(s);
    else
        memset(row, 0, line);
    status = wi_ranks_lines_most(s, true, s->vector, status);
    const bool columns =
        status == WEFT_OK && wi_system_choose(s->n, s->vector, 1, s->factor, column);
    if (!columns)
        memset(column, 0, line);
    s->scaled = rows || columns;
    return columns ? put_powers(s) : status;
}

/* Own right-hand sides: R b, with the largest numbers of extreme columns near 1. */
static weft_status load_right_sides(wi_ranks *s) {
    const int range = range_of(s->type);
    wi_grid one = s->b;
    one.row_power = s->scaled ? s->place_power : NULL;
    weft_status status = wi_local(s->ctx, s->place->peaks(s->child, &one, s->place_shift));
    if (status == WEFT_OK)
        status = wi_ranks_move(s, s->shift, s->place_shift, s->rhs * sizeof *s->shift);
    for (size_t j = 0; j < s->rhs && status == WEFT_OK; j++) {
        const int32_t peak = s->shift[j];
        const bool is_far = peak != WI_EXPONENT_OF_0 && (peak > range || peak < -range);
        s->shift[j] = is_far ? -peak : 0;
    }
    if (status == WEFT_OK)
        status = wi_ranks_move(s, s->place_shift, s->shift, s->rhs * sizeof *s->shift);
    one.columns = 1;
    for (size_t j = 0; j < s->rhs && status == WEFT_OK; j++) {
        one.p = (const char *)s->b.p + j * s->b.across * weft_type_size(s->type);
        one.column_power = s->place_shift + j;
        status = wi_local(s->ctx, s->place->copy(s->child, &one, WEFT_F64, s->place_x, s->n));
        if (status == WEFT_OK)
            status = wi_ranks_move(s, s->own_b + j * s->n, s->place_x, s->n * sizeof(double));
    }
    return status;
}

weft_status wi_ranks_scale(wi_ranks *s) {
    weft_report *const report = s->report;
    const bool wanted = s->args->solve.options.equilibrate == WEFT_EQUILIBRATE_AUTO;
    weft_status status = WEFT_OK;
    s->scaled = false;
    s->a.row_power = s->a.column_power = NULL;
    if (wanted)
        status = s->args->solve.spd ? balance_both(s) : balance_rows(s);
    report->equilibrated = s->scaled;
    if (s->scaled) {
        wi_system_note_range(s->n, s->power, &report->row_power_least, &report->row_power_most);
        wi_system_note_range(s->n, s->power + s->n, &report->column_power_least,
                             &report->column_power_most);
    }
    if (status == WEFT_OK && s->rhs > 0)
        status = load_right_sides(s);
    return wi_agree(s->ctx, 0, status);
}

/* Can the type hold own solutions? */
static weft_status check_answers(wi_ranks *s) {
    for (size_t e = 0; e < s->n * s->rhs; e++) {
        const int power = (s->scaled ? s->power[s->n + e % s->n] : 0) + s->shift[e / s->n];
        const double x = wi_times_power(s->own_x[e], power);
        if (!isfinite(s->type == WEFT_F64 ? x : (double)(float)x))
            return wi_fail(s->ctx, WEFT_ENONFINITE,
                           "%s: column %zu of the solution has numbers too large for %s; scale a "
                           "or b",
                           s->call, s->rhs_first + e / s->n, weft_type_name(s->type));
    }
    return WEFT_OK;
}

weft_status wi_ranks_store(wi_ranks *s) {
    for (size_t j = 0; j < s->rhs; j++)
        s->shift[j] = -s->shift[j];
    weft_status status = check_answers(s);
    if (status == WEFT_OK && s->rhs > 0)
        status = wi_ranks_move(s, s->place_shift, s->shift, s->rhs * sizeof *s->shift);
    for (size_t j = 0; j < s->rhs && status == WEFT_OK; j++) {
        const wi_answer x = {.type = s->type,
                             .n = s->n,
                             .count = 1,
                             .z = s->place_x,
                             .column_power = s->scaled ? s->place_power + s->n : NULL,
                             .shift = s->place_shift + j,
                             .x = (char *)(uintptr_t)s->x.p +
                                  j * s->x.across * weft_type_size(s->type),
                             .down = s->x.down,
                             .across = s->x.across};
        status = wi_ranks_move(s, s->place_x, s->own_x + j * s->n, s->n * sizeof(double));
        if (status == WEFT_OK)
            status = wi_local(s->ctx, s->place->store(s->child, &x));
    }
    return status;
}
