/* SPDX-License-Identifier: Apache-2.0 */
/* LU of matrices that have been mixed. */
#ifndef WI_LU_WINDOW_H
#define WI_LU_WINDOW_H

#include "lu/lu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* On a GPU whose wi_lu_cluster_width is not 0, of a square matrix of f32 whose elements are at most
 * about 2^power: pivots are the largest of some hundred rows below the diagonal, and exchanges are
 * among these. So L may have large elements. */
weft_status wi_lu_factor_window(weft_context *ctx, const wi_lu_args *args, int power);

#ifdef __cplusplus
}
#endif
#endif
