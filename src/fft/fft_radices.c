/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths as products of radices: as few as there can be. */
#include <string.h>

#include "fft/fft.h"

bool wi_fft_is_smooth(size_t n, size_t most) {
    for (size_t p = 2; p <= most; p++)
        while (n % p == 0)
            n /= p;
    return n == 1;
}

enum {
    MOST_RADICES = 16 /* of a product of up to 2^14 */
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
