/* SPDX-License-Identifier: Apache-2.0 */
/* Tables on standard output that fit the terminal. */
#include "cli/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"

/* The column to drop next; NULL if all must stay. */
static wi_column *least_needed(wi_column *columns, size_t count) {
    wi_column *found = NULL;
    for (size_t k = 0; k < count; k++) {
        if (columns[k].shown && columns[k].rank > (found ? found->rank : 0))
            found = &columns[k];
    }
    return found;
}

void wi_table_fit(wi_column *columns, size_t count) {
    const size_t room = wi_screen_columns(stdout);
    for (size_t k = 0; k < count; k++)
        columns[k].shown = true;
    while (room && wi_table_width(columns, count) > room) {
        wi_column *const spared = least_needed(columns, count);
        if (!spared)
            return;
        spared->shown = false;
    }
}

size_t wi_table_width(const wi_column *columns, size_t count) {
    size_t width = 0;
    for (size_t k = 0; k < count; k++) {
        if (columns[k].shown)
            width += (width > 0) + (size_t)abs(columns[k].width);
    }
    return width;
}

void wi_table_print(const wi_column *columns, size_t count, const char *const *cells) {
    const char *separator = "";
    for (size_t k = 0; k < count; k++) {
        if (!columns[k].shown)
            continue;
        const char *const cell = cells ? cells[k] : columns[k].title;
        const size_t taken = wi_visible(cell, strlen(cell)), width = (size_t)abs(columns[k].width);
        const int pad = taken < width ? (int)(width - taken) : 0;
        const bool left = columns[k].width < 0;
        printf("%s%*s%s%*s", separator, left ? 0 : pad, "", cell, left ? pad : 0, "");
        separator = " ";
    }
}
