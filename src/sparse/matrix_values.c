/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a matrix: checks them, sums duplicates, and compares them with their mirror images
 * if both halves are given. */
#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "sparse/matrix.h"

/* The position of entry `entry` in the caller's terms. */
typedef struct place {
    long long row, col;
} place;

/* The column of an entry: the last whose start is not after it. */
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

/* The position of an entry, as messages number it. */
static place place_of(const wi_voice *voice, const weft_sparse *m, int64_t entry, bool mirrored) {
    const int64_t first = wi_first_number(voice);
    const int64_t row = m->row[entry] + first, col = column_of(m, entry) + first;
    const bool upper = m->storage == WEFT_SYMMETRIC_UPPER || m->storage == WEFT_SYMMETRIC_USE_UPPER;
    return mirrored != m->by_rows || upper ? (place){col, row} : (place){row, col};
}

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Are all numbers finite? Others have all bits of the exponent set, so that one more carries into
 * the sign: no branch for each number. */
static bool all_finite(const double *x, size_t n) {
    const uint64_t exponent = UINT64_C(0x7FF) << 52, one = UINT64_C(1) << 52;
    uint64_t carries = 0;
    for (size_t k = 0; k < n; k++)
        carries |= (bits_of(x[k]) & exponent) + one;
    return !(carries >> 63);
}

static weft_status not_finite(weft_context *ctx, const wi_voice *voice, const weft_sparse *m,
                              size_t k, double value) {
    const int64_t home = m->home ? m->home[k] : (int64_t)k;
    const place p = place_of(voice, m, home < 0 ? ~home : home, home < 0);
    return wi_fail(ctx, WEFT_ENONFINITE,
                   "%s: value %zu, in row %lld and column %lld (%s), is %g; pass finite numbers",
                   voice->call, k, p.row, p.col, wi_counted(voice), value);
}

static weft_status check_sums(weft_context *ctx, const wi_voice *voice, const weft_sparse *m,
                              const double *sums, bool mirrored) {
    const int64_t entries = all_finite(sums, (size_t)m->start[m->cols]) ? 0 : m->start[m->cols];
    for (int64_t k = 0; k < entries; k++) {
        if (isfinite(sums[k]))
            continue;
        const place p = place_of(voice, m, k, mirrored);
        return wi_fail(ctx, WEFT_ENONFINITE,
                       "%s: the values given for row %lld and column %lld (%s) add up to %g; scale "
                       "the matrix",
                       voice->call, p.row, p.col, wi_counted(voice), sums[k]);
    }
    return WEFT_OK;
}

/* ---- both halves ---- */

/* The larger of two magnitudes. */
static double larger(double a, double b) {
    return fabs(a) > fabs(b) ? fabs(a) : fabs(b);
}

/* The diagonal entry of row j in the sums; 0 if there is none. */
static double diagonal(const weft_sparse *m, int64_t j) {
    const int64_t k = m->start[j];
    return k < m->start[j + 1] && m->row[k] == j ? m->sums[k] : 0;
}

/* |a - b| for entry k of column j, relative to the size of the entry: the largest of |a|, |b|, the
 * sum of the magnitudes given for it, and sqrt(a[i][i] a[j][j]), which bounds sums of positive
 * semidefinite parts. */
static double distance(const weft_sparse *m, int64_t k, int64_t j, double a, double b) {
    const double apart = fabs(a - b);
    double size = sqrt(fabs(diagonal(m, m->row[k]))) * sqrt(fabs(diagonal(m, j)));
    size = larger(size, larger(a, b));
    if (m->summed_sizes)
        size = larger(size, m->summed_sizes[k]);
    return isinf(apart) ? fabs(a / 2 - b / 2) / (size / 2) : apart / size;
}

enum {
    NUMBER_BYTES = 32
};

/* Prints both numbers with enough digits to differ. */
static void print_apart(double a, double b, char text_a[NUMBER_BYTES], char text_b[NUMBER_BYTES]) {
    int digits = 5;
    do {
        digits++;
        snprintf(text_a, NUMBER_BYTES, "%.*g", digits, a);
        snprintf(text_b, NUMBER_BYTES, "%.*g", digits, b);
    } while (digits < 17 && strcmp(text_a, text_b) == 0);
}

/* The two halves of the entry that differs most. */
typedef struct unlike {
    int64_t entry; /* -1: none */
    double below, above;
    double apart; /* relative to the size of the entry */
} unlike;

static weft_status not_symmetric(weft_context *ctx, const wi_voice *voice, const weft_sparse *m,
                                 const unlike *worst) {
    const place p = place_of(voice, m, worst->entry, m->by_rows);
    char below[NUMBER_BYTES], above[NUMBER_BYTES];
    print_apart(worst->below + 0.0, worst->above + 0.0, below, above); /* no "-0" */
    return wi_fail(
        ctx, WEFT_EARG,
        "%s: the matrix is not symmetric: row %lld of column %lld holds %s, row %lld of "
        "column %lld %s (%s), apart by %.1e of their size, the most of all; %s",
        voice->call, p.row, p.col, below, p.col, p.row, above, wi_counted(voice), worst->apart,
        voice->command ? "take one half with --half, or allow that with --symmetry-tolerance"
                       : "pass WEFT_SYMMETRIC_USE_LOWER or WEFT_SYMMETRIC_USE_UPPER to take one "
                         "half, or a larger symmetry_tolerance");
}

/* One number for both halves: their mean. It is -0.0 only if both are. */
static double joined(double a, double b) {
    return a == b ? (a == 0 ? a + b : a) : a / 2 + b / 2;
}

/* sums = the mean of the two halves, if all are close enough. */
static weft_status join_halves(weft_context *ctx, const wi_voice *voice, weft_sparse *m) {
    unlike worst = {.entry = -1};
    double asymmetry = 0;
    for (int64_t j = 0; j < (int64_t)m->cols; j++) {
        for (int64_t k = m->start[j]; k < m->start[j + 1]; k++) {
            const double a = m->sums[k], b = m->mirror_sums[k];
            if (m->row[k] == j)
                continue;
            m->sums[k] = joined(a, b);
            if (a == b)
                continue;
            const double apart = distance(m, k, j, a, b);
            asymmetry = larger(asymmetry, apart);
            if (!(apart <= m->tolerance && m->tolerance > 0) &&
                (worst.entry < 0 || apart > worst.apart))
                worst = m->by_rows ? (unlike){k, b, a, apart} : (unlike){k, a, b, apart};
        }
    }
    if (worst.entry >= 0)
        return not_symmetric(ctx, voice, m, &worst);
    m->asymmetry = asymmetry;
    return WEFT_OK;
}

/* ---- all values ---- */

enum {
    BLOCK = 4096 /* values between two looks at whether the halves still agree */
};

/* Most symmetric matrices are so to the last bit. For a matrix whose entries are in pairs this is
 * seen as soon as the second of a pair comes, without summing each half on its own: then sums = the
 * values. False if two differ, or one is not finite: sum_values will see to it. */
static bool take_equal_pairs(weft_sparse *m, const double *value) {
    uint64_t differ = 0;
    for (size_t begin = 0; begin < m->given && !differ; begin += BLOCK) {
        const size_t end = begin + BLOCK < m->given ? begin + BLOCK : m->given;
        for (size_t k = begin; k < end; k++) {
            const int64_t home = m->home[k];
            if (home >= 0)
                m->sums[home] = value[k];
            else
                differ |= bits_of(m->sums[~home]) ^ bits_of(value[k]);
        }
    }
    return !differ && all_finite(m->sums, (size_t)m->start[m->cols]);
}

static void clear_sums(weft_sparse *m) {
    for (int64_t k = 0; k < m->start[m->cols]; k++) {
        m->sums[k] = -0.0; /* so a single -0.0 stays -0.0 */
        if (m->mirror_sums)
            m->mirror_sums[k] = -0.0;
        if (m->summed_sizes)
            m->summed_sizes[k] = 0;
    }
}

static void add_values(weft_sparse *m, const double *value) {
    for (size_t k = 0; k < m->given; k++) {
        const int64_t home = m->home[k];
        if (home >= 0)
            m->sums[home] += value[k];
        else if (home != wi_left_out)
            m->mirror_sums[~home] += value[k];
    }
    for (size_t k = 0; m->summed_sizes && k < m->given; k++) {
        const int64_t home = m->home[k];
        double *const size = &m->summed_sizes[home < 0 ? ~home : home];
        *size = fmin(*size + fabs(value[k]) / 2, DBL_MAX);
    }
}

static weft_status sum_values(weft_context *ctx, const wi_voice *voice, weft_sparse *m,
                              const double *value) {
    clear_sums(m);
    add_values(m, value);
    weft_status status = check_sums(ctx, voice, m, m->sums, false);
    if (m->mirror_sums && status == WEFT_OK)
        status = check_sums(ctx, voice, m, m->mirror_sums, true);
    if (m->mirror_sums && status == WEFT_OK)
        status = join_halves(ctx, voice, m);
    return status;
}

static weft_status check_finite(weft_context *ctx, const wi_voice *voice, const weft_sparse *m,
                                const double *value) {
    const size_t given = all_finite(value, m->given) ? 0 : m->given;
    for (size_t k = 0; k < given; k++) {
        if (!isfinite(value[k]) && !(m->home && m->home[k] == wi_left_out))
            return not_finite(ctx, voice, m, k, value[k]);
    }
    return WEFT_OK;
}

uint64_t wi_sparse_new_version(void) {
    static atomic_uint_fast64_t given;
    return 1 + atomic_fetch_add_explicit(&given, 1, memory_order_relaxed);
}

/* The values become those given, or the sums of them. A new matrix takes the array of the sums, so
 * that memory is touched for the first time once and not twice; later its values stay where they
 * are, for weft_sparse_values has told where. */
static void keep_values(weft_sparse *m, const double *value) {
    const size_t bytes = (size_t)m->start[m->cols] * sizeof *m->value;
    double *const sums = m->sums;
    if (m->home && !m->version) {
        m->sums = m->value;
        m->value = sums;
    } else if (bytes) {
        memmove(m->value, m->home ? sums : value, bytes); /* value may be weft_sparse_values's */
    }
    m->version = wi_sparse_new_version();
}

weft_status wi_sparse_set_values(weft_context *ctx, const wi_voice *voice, weft_sparse *m,
                                 const double *value) {
    weft_status status = WEFT_OK;
    if (m->paired && take_equal_pairs(m, value)) {
        m->asymmetry = 0;
    } else {
        status = check_finite(ctx, voice, m, value);
        if (status == WEFT_OK && m->home)
            status = sum_values(ctx, voice, m, value);
    }
    if (status == WEFT_OK)
        keep_values(m, value);
    return status;
}
