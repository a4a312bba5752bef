/* SPDX-License-Identifier: Apache-2.0 */
/* Timing by the monotonic clock, and what all places have in common. */
#include "climb/meter.h"

#include <stdlib.h>
#include <unistd.h>

#include "weft/map.h"

enum {
    UNTIMED_ARENA_BYTES = 16 << 20, /* if WEFT_SECONDS is 0: filling more would take longest */
    LEAST_ARENA_BYTES = 256 << 20,
    MOST_ARENA_BYTES = 1 << 30
};

static const double usual_budget_seconds = 0.4, most_budget_seconds = 3600;

size_t wi_memory_bytes(void) {
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (size_t)pages * (size_t)page_bytes : 0;
}

/* Allocates the arena as large as memory allows, and writes all of it: pages never written are all
 * the same page of zeros, which would stay in the cache. */
static weft_status take_arena(wi_meter *meter, size_t bytes) {
    weft_status status = weft_alloc(meter->ctx, &meter->arena, bytes);
    while (status == WEFT_ENOMEM && bytes > LEAST_ARENA_BYTES / 16) {
        bytes /= 2;
        status = weft_alloc(meter->ctx, &meter->arena, bytes);
    }
    if (status != WEFT_OK)
        return status;
    meter->arena_bytes = bytes;
    const uint8_t one = 1;
    return weft_fill(meter->ctx, WEFT_U8, bytes, &one, meter->arena);
}

weft_status wi_meter_open_with(wi_meter *meter, weft_context *ctx, size_t arena_bytes,
                               double budget_seconds) {
    *meter = (wi_meter){.ctx = ctx, .budget_seconds = budget_seconds};
    meter->cache_bytes = wi_machine_of(ctx)->cache_bytes;
    const weft_status status = take_arena(meter, arena_bytes);
    if (status != WEFT_OK)
        wi_meter_close(meter);
    return status;
}

/* WEFT_SECONDS, or the usual. */
static weft_status choose_budget(weft_context *ctx, double *seconds) {
    const char *const wish = getenv("WEFT_SECONDS");
    char *end = NULL;
    *seconds = usual_budget_seconds;
    if (!wish || !*wish)
        return WEFT_OK;
    *seconds = strtod(wish, &end);
    if (!*end && *seconds >= 0 && *seconds <= most_budget_seconds)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG,
                   "WEFT_SECONDS: \"%.64s\" is not a time; set it to 0 ... %.0f seconds, or unset "
                   "it for %g",
                   wish, most_budget_seconds, usual_budget_seconds);
}

weft_status wi_meter_open(wi_meter *meter, weft_context *ctx) {
    double seconds;
    *meter = (wi_meter){.ctx = ctx};
    const weft_status status = choose_budget(ctx, &seconds);
    if (status != WEFT_OK)
        return status;
    const size_t cache = wi_machine_of(ctx)->cache_bytes;
    size_t bytes = cache + cache / 2;
    bytes = bytes < LEAST_ARENA_BYTES ? LEAST_ARENA_BYTES : bytes;
    /* a GPU reads a smaller arena too quickly to time */
    if (bytes > MOST_ARENA_BYTES || ctx->kind == WI_CUDA)
        bytes = MOST_ARENA_BYTES;
    if (seconds == 0)
        bytes = UNTIMED_ARENA_BYTES;
    return wi_meter_open_with(meter, ctx, bytes, seconds);
}

void wi_meter_close(wi_meter *meter) {
    if (meter->arena)
        weft_free(meter->ctx, meter->arena);
    meter->arena = NULL;
}

bool wi_meter_flushes(const wi_meter *meter, const wi_timed *timed) {
    const bool on_gpu = meter->ctx->kind == WI_CUDA;
    return !(on_gpu && timed->on_host) && timed->bytes < 2.0 * (double)meter->cache_bytes;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double wi_median(double *samples, size_t count) {
    qsort(samples, count, sizeof *samples, ascending);
    return count % 2 ? samples[count / 2] : (samples[count / 2 - 1] + samples[count / 2]) / 2;
}

weft_status wi_meter_once(const wi_meter *meter, const wi_timed *timed, double *seconds) {
    const double start = wi_now();
    weft_status status = timed->run(timed->user);
    if (status == WEFT_OK)
        status = weft_sync(meter->ctx);
    *seconds = wi_now() - start;
    return status;
}

bool wi_meter_goes_on(const wi_meter *meter, size_t count, double start) {
    const size_t least = meter->budget_seconds > 0 ? WI_LEAST_SAMPLES : 1;
    return count < WI_MOST_SAMPLES && (count < least || wi_now() - start < meter->budget_seconds);
}

/* Times with the host's clock. */
static weft_status time_on_host(const wi_meter *meter, const wi_timed *timed, double *seconds) {
    double samples[WI_MOST_SAMPLES], unused;
    const bool flush = wi_meter_flushes(meter, timed);
    size_t count = 0;
    weft_status status = wi_meter_once(meter, timed, &unused);
    const double start = wi_now();
    while (status == WEFT_OK && wi_meter_goes_on(meter, count, start)) {
        if (flush)
            wi_cpu_flush(meter);
        status = wi_meter_once(meter, timed, &samples[count++]);
    }
    if (status == WEFT_OK)
        *seconds = wi_median(samples, count);
    return status;
}

weft_status wi_meter_time(const wi_meter *meter, const wi_timed *timed, double *seconds) {
    return meter->ctx->kind == WI_CPU || timed->on_host ? time_on_host(meter, timed, seconds)
                                                        : wi_gpu_time(meter, timed, seconds);
}
