/* SPDX-License-Identifier: Apache-2.0 */
/* Ladders: each operation's variants are rows of a table, slowest idea first. */
#ifndef WI_ROWS_H
#define WI_ROWS_H

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of place, as a set. */
enum {
    WI_ON_CPU = 1u << WI_CPU,
    WI_ON_CUDA = 1u << WI_CUDA
};

typedef enum wi_scope {
    WI_LOCAL,      /* one device, or the threads of one process */
    WI_DISTRIBUTED /* several ranks together: src/comm */
} wi_scope;

/* Types, as a set. */
#define WI_TYPE(type) ((uint32_t)1 << (type))
#define WI_SIGNED_INTEGERS                                                                         \
    (WI_TYPE(WEFT_I8) | WI_TYPE(WEFT_I16) | WI_TYPE(WEFT_I32) | WI_TYPE(WEFT_I64))
#define WI_UNSIGNED_INTEGERS                                                                       \
    (WI_TYPE(WEFT_U8) | WI_TYPE(WEFT_U16) | WI_TYPE(WEFT_U32) | WI_TYPE(WEFT_U64))
#define WI_INTEGERS (WI_SIGNED_INTEGERS | WI_UNSIGNED_INTEGERS)
#define WI_HALF_FLOATS (WI_TYPE(WEFT_F16) | WI_TYPE(WEFT_BF16))
#define WI_FLOATS (WI_HALF_FLOATS | WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64))
/* Of the teaching rungs. */
#define WI_TAUGHT_TYPES                                                                            \
    (WI_TYPE(WEFT_I32) | WI_TYPE(WEFT_U32) | WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64))
/* Also of a ladder whose calls have no type. */
#define WI_ALL_TYPES UINT32_MAX
/* What such calls pass to wi_run. */
#define WI_NO_TYPE ((weft_type)WEFT_TYPE_COUNT)

/* One rung. `args` is the slice's own argument struct (wi_scan_args, ...). */
struct wi_row {
    const char *name; /* one word; the same in options, functions, files, JSON and docs */
    const char *what; /* what this rung changes, in a few words */
    unsigned kinds;   /* of place that it runs on: WI_ON_CPU | WI_ON_CUDA */
    wi_scope scope;
    uint32_t types; /* that it takes: WI_ALL_TYPES, WI_FLOATS | WI_TYPE(WEFT_I32), ... */
    /* NULL if the row can do this call, else why it cannot, as "needs n <= 1024: one block". Only
     * what it is not able to do: what it does badly, `seconds` says. A row without misfit can do
     * every call of its types. */
    const char *(*misfit)(const weft_context *ctx, const void *args);
    /* How long it would take, predicted from the call and wi_machine_of(ctx). A row that has no
     * `seconds` runs only if it is forced: it is there to be read and measured. */
    double (*seconds)(const weft_context *ctx, const void *args);
    /* The class of calls (core/tuning.h) in which a table of tuning has a factor for `seconds` of
     * its own; NULL: it has one factor for all calls of a type. */
    unsigned (*shape)(const void *args);
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

/* Does the row belong to the kind and scope of this place? */
bool wi_row_serves(const wi_row *row, const weft_context *ctx);

/* Can it do this call, as far as its types and its misfit tell? */
bool wi_row_can(const wi_row *row, const weft_context *ctx, weft_type type, const void *args);

/* The row that is predicted to be the fastest of those that can do the call, the later one of
 * equals; NULL if there is none. Whether one is forced does not matter. */
const wi_row *wi_pick(const weft_context *ctx, const wi_ladder *ladder, weft_type type,
                      const void *args);

/* Has the user named the row that is to run? Then nothing else may. */
bool wi_is_forced(const weft_context *ctx, const wi_ladder *ladder);

/* Runs the forced row, or else wi_pick's. `call` is the public name, for messages, and `type` the
 * one that rows must take. */
weft_status wi_run(weft_context *ctx, const wi_ladder *ladder, const char *call, weft_type type,
                   const void *args);

/* The row that the user has named; NULL: the library chooses. */
const wi_row *wi_forced_row(const weft_context *ctx, const wi_ladder *ladder);

/* The rung of this ladder that ran last on `from` becomes that of ctx. */
void wi_take_used(weft_context *ctx, const wi_ladder *ladder, const weft_context *from);

/* Chooses the row that wi_run would run. */
weft_status wi_choose_row(weft_context *ctx, const wi_ladder *ladder, const char *call,
                          weft_type type, const void *args, const wi_row **row);

/* Runs this row, of those that can do the call. */
weft_status wi_run_row(weft_context *ctx, const wi_ladder *ladder, const wi_row *row,
                       const void *args);

#ifdef __cplusplus
}
#endif
#endif
