/* SPDX-License-Identifier: Apache-2.0 */
/* solve_batch inside the library: one checked call as its rungs get it, and the rungs. */
#ifndef WI_SOLVE_BATCH_H
#define WI_SOLVE_BATCH_H

#include "core/rows.h"
#include "weft/solve_batch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is to be done with each system. */
typedef enum wi_batch_task {
    WI_BATCH_FACTOR,     /* factors in the place of A */
    WI_BATCH_SUBSTITUTE, /* A holds them: X in the place of B */
    WI_BATCH_SOLVE       /* X in the place of B; A is only read */
} wi_batch_task;

/* Element (i, j) of matrix s is at s stride + i row + j column. */
typedef struct wi_batch_matrices {
    void *p;
    size_t row, column, stride;
} wi_batch_matrices;

/* One call on memory the place can reach, checked; n, count > 0, and nrhs > 0 unless it factors. */
typedef struct wi_solve_batch_args {
    weft_type type;
    wi_batch_task task;
    bool spd;        /* L L', of which only the lower triangle is there; else P A = L U */
    bool transposed; /* WI_BATCH_SUBSTITUTE with L U: of the transpose */
    size_t n, nrhs, count;
    wi_batch_matrices a, b;
    int32_t *pivot; /* n of each system; of L U that is kept */
    int32_t *info;  /* one of each system, unless it substitutes */
} wi_solve_batch_args;

extern const wi_ladder wi_solve_batch_ladder;

/* The rungs; args is a wi_solve_batch_args. */
weft_status wi_solve_batch_serial(weft_context *ctx, const void *args);
weft_status wi_solve_batch_threads(weft_context *ctx, const void *args);
weft_status wi_solve_batch_registers(weft_context *ctx, const void *args);

/* Systems first ... end - 1 on a cpu, with memory for n x n elements. */
typedef void wi_batch_systems(const wi_solve_batch_args *g, size_t first, size_t end, void *memory);

/* Memory for `team` threads, each of which has so many bytes of it; NULL, with a message, if there
 * is none. */
void *wi_batch_memory(weft_context *ctx, const wi_solve_batch_args *g, int team, size_t *each);

#ifdef __cplusplus
}
#endif
#endif
