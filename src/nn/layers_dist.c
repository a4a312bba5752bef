/* SPDX-License-Identifier: Apache-2.0 */
/* The layers over ranks and GPUs. Each has images of its own, or rows, or elements. Most layers
 * need nothing of the others. Those that add up over the pixels of a channel (layers.h,
 * wi_layer_step) bring the sums of all ranks, in f64, to each, which combines them in the order of
 * the ranks: so all have the same bits. */
#include <string.h>

#include "comm/gpus.h"
#include "nn/layers.h"

enum {
    OF_SUMS = 2, /* numbers of a channel between the steps */
    OWN_COPIES = 2
};

/* A call on one rank. */
typedef struct layer_call {
    const wi_call *call;
    const wi_layer_args *args;
    int result;
    bool owns_whole; /* it writes the numbers of channels; on a place of GPUs one rank alone does */
} layer_call;

/* Arrays that every rank has whole, as bits: numbers of channels. */
static unsigned whole_arrays(wi_layer layer) {
    switch (layer) {
    case WI_LAYER_BIAS:
    case WI_LAYER_BIAS_BACK:
        return 1u << 1;
    case WI_LAYER_NORM:
        return 1u << 1 | 1u << 2 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 7;
    case WI_LAYER_NORM_INFERENCE:
        return 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4;
    case WI_LAYER_NORM_BACK:
        return 1u << 1 | 1u << 2 | 1u << 3 | 1u << 6 | 1u << 7;
    default:
        return 0;
    }
}

/* Arrays of which the sums are made. */
static unsigned summed_arrays(wi_layer layer) {
    return layer == WI_LAYER_BIAS_BACK || layer == WI_LAYER_NORM ? 1u
           : layer == WI_LAYER_NORM_BACK                         ? 1u | 1u << 2 | 1u << 4
                                                                 : 0;
}

static bool has_images(wi_layer layer) {
    return layer <= WI_LAYER_BIAS_BACK || (layer >= WI_LAYER_NORM && layer <= WI_LAYER_NORM_BACK);
}

/* ---- one rank ---- */

static weft_status run_own(weft_context *ctx, wi_call *call, wi_layer_args *args) {
    weft_status status = wi_call_check(ctx->child, call);
    if (status == WEFT_OK)
        status = wi_layer_run(ctx->child, call, args);
    return wi_local(ctx, status);
}

static weft_status run_alone(weft_context *ctx, const layer_call *r) {
    wi_call call = *r->call;
    wi_layer_args args = *r->args;
    const bool empty = call.array[r->result].rows == 0 || call.array[r->result].cols == 0;
    return empty ? WEFT_OK : run_own(ctx, &call, &args);
}

/* sums = those of this rank's pixels. */
static weft_status sum_own(weft_context *ctx, const layer_call *r, double *sums) {
    wi_call call = *r->call;
    wi_layer_args args = *r->args;
    args.step = WI_LAYER_SUMS;
    for (int k = 0; k < call.count; k++)
        if (!(summed_arrays(args.layer) >> k & 1)) {
            call.array[k].p = NULL;
            call.array[k].use = WI_IN | WI_OPTIONAL;
        }
    wi_call_add(&call, wi_elements("sums", sums, OF_SUMS * args.in.c, WEFT_F64, WI_OUT));
    return run_own(ctx, &call, &args);
}

/* Puts memory of this rank alone in the place of numbers of channels that another rank writes. Of
 * running statistics nobody needs a copy. */
static weft_status replace_whole(weft_context *ctx, wi_call *call, wi_layer layer, void **copies) {
    const wi_array *const one = &call->array[call->count - 1];
    const size_t bytes = one->cols * one->width;
    size_t used = 0;
    const weft_status status = wi_dist_take(ctx, OWN_COPIES, bytes, copies);
    for (int k = 0; k < call->count && status == WEFT_OK; k++) {
        wi_array *const a = &call->array[k];
        if (whole_arrays(layer) >> k & 1 && a->use & WI_OUT)
            a->p = a->use & WI_IN ? NULL : (char *)*copies + used++ * bytes;
    }
    return status;
}

/* The rest of the call, from the sums of all ranks. */
static weft_status run_rest(weft_context *ctx, const layer_call *r, double *sums, double pixels) {
    wi_call call = *r->call;
    wi_layer_args args = *r->args;
    void *copies = NULL;
    weft_status status = r->owns_whole ? WEFT_OK : replace_whole(ctx, &call, args.layer, &copies);
    args.step = WI_LAYER_REST;
    args.pixels = pixels;
    wi_call_add(&call, wi_elements("sums", sums, OF_SUMS * args.in.c, WEFT_F64, WI_IN));
    if (status == WEFT_OK)
        status = run_own(ctx, &call, &args);
    wi_host_free(copies);
    return status;
}

/* ---- sums of all ranks ---- */

/* The moments of some pixels and of `more` others, which are m in all (Chan, Golub and LeVeque). */
static void merge(double sums[2], const double more[2], double pixels, double others, double m) {
    const double apart = more[0] - sums[0];
    sums[0] += apart * (others / m);
    sums[1] += more[1] + apart * apart * (pixels * others / m);
}

/* sums = those of all ranks, in their order; each has pixels of a channel, and then its own sums.
 */
static double combine(const wi_layer_args *args, const double *all, int ranks, double *sums) {
    const size_t numbers = OF_SUMS * args->in.c;
    double pixels = 0;
    memset(sums, 0, numbers * sizeof *sums);
    for (int r = 0; r < ranks; r++, all += 1 + numbers) {
        if (all[0] == 0)
            continue;
        if (pixels == 0)
            memcpy(sums, all + 1, numbers * sizeof *sums);
        else if (args->layer == WI_LAYER_NORM)
            for (size_t k = 0; k < numbers; k += OF_SUMS)
                merge(sums + k, all + 1 + k, pixels, all[0], pixels + all[0]);
        else
            for (size_t k = 0; k < numbers; k++)
                sums[k] += all[1 + k];
        pixels += all[0];
    }
    return pixels;
}

static weft_status run_summed(weft_context *ctx, const layer_call *r) {
    const wi_layer_args *const args = r->args;
    const size_t numbers = 1 + OF_SUMS * args->in.c, ranks = (size_t)ctx->comm->size;
    void *room;
    weft_status status = wi_dist_take(ctx, (ranks + 1) * numbers, sizeof(double), &room);
    double *const own = room, *const all = own ? own + numbers : NULL;
    if (status == WEFT_OK) {
        memset(own, 0, numbers * sizeof *own);
        own[0] = wi_layer_pixels(args);
        status = own[0] > 0 && args->in.c > 0 ? sum_own(ctx, r, own + 1) : WEFT_OK;
    }
    status = wi_agree(ctx, 0, status);
    if (status == WEFT_OK)
        status = ctx->comm->calls->all_gather(ctx, own, all, numbers, WEFT_F64);
    if (status == WEFT_OK) {
        const double pixels = combine(args, all, (int)ranks, own);
        const bool none = args->in.c == 0 || (args->layer == WI_LAYER_NORM && pixels == 0);
        status = none ? WEFT_OK : run_rest(ctx, r, own, pixels);
    }
    wi_host_free(room);
    return status;
}

weft_status wi_layers_ranks(weft_context *ctx, const void *request) {
    const layer_call *const r = request;
    return summed_arrays(r->args->layer) ? run_summed(ctx, r) : run_alone(ctx, r);
}

/* ---- calls ---- */

/* What ranks must pass alike: all but the counts of images, rows and elements. */
static uint64_t alike_of(const wi_layer_args *a) {
    const wi_sampling *const z = &a->sampling;
    const int sampled[] = {z->kernel_h, z->kernel_w,   z->stride_h,  z->stride_w, z->pad_h,
                           z->pad_w,    z->out_height, z->out_width, z->kind,     a->kind};
    const size_t sizes[] = {a->layer, a->in.layout, a->in.c, a->in.h, a->in.w, a->classes};
    const double factors[] = {a->first_power, a->second_power};
    uint64_t h = wi_alike_bytes(0, sampled, sizeof sampled);
    h = wi_alike_bytes(h, sizes, sizeof sizes);
    h = wi_alike_bytes(h, factors, sizeof factors);
    return wi_alike_bytes(h, a->factor, sizeof a->factor);
}

weft_status wi_layer_over_ranks(weft_context *ctx, const wi_call *call, const wi_layer_args *args,
                                int result, weft_status status) {
    return wi_dist_run(ctx, &wi_layers_ladder, call->name, args->type, alike_of(args), status,
                       &(layer_call){call, args, result, true});
}

/* Images, rows or elements, which are dealt out. */
static size_t units_of(const wi_layer_args *a) {
    return has_images(a->layer) ? a->in.n : a->n;
}

/* The array that says which GPU does what: the largest of those that are dealt out. */
static const wi_array *guide_of(const wi_call *call, wi_layer layer) {
    const wi_array *guide = &call->array[0];
    for (int k = 0; k < call->count; k++)
        if (!(whole_arrays(layer) >> k & 1) && call->array[k].bytes >= guide->bytes)
            guide = &call->array[k];
    return guide;
}

bool wi_layer_wants_gpus(weft_context *ctx, const wi_call *call, const wi_layer_args *args) {
    const wi_array *const guide = guide_of(call, args->layer);
    return wi_gpus_wanted(ctx, &wi_layers_ladder, guide->p, guide->cols, guide->width);
}

static weft_status run_share(weft_context *rank, void *user) {
    const layer_call *const whole = user;
    const wi_array *const guide = guide_of(whole->call, whole->args->layer);
    wi_call call = *whole->call;
    wi_layer_args args = *whole->args;
    const size_t units = units_of(&args), each = units ? guide->cols / units : 0;
    const wi_share share = wi_gpus_share(rank, guide->p, units, each * guide->width);
    for (int k = 0; k < call.count; k++) {
        wi_array *const a = &call.array[k];
        if (whole_arrays(args.layer) >> k & 1 || units == 0)
            continue;
        const size_t of_unit = a->cols / units;
        a->p = wi_share_of(a->p, share, of_unit * a->width);
        a->cols = a->ld = share.n * of_unit;
    }
    args.n = units ? args.n / units * share.n : 0;
    args.in.n = has_images(args.layer) ? share.n : args.in.n;
    return wi_dist_run(rank, &wi_layers_ladder, call.name, args.type, alike_of(&args), WEFT_OK,
                       &(layer_call){&call, &args, whole->result, rank->comm->rank == 0});
}

weft_status wi_layer_over_gpus(weft_context *ctx, const wi_call *call, const wi_layer_args *args,
                               int result) {
    return wi_gpus_run(ctx, &wi_layers_ladder, call->name, run_share,
                       &(layer_call){call, args, result, true});
}
