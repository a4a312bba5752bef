/* SPDX-License-Identifier: Apache-2.0 */
/* fft over ranks: each has its part of both arrays, divided along dimension 0 or 1, or transforms
 * of its own. The bits are those of one place, unless x is divided along dimension 1: then
 * dimensions are transformed in another order, and results are close. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dist.h"
#include "weft/fft.h"

#ifdef WEFT_EMU
#    define PLACE_OF_GPU "emu"
#else
#    define PLACE_OF_GPU "gpu"
#endif

enum {
    X,
    Y,
    ARRAYS
};

/* A whole transform, and this rank's part of each array. */
typedef struct rig {
    weft_fft_description d;
    dist_part part[ARRAYS];
    bool in_place, strided;
    bool equal;        /* the parts are left to the call */
    weft_context *one; /* a place like that of each rank */
} rig;

static bool is_real(const weft_fft_description *d, int array) {
    return d->kind == (array == X ? WEFT_FFT_REAL_TO_COMPLEX : WEFT_FFT_COMPLEX_TO_REAL);
}

static size_t length_of(const weft_fft_description *d, int array, unsigned k) {
    const bool is_half = d->kind != WEFT_FFT_COMPLEX && !is_real(d, array) && k + 1 == d->rank;
    return is_half ? d->n[k] / 2 + 1 : d->n[k];
}

static size_t width_of(const weft_fft_description *d, int array) {
    return test_size_of(d->type) * (is_real(d, array) ? 1 : 2);
}

static unsigned divided_of(const weft_fft_description *d, int array) {
    return d->layout & (array == X ? WEFT_FFT_TRANSPOSED_X : WEFT_FFT_TRANSPOSED_Y) ? 1 : 0;
}

static size_t count_of(const weft_fft_description *d, int array) {
    size_t n = d->batch;
    for (unsigned k = 0; k < d->rank; k++)
        n *= length_of(d, array, k);
    return n;
}

/* The strides of this rank's part of an array; *apart, and bytes from its first to its last. */
static size_t part_strides(test_random *r, const rig *g, int array, size_t *strides,
                           size_t *apart) {
    const weft_fft_description *const d = &g->d;
    size_t step = 1;
    for (unsigned k = d->rank; k > 0; k--) {
        const bool is_own = d->layout != WEFT_FFT_OWN && k - 1 == divided_of(d, array);
        const size_t n = is_own ? g->part[array].n : length_of(d, array, k - 1);
        strides[k - 1] = step;
        step *= n > 0 ? n : 1;
        if (g->in_place && k == d->rank && is_real(d, array))
            step = 2 * (d->n[k - 1] / 2 + 1);
        if (g->strided)
            step += 2 * dist_draw(r, 2); /* even ones: pairs of real numbers stay pairs */
    }
    *apart = step;
    const size_t batch = d->layout == WEFT_FFT_OWN ? g->part[array].n : d->batch;
    return batch * step * width_of(d, array);
}

/* Copies between a whole array without gaps and this rank's part. */
static void copy_part(const rig *g, int array, unsigned char *whole, unsigned char *part,
                      const size_t *strides, size_t apart, bool back) {
    const weft_fft_description *const d = &g->d;
    const size_t width = width_of(d, array), all = count_of(d, array);
    const dist_part own = g->part[array];
    for (size_t i = 0; i < all; i++) {
        size_t rest = i, at = 0, index[WEFT_FFT_DIMENSIONS];
        for (unsigned k = d->rank; k > 0; k--) {
            index[k - 1] = rest % length_of(d, array, k - 1);
            rest /= length_of(d, array, k - 1);
        }
        size_t *const divided = d->layout == WEFT_FFT_OWN ? &rest : &index[divided_of(d, array)];
        if (*divided < own.first || *divided >= own.first + own.n)
            continue;
        *divided -= own.first;
        for (unsigned k = 0; k < d->rank; k++)
            at += index[k] * strides[k];
        at = (at + rest * apart) * width;
        memcpy(back ? whole + i * width : part + at, back ? part + at : whole + i * width, width);
    }
}

static void name_case(const rig *g, char *text, size_t bytes) {
    const weft_fft_description *const d = &g->d;
    snprintf(text, bytes,
             "weft_fft of %s, kind %d, direction %d, layout %u, rank %u of %zu x %zu x %zu, batch "
             "%zu, parts %zu and %zu%s%s",
             test_type_name(d->type), (int)d->kind, (int)d->direction, d->layout, d->rank, d->n[0],
             d->n[1], d->n[2], d->batch, g->part[X].n, g->part[Y].n,
             g->in_place ? ", in place" : "", g->strided ? ", with gaps" : "");
}

/* The result may differ by rounding, as dimensions were transformed in another order. */
static void expect_close(const rig *g, const unsigned char *got, const unsigned char *wanted,
                         const char *what) {
    const size_t reals = count_of(&g->d, Y) * (is_real(&g->d, Y) ? 1 : 2);
    const weft_type type = g->d.type;
    double wrong = 0, size = 0;
    for (size_t i = 0; i < reals; i++) {
        const double a = test_load(type, got, i).f, b = test_load(type, wanted, i).f;
        wrong += (a - b) * (a - b);
        size += b * b;
    }
    if (!(sqrt(wrong) <= 16 * test_roundoff(type) * sqrt(size)))
        fail_msg("%s: rank %d of %d: differs by %g", what, dist_rank, dist_ranks,
                 sqrt(wrong / size));
}

static void deal(test_random *r, dist_shape shape, rig *g) {
    const weft_fft_description *const d = &g->d;
    for (int k = X; k <= Y; k++) {
        const dist_shape own =
            k == X || g->in_place ? shape : (dist_shape)dist_draw(r, DIST_SHAPES);
        const size_t n = d->layout == WEFT_FFT_OWN ? d->batch : length_of(d, k, divided_of(d, k));
        g->part[k] = dist_deal(r, own, n);
        if (k == Y && (d->layout == WEFT_FFT_OWN || (g->in_place && d->layout == 0)))
            g->part[k] = g->part[X];
        g->equal = g->equal && own == DIST_EVEN && n % (size_t)dist_ranks == 0;
    }
}

/* What this rank passes: the whole transform, with the strides and sizes of the rank's parts. */
static weft_fft_description description_of(test_random *r, const rig *g, size_t *x_bytes,
                                           size_t *y_bytes) {
    weft_fft_description d = g->d;
    *x_bytes = part_strides(r, g, X, d.stride_x, &d.apart_x);
    *y_bytes = part_strides(r, g, Y, d.stride_y, &d.apart_y);
    if (d.layout == WEFT_FFT_OWN) {
        d.batch = g->part[X].n;
        return d;
    }
    d.part_x = g->part[X].n;
    d.part_y = g->part[Y].n;
    if (g->equal)
        d.part_x = d.part_y = 0;
    return d;
}

/* Compares this rank's y with `right`, the whole one that a single place computed. */
static void expect_y(const rig *g, const weft_fft_description *d, const dist_array *y,
                     size_t y_bytes, unsigned char *right, const char *what) {
    unsigned char *const got = dist_fetch(y);
    if (d->layout != WEFT_FFT_OWN && d->layout & WEFT_FFT_TRANSPOSED_X) {
        const size_t y_all = count_of(&g->d, Y) * width_of(&g->d, Y);
        unsigned char *const mixed = malloc(y_all + 1);
        assert_non_null(mixed);
        memcpy(mixed, right, y_all);
        copy_part(g, Y, mixed, got, d->stride_y, d->apart_y, true);
        expect_close(g, mixed, right, what);
        free(mixed);
    } else { /* bit for bit, and nothing between the elements is written */
        unsigned char *const wanted = malloc(y_bytes + 1);
        assert_non_null(wanted);
        if (g->in_place)
            memcpy(wanted, got, y_bytes);
        else
            memset(wanted, TEST_POISON, y_bytes);
        copy_part(g, Y, right, wanted, d->stride_y, d->apart_y, false);
        dist_expect(y, wanted, y_bytes, what);
        free(wanted);
    }
    free(got);
}

static void run_case(test_random *r, dist_shape shape, rig *g) {
    const size_t x_all = count_of(&g->d, X) * width_of(&g->d, X),
                 y_all = count_of(&g->d, Y) * width_of(&g->d, Y);
    unsigned char *const whole = malloc(x_all + 1), *const right = malloc(y_all + 1);
    char what[300];
    size_t x_bytes, y_bytes;
    assert_true(whole && right);
    test_fill(r, TEST_ANY, g->d.type, x_all / test_size_of(g->d.type), whole);
    deal(r, shape, g);
    const weft_fft_description d = description_of(r, g, &x_bytes, &y_bytes);
    const size_t room = g->in_place && y_bytes > x_bytes ? y_bytes : x_bytes;
    name_case(g, what, sizeof what);
    weft_fft_description one = g->d;
    one.layout = 0;
    dist_ok(g->one, weft_fft(g->one, &one, whole, right));
    unsigned char *const own_x = calloc(room + 1, 1);
    assert_non_null(own_x);
    copy_part(g, X, whole, own_x, d.stride_x, d.apart_x, false);
    dist_array a = dist_take(r, own_x, room), b = dist_take(r, NULL, y_bytes);
    dist_array *const to = g->in_place ? &a : &b;
    dist_ok(dist_ctx, weft_fft(dist_ctx, &d, a.p, to->p));
    if (!g->in_place)
        dist_expect(&a, own_x, room, what);
    expect_y(g, &d, to, y_bytes, right, what);
    free(own_x), free(whole), free(right);
    dist_give(&a);
    dist_give(&b);
}

static const size_t sizes[][3] = {
    {8, 6, 1}, {1, 5, 1},   {5, 1, 1},   {3, 7, 4},  {16, 24, 20}, {2, 3, 129},   {70, 34, 1},
    {1, 1, 9}, {13, 17, 1}, {40, 96, 1}, {7, 2, 64}, {64, 1, 2},   {100, 100, 1}, {96, 40, 24}};

static bool draw_case(test_random *r, size_t s, unsigned layout, rig *g) {
    static const weft_type types[] = {WEFT_F32, WEFT_F64, WEFT_F16};
    weft_fft_description *const d = &g->d;
    *d = (weft_fft_description){.type = types[dist_draw(r, 3)], .layout = layout};
    d->kind = (weft_fft_kind)dist_draw(r, 3);
    d->direction = d->kind == WEFT_FFT_COMPLEX_TO_REAL || (!d->kind && dist_draw(r, 2))
                       ? WEFT_FFT_INVERSE
                       : WEFT_FFT_FORWARD;
    d->rank = sizes[s][2] == 1 ? 2 : 3;
    memcpy(d->n, sizes[s], sizeof d->n);
    d->batch = layout == WEFT_FFT_OWN ? 2 + dist_draw(r, 5) : 1 + (dist_draw(r, 3) == 0);
    d->scale = dist_draw(r, 2) ? 1.0 / 64 : 0;
    g->in_place = dist_draw(r, 3) == 0 && (d->kind == WEFT_FFT_COMPLEX || layout == 0);
    g->strided = !g->in_place && dist_draw(r, 2);
    g->equal = true;
    return !(d->kind == WEFT_FFT_REAL_TO_COMPLEX && layout & WEFT_FFT_TRANSPOSED_X) &&
           !(d->kind == WEFT_FFT_COMPLEX_TO_REAL && layout & WEFT_FFT_TRANSPOSED_Y);
}

void dist_test_fft(void **state) {
    (void)state;
    test_random r = test_random_at(90);
    const bool slow = dist_ctx->gpu;
    weft_context *one = dist_one;
    if (slow)
        dist_ok(NULL, weft_open(&one, PLACE_OF_GPU));
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (unsigned layout = 0; layout <= WEFT_FFT_OWN; layout++)
            for (int shape = 0; shape < DIST_SHAPES; shape++) {
                rig g = {.one = one};
                const bool fits = draw_case(&r, s, dist_on_gpus() ? 0 : layout, &g);
                if (!fits || (dist_draw(&r, slow ? 12 : 3) && s + layout + (unsigned)shape > 0) ||
                    (slow && sizes[s][0] * sizes[s][1] * sizes[s][2] > 4000))
                    continue;
                run_case(&r, (dist_shape)shape, &g);
            }
    assert_string_equal(weft_used(dist_ctx, "fft"), "ranks");
    if (slow)
        weft_close(one);
}

/* What cannot be divided is refused on all ranks, nothing is written, and the next call works. */
void dist_test_fft_refusals(void **state) {
    (void)state;
    weft_fft_description d = {.type = WEFT_F32, .rank = 2, .n = {4, 2}, .batch = 1};
    float x[16] = {1}, y[16] = {7};
    d.part_x = dist_rank == 0 ? 5 : 0;
    test_refused(dist_ctx, weft_fft(dist_ctx, &d, x, y), WEFT_EARG, "weft_fft", "part_x");
    d.part_x = 0;
    d.part_y = dist_rank == 0 ? 3 : 0;
    test_refused(dist_ctx, weft_fft(dist_ctx, &d, x, y), WEFT_EARG, "weft_fft", "part_y");
    d.part_y = 0;
    d.layout = 5;
    test_refused(dist_ctx, weft_fft(dist_ctx, &d, x, y), WEFT_EARG, "weft_fft", "layout");
    d.layout = WEFT_FFT_TRANSPOSED_X;
    d.kind = WEFT_FFT_REAL_TO_COMPLEX;
    test_refused(dist_ctx, weft_fft(dist_ctx, &d, x, y), WEFT_EARG, "weft_fft", "layout");
    d = (weft_fft_description){.type = WEFT_F32, .rank = 1, .n = {4}, .batch = 1};
    test_refused(dist_ctx, weft_fft(dist_ctx, &d, x, y), WEFT_EUNSUPPORTED, "weft_fft",
                 "WEFT_FFT_OWN");
    d.layout = WEFT_FFT_OWN;
    assert_true(y[0] == 7);
    const bool wrong = dist_rank == dist_ranks / 2;
    dist_refused_by_one(weft_fft(dist_ctx, &d, wrong ? NULL : x, y), dist_ranks / 2, "weft_fft",
                        "x");
    assert_true(y[0] == 7);
    dist_ok(dist_ctx, weft_fft(dist_ctx, &d, x, y));
    assert_true(y[0] == 1 && y[1] == 0 && y[6] == 1);
}
