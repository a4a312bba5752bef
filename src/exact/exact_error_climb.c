/* SPDX-License-Identifier: Apache-2.0 */
/* The error of a sum: the exact difference between it and the exact sum, both as wide numbers. */
#include "exact/exact_error_climb.h"

#include <math.h>

#include "exact/exact.h"

enum {
    MOST = 1 << 20,
    F32_BITS = 24,
    F64_BITS = 53
};

/* Numbers in [-1, 1) with all their bits, from a generator of Marsaglia (xorshift). */
static void fill(weft_type type, uint64_t seed, size_t n, void *x) {
    uint64_t state = seed * 2 + 1;
    for (size_t i = 0; i < n; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const double value = (double)(state >> 11) * 0x1p-52 - 1;
        if (type == WEFT_F64)
            ((double *)x)[i] = value;
        else if (type == WEFT_F32)
            ((float *)x)[i] = (float)value;
        else if (type == WEFT_F16)
            ((weft_f16 *)x)[i] = weft_f16_from_float((float)value);
        else
            ((weft_bf16 *)x)[i] = weft_bf16_from_float((float)value);
    }
}

/* The last place of a number of type f32 or f64. */
static double last_place(weft_type type, double value) {
    const int bits = type == WEFT_F64 ? F64_BITS : F32_BITS,
              least = type == WEFT_F64 ? -1022 : -126;
    const int exponent = value != 0 ? ilogb(value) : least;
    return ldexp(1, (exponent > least ? exponent : least) - bits + 1);
}

/* |result - sum of x| in last places of the sum. */
static weft_status compare(const wi_setup *setup, weft_type type, size_t n, const void *x,
                           double result, double *ulps) {
    int64_t word[WI_EXACT_WORDS];
    uint64_t bits;
    double sum, difference;
    const wi_exact_args args = {
        .terms = WI_EXACT_SUM, .type = setup->type, .n = n, .x = x, .sum = word};
    const weft_status status = wi_exact_serial(setup->ctx, &args);
    bits = wi_exact_round(word, WEFT_F64, false);
    memcpy(&sum, &bits, sizeof sum);
    wi_exact_add_f64(word, -result);
    wi_exact_carry(word);
    bits = wi_exact_round(word, WEFT_F64, false);
    memcpy(&difference, &bits, sizeof difference);
    *ulps = fabs(difference) / last_place(type, sum);
    return status;
}

weft_status wi_error_of_sum(const wi_setup *setup, weft_type type, wi_error_call call,
                            double *ulps) {
    weft_context *const ctx = setup->ctx;
    const size_t n = setup->n < MOST ? setup->n : MOST, bytes = n * weft_type_size(setup->type);
    void *const host = wi_host_alloc(bytes);
    void *x = NULL;
    float narrow = 0;
    double wide = 0;
    weft_status status = WEFT_OK;
    *ulps = -1;
    if (ctx->comm) { /* the sum would be that of all ranks' numbers */
        wi_host_free(host);
        return WEFT_OK;
    }
    if (!host)
        return wi_fail(ctx, WEFT_ENOMEM, "climb: no memory for %zu numbers; pass a smaller n", n);
    fill(setup->type, setup->seed, n, host);
    status = weft_alloc(ctx, &x, bytes);
    if (status == WEFT_OK)
        status = weft_copy(ctx, x, host, bytes);
    if (status == WEFT_OK)
        status = call(setup, n, x, type == WEFT_F64 ? (void *)&wide : (void *)&narrow);
    if (status == WEFT_OK)
        status = compare(setup, type, n, host, type == WEFT_F64 ? wide : (double)narrow, ulps);
    weft_free(ctx, x);
    wi_host_free(host);
    return status;
}
