/* SPDX-License-Identifier: Apache-2.0 */
/* weft_fft_prepare and weft_fft_bytes over ranks and GPUs: the sizes of this rank's arrays; that a
 * call takes no more memory than was told, and that after preparation it makes no tables. What is
 * counted is host memory, so only where ranks are on cpus. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "dist.h"
#include "weft/fft.h"

enum {
    X,
    Y,
    SLACK = 1 << 14 /* bytes that are not for numbers: what ranks tell each other */
};

static size_t part_of(const weft_fft_description *d, int array) {
    return array == X ? d->part_x : d->part_y;
}

/* Bytes of this rank's part of an array without gaps. */
static size_t bytes_of(const weft_fft_description *d, int array) {
    const bool is_real =
        d->kind == (array == X ? WEFT_FFT_REAL_TO_COMPLEX : WEFT_FFT_COMPLEX_TO_REAL);
    const bool is_half = d->kind != WEFT_FFT_COMPLEX && !is_real;
    const unsigned turned = array == X ? WEFT_FFT_TRANSPOSED_X : WEFT_FFT_TRANSPOSED_Y;
    const unsigned divided = d->layout & turned ? 1 : 0;
    size_t bytes = d->batch * test_size_of(d->type) * (is_real ? 1 : 2);
    for (unsigned k = 0; k < d->rank; k++) {
        const size_t n = is_half && k + 1 == d->rank ? d->n[k] / 2 + 1 : d->n[k];
        bytes *=
            k == divided && d->layout != WEFT_FFT_OWN && !dist_on_gpus() ? part_of(d, array) : n;
    }
    return bytes;
}

static size_t divided_length(const weft_fft_description *d, int array) {
    const unsigned turned = array == X ? WEFT_FFT_TRANSPOSED_X : WEFT_FFT_TRANSPOSED_Y;
    if (!(d->layout & turned))
        return d->n[0];
    return d->kind != WEFT_FFT_COMPLEX && d->rank == 2 ? d->n[1] / 2 + 1 : d->n[1];
}

static void check(test_random *r, weft_fft_description *d, dist_shape shape) {
    const bool counts = !dist_ctx->gpu;
    size_t x_bytes = 1, y_bytes = 1, scratch = 0;
    char what[200];
    if (!dist_on_gpus() && d->layout != WEFT_FFT_OWN) {
        d->part_x = dist_deal(r, shape, divided_length(d, X)).n;
        d->part_y = dist_deal(r, shape, divided_length(d, Y)).n;
    }
    snprintf(what, sizeof what, "%s, kind %d, layout %u, %zu x %zu x %zu, parts %zu and %zu",
             test_type_name(d->type), (int)d->kind, d->layout, d->n[0], d->n[1], d->n[2], d->part_x,
             d->part_y);
    dist_ok(dist_ctx, weft_fft_bytes(dist_ctx, d, &x_bytes, &y_bytes, &scratch));
    if (x_bytes != bytes_of(d, X) || y_bytes != bytes_of(d, Y))
        fail_msg("%s: x has %zu bytes, y %zu", what, x_bytes, y_bytes);
    dist_ok(dist_ctx, weft_fft_prepare(dist_ctx, d));
    unsigned char *const x = calloc(x_bytes + 1, 1), *const y = malloc(y_bytes + 1);
    assert_true(x && y);
    const size_t live = dist_live;
    dist_peak = live;
    dist_ok(dist_ctx, weft_fft(dist_ctx, d, x, y));
    if (counts && dist_live != live)
        fail_msg("%s: the call kept %td bytes", what, (ptrdiff_t)(dist_live - live));
    if (counts && dist_peak - live > scratch + SLACK)
        fail_msg("%s: the call took %zu bytes, and %zu were told", what, dist_peak - live, scratch);
    free(x);
    free(y);
}

/* So much scratch memory is kept that no call of the test needs more. */
static void fill_scratch(void) {
    const size_t n = 60060, bytes = 8 * n * 4;
    const weft_fft_description d = {.type = WEFT_F32,
                                    .rank = 1,
                                    .n = {n},
                                    .batch = 4,
                                    .layout = dist_on_gpus() ? 0 : WEFT_FFT_OWN};
    void *const x = calloc(bytes, 1);
    assert_non_null(x);
    dist_ok(dist_ctx, weft_fft(dist_ctx, &d, x, x));
    free(x);
}

void dist_test_fft_ahead(void **state) {
    static const size_t sizes[][3] = {{40, 54, 1}, {12, 22, 26}, {64, 34, 1}};
    static const weft_type types[] = {WEFT_F32, WEFT_F16, WEFT_F64};
    test_random r = test_random_at(91);
    (void)state;
    if (!dist_ctx->gpu)
        fill_scratch();
    for (unsigned layout = 0; layout <= WEFT_FFT_OWN; layout++)
        for (int kind = 0; kind <= WEFT_FFT_COMPLEX_TO_REAL; kind++)
            for (size_t s = 0; s < 3; s++) {
                const size_t *const n = sizes[(s + layout) % 3];
                weft_fft_description d = {.type = types[s],
                                          .kind = (weft_fft_kind)kind,
                                          .rank = n[2] == 1 ? 2 : 3,
                                          .n = {n[0], n[1], n[2]},
                                          .batch = 1 + s % 2,
                                          .layout = dist_on_gpus() ? 0 : layout};
                const bool fits =
                    !(kind == WEFT_FFT_REAL_TO_COMPLEX && layout & WEFT_FFT_TRANSPOSED_X) &&
                    !(kind == WEFT_FFT_COMPLEX_TO_REAL && layout & WEFT_FFT_TRANSPOSED_Y);
                if (fits && (!dist_ctx->gpu || s == layout % 3))
                    check(&r, &d, s == 0 ? DIST_EVEN : (dist_shape)dist_draw(&r, DIST_SHAPES));
            }
}
