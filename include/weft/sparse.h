/* SPDX-License-Identifier: Apache-2.0 */
/* sparse: matrices of doubles that are mostly zero. */
#ifndef WEFT_SPARSE_H
#define WEFT_SPARSE_H

#include "weft/solve.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which entries of a matrix the caller gives. */
typedef enum weft_storage {
    WEFT_GENERAL = 0,         /* every entry; the matrix is not treated as symmetric */
    WEFT_SYMMETRIC_LOWER,     /* of a symmetric matrix, the entries on and below the diagonal */
    WEFT_SYMMETRIC_UPPER,     /* of a symmetric matrix, the entries on and above the diagonal */
    WEFT_SYMMETRIC_FULL,      /* of a symmetric matrix, every entry: a[i][j] and a[j][i] both */
    WEFT_SYMMETRIC_USE_LOWER, /* as LOWER, but entries above the diagonal are allowed and ignored */
    WEFT_SYMMETRIC_USE_UPPER  /* as UPPER, but entries below the diagonal are allowed and ignored */
} weft_storage;

/* A sparse matrix, in host memory on every place. It keeps copies of all that it is given, and may
 * outlive the context it was made with.
 *
 * Over ranks each holds the whole matrix, so every fact about it and all of its entries are on all
 * of them; each passes its own part. The calls that create one are made by all ranks together, and
 * give all of them the same matrix, or the same refusal:
 *
 *     csr       rows counts the rows that this rank passes, any number, 0 too; they follow those of
 *               the ranks before it. cols, and column indices, are of the whole matrix.
 *     csc       likewise, with columns and rows exchanged.
 *     triplets  rows counts the rows of b and x that this rank will pass; cols and all indices are
 *               of the whole. Entries may be passed by any rank; those of the same row and column
 *               are summed in the order of the ranks.
 *
 * The matrix is square. Right-hand sides, solutions, and x and y of a product are dealt out by rows
 * in the same way: weft_sparse_own_rows. Reading and writing are each rank's own: a matrix that all
 * ranks have read, or created on a place of their own, is used over ranks as well, if it is the
 * same on all, and its rows are dealt out evenly. */
typedef struct weft_sparse weft_sparse;

/* The three ways to give a matrix of rows x cols. Indices count from 0 and are int32_t, int64_t,
 * uint32_t or uint64_t, as index_type (WEFT_I32, WEFT_I64, WEFT_U32 or WEFT_U64;
 * weft_type_of(start) finds it) says.
 *
 *     csc       column j has the entries k = start[j] ... start[j+1]-1: value[k] in row index[k]
 *     csr       row i has the entries k = start[i] ... start[i+1]-1: value[k] in column index[k]
 *     triplets  value[k] in row row[k] and column col[k], k = 0 ... n-1
 *
 * start has cols + 1 (csr: rows + 1) elements, the first 0, none less than the one before. Entries
 * may come in any order; several entries with the same row and column are summed in the order
 * given. Entries that are zero are part of the pattern.
 *
 * With FULL, a[i][j] and a[j][i] may differ by rounding; both then become their mean. An entry left
 * out counts as 0. Their difference is measured relative to the size of the entry, which is the
 * largest of |a[i][j]|, |a[j][i]|, half the sum of |value| over all values given for the two, and
 * sqrt(|a[i][i] a[j][j]|), which bounds the sum of the element matrices of an assembly if each is
 * positive semidefinite. The difference may be up to 2^-46 = 1.4e-14 times that size, or
 * symmetry_tolerance times it with weft_sparse_create; weft_sparse_asymmetry gives the largest that
 * was found.
 *
 * Refused, with a message that names the entry: an index out of range, a decreasing start, a
 * symmetric matrix that is not square, an entry on the wrong side of the diagonal for LOWER or
 * UPPER, a[i][j] and a[j][i] that differ by more than that for FULL: all WEFT_EARG; and a value or
 * sum that is not finite (unless it is ignored): WEFT_ENONFINITE. On failure *matrix is NULL. */
WEFT_API weft_status weft_sparse_create_csc(weft_context *ctx, weft_sparse **matrix,
                                            weft_storage storage, size_t rows, size_t cols,
                                            weft_type index_type, const void *start,
                                            const void *index, const double *value);
WEFT_API weft_status weft_sparse_create_csr(weft_context *ctx, weft_sparse **matrix,
                                            weft_storage storage, size_t rows, size_t cols,
                                            weft_type index_type, const void *start,
                                            const void *index, const double *value);
WEFT_API weft_status weft_sparse_create_triplets(weft_context *ctx, weft_sparse **matrix,
                                                 weft_storage storage, size_t rows, size_t cols,
                                                 size_t n, weft_type index_type, const void *row,
                                                 const void *col, const double *value);

/* Which arrays of a weft_sparse_input describe the matrix. */
typedef enum weft_form {
    WEFT_CSC = 0, /* start and row */
    WEFT_CSR,     /* start and col */
    WEFT_TRIPLETS /* row and col */
} weft_form;

/* A matrix, by named parts. Set `size` to sizeof(weft_sparse_input); zero in any other member is
 * its default, and members that the form does not need are ignored. */
typedef struct weft_sparse_input {
    size_t size;
    weft_storage storage;
    weft_form form;
    size_t rows, cols;
    size_t n;             /* entries, for triplets */
    weft_type start_type; /* of start, if it differs from index_type (uint64_t start and int32_t
                             col, say); 0: the same */
    weft_type index_type; /* of row and col */
    const void *start, *row, *col;
    const double *value;
    double symmetry_tolerance; /* for FULL: the largest difference of the two halves of an entry,
                                  relative to its size (see above); 0: 2^-46; less than 0: they must
                                  be equal */
} weft_sparse_input;

/* The general form of the three calls above, with all options. */
WEFT_API weft_status weft_sparse_create(weft_context *ctx, weft_sparse **matrix,
                                        const weft_sparse_input *input);

/* Reads a Matrix Market file: coordinate or array; real, integer or pattern (whose entries become
 * 1); general or symmetric. A general file whose matrix equals its transpose, to the last bit,
 * becomes symmetric; an entry left out counts as 0. Zeros of array files are left out. Complex,
 * hermitian and skew-symmetric files are WEFT_EUNSUPPORTED; a file that is not a valid Matrix
 * Market file is WEFT_EFORMAT, and the message names the line. Numbers are read as the nearest
 * double. More than 2^24 + 1024 x entries rows or columns are taken for a mistake, WEFT_EFORMAT. */
WEFT_API weft_status weft_sparse_read(weft_context *ctx, weft_sparse **matrix, const char *path);

/* The same for a general file whose matrix is symmetric, given as `storage` says: FULL; or one half
 * by LOWER or UPPER; or by USE_LOWER or USE_UPPER if the file has the other half too. storage and
 * symmetry_tolerance mean the same as in a weft_sparse_input, and the same entries are refused. A
 * symmetric file gives its lower half, whatever the storage. */
WEFT_API weft_status weft_sparse_read_as(weft_context *ctx, weft_sparse **matrix, const char *path,
                                         weft_storage storage, double symmetry_tolerance);

/* Writes a Matrix Market file, coordinate real, general or symmetric, with enough digits that
 * reading gives the same doubles. The data goes to a temporary file in the same folder, named
 * .weft_*.part, which takes the name and mode of `path` when it is complete on the disk; on failure
 * it is removed and an existing file stays unchanged. If path is a symbolic link, the file it
 * points to is replaced; devices and pipes are written directly. */
WEFT_API weft_status weft_sparse_write(weft_context *ctx, const weft_sparse *matrix,
                                       const char *path);

/* The same text in memory instead of a file. *bytes = how many the text has; with memory NULL that
 * is all. Else `memory` has `room` bytes in host memory, and WEFT_EARG if that is too few. No zero
 * follows the text. It is made twice, the first time to count. */
WEFT_API weft_status weft_sparse_write_memory(weft_context *ctx, const weft_sparse *matrix,
                                              void *memory, size_t room, size_t *bytes);

/* Reads a Matrix Market file that is in memory, of `bytes` bytes, as weft_sparse_read_as does; with
 * WEFT_GENERAL and 0 as weft_sparse_read does. Messages call it "memory". */
WEFT_API weft_status weft_sparse_read_memory(weft_context *ctx, weft_sparse **matrix,
                                             const void *memory, size_t bytes, weft_storage storage,
                                             double symmetry_tolerance);

/* Frees the matrix. NULL is allowed. */
WEFT_API void weft_sparse_destroy(weft_sparse *matrix);

/* Gives the same pattern new values: value[0 ... n) in the order of the entries that the matrix was
 * created from, duplicates included; for a matrix from a file, in the order of weft_sparse_values.
 * Refuses what creation refuses, and then nothing has changed. Allocates nothing. Over ranks: made
 * by all together, each with its values; of a matrix that ranks have read, with all of them. */
WEFT_API weft_status weft_sparse_update(weft_context *ctx, weft_sparse *matrix, size_t n,
                                        const double *value);

/* Facts about a matrix. For NULL they are 0 and NULL. */
WEFT_API size_t weft_sparse_rows(const weft_sparse *matrix);
WEFT_API size_t weft_sparse_cols(const weft_sparse *matrix);
WEFT_API int weft_sparse_is_symmetric(const weft_sparse *matrix); /* was it given as one? */

/* Over ranks: how many rows of a right-hand side, and of a solution, this rank passes, and *first =
 * the number of the first one in the whole; first may be NULL. On a place of one process all rows,
 * and 0. */
WEFT_API size_t weft_sparse_own_rows(const weft_context *ctx, const weft_sparse *matrix,
                                     size_t *first);

/* The largest difference of a[i][j] and a[j][i] in the latest values of a FULL matrix, relative to
 * the size of the entry as defined above; 0 if all were equal, and for other matrices. */
WEFT_API double weft_sparse_asymmetry(const weft_sparse *matrix);

/* The entries held: distinct, by columns, rows ascending in each; for a symmetric matrix only those
 * on and below the diagonal. Column j has the entries k = start[j] ... start[j+1]-1, in row[k]. The
 * arrays belong to the matrix and stay in place until it is destroyed. */
WEFT_API size_t weft_sparse_entries(const weft_sparse *matrix);
WEFT_API const int64_t *weft_sparse_starts(const weft_sparse *matrix);
WEFT_API const int64_t *weft_sparse_row_indices(const weft_sparse *matrix);
WEFT_API const double *weft_sparse_values(const weft_sparse *matrix);

/* Y = A X for `n` columns: X is cols x n, Y rows x n, column-major with ldx and ldy elements from
 * one column to the next, in host memory; they must not overlap. For a symmetric matrix both halves
 * count. Each y[i] is a[i][0] x[0] + a[i][1] x[1] + ... over the entries of the row, added in this
 * order in double: the same bits for any number of threads, and of ranks, each of which passes its
 * rows of X and Y. */
WEFT_API weft_status weft_sparse_multiply(weft_context *ctx, const weft_sparse *matrix, size_t n,
                                          const double *x, size_t ldx, double *y, size_t ldy);

/* ---- factorization: P A Pt = L Lt (Cholesky), or L D Lt ---- */

/* What kind of symmetric matrix is to be factored. */
typedef enum weft_chol_kind {
    /* Positive definite: P A Pt = L Lt. */
    WEFT_CHOL_DEFINITE = 0,
    /* Quasi-definite: P A Pt = L D Lt, D diagonal, its signs known before: [H Bt; B -C], where H
     * and C are positive definite, has such a factorization in every order of its columns. Nothing
     * is interchanged, so it is as fast as Cholesky in the same memory. */
    WEFT_CHOL_QUASIDEFINITE,
    /* Any symmetric matrix: P A Pt = L D Lt, D of blocks of one or two columns. The analysis pairs
     * columns whose diagonal entry is small, or not there, with others; the factorization chooses
     * pivots (Bunch and Kaufman's, bounded) among up to 64 neighbouring columns of a supernode.
     * Where all of these are tiny, the pivot is perturbed, and refinement makes up for it. */
    WEFT_CHOL_INDEFINITE
} weft_chol_kind;

/* How to factor. Set `size` to sizeof(weft_chol_options); zero in any other member is its default.
 */
typedef struct weft_chol_options {
    size_t size;
    /* "natural", "given", "rcm", "md", "mmd", "amd", "nd", "dissect" or "best", the rungs of
     * "sparse_order"; NULL: what weft_use says, else best. best takes dissect if a sample of a
     * large matrix shows that it is far better. Else it runs amd, and dissect as well if the
     * factorization is expensive enough that dissect can pay (estimated from operation counts, not
     * from a clock), and takes the ordering with fewer operations. Every ordering is the same on
     * every run and for any number of threads. */
    const char *ordering;
    const int64_t *permutation; /* for "given": column permutation[k] comes k-th */
    double ordering_seconds;    /* the longest time that best may spend on dissect, by its own
                                   estimate; 0: 60 seconds; negative and NaN are WEFT_EARG */
    weft_chol_kind kind;
    /* For QUASIDEFINITE: the sign of the pivot of each column of the matrix, n long: above 0 or
     * below 0. The plan keeps a copy. NULL: that of the diagonal entry of the matrix that is
     * factored, and below 0 where that is 0. */
    const int8_t *signs;
    /* For the kinds with D. A pivot is tiny if it is less than this times the largest entry of the
     * matrix (scaled, if it was); QUASIDEFINITE: also if it has the wrong sign. It is then replaced
     * by that number, with the sign it should have or else has, and counted in the report. 0: the
     * default, 2^-26 for INDEFINITE; for QUASIDEFINITE as below. Less than 0: no pivot is replaced:
     * weft_chol_factor refuses the matrix and names the column. NaN, and 1 or more, are WEFT_EARG.
     */
    double perturbation;
    /* In which type L is computed and kept. FULL: f64. MIXED: f32, which is half the memory; the
     * panels and products are of f32, pivots, D, right-hand sides and x of f64. Every solution is
     * refined until it is as accurate as with FULL, by up to 10 steps or as many as are asked for,
     * where these do not converge with GMRES (each cycle one step more); where that fails too, and
     * where the factorization fails in f32, A is factored in f64 after all, the plan does so from
     * then on, and report->fell_back says so. So weft_chol_factor and weft_chol_solve then take
     * memory: that of FULL in place of what L had. AUTO, the default, is FULL; others are
     * WEFT_EUNSUPPORTED. */
    weft_precision precision;
    /* About how often the plan will be factored; 0: once. The more often, the more may best spend
     * on an ordering that saves operations: for the plane Laplacian of a million columns it takes
     * amd for one factorization, and dissect for 16. Negative and NaN are WEFT_EARG. */
    double factorizations;
} weft_chol_options;

/* Facts about a factorization. Set `size` to sizeof(weft_chol_report). */
typedef struct weft_chol_report {
    size_t size;
    size_t n;
    size_t nnz_a;         /* entries on and below the diagonal of A */
    size_t nnz_l;         /* entries of L, the diagonal included */
    size_t nnz_l_stored;  /* the same, with the explicit zeros stored to merge supernodes */
    double flops;         /* the sum of the squares of the column counts of L */
    const char *ordering; /* the ordering that was used: "amd", ... */
    size_t supernodes;
    size_t tree_height;     /* columns on the longest path of the elimination tree */
    size_t largest_front;   /* rows of the largest dense matrix in the factorization */
    size_t factor_bytes;    /* the values of L, of factor_type */
    size_t work_bytes;      /* the largest stack of update matrices, with one thread */
    size_t analysis_bytes;  /* the plan itself */
    double order_seconds;   /* of the ordering alone */
    double analyze_seconds; /* of the whole analysis */
    /* The memory of the plan when it has factored, and solved as many right-hand sides at once as
     * were reserved (or 1). Exact, for the number of threads of the context that asks, or of the
     * one that reserved; on a GPU, its memory and the host's together. */
    size_t bytes_needed;
    size_t bytes_peak; /* the most memory it has held so far */
    /* Of the latest factorization; zeros before the first, and after one that failed. */
    double factor_seconds;
    double factor_gflops; /* flops / factor_seconds, in 10^9 per second */
    double logdet;        /* log |det A|; NaN for a factor on a GPU that the context is not on */
    /* Of the latest weft_chol_solve of A. */
    double solve_seconds;
    double solve_gflops;
    /* The componentwise backward error: the largest |b - A x|_i / (|A| |x| + |b|)_i over all rows i
     * and right-hand sides. Where that divisor is only rounding noise, less than 1000 n 2^-53 times
     * (a |x|_max + |b_i|), it is (|A| |x|)_i + a |x|_max instead; a is the largest entry of row i.
     */
    double backward_error;
    size_t refinements; /* steps taken: the most over the right-hand sides */
    /* Of the latest weft_chol_condition; 0 before. */
    double condition_estimate;
    /* More about the latest weft_chol_solve of A. */
    /* The normwise backward error: |b - A x| / (|A| |x| + |b|) in the infinity norm, the largest of
     * all right-hand sides. */
    double normwise_error;
    /* An estimate of the forward error after refinement, max |x - A \ b| / max |x|; for the scaled
     * x if the matrix had to be scaled; 0 without refinement. */
    double forward_estimate;
    /* The number of right-hand sides for which refinement stopped early: corrections no longer
     * became smaller, although x was not yet as accurate as a double can be. */
    size_t stalled;
    /* The part of bytes_needed that is memory of a GPU; 0 on a cpu place. */
    size_t device_bytes_needed;
    /* More about the latest factorization: how many eigenvalues of A are above and below 0, as far
     * as pivots were not perturbed: by Sylvester's law of inertia the signs of D's are those of A.
     * positive + negative + perturbed = n. */
    size_t positive, negative;
    size_t perturbed; /* pivots that were replaced; 0 for DEFINITE */
    size_t pairs;     /* pivots of two columns: one eigenvalue above 0 and one below each */
    /* Steps of GMRES in the latest weft_chol_solve, over all right-hand sides. */
    size_t krylov_steps;
    weft_type factor_type; /* of L: WEFT_F64; with precision MIXED WEFT_F32, unless it fell back */
    int fell_back;         /* 1: precision MIXED was tried, and f32 was not accurate enough */
    /* The bytes of L that lie in pinned host memory because the GPU had no room for them; 0: L is
     * on the GPU. Its panels go there as they are made, and come back for each solve, while others
     * are worked on. Until the memory for L is taken, what would be so if it were taken now. */
    size_t host_factor_bytes;
} weft_chol_report;

/* A plan: the order of the columns, the structure of L and the memory it takes, all known before
 * any value is read; and after weft_chol_factor, L itself. It refers to neither the matrix nor the
 * context, and like a context it belongs to one thread at a time. It may be used on cpu places and
 * on one GPU or place gpus: the analysis runs on the host; L lies where it was factored, and is
 * solved with there. On place gpus the GPUs share the work if a model of the time says that it
 * pays, which is decided when memory is first taken; all results have the bits of one GPU. On a GPU
 * every factorization copies the values of the matrix to it, the first its pattern as well.
 *
 * Over ranks the calls that analyze, factor and solve are made by all together, with the same
 * options. Each rank makes the same plan. L is dealt out: whole subtrees of the elimination tree of
 * about equal work, and the supernodes above them, each to one rank; but each factors all of it if
 * it is too little work to share (1e8 flops). The work is done by the ranks' cores, on place
 * mpi:gpu as well. Solutions, the report but for times and memory, refusals and their columns are
 * those of one cpu place, to the last bit, and the same on all ranks. Memory of a rank: the matrix
 * (40 to 80 bytes for each entry it holds), the plan, its share of L and of the work on it, and for
 * each right-hand side that is solved with others 40 bytes a row; report.bytes_needed is that but
 * for the matrix. weft_chol_save and _load, and the report, are each rank's own;
 * weft_chol_factor_values is WEFT_EUNSUPPORTED. */
typedef struct weft_chol weft_chol;

/* Analyzes a matrix that was created as symmetric. options may be NULL. On failure *plan is NULL.
 * The columns are put in a postorder of their elimination tree, which changes neither the fill nor
 * the flops of the ordering.
 *
 * The values are used by kind INDEFINITE alone, to pair columns whose diagonal entry is less than
 * 1/64 of the largest entry of the column, both scaled: the two follow each other in the order, and
 * in L both have the rows of either. (Not for the orderings natural and given.) The plan serves
 * every matrix of the pattern; if its diagonal is small elsewhere, more pivots are perturbed. */
WEFT_API weft_status weft_chol_analyze(weft_context *ctx, const weft_sparse *matrix,
                                       const weft_chol_options *options, weft_chol **plan);

/* Frees a plan. NULL is allowed. */
WEFT_API void weft_chol_destroy(weft_chol *plan);

/* Fills the report, as far as report->size says. */
WEFT_API weft_status weft_chol_get_report(weft_context *ctx, const weft_chol *plan,
                                          weft_chol_report *report);

/* The order of the columns, n long: the k-th is the matrix's column permutation[k]. It belongs to
 * the plan. NULL for NULL. */
WEFT_API const int64_t *weft_chol_permutation(const weft_chol *plan);

/* Takes all the memory that factoring and solving need, for as many threads as the context has and
 * for `n` right-hand sides at once (16 at most: more are solved 16 at a time). Without this call,
 * the first factorization takes the memory for one right-hand side, and a solve of more right-hand
 * sides than ever before takes what these need. Apart from that neither weft_chol_factor nor
 * weft_chol_solve allocates anything. A context with more threads than the one that took the memory
 * uses only as many threads as that one. (A variant of "sparse" other than the default takes its
 * working memory when it first factors. On a GPU the first factorization takes host memory for its
 * maps, and gives it back.) */
WEFT_API weft_status weft_chol_reserve(weft_context *ctx, weft_chol *plan, size_t n);

/* Called from the thread that called weft_chol_factor, now and then between two fronts (other
 * variants: between two columns or supernodes; on a GPU: when a level of the tree is queued).
 * `done` is the fraction of the work done, 0 to 1, on a GPU that of the levels queued. If it
 * returns anything but 0, the factorization ends with WEFT_ECANCELLED, on all ranks if there are
 * several; `done` is then of the rank's own work. It must not use the plan or the context. */
typedef int (*weft_chol_progress)(void *user, double done);

/* Makes later factorizations call `progress` with `user`; NULL: none. */
WEFT_API weft_status weft_chol_on_progress(weft_context *ctx, weft_chol *plan,
                                           weft_chol_progress progress, void *user);

/* P A Pt = L Lt, or L D Lt, for a matrix with the pattern that was analyzed and any values; it may
 * be called any number of times. L is the same, bit by bit, for any number of threads (but not with
 * the variant left_looking, whose sums are OpenBLAS's), and in every run on a GPU, where its last
 * bits differ from the cpu's. The call returns when the factor is there; it cannot be captured
 * (weft_chol_factor_values can).
 *
 * A matrix whose diagonal has numbers below 2^-200 or above 2^200 is scaled by powers of two on
 * both sides, so that its diagonal is of the order of 1. Scaling rounds nothing, and all results
 * below are those of the matrix as given. It takes a copy of the values and 8 bytes per row, when
 * the first such matrix is factored (L D Lt: with the other memory).
 *
 * WEFT_ENOTSPD: some leading block of P A Pt is not positive definite; the message names the first
 * such column in the caller's numbering, and weft_chol_direction gives the proof. WEFT_ESINGULAR:
 * the same, but A is singular within rounding: changing each a[i][j] by no more than 2^-40
 * sqrt(a[i][i] a[j][j]) makes it singular. (Rounding may also let a singular matrix pass;
 * weft_chol_condition is then about 1e16.) WEFT_ENONFINITE: a number of L is too large for a
 * double, which happens only if entries are far larger than the diagonal, and then the matrix is
 * not positive definite. After these errors, and after WEFT_ECANCELLED, there is no factor to solve
 * with, and the plan can factor again; after any other error the plan is unchanged.
 *
 * L D Lt: a matrix is scaled, in the same way, if the largest entries of its columns differ by more
 * than a factor of 256, or are outside of 2^-200 ... 2^200; afterwards they are of the order of 1.
 * WEFT_ENOTSPD: QUASIDEFINITE, and the sign of a pivot is wrong. WEFT_ESINGULAR: there is no pivot
 * for a column: 0, or for INDEFINITE less than 2^-46 of the largest entry, is all that is left in
 * its window. The message says whether this shows that A is singular. Both only if pivots are not
 * perturbed.
 * WEFT_ENONFINITE: a number of L or D is too large for a double. D and the inertia, too, are the
 * same for any number of threads, and in every run on a GPU; there other pivots may be chosen than
 * on a cpu, and others perturbed. Columns are interchanged inside of supernodes, so the rows of L
 * are not quite in the order of weft_chol_permutation.
 *
 * Precision MIXED: if L of f32 fails, all of this is said of L of f64, which takes its place. If
 * there is no memory for that, WEFT_ENOMEM leaves no factor to solve with, and the plan can factor
 * again. A matrix that is indefinite, or singular, by no more than the rounding of f32 may pass;
 * the inertia and logdet are as accurate as f32 allows. A pivot of INDEFINITE is tiny below 2^-12
 * of the largest entry, or below `perturbation` if that is given and above 2^-20. A matrix is
 * scaled if the numbers of its diagonal, with D the largest entries of its columns, are outside of
 * 2^-40 ... 2^40. */
WEFT_API weft_status weft_chol_factor(weft_context *ctx, weft_chol *plan,
                                      const weft_sparse *matrix);

/* The same for the matrix that has the pattern of `matrix` and other values, as many as
 * weft_sparse_entries says and in the order of weft_sparse_values: in host memory or, on a GPU, in
 * its memory. Then nothing but a few words moves over the link, except that the values are fetched
 * to the host if the matrix has to be scaled, if the factorization fails, for kinds with D and for
 * precision MIXED; host memory for them is then taken and given back. WEFT_ENONFINITE also for a
 * value that is not finite.
 *
 * A call with values in device memory can be captured into a graph, with L on one GPU, if the plan
 * has factored there before. Each launch of the graph factors the values that are there then; if
 * pivots have the signs of the diagonal, these are taken from those values, too. The graph is good
 * for as long as the plan is there, solves no more right-hand sides at once than when it was
 * captured, and does not fall back to f64. Nobody waits for a pivot: weft_chol_check says how it
 * went. */
WEFT_API weft_status weft_chol_factor_values(weft_context *ctx, weft_chol *plan,
                                             const weft_sparse *matrix, const double *value);

/* Waits for the context's stream, and says how the graphs with calls of weft_chol_factor_values and
 * weft_chol_solve on this plan went, since this was asked last or the plan was last factored
 * outside of a graph. The report's backward_error becomes the largest of all their solutions, and
 * what it says of pivots is that of the latest factor.
 *
 * WEFT_ENOTSPD: a matrix was not positive definite, or not quasi-definite; the message has the
 * first such column, but there is no weft_chol_direction. WEFT_ESINGULAR: one of kind INDEFINITE
 * had no pivot for a column. WEFT_ENONFINITE: values or right-hand sides were not finite.
 * WEFT_EUNSUPPORTED: a matrix had to be scaled; numbers of b or x came so near the limits of double
 * that intermediate ones may have overflowed; for kinds with D, a system that takes GMRES; for
 * precision MIXED, one that takes GMRES or L of f64, of which the condition is found only for the
 * latest factor: factor and solve it outside of a graph. After these, solutions since the last
 * check are not to be used. WEFT_OK where nothing was captured. */
WEFT_API weft_status weft_chol_check(weft_context *ctx, weft_chol *plan);

/* After WEFT_ENOTSPD: d, n long, with dt A d <= 0 within rounding. d is 1 in the column that the
 * message named, and in exact arithmetic dt A d is the pivot that was not positive; for
 * QUASIDEFINITE, the pivot with the wrong sign. After WEFT_ESINGULAR: d with A d = 0 within
 * rounding, 1 in that column as well; for the kinds with D, A d = 0 only if the message said that A
 * is singular, else dt A d = 0. Over ranks each gets its rows of d. */
WEFT_API weft_status weft_chol_direction(weft_context *ctx, weft_chol *plan, double *d);

/* Which system weft_chol_solve solves. L acts on the permuted unknowns: element k of b and of x
 * belongs to column permutation[k]. So x = A \ b is, in steps, c[k] = b[permutation[k]], y = L \ c,
 * z = Lt \ y, x[permutation[k]] = z[k]. */
typedef enum weft_chol_part {
    WEFT_CHOL_A = 0,
    WEFT_CHOL_L,
    WEFT_CHOL_LT
} weft_chol_part;

/* How to solve. Set `size` to sizeof(weft_chol_solve_options); zero in any other member is its
 * default. */
typedef struct weft_chol_solve_options {
    size_t size;
    weft_chol_part part;
    int refine; /* the most steps of iterative refinement, for part A only. Residuals are computed
                   in twice the precision. Steps end as soon as x is right to its last bits, or when
                   a correction is more than half as large as the one before. 0: none; 10 for
                   L D Lt, whose numbers may be large where pivots are small; 40 if exact */
    /* 1, for part A: residuals are exact, each element rounded once (weft/exact.h), and x is
     * refined as the sum of two numbers before it is rounded. Where that converges (report->stalled
     * is 0, and condition_estimate below some 2^50), x is the exact solution, rounded; but an
     * element that is half way between two numbers, within 2^-90 of the largest one, may be the
     * wrong one of the two. Its second half takes 8 bytes for each row and right-hand side (16 at
     * most), when they are first asked for. On a GPU these residuals are computed on the host. */
    int exact;
    /* The values of `matrix` as in weft_chol_factor_values, in place of its own; NULL: its own. In
     * device memory they stay there, unless numbers of b or x are near the limits of double, or
     * residuals exact, or weft_chol_factor_values had to fetch them, too. */
    const double *value;
} weft_chol_solve_options;

/* X = A \ B for `n` right-hand sides: B and X are column-major, ldb and ldx elements from one
 * column to the next, in host memory; on a GPU each may be in its memory instead. X may be B, with
 * ldx = ldb, and must not overlap it otherwise. `matrix` is the one that was factored; it is needed
 * for the backward error, which every solve of A computes, and for refinement. (With another matrix
 * of the same pattern, refinement finds that one's solution if the two are close.) For L and Lt it
 * is ignored. options may be NULL. X is the same, bit by bit, for any number of threads. Over ranks
 * B and X are this rank's rows, in host memory, with the same n on all.
 *
 * WEFT_ENONFINITE: B has a value that is not finite, and X is unchanged; or a column of the
 * solution has a number too large for a double, and only the columns of X before the 16 that were
 * solved with it are written. So after WEFT_OK, X is finite. Numbers of B and X may be of any size:
 * where intermediate values might overflow or underflow, they are scaled by powers of two.
 *
 * Right-hand sides are solved 16 at a time, and if L is larger than the caches, 16 take about as
 * long as one. The bits of a column of X may depend on how many columns are solved with it.
 *
 * L D Lt: where refinement ends and the backward error of a column of X is still above 2^-44, up to
 * 40 steps of GMRES follow for it, with the factor as the preconditioner. If even then it is above,
 * the column counts as `stalled` in the report, and the call is WEFT_OK: X is the best that was
 * found, and backward_error says how good. The parts L and LT are WEFT_EUNSUPPORTED.
 *
 * On a GPU, with L on it, a call can be captured into a graph: B, X and, for part A, the values in
 * device memory (options->value), no exact residuals, and no more right-hand sides at once than
 * were solved or reserved before. As nobody looks, `refine` steps are queued, or those that kinds
 * with D and precision MIXED take by themselves; those after the last that counts leave X as it is:
 * X has the bits of a call outside of a graph. weft_chol_check says how it went; X is written even
 * if B has a value that is not finite.
 *
 * Precision MIXED: X is refined in up to 10 steps, or `refine` of them if that is more, until it is
 * right to its last bits; if the condition is beyond some 2^16, or corrections do not shrink by
 * half, cycles of GMRES follow until they are that small. (The first solution after a factorization
 * takes five more substitutions, which estimate the condition.) A column for which that fails, too,
 * is solved with a factor of f64, made of `matrix`; then errors are those of weft_chol_factor, and
 * X has the columns before the 16 that it was solved with. The parts L and LT are
 * WEFT_EUNSUPPORTED while L is of f32. */
WEFT_API weft_status weft_chol_solve(weft_context *ctx, weft_chol *plan, const weft_sparse *matrix,
                                     const weft_chol_solve_options *options, size_t n,
                                     const double *b, size_t ldb, double *x, size_t ldx);

/* An estimate of the condition number |A| |A^-1| in the 1-norm. It is a lower bound, seldom by more
 * than a factor of 3 too small (Hager 1984, Higham 1988), and takes a handful of solves. INFINITY
 * if it exceeds the range of double. The report has it too. If pivots were perturbed, A^-1 is that
 * of the matrix that L D Lt is. */
WEFT_API weft_status weft_chol_condition(weft_context *ctx, weft_chol *plan,
                                         const weft_sparse *matrix, double *estimate);

/* Saves a plan to a file, without the values of L, in the same way as weft_sparse_write; and reads
 * it again, for matrices of the same pattern. A file that is damaged or not a plan is WEFT_EFORMAT.
 * Only machines of the same byte order can read it. */
WEFT_API weft_status weft_chol_save(weft_context *ctx, const weft_chol *plan, const char *path);
WEFT_API weft_status weft_chol_load(weft_context *ctx, const char *path, weft_chol **plan);

/* The bytes of that file in memory instead: *bytes = how many there are; with memory NULL that is
 * all. Else `memory` has `room` bytes in host memory, and WEFT_EARG if that is too few. And a plan
 * from such bytes, which need no alignment. */
WEFT_API weft_status weft_chol_save_memory(weft_context *ctx, const weft_chol *plan, void *memory,
                                           size_t room, size_t *bytes);
WEFT_API weft_status weft_chol_load_memory(weft_context *ctx, const void *memory, size_t bytes,
                                           weft_chol **plan);

#ifdef __cplusplus
}
#endif
#endif
