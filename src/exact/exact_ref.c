/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "serial" of exact, and what the others on a cpu share with it. */
#include <math.h>

#include "cpu/half.h"
#include "exact/exact.h"

double wi_exact_load(weft_type type, const void *x, size_t i) {
    uint16_t half;
    float single;
    double value;
    if (type == WEFT_F64) {
        memcpy(&value, (const double *)x + i, sizeof value);
        return value;
    }
    if (type == WEFT_F32) {
        memcpy(&single, (const float *)x + i, sizeof single);
        return (double)single;
    }
    memcpy(&half, (const uint16_t *)x + i, sizeof half);
    return (double)(type == WEFT_F16 ? wi_f16_widen(half) : wi_bf16_widen(half));
}

void wi_exact_add_elements(const wi_exact_args *args, size_t from, size_t n, int64_t *word) {
    const void *const y = args->terms == WI_EXACT_SQUARES ? args->x : args->y;
    for (size_t i = from; i < from + n; i++) {
        const double x = wi_exact_load(args->type, args->x, i);
        if (args->terms == WI_EXACT_SUM)
            wi_exact_add_f64(word, x);
        else if (args->terms == WI_EXACT_NRM1)
            wi_exact_add_f64(word, fabs(x));
        else
            wi_exact_add_product(word, x, wi_exact_load(args->type, y, i));
    }
}

void wi_exact_finish(const wi_exact_args *args, const int64_t *word) {
    if (args->sum)
        memcpy(args->sum, word, WI_EXACT_WORDS * sizeof *word);
    else
        wi_exact_store(args->result_type, wi_exact_round(word, args->result_type, args->root),
                       args->result);
}

weft_status wi_exact_serial(weft_context *ctx, const void *arguments) {
    const wi_exact_args *const args = arguments;
    int64_t word[WI_EXACT_WORDS] = {0};
    size_t from = 0;
    (void)ctx;
    while (from < args->n) {
        const size_t left = args->n - from;
        const size_t n = left < WI_EXACT_MOST_ADDS / 4 ? left : WI_EXACT_MOST_ADDS / 4;
        wi_exact_add_elements(args, from, n, word);
        wi_exact_carry(word);
        from += n;
    }
    word[WI_EXACT_COUNT] = (int64_t)args->n;
    wi_exact_finish(args, word);
    return WEFT_OK;
}
