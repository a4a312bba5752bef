/* SPDX-License-Identifier: Apache-2.0 */
/* `weft solve`: solves a system, and reports time, memory and accuracy. Here, of sparse symmetric
 * matrices; solve_dense.c has dense ones. */
#include <math.h>
#include <string.h>

#include "cli/matrix.h"
#include "cli/memory.h"
#include "cli/ranks.h"
#include "cli/rhs.h"
#include "cli/solve_dense.h"
#include "cli/text.h"
#include "climb/meter.h"
#include "sparse/ranks.h"

static const wi_option refine_option = {
    .name = "refine",
    .letter = 'r',
    .help = "refine a sparse x with residuals in twice the precision"};
static const wi_option repeat_option = {.name = "repeat",
                                        .value = "COUNT",
                                        .help =
                                            "factor and solve this many times; times are medians"};

enum {
    MOST_REFINEMENTS = 10
};

static const double progress_seconds = 0.1; /* between two lines of progress */

/* One run of the command. */
typedef struct solving {
    const wi_arguments *args;
    weft_context *ctx;
    weft_sparse *matrix;
    weft_chol *plan;
    weft_chol_kind kind;
    weft_precision precision;
    double factorizations; /* that there will be */
    wi_rhs b, x;
    wi_rhs rounding; /* for b = A 1: first the rounding error of b, then A \ that error */
    size_t repeats;
    double *factor_seconds, *solve_seconds; /* of each repeat */
    size_t bytes_predicted;                 /* of the whole process, at its largest */
    double shown_at;                        /* when progress was shown last */
    size_t first;                           /* over ranks, the first of this rank's rows */
} solving;

/* Is it time for another line of progress? Writing one to a terminal can take longer than a front.
 */
static bool is_due(solving *s) {
    const double now = wi_now();
    const bool due = now - s->shown_at >= progress_seconds;
    if (due)
        s->shown_at = now;
    return due;
}

/* Of several ranks the first one speaks. */
static bool speaks(const solving *s) {
    return weft_rank(s->ctx) == 0;
}

static int show_progress(void *user, double done) {
    if (speaks(user) && is_due(user))
        wi_progress("factor: %.0f %%", 100 * done);
    return 0;
}

static wi_exit check_options(solving *s) {
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
    if (result == WI_EXIT_OK && s->precision > WEFT_PRECISION_MIXED)
        return wi_usage(args->command,
                        "option --precision: %s is a sparse matrix, of which factors are full or "
                        "mixed",
                        wi_matrix_name(args));
    if (result == WI_EXIT_OK)
        result = wi_check_factorizations(args, &s->factorizations);
    return result == WI_EXIT_OK ? wi_check_ordering(args) : result;
}

static wi_exit prepare(solving *s) {
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
static weft_status solve(solving *s, const weft_chol_solve_options *options, const wi_rhs *b,
                         wi_rhs *x) {
    return weft_chol_solve(s->ctx, s->plan, s->matrix, options, b->count, b->value + s->first, b->n,
                           x->value + s->first, x->n);
}

/* Then it gets those of the others. */
static wi_exit bring_together(solving *s, wi_rhs *x) {
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
static wi_exit compute(solving *s, weft_chol_report *report) {
    const bool exact = wi_given(s->args, &wi_exact_solution_option);
    const weft_chol_solve_options options = {
        .size = sizeof options,
        .refine = wi_given(s->args, &refine_option) && !exact ? MOST_REFINEMENTS : 0,
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

/* The largest error of x relative to the largest |x|, if no right-hand side was given: then b is A
 * 1 but for rounding, so the exact solution is 1 plus the effect of that rounding. */
static double forward_error(const solving *s) {
    double most = 0, size = 0;
    for (size_t i = 0; i < s->x.n; i++) {
        most = fmax(most, fabs(s->x.value[i] - 1 - s->rounding.value[i]));
        size = fmax(size, fabs(s->x.value[i]));
    }
    return most > 0 ? most / size : 0;
}

static double gflops(const weft_chol_report *report) {
    return report->factor_seconds > 0 ? report->flops / report->factor_seconds * 1e-9 : 0;
}

static void print_json(const solving *s, const weft_chol_report *report) {
    wi_json json;
    wi_json_open(&json);
    wi_json_string(&json, "matrix", s->args->operand[0]);
    wi_json_string(&json, "place", weft_place(s->ctx));
    wi_json_string(&json, "variant", weft_used(s->ctx, "sparse"));
    wi_json_ranks(&json, s->ctx);
    wi_json_count(&json, "n", report->n);
    wi_json_count(&json, "nnz_a", report->nnz_a);
    wi_json_number(&json, "asymmetry", weft_sparse_asymmetry(s->matrix));
    wi_json_count(&json, "nnz_l", report->nnz_l);
    wi_json_element(&json, "flops", WEFT_F64, &report->flops);
    wi_json_string(&json, "ordering", report->ordering);
    wi_json_string(&json, "kind", wi_kind_name(s->kind));
    wi_json_count(&json, "supernodes", report->supernodes);
    wi_json_count(&json, "tree_height", report->tree_height);
    wi_json_count(&json, "largest_front", report->largest_front);
    wi_json_count(&json, "bytes_predicted", s->bytes_predicted);
    wi_json_count(&json, "bytes_peak", wi_most_resident_bytes());
    wi_json_count(&json, "plan_bytes", report->bytes_needed);
    wi_json_count(&json, "host_factor_bytes", report->host_factor_bytes);
    wi_json_number(&json, "analyze_seconds", report->analyze_seconds);
    wi_json_number(&json, "factor_seconds", report->factor_seconds);
    wi_json_number(&json, "solve_seconds", report->solve_seconds);
    wi_json_number(&json, "gflops", gflops(report));
    wi_json_count(&json, "right_hand_sides", s->b.count);
    wi_json_count(&json, "refinements", report->refinements);
    wi_json_count(&json, "stalled", report->stalled);
    wi_json_count(&json, "krylov_steps", report->krylov_steps);
    wi_json_string(&json, "factor_type", weft_type_name(report->factor_type));
    wi_json_count(&json, "fell_back", (size_t)report->fell_back);
    wi_json_count(&json, "positive", report->positive);
    wi_json_count(&json, "negative", report->negative);
    wi_json_count(&json, "perturbed", report->perturbed);
    wi_json_count(&json, "pairs", report->pairs);
    wi_json_number(&json, "backward_error", report->backward_error);
    wi_json_number(&json, "normwise_error", report->normwise_error);
    if (!wi_given(s->args, &wi_rhs_option))
        wi_json_number(&json, "forward_error", forward_error(s));
    if (wi_given(s->args, &refine_option))
        wi_json_number(&json, "forward_estimate", report->forward_estimate);
    wi_json_number(&json, "condition_estimate", report->condition_estimate);
    wi_json_element(&json, "logdet", WEFT_F64, &report->logdet);
    wi_json_close(&json);
}

/* How many pivots there were of each kind, and how the solution was improved. */
static void print_pivots(const solving *s, FILE *to, const weft_chol_report *report) {
    if (s->kind == WEFT_CHOL_DEFINITE)
        return;
    wi_print_line(to, WI_BEHIND_LABEL,
                  "pivots    %zu above 0, %zu below, %zu replaced; %zu pair%s of columns",
                  report->positive, report->negative, report->perturbed, report->pairs,
                  wi_plural(report->pairs));
}

static void print_report(const solving *s, const weft_chol_report *report) {
    FILE *const to = wi_value(s->args, &wi_output_option) ? stderr : stdout;
    char a[WI_FIELD_BYTES], b[WI_FIELD_BYTES];
    char krylov[48] = "", forward[96] = "", condition[96] = "more than a double can hold";
    wi_print_line(to, WI_BEHIND_LABEL, "%s%s%s: n = %zu, %zu %s on and below the diagonal",
                  wi_style_on(to, WI_BOLD), wi_matrix_name(s->args), wi_style_on(to, WI_PLAIN),
                  report->n, report->nnz_a, report->nnz_a == 1 ? "entry" : "entries");
    wi_print_asymmetry(to, s->matrix);
    wi_print_line(to, WI_BEHIND_LABEL, "ordering  %s, in %s", report->ordering,
                  wi_format_seconds(report->order_seconds, a));
    wi_print_line(to, WI_BEHIND_LABEL,
                  "fill      %zu entries of L, %.1f x A; %zu supernode%s, largest front %zu row%s",
                  report->nnz_l, report->nnz_a ? (double)report->nnz_l / (double)report->nnz_a : 0,
                  report->supernodes, wi_plural(report->supernodes), report->largest_front,
                  wi_plural(report->largest_front));
    wi_print_line(to, WI_BEHIND_LABEL, "memory    %s predicted, %s at most",
                  wi_format_bytes((double)s->bytes_predicted, a),
                  wi_format_bytes((double)wi_most_resident_bytes(), b));
    if (report->host_factor_bytes > 0)
        wi_print_line(to, WI_BEHIND_LABEL, "          %s of L in host memory: the GPU has no room",
                      wi_format_bytes((double)report->host_factor_bytes, a));
    wi_print_line(to, WI_BEHIND_LABEL, "analyze   %s",
                  wi_format_seconds(report->analyze_seconds, a));
    wi_print_line(to, WI_BEHIND_LABEL, "factor    %s, %.3g flops, %.3g GF/s, by %s on %s, in %s%s",
                  wi_format_seconds(report->factor_seconds, a), report->flops, gflops(report),
                  weft_used(s->ctx, "sparse"), weft_place(s->ctx),
                  weft_type_name(report->factor_type),
                  report->fell_back ? " because f32 was not enough" : "");
    print_pivots(s, to, report);
    if (report->krylov_steps > 0)
        snprintf(krylov, sizeof krylov, ", %zu of GMRES", report->krylov_steps);
    wi_print_line(to, WI_BEHIND_LABEL,
                  "solve     %s, %zu right-hand side%s, %zu step%s of refinement%s%s",
                  wi_format_seconds(report->solve_seconds, a), s->b.count, wi_plural(s->b.count),
                  report->refinements, wi_plural(report->refinements), krylov,
                  report->stalled > 0 ? ", which stalled" : "");
    if (!wi_given(s->args, &wi_rhs_option))
        snprintf(forward, sizeof forward, "; forward %.2g (b = A 1, so x is known)",
                 forward_error(s));
    else if (wi_given(s->args, &refine_option))
        snprintf(forward, sizeof forward, "; forward about %.2g", report->forward_estimate);
    wi_print_line(to, WI_BEHIND_LABEL, "error     backward %.2g by components, %.2g normwise%s",
                  report->backward_error, report->normwise_error, forward);
    if (isfinite(report->condition_estimate))
        snprintf(condition, sizeof condition, "about %.2g%s", report->condition_estimate,
                 report->condition_estimate >= 0x1p53 ? ", singular as far as doubles can tell"
                                                      : "");
    wi_print_line(to, WI_BEHIND_LABEL, "condition %s; log %sdet A%s = %.9g", condition,
                  s->kind == WEFT_CHOL_DEFINITE ? "" : "|",
                  s->kind == WEFT_CHOL_DEFINITE ? "" : "|", report->logdet);
}

static wi_exit run(solving *s) {
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
        print_json(s, &report);
    else
        print_report(s, &report);
    return WI_EXIT_OK;
}

/* Refuses options that are about matrices of the other kind. */
static wi_exit check_storage(const wi_arguments *args, bool dense) {
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
    return WI_EXIT_OK;
}

static bool wants_standard_input(const wi_arguments *args) {
    const char *const rhs = wi_value(args, &wi_rhs_option);
    return wi_is_standard(args->operand[0]) || (rhs && wi_is_standard(rhs));
}

static wi_exit execute(const wi_arguments *args) {
    solving s = {.args = args};
    bool dense = false;
    wi_exit result = check_options(&s);
    if (result == WI_EXIT_OK)
        result = wi_is_dense(args, &dense);
    if (result == WI_EXIT_OK)
        result = check_storage(args, dense);
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
                                           &refine_option,
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
    .operand_text = "A.mtx|A.npy",
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
        "definite is refused with the column that shows it. If a sparse file gives both "
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
