/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of dependent multiply-adds in registers, so many side by side that none waits for another:
 * this is as fast as one thread can compute. The roof of arithmetic, for the command and the
 * benchmarks. */
#ifndef WI_CLIMB_CHAINS_H
#define WI_CLIMB_CHAINS_H

#include <stdint.h>

#include "cpu/isa.h"

/* Appends `links` multiply-adds to every chain. */
typedef void wi_chains_run(int64_t links);

typedef struct wi_chains {
    wi_chains_run *f64, *f32;
    double f64_flops, f32_flops; /* in one link of all chains: two operations for each number */
} wi_chains;

WI_DECLARE_ISAS(wi_chains, wi_chains);

#endif
