/* SPDX-License-Identifier: Apache-2.0 */
/* What a slice tells `weft climb`, `weft demo` and the benchmarks about itself: how to make a
 * problem, run it, check the answer, and say what it costs. Lives in src/<op>/<op>_climb.c. */
#ifndef WI_CLIMB_H
#define WI_CLIMB_H

#include "climb/roof.h"
#include "core/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_EXTENTS = 3,
    WI_MERITS = 2
};

/* Which problem to make. */
typedef struct wi_setup {
    weft_context *ctx;
    weft_type type;
    size_t n; /* the scale: the count of elements, or what the slice makes of it */
    /* If the climb has extents: each of them, as far as n allows; 0: n. */
    size_t extent[WI_EXTENTS];
    uint64_t seed;
} wi_setup;

/* How large a problem is: one count n, or up to three extents, as m x n x k of a product of
 * matrices. */
typedef struct wi_size {
    size_t extent[WI_EXTENTS]; /* 0 from the first that there is not */
} wi_size;

/* What there is to say of a problem, and of what one rung does with it. */
typedef struct wi_facts {
    wi_size size;
    /* The bytes that the call moves: the fewest it can or, where the slice's README says so, those
     * of the passes that this rung makes. The flops it cannot do without; 0 if the roof is one of
     * bytes. */
    double bytes, flops;
    wi_roof roof; /* what the rate is compared with */
    bool on_host; /* its arrays are host memory, whatever the place */
} wi_facts;

/* What there is to say of results that are all right, but not equally good. */
typedef struct wi_merits {
    struct {
        const char *title, *key; /* of a column, and in JSON */
    } of[WI_MERITS];
    const char *meaning;
    /* Of the output of the latest call. Rungs are compared by the last: less is better. */
    weft_status (*find)(void *problem, double merit[WI_MERITS]);
} wi_merits;

/* A problem is a struct of the slice's own, known to others by its address only. */
typedef struct wi_climb {
    const wi_ladder *ladder;
    const char *example; /* the call measured, as "inclusive sum" */
    weft_type type;      /* when the user names none */
    bool only_type;      /* the ladder knows no other */
    const wi_merits
        *merits;      /* what is shown in place of rates and roof, which say nothing; or NULL */
    size_t usual_n;   /* when the user names none; 0: what leaves the caches */
    size_t first_n;   /* with which rungs begin; 0: 1024 */
    bool has_extents; /* m, n and k, which may be asked for one by one */
    /* Allocates and fills; on failure nothing is left. */
    weft_status (*make)(const wi_setup *setup, void **problem);
    weft_status (*call)(void *problem); /* one public call, queued or done */
    /* The same through the serial C loop, on host copies; NULL: there is none, nor a demo. */
    weft_status (*serial)(void *problem);
    /* Poisons the output, calls once, compares with the oracle; false with `why` filled. */
    bool (*check)(void *problem, char *why, size_t bytes);
    /* `rung` is the name of the rung that runs; NULL before any has. */
    void (*describe)(const void *problem, const char *rung, wi_facts *facts);
    void (*drop)(void *problem);
} wi_climb;

extern const wi_climb *const wi_climbs[]; /* one line each in core/ops.def */
extern const size_t wi_climb_count;

/* The climb of an operation; NULL if there is none, or none of its rungs in this build. */
const wi_climb *wi_find_climb(const char *op);

/* The size of n elements. */
static inline wi_size wi_size_of(size_t n) {
    const wi_size size = {{n, 0, 0}};
    return size;
}

/* What the rate counts: the flops if the roof is one of arithmetic, else the bytes. */
static inline double wi_work_of(const wi_facts *facts) {
    return wi_roof_rows[facts->roof].unit == WI_UNIT_BYTES ? facts->bytes : facts->flops;
}

#ifdef __cplusplus
}
#endif
#endif
