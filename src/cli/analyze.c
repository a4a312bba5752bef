/* SPDX-License-Identifier: Apache-2.0 */
/* `weft analyze`: what a sparse factorization will cost, without doing it. */
#include <errno.h>
#include <string.h>

#include "cli/matrix.h"
#include "cli/memory.h"
#include "cli/plot.h"
#include "cli/text.h"

static const wi_option plot_option = {.name = "plot",
                                      .value = "FILE",
                                      .help = "draw the patterns of A and L, and the tree, as SVG",
                                      .file = WI_FILE_WRITTEN};

static void print_json(const weft_sparse *matrix, const weft_chol_report *report,
                       size_t predicted) {
    wi_json json;
    wi_json_open(&json);
    wi_json_count(&json, "n", report->n);
    wi_json_count(&json, "nnz_a", report->nnz_a);
    wi_json_number(&json, "asymmetry", weft_sparse_asymmetry(matrix));
    wi_json_count(&json, "nnz_l", report->nnz_l);
    wi_json_count(&json, "nnz_l_stored", report->nnz_l_stored);
    wi_json_element(&json, "flops", WEFT_F64, &report->flops);
    wi_json_string(&json, "ordering", report->ordering);
    wi_json_count(&json, "supernodes", report->supernodes);
    wi_json_count(&json, "tree_height", report->tree_height);
    wi_json_count(&json, "largest_front", report->largest_front);
    wi_json_count(&json, "factor_bytes", report->factor_bytes);
    wi_json_count(&json, "work_bytes", report->work_bytes);
    wi_json_count(&json, "analysis_bytes", report->analysis_bytes);
    wi_json_count(&json, "bytes_predicted", predicted);
    wi_json_number(&json, "order_seconds", report->order_seconds);
    wi_json_number(&json, "analyze_seconds", report->analyze_seconds);
    wi_json_close(&json);
}

static double over(size_t a, size_t b) {
    return b ? (double)a / (double)b : 0;
}

static void print_report(FILE *to, const char *name, const weft_sparse *matrix,
                         const weft_chol_report *report, size_t predicted) {
    char a[WI_FIELD_BYTES], b[WI_FIELD_BYTES], c[WI_FIELD_BYTES], d[WI_FIELD_BYTES];
    wi_print_line(to, WI_BEHIND_LABEL, "%s%s%s: n = %zu, %zu %s on and below the diagonal",
                  wi_style_on(to, WI_BOLD), name, wi_style_on(to, WI_PLAIN), report->n,
                  report->nnz_a, report->nnz_a == 1 ? "entry" : "entries");
    wi_print_asymmetry(to, matrix);
    wi_print_line(to, WI_BEHIND_LABEL, "ordering  %s, in %s", report->ordering,
                  wi_format_seconds(report->order_seconds, a));
    wi_print_line(to, WI_BEHIND_LABEL, "factor    %zu entries, %.1f x A; %.3f x that stored",
                  report->nnz_l, over(report->nnz_l, report->nnz_a),
                  over(report->nnz_l_stored, report->nnz_l));
    wi_print_line(to, WI_BEHIND_LABEL, "work      %.3g flops", report->flops);
    wi_print_line(to, WI_BEHIND_LABEL,
                  "tree      %zu supernode%s, %zu column%s high, largest front %zu row%s",
                  report->supernodes, wi_plural(report->supernodes), report->tree_height,
                  wi_plural(report->tree_height), report->largest_front,
                  wi_plural(report->largest_front));
    wi_print_line(to, WI_BEHIND_LABEL,
                  "memory    %s predicted for weft solve; %s factor, %s workspace, %s plan",
                  wi_format_bytes((double)predicted, d),
                  wi_format_bytes((double)report->factor_bytes, a),
                  wi_format_bytes((double)report->work_bytes, b),
                  wi_format_bytes((double)report->analysis_bytes, c));
    wi_print_line(to, WI_BEHIND_LABEL, "analysis  %s in all",
                  wi_format_seconds(report->analyze_seconds, a));
}

/* Writes the picture to the file that --plot names. */
static wi_exit draw(const wi_arguments *args, const weft_sparse *matrix, const weft_chol *plan) {
    wi_output output;
    const wi_exit result = wi_output_open(wi_value(args, &plot_option), &output);
    if (result != WI_EXIT_OK)
        return result;
    const bool written = wi_plot_analysis(output.file, wi_matrix_name(args), matrix, plan);
    if (!written)
        wi_say_error("analyze: %s: writing failed: %s", output.name, strerror(errno));
    return wi_output_end(&output, written);
}

static wi_exit show(weft_context *ctx, const wi_arguments *args, const weft_sparse *matrix,
                    const weft_chol *plan) {
    const char *const plot = wi_value(args, &plot_option);
    wi_exit result = WI_EXIT_OK;
    weft_chol_report report = {.size = sizeof report};
    if (weft_chol_get_report(ctx, plan, &report) != WEFT_OK)
        return wi_session_failed(ctx);
    /* solve also holds a right-hand side and its solution */
    const size_t predicted =
        wi_predicted_bytes(&report, wi_resident_bytes(), 2 * report.n * sizeof(double));
    if (plot)
        result = draw(args, matrix, plan);
    if (result != WI_EXIT_OK)
        return result;
    if (wi_given(args, &wi_json_option))
        print_json(matrix, &report, predicted);
    else
        print_report(plot && wi_is_standard(plot) ? stderr : stdout, wi_matrix_name(args), matrix,
                     &report, predicted);
    return WI_EXIT_OK;
}

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    weft_sparse *matrix = NULL;
    weft_chol *plan = NULL;
    weft_chol_options options = {.size = sizeof options,
                                 .ordering = wi_value(args, &wi_ordering_option)};
    wi_exit result = wi_check_ordering(args);
    if (result == WI_EXIT_OK)
        result = wi_check_factorizations(args, &options.factorizations);
    if (result == WI_EXIT_OK)
        result = wi_check_kind(args, &options.kind);
    if (wi_given(args, &plot_option) && wi_is_standard(wi_value(args, &plot_option)) &&
        wi_given(args, &wi_json_option))
        return wi_usage(args->command, "option --json: standard output takes the picture already; "
                                       "name a file with --plot");
    if (result == WI_EXIT_OK)
        result = wi_check_meaning(args);
    if (result == WI_EXIT_OK)
        result = wi_check_drawing(args, &plot_option);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "sparse", &ctx);
    if (result == WI_EXIT_OK)
        result = wi_load_matrix(args, ctx, &matrix);
    if (result == WI_EXIT_OK && weft_chol_analyze(ctx, matrix, &options, &plan) != WEFT_OK)
        result = wi_session_failed(ctx);
    if (result == WI_EXIT_OK)
        result = show(ctx, args, matrix, plan);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {&wi_kind_option,
                                           &wi_ordering_option,
                                           &wi_factorizations_option,
                                           &wi_half_option,
                                           &wi_symmetry_tolerance_option,
                                           &plot_option,
                                           &wi_json_option,
                                           &wi_help_option,
                                           NULL};

const wi_command wi_analyze_command = {
    .name = "analyze",
    .operand_text = "A.mtx",
    .summary = "show what factoring a sparse matrix will cost",
    .details =
        "Orders the columns of a symmetric matrix and analyzes its factor "
        "without computing it: fill, flops, the tree, and the memory it takes. best "
        "orders by minimum degree, and by nested dissection too where that is likely "
        "to pay, in all of --factorizations. With --kind indefinite, columns with small diagonal "
        "entries are kept beside "
        "others, which adds fill. Halves of the matrix that differ are treated as weft solve does. "
        "A "
        "file name of - is standard input.",
    .examples = {{"weft analyze A.mtx", "the plan that solving would follow"},
                 {"weft analyze A.mtx --ordering amd --json", "for programs"},
                 {"weft analyze A.mtx --kind indefinite", "for weft solve --kind indefinite"},
                 {"weft analyze A.mtx --plot plan.svg", "with a picture"}},
    .options = options,
    .suffixes = "mtx",
    .least_operands = 1,
    .most_operands = 1,
    .run = execute,
};
