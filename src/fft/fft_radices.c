/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths as products of radices: as few as there can be, or those that take the least time. */
#include <limits.h>
#include <string.h>

#include "fft/fft.h"

bool wi_fft_is_smooth(size_t n, size_t most) {
    for (size_t p = 2; p <= most; p++)
        while (n % p == 0)
            n /= p;
    return n == 1;
}

enum {
    MOST_RADICES = 16, /* of a product of up to 2^14 */
    LATE = 64,         /* results that are as far apart share places of the first-level cache */
    LATE_8 = 13,       /* what that costs where eight of them are written at a time */
    LEAST_COST = 52    /* of a factor 2 */
};

/* Writes the fewest radices whose product is n to `radix`, none greater than the one before or, of
 * the first, than `last`; only 11 and 13 may exceed `most`. Returns how many; 0: n is no such
 * product. */
static size_t fewest_radices(size_t n, unsigned most, unsigned last, unsigned *radix) {
    static const unsigned all[] = {16, 13, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2};
    unsigned rest[MOST_RADICES];
    size_t best = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const unsigned r = all[i];
        if (r > last || n % r != 0 || (r > most && r != 11 && r != 13))
            continue;
        const size_t others = n == r ? 0 : fewest_radices(n / r, most, r, rest);
        if ((n != r && others == 0) || (best && others + 1 >= best))
            continue;
        best = others + 1;
        radix[0] = r;
        memcpy(radix + 1, rest, others * sizeof *rest);
    }
    return best;
}

size_t wi_fft_radices(size_t n, unsigned most, unsigned *radix) {
    return n == 1 ? 0 : fewest_radices(n, most, 16, radix);
}

/* What a stage costs where there are 16 registers, beside others; the unit means nothing. Measured
 * with AVX2, f32 and f64 alike. */
static unsigned cost_of(unsigned radix, size_t before) {
    static const unsigned char cost[] = {
        [2] = 63,  [3] = 89,  [4] = 107,  [5] = 130,  [6] = 145, [7] = 170,
        [8] = 157, [9] = 175, [10] = 192, [11] = 230, [13] = 255};
    return cost[radix] + (radix == 8 && before >= LATE ? LATE_8 : 0);
}

static unsigned least_cost(size_t n) {
    unsigned cost = 0;
    for (; n > 1; n /= 2)
        cost += LEAST_COST;
    return cost;
}

/* Radices of n, none greater than `last`, for stages behind those whose product is `before`, if
 * they cost less than `*limit`: this becomes what they cost. Returns how many; 0: there are none.
 */
static size_t cheapest_radices(size_t n, size_t before, unsigned last, unsigned *limit,
                               unsigned *radix) {
    static const unsigned all[] = {13, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2};
    unsigned rest[MOST_RADICES];
    size_t best = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const unsigned r = all[i], cost = cost_of(r, before);
        if (r > last || n % r != 0 || cost + least_cost(n / r) >= *limit)
            continue;
        unsigned left = *limit - cost;
        const size_t others = n == r ? 0 : cheapest_radices(n / r, before * r, r, &left, rest);
        if (n != r && others == 0)
            continue;
        *limit = n == r ? cost : cost + left;
        best = others + 1;
        radix[0] = r;
        memcpy(radix + 1, rest, others * sizeof *rest);
    }
    return best;
}

size_t wi_fft_cheap_radices(size_t n, unsigned *radix) {
    unsigned limit = UINT_MAX;
    return n == 1 ? 0 : cheapest_radices(n, 1, 13, &limit, radix);
}
