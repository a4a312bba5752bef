/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "serial" of exact_scan: each element is added to the words of a wide number, which are
 * carried and rounded after each. */
#include "exact/exact_scan.h"

weft_status wi_exact_scan_serial(weft_context *ctx, const void *arguments) {
    const wi_exact_scan_args *const args = arguments;
    const size_t size = weft_type_size(args->type);
    int64_t word[WI_EXACT_WORDS];
    (void)ctx;
    memcpy(word, args->start, sizeof word);
    for (size_t i = 0; i < args->n; i++) {
        const double x = wi_exact_load(args->type, args->x, i);
        void *const y = (char *)args->y + i * size;
        if (args->kind == WEFT_EXCLUSIVE)
            wi_exact_store(args->type, wi_exact_round(word, args->type, false), y);
        wi_exact_add_f64(word, x);
        word[WI_EXACT_COUNT]++;
        wi_exact_carry(word);
        if (args->kind == WEFT_INCLUSIVE)
            wi_exact_store(args->type, wi_exact_round(word, args->type, false), y);
    }
    return WEFT_OK;
}
