/* SPDX-License-Identifier: Apache-2.0 */
/* The first k on a cpu, if k is small. */
#ifndef WI_SORT_FEW_H
#define WI_SORT_FEW_H

#include "sort/sort.h"

/* The rung; args is a wi_top_k_args. */
weft_status wi_top_k_blocks(weft_context *ctx, const void *args);

/* Does rung `counted` guess the k-th key from samples? */
bool wi_top_k_is_guessed(const wi_top_k_args *args);

#endif
