/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a matrix: checked, summed where several are given for one place, and compared with
 * their mirror images where both are given. */
#include <math.h>
#include <string.h>

#include "sparse/matrix.h"

/* Entry `entry` in the caller's terms. */
typedef struct place {
    long long row, col;
} place;

/* The column of an entry: the last whose start is not beyond it. */
static int64_t column_of(const weft_sparse *m, int64_t entry) {
    int64_t low = 0, high = (int64_t)m->cols; /* start[low] <= entry < start[high] */
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (m->start[middle] <= entry)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static place place_of(const weft_sparse *m, int64_t entry, bool mirrored) {
    const int64_t row = m->row[entry], col = column_of(m, entry);
    return mirrored || m->storage == WEFT_SYMMETRIC_UPPER ? (place){col, row} : (place){row, col};
}

static weft_status not_finite(weft_context *ctx, const char *call, const weft_sparse *m, size_t k,
                              double value) {
    const int64_t home = m->home ? m->home[k] : (int64_t)k;
    const place p = place_of(m, home < 0 ? ~home : home, home < 0);
    return wi_fail(ctx, WEFT_ENONFINITE,
                   "%s: value %zu, in row %lld and column %lld, is %g; pass finite numbers", call,
                   k, p.row, p.col, value);
}

static weft_status check_sums(weft_context *ctx, const char *call, const weft_sparse *m,
                              const double *sums, bool mirrored) {
    for (int64_t k = 0; k < m->start[m->cols]; k++) {
        if (isfinite(sums[k]))
            continue;
        const place p = place_of(m, k, mirrored);
        return wi_fail(ctx, WEFT_ENONFINITE,
                       "%s: the values given for row %lld and column %lld add up to %g; scale the "
                       "matrix",
                       call, p.row, p.col, sums[k]);
    }
    return WEFT_OK;
}

static weft_status check_mirror(weft_context *ctx, const char *call, const weft_sparse *m) {
    for (size_t j = 0; j < m->cols; j++) {
        for (int64_t k = m->start[j]; k < m->start[j + 1]; k++) {
            const int64_t i = m->row[k];
            if (i == (int64_t)j || m->sums[k] == m->mirror_sums[k])
                continue;
            return wi_fail(
                ctx, WEFT_EARG,
                "%s: the matrix is not symmetric: row %lld, column %zu holds %.17g, but "
                "row %zu, column %lld holds %.17g; pass one half as WEFT_SYMMETRIC_LOWER or "
                "WEFT_SYMMETRIC_UPPER",
                call, (long long)i, j, m->sums[k], j, (long long)i, m->mirror_sums[k]);
        }
    }
    return WEFT_OK;
}

static weft_status sum_values(weft_context *ctx, const char *call, weft_sparse *m,
                              const double *value) {
    for (int64_t k = 0; k < m->start[m->cols]; k++) {
        m->sums[k] = -0.0; /* and so a -0.0 alone stays one */
        if (m->mirror_sums)
            m->mirror_sums[k] = -0.0;
    }
    for (size_t k = 0; k < m->given; k++) {
        if (m->home[k] >= 0)
            m->sums[m->home[k]] += value[k];
        else
            m->mirror_sums[~m->home[k]] += value[k];
    }
    weft_status status = check_sums(ctx, call, m, m->sums, false);
    if (m->mirror_sums && status == WEFT_OK)
        status = check_sums(ctx, call, m, m->mirror_sums, true);
    if (m->mirror_sums && status == WEFT_OK)
        status = check_mirror(ctx, call, m);
    return status;
}

weft_status wi_sparse_set_values(weft_context *ctx, const char *call, weft_sparse *m,
                                 const double *value) {
    for (size_t k = 0; k < m->given; k++) {
        if (!isfinite(value[k]))
            return not_finite(ctx, call, m, k, value[k]);
    }
    const size_t bytes = (size_t)m->start[m->cols] * sizeof *m->value;
    if (m->home) {
        const weft_status status = sum_values(ctx, call, m, value);
        if (status != WEFT_OK)
            return status;
        value = m->sums;
    }
    if (bytes)
        memmove(m->value, value, bytes); /* the caller may give back what weft_sparse_values gave */
    return WEFT_OK;
}
