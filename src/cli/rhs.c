/* SPDX-License-Identifier: Apache-2.0 */
/* Right-hand sides for `weft solve`. */
#include "cli/rhs.h"

#include <math.h>
#include <string.h>

#include "cli/table_file.h"
#include "cli/text.h"
#include "sparse/sparse.h"

const wi_option wi_rhs_option = {.name = "rhs",
                                 .letter = 'b',
                                 .value = "FILE",
                                 .help =
                                     "right-hand sides: .npy, .csv or .mtx; default A times ones",
                                 .file = WI_FILE_READ};

wi_exit wi_rhs_take(const wi_arguments *args, size_t n, size_t count, bool flat, wi_rhs *rhs) {
    size_t entries, bytes;
    *rhs = (wi_rhs){.n = n, .count = count, .flat = flat};
    if (!__builtin_mul_overflow(n, count, &entries) &&
        !__builtin_mul_overflow(entries, sizeof *rhs->value, &bytes))
        rhs->value = wi_host_alloc(bytes);
    if (rhs->value)
        return WI_EXIT_OK;
    wi_say_error("%s: no memory for %zu right-hand sides of %zu numbers", args->command->name,
                 count, n);
    return WI_EXIT_FAILED;
}

static wi_exit wrong_rows(const wi_arguments *args, size_t rows, size_t n) {
    wi_say_error("%s: %s has %zu row%s, but the matrix %zu; a right-hand side has one number for "
                 "each unknown",
                 args->command->name, wi_value(args, &wi_rhs_option), rows, wi_plural(rows), n);
    return WI_EXIT_FAILED;
}

/* Copies the elements of an array to columns of doubles. */
static void copy_array(const wi_npy *array, wi_rhs *rhs) {
    const wi_npy_layout *const layout = &array->layout;
    const bool by_columns = layout->fortran_order || rhs->count == 1;
    const size_t size = weft_type_size(layout->type);
    for (size_t j = 0; j < rhs->count; j++) {
        for (size_t i = 0; i < rhs->n; i++) {
            const size_t from = by_columns ? i + j * rhs->n : i * rhs->count + j;
            rhs->value[i + j * rhs->n] =
                wi_element_value(layout->type, (const char *)array->data + from * size);
        }
    }
}

static wi_exit load_array(const wi_arguments *args, FILE *file, bool text, const char *name,
                          size_t n, wi_rhs *rhs) {
    static const weft_type f64 = WEFT_F64;
    wi_note note = {""};
    wi_npy array = {.data = NULL};
    const wi_npy_layout *const layout = &array.layout;
    wi_exit result = WI_EXIT_FAILED;
    const weft_status status = text ? wi_table_load(file, name, NULL, &f64, false, &array, &note)
                                    : wi_npy_read(file, name, NULL, &array, &note);
    if (status != WEFT_OK)
        wi_say_error("%s", note.text);
    else if (layout->dims < 1 || layout->dims > 2)
        wi_say_error("%s: %s has %zu dimensions; a right-hand side is one column, or a matrix of "
                     "columns",
                     args->command->name, name, layout->dims);
    else if (layout->shape[0] != n)
        result = wrong_rows(args, layout->shape[0], n);
    else
        result =
            wi_rhs_take(args, n, layout->dims == 2 ? layout->shape[1] : 1, layout->dims == 1, rhs);
    if (result == WI_EXIT_OK)
        copy_array(&array, rhs);
    wi_npy_free(&array);
    return result;
}

/* Entries that a symmetric matrix does not store are in its other triangle, mirrored. */
static void copy_matrix(const weft_sparse *matrix, wi_rhs *rhs) {
    const int64_t *const start = weft_sparse_starts(matrix);
    const int64_t *const row = weft_sparse_row_indices(matrix);
    const double *const value = weft_sparse_values(matrix);
    memset(rhs->value, 0, rhs->n * rhs->count * sizeof *rhs->value);
    for (size_t j = 0; j < rhs->count; j++) {
        for (int64_t k = start[j]; k < start[j + 1]; k++) {
            const size_t i = (size_t)row[k];
            rhs->value[i + j * rhs->n] = value[k];
            if (weft_sparse_is_symmetric(matrix))
                rhs->value[j + i * rhs->n] = value[k];
        }
    }
}

static wi_exit load_matrix(const wi_arguments *args, weft_context *ctx, FILE *file,
                           const char *name, size_t n, wi_rhs *rhs) {
    const wi_reading how = {.storage = WEFT_GENERAL, .command = true};
    weft_sparse *matrix;
    wi_exit result;
    if (wi_sparse_read(ctx, args->command->name, file, name, &how, &matrix) != WEFT_OK)
        return wi_session_failed(ctx);
    if (weft_sparse_rows(matrix) != n)
        result = wrong_rows(args, weft_sparse_rows(matrix), n);
    else
        result = wi_rhs_take(args, n, weft_sparse_cols(matrix), weft_sparse_cols(matrix) == 1, rhs);
    if (result == WI_EXIT_OK)
        copy_matrix(matrix, rhs);
    weft_sparse_destroy(matrix);
    return result;
}

/* Refuses numbers that are not finite now, not after the factorization. */
static wi_exit check_finite(const wi_arguments *args, const char *name, const wi_rhs *rhs) {
    for (size_t k = 0; k < rhs->n * rhs->count; k++) {
        if (!isfinite(rhs->value[k])) {
            wi_say_error("%s: %s holds %g in row %zu of column %zu, counted from 1; right-hand "
                         "sides have to be finite",
                         args->command->name, name, rhs->value[k], k % rhs->n + 1, k / rhs->n + 1);
            return WI_EXIT_FAILED;
        }
    }
    return WI_EXIT_OK;
}

wi_exit wi_rhs_load(const wi_arguments *args, weft_context *ctx, size_t n, wi_rhs *rhs) {
    const char *const path = wi_value(args, &wi_rhs_option);
    const char *const name = wi_input_name(path);
    FILE *file;
    wi_exit result = wi_open_input(args, path, ".npy, .csv or Matrix Market file", &file);
    if (result != WI_EXIT_OK)
        return result;
    const int first = getc(file);
    if (first != EOF)
        ungetc(first, file);
    const bool text = wi_is_table_name(path) && first != '%'; /* that begins Matrix Market */
    result = first == WI_NPY_FIRST || text ? load_array(args, file, text, name, n, rhs)
                                           : load_matrix(args, ctx, file, name, n, rhs);
    wi_close_input(file);
    return result == WI_EXIT_OK ? check_finite(args, name, rhs) : result;
}

wi_exit wi_rhs_of_ones(const wi_arguments *args, weft_context *ctx, const weft_sparse *matrix,
                       wi_rhs *rhs, wi_rhs *rounding) {
    const size_t n = weft_sparse_rows(matrix);
    wi_rhs ones;
    wi_exit result = wi_rhs_take(args, n, 1, true, &ones);
    if (result == WI_EXIT_OK)
        result = wi_rhs_take(args, n, 1, true, rhs);
    if (result == WI_EXIT_OK)
        result = wi_rhs_take(args, n, 1, true, rounding);
    if (result == WI_EXIT_OK) {
        for (size_t i = 0; i < n; i++)
            ones.value[i] = 1;
        /* all of it, on each rank */
        wi_sparse_multiply(ctx, matrix, (wi_own_rows){0, n}, ones.value, rhs->value);
        result = check_finite(args, "A times ones", rhs);
    }
    if (result == WI_EXIT_OK)
        result = check_finite(args, "b = A 1", rhs);
    if (result == WI_EXIT_OK) {
        const wi_residual_args left = {.matrix = matrix,
                                       .n = 1,
                                       .x = ones.value,
                                       .ldx = n,
                                       .b = rhs->value,
                                       .ldb = n,
                                       .r = rounding->value,
                                       .ldr = n,
                                       .extended = true};
        wi_sparse_residual(ctx, &left);
    }
    wi_rhs_free(&ones);
    return result;
}

wi_npy wi_rhs_as_array(const wi_rhs *rhs) {
    const wi_npy_layout layout = {.type = WEFT_F64,
                                  .fortran_order = !rhs->flat,
                                  .dims = rhs->flat ? 1 : 2,
                                  .shape = {rhs->n, rhs->count},
                                  .count = rhs->n * rhs->count};
    return (wi_npy){.layout = layout, .data = rhs->value};
}

void wi_rhs_free(wi_rhs *rhs) {
    wi_host_free(rhs->value);
    *rhs = (wi_rhs){.value = NULL};
}
