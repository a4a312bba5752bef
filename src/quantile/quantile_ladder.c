/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder of quantile, and what its rungs cost. */
#include <math.h>

#include "cpu/team.h"
#include "quantile/quantile.h"

wi_quantile_group wi_quantile_group_at(const wi_quantile_args *args, size_t first) {
    const size_t left = args->count - first;
    wi_quantile_group group = {.count =
                                   (uint32_t)(left < WI_QUANTILE_GROUP ? left : WI_QUANTILE_GROUP)};
    for (uint32_t j = 0; j < group.count; j++)
        group.job[j] = args->jobs[first + j];
    return group;
}

/* ---- costs on a cpu, as seen on an AMD EPYC ---- */

enum {
    FEW = 1 << 13, /* elements that the rungs with threads keep all of */
    SELECTING = 38 /* cycles for a key among which one is selected */
};

static double team_seconds(const weft_context *ctx, const wi_quantile_args *args, double cycles) {
    const size_t bytes = args->n * weft_type_size(args->type);
    return wi_team_seconds(ctx, wi_team_size(ctx, args->n, bytes), cycles, (double)bytes);
}

static double serial_seconds(const weft_context *ctx, const void *arguments) {
    const wi_quantile_args *const args = arguments;
    const double n = (double)args->n;
    return wi_team_seconds(ctx, 1, 40 + n * (2 + SELECTING * (double)args->count), 8 * n);
}

static double sorted_seconds(const weft_context *ctx, const void *arguments) {
    const wi_quantile_args *const args = arguments;
    const double n = (double)args->n, size = (double)weft_type_size(args->type);
    const double of_element = 8 + 3 * size;
    return team_seconds(ctx, args, 15000 + n * of_element + 60 * (double)args->count);
}

/* Each rank takes passes of its own. */
static double narrowed_seconds(const weft_context *ctx, const void *arguments) {
    const wi_quantile_args *const args = arguments;
    const double n = (double)args->n;
    const double of_element = args->type == WEFT_F64            ? 13
                              : weft_type_size(args->type) == 8 ? 9.5
                                                                : 4.8;
    if (args->n <= FEW)
        return team_seconds(ctx, args, 5000 + 1.3 * SELECTING * n * (double)args->count);
    return team_seconds(ctx, args, (25000 + of_element * n) * (double)args->count);
}

/* Each pass looks for a group of ranks. */
static double sampled_seconds(const weft_context *ctx, const void *arguments) {
    const wi_quantile_args *const args = arguments;
    const double n = (double)args->n, count = (double)args->count;
    const double of_pass = weft_type_size(args->type) == 8 ? 7.5 : 4.7, sample = 5e5;
    const double passes = ceil(count / WI_QUANTILE_GROUP);
    if (args->n <= FEW)
        return team_seconds(ctx, args, 5000 + 1.2 * SELECTING * n * count);
    return wi_team_seconds(ctx, 1, sample, 0) +
           team_seconds(ctx, args, n * (of_pass * passes + 1.5 * count));
}

/* ---- costs on a GPU ---- */

#ifdef WEFT_CUDA
static const char *sampled_misfit(const weft_context *ctx, const void *arguments) {
    const wi_quantile_args *const args = arguments;
    (void)ctx;
    return args->n < WI_QUANTILE_SAMPLED_FROM ? "needs n >= 16384, to take a sample of" : NULL;
}

static double bytes_of(const wi_quantile_args *args) {
    return (double)args->n * (double)weft_type_size(args->type);
}

/* The kernels that begin, count, choose and put: short ones, of which an H200 starts one in 7 us.
 */
static double kernels_seconds(const weft_context *ctx, const wi_quantile_args *args) {
    const double rounds = ceil((double)weft_type_size(args->type) * 8 / 11);
    const double groups = ceil((double)args->count / WI_QUANTILE_GROUP);
    return groups * (3 + 2 * rounds) * 2.3 * wi_machine_of(ctx)->launch_s;
}

static double digits_seconds(const weft_context *ctx, const void *arguments) {
    const wi_quantile_args *const args = arguments;
    const wi_machine *const m = wi_machine_of(ctx);
    const double rounds = ceil((double)weft_type_size(args->type) * 8 / 11);
    return kernels_seconds(ctx, args) +
           (double)args->count * rounds * wi_seconds_moving(m, bytes_of(args)) / 0.8;
}

/* Each element is compared with the ends of each bracket. Before, a sample of up to 65536 keys is
 * sorted. */
static double bracketed_seconds(const weft_context *ctx, const void *arguments) {
    const wi_quantile_args *const args = arguments;
    const wi_machine *const m = wi_machine_of(ctx);
    const double count = (double)args->count, groups = ceil(count / WI_QUANTILE_GROUP);
    const double a_cycle = 8; /* elements that a multiprocessor compares with a bracket */
    const double sample = fmin(fmax((double)args->n / 64, 1024), 65536);
    return (8 + 1.75 * log2(sample / 1024)) * m->launch_s + kernels_seconds(ctx, args) +
           groups * wi_seconds_moving(m, bytes_of(args)) / 0.85 +
           wi_seconds_working(m, (double)args->n * count / a_cycle, m->units);
}

/* A pass over keys for each byte of them, there and back. */
static double sorted_cuda_seconds(const weft_context *ctx, const void *arguments) {
    const wi_quantile_args *const args = arguments;
    const wi_machine *const m = wi_machine_of(ctx);
    const double size = (double)weft_type_size(args->type);
    const double groups = ceil((double)args->count / WI_QUANTILE_GROUP);
    return (8 + size + 2 * groups) * m->launch_s +
           (1 + 2 * size) * wi_seconds_moving(m, bytes_of(args)) / 0.3;
}

static const char *places_misfit(const weft_context *ctx, const void *arguments) {
    const wi_quantile_args *const args = arguments;
    (void)ctx;
    return args->n > WI_QUANTILE_PLACES ? "takes at most 4096 elements" : NULL;
}

/* Every element is compared with all, some 40 a cycle. */
static double places_seconds(const weft_context *ctx, const void *arguments) {
    const wi_quantile_args *const args = arguments;
    const wi_machine *const m = wi_machine_of(ctx);
    const double groups = ceil((double)args->count / WI_QUANTILE_GROUP), n = (double)args->n;
    return groups *
           ((args->elements ? 1 : 2) * m->launch_s + wi_seconds_working(m, n * n / 40, m->units));
}
#endif

static const wi_row rows[] = {
    {.name = "serial",
     .what = "Hoare's selection on a copy of the keys",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = serial_seconds,
     .run = wi_quantile_serial},
    {.name = "sorted",
     .what = "a sorted copy; the wanted elements are where they belong",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = sorted_seconds,
     .run = wi_quantile_sorted},
    {.name = "narrowed",
     .what = "threads count digits of 8 bits, until few elements are left",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = narrowed_seconds,
     .run = wi_quantile_narrowed},
    {.name = "sampled",
     .what = "a sample tells between which keys; one pass counts, and keeps those",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = sampled_seconds,
     .run = wi_quantile_sampled_threads},
#ifdef WEFT_CUDA
    {.name = "sorted_copy",
     .what = "a sorted copy; the wanted elements are where they belong",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = sorted_cuda_seconds,
     .run = wi_quantile_sorted_cuda},
    {.name = "digits",
     .what = "counts of digits of 11 bits close in on each rank; a pass for each digit",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = digits_seconds,
     .run = wi_quantile_digits},
    {.name = "bracketed",
     .what = "a sample tells between which keys; one pass counts, and keeps those",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = sampled_misfit,
     .seconds = bracketed_seconds,
     .run = wi_quantile_bracketed},
    {.name = "places",
     .what = "each of few elements counts those before it",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = places_misfit,
     .seconds = places_seconds,
     .run = wi_quantile_places},
#endif
    {.name = "ranks",
     .what = "every rank counts digits of its part; the counts of all close in on each rank",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_quantile_ranks},
};

const wi_ladder wi_quantile_ladder = {"quantile", rows, sizeof rows / sizeof rows[0]};
