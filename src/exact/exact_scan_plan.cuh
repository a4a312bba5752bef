/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA rungs of exact_scan tell each other: `bulk` does all tiles up to the first whose
 * sum does not fit its carries, and `wide` the rest. */
#ifndef WI_EXACT_SCAN_PLAN_CUH
#define WI_EXACT_SCAN_PLAN_CUH

#include "exact/exact_scan_cuda.cuh"

/* A sum as tiles of bulk pass it on: two's complement digits in units of the call's own. Two values
 * of the last digit stand for something else: nothing at all or only -0.0 was added; and the sum
 * does not fit. */
struct alignas(8) wi_exact_span {
    static constexpr int count = 6;
    uint32_t digit[count];
};
constexpr uint32_t wi_span_misfit = 0x80000000u, wi_span_nothing = 0x80000001u;

__host__ __device__ inline wi_exact_span wi_exact_span_of(uint32_t last) {
    return {{0, 0, 0, 0, 0, last}};
}
__device__ inline bool wi_exact_is_misfit(const wi_exact_span &s) {
    return s.digit[wi_exact_span::count - 1] == wi_span_misfit;
}
__device__ inline bool wi_exact_is_nothing(const wi_exact_span &s) {
    return s.digit[wi_exact_span::count - 1] == wi_span_nothing;
}

constexpr uint64_t wi_no_cut = (uint64_t)1 << 62;

/* What is known before the first tile, and what bulk leaves to do. */
struct wi_exact_plan {
    wi_exact_span start; /* what comes before the call */
    wi_exact_span carry; /* what comes before tile `cut` */
    int unit;            /* exponent of the unit of spans */
    uint64_t cut;        /* the first tile that bulk has not done; wi_no_cut if there is none */
};

__device__ inline wi_exact_line wi_exact_line_of(const wi_exact_plan &plan) {
    return {plan.carry.digit, wi_exact_span::count, plan.unit};
}

/* What comes before the call, as the host knows it. */
struct wi_exact_start {
    int64_t word[WI_EXACT_WORDS];
};

inline wi_exact_start wi_exact_start_of(const wi_exact_scan_args *args) {
    wi_exact_start start;
    memcpy(start.word, args->start, sizeof start.word);
    return start;
}

/* Runs wide on the tiles from plan->cut on; on all if plan is NULL. */
weft_status wi_exact_scan_rest(weft_context *ctx, const wi_exact_scan_args *args,
                               const wi_exact_plan *plan);

#endif
