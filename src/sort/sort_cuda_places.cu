/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "places" of top_k: few elements, each of which finds its place by counting. */
#include "sort/sort_places.h"

#include "sort/sort_places.cuh"

namespace {

template <class U>
struct put_first {
    const U *x;
    U *values;
    uint64_t *positions;
    uint64_t k;
    __device__ void operator()(unsigned i, unsigned place, U) const {
        if (place >= k)
            return;
        if (values)
            values[place] = x[i];
        if (positions)
            positions[place] = i;
    }
};

template <class U>
weft_status find_first(weft_context *ctx, const wi_top_k_args *a) {
    const U *const x = (const U *)a->x;
    const put_first<U> put = {x, (U *)a->values, a->positions, a->k};
    return WEFT_LAUNCH((wi_find_places<U, put_first<U>>), ctx, wi_places_blocks(a->n),
                       wi_places_threads, a->n * sizeof(U), x, (unsigned)a->n,
                       wi_key_map_of<U>(a->type, a->descending), put);
}

} // namespace

bool wi_top_k_has_places(const wi_top_k_args *args) {
    return wi_places_fit(args->n, weft_type_size(args->type));
}

weft_status wi_top_k_places(weft_context *ctx, const void *args) {
    const wi_top_k_args *const a = (const wi_top_k_args *)args;
    if (a->bytes)
        return WEFT_OK; /* it takes no memory */
    return wi_with_size(weft_type_size(a->type),
                        [=](auto tag) { return find_first<typename decltype(tag)::type>(ctx, a); });
}
