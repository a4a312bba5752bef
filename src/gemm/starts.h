/* SPDX-License-Identifier: Apache-2.0 */
/* What calls on matrices and vectors over ranks share: who has which rows and columns, and vectors
 * of which each rank has a part. Vectors go through host memory: they are small beside matrices. */
#ifndef WI_GEMM_STARTS_H
#define WI_GEMM_STARTS_H

#include <stddef.h>

#include "comm/dist.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Two extents of a call, of which rank r has m[r] ... m[r + 1] - 1 and n[r] ... n[r + 1] - 1. */
typedef struct wi_starts {
    size_t *m, *n;       /* NULL: not asked */
    size_t *sent, *come; /* room for a count of each rank */
} wi_starts;

/* Begins a call over ranks, before its arrays are checked: all learn whether all are well, which
 * `status` says of this one, and what each passes. wi_starts_give frees what was taken, also after
 * a failure. Collective. */
weft_status wi_starts_join(weft_context *ctx, const char *name, size_t m, size_t n,
                           weft_status status, wi_starts *starts);
/* The same where all have the whole: even parts of both. Not collective. */
weft_status wi_starts_even(weft_context *ctx, size_t m, size_t n, wi_starts *starts);
void wi_starts_give(wi_starts *starts);

static inline size_t wi_starts_all(const weft_context *ctx, const size_t *starts) {
    return starts[ctx->comm->size];
}
static inline size_t wi_starts_count(const size_t *starts, int rank) {
    return starts[rank + 1] - starts[rank];
}

/* A part of a vector, with strides as in BLAS. */
typedef struct wi_vector_part {
    weft_type type;
    const void *p;
    size_t n;
    ptrdiff_t inc;
} wi_vector_part;

/* Elements first ... first + n - 1 of it. */
wi_vector_part wi_vector_some(const wi_vector_part *v, size_t first, size_t n);
/* Copies it to host memory, element after element; or back. */
weft_status wi_vector_fetch(weft_context *ctx, const wi_vector_part *v, void *host);
weft_status wi_vector_put(weft_context *ctx, const wi_vector_part *v, void *host);
/* whole = the vector of all ranks, to be freed by wi_host_free. Rank r has the part that `starts`
 * says, and this one has it in v. Collective. */
weft_status wi_vector_gather(weft_context *ctx, const wi_vector_part *v, const size_t *starts,
                             size_t *counts, void **whole);

#ifdef __cplusplus
}
#endif
#endif
