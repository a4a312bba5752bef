/* SPDX-License-Identifier: Apache-2.0 */
/* weft_convolve and weft_blend. Pixels and weights of filters are small whole numbers, so that sums
 * are exact in any order. */
#include "calls/matrices.h"

#include <math.h>
#include <string.h>

enum {
    CPU_SIDE = 60,
    GPU_SIDE = 24,
    MOST_FILTER = 7
};

static size_t side(fuzz *f) {
    return 1 + fuzz_extent(f, f->gpu ? GPU_SIDE : CPU_SIDE);
}

/* A number rounded to nearest, ties to even, within the range of the type; floats are rounded. */
static long double pixel(weft_type type, bool cut, long double v) {
    if (test_is_float(type)) {
        return test_round(type, v);
    }
    const long double end = type == WEFT_U8 ? 255 : 65535, whole = cut ? truncl(v) : rintl(v);
    return isnan(v) || whole < 0 ? 0 : whole > end ? end : whole;
}

/* ---- filters ---- */

/* Where the border rule finds index k of n; -1: nowhere, a zero. */
static ptrdiff_t border(weft_border rule, ptrdiff_t k, ptrdiff_t n) {
    const ptrdiff_t round = 2 * n;
    switch (rule) {
    case WEFT_BORDER_CLAMP:
        return k < 0 ? 0 : k < n ? k : n - 1;
    case WEFT_BORDER_REFLECT:
        k = (k % round + round) % round;
        return k < n ? k : round - 1 - k;
    case WEFT_BORDER_WRAP:
        return (k % n + n) % n;
    default:
        return k >= 0 && k < n ? k : -1;
    }
}

/* Pixel (row, col) of y, as convolve.h states it; `image` is a matrix by rows of all channels. */
static long double filtered(const weft_convolution *c, const fuzz_matrix *image, size_t filter,
                            ptrdiff_t row, ptrdiff_t col, size_t channel) {
    const ptrdiff_t w = (ptrdiff_t)c->filter_width, h = (ptrdiff_t)c->filter_height;
    const bool valid = c->border == WEFT_BORDER_VALID, laid = c->how & WEFT_CORRELATE;
    const double *const weights = c->filter + filter * (size_t)(w * h);
    long double sum = 0;
    for (ptrdiff_t j = 0; j < h; j++) {
        for (ptrdiff_t i = 0; i < w; i++) {
            ptrdiff_t r = laid ? row + j - h / 2 : row - j + h / 2;
            ptrdiff_t s = laid ? col + i - w / 2 : col - i + w / 2;
            if (valid) { /* the first pixel of y is the first whose filter lies inside */
                r += laid ? h / 2 : h - 1 - h / 2;
                s += laid ? w / 2 : w - 1 - w / 2;
            }
            r = border(c->border, r, (ptrdiff_t)c->height);
            s = border(c->border, s, (ptrdiff_t)c->width);
            if (r >= 0 && s >= 0) {
                sum += weights[j * w + i] *
                       fuzz_matrix_at(image, (size_t)r, (size_t)s * c->channels + channel);
            }
        }
    }
    return pixel(c->out, c->how & WEFT_TRUNCATE, sum);
}

static weft_convolution draw_filter(fuzz *f) {
    static const weft_type types[] = {WEFT_U8, WEFT_U16, WEFT_F16, WEFT_F32, WEFT_F64};
    weft_convolution c = {.type = types[fuzz_below(f, 5)]};
    c.out = fuzz_one_in(f, 2) ? c.type : types[fuzz_below(f, 5)];
    c.width = side(f);
    c.height = side(f);
    c.channels = 1 + (unsigned)fuzz_below(f, 4);
    c.images = 1;
    c.border = (weft_border)fuzz_below(f, WEFT_BORDER_VALID + 1);
    c.how = (unsigned)fuzz_below(f, 16);
    c.filter_width = 1 + fuzz_below(f, MOST_FILTER);
    c.filter_height = 1 + fuzz_below(f, MOST_FILTER);
    c.filters = fuzz_one_in(f, 4) ? c.channels : 1;
    double *const weights =
        fuzz_take(f, c.filters * c.filter_width * c.filter_height * sizeof *weights);
    for (size_t k = 0; k < c.filters * c.filter_width * c.filter_height; k++) {
        weights[k] = (double)fuzz_below(f, 5) - 2;
    }
    c.filter = weights;
    return c;
}

void fuzz_convolve(fuzz *f) {
    fuzz_begin(f, "convolve");
    weft_convolution c = draw_filter(f);
    const bool valid = c.border == WEFT_BORDER_VALID;
    const size_t lost_w = valid ? c.filter_width - 1 : 0, lost_h = valid ? c.filter_height - 1 : 0;
    const size_t width = c.width > lost_w && c.height > lost_h ? c.width - lost_w : 0;
    const size_t height = width ? c.height - lost_h : 0;
    fuzz_layout layout = fuzz_layout_draw(f);
    layout.by_rows = true;
    fuzz_matrix x = fuzz_matrix_take(f, "x", c.type, c.height, c.width * c.channels, layout, false);
    fuzz_matrix y = fuzz_matrix_take(f, "y", c.out, height, width * c.channels, layout, false);
    fuzz_matrix_output(f, &y);
    for (size_t at = 0; at < height * width * c.channels; at++) {
        const size_t row = at / (width * c.channels), col = at / c.channels % width;
        const size_t channel = at % c.channels;
        y.want[at] =
            filtered(&c, &x, c.filters > 1 ? channel : 0, (ptrdiff_t)row, (ptrdiff_t)col, channel);
    }
    fuzz_spoil_any_array(f);
    c.ldx = x.ld;
    c.ldy = height ? y.ld : 0;
    fuzz_say(f,
             "weft_convolve(%s to %s, %zu x %zu x %u, filter %zu x %zu of %zu, border %d, how %u)",
             weft_type_name(c.type), weft_type_name(c.out), c.width, c.height, c.channels,
             c.filter_width, c.filter_height, c.filters, (int)c.border, c.how);
    if (fuzz_end(f, "weft_convolve", weft_convolve(f->ctx, &c, x.array->p, y.array->p))) {
        fuzz_matrix_check(f, &y, "weft_convolve");
    }
}

/* ---- two images ---- */

/* An element of the result, as blend.h states it. */
static long double blended(const weft_blending *b, long double a_value, long double b_value,
                           const long double *mask) {
    float wa = (float)b->weight_a, wb = (float)b->weight_b;
    if (mask) {
        const float unit = b->type == WEFT_U8    ? 1.0F / 255.0F
                           : b->type == WEFT_U16 ? 1.0F / 65535.0F
                                                 : 1.0F;
        wa = (float)*mask * unit;
        wb = 1.0F - wa;
    }
    return pixel(b->type, false, fmaf(wa, (float)a_value, wb * (float)b_value));
}

void fuzz_blend(fuzz *f) {
    static const weft_type types[] = {WEFT_U8, WEFT_U16, WEFT_F32};
    fuzz_begin(f, "blend");
    weft_blending b = {.type = types[fuzz_below(f, 3)], .width = side(f), .height = side(f)};
    b.channels = 1 + (unsigned)fuzz_below(f, 4);
    b.weight_a = fuzz_one_in(f, 2) ? 0.5 : (double)fuzz_below(f, 1000) / 256 - 1;
    b.weight_b = fuzz_one_in(f, 2) ? 0.5 : (double)fuzz_below(f, 1000) / 300 - 1;
    f->type = b.type;
    fuzz_layout layout = fuzz_layout_draw(f);
    layout.by_rows = true;
    const size_t length = b.width * b.channels;
    const fuzz_matrix first = fuzz_matrix_take(f, "a", b.type, b.height, length, layout, true);
    const fuzz_matrix second = fuzz_matrix_take(f, "b", b.type, b.height, length, layout, true);
    fuzz_matrix out = fuzz_matrix_take(f, "out", b.type, b.height, length, layout, false);
    fuzz_matrix mask = {.rows = 0};
    const bool masked = fuzz_one_in(f, 2);
    if (masked) {
        mask = fuzz_matrix_take(f, "mask", b.type, b.height, b.width, layout, false);
        mask.array->optional = true;
    }
    fuzz_matrix_output(f, &out);
    for (size_t at = 0; at < b.height * length; at++) {
        const size_t row = at / length, col = at % length;
        const long double m = masked ? fuzz_matrix_at(&mask, row, col / b.channels) : 0;
        out.want[at] = blended(&b, fuzz_matrix_at(&first, row, col),
                               fuzz_matrix_at(&second, row, col), masked ? &m : NULL);
    }
    fuzz_spoil_any_array(f);
    b.lda = first.ld;
    b.ldb = second.ld;
    b.ldout = out.ld;
    b.ldmask = masked ? mask.ld : 0;
    fuzz_say(f, "weft_blend(%s, %zu x %zu x %u, weights %g %g, ld %zu %zu %zu %zu)",
             weft_type_name(b.type), b.width, b.height, b.channels, b.weight_a, b.weight_b, b.lda,
             b.ldb, b.ldmask, b.ldout);
    if (fuzz_end(f, "weft_blend",
                 weft_blend(f->ctx, &b, first.array->p, second.array->p,
                            masked ? mask.array->p : NULL, out.array->p))) {
        fuzz_matrix_check(f, &out, "weft_blend");
    }
}
