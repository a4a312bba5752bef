/* SPDX-License-Identifier: Apache-2.0 */
/* Races convolve on an image against cuDNN's fastest algorithm, on the same device arrays in the
 * same process, beside a plain copy of the image and the rate of multiply-adds. cuDNN is loaded if
 * its library is there (its header was there when this was compiled); else only ours is timed.
 * Outputs are compared with a plain kernel in f64: a wrong one ends the program with status 1.
 * All memory is kept until the end: what a program frees the driver clears at some later time, and
 * while it clears gigabytes whatever else runs, a copy too, takes up to a tenth longer.
 *
 *     convolve_peer             all races
 *     convolve_peer SIDE        an image of SIDE x SIDE instead of 8192 x 8192
 *     convolve_peer SIDE NAME   those whose name begins so: dense, separable, rgb, any */
#include <string.h>

#include "cudnn.cuh"
#include "peer.cuh"

static bool all_ok = true;

/* The status that says: nothing here to race on. */
constexpr int no_race = 77;

struct track {
    weft_context *ctx;
    cudaStream_t stream;
    size_t side;        /* of the image */
    char *x, *y, *room; /* for images, and for cuDNN; kept */
    double copy_gbps, peak_flops;
    const char *only;
};

struct race {
    const char *name;
    int filter; /* its side */
    unsigned channels;
    bool is_bytes, is_separable;
    /* Of bytes those that leave outputs between 0 and 255. */
    double weight_at(int j, int i) const {
        const double even = 1.0 / (filter * filter),
                     draw = draw_real(99, (uint64_t)(j * filter + i));
        if (is_separable)
            return (1 + 0.5 * ((j * 7) % 5)) * (1 + 0.25 * ((i * 3) % 7)) * even *
                   (is_bytes ? 0.25 : 1);
        return is_bytes ? (1 + 0.5 * draw) * even : draw / filter;
    }
};

/* What y should be, and the largest difference relative to the sum of magnitudes: correlation,
 * border of zeros. */
template <class In, class Out>
__global__ void differ(const In *x, const Out *y, const double *f, int side, int filter,
                       int channels, unsigned long long *wrong, double within) {
    const size_t n = (size_t)side * side * channels, stride = (size_t)gridDim.x * blockDim.x * 61;
    for (size_t e = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * 61; e < n; e += stride) {
        const int c = (int)(e % channels), column = (int)(e / channels % side);
        const int row = (int)(e / channels / side);
        double sum = 0, magnitude = 0;
        for (int j = 0; j < filter; j++)
            for (int i = 0; i < filter; i++) {
                const int r = row + j - filter / 2, s = column + i - filter / 2;
                if (r < 0 || s < 0 || r >= side || s >= side)
                    continue;
                const double p =
                    f[j * filter + i] * (double)x[((size_t)r * side + s) * channels + c];
                sum += p;
                magnitude += p < 0 ? -p : p;
            }
        double right = sum, room = within * magnitude;
        if (sizeof(Out) == 1) {
            right = sum < 0 ? 0 : sum > 255 ? 255 : sum;
            room = 0.5001;
        }
        const double error = (double)y[e] - right;
        if (!((error < 0 ? -error : error) <= room))
            atomicAdd(wrong, 1ull);
    }
}

template <class In, class Out>
static bool is_right(const race &r, size_t side, const In *x, const Out *y, double within) {
    const int weights = r.filter * r.filter;
    std::vector<double> filter((size_t)weights);
    for (int k = 0; k < weights; k++)
        filter[(size_t)k] = r.weight_at(k / r.filter, k % r.filter);
    device_array<double> f((size_t)weights);
    device_array<unsigned long long> wrong(1);
    CUDA(cudaMemcpy(f.p, filter.data(), filter.size() * sizeof(double), cudaMemcpyDefault));
    CUDA(cudaMemset(wrong.p, 0, sizeof(unsigned long long)));
    differ<<<filling_blocks, filling_threads>>>(x, y, f.p, (int)side, r.filter, (int)r.channels,
                                                wrong.p, within);
    unsigned long long count = 1;
    CUDA(cudaMemcpy(&count, wrong.p, sizeof count, cudaMemcpyDefault));
    return count == 0;
}

/* ---- cuDNN ---- */

constexpr size_t room_bytes = (size_t)8 << 30;

#if HAS_CUDNN
/* The image as a batch of one with one channel; its filter padded to keep the size. */
struct cudnn_image {
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t image;
    cudnnFilterDescriptor_t filter;
    cudnnConvolutionDescriptor_t convolution;

    cudnn_image(cudaStream_t stream, int side, int size) {
        CHECKED(CUDNN(cudnnCreate)(&handle));
        CHECKED(CUDNN(cudnnSetStream)(handle, stream));
        CHECKED(CUDNN(cudnnCreateTensorDescriptor)(&image));
        CHECKED(CUDNN(cudnnSetTensor4dDescriptor)(image, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 1,
                                                  side, side));
        CHECKED(CUDNN(cudnnCreateFilterDescriptor)(&filter));
        CHECKED(CUDNN(cudnnSetFilter4dDescriptor)(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 1, 1,
                                                  size, size));
        CHECKED(CUDNN(cudnnCreateConvolutionDescriptor)(&convolution));
        CHECKED(CUDNN(cudnnSetConvolution2dDescriptor)(convolution, size / 2, size / 2, 1, 1, 1, 1,
                                                       CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
        CHECKED(CUDNN(cudnnSetConvolutionMathType)(convolution, CUDNN_FMA_MATH));
    }
    ~cudnn_image() {
        CUDNN(cudnnDestroyConvolutionDescriptor)(convolution);
        CUDNN(cudnnDestroyFilterDescriptor)(filter);
        CUDNN(cudnnDestroyTensorDescriptor)(image);
        CUDNN(cudnnDestroy)(handle);
    }
};

/* Seconds of the fastest of its algorithms. */
static double cudnn_seconds(const track &t, const race &r, const float *x, float *y) {
    if (!cudnn_library() || r.is_bytes)
        return 0;
    const cudnn_image c(t.stream, (int)t.side, r.filter);
    std::vector<float> weights((size_t)(r.filter * r.filter));
    for (size_t k = 0; k < weights.size(); k++)
        weights[k] = (float)r.weight_at((int)k / r.filter, (int)k % r.filter);
    device_array<float> filter(weights.size());
    CUDA(cudaMemcpy(filter.p, weights.data(), weights.size() * sizeof(float), cudaMemcpyDefault));
    cudnnConvolutionFwdAlgoPerf_t found[CUDNN_CONVOLUTION_FWD_ALGO_COUNT];
    int count = 0;
    CHECKED(CUDNN(cudnnFindConvolutionForwardAlgorithmEx)(
        c.handle, c.image, x, c.filter, filter.p, c.convolution, c.image, y,
        CUDNN_CONVOLUTION_FWD_ALGO_COUNT, &count, found, t.room, room_bytes));
    if (count == 0 || found[0].status != CUDNN_STATUS_SUCCESS)
        return 0;
    const float one = 1, zero = 0;
    return device_seconds(t.stream, (size_t)1 << 30, [&] {
        CHECKED(CUDNN(cudnnConvolutionForward)(c.handle, &one, c.image, x, c.filter, filter.p,
                                               c.convolution, found[0].algo, t.room,
                                               found[0].memory, &zero, c.image, y));
    });
}
#else
static double cudnn_seconds(const track &, const race &, const float *, float *) {
    return 0;
}
#endif

/* ---- a race ---- */

static void print(const track &t, const race &r, double bytes, double seconds, double peer,
                  bool ok) {
    const double pixels = (double)t.side * (double)t.side * r.channels;
    const double flops = 2 * pixels * (r.is_separable ? 2 * r.filter : r.filter * r.filter);
    const double copy = bytes / (t.copy_gbps * 1e9);
    printf("{\"op\":\"convolve, %s\",\"side\":%d,\"image\":%zu,\"channels\":%u,\"type\":\"%s\","
           "\"variant\":\"%s\",\"seconds\":%.4g,\"copy_seconds\":%.4g,\"copy_share\":%.3f,"
           "\"flops\":%.4g,\"peak_share\":%.3f,\"peer\":\"cuDNN\",\"peer_seconds\":%.4g,"
           "\"peer_ratio\":%.2f,\"ok\":%s}\n",
           r.name, r.filter, t.side, r.channels, r.is_bytes ? "u8" : "f32",
           weft_used(t.ctx, "convolve"), seconds, copy, copy / seconds, flops,
           flops / seconds / t.peak_flops, peer, peer / seconds, ok ? "true" : "false");
    fflush(stdout);
}

template <class T>
static void run(const track &t, const race &r) {
    const size_t n = t.side * t.side * r.channels;
    if (t.only && strncmp(t.only, r.name, strlen(t.only)) != 0)
        return;
    std::vector<double> filter((size_t)(r.filter * r.filter));
    for (size_t k = 0; k < filter.size(); k++)
        filter[k] = r.weight_at((int)k / r.filter, (int)k % r.filter);
    T *const x = (T *)t.x, *const y = (T *)t.y;
    fill_reals(x, n, 5);
    weft_convolution c = {};
    c.type = c.out = r.is_bytes ? WEFT_U8 : WEFT_F32;
    c.width = c.height = t.side;
    c.channels = r.channels;
    c.images = 1;
    c.how = strcmp(r.name, "any order") == 0 ? WEFT_CORRELATE | WEFT_ANY_ORDER : WEFT_CORRELATE;
    c.filter_width = c.filter_height = (size_t)r.filter;
    c.filter = filter.data();
    const double peer = cudnn_seconds(t, r, (const float *)x, (float *)y);
    const double seconds = device_seconds(
        t.stream, n * sizeof(T) * 2, [&] { check_weft(t.ctx, weft_convolve(t.ctx, &c, x, y)); });
    CUDA(cudaStreamSynchronize(t.stream));
    const double terms = r.filter * r.filter + 16;
    const bool ok = is_right(r, t.side, x, y, terms * 0x1p-24);
    all_ok = all_ok && ok;
    print(t, r, 2.0 * (double)n * sizeof(T), seconds, peer, ok);
}

int main(int argc, char **argv) {
    static const race races[] = {
        {"dense", 3, 1, false, false},
        {"dense", 5, 1, false, false},
        {"dense", 7, 1, false, false},
        {"dense", 9, 1, false, false},
        {"dense", 11, 1, false, false},
        {"dense", 13, 1, false, false},
        {"dense", 15, 1, false, false},
        {"dense", 17, 1, false, false},
        {"dense", 21, 1, false, false},
        {"dense", 33, 1, false, false},
        {"dense", 65, 1, false, false},
        {"separable", 3, 1, false, true},
        {"separable", 5, 1, false, true},
        {"separable", 9, 1, false, true},
        {"separable", 17, 1, false, true},
        {"separable", 33, 1, false, true},
        {"separable", 65, 1, false, true},
        {"rgb", 3, 3, true, false},
        {"rgb", 5, 3, true, false},
        {"rgb", 7, 3, true, false},
        {"rgb", 9, 3, true, false},
        {"rgb separable", 3, 3, true, true},
        {"rgb separable", 5, 3, true, true},
        {"rgb separable", 9, 3, true, true},
        {"bytes", 3, 1, true, false},
        {"bytes", 5, 1, true, false},
        {"bytes", 7, 1, true, false},
        {"bytes", 9, 1, true, false},
        {"bytes", 17, 1, true, false},
        {"bytes separable", 5, 1, true, true},
        {"bytes separable", 17, 1, true, true},
        {"any order", 17, 1, false, false},
        {"any order", 33, 1, false, false},
        {"any order", 65, 1, false, false},
    };
    track t = {};
    int clock_khz = 0, multiprocessors = 0;
    t.side = argc > 1 ? (size_t)strtoull(argv[1], nullptr, 10) : 8192;
    t.only = argc > 2 ? argv[2] : nullptr;
    if (weft_open(&t.ctx, "gpu") != WEFT_OK) {
        fprintf(stderr, "convolve_peer: no race: %s\n", weft_message(nullptr));
        return no_race;
    }
    CUDA(cudaStreamCreateWithFlags(&t.stream, cudaStreamNonBlocking));
    check_weft(t.ctx, weft_set_stream(t.ctx, t.stream));
    CUDA(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0));
    CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    t.peak_flops = 2.0 * 128 * multiprocessors * clock_khz * 1e3;
    const size_t bytes = t.side * t.side * sizeof(float); /* bytes with three channels take less */
    const device_array<char> x(bytes), y(bytes), room(HAS_CUDNN ? room_bytes : 1);
    t.x = x.p;
    t.y = y.p;
    t.room = room.p;
    fill_random(t.x, bytes, 1);
    t.copy_gbps = 2e-9 * (double)bytes / device_seconds(t.stream, bytes, [&] {
                      CUDA(cudaMemcpyAsync(t.y, t.x, bytes, cudaMemcpyDeviceToDevice, t.stream));
                  });
    for (const race &r : races)
        r.is_bytes ? run<uint8_t>(t, r) : run<float>(t, r);
    weft_close(t.ctx);
    CUDA(cudaStreamDestroy(t.stream));
    return all_ok ? 0 : 1;
}
