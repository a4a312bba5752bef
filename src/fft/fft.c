/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of fft. */
#include "fft/fft.h"

#include <math.h>
#include <string.h>

#include "comm/dist.h"
#include "comm/gpus.h"
#include "fft/fft_strides.h"

enum {
    X = WI_FFT_X,
    Y = WI_FFT_Y
};

/* Elements of dimension k of a whole array. */
static size_t whole_length(const weft_fft_description *d, int array, unsigned k) {
    const bool is_half =
        d->kind != WEFT_FFT_COMPLEX && !wi_fft_is_real(d, array) && k + 1 == d->rank;
    return is_half ? d->n[k] / 2 + 1 : d->n[k];
}

size_t wi_fft_divided(const weft_fft_description *d, int array) {
    return whole_length(d, array, wi_fft_divided_dimension(d, array));
}

size_t wi_fft_length(const weft_fft_description *d, int array, unsigned k) {
    if (d->layout & WI_FFT_DIVIDED && k == wi_fft_divided_dimension(d, array))
        return array == X ? d->part_x : d->part_y;
    return whole_length(d, array, k);
}

/* ---- checks ---- */

static weft_status check_choices(weft_context *ctx, const char *call,
                                 const weft_fft_description *d) {
    const weft_status status = wi_check_type(ctx, call, d->type);
    if (status != WEFT_OK)
        return status;
    if (d->type != WEFT_F64 && d->type != WEFT_F32 && d->type != WEFT_F16)
        return wi_fail(ctx, WEFT_EUNSUPPORTED, "%s: type is %s; there are f64, f32 and f16", call,
                       weft_type_name(d->type));
    if ((unsigned)d->kind > WEFT_FFT_COMPLEX_TO_REAL)
        return wi_fail(ctx, WEFT_EARG, "%s: kind %d is not a weft_fft_kind; pass WEFT_FFT_...",
                       call, (int)d->kind);
    if ((unsigned)d->direction > WEFT_FFT_INVERSE)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: direction %d is not a weft_fft_direction; pass WEFT_FFT_FORWARD or "
                       "WEFT_FFT_INVERSE",
                       call, (int)d->direction);
    if (d->kind == WEFT_FFT_REAL_TO_COMPLEX && d->direction == WEFT_FFT_INVERSE)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: direction is inverse, but real numbers to complex ones is a forward "
                       "transform; pass WEFT_FFT_COMPLEX_TO_REAL for its inverse",
                       call);
    if (!isfinite(d->scale))
        return wi_fail(ctx, WEFT_EARG, "%s: scale is %g, not finite; pass 0 for 1", call, d->scale);
    return WEFT_OK;
}

/* Checks how arrays are divided. */
static weft_status check_layout(weft_context *ctx, const char *call,
                                const weft_fft_description *d) {
    const unsigned turned = d->layout & (WEFT_FFT_TRANSPOSED_X | WEFT_FFT_TRANSPOSED_Y);
    if (d->layout > WEFT_FFT_OWN)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: layout is %#x; pass WEFT_FFT_OWN, or a sum of WEFT_FFT_TRANSPOSED_X "
                       "and WEFT_FFT_TRANSPOSED_Y, or 0",
                       call, d->layout);
    if (turned && d->rank == 1)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: layout transposes dimensions, and rank is 1; pass 0 or WEFT_FFT_OWN",
                       call);
    for (int array = X; array <= Y; array++)
        if (wi_fft_is_real(d, array) && wi_fft_divided_dimension(d, array) == 1)
            return wi_fail(ctx, WEFT_EARG,
                           "%s: layout divides real numbers along dimension 1; leave out "
                           "WEFT_FFT_TRANSPOSED_%s",
                           call, array == X ? "X" : "Y");
    if (wi_is_dist(ctx) && d->rank == 1 && d->layout != WEFT_FFT_OWN)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: rank is 1, and one line is not divided over ranks; pass layout "
                       "WEFT_FFT_OWN for lines that each rank has whole",
                       call);
    const size_t part[] = {d->part_x, d->part_y};
    for (int array = X; array <= Y && !wi_is_dist(ctx); array++)
        if (part[array] && part[array] != wi_fft_divided(d, array))
            return wi_fail(ctx, WEFT_EARG,
                           "%s: part_%s is %zu on a place of one rank, which has all %zu indices; "
                           "pass 0",
                           call, array == X ? "x" : "y", part[array], wi_fft_divided(d, array));
    return WEFT_OK;
}

static weft_status check_lengths(weft_context *ctx, const char *call,
                                 const weft_fft_description *d) {
    size_t all = 32; /* bytes of a number, and to spare: chirps need up to four times as many */
    if (d->rank < 1 || d->rank > WEFT_FFT_DIMENSIONS)
        return wi_fail(ctx, WEFT_EARG, "%s: rank is %u; pass 1 to %d dimensions", call, d->rank,
                       WEFT_FFT_DIMENSIONS);
    for (unsigned k = 0; k < d->rank; k++)
        if (d->n[k] == 0)
            return wi_fail(ctx, WEFT_EARG, "%s: n[%u] is 0; pass lengths of at least 1", call, k);
    for (unsigned k = 0; k < d->rank; k++)
        if (__builtin_mul_overflow(all, d->n[k] + 2, &all) || all > PTRDIFF_MAX / 4)
            return wi_fail(
                ctx, WEFT_EARG,
                "%s: transforms of this many numbers do not fit the address space; check "
                "n[%u]",
                call, k);
    if (d->batch && __builtin_mul_overflow(all, d->batch, &all))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %zu transforms do not fit the address space; check batch", call,
                       d->batch);
    return WEFT_OK;
}

weft_status wi_fft_check(weft_context *ctx, const char *call, const weft_fft_description *given,
                         weft_fft_description *d) {
    if (!given)
        return wi_fail(ctx, WEFT_EARG, "%s: d is NULL; pass a weft_fft_description", call);
    weft_status status = check_choices(ctx, call, given);
    if (status == WEFT_OK)
        status = check_lengths(ctx, call, given);
    if (status == WEFT_OK)
        status = check_layout(ctx, call, given);
    if (status != WEFT_OK)
        return status;
    *d = *given;
    d->scale = d->scale == 0 ? 1 : d->scale;
    return WEFT_OK;
}

/* Checks a description and fills in what was left out. */
static weft_status complete(weft_context *ctx, const char *call, const weft_fft_description *given,
                            bool in_place, weft_fft_description *d) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const weft_status status = wi_fft_check(ctx, call, given, d);
    return status == WEFT_OK ? wi_fft_complete(ctx, call, in_place, d) : status;
}

/* ---- calls ---- */

/* Real numbers of an array, from the first to the end of the last. */
static size_t reals_of(const weft_fft_description *d, int array) {
    return wi_fft_is_empty(d, array) ? 0
                                     : wi_fft_extent(d, array) * (wi_fft_is_real(d, array) ? 1 : 2);
}

/* Has an array numbers that the call does not use? */
static bool has_gaps(const weft_fft_description *d, int array) {
    size_t numbers = d->batch;
    for (unsigned k = 0; k < d->rank; k++)
        numbers *= wi_fft_length(d, array, k);
    return numbers != wi_fft_extent(d, array);
}

static weft_status check_complex(weft_context *ctx, const char *call, const char *what,
                                 const void *p, weft_type type) {
    const size_t width = wi_fft_number_bytes(type);
    if ((uintptr_t)p % width == 0)
        return WEFT_OK;
    return wi_fail(
        ctx, WEFT_EARG,
        "%s: %s is not at a multiple of %zu bytes, the size of its complex numbers; copy "
        "it to memory that is",
        call, what, width);
}

/* Describes the arrays, and checks them. */
static weft_status describe(weft_context *ctx, const wi_fft_args *a, wi_call *call) {
    const weft_fft_description *const d = &a->d;
    const weft_type type_x = a->half_x ? WEFT_F16 : d->type,
                    type_y = a->half_y ? WEFT_F16 : d->type;
    size_t reals[] = {reals_of(d, X), reals_of(d, Y)};
    if (a->x == a->y) /* the longer, as both are one array */
        reals[X] = reals[Y] = reals[X] > reals[Y] ? reals[X] : reals[Y];
    wi_call_add(call, wi_elements("x", a->x, reals[X], type_x, WI_IN));
    wi_call_add(call,
                wi_elements("y", a->y, reals[Y], type_y,
                            !wi_fft_is_empty(d, Y) && has_gaps(d, Y) ? WI_IN | WI_OUT : WI_OUT))
        ->in_place = 1 << X;
    weft_status status = wi_call_check(ctx, call);
    if (status == WEFT_OK && !wi_fft_is_real(d, X))
        status = check_complex(ctx, call->name, "x", a->x, type_x);
    if (status == WEFT_OK && !wi_fft_is_real(d, Y))
        status = check_complex(ctx, call->name, "y", a->y, type_y);
    return status;
}

weft_status wi_fft_describe(weft_context *ctx, wi_fft_args *args, bool in_place, wi_call *call) {
    const weft_status status = wi_fft_complete(ctx, call->name, in_place, &args->d);
    return status == WEFT_OK && !wi_fft_only_asks(args) ? describe(ctx, args, call) : status;
}

void wi_fft_narrow(wi_fft_args *args) {
    if (args->d.type != WEFT_F16)
        return;
    args->half_x = args->half_y = true;
    args->d.type = WEFT_F32;
}

/* A part of a call to be run. */
typedef struct job {
    const wi_fft_args *args;
    const wi_row *row; /* or NULL */
} job;

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    const job *const j = user;
    wi_fft_args args = *j->args;
    const weft_type type = args.d.type;
    args.x = part->p[X];
    args.y = part->p[Y];
    wi_fft_narrow(&args);
    return j->row ? wi_run_row(ctx, &wi_fft_ladder, j->row, &args)
                  : wi_run(ctx, &wi_fft_ladder, call->name, type, &args);
}

weft_status wi_fft_call_run(weft_context *ctx, const char *name, const wi_row *row,
                            const wi_fft_args *args) {
    wi_call call;
    wi_call_begin(&call, name, 0, 0);
    const weft_status status = describe(ctx, args, &call);
    return status == WEFT_OK ? wi_call_run(ctx, &call, run, &(job){args, row}) : status;
}

weft_status weft_fft(weft_context *ctx, const weft_fft_description *d, const void *x, void *y) {
    wi_fft_args args = {.x = x, .y = y};
    wi_call call;
    wi_call_begin(&call, "weft_fft", 0, 0);
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    if (wi_is_dist(ctx))
        return wi_fft_over_ranks(ctx, call.name, d, &args);
    weft_status status = complete(ctx, call.name, d, x == y && x, &args.d);
    if (status == WEFT_OK)
        status = describe(ctx, &args, &call);
    if (status != WEFT_OK || args.d.batch == 0)
        return status;
    return wi_fft_wants_gpus(ctx, &args) ? wi_fft_over_gpus(ctx, call.name, &args)
                                         : wi_call_run(ctx, &call, run, &(job){&args, NULL});
}

/* Stand for arrays, in host memory, where a call is only prepared or counted. */
static char standins[2][64];

/* Prepares or counts. On several GPUs for both: that a call goes to all of them, as it does if they
 * hold its arrays, and that it goes to the first. */
static weft_status ask(weft_context *ctx, const char *call, const weft_fft_description *d,
                       wi_fft_args *args) {
    size_t bytes = 0;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    args->x = standins[X];
    args->y = standins[Y];
    if (wi_is_dist(ctx))
        return wi_fft_over_ranks(ctx, call, d, args);
    weft_status status = complete(ctx, call, d, false, &args->d);
    if (status != WEFT_OK || args->d.batch == 0)
        return status;
    if (wi_fft_wants_gpus(ctx, args)) {
        status = wi_fft_over_gpus(ctx, call, args);
        if (wi_gpus_forced(ctx, &wi_fft_ladder))
            return status; /* it goes to all, wherever its arrays lie */
        bytes = args->asks_bytes ? *args->asks_bytes : 0;
    }
    const weft_type type = args->d.type;
    wi_fft_narrow(args);
    if (status == WEFT_OK)
        status = wi_run(ctx, &wi_fft_ladder, call, type, args);
    if (args->asks_bytes && *args->asks_bytes < bytes)
        *args->asks_bytes = bytes;
    return status;
}

weft_status weft_fft_prepare(weft_context *ctx, const weft_fft_description *d) {
    wi_fft_args args = {.prepares = true};
    return ask(ctx, "weft_fft_prepare", d, &args);
}

weft_status weft_fft_bytes(weft_context *ctx, const weft_fft_description *d, size_t *x_bytes,
                           size_t *y_bytes, size_t *scratch_bytes) {
    size_t scratch = 0;
    wi_fft_args args = {.asks_bytes = &scratch};
    const weft_status status = ask(ctx, "weft_fft_bytes", d, &args);
    if (status != WEFT_OK)
        return status;
    if (x_bytes)
        *x_bytes = reals_of(&args.d, X) * weft_type_size(d->type);
    if (y_bytes)
        *y_bytes = reals_of(&args.d, Y) * weft_type_size(d->type);
    if (scratch_bytes)
        *scratch_bytes = scratch;
    return WEFT_OK;
}
