/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of histogram: which calls each can do, and what it takes. Costs were seen on an AMD
 * EPYC with AVX2 and on an H200, with elements spread over the bins; README.md has the figures. */
#include "cpu/team.h"
#include "histogram/histogram.h"

/* ---- on a cpu ---- */

static double bytes_of(const wi_histogram_args *call) {
    return (double)call->n * (double)weft_type_size(call->type);
}

static double serial_seconds(const weft_context *ctx, const void *args) {
    const wi_histogram_args *const call = args;
    const double cycles = weft_type_size(call->type) == 1 ? 1.9 : 10;
    return wi_team_seconds(ctx, 1, (double)call->n * cycles, bytes_of(call));
}

static double threads_seconds(const weft_context *ctx, const void *args) {
    const wi_histogram_args *const call = args;
    const size_t bytes = call->n * weft_type_size(call->type);
    const int team = wi_team_size(ctx, call->n, bytes);
    const double n = (double)call->n, call_cycles = 4000, pairs_cycles = 120e3;
    double cycles = 100 + n * 5;
    if (wi_histogram_counts_pairs(call, call->n / (size_t)team))
        cycles = pairs_cycles * team + n * 1.05;
    else if (weft_type_size(call->type) == 1)
        cycles = call_cycles + n * 2.9;
    return wi_team_seconds(ctx, team, cycles, (double)bytes);
}

/* ---- on a GPU ---- */

#ifdef WEFT_CUDA
#    define ALL_BUT_BYTES (WI_ALL_TYPES & ~(WI_TYPE(WEFT_I8) | WI_TYPE(WEFT_U8)))

static size_t slots_of_call(const wi_histogram_args *call) {
    const size_t of_channel =
        weft_type_size(call->type) == 1 ? WI_BYTE_VALUES : wi_slots_of(&call->bins);
    return call->channels * of_channel;
}

#    if WEFT_LADDER
/* Teaching rungs count bytes by slots, as they count all other elements. */
static size_t slots_taught(const wi_histogram_args *call) {
    return call->channels * (size_t)wi_slots_of(&call->bins);
}

static const char *fits_shared(const weft_context *ctx, const void *args) {
    return slots_taught(args) <= wi_histogram_shared_room(ctx)
               ? NULL
               : "needs all bins, 4 bytes each, to fit the shared memory of a block";
}

static const char *fits_cluster(const weft_context *ctx, const void *args) {
    const size_t room = wi_histogram_cluster_room(ctx);
    if (room == 0)
        return "needs a GPU of compute capability 9.0 or later: clusters of blocks";
    return slots_taught(args) <= room
               ? NULL
               : "needs all bins, 4 bytes each, to fit the shared memories of a cluster of blocks";
}
#    endif

static const char *fits_partitioned(const weft_context *ctx, const void *args) {
    return slots_of_call(args) <= wi_histogram_partitioned_room(ctx)
               ? NULL
               : "needs fewer bins: a block can deal elements out to only so many";
}

static const char *fits_packed(const weft_context *ctx, const void *args) {
    return slots_of_call(args) <= wi_histogram_packed_room(ctx)
               ? NULL
               : "needs all bins, 2 bytes each, to fit the shared memory of a block";
}

static const char *fits_lanes(const weft_context *ctx, const void *args) {
    return slots_of_call(args) <= wi_histogram_shared_room(ctx)
               ? NULL
               : "needs all bins, 4 bytes each, to fit the shared memory of a block";
}

/* The time to read the elements, and what counting adds: `cycles` cycles of a multiprocessor for
 * each element. */
static double counting(const weft_context *ctx, const wi_histogram_args *call, double cycles) {
    const wi_machine *const m = wi_machine_of(ctx);
    return m->launch_s + wi_seconds_moving(m, bytes_of(call)) +
           wi_seconds_working(m, (double)call->n * cycles, m->units);
}

static double lanes_seconds(const weft_context *ctx, const void *args) {
    return counting(ctx, args, 0);
}

static double packed_seconds(const weft_context *ctx, const void *args) {
    return counting(ctx, args, 0.12);
}

/* All elements are read again for every range. */
static double ranges_seconds(const weft_context *ctx, const void *args) {
    const double begin_s = 1.6e-6, of_range = 0.374, of_reading = 0.251;
    const size_t room = wi_histogram_packed_room(ctx);
    const size_t ranges = (slots_of_call(args) - 1) / room + 1;
    return begin_s + counting(ctx, args, of_range * (double)ranges - of_reading);
}

/* The mean of seven inputs, spread and crowded. */
static double cached_seconds(const weft_context *ctx, const void *args) {
    return counting(ctx, args, 1.265);
}

static double partitioned_seconds(const weft_context *ctx, const void *args) {
    const double begin_s = 11e-6;
    return begin_s + counting(ctx, args, 1.1);
}

/* The sample takes 14 us. */
static double sampled_seconds(const weft_context *ctx, const void *args) {
    const double begin_s = 25e-6;
    return begin_s + counting(ctx, args, 0.873);
}
#endif

static const wi_row rows[] = {
    {.name = "serial",
     .what = "the loop you would write",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = serial_seconds,
     .run = wi_histogram_serial},
    {.name = "threads",
     .what = "a histogram a thread; bytes two at a time, slots by vectors",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = threads_seconds,
     .run = wi_histogram_threads},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    /* These take bytes, too: histograms are often taught with images. */
    {.name = "global",
     .what = "an atomic addition in global memory for every element",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES | WI_TYPE(WEFT_U8),
     .run = wi_histogram_global},
    {.name = "shared",
     .what = "a histogram a block, in shared memory",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES | WI_TYPE(WEFT_U8),
     .misfit = fits_shared,
     .run = wi_histogram_shared},
    {.name = "cluster",
     .what = "one a cluster of blocks, its bins spread over their shared memories",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES | WI_TYPE(WEFT_U8),
     .misfit = fits_cluster,
     .run = wi_histogram_cluster},
#    endif
    {.name = "partitioned",
     .what = "elements dealt out by ranges of bins, each counted in shared memory",
     .kinds = WI_ON_CUDA,
     .types = ALL_BUT_BYTES,
     .misfit = fits_partitioned,
     .seconds = partitioned_seconds,
     .run = wi_histogram_partitioned},
    {.name = "cached",
     .what = "any number of bins in global memory, frequent ones in shared memory",
     .kinds = WI_ON_CUDA,
     .types = ALL_BUT_BYTES,
     .seconds = cached_seconds,
     .run = wi_histogram_cached},
    {.name = "sampled",
     .what = "a sample tells the GPU which of the two to run",
     .kinds = WI_ON_CUDA,
     .types = ALL_BUT_BYTES,
     .misfit = fits_partitioned,
     .seconds = sampled_seconds,
     .run = wi_histogram_sampled},
    {.name = "ranges",
     .what = "blocks share out the bins, and read the elements together",
     .kinds = WI_ON_CUDA,
     .types = ALL_BUT_BYTES,
     .seconds = ranges_seconds,
     .run = wi_histogram_ranges},
    {.name = "packed",
     .what = "a histogram a block of 16-bit counters, spilling when half full",
     .kinds = WI_ON_CUDA,
     .types = ALL_BUT_BYTES,
     .misfit = fits_packed,
     .seconds = packed_seconds,
     .run = wi_histogram_packed},
    {.name = "lanes",
     .what = "a copy of every counter for each lane, in its own bank",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = fits_lanes,
     .seconds = lanes_seconds,
     .run = wi_histogram_lanes},
#endif
    {.name = "ranks",
     .what = "every rank counts its own part, and the counts are added up",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_histogram_ranks},
};

const wi_ladder wi_histogram_ladder = {"histogram", rows, sizeof rows / sizeof rows[0]};
