/* SPDX-License-Identifier: Apache-2.0 */
/* Quotients of whole numbers by one that is the same for a whole launch. */
#ifndef WI_NN_DIVISOR_CUH
#define WI_NN_DIVISOR_CUH

#include <stdint.h>

#include "cuda/launch.cuh"

/* n / by, from a multiplication and shifts, for n below 2^32. */
struct wi_nn_divisor {
    unsigned by, factor, first_shift, second_shift;

    wi_nn_divisor() = default;
    explicit wi_nn_divisor(unsigned by_) : by(by_ ? by_ : 1) {
        unsigned bits = 0;
        while (bits < 32 && (uint64_t)1 << bits < by)
            bits++;
        factor = (unsigned)((((((uint64_t)1 << bits) - by) << 32) / by) + 1);
        first_shift = bits ? 1 : 0;
        second_shift = bits ? bits - 1 : 0;
    }
    __device__ unsigned of(unsigned n) const {
        const unsigned high = (unsigned)((uint64_t)n * factor >> 32);
        return (high + ((n - high) >> first_shift)) >> second_shift;
    }
};

#endif
