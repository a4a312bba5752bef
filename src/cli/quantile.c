/* SPDX-License-Identifier: Apache-2.0 */
/* `weft quantile`: quantiles of the array in a file. */
#include <stdio.h>
#include <string.h>

#include "cli/columns.h"
#include "cli/ranks.h"
#include "cli/text.h"
#include "weft/quantile.h"

static const struct {
    const char *name;
    weft_quantile_rule rule;
} rules[] = {{"linear", WEFT_LINEAR},
             {"lower", WEFT_LOWER_VALUE},
             {"higher", WEFT_HIGHER_VALUE},
             {"nearest", WEFT_NEAREST_VALUE},
             {"midpoint", WEFT_MIDPOINT}};

static void list_rules(const wi_command *command, wi_words *words) {
    (void)command;
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        wi_words_add(words, rules[k].name);
}

static const wi_option q_option = {
    .name = "q", .letter = 'q', .value = "LIST", .help = "from 0 to 1, as 0.5,0.9; default 0.5"};
static const wi_option rule_option = {.name = "rule",
                                      .letter = 'r',
                                      .value = "RULE",
                                      .help = "what lies between two elements; default linear",
                                      .list = list_rules,
                                      .heading = "Rules"};

enum {
    MOST = 1000, /* quantiles at once */
    WORD_BYTES = 64
};

/* What is wanted, and found. */
typedef struct quantiles {
    weft_quantile_rule rule;
    size_t count;
    double q[MOST];
    wi_column_set columns, found; /* of each column its quantiles, f64 */
} quantiles;

/* Reads --q, numbers between commas. */
static wi_exit read_q(const wi_arguments *args, quantiles *w) {
    const char *at = wi_value(args, &q_option);
    at = at ? at : "0.5";
    for (w->count = 0; at; w->count++) {
        char word[WORD_BYTES];
        const char *const comma = strchr(at, ',');
        const size_t length = comma ? (size_t)(comma - at) : strlen(at);
        if (w->count == MOST)
            return wi_usage(args->command, "option --q: more than %d numbers", MOST);
        snprintf(word, sizeof word, "%.*s", (int)(length < WORD_BYTES ? length : WORD_BYTES), at);
        if (!wi_read_element(WEFT_F64, word, &w->q[w->count]) ||
            !(w->q[w->count] >= 0 && w->q[w->count] <= 1))
            return wi_usage(args->command,
                            "option --q: \"%s\" is no number from 0 to 1; write 0.5 or 0.25,0.75",
                            word);
        at = comma ? comma + 1 : NULL;
    }
    return WI_EXIT_OK;
}

static wi_exit read_rule(const wi_arguments *args, quantiles *w) {
    const char *const name = wi_value(args, &rule_option);
    w->rule = WEFT_LINEAR;
    for (size_t k = 0; name && k < sizeof rules / sizeof *rules; k++)
        if (strcmp(name, rules[k].name) == 0) {
            w->rule = rules[k].rule;
            return WI_EXIT_OK;
        }
    return name ? wi_usage_word(args->command, "rule", name, list_rules) : WI_EXIT_OK;
}

/* The name of a column of several; NULL: there is one. */
static const char *name_of(const quantiles *w, size_t column, char out[WI_COLUMN_BYTES]) {
    return w->columns.count > 1 ? wi_column_name(&w->columns, column, out) : NULL;
}

static void print_json(const wi_arguments *args, const weft_context *ctx, const quantiles *w,
                       size_t column) {
    const wi_npy_layout *const layout = &w->columns.column[column].layout;
    const double *const values = w->found.column[column].data;
    char room[WI_COLUMN_BYTES];
    const char *const name = name_of(w, column, room);
    for (size_t k = 0; k < w->count; k++) {
        wi_json json;
        wi_json_open(&json);
        wi_json_string(&json, "op", "quantile");
        wi_json_string(&json, "variant", weft_used(ctx, "quantile"));
        wi_json_string(&json, "place", weft_place(ctx));
        wi_json_string(&json, "file", args->operand[0]);
        if (name)
            wi_json_string(&json, "column", name);
        wi_json_string(&json, "type", weft_type_name(layout->type));
        wi_json_ranks(&json, ctx);
        wi_json_count(&json, "n", wi_npy_whole(layout));
        wi_json_element(&json, "q", WEFT_F64, &w->q[k]);
        wi_json_element(&json, "value", WEFT_F64, &values[k]);
        wi_json_close(&json);
    }
}

static void print_plain(const quantiles *w, size_t column) {
    const double *const values = w->found.column[column].data;
    char room[WI_COLUMN_BYTES];
    const char *const name = name_of(w, column, room);
    for (size_t k = 0; k < w->count; k++) {
        char q[WI_FIELD_BYTES], value[WI_FIELD_BYTES];
        printf("%s%s%s %s\n", name ? name : "", name ? " " : "",
               wi_format_element(WEFT_F64, &w->q[k], q),
               wi_format_element(WEFT_F64, &values[k], value));
    }
}

static wi_exit show(const wi_arguments *args, const weft_context *ctx, const quantiles *w) {
    if (weft_rank(ctx) > 0)
        return WI_EXIT_OK; /* rank 0 knows all, too */
    if (wi_given(args, &wi_output_option)) {
        const wi_exit result = wi_columns_save(args, &wi_output_option, NULL, &w->found);
        if (result == WI_EXIT_OK)
            wi_columns_print_saved(args, "quantile", "quantile", ctx, &w->found);
        return result;
    }
    for (size_t k = 0; k < w->columns.count; k++) {
        if (wi_given(args, &wi_json_option))
            print_json(args, ctx, w, k);
        else
            print_plain(w, k);
    }
    return WI_EXIT_OK;
}

/* The quantiles of a column; of several they get its title. */
static wi_exit compute(weft_context *ctx, quantiles *w, size_t k) {
    const wi_npy *const column = &w->columns.column[k];
    wi_npy *const found = &w->found.column[k];
    const char *const title = w->columns.count > 1 ? column->titles : NULL;
    found->layout.type = WEFT_F64;
    wi_npy_flatten(found, w->count);
    found->data = wi_host_alloc(w->count * sizeof(double));
    found->titles = title ? wi_host_alloc(strlen(title) + 1) : NULL;
    if (!found->data || (title && !found->titles)) {
        wi_say_error("quantile: no host memory for %zu quantiles", w->count);
        return WI_EXIT_FAILED;
    }
    if (title)
        memcpy(found->titles, title, strlen(title) + 1);
    return weft_quantiles(ctx, w->rule, column->layout.type, column->layout.count, column->data,
                          w->count, w->q, found->data) == WEFT_OK
               ? WI_EXIT_OK
               : wi_session_failed(ctx);
}

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    quantiles w = {.count = 0};
    wi_exit result = read_q(args, &w);
    if (result == WI_EXIT_OK)
        result = read_rule(args, &w);
    if (result == WI_EXIT_OK && wi_given(args, &wi_output_option))
        result = wi_need_output(args);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "quantile", &ctx);
    if (result == WI_EXIT_OK)
        result = wi_columns_load_each(args, ctx, args->operand[0], WI_TABLE_FLOATS, &w.columns);
    if (result == WI_EXIT_OK)
        result = wi_columns_make(args, w.columns.count, &w.found);
    for (size_t k = 0; k < w.columns.count && result == WI_EXIT_OK; k++)
        result = compute(ctx, &w, k);
    if (result == WI_EXIT_OK)
        result = show(args, ctx, &w);
    wi_columns_free(&w.columns);
    wi_columns_free(&w.found);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {&wi_output_option,
                                           &q_option,
                                           &rule_option,
                                           &wi_columns_option,
                                           &wi_place_option,
                                           &wi_variant_option,
                                           &wi_read_type_option,
                                           &wi_types_option,
                                           &wi_json_option,
                                           &wi_help_option,
                                           NULL};

const wi_command wi_quantile_command = {
    .name = "quantile",
    .operand_text = "FILE(.npy|.csv|.txt)",
    .summary = "show quantiles of an array, such as the median",
    .details = "Prints for each q the number below which that share of the elements lies, exactly, "
               "without sorting: with h = q (n - 1), the elements of ranks floor(h) and "
               "floor(h) + 1, or what lies between them by the rule. NaN count as the largest. "
               "--output writes the numbers instead, as f64. FILE is a .npy array, or a table of "
               "text, .csv or .txt, whose first line may hold names, and of which each column has "
               "quantiles of its own. A file name of - is standard input or output.",
    .examples = {{"weft quantile x.npy", "the median"},
                 {"weft quantile x.npy --q 0.05,0.5,0.95", "three at once"},
                 {"weft quantile log.csv -c latency --q 0.99 --rule higher", "of a column"}},
    .options = options,
    .ladder = "quantile",
    .over_ranks = true,
    .suffixes = "npy csv txt",
    .least_operands = 1,
    .most_operands = 1,
    .run = execute,
};
