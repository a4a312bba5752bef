/* SPDX-License-Identifier: Apache-2.0 */
/* What the races of gemm against cuBLAS share: types, products by both, one race. First elements
 * are small whole numbers, so that both are right to the last bit or wrong. Then they are random,
 * which takes more power, and both are timed in turns. */
#ifndef WEFT_PEER_GEMM_RACE_CUH
#define WEFT_PEER_GEMM_RACE_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "cublas.cuh"

struct shape {
    size_t m, n, k;
    bool transposed_a = false, transposed_b = false;
    int beta = 0; /* or 1 */
};

/* A type of weft's and how cuBLAS is asked for the same. */
struct kind {
    const char *name;
    weft_type type, out;
    unsigned how;
    cudaDataType_t cuda_type, cuda_out;
    cublasComputeType_t compute;
    bool transposed_a; /* for i8 cuBLAS wants A along k */
};

static const kind kinds[] = {
    {"f64", WEFT_F64, WEFT_F64, 0, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, false},
    {"f32", WEFT_F32, WEFT_F32, 0, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, false},
    {"strict", WEFT_F32, WEFT_F32, WEFT_F32_STRICT, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F,
     false},
    {"tf32", WEFT_F32, WEFT_F32, WEFT_TF32, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32,
     false},
    {"f16", WEFT_F16, WEFT_F16, 0, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, false},
    {"bf16", WEFT_BF16, WEFT_BF16, 0, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, false},
    {"i8", WEFT_I8, WEFT_I32, 0, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, true}};

template <class T>
static void fill_as(void *p, size_t n, uint64_t seed, bool whole) {
    if (whole)
        fill_random((T *)p, n, seed);
    else
        fill_reals((T *)p, n, seed);
}
static void fill_kind(const kind &t, void *p, size_t n, uint64_t seed, bool whole) {
    switch (t.type) {
    case WEFT_F64:
        return fill_as<double>(p, n, seed, whole);
    case WEFT_F32:
        return fill_as<float>(p, n, seed, whole);
    case WEFT_F16:
        return fill_as<__half>(p, n, seed, whole);
    case WEFT_BF16:
        return fill_as<__nv_bfloat16>(p, n, seed, whole);
    default:
        return fill_as<int8_t>(p, n, seed, whole);
    }
}

/* As numbers: a product of 0 may be -0 where a sum that begins with 0 is not. */
static bool is_same_kind(const kind &t, const void *a, const void *b, size_t n) {
    switch (t.out) {
    case WEFT_F64:
        return is_same((const double *)a, (const double *)b, n);
    case WEFT_F32:
        return is_same((const float *)a, (const float *)b, n);
    case WEFT_I32:
        return is_same((const int32_t *)a, (const int32_t *)b, n);
    default:
        return is_same((const uint16_t *)a, (const uint16_t *)b, n);
    }
}

/* A is kept transposed if the kind or the shape says so. */
static bool has_a_transposed(const kind &t, const shape &s) {
    return t.transposed_a || s.transposed_a;
}

static void peer_product(const race &r, const kind &t, const shape &s, const void *a, const void *b,
                         void *c) {
    const double one = 1, beta = s.beta;
    const float one_f = 1, beta_f = (float)s.beta;
    const int one_i = 1;
    const bool wide = t.type == WEFT_F64, whole = t.type == WEFT_I8;
    const void *const alpha = wide ? (const void *)&one : whole ? (const void *)&one_i : &one_f;
    const void *const factor = wide ? (const void *)&beta : whole ? (const void *)&s.beta : &beta_f;
    const bool turned = has_a_transposed(t, s);
    BLAS(cublasGemmEx(r.blas, turned ? CUBLAS_OP_T : CUBLAS_OP_N,
                      s.transposed_b ? CUBLAS_OP_T : CUBLAS_OP_N, (int)s.m, (int)s.n, (int)s.k,
                      alpha, a, t.cuda_type, (int)(turned ? s.k : s.m), b, t.cuda_type,
                      (int)(s.transposed_b ? s.n : s.k), factor, c, t.cuda_out, (int)s.m, t.compute,
                      CUBLAS_GEMM_DEFAULT));
}

static weft_status try_product(const race &r, const kind &t, const shape &s, const void *a,
                               const void *b, void *c) {
    const bool turned = has_a_transposed(t, s);
    const unsigned how =
        t.how | (turned ? WEFT_TRANSPOSE_A : 0) | (s.transposed_b ? WEFT_TRANSPOSE_B : 0);
    return weft_gemm(r.ctx, how, t.type, t.out, s.m, s.n, s.k, 1, a, turned ? s.k : s.m, b,
                     s.transposed_b ? s.n : s.k, s.beta, c, s.m);
}
static void product(const race &r, const kind &t, const shape &s, const void *a, const void *b,
                    void *c) {
    check_weft(r.ctx, try_product(r, t, s, a, b, c));
}

/* C begins as 0 if it is read, else as what is seen if it is. */
static void spoil(const kind &t, const shape &s, void *c) {
    CUDA(cudaMemset(c, s.beta ? 0 : 0xff, s.m * s.n * weft_type_size(t.out)));
}

/* Is ours right, each of a few times? Theirs is the judge, on whole numbers. */
static bool is_right(const race &r, const kind &t, const shape &s, const void *a, const void *b,
                     void *c, void *theirs) {
    constexpr int times_checked = 3;
    bool ok = true;
    spoil(t, s, theirs);
    for (int call = 0; call <= s.beta; call++)
        peer_product(r, t, s, a, b, theirs);
    for (int time = 0; time < times_checked; time++) {
        spoil(t, s, c);
        for (int call = 0; call <= s.beta; call++)
            product(r, t, s, a, b, c);
        CUDA(cudaStreamSynchronize(r.stream));
        const bool same = is_same_kind(t, c, theirs, s.m * s.n);
        if (!same)
            fprintf(stderr, "DIFF %s %zu %zu %zu time %d\n", t.name, s.m, s.n, s.k, time);
        ok = ok && same;
    }
    return ok;
}

/* What a race found. */
struct gemm_result {
    bool ok, ran;
    double ratio; /* of their time to ours */
};

/* Compares and times one product, and prints its line. */
static gemm_result run(const race &r, const kind &t, const shape &s) {
    const size_t width = weft_type_size(t.type), out_width = weft_type_size(t.out);
    if (t.transposed_a && (s.m % 4 != 0 || s.n % 4 != 0 || s.k % 4 != 0))
        return {true, false, 0}; /* cuBLAS takes no such sizes */
    device_array<char> a(s.m * s.k * width), b(s.k * s.n * width), c(s.m * s.n * out_width),
        theirs(s.m * s.n * out_width);
    fill_kind(t, a.p, s.m * s.k, 1, true);
    fill_kind(t, b.p, s.k * s.n, 2, true);
    if (try_product(r, t, s, a.p, b.p, c.p) == WEFT_EUNSUPPORTED)
        return {true, false, 0}; /* not for the rung that is forced */
    const bool ok = is_right(r, t, s, a.p, b.p, c.p, theirs.p);
    fill_kind(t, a.p, s.m * s.k, 1, false);
    fill_kind(t, b.p, s.k * s.n, 2, false);
    double seconds = 0, peer = 0;
    seconds_in_turns(
        r.stream, s.m * s.n * s.k / 64, [&] { product(r, t, s, a.p, b.p, c.p); },
        [&] { peer_product(r, t, s, a.p, b.p, theirs.p); }, &seconds, &peer);
    const double flops = 2.0 * (double)s.m * (double)s.n * (double)s.k;
    printf("{\"op\":\"gemm\",\"type\":\"%s\",\"m\":%zu,\"n\":%zu,\"k\":%zu,\"transposes\":\"%c%c\","
           "\"beta\":%d,\"variant\":\"%s\",\"seconds\":%.4g,\"tflops\":%.2f,\"peer\":\"cuBLAS\","
           "\"peer_seconds\":%.4g,\"peer_tflops\":%.2f,\"peer_ratio\":%.3f,\"ok\":%s}\n",
           t.name, s.m, s.n, s.k, has_a_transposed(t, s) ? 'T' : 'N', s.transposed_b ? 'T' : 'N',
           s.beta, weft_used(r.ctx, "gemm"), seconds, flops / seconds * 1e-12, peer,
           flops / peer * 1e-12, peer / seconds, ok ? "true" : "false");
    fflush(stdout);
    return {ok, true, peer / seconds};
}

#endif
