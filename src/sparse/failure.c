/* SPDX-License-Identifier: Apache-2.0 */
/* What is read from the diagonal of a factor: why a factorization has failed, with the proof, and
 * the determinant. */
#include <math.h>

#include "core/call.h"
#include "sparse/chol_device.h"
#include "sparse/ranks.h"

/* The supernode of column k. */
static int64_t supernode_of(const wi_symbolic *symbolic, int64_t k) {
    int64_t low = 0, high = symbolic->supernodes;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (symbolic->first[middle] <= k)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The entry (k, k) of L, or of D, or the pivot if it failed there. */
static double diagonal(const weft_chol *plan, int64_t s, int64_t k) {
    if (wi_chol_has_d(plan))
        return plan->numbers.pivots.d[k];
    if (plan->on_device)
        return wi_chol_device_entry(plan, k);
    if (plan->numbers.diagonal)
        return plan->numbers.diagonal[k];
    const int64_t j = k - plan->symbolic.first[s];
    return plan->narrow ? wi_chol_narrow_column(plan, s, j)[j] : wi_chol_column(plan, s, j)[j];
}

/* The pivot at which column k failed, in the matrix as factored (scaled or not). */
static double pivot_of(const weft_chol *plan, int64_t k) {
    return diagonal(plan, supernode_of(&plan->symbolic, k), k);
}

/* The caller's column that came to place k: pivots may have been chosen in another order. */
static int64_t column_at(const weft_chol *plan, int64_t k) {
    const wi_symbolic *const symbolic = &plan->symbolic;
    return symbolic->perm[wi_pivots_column(plan, supernode_of(symbolic, k), k)];
}

/* The same in the caller's matrix. */
static double unscaled(const weft_chol *plan, int64_t k, double pivot) {
    return ldexp(pivot, -2 * wi_chol_power(plan, column_at(plan, k)));
}

/* The same as wi_chol_fail for L D Lt. */
static weft_status fail_pivot(weft_context *ctx, const char *call, weft_chol *plan,
                              int64_t column) {
    const double pivot = pivot_of(plan, column), own = unscaled(plan, column, pivot);
    const long long j = (long long)column_at(plan, column);
    if (!isfinite(pivot))
        return wi_fail(ctx, WEFT_ENONFINITE,
                       "%s: numbers of L or D grow beyond what a double can hold at column %lld "
                       "(counted from 0) of the matrix; set options.perturbation",
                       call, j);
    plan->state = WI_CHOL_INDEFINITE;
    if (plan->kind == WEFT_CHOL_QUASIDEFINITE && pivot != 0)
        return wi_fail(ctx, WEFT_ENOTSPD,
                       "%s: matrix is not quasi-definite: the pivot of its column %lld (counted "
                       "from 0) is %g, and its sign was to be %c; correct options.signs, set "
                       "options.perturbation, or ask for WEFT_CHOL_INDEFINITE",
                       call, j, own, plan->numbers.pivots.signs[column] < 0 ? '-' : '+');
    return wi_fail(
        ctx, WEFT_ESINGULAR,
        "%s: matrix has no pivot for its column %lld (counted from 0): %g is left on the "
        "diagonal, and no more beside it that could be chosen; set "
        "options.perturbation",
        call, j, own);
}

weft_status wi_chol_fail(weft_context *ctx, const char *call, weft_chol *plan, int64_t column) {
    const double pivot = pivot_of(plan, column);
    const long long j = (long long)plan->symbolic.perm[column];
    plan->failed = column;
    if (wi_chol_has_d(plan))
        return fail_pivot(ctx, call, plan, column);
    if (!isfinite(pivot))
        return wi_fail(ctx, WEFT_ENONFINITE,
                       "%s: numbers of L grow beyond what a double can hold at column %lld "
                       "(counted from 0) of the matrix: its entries are too large for its "
                       "diagonal; it is not positive definite",
                       call, j);
    plan->state = WI_CHOL_INDEFINITE;
    return wi_fail(ctx, WEFT_ENOTSPD,
                   "%s: matrix is not positive definite: the pivot of its column %lld (counted "
                   "from 0) is %g; weft_chol_direction has the proof",
                   call, j, unscaled(plan, column, pivot));
}

/* Is y = A d within rounding of 0: does a change of each a[i][j] by at most 2^-40 sqrt(a[i][i]
 * a[j][j]) make it 0? (The factorization of random low-rank matrices loses nearly that much, never
 * more.) */
static bool is_rounding(const weft_sparse *a, const double *d, const double *y) {
    static const double rounding = 0x1p-40;
    double size = 0;
    for (size_t j = 0; j < a->cols; j++)
        size += sqrt(fabs(wi_sparse_diagonal(a, (int64_t)j))) * fabs(d[j]);
    for (size_t i = 0; i < a->rows; i++) {
        if (!(fabs(y[i]) <= rounding * sqrt(fabs(wi_sparse_diagonal(a, (int64_t)i))) * size))
            return false;
    }
    return true;
}

/* The same for a matrix that may be indefinite, relative to its largest entry. */
static bool is_rounding_of(const weft_sparse *a, const double *d, const double *y) {
    static const double rounding = 0x1p-36;
    return wi_largest(a->rows, y) <=
           rounding * wi_largest((size_t)a->start[a->cols], a->value) * wi_largest(a->cols, d);
}

/* Does the direction of column k (see weft_chol_direction), computed from what the failed
 * factorization left, show that the matrix is singular? */
static bool is_null_direction(weft_context *ctx, const wi_chol_args *args, int64_t k) {
    const weft_chol *const plan = args->plan;
    const weft_sparse *const a = args->matrix;
    const wi_solve_room room = wi_solve_room_of(plan, 1);
    if (wi_chol_direction(ctx, plan, supernode_of(&plan->symbolic, k), k) != WEFT_OK)
        return false;
    for (size_t j = 0; j < a->cols; j++)
        room.x[plan->symbolic.perm[j]] = room.y[j];
    wi_sparse_multiply(ctx, a, (wi_own_rows){0, a->rows}, room.x, room.y);
    return wi_chol_has_d(plan) ? is_rounding_of(a, room.x, room.y) : is_rounding(a, room.x, room.y);
}

/* The first column in the subtree of the failed column whose pivot is so small relative to its
 * diagonal entry that it may be 0 plus a rounding error; the failed column itself if there is none
 * before. */
static int64_t first_tiny_pivot(const weft_chol *plan, const weft_sparse *a) {
    static const double tiny = 0x1p-40;
    const wi_symbolic *const symbolic = &plan->symbolic;
    const int64_t last = supernode_of(symbolic, plan->failed);
    for (int64_t s = last - symbolic->size[last] + 1; s <= last; s++) {
        for (int64_t k = symbolic->first[s]; k < symbolic->first[s + 1] && k < plan->failed; k++) {
            const double l = diagonal(plan, s, k);
            if (l * l <= tiny * wi_sparse_diagonal(a, symbolic->perm[k]))
                return k;
        }
    }
    return plan->failed;
}

/* A pivot that is not positive may be a 0 with a rounding error, or a consequence of an earlier
 * such pivot that was rounded up. In both cases the direction of the first such column is a null
 * vector, and the matrix is singular. */
static weft_status tell_singular(weft_context *ctx, const wi_chol_args *args) {
    weft_chol *const plan = args->plan;
    int64_t column = plan->failed;
    if (!is_null_direction(ctx, args, column)) {
        if (wi_chol_has_d(plan))
            return WEFT_ESINGULAR;
        column = first_tiny_pivot(plan, args->matrix);
        if (!is_null_direction(ctx, args, column))
            return WEFT_ENOTSPD;
    }
    plan->failed = column;
    return wi_fail(ctx, WEFT_ESINGULAR,
                   "%s: matrix is singular: its column %lld (counted from 0) is a combination of "
                   "others; weft_chol_direction has d with A d = 0 but for rounding",
                   args->call, (long long)column_at(plan, column));
}

weft_status wi_chol_tell_singular(weft_context *ctx, const wi_chol_args *args) {
    weft_sparse own;
    wi_chol_args at_host = *args;
    weft_status status = wi_chol_fetch(ctx, args->call, args->matrix, &own);
    if (status != WEFT_OK)
        return status;
    at_host.matrix = &own;
    status = tell_singular(ctx, &at_host);
    wi_chol_give_back(args->matrix, &own);
    return status;
}

int64_t wi_chol_failed(const weft_chol *plan, double *pivot) {
    *pivot = unscaled(plan, plan->failed, pivot_of(plan, plan->failed));
    return column_at(plan, plan->failed);
}

/* log |det D| for L D Lt, whose L has 1 on the diagonal. */
static double logdet_of_d(const weft_chol *plan) {
    const wi_pivots *const pivots = &plan->numbers.pivots;
    double sum = 0;
    for (int64_t k = 0; k < plan->symbolic.n; k++) {
        const double d = pivots->d[k], e = pivots->e[k];
        sum -= 2 * wi_chol_power(plan, plan->symbolic.perm[k]) * log(2);
        if (pivots->mark[k] == WI_PIVOT_FIRST)
            sum += 2 * log(fabs(e)) + log(fabs(d / e * (pivots->d[k + 1] / e) - 1));
        else if (pivots->mark[k] != WI_PIVOT_SECOND)
            sum += log(fabs(d));
    }
    return sum;
}

double wi_chol_logdet(const weft_chol *plan) {
    double sum = 0;
    if (wi_chol_has_d(plan))
        return logdet_of_d(plan);
    for (int64_t s = 0; s < plan->symbolic.supernodes; s++) {
        for (int64_t k = plan->symbolic.first[s]; k < plan->symbolic.first[s + 1]; k++)
            sum += log(diagonal(plan, s, k)) - wi_chol_power(plan, plan->symbolic.perm[k]) * log(2);
    }
    return 2 * sum;
}

/* What weft_chol_direction checks; `d` has this rank's rows. */
static weft_status check_direction(const weft_context *ctx, weft_context *own, const char *call,
                                   const weft_chol *plan, const double *d, size_t n) {
    weft_status status = wi_over_check_plan(ctx, own, call, plan);
    if (status == WEFT_OK && plan->state != WI_CHOL_INDEFINITE)
        status = wi_fail(own, WEFT_EARG,
                         "%s: plan has met no matrix that is not positive definite in its latest "
                         "factorization; ask after WEFT_ENOTSPD or WEFT_ESINGULAR",
                         call);
    if (status == WEFT_OK)
        status = wi_chol_check_side(own, call, plan);
    return status == WEFT_OK
               ? wi_call_check_one(own, call, wi_elements("d", d, n, WEFT_F64, WI_OUT | WI_HOST))
               : status;
}

/* Scales what was found, in the order of L, back: element i of d. */
static weft_status hand_direction(weft_context *own, const char *call, const weft_chol *plan,
                                  wi_own_rows part, double *d) {
    const double *const found = wi_solve_room_of(plan, 1).y;
    const int power = wi_chol_power(plan, column_at(plan, plan->failed));
    weft_status status = WEFT_OK;
    for (int64_t k = 0; k < plan->symbolic.n; k++) {
        const int64_t i = plan->symbolic.perm[k];
        const double number = ldexp(found[k], wi_chol_power(plan, i) - power);
        if ((size_t)i >= part.first && (size_t)i - part.first < part.n)
            d[(size_t)i - part.first] = number;
        if (!isfinite(number))
            status = wi_fail(own, WEFT_ENONFINITE,
                             "%s: the number of row %lld is too large for a double; scale the "
                             "matrix",
                             call, (long long)i);
    }
    return status;
}

weft_status weft_chol_direction(weft_context *ctx, weft_chol *plan, double *d) {
    static const char call[] = "weft_chol_direction";
    weft_context *own;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_over_enter(ctx, call, &own);
    wi_own_rows part = {0, 0};
    if (plan) {
        plan->over = ctx->comm ? ctx : NULL;
        part = wi_chol_own_rows(plan, NULL);
    }
    if (status == WEFT_OK)
        status = check_direction(ctx, own, call, plan, d, part.n);
    status = wi_over_agree(ctx, own, 0, status);
    if (status == WEFT_OK)
        status =
            wi_chol_direction(own, plan, supernode_of(&plan->symbolic, plan->failed), plan->failed);
    if (status == WEFT_OK)
        status = hand_direction(own, call, plan, part, d);
    if (plan)
        plan->over = NULL;
    return wi_over_leave(ctx, own, status);
}
