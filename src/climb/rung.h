/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one rung of a ladder: finds the n it can do in reasonable time, checks the result in full,
 * and times it. */
#ifndef WI_RUNG_H
#define WI_RUNG_H

#include "climb/climb.h"
#include "climb/meter.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_MOST_PROBLEMS = 48
};

/* Problems of one climb, made once for each n and shared by all rungs. */
typedef struct wi_pool {
    const wi_climb *climb;
    wi_setup setup; /* of all problems, except n */
    struct {
        size_t n;
        void *problem;
    } made[WI_MOST_PROBLEMS];
    size_t count;
} wi_pool;

/* Gets the problem of n elements, which is valid until the next call. */
weft_status wi_pool_get(wi_pool *pool, size_t n, void **problem);
void wi_pool_drop(wi_pool *pool);

/* Describes the problem with which the search for n would begin, before any rung has run. */
weft_status wi_pool_describe(wi_pool *pool, size_t n, wi_facts *facts);

/* Why a rung ran on fewer elements than were asked for. */
typedef enum wi_limit {
    WI_LIMIT_NONE,
    WI_LIMIT_MISFIT, /* the rung cannot do more, or cannot do it at all; `why` is its message */
    WI_LIMIT_SLOW,
    WI_LIMIT_MEMORY
} wi_limit;

/* The result of a rung. */
typedef struct wi_rung {
    const wi_row *row;
    size_t n; /* 0: it could not run */
    wi_limit limit;
    bool ok; /* the result was right; if not, `why` says what was wrong */
    double seconds;
    wi_facts facts;          /* of the problem of n elements */
    double roof;             /* in its unit, measured just before the rung */
    double merit[WI_MERITS]; /* if the climb has merits */
    double error;            /* if the climb has that column; below 0: of integers there is none */
    char why[WI_MESSAGE_BYTES];
} wi_rung;

/* A rung is not run at an n for which one call would take longer. */
#define WI_LONGEST_CALL_SECONDS 0.5

/* Runs the rung `row`, or with NULL the one the library chooses, on at most n elements; for the
 * latter only memory is a limit, not time. Any status but WEFT_OK is a failure of the measurement
 * itself, with the context's message. */
weft_status wi_rung_run(wi_pool *pool, const wi_meter *meter, const wi_row *row, size_t n,
                        wi_rung *rung);

/* How many times better `rung` is than `earlier`, by time or by the last of the merits. Both are
 * compared at the same n, the smaller of theirs; the rung that ran on more is checked and timed
 * there again. 0: not known, because one of them was not timed or cannot do so few. A wrong result
 * there makes the rung wrong. */
weft_status wi_rung_compare(wi_pool *pool, const wi_meter *meter, wi_rung *rung,
                            const wi_rung *earlier, double *times);

/* Work per second. */
double wi_rung_rate(const wi_rung *rung);

/* How many elements to measure if the user does not say: what the climb says, or enough to leave
 * the caches of most machines, as far as memory allows. */
size_t wi_usual_n(const wi_climb *climb, const weft_context *ctx, weft_type type);

/* Does the ladder have a rung for this kind of place? */
bool wi_has_rungs(const wi_ladder *ladder, wi_kind kind);

#ifdef __cplusplus
}
#endif
#endif
