/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of fft: what they can do, and what they cost. */
#include <math.h>

#include "core/gpu.h"
#include "cpu/team.h"
#include "fft/fft.h"

#define TYPES (WI_TYPE(WEFT_F16) | WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64))

/* ---- what rungs can do ---- */

static const char *fits_powers(const weft_context *ctx, const void *args) {
    const wi_fft_args *const a = args;
    (void)ctx;
    for (unsigned k = 0; k < a->d.rank; k++)
        if (a->d.n[k] & (a->d.n[k] - 1))
            return "needs lengths that are powers of 2";
    return NULL;
}

/* ---- what they cost ---- */

static double numbers_of(const wi_fft_args *a) {
    double n = (double)a->d.batch;
    for (unsigned k = 0; k < a->d.rank; k++)
        n *= (double)a->d.n[k];
    return a->d.kind == WEFT_FFT_COMPLEX ? n : n / 2;
}

/* Read and written once for each dimension. */
static double bytes_of(const wi_fft_args *a) {
    return numbers_of(a) * 2 * (double)wi_fft_number_bytes(a->d.type) * a->d.rank;
}

static double threads_seconds(const weft_context *ctx, const void *args) {
    const double per_level = 2.0; /* cycles for a number of f32, with AVX2 */
    const wi_fft_args *const a = args;
    const wi_machine *const m = wi_machine_of(ctx);
    double levels = 0;
    for (unsigned k = 0; k < a->d.rank; k++)
        levels += log2((double)a->d.n[k]) + 2;
    const double cycles = numbers_of(a) * levels * per_level * wi_narrower(m);
    const int team = wi_team_size(ctx, (size_t)-1, (size_t)bytes_of(a));
    return wi_team_seconds(ctx, team, a->d.type == WEFT_F64 ? 2 * cycles : cycles, bytes_of(a));
}

#ifdef WEFT_CUDA
static const char *fits_clusters(const weft_context *ctx, const void *args) {
    (void)args;
    return ctx->gpu->capability < 90 ? "needs compute capability 9.0: clusters" : NULL;
}

static double cached_seconds(const weft_context *ctx, const void *args) {
    const wi_fft_args *const a = args;
    const wi_machine *const m = wi_machine_of(ctx);
    return m->launch_s * a->d.rank + 1.1 * wi_seconds_moving(m, bytes_of(a));
}
/* One launch does both passes, and nothing goes to memory in between; but each tile waits for its
 * number and for others, which a few lines do not hide. */
static double fused_seconds(const weft_context *ctx, const void *args) {
    const double waiting = 8e-6;
    return waiting + 0.7 * cached_seconds(ctx, args);
}
/* Lines that clusters hold, and columns, are read and written once; longer ones are two passes, not
 * three. 7^5 and 3^9 of f32 fit one block. */
static double clusters_seconds(const weft_context *ctx, const void *args) {
    const wi_fft_args *const a = args;
    const bool is_wide = a->d.type == WEFT_F64;
    const size_t n = a->d.n[a->d.rank - 1], least = (size_t)1 << (is_wide ? 13 : 15);
    bool is_held = (n >= least && n <= (size_t)1 << (is_wide ? 16 : 17) && (n & (n - 1)) == 0) ||
                   (is_wide && wi_fft_is_odd_power(n)) || wi_fft_first_of_two(n) > 0;
    for (unsigned k = 0; k + 1 < a->d.rank; k++)
        is_held = is_held || wi_fft_is_column(a->d.type, a->d.n[k], n);
    return is_held ? 0.6 * cached_seconds(ctx, args) : 1.01 * fused_seconds(ctx, args);
}
#endif

static const wi_row rows[] = {
    {.name = "definition",
     .what = "a sum of n products for each of n results",
     .kinds = WI_ON_CPU,
     .types = TYPES,
     .run = wi_fft_definition},
    {.name = "radix2",
     .what = "halves of halves: log2 n stages of n / 2 pairs",
     .kinds = WI_ON_CPU,
     .types = TYPES,
     .misfit = fits_powers,
     .run = wi_fft_radix2},
    {.name = "threads",
     .what = "a line in each lane of a vector, radices up to 16, groups for the cache, all cores",
     .kinds = WI_ON_CPU,
     .types = TYPES,
     .seconds = threads_seconds,
     .run = wi_fft_threads},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "sums",
     .what = "one thread for one result, a sum of n products",
     .kinds = WI_ON_CUDA,
     .types = TYPES,
     .run = wi_fft_definition_gpu},
    {.name = "stages",
     .what = "radix 2, one kernel for each stage",
     .kinds = WI_ON_CUDA,
     .types = TYPES,
     .misfit = fits_powers,
     .run = wi_fft_stages},
    {.name = "shared",
     .what = "radix 2, lines up to 1024 in shared memory",
     .kinds = WI_ON_CUDA,
     .types = TYPES,
     .misfit = fits_powers,
     .run = wi_fft_shared},
    {.name = "registers",
     .what = "radices up to 16 in registers; long lines in two or three passes",
     .kinds = WI_ON_CUDA,
     .types = TYPES,
     .run = wi_fft_registers},
#    endif
    {.name = "cached",
     .what = "so many long lines at a time that what is between passes stays in the L2 cache",
     .kinds = WI_ON_CUDA,
     .types = TYPES,
     .seconds = cached_seconds,
     .run = wi_fft_cached},
    {.name = "fused",
     .what = "both passes of long lines in one kernel, groups one behind the other through L2",
     .kinds = WI_ON_CUDA,
     .types = TYPES,
     .seconds = fused_seconds,
     .run = wi_fft_fused},
    {.name = "clusters",
     .what = "as fused; lines of 7^5, 3^9 and 2^15 to 2^17 numbers, and columns, in a cluster's "
             "shared memory",
     .kinds = WI_ON_CUDA,
     .types = TYPES,
     .misfit = fits_clusters,
     .seconds = clusters_seconds,
     .run = wi_fft_clusters},
#endif
    {.name = "ranks",
     .what = "each rank transforms its rows, then columns; the next are transformed as they travel",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = TYPES,
     .seconds = wi_no_rival,
     .run = wi_fft_ranks},
};

const wi_ladder wi_fft_ladder = {"fft", rows, sizeof rows / sizeof rows[0]};
