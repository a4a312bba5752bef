/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands on sparse matrices have in common. */
#include "cli/matrix.h"

#include <string.h>

#include "cli/text.h"
#include "sparse/chol.h"

wi_exit wi_check_ordering(const wi_arguments *args) {
    const char *const ordering = args->value[WI_OPT_ORDERING], *list[WI_MAX_WORDS];
    const size_t count = wi_list_words(WI_WORDS_ORDERING, list);
    for (size_t k = 0; k < count; k++) {
        if (!ordering || strcmp(ordering, list[k]) == 0)
            return WI_EXIT_OK;
    }
    return wi_usage_word(args->command, "ordering", ordering, WI_WORDS_ORDERING);
}

const char *wi_matrix_name(const wi_arguments *args) {
    static char shown[WI_PATH_BYTES];
    wi_shown(wi_is_standard(args->operand[0]) ? "standard input" : args->operand[0], shown,
             sizeof shown);
    return shown;
}

/* The entry in row i of column j; 0 if none is held. */
static double entry(const weft_sparse *matrix, int64_t i, int64_t j) {
    int64_t low = matrix->start[j], high = matrix->start[j + 1];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (matrix->row[middle] == i)
            return matrix->value[middle];
        if (matrix->row[middle] < i)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* Says which entry of a square matrix is not its mirror image's. */
static void say_unlike(const wi_arguments *args, const weft_sparse *matrix) {
    const int64_t n = (int64_t)weft_sparse_cols(matrix);
    for (int64_t j = 0; j < n; j++) {
        for (int64_t k = matrix->start[j]; k < matrix->start[j + 1]; k++) {
            const int64_t i = matrix->row[k];
            const double mirrored = entry(matrix, j, i);
            if (matrix->value[k] == mirrored)
                continue;
            wi_say_error("%s: %s is not symmetric: row %lld of column %lld holds %.9g, row %lld of "
                         "column %lld %.9g (counted from 1); a Cholesky factorization needs both "
                         "alike",
                         args->command->name, wi_matrix_name(args), (long long)i + 1,
                         (long long)j + 1, matrix->value[k], (long long)j + 1, (long long)i + 1,
                         mirrored);
            return;
        }
    }
}

static wi_exit check_symmetry(const wi_arguments *args, const weft_sparse *matrix) {
    const size_t rows = weft_sparse_rows(matrix), cols = weft_sparse_cols(matrix);
    if (weft_sparse_is_symmetric(matrix))
        return WI_EXIT_OK;
    if (rows == cols)
        say_unlike(args, matrix);
    else
        wi_say_error("%s: %s is %zu x %zu; a Cholesky factorization needs a square matrix",
                     args->command->name, wi_matrix_name(args), rows, cols);
    return WI_EXIT_FAILED;
}

wi_exit wi_load_matrix(const wi_arguments *args, weft_context *ctx, weft_sparse **matrix) {
    FILE *file;
    const wi_exit result = wi_open_input(args, args->operand[0], "Matrix Market file", &file);
    if (result != WI_EXIT_OK)
        return result;
    const weft_status status =
        wi_sparse_read(ctx, args->command->name, file, wi_matrix_name(args), matrix);
    wi_close_input(file);
    return status == WEFT_OK ? check_symmetry(args, *matrix) : wi_session_failed(ctx);
}

wi_exit wi_not_definite(const wi_arguments *args, const weft_chol *plan) {
    double pivot;
    const long long column = (long long)wi_chol_failed(plan, &pivot);
    wi_say_error("%s: %s is not positive definite: elimination leaves %.9g on the diagonal of "
                 "column %lld, counted from 1; weft solves positive definite systems only",
                 args->command->name, wi_matrix_name(args), pivot, column + 1);
    return WI_EXIT_FAILED;
}
