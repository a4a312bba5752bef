/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands on sparse matrices have in common. */
#include "cli/matrix.h"

#include <math.h>
#include <string.h>

#include "cli/text.h"
#include "sparse/chol.h"
#include "sparse/order.h"
#include "weft/mpi.h"

static void list_orderings(const wi_command *command, wi_words *words) {
    (void)command;
    for (size_t k = 0; k < wi_sparse_order_ladder.count; k++) {
        if (strcmp(wi_sparse_order_ladder.rows[k].name, "given") != 0)
            wi_words_add(words, wi_sparse_order_ladder.rows[k].name);
    }
}

static void list_halves(const wi_command *command, wi_words *words) {
    (void)command;
    wi_words_add(words, "lower");
    wi_words_add(words, "upper");
}

/* In the order of weft_chol_kind. */
static const char *const kinds[] = {"definite", "quasidefinite", "indefinite"};

static void list_kinds(const wi_command *command, wi_words *words) {
    (void)command;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        wi_words_add(words, kinds[k]);
}

const wi_option wi_kind_option = {.name = "kind",
                                  .value = "KIND",
                                  .help = "definite (the default), quasidefinite or indefinite",
                                  .list = list_kinds,
                                  .heading = "Kinds"};
const wi_option wi_ordering_option = {.name = "ordering",
                                      .value = "NAME",
                                      .help = "the order: amd, dissect, rcm, ...; default best",
                                      .list = list_orderings,
                                      .heading = "Orderings"};
const wi_option wi_factorizations_option = {
    .name = "factorizations", .value = "COUNT", .help = "how often it will be factored; default 1"};
const wi_option wi_half_option = {.name = "half",
                                  .value = "HALF",
                                  .help = "lower or upper: use it and ignore the other",
                                  .list = list_halves};
const wi_option wi_symmetry_tolerance_option = {.name = "symmetry-tolerance",
                                                .value = "NUMBER",
                                                .help =
                                                    "how far halves may differ; default 1.4e-14"};

wi_exit wi_check_factorizations(const wi_arguments *args, double *factorizations) {
    const char *const given = wi_value(args, &wi_factorizations_option);
    size_t count = 1;
    if (given && (!wi_read_count(given, &count) || count == 0))
        return wi_usage(args->command,
                        "option --factorizations: \"%s\" is not a count from 1; write 100", given);
    *factorizations = (double)count;
    return WI_EXIT_OK;
}

wi_exit wi_check_ordering(const wi_arguments *args) {
    const char *const ordering = wi_value(args, &wi_ordering_option);
    wi_words words = {.at = NULL};
    list_orderings(args->command, &words);
    const bool known = !ordering || wi_words_have(&words, ordering);
    wi_words_free(&words);
    return known ? WI_EXIT_OK : wi_usage_word(args->command, "ordering", ordering, list_orderings);
}

wi_exit wi_check_kind(const wi_arguments *args, weft_chol_kind *kind) {
    const char *const name = wi_value(args, &wi_kind_option);
    *kind = WEFT_CHOL_DEFINITE;
    for (size_t k = 0; name && k < sizeof kinds / sizeof *kinds; k++) {
        if (strcmp(name, kinds[k]) == 0)
            *kind = (weft_chol_kind)k;
    }
    if (name && strcmp(name, kinds[*kind]) != 0)
        return wi_usage_word(args->command, "kind", name, list_kinds);
    return WI_EXIT_OK;
}

const char *wi_kind_name(weft_chol_kind kind) {
    return kinds[kind];
}

const char *wi_matrix_name(const wi_arguments *args) {
    static char shown[WI_PATH_BYTES];
    wi_shown(wi_input_name(args->operand[0]), shown, sizeof shown);
    return shown;
}

wi_exit wi_check_meaning(const wi_arguments *args) {
    const char *const half = wi_value(args, &wi_half_option);
    const char *const tolerance = wi_value(args, &wi_symmetry_tolerance_option);
    double number;
    if (half && strcmp(half, "lower") != 0 && strcmp(half, "upper") != 0)
        return wi_usage_word(args->command, "half", half, list_halves);
    if (half && tolerance)
        return wi_usage(args->command, "option --symmetry-tolerance: with --half nothing is "
                                       "compared; leave one of the two out");
    if (tolerance &&
        !(wi_read_element(WEFT_F64, tolerance, &number) && number >= 0 && isfinite(number)))
        return wi_usage(args->command,
                        "option --symmetry-tolerance: \"%s\" is not a number from 0; write 1e-12",
                        tolerance);
    return WI_EXIT_OK;
}

/* What the options, which were checked, say of a general file. By default both halves are used. */
static wi_reading meaning(const wi_arguments *args) {
    const char *const half = wi_value(args, &wi_half_option);
    const char *const tolerance = wi_value(args, &wi_symmetry_tolerance_option);
    wi_reading how = {.storage = WEFT_SYMMETRIC_FULL, .command = true};
    if (half)
        how.storage =
            strcmp(half, "lower") == 0 ? WEFT_SYMMETRIC_USE_LOWER : WEFT_SYMMETRIC_USE_UPPER;
    if (tolerance) {
        wi_read_element(WEFT_F64, tolerance, &how.symmetry_tolerance);
        how.symmetry_tolerance = how.symmetry_tolerance > 0 ? how.symmetry_tolerance : -1;
    }
    return how;
}

wi_exit wi_load_matrix(const wi_arguments *args, weft_context *ctx, weft_sparse **matrix) {
    FILE *file;
    const wi_reading how = meaning(args);
    const wi_exit result = wi_open_input(args, args->operand[0], "Matrix Market file", &file);
    if (result != WI_EXIT_OK)
        return result;
    const weft_status status =
        wi_sparse_read(ctx, args->command->name, file, wi_matrix_name(args), &how, matrix);
    wi_close_input(file);
    return status == WEFT_OK ? WI_EXIT_OK : wi_session_failed(ctx);
}

void wi_print_asymmetry(FILE *to, const weft_sparse *matrix) {
    const double asymmetry = weft_sparse_asymmetry(matrix);
    if (asymmetry > 0)
        wi_print_line(to, WI_BEHIND_LABEL,
                      "symmetry  halves differ by %.2g of their size at most; their mean is taken",
                      asymmetry);
}

wi_exit wi_factor_failed(const wi_arguments *args, weft_status status, const weft_context *ctx,
                         const weft_chol *plan) {
    const char *const call = args->command->name, *const name = wi_matrix_name(args);
    double pivot;
    if (status != WEFT_ENOTSPD && status != WEFT_ESINGULAR && status != WEFT_ENONFINITE)
        return wi_session_failed(ctx);
    if (weft_rank(ctx) > 0)
        return WI_EXIT_FAILED; /* rank 0 says the same */
    const long long column = (long long)wi_chol_failed(plan, &pivot) + 1;
    if (status == WEFT_ENOTSPD)
        wi_say_error("%s: %s is not %s: elimination leaves %.9g on the diagonal of "
                     "column %lld, counted from 1; --kind indefinite solves any symmetric matrix",
                     call, name,
                     plan->kind == WEFT_CHOL_DEFINITE ? "positive definite" : "quasi-definite",
                     pivot, column);
    else if (status == WEFT_ESINGULAR && wi_chol_has_d(plan))
        wi_say_error("%s: %s has no pivot for column %lld, counted from 1; --kind indefinite "
                     "solves it if it is not singular",
                     call, name, column);
    else if (status == WEFT_ESINGULAR)
        wi_say_error("%s: %s is singular: but for rounding column %lld, counted from 1, is a "
                     "combination of others; no system with it has just one solution",
                     call, name, column);
    else
        wi_say_error("%s: %s: numbers of its factor grow beyond what a double can hold at column "
                     "%lld, counted from 1; scale the matrix",
                     call, name, column);
    return WI_EXIT_FAILED;
}
