/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPU factors which part of the tree. Internal. */
#ifndef WI_SPARSE_SPREAD_H
#define WI_SPARSE_SPREAD_H

#include "sparse/symbolic.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_SPREAD_MOST_GPUS = 16
};

/* Columns begin ... end - 1 of L: supernodes that follow each other and are of one GPU, or of the
 * top. */
typedef struct wi_spread_run {
    int64_t begin, end;
    int gpu; /* or WI_TOP */
} wi_spread_run;

/* Subtrees are dealt to GPUs; what is above them, the top, is the first GPU's, which the others
 * help with large fronts. */
typedef struct wi_spread {
    int gpus;
    int64_t runs;
    wi_spread_run *run; /* this pointer owns the memory */
    int8_t *owner;      /* of each supernode */
    double share;       /* the time that is foreseen, in that of one GPU */
    bool reach;         /* the GPUs reach each other's memory */
} wi_spread;

/* Deals subtrees to so many GPUs, if that pays; else *spread has one GPU, and no memory. May they
 * factor fronts of the top `together`? `least` is the work from which it may pay; 0, for tests:
 * copies count for nothing, and any gain will do. The same on every run. */
weft_status wi_spread_make(weft_context *ctx, const char *call, const wi_symbolic *symbolic,
                           int gpus, bool together, double least, wi_spread *spread);
void wi_spread_free(wi_spread *spread);

#ifdef __cplusplus
}
#endif
#endif
