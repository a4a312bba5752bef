/* SPDX-License-Identifier: Apache-2.0 */
/* The description of a slice for `weft climb`, `weft demo` and the benchmarks: how to make a
 * problem, run it, check the answer, and what it costs. Implemented in src/<op>/<op>_climb.c. */
#ifndef WI_CLIMB_H
#define WI_CLIMB_H

#include "climb/roof.h"
#include "core/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_LACKS_M = 1 << 0, /* in the order of extents */
    WI_LACKS_K = 1 << 2
};

enum {
    WI_EXTENTS = 4,
    WI_MERITS = 2
};

/* Which problem to make. */
typedef struct wi_setup {
    weft_context *ctx;
    weft_type type;
    size_t n; /* the scale: the number of elements, or another size that the slice defines */
    /* If the climb has extents: each of them, as far as n allows; 0: n. */
    size_t extent[WI_EXTENTS];
    uint64_t seed;
    bool rounds; /* f32 may be rounded to tf32, if the climb has that choice */
} wi_setup;

/* The size of a problem: a count n, or several extents, such as m x n x k of a matrix product. */
typedef struct wi_size {
    size_t extent[WI_EXTENTS]; /* 0 after the last one */
} wi_size;

/* Facts about a problem, and about what one rung does with it. */
typedef struct wi_facts {
    wi_size size;
    /* The bytes that the call moves: the fewest possible or, where the slice's README says so,
     * those of the passes that this rung makes. And the flops it needs; 0 if its roof is in bytes.
     */
    double bytes, flops;
    wi_roof roof; /* what the rate is compared with */
    bool on_host; /* the arrays are host memory, also on a GPU place */
} wi_facts;

/* How good a result is, for ladders whose rungs give different correct results. */
typedef struct wi_merits {
    struct {
        const char *title, *key; /* of a column of the table, and in JSON */
    } of[WI_MERITS];
    const char *meaning;
    /* Finds the merits of the latest call's output. Rungs are compared by the last: less is better.
     */
    weft_status (*find)(void *problem, double merit[WI_MERITS]);
} wi_merits;

/* A problem is a struct of the slice; others only pass its address. */
typedef struct wi_climb {
    const wi_ladder *ladder;
    const char *example;     /* the call that is measured, as "inclusive sum" */
    weft_type type;          /* if the user names none */
    uint32_t types;          /* that the call takes, as of a row; 0: all */
    const wi_merits *merits; /* shown if rates and roof would mean nothing; or NULL */
    size_t usual_n;          /* if the user names none; 0: enough to leave the caches */
    size_t first_n;          /* where rungs begin; 0: 1024 */
    bool has_extents;        /* m, n and k, which can be asked for one by one */
    bool may_round;          /* setup.rounds makes a difference */
    unsigned lacks;          /* save these: WI_LACKS_M, WI_LACKS_K */
    size_t usual_k;          /* k if the user does not say; 0: n */
    size_t usual_side;       /* not 0: a fourth extent counts products of m x n x k, which are as
                                large as this if the user does not say; n is the number of products */
    /* Allocates and fills a problem; on failure nothing stays allocated. */
    weft_status (*make)(const wi_setup *setup, void **problem);
    weft_status (*call)(void *problem); /* one public call, queued or finished */
    /* The same with the serial C loop on host copies; NULL: there is none, and then no demo. */
    weft_status (*serial)(void *problem);
    /* Fills the output with a pattern, calls once, and compares with the oracle; if wrong, false,
     * and `why` is filled. */
    bool (*check)(void *problem, char *why, size_t bytes);
    /* Shown as a further column, for types of floats: by how many units in the last place the
     * result differs from the exact one, on data whose sums round. NULL: the ladder has no such
     * column. */
    weft_status (*error)(const wi_setup *setup, double *ulps);
    /* `rung` is the name of the rung that runs; NULL before any has run. */
    void (*describe)(const void *problem, const char *rung, wi_facts *facts);
    void (*drop)(void *problem);
} wi_climb;

extern const wi_climb *const wi_climbs[]; /* one line each in core/ops.def */
extern const size_t wi_climb_count;

/* The climb of an operation; NULL if it has none, or no rungs in this build. */
const wi_climb *wi_find_climb(const char *op);

/* Does the call take this type? */
static inline bool wi_climb_takes(const wi_climb *climb, weft_type type) {
    return climb->types == 0 || climb->types >> type & 1;
}

/* The size of n elements. */
static inline wi_size wi_size_of(size_t n) {
    const wi_size size = {{n, 0, 0}};
    return size;
}

/* The amount that the rate counts: the flops if the roof is one of arithmetic, else the bytes. */
static inline double wi_work_of(const wi_facts *facts) {
    return wi_roof_rows[facts->roof].unit == WI_UNIT_BYTES ? facts->bytes : facts->flops;
}

#ifdef __cplusplus
}
#endif
#endif
