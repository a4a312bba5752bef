/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of readers and writers of files. */
#include "io/note.h"

#include <stdarg.h>
#include <stdio.h>

weft_status wi_note_fail(wi_note *note, weft_status status, const char *format, ...) {
    char text[sizeof note->text];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    wi_shown(text, note->text, sizeof note->text);
    return status;
}

const char *wi_note_quote(const char *text, size_t length, char out[WI_QUOTE_BYTES]) {
    const size_t shown = length < WI_QUOTE_BYTES - 1 ? length : WI_QUOTE_BYTES - 1;
    for (size_t i = 0; i < shown; i++)
        out[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    out[shown] = '\0';
    return out;
}
