/* SPDX-License-Identifier: Apache-2.0 */
/* The first k in order: the public calls, and the table of rungs. */
#include <math.h>

#include "comm/gpus.h"
#include "cpu/team.h"
#include "sort/sort_few.h"
#include "sort/sort_places.h"
#include "sort/sort_run.h"

/* ---- costs, as seen on an AMD EPYC; with a guess on an Intel Xeon ---- */

static double counted_seconds(const weft_context *ctx, const void *args) {
    const wi_top_k_args *const a = args;
    const size_t size = weft_type_size(a->type);
    const double n = (double)a->n, k = (double)a->k, of_size = (double)size;
    const double counting = 5000 * of_size + n * (8 + of_size) + k * 60;
    const double guessing = 1e5 + n * (0.2 + 0.15 * of_size) + k * 250;
    const double cycles = wi_top_k_is_guessed(a) ? guessing : counting;
    return wi_team_seconds(ctx, wi_team_size(ctx, a->n, a->n * size), cycles, 0);
}

/* One pass, and then mostly the sort of pieces of the k best blocks, in one thread. */
static double blocks_seconds(const weft_context *ctx, const void *args) {
    const wi_top_k_args *const a = args;
    const size_t size = weft_type_size(a->type);
    const double log2_k = log2((double)a->k);
    const double pass = (double)a->n * 0.12 * (double)size;
    return wi_team_seconds(ctx, wi_team_size(ctx, a->n, a->n * size), pass, 0) +
           wi_team_seconds(ctx, 1, (double)a->k * log2_k * log2_k * 3.5, 0);
}

#ifdef WEFT_CUDA
static const char *places_misfit(const weft_context *ctx, const void *args) {
    (void)ctx;
    return wi_top_k_has_places(args) ? NULL : "takes at most 8192 elements, of 32 KiB";
}

/* Two launches for each digit of 11 bits, five to pack what is found, and its sort; the elements
 * are read for each digit, and twice more. */
static double digits_seconds(const weft_context *ctx, const void *args) {
    const wi_top_k_args *const a = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double size = (double)weft_type_size(a->type), digits = ceil(8 * size / 11);
    return 1.75 * (8 + 2 * digits + size) * m->launch_s +
           (digits + 2) * (double)a->n * size / m->bytes_per_s;
}

wi_sort_args wi_top_k_as_sort(const wi_top_k_args *a) {
    return (wi_sort_args){.call = a->call,
                          .plain = true,
                          .type = a->type,
                          .descending = a->descending,
                          .end_bit = 8 * (unsigned)weft_type_size(a->type),
                          .n = a->n,
                          .x = a->x,
                          .value_bytes = a->positions ? sizeof(uint32_t) : 0,
                          .bytes = a->bytes};
}

static const char *sorted_misfit(const weft_context *ctx, const void *args) {
    (void)ctx;
    return ((const wi_top_k_args *)args)->n <= UINT32_MAX ? NULL : "numbers elements with 32 bits";
}

static double sorted_seconds(const weft_context *ctx, const void *args) {
    const wi_sort_args sort = wi_top_k_as_sort(args);
    return wi_machine_of(ctx)->launch_s + wi_sort_onesweep_seconds(ctx, &sort);
}
#endif

static const wi_row rows[] = {
    {.name = "counted",
     .what = "the k-th key closed in on by counting digits; what is before it is sorted",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = counted_seconds,
     .run = wi_top_k_counted},
    {.name = "blocks",
     .what = "one pass finds the best of each block; the k best blocks hold all",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = blocks_seconds,
     .run = wi_top_k_blocks},
#ifdef WEFT_CUDA
    {.name = "digits",
     .what = "the k-th key by counting digits of 11 bits; what is before it is sorted",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = digits_seconds,
     .run = wi_top_k_digits},
    {.name = "sorted",
     .what = "all sorted with their positions; the first are copied",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = sorted_misfit,
     .seconds = sorted_seconds,
     .run = wi_top_k_sorted},
    {.name = "places",
     .what = "one kernel, in which each of few elements counts those before it",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = places_misfit,
     .seconds = wi_no_rival,
     .run = wi_top_k_places},
#endif
    {.name = "ranks",
     .what = "the first k of each part, and of those the first k",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_top_k_ranks},
};

const wi_ladder wi_top_k_ladder = {"top_k", rows, sizeof rows / sizeof rows[0]};

enum {
    X,
    VALUES,
    POSITIONS,
    ARRAYS
};

static weft_status run_part(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_top_k_args args = *(const wi_top_k_args *)user;
    args.x = part->p[X];
    args.values = part->p[VALUES];
    args.positions = part->p[POSITIONS];
    args.bytes = call->asked;
    return wi_run(ctx, &wi_top_k_ladder, call->name, args.type, &args);
}

/* Over ranks, k counts from the whole, which the rung knows. */
static weft_status check_k(weft_context *ctx, const wi_top_k_args *a) {
    if (a->k > a->n && !wi_is_dist(ctx))
        return wi_fail(ctx, WEFT_EARG, "%s: k is %zu, and there are %zu elements; pass k <= n",
                       a->call, a->k, a->n);
    if (a->k > 0 && !a->values && !a->positions)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: values and positions are both NULL; pass memory for one of them",
                       a->call);
    return WEFT_OK;
}

static weft_status check_arrays(weft_context *ctx, const wi_top_k_args *a, wi_call *call) {
    const unsigned wanted = WI_OUT | WI_OPTIONAL;
    *call = (wi_call){
        .name = a->call,
        .array = {[X] = wi_elements("x", a->x, a->n, a->type, WI_IN | WI_STRIDED),
                  [VALUES] = wi_elements("values", a->values, a->k, a->type, wanted),
                  [POSITIONS] = wi_elements("positions", a->positions, a->k, WEFT_U64, wanted)},
        .count = ARRAYS,
        .asked = a->bytes,
        .distributed = !a->bytes};
    const weft_status status = wi_call_check(ctx, call);
    return status == WEFT_OK ? wi_sort_check_room(ctx, a->call, a->n, 0) : status;
}

/* On a place of several GPUs: all ranks get the result, and the first gives it to the caller. */
static weft_status run_share(weft_context *rank, void *user) {
    const wi_top_k_args *const a = user;
    const size_t size = weft_type_size(a->type);
    const wi_share share = wi_gpus_share(rank, a->x, a->n, size);
    const bool first = weft_rank(rank) == 0;
    void *values = first ? a->values : NULL, *positions = first ? a->positions : NULL;
    weft_status status = WEFT_OK;
    if (!first && a->values)
        status = wi_dist_take(rank, a->k, size, &values);
    if (!first && a->positions && status == WEFT_OK)
        status = wi_dist_take(rank, a->k, sizeof *a->positions, &positions);
    status = wi_agree(rank, 0, status);
    if (status == WEFT_OK)
        status = weft_top_k(rank, a->descending ? WEFT_DESCENDING : WEFT_ASCENDING, a->type,
                            share.n, wi_share_of(a->x, share, size), a->k, values, positions);
    if (!first) {
        wi_host_free(values);
        wi_host_free(positions);
    }
    return status;
}

static weft_status check_and_run(weft_context *ctx, weft_order order, wi_top_k_args *a) {
    wi_call call;
    weft_status status = wi_sort_check_keys(ctx, a->call, order, a->type);
    if (status == WEFT_OK)
        status = check_k(ctx, a);
    if (status == WEFT_OK)
        status = check_arrays(ctx, a, &call);
    if (status == WEFT_OK && !a->bytes &&
        wi_gpus_wanted(ctx, &wi_top_k_ladder, a->x, a->n, weft_type_size(a->type)))
        return wi_gpus_run(ctx, &wi_top_k_ladder, a->call, run_share, a);
    if (wi_is_dist(ctx) && !a->bytes)
        return wi_dist_run(ctx, &wi_top_k_ladder, a->call, a->type,
                           wi_alike(wi_alike(0, order), a->k), status, &(wi_dist_args){&call, a});
    if (status != WEFT_OK)
        return status;
    if (a->bytes)
        *a->bytes = 0;
    return a->k == 0 ? WEFT_OK : wi_sort_call_run(ctx, &call, run_part, a);
}

weft_status weft_top_k(weft_context *ctx, weft_order order, weft_type type, size_t n, const void *x,
                       size_t k, void *values, uint64_t *positions) {
    wi_top_k_args args = {.call = "weft_top_k",
                          .type = type,
                          .descending = order == WEFT_DESCENDING,
                          .n = n,
                          .k = k,
                          .x = x,
                          .values = values,
                          .positions = positions};
    return check_and_run(ctx, order, &args);
}

weft_status weft_top_k_bytes(weft_context *ctx, weft_order order, weft_type type, size_t n,
                             const void *x, size_t k, void *values, uint64_t *positions,
                             size_t *bytes) {
    wi_top_k_args args = {.call = "weft_top_k_bytes",
                          .type = type,
                          .descending = order == WEFT_DESCENDING,
                          .n = n,
                          .k = k,
                          .x = x,
                          .values = values,
                          .positions = positions,
                          .bytes = bytes};
    if (wi_check_context(ctx) != WEFT_OK || wi_sort_check_asked(ctx, args.call, bytes) != WEFT_OK)
        return WEFT_EARG;
    return check_and_run(ctx, order, &args);
}
