/* SPDX-License-Identifier: Apache-2.0 */
/* Races formulas of weft_expr against thrust::transform, which has each of them compiled, on the
 * same device arrays in the same process, beside the plain copy. Results are compared: a wrong one
 * ends the program with status 1.
 *
 *   expr_peer [LOG2_N]    2^28 elements unless it says otherwise */
#include <math.h>
#include <string.h>
#include <thrust/execution_policy.h>
#include <thrust/transform.h>

#include "peer.cuh"

static bool all_ok = true;

struct track {
    weft_context *ctx;
    cudaStream_t stream;
    double copy_gbps;
    size_t n;
};

static weft_expr_step step(weft_expr_op op, int argument = 0) {
    weft_expr_step s = {};
    s.op = op;
    s.argument = argument;
    return s;
}

static weft_expr_step constant(weft_type type, double v) {
    weft_expr_step s = step(WEFT_X_CONSTANT, type);
    if (type == WEFT_F32 || type == WEFT_F64)
        s.value.f = v;
    else
        s.value.i = (int64_t)v;
    return s;
}

using program = std::vector<weft_expr_step>;

/* z = f(x, y), by a formula and by a function object; `tolerance` of the results, relative. */
template <class X, class Y, class Z, class F>
static void race(const track &t, const char *name, weft_type xt, weft_type yt, weft_type zt,
                 const program &p, F f, bool has_y, double tolerance = 0) {
    const size_t n = t.n;
    device_array<X> x(n);
    device_array<Y> y(n);
    device_array<Z> z(n), w(n);
    fill_random(x.p, n, 1);
    fill_random(y.p, n, 2);
    const weft_expr_input inputs[] = {{xt, x.p}, {yt, y.p}};
    const auto ours = [&] {
        check_weft(t.ctx, weft_expr(t.ctx, p.data(), p.size(), n, inputs, has_y ? 2 : 1, zt, z.p));
    };
    const auto theirs = [&] {
        thrust::transform(thrust::cuda::par_nosync.on(t.stream), x.p, x.p + n, y.p, w.p, f);
    };
    double our_s = 0, their_s = 0;
    const double bytes = (double)n * (sizeof(X) + (has_y ? sizeof(Y) : 0) + sizeof(Z));
    seconds_in_turns(t.stream, (size_t)bytes, ours, theirs, &our_s, &their_s);
    CUDA(cudaStreamSynchronize(t.stream));
    const size_t shown = n < 1 << 20 ? n : 1 << 20;
    std::vector<Z> a(shown), b(shown);
    CUDA(cudaMemcpy(a.data(), z.p, shown * sizeof(Z), cudaMemcpyDefault));
    CUDA(cudaMemcpy(b.data(), w.p, shown * sizeof(Z), cudaMemcpyDefault));
    bool ok = true;
    for (size_t i = 0; i < shown; i++) {
        const double u = (double)a[i], v = (double)b[i];
        ok = ok && (a[i] == b[i] || (u != u && v != v) || fabs(u - v) <= tolerance * fabs(v));
    }
    all_ok = all_ok && ok;
    report(name, weft_type_name(zt), n, weft_used(t.ctx, "expr"), bytes, our_s, "thrust", their_s,
           "copy", t.copy_gbps, ok);
}

template <class T>
struct linear {
    __device__ T operator()(T x, T) const {
        return x * T(2) + T(1);
    }
};
template <class T>
struct eight {
    __device__ T operator()(T x, T y) const {
        const T a = x * T(2) + y, b = (a > T(3) ? a : T(3)) - x, c = b * T(1.5);
        const T d = (c < y ? c : y) + T(7);
        return d < 0 ? -d : d;
    }
};
struct pack {
    __device__ uint64_t operator()(uint32_t x, uint32_t y) const {
        return (uint64_t)x << 32 | y;
    }
};
template <class T>
struct root {
    __device__ T operator()(T x, T) const {
        return sqrt(x);
    }
};
template <class T>
struct exponential {
    __device__ T operator()(T x, T) const {
        return exp(x);
    }
};
template <class T>
struct power {
    __device__ T operator()(T x, T y) const {
        return pow(x < 0 ? -x : x, y);
    }
};
struct to_bytes {
    __device__ uint8_t operator()(float x, float) const {
        return x <= 0 ? 0 : x >= 255 ? 255 : (uint8_t)x;
    }
};
struct from_bytes {
    __device__ float operator()(uint8_t x, uint8_t) const {
        return (float)x;
    }
};
struct is_more {
    __device__ uint8_t operator()(float x, float y) const {
        return x > y;
    }
};

template <class T>
static void race_floats(const track &t, weft_type type) {
    const weft_expr_step x = step(WEFT_X_INPUT, 0), y = step(WEFT_X_INPUT, 1);
    race<T, T, T>(t, "2x + 1", type, type, type,
                  {x, constant(type, 2), step(WEFT_X_MUL), constant(type, 1), step(WEFT_X_ADD)},
                  linear<T>(), false);
    race<T, T, T>(t, "abs(min((max(2x + y, 3) - x) 1.5, y) + 7)", type, type, type,
                  {x, constant(type, 2), step(WEFT_X_MUL), y, step(WEFT_X_ADD), constant(type, 3),
                   step(WEFT_X_MAX), x, step(WEFT_X_SUB), constant(type, 1.5), step(WEFT_X_MUL), y,
                   step(WEFT_X_MIN), constant(type, 7), step(WEFT_X_ADD), step(WEFT_X_ABS)},
                  eight<T>(), true);
    race<T, T, T>(t, "sqrt", type, type, type, {x, step(WEFT_X_SQRT)}, root<T>(), false, 1e-12);
    race<T, T, T>(t, "exp", type, type, type, {x, step(WEFT_X_EXP)}, exponential<T>(), false, 1e-6);
    race<T, T, T>(t, "pow", type, type, type, {x, step(WEFT_X_ABS), y, step(WEFT_X_POW)},
                  power<T>(), true, 1e-5);
}

static void race_others(const track &t) {
    const weft_expr_step x = step(WEFT_X_INPUT, 0), y = step(WEFT_X_INPUT, 1);
    race<uint32_t, uint32_t, uint64_t>(t, "x << 32 | y", WEFT_U32, WEFT_U32, WEFT_U64,
                                       {x, step(WEFT_X_WRAP, WEFT_U64), constant(WEFT_U64, 32),
                                        step(WEFT_X_SHL), y, step(WEFT_X_WRAP, WEFT_U64),
                                        step(WEFT_X_OR)},
                                       pack(), true);
    race<float, float, uint8_t>(t, "to bytes", WEFT_F32, WEFT_F32, WEFT_U8,
                                {x, step(WEFT_X_SATURATE, WEFT_U8)}, to_bytes(), false);
    race<uint8_t, uint8_t, float>(t, "from bytes", WEFT_U8, WEFT_U8, WEFT_F32,
                                  {x, step(WEFT_X_SATURATE, WEFT_F32)}, from_bytes(), false);
    race<float, float, uint8_t>(t, "x > y", WEFT_F32, WEFT_F32, WEFT_U8, {x, y, step(WEFT_X_GT)},
                                is_more(), true);
    race<uint8_t, uint8_t, uint8_t>(
        t, "2x + 1", WEFT_U8, WEFT_U8, WEFT_U8,
        {x, constant(WEFT_U32, 2), step(WEFT_X_MUL), constant(WEFT_U32, 1), step(WEFT_X_ADD)},
        linear<uint8_t>(), false);
}

int main(int argc, char **argv) {
    track t = {};
    if (weft_open(&t.ctx, "gpu") != WEFT_OK) {
        fprintf(stderr, "expr_peer: no race: %s\n", weft_message(nullptr));
        return 77;
    }
    t.n = (size_t)1 << (argc > 1 ? atoi(argv[1]) : 28);
    CUDA(cudaStreamCreateWithFlags(&t.stream, cudaStreamNonBlocking));
    check_weft(t.ctx, weft_set_stream(t.ctx, t.stream));
    t.copy_gbps = copy_roof(t.stream, (size_t)1 << 32);
    race_floats<float>(t, WEFT_F32);
    race_floats<double>(t, WEFT_F64);
    race_others(t);
    weft_close(t.ctx);
    CUDA(cudaStreamDestroy(t.stream));
    return all_ok ? 0 : 1;
}
