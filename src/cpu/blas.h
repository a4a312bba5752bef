/* SPDX-License-Identifier: Apache-2.0 */
/* OpenBLAS, loaded at its first use: only rungs that are there for comparison use it, and other
 * programs should not have to start its threads. */
#ifndef WI_BLAS_H
#define WI_BLAS_H

/* The Fortran interface: all arguments by address, matrices by columns. The lengths of strings, all
 * 1, are not passed, as is usual in C. */
typedef struct wi_blas {
    void (*dsyrk)(const char *uplo, const char *trans, const int *n, const int *k,
                  const double *alpha, const double *a, const int *lda, const double *beta,
                  double *c, const int *ldc);
    void (*ssyrk)(const char *uplo, const char *trans, const int *n, const int *k,
                  const float *alpha, const float *a, const int *lda, const float *beta, float *c,
                  const int *ldc);
    void (*dgemm)(const char *trans_a, const char *trans_b, const int *m, const int *n,
                  const int *k, const double *alpha, const double *a, const int *lda,
                  const double *b, const int *ldb, const double *beta, double *c, const int *ldc);
    void (*sgemm)(const char *trans_a, const char *trans_b, const int *m, const int *n,
                  const int *k, const float *alpha, const float *a, const int *lda, const float *b,
                  const int *ldb, const float *beta, float *c, const int *ldc);
    void (*dtrsm)(const char *side, const char *uplo, const char *trans, const char *diag,
                  const int *m, const int *n, const double *alpha, const double *a, const int *lda,
                  double *b, const int *ldb);
    void (*strsm)(const char *side, const char *uplo, const char *trans, const char *diag,
                  const int *m, const int *n, const float *alpha, const float *a, const int *lda,
                  float *b, const int *ldb);
    void (*dtrmm)(const char *side, const char *uplo, const char *trans, const char *diag,
                  const int *m, const int *n, const double *alpha, const double *a, const int *lda,
                  double *b, const int *ldb);
    void (*strmm)(const char *side, const char *uplo, const char *trans, const char *diag,
                  const int *m, const int *n, const float *alpha, const float *a, const int *lda,
                  float *b, const int *ldb);
    void (*dpotrf)(const char *uplo, const int *n, double *a, const int *lda, int *info);
    void (*spotrf)(const char *uplo, const int *n, float *a, const int *lda, int *info);
    void (*dgetrf)(const int *m, const int *n, double *a, const int *lda, int *pivot, int *info);
    void (*sgetrf)(const int *m, const int *n, float *a, const int *lda, int *pivot, int *info);
    void (*set_threads)(int threads);
    int (*get_threads)(void);
} wi_blas;

/* NULL if there is no OpenBLAS on this machine. */
const wi_blas *wi_blas_load(void);

#endif
