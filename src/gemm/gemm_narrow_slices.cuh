/* SPDX-License-Identifier: Apache-2.0 */
/* How many slices of k blocks with the same rows of a thin C have. */
#ifndef WI_GEMM_NARROW_SLICES_CUH
#define WI_GEMM_NARROW_SLICES_CUH

#include "gemm/gemm_cuda.cuh"

/* As many slices as keep the device busy in the last wave too: more of them end more evenly, but
 * each begins and ends, which takes as long as so many pieces. */
inline size_t wi_narrow_slices(size_t groups, size_t pieces, size_t room, double begin_and_end,
                               size_t most) {
    size_t best = 1;
    double least = 0;
    for (size_t slices = 1; slices == 1 || slices <= most; slices++) {
        const double waves = (double)wi_gemm_pieces(groups * slices, room);
        const double cost = waves * ((double)wi_gemm_pieces(pieces, slices) + begin_and_end);
        if (slices == 1 || cost < least) {
            least = cost;
            best = slices;
        }
    }
    return best;
}

#endif
