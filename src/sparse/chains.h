/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the rows of a column, as dense.h defines them: CHAINS chains of fma, one for every
 * CHAINS-th row, computed side by side in vectors. For *_simd.c files. */
#ifndef WI_SPARSE_CHAINS_H
#define WI_SPARSE_CHAINS_H

#include "cpu/lanes.h"

enum {
    CHAINS = 8,
    PARTS = CHAINS / WI_WIDE
};

/* Adds the chains: ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)). */
WI_INLINE double sum_of(const wi_doubles part[PARTS]) {
    double chain[CHAINS];
    for (int q = 0; q < PARTS; q++)
        wi_store(chain + q * WI_WIDE, part[q]);
    return ((chain[0] + chain[4]) + (chain[2] + chain[6])) +
           ((chain[1] + chain[5]) + (chain[3] + chain[7]));
}

#endif
