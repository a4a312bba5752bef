/* SPDX-License-Identifier: Apache-2.0 */
/* What formulas call their inputs. */
#include <ctype.h>
#include <string.h>

#include "cli/formula.h"

size_t wi_formula_name_length(const char *at) {
    size_t length = 0;
    if (*at == '"') {
        const char *const end = strchr(at + 1, '"');
        return end ? (size_t)(end - at) + 1 : 0;
    }
    if (*at == '$') {
        length = 1 + strspn(at + 1, "0123456789");
        return length > 1 ? length : 0;
    }
    if (isalpha((unsigned char)*at) || *at == '_')
        while (isalnum((unsigned char)at[length]) || at[length] == '_')
            length++;
    return length;
}

bool wi_formula_is_called(const char *after) {
    while (isspace((unsigned char)*after))
        after++;
    return *after == '(';
}

bool wi_formula_next_name(const char **text, wi_table_text *name) {
    const char *at = *text;
    while (*at) {
        const size_t length = wi_formula_name_length(at);
        *name = (wi_table_text){at, at + length};
        if (length > 0 && !wi_formula_is_called(at + length)) {
            *text = at + length;
            return true;
        }
        if (isdigit((unsigned char)*at))
            while (isalnum((unsigned char)*at) || *at == '.') /* 1e5 and 0x1f have no names */
                at++;
        else
            at += length > 0 ? length : 1;
    }
    return false;
}
