/* SPDX-License-Identifier: Apache-2.0 */
/* `weft generate`: sparse test problems as Matrix Market files. */
#include "sparse/generate.h"

#include "cli/session.h"
#include "cli/text.h"

enum {
    USUAL_PER_ROW = 8
};

static wi_exit read_recipe(const wi_arguments *args, const wi_generator *generator,
                           wi_recipe *recipe) {
    const char *const n = args->operand[1], *const per_row = args->value[WI_OPT_PER_ROW];
    if (!generator->random && (per_row || wi_given(args, WI_OPT_SEED)))
        return wi_usage(args->command, "option --%s: %s is the same for all; leave the option out",
                        per_row ? "per-row" : "seed", generator->name);
    *recipe = (wi_recipe){.seed = args->seed, .per_row = USUAL_PER_ROW};
    if (!wi_read_count(n, &recipe->n) || recipe->n == 0)
        return wi_usage(args->command, "N: \"%s\" is no count from 1; write 50 or 1e5", n);
    if (per_row && (!wi_read_count(per_row, &recipe->per_row) || recipe->per_row == 0))
        return wi_usage(args->command, "option --per-row: \"%s\" is no count from 1; write 8",
                        per_row);
    if (!per_row && recipe->per_row > recipe->n)
        recipe->per_row = recipe->n;
    return WI_EXIT_OK;
}

static wi_exit save(const wi_arguments *args, weft_context *ctx, const weft_sparse *matrix) {
    const char *const path = args->value[WI_OPT_OUTPUT];
    wi_output output;
    const wi_exit result = wi_output_open(path ? path : "-", &output);
    if (result != WI_EXIT_OK)
        return result;
    const bool written =
        wi_sparse_write(ctx, args->command->name, output.file, output.name, matrix) == WEFT_OK;
    if (!written)
        wi_session_failed(ctx);
    return wi_output_end(&output, written);
}

static void print_saved(const wi_arguments *args, const weft_sparse *matrix) {
    wi_json json;
    if (!wi_given(args, WI_OPT_JSON))
        return;
    wi_json_open(&json);
    wi_json_string(&json, "problem", args->operand[0]);
    wi_json_count(&json, "n", weft_sparse_rows(matrix));
    wi_json_count(&json, "entries_stored", weft_sparse_entries(matrix));
    wi_json_string(&json, "output", args->value[WI_OPT_OUTPUT]);
    wi_json_close(&json);
}

wi_exit wi_generate_command(const wi_arguments *args) {
    const wi_generator *const generator = wi_find_generator(args->operand[0]);
    const char *const path = args->value[WI_OPT_OUTPUT];
    weft_context *ctx = NULL;
    weft_sparse *matrix = NULL;
    wi_recipe recipe;
    if (!generator)
        return wi_usage_word(args->command, "problem", args->operand[0], WI_WORDS_PROBLEM);
    if (wi_given(args, WI_OPT_JSON) && (!path || wi_is_standard(path)))
        return wi_usage(args->command, "option --json: standard output takes the matrix already; "
                                       "name a file with --output");
    wi_exit result = wi_check_writable(args, WI_OPT_OUTPUT);
    if (result == WI_EXIT_OK)
        result = read_recipe(args, generator, &recipe);
    if (result != WI_EXIT_OK)
        return result;
    if (weft_open(&ctx, "cpu") != WEFT_OK)
        result = wi_session_failed(NULL);
    else if (generator->make(ctx, args->command->name, &recipe, &matrix) != WEFT_OK)
        result = wi_session_failed(ctx);
    if (result == WI_EXIT_OK)
        result = save(args, ctx, matrix);
    if (result == WI_EXIT_OK)
        print_saved(args, matrix);
    weft_sparse_destroy(matrix);
    weft_close(ctx);
    return result;
}
