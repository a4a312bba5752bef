/* SPDX-License-Identifier: Apache-2.0 */
/* Escapes text from outside, such as file names, for a line that people read. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/core.h"

size_t wi_utf8_bytes(const char *text) {
    const unsigned char *const c = (const unsigned char *)text;
    const size_t bytes = c[0] < 0x80 ? 1 : c[0] < 0xC2 ? 0 : c[0] < 0xE0 ? 2 : c[0] < 0xF0 ? 3 : 4;
    uint32_t code = bytes > 1 ? c[0] & (0x7Fu >> bytes) : c[0];
    for (size_t k = 1; k < bytes; k++) {
        if ((c[k] & 0xC0) != 0x80) /* the end of the text is no such byte either */
            return 0;
        code = code << 6 | (c[k] & 0x3Fu);
    }
    const bool longer = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
    const bool surrogate = code >= 0xD800 && code < 0xE000;
    return longer || surrogate || code > 0x10FFFF ? 0 : bytes;
}

bool wi_is_control(const char *text) {
    const unsigned char *const c = (const unsigned char *)text;
    return c[0] < ' ' || c[0] == 0x7F || (c[0] == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0);
}

void wi_shown(const char *text, char *out, size_t room) {
    size_t used = 0;
    while (*text) {
        char piece[8];
        const size_t bytes = wi_utf8_bytes(text);
        const bool plain = bytes > 0 && !wi_is_control(text);
        if (plain)
            snprintf(piece, sizeof piece, "%.*s", (int)bytes, text);
        else if (*text == '\n' || *text == '\t')
            snprintf(piece, sizeof piece, "\\%c", *text == '\n' ? 'n' : 't');
        else
            snprintf(piece, sizeof piece, "\\x%02x", (unsigned char)*text);
        if (used + strlen(piece) >= room)
            break;
        memcpy(out + used, piece, strlen(piece));
        used += strlen(piece);
        text += plain ? bytes : 1;
    }
    out[used] = '\0';
}
