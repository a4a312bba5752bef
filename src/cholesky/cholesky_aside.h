/* SPDX-License-Identifier: Apache-2.0 */
/* How `ranks` gets its columns, and gives them back. On place gpus they come while the first block
 * is factored and multiplied, and those of a block go back when all have their message; else all
 * are dealt out before, and go back after. */
#ifndef WI_CHOLESKY_ASIDE_H
#define WI_CHOLESKY_ASIDE_H

#include "lu/cyclic.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wi_cholesky_aside {
    wi_cyclic *c;
    bool is_aside; /* on the side lane of this rank's GPU, which may still have work when it ends */
    size_t brought; /* own blocks that come already */
    bool reserved;  /* memory for products */
} wi_cholesky_aside;

/* Block 0 has its first rank's columns when this is done. Collective. */
weft_status wi_cholesky_deal(wi_cholesky_aside *a);
/* Before the first product with this rank's block number `own`. */
weft_status wi_cholesky_await(wi_cholesky_aside *a, size_t own);
/* All have the message about block k. */
weft_status wi_cholesky_give(const wi_cholesky_aside *a, size_t k);
/* What has not gone back goes. Collective. */
weft_status wi_cholesky_return(const wi_cholesky_aside *a);

/* What steps need on a GPU, so that none lacks memory when columns have gone back already; may fail
 * on one rank alone. Before columns go back otherwise than aside it is released. */
weft_status wi_cholesky_reserve(wi_cholesky_aside *a);
void wi_cholesky_release(wi_cholesky_aside *a);

#ifdef __cplusplus
}
#endif
#endif
