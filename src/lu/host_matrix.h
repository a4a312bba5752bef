/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices in host memory that do not fit the memory of a GPU: their panels come there one after
 * another. */
#ifndef WI_HOST_MATRIX_H
#define WI_HOST_MATRIX_H

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A matrix in host memory, as the call describes it. */
typedef struct wi_host_matrix {
    const char *call;
    weft_type type;
    bool by_rows;
    size_t m, n;
    void *a;
    size_t lda;
} wi_host_matrix;

/* A triangle of such a matrix: rows and columns 0 ... n - 1 of it. */
typedef struct wi_host_triangle {
    wi_host_matrix matrix;
    bool upper, unit, transposed;
} wi_host_triangle;

#ifdef WEFT_CUDA

/* Do `bytes` bytes fit the memory that a call may take of a GPU? Always true on a cpu. */
bool wi_fits_device(const weft_context *ctx, double bytes);

/* X = op(T) \ X, of nrhs columns in memory of the place. On a GPU, between wi_gpu_enter and
 * wi_gpu_leave. */
weft_status wi_host_triangle_solve(weft_context *ctx, const wi_host_triangle *t, size_t nrhs,
                                   void *x, size_t ldx);

#else

static inline bool wi_fits_device(const weft_context *ctx, double bytes) {
    (void)ctx;
    (void)bytes;
    return true;
}
static inline weft_status wi_host_triangle_solve(weft_context *ctx, const wi_host_triangle *t,
                                                 size_t nrhs, void *x, size_t ldx) {
    (void)nrhs;
    (void)x;
    (void)ldx;
    return wi_fail(ctx, WEFT_EUNSUPPORTED, "%s: this build has no CUDA", t->matrix.call);
}

#endif

/* Is it in host memory, and does a GPU not hold `copies` of it? */
static inline bool wi_wants_streaming(const weft_context *ctx, const wi_host_matrix *a,
                                      int copies) {
    const double bytes = (double)a->m * (double)a->n * (double)weft_type_size(a->type);
    return !wi_fits_device(ctx, bytes * copies) && !wi_is_device(ctx, a->a);
}

#ifdef __cplusplus
}
#endif
#endif
