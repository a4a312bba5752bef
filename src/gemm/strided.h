/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors with strides, as BLAS has them. */
#ifndef WI_GEMM_STRIDED_H
#define WI_GEMM_STRIDED_H

#include "core/call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Element k is `step` elements after element k - 1; step may be below 0. */
typedef struct wi_strided {
    void *first;
    ptrdiff_t step;
} wi_strided;

/* Elements from one to the next, whichever lies first. */
static inline size_t wi_distance(ptrdiff_t inc) {
    return inc < 0 ? (size_t)0 - (size_t)inc : (size_t)inc;
}

/* A vector of a call, each element a line of its own unless they have no gaps. */
static inline wi_array wi_vector_of(const char *name, const void *p, size_t n, const char *inc_name,
                                    ptrdiff_t inc, weft_type type, unsigned use) {
    if (wi_distance(inc) == 1)
        return wi_elements(name, p, n, type, use);
    return wi_matrix(name, p, n, 1, inc_name, wi_distance(inc), type, use);
}

/* Array k of a part, which wi_vector_of described. */
static inline wi_strided wi_vector_in(const wi_part *part, int k, size_t n, ptrdiff_t inc,
                                      weft_type type) {
    const size_t apart = wi_distance(inc) == 1 ? 1 : part->ld[k];
    const bool backward = inc < 0 && n > 0;
    wi_strided v;
    v.first = (char *)part->p[k] + (backward ? (n - 1) * apart * weft_type_size(type) : 0);
    v.step = backward ? -(ptrdiff_t)apart : (ptrdiff_t)apart;
    return v;
}

/* Refuses a stride of 0. */
static inline weft_status wi_check_stride(weft_context *ctx, const char *call, const char *inc_name,
                                          ptrdiff_t inc) {
    if (inc != 0)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG,
                   "%s: %s is 0; pass the distance between elements, 1 if there are no gaps", call,
                   inc_name);
}

/* Refuses flags that the call does not have. */
static inline weft_status wi_check_flags(weft_context *ctx, const char *call, unsigned how,
                                         unsigned allowed, const char *they_are) {
    if (!(how & ~allowed))
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG, "%s: how is %u; it takes %s", call, how, they_are);
}

#ifdef __cplusplus
}
#endif
#endif
