/* SPDX-License-Identifier: Apache-2.0 */
/* From weft_type to C++ types, for operations on floats alone. */
#ifndef WI_FLOATS_CUH
#define WI_FLOATS_CUH

#include "cuda/types.cuh"

/* Calls f(wi_tag<T>{}) with the type, one of floats. */
template <class F>
weft_status wi_with_float_type(weft_type type, F f) {
    switch (type) {
    case WEFT_F16:
        return f(wi_tag<__half>{});
    case WEFT_BF16:
        return f(wi_tag<__nv_bfloat16>{});
    case WEFT_F32:
        return f(wi_tag<float>{});
    default:
        return f(wi_tag<double>{});
    }
}

#endif
