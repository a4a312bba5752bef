/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that are on their way before a block begins. */
#ifndef WI_FFT_AHEAD_CUH
#define WI_FFT_AHEAD_CUH

#include "cuda/prefetch.cuh"
#include "fft/fft_block.cuh"

/* Brings what a block after this one will read to the second-level cache: else memory would rest
 * while this one computes. */
template <class T>
__device__ __forceinline__ void wi_fft_look_ahead(const wi_fft_pass<T> &p, unsigned n) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    const unsigned block = blockIdx.x + p.ahead;
    if (p.ahead == 0 || block >= gridDim.x)
        return;
    const wi_fft_place at = wi_fft_place_of(p.grid, block, p.turning);
    const size_t bytes = p.half_in ? 2 * sizeof(uint16_t) : sizeof(wi_fft_number<T>);
    const uintptr_t from = (uintptr_t)p.x + at.in * bytes, to = from + at.lines * n * bytes;
    const uintptr_t first = (from + 15) / 16 * 16, end = to / 16 * 16;
    if (first < end)
        wi_bulk_prefetch((const void *)first, (uint32_t)(end - first));
#endif
}

/* How many blocks on is the one whose lines a block brings: another multiprocessor's next, or this
 * one's; 0 if they are not one piece of memory. */
inline unsigned wi_fft_ahead_of(const weft_context *ctx, const wi_fft_lines *l, unsigned lines) {
    const bool is_one_piece =
        l->stride_in == 1 && (lines == 1 || (l->loops.used > 0 && l->loops.in[0] == l->n));
    return is_one_piece && ctx->gpu->capability >= 90 ? (unsigned)ctx->gpu->multiprocessors : 0;
}

#endif
