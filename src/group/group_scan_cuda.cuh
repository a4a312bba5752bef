/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA rungs of scan by segment and by key share. */
#ifndef WI_GROUP_SCAN_CUDA_CUH
#define WI_GROUP_SCAN_CUDA_CUH

#include "group/group_cuda.cuh"
#include "scan/scan_tile.cuh"

/* An operator of scan in the form of a reducer. */
template <class Op, class Carry>
struct wi_group_combiner {
    __device__ Carry identity() const {
        return Op::template identity<Carry>();
    }
    __device__ Carry combine(Carry a, Carry b) const {
        return Op::combine(a, b);
    }
    /* What a segment begins with: of sums +0.0, which a segment of -0.0 alone changes, as it does
     * in scan. */
    __device__ Carry start() const {
        const Carry none = identity();
        return none == (Carry)0 ? (Carry)0 : none;
    }
};

/* Calls f(parameters, wi_scan_op) with the operator of the kernel that does this call's. */
template <class F>
weft_status wi_group_with_scan(const wi_group_scan_args *args, F f) {
    wi_scan_args scan = {};
    scan.op = args->op;
    scan.kind = args->kind;
    scan.type = args->type;
    scan.n = args->n;
    scan.x = args->x;
    scan.y = args->y;
    return wi_with_scan(&scan, f);
}

#endif
