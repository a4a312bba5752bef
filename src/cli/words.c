/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of words, and suggestions for mistyped words. */
#include "cli/words.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/text.h"

enum {
    LONGEST_WORD = 64, /* no suggestion for longer words */
    FIRST_ROOM = 8
};

bool wi_words_have(const wi_words *words, const char *word) {
    for (size_t k = 0; k < words->count; k++) {
        if (strcmp(words->at[k], word) == 0)
            return true;
    }
    return false;
}

static void grow(wi_words *words) {
    const size_t room = words->room ? 2 * words->room : FIRST_ROOM;
    const char **const at = wi_host_alloc(room * sizeof *at);
    if (!at) {
        wi_say_error("no memory for a list of %zu words", room);
        exit(WI_EXIT_FAILED);
    }
    if (words->count > 0)
        memcpy(at, words->at, words->count * sizeof *at);
    wi_host_free(words->at);
    words->at = at;
    words->room = room;
}

void wi_words_add(wi_words *words, const char *word) {
    if (wi_words_have(words, word))
        return;
    if (words->count == words->room)
        grow(words);
    words->at[words->count++] = word;
}

void wi_words_free(wi_words *words) {
    wi_host_free(words->at);
    *words = (wi_words){.at = NULL};
}

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* Edit distance: insertions, deletions and replacements of letters, and swaps of neighbouring
 * letters. */
static size_t distance(const char *a, const char *b) {
    static unsigned char d[LONGEST_WORD + 1][LONGEST_WORD + 1];
    const size_t length_a = strlen(a), length_b = strlen(b);
    if (length_a > LONGEST_WORD || length_b > LONGEST_WORD)
        return SIZE_MAX;
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

const char *wi_nearest(const char *given, const wi_words *words) {
    const char *nearest = NULL;
    size_t best = SIZE_MAX;
    const size_t length = strlen(given);
    for (size_t k = 0; k < words->count; k++) {
        size_t far = distance(given, words->at[k]);
        if (length >= 2 && strncmp(given, words->at[k], length) == 0)
            far = 1; /* `given` is an abbreviation of the word */
        if (far < best) {
            best = far;
            nearest = words->at[k];
        }
    }
    return best <= 1 + length / 5 && best < length ? nearest : NULL;
}
