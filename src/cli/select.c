/* SPDX-License-Identifier: Apache-2.0 */
/* `weft select`: the elements of a file that satisfy a test, or their positions. */
#include "weft/select.h"

#include <stdio.h>
#include <string.h>

#include "cli/ranks.h"
#include "cli/session.h"
#include "cli/text.h"

static const wi_option where_option = {
    .name = "where",
    .letter = 'w',
    .value = "TEST",
    .help = "which: \">0\", \"==1\", \"!=1\", \"<=5\", \"1..5\", \"nan\""};

enum {
    CONSTANT_BYTES = 1024 /* of a constant's text */
};

static const struct {
    const char *text;
    weft_test test;
} comparisons[] = {{"==", WEFT_EQ}, {"!=", WEFT_NE}, {"<=", WEFT_LE},
                   {">=", WEFT_GE}, {"<", WEFT_LT},  {">", WEFT_GT}};

static const char *skip_spaces(const char *text) {
    return text + strspn(text, " ");
}

/* Parses `length` characters as an element; on failure `why` gets the reason. */
static bool read_constant(weft_type type, const char *text, size_t length, weft_element *element,
                          char why[WI_REASON_BYTES]) {
    char copy[CONSTANT_BYTES];
    snprintf(copy, sizeof copy, "%.*s", (int)length, text);
    if (length < sizeof copy && wi_read_element(type, copy, element))
        return true;
    wi_explain_element(type, copy, why);
    return false;
}

/* Parses "> 0", "!=3", "1..5" and "nan". */
static bool parse_test(const char *text, weft_predicate *p, char why[WI_REASON_BYTES]) {
    text = skip_spaces(text);
    if (strcmp(text, "nan") == 0) {
        p->test = WEFT_IS_NAN;
        return true;
    }
    for (size_t k = 0; k < sizeof comparisons / sizeof *comparisons; k++) {
        const size_t length = strlen(comparisons[k].text);
        if (strncmp(text, comparisons[k].text, length) == 0) {
            const char *const constant = skip_spaces(text + length);
            p->test = comparisons[k].test;
            return read_constant(p->type, constant, strlen(constant), &p->a, why);
        }
    }
    const char *const dots = strstr(text, "..");
    p->test = WEFT_BETWEEN;
    snprintf(why, WI_REASON_BYTES,
             "this is not a test of %s; write it as \">0\", \"==1\", \"<=5\", "
             "\"1..5\" or \"nan\"",
             weft_type_name(p->type));
    return dots && read_constant(p->type, text, (size_t)(dots - text), &p->a, why) &&
           read_constant(p->type, dots + 2, strlen(dots + 2), &p->b, why);
}

/* Reads the test of --where; without it, "not 0" for a second file. */
static wi_exit read_test(const wi_arguments *args, weft_type type, weft_predicate *p) {
    const char *const text = wi_given(args, &where_option) ? wi_value(args, &where_option) : "!=0";
    char why[WI_REASON_BYTES];
    *p = (weft_predicate){.type = type};
    if (parse_test(text, p, why))
        return WI_EXIT_OK;
    return wi_usage(args->command, "option --where: \"%s\": %s", text, why);
}

/* Reads the file, and the file of the elements to test if there is one. */
static wi_exit load(const wi_arguments *args, weft_context *ctx, wi_npy *array, wi_npy *tested) {
    wi_note note = {""};
    wi_exit result = wi_load_part(args, ctx, args->operand[0], array);
    if (result == WI_EXIT_OK && args->operands > 1)
        result = wi_load_any_part(args, ctx, args->operand[1], NULL, tested);
    if (result == WI_EXIT_OK)
        result = wi_need_one_column(args, ctx, array);
    if (result != WI_EXIT_OK)
        return result;
    if (wi_npy_to_c_order(array, &note) != WEFT_OK || wi_npy_to_c_order(tested, &note) != WEFT_OK) {
        wi_say_error("%s", note.text);
        return WI_EXIT_FAILED;
    }
    if (args->operands > 1 && array->layout.count != tested->layout.count) {
        wi_say_error("select: %s holds %zu elements, but %s holds %zu; give one to test for each",
                     args->operand[0], array->layout.count, args->operand[1], tested->layout.count);
        return WI_EXIT_FAILED;
    }
    return WI_EXIT_OK;
}

/* Replaces the array by the positions. */
static wi_exit find_positions(weft_context *ctx, const weft_predicate *p, const void *s,
                              wi_npy *array, uint64_t *count) {
    const size_t n = array->layout.count;
    uint64_t *const positions = wi_host_alloc(n * sizeof *positions);
    if (!positions) {
        wi_say_error("select: no host memory for %zu positions", n);
        return WI_EXIT_FAILED;
    }
    const weft_status status = weft_select_indices(ctx, *p, n, s, WEFT_U64, positions, count);
    wi_npy_free(array);
    array->data = positions;
    array->layout = (wi_npy_layout){.type = WEFT_U64};
    return status == WEFT_OK ? WI_EXIT_OK : wi_session_failed(ctx);
}

/* Selects in place, in C order. */
static wi_exit compute(const wi_arguments *args, weft_context *ctx, wi_npy *array,
                       const wi_npy *tested) {
    const bool by_other = args->operands > 1;
    const void *const s = by_other ? tested->data : array->data;
    const size_t width = weft_type_size(array->layout.type);
    weft_predicate p;
    uint64_t count = 0;
    wi_exit result = read_test(args, by_other ? tested->layout.type : array->layout.type, &p);
    if (result == WI_EXIT_OK && wi_given(args, &wi_indices_option))
        result = find_positions(ctx, &p, s, array, &count);
    else if (result == WI_EXIT_OK && weft_select_where(ctx, p, array->layout.count, s, width,
                                                       array->data, array->data, &count) != WEFT_OK)
        result = wi_session_failed(ctx);
    return result == WI_EXIT_OK ? wi_take_own(ctx, array, &count) : result;
}

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    wi_npy array = {.data = NULL}, tested = {.data = NULL};
    wi_exit result = wi_need_output(args);
    if (result == WI_EXIT_OK && args->operands < 2 && !wi_given(args, &where_option))
        result = wi_usage(args->command, "option --where is missing; add --where '>0', or a second "
                                         "file that is not 0 where elements are wanted");
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "select", &ctx);
    if (result == WI_EXIT_OK)
        result = load(args, ctx, &array, &tested);
    if (result == WI_EXIT_OK)
        result = compute(args, ctx, &array, &tested);
    if (result == WI_EXIT_OK)
        result = wi_save_part(args, ctx, &wi_output_option, &array);
    if (result == WI_EXIT_OK)
        wi_print_saved(args, "select", "select", ctx, &array.layout);
    wi_npy_free(&array);
    wi_npy_free(&tested);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {&where_option,        &wi_indices_option,
                                           &wi_output_option,    &wi_columns_option,
                                           &wi_place_option,     &wi_variant_option,
                                           &wi_read_type_option, &wi_json_option,
                                           &wi_help_option,      NULL};

const wi_command wi_select_command = {
    .name = "select",
    .operand_text = "FILE(.npy|.csv|.txt) [TESTED]",
    .summary = "keep the elements that satisfy a test",
    .details = "Writes the elements, in C order, for which --where is true, as an array of one "
               "dimension. With a second file, for example a mask of booleans, that file's "
               "elements are tested instead, one for each; without --where, whether they are not "
               "0. NaN is never equal, less or greater. A file name of - is standard input or "
               "output.",
    .examples = {{"weft select x.npy --where '>0' -o positive.npy", "those above 0"},
                 {"weft select x.npy --where nan --indices -o where.npy", "where the NaN are"},
                 {"weft select x.npy flags.npy -o kept.npy", "those flagged"},
                 {"weft select x.npy -w 1..5 -o - | weft reduce -", "in a pipe"}},
    .options = options,
    .ladder = "select",
    .over_ranks = true,
    .unrounded = true,
    .suffixes = "npy csv txt",
    .least_operands = 1,
    .most_operands = 2,
    .run = execute,
};
