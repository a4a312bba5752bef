/* SPDX-License-Identifier: Apache-2.0 */
/* `weft summary`: count, extremes, mean and variance of the array in a file. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/columns.h"
#include "cli/ranks.h"
#include "cli/text.h"
#include "weft/reduce.h"
#include "weft/summary.h"

/* What is found out about an array. */
typedef struct found {
    const char *column; /* of which column of several; NULL: there is one */
    weft_statistics s;
    weft_type type;      /* of min and max, */
    uint64_t extreme[2]; /* which these are; f64 would round some integers of 64 bits */
} found;

/* null if there are no elements. */
static void json_value(wi_json *json, const char *key, const weft_statistics *s, weft_type type,
                       const void *value) {
    if (s->count > 0)
        wi_json_element(json, key, type, value);
    else
        wi_json_null(json, key);
}

static void print_json(const wi_arguments *args, const weft_context *ctx, const wi_npy *array,
                       const found *f) {
    const weft_statistics *const s = &f->s;
    const double deviation = sqrt(s->variance);
    wi_json json;
    wi_json_open(&json);
    wi_json_string(&json, "op", "summary");
    wi_json_string(&json, "variant", weft_used(ctx, "summary"));
    wi_json_string(&json, "place", weft_place(ctx));
    wi_json_string(&json, "file", args->operand[0]);
    if (f->column)
        wi_json_string(&json, "column", f->column);
    wi_json_string(&json, "type", weft_type_name(array->layout.type));
    wi_json_ranks(&json, ctx);
    wi_json_count(&json, "n", wi_npy_whole(&array->layout));
    wi_json_count(&json, "count", s->count);
    wi_json_count(&json, "nans", s->nans);
    json_value(&json, "min", s, f->type, &f->extreme[0]);
    json_value(&json, "max", s, f->type, &f->extreme[1]);
    json_value(&json, "min_at", s, WEFT_U64, &s->min_at);
    json_value(&json, "max_at", s, WEFT_U64, &s->max_at);
    json_value(&json, "mean", s, WEFT_F64, &s->mean);
    json_value(&json, "variance", s, WEFT_F64, &s->variance);
    json_value(&json, "deviation", s, WEFT_F64, &deviation);
    wi_json_close(&json);
}

static void print_value(const char *name, weft_type type, const void *value, const uint64_t *at) {
    char text[WI_FIELD_BYTES];
    printf("%-10s%s", name, wi_format_element(type, value, text));
    if (at && *at != WEFT_NOWHERE)
        printf(" at %" PRIu64, *at);
    putchar('\n');
}

static void print_plain(const found *f) {
    const weft_statistics *const s = &f->s;
    const double deviation = sqrt(s->variance);
    if (f->column)
        printf("column    %s\n", f->column);
    printf("count     %" PRIu64 "\n", s->count);
    if (s->nans > 0)
        printf("nans      %" PRIu64 "\n", s->nans);
    print_value("min", f->type, &f->extreme[0], &s->min_at);
    print_value("max", f->type, &f->extreme[1], &s->max_at);
    print_value("mean", WEFT_F64, &s->mean, NULL);
    print_value("variance", WEFT_F64, &s->variance, NULL);
    print_value("deviation", WEFT_F64, &deviation, NULL);
}

/* The least and the largest, exactly. */
static weft_status find_extremes(weft_context *ctx, const wi_npy *array, found *f) {
    const weft_type type = array->layout.type;
    const size_t n = array->layout.count;
    f->type = WEFT_F64;
    memcpy(&f->extreme[0], &f->s.min, sizeof f->s.min);
    memcpy(&f->extreme[1], &f->s.max, sizeof f->s.max);
    if ((type != WEFT_I64 && type != WEFT_U64) || f->s.count == 0)
        return WEFT_OK;
    f->type = type;
    const weft_status status = weft_reduce(ctx, WEFT_MIN, type, n, array->data, &f->extreme[0]);
    return status == WEFT_OK ? weft_reduce(ctx, WEFT_MAX, type, n, array->data, &f->extreme[1])
                             : status;
}

static wi_exit compute(const wi_arguments *args, weft_context *ctx, const char *column,
                       wi_npy *array) {
    found f = {.column = column};
    wi_note note = {""};
    if (wi_npy_to_c_order(array, &note) != WEFT_OK) {
        wi_say_error("%s", note.text);
        return WI_EXIT_FAILED;
    }
    if (weft_summary(ctx, array->layout.type, array->layout.count, array->data, &f.s) != WEFT_OK ||
        find_extremes(ctx, array, &f) != WEFT_OK)
        return wi_session_failed(ctx);
    if (weft_rank(ctx) > 0)
        return WI_EXIT_OK; /* rank 0 knows all, too */
    if (wi_given(args, &wi_json_option))
        print_json(args, ctx, array, &f);
    else
        print_plain(&f);
    return WI_EXIT_OK;
}

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    wi_column_set columns = {.column = NULL};
    char name[WI_COLUMN_BYTES];
    wi_exit result = wi_session_open(args, "summary", &ctx);
    if (result == WI_EXIT_OK)
        result = wi_columns_load_each(args, ctx, args->operand[0], WI_TABLE_UNROUNDED, &columns);
    for (size_t k = 0; k < columns.count && result == WI_EXIT_OK; k++)
        result = compute(args, ctx, columns.count > 1 ? wi_column_name(&columns, k, name) : NULL,
                         &columns.column[k]);
    wi_columns_free(&columns);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {
    &wi_columns_option, &wi_place_option, &wi_variant_option, &wi_read_type_option,
    &wi_types_option,   &wi_json_option,  &wi_help_option,    NULL};

const wi_command wi_summary_command = {
    .name = "summary",
    .operand_text = "FILE(.npy|.csv|.txt)",
    .summary = "show count, extremes, mean and variance of an array",
    .details = "Prints how many elements the array has, the least and the largest with their "
               "positions, counted in C order from 0, the mean, the variance (the mean of the "
               "squared differences from the mean) and the standard deviation, its root. NaN are "
               "counted apart and otherwise left out. FILE is a .npy array, or a table of text, "
               ".csv or .txt, whose first line may hold names, and of which each column is looked "
               "at by itself. A file name of - is standard input.",
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
