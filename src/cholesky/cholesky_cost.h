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
    WI_CHOLESKY_AHEAD = 256, /* columns of the smallest blocks beside a product */
    WI_CHOLESKY_TAIL = 6144  /* columns that are left to `flow` alone, at most; of f32 fewer */
};

/* The columns of a block when so many are left: `least` or a few times as many, and no more than a
 * sixth of them; all of them if they are not more than `tail`, of f32 a part of it. */
size_t wi_cholesky_block_width(weft_type type, size_t left, size_t least, size_t tail);

/* How many multiprocessors are to be left to the side lane, which makes `columns` of a matrix of
 * order `order` columns of L by steps, while the others do this product. */
unsigned wi_cholesky_side_units(const weft_context *ctx, const wi_syrk_args *product, size_t order,
                                size_t columns);

/* The costs of rungs: `seconds` of a wi_row. */
double wi_cholesky_panels_seconds(const weft_context *ctx, const void *args);
double wi_cholesky_steps_seconds(const weft_context *ctx, const void *args);
double wi_cholesky_flow_seconds(const weft_context *ctx, const void *args);
double wi_cholesky_overlapped_seconds(const weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
