/* SPDX-License-Identifier: Apache-2.0 */
/* Maps the size of an element to the unsigned type of that size: kernels that only move or compare
 * bits are compiled once for each size. */
#ifndef WI_SIZE_CUH
#define WI_SIZE_CUH

#include "core/core.h"
#include "cuda/bits.cuh"

/* Calls f(wi_tag<U>{}) with the unsigned type of `size` bytes: 1, 2, 4 or 8. */
template <class F>
weft_status wi_with_size(size_t size, F f) {
    switch (size) {
    case 1:
        return f(wi_tag<uint8_t>{});
    case 2:
        return f(wi_tag<uint16_t>{});
    case 4:
        return f(wi_tag<uint32_t>{});
    default:
        return f(wi_tag<uint64_t>{});
    }
}

#endif
