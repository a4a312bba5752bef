/* SPDX-License-Identifier: Apache-2.0 */
/* The teaching rung: three kernels a column, for the whole matrix. */
#include "lu/lu_cuda.cuh"

weft_status wi_lu_three_kernels(weft_context *ctx, const void *args) {
    const wi_lu_args *const a = (const wi_lu_args *)args;
    const wi_lu_panel panel = {a, 0, a->m < a->n ? a->m : a->n};
    const weft_status status = wi_lu_clear_words(ctx, a);
    return status == WEFT_OK ? wi_lu_factor_by_columns(ctx, &panel, {0, a->n}) : status;
}
