/* SPDX-License-Identifier: Apache-2.0 */
/* Small matrices as squares of numbers; see dense.h. */
#include "calls/dense.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

fuzz_dense fuzz_dense_take(fuzz *f, size_t rows, size_t cols) {
    return (fuzz_dense){.rows = rows,
                        .cols = cols,
                        .value = fuzz_take(f, rows * cols * sizeof(double)),
                        .there = fuzz_take(f, rows * cols * sizeof(bool))};
}

weft_sparse *fuzz_make(fuzz *f, const fuzz_dense *a, weft_storage storage) {
    int64_t *const row = fuzz_take(f, a->rows * a->cols * sizeof *row);
    int64_t *const col = fuzz_take(f, a->rows * a->cols * sizeof *col);
    double *const value = fuzz_take(f, a->rows * a->cols * sizeof *value);
    weft_sparse *m = NULL;
    size_t n = 0;
    for (size_t j = 0; j < a->cols; j++) {
        for (size_t i = storage == WEFT_GENERAL ? 0 : j; i < a->rows; i++) {
            if (a->there[fuzz_at(a, i, j)]) {
                row[n] = (int64_t)i;
                col[n] = (int64_t)j;
                value[n++] = a->value[fuzz_at(a, i, j)];
            }
        }
    }
    if (weft_sparse_create_triplets(f->ctx, &m, storage, a->rows, a->cols, n, WEFT_I64, row, col,
                                    value) != WEFT_OK) {
        fail_msg("weft_sparse_create_triplets: %s", weft_message(f->ctx));
    }
    return m;
}

void fuzz_check_matrix(const weft_sparse *m, const fuzz_dense *a, bool symmetric) {
    const int64_t *const start = weft_sparse_starts(m), *const row = weft_sparse_row_indices(m);
    const double *const value = weft_sparse_values(m);
    size_t k = 0;
    if (weft_sparse_rows(m) != a->rows || weft_sparse_cols(m) != a->cols ||
        weft_sparse_is_symmetric(m) != symmetric || start[0] != 0) {
        fail_msg("a matrix of %zu x %zu has other facts", a->rows, a->cols);
    }
    for (size_t j = 0; j < a->cols; j++) {
        for (size_t i = symmetric ? j : 0; i < a->rows; i++) {
            const size_t at = fuzz_at(a, i, j);
            if (!a->there[at]) {
                continue;
            }
            if ((int64_t)k >= start[j + 1] || row[k] != (int64_t)i ||
                !(fabs(value[k] - a->value[at]) <= a->slack * fabs(a->value[at]))) {
                fail_msg("entry %zu is not that of row %zu and column %zu, %g", k, i, j,
                         a->value[at]);
            }
            k++;
        }
        if (start[j + 1] != (int64_t)k) {
            fail_msg("column %zu ends at entry %lld, not %zu", j, (long long)start[j + 1], k);
        }
    }
    if (weft_sparse_entries(m) != k) {
        fail_msg("%zu entries, not %zu", weft_sparse_entries(m), k);
    }
}

void fuzz_path(char path[FUZZ_PATH_BYTES]) {
    const char *const folder = getenv("TMPDIR");
    snprintf(path, FUZZ_PATH_BYTES, "%s/weft-fuzz-%ld", folder ? folder : "/tmp", (long)getpid());
}
