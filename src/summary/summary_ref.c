/* SPDX-License-Identifier: Apache-2.0 */
/* `serial`: a loop over the elements, whose sums are closed now and then, and merged. */
#include <math.h>

#include "sort/sort_scalar.h"
#include "summary/summary.h"

enum {
    BLOCK = 1024 /* elements */
};

/* The state of elements first ... end - 1. */
static wi_summary_state summarise(const wi_summary_args *args, size_t first, size_t end) {
    const wi_sort_key form = wi_sort_key_of(args->type, false);
    const size_t size = weft_type_size(args->type);
    wi_summary_state s = {0};
    uint64_t count = 0;
    double shift = 0, sum = 0, squares = 0;
    for (size_t i = first; i < end; i++) {
        const double x = wi_element_value(args->type, (const char *)args->x + i * size);
        const uint64_t key = wi_sort_key_at(&form, size, args->x, i);
        if (isnan(x)) {
            s.nans++;
            continue;
        }
        if (count == 0)
            shift = isfinite(x) ? x : 0;
        if (count == 0 || key < s.least) {
            s.least = key;
            s.least_at = args->first + i;
        }
        if (count == 0 || key > s.most) {
            s.most = key;
            s.most_at = args->first + i;
        }
        count++;
        sum += x - shift;
        squares += (x - shift) * (x - shift);
    }
    s.sums = wi_summary_close(count, shift, sum, squares);
    return s;
}

weft_status wi_summary_serial(weft_context *ctx, const void *arguments) {
    const wi_summary_args *const args = arguments;
    wi_summary_state all = {0};
    (void)ctx;
    for (size_t i = 0; i < args->n; i += BLOCK)
        all = wi_summary_merge(all, summarise(args, i, args->n - i < BLOCK ? args->n : i + BLOCK));
    wi_summary_put(args, &all);
    return WEFT_OK;
}
