/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of networks on whole numbers, whose sums are exact: convolutions and their gradients,
 * pooling, up-sampling and biases. */
#include "calls/matrices.h"

#include <math.h>
#include <string.h>

enum {
    CPU_SIDE = 14,
    GPU_SIDE = 8,
    MOST_CHANNELS = 6,
    MOST_KERNEL = 4
};

/* An element of a batch of images. */
static size_t at(const weft_images *x, size_t i, size_t c, size_t h, size_t w) {
    return x->layout == WEFT_NCHW ? ((i * x->c + c) * x->h + h) * x->w + w
                                  : ((i * x->h + h) * x->w + w) * x->c + c;
}

static size_t elements(const weft_images *x) {
    return x->n * x->c * x->h * x->w;
}

static weft_images draw_images(fuzz *f) {
    const size_t side = f->gpu ? GPU_SIDE : CPU_SIDE;
    return (weft_images){.type = fuzz_one_in(f, 2) ? WEFT_F64 : WEFT_F32,
                         .layout = fuzz_one_in(f, 2) ? WEFT_NCHW : WEFT_NHWC,
                         .n = fuzz_below(f, 4),
                         .c = 1 + fuzz_below(f, MOST_CHANNELS),
                         .h = 1 + fuzz_below(f, side),
                         .w = 1 + fuzz_below(f, side)};
}

/* An array of `n` whole numbers. */
static fuzz_array *numbers(fuzz *f, const char *name, weft_type type, size_t n) {
    const size_t size = test_size_of(type);
    void *const data = fuzz_take(f, n * size);
    test_fill(fuzz_random(f), TEST_SMALL, type, n, data);
    return fuzz_input(f, name, n * size, size, data);
}

static fuzz_array *wanted(fuzz *f, const char *name, weft_type type, size_t n) {
    const size_t size = test_size_of(type);
    fuzz_array *const a = fuzz_output(f, name, n * size, size);
    a->type = type;
    a->compare = FUZZ_BOUNDED;
    a->value = fuzz_take(f, n * sizeof *a->value);
    a->bound = fuzz_take(f, n * sizeof *a->bound);
    return a;
}

static long double value(weft_type type, const fuzz_array *a, size_t k) {
    return test_load(type, a->before, k).f;
}

/* ---- convolutions ---- */

typedef enum gradient {
    FORWARD,
    DATA,
    WEIGHTS
} gradient;

static weft_conv draw_conv(fuzz *f, const weft_images *x) {
    const size_t groups = x->c % 2 == 0 && fuzz_one_in(f, 3) ? 2 : fuzz_one_in(f, 5) ? x->c : 1;
    return (weft_conv){.filters = groups * (1 + fuzz_below(f, 4)),
                       .kernel_h = 1 + fuzz_below(f, MOST_KERNEL),
                       .kernel_w = 1 + fuzz_below(f, MOST_KERNEL),
                       .stride_h = fuzz_below(f, 4),
                       .stride_w = fuzz_below(f, 4),
                       .pad_h = fuzz_below(f, 4),
                       .pad_w = fuzz_below(f, 4),
                       .dilation_h = fuzz_below(f, 3),
                       .dilation_w = fuzz_below(f, 3),
                       .groups = groups};
}

static size_t filter_at(const weft_images *x, const weft_conv *v, size_t k, size_t c, size_t r,
                        size_t s) {
    const size_t channels = x->c / v->groups;
    return x->layout == WEFT_NCHW ? ((k * channels + c) * v->kernel_h + r) * v->kernel_w + s
                                  : ((k * v->kernel_h + r) * v->kernel_w + s) * channels + c;
}

static size_t or_one(size_t k) {
    return k ? k : 1;
}

/* Adds every product of the forward call to where `which` has it. */
static void add_products(const weft_images *x, const weft_images *y, const weft_conv *v,
                         gradient which, const fuzz_array *first, const fuzz_array *second,
                         long double *sums) {
    const size_t channels = x->c / v->groups;
    for (size_t o = 0; o < elements(y) * channels * v->kernel_h * v->kernel_w; o++) {
        size_t rest = o;
        const size_t s = rest % v->kernel_w, r = (rest /= v->kernel_w) % v->kernel_h;
        const size_t c = (rest /= v->kernel_h) % channels, q = (rest /= channels) % y->w;
        const size_t p = (rest /= y->w) % y->h, k = (rest /= y->h) % y->c, i = rest / y->c;
        const size_t row = p * or_one(v->stride_h) + r * or_one(v->dilation_h);
        const size_t col = q * or_one(v->stride_w) + s * or_one(v->dilation_w);
        if (row < v->pad_h || row - v->pad_h >= x->h || col < v->pad_w || col - v->pad_w >= x->w) {
            continue;
        }
        const size_t group = k / (v->filters / v->groups);
        const size_t in = at(x, i, group * channels + c, row - v->pad_h, col - v->pad_w);
        const size_t out = at(y, i, k, p, q), weight = filter_at(x, v, k, c, r, s);
        const weft_type t = x->type;
        if (which == FORWARD) {
            sums[out] += value(t, first, in) * value(t, second, weight);
        } else if (which == DATA) {
            sums[in] += value(t, first, out) * value(t, second, weight);
        } else {
            sums[weight] += value(t, first, in) * value(t, second, out);
        }
    }
}

static double norm(weft_type type, const fuzz_array *a) {
    long double sum = 0;
    for (size_t k = 0; k < a->bytes / test_size_of(type); k++)
        sum += value(type, a, k) * value(type, a, k);
    return (double)sqrtl(sum);
}

/* By Fourier transforms sums are not exact: errors are relative to planes (weft/nn.h), whose norms
 * are not more than those of all numbers. */
static void allow_transforms(const fuzz *f, const weft_images *x, const fuzz_array *first,
                             const fuzz_array *second, fuzz_array *out) {
    const double unit = x->type == WEFT_F64 ? 0x1p-52 : 0x1p-23;
    const double pixels = (double)(x->h + MOST_KERNEL) * (double)(x->w + MOST_KERNEL);
    const double bound = unit * log2(pixels) * norm(x->type, first) * norm(x->type, second);
    const bool transforms = f->forced && strcmp(f->forced->name, "fft") == 0;
    for (size_t k = 0; k < out->bytes / test_size_of(x->type) && transforms; k++)
        out->bound[k] = bound;
}

void fuzz_conv(fuzz *f) {
    static const char *const names[] = {"weft_conv_forward", "weft_conv_backward_data",
                                        "weft_conv_backward_weights"};
    fuzz_begin(f, "conv");
    const gradient which = (gradient)fuzz_below(f, 3);
    const weft_images x = draw_images(f);
    const weft_conv v = draw_conv(f, &x);
    weft_images y;
    if (weft_conv_output(f->ctx, &x, &v, &y) != WEFT_OK) {
        fail_msg("weft_conv_output: %s", weft_message(f->ctx));
    }
    const size_t weights = v.filters * (x.c / v.groups) * v.kernel_h * v.kernel_w;
    fuzz_array *const first = which == DATA ? numbers(f, "dy", x.type, elements(&y))
                                            : numbers(f, "x_data", x.type, elements(&x));
    fuzz_array *const second = which == WEIGHTS ? numbers(f, "dy", x.type, elements(&y))
                                                : numbers(f, "f", x.type, weights);
    fuzz_array *const out = which == FORWARD ? wanted(f, "y", x.type, elements(&y))
                            : which == DATA  ? wanted(f, "dx", x.type, elements(&x))
                                             : wanted(f, "df", x.type, weights);
    add_products(&x, &y, &v, which, first, second, out->value);
    allow_transforms(f, &x, first, second, out);
    if (elements(&y)) {
        fuzz_spoil_any_array(f);
    }
    fuzz_say(f,
             "%s(%s, layout %d, %zu x %zu x %zu x %zu, filters %zu of %zu x %zu, stride %zu %zu, "
             "pad %zu %zu, dilation %zu %zu, groups %zu)",
             names[which], weft_type_name(x.type), (int)x.layout, x.n, x.c, x.h, x.w, v.filters,
             v.kernel_h, v.kernel_w, v.stride_h, v.stride_w, v.pad_h, v.pad_w, v.dilation_h,
             v.dilation_w, v.groups);
    fuzz_end(f, names[which],
             (which == FORWARD ? weft_conv_forward
              : which == DATA
                  ? weft_conv_backward_data
                  : weft_conv_backward_weights)(f->ctx, &x, &v, first->p, second->p, out->p));
}

/* ---- pixels ---- */

/* The largest pixel of each window. */
static void pool_max(const weft_images *x, const weft_images *y, const weft_pool *p,
                     const fuzz_array *from, long double *out) {
    for (size_t o = 0; o < elements(y); o++) {
        const size_t q = o % y->w, r = o / y->w % y->h, c = o / y->w / y->h % y->c;
        const size_t i = o / y->w / y->h / y->c;
        long double most = -INFINITY;
        for (size_t k = 0; k < p->kernel_h * p->kernel_w; k++) {
            const size_t row = r * p->stride_h + k / p->kernel_w,
                         col = q * p->stride_w + k % p->kernel_w;
            if (row >= p->pad_h && row - p->pad_h < x->h && col >= p->pad_w &&
                col - p->pad_w < x->w) {
                most =
                    fmaxl(most, value(x->type, from, at(x, i, c, row - p->pad_h, col - p->pad_w)));
            }
        }
        out[at(y, i, c, r, q)] = most;
    }
}

void fuzz_pool(fuzz *f) {
    fuzz_begin(f, "layers");
    const weft_images x = draw_images(f);
    weft_pool p = {.kernel_h = 1 + fuzz_below(f, x.h < 4 ? x.h : 4),
                   .kernel_w = 1 + fuzz_below(f, x.w < 4 ? x.w : 4),
                   .stride_h = 1 + fuzz_below(f, 3),
                   .stride_w = 1 + fuzz_below(f, 3)};
    p.pad_h = fuzz_below(f, p.kernel_h);
    p.pad_w = fuzz_below(f, p.kernel_w);
    weft_images y;
    if (weft_pool_output(f->ctx, &x, &p, &y) != WEFT_OK) {
        fail_msg("weft_pool_output: %s", weft_message(f->ctx));
    }
    fuzz_array *const in = numbers(f, "x_data", x.type, elements(&x));
    fuzz_array *const out = wanted(f, "y", x.type, elements(&y));
    pool_max(&x, &y, &p, in, out->value);
    if (elements(&y)) {
        fuzz_spoil_any_array(f);
    }
    fuzz_say(f, "weft_pool_forward(%s, layout %d, %zu x %zu x %zu x %zu, %zu x %zu, pad %zu %zu)",
             weft_type_name(x.type), (int)x.layout, x.n, x.c, x.h, x.w, p.kernel_h, p.kernel_w,
             p.pad_h, p.pad_w);
    fuzz_end(f, "weft_pool_forward", weft_pool_forward(f->ctx, &x, &p, in->p, out->p));
}

void fuzz_upsample(fuzz *f) {
    fuzz_begin(f, "layers");
    const weft_images x = draw_images(f);
    weft_images y = x;
    y.h = fuzz_below(f, 3 * x.h);
    y.w = fuzz_below(f, 3 * x.w);
    const bool back = fuzz_one_in(f, 2);
    fuzz_array *const in = numbers(f, back ? "dy" : "x_data", x.type, elements(back ? &y : &x));
    fuzz_array *const out = wanted(f, back ? "dx" : "y", x.type, elements(back ? &x : &y));
    for (size_t o = 0; o < elements(&y); o++) {
        const size_t q = o % y.w, r = o / y.w % y.h, c = o / y.w / y.h % y.c,
                     i = o / y.w / y.h / y.c;
        const size_t to = at(&y, i, c, r, q);
        const size_t from =
            at(&x, i, c, (2 * r + 1) * x.h / (2 * y.h), (2 * q + 1) * x.w / (2 * y.w));
        out->value[back ? from : to] += value(x.type, in, back ? to : from);
    }
    if (elements(&y) && elements(&x)) {
        fuzz_spoil_any_array(f);
    }
    const char *const call = back ? "weft_upsample_backward" : "weft_upsample_forward";
    fuzz_say(f, "%s(%s, layout %d, %zu x %zu x %zu x %zu to %zu x %zu)", call,
             weft_type_name(x.type), (int)x.layout, x.n, x.c, x.h, x.w, y.h, y.w);
    fuzz_end(f, call,
             (back ? weft_upsample_backward : weft_upsample_forward)(f->ctx, &x, WEFT_NEAREST, y.h,
                                                                     y.w, in->p, out->p));
}

void fuzz_bias(fuzz *f) {
    fuzz_begin(f, "layers");
    const weft_images x = draw_images(f);
    fuzz_array *const dy = numbers(f, "dy", x.type, elements(&x));
    fuzz_array *const sums = wanted(f, "dbias", x.type, x.c);
    for (size_t o = 0; o < elements(&x); o++) {
        const size_t c = x.layout == WEFT_NCHW ? o / (x.h * x.w) % x.c : o % x.c;
        sums->value[c] += value(x.type, dy, o);
    }
    if (elements(&x)) {
        fuzz_spoil_any_array(f);
    }
    fuzz_say(f, "weft_bias_backward(%s, layout %d, %zu x %zu x %zu x %zu)", weft_type_name(x.type),
             (int)x.layout, x.n, x.c, x.h, x.w);
    fuzz_end(f, "weft_bias_backward", weft_bias_backward(f->ctx, &x, dy->p, sums->p));
}
