/* SPDX-License-Identifier: Apache-2.0 */
/* The serial rungs of sort: two textbook methods. They sort keys, the bits of elements turned so
 * that they compare as unsigned integers (wi_sort_key). */
#include "sort/sort_parts.h"
#include "sort/sort_simd.h"

enum {
    FEW = 16 /* parts of up to so many elements are sorted by insertion */
};

#define NAME(f) f##_u8
#define T uint8_t
#include "sort/sort_quick.inc"

#define NAME(f) f##_u16
#define T uint16_t
#include "sort/sort_quick.inc"

#define NAME(f) f##_u32
#define T uint32_t
#include "sort/sort_quick.inc"

#define NAME(f) f##_u64
#define T uint64_t
#include "sort/sort_quick.inc"

/* 2 log2 n: where quicksort has divided more often, it goes on as heapsort. */
static unsigned twice_log2(size_t n) {
    unsigned log2 = 0;
    while (n >>= 1)
        log2++;
    return 2 * log2;
}

weft_status wi_sort_serial_quick(weft_context *ctx, const void *args) {
    (void)ctx;
    const wi_sort_args *call = args;
    if (call->bytes) /* asks how much scratch memory this needs: none */
        return WEFT_OK;
    const wi_sort_simd *simd = WI_OF_ISA(wi_cpu_isa(), wi_sort_simd);
    const wi_sort_key key = wi_sort_key_of(call->type, call->descending);
    const unsigned bytes = (unsigned)weft_type_size(call->type), depth = twice_log2(call->n);
    simd->to_keys(&key, bytes, call->n, call->x, call->y);
    switch (bytes) {
    case 1:
        quick_u8(call->y, call->n, depth);
        break;
    case 2:
        quick_u16(call->y, call->n, depth);
        break;
    case 4:
        quick_u32(call->y, call->n, depth);
        break;
    default:
        quick_u64(call->y, call->n, depth);
    }
    simd->of_keys(&key, bytes, call->n, call->y, call->y);
    return WEFT_OK;
}

weft_status wi_sort_serial_radix(weft_context *ctx, const void *args) {
    const wi_sort_args *call = args;
    wi_sort_parts parts;
    weft_status status = wi_sort_take_parts(ctx, call, false, 0, &parts);
    if (status != WEFT_OK || call->bytes)
        return status;
    const wi_sort_range all = wi_sort_load(call, &parts, 0, call->n);
    WI_OF_ISA(wi_cpu_isa(), wi_sort_simd)->radix(&all);
    wi_sort_store(call, &parts, &all, 0);
    wi_host_free(parts.memory);
    return WEFT_OK;
}
