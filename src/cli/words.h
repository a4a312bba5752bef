/* SPDX-License-Identifier: Apache-2.0 */
/* The words that may stand in a certain spot of the command line: for completion, help and hints.
 */
#ifndef WI_WORDS_H
#define WI_WORDS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct wi_command wi_command;

/* A list that grows; zeroed, it is empty. The words themselves live elsewhere. */
typedef struct wi_words {
    const char **at;
    size_t count, room;
} wi_words;

/* Adds a word, unless it is there already: ladders may share names of rungs. Where there is no
 * memory for it, the process says so and ends. */
void wi_words_add(wi_words *words, const char *word);
void wi_words_free(wi_words *words);
bool wi_words_have(const wi_words *words, const char *word);

/* Adds what may stand there; `command` is the one whose spot it is, or NULL before any. */
typedef void wi_lister(const wi_command *command, wi_words *words);

/* The word nearest to `given` by edit distance, if it is near enough to be meant; else NULL. */
const char *wi_nearest(const char *given, const wi_words *words);

#endif
