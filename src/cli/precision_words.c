/* SPDX-License-Identifier: Apache-2.0 */
/* The sentence of `weft precision`: the worst that is seen, explained. */
#include <math.h>
#include <string.h>

#include "cli/precision.h"
#include "cli/text.h"

/* The naive row of a type. */
static const wi_precision_row *naive_in(const wi_precision *p, weft_type in) {
    for (size_t k = 0; k < p->count; k++) {
        if (p->rows[k].in == in && strcmp(p->rows[k].method, wi_method_names[WI_NAIVE]) == 0)
            return &p->rows[k];
    }
    return NULL;
}

/* The narrowest type whose running sum has stopped far below a sum of terms of one sign, or has
 * overflowed. */
static const wi_precision_row *stuck(const wi_precision *p, bool overflowed) {
    static const weft_type order[] = {WEFT_BF16, WEFT_F16, WEFT_F32};
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        const wi_precision_row *const row = naive_in(p, order[k]);
        if (overflowed ? isinf(row->sum)
                       : isfinite(row->sum) && p->condition < 2 && row->error > 0.3)
            return row;
    }
    return NULL;
}

void wi_precision_explain(const wi_precision *p, char *text, size_t bytes) {
    char sum[WI_FIELD_BYTES];
    const wi_precision_row *const stopped = stuck(p, false), *const over = stuck(p, true);
    const wi_precision_row *const wide = naive_in(p, WEFT_F64);
    if (!isfinite(p->exact))
        snprintf(text, bytes,
                 "The array has NaN or infinities, or its sum is beyond f64, so there is no error "
                 "to tell.");
    else if (p->magnitudes == 0)
        snprintf(text, bytes, "All elements are zero, and every way to add them is exact.");
    else if (stopped)
        snprintf(text, bytes,
                 "The running sum in %s stopped at %s: from there on an element is less than half "
                 "of the sum's last place, and each addition rounds back to where it was.",
                 weft_type_name(stopped->in), wi_format_element(WEFT_F64, &stopped->sum, sum));
    else if (p->exact == 0 || p->condition > 1e6)
        snprintf(text, bytes,
                 "The terms cancel: they are %.2g times as large as their sum, so each rounding "
                 "error counts that much more, and f64 added one by one is off by %.2g; only the "
                 "exact sum does not care.",
                 p->condition, wide->error);
    else if (over)
        snprintf(text, bytes, "The sum is beyond what %s can hold, so it becomes infinite there.",
                 weft_type_name(over->in));
    else
        snprintf(text, bytes,
                 "Nothing cancels here: rounding costs the last digits only, the more the narrower "
                 "the accumulator; f64 added one by one is off by %.2g.",
                 wide->error);
}
