/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of fft_any_kernel.cuh for dense lines with large primes. */
#include "cuda/prefetch.cuh"
#include "fft/fft_any_kernel.cuh"

weft_status wi_fft_large_line(weft_context *ctx, const wi_fft_lines *l, const any_radices *r,
                              bool queues) {
    return run_any<float, false, ANY_LARGE>(ctx, l, *r, queues);
}
