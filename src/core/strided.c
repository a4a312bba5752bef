/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs that weft_strided made: what they stand for, and where they are refused. */
#include "core/call.h"

bool wi_has_strides(const wi_call *call) {
    bool any = false;
    for (int k = 0; k < call->count; k++)
        any = any || call->array[k].stride_bytes > 0;
    return any;
}

static weft_status check_use(weft_context *ctx, const char *call, const wi_array *a) {
    if (!(a->use & WI_STRIDED) || a->rows > 1)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %s is what weft_strided returned, which this call does not take there; "
                       "take the column out with weft_take_columns",
                       call, a->name);
    if (ctx->comm || ctx->gpus)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: %s is what weft_strided returned, which place %s does not take; take "
                       "the column out with weft_take_columns",
                       call, a->name, ctx->place);
    return WEFT_OK;
}

weft_status wi_strided_check(weft_context *ctx, const char *call, wi_array *a) {
    const wi_stride_notes *const s = &ctx->strides;
    if (!wi_is_strided(ctx, a->p))
        return WEFT_OK;
    const size_t name = (size_t)((const char *)a->p - s->name), own = name % WI_STRIDES;
    const weft_status status = check_use(ctx, call, a);
    const size_t stride = s->latest[own].stride_bytes;
    size_t last;
    if (status != WEFT_OK)
        return status;
    if (s->latest[own].number % WI_STRIDE_NAMES != name)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %s was returned by weft_strided more than %d of its calls ago; call it "
                       "again",
                       call, a->name, WI_STRIDES);
    if (stride < a->width)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: the elements of %s are %zu bytes apart, and have %zu bytes; pass "
                       "weft_strided the size of a record",
                       call, a->name, stride, a->width);
    if (a->cols > 0 &&
        (__builtin_mul_overflow(a->cols - 1, stride, &last) || last > PTRDIFF_MAX - a->width))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %zu elements of %s, %zu bytes apart, do not fit the address space; "
                       "check their number",
                       call, a->cols, a->name, stride);
    a->p = s->latest[own].first;
    a->stride_bytes = stride;
    a->bytes = a->cols > 0 ? last + a->width : 0;
    return WEFT_OK;
}
