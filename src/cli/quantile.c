/* SPDX-License-Identifier: Apache-2.0 */
/* `weft quantile`: quantiles of the array in a file. */
#include <stdio.h>
#include <string.h>

#include "cli/ranks.h"
#include "cli/session.h"
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
    double q[MOST], value[MOST];
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

static void print_json(const wi_arguments *args, const weft_context *ctx, const wi_npy *array,
                       const quantiles *w) {
    for (size_t k = 0; k < w->count; k++) {
        wi_json json;
        wi_json_open(&json);
        wi_json_string(&json, "op", "quantile");
        wi_json_string(&json, "variant", weft_used(ctx, "quantile"));
        wi_json_string(&json, "place", weft_place(ctx));
        wi_json_string(&json, "file", args->operand[0]);
        wi_json_string(&json, "type", weft_type_name(array->layout.type));
        wi_json_ranks(&json, ctx);
        wi_json_count(&json, "n", wi_npy_whole(&array->layout));
        wi_json_element(&json, "q", WEFT_F64, &w->q[k]);
        wi_json_element(&json, "value", WEFT_F64, &w->value[k]);
        wi_json_close(&json);
    }
}

static void print_plain(const quantiles *w) {
    for (size_t k = 0; k < w->count; k++) {
        char q[WI_FIELD_BYTES], value[WI_FIELD_BYTES];
        printf("%s %s\n", wi_format_element(WEFT_F64, &w->q[k], q),
               wi_format_element(WEFT_F64, &w->value[k], value));
    }
}

static wi_exit show(const wi_arguments *args, const weft_context *ctx, const wi_npy *array,
                    quantiles *w) {
    if (weft_rank(ctx) > 0)
        return WI_EXIT_OK; /* rank 0 knows all, too */
    if (wi_given(args, &wi_output_option)) {
        wi_npy found = {.layout = {.type = WEFT_F64}, .data = w->value};
        wi_npy_flatten(&found, w->count);
        const wi_exit result = wi_save(args, &wi_output_option, &found);
        if (result == WI_EXIT_OK)
            wi_print_saved(args, "quantile", "quantile", ctx, &found.layout);
        return result;
    }
    if (wi_given(args, &wi_json_option))
        print_json(args, ctx, array, w);
    else
        print_plain(w);
    return WI_EXIT_OK;
}

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    wi_npy array = {.data = NULL};
    quantiles w;
    wi_exit result = read_q(args, &w);
    if (result == WI_EXIT_OK)
        result = read_rule(args, &w);
    if (result == WI_EXIT_OK && wi_given(args, &wi_output_option))
        result = wi_need_output(args);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "quantile", &ctx);
    if (result == WI_EXIT_OK)
        result = wi_load_part(args, ctx, args->operand[0], &array);
    if (result == WI_EXIT_OK && weft_quantiles(ctx, w.rule, array.layout.type, array.layout.count,
                                               array.data, w.count, w.q, w.value) != WEFT_OK)
        result = wi_session_failed(ctx);
    if (result == WI_EXIT_OK)
        result = show(args, ctx, &array, &w);
    wi_npy_free(&array);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {&wi_output_option,    &q_option,
                                           &rule_option,         &wi_columns_option,
                                           &wi_place_option,     &wi_variant_option,
                                           &wi_read_type_option, &wi_json_option,
                                           &wi_help_option,      NULL};

const wi_command wi_quantile_command = {
    .name = "quantile",
    .operand_text = "FILE(.npy|.csv|.txt)",
    .summary = "show quantiles of an array, such as the median",
    .details = "Prints for each q the number below which that share of the elements lies, exactly, "
               "without sorting: with h = q (n - 1), the elements of ranks floor(h) and "
               "floor(h) + 1, or what lies between them by the rule. NaN count as the largest. "
               "--output writes the numbers instead, as f64. FILE is a .npy array, or a table of "
               "text, .csv or .txt, whose first line may hold names. A file name of - is standard "
               "input or output.",
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
