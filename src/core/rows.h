/* SPDX-License-Identifier: Apache-2.0 */
/* Ladders: each operation's variants are rows of a table, slowest idea first. */
#ifndef WI_ROWS_H
#define WI_ROWS_H

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One rung. `args` is the slice's own argument struct (wi_scan_args, ...). */
struct wi_row {
    const char *name; /* one word; the same in options, functions, files, JSON and docs */
    wi_kind kind;
    const char *what; /* what this rung changes, in a few words */
    size_t from;      /* the library does not choose it below this many elements */
    /* NULL if the row can do this call, else why not, as "needs n <= 1024: one block". */
    const char *(*misfit)(const weft_context *ctx, const void *args);
    weft_status (*run)(weft_context *ctx, const void *args);
};

typedef struct wi_ladder {
    const char *op;
    const wi_row *rows;
    size_t count;
} wi_ladder;

/* Every ladder there is, one line each in ops.def; indexes here index weft_context.forced. */
extern const wi_ladder *const wi_ops[];
extern const size_t wi_op_count;

/* misfit of a row that can do every call. */
const char *wi_fits_all(const weft_context *ctx, const void *args);

/* Picks the forced row, or else the last that belongs to the context's kind, fits, and has
 * from <= n; then runs it. `call` is the public name, for messages. */
weft_status wi_run(weft_context *ctx, const wi_ladder *ladder, const char *call, size_t n,
                   const void *args);

#ifdef __cplusplus
}
#endif
#endif
