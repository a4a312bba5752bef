/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the bits of an element into its key, an unsigned integer of the same size in the order that
 * weft/sort.h documents, and back. Kernels are compiled once for each size; the type and
 * the order are only constants in a wi_key_map. Also what kernels share that move keys with or
 * without values. */
#ifndef WI_SORT_KEY_CUH
#define WI_SORT_KEY_CUH

#include "cuda/size.cuh"
#include "sort/sort.h"

/* The type of values if there are none. */
struct wi_no_values {};

template <class V>
constexpr bool wi_has_values = sizeof(V) > 1;

/* element[i] = x[first + 32 i] for the elements of a thread, among the `count` that there are.
 * Those beyond the end are `filler`; `full`: there are none. */
template <class T, int items>
__device__ inline void wi_load_striped(const T *x, unsigned first, unsigned count, bool full,
                                       T filler, T (&element)[items]) {
    x += first;
    if (full) {
#pragma unroll
        for (int i = 0; i < items; i++)
            element[i] = x[i * 32];
        return;
    }
#pragma unroll
    for (int i = 0; i < items; i++)
        element[i] = first + (unsigned)i * 32 < count ? x[i * 32] : filler;
}

/* wi_sort_key for elements of one size, applied and undone. */
template <class U>
struct wi_key_map {
    U negative, positive; /* exclusive-or for elements with and without the top bit */
    U rotate, complement;

    __host__ __device__ static bool is_top_set(U word) {
        return word >> (8 * sizeof(U) - 1);
    }
    __host__ __device__ U key(U bits) const {
        const U t = (U)(bits ^ (is_top_set(bits) ? negative : positive));
        return (U)((U)(t - rotate) ^ complement);
    }
    __host__ __device__ U bits(U key) const {
        const U t = (U)((key ^ complement) + rotate);
        return (U)(t ^ (is_top_set(t) ? positive : negative));
    }
    /* Do keys differ from the elements' bits? */
    __host__ __device__ bool changes() const {
        return negative || positive || rotate || complement;
    }
};

/* Calls f(wi_tag<K>{}, wi_tag<V>{}) with the types of keys of 4 or 8 bytes and of values. */
template <class F>
weft_status wi_with_wide_keys(const wi_sort_args *a, F f) {
    const auto with_values = [&](auto keys) {
        switch (a->value_bytes) {
        case 0:
            return f(keys, wi_tag<wi_no_values>{});
        case 4:
            return f(keys, wi_tag<uint32_t>{});
        default:
            return f(keys, wi_tag<uint64_t>{});
        }
    };
    return weft_type_size(a->type) == 4 ? with_values(wi_tag<uint32_t>{})
                                        : with_values(wi_tag<uint64_t>{});
}

template <class U>
wi_key_map<U> wi_key_map_of(weft_type type, bool descending) {
    const wi_sort_key k = wi_sort_key_of(type, descending);
    return {(U)(k.sign | k.floats), (U)k.sign, (U)k.lowest, (U)k.flip};
}

#endif
