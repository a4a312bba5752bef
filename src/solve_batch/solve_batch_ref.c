/* SPDX-License-Identifier: Apache-2.0 */
/* The serial rung: one system after the other, as on paper. */
#include <math.h>

#include "solve_batch/solve_batch.h"

#define NAME(f) f##_f64
#define WORD double
#define SIZE fabs
#define ROOT sqrt
#define PLUS_PRODUCT fma
#include "solve_batch/solve_batch_loops.inc"

#define NAME(f) f##_f32
#define WORD float
#define SIZE fabsf
#define ROOT sqrtf
#define PLUS_PRODUCT fmaf
#include "solve_batch/solve_batch_loops.inc"

weft_status wi_solve_batch_serial(weft_context *ctx, const void *args) {
    const wi_solve_batch_args *const g = args;
    size_t each;
    void *const memory = wi_batch_memory(ctx, g, 1, &each);
    if (!memory)
        return WEFT_ENOMEM;
    (g->type == WEFT_F64 ? systems_f64 : systems_f32)(g, 0, g->count, memory);
    wi_host_free(memory);
    return WEFT_OK;
}
