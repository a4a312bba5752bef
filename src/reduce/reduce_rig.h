/* SPDX-License-Identifier: Apache-2.0 */
/* For tests: what the rungs of reduce may refuse, and how far from the exact sum they may be. */
#ifndef WEFT_REDUCE_RIG_H
#define WEFT_REDUCE_RIG_H

#include <math.h>
#include <string.h>

#include "reduce/reduce.h"
#include "testing.h"

static inline bool reduce_named(const wi_row *row, const char *name) {
    return row && strcmp(row->name, name) == 0;
}

/* Does this rung round every sum of f32 to f32? The others add in f64 at least. */
static inline bool reduce_adds_in_type(const wi_row *row) {
    return reduce_named(row, "naive") || reduce_named(row, "pairwise") ||
           reduce_named(row, "compensated");
}

/* A rung that shows how sums round, and does nothing else. */
static inline bool reduce_only_adds(const wi_row *row) {
    return reduce_adds_in_type(row) || reduce_named(row, "double_double") ||
           reduce_named(row, "exact");
}

/* May a forced row refuse this call? `streamed`: on a GPU, an array lies on the host, and may come
 * in pieces. */
static inline bool reduce_may_refuse(const wi_row *row, wi_reduction op, weft_type type,
                                     bool streamed) {
    const bool exact = reduce_named(row, "exact"), single = type == WEFT_F32 || type == WEFT_F64;
    if (!row)
        return false;
    if (reduce_only_adds(row))
        return op != WI_RED_SUM || !(exact ? test_is_float(type) : single) || (exact && streamed);
    return row->kinds == WI_ON_CUDA && !reduce_named(row, "one_pass") && !test_taught_type(type);
}

/* How far a sum may be from the exact one before it is rounded to the type of the result; `size` is
 * the sum of |x|. With u = 2^-53, or 2^-24 for those that add f32 in f32:
 *     compensated    u |sum| + ((n u)^2 / (1 - n u)^2) size (Ogita, Rump, Oishi 2005)
 *     double_double  u |sum| for its last addition, and n (2 u)^2 size for its low parts
 *     exact          nothing
 *     pairwise       as the others, but that only 32 + log2 n + 1 additions follow one another
 *     the others     n u / (1 - n u) size */
static inline long double reduce_sum_bound(const wi_row *row, weft_type type, size_t n,
                                           long double size, long double sum) {
    const bool narrow = type == WEFT_F32 && reduce_adds_in_type(row);
    const long double u = narrow ? 0x1p-24L : 0x1p-53L, count = (long double)n;
    if (reduce_named(row, "compensated"))
        return u * fabsl(sum) + 1.3L * (count * u) * (count * u) * size;
    if (reduce_named(row, "double_double"))
        return u * fabsl(sum) + 1.01L * count * 4 * u * u * size;
    if (reduce_named(row, "exact"))
        return type == WEFT_F64 ? u * fabsl(sum) : 0;
    if (reduce_named(row, "pairwise"))
        return 1.01L * (33 + log2l(count + 1)) * u * size;
    return (narrow ? 1.1L : 1.001L) * count * u * size;
}

#endif
