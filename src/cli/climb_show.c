/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what `weft climb` measures: a table with a line for each rung, or JSON lines. */
#include "cli/climb_show.h"

#include <stdio.h>
#include <string.h>

#include "cli/info.h"
#include "cli/machine.h"
#include "cli/rates.h"
#include "cli/session.h"
#include "cli/text.h"

enum {
    INDENT = 4,
    COUNT_COLUMNS = 8 /* of each extent of a size */
};

enum {
    RUNG,
    N,
    TIME,
    FIRST_RATE, /* the rate and its share of the roof; for a ladder with merits, those */
    BELOW = FIRST_RATE + WI_MERITS,
    FIRST,
    ERROR, /* only of climbs that find it */
    COLUMNS
};

_Static_assert((int)COLUMNS == (int)WI_CLIMB_COLUMNS, "one place for each column");

static bool wants_json(const wi_climber *c) {
    return wi_given(c->args, &wi_json_option);
}

static weft_context *context_of(const wi_climber *c) {
    return c->pool->setup.ctx;
}

const wi_rung *wi_climb_measured(const wi_climber *c, size_t before, bool first) {
    for (size_t k = 0; k < before; k++) {
        const wi_rung *const rung = &c->rungs[first ? k : before - 1 - k];
        if (rung->seconds > 0)
            return rung;
    }
    return NULL;
}

static bool shows_error(const wi_climber *c) {
    return c->pool->climb->error && wi_type_is_float(c->pool->setup.type);
}

/* Chooses which columns the table shows: as many as fit the terminal. */
static void lay_out(wi_climber *c) {
    const wi_climb *const climb = c->pool->climb;
    int name = (int)strlen("rung"), extents = 1;
    size_t what = strlen("what it changes");
    for (size_t k = 0; k < climb->ladder->count; k++) {
        const wi_row *const row = &climb->ladder->rows[k];
        const int length = (int)strlen(row->name);
        if (!wi_row_serves(row, context_of(c)))
            continue;
        name = length > name ? length : name;
        what = strlen(row->what) > what ? strlen(row->what) : what;
    }
    c->columns[RUNG] = (wi_column){.title = "rung", .width = -name};
    while (extents < WI_EXTENTS && c->first.size.extent[extents] > 0)
        extents++;
    c->columns[N] = (wi_column){
        .title = extents > 1 ? "size" : "n", .width = COUNT_COLUMNS * extents, .rank = 2};
    c->columns[TIME] = (wi_column){.title = "time", .width = 8};
    c->columns[FIRST_RATE] = (wi_column){.title = "rate", .width = 9, .rank = 1};
    c->columns[FIRST_RATE + 1] = (wi_column){.title = "roof", .width = 6, .rank = 3};
    for (size_t k = 0; climb->merits && k < WI_MERITS; k++) /* the last one matters most */
        c->columns[FIRST_RATE + k] = (wi_column){
            .title = climb->merits->of[k].title, .width = 7, .rank = k + 1 < WI_MERITS ? 3 : 1};
    c->columns[BELOW] = (wi_column){.title = "x below", .width = 7, .rank = 4};
    c->columns[FIRST] = (wi_column){.title = "x first", .width = 7, .rank = 5};
    c->columns[ERROR] = (wi_column){.title = "error", .width = 7, .rank = 2};
    c->column_count = shows_error(c) ? COLUMNS : ERROR;
    wi_table_fit(c->columns, c->column_count);
    const size_t room = wi_screen_columns(stdout);
    c->says_what = !room || wi_table_width(c->columns, c->column_count) + 2 + what <= room;
}

/* Prints below the title what the columns mean. */
static void print_meaning(const wi_climber *c) {
    const wi_climb *const climb = c->pool->climb;
    const wi_roof_row *const roof = &wi_roof_rows[c->first.roof];
    if (climb->merits)
        wi_print_line(stdout, INDENT, "%s\nx below, x first: how many times fewer %s at the same n",
                      climb->merits->meaning, climb->merits->of[WI_MERITS - 1].title);
    else
        wi_print_line(stdout, INDENT,
                      "roof: %s, measured beside each rung\n"
                      "x below, x first: how many times faster at the same n",
                      roof->meaning);
    if (!climb->merits && roof->unit != WI_UNIT_BYTES)
        wi_print_line(stdout, INDENT,
                      "rate: the additions and multiplications the call cannot do "
                      "without, over its time");
    if (shows_error(c))
        wi_print_line(stdout, INDENT,
                      "error: of the sum of numbers that must be rounded, in units in the last "
                      "place, against the exact sum");
    wi_print_line(stdout, INDENT, "Every result is checked in full before it is timed.\n");
}

/* The extents that the climb has, of those asked for, and their letters. */
static wi_size asked_for(const wi_climb *climb, const wi_setup *setup, const char **letters) {
    const size_t *const x = setup->extent;
    if (climb->usual_side) {
        *letters = "m x n x k x count";
        return (wi_size){{x[0], x[1], x[2], x[3]}};
    }
    if (climb->lacks & WI_LACKS_M) {
        *letters = "n x k";
        return (wi_size){{x[1], x[2]}};
    }
    *letters = climb->lacks & WI_LACKS_K ? "m x n" : "m x n x k";
    return (wi_size){{x[0], x[1], climb->lacks & WI_LACKS_K ? 0 : x[2]}};
}

static void print_heading(const wi_climber *c) {
    const wi_climb *const climb = c->pool->climb;
    const wi_setup *const setup = &c->pool->setup;
    char title[WI_NAME_BYTES], n[WI_SIZE_BYTES], bytes[WI_FIELD_BYTES], size[64] = "";
    const char *letters = "n";
    wi_size asked = wi_size_of(c->n);
    if (climb->has_extents)
        asked = asked_for(climb, setup, &letters);
    wi_place_title(setup->ctx, title, sizeof title);
    if (!climb->merits && !climb->has_extents && wi_roof_rows[c->first.roof].unit == WI_UNIT_BYTES)
        snprintf(size, sizeof size, " (%s an array)",
                 wi_format_bytes((double)(c->n * weft_type_size(setup->type)), bytes));
    wi_print_line(stdout, INDENT, "%s%s%s: %s, %s, %s = %s%s", wi_style_on(stdout, WI_BOLD),
                  climb->ladder->op, wi_style_on(stdout, WI_PLAIN), climb->example,
                  weft_type_name(setup->type), letters, wi_format_size(&asked, n), size);
    wi_print_line(stdout, INDENT, "place: %s, %s", weft_place(setup->ctx), title);
    if (wi_is_demo_build && !climb->serial)
        wi_print_line(stdout, INDENT,
                      "slow: this build optimises what `weft demo` shows; `make` makes one that "
                      "optimises all");
    print_meaning(c);
    fputs(wi_style_on(stdout, WI_DIM), stdout);
    wi_table_print(c->columns, c->column_count, NULL);
    printf("%s%s\n", c->says_what ? "  what it changes" : "", wi_style_on(stdout, WI_PLAIN));
    fflush(stdout);
}

static void print_timed(const wi_climber *c, size_t index) {
    const wi_rung *const rung = &c->rungs[index];
    const wi_climb *const climb = c->pool->climb;
    char size[WI_SIZE_BYTES], time[WI_FIELD_BYTES], rate[WI_MERITS][WI_FIELD_BYTES],
        below[WI_FIELD_BYTES], first[WI_FIELD_BYTES], mark[WI_SIZE_BYTES + 2],
        error[WI_FIELD_BYTES];
    snprintf(error, sizeof error, "%.3g", rung->error);
    snprintf(mark, sizeof mark, "%s%s", wi_format_size(&rung->facts.size, size),
             rung->limit == WI_LIMIT_NONE ? "" : "*");
    if (climb->merits) {
        for (size_t k = 0; k < WI_MERITS; k++)
            wi_format_amount(rung->merit[k], rate[k]);
    } else {
        wi_format_roof(rung->facts.roof, wi_rung_rate(rung), rate[0]);
        wi_format_share(wi_rung_rate(rung) / rung->roof, rate[1]);
    }
    const char *const cells[COLUMNS] = {
        [RUNG] = rung->row->name,
        [N] = mark,
        [TIME] = wi_format_seconds(rung->seconds, time),
        [FIRST_RATE] = rate[0],
        [FIRST_RATE + 1] = rate[1],
        [BELOW] = wi_format_times(c->times_below, below),
        [FIRST] = wi_format_times(c->times_first, first),
        [ERROR] = error,
    };
    wi_table_print(c->columns, c->column_count, cells);
    if (c->says_what)
        printf("  %s\n", rung->row->what);
    else
        wi_print_line(stdout, INDENT, "\n%*s%s", INDENT, "", rung->row->what);
}

static void print_rung(const wi_climber *c, size_t index) {
    const wi_rung *const rung = &c->rungs[index];
    const int width = c->columns[RUNG].width;
    char n[WI_FIELD_BYTES];
    if (rung->n == 0)
        wi_print_line(stdout, INDENT, "%*s %8s  cannot do this call (see below)", width,
                      rung->row->name, "-");
    else if (!rung->ok)
        wi_print_line(stdout, INDENT, "%*s %8s  %sWRONG:%s %s", width, rung->row->name,
                      wi_format_count(rung->n, n), wi_style_on(stdout, WI_RED),
                      wi_style_on(stdout, WI_PLAIN), rung->why);
    else
        print_timed(c, index);
    fflush(stdout);
}

/* Why a rung did not run on all n elements; NULL if it did. */
static const char *limit_text(const wi_rung *rung) {
    switch (rung->limit) {
    case WI_LIMIT_SLOW:
        return "one call with more would take over half a second";
    case WI_LIMIT_MEMORY:
    case WI_LIMIT_MISFIT:
        return rung->why;
    case WI_LIMIT_NONE:
        break;
    }
    return NULL;
}

/* Prints the range in which a roof was measured beside the rungs that are compared with it; false
 * if no rung is. A roof other than the heading's is named. */
static bool print_roof_range(const wi_climber *c, wi_roof roof, const char *gap) {
    double least = 0, most = 0;
    char a[WI_FIELD_BYTES], b[WI_FIELD_BYTES];
    for (size_t k = 0; k < c->count; k++) {
        const double measured_roof = c->rungs[k].roof;
        if (!(measured_roof > 0) || c->rungs[k].facts.roof != roof)
            continue;
        least = least > 0 && least < measured_roof ? least : measured_roof;
        most = measured_roof > most ? measured_roof : most;
    }
    if (!(most > 0))
        return false;
    const char *const name = roof == c->first.roof ? "" : wi_roof_rows[roof].meaning;
    wi_print_line(stdout, INDENT, "%sroof%s%s: %s to %s", gap, *name ? " of " : "", name,
                  wi_format_roof(roof, least, a), wi_format_roof(roof, most, b));
    return true;
}

void wi_climb_show_footnotes(const wi_climber *c) {
    if (wants_json(c))
        return;
    const char *gap = "\n"; /* before the first line */
    for (int roof = 0; roof < WI_ROOFS; roof++)
        gap = print_roof_range(c, (wi_roof)roof, gap) ? "" : gap;
    for (size_t k = 0; k < c->count; k++) {
        const wi_rung *const rung = &c->rungs[k];
        const char *const text = rung->ok || rung->n == 0 ? limit_text(rung) : NULL;
        if (text) {
            wi_print_line(stdout, INDENT, "%s* %s: %s", gap, rung->row->name, text);
            gap = "";
        }
    }
}

static void json_rung(const wi_climber *c, size_t index) {
    const wi_rung *const rung = &c->rungs[index];
    const wi_climb *const climb = c->pool->climb;
    const wi_setup *const setup = &c->pool->setup;
    const bool timed = rung->seconds > 0, is_first = !wi_climb_measured(c, index, true);
    wi_json json;
    wi_json_open(&json);
    wi_json_string(&json, "op", climb->ladder->op);
    wi_json_string(&json, "variant", rung->row->name);
    wi_json_string(&json, "what", rung->row->what);
    wi_json_string(&json, "example", climb->example);
    wi_json_string(&json, "place", weft_place(setup->ctx));
    wi_json_bool(&json, "host_data", c->first.on_host || setup->ctx->kind == WI_CPU);
    wi_json_string(&json, "type", weft_type_name(setup->type));
    wi_json_count(&json, "n", rung->n);
    wi_json_count(&json, "n_asked", c->n);
    wi_json_count(&json, "seed", setup->seed);
    wi_json_rung(&json, climb, rung);
    if (shows_error(c))
        wi_json_known(&json, "error_ulps", timed, rung->error);
    if (!climb->merits) {
        wi_json_number(&json, "roof_share", timed ? wi_rung_rate(rung) / rung->roof : 0);
        wi_json_known(&json, "speedup_below", is_first || c->times_below > 0,
                      is_first ? 1 : c->times_below);
        wi_json_known(&json, "speedup_first", is_first || c->times_first > 0,
                      is_first ? 1 : c->times_first);
    }
    if (rung->n > 0)
        wi_json_bool(&json, "ok", rung->ok);
    else
        wi_json_null(&json, "ok"); /* it did not run */
    wi_json_string(&json, "note", rung->n > 0 && !rung->ok ? rung->why : limit_text(rung));
    wi_json_close(&json);
}

void wi_climb_show_heading(wi_climber *c) {
    if (wants_json(c))
        return;
    lay_out(c);
    print_heading(c);
}

void wi_climb_show_rung(const wi_climber *c, size_t index) {
    if (wants_json(c))
        json_rung(c, index);
    else
        print_rung(c, index);
}
