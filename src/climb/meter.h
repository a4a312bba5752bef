/* SPDX-License-Identifier: Apache-2.0 */
/* Honest timing: medians after a warm-up, by GPU events or the monotonic clock, with the data
 * outside the caches when a call starts. */
#ifndef WI_METER_H
#define WI_METER_H

#include "climb/roof.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a context is measured with. */
struct wi_meter {
    weft_context *ctx;
    size_t cache_bytes; /* of the place's last cache */
    void *arena;        /* memory of the place, larger than that cache */
    size_t arena_bytes;
    double budget_seconds; /* no more samples than the least are taken after that long */
};

/* Something to time. */
typedef struct wi_timed {
    weft_status (*run)(void *user);
    void *user;
    double bytes; /* what it touches: if little, caches are flushed before each run */
    bool on_host; /* its data is host memory, so that it is done when run returns */
} wi_timed;

enum {
    WI_LEAST_SAMPLES = 9,
    WI_MOST_SAMPLES = 51
};

weft_status wi_meter_open(wi_meter *meter, weft_context *ctx);

/* The same with an arena of that many bytes, or of as many as memory allows, and so long a budget.
 */
weft_status wi_meter_open_with(wi_meter *meter, weft_context *ctx, size_t arena_bytes,
                               double budget_seconds);
void wi_meter_close(wi_meter *meter);

/* Monotonic seconds. */
double wi_now(void);

/* The machine's memory; 0: the system does not tell. */
size_t wi_memory_bytes(void);

/* Seconds of one run: the median of 9 to 51, after one that does not count. */
weft_status wi_meter_time(const wi_meter *meter, const wi_timed *timed, double *seconds);

/* Seconds of one run, finished; no statistics. */
weft_status wi_meter_once(const wi_meter *meter, const wi_timed *timed, double *seconds);

/* The median of `count` numbers, which are sorted by the way. */
double wi_median(double *samples, size_t count);

/* True when a data set of this size would partly be found in the caches again. */
bool wi_meter_flushes(const wi_meter *meter, const wi_timed *timed);

/* What the above are made of, for each kind of place. */
void wi_cpu_flush(const wi_meter *meter);
weft_status wi_gpu_time(const wi_meter *meter, const wi_timed *timed, double *seconds);

#ifdef __cplusplus
}
#endif
#endif
