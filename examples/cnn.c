/* SPDX-License-Identifier: Apache-2.0 */
/* Trains a small convolutional network to read digits, with nothing but weft's public calls: on the
 * best place of this machine, or on one that is named. The digits are drawn here, from strokes:
 * turned, slanted, stretched, moved, thick or thin, with noise. No two are alike, so those that the
 * network is tried on at the end are digits that it has not seen.
 *
 *     cnn [--place PLACE] [--steps N] [--seed N] [--least PERCENT]
 *     mpirun -np 4 cnn --place mpi
 *
 * Under mpirun every rank takes its share of each batch. All have the whole network: the calls that
 * make gradients for weights, and batch normalisation, add up over all ranks, so the program does
 * nothing else for it than to know which images are its own, and to let one rank print.
 *
 * The network: 16 filters of 5 x 5, batch normalisation, ReLU, the largest of 2 x 2; 32 filters of
 * 5 x 5, biases, ReLU, the largest of 2 x 2; a dense layer to 10 classes; softmax and
 * cross-entropy. Adam makes the steps. The exit status is 1 if it reads less than 97 % of unseen
 * digits, or less than --least says. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "weft/weft.h"

enum {
    SIDE = 28,
    PIXELS = SIDE * SIDE,
    CLASSES = 10,
    BATCH = 64,
    FILTERS1 = 16,
    FILTERS2 = 32,
    KERNEL = 5,
    FEATURES = FILTERS2 * (SIDE / 4) * (SIDE / 4),
    USUAL_STEPS = 400,
    TRIED = 32,       /* batches of unseen digits */
    USUAL_LEAST = 97, /* percent */
    TOLD_EVERY = 40
};

/* ---- the font: strokes as chains of points on a grid of 4 x 6; 99 lifts the pen ---- */

static const signed char font[CLASSES][32] = {
    {1, 0, 3, 0, 4, 2, 4, 4, 3, 6, 1, 6, 0, 4, 0, 2, 1, 0, -1},
    {1, 1, 2, 0, 2, 6, -1},
    {0, 1, 1, 0, 3, 0, 4, 1, 4, 2, 0, 6, 4, 6, -1},
    {0, 0, 4, 0, 2, 2, 4, 4, 3, 6, 1, 6, 0, 5, -1},
    {3, 6, 3, 0, 0, 4, 4, 4, -1},
    {4, 0, 0, 0, 0, 3, 3, 2, 4, 4, 3, 6, 0, 6, -1},
    {4, 0, 2, 0, 0, 3, 0, 5, 1, 6, 3, 6, 4, 5, 4, 4, 3, 3, 0, 4, -1},
    {0, 0, 4, 0, 1, 6, 99, 99, 1, 3, 4, 3, -1},
    {2, 3, 0, 2, 1, 0, 3, 0, 4, 2, 2, 3, 0, 4, 1, 6, 3, 6, 4, 4, 2, 3, -1},
    {4, 2, 1, 3, 0, 2, 1, 0, 3, 0, 4, 2, 4, 4, 2, 6, 0, 6, -1},
};

static uint64_t state;

static double unit(void) { /* from 0 to 1 */
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint64_t z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    z ^= z >> 27;
    return (double)(z >> 11) * 0x1p-53;
}

static double between(double least, double most) {
    return least + (most - least) * unit();
}

/* How grid points come to lie in the image. */
typedef struct pose {
    double xx, xy, yx, yy, x, y, thick;
} pose;

static pose draw_pose(void) {
    const double turn = between(-0.35, 0.35), slant = between(-0.25, 0.25);
    const double wide = between(2.6, 3.9), high = between(2.4, 3.5);
    const pose p = {wide * cos(turn),    high * (slant * cos(turn) - sin(turn)),
                    wide * sin(turn),    high * (slant * sin(turn) + cos(turn)),
                    between(11.0, 16.0), between(11.0, 16.0),
                    between(0.7, 1.6)};
    return p;
}

/* The distance from (x, y) to the stroke from a to b. */
static double distance(double x, double y, const double a[2], const double b[2]) {
    const double dx = b[0] - a[0], dy = b[1] - a[1], length = dx * dx + dy * dy;
    double t = length > 0 ? ((x - a[0]) * dx + (y - a[1]) * dy) / length : 0;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return hypot(x - a[0] - t * dx, y - a[1] - t * dy);
}

static void draw_stroke(const double a[2], const double b[2], double thick, float *image) {
    for (int r = 0; r < SIDE; r++)
        for (int s = 0; s < SIDE; s++) {
            const double ink = thick + 0.5 - distance(s, r, a, b);
            const float tone = (float)(ink < 0 ? 0 : ink > 1 ? 1 : ink);
            if (tone > image[r * SIDE + s])
                image[r * SIDE + s] = tone;
        }
}

static int draw_digit(float *image) {
    const int digit = (int)between(0, CLASSES - 1e-9);
    const pose p = draw_pose();
    double from[2] = {0, 0};
    bool drawing = false;
    memset(image, 0, PIXELS * sizeof *image);
    for (const signed char *at = font[digit]; at[0] >= 0; at += 2) {
        const double u = at[0] - 2 + between(-0.2, 0.2), v = at[1] - 3 + between(-0.2, 0.2);
        const double to[2] = {p.x + p.xx * u + p.xy * v, p.y + p.yx * u + p.yy * v};
        if (at[0] != 99 && drawing)
            draw_stroke(from, to, p.thick, image);
        drawing = at[0] != 99;
        memcpy(from, to, sizeof from);
    }
    const double noise = between(0, 0.25);
    for (int i = 0; i < PIXELS; i++)
        image[i] += (float)(noise * (unit() + unit() - 1));
    return digit;
}

static void draw_batch(float *images, int32_t *labels) {
    for (int i = 0; i < BATCH; i++)
        labels[i] = draw_digit(images + (size_t)i * PIXELS);
}

/* Four digits beside each other, as a terminal can show them. */
static void show(const float *images) {
    static const char tones[] = " .:*#";
    for (int r = 0; r < SIDE; r += 2) {
        for (int i = 0; i < 4; i++)
            for (int s = 0; s < SIDE; s++) {
                const float *const at = images + i * PIXELS + r * SIDE + s;
                const float tone = (at[0] + at[SIDE]) * 2;
                putchar(tones[tone < 0 ? 0 : tone > 4 ? 4 : (int)tone]);
            }
        putchar('\n');
    }
}

/* ---- the network ---- */

static weft_context *ctx;

static void check(weft_status status) {
    if (status == WEFT_OK)
        return;
    fprintf(stderr, "cnn: %s: %s\n", weft_status_name(status), weft_message(ctx));
    exit(2);
}

static float *take(size_t n) {
    void *p;
    check(weft_alloc(ctx, &p, n * sizeof(float)));
    check(weft_fill(ctx, WEFT_F32, n, &(float){0}, p));
    return p;
}

/* Weights, their gradient, and the two moments of Adam. */
typedef struct weights {
    size_t n;
    float *w, *gradient, *first, *second;
} weights;

/* Drawn uniformly around `middle`, and so that the outputs of `inputs` inputs neither grow nor
 * vanish; with 0 inputs all are `middle`. */
static weights take_weights(size_t n, size_t inputs, float middle) {
    const weights k = {n, take(n), take(n), take(n), take(n)};
    const double most = inputs ? sqrt(6.0 / (double)inputs) : 0;
    float *const drawn = malloc(n * sizeof *drawn);
    if (!drawn)
        exit(2);
    for (size_t i = 0; i < n; i++)
        drawn[i] = middle + (float)between(-most, most);
    check(weft_copy(ctx, k.w, drawn, n * sizeof *drawn));
    free(drawn);
    return k;
}

static void step(const weights *k, const weft_adam *adam) {
    check(weft_adam_step(ctx, adam, WEFT_F32, k->n, k->gradient, k->w, k->first, k->second));
}

/* The images between the layers, and the gradients for them. */
typedef struct network {
    weights f1, scale, shift, f2, bias, dense;
    float *x, *a1, *b1, *p1, *a2, *b2, *p2, *y, *loss; /* a: filtered, b: activated, p: pooled */
    float *da1, *dp1, *da2, *dp2, *dy;
    float *mean, *inverse, *running_mean, *running_variance;
    int32_t *labels;
} network;

/* This rank's images of a batch: all of them on one place. */
static size_t own_first, own;

/* What the layers see; deal_out() fills in how many images. A dense layer is a convolution of
 * images of one pixel, whose channels are the features. */
static weft_images in = {WEFT_F32, WEFT_NCHW, 0, 1, SIDE, SIDE};
static weft_images mid1 = {WEFT_F32, WEFT_NCHW, 0, FILTERS1, SIDE, SIDE};
static weft_images in2 = {WEFT_F32, WEFT_NCHW, 0, FILTERS1, SIDE / 2, SIDE / 2};
static weft_images mid2 = {WEFT_F32, WEFT_NCHW, 0, FILTERS2, SIDE / 2, SIDE / 2};
static weft_images features = {WEFT_F32, WEFT_NHWC, 0, FEATURES, 1, 1};
static const weft_conv conv1 = {
    .filters = FILTERS1, .kernel_h = KERNEL, .kernel_w = KERNEL, .pad_h = 2, .pad_w = 2};
static const weft_conv conv2 = {
    .filters = FILTERS2, .kernel_h = KERNEL, .kernel_w = KERNEL, .pad_h = 2, .pad_w = 2};
static const weft_conv dense = {.filters = CLASSES, .kernel_h = 1, .kernel_w = 1};
static const weft_pool halve = {.kind = WEFT_POOL_MAX, .kernel_h = 2, .kernel_w = 2};
static size_t size1, size2;
static const double epsilon = 1e-5;

static void deal_out(void) {
    weft_images *const all[] = {&in, &mid1, &in2, &mid2, &features};
    const size_t rank = (size_t)weft_rank(ctx), ranks = (size_t)weft_ranks(ctx);
    own_first = BATCH * rank / ranks;
    own = BATCH * (rank + 1) / ranks - own_first;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        all[k]->n = own;
    size1 = own * FILTERS1 * PIXELS;
    size2 = own * FILTERS2 * PIXELS / 4;
}

static network take_network(void) {
    void *labels;
    check(weft_alloc(ctx, &labels, own * sizeof(int32_t)));
    const network n = {
        .f1 = take_weights((size_t)FILTERS1 * KERNEL * KERNEL, (size_t)KERNEL * KERNEL, 0),
        .scale = take_weights(FILTERS1, 0, 1),
        .shift = take_weights(FILTERS1, 0, 0),
        .f2 = take_weights((size_t)FILTERS2 * FILTERS1 * KERNEL * KERNEL,
                           (size_t)FILTERS1 * KERNEL * KERNEL, 0),
        .bias = take_weights(FILTERS2, 0, 0),
        .dense = take_weights((size_t)CLASSES * FEATURES, FEATURES, 0),
        .x = take(own * PIXELS),
        .a1 = take(size1),
        .b1 = take(size1),
        .p1 = take(size1 / 4),
        .a2 = take(size2),
        .b2 = take(size2),
        .p2 = take(size2 / 4),
        .y = take(own * CLASSES),
        .loss = take(own),
        .da1 = take(size1),
        .dp1 = take(size1 / 4),
        .da2 = take(size2),
        .dp2 = take(size2 / 4),
        .dy = take(own * CLASSES),
        .mean = take(FILTERS1),
        .inverse = take(FILTERS1),
        .running_mean = take(FILTERS1),
        .running_variance = take(FILTERS1),
        .labels = labels};
    return n;
}

static void drop(const network *n) {
    const weights *const all[] = {&n->f1, &n->scale, &n->shift, &n->f2, &n->bias, &n->dense};
    float *const arrays[] = {
        n->x,   n->a1, n->b1,   n->p1,      n->a2,           n->b2,
        n->p2,  n->y,  n->loss, n->da1,     n->dp1,          n->da2,
        n->dp2, n->dy, n->mean, n->inverse, n->running_mean, n->running_variance};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        check(weft_free(ctx, all[k]->w));
        check(weft_free(ctx, all[k]->gradient));
        check(weft_free(ctx, all[k]->first));
        check(weft_free(ctx, all[k]->second));
    }
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        check(weft_free(ctx, arrays[k]));
    check(weft_free(ctx, n->labels));
}

/* From n->x to n->y; what the gradients need stays. */
static void forward(const network *n, bool training) {
    check(weft_conv_forward(ctx, &in, &conv1, n->x, n->f1.w, n->a1));
    if (training)
        check(weft_batch_norm_forward(ctx, &mid1, epsilon, 0.05, n->a1, n->scale.w, n->shift.w,
                                      n->b1, n->mean, n->inverse, n->running_mean,
                                      n->running_variance));
    else
        check(weft_batch_norm_inference(ctx, &mid1, epsilon, n->a1, n->scale.w, n->shift.w,
                                        n->running_mean, n->running_variance, n->b1));
    check(weft_activation_forward(ctx, WEFT_RELU, WEFT_F32, size1, n->b1, n->b1));
    check(weft_pool_forward(ctx, &mid1, &halve, n->b1, n->p1));
    check(weft_conv_forward(ctx, &in2, &conv2, n->p1, n->f2.w, n->a2));
    check(weft_bias_forward(ctx, &mid2, n->a2, n->bias.w, n->b2));
    check(weft_activation_forward(ctx, WEFT_RELU, WEFT_F32, size2, n->b2, n->b2));
    check(weft_pool_forward(ctx, &mid2, &halve, n->b2, n->p2));
    check(weft_conv_forward(ctx, &features, &dense, n->p2, n->dense.w, n->y));
}

static void backward(const network *n) {
    check(weft_cross_entropy_backward(ctx, WEFT_F32, own, CLASSES, 1.0 / BATCH, n->y, n->labels,
                                      n->dy));
    check(weft_conv_backward_weights(ctx, &features, &dense, n->p2, n->dy, n->dense.gradient));
    check(weft_conv_backward_data(ctx, &features, &dense, n->dy, n->dense.w, n->dp2));
    check(weft_pool_backward(ctx, &mid2, &halve, n->b2, n->dp2, n->da2));
    check(weft_activation_backward(ctx, WEFT_RELU, WEFT_F32, size2, n->b2, n->da2, n->da2));
    check(weft_bias_backward(ctx, &mid2, n->da2, n->bias.gradient));
    check(weft_conv_backward_weights(ctx, &in2, &conv2, n->p1, n->da2, n->f2.gradient));
    check(weft_conv_backward_data(ctx, &in2, &conv2, n->da2, n->f2.w, n->dp1));
    check(weft_pool_backward(ctx, &mid1, &halve, n->b1, n->dp1, n->da1));
    check(weft_activation_backward(ctx, WEFT_RELU, WEFT_F32, size1, n->b1, n->da1, n->da1));
    check(weft_batch_norm_backward(ctx, &mid1, n->a1, n->scale.w, n->mean, n->inverse, n->da1,
                                   n->da1, n->scale.gradient, n->shift.gradient));
    check(weft_conv_backward_weights(ctx, &in, &conv1, n->x, n->da1, n->f1.gradient));
}

/* ---- training ---- */

static double seconds(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* How many of the batch the network read right, on all ranks; *loss is its mean loss. */
static int judge(const network *n, const int32_t *labels, double *loss) {
    float y[BATCH * CLASSES], all_losses;
    int32_t right = 0;
    int64_t all_right;
    check(weft_cross_entropy_forward(ctx, WEFT_F32, own, CLASSES, n->y, n->labels, n->loss));
    check(weft_copy(ctx, y, n->y, own * CLASSES * sizeof *y));
    for (size_t i = 0; i < own; i++) {
        int best = 0;
        for (int k = 1; k < CLASSES; k++)
            best = y[i * CLASSES + (size_t)k] > y[i * CLASSES + (size_t)best] ? k : best;
        right += best == labels[own_first + i];
    }
    check(weft_sum(ctx, own, n->loss, &all_losses));
    check(weft_sum(ctx, 1, &right, &all_right));
    *loss = (double)all_losses / BATCH;
    return (int)all_right;
}

/* All ranks draw the whole batch. */
static void load(const network *n, float *images, int32_t *labels) {
    draw_batch(images, labels);
    check(weft_copy(ctx, n->x, images + own_first * PIXELS, own * PIXELS * sizeof *images));
    check(weft_copy(ctx, n->labels, labels + own_first, own * sizeof *labels));
}

static void train(const network *n, int steps, float *images) {
    int32_t labels[BATCH];
    const weights *const all[] = {&n->f1, &n->scale, &n->shift, &n->f2, &n->bias, &n->dense};
    weft_adam adam = {.rate = 2e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
    const double begin = seconds();
    for (int k = 1; k <= steps; k++) {
        load(n, images, labels);
        forward(n, true);
        backward(n);
        adam.step = (size_t)k;
        adam.rate = 2e-3 * (1 - 0.9 * (k - 1) / steps);
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            step(all[i], &adam);
        if (k % TOLD_EVERY == 0 || k == steps || k == 1) {
            double loss;
            const int right = judge(n, labels, &loss);
            if (weft_rank(ctx) > 0)
                continue;
            printf("step %4d of %d   loss %6.4f   %5.1f %% of the batch   %.0f images/s\n", k,
                   steps, loss, 100.0 * right / BATCH, k * BATCH / (seconds() - begin));
            fflush(stdout);
        }
    }
}

/* The share of unseen digits that the network reads. */
static double try_out(const network *n, float *images) {
    int32_t labels[BATCH];
    int right = 0;
    for (int k = 0; k < TRIED; k++) {
        double loss;
        load(n, images, labels);
        forward(n, false);
        right += judge(n, labels, &loss);
    }
    return (double)right / (TRIED * BATCH);
}

static long number(const char *text, long least) {
    char *end;
    const long value = strtol(text, &end, 10);
    if (*text && !*end && value >= least)
        return value;
    fprintf(stderr, "cnn: %s is not a number of at least %ld\n", text, least);
    exit(2);
}

int main(int argc, char **argv) {
    const char *place = NULL;
    int steps = USUAL_STEPS, least = USUAL_LEAST;
    static float images[BATCH * PIXELS];
    int32_t labels[BATCH];
    state = 1;
    for (int k = 1; k < argc; k += 2) {
        const bool has_value = k + 1 < argc;
        if (has_value && strcmp(argv[k], "--place") == 0)
            place = argv[k + 1];
        else if (has_value && strcmp(argv[k], "--steps") == 0)
            steps = (int)number(argv[k + 1], 1);
        else if (has_value && strcmp(argv[k], "--seed") == 0)
            state = (uint64_t)number(argv[k + 1], 0);
        else if (has_value && strcmp(argv[k], "--least") == 0)
            least = (int)number(argv[k + 1], 0);
        else {
            fprintf(stderr,
                    "usage: cnn [--place PLACE] [--steps N] [--seed N] [--least PERCENT]\n");
            return 2;
        }
    }
    check(weft_open(&ctx, place));
    deal_out();
    draw_batch(images, labels);
    if (weft_rank(ctx) == 0) {
        show(images);
        printf("place %s, %d rank%s\n", weft_place(ctx), weft_ranks(ctx),
               weft_ranks(ctx) > 1 ? "s" : "");
    }
    const network n = take_network();
    train(&n, steps, images);
    const double share = try_out(&n, images);
    if (weft_rank(ctx) == 0)
        printf("unseen digits read: %.2f %% of %d\n", 100 * share, TRIED * BATCH);
    drop(&n);
    weft_close(ctx);
    return !(100 * share >= least);
}
