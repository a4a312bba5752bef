/* SPDX-License-Identifier: Apache-2.0 */
/* `weft topk`: the largest or smallest elements of the array in a file, and where they are. */
#include <stdio.h>

#include "cli/ranks.h"
#include "cli/session.h"
#include "cli/text.h"
#include "weft/sort.h"

static const wi_option k_option = {
    .name = "k", .letter = 'k', .value = "COUNT", .help = "how many elements; default 10"};
static const wi_option smallest_option = {.name = "smallest",
                                          .help = "the smallest, not the largest"};

enum {
    DEFAULT_K = 10,
    VALUE_BYTES = 8 /* at most */
};

/* The result: k values, and their positions. */
typedef struct found {
    size_t k;
    unsigned char *values;
    uint64_t *positions;
} found;

static void print_found(const wi_arguments *args, const weft_context *ctx,
                        const wi_npy_layout *layout, const found *f) {
    char text[WI_FIELD_BYTES];
    for (size_t i = 0; i < f->k; i++) {
        const void *const value = f->values + i * weft_type_size(layout->type);
        if (!wi_given(args, &wi_json_option)) {
            if (!wi_given(args, &wi_indices_option))
                printf("%s ", wi_format_element(layout->type, value, text));
            printf("%llu\n", (unsigned long long)f->positions[i]);
            continue;
        }
        wi_json json;
        wi_json_open(&json);
        wi_json_string(&json, "op", "topk");
        wi_json_string(&json, "place", weft_place(ctx));
        wi_json_ranks(&json, ctx);
        wi_json_string(&json, "file", args->operand[0]);
        wi_json_string(&json, "type", weft_type_name(layout->type));
        wi_json_count(&json, "rank", i);
        wi_json_element(&json, "value", layout->type, value);
        wi_json_count(&json, "position", f->positions[i]);
        wi_json_close(&json);
    }
}

/* Writes the values or the positions to --output. */
static wi_exit save_found(const wi_arguments *args, const weft_context *ctx,
                          const wi_npy_layout *layout, const found *f) {
    const bool positions = wi_given(args, &wi_indices_option);
    wi_npy array = {.data = positions ? (void *)f->positions : f->values};
    array.layout.type = positions ? WEFT_U64 : layout->type;
    array.layout.opaque = !positions && layout->opaque;
    wi_npy_flatten(&array, f->k);
    const wi_exit result = wi_save(args, &wi_output_option, &array);
    if (result == WI_EXIT_OK)
        wi_print_saved(args, "topk", "sort", ctx, &array.layout);
    return result;
}

static wi_exit show(const wi_arguments *args, const weft_context *ctx, const wi_npy_layout *layout,
                    const found *f) {
    if (weft_rank(ctx) > 0)
        return WI_EXIT_OK; /* rank 0 knows all, too */
    if (wi_given(args, &wi_output_option))
        return save_found(args, ctx, layout, f);
    print_found(args, ctx, layout, f);
    return WI_EXIT_OK;
}

static wi_exit compute(const wi_arguments *args, weft_context *ctx, wi_npy *array, found *f) {
    wi_note note = {""};
    const wi_npy_layout *const layout = &array->layout;
    const weft_order order = wi_given(args, &smallest_option) ? WEFT_ASCENDING : WEFT_DESCENDING;
    if (f->k > wi_npy_whole(layout))
        f->k = wi_npy_whole(layout);
    if (wi_npy_to_c_order(array, &note) != WEFT_OK) {
        wi_say_error("%s", note.text);
        return WI_EXIT_FAILED;
    }
    f->values = wi_host_alloc(f->k * VALUE_BYTES);
    f->positions = wi_host_alloc(f->k * sizeof *f->positions);
    if (!f->values || !f->positions) {
        wi_say_error("topk: no memory for %zu elements; choose a smaller --k", f->k);
        return WI_EXIT_FAILED;
    }
    const weft_status status = weft_top_k(ctx, order, layout->type, layout->count, array->data,
                                          f->k, f->values, f->positions);
    return status == WEFT_OK ? WI_EXIT_OK : wi_session_failed(ctx);
}

static wi_exit read_k(const wi_arguments *args, size_t *k) {
    const char *const text = wi_value(args, &k_option);
    *k = DEFAULT_K;
    if (!text || wi_read_count(text, k))
        return WI_EXIT_OK;
    return wi_usage(args->command, "option --k: \"%s\" is not a count of elements; write 10 or 1e3",
                    text);
}

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    wi_npy array = {.data = NULL};
    found f = {.values = NULL};
    wi_exit result = read_k(args, &f.k);
    if (result == WI_EXIT_OK && wi_given(args, &wi_output_option))
        result = wi_need_output(args);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, NULL, &ctx);
    if (result == WI_EXIT_OK)
        result = wi_load_part(args, ctx, args->operand[0], &array);
    if (result == WI_EXIT_OK)
        result = wi_need_one_column(args, ctx, &array);
    if (result == WI_EXIT_OK)
        result = compute(args, ctx, &array, &f);
    if (result == WI_EXIT_OK)
        result = show(args, ctx, &array.layout, &f);
    wi_host_free(f.values);
    wi_host_free(f.positions);
    wi_npy_free(&array);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {
    &wi_output_option, &wi_indices_option,   &k_option,       &smallest_option, &wi_columns_option,
    &wi_place_option,  &wi_read_type_option, &wi_json_option, &wi_help_option,  NULL};

const wi_command wi_topk_command = {
    .name = "topk",
    .operand_text = "FILE(.npy|.csv|.txt)",
    .summary = "show the largest elements of an array",
    .details = "Prints the k largest elements (all of them, if there are fewer), the largest "
               "first, one on each line, each followed by its position, counted in C order from "
               "0. NaN count as the largest. Among equal elements the first in the file comes "
               "first. --output writes the elements instead, and --indices only the positions, "
               "as u64. A file name of - is standard input or output.",
    .examples = {{"weft topk x.npy", "the ten largest"},
                 {"weft topk x.npy --k 3 --smallest --json", "the three smallest"},
                 {"weft topk x.npy -k 1e3 --indices -o where.npy", "where the largest are"}},
    .options = options,
    .over_ranks = true,
    .unrounded = true,
    .suffixes = "npy csv txt",
    .least_operands = 1,
    .most_operands = 1,
    .run = execute,
};
