/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs that sort: which calls each can do, and what it takes. */
#include <math.h>

#include "sort/sort_run.h"

static const char *fits_keys(const weft_context *ctx, const void *args) {
    (void)ctx;
    const wi_sort_args *call = args;
    if (call->value_bytes > 0 || !call->y)
        return "sorts keys alone: it is not stable";
    return wi_sort_whole(call) ? NULL : "compares whole keys: it is not stable";
}

#ifdef WEFT_CUDA
#    if WEFT_LADDER
static const char *fits_nested(const weft_context *ctx, const void *args) {
    const char *const misfit = fits_keys(ctx, args);
    if (misfit || wi_sort_nests())
        return misfit;
    return "launches kernels from kernels: the build must be compiled for this very device "
           "(CMAKE_CUDA_ARCHITECTURES)";
}

static const char *fits_32(const weft_context *ctx, const void *args) {
    (void)ctx;
    return ((const wi_sort_args *)args)->n <= 32
               ? NULL
               : "needs n <= 32: it works in one warp, one lane for one element";
}

static const char *fits_words(const weft_context *ctx, const void *args) {
    (void)ctx;
    return ((const wi_sort_args *)args)->n < UINT32_MAX
               ? NULL
               : "needs n < 2^32 - 1: it counts in 32 bits";
}
#    endif

/* ---- costs, as seen on an H200; README.md has the figures ---- */

/* Keys in the tiles that `merge` begins with. */
static double merge_tile(const wi_sort_args *call) {
    const size_t size = weft_type_size(call->type);
    if (call->value_bytes == 0)
        return size < 4 ? 4096 : 16384 / (double)size;
    return 8192 / (double)(size < call->value_bytes ? call->value_bytes : size);
}

/* Bytes of one read and one write of all elements. */
static double bytes_of_pass(const wi_sort_args *call) {
    return 2 * (double)call->n * (double)(weft_type_size(call->type) + call->value_bytes);
}

/* Tiles sorted, then two kernels for each level at which runs are merged. */
static double merge_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    const double tiles = ceil((double)((const wi_sort_args *)args)->n / merge_tile(args));
    const double levels = tiles > 1 ? ceil(log2(tiles)) : 0;
    const double of_tiles = 3.8 * m->launch_s, of_level = 3.0 * m->launch_s, share = 0.77;
    return of_tiles + levels * of_level +
           (1 + levels) * bytes_of_pass(args) / (share * m->bytes_per_s);
}

/* Three kernels and one for each pass, in which tiles wait the longer the more they are; a count
 * reads the keys once more. */
double wi_sort_onesweep_seconds(const weft_context *ctx, const void *args) {
    const wi_sort_args *const call = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double n = (double)call->n, passes = (call->end_bit - call->first_bit + 7) / 8;
    const double of_kernel = 1.29 * m->launch_s, of_doubling = 0.2 * m->launch_s, share = 0.6;
    const double waiting = n > 4096 ? of_doubling * log2(n / 4096) : 0;
    return (3 + passes) * of_kernel + passes * waiting +
           (passes + 0.5) * bytes_of_pass(args) / (share * m->bytes_per_s);
}
#endif

static const wi_row rows[] = {
    {.name = "serial_quick",
     .what = "the textbook's recursion: partition by a median of three",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .misfit = fits_keys,
     .run = wi_sort_serial_quick},
    {.name = "serial_radix",
     .what = "digits of 8 bits, the lowest first; stable",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .run = wi_sort_serial_radix},
    {.name = "buckets",
     .what = "one pass into cache-sized buckets, each sorted in a cache",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_sort_buckets},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "ballot32",
     .what = "one warp, a bit at a time by ballot and popcount",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .misfit = fits_32,
     .run = wi_sort_ballot32},
    {.name = "split_bits",
     .what = "a bit at a time: the whole array scanned and split",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .misfit = fits_words,
     .run = wi_sort_split_bits},
    {.name = "digits4",
     .what = "4 bits at a time: count, scan, scatter",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .misfit = fits_words,
     .run = wi_sort_digits4},
    {.name = "quick_naive",
     .what = "one thread partitions and launches both parts",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = fits_nested,
     .run = wi_sort_quick_naive},
    {.name = "quick",
     .what = "a block partitions and launches both parts",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = fits_nested,
     .run = wi_sort_quick},
#    endif
    {.name = "merge",
     .what = "tiles sorted in shared memory, then runs merged two by two",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = merge_seconds,
     .run = wi_sort_merge},
    {.name = "onesweep",
     .what = "digits of 8 bits; tiles look back, so a pass reads and writes once",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = wi_sort_onesweep_seconds,
     .run = wi_sort_onesweep},
#endif
    {.name = "ranks",
     .what = "parts sorted, exchanged and merged; on GPUs, very many keys are partitioned first",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_sort_ranks},
};

const wi_ladder wi_sort_ladder = {"sort", rows, sizeof rows / sizeof rows[0]};
