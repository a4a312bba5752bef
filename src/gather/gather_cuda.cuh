/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA rungs of gather share. */
#ifndef WI_GATHER_CUDA_CUH
#define WI_GATHER_CUDA_CUH

#include "cuda/launch.cuh"
#include "cuda/size.cuh"
#include "gather/gather.h"

constexpr size_t wi_gather_blocks = 32; /* of a multiprocessor, at most */

/* What blocks tell each other of indices out of range: zeros before a kernel and after it. */
struct wi_gather_seen {
    unsigned long long ended;     /* how many blocks have looked; 2^32 times: and found some */
    unsigned long long not_first; /* the complement of the first */
};

/* wi_gather_args as kernels need them. */
struct wi_gather_moves {
    uint64_t n, m;
    const void *indices, *x;
    void *y;
    uint64_t *bad;
    const void *owners;
    weft_type index_type;
    struct wi_gather_seen *seen; /* or NULL: *bad has a value */
    unsigned tile;               /* elements of a block at a time */

    /* Index i; a negative one becomes a number that no array has. */
    __device__ uint64_t index(uint64_t i) const {
        if (index_type == WEFT_U32)
            return ((const uint32_t *)indices)[i];
        if (index_type == WEFT_I32)
            return (uint64_t)(int64_t)((const int32_t *)indices)[i];
        return ((const uint64_t *)indices)[i];
    }

    /* Indices that are taken as unsigned are below it if there is such an element. */
    __device__ uint64_t limit() const {
        constexpr uint64_t signed_words = (uint64_t)1 << 31;
        return index_type == WEFT_I32 && m > signed_words ? signed_words : m;
    }
};

inline wi_gather_moves wi_gather_moves_of(const wi_gather_args *a) {
    return {a->n, a->m, a->index, a->x, a->y, a->bad, a->owners, a->index_type, nullptr, 0};
}

/* Gives *bad the value that it must have before a kernel. */
weft_status wi_gather_begin(weft_context *ctx, const wi_gather_args *a);

/* Calls f with a tag of the largest type of which elements are made, and to which x and y are
 * aligned. */
template <class F>
weft_status wi_with_word(const wi_gather_args *a, F f) {
    const uintptr_t all = (uintptr_t)a->x | (uintptr_t)a->y | a->width | 16;
    const size_t word = (size_t)(all & -all);
    return word == sizeof(uint4) ? f(wi_tag<uint4>{}) : wi_with_size(word, f);
}

#endif
