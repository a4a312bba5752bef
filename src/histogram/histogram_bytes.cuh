/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of `lanes` over bytes of one channel, each of whose counters has 32 copies. An H200 that
 * counts bytes is at the limit of its power, and its clock falls: so a byte takes four
 * instructions, and a thread has enough on its way from memory for a slower clock. */
#ifndef WI_HISTOGRAM_BYTES_CUH
#define WI_HISTOGRAM_BYTES_CUH

#include "histogram/histogram_cuda.cuh"

constexpr int wi_byte_vectors_at_once = 3;

/* Counts the four bytes of a word. */
struct wi_byte_counters {
    char *mine; /* those of a lane */

    static constexpr int log2_bytes = 7; /* from one counter of a lane to its next */

    __device__ void add(uint32_t at) const {
        atomicAdd((uint32_t *)(mine + (at & (WI_BYTE_VALUES - 1) << log2_bytes)), 1u);
    }
    __device__ void count(uint32_t word) const {
        add(word << log2_bytes);
        add(word >> (8 - log2_bytes));
        add(word >> (16 - log2_bytes));
        add(word >> (24 - log2_bytes));
    }
};

/* A block takes vectors that lie together; `mine` is the first counter of this lane. */
template <int threads>
__device__ inline void wi_count_bytes(const wi_histogram_params<uint8_t> &p, uint32_t *mine) {
    using Words = wi_vector<uint32_t>;
    constexpr int at_once = wi_byte_vectors_at_once;
    constexpr size_t of_block = (size_t)threads * at_once;
    const wi_byte_counters counters = {(char *)mine};
    const wi_cut<uint8_t> cut(p.x, p.n);
    const Words *const body = (const Words *)(p.x + cut.head);
    const auto count = [&](const Words &a) {
#pragma unroll
        for (int w = 0; w < Words::count; w++)
            counters.count(a.at[w]);
    };
    size_t v = blockIdx.x * of_block + threadIdx.x;
    for (; v + (at_once - 1) * threads < cut.vectors; v += gridDim.x * of_block) {
        Words a[at_once];
#pragma unroll
        for (int k = 0; k < at_once; k++)
            a[k] = body[v + k * threads];
#pragma unroll
        for (int k = 0; k < at_once; k++)
            count(a[k]);
    }
    for (; v < cut.vectors; v += threads)
        count(body[v]);
    if (blockIdx.x == 0)
        wi_take_ends(p, cut, [&](uint8_t x, uint32_t) {
            counters.add((uint32_t)x << wi_byte_counters::log2_bytes);
        });
}

#endif
