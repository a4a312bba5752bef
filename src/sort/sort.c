/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls that sort keys, pairs and positions: check arguments, then run the ladder on
 * memory that the place can access. */
#include "sort/sort_run.h"

#include <string.h>

#include "comm/gpus.h"

/* ---- checks ---- */

weft_status wi_sort_check_order(weft_context *ctx, const char *call, weft_order order) {
    if (order == WEFT_ASCENDING || order == WEFT_DESCENDING)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG,
                   "%s: order %d is not a weft_order; pass WEFT_ASCENDING or WEFT_DESCENDING", call,
                   (int)order);
}

weft_status wi_sort_check_room(weft_context *ctx, const char *call, size_t n, size_t bytes) {
    const size_t own_bytes = 16;
    if (n == 0 || n <= SIZE_MAX / 8 / (bytes + own_bytes))
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG,
                   "%s: the temporary arrays of %zu elements do not fit the address space; check "
                   "their count",
                   call, n);
}

weft_status wi_sort_check_keys(weft_context *ctx, const char *call, weft_order order,
                               weft_type type) {
    if (wi_check_context(ctx) != WEFT_OK || wi_check_type(ctx, call, type) != WEFT_OK)
        return WEFT_EARG;
    return wi_sort_check_order(ctx, call, order);
}

wi_call wi_sort_call_of(const wi_sort_args *a) {
    wi_call call = {.name = a->call,
                    .array = {[WI_SORT_X] = wi_elements(a->plain ? "x" : "keys", a->x, a->n,
                                                        a->type, WI_IN | WI_STRIDED),
                              [WI_SORT_Y] = wi_elements(a->plain ? "y" : "keys_out", a->y, a->n,
                                                        a->type, WI_OUT)},
                    .count = WI_SORT_ARRAYS,
                    .asked = a->bytes};
    call.array[WI_SORT_Y].in_place = 1u << WI_SORT_X;
    if (a->value_bytes > 0) {
        call.array[WI_SORT_VALUES] =
            wi_items("values", a->values, a->n, a->value_bytes, WI_IN | WI_STRIDED);
        call.array[WI_SORT_VALUES_OUT] =
            wi_items("values_out", a->values_out, a->n, a->value_bytes, WI_OUT);
        call.array[WI_SORT_VALUES_OUT].in_place = 1u << WI_SORT_VALUES;
    }
    return call;
}

static weft_status check_bits(weft_context *ctx, const wi_sort_args *a) {
    const size_t bits = 8 * weft_type_size(a->type);
    if (a->end_bit > bits)
        return wi_fail(ctx, WEFT_EARG, "%s: end_bit is %u, and %s has %zu bits; pass at most that",
                       a->call, a->end_bit, weft_type_name(a->type), bits);
    if (a->first_bit > a->end_bit)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: first_bit %u lies behind end_bit %u; pass first_bit <= end_bit",
                       a->call, a->first_bit, a->end_bit);
    return WEFT_OK;
}

weft_status wi_sort_check_asked(weft_context *ctx, const char *call, const size_t *bytes) {
    return bytes ? WEFT_OK
                 : wi_fail(ctx, WEFT_EARG, "%s: bytes is NULL; pass the address of a size_t", call);
}

/* ---- values of any width ---- */

weft_status wi_sort_take(weft_context *ctx, const char *call, size_t bytes, void **p) {
    if (ctx->kind == WI_CUDA)
        return wi_gpu_alloc(ctx, p, bytes);
    *p = wi_host_alloc_huge(bytes);
    if (*p)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_ENOMEM, "%s: no host memory for %zu bytes; free some", call, bytes);
}

void wi_sort_give(weft_context *ctx, void *p) {
    if (ctx->kind == WI_CPU)
        wi_host_free(p);
    else if (p)
        wi_gpu_free(ctx, p);
}

static const wi_row gather_rows[] = {
    {.name = "threads",
     .what = "a stretch of the output for each thread",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_sort_gather_threads},
#ifdef WEFT_CUDA
    {.name = "each",
     .what = "a thread for each word of the output",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_sort_gather_each},
#endif
};

const wi_ladder wi_sort_gather_ladder = {"sort_gather", gather_rows,
                                         sizeof gather_rows / sizeof gather_rows[0]};

/* Can rungs move such values themselves? */
static bool is_direct(const wi_sort_args *a) {
    if (a->value_bytes == 0 || !a->values)
        return true;
    const bool word = a->value_bytes == 4 || a->value_bytes == 8;
    return word && ((uintptr_t)a->values | (uintptr_t)a->values_out) % a->value_bytes == 0;
}

/* Sorts positions instead of values, and then moves every value once. */
static weft_status sort_by_position(weft_context *ctx, const wi_sort_args *args, wi_sort_run run,
                                    const void *user) {
    enum {
        LINE_BYTES = 64
    };
    const size_t n = args->n, index_bytes = n - 1 <= UINT32_MAX ? 4 : 8;
    const bool in_place = args->values == args->values_out;
    const size_t indices = (n * index_bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    const size_t bytes = n * args->value_bytes, needed = indices + (in_place ? bytes : 0);
    wi_sort_args part = *args;
    part.values = NULL;
    part.value_bytes = index_bytes;
    if (args->bytes) {
        *args->bytes += needed;
        return run(ctx, &part, user);
    }
    void *memory = NULL;
    weft_status status = wi_sort_take(ctx, args->call, needed, &memory);
    if (status != WEFT_OK)
        return status;
    part.values_out = memory;
    status = run(ctx, &part, user);
    const wi_sort_gather_args move = {.n = n,
                                      .value_bytes = args->value_bytes,
                                      .index_bytes = index_bytes,
                                      .values = args->values,
                                      .indices = memory,
                                      .values_out =
                                          in_place ? (char *)memory + indices : args->values_out};
    if (status == WEFT_OK)
        status = wi_run(ctx, &wi_sort_gather_ladder, args->call, WI_NO_TYPE, &move);
    if (status == WEFT_OK && in_place)
        status = ctx->kind == WI_CUDA
                     ? wi_gpu_copy_within(ctx, args->values_out, move.values_out, bytes)
                     : weft_copy(ctx, args->values_out, move.values_out, bytes);
    wi_sort_give(ctx, memory);
    return status;
}

weft_status wi_sort_any_values(weft_context *ctx, const wi_sort_args *args, wi_sort_run run,
                               const void *user) {
    return is_direct(args) ? run(ctx, args, user) : sort_by_position(ctx, args, run, user);
}

/* ---- running ---- */

weft_status wi_sort_ladder_run(weft_context *ctx, const wi_sort_args *args, const void *user) {
    (void)user;
    return wi_run(ctx, &wi_sort_ladder, args->call, args->type, args);
}

void wi_sort_place(wi_sort_args *args, const wi_part *part, size_t *asked) {
    args->x = part->p[WI_SORT_X];
    args->y = part->p[WI_SORT_Y];
    args->values = part->p[WI_SORT_VALUES];
    args->values_out = part->p[WI_SORT_VALUES_OUT];
    args->bytes = asked;
}

static weft_status run_part(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_sort_args args = *(const wi_sort_args *)user;
    wi_sort_place(&args, part, call->asked);
    return wi_sort_any_values(ctx, &args, wi_sort_ladder_run, NULL);
}

/* No bits are compared: all elements are equal and keep their places. */
static weft_status copy_all(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_sort_args own = *(const wi_sort_args *)user;
    const wi_sort_args *const a = &own;
    weft_status status = WEFT_OK;
    wi_sort_place(&own, part, call->asked);
    if (a->y != a->x)
        status = weft_copy(ctx, a->y, a->x, a->n * weft_type_size(a->type));
    if (status == WEFT_OK && a->values_out != a->values)
        status = weft_copy(ctx, a->values_out, a->values, a->n * a->value_bytes);
    return status;
}

/* When asked for the bytes only, weft_used must not change, and the answer must not be set if no
 * rung fits. */
weft_status wi_sort_call_run(weft_context *ctx, wi_call *call, wi_part_run run, void *args) {
    const wi_row *used[WI_MAX_OPS];
    size_t *const answer = call->asked;
    size_t needed = 0;
    if (!answer)
        return wi_call_run(ctx, call, run, args);
    call->asked = &needed;
    memcpy(used, ctx->used, sizeof used);
    const weft_status status = wi_call_run(ctx, call, run, args);
    memcpy(ctx->used, used, sizeof used);
    if (status == WEFT_OK)
        *answer = needed;
    return status;
}

static weft_status check_and_run(weft_context *ctx, wi_call *call, wi_sort_args *args,
                                 weft_status status);

/* A checked call on a place of several GPUs. */
typedef struct spread {
    const wi_call *call;
    const wi_sort_args *args;
} spread;

static weft_status run_share(weft_context *rank, void *user) {
    const spread *const s = user;
    wi_call call = *s->call;
    wi_sort_args args = *s->args;
    const size_t size = weft_type_size(args.type);
    const wi_share share = wi_gpus_share(rank, args.x, args.n, size);
    args.n = share.n;
    for (int k = 0; k < WI_SORT_ARRAYS; k++) {
        call.array[k].p = wi_share_of(call.array[k].p, share, call.array[k].width);
        call.array[k].cols = call.array[k].ld = share.n;
    }
    args.x = wi_share_of(args.x, share, size);
    args.y = wi_share_of(args.y, share, size);
    args.values = wi_share_of(args.values, share, args.value_bytes);
    args.values_out = wi_share_of(args.values_out, share, args.value_bytes);
    return check_and_run(rank, &call, &args, WEFT_OK);
}

/* `status` is what the checks of other arguments have said; if not WEFT_OK, `call` is not valid. */
static weft_status check_and_run(weft_context *ctx, wi_call *call, wi_sort_args *args,
                                 weft_status status) {
    const bool asks = args->bytes;
    if (status == WEFT_OK) {
        call->distributed = !asks;
        status = wi_call_check(ctx, call);
    }
    if (status == WEFT_OK)
        status = wi_sort_check_room(ctx, args->call, args->n, args->value_bytes);
    if (status == WEFT_OK)
        status = check_bits(ctx, args);
    if (status == WEFT_OK && !asks &&
        wi_gpus_wanted(ctx, &wi_sort_ladder, args->x, args->n, weft_type_size(args->type)))
        return wi_gpus_run(ctx, &wi_sort_ladder, args->call, run_share, &(spread){call, args});
    if (wi_is_dist(ctx) && !asks) {
        uint64_t alike = wi_alike(wi_alike(0, args->descending), args->value_bytes);
        alike = wi_alike(wi_alike(alike, args->first_bit), args->end_bit);
        return wi_dist_run(ctx, &wi_sort_ladder, args->call, args->type, alike, status,
                           &(wi_dist_args){call, args});
    }
    if (status != WEFT_OK)
        return status;
    if (args->n > 0 && args->first_bit < args->end_bit)
        return wi_sort_call_run(ctx, call, run_part, args);
    if (args->bytes)
        *args->bytes = 0;
    return args->n > 0 && !args->bytes ? wi_call_run(ctx, call, copy_all, args) : WEFT_OK;
}

weft_status wi_sort_run_here(weft_context *ctx, wi_sort_args *args) {
    wi_call call = wi_sort_call_of(args);
    return check_and_run(ctx, &call, args, WEFT_OK);
}

static wi_sort_args whole_keys(const char *call, weft_order order, weft_type type, size_t n,
                               const void *x, void *y) {
    return (wi_sort_args){.call = call,
                          .type = type,
                          .descending = order == WEFT_DESCENDING,
                          .end_bit = 8 * (unsigned)weft_type_size(type),
                          .n = n,
                          .x = x,
                          .y = y};
}

/* ---- the public calls ---- */

static weft_status sort(weft_context *ctx, weft_order order, wi_sort_args args,
                        weft_status status) {
    wi_call call;
    if (status == WEFT_OK)
        status = wi_sort_check_keys(ctx, args.call, order, args.type);
    if (status == WEFT_OK)
        call = wi_sort_call_of(&args);
    return check_and_run(ctx, &call, &args, status);
}

/* The same, but only finds how much memory it takes. */
static weft_status ask(weft_context *ctx, weft_order order, wi_sort_args args, size_t *bytes) {
    args.bytes = bytes;
    if (wi_check_context(ctx) != WEFT_OK || wi_sort_check_asked(ctx, args.call, bytes) != WEFT_OK)
        return WEFT_EARG;
    return sort(ctx, order, args, WEFT_OK);
}

weft_status weft_sort(weft_context *ctx, weft_order order, weft_type type, size_t n, const void *x,
                      void *y) {
    wi_sort_args args = whole_keys("weft_sort", order, type, n, x, y);
    args.plain = true;
    return sort(ctx, order, args, WEFT_OK);
}

weft_status weft_sort_bytes(weft_context *ctx, weft_order order, weft_type type, size_t n,
                            const void *x, void *y, size_t *bytes) {
    wi_sort_args args = whole_keys("weft_sort_bytes", order, type, n, x, y);
    args.plain = true;
    return ask(ctx, order, args, bytes);
}

static weft_status check_has_values(weft_context *ctx, const wi_sort_args *args) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    if (args->value_bytes > 0)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG,
                   "%s: value_bytes is 0; pass the bytes of a value, or call weft_sort for keys "
                   "alone",
                   args->call);
}

weft_status weft_sort_pairs(weft_context *ctx, weft_order order, weft_type type, size_t n,
                            const void *keys, void *keys_out, size_t value_bytes,
                            const void *values, void *values_out) {
    wi_sort_args args = whole_keys("weft_sort_pairs", order, type, n, keys, keys_out);
    args.value_bytes = value_bytes;
    args.values = values;
    args.values_out = values_out;
    return sort(ctx, order, args, check_has_values(ctx, &args));
}

weft_status weft_sort_pairs_bytes(weft_context *ctx, weft_order order, weft_type type, size_t n,
                                  const void *keys, void *keys_out, size_t value_bytes,
                                  const void *values, void *values_out, size_t *bytes) {
    wi_sort_args args = whole_keys("weft_sort_pairs_bytes", order, type, n, keys, keys_out);
    args.value_bytes = value_bytes;
    args.values = values;
    args.values_out = values_out;
    return check_has_values(ctx, &args) == WEFT_OK ? ask(ctx, order, args, bytes) : WEFT_EARG;
}

static wi_sort_args some_bits(wi_sort_args args, unsigned first_bit, unsigned end_bit,
                              size_t value_bytes, const void *values, void *values_out) {
    args.first_bit = first_bit;
    args.end_bit = end_bit;
    args.value_bytes = value_bytes;
    args.values = value_bytes > 0 ? values : NULL;
    args.values_out = value_bytes > 0 ? values_out : NULL;
    return args;
}

weft_status weft_sort_bits(weft_context *ctx, weft_order order, weft_type type, unsigned first_bit,
                           unsigned end_bit, size_t n, const void *keys, void *keys_out,
                           size_t value_bytes, const void *values, void *values_out) {
    const wi_sort_args args = whole_keys("weft_sort_bits", order, type, n, keys, keys_out);
    return sort(ctx, order, some_bits(args, first_bit, end_bit, value_bytes, values, values_out),
                WEFT_OK);
}

weft_status weft_sort_bits_bytes(weft_context *ctx, weft_order order, weft_type type,
                                 unsigned first_bit, unsigned end_bit, size_t n, const void *keys,
                                 void *keys_out, size_t value_bytes, const void *values,
                                 void *values_out, size_t *bytes) {
    const wi_sort_args args = whole_keys("weft_sort_bits_bytes", order, type, n, keys, keys_out);
    return ask(ctx, order, some_bits(args, first_bit, end_bit, value_bytes, values, values_out),
               bytes);
}

/* The positions are values that the caller does not pass. */
static weft_status sort_indices(weft_context *ctx, weft_order order, wi_sort_args args,
                                weft_type index_type, void *indices) {
    wi_call call;
    weft_status status = wi_sort_check_keys(ctx, args.call, order, args.type);
    if (status == WEFT_OK)
        status = wi_check_index_type(ctx, args.call, "index_type", index_type,
                                     args.n > 0 ? args.n - 1 : 0);
    args.plain = true;
    args.value_bytes = weft_type_size(index_type);
    args.values_out = indices;
    if (status == WEFT_OK) {
        call = wi_sort_call_of(&args);
        call.array[WI_SORT_Y] = call.array[WI_SORT_VALUES] = (wi_array){.name = NULL};
        call.array[WI_SORT_VALUES_OUT] =
            wi_elements("indices", indices, args.n, index_type, WI_OUT);
    }
    return check_and_run(ctx, &call, &args, status);
}

weft_status weft_sort_indices(weft_context *ctx, weft_order order, weft_type type, size_t n,
                              const void *x, weft_type index_type, void *indices) {
    const wi_sort_args args = whole_keys("weft_sort_indices", order, type, n, x, NULL);
    return sort_indices(ctx, order, args, index_type, indices);
}

weft_status weft_sort_indices_bytes(weft_context *ctx, weft_order order, weft_type type, size_t n,
                                    const void *x, weft_type index_type, void *indices,
                                    size_t *bytes) {
    wi_sort_args args = whole_keys("weft_sort_indices_bytes", order, type, n, x, NULL);
    args.bytes = bytes;
    if (wi_check_context(ctx) != WEFT_OK || wi_sort_check_asked(ctx, args.call, bytes) != WEFT_OK)
        return WEFT_EARG;
    return sort_indices(ctx, order, args, index_type, indices);
}
