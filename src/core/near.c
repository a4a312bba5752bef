/* SPDX-License-Identifier: Apache-2.0 */
/* Is a word a plausible correction of a mistyped one? */
#include "core/near.h"

#include <stdint.h>
#include <string.h>

enum {
    LONGEST_WORD = 64 /* longer words are corrected by nobody */
};

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* d[i][j] is the distance of the first i letters of a from the first j of b. */
static size_t distance(const char *a, size_t length_a, const char *b, size_t length_b) {
    unsigned char d[LONGEST_WORD + 1][LONGEST_WORD + 1];
    for (size_t i = 0; i <= length_a; i++) {
        for (size_t j = 0; j <= length_b; j++) {
            unsigned best = (unsigned)(i + j); /* the distance if either word is empty */
            if (i > 0 && j > 0) {
                best = least(d[i - 1][j - 1] + (a[i - 1] != b[j - 1]),
                             1 + least(d[i - 1][j], d[i][j - 1]));
                if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                    best = least(best, d[i - 2][j - 2] + 1u);
            }
            d[i][j] = (unsigned char)best;
        }
    }
    return d[length_a][length_b];
}

size_t wi_far(const char *given, size_t given_length, const char *word, size_t word_length) {
    const size_t most = 1 + given_length / 5; /* one slip, and one more for every five letters */
    if (given_length > LONGEST_WORD || word_length > LONGEST_WORD)
        return SIZE_MAX;
    if (given_length >= 2 && given_length <= word_length && memcmp(given, word, given_length) == 0)
        return 1;
    if (word_length > given_length + most || given_length > word_length + most)
        return SIZE_MAX;
    const size_t far = distance(given, given_length, word, word_length);
    return far <= most && far < given_length ? far : SIZE_MAX;
}
