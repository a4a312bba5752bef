/* SPDX-License-Identifier: Apache-2.0 */
/* Mean and variance, made of exact sums: integers are divided, and the quotient is rounded once. */
#include "exact/exact.h"

enum {
    DIGITS = WI_EXACT_DIGITS,
    HALF = DIGITS / 2 /* a sum of elements is a multiple of 2^-1088, digit 34, and below 2^1088 */
};

/* A number that is not negative, in units of 2^-2176; digit k counts 2^(32 k). */
typedef struct whole {
    uint32_t digit[DIGITS];
} whole;

static whole magnitude_of(const int64_t *word) {
    whole m;
    int lowest = 0;
    while (lowest < DIGITS - 1 && word[lowest] == 0)
        lowest++;
    for (int k = 0; k < DIGITS; k++)
        m.digit[k] = wi_exact_digit(word, word[DIGITS - 1] < 0, lowest, k);
    return m;
}

/* m = m / by; is there a remainder? */
static bool divide(whole *m, uint64_t by) {
    uint64_t rest = 0;
    for (int k = DIGITS - 1; k >= 0; k--) {
        const wi_exact_u128 part = (wi_exact_u128)rest << 32 | m->digit[k];
        m->digit[k] = (uint32_t)(part / by);
        rest = (uint64_t)(part % by);
    }
    return rest != 0;
}

static void multiply(whole *m, uint64_t by) {
    wi_exact_u128 carry = 0;
    for (int k = 0; k < DIGITS; k++) {
        carry += (wi_exact_u128)by * m->digit[k];
        m->digit[k] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* The square of the sum of elements m, without its zeros below 2^-1088. */
static whole square_of(const whole *m) {
    const uint32_t *const from = m->digit + HALF / 2;
    whole square = {{0}};
    for (int i = 0; i < HALF; i++) {
        uint64_t carry = 0;
        for (int k = 0; k < HALF; k++) {
            carry += square.digit[i + k] + (uint64_t)from[i] * from[k];
            square.digit[i + k] = (uint32_t)carry;
            carry >>= 32;
        }
        for (int k = i + HALF; k < DIGITS && carry > 0; k++) {
            carry += square.digit[k];
            square.digit[k] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    return square;
}

/* m = m - b, which is not larger. */
static void subtract(whole *m, const whole *b) {
    uint64_t borrow = 0;
    for (int k = 0; k < DIGITS; k++) {
        const uint64_t taken = (uint64_t)b->digit[k] + borrow;
        borrow = m->digit[k] < taken;
        m->digit[k] = (uint32_t)(m->digit[k] - taken);
    }
}

/* The bits of m plus, if `more`, a fraction of a unit, rounded. */
static uint64_t round_whole(const whole *m, bool more, weft_type type) {
    int64_t word[WI_EXACT_WORDS] = {0};
    for (int k = 0; k < DIGITS; k++)
        word[k] = m->digit[k];
    wi_exact_lead lead = wi_exact_lead_of(word, wi_exact_all(word));
    lead.more = lead.more || more;
    return wi_exact_round_lead(&lead, wi_exact_format_of(type));
}

static uint64_t nan_of(weft_type type) {
    const int64_t word[WI_EXACT_WORDS] = {[WI_EXACT_NAN] = 1};
    return wi_exact_round(word, type, false);
}

static uint64_t mean_of(const int64_t *word, weft_type type) {
    const uint64_t n = (uint64_t)word[WI_EXACT_COUNT];
    uint64_t bits;
    if (n == 0)
        return nan_of(type);
    if (wi_exact_is_special(word, type, &bits))
        return bits;
    whole m = magnitude_of(word);
    const bool more = divide(&m, n);
    const bool negative = word[DIGITS - 1] < 0 || wi_exact_is_minus_zero(word);
    return wi_exact_signed(type, negative, round_whole(&m, more, type));
}

/* (n squares - sum^2) / (n (n - correction)). */
static uint64_t variance_of(const int64_t *sum, const int64_t *squares, size_t correction,
                            weft_type type) {
    const uint64_t n = (uint64_t)sum[WI_EXACT_COUNT];
    uint64_t bits;
    if (n <= correction || wi_exact_is_special(sum, type, &bits))
        return nan_of(type);
    const whole m = magnitude_of(sum), taken = square_of(&m);
    whole spread = magnitude_of(squares);
    multiply(&spread, n);
    subtract(&spread, &taken);
    bool more = divide(&spread, n);
    more |= divide(&spread, n - correction);
    return round_whole(&spread, more, type);
}

/* Gets one sum to host memory. */
static weft_status sum_up(weft_context *ctx, const char *call, wi_exact_terms terms,
                          const wi_exact_args *args, int64_t *word, weft_status status) {
    wi_exact_args one = *args;
    one.terms = terms;
    one.result = NULL;
    one.sum = word;
    return wi_exact_call(ctx, call, &one, status);
}

/* Refuses what the sums' own checks do not see: the result, and its overlap with x. */
static weft_status check(weft_context *ctx, const char *call, const wi_exact_args *args) {
    wi_call described;
    weft_status status = wi_exact_check_float(ctx, call, "type", args->type);
    if (status == WEFT_OK)
        status = wi_exact_check_float(ctx, call, "result_type", args->result_type);
    if (status != WEFT_OK)
        return status;
    wi_exact_describe(ctx, call, args, &described);
    return wi_call_check(ctx, &described);
}

static weft_status put(weft_context *ctx, const wi_exact_args *args, uint64_t bits) {
    uint64_t rounded;
    wi_exact_store(args->result_type, bits, &rounded);
    return weft_copy(ctx, args->result, &rounded, weft_type_size(args->result_type));
}

weft_status weft_mean(weft_context *ctx, weft_type type, size_t n, const void *x,
                      weft_type result_type, void *result) {
    static const char call[] = "weft_mean";
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const wi_exact_args args = {
        .type = type, .result_type = result_type, .n = n, .x = x, .result = result};
    int64_t sum[WI_EXACT_WORDS];
    const weft_status status = sum_up(ctx, call, WI_EXACT_SUM, &args, sum, check(ctx, call, &args));
    return status == WEFT_OK ? put(ctx, &args, mean_of(sum, result_type)) : status;
}

weft_status weft_variance(weft_context *ctx, weft_type type, size_t n, const void *x,
                          size_t correction, weft_type result_type, void *result) {
    static const char call[] = "weft_variance";
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const wi_exact_args args = {
        .type = type, .result_type = result_type, .n = n, .x = x, .result = result};
    int64_t sum[WI_EXACT_WORDS], squares[WI_EXACT_WORDS];
    weft_status status = sum_up(ctx, call, WI_EXACT_SUM, &args, sum, check(ctx, call, &args));
    if (status == WEFT_OK)
        status = sum_up(ctx, call, WI_EXACT_SQUARES, &args, squares, status);
    if (status != WEFT_OK)
        return status;
    return put(ctx, &args, variance_of(sum, squares, correction, result_type));
}
