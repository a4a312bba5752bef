/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA rungs of exact_scan tell each other: those of one pass do all tiles up to the first
 * whose sum does not fit their carries, and `wide` the rest. */
#ifndef WI_EXACT_SCAN_PLAN_CUH
#define WI_EXACT_SCAN_PLAN_CUH

#include "exact/exact_scan_cuda.cuh"

/* A sum in the form in which tiles of the one-pass rungs pass it on: two's complement digits in
 * units of the call's own. The upper byte of the last digit does not belong to the number, but has
 * two marks: something was added that is not -0.0; and the sum does not fit. A sum of spans has the
 * marks of all of them, so they are added without looking at the marks. */
struct alignas(8) wi_exact_span {
    static constexpr int count = 6;
    uint32_t digit[count];
};
constexpr int wi_span_bits = 32 * wi_exact_span::count - 8;
constexpr uint32_t wi_span_number = 0x00ffffffu; /* of the last digit */
constexpr uint32_t wi_span_nothing = 0, wi_span_zero = 0x40000000u, wi_span_misfit = 0xc0000000u;

/* Nothing, zero, or a misfit. */
__host__ __device__ inline wi_exact_span wi_exact_span_of(uint32_t marks) {
    return {{0, 0, 0, 0, 0, marks}};
}
__device__ inline uint32_t wi_marks_of(const wi_exact_span &s) {
    return s.digit[wi_exact_span::count - 1] & ~wi_span_number;
}
__device__ inline bool wi_exact_is_misfit(const wi_exact_span &s) {
    return s.digit[wi_exact_span::count - 1] >= wi_span_misfit;
}
__device__ inline bool wi_exact_is_nothing(const wi_exact_span &s) {
    return s.digit[wi_exact_span::count - 1] < wi_span_zero;
}

/* The last digit with the sign in place of the marks. */
__device__ inline uint32_t wi_unmarked(uint32_t last) {
    return (uint32_t)((int32_t)(last << 8) >> 8);
}

/* The number as a line of digits. */
__device__ inline wi_exact_span wi_exact_digits_of(wi_exact_span s) {
    s.digit[wi_exact_span::count - 1] = wi_unmarked(s.digit[wi_exact_span::count - 1]);
    return s;
}

constexpr uint64_t wi_no_cut = (uint64_t)1 << 62;

/* What is known before the first tile, and what the pass leaves to do. */
struct wi_exact_plan {
    wi_exact_span start; /* what comes before the call */
    wi_exact_span carry; /* the digits of what comes before tile `cut` */
    bool any_carry;      /* which is more than nothing */
    int unit;            /* exponent of the unit of spans */
    uint64_t cut;        /* the first tile that is not done; wi_no_cut if there is none */
};

__device__ inline wi_exact_line wi_exact_line_of(const wi_exact_plan &plan) {
    return {plan.carry.digit, wi_exact_span::count, plan.unit};
}

/* Leaves all tiles from `tile` on to `wide`. */
__device__ inline void wi_exact_cut(wi_exact_plan *plan, const wi_exact_span &carry,
                                    uint64_t tile) {
    plan->carry = wi_exact_digits_of(carry);
    plan->any_carry = !wi_exact_is_nothing(carry);
    plan->cut = tile;
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

/* Takes the memory that wi_exact_scan_rest needs: called before anything is written, which must not
 * happen if there is none. */
weft_status wi_exact_scan_room(weft_context *ctx, const wi_exact_scan_args *args);

/* Runs wide on the tiles from plan->cut on; on all if plan is NULL. */
weft_status wi_exact_scan_rest(weft_context *ctx, const wi_exact_scan_args *args,
                               const wi_exact_plan *plan);

#endif
