/* SPDX-License-Identifier: Apache-2.0 */
/* The rung of cholesky on a GPU that users get: half of the columns, a product, the other half,
 * down to blocks that shared memory holds. */
#include "cholesky/cholesky_cuda.cuh"
#include "gemm/syrk.h"
#include "gemm/trsm.h"

constexpr int side = 64;     /* of a block */
constexpr int threads = 256; /* that factor one */

template <class T>
struct block_factor {
    T (&l)[side][side + 1]; /* L(i, j) at l[j][i] */
    int order;

    /* What column j does to those after it; a thread goes down some columns. */
    __device__ void subtract(int j) const {
        const int row = (int)threadIdx.x % side, left = order - j - 1;
        for (int c = (int)threadIdx.x / side; c < left; c += threads / side) {
            const int column = j + 1 + c;
            if (row >= column && row < order)
                l[column][row] = wi_fma(-l[j][row], l[j][column], l[column][row]);
        }
    }
    /* The first column whose pivot is no finite number above 0, or `order`. */
    __device__ int run() const {
        for (int j = 0; j < order; j++) {
            const T pivot = l[j][j];
            if (!wi_cholesky_is_pivot(pivot))
                return j;
            const T root = sqrt(pivot);
            const int row = (int)threadIdx.x;
            __syncthreads();
            if (row >= j && row < order)
                l[j][row] = row == j ? root : l[j][row] / root;
            __syncthreads();
            subtract(j);
            __syncthreads();
        }
        return order;
    }
};

/* L(i, j) is a[i * down + j * across]. */
template <class T>
__global__ void __launch_bounds__(threads)
    factor_block(T *a, size_t down, size_t across, int order, int64_t number, int64_t *first) {
    WEFT_SHARED(T, l, [side][side + 1]);
    if (wi_cholesky_has_failed(first))
        return;
    for (int e = (int)threadIdx.x; e < side * side; e += threads) {
        const int i = e % side, j = e / side;
        if (i >= j && i < order)
            l[j][i] = a[i * down + j * across];
    }
    __syncthreads();
    const int done = block_factor<T>{l, order}.run();
    if (done < order && threadIdx.x == 0)
        wi_cholesky_tell(first, l[done][done], number + done);
    for (int e = (int)threadIdx.x; e < side * side; e += threads) {
        const int i = e % side, j = e / side;
        if (i >= j && i < order && (j < done || (j == done && i == j))) /* the pivot tells why */
            a[i * down + j * across] = l[j][i];
    }
}

/* ---- the way through the matrix ---- */

struct halves {
    weft_context *ctx;
    const wi_cholesky_args *args;
    size_t *asked; /* not NULL: nothing runs, and the most bytes of a step are found */

    weft_status ask(size_t bytes) const {
        *asked = bytes > *asked ? bytes : *asked;
        return WEFT_OK;
    }
    weft_status block(size_t first, size_t order) const {
        const size_t down = args->upper ? args->lda : 1, across = args->upper ? 1 : args->lda;
        void *const a = wi_cholesky_at(args, first, first);
        if (asked)
            return WEFT_OK;
        return args->type == WEFT_F64
                   ? WEFT_LAUNCH(factor_block<double>, ctx, 1, threads, 0, (double *)a, down,
                                 across, (int)order, (int64_t)first, args->first)
                   : WEFT_LAUNCH(factor_block<float>, ctx, 1, threads, 0, (float *)a, down, across,
                                 (int)order, (int64_t)first, args->first);
    }
    /* L(rows below, columns) = A(rows below, columns) / L(columns, columns)' */
    weft_status solve(size_t first, size_t columns, size_t rows) const {
        wi_triangle_args t = {};
        t.type = args->type;
        t.right = !args->upper;
        t.upper = args->upper;
        t.transposed = true;
        t.m = args->upper ? columns : rows;
        t.n = args->upper ? rows : columns;
        t.alpha = 1;
        t.a = wi_cholesky_at(args, first, first);
        t.b = wi_cholesky_at(args, first + columns, first);
        t.lda = t.ldb = args->lda;
        if (asked)
            return ask(wi_trsm_most_bytes(ctx, &t));
        return wi_pick(ctx, &wi_trsm_ladder, t.type, &t)->run(ctx, &t);
    }
    /* A(rows below, rows below) -= L(rows below, columns) L(rows below, columns)' */
    weft_status multiply(size_t first, size_t columns, size_t rows) const {
        wi_syrk_args s = {};
        s.type = args->type;
        s.upper = s.transposed = args->upper;
        s.n = rows;
        s.k = columns;
        s.alpha = -1;
        s.beta = 1;
        s.a = wi_cholesky_at(args, first + columns, first);
        s.c = wi_cholesky_at(args, first + columns, first + columns);
        s.lda = s.ldc = args->lda;
        const wi_gemm_args g = wi_syrk_part(&s, 0, rows, 0, rows);
        if (asked)
            return ask(wi_gemm_most_bytes(ctx, &g));
        return wi_pick(ctx, &wi_syrk_ladder, s.type, &s)->run(ctx, &s);
    }
    weft_status run(size_t first, size_t order) const {
        const size_t left = (order / 2 + side - 1) / side * side;
        if (order <= side)
            return block(first, order);
        weft_status status = run(first, left);
        if (status == WEFT_OK)
            status = solve(first, left, order - left);
        if (status == WEFT_OK)
            status = multiply(first, left, order - left);
        return status == WEFT_OK ? run(first + left, order - left) : status;
    }
};

__global__ void clear_cholesky_words(int64_t *first) {
    for (int word = 0; word < WI_CHOLESKY_WORDS; word++)
        first[word] = WI_CHOLESKY_NONE;
}

weft_status wi_cholesky_clear_words(weft_context *ctx, const wi_cholesky_args *args) {
    return WEFT_LAUNCH(clear_cholesky_words, ctx, 1, 1, 0, args->first);
}

/* All memory is taken before the first step. */
weft_status wi_cholesky_halves(weft_context *ctx, const void *args) {
    constexpr size_t room_for_gaps = 1 << 12;
    const wi_cholesky_args *const a = (const wi_cholesky_args *)args;
    size_t bytes = 0;
    (void)halves{ctx, a, &bytes}.run(0, a->n);
    weft_status status = wi_gpu_reserve(ctx, bytes + room_for_gaps);
    if (status != WEFT_OK)
        return status;
    status = wi_cholesky_clear_words(ctx, a);
    if (status == WEFT_OK)
        status = halves{ctx, a, NULL}.run(0, a->n);
    const weft_status released = wi_gpu_release(ctx);
    return status == WEFT_OK ? released : status;
}
