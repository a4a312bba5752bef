/* SPDX-License-Identifier: Apache-2.0 */
/* Where an extreme is: known is the region that holds it, and the block that combines the states of
 * all others searches that region once, at the end. */
#ifndef WI_SUMMARY_SEARCH_CUH
#define WI_SUMMARY_SEARCH_CUH

#include "summary/summary_collect.cuh"

/* A region to search for an element. Half of the block's threads search it, one vector each: one
 * half may look for the minimum and the other for the maximum. */
template <class T>
struct wi_summary_search {
    static_assert(wi_summary_region<T> == wi_summary_block / 2 * wi_vector<T>::count,
                  "a vector for each thread");
    size_t begin;
    uint32_t extent; /* elements of the region: 0 if there is no such region */

    __device__ wi_summary_search(const wi_summary_task<T> &p, uint32_t region)
        : begin(region * wi_summary_region<T>) {
        const size_t left = begin < p.n ? p.n - begin : 0;
        extent = (uint32_t)(left < wi_summary_region<T> ? left : wi_summary_region<T>);
    }
    /* The number of this thread in its half of the block. */
    __device__ static uint32_t me() {
        return threadIdx.x % (wi_summary_block / 2);
    }
    /* Where this thread's vector begins in the region. */
    __device__ static uint32_t at() {
        return me() * wi_vector<T>::count;
    }
    __device__ bool has_vector() const {
        return at() + wi_vector<T>::count <= extent;
    }
    __device__ void bring(const wi_summary_task<T> &p, const wi_summary_stages<T> &stages) const {
        if (has_vector())
            stages.bring_one(0, 0, p.x + begin + at());
    }
    /* The first place in the region where this thread sees x, or nowhere. */
    __device__ uint32_t find(const wi_summary_task<T> &p, const wi_summary_stages<T> &stages,
                             T x) const {
        constexpr uint32_t wide = wi_vector<T>::count;
        const uint32_t rest = extent / wide * wide + me();
        if (has_vector()) {
            const uint32_t e = first(*stages.place(0, 0), x);
            if (e < wide)
                return at() + e;
        }
        return rest < extent && wi_summary_order<T>::same(p.x[begin + rest], x)
                   ? rest
                   : wi_summary_nowhere;
    }
    /* Which element of a vector is the first that is x; if none is, their number. */
    __device__ static uint32_t first(const wi_summary_vector<T> &v, T x) {
        constexpr int wide = wi_vector<T>::count;
        uint32_t e = wide;
        if constexpr (wi_summary_of_bytes<T>) {
            uint32_t bits = 0, word = 0;
#pragma unroll
            for (int w = 3; w >= 0; w--) {
                const uint32_t same = wi_bytes_that_are((uint8_t)x, v.at[w]);
                bits = same ? same : bits;
                word = same ? (uint32_t)w : word;
            }
            e = bits ? 4 * word + (uint32_t)(__ffs((int)bits) - 1) / 8 : e;
        } else {
#pragma unroll
            for (int k = wide - 1; k >= 0; k--)
                e = wi_summary_order<T>::same(v.at[k], x) ? (uint32_t)k : e;
        }
        return e;
    }
};

#endif
