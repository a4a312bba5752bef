/* SPDX-License-Identifier: Apache-2.0 */
/* The rung streams of the layers: activations and steps, element by element; softmax and
 * cross-entropy, a warp for a row; and which file does which layer. */
#include "nn/layers_walk.cuh"

constexpr int threads = wi_layer_threads;

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

namespace {

constexpr int most_arrays = 4;

/* What is done to elements: `in` becomes `out`, each of so many arrays. */
template <class T>
struct activation {
    static constexpr int inputs = 1, outputs = 1;
    int kind;
    __device__ void operator()(const T *in, T *out) const {
        const T v = in[0];
        if (kind == WEFT_RELU)
            out[0] = v > 0 || v != v ? v : 0;
        else
            out[0] = kind == WEFT_SIGMOID ? 1 / (1 + exp_of(-v)) : tanh_of(v);
    }
};

template <class T>
struct activation_back {
    static constexpr int inputs = 2, outputs = 1;
    int kind;
    __device__ void operator()(const T *in, T *out) const {
        const T v = in[0], of_sigmoid = v * (1 - v), of_tanh = 1 - v * v;
        const T slope = kind == WEFT_SIGMOID ? of_sigmoid : of_tanh;
        out[0] = in[1] * (kind == WEFT_RELU ? (T)(v > 0) : slope);
    }
};

template <class T>
struct plain_step {
    static constexpr int inputs = 2, outputs = 1;
    T rate, decay;
    __device__ void operator()(const T *in, T *out) const {
        out[0] = in[1] - rate * (in[0] + decay * in[1]);
    }
};

template <class T>
struct sgd_step {
    static constexpr int inputs = 3, outputs = 2;
    T rate, momentum, decay;
    __device__ void operator()(const T *in, T *out) const {
        const T v = in[0] + decay * in[1];
        out[1] = momentum == 0 ? v : momentum * in[2] + v;
        out[0] = in[1] - rate * out[1];
    }
};

template <class T>
struct adam_step {
    static constexpr int inputs = 4, outputs = 3;
    T rate, decay, beta1, beta2, rest1, rest2, epsilon, first_power, second_power;
    __device__ void operator()(const T *in, T *out) const {
        const T g = in[0], m = beta1 * in[2] + rest1 * g, v = beta2 * in[3] + rest2 * (g * g);
        out[1] = m;
        out[2] = v;
        out[0] = in[1] -
                 rate * (decay * in[1] + m / first_power / (root_of(v / second_power) + epsilon));
    }
};

/* Arrays that are read, and written: the first that is read of type G, the others of T. */
template <class G, class T>
struct element_arrays {
    const G *first;
    const T *in[most_arrays - 1];
    T *out[most_arrays];
};

} // namespace

constexpr int rounds = 2; /* of 16 bytes, of the widest arrays, that a thread takes at a time */

/* Elements i and on, as many as a vector of T has; 0 behind the last. */
template <int width, class T>
static __device__ wi_wide_pack<T, width> load(const T *x, size_t i, size_t n, bool aligned) {
    if (aligned && i + width <= n)
        return wi_pack_load<T, width>(x + i);
    wi_wide_pack<T, width> v;
#pragma unroll
    for (int e = 0; e < width; e++)
        v.at[e] = i + (size_t)e < n ? wi_load(x[i + (size_t)e]) : 0;
    return v;
}

template <int width, class T>
static __device__ void store(T *y, size_t i, size_t n, bool aligned,
                             const wi_wide_pack<T, width> &v) {
    if (aligned && i + width <= n)
        wi_pack_store<T, width>(y + i, v);
    else
#pragma unroll
        for (int e = 0; e < width; e++)
            if (i + (size_t)e < n)
                y[i + (size_t)e] = (T)v.at[e];
}

/* Each thread reads all that it takes, and then writes: arrays may be in place. */
template <class G, class T, class Work>
static __global__ void __launch_bounds__(threads, 4)
    each_element(size_t n, const __grid_constant__ element_arrays<G, T> a, Work work,
                 bool aligned) {
    using C = wi_compute<T>;
    constexpr int width = wi_vector<T>::count;
    const size_t first = ((size_t)blockIdx.x * rounds * threads + threadIdx.x) * width;
    wi_wide_pack<T, width> in[rounds][Work::inputs];
#pragma unroll
    for (int r = 0; r < rounds; r++) {
        const size_t at = first + (size_t)(r * threads * width);
        in[r][0] = load<width>(a.first, at, n, aligned);
#pragma unroll
        for (int k = 1; k < Work::inputs; k++)
            in[r][k] = load<width>(a.in[k - 1], at, n, aligned);
    }
#pragma unroll
    for (int r = 0; r < rounds; r++) {
        wi_wide_pack<T, width> out[Work::outputs];
#pragma unroll
        for (int v = 0; v < width; v++) {
            C from[Work::inputs], to[Work::outputs];
#pragma unroll
            for (int k = 0; k < Work::inputs; k++)
                from[k] = in[r][k].at[v];
            work(from, to);
#pragma unroll
            for (int k = 0; k < Work::outputs; k++)
                out[k].at[v] = to[k];
        }
#pragma unroll
        for (int k = 0; k < Work::outputs; k++)
            store<width>(a.out[k], first + (size_t)(r * threads * width), n, aligned, out[k]);
    }
}

template <class G, class T, class Work>
static weft_status run_elements(weft_context *ctx, size_t n, const element_arrays<G, T> &a,
                                const Work &work) {
    const size_t blocks = wi_layer_pieces(n, rounds * threads * (size_t)wi_vector<T>::count);
    bool aligned = wi_is_aligned(a.first);
    for (int k = 1; k < Work::inputs; k++)
        aligned = aligned && wi_is_aligned(a.in[k - 1]);
    for (int k = 0; k < Work::outputs; k++)
        aligned = aligned && wi_is_aligned(a.out[k]);
    const weft_status status = wi_layer_check_grid(ctx, blocks);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH((each_element<G, T, Work>), ctx, (unsigned)blocks, threads, 0, n, a, work,
                       aligned);
}

/* ---- rows ---- */

/* A warp makes a row: its largest element, then the sum, then what is asked for. */
template <class T>
static __global__ void __launch_bounds__(threads)
    rows_of_classes(wi_layer layer, size_t n, size_t classes, double scale, const T *x,
                    const int32_t *labels, T *to, wi_compute<T> *loss) {
    using C = wi_compute<T>;
    const size_t row = (size_t)blockIdx.x * (threads / 32) + threadIdx.x / 32;
    const size_t lane = threadIdx.x % 32;
    if (row >= n)
        return;
    x += row * classes;
    C most = wi_load(x[0]);
    for (size_t k = lane; k < classes; k += 32)
        most = wi_load(x[k]) > most ? wi_load(x[k]) : most;
    most = wi_warp_reduce(most, [](C a, C b) { return b > a ? b : a; });
    double sum = 0;
    for (size_t k = lane; k < classes; k += 32)
        sum += (double)exp_of(wi_load(x[k]) - most);
    sum = wi_warp_reduce(sum, [](double a, double b) { return a + b; });
    const int32_t label = layer == WI_LAYER_SOFTMAX ? 0 : labels[row];
    const bool is_label = label >= 0 && (size_t)label < classes;
    if (layer == WI_LAYER_LOSS) {
        if (lane == 0)
            loss[row] =
                is_label ? (C)(log(sum) - ((double)wi_load(x[label]) - (double)most)) : (C)NAN;
        return;
    }
    to += row * classes;
    __syncwarp(); /* in place: all lanes have read the first element */
    for (size_t k = lane; k < classes; k += 32) {
        const double share = (double)exp_of(wi_load(x[k]) - most) / sum;
        if (layer == WI_LAYER_SOFTMAX)
            to[k] = (T)(C)share;
        else
            to[k] = (T)(is_label ? (C)(scale * (share - (k == (size_t)label))) : (C)NAN);
    }
}

template <class T>
static weft_status run_rows(weft_context *ctx, const wi_layer_args *a) {
    const size_t blocks = wi_layer_pieces(a->n, threads / 32);
    const weft_status status = wi_layer_check_grid(ctx, blocks);
    if (status != WEFT_OK)
        return status;
    void *const to = a->array[a->layer == WI_LAYER_SOFTMAX ? 1 : 2];
    return WEFT_LAUNCH(rows_of_classes<T>, ctx, (unsigned)blocks, threads, 0, a->layer, a->n,
                       a->classes, a->factor[0], (const T *)a->array[0],
                       (const int32_t *)a->array[1], (T *)to, (wi_compute<T> *)to);
}

/* Of gradients of type G; weights and what is kept of them are of type T. */
template <class G, class T>
static weft_status run_steps(weft_context *ctx, const wi_layer_args *a) {
    const G *const gradient = (const G *)a->array[0];
    T *const w = (T *)a->array[1];
    T *const first = (T *)a->array[2], *const second = (T *)a->array[3];
    const double *const f = a->factor;
    if (a->layer == WI_LAYER_SGD && !first)
        return run_elements(ctx, a->n, element_arrays<G, T>{gradient, {w}, {w}},
                            plain_step<T>{(T)f[0], (T)f[2]});
    if (a->layer == WI_LAYER_SGD)
        return run_elements(ctx, a->n, element_arrays<G, T>{gradient, {w, first}, {w, first}},
                            sgd_step<T>{(T)f[0], (T)f[1], (T)f[2]});
    const adam_step<T> step = {
        (T)f[WI_ADAM_RATE],    (T)f[WI_ADAM_DECAY],       (T)f[WI_ADAM_BETA1],
        (T)f[WI_ADAM_BETA2],   (T)(1 - f[WI_ADAM_BETA1]), (T)(1 - f[WI_ADAM_BETA2]),
        (T)f[WI_ADAM_EPSILON], (T)a->first_power,         (T)a->second_power};
    return run_elements(
        ctx, a->n, element_arrays<G, T>{gradient, {w, first, second}, {w, first, second}}, step);
}

template <class T>
static weft_status run(weft_context *ctx, const wi_layer_args *a) {
    using C = wi_compute<T>;
    T *const first = (T *)a->array[0], *const second = (T *)a->array[1];
    switch (a->layer) {
    case WI_LAYER_ACTIVATION:
        return run_elements(ctx, a->n, element_arrays<T, T>{first, {}, {second}},
                            activation<C>{a->kind});
    case WI_LAYER_ACTIVATION_BACK:
        return run_elements(ctx, a->n, element_arrays<T, T>{first, {second}, {(T *)a->array[2]}},
                            activation_back<C>{a->kind});
    case WI_LAYER_SGD:
    case WI_LAYER_ADAM:
        return run_steps<T, C>(ctx, a);
    default:
        return run_rows<T>(ctx, a);
    }
}

weft_status wi_layers_elements(weft_context *ctx, const wi_layer_args *a) {
    return wi_with_float_type(a->type,
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
