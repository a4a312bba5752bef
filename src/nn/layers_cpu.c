/* SPDX-License-Identifier: Apache-2.0 */
/* The rung loops of the layers: threads share lines of pixels, rows, elements or channels. Each
 * result is made by one thread in one order, so that the bits do not depend on their number. */
#include <math.h>

#include "cpu/stream.h"
#include "cpu/team.h"
#include "nn/widen.h"

#define WI_PIXELS_INLINE static inline
#include "nn/layers_pixels.h"

#define INLINE static inline
#define SAMPLE(f) f##_f32
#define REAL float
#include "nn/layers_samples.inc"
#define NAME(f) f##_f32
#define STORED float
#define LOAD(v) (v)
#include "nn/layers_pixels.inc"
#undef SAMPLE
#undef REAL
#define SAMPLE(f) f##_f64
#define REAL double
#include "nn/layers_samples.inc"
#define NAME(f) f##_f64
#define STORED double
#define LOAD(v) (v)
#include "nn/layers_pixels.inc"
#undef REAL

#define NAME(f) f##_f32
#define REAL float
#define EXP expf
#define TANH tanhf
#include "nn/layers_loops.inc"
#define NAME(f) f##_f64
#define REAL double
#define EXP exp
#define TANH tanh
#include "nn/layers_loops.inc"

enum {
    STREAM_BYTES = 1 << 24, /* a larger array would not stay in a cache until it is next used */
    STREAMED_BYTES = 2048   /* computed in a buffer in the cache, then written to memory past it */
};

/* A call, and the factors of each channel that its second step uses. */
typedef struct job {
    const wi_layer_args *args;
    size_t units;
    void *room;
    void (*work)(const struct job *j, size_t first, size_t end);
} job;

static void run_share(void *user, int rank, int team) {
    const job *const j = user;
    j->work(j, wi_team_share(j->units, rank, team), wi_team_share(j->units, rank + 1, team));
}

/* Shares `units` among threads, if the call's bytes are worth it. */
static void share(const weft_context *ctx, job j, size_t units,
                  void (*work)(const job *j, size_t first, size_t end)) {
    const size_t elements = j.args->n * (j.args->classes ? j.args->classes : 1);
    const int team = wi_team_size(ctx, units, 4 * elements * weft_type_size(j.args->type));
    j.units = units;
    j.work = work;
    if (team == 1)
        work(&j, 0, units);
    else
        wi_team_run(ctx, team, run_share, &j);
}

static bool is_f32(const job *j) {
    return j->args->type == WEFT_F32;
}

static void do_lines(const job *j, size_t first, size_t end) {
    (is_f32(j) ? sample_lines_f32 : sample_lines_f64)(j->args, first, end);
}

/* Elements of an activation or its gradient: arrays 0 ... inputs - 1 are read, the next one is
 * written. */
static void map_elements(const job *j, int inputs,
                         void (*work)(const wi_layer_args *a, size_t first, size_t end),
                         size_t first, size_t end) {
    const wi_layer_args *const a = j->args;
    const size_t size = weft_type_size(a->type), most = STREAMED_BYTES / size;
    bool streams = a->n >= STREAM_BYTES / size;
    for (int k = 0; k < inputs; k++)
        streams = streams && a->array[k] != a->array[inputs];
    if (!streams) {
        work(a, first, end);
        return;
    }
    _Alignas(WI_LINE_BYTES) char made[STREAMED_BYTES];
    wi_layer_args part = *a;
    part.array[inputs] = made;
    for (size_t i = first; i < end; i += most) {
        const size_t n = end - i < most ? end - i : most;
        for (int k = 0; k < inputs; k++)
            part.array[k] = (char *)a->array[k] + i * size;
        work(&part, 0, n);
        wi_stream((char *)a->array[inputs] + i * size, made, n * size);
    }
    wi_stream_done();
}

static void do_elements(const job *j, size_t first, size_t end) {
    const wi_layer_args *const a = j->args;
    switch (a->layer) {
    case WI_LAYER_ACTIVATION:
        map_elements(j, 1, is_f32(j) ? activate_f32 : activate_f64, first, end);
        break;
    case WI_LAYER_ACTIVATION_BACK:
        map_elements(j, 2, is_f32(j) ? activate_back_f32 : activate_back_f64, first, end);
        break;
    case WI_LAYER_SGD:
        (is_f32(j) ? step_sgd_f32 : step_sgd_f64)(a, first, end);
        break;
    case WI_LAYER_ADAM:
        (is_f32(j) ? step_adam_f32 : step_adam_f64)(a, first, end);
        break;
    default:
        for (size_t i = first; i < end; i++)
            (is_f32(j) ? row_f32 : row_f64)(a, i);
    }
}

/* Pixels minus, times and plus numbers of each channel. */
static void scale(const job *j, size_t first, size_t end) {
    const wi_layer_args *const a = j->args;
    const bool is_bias = a->layer == WI_LAYER_BIAS, trains = a->layer == WI_LAYER_NORM;
    const void *const minus = is_bias ? NULL : a->array[trains ? 4 : 3];
    const void *const plus = a->array[is_bias ? 1 : 2];
    void *const to = a->array[is_bias ? 2 : trains ? 3 : 5];
    if (is_f32(j))
        scale_lines_f32(a, a->array[0], minus, j->room, plus, to, first, end);
    else
        scale_lines_f64(a, a->array[0], minus, j->room, plus, to, first, end);
}

static void combine(const job *j, size_t first, size_t end) {
    const wi_layer_args *const a = j->args;
    if (is_f32(j))
        combine_lines_f32(a, a->array[4], a->array[0], j->room, a->array[5], first, end);
    else
        combine_lines_f64(a, a->array[4], a->array[0], j->room, a->array[5], first, end);
}

/* The numbers of channels. */
static void measure(const job *j, size_t first, size_t end) {
    const wi_layer_args *const a = j->args;
    if (a->step == WI_LAYER_SUMS)
        (is_f32(j) ? put_sums_f32 : put_sums_f64)(a, first, end);
    else if (a->layer == WI_LAYER_BIAS_BACK)
        (is_f32(j) ? sum_bias_f32 : sum_bias_f64)(a, first, end);
    else if (a->layer == WI_LAYER_NORM_BACK)
        (is_f32(j) ? measure_back_f32 : measure_back_f64)(a, first, end, j->room);
    else if (is_f32(j))
        (a->layer == WI_LAYER_NORM ? measure_f32 : infer_f32)(a, first, end, j->room);
    else
        (a->layer == WI_LAYER_NORM ? measure_f64 : infer_f64)(a, first, end, j->room);
}

/* Planes, or pixels with all their channels. */
static size_t lines_of(const wi_layer_args *a) {
    return a->in.n * (a->in.layout == WEFT_NCHW ? a->in.c : a->in.h * a->in.w);
}

/* First the numbers of each channel, then the pixels. */
static weft_status normalise(weft_context *ctx, job j) {
    const wi_layer_args *const a = j.args;
    j.room = wi_host_alloc(3 * a->in.c * sizeof(double));
    if (!j.room)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_batch_norm: no memory for factors of %zu channels",
                       a->in.c);
    share(ctx, j, a->in.c, measure);
    share(ctx, j, lines_of(a), a->layer == WI_LAYER_NORM_BACK ? combine : scale);
    wi_host_free(j.room);
    return WEFT_OK;
}

static size_t sampled_lines(const wi_layer_args *a) {
    const bool back = a->layer == WI_LAYER_POOL_BACK || a->layer == WI_LAYER_UPSAMPLE_BACK;
    const size_t height = (size_t)(back ? a->sampling.height : a->sampling.out_height);
    return a->in.n * height * (a->in.layout == WEFT_NCHW ? a->in.c : 1);
}

static weft_status run_wide(weft_context *ctx, const wi_layer_args *a) {
    const job j = {.args = a};
    if (a->step == WI_LAYER_SUMS) {
        share(ctx, j, a->in.c, measure);
        return WEFT_OK;
    }
    switch (a->layer) {
    case WI_LAYER_POOL:
    case WI_LAYER_POOL_BACK:
    case WI_LAYER_UPSAMPLE:
    case WI_LAYER_UPSAMPLE_BACK:
        share(ctx, j, sampled_lines(a), do_lines);
        return WEFT_OK;
    case WI_LAYER_BIAS:
        share(ctx, j, lines_of(a), scale);
        return WEFT_OK;
    case WI_LAYER_BIAS_BACK:
        share(ctx, j, a->in.c, measure);
        return WEFT_OK;
    case WI_LAYER_NORM:
    case WI_LAYER_NORM_INFERENCE:
    case WI_LAYER_NORM_BACK:
        return normalise(ctx, j);
    default:
        share(ctx, j, a->n, do_elements);
        return WEFT_OK;
    }
}

/* ---- f16 and bf16: as f32 ---- */

/* Arrays of the type of the images or elements; all others are wider. */
typedef struct narrow_array {
    int index;
    unsigned use;
    bool is_y; /* of pooling and up-sampling: as many elements as y has */
} narrow_array;

enum {
    MOST_NARROW = 3
};

/* By layer. */
static const narrow_array narrow_arrays[][MOST_NARROW] = {
    [WI_LAYER_POOL] = {{0, WI_IN, false}, {1, WI_OUT, true}},
    [WI_LAYER_POOL_BACK] = {{0, WI_IN, false}, {1, WI_IN, true}, {2, WI_OUT, false}},
    [WI_LAYER_UPSAMPLE] = {{0, WI_IN, false}, {1, WI_OUT, true}},
    [WI_LAYER_UPSAMPLE_BACK] = {{0, WI_IN, true}, {1, WI_OUT, false}},
    [WI_LAYER_BIAS] = {{0, WI_IN, false}, {2, WI_OUT, false}},
    [WI_LAYER_BIAS_BACK] = {{0, WI_IN, false}},
    [WI_LAYER_ACTIVATION] = {{0, WI_IN, false}, {1, WI_OUT, false}},
    [WI_LAYER_ACTIVATION_BACK] = {{0, WI_IN, false}, {1, WI_IN, false}, {2, WI_OUT, false}},
    [WI_LAYER_SOFTMAX] = {{0, WI_IN, false}, {1, WI_OUT, false}},
    [WI_LAYER_LOSS] = {{0, WI_IN, false}},
    [WI_LAYER_LOSS_BACK] = {{0, WI_IN, false}, {2, WI_OUT, false}},
    [WI_LAYER_NORM] = {{0, WI_IN, false}, {3, WI_OUT, false}},
    [WI_LAYER_NORM_INFERENCE] = {{0, WI_IN, false}, {5, WI_OUT, false}},
    [WI_LAYER_NORM_BACK] = {{0, WI_IN, false}, {4, WI_IN, false}, {5, WI_OUT, false}},
    [WI_LAYER_SGD] = {{0, WI_IN, false}},
    [WI_LAYER_ADAM] = {{0, WI_IN, false}},
};

static size_t elements_of(const wi_layer_args *a, bool is_y) {
    const wi_sampling *const z = &a->sampling;
    if (a->layer > WI_LAYER_UPSAMPLE_BACK)
        return a->n * (a->classes ? a->classes : 1);
    return is_y ? a->in.n * a->in.c * (size_t)z->out_height * (size_t)z->out_width
                : wi_image_elements(&a->in);
}

weft_status wi_layers_loops(weft_context *ctx, const void *args) {
    wi_layer_args a = *(const wi_layer_args *)args;
    wi_widening w = {.type = a.type};
    if (!wi_nn_is_half(a.type))
        return run_wide(ctx, &a);
    for (int k = 0; k < MOST_NARROW; k++) {
        const narrow_array *const n = &narrow_arrays[a.layer][k];
        if (n->use)
            wi_widening_add(&w, &a.array[n->index], elements_of(&a, n->is_y), n->use);
    }
    a.type = a.in.type = WEFT_F32;
    const weft_status status = wi_widening_begin(ctx, &w);
    return status == WEFT_OK ? wi_widening_end(ctx, &w, run_wide(ctx, &a)) : status;
}
