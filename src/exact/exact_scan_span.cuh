/* SPDX-License-Identifier: Apache-2.0 */
/* Spans: how the rungs of exact_scan that take one pass add sums up, and what their kernels have in
 * common. */
#ifndef WI_EXACT_SCAN_SPAN_CUH
#define WI_EXACT_SCAN_SPAN_CUH

#include "cuda/lookback.cuh"
#include "exact/exact_scan_plan.cuh"

/* Elements up to 2^8 above those of the sample, and 2^31 of them, stay in a span. */
constexpr int wi_more_than_seen = 8, wi_room_above = wi_more_than_seen + 31 + 2;

struct wi_exact_span_sum {
    static __device__ inline wi_exact_span combine(const wi_exact_span &a, const wi_exact_span &b) {
        constexpr int last = wi_exact_span::count - 1;
        wi_exact_span sum;
        uint64_t carry = 0;
#pragma unroll
        for (int k = 0; k <= last; k++) {
            carry += (uint64_t)a.digit[k] + b.digit[k];
            sum.digit[k] = (uint32_t)carry;
            carry >>= 32;
        }
        sum.digit[last] = (sum.digit[last] & wi_span_number) | wi_marks_of(a) | wi_marks_of(b);
        return sum;
    }
    template <class C>
    static __device__ inline C identity() {
        return wi_exact_span_of(wi_span_nothing);
    }
};

/* Adds x to a span; false if it does not fit. */
__device__ inline bool wi_add_to_span(wi_exact_span *span, int unit, double x) {
    const uint64_t bits = wi_bit_cast<uint64_t>(x);
    uint64_t m;
    int at = wi_exact_split(bits, &m) - unit;
    if (at < 0) {
        if (m != 0 && (at <= -64 || (m & (((uint64_t)1 << -at) - 1)) != 0))
            return false;
        m = at <= -64 ? 0 : m >> -at;
        at = 0;
    }
    if (m != 0 && at + 53 >= wi_span_bits - 2)
        return false;
    const int first = at / 32, shift = at % 32;
    const uint64_t low = m << shift, high = (m >> 32) << shift;
    const uint32_t flip = bits >> 63 ? UINT32_MAX : 0, marks = wi_marks_of(*span);
    uint64_t carry = bits >> 63;
#pragma unroll
    for (int k = 0; k < wi_exact_span::count; k++) {
        const uint32_t part = k == first       ? (uint32_t)low
                              : k == first + 1 ? (uint32_t)(low >> 32)
                              : k == first + 2 ? (uint32_t)(high >> 32)
                                               : 0;
        carry += (uint64_t)span->digit[k] + (part ^ flip);
        span->digit[k] = (uint32_t)carry;
        carry >>= 32;
    }
    uint32_t &last = span->digit[wi_exact_span::count - 1];
    last = (last & wi_span_number) | marks;
    return true;
}

/* A call. */
template <class T>
struct wi_exact_pass {
    wi_exact_arrays<T> a;
    wi_exact_plan *plan;
    const T *init;
    const int64_t *carry_in;
    int64_t *carry_out;
    bool any; /* elements come before the call */
};

template <class T>
wi_exact_pass<T> wi_exact_pass_of(const wi_exact_scan_args *args, wi_exact_plan *plan) {
    return {{(const T *)args->x, (T *)args->y, args->n, args->kind == WEFT_EXCLUSIVE},
            plan,
            (const T *)args->init,
            args->carry_in,
            args->carry_out,
            args->carry_in || args->init || args->start[WI_EXACT_COUNT] != 0};
}

/* Makes the plan, and chooses the unit of spans. */
weft_status wi_exact_scan_begin(weft_context *ctx, const wi_exact_scan_args *args,
                                wi_exact_plan **plan);

/* Plans, calls launch(pass, look-back, blocks), and has `wide` do what is left. */
template <class T, class Launch>
weft_status wi_exact_scan_in_one(weft_context *ctx, const wi_exact_scan_args *args, Launch launch) {
    constexpr int words = wi_carry_words<wi_exact_span>;
    const uint64_t tiles = wi_tiles_of(args->n, wi_tile_elements<T>);
    const uint64_t resident = (uint64_t)ctx->gpu->multiprocessors;
    const unsigned blocks = (unsigned)(tiles < resident ? tiles : resident);
    const size_t bytes = wi_lookback_bytes(tiles, words);
    wi_exact_plan *plan;
    void *scratch;
    weft_status status = wi_gpu_scratch(ctx, &wi_exact_scan_ladder, bytes, &scratch);
    if (status == WEFT_OK)
        status = wi_exact_scan_room(ctx, args);
    if (status == WEFT_OK)
        status = wi_exact_scan_begin(ctx, args, &plan);
    if (status == WEFT_OK)
        status =
            launch(wi_exact_pass_of<T>(args, plan), wi_lookback_in(scratch, tiles, words), blocks);
    return status == WEFT_OK ? wi_exact_scan_rest(ctx, args, plan) : status;
}

/* The sum of a part: folds that are still to be put in a span, or a span. */
struct wi_part_sum {
    double fold[2];
    wi_exact_span span; /* what they are added to */
};

/* May a part's elements be added to spans? */
__device__ inline bool wi_part_is_in_span(const wi_part_range &range, int unit) {
    return range.finite &&
           range.above <= unit + wi_span_bits - 1 - wi_room_above + wi_more_than_seen;
}

/* Puts the folds of a part in its span. */
__device__ inline wi_exact_span wi_span_of_part(wi_part_sum sum, int unit) {
    bool fits = true;
    if (wi_exact_is_nothing(sum.span) || wi_exact_is_misfit(sum.span))
        return sum.span;
#pragma unroll
    for (int k = 0; k < 2; k++)
        fits = wi_add_to_span(&sum.span, unit, sum.fold[k]) && fits;
    return fits ? sum.span : wi_exact_span_of(wi_span_misfit);
}

/* By one thread: the words after the last tile, for the next call. */
__device__ inline void wi_exact_hand_on(int64_t *carry_out, const wi_exact_span &all, int unit) {
    if (!carry_out || wi_exact_is_misfit(all))
        return;
    const wi_exact_span sum = wi_exact_digits_of(all);
    const wi_exact_line line = {sum.digit, wi_exact_span::count, unit};
    for (int k = 0; k < WI_EXACT_DIGITS; k++)
        carry_out[k] = (int64_t)line.from(WI_EXACT_UNIT + 32 * k);
    if (wi_line_is_negative(sum.digit, wi_exact_span::count))
        carry_out[WI_EXACT_DIGITS - 1] = -1;
    for (int k = WI_EXACT_DIGITS; k < WI_EXACT_WORDS; k++)
        carry_out[k] = 0;
    carry_out[WI_EXACT_OTHER] = !wi_exact_is_nothing(all);
    carry_out[WI_EXACT_COUNT] = 1; /* some; how many, no scan asks */
}

#endif
