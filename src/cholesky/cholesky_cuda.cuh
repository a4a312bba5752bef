/* SPDX-License-Identifier: Apache-2.0 */
/* What the rungs of cholesky on a GPU share. */
#ifndef WI_CHOLESKY_CUDA_CUH
#define WI_CHOLESKY_CUDA_CUH

#include "cholesky/cholesky.h"
#include "core/gpu.h"
#include "cuda/launch.cuh"
#include "cuda/types.cuh"

constexpr int wi_cholesky_side = 64; /* columns of a panel, at most */

/* L(i, j), which of an upper factor is its element (j, i). */
inline void *wi_cholesky_at(const wi_cholesky_args *args, size_t i, size_t j) {
    const size_t at = args->upper ? j + i * args->lda : i + j * args->lda;
    return (char *)args->a + at * weft_type_size(args->type);
}

/* Sets the words of args->first to WI_CHOLESKY_NONE. */
weft_status wi_cholesky_clear_words(weft_context *ctx, const wi_cholesky_args *args);

/* Turns these columns of A into columns of L. What earlier columns contribute to them has been
 * subtracted. */
weft_status wi_cholesky_panel(weft_context *ctx, const wi_cholesky_args *args, size_t first,
                              size_t columns);

/* Columns first ... first + columns - 1 of a matrix, from which what earlier columns contribute has
 * been subtracted. `first` is a multiple of 64, and so is `columns`, except for the last ones. */
typedef struct wi_cholesky_steps {
    size_t first, columns;
    unsigned units;    /* multiprocessors that work on them, at most */
    void *copies;      /* memory of wi_cholesky_copies */
    void *flow, *mail; /* ... and of wi_cholesky_flow_memory */
} wi_cholesky_steps;

/* Scratch memory that all rungs share: so many bytes at least. */
weft_status wi_cholesky_memory(weft_context *ctx, size_t bytes, void **p);
weft_status wi_cholesky_copies(weft_context *ctx, void **copies);

/* Turns them into columns of L. With first = 0 it clears the words, too. */
weft_status wi_cholesky_run_steps(weft_context *ctx, const wi_cholesky_args *args,
                                  const wi_cholesky_steps *steps);

/* The same in one kernel, with memory of wi_cholesky_flow_memory for so many columns. */
weft_status wi_cholesky_flow_memory(weft_context *ctx, const wi_cholesky_args *args, size_t columns,
                                    wi_cholesky_steps *steps);
weft_status wi_cholesky_run_flow(weft_context *ctx, const wi_cholesky_args *args,
                                 const wi_cholesky_steps *steps);

template <class T>
__device__ bool wi_cholesky_is_pivot(T x) {
    return x > 0 && x - x == 0;
}
__device__ inline bool wi_cholesky_has_failed(const int64_t *first) {
    return first[WI_CHOLESKY_INDEFINITE] != WI_CHOLESKY_NONE ||
           first[WI_CHOLESKY_INFINITE] != WI_CHOLESKY_NONE;
}
/* Records that a column's pivot is not above 0, or not finite. */
template <class T>
__device__ void wi_cholesky_tell(int64_t *first, T pivot, int64_t column) {
    first[pivot - pivot == 0 ? WI_CHOLESKY_INDEFINITE : WI_CHOLESKY_INFINITE] = column;
}

#endif
