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
    wi_setup setup; /* of all of them, but for n */
    struct {
        size_t n;
        void *problem;
    } made[WI_MOST_PROBLEMS];
    size_t count;
} wi_pool;

/* The problem of n elements, valid until the next call. */
weft_status wi_pool_get(wi_pool *pool, size_t n, void **problem);
void wi_pool_drop(wi_pool *pool);

/* What a rung's search would begin with, on the way to n elements: what kind of problems these are,
 * before any has run. */
weft_status wi_pool_describe(wi_pool *pool, size_t n, wi_facts *facts);

/* Why a rung ran on fewer elements than asked for. */
typedef enum wi_limit {
    WI_LIMIT_NONE,
    WI_LIMIT_MISFIT, /* the rung cannot do more, or none at all; `why` is its message */
    WI_LIMIT_SLOW,
    WI_LIMIT_MEMORY
} wi_limit;

/* What became of a rung. */
typedef struct wi_rung {
    const wi_row *row;
    size_t n; /* 0: it could not run */
    wi_limit limit;
    bool ok; /* the result was right; else `why` tells what was wrong */
    double seconds;
    wi_facts facts;          /* of the problem of n elements */
    double roof;             /* in its unit, measured just before */
    double merit[WI_MERITS]; /* if the climb has merits */
    char why[WI_MESSAGE_BYTES];
} wi_rung;

/* Rungs are not run at an n where one call would take longer. */
#define WI_LONGEST_CALL_SECONDS 0.5

/* Runs the row, or with NULL what the library chooses, on at most n elements; for the latter only
 * memory is a limit, not time. Anything but WEFT_OK is a failure of the machinery, told by the
 * context's message. */
weft_status wi_rung_run(wi_pool *pool, const wi_meter *meter, const wi_row *row, size_t n,
                        wi_rung *rung);

/* How many times better `rung` is than `earlier`: by the time, or by the last of the merits. Both
 * at the same n: the smaller of theirs, at which the one that ran on more is checked and timed once
 * more. 0: that is not known, for one of them was not timed, or does not do so few. A wrong result
 * there makes the rung wrong. */
weft_status wi_rung_compare(wi_pool *pool, const wi_meter *meter, wi_rung *rung,
                            const wi_rung *earlier, double *times);

/* Work per second. */
double wi_rung_rate(const wi_rung *rung);

/* How many elements to measure when nobody says: what the climb says, or enough to leave the caches
 * of most machines, within what the memory allows. */
size_t wi_usual_n(const wi_climb *climb, const weft_context *ctx, weft_type type);

/* Has the ladder any rung for this kind of place? */
bool wi_has_rungs(const wi_ladder *ladder, wi_kind kind);

#ifdef __cplusplus
}
#endif
#endif
