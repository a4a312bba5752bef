/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a call's arrays. They are all here, so that every call refuses in the same words. */
#include "core/call.h"

/* Elements from the first of the array to its last, gaps included; false if that overflows. */
static bool extent_of(const wi_array *a, size_t *extent) {
    size_t before, elements;
    *extent = 0;
    if (a->rows == 0 || a->cols == 0)
        return true;
    return !__builtin_mul_overflow(a->rows - 1, a->ld, &before) &&
           !__builtin_add_overflow(before, a->cols, extent) &&
           !__builtin_mul_overflow(a->rows, a->cols, &elements);
}

static weft_status check_shape(weft_context *ctx, const char *call, const wi_array *a,
                               size_t *extent) {
    const bool columns = a->use & WI_COLUMNS;
    const char *const lines = columns ? "columns" : "rows";
    if (a->ld_name && a->ld < a->cols)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %s is %zu, less than the %zu %s of %s; pass the distance between "
                       "starts of %s, in elements",
                       call, a->ld_name, a->ld, a->cols, columns ? "rows" : "columns", a->name,
                       lines);
    if (!extent_of(a, extent))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %zu %s, %zu elements apart, exceed the address space; check their "
                       "number and %s",
                       call, a->rows, lines, a->ld, a->ld_name);
    return WEFT_OK;
}

/* wi_check_array for elements that have no type. */
static weft_status check_items(weft_context *ctx, const char *call, const wi_array *a,
                               size_t extent) {
    if (a->width > 0 && extent > PTRDIFF_MAX / a->width)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %zu elements of %zu bytes do not fit the address space; check the "
                       "count of %s and their width",
                       call, extent, a->width, a->name);
    if (!a->p && extent > 0)
        return wi_fail(ctx, WEFT_EARG, "%s: %s is NULL; pass memory of %zu elements of %zu bytes",
                       call, a->name, extent, a->width);
    return WEFT_OK;
}

static weft_status check_array(weft_context *ctx, const char *call, wi_array *a) {
    size_t extent = 0;
    a->bytes = 0;
    if (!a->p && a->use & WI_OPTIONAL)
        return WEFT_OK;
    weft_status status = wi_strided_check(ctx, call, a);
    if (status != WEFT_OK || a->stride_bytes > 0)
        return status;
    status = check_shape(ctx, call, a, &extent);
    if (status == WEFT_OK)
        status = a->use & WI_UNALIGNED ? check_items(ctx, call, a, extent)
                                       : wi_check_array(ctx, call, a->name, a->p, extent, a->type);
    if (status != WEFT_OK)
        return status;
    a->bytes = extent * a->width;
    if (a->bytes > 0 && a->use & WI_HOST && !wi_is_host(ctx, a->p))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %s is device memory; copy it to host memory with weft_copy", call,
                       a->name);
    return WEFT_OK;
}

/* An array of which all is well, as a few comparisons show: a vector of aligned elements whose
 * bytes fit. Small calls would notice the time of check_array. */
static inline bool is_well(const weft_context *ctx, wi_array *a) {
    enum {
        LOG2_COUNT = 48, /* so many elements ... */
        LOG2_WIDTH = 15  /* of so many bytes are no more than PTRDIFF_MAX */
    };
    const bool unaligned = a->use & WI_UNALIGNED;
    if (!a->p || a->rows != 1 || a->ld < a->cols || a->use & WI_HOST || a->cols >> LOG2_COUNT ||
        a->width >> LOG2_WIDTH || (!unaligned && (uintptr_t)a->p & (a->width - 1)) ||
        wi_is_strided(ctx, a->p))
        return false;
    a->bytes = a->cols * a->width;
    return true;
}

/* May two matrices of the same pitch overlap? Yes if each lies in the other's gaps. */
static bool side_by_side(const wi_array *a, const wi_array *b) {
    const size_t pitch = a->ld * a->width;
    if (a->rows <= 1 || pitch != b->ld * b->width)
        return false;
    const uintptr_t from = (uintptr_t)a->p, to = (uintptr_t)b->p;
    const size_t shift = (from < to ? to - from : from - to) % pitch;
    const size_t width_a = a->cols * a->width, width_b = b->cols * b->width;
    return from < to ? shift >= width_a && shift <= pitch - width_b
                     : shift >= width_b && shift <= pitch - width_a;
}

/* Do two arrays, one of which is written, share a byte? */
static inline bool meet(const wi_array *a, const wi_array *b) {
    const uintptr_t from = (uintptr_t)a->p, to = (uintptr_t)b->p;
    return (a->use | b->use) & WI_OUT && a->bytes > 0 && b->bytes > 0 &&
           (to - from < a->bytes || from - to < b->bytes);
}

/* Of two arrays that overlap, one of them written. */
static weft_status check_pair(weft_context *ctx, const wi_call *call, int i, int k) {
    const wi_array *const a = &call->array[i], *const b = &call->array[k];
    const bool in_place = (a->in_place >> k | b->in_place >> i) & 1;
    if (side_by_side(a, b))
        return WEFT_OK;
    if (!in_place || a->stride_bytes > 0 || b->stride_bytes > 0)
        return wi_fail(ctx, WEFT_EARG, "%s: %s and %s overlap; pass separate arrays", call->name,
                       a->name, b->name);
    if (a->rows > 1 && a->p == b->p && a->ld != b->ld)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %s and %s are the same array, but %s is %zu and %s is %zu; to work in "
                       "place pass equal leading dimensions",
                       call->name, a->name, b->name, a->ld_name, a->ld, b->ld_name, b->ld);
    return wi_check_overlap(ctx, call->name, a->name, a->p, a->bytes, b->name, b->p, b->bytes);
}

weft_status wi_check_local(weft_context *ctx, const char *call) {
    if (!ctx->comm)
        return WEFT_OK;
    return wi_fail(
        ctx, WEFT_EUNSUPPORTED,
        "%s: it has no variant over ranks yet, and place %s has them; gather the parts on "
        "one rank and call it on a place of its own, as \"%s\"",
        call, ctx->place, ctx->child->place);
}

weft_status wi_call_check(weft_context *ctx, wi_call *call) {
    weft_status status = call->distributed ? WEFT_OK : wi_check_local(ctx, call->name);
    for (int k = 0; k < call->count && status == WEFT_OK; k++)
        if (!is_well(ctx, &call->array[k]))
            status = check_array(ctx, call->name, &call->array[k]);
    for (int k = 1; k < call->count && status == WEFT_OK; k++)
        for (int i = 0; i < k && status == WEFT_OK; i++)
            if (meet(&call->array[i], &call->array[k]))
                status = check_pair(ctx, call, i, k);
    return status;
}

weft_status wi_call_check_one(weft_context *ctx, const char *call, wi_array array) {
    const weft_status status = wi_check_local(ctx, call);
    return status == WEFT_OK ? check_array(ctx, call, &array) : status;
}
