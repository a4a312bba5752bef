/* SPDX-License-Identifier: Apache-2.0 */
/* The roofs of a GPU's arithmetic: chains of multiply-adds in registers and of products on tensor
 * cores, so many side by side that none waits for another. */
#include "climb/roof_cuda.h"
#include "cuda/launch.cuh"
#include "cuda/tensor_f64.cuh"

namespace {

constexpr int threads = 256, warp = 32, chains = 8;
/* multiply-adds of each chain in one iteration of the loop, whose own instructions also take time
 */
constexpr int steps = 32;

/* Launches are so long that their overhead does not affect the rate. On emu, which only checks what
 * kernels do, they are as short as possible. */
#ifdef WEFT_EMU
constexpr long long first_links = 1;
constexpr size_t most_blocks = 1;
constexpr double least_seconds = 0;
#else
constexpr long long first_links = 16;
constexpr size_t most_blocks = SIZE_MAX;
constexpr double least_seconds = 2e-3;
#endif

/* How to launch a kernel, and how much work one link of all chains of a thread is. */
struct plan {
    const wi_meter *meter;
    double work;
    size_t blocks;
    long long links;
};

} // namespace

/* Stores a value only if it equals one that no chain reaches: nothing is written, and no link can
 * be optimized away. */
template <class T>
__device__ static void keep(T folded, double *sink) {
    if (folded == (T)-77)
        *sink = (double)folded;
}

/* s = 0.999 s + 0.001 goes slowly towards 1: the compiler cannot treat it as a constant, and it is
 * never a subnormal number, an infinity or NaN. */
template <class T>
static __global__ void __launch_bounds__(threads) fma_kernel(long long links, double *sink) {
    const T x = (T)0.999, y = (T)0.001;
    T s[chains];
#pragma unroll
    for (int c = 0; c < chains; c++)
        s[c] = (T)(2 + c + (int)threadIdx.x);
    for (long long i = 0; i < links; i++) {
#pragma unroll
        for (int step = 0; step < steps; step++) {
#pragma unroll
            for (int c = 0; c < chains; c++)
                s[c] = fma(s[c], x, y);
        }
    }
#pragma unroll
    for (int c = 1; c < chains; c++)
        s[0] += s[c];
    keep(s[0], sink);
}

/* D += A B, repeated, into several D that do not depend on each other. `Product` is the combination
 * of types; A and B are full of ones. */
template <class Product>
static __global__ void __launch_bounds__(threads) tensor_kernel(long long links, double *sink) {
    Product product;
    typename Product::result d[chains][Product::results] = {};
    for (long long i = 0; i < links; i++) {
#pragma unroll
        for (int c = 0; c < chains; c++)
            product.add(d[c]);
    }
    typename Product::result folded = 0;
#pragma unroll
    for (int c = 0; c < chains; c++) {
#pragma unroll
        for (int k = 0; k < Product::results; k++)
            folded += d[c][k];
    }
    keep(folded, sink);
}

namespace {

/* Operands whose 32-bit registers all hold `one`, the bits of a 1 in the types below. */
template <class Result, uint32_t one, int depth>
struct registers {
    using result = Result;
    static constexpr int results = 4;
    static constexpr double work = 2.0 * 16 * 8 * depth; /* of one product */
    const uint32_t a[4] = {one, one, one, one}, b[2] = {one, one};
};

struct of_tf32 : registers<float, 0x3f800000, 8> {
    __device__ void add(float (&d)[4]) const {
        wi_multiply_tf32(d, a, b);
    }
};

struct of_bf16 : registers<float, 0x3f803f80, 16> {
    __device__ void add(float (&d)[4]) const {
        wi_multiply_bf16(d, a, b);
    }
};

struct of_int8 : registers<int32_t, 0x01010101, 32> {
    __device__ void add(int32_t (&d)[4]) const {
        wi_multiply_int8(d, a, b);
    }
};

struct of_f64 {
    using result = double;
    static constexpr int results = 4;
    static constexpr double work = 2.0 * 16 * 8 * 16;
    const double a[8] = {1, 1, 1, 1, 1, 1, 1, 1}, b[4] = {1, 1, 1, 1};
    __device__ void add(double (&d)[4]) const {
        wi_multiply_f64(d, a, b);
    }
};

} // namespace

template <class T>
static weft_status run_fma(void *user) {
    const plan *const p = (const plan *)user;
    return WEFT_LAUNCH(fma_kernel<T>, p->meter->ctx, dim3((unsigned)p->blocks), dim3(threads), 0,
                       p->links, p->meter->arena);
}

template <class Product>
static weft_status run_product(void *user) {
    const plan *const p = (const plan *)user;
    return WEFT_LAUNCH(tensor_kernel<Product>, p->meter->ctx, dim3((unsigned)p->blocks),
                       dim3(threads), 0, p->links, p->meter->arena);
}

/* Launches as many blocks as fit, long enough to measure. */
static weft_status measure(plan *p, void (*kernel)(long long, double *), weft_status (*run)(void *),
                           double *rate) {
    const wi_timed timed = {run, p, 1e30, false}; /* caches do not matter here */
    double seconds = 0;
    weft_status status = wi_resident_blocks(p->meter->ctx, kernel, threads, 0, &p->blocks);
    if (p->blocks > most_blocks)
        p->blocks = most_blocks;
    p->links = first_links;
    if (status == WEFT_OK)
        status = wi_gpu_time(p->meter, &timed, &seconds);
    while (status == WEFT_OK && seconds < least_seconds) {
        p->links *= seconds < least_seconds / 64 ? 64 : 2;
        status = wi_gpu_time(p->meter, &timed, &seconds);
    }
    if (status == WEFT_OK)
        *rate = p->work * (double)p->links * (double)p->blocks * threads / seconds;
    return status;
}

template <class T>
static weft_status measure_fma(const wi_meter *meter, double *rate) {
    plan p = {meter, 2.0 * chains * steps, 0, 0};
    return measure(&p, fma_kernel<T>, run_fma<T>, rate);
}

weft_status wi_gpu_fma_roof(const wi_meter *meter, wi_roof roof, double *rate) {
    return roof == WI_ROOF_FMA_F64 ? measure_fma<double>(meter, rate)
                                   : measure_fma<float>(meter, rate);
}

template <class Product>
static weft_status measure_product(const wi_meter *meter, double *rate) {
    plan p = {meter, Product::work * chains / warp, 0, 0};
    return measure(&p, tensor_kernel<Product>, run_product<Product>, rate);
}

weft_status wi_gpu_tensor_roof(const wi_meter *meter, wi_roof roof, double *rate) {
    switch (roof) {
    case WI_ROOF_TENSOR_F64:
        return measure_product<of_f64>(meter, rate);
    case WI_ROOF_TENSOR_TF32:
        return measure_product<of_tf32>(meter, rate);
    case WI_ROOF_TENSOR_BF16:
        return measure_product<of_bf16>(meter, rate);
    default:
        return measure_product<of_int8>(meter, rate);
    }
}
