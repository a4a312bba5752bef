/* SPDX-License-Identifier: Apache-2.0 */
/* `weft generate`: sparse test problems as Matrix Market files. */
#include "sparse/generate.h"

#include "cli/session.h"
#include "cli/text.h"

static const wi_option per_row_option = {.name = "per-row",
                                         .value = "COUNT",
                                         .help =
                                             "entries in a row of random, on average; default 8"};

enum {
    USUAL_PER_ROW = 8
};

static void list_problems(const wi_command *command, wi_words *words) {
    (void)command;
    for (size_t k = 0; k < wi_generator_count; k++)
        wi_words_add(words, wi_generators[k].name);
}

static wi_exit read_recipe(const wi_arguments *args, const wi_generator *generator,
                           wi_recipe *recipe) {
    const char *const n = args->operand[1], *const per_row = wi_value(args, &per_row_option);
    if (!generator->random && (per_row || wi_given(args, &wi_seed_option)))
        return wi_usage(args->command, "option --%s: %s is the same for all; leave the option out",
                        per_row ? "per-row" : "seed", generator->name);
    *recipe = (wi_recipe){.seed = args->seed, .per_row = USUAL_PER_ROW};
    if (!wi_read_count(n, &recipe->n) || recipe->n == 0)
        return wi_usage(args->command, "N: \"%s\" is not a count from 1; write 50 or 1e5", n);
    if (per_row && (!wi_read_count(per_row, &recipe->per_row) || recipe->per_row == 0))
        return wi_usage(args->command, "option --per-row: \"%s\" is not a count from 1; write 8",
                        per_row);
    if (!per_row && recipe->per_row > recipe->n)
        recipe->per_row = recipe->n;
    return WI_EXIT_OK;
}

static wi_exit save(const wi_arguments *args, weft_context *ctx, const weft_sparse *matrix) {
    const char *const path = wi_value(args, &wi_output_option);
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
    if (!wi_given(args, &wi_json_option))
        return;
    wi_json_open(&json);
    wi_json_string(&json, "problem", args->operand[0]);
    wi_json_count(&json, "n", weft_sparse_rows(matrix));
    wi_json_count(&json, "entries_stored", weft_sparse_entries(matrix));
    wi_json_string(&json, "output", wi_value(args, &wi_output_option));
    wi_json_close(&json);
}

static wi_exit execute(const wi_arguments *args) {
    const wi_generator *const generator = wi_find_generator(args->operand[0]);
    const char *const path = wi_value(args, &wi_output_option);
    weft_context *ctx = NULL;
    weft_sparse *matrix = NULL;
    wi_recipe recipe;
    if (!generator)
        return wi_usage_word(args->command, "problem", args->operand[0], list_problems);
    if (wi_given(args, &wi_json_option) && (!path || wi_is_standard(path)))
        return wi_usage(args->command, "option --json: standard output takes the matrix already; "
                                       "name a file with --output");
    wi_exit result = wi_check_writable(args, &wi_output_option);
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

static const wi_option *const options[] = {&wi_output_option, &per_row_option, &wi_seed_option,
                                           &wi_json_option,   &wi_help_option, NULL};

const wi_command wi_generate_command = {
    .name = "generate",
    .operand_text = "KIND N",
    .summary = "write a sparse matrix to test solvers with",
    .details = "Writes a symmetric positive definite matrix as a Matrix Market file. laplace2d "
               "and laplace3d: the 5- or 7-point Laplacian of a grid with N points along each "
               "edge, plus 1e-3 I. elasticity3d: a cube with N elastic elements along each edge, "
               "one face fixed, three displacements at each node. random: N rows, entries at "
               "random places.",
    .examples = {{"weft generate laplace3d 50 -o A.mtx", "125,000 unknowns"},
                 {"weft generate random 1e5 --per-row 12 --seed 7 -o A.mtx", "reproducible"},
                 {"weft generate laplace2d 3", "to standard output"}},
    .options = options,
    .list_operands = list_problems,
    .operand_heading = "KIND",
    .least_operands = 2,
    .most_operands = 2,
    .run = execute,
};
