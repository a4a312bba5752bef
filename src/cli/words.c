/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of words, and suggestions for mistyped words. */
#include "cli/words.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/text.h"
#include "core/near.h"

enum {
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

const char *wi_nearest(const char *given, const wi_words *words) {
    const char *nearest = NULL;
    size_t best = SIZE_MAX;
    for (size_t k = 0; k < words->count; k++) {
        const size_t far = wi_far(given, strlen(given), words->at[k], strlen(words->at[k]));
        if (far < best) {
            best = far;
            nearest = words->at[k];
        }
    }
    return nearest;
}
