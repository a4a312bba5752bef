/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse systems over ranks: the bits, reports and failures of one place, however the matrix is
 * dealt out. */
#include "dist_matrix.h"
#include "sparse/generate.h"
#include "sparse/ranks.h"

/* A symmetric system, whole on every rank: what it is made of, and the matrix. */
typedef struct test_sparse {
    size_t n;
    weft_chol_kind kind;
    weft_precision precision;
    weft_sparse *whole, *dealt; /* of dist_one, of dist_ctx */
    weft_chol *one, *all;       /* plans */
    dist_part part;
} test_sparse;

static weft_sparse *generated(const char *name, size_t n) {
    const wi_recipe recipe = {.n = n};
    weft_sparse *matrix;
    dist_ok(dist_one, wi_find_generator(name)->make(dist_one, "test", &recipe, &matrix));
    return matrix;
}

/* The same pattern; values as they are wanted. */
typedef enum change {
    NONE,
    SHIFTED, /* indefinite */
    SIGNED,  /* every third diagonal entry is below 0 */
    SPOILED, /* not positive definite from one column on */
    EXTREME, /* has to be scaled */
    CHANGES
} change;

static void change_values(test_random *r, change how, weft_sparse *matrix) {
    const size_t entries = weft_sparse_entries(matrix), n = weft_sparse_rows(matrix);
    double *const value = malloc(entries * sizeof *value + 1);
    const size_t wrong = n > 0 ? dist_draw(r, n) : 0;
    assert_non_null(value);
    for (size_t j = 0; j < n; j++) {
        for (int64_t k = weft_sparse_starts(matrix)[j]; k < weft_sparse_starts(matrix)[j + 1];
             k++) {
            const bool diagonal = weft_sparse_row_indices(matrix)[k] == (int64_t)j;
            double v = weft_sparse_values(matrix)[k];
            v = how == EXTREME ? ldexp(v, 300) : v;
            if (diagonal && how == SHIFTED)
                v -= 3.1;
            if (diagonal && how == SIGNED && j % 3 == 0)
                v = -v;
            if (diagonal && how == SPOILED && j == wrong)
                v = -1;
            value[k] = v;
        }
    }
    dist_ok(dist_one, weft_sparse_update(dist_one, matrix, entries, value));
    free(value);
}

/* ---- matrices ---- */

/* Entries of a matrix, this rank's. */
typedef struct entries {
    size_t n;
    int64_t *row, *col, *start;
    double *value;
} entries;

static entries take_entries(size_t most, size_t lines) {
    entries e = {.row = malloc((most + 1) * sizeof *e.row),
                 .col = malloc((most + 1) * sizeof *e.col),
                 .start = calloc(lines + 1, sizeof *e.start),
                 .value = malloc((most + 1) * sizeof *e.value)};
    assert_true(e.row && e.col && e.start && e.value);
    return e;
}

static void give_entries(entries *e) {
    free(e->row), free(e->col), free(e->start), free(e->value);
}

static void add(entries *e, int64_t i, int64_t j, double v) {
    e->row[e->n] = i;
    e->col[e->n] = j;
    e->value[e->n++] = v;
}

/* Rows of both halves, columns of the lower half, or entries that lie anywhere. */
static entries own_entries(test_random *r, const weft_sparse *a, weft_form form, dist_part part) {
    const int64_t *const start = weft_sparse_starts(a), *const row = weft_sparse_row_indices(a);
    entries e = take_entries(2 * weft_sparse_entries(a), part.n);
    for (size_t line = 0; line < weft_sparse_rows(a); line++) {
        for (size_t j = 0; j < weft_sparse_rows(a) && form == WEFT_CSR; j++) { /* by rows */
            const size_t low = j < line ? j : line, high = j < line ? line : j;
            for (int64_t k = start[low]; k < start[low + 1]; k++)
                if (row[k] == (int64_t)high && line - part.first < part.n)
                    add(&e, (int64_t)line, (int64_t)j, weft_sparse_values(a)[k]);
        }
        for (int64_t k = start[line]; k < start[line + 1] && form != WEFT_CSR; k++) {
            const bool own = form == WEFT_CSC ? line - part.first < part.n
                                              : (int)dist_draw(r, (size_t)dist_ranks) == dist_rank;
            if (own)
                add(&e, row[k], (int64_t)line, weft_sparse_values(a)[k]);
        }
        if (line - part.first < part.n)
            e.start[line - part.first + 1] = (int64_t)e.n;
    }
    return e;
}

static void deal_matrix(test_random *r, weft_form form, test_sparse *s) {
    entries e = own_entries(r, s->whole, form, s->part);
    const bool csc = form == WEFT_CSC;
    const weft_sparse_input input = {.size = sizeof input,
                                     .storage = form == WEFT_CSR ? WEFT_SYMMETRIC_FULL
                                                                 : WEFT_SYMMETRIC_LOWER,
                                     .form = form,
                                     .rows = csc ? s->n : s->part.n,
                                     .cols = csc ? s->part.n : s->n,
                                     .n = e.n,
                                     .index_type = WEFT_I64,
                                     .start = e.start,
                                     .row = e.row,
                                     .col = e.col,
                                     .value = e.value};
    dist_ok(dist_ctx, weft_sparse_create(dist_ctx, &s->dealt, &input));
    for (size_t k = 0; k < e.n; k++)
        e.value[k] *= 2; /* new values, and the old ones again */
    dist_ok(dist_ctx, weft_sparse_update(dist_ctx, s->dealt, e.n, e.value));
    for (size_t k = 0; k < e.n; k++)
        e.value[k] /= 2;
    dist_ok(dist_ctx, weft_sparse_update(dist_ctx, s->dealt, e.n, e.value));
    give_entries(&e);
    const size_t count = weft_sparse_entries(s->whole);
    size_t first = 1;
    assert_int_equal(weft_sparse_own_rows(dist_ctx, s->dealt, &first), s->part.n);
    assert_int_equal(first, s->part.first);
    assert_int_equal(weft_sparse_rows(s->dealt), s->n);
    assert_int_equal(weft_sparse_entries(s->dealt), count);
    assert_memory_equal(weft_sparse_starts(s->dealt), weft_sparse_starts(s->whole),
                        (s->n + 1) * sizeof(int64_t));
    if (count > 0)
        assert_memory_equal(weft_sparse_values(s->dealt), weft_sparse_values(s->whole),
                            count * sizeof(double));
}

/* ---- systems ---- */

/* Columns of rows of the whole, with gaps between them. */
static double *own_rows(const double *whole, size_t n, size_t count, dist_part part, size_t ld) {
    double *const own = malloc((count * ld + 1) * sizeof *own);
    assert_non_null(own);
    memset(own, TEST_POISON, (count * ld + 1) * sizeof *own);
    for (size_t j = 0; j < count && whole; j++)
        memcpy(own + j * ld, whole + j * n + part.first, part.n * sizeof *own);
    return own;
}

static void expect_rows(const double *got, const double *whole, const test_sparse *s, size_t count,
                        size_t ld, const char *what) {
    double *const wanted = own_rows(whole, s->n, count, s->part, ld);
    for (size_t e = 0; e < count * ld; e++) {
        if (memcmp(got + e, wanted + e, sizeof *got) != 0)
            fail_msg("%s: rank %d of %d, n %zu: element %zu is %g, %g on one place", what,
                     dist_rank, dist_ranks, s->n, e, got[e], wanted[e]);
    }
    free(wanted);
}

static weft_chol_report report_of(weft_context *ctx, const weft_chol *plan) {
    weft_chol_report report = {.size = sizeof report};
    dist_ok(ctx, weft_chol_get_report(ctx, plan, &report));
    return report;
}

/* The same numbers but for times and memory, which is what was foretold. */
static void compare_reports(const test_sparse *s, bool solved) {
    const weft_chol_report one = report_of(dist_one, s->one), all = report_of(dist_ctx, s->all);
    assert_int_equal(one.nnz_l, all.nnz_l);
    assert_int_equal(one.positive, all.positive);
    assert_int_equal(one.negative, all.negative);
    assert_int_equal(one.perturbed, all.perturbed);
    assert_int_equal(one.pairs, all.pairs);
    assert_int_equal(one.factor_type, all.factor_type);
    assert_int_equal(one.fell_back, all.fell_back);
    assert_int_equal(one.refinements, all.refinements);
    assert_int_equal(one.stalled, all.stalled);
    assert_int_equal(one.krylov_steps, all.krylov_steps);
    assert_memory_equal(&one.logdet, &all.logdet, sizeof one.logdet);
    assert_memory_equal(&one.backward_error, &all.backward_error, sizeof one.backward_error);
    assert_memory_equal(&one.normwise_error, &all.normwise_error, sizeof one.normwise_error);
    if (solved && !all.fell_back)
        assert_int_equal(all.bytes_peak, all.bytes_needed);
}

/* Supernodes have one owner each, and L has no more memory than on one place. */
static void check_shares(const test_sparse *s) {
    const wi_numbers *const numbers = &s->all->numbers;
    uint64_t own = (uint64_t)numbers->cut.l, sum = 0;
    if (s->n == 0 || dist_ranks == 1) {
        assert_null(numbers->cut.owners);
        return;
    }
    assert_non_null(numbers->cut.owners);
    dist_ok(dist_ctx,
            dist_ctx->comm->calls->all_reduce(dist_ctx, &own, &sum, 1, WEFT_U64, WEFT_SUM));
    assert_int_equal(sum, s->one->numbers.cut.l);
}

static void solve_part(test_random *r, const test_sparse *s, weft_chol_solve_options options,
                       size_t rhs) {
    const size_t n = s->n, ldb = s->part.n + dist_draw(r, 3), ldx = s->part.n + dist_draw(r, 3);
    double *const b = random_matrix(r, n, rhs), *const x = random_matrix(r, n, rhs);
    double *const own_b = own_rows(b, n, rhs, s->part, ldb);
    const bool in_place = ldb == ldx && dist_draw(r, 2);
    double *const own_x = in_place ? own_b : own_rows(NULL, n, rhs, s->part, ldx);
    options.size = sizeof options;
    dist_ok(dist_one, weft_chol_solve(dist_one, s->one, s->whole, &options, rhs, b, n, x, n));
    dist_ok(dist_ctx,
            weft_chol_solve(dist_ctx, s->all, s->dealt, &options, rhs, own_b, ldb, own_x, ldx));
    expect_rows(own_x, x, s, rhs, ldx, "weft_chol_solve");
    if (!in_place)
        free(own_x);
    free(own_b), free(b), free(x);
}

static void solve_all(test_random *r, const test_sparse *s) {
    static const size_t counts[] = {1, 3, 17, 0};
    double one = 0, all = 0;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        const bool exact = dist_draw(r, 4) == 0;
        solve_part(
            r, s,
            (weft_chol_solve_options){.refine = exact ? 0 : (int)dist_draw(r, 3), .exact = exact},
            counts[k]);
        compare_reports(s, k == 2 && !exact);
    }
    if (s->kind == WEFT_CHOL_DEFINITE && !s->all->narrow) {
        solve_part(r, s, (weft_chol_solve_options){.part = WEFT_CHOL_L}, 2);
        solve_part(r, s, (weft_chol_solve_options){.part = WEFT_CHOL_LT}, 1);
    }
    dist_ok(dist_one, weft_chol_condition(dist_one, s->one, s->whole, &one));
    dist_ok(dist_ctx, weft_chol_condition(dist_ctx, s->all, s->dealt, &all));
    assert_memory_equal(&one, &all, sizeof one);
}

static void compare_directions(const test_sparse *s) {
    double *const whole = calloc(s->n + 1, sizeof *whole), *const own = own_rows(
                                                               NULL, s->n, 1, s->part, s->part.n);
    assert_non_null(whole);
    dist_ok(dist_one, weft_chol_direction(dist_one, s->one, whole));
    dist_ok(dist_ctx, weft_chol_direction(dist_ctx, s->all, own));
    expect_rows(own, whole, s, 1, s->part.n, "weft_chol_direction");
    free(whole), free(own);
}

static void compare_products(test_random *r, const test_sparse *s) {
    const size_t n = s->n, count = 2, ld = s->part.n + 1;
    double *const x = random_matrix(r, n, count), *const y = random_matrix(r, n, count);
    double *const own_x = own_rows(x, n, count, s->part, ld), *const own_y = own_rows(
                                                                  NULL, n, count, s->part, ld);
    dist_ok(dist_one, weft_sparse_multiply(dist_one, s->whole, count, x, n, y, n));
    dist_ok(dist_ctx, weft_sparse_multiply(dist_ctx, s->dealt, count, own_x, ld, own_y, ld));
    expect_rows(own_y, y, s, count, ld, "weft_sparse_multiply");
    free(x), free(y), free(own_x), free(own_y);
}

static weft_chol *plan_of(weft_context *ctx, const weft_sparse *matrix, const test_sparse *s) {
    static const char *const orderings[] = {"amd", "dissect", "natural"};
    const weft_chol_options options = {.size = sizeof options,
                                       .ordering = orderings[s->n % 3],
                                       .kind = s->kind,
                                       .precision = s->precision};
    weft_chol *plan;
    dist_ok(ctx, weft_chol_analyze(ctx, matrix, &options, &plan));
    plan->least_work = 0; /* small matrices are shared, too */
    return plan;
}

static void drop(test_sparse *s) {
    weft_chol_destroy(s->one), weft_chol_destroy(s->all);
    weft_sparse_destroy(s->whole);
    if (s->dealt != s->whole)
        weft_sparse_destroy(s->dealt);
}

/* One system: factored and solved twice. `form` beyond the last: every rank has the whole. */
static void sparse_case(test_random *r, test_sparse s, int form) {
    s.n = weft_sparse_rows(s.whole);
    s.dealt = s.whole;
    s.part = dist_deal(r, (dist_shape)dist_draw(r, DIST_SHAPES), s.n);
    if (form <= WEFT_TRIPLETS)
        deal_matrix(r, (weft_form)form, &s);
    else
        s.part.n = weft_sparse_own_rows(dist_ctx, s.whole, &s.part.first);
    compare_products(r, &s);
    s.one = plan_of(dist_one, s.whole, &s);
    s.all = plan_of(dist_ctx, s.dealt, &s);
    for (int turn = 0; turn < 2; turn++) {
        const weft_status one = weft_chol_factor(dist_one, s.one, s.whole);
        const weft_status all = weft_chol_factor(dist_ctx, s.all, s.dealt);
        expect_outcome(one, all);
        if (one == WEFT_OK) {
            solve_all(r, &s);
            assert_string_equal(weft_used(dist_ctx, "sparse"), "ranks");
        } else if (one == WEFT_ENOTSPD || one == WEFT_ESINGULAR) {
            compare_directions(&s);
        } else {
            fail_msg("%s", weft_message(dist_one));
        }
        compare_reports(&s, false);
    }
    check_shares(&s);
    drop(&s);
}

/* Real ones, which every rank reads: WEFT_MATRICES is their folder. */
static void read_matrices(test_random *r) {
    static const char *const names[] = {"494_bus", "bcsstk34"};
    const char *const folder = getenv("WEFT_MATRICES");
    char path[512];
    for (size_t k = 0; folder && k < sizeof names / sizeof *names; k++) {
        test_sparse s = {.kind = WEFT_CHOL_DEFINITE, .precision = WEFT_PRECISION_FULL};
        snprintf(path, sizeof path, "%s/%s.mtx", folder, names[k]);
        dist_ok(dist_ctx, weft_sparse_read(dist_ctx, &s.whole, path));
        sparse_case(r, s, WEFT_TRIPLETS + 1);
    }
}

/* The longest that a rank works on its subtrees and on what is above them, in the order in which
 * they can be done, is not much more than its share, and L is spread. */
static void check_owners(const char *generator, size_t n, int ranks, double most_time,
                         double most_entries) {
    weft_sparse *const matrix = generated(generator, n);
    weft_chol *plan;
    wi_owners owners;
    dist_ok(dist_one, weft_chol_analyze(dist_one, matrix, NULL, &plan));
    const wi_symbolic *const symbolic = &plan->symbolic;
    const size_t supernodes = (size_t)symbolic->supernodes;
    dist_ok(dist_one, wi_owners_make(dist_one, "test", symbolic, 0, ranks, &owners));
    double *const end = calloc(supernodes + 2 * (size_t)ranks, sizeof *end);
    assert_non_null(end);
    double *const busy = end + supernodes, *const stored = busy + ranks;
    double last = 0, largest = 0;
    size_t columns = 0;
    for (int64_t s = 0; s < symbolic->supernodes; s++) { /* what is not shared comes first */
        const int r = owners.owner[s];
        assert_true(r >= 0 && r < ranks);
        busy[r] += owners.shared[s] ? 0 : wi_super_work(symbolic, s);
    }
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        const int r = owners.owner[s];
        double begin = busy[r];
        bool shared = false;
        for (int64_t c = wi_last_child(symbolic, s); c >= 0; c = wi_child_before(symbolic, s, c)) {
            begin = fmax(begin, end[c]);
            shared = shared || owners.shared[c] || owners.owner[c] != r;
        }
        assert_int_equal(owners.shared[s], shared);
        end[s] = owners.shared[s] ? begin + wi_super_work(symbolic, s) : busy[r];
        busy[r] = owners.shared[s] ? end[s] : busy[r];
        last = fmax(last, end[s]);
        stored[r] +=
            (double)wi_block_entries(wi_super_height(symbolic, s), wi_super_columns(symbolic, s));
        largest = fmax(largest, stored[r]);
    }
    for (int r = 0; r < ranks; r++)
        columns += owners.columns[r];
    assert_int_equal(columns, symbolic->n);
    const double time = last / wi_all_work(symbolic);
    const double share = largest * sizeof(double) / (double)symbolic->factor_bytes;
    if (!(time <= most_time && share <= most_entries))
        fail_msg("%s %zu over %d ranks: %g of the time, %g of L", generator, n, ranks, time, share);
    free(end);
    wi_owners_free(&owners);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
}

void dist_test_sparse_owners(void **state) {
    (void)state;
    if (dist_rank > 0 || dist_ctx->gpu)
        return;
    check_owners("laplace2d", 60, 2, 0.7, 0.6);
    check_owners("laplace2d", 60, 4, 0.5, 0.35);
    check_owners("laplace3d", 16, 2, 0.8, 0.65);
    check_owners("laplace3d", 16, 8, 0.65, 0.35);
    check_owners("random", 300, 3, 1, 1);
    check_owners("laplace2d", 2, 7, 1, 1);
}

void dist_test_sparse(void **state) {
    (void)state;
    static const struct {
        const char *generator;
        size_t n;
    } systems[] = {{"laplace2d", 6},    {"laplace3d", 4},  {"random", 1},
                   {"elasticity3d", 2}, {"laplace2d", 13}, {"random", 90}};
    static const weft_chol_kind kinds[] = {WEFT_CHOL_DEFINITE, WEFT_CHOL_INDEFINITE,
                                           WEFT_CHOL_QUASIDEFINITE, WEFT_CHOL_DEFINITE,
                                           WEFT_CHOL_DEFINITE};
    test_random r = test_random_at(90);
    int form = 0;
    for (size_t k = 0; k < sizeof systems / sizeof *systems; k++) {
        for (int how = 0; how < CHANGES; how++) {
            if (!dist_wanted(k, how % DIST_SHAPES, systems[k].n))
                continue;
            test_sparse s = {.kind = kinds[how],
                             .precision =
                                 dist_draw(&r, 3) == 0 ? WEFT_PRECISION_MIXED : WEFT_PRECISION_FULL,
                             .whole = generated(systems[k].generator, systems[k].n)};
            change_values(&r, (change)how, s.whole);
            sparse_case(&r, s, form++ % (WEFT_TRIPLETS + 2));
        }
    }
    read_matrices(&r);
}
