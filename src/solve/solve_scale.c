/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a system before it is factored: that its numbers are finite, how large they are,
 * and the powers of two that scale it. */
#include <math.h>
#include <string.h>

#include "solve/system.h"

enum {
    APART = 10 /* powers of two by which sizes of rows may differ unscaled */
};

/* Entries of H beyond 2^+-this are scaled, so that products and quotients keep within the type. */
static int limit_of(weft_type factor) {
    return factor == WEFT_F64 ? 300 : 36;
}

/* ---- entries that are not finite ---- */

static weft_status refuse_bad(wi_system *s, const char *which, const wi_grid *g, size_t column) {
    uint64_t at = 0;
    weft_status status = s->place->first_bad(s->ctx, g, (uint64_t *)s->first);
    if (status == WEFT_OK)
        status = wi_system_get(s, &at, s->first, sizeof at);
    if (status != WEFT_OK)
        return status;
    return wi_fail(s->ctx, WEFT_ENONFINITE,
                   "%s: %s has an entry that is not finite in row %zu of column %zu (counted from "
                   "0); mend it",
                   s->call, which, (size_t)(at % g->rows), (size_t)(at / g->rows) + column);
}

/* Columns first ... first + count - 1 of a grid. */
static wi_grid columns_of(const wi_grid *g, size_t first, size_t count) {
    wi_grid part = *g;
    part.p = (const char *)g->p + first * g->across * weft_type_size(g->type);
    part.columns = count;
    return part;
}

static weft_status check_right_sides(wi_system *s) {
    int32_t peak[WI_SYSTEM_GROUP];
    const wi_grid *const b = &s->args->b;
    weft_status status = WEFT_OK;
    for (size_t j = 0; j < s->args->rhs && status == WEFT_OK; j += s->group) {
        const size_t left = s->args->rhs - j, count = left < s->group ? left : s->group;
        const wi_grid part = columns_of(b, j, count);
        status = s->place->peaks(s->ctx, &part, s->powers);
        if (status == WEFT_OK)
            status = wi_system_get(s, peak, s->powers, count * sizeof *peak);
        for (size_t k = 0; k < count && status == WEFT_OK; k++)
            if (peak[k] == WI_EXPONENT_OF_BAD)
                status = refuse_bad(s, "b", &part, j);
    }
    return status;
}

/* All of it at once, where the place can. */
static weft_status survey(wi_system *s) {
    const size_t n = s->n;
    const bool by_columns = s->a.down == 1;
    double *place, *host;
    if (!s->place->survey || s->a.half != WI_HALF_ALL || (!by_columns && s->a.across != 1))
        return WEFT_OK;
    const wi_grid g = by_columns ? s->a : wi_grid_turned(&s->a);
    weft_status status = wi_system_take(s, 5 * n * sizeof *place, &place);
    if (status == WEFT_OK)
        status = wi_system_take_host(s, 5 * n * sizeof *host, &host);
    if (status == WEFT_OK)
        status = s->place->survey(
            s->ctx, &g,
            &(wi_survey){place, place + n, place + 2 * n, place + 3 * n, place + 4 * n});
    if (status == WEFT_OK)
        status = wi_system_get(s, host, place, 5 * n * sizeof *host);
    if (status == WEFT_OK)
        s->found = by_columns
                       ? (wi_survey){host, host + n, host + 2 * n, host + 3 * n, host + 4 * n}
                       : (wi_survey){host + 3 * n, host + n, host + 4 * n, host, host + 2 * n};
    return status;
}

/* Is H what was surveyed? */
static bool is_found(const wi_system *s) {
    return s->found.row_most && !s->host_row_power;
}

/* The largest entry of each row of H, to the host; of a symmetric matrix, both halves count. */
static weft_status rows_of(wi_system *s, const wi_grid *g, double *most) {
    double *const other = most + s->n;
    const size_t line = s->n * sizeof *most;
    weft_status status = s->place->rows_range(s->ctx, g, s->row_most, s->w);
    if (status == WEFT_OK)
        status = wi_system_get(s, most, s->row_most, line);
    if (status != WEFT_OK || g->half == WI_HALF_ALL)
        return status;
    const wi_grid mirrored = wi_grid_mirrored(g);
    status = s->place->rows_range(s->ctx, &mirrored, s->row_most, s->w);
    if (status == WEFT_OK)
        status = wi_system_get(s, other, s->row_most, line);
    for (size_t i = 0; i < s->n && status == WEFT_OK; i++)
        most[i] = wi_larger(most[i], other[i]);
    return status;
}

weft_status wi_system_fits(wi_system *s, weft_type type, bool *fits) {
    double *const least = s->vector, lowest = type == WEFT_F64 ? 0x1p-1022 : 0x1p-126;
    weft_status status = WEFT_OK;
    if (is_found(s))
        memcpy(least, s->found.row_least, s->n * sizeof *least);
    else
        status = s->place->rows_range(s->ctx, &s->a, s->w + s->n, s->w);
    if (status == WEFT_OK && !is_found(s))
        status = wi_system_get(s, least, s->w, s->n * sizeof *least);
    *fits = s->most_of_a < (type == WEFT_F64 ? 0x1p1020 : 0x1p100);
    for (size_t i = 0; i < s->n; i++)
        *fits = *fits && least[i] >= lowest;
    return status;
}

/* ---- the choice of powers ---- */

bool wi_system_choose(size_t n, const double *size, int share, weft_type factor, int32_t *power) {
    const int limit = limit_of(factor);
    int32_t least = INT32_MAX, most = INT32_MIN;
    for (size_t i = 0; i < n; i++) {
        const int32_t e = wi_exponent(size[i]);
        power[i] = e == WI_EXPONENT_OF_0 ? 0 : -(int32_t)floor((double)e / share);
        if (e == WI_EXPONENT_OF_0)
            continue;
        least = e < least ? e : least;
        most = e > most ? e : most;
    }
    return least <= most && (most - least > share * APART || most > limit || least < -limit);
}

void wi_system_note_range(size_t n, const int32_t *power, int *least, int *most) {
    *least = *most = n > 0 ? power[0] : 0;
    for (size_t i = 0; i < n; i++) {
        *least = power[i] < *least ? power[i] : *least;
        *most = power[i] > *most ? power[i] : *most;
    }
}

static weft_status take_powers(wi_system *s) {
    weft_status status = wi_system_take(s, 2 * s->n * sizeof(int32_t), &s->row_power);
    if (status == WEFT_OK)
        status = wi_system_take_host(s, 2 * s->n * sizeof(int32_t), &s->host_row_power);
    if (status != WEFT_OK)
        return status;
    s->column_power = s->row_power + s->n;
    s->host_column_power = s->host_row_power + s->n;
    memset(s->host_row_power, 0, 2 * s->n * sizeof(int32_t));
    return WEFT_OK;
}

static weft_status put_powers(wi_system *s) {
    s->a.row_power = s->row_power;
    s->a.column_power = s->column_power;
    return wi_system_put(s, s->row_power, s->host_row_power, 2 * s->n * sizeof(int32_t));
}

/* Of a symmetric matrix, by its diagonal. */
static weft_status balance_both(wi_system *s) {
    wi_grid diagonal = s->a;
    diagonal.columns = 1;
    diagonal.half = WI_HALF_ALL;
    diagonal.down = s->a.down + s->a.across;
    diagonal.across = 0;
    double *const d = s->vector;
    weft_status status = s->place->copy(s->ctx, &diagonal, WEFT_F64, s->w, s->n);
    if (status == WEFT_OK)
        status = wi_system_get(s, d, s->w, s->n * sizeof *d);
    if (status != WEFT_OK)
        return status;
    for (size_t i = 0; i < s->n; i++)
        d[i] = d[i] > 0 ? d[i] : 0;
    int32_t *const power = (int32_t *)(void *)(s->vector + s->n);
    if (!wi_system_choose(s->n, d, 2, s->factor, power))
        return WEFT_OK;
    status = take_powers(s);
    if (status != WEFT_OK)
        return status;
    memcpy(s->host_row_power, power, s->n * sizeof *power);
    memcpy(s->host_column_power, power, s->n * sizeof *power);
    return put_powers(s);
}

/* Of a general matrix: rows, by their sizes in `vector`; then columns, if they still differ. */
static weft_status balance_rows(wi_system *s) {
    int32_t *const power = (int32_t *)(void *)(s->vector + 2 * s->n);
    const bool rows = wi_system_choose(s->n, s->vector, 1, s->factor, power);
    weft_status status = WEFT_OK;
    if (rows) {
        status = take_powers(s);
        if (status != WEFT_OK)
            return status;
        memcpy(s->host_row_power, power, s->n * sizeof *power);
        status = put_powers(s);
    }
    const wi_grid turned = wi_grid_turned(&s->a);
    if (is_found(s))
        memcpy(s->vector, s->found.column_most, s->n * sizeof *s->vector);
    else if (status == WEFT_OK)
        status = rows_of(s, &turned, s->vector);
    if (status != WEFT_OK || !wi_system_choose(s->n, s->vector, 1, s->factor, power))
        return status;
    if (!rows)
        status = take_powers(s);
    if (status != WEFT_OK)
        return status;
    memcpy(s->host_column_power, power, s->n * sizeof *power);
    return put_powers(s);
}

/* ---- sizes of H ---- */

/* The largest sum of sizes in a row, or in a column. */
static weft_status norm_of(wi_system *s, bool columns, double *norm) {
    double *const sum = s->vector;
    const size_t line = s->n * sizeof *sum;
    if (is_found(s)) {
        *norm = wi_largest_of(s->n, columns ? s->found.column_sum : s->found.row_sum);
        return WEFT_OK;
    }
    for (size_t i = 0; i < s->n; i++)
        sum[i] = 1;
    const wi_product p = {.g = columns ? wi_grid_turned(&s->a) : s->a,
                          .symmetric = s->args->spd,
                          .count = 1,
                          .x = s->v,
                          .r = s->v + s->n,
                          .size = s->v + 2 * s->n,
                          .room = s->room};
    weft_status status = wi_system_put(s, s->v, sum, line);
    if (status == WEFT_OK)
        status = s->place->multiply(s->ctx, &p);
    if (status == WEFT_OK)
        status = wi_system_get(s, sum, p.size, line);
    *norm = status == WEFT_OK ? wi_largest_of(s->n, sum) : 0;
    return status;
}

/* unscaled: the largest entries of A's rows, which are H's if it is not scaled. */
static weft_status measure(wi_system *s, const double *unscaled) {
    const size_t line = s->n * sizeof *unscaled;
    weft_status status = WEFT_OK;
    if (s->host_row_power)
        status = rows_of(s, &s->a, s->vector);
    else
        memcpy(s->vector, unscaled, line);
    for (size_t i = 0; i < s->n && status == WEFT_OK; i++)
        s->most_of_a = wi_larger(s->most_of_a, s->vector[i]);
    if (status == WEFT_OK)
        status = wi_system_put(s, s->row_most, s->vector, line);
    if (status == WEFT_OK)
        status = norm_of(s, false, &s->norm);
    s->norm_1 = s->norm;
    return status == WEFT_OK && !s->args->spd ? norm_of(s, true, &s->norm_1) : status;
}

weft_status wi_system_scale(wi_system *s) {
    weft_report *const report = s->report;
    double *const unscaled = s->vector + 3 * s->n;
    double most = 0;
    weft_status status = survey(s);
    if (status == WEFT_OK && s->found.row_most)
        memcpy(s->vector, s->found.row_most, s->n * sizeof *s->vector);
    else if (status == WEFT_OK)
        status = rows_of(s, &s->a, s->vector);
    for (size_t i = 0; i < s->n && status == WEFT_OK; i++) {
        unscaled[i] = s->vector[i];
        most = wi_larger(most, unscaled[i]);
    }
    if (status == WEFT_OK && !isfinite(most))
        return refuse_bad(s, "a", &s->a, 0);
    if (status == WEFT_OK)
        status = check_right_sides(s);
    if (status == WEFT_OK && s->args->options.equilibrate == WEFT_EQUILIBRATE_AUTO)
        status = s->args->spd ? balance_both(s) : balance_rows(s);
    if (status != WEFT_OK)
        return status;
    report->equilibrated = s->host_row_power != NULL;
    if (s->host_row_power) {
        wi_system_note_range(s->n, s->host_row_power, &report->row_power_least,
                             &report->row_power_most);
        wi_system_note_range(s->n, s->host_column_power, &report->column_power_least,
                             &report->column_power_most);
    }
    return measure(s, unscaled);
}
