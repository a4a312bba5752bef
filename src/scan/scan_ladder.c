/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of scan, and what they cost. */
#include <math.h>

#include "core/gpu.h"
#include "cpu/team.h"
#include "scan/scan.h"
#include "scan/scan_simd.h"

#ifdef WEFT_CUDA
#    if WEFT_LADDER
static const char *fits_1024(const weft_context *ctx, const void *args) {
    (void)ctx;
    return ((const wi_scan_args *)args)->n <= 1024
               ? NULL
               : "needs n <= 1024: it works in one block, one thread for one element";
}

static const char *fits_2048(const weft_context *ctx, const void *args) {
    (void)ctx;
    return ((const wi_scan_args *)args)->n <= 2048
               ? NULL
               : "needs n <= 2048: it works in one block, one thread for two elements";
}
#    endif

static const char *fits_bulk(const weft_context *ctx, const void *args) {
    const wi_scan_args *call = args;
    if (ctx->gpu->capability < 90)
        return "needs a GPU of compute capability 9.0 or later: bulk copies";
    if ((uintptr_t)call->x % 16 != 0 || (uintptr_t)call->y % 16 != 0)
        return "needs x and y aligned to 16 bytes: bulk copies";
    return NULL;
}
#endif

/* ---- costs: of an AMD EPYC, and of an H200; README.md has the figures ---- */

/* Bytes read and written, each once. */
static double bytes_of(const wi_scan_args *call) {
    return 2 * (double)call->n * (double)weft_type_size(call->type);
}

static double serial_seconds(const weft_context *ctx, const void *args) {
    const wi_scan_args *const call = args;
    const bool is_half = WI_HALF_FLOATS >> call->type & 1;
    const double cycles = is_half ? 21 : wi_type_is_float(call->type) ? 2.9 : 1;
    const double y_is_read = 1.5; /* lines of the output are fetched before they are written */
    return wi_team_seconds(ctx, 1, (double)call->n * cycles, bytes_of(call) * y_is_read);
}

/* Cycles of an element in `blocked`: vectors wider than AVX2's gain nothing, but for floats of less
 * than 8 bytes. */
static double blocked_cycles(const weft_context *ctx, const wi_scan_args *call, int team) {
    const double size = (double)weft_type_size(call->type);
    const double vectors = wi_narrower(wi_machine_of(ctx));
    if (wi_type_is_float(call->type))
        return (0.2 + 0.2 * size) * (size < 8 ? vectors : fmax(vectors, 1));
    const double scanned = 0.1 + 0.08 * size, added = team > 1 ? 0.05 + 0.06 * size : 0;
    return (scanned + added) * fmin(fmax(vectors, 1), 2.5);
}

static double blocked_seconds(const weft_context *ctx, const void *args) {
    const wi_scan_args *const call = args;
    const double call_cycles = 400, n = (double)call->n;
    const int team = wi_scan_team(ctx, call);
    const double cycles = call_cycles + n * blocked_cycles(ctx, call, team);
    return wi_team_seconds(ctx, team, cycles, bytes_of(call));
}

#ifdef WEFT_CUDA
static double lookback_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    return m->launch_s + bytes_of(args) / (0.67 * m->bytes_per_s);
}

static double bulk_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    return m->launch_s + wi_ring_seconds(m) + bytes_of(args) / (0.95 * m->bytes_per_s);
}
#endif

static const wi_row rows[] = {
    {.name = "serial",
     .what = "the loop you would write",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = serial_seconds,
     .run = wi_scan_serial},
    {.name = "blocked",
     .what = "cache-sized blocks: totals first, then the scan from cache",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = blocked_seconds,
     .run = wi_scan_blocked},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "all_prefixes",
     .what = "every output combines its whole prefix",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .run = wi_scan_all_prefixes},
    {.name = "doubling",
     .what = "step-doubling in global memory",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .run = wi_scan_doubling},
    {.name = "doubling_shared",
     .what = "step-doubling in shared memory, one block",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .misfit = fits_1024,
     .run = wi_scan_doubling_shared},
    {.name = "two_sweep",
     .what = "work-efficient up and down a tree in shared memory",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .misfit = fits_2048,
     .run = wi_scan_two_sweep},
    {.name = "two_sweep_padded",
     .what = "the same, padded against bank conflicts",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .misfit = fits_2048,
     .run = wi_scan_two_sweep_padded},
    {.name = "three_pass",
     .what = "tile totals, their scan, then every tile",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .run = wi_scan_three_pass},
#    endif
    {.name = "lookback",
     .what = "one pass; tiles look back at their neighbours' totals",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = lookback_seconds,
     .run = wi_scan_lookback},
    {.name = "bulk",
     .what = "asynchronous bulk copies, several tiles in flight, persistent blocks",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = fits_bulk,
     .seconds = bulk_seconds,
     .run = wi_scan_bulk},
#endif
    {.name = "ranks",
     .what = "the totals of all ranks' parts, then every rank scans its own from there",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_scan_ranks},
};

const wi_ladder wi_scan_ladder = {"scan", rows, sizeof rows / sizeof rows[0]};
