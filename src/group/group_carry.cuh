/* SPDX-License-Identifier: Apache-2.0 */
/* What scans and reductions by key in one pass share: what tiles tell each other, and what says
 * where runs begin. */
#ifndef WI_GROUP_CARRY_CUH
#define WI_GROUP_CARRY_CUH

#include "group/group_cuda.cuh"

/* What passes from tile to tile: the state that is open, and how many runs have begun. */
template <class State>
struct wi_run_carry {
    State state;
    uint64_t runs;
};

/* Combines the carries of a part `a` and of the part `b` after it: if a run begins in b, the state
 * that a left open has ended there. */
template <class Combiner>
struct wi_follow_runs {
    template <class Carry>
    static __device__ inline Carry combine(const Carry &a, const Carry &b) {
        Carry both = {Combiner{}.combine(a.state, b.state), a.runs + b.runs};
        if (b.runs > 0)
            both.state = b.state;
        return both;
    }
    template <class Carry>
    static __device__ inline Carry identity() {
        return {Combiner{}.identity(), 0};
    }
};

/* What says where runs begin: keys that differ from the one before, or flags, of one byte. */
struct wi_run_heads {
    const void *at;
    unsigned width;
    bool flags;
};

inline wi_run_heads wi_run_heads_of(const wi_group_scan_args *args) {
    return args->heads ? wi_run_heads{args->heads, 1, true}
                       : wi_run_heads{args->keys, (unsigned)args->width, false};
}

#endif
