/* SPDX-License-Identifier: Apache-2.0 */
/* Gather: moves values to where sorted positions say. A thread moves one word, as wide as the
 * values and their addresses allow, so that neighbouring threads of a warp read neighbouring words
 * of a long value. */
#include "cuda/launch.cuh"
#include "cuda/limit.cuh"
#include "sort/sort.h"

constexpr unsigned threads = 256;
constexpr size_t blocks_per_multiprocessor = 16;

/* The first word of a launch; tests set it higher. */
WI_LIMIT(size_t, wi_sort_gather_first, 0)

template <class Word>
__global__ void gather_values(wi_sort_gather_args g) {
    const size_t words = g.value_bytes / sizeof(Word), stride = (size_t)gridDim.x * blockDim.x;
    const size_t end = wi_sort_gather_first + g.n * words;
    const Word *const values = (const Word *)g.values;
    Word *const out = (Word *)g.values_out;
    for (size_t i = wi_sort_gather_first + (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < end;
         i += stride) {
        const size_t value = i / words, word = i % words;
        const size_t from = g.index_bytes == 4 ? ((const uint32_t *)g.indices)[value]
                                               : ((const uint64_t *)g.indices)[value];
        out[i] = values[from * words + word];
    }
}

template <class Word>
static weft_status launch(weft_context *ctx, const wi_sort_gather_args *g) {
    const size_t needed = (g->n * (g->value_bytes / sizeof(Word)) - 1) / threads + 1;
    const size_t fill = (size_t)ctx->gpu->multiprocessors * blocks_per_multiprocessor;
    return WEFT_LAUNCH(gather_values<Word>, ctx, (unsigned)(needed < fill ? needed : fill), threads,
                       0, *g);
}

weft_status wi_sort_gather_each(weft_context *ctx, const void *args) {
    const wi_sort_gather_args *const g = (const wi_sort_gather_args *)args;
    const uintptr_t all = (uintptr_t)g->values | (uintptr_t)g->values_out | g->value_bytes;
    if (all % 16 == 0)
        return launch<uint4>(ctx, g);
    if (all % 8 == 0)
        return launch<uint64_t>(ctx, g);
    if (all % 4 == 0)
        return launch<uint32_t>(ctx, g);
    return all % 2 == 0 ? launch<uint16_t>(ctx, g) : launch<uint8_t>(ctx, g);
}
