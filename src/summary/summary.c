/* SPDX-License-Identifier: Apache-2.0 */
/* The public call of summary: checks arguments, then runs the ladder on memory that the place can
 * access. */
#include "summary/summary.h"

#include <string.h>

#include "comm/gpus.h"
#include "core/gpu.h"
#include "sort/sort_scalar.h"

static const char name[] = "weft_summary";

enum {
    X,
    RESULT,
    ARRAYS,
    RESULT_WORDS = sizeof(weft_statistics) / sizeof(uint64_t)
};

static double value_of(weft_type type, uint64_t key) {
    const wi_sort_key form = wi_sort_key_of(type, false);
    uint64_t element = 0; /* room for one of any type */
    wi_sort_of_key(&form, weft_type_size(type), key, &element);
    return wi_element_value(type, &element);
}

void wi_summary_finish(weft_type type, const wi_summary_state *state, weft_statistics *result) {
    const wi_summary_sums *const s = &state->sums;
    const bool any = s->count > 0;
    const double n = (double)s->count;
    const weft_statistics r = {.count = s->count,
                               .nans = state->nans,
                               .min = any ? value_of(type, state->least) : NAN,
                               .max = any ? value_of(type, state->most) : NAN,
                               .min_at = any ? state->least_at : WEFT_NOWHERE,
                               .max_at = any ? state->most_at : WEFT_NOWHERE,
                               .mean = any ? s->shift + s->sum / n : NAN,
                               .variance = any ? s->squares / n : NAN};
    memcpy(result, &r, sizeof r);
}

void wi_summary_put(const wi_summary_args *args, const wi_summary_state *state) {
    if (args->state_out)
        *args->state_out = *state;
    else
        wi_summary_finish(args->type, state, args->result);
}

/* ---- the ladder ---- */

static const wi_row rows[] = {
    {.name = "serial",
     .what = "the loop you would write, in blocks that are merged",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .run = wi_summary_serial},
    {.name = "threads",
     .what = "all cores, wide vectors; blocks are merged in a tree",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_summary_threads},
#ifdef WEFT_CUDA
    {.name = "one_pass",
     .what = "16-byte loads, and the last block to finish merges the states of all",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_summary_one_pass},
#endif
    {.name = "ranks",
     .what = "every rank summarises its part, then all merge the parts' states",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_summary_ranks},
};

const wi_ladder wi_summary_ladder = {"summary", rows, sizeof rows / sizeof rows[0]};

/* ---- the call ---- */

/* Two states on the device alternate as input and output of the parts of a call. */
static weft_status take_states(weft_context *ctx, wi_summary_args *args, const wi_part *part) {
    static const char key;
    void *memory;
    if (part->index == 0 && part->last)
        return WEFT_OK;
    const weft_status status = wi_gpu_scratch(ctx, &key, 2 * sizeof(wi_summary_state), &memory);
    if (status != WEFT_OK)
        return status;
    wi_summary_state *const states = memory;
    if (part->index > 0)
        args->state_in = &states[part->index % 2];
    if (!part->last)
        args->state_out = &states[1 - part->index % 2];
    return WEFT_OK;
}

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_summary_args args = *(const wi_summary_args *)user;
    args.n = part->cols;
    args.first = part->first;
    args.x = part->p[X];
    args.result = args.wants_state ? NULL : part->p[RESULT];
    args.state_out = args.wants_state ? part->p[RESULT] : NULL;
    const weft_status status = take_states(ctx, &args, part);
    return status == WEFT_OK ? wi_run(ctx, &wi_summary_ladder, call->name, args.type, &args)
                             : status;
}

/* Describes the call, whose result, or state, has so many words. */
static weft_status check(weft_context *ctx, const wi_summary_args *args, void *result, size_t words,
                         wi_call *call) {
    const unsigned at_any = result && wi_is_host(ctx, result) ? WI_UNALIGNED : 0;
    const weft_status status = wi_check_type(ctx, name, args->type);
    if (status != WEFT_OK)
        return status;
    wi_call_begin(call, name, 1, args->n);
    call->distributed = true;
    wi_call_add(call, wi_elements("x", args->x, args->n, args->type, WI_IN | WI_STRIDED));
    wi_call_add(call, wi_elements("result", result, words, WEFT_U64, WI_OUT | WI_WHOLE | at_any));
    return wi_call_check(ctx, call);
}

weft_status wi_summary_state_of(weft_context *ctx, const wi_summary_args *args,
                                wi_summary_state *state) {
    wi_summary_args part = *args;
    wi_call call;
    weft_status status = check(ctx, &part, state, sizeof *state / sizeof(uint64_t), &call);
    part.wants_state = true;
    if (status == WEFT_OK && part.n == 0)
        *state = (wi_summary_state){0};
    else if (status == WEFT_OK)
        status = wi_call_run(ctx, &call, run, &part);
    return status;
}

/* On a place of several GPUs: all ranks get the result, and the first gives it to the caller. */
static weft_status run_share(weft_context *rank, void *user) {
    const wi_summary_args *const args = user;
    const size_t size = weft_type_size(args->type);
    const wi_share share = wi_gpus_share(rank, args->x, args->n, size);
    weft_statistics unused;
    return weft_summary(rank, args->type, share.n, wi_share_of(args->x, share, size),
                        weft_rank(rank) == 0 ? args->result : &unused);
}

weft_status weft_summary(weft_context *ctx, weft_type type, size_t n, const void *x,
                         weft_statistics *result) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    wi_summary_args args = {.type = type, .n = n, .x = x, .result = result};
    wi_call call;
    const weft_status status = check(ctx, &args, result, RESULT_WORDS, &call);
    if (status == WEFT_OK && wi_gpus_wanted(ctx, &wi_summary_ladder, x, n, weft_type_size(type)))
        return wi_gpus_run(ctx, &wi_summary_ladder, name, run_share, &args);
    if (wi_is_dist(ctx))
        return wi_dist_run(ctx, &wi_summary_ladder, name, type, 0, status,
                           &(wi_dist_args){&call, &args});
    if (status != WEFT_OK)
        return status;
    if (n == 0 && wi_is_host(ctx, result)) {
        wi_summary_finish(type, &(wi_summary_state){0}, result);
        return WEFT_OK;
    }
    return wi_call_run(ctx, &call, run, &args);
}
