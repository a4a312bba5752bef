/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "threads" of exact_scan: every thread first adds up its share, as exact sums do, and
 * then scans it from where the shares before it end. Runs of elements are scanned by folds, two or
 * four, whose sum rounds to the prefix; what folds cannot take is added to digits one by one. */
#include <math.h>

#include "cpu/half.h"
#include "cpu/team.h"
#include "exact/exact_scan.h"

/* All that comes before an element. */
typedef struct prefix {
    uint32_t digit[WI_LINE_COUNT];
    bool nan, plus, minus; /* NaN, and infinities, were met */
    bool any, other;       /* elements; such that are not -0.0 */
} prefix;

enum {
    LINE_UNIT = WI_EXACT_UNIT + 32 * WI_LINE_FIRST,
    RUN = 512 /* elements of a run; WI_RUN_MOST at most */
};

static prefix prefix_of(const int64_t *word) {
    prefix p = {.nan = word[WI_EXACT_NAN] != 0,
                .plus = word[WI_EXACT_PLUS] != 0,
                .minus = word[WI_EXACT_MINUS] != 0,
                .any = word[WI_EXACT_COUNT] != 0,
                .other = word[WI_EXACT_OTHER] != 0};
    for (int k = 0; k < WI_LINE_COUNT; k++)
        p.digit[k] = (uint32_t)(uint64_t)word[WI_LINE_FIRST + k];
    return p;
}

static void add(prefix *p, double x) {
    p->any = true;
    p->other |= wi_exact_bits(x) != (uint64_t)1 << 63;
    p->nan |= isnan(x);
    p->plus |= isinf(x) && x > 0;
    p->minus |= isinf(x) && x < 0;
    if (isfinite(x))
        wi_line_add_f64(p->digit, WI_LINE_COUNT, LINE_UNIT, x);
}

/* The bits of the prefix rounded to `type`. */
static uint64_t round_prefix(const prefix *p, weft_type type) {
    const int64_t special[WI_EXACT_WORDS] = {
        [WI_EXACT_NAN] = p->nan, [WI_EXACT_PLUS] = p->plus, [WI_EXACT_MINUS] = p->minus};
    uint64_t bits;
    if ((p->nan || p->plus || p->minus) && wi_exact_is_special(special, type, &bits))
        return bits;
    if (p->any && !p->other)
        return wi_exact_signed(type, true, 0);
    return wi_line_round(p->digit, WI_LINE_COUNT, LINE_UNIT, type);
}

/* ---- a run ---- */

typedef struct run {
    weft_type type;
    bool exclusive;
    size_t n;
    double x[RUN];
    double y[RUN]; /* prefixes, or such rounded to odd if the type is shorter */
    double fold[WI_FOLD_MOST];
    int above, least; /* elements are below 2^above, and multiples of 2^least */
} run;

/* The exponent of the last bit of an element, at least. */
static int last_bit(const run *r, double smallest) {
    const int exponent = ilogb(smallest);
    const int bits = r->type == WEFT_F64 ? 52 : 23, least = r->type == WEFT_F64 ? -1074 : -149;
    return exponent - bits > least ? exponent - bits : least;
}

/* Measures the elements; false if not all are finite. */
static bool measure(run *r) {
    double largest = 0, smallest = (double)INFINITY;
    bool finite = true;
    for (size_t i = 0; i < r->n; i++) {
        const double size = fabs(r->x[i]);
        finite &= size <= 0x1.fffffffffffffp1023;
        largest = size > largest ? size : largest;
        smallest = size > 0 && size < smallest ? size : smallest;
    }
    if (!finite)
        return false;
    r->above = largest > 0 ? ilogb(largest) + 1 : WI_NO_EXPONENT;
    r->least = largest > 0 ? last_bit(r, smallest) : 0;
    return true;
}

/* The run with two folds: their sum, rounded once by the processor, is the prefix. False if a
 * prefix is too small beside what the last fold leaves out. */
static bool scan_two(run *r, int top, bool more) {
    const double anchor = wi_fold_anchor(wi_fold_unit(top, 0));
    const double limit = more ? wi_exact_power(wi_fold_unit(top, 1) + 53) : 0;
    const bool narrow = r->type != WEFT_F64, exclusive = r->exclusive;
    double a = r->fold[0], b = r->fold[1];
    bool near = false;
    for (size_t i = 0; i < r->n; i++) {
        const double before_a = a, before_b = b;
        const double q = (r->x[i] + anchor) - anchor;
        a += q;
        b += r->x[i] - q;
        const double high = exclusive ? before_a : a, low = exclusive ? before_b : b;
        const double sum = narrow ? wi_add_to_odd(high, low) : high + low;
        near |= fabs(sum) < limit;
        r->y[i] = sum;
    }
    r->fold[0] = a;
    r->fold[1] = b;
    return !near;
}

static bool scan_four(run *r, int top, bool more) {
    const bool narrow = r->type != WEFT_F64;
    bool ok = true;
    for (size_t i = 0; i < r->n; i++) {
        double x = r->x[i];
        if (r->exclusive)
            ok &= wi_folds_round(r->fold, top, more, narrow, &r->y[i]);
        for (int k = 0; k < WI_FOLD_MOST; k++) {
            const double anchor = wi_fold_anchor(wi_fold_unit(top, k));
            const double q = (x + anchor) - anchor;
            r->fold[k] += q;
            x -= q;
        }
        if (!r->exclusive)
            ok &= wi_folds_round(r->fold, top, more, narrow, &r->y[i]);
    }
    return ok;
}

/* Scans the run by that many folds; false if they cannot do it. */
static bool scan_by(run *r, int folds, prefix *p) {
    double start[WI_FOLD_MOST];
    const int height = wi_line_height(p->digit, WI_LINE_COUNT, LINE_UNIT);
    const int top = wi_window_top(folds, height, r->above);
    if (!wi_window_fits(folds, top, r->least))
        return false;
    const bool more = wi_line_split(p->digit, WI_LINE_COUNT, LINE_UNIT, top, folds, r->fold);
    memcpy(start, r->fold, sizeof start);
    if (!(folds == 2 ? scan_two(r, top, more) : scan_four(r, top, more)))
        return false;
    for (int k = 0; k < folds; k++)
        wi_line_add_f64(p->digit, WI_LINE_COUNT, LINE_UNIT, r->fold[k] - start[k]);
    return true;
}

/* ---- a share ---- */

static void store(weft_type type, void *y, size_t i, double odd) {
    if (type == WEFT_F64)
        memcpy((double *)y + i, &odd, sizeof odd);
    else if (type == WEFT_F32)
        ((float *)y)[i] = (float)odd;
    else
        ((uint16_t *)y)[i] =
            type == WEFT_F16 ? wi_f16_narrow_double(odd) : wi_bf16_narrow_double(odd);
}

static void scan_one_by_one(const wi_exact_scan_args *args, size_t from, size_t n, prefix *p) {
    const size_t size = weft_type_size(args->type);
    for (size_t i = from; i < from + n; i++) {
        const double x = wi_exact_load(args->type, args->x, i);
        void *const y = (char *)args->y + i * size;
        if (args->kind == WEFT_EXCLUSIVE)
            wi_exact_store(args->type, round_prefix(p, args->type), y);
        add(p, x);
        if (args->kind == WEFT_INCLUSIVE)
            wi_exact_store(args->type, round_prefix(p, args->type), y);
    }
}

static void scan_run(const wi_exact_scan_args *args, run *r, size_t from, size_t n, prefix *p) {
    r->n = n;
    for (size_t i = 0; i < n; i++)
        r->x[i] = wi_exact_load(args->type, args->x, from + i);
    const bool special = p->nan || p->plus || p->minus || !p->other;
    if (special || !measure(r) || !(scan_by(r, 2, p) || scan_by(r, WI_FOLD_MOST, p))) {
        scan_one_by_one(args, from, n, p);
        return;
    }
    for (size_t i = 0; i < n; i++)
        store(args->type, args->y, from + i, r->y[i]);
}

static void scan_share(const wi_exact_scan_args *args, size_t from, size_t n, prefix *p) {
    run r = {.type = args->type, .exclusive = args->kind == WEFT_EXCLUSIVE};
    const size_t end = from + n;
    for (; from < end && !p->other; from++) /* whether a zero is -0.0, folds do not tell */
        scan_one_by_one(args, from, 1, p);
    for (; from < end; from += RUN)
        scan_run(args, &r, from, end - from < RUN ? end - from : RUN, p);
}

typedef struct work {
    const wi_exact_scan_args *args;
    int64_t (*words)[WI_EXACT_WORDS]; /* of each share; then of all before it */
} work;

static size_t first_of(const work *w, int rank, int size) {
    const size_t runs = (w->args->n + RUN - 1) / RUN;
    const size_t first = wi_team_share(runs, rank, size) * RUN;
    return first < w->args->n ? first : w->args->n;
}

static void add_share(void *user, int rank, int size) {
    const work *const w = user;
    const size_t first = first_of(w, rank, size), end = first_of(w, rank + 1, size);
    const wi_exact_args sum = {
        .terms = WI_EXACT_SUM, .type = w->args->type, .n = w->args->n, .x = w->args->x};
    if (rank + 1 < size) /* nothing comes after the last */
        wi_exact_add_share(&sum, first, end - first, w->words[rank]);
}

static void scan_part(void *user, int rank, int size) {
    const work *const w = user;
    const size_t first = first_of(w, rank, size), end = first_of(w, rank + 1, size);
    prefix p = prefix_of(w->words[rank]);
    scan_share(w->args, first, end - first, &p);
}

weft_status wi_exact_scan_threads(weft_context *ctx, const void *arguments) {
    const wi_exact_scan_args *const args = arguments;
    const size_t runs = (args->n + RUN - 1) / RUN;
    const int team = wi_team_size(ctx, runs, args->n * weft_type_size(args->type));
    int64_t alone[1][WI_EXACT_WORDS] = {{0}}, before[WI_EXACT_WORDS], share[WI_EXACT_WORDS];
    work w = {args, alone};
    if (team > 1)
        w.words = wi_host_alloc((size_t)team * sizeof *w.words);
    if (!w.words)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "weft_exact_scan: no memory for the sums of %d threads; free some, or use "
                       "variant serial, which needs none",
                       team);
    if (team > 1)
        wi_team_run(ctx, team, add_share, &w);
    memcpy(before, args->start, sizeof before);
    for (int t = 0; t < team; t++) {
        memcpy(share, w.words[t], sizeof share);
        memcpy(w.words[t], before, sizeof before);
        if (t + 1 < team)
            wi_exact_merge_words(before, share);
        wi_exact_carry(before);
    }
    wi_team_run(ctx, team, scan_part, &w);
    if (team > 1)
        wi_host_free(w.words);
    return WEFT_OK;
}
