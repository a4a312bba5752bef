/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of readers and writers of files. */
#ifndef WI_NOTE_H
#define WI_NOTE_H

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A message: one line. */
typedef struct wi_note {
    char text[WI_MESSAGE_BYTES];
} wi_note;

/* Records a printf-like message and returns `status`. */
weft_status wi_note_fail(wi_note *note, weft_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

enum {
    WI_QUOTE_BYTES = 48 /* bytes of a file's text that a message repeats */
};

/* Copies a piece of a file for a message, cut off if it is long, but not within a character of
 * UTF-8; control characters become question marks. Returns `out`. */
const char *wi_note_quote(const char *text, size_t length, char out[WI_QUOTE_BYTES]);

/* Refuses a file whose first `length` bytes are those of a compressed one; else WEFT_OK. */
weft_status wi_note_packed(wi_note *note, const char *name, const void *begin, size_t length);

#ifdef __cplusplus
}
#endif
#endif
