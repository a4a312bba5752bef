/* SPDX-License-Identifier: Apache-2.0 */
/* `weft climb roof`: what this machine can do at most, each limit measured by the simplest code
 * that reaches it. */
#include "cli/roofs.h"

#include <stdio.h>
#include <string.h>

#include "cli/machine.h"
#include "cli/options.h"
#include "cli/rates.h"
#include "cli/session.h"
#include "cli/table.h"

enum {
    ROOF,
    VALUE,
    COLUMNS,
    INDENT = 4
};

/* Prints the heading and chooses the columns; true if the meaning of each roof fits beside them. */
static bool begin(const weft_context *ctx, wi_column columns[COLUMNS]) {
    char title[WI_NAME_BYTES];
    size_t longest = 0;
    for (int k = 0; k < WI_ROOFS; k++) {
        const size_t length = strlen(wi_roof_rows[k].meaning);
        longest = length > longest ? length : longest;
    }
    columns[ROOF] = (wi_column){.title = "roof", .width = -11};
    columns[VALUE] = (wi_column){.title = "measured", .width = 10};
    wi_table_fit(columns, COLUMNS);
    const size_t room = wi_screen_columns(stdout);
    const bool says_what = !room || wi_table_width(columns, COLUMNS) + 2 + longest <= room;
    wi_place_title(ctx, title, sizeof title);
    wi_print_line(stdout, INDENT, "%sroofs%s of %s, %s", wi_style_on(stdout, WI_BOLD),
                  wi_style_on(stdout, WI_PLAIN), weft_place(ctx), title);
    wi_print_line(stdout, INDENT, "What this place has nothing for is left out.\n");
    fputs(wi_style_on(stdout, WI_DIM), stdout);
    wi_table_print(columns, COLUMNS, NULL);
    printf("%s%s\n", says_what ? "  what is done" : "", wi_style_on(stdout, WI_PLAIN));
    fflush(stdout);
    return says_what;
}

static void print_roof(const wi_column columns[COLUMNS], bool says_what, wi_roof roof,
                       double value) {
    char text[WI_FIELD_BYTES];
    const char *const cells[COLUMNS] = {
        [ROOF] = wi_roof_rows[roof].name, [VALUE] = wi_format_roof(roof, value, text)};
    wi_table_print(columns, COLUMNS, cells);
    if (says_what)
        printf("  %s\n", wi_roof_rows[roof].meaning);
    else
        wi_print_line(stdout, INDENT, "\n%*s%s", INDENT, "", wi_roof_rows[roof].meaning);
    fflush(stdout);
}

static void json_roof(const weft_context *ctx, wi_roof roof, double value) {
    const wi_roof_row *const row = &wi_roof_rows[roof];
    wi_json json;
    wi_json_open(&json);
    wi_json_string(&json, "roof", row->name);
    wi_json_string(&json, "what", row->meaning);
    wi_json_string(&json, "place", weft_place(ctx));
    wi_json_number(&json, wi_unit_key(row->unit), wi_unit_value(row->unit, value));
    wi_json_close(&json);
}

wi_exit wi_show_roofs(const wi_arguments *args, const wi_meter *meter) {
    const bool json = wi_given(args, &wi_json_option);
    wi_column columns[COLUMNS];
    const bool says_what = !json && begin(meter->ctx, columns);
    for (int k = 0; k < WI_ROOFS; k++) {
        double value;
        wi_progress("roof: %s ...", wi_roof_rows[k].name);
        const weft_status status = wi_roof_measure(meter, (wi_roof)k, &value);
        wi_progress_end();
        if (status != WEFT_OK)
            return wi_session_failed(meter->ctx);
        if (value > 0 && json)
            json_roof(meter->ctx, (wi_roof)k, value);
        else if (value > 0)
            print_roof(columns, says_what, (wi_roof)k, value);
    }
    return WI_EXIT_OK;
}
