/* SPDX-License-Identifier: Apache-2.0 */
/* Races convolution layers, those of ResNet-50 at a batch of 32, against cuDNN's fastest algorithm
 * (of f32 without tensor cores), in all three passes, on the same device arrays in the same
 * process. cuDNN is loaded if its library is there (its header was there when this was compiled);
 * else only ours is timed. Results are compared, at samples, with sums in f64: a wrong one ends the
 * program with status 1.
 *
 *     conv_layers_peer                 all layers, NCHW, the library's choice
 *     conv_layers_peer LAYOUT          nchw or nhwc
 *     conv_layers_peer LAYOUT VARIANT  a forced variant; auto: the library's choice
 *     conv_layers_peer LAYOUT VARIANT TYPE   f32, the default, tf32, f16 or bf16
 *     conv_layers_peer LAYOUT VARIANT TYPE FIRST COUNT   only COUNT layers, from number FIRST on
 *     conv_layers_peer LAYOUT VARIANT TYPE FIRST COUNT alone   without cuDNN */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>
#include <string.h>

#include "cudnn.cuh"
#include "peer.cuh"

static bool all_ok = true;

/* The status that says: nothing here to race on. */
constexpr int no_race = 77;
constexpr size_t batch = 32;

enum pass {
    FORWARD,
    DATA,
    WEIGHTS,
    PASSES
};
static const char *const pass_names[] = {"forward", "backward data", "backward weights"};

struct layer {
    const char *name;
    size_t channels, side, filters, kernel, stride;
    size_t pad() const {
        return kernel / 2;
    }
    size_t out() const {
        return (side + 2 * pad() - kernel) / stride + 1;
    }
};

static const layer layers[] = {
    {"stem", 3, 224, 64, 7, 2},
    {"1 reduce, first", 64, 56, 64, 1, 1},
    {"1 middle", 64, 56, 64, 3, 1},
    {"1 expand", 64, 56, 256, 1, 1},
    {"1 reduce", 256, 56, 64, 1, 1},
    {"2 reduce, first", 256, 56, 128, 1, 1},
    {"2 middle, first", 128, 56, 128, 3, 2},
    {"2 shortcut", 256, 56, 512, 1, 2},
    {"2 middle", 128, 28, 128, 3, 1},
    {"2 expand", 128, 28, 512, 1, 1},
    {"2 reduce", 512, 28, 128, 1, 1},
    {"3 reduce, first", 512, 28, 256, 1, 1},
    {"3 middle, first", 256, 28, 256, 3, 2},
    {"3 shortcut", 512, 28, 1024, 1, 2},
    {"3 middle", 256, 14, 256, 3, 1},
    {"3 expand", 256, 14, 1024, 1, 1},
    {"3 reduce", 1024, 14, 256, 1, 1},
    {"4 reduce, first", 1024, 14, 512, 1, 1},
    {"4 middle, first", 512, 14, 512, 3, 2},
    {"4 shortcut", 1024, 14, 2048, 1, 2},
    {"4 middle", 512, 7, 512, 3, 1},
    {"4 expand", 512, 7, 2048, 1, 1},
    {"4 reduce", 2048, 7, 512, 1, 1},
    /* not of that network: for transforms */
    {"large, 9 x 9", 64, 56, 64, 9, 1},
    {"large, 31 x 31", 32, 112, 32, 31, 1},
};

/* What images are made of, and how they may be multiplied. */
struct numbers {
    const char *name;
    weft_type type;
    unsigned how;
    double roundoff, cut; /* of a result; of factors */
    double rate;          /* peak beside that of f32 multiply-adds */
};
static const numbers all_numbers[] = {{"f32", WEFT_F32, 0, 0x1p-24, 0, 1},
                                      {"tf32", WEFT_F32, WEFT_TF32, 0x1p-24, 0x1p-9, 7.4},
                                      {"f16", WEFT_F16, 0, 0x1p-11, 0, 14.8},
                                      {"bf16", WEFT_BF16, 0, 0x1p-8, 0, 14.8}};

struct track {
    weft_context *ctx;
    numbers of;
    cudaStream_t stream;
    weft_layout layout;
    const char *variant;
    bool alone;
    double peak_flops;
};

/* The arrays of a layer: each pass writes one of them. */
template <class T>
struct arrays {
    device_array<T> x, f, y;
    explicit arrays(const layer &l)
        : x(batch * l.channels * l.side * l.side), f(l.filters * l.channels * l.kernel * l.kernel),
          y(batch * l.filters * l.out() * l.out()) {
        fill_reals(x.p, batch * l.channels * l.side * l.side, 1);
        fill_reals(f.p, l.filters * l.channels * l.kernel * l.kernel, 2);
        fill_reals(y.p, batch * l.filters * l.out() * l.out(), 3);
    }
};

/* ---- the check ---- */

struct shape {
    int n, c, h, w;
    bool planes;
    __device__ size_t at(int i, int j, int r, int s) const {
        return planes ? (((size_t)i * c + j) * h + r) * w + s
                      : (((size_t)i * h + r) * w + s) * c + j;
    }
};

/* Counts the results that are far from the sum of their products; one thread for a result. */
template <class T>
__global__ void differ(numbers of_numbers, int pass, shape x, shape f, shape y, int stride, int pad,
                       const T *px, const T *pf, const T *py, size_t step, size_t results,
                       unsigned long long *wrong) {
    const size_t e = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * step;
    const shape of = pass == FORWARD ? y : pass == DATA ? x : f;
    if (e >= results)
        return;
    size_t rest = e;
    const int s = (int)(rest % of.w), r = (int)((rest /= of.w) % of.h);
    const int j = (int)((rest /= of.h) % of.c), i = (int)(rest / of.c);
    double sum = 0, magnitude = 0;
    long terms = 0;
    const auto add = [&](int n, int k, int c, int row, int column, int fr, int fs, int p, int q) {
        if (row < 0 || column < 0 || row >= x.h || column >= x.w || p >= y.h || q >= y.w)
            return;
        const double a = pass == DATA ? 1 : (double)(float)px[x.at(n, c, row, column)];
        const double b = pass == WEIGHTS ? 1 : (double)(float)pf[f.at(k, c, fr, fs)];
        const double d = pass == FORWARD ? 1 : (double)(float)py[y.at(n, k, p, q)];
        sum += a * b * d;
        magnitude += fabs(a * b * d);
        terms++;
    };
    if (pass == WEIGHTS) {
        for (int n = 0; n < x.n; n++)
            for (int p = 0; p < y.h; p++)
                for (int q = 0; q < y.w; q++)
                    add(n, i, j, p * stride - pad + r, q * stride - pad + s, r, s, p, q);
    } else {
        const int others = pass == FORWARD ? x.c : y.c;
        for (int o = 0; o < others; o++)
            for (int fr = 0; fr < f.h; fr++)
                for (int fs = 0; fs < f.w; fs++) {
                    const int down = r + pad - fr, across = s + pad - fs;
                    if (pass == FORWARD)
                        add(i, j, o, r * stride - pad + fr, s * stride - pad + fs, fr, fs, r, s);
                    else if (down >= 0 && across >= 0 && down % stride == 0 && across % stride == 0)
                        add(i, o, j, r, s, fr, fs, down / stride, across / stride);
                }
    }
    const double found = (double)(float)(pass == FORWARD ? py[y.at(i, j, r, s)]
                                         : pass == DATA  ? px[x.at(i, j, r, s)]
                                                         : pf[f.at(i, j, r, s)]);
    const double adding = (double)(terms + 16) * (sizeof(T) == 2 ? 0x1p-23 : 0x1p-24);
    if (!(fabs(found - sum) <=
          (adding + of_numbers.cut) * magnitude + of_numbers.roundoff * fabs(sum)))
        atomicAdd(wrong, 1ull);
}

template <class T>
static bool is_right(const track &t, const layer &l, const arrays<T> &a, pass pass) {
    const bool planes = t.layout == WEFT_NCHW;
    const shape x = {(int)batch, (int)l.channels, (int)l.side, (int)l.side, planes};
    const shape f = {(int)l.filters, (int)l.channels, (int)l.kernel, (int)l.kernel, planes};
    const shape y = {(int)batch, (int)l.filters, (int)l.out(), (int)l.out(), planes};
    const shape of = pass == FORWARD ? y : pass == DATA ? x : f;
    const size_t results = (size_t)of.n * of.c * of.h * of.w;
    const size_t step = results / 4096 + 1; /* odd and even places alike */
    device_array<unsigned long long> wrong(1);
    unsigned long long count = 1;
    CUDA(cudaMemset(wrong.p, 0, sizeof count));
    differ<<<64, 128>>>(t.of, pass, x, f, y, (int)l.stride, (int)l.pad(), a.x.p, a.f.p, a.y.p,
                        step | 1, results, wrong.p);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(&count, wrong.p, sizeof count, cudaMemcpyDefault));
    return count == 0;
}

/* ---- cuDNN ---- */

#if HAS_CUDNN
struct cudnn_layer {
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t f;
    cudnnConvolutionDescriptor_t convolution;

    cudnn_layer(const track &t, const layer &l) {
        const cudnnTensorFormat_t format =
            t.layout == WEFT_NCHW ? CUDNN_TENSOR_NCHW : CUDNN_TENSOR_NHWC;
        const cudnnDataType_t type = t.of.type == WEFT_F32   ? CUDNN_DATA_FLOAT
                                     : t.of.type == WEFT_F16 ? CUDNN_DATA_HALF
                                                             : CUDNN_DATA_BFLOAT16;
        const int side = (int)l.side, out = (int)l.out(), k = (int)l.kernel, pad = (int)l.pad();
        CHECKED(CUDNN(cudnnCreate)(&handle));
        CHECKED(CUDNN(cudnnSetStream)(handle, t.stream));
        CHECKED(CUDNN(cudnnCreateTensorDescriptor)(&x));
        CHECKED(CUDNN(cudnnCreateTensorDescriptor)(&y));
        CHECKED(CUDNN(cudnnSetTensor4dDescriptor)(x, format, type, (int)batch, (int)l.channels,
                                                  side, side));
        CHECKED(CUDNN(cudnnSetTensor4dDescriptor)(y, format, type, (int)batch, (int)l.filters, out,
                                                  out));
        CHECKED(CUDNN(cudnnCreateFilterDescriptor)(&f));
        CHECKED(CUDNN(cudnnSetFilter4dDescriptor)(f, type, format, (int)l.filters, (int)l.channels,
                                                  k, k));
        CHECKED(CUDNN(cudnnCreateConvolutionDescriptor)(&convolution));
        CHECKED(CUDNN(cudnnSetConvolution2dDescriptor)(convolution, pad, pad, (int)l.stride,
                                                       (int)l.stride, 1, 1, CUDNN_CROSS_CORRELATION,
                                                       CUDNN_DATA_FLOAT));
        CHECKED(CUDNN(cudnnSetConvolutionMathType)(
            convolution, t.of.rate == 1 ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH));
    }
    ~cudnn_layer() {
        CUDNN(cudnnDestroyConvolutionDescriptor)(convolution);
        CUDNN(cudnnDestroyFilterDescriptor)(f);
        CUDNN(cudnnDestroyTensorDescriptor)(y);
        CUDNN(cudnnDestroyTensorDescriptor)(x);
        CUDNN(cudnnDestroy)(handle);
    }
};

/* The first algorithm found, which is the fastest; of f32, of those without tensor cores. */
template <class Found>
static const Found *fastest(const track &t, const Found *found, int count) {
    for (int k = 0; k < count; k++)
        if (found[k].status == CUDNN_STATUS_SUCCESS &&
            (t.of.rate > 1 || found[k].mathType == CUDNN_FMA_MATH))
            return &found[k];
    return nullptr;
}

/* Seconds of its fastest algorithm; 0 if there is none. The result of ours is overwritten. */
template <class T>
static double cudnn_seconds(const track &t, const layer &l, arrays<T> &a, pass pass) {
    constexpr size_t room_bytes = (size_t)4 << 30;
    constexpr int most = 16;
    const float one = 1, zero = 0;
    int count = 0;
    if (!cudnn_library())
        return 0;
    const cudnn_layer c(t, l);
    device_array<char> room(room_bytes);
    if (pass == FORWARD) {
        cudnnConvolutionFwdAlgoPerf_t found[most];
        CHECKED(CUDNN(cudnnFindConvolutionForwardAlgorithmEx)(c.handle, c.x, a.x.p, c.f, a.f.p,
                                                              c.convolution, c.y, a.y.p, most,
                                                              &count, found, room.p, room_bytes));
        const auto *const best = fastest(t, found, count);
        return !best ? 0 : device_seconds(t.stream, (size_t)1 << 30, [&] {
            CHECKED(CUDNN(cudnnConvolutionForward)(c.handle, &one, c.x, a.x.p, c.f, a.f.p,
                                                   c.convolution, best->algo, room.p, best->memory,
                                                   &zero, c.y, a.y.p));
        });
    }
    if (pass == DATA) {
        cudnnConvolutionBwdDataAlgoPerf_t found[most];
        CHECKED(CUDNN(cudnnFindConvolutionBackwardDataAlgorithmEx)(
            c.handle, c.f, a.f.p, c.y, a.y.p, c.convolution, c.x, a.x.p, most, &count, found,
            room.p, room_bytes));
        const auto *const best = fastest(t, found, count);
        return !best ? 0 : device_seconds(t.stream, (size_t)1 << 30, [&] {
            CHECKED(CUDNN(cudnnConvolutionBackwardData)(c.handle, &one, c.f, a.f.p, c.y, a.y.p,
                                                        c.convolution, best->algo, room.p,
                                                        best->memory, &zero, c.x, a.x.p));
        });
    }
    cudnnConvolutionBwdFilterAlgoPerf_t found[most];
    CHECKED(CUDNN(cudnnFindConvolutionBackwardFilterAlgorithmEx)(
        c.handle, c.x, a.x.p, c.y, a.y.p, c.convolution, c.f, a.f.p, most, &count, found, room.p,
        room_bytes));
    const auto *const best = fastest(t, found, count);
    return !best ? 0 : device_seconds(t.stream, (size_t)1 << 30, [&] {
        CHECKED(CUDNN(cudnnConvolutionBackwardFilter)(c.handle, &one, c.x, a.x.p, c.y, a.y.p,
                                                      c.convolution, best->algo, room.p,
                                                      best->memory, &zero, c.f, a.f.p));
    });
}
#else
template <class T>
static double cudnn_seconds(const track &, const layer &, arrays<T> &, pass) {
    return 0;
}
#endif

/* ---- a race ---- */

template <class T>
static void run(const track &t, const layer &l, pass pass) {
    arrays<T> a(l);
    const weft_images x = {t.of.type, t.layout, batch, l.channels, l.side, l.side};
    weft_conv c = {};
    c.filters = l.filters;
    c.kernel_h = c.kernel_w = l.kernel;
    c.stride_h = c.stride_w = l.stride;
    c.pad_h = c.pad_w = l.pad();
    c.how = t.of.how;
    const auto call = [&] {
        return pass == FORWARD ? weft_conv_forward(t.ctx, &x, &c, a.x.p, a.f.p, a.y.p)
               : pass == DATA  ? weft_conv_backward_data(t.ctx, &x, &c, a.y.p, a.f.p, a.x.p)
                               : weft_conv_backward_weights(t.ctx, &x, &c, a.x.p, a.y.p, a.f.p);
    };
    check_weft(t.ctx, call());
    CUDA(cudaStreamSynchronize(t.stream));
    const bool ok = is_right(t, l, a, pass);
    const double seconds =
        device_seconds(t.stream, (size_t)1 << 30, [&] { check_weft(t.ctx, call()); });
    const double peer = t.alone ? 0 : cudnn_seconds(t, l, a, pass);
    const double flops = 2.0 * (double)(batch * l.out() * l.out()) *
                         (double)(l.filters * l.channels) * (double)(l.kernel * l.kernel);
    all_ok = all_ok && ok;
    printf("{\"op\":\"conv "
           "%s\",\"type\":\"%s\",\"layer\":\"%s\",\"layout\":\"%s\",\"channels\":%zu,\"side\":%zu,"
           "\"filters\":%zu,\"kernel\":%zu,\"stride\":%zu,\"variant\":\"%s\",\"seconds\":%.4g,"
           "\"flops\":%.4g,\"tflops\":%.1f,\"peak_share\":%.3f,\"peer\":\"cuDNN\","
           "\"peer_seconds\":%.4g,\"peer_ratio\":%.2f,\"ok\":%s}\n",
           pass_names[pass], t.of.name, l.name, t.layout == WEFT_NCHW ? "NCHW" : "NHWC", l.channels,
           l.side, l.filters, l.kernel, l.stride, weft_used(t.ctx, "conv"), seconds, flops,
           flops / seconds * 1e-12, flops / seconds / (t.of.rate * t.peak_flops), peer,
           peer / seconds, ok ? "true" : "false");
    fflush(stdout);
}

static void run_with_type(const track &t, const layer &l, pass pass) {
    if (t.of.type == WEFT_F16)
        run<__half>(t, l, pass);
    else if (t.of.type == WEFT_BF16)
        run<__nv_bfloat16>(t, l, pass);
    else
        run<float>(t, l, pass);
}

int main(int argc, char **argv) {
    constexpr size_t count = sizeof layers / sizeof *layers;
    track t = {};
    int clock_khz = 0, multiprocessors = 0;
    t.layout = argc > 1 && strcmp(argv[1], "nhwc") == 0 ? WEFT_NHWC : WEFT_NCHW;
    t.variant = argc > 2 && strcmp(argv[2], "auto") != 0 ? argv[2] : nullptr;
    const size_t first = argc > 4 ? (size_t)strtoull(argv[4], nullptr, 10) : 0;
    const size_t wanted = argc > 5 ? (size_t)strtoull(argv[5], nullptr, 10) : count;
    t.alone = argc > 6 && strcmp(argv[6], "alone") == 0;
    t.of = all_numbers[0];
    for (const numbers &n : all_numbers)
        if (argc > 3 && strcmp(argv[3], n.name) == 0)
            t.of = n;
    if (weft_open(&t.ctx, "gpu") != WEFT_OK) {
        fprintf(stderr, "conv_layers_peer: no race: %s\n", weft_message(nullptr));
        return no_race;
    }
    check_weft(t.ctx, weft_use(t.ctx, "conv", t.variant));
    CUDA(cudaStreamCreateWithFlags(&t.stream, cudaStreamNonBlocking));
    check_weft(t.ctx, weft_set_stream(t.ctx, t.stream));
    CUDA(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0));
    CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    t.peak_flops = 2.0 * 128 * multiprocessors * clock_khz * 1e3;
    for (size_t k = first; k < count && k < first + wanted; k++)
        for (int pass = FORWARD; pass < PASSES; pass++)
            run_with_type(t, layers[k], (enum pass)pass);
    weft_close(t.ctx);
    CUDA(cudaStreamDestroy(t.stream));
    return all_ok ? 0 : 1;
}
