/* SPDX-License-Identifier: Apache-2.0 */
/* What readers and writers of files say when they fail. */
#ifndef WI_NOTE_H
#define WI_NOTE_H

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a message goes; one line. */
typedef struct wi_note {
    char text[WI_MESSAGE_BYTES];
} wi_note;

/* Records a printf-like message and returns `status`. */
weft_status wi_note_fail(wi_note *note, weft_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

enum {
    WI_QUOTE_BYTES = 48 /* of a piece of a file repeated in a message */
};

/* Copies a piece of a file for a message, cut short where it is long; what cannot be shown becomes
 * a question mark. Returns `out`. */
const char *wi_note_quote(const char *text, size_t length, char out[WI_QUOTE_BYTES]);

#ifdef __cplusplus
}
#endif
#endif
