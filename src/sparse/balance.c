/* SPDX-License-Identifier: Apache-2.0 */
/* Scaling, for matrices with numbers near the limits of double, and for L D Lt of matrices whose
 * columns differ much in size: T A T is factored instead of A, where T is diagonal and consists of
 * powers of two, so that nothing is rounded. Other matrices are not scaled. */
#include <math.h>
#include <string.h>

#include "sparse/chol_device.h"

/* If the diagonal is between this and its reciprocal, products and quotients of the numbers of A,
 * L, b and x stay in the range of double. */
static const double most_diagonal = 0x1p200;

/* The same for an L of floats. */
static const double most_narrow = 0x1p40;

static double limit_of(const weft_chol *plan) {
    return plan->narrow ? most_narrow : most_diagonal;
}

bool wi_chol_is_extreme(const weft_chol *plan, double least, double most) {
    return least < 1 / limit_of(plan) || most > limit_of(plan);
}

/* Is a number on the diagonal outside of 1 / limit ... limit? Only the diagonal is read: in a
 * positive definite matrix no entry is larger than the largest on the diagonal. */
static bool is_extreme(const weft_sparse *matrix, double limit) {
    double least = limit, most = 0;
    if (wi_within((size_t)matrix->start[matrix->cols], matrix->value, 1 / limit, limit))
        return false;
    for (size_t j = 0; j < matrix->cols; j++) {
        const double d = wi_sparse_diagonal(matrix, (int64_t)j);
        least = d > 0 && d < least ? d : least;
        most = d > most ? d : most;
    }
    return least < 1 / limit || most > limit;
}

/* ---- scaling so that the largest entries of all columns are near 1 ---- */

/* The most that the largest entries of columns may differ in an indefinite matrix that is factored
 * as it is: a power of two. */
static const int most_apart = 8;

/* ilogb of a number that is not 0; inline for normal ones. */
static int32_t exponent_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int32_t biased = (int32_t)(bits >> 52 & 0x7FF);
    return biased > 0 && biased < 0x7FF ? biased - 1023 : ilogb(x);
}

/* most[j] = the exponent of the largest entry of column j of the scaled matrix; INT32_MIN if it is
 * 0. */
static void find_exponents(const weft_sparse *matrix, const int32_t *power, int32_t *most) {
    for (size_t j = 0; j < matrix->cols; j++)
        most[j] = INT32_MIN;
    for (size_t j = 0; j < matrix->cols; j++) {
        for (int64_t k = matrix->start[j]; k < matrix->start[j + 1]; k++) {
            const int64_t i = matrix->row[k];
            if (matrix->value[k] == 0)
                continue;
            const int32_t size = exponent_of(matrix->value[k]) + power[i] + power[j];
            most[i] = size > most[i] ? size : most[i];
            most[j] = size > most[j] ? size : most[j];
        }
    }
}

/* Each step takes the square root of every column's largest entry from its row and its column
 * (Ruiz 2001); after a few, all are between 1/2 and 4. */
void wi_equilibrate(const weft_sparse *matrix, int32_t *power, int32_t *most) {
    enum {
        MOST_STEPS = 8
    };
    bool changed = true;
    for (size_t j = 0; j < matrix->cols; j++)
        power[j] = 0;
    for (int step = 0; step < MOST_STEPS && changed; step++) {
        changed = false;
        find_exponents(matrix, power, most);
        for (size_t j = 0; j < matrix->cols; j++) {
            const int32_t half = most[j] == INT32_MIN ? 0 : (int32_t)floor((most[j] + 1) / 2.0);
            power[j] -= half;
            changed |= half != 0;
        }
    }
}

bool wi_chol_is_uneven(const weft_chol *plan, int least, int most) {
    const int limit = ilogb(limit_of(plan));
    return most - least > most_apart || least < -limit || most > limit;
}

/* Do the largest entries of the columns differ much, or is one near the limits? */
static bool is_uneven(const weft_chol *plan, const weft_sparse *matrix, int32_t *power,
                      int32_t *most) {
    int32_t low = INT32_MAX, high = INT32_MIN;
    for (size_t j = 0; j < matrix->cols; j++)
        power[j] = 0;
    find_exponents(matrix, power, most);
    for (size_t j = 0; j < matrix->cols; j++) {
        low = most[j] != INT32_MIN && most[j] < low ? most[j] : low;
        high = most[j] > high ? most[j] : high;
    }
    return low <= high && wi_chol_is_uneven(plan, low, high);
}

/* ---- the plan's matrix ---- */

size_t wi_balance_bytes(const weft_chol *plan) {
    return plan->report.nnz_a * sizeof(double) +
           2 * (size_t)plan->symbolic.n * sizeof(*plan->numbers.balance.power);
}

weft_status wi_balance_reserve(weft_context *ctx, const char *call, weft_chol *plan) {
    wi_numbers *const numbers = &plan->numbers;
    const size_t bytes = wi_balance_bytes(plan);
    if (numbers->scaled)
        return WEFT_OK;
    numbers->scaled = wi_host_alloc(bytes);
    if (!numbers->scaled)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "%s: no memory for %zu bytes, the matrix scaled; free some", call, bytes);
    numbers->scaled_bytes = bytes;
    return WEFT_OK;
}

/* The memory of solves, which is free during a factorization. */
static int32_t *room_of(const weft_context *ctx, const weft_chol *plan) {
    return ctx->kind == WI_CUDA ? (void *)wi_chol_device_room(plan, 1).y
                                : (void *)plan->numbers.solve;
}

/* Does the matrix have to be scaled? What finds out for L D Lt borrows `room`; for L Lt on a GPU,
 * the values are sent there. */
static weft_status find_scaling(weft_context *ctx, const weft_chol *plan, const weft_sparse *matrix,
                                int32_t *room, bool *scaled) {
    const double limit = limit_of(plan);
    double facts[WI_VALUE_FIGURES];
    if (wi_chol_has_d(plan))
        *scaled = is_uneven(plan, matrix, room, room + matrix->cols);
    else if (ctx->kind != WI_CUDA || plan->report.nnz_a == 0)
        *scaled = is_extreme(matrix, limit);
    else {
        const weft_status status = wi_chol_device_send(ctx, plan, matrix, facts);
        if (status != WEFT_OK)
            return status;
        *scaled =
            wi_chol_is_extreme(plan, facts[WI_VALUE_DIAGONAL_LEAST], facts[WI_VALUE_DIAGONAL_MOST]);
        plan->device->sent = !*scaled;
    }
    return WEFT_OK;
}

/* Values that are only on a device have been looked at there. */
weft_status wi_chol_balance(weft_context *ctx, const char *call, weft_chol *plan,
                            const weft_sparse *matrix) {
    wi_numbers *const numbers = &plan->numbers;
    int32_t *const room = room_of(ctx, plan);
    bool scaled = false;
    weft_status status = WEFT_OK;
    if (matrix->value)
        status = find_scaling(ctx, plan, matrix, room, &scaled);
    if (status != WEFT_OK || !scaled) {
        numbers->balance.scaled = false;
        return status;
    }
    status = wi_balance_reserve(ctx, call, plan);
    if (status != WEFT_OK)
        return status;
    wi_numbers_note_peak(plan);
    int32_t *const first = (int32_t *)(numbers->scaled + plan->report.nnz_a);
    int32_t *const power = numbers->balance.power == first ? first + matrix->cols : first;
    if (wi_chol_has_d(plan))
        wi_equilibrate(matrix, power, room);
    for (size_t j = 0; j < matrix->cols && !wi_chol_has_d(plan); j++) {
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
