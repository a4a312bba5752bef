/* SPDX-License-Identifier: Apache-2.0 */
/* Is a word a plausible correction of a mistyped one? */
#ifndef WI_NEAR_H
#define WI_NEAR_H

#include <stddef.h>

/* How far `given` is from a word: insertions, deletions and replacements of letters, and swaps of
 * neighbouring letters; 1 if it is an abbreviation of the word. SIZE_MAX if it is too far to be
 * meant. */
size_t wi_far(const char *given, size_t given_length, const char *word, size_t word_length);

#endif
