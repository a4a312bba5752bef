/* SPDX-License-Identifier: Apache-2.0 */
/* `weft summary`: count, extremes, mean and variance of the array in a file. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/ranks.h"
#include "cli/session.h"
#include "cli/text.h"
#include "weft/reduce.h"
#include "weft/summary.h"

/* null if there are no elements. */
static void json_value(wi_json *json, const char *key, const weft_statistics *s, weft_type type,
                       const void *value) {
    if (s->count > 0)
        wi_json_element(json, key, type, value);
    else
        wi_json_null(json, key);
}

static void print_json(const wi_arguments *args, const weft_context *ctx, const wi_npy *array,
                       const weft_statistics *s) {
    const double deviation = sqrt(s->variance);
    wi_json json;
    wi_json_open(&json);
    wi_json_string(&json, "op", "summary");
    wi_json_string(&json, "variant", weft_used(ctx, "summary"));
    wi_json_string(&json, "place", weft_place(ctx));
    wi_json_string(&json, "file", args->operand[0]);
    wi_json_string(&json, "type", weft_type_name(array->layout.type));
    wi_json_ranks(&json, ctx);
    wi_json_count(&json, "n", wi_npy_whole(&array->layout));
    wi_json_count(&json, "count", s->count);
    wi_json_count(&json, "nans", s->nans);
    json_value(&json, "min", s, WEFT_F64, &s->min);
    json_value(&json, "max", s, WEFT_F64, &s->max);
    json_value(&json, "min_at", s, WEFT_U64, &s->min_at);
    json_value(&json, "max_at", s, WEFT_U64, &s->max_at);
    json_value(&json, "mean", s, WEFT_F64, &s->mean);
    json_value(&json, "variance", s, WEFT_F64, &s->variance);
    json_value(&json, "deviation", s, WEFT_F64, &deviation);
    wi_json_close(&json);
}

static void print_value(const char *name, double value, const uint64_t *at) {
    char text[WI_FIELD_BYTES];
    printf("%-10s%s", name, wi_format_element(WEFT_F64, &value, text));
    if (at && *at != WEFT_NOWHERE)
        printf(" at %" PRIu64, *at);
    putchar('\n');
}

static void print_plain(const weft_statistics *s) {
    printf("count     %" PRIu64 "\n", s->count);
    if (s->nans > 0)
        printf("nans      %" PRIu64 "\n", s->nans);
    print_value("min", s->min, &s->min_at);
    print_value("max", s->max, &s->max_at);
    print_value("mean", s->mean, NULL);
    print_value("variance", s->variance, NULL);
    print_value("deviation", sqrt(s->variance), NULL);
}

static wi_exit compute(const wi_arguments *args, weft_context *ctx, wi_npy *array) {
    weft_statistics s;
    wi_note note = {""};
    if (wi_npy_to_c_order(array, &note) != WEFT_OK) {
        wi_say_error("%s", note.text);
        return WI_EXIT_FAILED;
    }
    if (weft_summary(ctx, array->layout.type, array->layout.count, array->data, &s) != WEFT_OK)
        return wi_session_failed(ctx);
    if (weft_rank(ctx) > 0)
        return WI_EXIT_OK; /* rank 0 knows all, too */
    if (wi_given(args, &wi_json_option))
        print_json(args, ctx, array, &s);
    else
        print_plain(&s);
    return WI_EXIT_OK;
}

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    wi_npy array = {.data = NULL};
    wi_exit result = wi_session_open(args, "summary", &ctx);
    if (result == WI_EXIT_OK)
        result = wi_load_part(args, ctx, args->operand[0], &array);
    if (result == WI_EXIT_OK)
        result = compute(args, ctx, &array);
    wi_npy_free(&array);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {&wi_columns_option,
                                           &wi_place_option,
                                           &wi_variant_option,
                                           &wi_read_type_option,
                                           &wi_json_option,
                                           &wi_help_option,
                                           NULL};

const wi_command wi_summary_command = {
    .name = "summary",
    .operand_text = "FILE(.npy|.csv|.txt)",
    .summary = "show count, extremes, mean and variance of an array",
    .details = "Prints how many elements the array has, the least and the largest with their "
               "positions, counted in C order from 0, the mean, the variance (the mean of the "
               "squared differences from the mean) and the standard deviation, its root. NaN are "
               "counted apart and otherwise left out. FILE is a .npy array, or a table of text, "
               ".csv or .txt, whose first line may hold names. A file name of - is standard "
               "input.",
    .examples = {{"weft summary x.npy", "of an array"},
                 {"weft summary log.csv --columns temperature", "of a column of a table"},
                 {"weft summary x.npy --json", "for a program"}},
    .options = options,
    .ladder = "summary",
    .over_ranks = true,
    .suffixes = "npy csv txt",
    .least_operands = 1,
    .most_operands = 1,
    .run = execute,
};
