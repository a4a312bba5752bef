/* SPDX-License-Identifier: Apache-2.0 */
/* `weft precision`: how far each way to add up an array is from the exact sum. */
#include "cli/precision.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/session.h"
#include "cli/table.h"
#include "cli/text.h"
#include "weft/exact.h"
#include "weft/expr.h"

static const wi_option demo_option = {.name = "demo",
                                      .help = "arrays made to show what rounding does"};
static const wi_option plot_option = {.name = "plot",
                                      .value = "FILE.svg",
                                      .help = "write a picture of the digits that are right",
                                      .file = WI_FILE_WRITTEN};

enum {
    TYPES = 4,
    /* three loops in each type, double-double, and two calls of the library on two places */
    MOST_ROWS = TYPES * 3 + 1 + 2 * 2,
    MOST_ARRAYS = 4,
    DEMO_N = 1 << 16,
    SENTENCE_BYTES = 320
};

static const weft_type accumulators[TYPES] = {WEFT_F16, WEFT_BF16, WEFT_F32, WEFT_F64};

/* What the command has open, and has found. */
typedef struct task {
    weft_context *places[2]; /* the place, and the cpu unless it is one */
    wi_precision found[MOST_ARRAYS];
    wi_precision_row rows[MOST_ARRAYS][MOST_ROWS];
    size_t count;
} task;

/* |sum - exact| / |exact|, of which the difference is computed exactly. infinity if only the exact
 * sum is 0; NaN if the exact sum is not finite and `sum` is another number. */
static weft_status find_error(weft_context *ctx, const weft_exact *whole, double exact, double sum,
                              double *error) {
    weft_exact *difference;
    double off = 0;
    weft_status status = weft_exact_create(ctx, &difference);
    if (status == WEFT_OK)
        status = weft_exact_merge(ctx, difference, whole);
    if (status == WEFT_OK)
        status = weft_exact_add_value(ctx, difference, -sum);
    if (status == WEFT_OK)
        status = weft_exact_round(ctx, difference, WEFT_F64, &off);
    weft_exact_destroy(difference);
    *error = off == 0 ? 0 : exact == 0 ? (double)INFINITY : fabs(off / exact);
    if (!isfinite(exact))
        *error = sum == exact ? 0 : (double)NAN;
    return status;
}

/* ---- the ways ---- */

/* x in another type, in memory of the host. */
static weft_status round_elements(weft_context *ctx, const wi_precision *p, weft_type to,
                                  const void *x, void **rounded) {
    *rounded = wi_host_alloc(p->n * weft_type_size(to));
    if (p->n > 0 && !*rounded)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "precision: no memory for %zu elements of %s; pass a smaller array", p->n,
                       weft_type_name(to));
    return weft_convert(ctx, WEFT_X_WRAP, p->type, to, p->n, x, *rounded);
}

static void by_loop(wi_precision *p, wi_precision_row *rows, wi_method method, weft_type in,
                    weft_type type, const void *x) {
    const double begin = wi_now();
    const double sum = wi_method_sum(method, type, p->n, x);
    rows[p->count++] = (wi_precision_row){.method = wi_method_names[method],
                                          .place = "cpu:1",
                                          .in = in,
                                          .sum = sum,
                                          .seconds = wi_now() - begin};
}

/* Every element is rounded to the type of the accumulator before it is added. */
static weft_status by_loops(weft_context *ctx, wi_precision *p, wi_precision_row *rows,
                            const void *x) {
    void *rounded[TYPES] = {NULL};
    weft_status status = WEFT_OK;
    for (int t = 0; t < TYPES && status == WEFT_OK; t++)
        status = round_elements(ctx, p, accumulators[t], x, &rounded[t]);
    for (int m = 0; m < WI_DOUBLE_DOUBLE && status == WEFT_OK; m++) {
        for (int t = 0; t < TYPES; t++)
            by_loop(p, rows, (wi_method)m, accumulators[t], accumulators[t], rounded[t]);
    }
    if (status == WEFT_OK)
        by_loop(p, rows, WI_DOUBLE_DOUBLE, WEFT_F64, p->type, x);
    for (int t = 0; t < TYPES; t++)
        wi_host_free(rounded[t]);
    return status;
}

static double result_of(weft_type type, const void *result) {
    double wide;
    float narrow;
    memcpy(&wide, result, sizeof wide);
    memcpy(&narrow, result, sizeof narrow);
    return type == WEFT_F64 ? wide : (double)narrow;
}

/* The library's own sums on one place, the second of two calls being timed. */
static weft_status by_library(weft_context *ctx, wi_precision *p, wi_precision_row *rows,
                              const void *x) {
    weft_status status = WEFT_OK;
    for (int turn = 0; turn < 2 && status == WEFT_OK; turn++) {
        wi_precision_row row = {.method = turn ? "weft_sum" : "weft_sum_fast",
                                .place = weft_place(ctx),
                                .in = p->type == WEFT_F64 || turn ? WEFT_F64 : WEFT_F32};
        uint64_t result = 0;
        for (int call = 0; call < 2 && status == WEFT_OK; call++) {
            const double begin = wi_now();
            status = turn ? weft_exact_reduce(ctx, WEFT_SUM, p->type, p->n, x, WEFT_F64, &result)
                          : weft_reduce(ctx, WEFT_SUM, p->type, p->n, x, &result);
            row.seconds = wi_now() - begin;
        }
        row.sum = result_of(row.in, &result);
        rows[p->count++] = row;
    }
    return status;
}

static wi_exit compare(task *t, const char *name, weft_type type, size_t n, const void *x) {
    wi_precision *const p = &t->found[t->count];
    wi_precision_row *const rows = t->rows[t->count];
    weft_context *const ctx = t->places[0];
    weft_exact *whole = NULL;
    *p = (wi_precision){.name = name, .type = type, .n = n, .rows = rows};
    t->count++;
    weft_status status = by_loops(ctx, p, rows, x);
    for (int k = 0; k < 2 && t->places[k] && status == WEFT_OK; k++)
        status = by_library(t->places[k], p, rows, x);
    if (status == WEFT_OK)
        status = weft_exact_create(ctx, &whole);
    if (status == WEFT_OK)
        status = weft_exact_add(ctx, whole, type, n, x);
    if (status == WEFT_OK)
        status = weft_exact_round(ctx, whole, WEFT_F64, &p->exact);
    if (status == WEFT_OK)
        status = weft_exact_reduce(ctx, WEFT_NRM1, type, n, x, WEFT_F64, &p->magnitudes);
    p->condition = p->magnitudes > 0 ? p->magnitudes / fabs(p->exact) : (double)NAN;
    for (size_t k = 0; k < p->count && status == WEFT_OK; k++)
        status = find_error(ctx, whole, p->exact, rows[k].sum, &rows[k].error);
    weft_exact_destroy(whole);
    return status == WEFT_OK ? WI_EXIT_OK : wi_session_failed(ctx);
}

/* ---- what is printed ---- */

static void print_json(const wi_precision *p) {
    char sentence[SENTENCE_BYTES];
    wi_precision_explain(p, sentence, sizeof sentence);
    for (size_t k = 0; k < p->count; k++) {
        const wi_precision_row *const row = &p->rows[k];
        wi_json json;
        wi_json_open(&json);
        wi_json_string(&json, "op", "precision");
        wi_json_string(&json, "data", p->name);
        wi_json_string(&json, "type", weft_type_name(p->type));
        wi_json_count(&json, "n", p->n);
        wi_json_element(&json, "condition", WEFT_F64, &p->condition);
        wi_json_element(&json, "exact", WEFT_F64, &p->exact);
        wi_json_string(&json, "method", row->method);
        wi_json_string(&json, "accumulator", weft_type_name(row->in));
        wi_json_string(&json, "place", row->place);
        wi_json_element(&json, "result", WEFT_F64, &row->sum);
        wi_json_element(&json, "relative_error", WEFT_F64, &row->error);
        wi_json_number(&json, "seconds", row->seconds);
        wi_json_string(&json, "explanation", sentence);
        wi_json_close(&json);
    }
}

static void print_table(const wi_precision *p) {
    wi_column columns[] = {{"method", -13, 0, true}, {"in", -4, 0, true},   {"place", -7, 2, true},
                           {"result", 24, 1, true},  {"error", 9, 0, true}, {"time", 8, 3, true}};
    const size_t count = sizeof columns / sizeof *columns;
    char sentence[SENTENCE_BYTES], exact[WI_FIELD_BYTES];
    wi_precision_explain(p, sentence, sizeof sentence);
    wi_table_fit(columns, count);
    wi_print_line(stdout, 0, "%s: %zu of %s\nexact sum %s, condition number %.3g\n", p->name, p->n,
                  weft_type_name(p->type), wi_format_element(WEFT_F64, &p->exact, exact),
                  p->condition);
    wi_table_print(columns, count, NULL);
    putchar('\n');
    for (size_t k = 0; k < p->count; k++) {
        const wi_precision_row *const row = &p->rows[k];
        char sum[WI_FIELD_BYTES], error[WI_FIELD_BYTES], seconds[WI_FIELD_BYTES];
        snprintf(error, sizeof error, row->error == 0 ? "0" : "%.2g", row->error);
        const char *const cells[] = {row->method, weft_type_name(row->in),
                                     row->place,  wi_format_element(WEFT_F64, &row->sum, sum),
                                     error,       wi_format_seconds(row->seconds, seconds)};
        wi_table_print(columns, count, cells);
        putchar('\n');
    }
    putchar('\n');
    wi_print_wrapped(sentence, 0, 0);
}

static wi_exit draw(const wi_arguments *args, const task *t) {
    wi_output output;
    const wi_exit result = wi_output_open(wi_value(args, &plot_option), &output);
    if (result != WI_EXIT_OK)
        return result;
    const bool written = wi_plot_precision(output.file, t->found, t->count);
    if (!written)
        wi_say_error("precision: %s: %s", output.name, strerror(errno));
    return wi_output_end(&output, written);
}

static wi_exit show(const wi_arguments *args, const task *t) {
    for (size_t k = 0; k < t->count; k++) {
        if (wi_given(args, &wi_json_option)) {
            print_json(&t->found[k]);
        } else {
            fputs(k > 0 ? "\n" : "", stdout);
            print_table(&t->found[k]);
        }
    }
    return wi_given(args, &plot_option) ? draw(args, t) : WI_EXIT_OK;
}

/* ---- arrays ---- */

static double demo_element(int demo, size_t i) {
    const double k = (double)(i % 1000 + 1);
    if (demo == 0)
        return 1;
    if (demo == 1)
        return 0.1;
    if (demo == 2)
        return i % 2 ? 1 / k : i == 0 ? 1e16 : i == DEMO_N - 2 ? -1e16 : 0;
    return (i % 2 ? -1 : 1) * (1e8 / (double)(i / 2 + 1)) + (i % 97 == 0 ? 1e-3 : 0);
}

static wi_exit show_demo(task *t) {
    static const char *const names[MOST_ARRAYS] = {"ones", "tenths",
                                                   "one huge number, and its opposite much later",
                                                   "terms that cancel in pairs"};
    wi_exit result = WI_EXIT_OK;
    double *const x = wi_host_alloc(DEMO_N * sizeof *x);
    if (!x) {
        wi_say_error("precision: no memory for %d elements; free some", DEMO_N);
        return WI_EXIT_FAILED;
    }
    for (int demo = 0; demo < MOST_ARRAYS && result == WI_EXIT_OK; demo++) {
        for (size_t i = 0; i < DEMO_N; i++)
            x[i] = demo_element(demo, i);
        result = compare(t, names[demo], WEFT_F64, DEMO_N, x);
    }
    wi_host_free(x);
    return result;
}

static wi_exit show_file(const wi_arguments *args, task *t) {
    wi_npy array;
    const char *const path = args->operand[0];
    const char *const name = wi_input_name(path);
    wi_exit result = wi_load(args, path, &array);
    if (result != WI_EXIT_OK)
        return result;
    if (wi_type_is_float(array.layout.type)) {
        result = compare(t, name, array.layout.type, array.layout.count, array.data);
    } else {
        wi_say_error("precision: %s holds %s, whose sums are not rounded; pass an array of floats",
                     name, weft_type_name(array.layout.type));
        result = WI_EXIT_FAILED;
    }
    wi_npy_free(&array);
    return result;
}

static wi_exit open_places(const wi_arguments *args, task *t) {
    const wi_exit result = wi_session_open(args, NULL, &t->places[0]);
    if (result != WI_EXIT_OK || t->places[0]->kind == WI_CPU)
        return result;
    if (weft_open(&t->places[1], "cpu") == WEFT_OK)
        return WI_EXIT_OK;
    return wi_session_failed(NULL);
}

static wi_exit execute(const wi_arguments *args) {
    const bool demo = wi_given(args, &demo_option);
    task t = {.count = 0};
    wi_exit result = WI_EXIT_OK;
    if (demo == (args->operands > 0))
        return wi_usage(args->command, demo ? "--demo has arrays of its own; leave out the file"
                                            : "give a file of floats, or --demo");
    result = wi_check_drawing(args, &plot_option);
    if (result == WI_EXIT_OK)
        result = open_places(args, &t);
    if (result == WI_EXIT_OK)
        result = demo ? show_demo(&t) : show_file(args, &t);
    if (result == WI_EXIT_OK)
        result = show(args, &t);
    weft_close(t.places[1]);
    weft_close(t.places[0]);
    return result;
}

static const wi_option *const options[] = {
    &demo_option,    &plot_option, &wi_place_option, &wi_read_type_option, &wi_json_option,
    &wi_help_option, NULL};

const wi_command wi_precision_command = {
    .name = "precision",
    .operand_text = "FILE(.npy|.csv|.txt)",
    .summary = "show what rounding does to a sum",
    .details = "Adds up the array with accumulators of f16, bf16, f32 and f64: one after the "
               "other, in pairs, with compensation, in double-double, and as weft_sum_fast and "
               "weft_sum do, on the place and on the cpu. Shows each result, how far it is from "
               "the exact sum, and its time; the condition number, which is the sum of all |x| "
               "over |sum of x|; and one sentence about what is seen. A file name of - is "
               "standard input.",
    .examples = {{"weft precision --demo", "four arrays that show what can happen"},
                 {"weft precision x.npy --plot digits.svg", "with a picture"},
                 {"weft precision x.npy --place cpu --json", "as JSON"}},
    .options = options,
    .suffixes = "npy csv txt",
    .least_operands = 0,
    .most_operands = 1,
    .run = execute,
};
