/* SPDX-License-Identifier: Apache-2.0 */
/* The public call of convolve. */
#include "convolve/convolve_terms.h"

#include <math.h>
#include <string.h>

#include "comm/dist.h"
#include "core/gpu.h"

static const char name[] = "weft_convolve";

enum {
    X,
    Y,
    MOST_CHANNELS = 4,
    ALL_FLAGS = WEFT_CORRELATE | WEFT_DENSE | WEFT_SUMS_F64 | WEFT_TRUNCATE | WEFT_ANY_ORDER |
                WEFT_OWN_IMAGES
};

static bool is_pixel_type(weft_type type) {
    return type == WEFT_U8 || type == WEFT_U16 || type == WEFT_F16 || type == WEFT_F32 ||
           type == WEFT_F64;
}

static weft_status check_pixels(weft_context *ctx, const char *what, weft_type type) {
    if (is_pixel_type(type))
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EUNSUPPORTED, "%s: %s is %s; there are u8, u16, f16, f32 and f64",
                   name, what, weft_type_name(type));
}

static weft_status check_types(weft_context *ctx, const weft_convolution *c) {
    weft_status status = wi_check_type(ctx, name, c->type);
    if (status == WEFT_OK)
        status = wi_check_type(ctx, name, c->out);
    if (status == WEFT_OK)
        status = check_pixels(ctx, "type", c->type);
    return status == WEFT_OK ? check_pixels(ctx, "out", c->out) : status;
}

static weft_status check_size(weft_context *ctx, const char *what, size_t size, size_t least) {
    if (size >= least && size <= WI_CONVOLVE_MOST)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG, "%s: %s is %zu; pass %zu to %d", name, what, size, least,
                   WI_CONVOLVE_MOST);
}

static weft_status check_sizes(weft_context *ctx, const weft_convolution *c) {
    weft_status status = check_size(ctx, "width", c->width, 0);
    if (status == WEFT_OK)
        status = check_size(ctx, "height", c->height, 0);
    if (status == WEFT_OK)
        status = check_size(ctx, "filter_width", c->filter_width, 1);
    if (status == WEFT_OK)
        status = check_size(ctx, "filter_height", c->filter_height, 1);
    if (status == WEFT_OK && (c->channels < 1 || c->channels > MOST_CHANNELS))
        status = wi_fail(ctx, WEFT_EARG, "%s: channels is %u; pass 1 to %d", name, c->channels,
                         MOST_CHANNELS);
    if (status == WEFT_OK)
        status = check_size(ctx, "width * channels", c->width * c->channels, 0);
    if (status == WEFT_OK)
        status = check_size(ctx, "filter_width * channels", c->filter_width * c->channels, 1);
    return status;
}

static weft_status check_choices(weft_context *ctx, const weft_convolution *c) {
    if ((unsigned)c->border > WEFT_BORDER_VALID)
        return wi_fail(ctx, WEFT_EARG, "%s: border %d is not a weft_border; pass WEFT_BORDER_...",
                       name, (int)c->border);
    if (c->how & ~(unsigned)ALL_FLAGS)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: how is %u; it takes WEFT_CORRELATE, WEFT_DENSE, WEFT_SUMS_F64, "
                       "WEFT_TRUNCATE, WEFT_ANY_ORDER and WEFT_OWN_IMAGES",
                       name, c->how);
    if (c->filters > 1 && c->filters % c->channels != 0)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: filters is %zu; pass 1, or a multiple of the %u channels", name,
                       c->filters, c->channels);
    return WEFT_OK;
}

enum {
    COPIES =
        3 /* of the weights that a call may hold: turned, their factors, fetched from a device */
};

/* Refuses more weights than memory can hold with their copies. */
static weft_status check_weights(weft_context *ctx, const weft_convolution *c) {
    const size_t filters = c->filters ? c->filters : 1;
    size_t count;
    if (!__builtin_mul_overflow(c->filter_width, c->filter_height, &count) &&
        !__builtin_mul_overflow(count, filters, &count) &&
        count <= PTRDIFF_MAX / ((COPIES + 1) * sizeof(double)))
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG,
                   "%s: %zu filters of %zu x %zu weights do not fit the address space; check "
                   "filters, filter_width and filter_height",
                   name, filters, c->filter_width, c->filter_height);
}

/* Outputs along a side of n pixels. */
static size_t out_size(size_t n, size_t filter, weft_border border) {
    if (border != WEFT_BORDER_VALID)
        return n;
    return n < filter ? 0 : n - filter + 1;
}

wi_convolve_args wi_convolve_args_of(const weft_convolution *c) {
    const bool correlates = c->how & WEFT_CORRELATE, is_valid = c->border == WEFT_BORDER_VALID;
    const size_t across = c->filter_width / 2, down = c->filter_height / 2;
    wi_convolve_args a = {.type = c->type,
                          .out = c->out,
                          .doubles = c->how & WEFT_SUMS_F64 || c->type == WEFT_F64,
                          .truncates = c->how & WEFT_TRUNCATE,
                          .any_order = c->how & WEFT_ANY_ORDER,
                          .border = c->border,
                          .channels = c->channels,
                          .width = c->width,
                          .height = c->height,
                          .out_width = out_size(c->width, c->filter_width, c->border),
                          .out_height = out_size(c->height, c->filter_height, c->border),
                          .images = c->images,
                          .filter_width = c->filter_width,
                          .filter_height = c->filter_height,
                          .left = correlates ? across : c->filter_width - 1 - across,
                          .above = correlates ? down : c->filter_height - 1 - down,
                          .filters = c->filters ? c->filters : 1};
    if (is_valid)
        a.left = a.above = 0;
    return a;
}

/* Images that follow each other as one matrix: from the first row of the first to the last row of
 * the last, with the rows between them. */
static wi_array stack(const char *what, const void *p, size_t images, size_t height, size_t width,
                      size_t apart, const char *ld_name, size_t ld, weft_type type, unsigned use) {
    const size_t all = images && height && width ? (images - 1) * apart + height : 0;
    return wi_matrix(what, p, all, width, ld_name, ld, type, use);
}

/* Refuses images that begin `apart` rows after each other if they have more rows than that, or if
 * their rows together exceed the address space. */
static weft_status check_apart(weft_context *ctx, const char *what, size_t apart, size_t height,
                               size_t images) {
    size_t rows;
    if (apart < height)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %s is %zu, less than the %zu rows of an image; pass the rows from one "
                       "image to the next",
                       name, what, apart, height);
    if (!__builtin_mul_overflow(images, apart, &rows) &&
        !__builtin_add_overflow(rows, apart, &rows))
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG,
                   "%s: %zu images, %zu rows apart, exceed the address space; check images and %s",
                   name, images, apart, what);
}

weft_status wi_convolve_distances(weft_context *ctx, const weft_convolution *c,
                                  wi_convolve_args *a) {
    const size_t apart[] = {c->apart_x ? c->apart_x : a->height,
                            c->apart_y ? c->apart_y : a->out_height};
    a->ldx = c->ldx ? c->ldx : a->width * a->channels;
    a->ldy = c->ldy ? c->ldy : a->out_width * a->channels;
    weft_status status = check_apart(ctx, "apart_x", apart[X], a->height, a->images);
    if (status == WEFT_OK)
        status = check_apart(ctx, "apart_y", apart[Y], a->out_height, a->images);
    if (status != WEFT_OK)
        return status;
    a->rows_apart_x = apart[X];
    a->rows_apart_y = apart[Y];
    return WEFT_OK;
}

weft_status wi_convolve_describe(weft_context *ctx, const weft_convolution *c, wi_convolve_args *a,
                                 wi_call *call) {
    const size_t weights = a->filters * a->filter_width * a->filter_height;
    const bool has_gaps = a->images > 1 && a->rows_apart_y > a->out_height;
    wi_call of_filter;
    wi_call_begin(&of_filter, name, 0, 0);
    wi_call_begin(call, name, 0, 0);
    call->distributed = of_filter.distributed = true;
    wi_call_add(&of_filter, wi_elements("filter", c->filter, weights, WEFT_F64, WI_IN));
    const weft_status status = wi_call_check(ctx, &of_filter);
    a->apart_x = a->rows_apart_x * a->ldx;
    a->apart_y = a->rows_apart_y * a->ldy;
    wi_call_add(call, stack("x", a->x, a->images, a->height, a->width * a->channels,
                            a->rows_apart_x, "ldx", a->ldx, a->type, WI_IN));
    wi_call_add(call,
                stack("y", a->y, a->images, a->out_height, a->out_width * a->channels,
                      a->rows_apart_y, "ldy", a->ldy, a->out, has_gaps ? WI_IN | WI_OUT : WI_OUT));
    return status == WEFT_OK ? wi_call_check(ctx, call) : status;
}

/* Runs the ladder on arrays of the place. Where these are copies of arrays in host memory, their
 * rows have no gaps, so the distances are others than the caller's. */
static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_convolve_args args = *(const wi_convolve_args *)user;
    args.apart_x = args.apart_x / args.ldx * part->ld[X];
    args.apart_y = args.apart_y / args.ldy * part->ld[Y];
    args.ldx = part->ld[X];
    args.ldy = part->ld[Y];
    args.x = part->p[X];
    args.y = part->p[Y];
    return wi_run(ctx, &wi_convolve_ladder, call->name, args.type, &args);
}

/* Copies the weights in the order in which a correlation uses them; refuses those that are not
 * finite. */
static weft_status turn(weft_context *ctx, const weft_convolution *c, const wi_convolve_args *a,
                        const double *from, double *to) {
    const size_t one = a->filter_width * a->filter_height;
    for (size_t f = 0; f < a->filters; f++)
        for (size_t k = 0; k < one; k++) {
            const double weight = from[f * one + k];
            const double rounded = a->doubles ? weight : (float)weight;
            if (!isfinite(rounded))
                return wi_fail(ctx, WEFT_EARG,
                               "%s: filter[%zu] is %g, not finite%s; pass finite weights", name,
                               f * one + k, weight, isfinite(weight) ? " in f32" : "");
            to[f * one + (c->how & WEFT_CORRELATE ? k : one - 1 - k)] = weight;
        }
    return WEFT_OK;
}

/* Runs a call whose sums may have any order, which may be computed by a few separable filters. */
static weft_status run_with_terms(weft_context *ctx, wi_convolve_args *a, wi_call *call) {
    double *const room = wi_host_alloc(wi_convolve_terms_room(a) * sizeof *room);
    if (!room)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory to find the rank of %zu filters", name,
                       a->filters);
    wi_convolve_find_terms(a, room);
    const weft_status status = wi_call_run(ctx, call, run, a);
    wi_host_free(room);
    return status;
}

/* Runs the call with weights that this thread can read. `room` is for two copies of them: the
 * filters as correlations use them, and their factors. */
static weft_status run_with(weft_context *ctx, const weft_convolution *c, wi_convolve_args *a,
                            wi_call *call, const double *weights, double *room) {
    const size_t columns = a->filters * a->filter_height, rows = a->filters * a->filter_width;
    double *const factors = room + a->filters * a->filter_width * a->filter_height;
    const weft_status status = turn(ctx, c, a, weights, room);
    if (status != WEFT_OK || a->images == 0 || a->out_width == 0 || a->out_height == 0)
        return status;
    a->filter = room;
    const bool is_shorter = columns + rows < a->filters * a->filter_width * a->filter_height;
    if (is_shorter && !(c->how & WEFT_DENSE) &&
        wi_convolve_factors(a, factors, factors + columns)) {
        a->column = factors;
        a->row = factors + columns;
    }
    if (!a->any_order || a->column || c->how & WEFT_DENSE || wi_convolve_most_terms(a) == 0)
        return wi_call_run(ctx, call, run, a);
    return run_with_terms(ctx, a, call);
}

/* The same with weights in device memory, which are fetched to the third copy in `room`. */
static weft_status run_fetched(weft_context *ctx, const weft_convolution *c, wi_convolve_args *a,
                               wi_call *call, size_t weights, double *room) {
    double *const fetched = room + 2 * weights;
    if (wi_gpu_capturing(ctx))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: filter is device memory, which cannot be read during a stream capture; "
                       "pass host memory",
                       name);
    const weft_status status = weft_copy(ctx, fetched, c->filter, weights * sizeof *fetched);
    return status == WEFT_OK ? run_with(ctx, c, a, call, fetched, room) : status;
}

weft_status wi_convolve_call_run(weft_context *ctx, const weft_convolution *c, wi_convolve_args *a,
                                 wi_call *call) {
    const size_t weights = a->filters * a->filter_width * a->filter_height;
    double *const room = wi_host_alloc(COPIES * weights * sizeof *room);
    if (!room)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for copies of %zu weights", name, weights);
    const weft_status status = wi_is_host(ctx, c->filter)
                                   ? run_with(ctx, c, a, call, c->filter, room)
                                   : run_fetched(ctx, c, a, call, weights, room);
    wi_host_free(room);
    return status;
}

static weft_status check(weft_context *ctx, const weft_convolution *c) {
    if (!c)
        return wi_fail(ctx, WEFT_EARG, "%s: c is NULL; pass a weft_convolution", name);
    weft_status status = check_types(ctx, c);
    if (status == WEFT_OK)
        status = check_sizes(ctx, c);
    if (status == WEFT_OK)
        status = check_choices(ctx, c);
    return status == WEFT_OK ? check_weights(ctx, c) : status;
}

weft_status weft_convolve(weft_context *ctx, const weft_convolution *c, const void *x, void *y) {
    wi_call call;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = check(ctx, c);
    if (wi_is_dist(ctx))
        return wi_convolve_over_ranks(ctx, c, x, y, status);
    if (status != WEFT_OK)
        return status;
    wi_convolve_args args = wi_convolve_args_of(c);
    args.x = x;
    args.y = y;
    status = wi_convolve_distances(ctx, c, &args);
    if (status == WEFT_OK)
        status = wi_convolve_describe(ctx, c, &args, &call);
    if (status != WEFT_OK)
        return status;
    if (wi_convolve_wants_gpus(ctx, &args))
        return wi_convolve_over_gpus(ctx, c, &args);
    return wi_convolve_call_run(ctx, c, &args, &call);
}
