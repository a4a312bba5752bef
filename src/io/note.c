/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of readers and writers of files. */
#include "io/note.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
    size_t shown = length < WI_QUOTE_BYTES - 1 ? length : WI_QUOTE_BYTES - 1;
    while (shown < length && shown > 0 && ((unsigned char)text[shown] & 0xC0) == 0x80)
        shown--;
    for (size_t i = 0; i < shown; i++)
        out[i] = (unsigned char)text[i] >= ' ' && text[i] != '\177' ? text[i] : '?';
    out[shown] = '\0';
    return out;
}

weft_status wi_note_packed(wi_note *note, const char *name, const void *begin, size_t length) {
    static const struct {
        size_t length;
        const char *begin, *is;
    } kinds[] = {
        {2, "\x1f\x8b", "the file is compressed by gzip; unpack it first, as gzip -d does"},
        {4, "\x28\xb5\x2f\xfd", "the file is compressed by zstd; unpack it first, as zstd -d does"},
        {6,
         "\xfd"
         "7zXZ",
         "the file is compressed by xz; unpack it first, as xz -d does"},
        {8, "BZh91AY&", "the file is compressed by bzip2; unpack it first, as bzip2 -d does"},
        {4, "PK\3\4",
         "the file is a zip archive, as .npz and .xlsx are; unpack it, or save it as "
         ".npy or .csv"},
    };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (length >= kinds[k].length && memcmp(begin, kinds[k].begin, kinds[k].length) == 0)
            return wi_note_fail(note, WEFT_EFORMAT, "%s: %s", name, kinds[k].is);
    return WEFT_OK;
}
