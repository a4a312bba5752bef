/* SPDX-License-Identifier: Apache-2.0 */
/* OpenBLAS, loaded when it is first asked for: only rungs that show what it does use it, and a
 * program that does not run them should not carry its threads. */
#ifndef WI_BLAS_H
#define WI_BLAS_H

/* The Fortran interface: all by address, column-major. Lengths of strings are left out, as is usual
 * in C: they are 1. */
typedef struct wi_blas {
    void (*dsyrk)(const char *uplo, const char *trans, const int *n, const int *k,
                  const double *alpha, const double *a, const int *lda, const double *beta,
                  double *c, const int *ldc);
    void (*dgemm)(const char *trans_a, const char *trans_b, const int *m, const int *n,
                  const int *k, const double *alpha, const double *a, const int *lda,
                  const double *b, const int *ldb, const double *beta, double *c, const int *ldc);
    void (*sgemm)(const char *trans_a, const char *trans_b, const int *m, const int *n,
                  const int *k, const float *alpha, const float *a, const int *lda, const float *b,
                  const int *ldb, const float *beta, float *c, const int *ldc);
    void (*dtrsm)(const char *side, const char *uplo, const char *trans, const char *diag,
                  const int *m, const int *n, const double *alpha, const double *a, const int *lda,
                  double *b, const int *ldb);
    void (*dpotrf)(const char *uplo, const int *n, double *a, const int *lda, int *info);
    void (*set_threads)(int threads);
    int (*get_threads)(void);
} wi_blas;

/* NULL if there is no OpenBLAS on this machine. */
const wi_blas *wi_blas_load(void);

#endif
