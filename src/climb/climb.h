/* SPDX-License-Identifier: Apache-2.0 */
/* What a slice tells the command (`weft climb`, `weft demo`) and the benchmarks about itself: how
 * to make an input, run it, check the output, and count what it cost. Lives in
 * src/<op>/<op>_climb.c. */
#ifndef WI_CLIMB_H
#define WI_CLIMB_H

#include "core/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a rate is compared with. The unit of work is a byte, or with WI_ROOF_FMA a flop: one
 * addition or multiplication of floating-point numbers. */
typedef enum wi_roof {
    WI_ROOF_READ, /* bytes per second read from memory */
    WI_ROOF_COPY, /* read + written by a plain copy */
    WI_ROOF_LINK, /* host to device over pinned memory */
    WI_ROOF_FMA   /* flops per second of fused multiply-adds in registers */
} wi_roof;

/* One problem of n elements, set up on a context. */
typedef struct wi_case {
    weft_context *ctx;
    weft_type type;
    size_t n;
    uint64_t seed;
    void *x, *y, *z; /* memory of the place (weft_alloc), or host memory if the climb says so */
    void *expected;  /* host: what the oracle says, or what it needs to check */
} wi_case;

enum {
    WI_MERITS = 2
};

/* What there is to say of results that are all right, but not equally good. */
typedef struct wi_merits {
    struct {
        const char *title, *key; /* of a column, and in JSON */
    } of[WI_MERITS];
    const char *meaning;
    /* Of the output of the latest call. Rungs are compared by the last: less is better. */
    weft_status (*find)(wi_case *c, double merit[WI_MERITS]);
} wi_merits;

typedef struct wi_climb {
    const wi_ladder *ladder;
    const char *example; /* the call measured, as "inclusive sum" */
    weft_type type;      /* when the user names none */
    bool only_type;      /* the ladder knows no other */
    wi_roof roof;
    const wi_merits
        *merits;    /* what is shown in place of rates and roof, which say nothing; or NULL */
    size_t usual_n; /* when the user names none; 0: what leaves the caches */
    weft_status (*make)(wi_case *c); /* allocate and fill from c->seed */
    weft_status (*call)(wi_case *c); /* one public call, queued or done */
    /* The same through the serial C loop, on host copies; NULL: there is none, nor a demo. */
    weft_status (*serial)(wi_case *c);
    /* Poisons the output, calls once, compares with the oracle; false with `why` filled. */
    bool (*check)(wi_case *c, char *why, size_t bytes);
    double (*bytes)(const wi_case *c); /* the fewest bytes the call must move */
    double (*flops)(const wi_case *c); /* for WI_ROOF_FMA: the flops it must do; else NULL */
    void (*drop)(wi_case *c);
} wi_climb;

extern const wi_climb *const wi_climbs[]; /* one line each in core/ops.def */
extern const size_t wi_climb_count;

#ifdef __cplusplus
}
#endif
#endif
