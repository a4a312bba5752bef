/* SPDX-License-Identifier: Apache-2.0 */
/* `weft solve`: solves a system, and reports time, memory and accuracy. Here, of sparse symmetric
 * matrices, whose report is in solve_report.c; solve_dense.c has dense ones. */
#include <string.h>

#include "cli/matrix.h"
#include "cli/memory.h"
#include "cli/ranks.h"
#include "cli/solve_dense.h"
#include "cli/solve_report.h"
#include "cli/text.h"
#include "climb/meter.h"
#include "sparse/ranks.h"

const wi_option wi_refine_option = {.name = "refine",
                                    .letter = 'r',
                                    .help =
                                        "refine a sparse x with residuals in twice the precision"};
static const wi_option repeat_option = {.name = "repeat",
                                        .value = "COUNT",
                                        .help =
                                            "factor and solve this many times; times are medians"};

enum {
    MOST_REFINEMENTS = 10
};

static const double progress_seconds = 0.1; /* between two lines of progress */

/* Is it time for another line of progress? Writing one to a terminal can take longer than a front.
 */
static bool is_due(wi_solving *s) {
    const double now = wi_now();
    const bool due = now - s->shown_at >= progress_seconds;
    if (due)
        s->shown_at = now;
    return due;
}

/* Of several ranks the first one speaks. */
static bool speaks(const wi_solving *s) {
    return weft_rank(s->ctx) == 0;
}

static int show_progress(void *user, double done) {
    if (speaks(user) && is_due(user))
        wi_progress("factor: %.0f %%", 100 * done);
    return 0;
}

static wi_exit check_options(wi_solving *s) {
    const wi_arguments *const args = s->args;
    const char *const repeat = wi_value(args, &repeat_option);
    const char *const rhs = wi_value(args, &wi_rhs_option);
    s->repeats = 1;
    if (repeat && (!wi_read_count(repeat, &s->repeats) || s->repeats == 0))
        return wi_usage(args->command, "option --repeat: \"%s\" is not a count from 1; write 5",
                        repeat);
    if (rhs && wi_is_standard(rhs) && wi_is_standard(args->operand[0]))
        return wi_usage(args->command, "option --rhs: standard input gives the matrix already; "
                                       "name a file");
    if (wi_given(args, &wi_output_option)) {
        if (wi_ends_in(wi_value(args, &wi_output_option), ".mtx"))
            return wi_usage(
                args->command,
                "option --output: X is written as a .npy file, not as .mtx; name it so");
        const wi_exit result = wi_need_output(args);
        if (result != WI_EXIT_OK)
            return result;
    }
    wi_exit result = wi_check_meaning(args);
    if (result == WI_EXIT_OK)
        result = wi_check_kind(args, &s->kind);
    if (result == WI_EXIT_OK)
        result = wi_check_precision(args, &s->precision);
    if (result == WI_EXIT_OK)
        result = wi_check_factorizations(args, &s->factorizations);
    return result == WI_EXIT_OK ? wi_check_ordering(args) : result;
}

static wi_exit prepare(wi_solving *s) {
    const weft_chol_options options = {.size = sizeof options,
                                       .ordering = wi_value(s->args, &wi_ordering_option),
                                       .kind = s->kind,
                                       .precision = s->precision,
                                       .factorizations = s->factorizations};
    const size_t n = weft_sparse_rows(s->matrix);
    weft_chol_report report = {.size = sizeof report};
    wi_exit result = wi_given(s->args, &wi_rhs_option)
                         ? wi_rhs_load(s->args, s->ctx, n, &s->b)
                         : wi_rhs_of_ones(s->args, s->ctx, s->matrix, &s->b, &s->rounding);
    if (result == WI_EXIT_OK)
        result = wi_rhs_take(s->args, n, s->b.count, s->b.flat, &s->x);
    result = wi_agree_result(s->args, s->ctx, result);
    if (result != WI_EXIT_OK)
        return result;
    weft_sparse_own_rows(s->ctx, s->matrix, &s->first);
    if (speaks(s))
        wi_progress("analysis ...");
    if (weft_chol_analyze(s->ctx, s->matrix, &options, &s->plan) != WEFT_OK ||
        weft_chol_get_report(s->ctx, s->plan, &report) != WEFT_OK)
        return wi_session_failed(s->ctx);
    const size_t resident = wi_resident_bytes();
    if (weft_chol_reserve(s->ctx, s->plan, s->b.count) != WEFT_OK ||
        weft_chol_on_progress(s->ctx, s->plan, show_progress, s) != WEFT_OK ||
        weft_chol_get_report(s->ctx, s->plan, &report) != WEFT_OK)
        return wi_session_failed(s->ctx);
    s->bytes_predicted =
        wi_predicted_bytes(&report, resident, s->x.n * s->x.count * sizeof *s->x.value);
    if (s->bytes_predicted < wi_most_resident_bytes())
        s->bytes_predicted = wi_most_resident_bytes();
    s->factor_seconds = wi_host_alloc(2 * s->repeats * sizeof *s->factor_seconds);
    if (!s->factor_seconds)
        wi_say_error("solve: no memory for the times of %zu repeats", s->repeats);
    s->solve_seconds = s->factor_seconds + s->repeats;
    return wi_agree_result(s->args, s->ctx, s->factor_seconds ? WI_EXIT_OK : WI_EXIT_FAILED);
}

/* A X = B. Every rank has all of b, and passes its rows of it. */
static weft_status solve(wi_solving *s, const weft_chol_solve_options *options, const wi_rhs *b,
                         wi_rhs *x) {
    return weft_chol_solve(s->ctx, s->plan, s->matrix, options, b->count, b->value + s->first, b->n,
                           x->value + s->first, x->n);
}

/* Then it gets those of the others. */
static wi_exit bring_together(wi_solving *s, wi_rhs *x) {
    const size_t bytes = x->n * sizeof *x->value;
    if (weft_ranks(s->ctx) == 1)
        return WI_EXIT_OK;
    double *const whole = wi_host_alloc(bytes);
    if (!whole)
        wi_say_error("solve: no memory for %zu bytes", bytes);
    wi_exit result = wi_agree_result(s->args, s->ctx, whole ? WI_EXIT_OK : WI_EXIT_FAILED);
    for (size_t j = 0; j < x->count && result == WI_EXIT_OK; j++) {
        double *const column = x->value + j * x->n;
        if (wi_sparse_gather_rows(s->ctx, s->ctx, s->matrix, column + s->first, whole) != WEFT_OK)
            result = wi_session_failed(s->ctx);
        else
            memcpy(column, whole, bytes);
    }
    wi_host_free(whole);
    return result;
}

/* Factors and solves as often as asked; the report is of the last time. */
static wi_exit compute(wi_solving *s, weft_chol_report *report) {
    const bool exact = wi_given(s->args, &wi_exact_solution_option);
    const weft_chol_solve_options options = {
        .size = sizeof options,
        .refine = wi_given(s->args, &wi_refine_option) && !exact ? MOST_REFINEMENTS : 0,
        .exact = exact};
    double condition;
    s->shown_at = wi_now();
    for (size_t k = 0; k < s->repeats; k++) {
        *report = (weft_chol_report){.size = sizeof *report};
        const weft_status status = weft_chol_factor(s->ctx, s->plan, s->matrix);
        if (status != WEFT_OK)
            return wi_factor_failed(s->args, status, s->ctx, s->plan);
        if (speaks(s) && (k == 0 || is_due(s)))
            wi_progress("solve ...");
        if (solve(s, &options, &s->b, &s->x) != WEFT_OK ||
            weft_chol_get_report(s->ctx, s->plan, report) != WEFT_OK)
            return wi_session_failed(s->ctx);
        s->factor_seconds[k] = report->factor_seconds;
        s->solve_seconds[k] = report->solve_seconds;
    }
    if (weft_chol_condition(s->ctx, s->plan, s->matrix, &condition) != WEFT_OK)
        return wi_session_failed(s->ctx);
    wi_exit result = bring_together(s, &s->x);
    if (result == WI_EXIT_OK && !wi_given(s->args, &wi_rhs_option)) {
        if (solve(s, &options, &s->rounding, &s->rounding) != WEFT_OK)
            return wi_session_failed(s->ctx);
        result = bring_together(s, &s->rounding);
    }
    if (result != WI_EXIT_OK)
        return result;
    report->condition_estimate = condition;
    report->factor_seconds = wi_median(s->factor_seconds, s->repeats);
    report->solve_seconds = wi_median(s->solve_seconds, s->repeats);
    if (speaks(s))
        wi_progress_end();
    return WI_EXIT_OK;
}

/* Says so if the factor of an indefinite matrix, with pivots that were replaced, has not led to x.
 */
static bool is_solved(const weft_chol_report *report) {
    if (report->stalled == 0 || report->backward_error <= 0x1p-44)
        return true;
    wi_say_error("solve: of %zu right-hand side%s the best x that was found has a backward error "
                 "of %.2g: the matrix is singular, or nearly so",
                 report->stalled, wi_plural(report->stalled), report->backward_error);
    return false;
}

static wi_exit run(wi_solving *s) {
    weft_chol_report report = {.size = sizeof report};
    wi_exit result = wi_agree_result(s->args, s->ctx, wi_load_matrix(s->args, s->ctx, &s->matrix));
    if (result == WI_EXIT_OK)
        result = prepare(s);
    if (result == WI_EXIT_OK)
        result = compute(s, &report);
    if (result == WI_EXIT_OK && wi_given(s->args, &wi_output_option)) {
        const wi_npy array = wi_rhs_as_array(&s->x);
        result = wi_agree_result(
            s->args, s->ctx, speaks(s) ? wi_save(s->args, &wi_output_option, &array) : WI_EXIT_OK);
    }
    if (result != WI_EXIT_OK || !speaks(s))
        return result;
    if (wi_given(s->args, &wi_json_option))
        wi_solve_print_json(s, &report);
    else
        wi_solve_print_report(s, &report);
    return is_solved(&report) ? WI_EXIT_OK : WI_EXIT_FAILED;
}

/* Refuses options that are about matrices of the other kind. */
static wi_exit check_storage(const wi_arguments *args, weft_precision precision, bool dense) {
    static const wi_option *const of_sparse[] = {&wi_kind_option,
                                                 &wi_ordering_option,
                                                 &wi_half_option,
                                                 &wi_symmetry_tolerance_option,
                                                 &wi_factorizations_option,
                                                 &repeat_option,
                                                 NULL};
    static const wi_option *const of_dense[] = {&wi_spd_option, NULL};
    for (const wi_option *const *at = dense ? of_sparse : of_dense; *at; at++)
        if (wi_given(args, *at))
            return wi_usage(args->command, "option --%s: %s is a %s; leave it out", (*at)->name,
                            wi_matrix_name(args),
                            dense ? "dense matrix, and the option is about sparse ones"
                                  : "sparse matrix, and the option is about dense ones (.npy)");
    if (!dense && precision > WEFT_PRECISION_MIXED)
        return wi_usage(args->command,
                        "option --precision: %s is a sparse matrix, of which factors are full or "
                        "mixed",
                        wi_matrix_name(args));
    return WI_EXIT_OK;
}

static bool wants_standard_input(const wi_arguments *args) {
    const char *const rhs = wi_value(args, &wi_rhs_option);
    return wi_is_standard(args->operand[0]) || (rhs && wi_is_standard(rhs));
}

static wi_exit execute(const wi_arguments *args) {
    wi_solving s = {.args = args};
    bool dense = false;
    wi_exit result = check_options(&s);
    if (result == WI_EXIT_OK)
        result = wi_is_dense(args, &dense);
    if (result == WI_EXIT_OK)
        result = check_storage(args, s.precision, dense);
    if (result == WI_EXIT_OK && dense)
        return wi_solve_dense(args);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "sparse", &s.ctx);
    if (result == WI_EXIT_OK && weft_ranks(s.ctx) > 1 && wants_standard_input(args)) {
        if (speaks(&s))
            wi_say_error("solve: ranks cannot share standard input; name a file that all can read");
        result = WI_EXIT_FAILED;
    }
    if (result == WI_EXIT_OK)
        result = run(&s);
    wi_host_free(s.factor_seconds);
    wi_rhs_free(&s.rounding);
    wi_rhs_free(&s.x);
    wi_rhs_free(&s.b);
    weft_chol_destroy(s.plan);
    weft_sparse_destroy(s.matrix);
    weft_close(s.ctx);
    return result;
}

static const wi_option *const options[] = {&wi_rhs_option,
                                           &wi_output_option,
                                           &wi_kind_option,
                                           &wi_ordering_option,
                                           &wi_factorizations_option,
                                           &wi_half_option,
                                           &wi_symmetry_tolerance_option,
                                           &wi_variant_option,
                                           &wi_refine_option,
                                           &repeat_option,
                                           &wi_spd_option,
                                           &wi_precision_option,
                                           &wi_exact_solution_option,
                                           &wi_place_option,
                                           &wi_json_option,
                                           &wi_help_option,
                                           NULL};

const wi_command wi_solve_command = {
    .name = "solve",
    .operand_text = "A(.mtx|.npy|.csv|.txt)",
    .summary = "solve a system: sparse symmetric, or dense",
    .details =
        "Solves A X = B for one or many right-hand sides, and reports times, memory, and "
        "how accurate X is. Without --rhs B is A times a column of ones. A dense matrix, "
        ".npy of f64 or f32 in either order, or .csv, is solved by elimination with row pivoting "
        "or, with --spd, by Cholesky factorization, and always refined; --precision mixed "
        "factors f64 in f32, sparse matrices too; --exact refines with exact residuals, those of "
        "sparse matrices "
        "too, so that X is the exact solution, rounded; --variant takes direct or mixed there. On "
        "place gpus large dense "
        "matrices are factored by all GPUs; on place mpi all matrices by all ranks, each of "
        "which reads the files. A sparse matrix, .mtx, "
        "is symmetric positive definite, and the report says ordering and fill; --kind "
        "quasidefinite is for [H B'; B -C] with H and C positive definite, --kind indefinite for "
        "any symmetric matrix, and the report then says how many eigenvalues are above and "
        "below 0. Of a matrix "
        "that is given as positive definite in .npy the lower triangle is read. One "
        "that is singular or not positive "
        "definite is refused with the column that shows it, an indefinite one if no x was found. "
        "If a sparse file gives both "
        "halves, entries a[i][j] and a[j][i] that differ by no more than --symmetry-tolerance, "
        "relative to the larger of their size and of sqrt(a[i][i] a[j][j]), become their "
        "mean, and the largest difference is reported; --half takes one half as it is. A "
        "file name of - is standard input.",
    .examples = {{"weft solve A.mtx", "how well this solver does on this matrix"},
                 {"weft solve A.mtx -b b.npy -o x.npy --refine", "as accurate as it gets"},
                 {"weft solve A.mtx --kind indefinite", "with eigenvalues above and below 0"},
                 {"weft solve A.npy -b b.npy -o x.npy --exact", "to the last bit; A.mtx likewise"},
                 {"weft solve A.mtx --ordering dissect --repeat 5 --json", "for programs"}},
    .options = options,
    .ladder = "sparse",
    .suffixes = "mtx npy csv txt",
    .least_operands = 1,
    .most_operands = 1,
    .over_ranks = true,
    .run = execute,
};
