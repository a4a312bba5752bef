/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths that have a kernel of their own (fft_known.cuh), and which choice of lines, threads,
 * blocks and radices was the fastest of some (an H200, 2026-12-01): mostly one line in a small
 * block, the large radices first and last. */
#include "cuda/prefetch.cuh"
#include "fft/fft_cuda.h"
#include "fft/fft_known.cuh"

#define LENGTH(...)                                                                                \
    case known_shape<__VA_ARGS__>::n:                                                              \
        *status = run_known<known_shape<__VA_ARGS__>>(ctx, l, queues);                             \
        return true

bool wi_fft_known_line(weft_context *ctx, const wi_fft_lines *l, bool queues, weft_status *status) {
    if (!wi_fft_is_dense(l))
        return false;
    switch (l->n) {
        LENGTH(3, 64, 14, 13, 13, 3);
        LENGTH(6, 224, 4, 17, 17, 2);
        LENGTH(5, 192, 4, 19, 19, 2);
        LENGTH(3, 224, 4, 13, 13, 5);
        LENGTH(1, 64, 12, 17, 3, 17);
        LENGTH(5, 256, 3, 19, 7, 7);
        LENGTH(1, 96, 9, 13, 6, 13);
        LENGTH(1, 64, 8, 23, 2, 23);
        LENGTH(1, 64, 12, 19, 3, 19);
        LENGTH(1, 96, 9, 13, 7, 13);
        LENGTH(1, 96, 8, 17, 14, 5);
        LENGTH(4, 224, 3, 23, 8, 7);
        LENGTH(1, 160, 6, 13, 10, 10);
        LENGTH(2, 96, 6, 29, 5, 9);
        LENGTH(2, 160, 5, 19, 10, 7);
        LENGTH(2, 224, 4, 13, 8, 13);
        LENGTH(1, 96, 8, 17, 16, 5);
        LENGTH(1, 96, 9, 17, 9, 9);
        LENGTH(1, 64, 10, 23, 12, 5);
        LENGTH(1, 96, 9, 17, 5, 17);
        LENGTH(1, 64, 10, 23, 9, 7);
        LENGTH(2, 160, 4, 23, 23, 3);
        LENGTH(1, 64, 10, 29, 8, 7);
        LENGTH(1, 128, 5, 13, 25, 5);
        LENGTH(2, 288, 3, 13, 13, 10);
        LENGTH(1, 128, 6, 17, 20, 5);
        LENGTH(1, 128, 5, 17, 6, 17);
        LENGTH(1, 64, 9, 31, 8, 7);
        LENGTH(1, 192, 5, 11, 15, 11);
        LENGTH(2, 288, 3, 13, 13, 11);
        LENGTH(1, 128, 7, 17, 7, 17);
        LENGTH(1, 96, 9, 13, 12, 13);
        LENGTH(1, 96, 6, 29, 5, 15);
        LENGTH(2, 224, 4, 14, 12, 14);
        LENGTH(1, 192, 5, 13, 14, 13);
        LENGTH(1, 192, 5, 7, 7, 7, 7);
        LENGTH(1, 128, 5, 23, 27, 4);
        LENGTH(1, 96, 7, 29, 29, 3);
        LENGTH(1, 160, 5, 19, 7, 19);
        LENGTH(1, 128, 4, 23, 5, 23);
        LENGTH(1, 224, 4, 14, 14, 14);
        LENGTH(1, 128, 5, 23, 24, 5);
        LENGTH(1, 192, 5, 17, 17, 10);
        LENGTH(1, 160, 4, 23, 6, 23);
        LENGTH(1, 192, 5, 17, 11, 17);
        LENGTH(1, 96, 6, 35, 13, 7);
        LENGTH(1, 256, 4, 7, 10, 7, 7);
        LENGTH(1, 224, 4, 17, 12, 17);
        LENGTH(1, 192, 4, 23, 7, 23);
        LENGTH(1, 128, 4, 35, 16, 7);
        LENGTH(1, 224, 3, 19, 11, 19);
        LENGTH(1, 160, 4, 25, 16, 10);
        LENGTH(1, 256, 4, 17, 14, 17);
        LENGTH(1, 320, 2, 13, 24, 13);
        LENGTH(1, 256, 3, 15, 20, 15);
        LENGTH(1, 256, 2, 27, 27, 9);
    default:
        return false;
    }
}
#undef LENGTH
