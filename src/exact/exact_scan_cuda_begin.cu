/* SPDX-License-Identifier: Apache-2.0 */
/* What the rungs of exact_scan that take one pass do first: the unit of their spans, chosen from a
 * sample of the elements, and what comes before the call. */
#include "exact/exact_scan_span.cuh"

constexpr int begin_threads = 256, samples = 16; /* of each thread */

/* What comes before the call: its digits in a span. Misfit if they are not finite or do not fit. */
template <class T>
__device__ inline wi_exact_span start_span(const int64_t *word, int unit) {
    using Line = wi_line_of<T>;
    uint32_t digit[Line::count];
    wi_exact_span span;
    if (word[WI_EXACT_NAN] | word[WI_EXACT_PLUS] | word[WI_EXACT_MINUS])
        return wi_exact_span_of(wi_span_misfit);
    if (word[WI_EXACT_OTHER] == 0)
        return wi_exact_span_of(wi_span_nothing);
    for (int k = 0; k < Line::count; k++)
        digit[k] = (uint32_t)(uint64_t)word[Line::first + k];
    const int height = wi_line_height(digit, Line::count, Line::unit);
    if (height > unit + wi_span_bits - 3 || wi_line_below(digit, Line::count, Line::unit, unit))
        return wi_exact_span_of(wi_span_misfit);
    for (int k = 0; k < wi_exact_span::count; k++)
        span.digit[k] = (uint32_t)wi_line_from(digit, Line::count, Line::unit, unit + 32 * k);
    uint32_t &last = span.digit[wi_exact_span::count - 1];
    last = (last & wi_span_number) | wi_span_zero;
    return span;
}

/* The height of what comes before the call. */
template <class T>
__device__ inline int start_height(const int64_t *word) {
    using Line = wi_line_of<T>;
    uint32_t digit[Line::count];
    for (int k = 0; k < Line::count; k++)
        digit[k] = (uint32_t)(uint64_t)word[Line::first + k];
    return wi_line_height(digit, Line::count, Line::unit);
}

/* Chooses the unit from elements here and there, and puts the start in a span. One block. */
template <class T>
__global__ void __launch_bounds__(begin_threads)
    exact_begin(wi_exact_pass<T> b, wi_exact_start start) {
    constexpr bool wide = sizeof(T) == 8;
    constexpr int field_at = wide ? 20 : 23, bias = wide ? 1023 : 127;
    WEFT_SHARED(int64_t, word, [WI_EXACT_WORDS]);
    WEFT_SHARED(uint32_t, largest, );
    const uint64_t step = b.a.n / (begin_threads * samples) + 1;
    uint32_t most = 0;
    if (threadIdx.x == 0)
        largest = 0;
    for (int k = (int)threadIdx.x; k < WI_EXACT_WORDS; k += begin_threads)
        word[k] = b.carry_in ? b.carry_in[k] : start.word[k];
    for (int s = 0; s < samples; s++) {
        const uint64_t at = ((uint64_t)s * begin_threads + threadIdx.x) * step;
        const uint32_t upper = at < b.a.n ? wi_upper_of(wi_load(b.a.x[at])) : 0;
        if ((int)(upper >> field_at) <= 2 * bias)
            most = upper > most ? upper : most;
    }
    most = wi_warp_max(most);
    __syncthreads();
    if (wi_lane() == 0)
        atomicMax(&largest, most);
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    if (!b.carry_in && b.init) {
        wi_exact_add_f64(word, (double)wi_load(*b.init));
        wi_exact_carry(word);
    }
    const int height = b.any ? start_height<T>(word) : WI_NO_EXPONENT;
    int above = largest > 0 ? (int)(largest >> field_at) + 1 - bias : 0;
    above = height - 31 > above ? height - 31 : above;
    const int unit = above + wi_room_above - wi_span_bits + 1;
    *b.plan = {b.any ? start_span<T>(word, unit) : wi_exact_span_of(wi_span_nothing),
               {},
               false,
               unit,
               wi_no_cut};
    if (wi_exact_is_misfit(b.plan->start))
        b.plan->cut = 0;
}

weft_status wi_exact_scan_begin(weft_context *ctx, const wi_exact_scan_args *args,
                                wi_exact_plan **plan) {
    static const char key = 0;
    void *scratch;
    const weft_status status = wi_gpu_scratch(ctx, &key, sizeof **plan, &scratch);
    if (status != WEFT_OK)
        return status;
    *plan = (wi_exact_plan *)scratch;
    return wi_with_float_type(args->type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        return WEFT_LAUNCH(exact_begin<T>, ctx, 1, begin_threads, 0,
                           wi_exact_pass_of<T>(args, *plan), wi_exact_start_of(args));
    });
}
