/* SPDX-License-Identifier: Apache-2.0 */
/* gemm inside the library: one checked call as its rungs get it, and the rungs. */
#ifndef WI_GEMM_H
#define WI_GEMM_H

#include "core/call.h"
#include "core/rows.h"
#include "weft/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the sums of f32 may be made of. */
typedef enum wi_accuracy {
    WI_FULL_F32,   /* whatever is as accurate as f32 */
    WI_STRICT_F32, /* fused multiply-adds in f32 */
    WI_TF32        /* A and B cut to tf32 */
} wi_accuracy;

/* Kernels do nothing unless this word, in device memory, has that value; word = NULL: always. */
typedef struct wi_gemm_condition {
    const unsigned *word;
    unsigned value;
} wi_gemm_condition;

/* What is wanted of C: all; of a C that is square, or higher, its diagonal and what is below; of a
 * square one its diagonal and what is above it. */
typedef enum wi_gemm_wanted {
    WI_ALL,
    WI_LOWER,
    WI_UPPER
} wi_gemm_wanted;

/* One call on memory the place can reach, checked. Matrices are stored by columns: a product of
 * matrices stored by rows is that of the transposed ones, B first. m, n > 0; with k = 0, A and B
 * are not read. */
typedef struct wi_gemm_args {
    weft_type type, out;
    wi_accuracy accuracy;
    bool transposed_a, transposed_b; /* stored as the transpose of what is multiplied */
    size_t m, n, k;
    double alpha, beta; /* as the type of the sums holds them */
    const void *a, *b;
    size_t lda, ldb;
    void *c;
    size_t ldc;
    wi_gemm_condition when; /* of rungs of f32 on a GPU */
    wi_gemm_wanted wanted;  /* other than all by `ring` and `parts`, for syrk */
    unsigned blocks_most;   /* on a GPU: of `ring` and `parts`, so many blocks at a time; 0: all */
    bool c_by_rows;         /* of `ring`, by shapes that may turn C */
} wi_gemm_args;

enum {
    WI_GEMM_OUTER_TERMS = 16 /* of the rung `outer`, which keeps them in shared memory */
};

extern const wi_ladder wi_gemm_ladder;

/* ---- what the public calls share ---- */

/* Checks types, flags and scalars, of which `g` has all but the flags; then fills what they say.
 * The matrices stay as the call describes them, by rows or by columns. */
weft_status wi_gemm_describe(weft_context *ctx, const char *call, unsigned how, wi_gemm_args *g);

/* What WEFT_F32_STRICT and WEFT_TF32 in `how` say; refuses both at once, and either for other types
 * than f32. */
weft_status wi_gemm_check_accuracy(weft_context *ctx, const char *call, unsigned how,
                                   weft_type type, wi_accuracy *to);

/* What is stored by rows is the transpose of what is stored by columns, and the product of
 * transposed matrices is the transposed product of the two in the other order. A and B themselves
 * are the caller's to exchange. */
wi_gemm_args wi_gemm_by_columns(const wi_gemm_args *g);

/* A matrix as a call describes it: r x c, or its transpose, stored by columns or by rows. */
static inline wi_array wi_gemm_matrix(const char *which, const void *p, size_t r, size_t c,
                                      bool transposed, bool by_rows, const char *ld_name, size_t ld,
                                      weft_type type, unsigned use) {
    const size_t height = transposed ? c : r, width = transposed ? r : c;
    return by_rows ? wi_matrix(which, p, height, width, ld_name, ld, type, use)
                   : wi_columns(which, p, height, width, ld_name, ld, type, use);
}

/* Runs a checked call on the matrices that it describes, m and n > 0. */
weft_status wi_gemm_call_run(weft_context *ctx, wi_call *call, wi_gemm_args *args);

/* ---- over several ranks: gemm_dist.c. Matrices are stored by columns. ---- */

/* Over ranks of place mpi, before the arrays are checked: all learn whether all are well, and
 * args->k, which was this rank's part, becomes that of all. */
weft_status wi_gemm_join(weft_context *ctx, const char *name, wi_gemm_args *args,
                         weft_status status);
/* Runs a call of which this rank has described its columns of all matrices, own_k of them of A;
 * `status` is what its checks have said. */
weft_status wi_gemm_over_ranks(weft_context *ctx, const wi_call *call, const wi_gemm_args *args,
                               size_t own_k, weft_status status);
/* Is a checked call on a place of several GPUs to go to all of them? And runs it so. */
bool wi_gemm_wants_gpus(weft_context *ctx, const wi_call *call, const wi_gemm_args *args);
weft_status wi_gemm_over_gpus(weft_context *ctx, const wi_call *call, const wi_gemm_args *args);

/* What keeps a rung from a call; NULL: nothing. */
const char *wi_gemm_fits_ring(const weft_context *ctx, const void *args);
const char *wi_gemm_fits_parts(const weft_context *ctx, const void *args);

/* Do the tiles of f64 and f32 copy single elements of operands that are not aligned? Where that
 * takes less time than copies of the operands. */
static inline bool wi_gemm_takes_elements(const wi_gemm_args *g) {
    const double most_products = 1 << 30;
    return (g->type == WEFT_F64 || (g->type == WEFT_F32 && g->accuracy != WI_TF32)) &&
           (double)g->m * (double)g->n * (double)g->k <= most_products;
}

/* Do lanes have neighbouring k of a long factor of f32, and the few rows or columns beside it? */
static inline bool wi_gemm_is_few(const wi_gemm_args *g) {
    const size_t most = 8, least_length = 64; /* below, tiles of batches are as good */
    const bool long_a = g->m > g->n, along_k = long_a ? g->transposed_a : !g->transposed_b;
    return along_k && g->k > 0 && (long_a ? g->n : g->m) <= most &&
           (long_a ? g->m : g->n) > least_length;
}

/* Does `small` of f64 take its wider tiles? */
bool wi_gemm_prefers_wide_f64(const weft_context *ctx, const wi_gemm_args *g);

/* What the ring is predicted to take, without copies of operands that are not aligned, turned or
 * split. leaves_a: A of tf32 lies across k, and stays so. */
double wi_gemm_ring_f64_seconds(const weft_context *ctx, const wi_gemm_args *g);
double wi_gemm_ring_f32_seconds(const weft_context *ctx, const wi_gemm_args *g);
double wi_gemm_ring_tf32_seconds(const weft_context *ctx, const wi_gemm_args *g, bool *leaves_a);
bool wi_gemm_ring_tf32_wants_across(const weft_context *ctx, const wi_gemm_args *g);
bool wi_gemm_ring_tf32_wants_both_across(const weft_context *ctx, const wi_gemm_args *g);
double wi_gemm_ring_tf32_seconds_both_across(const weft_context *ctx, const wi_gemm_args *g);
double wi_gemm_ring_f16_seconds(const weft_context *ctx, const wi_gemm_args *g);
double wi_gemm_ring_bf16_seconds(const weft_context *ctx, const wi_gemm_args *g);
double wi_gemm_ring_i8_seconds(const weft_context *ctx, const wi_gemm_args *g);
double wi_gemm_ring_parts_seconds(const weft_context *ctx, const wi_gemm_args *g);

/* The rungs. */
weft_status wi_gemm_serial(weft_context *ctx, const void *args);
weft_status wi_gemm_packed(weft_context *ctx, const void *args);
weft_status wi_gemm_openblas(weft_context *ctx, const void *args);
weft_status wi_gemm_naive(weft_context *ctx, const void *args);
weft_status wi_gemm_coalesced(weft_context *ctx, const void *args);
weft_status wi_gemm_tile16(weft_context *ctx, const void *args);
weft_status wi_gemm_tile32(weft_context *ctx, const void *args);
weft_status wi_gemm_strip(weft_context *ctx, const void *args);
weft_status wi_gemm_patch(weft_context *ctx, const void *args);
weft_status wi_gemm_vector(weft_context *ctx, const void *args);
weft_status wi_gemm_doubled(weft_context *ctx, const void *args);
weft_status wi_gemm_warps(weft_context *ctx, const void *args);
weft_status wi_gemm_thin(weft_context *ctx, const void *args);
weft_status wi_gemm_narrow(weft_context *ctx, const void *args);
weft_status wi_gemm_outer(weft_context *ctx, const void *args);
weft_status wi_gemm_by_gemv(weft_context *ctx, const void *args);
weft_status wi_gemm_small(weft_context *ctx, const void *args);
weft_status wi_gemm_pipeline(weft_context *ctx, const void *args);
weft_status wi_gemm_tensor(weft_context *ctx, const void *args);
weft_status wi_gemm_ring(weft_context *ctx, const void *args);
weft_status wi_gemm_parts(weft_context *ctx, const void *args);
weft_status wi_gemm_ranks(weft_context *ctx, const void *request);

#ifdef WEFT_CUDA
/* Would a call on a GPU better be done piece by piece, as matrices are large and on the host? */
bool wi_gemm_wants_panels(const weft_context *ctx, const wi_call *call, const wi_gemm_args *g);
/* Does it so: `call` has been checked, and `g` is what it asks of matrices stored by columns. */
weft_status wi_gemm_in_panels(weft_context *ctx, const wi_call *call, const wi_gemm_args *g);
#endif

/* The packed rung on the calling thread alone, in `memory` of wi_gemm_alone_bytes(g) bytes,
 * aligned to 64. The bits are the same. */
size_t wi_gemm_alone_bytes(const wi_gemm_args *g);
void wi_gemm_packed_alone(const wi_gemm_args *g, void *memory);

/* The packed rung in memory of the caller, who makes several products and may not fail between
 * them: so many bytes, at a multiple of 64. */
size_t wi_gemm_packed_bytes(const weft_context *ctx, const wi_gemm_args *g);
void wi_gemm_packed_in(const weft_context *ctx, const wi_gemm_args *g, void *memory);

/* Device memory that any rung takes for this product, at most, while it is queued. */
size_t wi_gemm_most_bytes(const weft_context *ctx, const wi_gemm_args *g);

#ifdef __cplusplus
}
#endif
#endif
