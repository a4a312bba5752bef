/* SPDX-License-Identifier: Apache-2.0 */
/* A program's locale in which decimals have a comma. */
#ifndef WEFT_COMMA_H
#define WEFT_COMMA_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

/* Sets one for numbers; false if this system has none. setlocale(LC_NUMERIC, "C") goes back. */
static inline bool test_comma_locale(void) {
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "ps_AF.UTF-8"};
    for (size_t k = 0; k < sizeof locales / sizeof *locales; k++) {
        if (setlocale(LC_NUMERIC, locales[k]))
            return true;
    }
    return false;
}

#endif
