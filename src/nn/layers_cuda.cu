/* SPDX-License-Identifier: Apache-2.0 */
/* The rung streams of the layers: activations and steps, element by element; softmax and
 * cross-entropy, a warp for a row; and which file does which layer. */
#include "nn/layers_cuda.cuh"

constexpr int threads = wi_layer_threads;

namespace {

/* What a step is made of, in the type. */
template <class T>
struct adam_factors {
    T rate, decay, beta1, beta2, rest1, rest2, epsilon, first_power, second_power;
};

} // namespace

static __device__ float exp_of(float x) {
    return expf(x);
}
static __device__ double exp_of(double x) {
    return exp(x);
}
static __device__ float tanh_of(float x) {
    return tanhf(x);
}
static __device__ double tanh_of(double x) {
    return tanh(x);
}
static __device__ float root_of(float x) {
    return sqrtf(x);
}
static __device__ double root_of(double x) {
    return sqrt(x);
}

template <class T>
static __global__ void __launch_bounds__(threads) activate(int kind, size_t n, const T *x, T *y) {
    wi_layer_each_of(n, [=](size_t i) {
        const T v = x[i];
        if (kind == WEFT_RELU)
            y[i] = v > 0 || v != v ? v : 0;
        else
            y[i] = kind == WEFT_SIGMOID ? 1 / (1 + exp_of(-v)) : tanh_of(v);
    });
}

template <class T>
static __global__ void __launch_bounds__(threads)
    activate_back(int kind, size_t n, const T *y, const T *dy, T *dx) {
    wi_layer_each_of(n, [=](size_t i) {
        const T v = y[i];
        const T slope = kind == WEFT_RELU      ? (T)(v > 0)
                        : kind == WEFT_SIGMOID ? v * (1 - v)
                                               : 1 - v * v;
        dx[i] = dy[i] * slope;
    });
}

template <class T>
static __global__ void __launch_bounds__(threads)
    step_sgd(size_t n, T rate, T momentum, T decay, const T *gradient, T *w, T *velocity) {
    wi_layer_each_of(n, [=](size_t i) {
        T v = gradient[i] + decay * w[i];
        if (velocity) {
            v = momentum == 0 ? v : momentum * velocity[i] + v;
            velocity[i] = v;
        }
        w[i] -= rate * v;
    });
}

template <class T>
static __global__ void __launch_bounds__(threads)
    step_adam(size_t n, adam_factors<T> f, const T *gradient, T *w, T *first, T *second) {
    wi_layer_each_of(n, [=](size_t i) {
        const T g = gradient[i];
        const T m = f.beta1 * first[i] + f.rest1 * g;
        const T v = f.beta2 * second[i] + f.rest2 * (g * g);
        first[i] = m;
        second[i] = v;
        w[i] -= f.rate *
                (f.decay * w[i] + m / f.first_power / (root_of(v / f.second_power) + f.epsilon));
    });
}

/* ---- rows ---- */

/* A warp makes a row: its largest element, then the sum, then what is asked for. */
template <class T>
static __global__ void __launch_bounds__(threads)
    rows_of_classes(wi_layer layer, size_t n, size_t classes, double scale, const T *x,
                    const int32_t *labels, T *to) {
    const size_t row = (size_t)blockIdx.x * (threads / 32) + threadIdx.x / 32;
    const size_t lane = threadIdx.x % 32;
    if (row >= n)
        return;
    x += row * classes;
    T most = x[0];
    for (size_t k = lane; k < classes; k += 32)
        most = x[k] > most ? x[k] : most;
    most = wi_warp_reduce(most, [](T a, T b) { return b > a ? b : a; });
    double sum = 0;
    for (size_t k = lane; k < classes; k += 32)
        sum += (double)exp_of(x[k] - most);
    sum = wi_warp_reduce(sum, [](double a, double b) { return a + b; });
    const int32_t label = layer == WI_LAYER_SOFTMAX ? 0 : labels[row];
    const bool is_label = label >= 0 && (size_t)label < classes;
    if (layer == WI_LAYER_LOSS) {
        if (lane == 0)
            to[row] = is_label ? (T)(log(sum) - ((double)x[label] - (double)most)) : (T)NAN;
        return;
    }
    to += row * classes;
    for (size_t k = lane; k < classes; k += 32) {
        const double share = (double)exp_of(x[k] - most) / sum;
        if (layer == WI_LAYER_SOFTMAX)
            to[k] = (T)share;
        else
            to[k] = is_label ? (T)(scale * (share - (k == (size_t)label))) : (T)NAN;
    }
}

template <class T>
static weft_status run(weft_context *ctx, const wi_layer_args *a) {
    T *const first = (T *)a->array[0], *const second = (T *)a->array[1];
    T *const third = (T *)a->array[2], *const fourth = (T *)a->array[3];
    const double *const f = a->factor;
    const bool by_rows = a->classes > 0;
    const size_t blocks = wi_layer_pieces(a->n, by_rows ? threads / 32 : wi_layer_block);
    const weft_status status = wi_layer_check_grid(ctx, blocks);
    if (status != WEFT_OK)
        return status;
    switch (a->layer) {
    case WI_LAYER_ACTIVATION:
        return WEFT_LAUNCH(activate<T>, ctx, (unsigned)blocks, threads, 0, a->kind, a->n, first,
                           second);
    case WI_LAYER_ACTIVATION_BACK:
        return WEFT_LAUNCH(activate_back<T>, ctx, (unsigned)blocks, threads, 0, a->kind, a->n,
                           first, second, third);
    case WI_LAYER_SGD:
        return WEFT_LAUNCH(step_sgd<T>, ctx, (unsigned)blocks, threads, 0, a->n, (T)f[0], (T)f[1],
                           (T)f[2], first, second, third);
    case WI_LAYER_ADAM: {
        const adam_factors<T> factors = {
            (T)f[WI_ADAM_RATE],    (T)f[WI_ADAM_DECAY],       (T)f[WI_ADAM_BETA1],
            (T)f[WI_ADAM_BETA2],   (T)(1 - f[WI_ADAM_BETA1]), (T)(1 - f[WI_ADAM_BETA2]),
            (T)f[WI_ADAM_EPSILON], (T)a->first_power,         (T)a->second_power};
        return WEFT_LAUNCH(step_adam<T>, ctx, (unsigned)blocks, threads, 0, a->n, factors, first,
                           second, third, fourth);
    }
    default: {
        const bool is_softmax = a->layer == WI_LAYER_SOFTMAX;
        return WEFT_LAUNCH(rows_of_classes<T>, ctx, (unsigned)blocks, threads, 0, a->layer, a->n,
                           a->classes, f[0], first, (const int32_t *)a->array[1],
                           is_softmax ? second : third);
    }
    }
}

weft_status wi_layers_elements(weft_context *ctx, const wi_layer_args *a) {
    return wi_layer_with_type(a->type,
                              [=](auto tag) { return run<typename decltype(tag)::type>(ctx, a); });
}

weft_status wi_layers_streams(weft_context *ctx, const void *args) {
    const wi_layer_args *const a = (const wi_layer_args *)args;
    switch (a->layer) {
    case WI_LAYER_POOL:
    case WI_LAYER_POOL_BACK:
    case WI_LAYER_UPSAMPLE:
    case WI_LAYER_UPSAMPLE_BACK:
        return wi_layers_pixels(ctx, a);
    case WI_LAYER_BIAS:
    case WI_LAYER_BIAS_BACK:
    case WI_LAYER_NORM:
    case WI_LAYER_NORM_INFERENCE:
    case WI_LAYER_NORM_BACK:
        return wi_layers_channels(ctx, a);
    default:
        return wi_layers_elements(ctx, a);
    }
}
