/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that memory limits, beside a plain copy and a plain sum of their bytes, and cuDNN where it
 * has the same: 32 images, or as many as are asked for, of 256 channels of 56 x 56, NCHW and NHWC.
 * cuDNN is loaded if its library is there (its header was there when this was compiled). Results of
 * pooling are compared with cuDNN's: a wrong one ends the program with status 1.
 *
 *     layers_peer [TYPE [IMAGES]]   f32, the default, f16 or bf16 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <string.h>

#include "cudnn.cuh"
#include "peer.cuh"

static bool all_ok = true;

/* The status that says: nothing here to race on. */
constexpr int no_race = 77;
constexpr size_t channels = 256, side = 56, plane = side * side;
static size_t images = 32, elements;

struct track {
    weft_context *ctx;
    cudaStream_t stream;
    weft_layout layout;
    weft_type type;
    double copy_gbps, read_gbps;
};

static weft_images images_of(const track &t) {
    return {t.type, t.layout, images, channels, side, side};
}

/* ---- cuDNN ---- */

#if HAS_CUDNN
static cudnnDataType_t cudnn_type(const track &t) {
    return t.type == WEFT_F32   ? CUDNN_DATA_FLOAT
           : t.type == WEFT_F16 ? CUDNN_DATA_HALF
                                : CUDNN_DATA_BFLOAT16;
}

/* Seconds of its pooling, whose result is left in y. */
static double cudnn_pool(const track &t, const weft_pool &pool, const void *x, void *y) {
    const float one = 1, zero = 0;
    const weft_images in = images_of(t);
    weft_images out;
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t of_x, of_y;
    cudnnPoolingDescriptor_t of_pool;
    if (!cudnn_library())
        return 0;
    check_weft(t.ctx, weft_pool_output(t.ctx, &in, &pool, &out));
    const cudnnTensorFormat_t format =
        t.layout == WEFT_NCHW ? CUDNN_TENSOR_NCHW : CUDNN_TENSOR_NHWC;
    CHECKED(CUDNN(cudnnCreate)(&handle));
    CHECKED(CUDNN(cudnnSetStream)(handle, t.stream));
    CHECKED(CUDNN(cudnnCreateTensorDescriptor)(&of_x));
    CHECKED(CUDNN(cudnnCreateTensorDescriptor)(&of_y));
    CHECKED(CUDNN(cudnnCreatePoolingDescriptor)(&of_pool));
    CHECKED(CUDNN(cudnnSetTensor4dDescriptor)(of_x, format, cudnn_type(t), (int)images,
                                              (int)channels, (int)side, (int)side));
    CHECKED(CUDNN(cudnnSetTensor4dDescriptor)(of_y, format, cudnn_type(t), (int)images,
                                              (int)channels, (int)out.h, (int)out.w));
    CHECKED(CUDNN(cudnnSetPooling2dDescriptor)(
        of_pool,
        pool.kind == WEFT_POOL_MAX ? CUDNN_POOLING_MAX
                                   : CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING,
        CUDNN_PROPAGATE_NAN, (int)pool.kernel_h, (int)pool.kernel_w, (int)pool.pad_h,
        (int)pool.pad_w, (int)pool.stride_h, (int)pool.stride_w));
    const double seconds = device_seconds(t.stream, (size_t)1 << 30, [&] {
        CHECKED(CUDNN(cudnnPoolingForward)(handle, of_pool, &one, of_x, x, &zero, of_y, y));
    });
    CUDA(cudaStreamSynchronize(t.stream));
    CUDNN(cudnnDestroyPoolingDescriptor)(of_pool);
    CUDNN(cudnnDestroyTensorDescriptor)(of_x);
    CUDNN(cudnnDestroyTensorDescriptor)(of_y);
    CUDNN(cudnnDestroy)(handle);
    return seconds;
}

/* Seconds of its gradient of biases. */
static double cudnn_bias(const track &t, const void *dy, void *db) {
    const float one = 1, zero = 0;
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t of_y, of_b;
    if (!cudnn_library() || t.type == WEFT_BF16) /* which it does not have */
        return 0;
    const cudnnTensorFormat_t format =
        t.layout == WEFT_NCHW ? CUDNN_TENSOR_NCHW : CUDNN_TENSOR_NHWC;
    CHECKED(CUDNN(cudnnCreate)(&handle));
    CHECKED(CUDNN(cudnnSetStream)(handle, t.stream));
    CHECKED(CUDNN(cudnnCreateTensorDescriptor)(&of_y));
    CHECKED(CUDNN(cudnnCreateTensorDescriptor)(&of_b));
    CHECKED(CUDNN(cudnnSetTensor4dDescriptor)(of_y, format, cudnn_type(t), (int)images,
                                              (int)channels, (int)side, (int)side));
    CHECKED(CUDNN(cudnnSetTensor4dDescriptor)(of_b, format, cudnn_type(t), 1, (int)channels, 1, 1));
    const double seconds = device_seconds(t.stream, (size_t)1 << 30, [&] {
        CHECKED(CUDNN(cudnnConvolutionBackwardBias)(handle, &one, of_y, dy, &zero, of_b, db));
    });
    CUDNN(cudnnDestroyTensorDescriptor)(of_y);
    CUDNN(cudnnDestroyTensorDescriptor)(of_b);
    CUDNN(cudnnDestroy)(handle);
    return seconds;
}
#else
static double cudnn_pool(const track &, const weft_pool &, const void *, void *) {
    return 0;
}
static double cudnn_bias(const track &, const void *, void *) {
    return 0;
}
#endif

/* ---- races ---- */

template <class Call>
static void run(const track &t, const char *name, double bytes, bool reads, double peer, bool ok,
                Call call) {
    char op[100];
    snprintf(op, sizeof op, "%s, %s", name, t.layout == WEFT_NCHW ? "NCHW" : "NHWC");
    const double seconds =
        device_seconds(t.stream, (size_t)1 << 30, [&] { check_weft(t.ctx, call()); });
    report(op, weft_type_name(t.type), elements, weft_used(t.ctx, "layers"), bytes, seconds,
           "cuDNN", peer, reads ? "read" : "copy", reads ? t.read_gbps : t.copy_gbps, ok);
    all_ok = all_ok && ok;
}

template <class T>
static void run_pool(const track &t, const char *name, weft_pool pool, bool exact) {
    const weft_images in = images_of(t);
    weft_images out;
    check_weft(t.ctx, weft_pool_output(t.ctx, &in, &pool, &out));
    const size_t results = images * channels * out.h * out.w;
    device_array<T> x(elements), dx(elements), y(results), theirs(results);
    char back[80];
    snprintf(back, sizeof back, "gradient of %s", name);
    fill_reals(x.p, elements, 1);
    const double peer = cudnn_pool(t, pool, x.p, theirs.p);
    check_weft(t.ctx, weft_pool_forward(t.ctx, &in, &pool, x.p, y.p));
    CUDA(cudaStreamSynchronize(t.stream));
    const bool ok = peer == 0 || !exact || is_same(y.p, theirs.p, results);
    const double bytes = sizeof(T) * (double)(elements + results);
    run(t, name, bytes, false, peer, ok,
        [&] { return weft_pool_forward(t.ctx, &in, &pool, x.p, y.p); });
    run(t, back, pool.kind == WEFT_POOL_MAX ? bytes + (double)(sizeof(T) * elements) : bytes, false,
        0, true, [&] { return weft_pool_backward(t.ctx, &in, &pool, x.p, y.p, dx.p); });
}

template <class T>
static void run_upsample(const track &t, weft_interpolation how) {
    const weft_images in = images_of(t);
    device_array<T> x(elements), y(4 * elements);
    const double bytes = 5.0 * sizeof(T) * elements;
    fill_reals(x.p, elements, 1);
    fill_reals(y.p, 4 * elements, 2);
    const bool nearest = how == WEFT_NEAREST;
    run(t, nearest ? "nearest x 2" : "bilinear x 2", bytes, false, 0, true,
        [&] { return weft_upsample_forward(t.ctx, &in, how, 2 * side, 2 * side, x.p, y.p); });
    run(t, nearest ? "gradient of nearest x 2" : "gradient of bilinear x 2", bytes, false, 0, true,
        [&] { return weft_upsample_backward(t.ctx, &in, how, 2 * side, 2 * side, y.p, x.p); });
}

template <class T>
static void run_elements(const track &t) {
    const weft_images in = images_of(t);
    device_array<T> x(elements), y(elements), z(elements);
    device_array<float> v(8 * channels);
    constexpr double each = sizeof(T);
    fill_reals(x.p, elements, 1);
    fill_reals(y.p, elements, 2);
    fill_reals(v.p, 8 * channels, 3);
    float *const of[] = {v.p,
                         v.p + channels,
                         v.p + 2 * channels,
                         v.p + 3 * channels,
                         v.p + 4 * channels,
                         v.p + 5 * channels};
    run(t, "bias", 2 * each * elements, false, 0, true,
        [&] { return weft_bias_forward(t.ctx, &in, x.p, of[0], y.p); });
    const double peer = cudnn_bias(t, x.p, of[1]);
    run(t, "gradient of bias", each * elements, true, peer, true,
        [&] { return weft_bias_backward(t.ctx, &in, x.p, of[0]); });
    run(t, "ReLU", 2 * each * elements, false, 0, true,
        [&] { return weft_activation_forward(t.ctx, WEFT_RELU, t.type, elements, x.p, y.p); });
    run(t, "gradient of ReLU", 3 * each * elements, false, 0, true, [&] {
        return weft_activation_backward(t.ctx, WEFT_RELU, t.type, elements, x.p, y.p, z.p);
    });
    run(t, "tanh", 2 * each * elements, false, 0, true,
        [&] { return weft_activation_forward(t.ctx, WEFT_TANH, t.type, elements, x.p, y.p); });
    run(t, "batch normalisation", 3 * each * elements, false, 0, true, [&] {
        return weft_batch_norm_forward(t.ctx, &in, 1e-5, 0, x.p, of[0], of[1], y.p, of[2], of[3],
                                       nullptr, nullptr);
    });
    run(t, "gradient of batch normalisation", 5 * each * elements, false, 0, true, [&] {
        return weft_batch_norm_backward(t.ctx, &in, x.p, of[0], of[2], of[3], y.p, z.p, of[4],
                                        of[5]);
    });
    const weft_adam adam = {1e-3, 0.9, 0.999, 1e-8, 0, 1};
    device_array<float> w(elements), first(elements), second(elements);
    fill_reals(w.p, elements, 4);
    fill_reals(first.p, elements, 5);
    CUDA(cudaMemset(second.p, 0, elements * sizeof(float)));
    CUDA(cudaDeviceSynchronize());
    run(t, "Adam", 22 * each * elements, false, 0, true, [&] {
        return weft_adam_step(t.ctx, &adam, t.type, elements, x.p, w.p, first.p, second.p);
    });
}

template <class T>
static void run_all(const track &t) {
    weft_pool pool = {WEFT_POOL_MAX, 2, 2, 2, 2, 0, 0};
    run_pool<T>(t, "max 2 x 2", pool, true);
    pool = {WEFT_POOL_AVERAGE, 3, 3, 2, 2, 1, 1};
    run_pool<T>(t, "average 3 x 3 / 2", pool, false);
    run_upsample<T>(t, WEFT_NEAREST);
    run_upsample<T>(t, WEFT_BILINEAR);
    run_elements<T>(t);
}

int main(int argc, char **argv) {
    track t = {};
    if (weft_open(&t.ctx, "gpu") != WEFT_OK) {
        fprintf(stderr, "layers_peer: no race: %s\n", weft_message(nullptr));
        return no_race;
    }
    CUDA(cudaStreamCreateWithFlags(&t.stream, cudaStreamNonBlocking));
    check_weft(t.ctx, weft_set_stream(t.ctx, t.stream));
    t.copy_gbps = copy_roof(t.stream, (size_t)1 << 30);
    t.read_gbps = read_roof(t.stream, (size_t)1 << 30);
    t.type = argc > 1 && strcmp(argv[1], "f16") == 0    ? WEFT_F16
             : argc > 1 && strcmp(argv[1], "bf16") == 0 ? WEFT_BF16
                                                        : WEFT_F32;
    if (argc > 2)
        images = strtoull(argv[2], nullptr, 10);
    elements = images * channels * plane;
    for (const weft_layout layout : {WEFT_NCHW, WEFT_NHWC}) {
        t.layout = layout;
        if (t.type == WEFT_F16)
            run_all<__half>(t);
        else if (t.type == WEFT_BF16)
            run_all<__nv_bfloat16>(t);
        else
            run_all<float>(t);
    }
    weft_close(t.ctx);
    CUDA(cudaStreamDestroy(t.stream));
    return all_ok ? 0 : 1;
}
