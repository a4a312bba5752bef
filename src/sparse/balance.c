/* SPDX-License-Identifier: Apache-2.0 */
/* Scaling, for matrices with numbers near the limits of double: T A T is factored instead of A,
 * where T is diagonal and consists of powers of two, so that nothing is rounded. Other matrices are
 * not scaled. */
#include <math.h>

#include "sparse/chol.h"

/* If the diagonal is between these, products and quotients of the numbers of A, L, b and x stay in
 * the range of double. */
static const double least_diagonal = 0x1p-200, most_diagonal = 0x1p200;

/* Is a number on the diagonal outside the range? Only the diagonal is read: in a positive definite
 * matrix no entry is larger than the largest on the diagonal. */
static bool is_extreme(const weft_sparse *matrix) {
    double least = most_diagonal, most = 0;
    if (wi_within((size_t)matrix->start[matrix->cols], matrix->value, least_diagonal,
                  most_diagonal))
        return false;
    for (size_t j = 0; j < matrix->cols; j++) {
        const double d = wi_sparse_diagonal(matrix, (int64_t)j);
        least = d > 0 && d < least ? d : least;
        most = d > most ? d : most;
    }
    return least < least_diagonal || most > most_diagonal;
}

static weft_status take_room(weft_context *ctx, const char *call, weft_chol *plan) {
    wi_numbers *const numbers = &plan->numbers;
    const size_t bytes = plan->report.nnz_a * sizeof(double) +
                         2 * (size_t)plan->symbolic.n * sizeof(*numbers->balance.power);
    if (numbers->scaled)
        return WEFT_OK;
    numbers->scaled = wi_host_alloc(bytes);
    if (!numbers->scaled)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "%s: no memory for %zu bytes, the matrix scaled; free some", call, bytes);
    numbers->scaled_bytes = bytes;
    wi_numbers_note_peak(plan);
    return WEFT_OK;
}

weft_status wi_chol_balance(weft_context *ctx, const char *call, weft_chol *plan,
                            const weft_sparse *matrix) {
    wi_numbers *const numbers = &plan->numbers;
    if (!is_extreme(matrix)) {
        numbers->balance.scaled = false;
        return WEFT_OK;
    }
    const weft_status status = take_room(ctx, call, plan);
    if (status != WEFT_OK)
        return status;
    int32_t *const first = (int32_t *)(numbers->scaled + plan->report.nnz_a);
    int32_t *const power = numbers->balance.power == first ? first + matrix->cols : first;
    for (size_t j = 0; j < matrix->cols; j++) {
        const double d = wi_sparse_diagonal(matrix, (int64_t)j);
        power[j] = d > 0 ? -(int32_t)floor(ilogb(d) / 2.0) : 0;
    }
    numbers->balance = (wi_balance){.scaled = true, .power = power};
    return WEFT_OK;
}

const weft_sparse *wi_chol_balanced(const weft_chol *plan, const weft_sparse *matrix,
                                    weft_sparse *room) {
    const int32_t *const power = plan->numbers.balance.power;
    double *const scaled = plan->numbers.scaled;
    if (!plan->numbers.balance.scaled)
        return matrix;
    for (size_t j = 0; j < matrix->cols; j++) {
        for (int64_t k = matrix->start[j]; k < matrix->start[j + 1]; k++)
            scaled[k] = ldexp(matrix->value[k], power[j] + power[matrix->row[k]]);
    }
    *room = *matrix;
    room->value = scaled;
    return room;
}
