/* SPDX-License-Identifier: Apache-2.0 */
/* `weft solve` of a matrix in a .npy file. */
#include "cli/solve_dense.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/matrix.h"
#include "cli/ranks.h"
#include "cli/rhs.h"
#include "cli/table_file.h"
#include "cli/text.h"

static const char *const precisions[] = {"auto", "full", "mixed", "tf32", "bf16", "f16"};

enum {
    PRECISIONS = sizeof precisions / sizeof *precisions
};

static void list_precisions(const wi_command *command, wi_words *words) {
    (void)command;
    for (int k = 0; k < PRECISIONS; k++)
        wi_words_add(words, precisions[k]);
}

const wi_option wi_spd_option = {.name = "spd", .help = "A.npy is symmetric positive definite"};
const wi_option wi_precision_option = {
    .name = "precision",
    .value = "HOW",
    .help = "of the factors: auto, full or mixed; of A.npy's also tf32, bf16 or f16; default auto",
    .list = list_precisions};

const wi_option wi_exact_solution_option = {
    .name = "exact", .help = "refine x with exact residuals, to its last bit"};

/* A X = B as the files have it. X takes the place of B. */
typedef struct dense {
    const wi_arguments *args;
    weft_context *ctx;
    wi_npy a, b;
    size_t n, rhs;
    weft_solve_options options;
    weft_report report;
} dense_solving;

enum {
    MATRIX_MARKET_FIRST = '%' /* byte of such a file */
};

/* Of a table of text the numbers are f64; else those of the file. */
static const weft_type *type_of_file(const char *path) {
    static const weft_type f64 = WEFT_F64;
    return wi_is_table_name(path) ? &f64 : NULL;
}

/* Of a pipe with a name, which can be read but once, the name has to tell. */
wi_exit wi_is_dense(const wi_arguments *args, bool *dense) {
    const char *const path = args->operand[0];
    struct stat facts;
    FILE *file;
    *dense = wi_ends_in(path, ".npy") || wi_is_table_name(path);
    if (!wi_is_standard(path) && stat(path, &facts) == 0 && !S_ISREG(facts.st_mode))
        return WI_EXIT_OK;
    const wi_exit result =
        wi_open_input(args, path, "Matrix Market, .npy, .csv or .txt file", &file);
    if (result != WI_EXIT_OK)
        return result;
    const int first = getc(file);
    if (first != EOF)
        ungetc(first, file);
    *dense = first == WI_NPY_FIRST || (wi_is_table_name(path) && first != MATRIX_MARKET_FIRST);
    wi_close_input(file);
    return WI_EXIT_OK;
}

wi_exit wi_check_precision(const wi_arguments *args, weft_precision *precision) {
    const char *const asked = wi_value(args, &wi_precision_option);
    *precision = WEFT_PRECISION_AUTO;
    for (int k = 0; asked && k < PRECISIONS; k++) {
        if (strcmp(asked, precisions[k]) == 0) {
            *precision = (weft_precision)k;
            return WI_EXIT_OK;
        }
    }
    return asked ? wi_usage_word(args->command, "precision", asked, list_precisions) : WI_EXIT_OK;
}

static wi_exit read_options(dense_solving *d) {
    d->options = (weft_solve_options){.size = sizeof d->options,
                                      .exact = wi_given(d->args, &wi_exact_solution_option)};
    return wi_check_precision(d->args, &d->options.precision);
}

/* ---- files ---- */

static wi_exit load_matrix(dense_solving *d) {
    const wi_npy_layout *const layout = &d->a.layout;
    const char *const name = wi_matrix_name(d->args);
    const wi_exit result =
        wi_load_any(d->args, d->args->operand[0], type_of_file(d->args->operand[0]), &d->a);
    if (result != WI_EXIT_OK)
        return result;
    if (layout->dims != 2 || layout->shape[0] != layout->shape[1])
        wi_say_error("solve: %s is no square matrix but has %zu dimension%s%s; give one of shape "
                     "(n, n)",
                     name, layout->dims, wi_plural(layout->dims),
                     layout->dims == 2 ? " of different extents" : "");
    else if (layout->type != WEFT_F64 && layout->type != WEFT_F32)
        wi_say_error("solve: %s is of %s; matrices are of f64 or f32", name,
                     weft_type_name(layout->type));
    else {
        d->n = layout->shape[0];
        return WI_EXIT_OK;
    }
    return WI_EXIT_FAILED;
}

static wi_exit load_right_sides(dense_solving *d) {
    const char *const path = wi_value(d->args, &wi_rhs_option);
    const char *const name = wi_input_name(path);
    const wi_npy_layout *const layout = &d->b.layout;
    const wi_exit result = wi_load_any(d->args, path, type_of_file(path), &d->b);
    if (result != WI_EXIT_OK)
        return result;
    if (layout->dims < 1 || layout->dims > 2)
        wi_say_error("solve: %s has %zu dimensions; a right-hand side is one column, or a matrix "
                     "of columns",
                     name, layout->dims);
    else if (layout->shape[0] != d->n)
        wi_say_error("solve: %s has %zu row%s, but the matrix %zu; a right-hand side has one "
                     "number for each unknown",
                     name, layout->shape[0], wi_plural(layout->shape[0]), d->n);
    else if (layout->type != d->a.layout.type)
        wi_say_error("solve: %s is of %s, but %s of %s; give two files of one type", name,
                     weft_type_name(layout->type), wi_matrix_name(d->args),
                     weft_type_name(d->a.layout.type));
    else {
        d->rhs = layout->dims == 2 ? layout->shape[1] : 1;
        return WI_EXIT_OK;
    }
    return WI_EXIT_FAILED;
}

static void put_element(weft_type type, void *p, size_t at, double x) {
    if (type == WEFT_F64)
        ((double *)p)[at] = x;
    else
        ((float *)p)[at] = (float)x;
}

/* Element (i, j) of the matrix that is solved: with --spd, of the lower triangle. */
static double element(const dense_solving *d, size_t i, size_t j) {
    const bool mirrored = wi_given(d->args, &wi_spd_option) && j > i;
    const size_t row = mirrored ? j : i, column = mirrored ? i : j;
    const size_t at = d->a.layout.fortran_order ? row + column * d->n : row * d->n + column;
    return wi_element_value(d->a.layout.type,
                            (const char *)d->a.data + at * weft_type_size(d->a.layout.type));
}

/* A times a column of ones. */
static wi_exit make_right_side(dense_solving *d) {
    const weft_type type = d->a.layout.type;
    d->rhs = 1;
    d->b.layout = (wi_npy_layout){.type = type, .dims = 1, .shape = {d->n}, .count = d->n};
    d->b.data = wi_host_alloc(d->n * weft_type_size(type));
    if (!d->b.data) {
        wi_say_error("solve: no memory for a right-hand side of %zu numbers", d->n);
        return WI_EXIT_FAILED;
    }
    for (size_t i = 0; i < d->n; i++) {
        double sum = 0;
        for (size_t j = 0; j < d->n; j++)
            sum += element(d, i, j);
        put_element(type, d->b.data, i, sum);
    }
    return WI_EXIT_OK;
}

/* ---- solving ---- */

/* The flags are those of B. In C order what is stored in Fortran order is the transpose. Over ranks
 * each passes an equal part of the columns of A as it is stored, and rank 0 all right-hand sides.
 */
static wi_exit compute(dense_solving *d) {
    const size_t rank = (size_t)weft_rank(d->ctx), ranks = (size_t)weft_ranks(d->ctx);
    const size_t first = d->n * rank / ranks, columns = d->n * (rank + 1) / ranks - first;
    const bool by_rows = !d->b.layout.fortran_order && d->b.layout.dims == 2;
    const bool turned = d->a.layout.fortran_order == by_rows;
    const bool spd = wi_given(d->args, &wi_spd_option);
    const unsigned other = spd ? WEFT_UPPER_TRIANGLE : WEFT_TRANSPOSE_A;
    const unsigned how = (by_rows ? WEFT_ROW_MAJOR : 0) | (turned ? other : 0);
    const size_t ldb = by_rows ? d->rhs : d->n;
    d->report = (weft_report){.size = sizeof d->report};
    const char *const a =
        (const char *)d->a.data + first * (by_rows ? 1 : d->n) * weft_type_size(d->a.layout.type);
    const weft_status status = (spd ? weft_solve_spd : weft_solve)(
        d->ctx, how, d->a.layout.type, columns, rank == 0 ? d->rhs : 0, a, d->n, d->b.data, ldb,
        d->b.data, ldb, &d->options, &d->report);
    return status == WEFT_OK ? WI_EXIT_OK : wi_session_failed(d->ctx);
}

/* ---- the report ---- */

static void print_json(const dense_solving *d) {
    const weft_report *const r = &d->report;
    wi_json json;
    wi_json_open(&json);
    wi_json_string(&json, "matrix", d->args->operand[0]);
    wi_json_string(&json, "place", weft_place(d->ctx));
    if (weft_ranks(d->ctx) > 1)
        wi_json_ranks(&json, d->ctx);
    else
        wi_json_count(&json, "ranks", r->ranks);
    wi_json_string(&json, "method", r->method);
    wi_json_string(&json, "variant", r->variant ? r->variant : "none");
    wi_json_string(&json, "type", weft_type_name(d->a.layout.type));
    wi_json_string(&json, "factor_type", weft_type_name(r->factor_type));
    wi_json_count(&json, "fell_back", (size_t)r->fell_back);
    wi_json_count(&json, "streamed", (size_t)r->streamed);
    wi_json_count(&json, "n", r->n);
    wi_json_count(&json, "right_hand_sides", r->right_hand_sides);
    wi_json_number(&json, "backward_error", r->backward_error);
    wi_json_number(&json, "normwise_error", r->normwise_error);
    wi_json_number(&json, "forward_bound", r->forward_bound);
    wi_json_number(&json, "forward_estimate", r->forward_estimate);
    wi_json_number(&json, "condition_estimate", r->condition_estimate);
    wi_json_number(&json, "growth", r->growth);
    wi_json_element(&json, "log_abs_det", WEFT_F64, &r->log_abs_det);
    wi_json_element(&json, "sign_det", WEFT_I32, &r->sign_det);
    wi_json_count(&json, "refinements", r->refinements);
    wi_json_count(&json, "iterations", r->iterations);
    wi_json_count(&json, "stalled", r->stalled);
    wi_json_count(&json, "equilibrated", (size_t)r->equilibrated);
    wi_json_element(&json, "row_power_least", WEFT_I32, &r->row_power_least);
    wi_json_element(&json, "row_power_most", WEFT_I32, &r->row_power_most);
    wi_json_element(&json, "column_power_least", WEFT_I32, &r->column_power_least);
    wi_json_element(&json, "column_power_most", WEFT_I32, &r->column_power_most);
    wi_json_count(&json, "exact", (size_t)r->exact);
    wi_json_count(&json, "bytes", r->bytes);
    wi_json_number(&json, "factor_seconds", r->factor_seconds);
    wi_json_number(&json, "solve_seconds", r->solve_seconds);
    wi_json_close(&json);
}

static void print_condition(FILE *to, const weft_report *r) {
    char condition[96] = "more than a double can hold";
    if (isfinite(r->condition_estimate))
        snprintf(condition, sizeof condition, "about %.2g%s", r->condition_estimate,
                 isfinite(r->forward_bound) ? "" : ", singular as far as its type can tell");
    wi_print_line(to, WI_BEHIND_LABEL, "condition %s; growth %.3g; det A = %s exp(%.9g)", condition,
                  r->growth, r->sign_det < 0 ? "-" : "+", r->log_abs_det);
}

static void print_report(const dense_solving *d) {
    FILE *const to = wi_value(d->args, &wi_output_option) ? stderr : stdout;
    const weft_report *const r = &d->report;
    char a[WI_FIELD_BYTES], bound[48] = "no bound can be told", together[48] = "";
    if (r->ranks > 1)
        snprintf(together, sizeof together, ", %zu %s", r->ranks,
                 weft_ranks(d->ctx) > 1 ? "ranks" : "GPUs");
    wi_print_line(to, WI_BEHIND_LABEL, "%s%s%s: n = %zu, %s", wi_style_on(to, WI_BOLD),
                  wi_matrix_name(d->args), wi_style_on(to, WI_PLAIN), r->n,
                  weft_type_name(d->a.layout.type));
    if (r->equilibrated)
        wi_print_line(to, WI_BEHIND_LABEL,
                      "scaled    rows by 2^%d to 2^%d, columns by 2^%d to 2^%d", r->row_power_least,
                      r->row_power_most, r->column_power_least, r->column_power_most);
    wi_print_line(to, WI_BEHIND_LABEL, "factor    %s, in %s%s, by %s on %s%s",
                  wi_format_seconds(r->factor_seconds, a), weft_type_name(r->factor_type),
                  r->fell_back ? " because fewer digits were not enough" : "",
                  r->variant ? r->variant : "none", weft_place(d->ctx), together);
    if (r->streamed)
        wi_print_line(to, WI_BEHIND_LABEL, "streamed  the matrix%s stayed in host memory",
                      r->streamed > 1 ? " and its factors" : "");
    wi_print_line(to, WI_BEHIND_LABEL,
                  "solve     %s, %zu right-hand side%s, %zu step%s of refinement%s%s",
                  wi_format_seconds(r->solve_seconds, a), r->right_hand_sides,
                  wi_plural(r->right_hand_sides), r->refinements, wi_plural(r->refinements),
                  r->exact ? " with exact residuals" : "", r->stalled > 0 ? ", which stalled" : "");
    if (isfinite(r->forward_bound))
        snprintf(bound, sizeof bound, "at most %.2g", r->forward_bound);
    wi_print_line(to, WI_BEHIND_LABEL,
                  "error     backward %.2g by components, %.2g normwise; forward about %.2g, %s",
                  r->backward_error, r->normwise_error, r->forward_estimate, bound);
    print_condition(to, r);
}

/* Ranks read the whole files, each for itself. */
static wi_exit load(dense_solving *d) {
    const char *const rhs = wi_value(d->args, &wi_rhs_option);
    wi_exit result = WI_EXIT_OK;
    if (weft_ranks(d->ctx) > 1 &&
        (wi_is_standard(d->args->operand[0]) || (rhs && wi_is_standard(rhs)))) {
        wi_say_error("solve: ranks cannot share standard input; name a file that all can read");
        result = WI_EXIT_FAILED;
    }
    if (result == WI_EXIT_OK)
        result = load_matrix(d);
    if (result == WI_EXIT_OK)
        result = rhs ? load_right_sides(d) : make_right_side(d);
    return wi_agree_result(d->args, d->ctx, result);
}

static wi_exit run(dense_solving *d) {
    wi_exit result = load(d);
    if (result == WI_EXIT_OK)
        result = compute(d);
    if (result != WI_EXIT_OK || weft_rank(d->ctx) > 0)
        return result;
    if (wi_given(d->args, &wi_output_option))
        result = wi_save(d->args, &wi_output_option, &d->b);
    if (result != WI_EXIT_OK)
        return result;
    if (wi_given(d->args, &wi_json_option))
        print_json(d);
    else
        print_report(d);
    return WI_EXIT_OK;
}

wi_exit wi_solve_dense(const wi_arguments *args) {
    dense_solving d = {.args = args};
    wi_exit result = read_options(&d);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "solve", &d.ctx);
    if (result == WI_EXIT_OK)
        result = run(&d);
    wi_npy_free(&d.a);
    wi_npy_free(&d.b);
    weft_close(d.ctx);
    return result;
}
