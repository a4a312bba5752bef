/* SPDX-License-Identifier: Apache-2.0 */
/* solve: dense systems of linear equations, and how good the answer is. */
#ifndef WEFT_SOLVE_H
#define WEFT_SOLVE_H

#include "weft/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In which type a matrix is factored. */
typedef enum weft_precision {
    WEFT_PRECISION_AUTO =
        0,                /* what weft_use says of "solve", else what is predicted to be faster */
    WEFT_PRECISION_FULL,  /* in the type of A */
    WEFT_PRECISION_MIXED, /* of f64: in f32, and the solution refined to f64 */
    /* In f32, where products are of factors rounded to this type, and the solution refined to the
     * type of A. They have 11, 8 and 11 bits: they serve matrices of a condition up to some
     * hundred or, with GMRES, millions, and are the fastest where a GPU's tensor cores multiply
     * them. AUTO takes none of them. */
    WEFT_PRECISION_TF32,
    WEFT_PRECISION_BF16,
    WEFT_PRECISION_F16 /* scaled, so that A's largest number counts as about 1 */
} weft_precision;

typedef enum weft_equilibrate {
    WEFT_EQUILIBRATE_AUTO = 0, /* where rows or columns differ by more than 2^10 in size */
    WEFT_EQUILIBRATE_NEVER
} weft_equilibrate;

/* How to solve. Set `size` to sizeof(weft_solve_options); zero in any other member is its default.
 */
typedef struct weft_solve_options {
    size_t size;
    int refine; /* the most steps of iterative refinement: 0: 10, by butterfly 16; less than 0:
                   none. Residuals are computed in twice the precision of f64. Steps end as soon as
                   x is right to its last bits, or when a correction is more than half as large as
                   the one before; then as many may follow with GMRES */
    weft_precision precision;
    weft_equilibrate equilibrate;
    /* 1: spends no time on condition_estimate, forward_bound and growth, which take about six
     * solutions with two right-hand sides. They are NaN then. */
    int no_estimates;
    /* Host memory for n numbers, or NULL. After WEFT_ESINGULAR, and after WEFT_ENOTSPD, it holds v
     * that proves it, with v[column] = 1, where column is that of the report: op(A) v = 0 within
     * rounding; or vt A v <= 0 within rounding. After anything else it is unchanged. */
    double *witness;
    /* 1: residuals are exact, each element rounded once (weft/exact.h), and x is refined as the sum
     * of two numbers, by up to 40 steps, before it is rounded to its type. Where that converges
     * (report->stalled is 0, and condition_estimate below some 2^50), x is the exact solution,
     * rounded; but an element that is half way between two numbers, within 2^-90 of the largest
     * one (of f32, within 2^-53 of itself), may be the wrong one of the two. A step takes longer
     * than with residuals in twice the precision. Over ranks, and with a matrix that is streamed,
     * x is the same. */
    int exact;
} weft_solve_options;

/* Facts about a solution. Set `size` to sizeof(weft_report). Figures of several right-hand sides
 * are the worst of them.
 *
 * "Equilibrated" is a matrix whose rows and columns were multiplied by powers of two: H = R A C,
 * where x = C z and H z = R b. This rounds nothing and, but for divisors
 * that are rounding noise, leaves the componentwise backward error as it is; normwise_error,
 * condition_estimate, growth and the two figures of the forward error are those of
 * H and z. (If nothing was scaled, H = A and z = x.) */
typedef struct weft_report {
    size_t size;
    size_t n, right_hand_sides;
    /* The componentwise backward error: the largest |b - A x|_i / (|A| |x| + |b|)_i over all rows
     * i. Where that divisor is only rounding noise, less than 1000 n 2^-53 times (a |x|_max +
     * |b_i|), it is (|A| |x|)_i + a |x|_max instead; a is the largest entry of row i. The residual
     * is computed in twice the precision of f64. */
    double backward_error;
    double normwise_error; /* |b - A x| / (|A| |x| + |b|) in the infinity norm */
    /* The error max |x - A \ b| / max |x| is at most that: three times an estimate of | |A^-1|
     * |b - A x| | / |x| (which is seldom more than three times too small), and what the residual's
     * own rounding adds. INFINITY if A is so near to singular, for the factors' rounding errors,
     * that they say nothing about A^-1. */
    double forward_bound;
    /* The same error, estimated from the sizes of the corrections: much sharper than the bound
     * where refinement was successful; 0 without refinement. */
    double forward_estimate;
    /* |A| |A^-1| in the 1-norm, estimated (Hager 1984, Higham 1988): a lower bound, seldom by more
     * than a factor of 3 too small. Where growth, or a condition near the precision of the factors,
     * makes these too inaccurate an inverse, it is found another way: up to 128 unknowns without
     * them, in twice the precision of f64 (true up to some 2^100), else by GMRES. Where that does
     * not converge, and beyond 2^50 or so, it says no more of a larger matrix than that its
     * condition is large or growth has spoilt the factors: forward_bound is INFINITY then. */
    double condition_estimate;
    double growth; /* the largest entry of U over that of A; of Cholesky, of the square of L's; of
                      butterfly U is that of the mixed matrix */
    /* The determinant of op(A) is sign_det exp(log_abs_det); as accurate as the type that was
     * factored in allows. */
    double log_abs_det;
    int sign_det;
    size_t refinements; /* steps taken: the most over the right-hand sides */
    size_t iterations;  /* of GMRES in these steps, and in the estimates; 0 if there was no need */
    /* The number of right-hand sides for which refinement stopped early: corrections no longer
     * became smaller, although x was not yet as accurate as it could be. */
    size_t stalled;
    int equilibrated; /* 1: R or C is not 1. The least and largest powers of two in each: */
    int row_power_least, row_power_most, column_power_least, column_power_most;
    weft_type factor_type; /* f64 or f32; of methods bf16 and f16 that of their products */
    const char *method;    /* the rung of "solve" that gave the answer: "direct", "mixed",
                              "butterfly", "tf32", "bf16", "f16", "ranks" */
    const char *variant;   /* the rung of "lu" or "cholesky"; of butterfly "window" */
    int fell_back;         /* 1: another method was tried first, and was not accurate enough */
    size_t column;         /* after WEFT_ESINGULAR or WEFT_ENOTSPD: the column; else SIZE_MAX */
    size_t bytes;          /* of temporary memory, without copies of host arrays on a GPU */
    double factor_seconds; /* from A to its factors, the attempt of a fallback included */
    double solve_seconds;  /* the rest: substitution, refinement, estimates */
    size_t ranks;          /* that factored: of place mpi, or the GPUs of place gpus; else 1 */
    int streamed; /* 1: A did not fit the GPU's memory beside its factors, and stayed in host
                     memory, from where it came in panels; 2: nor did the factors, and so did they;
                     else 0 */
    int exact;    /* 1: residuals are correctly rounded, as options->exact asked */
} weft_report;

/* `how`: WEFT_ROW_MAJOR, WEFT_TRANSPOSE_A.
 *
 * X = op(A) \ B, for `nrhs` right-hand sides: A is n x n, B and X are n x nrhs; op(A) is A, or its
 * transpose with WEFT_TRANSPOSE_A. By Gaussian elimination with row pivoting (weft/lu.h) of a copy
 * of A, which is equilibrated first if it is badly scaled, and iterative refinement. `type`, of A,
 * B and X, is f64 or f32; others are WEFT_EUNSUPPORTED. Leading dimensions are as in weft_gemm.
 * X may be B, with ldx = ldb, and shares no other memory with A or B. nrhs = 0 only factors, which
 * gives the report its condition and determinant.
 *
 * options and report may be NULL. The report is filled, as far as its size says, when the call
 * returns WEFT_OK, WEFT_ESINGULAR or WEFT_ENOTSPD. X is unchanged unless it returns WEFT_OK.
 *
 * Rows and columns in messages and in the report are those of op(A), counted from 0.
 * WEFT_ENONFINITE: A or B has an entry that is not finite; the message names the first one, by
 * columns. Or X has a number that the type cannot hold.
 * WEFT_ESINGULAR: a pivot is exactly zero. The message and report->column name the first column
 * that depends on those before it, and options->witness proves it.
 * A matrix that is singular but for rounding is no error, for rounding alone cannot tell it from
 * one that is not: X is then what elimination gives, and the report says what it is worth:
 * condition_estimate is beyond 2^50 (of f32, 2^21) and forward_bound is INFINITY.
 *
 * Accuracy: backward_error is seldom above 2^-52 (of f32, 2^-23). With precision MIXED, A is
 * factored in f32 and X refined until it is as accurate as with FULL, with GMRES where plain
 * refinement does not converge; where that fails too, and if A's entries do not fit f32, A is
 * factored in f64 after all, and report->fell_back says so. So it is with TF32, BF16 and F16, which
 * take A of f32 as well; factors that do not fit a GPU's memory are made with products of f32. AUTO
 * takes this way where it is predicted to be faster, and leaves it where a step of refinement gains
 * less than four bits. On a GPU it may take the rung "butterfly": columns of A are mixed at random,
 * by the same numbers in each call, so that pivots are found among few rows.
 *
 * The same call gives the same bits each time on the same place, whatever the number of threads.
 *
 * Arrays may be host or device memory, mixed freely. The call returns when X is there, also on a
 * GPU: it looks at the result as it goes. So it cannot be captured into a graph. Temporary memory
 * is about that of A, and 8 bytes for each element of X; right-hand sides are worked on 64 at a
 * time. The residuals of many right-hand sides take time too: each step of refinement costs five
 * times what the substitution does; if that matters, limit `refine`.
 *
 * A host matrix that does not fit the memory of a GPU together with its factors stays where it is,
 * and comes there in panels of rows for each residual. Factors that do not fit by themselves are
 * host memory, too, and come in panels of columns for each solution (weft/lu.h, weft/cholesky.h).
 * report->streamed says so. B and X have to fit.
 *
 * On place mpi a rank passes n columns of A, and nrhs columns of B and X, as in weft_lu_solve. A is
 * equilibrated as on one place. What differs there: there is no GMRES; MIXED falls back to FULL as
 * soon as a right-hand side stalls, AUTO is FULL, and TF32, BF16 and F16 are WEFT_EUNSUPPORTED.
 * With WEFT_TRANSPOSE_A, `growth` is that of A's factors, `column` after WEFT_ESINGULAR one of A,
 * and no witness is given; without it each rank that has memory for the witness gets the whole of
 * it. A rank whose part has an entry that is not finite returns WEFT_ENONFINITE, the others
 * WEFT_ECOMM. The report is the same on all ranks but for times. On place gpus all GPUs factor a
 * large A; the rest is done by the first. */
WEFT_API weft_status weft_solve(weft_context *ctx, unsigned how, weft_type type, size_t n,
                                size_t nrhs, const void *a, size_t lda, const void *b, size_t ldb,
                                void *x, size_t ldx, const weft_solve_options *options,
                                weft_report *report);

/* `how`: WEFT_ROW_MAJOR, WEFT_UPPER_TRIANGLE.
 *
 * The same for a symmetric positive definite matrix, of which the lower triangle or, with
 * WEFT_UPPER_TRIANGLE, the upper one is read: A = L Lt (weft/cholesky.h), half the work. It is
 * equilibrated from both sides alike, H = C A C, if its diagonal is badly scaled.
 *
 * WEFT_ENOTSPD: the message and report->column name the first column k whose leading block, of
 * order k + 1, is not positive definite, and options->witness proves it. (Rounding may let a block
 * that is singular pass, or one that is nearly singular fail: its v is then no proof but for
 * rounding.)
 *
 * On place mpi a rank passes n columns, of which it has the part in the triangle; either triangle
 * is taken. Each rank gets the rest of its columns from the others, in memory of its own. */
WEFT_API weft_status weft_solve_spd(weft_context *ctx, unsigned how, weft_type type, size_t n,
                                    size_t nrhs, const void *a, size_t lda, const void *b,
                                    size_t ldb, void *x, size_t ldx,
                                    const weft_solve_options *options, weft_report *report);

#ifdef __cplusplus
}
#endif
#endif
