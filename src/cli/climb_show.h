/* SPDX-License-Identifier: Apache-2.0 */
/* How `weft climb` shows a ladder while it is measured: as a table, or as JSON lines. */
#ifndef WI_CLI_CLIMB_SHOW_H
#define WI_CLI_CLIMB_SHOW_H

#include "cli/options.h"
#include "cli/table.h"
#include "climb/rung.h"

enum {
    WI_CLIMB_COLUMNS = 6 + WI_MERITS
};

/* A ladder while its rungs are measured one after the other. */
typedef struct wi_climber {
    const wi_arguments *args;
    const wi_meter *meter;
    wi_pool *pool;
    size_t n;
    wi_facts first; /* of a small problem, before any rung has run */
    wi_rung *rungs; /* measured so far; there is room for the whole ladder */
    size_t count;
    double times_below, times_first; /* speedup of the latest rung over the one below it and over
                                        the first; 0: not known */
    bool wrong;
    wi_column columns[WI_CLIMB_COLUMNS];
    size_t column_count;
    bool says_what; /* is there room beside the columns for what each rung changes? */
} wi_climber;

/* The first rung that was measured, or the last one before number `before`; NULL if none was. */
const wi_rung *wi_climb_measured(const wi_climber *c, size_t before, bool first);

/* The heading, as soon as c->first is known; rung `index`, as soon as it is measured; what stands
 * below all of them. */
void wi_climb_show_heading(wi_climber *c);
void wi_climb_show_rung(const wi_climber *c, size_t index);
void wi_climb_show_footnotes(const wi_climber *c);

#endif
