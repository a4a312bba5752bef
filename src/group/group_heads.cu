/* SPDX-License-Identifier: Apache-2.0 */
/* Marks the first element of every segment, and of every run of equal keys, in an array of flags.
 */
#include "cuda/size.cuh"
#include "group/group_cuda.cuh"

constexpr unsigned head_threads = 256;
constexpr size_t head_blocks_per_multiprocessor = 16;

static unsigned grid_for(const weft_context *ctx, size_t wanted) {
    const size_t fill = (size_t)ctx->gpu->multiprocessors * head_blocks_per_multiprocessor;
    const size_t needed = (wanted + head_threads - 1) / head_threads;
    return (unsigned)(needed < fill ? needed : fill);
}

/* Of empty segments only the last at a place could mark it, and none does. */
__global__ void mark_starts(wi_group_starts starts, uint8_t *heads) {
    const uint64_t count = starts.count(), stride = (uint64_t)gridDim.x * head_threads;
    for (uint64_t s = (uint64_t)blockIdx.x * head_threads + threadIdx.x; s < count; s += stride) {
        const uint64_t first = starts.of(s, count);
        if (first < starts.of(s + 1, count) && first < starts.n)
            heads[first] = 1;
    }
}

/* A key is so many words. */
template <class Word>
__global__ void mark_keys(const Word *keys, size_t words, size_t n, uint8_t *heads) {
    const uint64_t stride = (uint64_t)gridDim.x * head_threads;
    for (uint64_t i = (uint64_t)blockIdx.x * head_threads + threadIdx.x; i < n; i += stride) {
        bool differs = i == 0;
        for (size_t w = 0; w < words && !differs; w++)
            differs = keys[i * words + w] != keys[(i - 1) * words + w];
        heads[i] = differs;
    }
}

weft_status wi_group_mark_starts_cuda(weft_context *ctx, const wi_group_args *segments,
                                      uint8_t *heads) {
    const weft_status status =
        wi_cuda(ctx, cudaMemsetAsync(heads, 0, segments->n, ctx->gpu->stream),
                "clearing flags of segments");
    return status == WEFT_OK ? WEFT_LAUNCH(mark_starts, ctx, grid_for(ctx, segments->segments),
                                           head_threads, 0, wi_group_starts_of(segments), heads)
                             : status;
}

weft_status wi_group_mark_keys_cuda(weft_context *ctx, const void *keys, size_t width, size_t n,
                                    uint8_t *heads) {
    const uintptr_t all = (uintptr_t)keys | width | 8;
    return wi_with_size((size_t)(all & -all), [=](auto tag) {
        using Word = typename decltype(tag)::type;
        return WEFT_LAUNCH(mark_keys<Word>, ctx, grid_for(ctx, n), head_threads, 0,
                           (const Word *)keys, width / sizeof(Word), n, heads);
    });
}
