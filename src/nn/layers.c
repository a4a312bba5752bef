/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of layers that see no images: activations, softmax and cross-entropy, steps. */
#include "nn/layers.h"

#include <math.h>

#include "comm/dist.h"

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_layer_args args = *(const wi_layer_args *)user;
    const int arrays = call->count - (args.step != WI_LAYER_WHOLE);
    for (int k = 0; k < arrays; k++)
        args.array[k] = part->p[k];
    if (arrays < call->count)
        args.sums = part->p[arrays];
    return wi_run(ctx, &wi_layers_ladder, call->name, args.type, &args);
}

weft_status wi_layer_run(weft_context *ctx, wi_call *call, wi_layer_args *args) {
    return wi_call_run(ctx, call, run, args);
}

void wi_layer_begin(wi_call *call, const char *name) {
    wi_call_begin(call, name, 0, 0);
    call->distributed = true;
}

weft_status wi_layer_call(weft_context *ctx, wi_call *call, wi_layer_args *args, int result) {
    const weft_status status = wi_call_check(ctx, call);
    if (wi_is_dist(ctx))
        return wi_layer_over_ranks(ctx, call, args, result, status);
    if (status != WEFT_OK || call->array[result].bytes == 0)
        return status;
    if (wi_layer_wants_gpus(ctx, call, args))
        return wi_layer_over_gpus(ctx, call, args, result);
    return wi_layer_run(ctx, call, args);
}

weft_status wi_layer_refuse(weft_context *ctx, const char *call, weft_status status) {
    return wi_is_dist(ctx) ? wi_dist_run(ctx, &wi_layers_ladder, call, WI_NO_TYPE, 0, status, NULL)
                           : status;
}

static wi_array in_place_of(wi_array array, int other) {
    array.in_place = 1u << other;
    return array;
}

static weft_status check_type(weft_context *ctx, const char *call, weft_type type) {
    return wi_check_context(ctx) != WEFT_OK ? WEFT_EARG : wi_nn_check_type(ctx, call, type);
}

/* ---- activations ---- */

static weft_status check_activation(weft_context *ctx, const char *call, weft_activation kind,
                                    weft_type type) {
    const weft_status status = check_type(ctx, call, type);
    if (status == WEFT_OK && kind != WEFT_RELU && kind != WEFT_SIGMOID && kind != WEFT_TANH)
        return wi_fail(ctx, WEFT_EARG, "%s: kind is %d; pass WEFT_RELU, WEFT_SIGMOID or WEFT_TANH",
                       call, (int)kind);
    return status;
}

weft_status weft_activation_forward(weft_context *ctx, weft_activation kind, weft_type type,
                                    size_t n, const void *x, void *y) {
    static const char name[] = "weft_activation_forward";
    wi_layer_args args = {.layer = WI_LAYER_ACTIVATION, .type = type, .kind = (int)kind, .n = n};
    wi_call call;
    const weft_status status = check_activation(ctx, name, kind, type);
    if (status != WEFT_OK)
        return wi_layer_refuse(ctx, name, status);
    wi_layer_begin(&call, name);
    wi_call_add(&call, wi_elements("x", x, n, type, WI_IN));
    wi_call_add(&call, in_place_of(wi_elements("y", y, n, type, WI_OUT), 0));
    return wi_layer_call(ctx, &call, &args, 1);
}

weft_status weft_activation_backward(weft_context *ctx, weft_activation kind, weft_type type,
                                     size_t n, const void *y, const void *dy, void *dx) {
    static const char name[] = "weft_activation_backward";
    wi_layer_args args = {
        .layer = WI_LAYER_ACTIVATION_BACK, .type = type, .kind = (int)kind, .n = n};
    wi_call call;
    const weft_status status = check_activation(ctx, name, kind, type);
    if (status != WEFT_OK)
        return wi_layer_refuse(ctx, name, status);
    wi_layer_begin(&call, name);
    wi_call_add(&call, wi_elements("y", y, n, type, WI_IN));
    wi_call_add(&call, wi_elements("dy", dy, n, type, WI_IN));
    wi_call_add(&call, in_place_of(wi_elements("dx", dx, n, type, WI_OUT), 1));
    return wi_layer_call(ctx, &call, &args, 2);
}

/* ---- softmax and cross-entropy ---- */

static weft_status check_rows(weft_context *ctx, const char *call, weft_type type, size_t n,
                              size_t classes) {
    size_t all;
    const weft_status status = check_type(ctx, call, type);
    if (status != WEFT_OK)
        return status;
    if (classes == 0 || classes > WI_IMAGES_MOST)
        return wi_fail(ctx, WEFT_EARG, "%s: classes is %zu; pass 1 to 2^30", call, classes);
    if (__builtin_mul_overflow(n, classes, &all))
        return wi_fail(ctx, WEFT_EARG, "%s: n is %zu, more rows of %zu classes than memory holds",
                       call, n, classes);
    return WEFT_OK;
}

weft_status weft_softmax_forward(weft_context *ctx, weft_type type, size_t n, size_t classes,
                                 const void *x, void *y) {
    static const char name[] = "weft_softmax_forward";
    wi_layer_args args = {.layer = WI_LAYER_SOFTMAX, .type = type, .n = n, .classes = classes};
    wi_call call;
    const weft_status status = check_rows(ctx, name, type, n, classes);
    if (status != WEFT_OK)
        return wi_layer_refuse(ctx, name, status);
    wi_layer_begin(&call, name);
    wi_call_add(&call, wi_elements("x", x, n * classes, type, WI_IN));
    wi_call_add(&call, in_place_of(wi_elements("y", y, n * classes, type, WI_OUT), 0));
    return wi_layer_call(ctx, &call, &args, 1);
}

static weft_status cross_entropy(weft_context *ctx, const char *name, wi_layer_args *args,
                                 const void *x, const int32_t *label, wi_array result) {
    wi_call call;
    wi_layer_begin(&call, name);
    wi_call_add(&call, wi_elements("x", x, args->n * args->classes, args->type, WI_IN));
    wi_call_add(&call, wi_elements("label", label, args->n, WEFT_I32, WI_IN));
    wi_call_add(&call, result);
    return wi_layer_call(ctx, &call, args, 2);
}

weft_status weft_cross_entropy_forward(weft_context *ctx, weft_type type, size_t n, size_t classes,
                                       const void *x, const int32_t *label, void *loss) {
    static const char name[] = "weft_cross_entropy_forward";
    wi_layer_args args = {.layer = WI_LAYER_LOSS, .type = type, .n = n, .classes = classes};
    const weft_status status = check_rows(ctx, name, type, n, classes);
    if (status != WEFT_OK)
        return wi_layer_refuse(ctx, name, status);
    return cross_entropy(ctx, name, &args, x, label,
                         wi_elements("loss", loss, n, wi_nn_wide_type(type), WI_OUT));
}

weft_status weft_cross_entropy_backward(weft_context *ctx, weft_type type, size_t n, size_t classes,
                                        double scale, const void *x, const int32_t *label,
                                        void *dx) {
    static const char name[] = "weft_cross_entropy_backward";
    wi_layer_args args = {
        .layer = WI_LAYER_LOSS_BACK, .type = type, .n = n, .classes = classes, .factor = {scale}};
    const weft_status status = check_rows(ctx, name, type, n, classes);
    if (status != WEFT_OK)
        return wi_layer_refuse(ctx, name, status);
    return cross_entropy(ctx, name, &args, x, label,
                         in_place_of(wi_elements("dx", dx, n * classes, type, WI_OUT), 0));
}

/* ---- steps ---- */

static weft_status check_finite(weft_context *ctx, const char *call, const char *name, double x) {
    return isfinite(x)
               ? WEFT_OK
               : wi_fail(ctx, WEFT_EARG, "%s: %s is %g; pass a finite number", call, name, x);
}

static weft_status check_sgd(weft_context *ctx, const char *call, const weft_sgd *sgd) {
    if (!sgd)
        return wi_fail(ctx, WEFT_EARG, "%s: sgd is NULL; pass a weft_sgd", call);
    weft_status status = check_finite(ctx, call, "rate", sgd->rate);
    if (status == WEFT_OK)
        status = check_finite(ctx, call, "momentum", sgd->momentum);
    return status == WEFT_OK ? check_finite(ctx, call, "weight_decay", sgd->weight_decay) : status;
}

weft_status weft_sgd_step(weft_context *ctx, const weft_sgd *sgd, weft_type type, size_t n,
                          const void *gradient, void *w, void *velocity) {
    static const char name[] = "weft_sgd_step";
    wi_layer_args args = {.layer = WI_LAYER_SGD, .type = type, .n = n};
    wi_call call;
    weft_status status = check_type(ctx, name, type);
    if (status == WEFT_OK)
        status = check_sgd(ctx, name, sgd);
    if (status != WEFT_OK)
        return wi_layer_refuse(ctx, name, status);
    args.factor[0] = sgd->rate;
    args.factor[1] = sgd->momentum;
    args.factor[2] = sgd->weight_decay;
    wi_layer_begin(&call, name);
    wi_call_add(&call, wi_elements("gradient", gradient, n, type, WI_IN));
    wi_call_add(&call, wi_elements("w", w, n, wi_nn_wide_type(type), WI_IN | WI_OUT));
    wi_call_add(&call, wi_elements("velocity", velocity, n, wi_nn_wide_type(type),
                                   WI_IN | WI_OUT | (sgd->momentum == 0 ? WI_OPTIONAL : 0)));
    return wi_layer_call(ctx, &call, &args, 1);
}

static weft_status check_adam(weft_context *ctx, const char *call, const weft_adam *a) {
    if (!a)
        return wi_fail(ctx, WEFT_EARG, "%s: adam is NULL; pass a weft_adam", call);
    const double beta[] = {a->beta1, a->beta2};
    weft_status status = check_finite(ctx, call, "rate", a->rate);
    if (status == WEFT_OK)
        status = check_finite(ctx, call, "weight_decay", a->weight_decay);
    for (int k = 0; k < 2 && status == WEFT_OK; k++)
        if (!(beta[k] >= 0 && beta[k] < 1))
            status = wi_fail(ctx, WEFT_EARG, "%s: beta%d is %g; pass a number from 0 to below 1",
                             call, k + 1, beta[k]);
    if (status == WEFT_OK && !(a->epsilon > 0 && isfinite(a->epsilon)))
        status = wi_fail(ctx, WEFT_EARG, "%s: epsilon is %g; pass a small number above 0", call,
                         a->epsilon);
    if (status == WEFT_OK && a->step == 0)
        status = wi_fail(ctx, WEFT_EARG, "%s: step is 0; count steps from 1", call);
    return status;
}

weft_status weft_adam_step(weft_context *ctx, const weft_adam *adam, weft_type type, size_t n,
                           const void *gradient, void *w, void *first, void *second) {
    static const char name[] = "weft_adam_step";
    wi_layer_args args = {.layer = WI_LAYER_ADAM, .type = type, .n = n};
    wi_call call;
    weft_status status = check_type(ctx, name, type);
    if (status == WEFT_OK)
        status = check_adam(ctx, name, adam);
    if (status != WEFT_OK)
        return wi_layer_refuse(ctx, name, status);
    args.factor[WI_ADAM_RATE] = adam->rate;
    args.factor[WI_ADAM_BETA1] = adam->beta1;
    args.factor[WI_ADAM_BETA2] = adam->beta2;
    args.factor[WI_ADAM_EPSILON] = adam->epsilon;
    args.factor[WI_ADAM_DECAY] = adam->weight_decay;
    args.first_power = 1 - pow(adam->beta1, (double)adam->step);
    args.second_power = 1 - pow(adam->beta2, (double)adam->step);
    wi_layer_begin(&call, name);
    wi_call_add(&call, wi_elements("gradient", gradient, n, type, WI_IN));
    wi_call_add(&call, wi_elements("w", w, n, wi_nn_wide_type(type), WI_IN | WI_OUT));
    wi_call_add(&call, wi_elements("first", first, n, wi_nn_wide_type(type), WI_IN | WI_OUT));
    wi_call_add(&call, wi_elements("second", second, n, wi_nn_wide_type(type), WI_IN | WI_OUT));
    return wi_layer_call(ctx, &call, &args, 1);
}
