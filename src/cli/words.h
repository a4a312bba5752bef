/* SPDX-License-Identifier: Apache-2.0 */
/* The words that may stand in a certain place of the command line: for completion, help and
 * suggestions. */
#ifndef WI_WORDS_H
#define WI_WORDS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct wi_command wi_command;

/* A list that grows; all zeros: empty. It does not own the words. */
typedef struct wi_words {
    const char **at;
    size_t count, room;
} wi_words;

/* Adds a word unless it is in the list already (ladders may share names of rungs). If there is no
 * memory, prints an error and ends the process. */
void wi_words_add(wi_words *words, const char *word);
void wi_words_free(wi_words *words);
bool wi_words_have(const wi_words *words, const char *word);

/* Adds the possible words; `command` is the command they are for, or NULL before any. */
typedef void wi_lister(const wi_command *command, wi_words *words);

/* The word nearest to `given` by edit distance, if it is near enough to be a plausible correction;
 * else NULL. */
const char *wi_nearest(const char *given, const wi_words *words);

#endif
