/* SPDX-License-Identifier: Apache-2.0 */
/* Timing: medians after a warm-up, by GPU events or the monotonic clock, with the data outside the
 * caches at the start of each call. */
#ifndef WI_METER_H
#define WI_METER_H

#include "climb/roof.h"
#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What measuring in a context needs. */
struct wi_meter {
    weft_context *ctx;
    size_t cache_bytes; /* of the place's last cache */
    void *arena;        /* memory of the place, larger than that cache */
    size_t arena_bytes;
    double budget_seconds; /* after that long, no more samples than the minimum are taken; 0: a
                              single sample, which tells little */
    double *roofs;         /* [WI_ROOFS]: keeps each roof once it is measured, which begin as 0;
                              NULL: a roof is measured whenever it is asked for */
};

/* Something to time. */
typedef struct wi_timed {
    weft_status (*run)(void *user);
    void *user;
    double bytes; /* how many it touches: if few, caches are flushed before each run */
    bool on_host; /* its data is host memory, so it has finished when `run` returns */
} wi_timed;

enum {
    WI_LEAST_SAMPLES = 9,
    WI_MOST_SAMPLES = 51
};

/* Times each run for as long as the environment's WEFT_SECONDS says. */
weft_status wi_meter_open(wi_meter *meter, weft_context *ctx);

/* The same with an arena of that many bytes (or as many as memory allows) and that budget. */
weft_status wi_meter_open_with(wi_meter *meter, weft_context *ctx, size_t arena_bytes,
                               double budget_seconds);
void wi_meter_close(wi_meter *meter);
/* After `count` samples, of which the first began at `start`: is there to be another? */
bool wi_meter_goes_on(const wi_meter *meter, size_t count, double start);

/* The machine's memory; 0: not known. */
size_t wi_memory_bytes(void);

/* Seconds of one run: the median of 9 to 51 runs, after one that is not counted. */
weft_status wi_meter_time(const wi_meter *meter, const wi_timed *timed, double *seconds);

/* Seconds of one run, until it has finished; no statistics. */
weft_status wi_meter_once(const wi_meter *meter, const wi_timed *timed, double *seconds);

/* The median of `count` numbers; sorts them. */
double wi_median(double *samples, size_t count);

/* Would part of a data set of this size still be in the caches at the next run? */
bool wi_meter_flushes(const wi_meter *meter, const wi_timed *timed);

/* The parts of the above that differ by kind of place. */
void wi_cpu_flush(const wi_meter *meter);
weft_status wi_gpu_time(const wi_meter *meter, const wi_timed *timed, double *seconds);

#ifdef __cplusplus
}
#endif
#endif
