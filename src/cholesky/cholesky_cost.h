/* SPDX-License-Identifier: Apache-2.0 */
/* What the steps of cholesky cost on a GPU, for the choice of a rung and of blocks. */
#ifndef WI_CHOLESKY_COST_H
#define WI_CHOLESKY_COST_H

#include "cholesky/cholesky.h"
#include "gemm/syrk.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_CHOLESKY_WIDTH = 1024, /* columns of a block; of f64 twice as many */
    WI_CHOLESKY_TAIL = 4096,  /* those left to `flow` alone, at most; of f64 twice as many */
    WI_CHOLESKY_CHAIN = 16    /* tiles of 64 of a matrix whose chain is a cluster's, at most */
};

/* The columns of a block when so many are left: `width`, or fewer if that is more than a fourth of
 * them; all of them if they are not more than `tail`. Of f64 twice as many. */
size_t wi_cholesky_block_width(weft_type type, size_t left, size_t width, size_t tail);

/* The costs of rungs: `seconds` of a wi_row. */
double wi_cholesky_panels_seconds(const weft_context *ctx, const void *args);
double wi_cholesky_steps_seconds(const weft_context *ctx, const void *args);
double wi_cholesky_flow_seconds(const weft_context *ctx, const void *args);
double wi_cholesky_blocks_seconds(const weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
