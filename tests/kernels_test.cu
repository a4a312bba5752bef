/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels can do beyond a simple launch, on a GPU and on emu: clusters that share their
 * blocks' memory, launches from kernels, constant memory, tensor cores, boxes of matrices. */
#include <algorithm>
#include <math.h>
#include <string.h>
#include <type_traits>
#include <vector>

extern "C" {
#include "testing.h"
}

#include "cuda/boxes.cuh"
#include "cuda/cluster.cuh"
#include "cuda/device_launch.cuh"
#include "cuda/launch.cuh"
#include "cuda/reciprocal.cuh"
#include "cuda/tensor_f64.cuh"

namespace {

constexpr unsigned threads = 96;

void ok(weft_context *ctx, weft_status status) {
    if (status != WEFT_OK)
        fail_msg("%s: %s", weft_status_name(status), weft_message(ctx));
}

/* n ints in device memory, all zeros. */
int *zeros(weft_context *ctx, size_t n) {
    void *p = nullptr;
    const std::vector<int> zero(n);
    ok(ctx, weft_alloc(ctx, &p, n * sizeof(int)));
    ok(ctx, weft_copy(ctx, p, zero.data(), n * sizeof(int)));
    return (int *)p;
}

/* The contents of p, which is freed. */
std::vector<int> taken(weft_context *ctx, int *p, size_t n) {
    std::vector<int> host(n);
    ok(ctx, weft_copy(ctx, host.data(), p, n * sizeof(int)));
    ok(ctx, weft_free(ctx, p));
    return host;
}

/* ---- clusters ---- */

/* Each block of a cluster holds some of the counters for all blocks' threads; `out` gets them,
 * cluster after cluster. */
[[maybe_unused]] __device__ void count_in_cluster(int *counters, int *out) {
    const unsigned rank = wi_cluster_rank(), size = wi_cluster_size();
    counters[threadIdx.x] = 0;
    wi_cluster_sync();
    for (unsigned k = 0; k < 4; k++) {
        const unsigned counter = (blockIdx.x * 31 + threadIdx.x * 7 + k) % (size * threads);
        atomicAdd(wi_cluster_map(&counters[counter % threads], counter / threads), 1);
    }
    wi_cluster_sync();
    int *const next = wi_cluster_map(counters, (rank + 1) % size);
    out[(blockIdx.x / size * size + (rank + 1) % size) * threads + threadIdx.x] = next[threadIdx.x];
    wi_cluster_sync();
}

__global__ void count(int *out) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    WEFT_DYNAMIC_SHARED(memory);
    count_in_cluster((int *)memory, out);
#endif
}

__global__ void WEFT_CLUSTER(4) count_by_four(int *out) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    WEFT_SHARED(int, counters, [threads]);
    count_in_cluster(counters, out);
#endif
}

void check_counts(weft_context *ctx, int *out, unsigned blocks, unsigned size) {
    const std::vector<int> counts = taken(ctx, out, (size_t)blocks * threads);
    std::vector<int> expected(counts.size());
    for (unsigned block = 0; block < blocks; block++)
        for (unsigned t = 0; t < threads; t++)
            for (unsigned k = 0; k < 4; k++)
                expected[block / size * size * threads +
                         (block * 31 + t * 7 + k) % (size * threads)]++;
    for (size_t k = 0; k < counts.size(); k++)
        if (counts[k] != expected[k])
            fail_msg("clusters of %u: counter %zu is %d, not %d", size, k, counts[k], expected[k]);
}

bool has_clusters(const weft_context *ctx) {
    return ctx->gpu && ctx->gpu->capability >= 90;
}

void test_clusters(weft_context *ctx) {
    for (unsigned size = 1; size <= 16 && has_clusters(ctx); size *= 2) {
        for (size_t shared : {(size_t)4 * threads, (size_t)64 * 1024}) {
            const unsigned blocks = size * 11;
            size_t clusters;
            ok(ctx,
               wi_resident_clusters(ctx, "count", count, (int)threads, size, shared, &clusters));
            assert_true(clusters > 0);
            int *const out = zeros(ctx, (size_t)blocks * threads);
            ok(ctx, WEFT_LAUNCH_CLUSTER(count, ctx, blocks, threads, size, shared, out));
            check_counts(ctx, out, blocks, size);
        }
    }
}

void test_fixed_cluster(weft_context *ctx) {
    const unsigned blocks = 4 * 9;
    if (!has_clusters(ctx))
        return;
    int *const out = zeros(ctx, (size_t)blocks * threads);
    ok(ctx, WEFT_LAUNCH_FIXED_CLUSTER(count_by_four, ctx, blocks, threads, 4, 0, out));
    check_counts(ctx, out, blocks, 4);
}

/* ---- launches from kernels ---- */

/* Fills out[0 .. n) by halves, down to single elements. */
__global__ void halve(int *out, int n, int first) {
    if (n == 1) {
        *out = first;
        return;
    }
    const int left = n / 2;
    (void)WEFT_LAUNCH_FORGET(halve, 1u, 1u, 0, out, left, first);
    (void)WEFT_LAUNCH_FORGET(halve, 1u, 1u, 0, out + left, n - left, first + left);
}

/* Multiplies by `factor` what all blocks of its parent stored in v[0 .. n). */
template <int factor, int addend>
__global__ void change(int *v, int n) {
    for (int k = (int)(blockIdx.x * blockDim.x + threadIdx.x); k < n;
         k += (int)(gridDim.x * blockDim.x))
        v[k] = v[k] * factor + addend;
}

/* Every thread launches, with FORGET, a kernel that doubles its element; the two tail launches come
 * after all of these, one after the other. */
__global__ void family(int *v, int n) {
    const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (k < n) {
        v[k] = k;
        (void)WEFT_LAUNCH_FORGET((change<2, 0>), 1u, 1u, 0, v + k, 1);
    }
    if (k == 0) {
        (void)WEFT_LAUNCH_TAIL((change<1, 5>), 3u, 32u, 0, v, n);
        (void)WEFT_LAUNCH_TAIL((change<3, 0>), 2u, 64u, 0, v, n);
    }
}

/* A tail launch of itself until n is 0: a loop in which every iteration is a grid. */
__global__ void turns(int *v, int n) {
    v[threadIdx.x] = v[(threadIdx.x + 1) % blockDim.x] + 1;
    __syncthreads();
    if (threadIdx.x == 0 && n > 1)
        (void)WEFT_LAUNCH_TAIL(turns, 1u, blockDim.x, 0, v, n - 1);
}

void test_device_launches(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    const int n = 200;
    int *const v = zeros(ctx, (size_t)n), *const w = zeros(ctx, (size_t)n);
    ok(ctx, WEFT_LAUNCH(halve, ctx, 1u, 1u, 0, v, n, 1000));
    ok(ctx, WEFT_LAUNCH(family, ctx, 7u, 32u, 0, w, n));
    const std::vector<int> first = taken(ctx, v, (size_t)n), second = taken(ctx, w, (size_t)n);
    for (int k = 0; k < n; k++) {
        assert_int_equal(first[(size_t)k], 1000 + k);
        assert_int_equal(second[(size_t)k], (2 * k + 5) * 3);
    }
}

void test_tail_turns(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    int *const v = zeros(ctx, 1);
    ok(ctx, WEFT_LAUNCH(turns, ctx, 1u, 1u, 0, v, 100));
    ok(ctx, WEFT_LAUNCH(turns, ctx, 1u, 1u, 0, v, 1));
    assert_int_equal(taken(ctx, v, 1)[0], 101);
}

/* ---- constant memory ---- */

WEFT_CONSTANT(int, weights, [5]);
WEFT_CONSTANT(int, offset, );

__global__ void weigh(int *out, int n) {
    const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (k < n)
        out[k] = k * weights[k % 5] + offset;
}

void test_constants(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    const int n = 1000;
    for (int turn = 0; turn < 3; turn++) {
        int values[5], *const out = zeros(ctx, (size_t)n);
        for (int k = 0; k < 5; k++)
            values[k] = 3 * k + turn;
        ok(ctx, wi_set_constant(ctx, weights, &values));
        ok(ctx, wi_set_constant(ctx, offset, &turn));
        ok(ctx, WEFT_LAUNCH(weigh, ctx, 11u, threads, 0, out, n));
        memset(values, 0, sizeof values); /* they were copied */
        const std::vector<int> got = taken(ctx, out, (size_t)n);
        for (int k = 0; k < n; k++)
            assert_int_equal(got[(size_t)k], k * (3 * (k % 5) + turn) + turn);
    }
}

/* ---- tensor cores ---- */

/* D = A B + C for small integers A, B and C, row by row in v, with D after them. */
template <class T>
__global__ void multiply_16(int *v) {
    WEFT_SHARED(T, a, [16 * 16]);
    WEFT_SHARED(T, b, [16 * 16]);
    const int lane = wi_lane(), g = lane / 4, t = lane % 4;
    for (int k = lane; k < 256; k += 32) {
        a[k] = (T)(float)v[k];
        b[k] = (T)(float)v[256 + k];
    }
    __syncwarp();
    uint32_t mine_a[4], mine_b[4];
    wi_load_matrices(mine_a, &a[(lane % 16) * 16 + lane / 16 * 8]);
    wi_load_matrices_transposed(mine_b, &b[(lane % 16) * 16 + lane / 16 * 8]);
    for (int right = 0; right < 2; right++) {
        const uint32_t half[2] = {mine_b[2 * right], mine_b[2 * right + 1]};
        float d[4];
        for (int k = 0; k < 4; k++)
            d[k] = (float)v[512 + (g + k / 2 * 8) * 16 + right * 8 + 2 * t + k % 2];
        if constexpr (std::is_same_v<T, __half>)
            wi_multiply_f16(d, mine_a, half);
        else
            wi_multiply_bf16(d, mine_a, half);
        for (int k = 0; k < 4; k++)
            v[768 + (g + k / 2 * 8) * 16 + right * 8 + 2 * t + k % 2] = (int)d[k];
    }
}

__global__ void multiply_tf32(int *v) {
    const int g = wi_lane() / 4, t = wi_lane() % 4;
    const auto bits = [](int x) { return wi_bit_cast<uint32_t>((float)x); };
    const int *const b = v + 128, *const c = b + 64;
    const uint32_t mine_a[4] = {bits(v[g * 8 + t]), bits(v[(g + 8) * 8 + t]),
                                bits(v[g * 8 + t + 4]), bits(v[(g + 8) * 8 + t + 4])};
    const uint32_t mine_b[2] = {bits(b[t * 8 + g]) | 0x1fff, bits(b[(t + 4) * 8 + g])};
    float d[4];
    for (int k = 0; k < 4; k++)
        d[k] = (float)c[(g + k / 2 * 8) * 8 + 2 * t + k % 2];
    wi_multiply_tf32(d, mine_a, mine_b);
    for (int k = 0; k < 4; k++)
        v[320 + (g + k / 2 * 8) * 8 + 2 * t + k % 2] = (int)d[k];
}

/* The bytes of x[0], x[step], x[2 step] and x[3 step], the first in the low byte. */
__device__ uint32_t four_bytes(const int *x, int step) {
    uint32_t word = 0;
    for (int k = 0; k < 4; k++)
        word |= (uint32_t)(uint8_t)x[k * step] << 8 * k;
    return word;
}

__global__ void multiply_int8(int *v) {
    const int g = wi_lane() / 4, t = wi_lane() % 4;
    const int *const b = v + 512, *const c = b + 256;
    const uint32_t mine_a[4] = {
        four_bytes(&v[g * 32 + 4 * t], 1), four_bytes(&v[(g + 8) * 32 + 4 * t], 1),
        four_bytes(&v[g * 32 + 4 * t + 16], 1), four_bytes(&v[(g + 8) * 32 + 4 * t + 16], 1)};
    const uint32_t mine_b[2] = {four_bytes(&b[4 * t * 8 + g], 8),
                                four_bytes(&b[(4 * t + 16) * 8 + g], 8)};
    int32_t d[4];
    for (int k = 0; k < 4; k++)
        d[k] = c[(g + k / 2 * 8) * 8 + 2 * t + k % 2];
    wi_multiply_int8(d, mine_a, mine_b);
    for (int k = 0; k < 4; k++)
        v[896 + (g + k / 2 * 8) * 8 + 2 * t + k % 2] = d[k];
}

__global__ void multiply_f64(int *v) {
    const int g = wi_lane() / 4, t = wi_lane() % 4;
    double d[2] = {(double)v[64 + g * 8 + 2 * t], (double)v[64 + g * 8 + 2 * t + 1]};
    wi_multiply_f64(d, (double)v[g * 4 + t], (double)v[32 + t * 8 + g]);
    for (int k = 0; k < 2; k++)
        v[128 + g * 8 + 2 * t + k] = (int)d[k];
}

__global__ void multiply_f64_16(int *v) {
    const int g = wi_lane() / 4, t = wi_lane() % 4;
    const int *const b = v + 256, *const c = b + 128;
    double x[8], y[4], d[4];
    for (int k = 0; k < 8; k++)
        x[k] = (double)v[(g + k % 2 * 8) * 16 + t + k / 2 * 4];
    for (int k = 0; k < 4; k++) {
        y[k] = (double)b[(t + 4 * k) * 8 + g];
        d[k] = (double)c[(g + k / 2 * 8) * 8 + 2 * t + k % 2];
    }
    wi_multiply_f64(d, x, y);
    for (int k = 0; k < 4; k++)
        v[512 + (g + k / 2 * 8) * 8 + 2 * t + k % 2] = (int)d[k];
}

/* Checks the kernel with integers -9 .. 9 in an m x k, a k x n and an m x n matrix. */
void check_product(weft_context *ctx, void (*kernel)(int *), int m, int n, int k, uint64_t seed) {
    test_random random = test_random_at(seed);
    const size_t b = (size_t)(m * k), c = b + (size_t)(k * n), d = c + (size_t)(m * n);
    std::vector<int> v(d + (size_t)(m * n));
    for (size_t i = 0; i < d; i++)
        v[i] = (int)test_below(&random, 19) - 9;
    int *const p = zeros(ctx, v.size());
    ok(ctx, weft_copy(ctx, p, v.data(), v.size() * sizeof(int)));
    ok(ctx, WEFT_LAUNCH(kernel, ctx, 1u, 32u, 0, p));
    const std::vector<int> got = taken(ctx, p, v.size());
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            int sum = v[c + (size_t)(i * n + j)];
            for (int l = 0; l < k; l++)
                sum += v[(size_t)(i * k + l)] * v[b + (size_t)(l * n + j)];
            if (got[d + (size_t)(i * n + j)] != sum)
                fail_msg("%d x %d x %d: D(%d, %d) is %d, not %d", m, n, k, i, j,
                         got[d + (size_t)(i * n + j)], sum);
        }
}

void test_tensor_cores(weft_context *ctx) {
    for (uint64_t turn = 0; turn < 5 && ctx->gpu; turn++) {
        check_product(ctx, multiply_16<__half>, 16, 16, 16, 4 * turn);
        check_product(ctx, multiply_16<__nv_bfloat16>, 16, 16, 16, 4 * turn + 1);
        check_product(ctx, multiply_tf32, 16, 8, 8, 4 * turn + 2);
        check_product(ctx, multiply_f64, 8, 8, 4, 4 * turn + 3);
        check_product(ctx, multiply_int8, 16, 8, 32, 4 * turn + 4);
        check_product(ctx, multiply_f64_16, 16, 8, 16, 4 * turn + 5);
    }
}

/* Stores four 8 x 8 matrices of the numbers 0 .. 255, row r of matrix i to the first sixteen bytes
 * of line 4 r + i, and lists what lies where. */
__global__ void store_matrices(int *out) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    WEFT_SHARED(uint16_t, memory, [32 * 24]);
    const int lane = wi_lane();
    const uint32_t first = (uint32_t)lane * 2;
    uint32_t part[4];
    for (uint32_t i = 0; i < 4; i++)
        part[i] = (64 * i + first) | (64 * i + first + 1) << 16;
    for (int k = lane; k < 32 * 24; k += 32)
        memory[k] = 999;
    __syncwarp();
    wi_store_matrices(part, &memory[(lane % 8 * 4 + lane / 8) * 24]);
    __syncwarp();
    for (int k = lane; k < 32 * 24; k += 32)
        out[k] = memory[k];
#endif
}

void test_stored_matrices(weft_context *ctx) {
    constexpr int n = 32 * 24;
    if (!has_clusters(ctx)) /* what came with compute capability 9.0 */
        return;
    int *const out = zeros(ctx, n);
    ok(ctx, WEFT_LAUNCH(store_matrices, ctx, 1u, 32u, 0, out));
    const std::vector<int> got = taken(ctx, out, n);
    for (int k = 0; k < n; k++) {
        const int slot = k / 24, place = k % 24, matrix = slot % 4, row = slot / 4;
        const int expected = place < 8 ? 64 * matrix + 8 * row + place : 999;
        if (got[(size_t)k] != expected)
            fail_msg("element %d of row %d of matrix %d is %d, not %d", place, row, matrix,
                     got[(size_t)k], expected);
    }
}

/* ---- roots ---- */

/* v[k], v[n + k] = the root of v[k], and the reciprocal of that. */
__global__ void take_roots(double *v, unsigned n) {
    const unsigned k = blockIdx.x * threads + threadIdx.x;
    if (k >= n)
        return;
    const wi_root found(v[k]);
    v[k] = found.root;
    v[n + k] = found.reciprocal;
}

/* Numbers of every size, and both sides of those where the way changes: no worse than two
 * roundings. */
void test_roots(weft_context *ctx) {
    constexpr unsigned n = 4096;
    test_random random = test_random_at(7);
    std::vector<double> x(n), v(2 * n);
    for (unsigned k = 0; k < n && ctx->gpu; k++)
        x[k] = ldexp(1 + test_unit(&random) * test_unit(&random), (int)(k % 2096) - 1073);
    const double sides[] = {1e-60, nextafter(1e-60, 0), 1e60, nextafter(1e60, 1e61), 1, 4};
    std::copy(std::begin(sides), std::end(sides), x.begin());
    std::copy(x.begin(), x.end(), v.begin());
    if (!ctx->gpu)
        return;
    void *p = nullptr;
    ok(ctx, weft_alloc(ctx, &p, v.size() * sizeof(double)));
    ok(ctx, weft_copy(ctx, p, v.data(), v.size() * sizeof(double)));
    ok(ctx, WEFT_LAUNCH(take_roots, ctx, (n - 1) / threads + 1, threads, 0, (double *)p, n));
    ok(ctx, weft_copy(ctx, v.data(), p, v.size() * sizeof(double)));
    ok(ctx, weft_free(ctx, p));
    for (unsigned k = 0; k < n; k++) {
        const long double root = sqrtl(x[k]), most = 0x1p-52L;
        if (!(fabsl(v[k] / root - 1) <= most && fabsl(v[n + k] * root - 1) <= 1.5L * most))
            fail_msg("%a: root %a, reciprocal %a", x[k], v[k], v[n + k]);
    }
}

/* ---- boxes of a matrix ---- */

constexpr int box_lines = 16;

/* Brings a box to shared memory, adds 1000 to its elements, and stores it in another matrix. */
template <int line>
__global__ void move_box(const __grid_constant__ wi_boxes from, const __grid_constant__ wi_boxes to,
                         int x, int y, int z) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(wi_barrier, loaded, );
    constexpr int box_length = line / (int)sizeof(int);
    const uintptr_t past = (uintptr_t)memory % wi_box_align;
    int *const box = (int *)(memory + (past ? wi_box_align - past : 0));
    if (threadIdx.x == 0) {
        wi_barrier_init(&loaded, 1);
        wi_barrier_publish();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        wi_barrier_arrive_expect(&loaded, box_lines * line);
        wi_box_load(box, &from, x, y, z, &loaded);
    }
    wi_barrier_wait(&loaded, 0);
    for (int k = (int)threadIdx.x; k < box_lines * box_length; k += (int)blockDim.x) {
        const uint32_t at = (uint32_t)k * 4;
        box[(line == wi_box_line ? wi_box_place(at) : wi_narrow_box_place(at)) / 4] +=
            1000 * (k / box_length + 1);
    }
    wi_bulk_fence();
    __syncthreads();
    if (threadIdx.x == 0) {
        wi_box_store(&to, x, y, z, box);
        wi_bulk_commit();
        wi_bulk_wait_read<0>();
    }
#endif
}

void describe(weft_context *ctx, const wi_box_source *source, int line, wi_boxes *boxes) {
    ok(ctx, line == wi_box_line ? wi_gpu_describe_boxes(ctx, source, box_lines, boxes)
                                : wi_gpu_describe_narrow_boxes(ctx, source, box_lines, 1, boxes));
}

/* Two matrices, and a box at (x, y) of matrix z, which may end beyond it. */
template <int line>
void check_box(weft_context *ctx, int x, int y, int z) {
    constexpr int length = 40, lines = 37, pitch = 44, count = 2;
    constexpr int box_length = line / (int)sizeof(int);
    constexpr size_t n = (size_t)count * lines * pitch;
    std::vector<int> in(n), expected(n);
    for (size_t i = 0; i < n; i++)
        in[i] = (int)i + 1;
    for (int l = y; l < y + box_lines && l < lines; l++)
        for (int e = x; e < x + box_length && e < length; e++) {
            const size_t at = ((size_t)z * lines + (size_t)l) * pitch + (size_t)e;
            expected[at] = in[at] + 1000 * (l - y + 1);
        }
    int *const p = zeros(ctx, n), *const q = zeros(ctx, n);
    ok(ctx, weft_copy(ctx, p, in.data(), n * sizeof(int)));
    /* The engine moves bits: only the size of a type counts. */
    wi_box_source source = {WEFT_F32, p, length, lines, pitch * sizeof(int), count, 0, false};
    source.apart = lines * source.pitch;
    wi_boxes from, to;
    describe(ctx, &source, line, &from);
    source.base = q;
    describe(ctx, &source, line, &to);
    ok(ctx, WEFT_LAUNCH(move_box<line>, ctx, 1u, threads, wi_box_align + box_lines * line, from, to,
                        x, y, z));
    const std::vector<int> got = taken(ctx, q, n);
    ok(ctx, weft_free(ctx, p));
    for (size_t i = 0; i < n; i++)
        if (got[i] != expected[i])
            fail_msg("box at (%d, %d) of %d: element %zu is %d, not %d", x, y, z, i, got[i],
                     expected[i]);
}

void test_boxes(weft_context *ctx) {
    if (!has_clusters(ctx)) /* nor the copy engine */
        return;
    constexpr int at[][3] = {{0, 0, 0}, {4, 3, 1}, {12, 30, 0}, {36, 36, 1}};
    for (const auto &[x, y, z] : at) {
        check_box<wi_box_line>(ctx, x, y, z);
        check_box<wi_narrow_box_line>(ctx, x, y, z);
    }
}

const test_body bodies[] = {{test_clusters},        {test_fixed_cluster}, {test_device_launches},
                            {test_tail_turns},      {test_constants},     {test_tensor_cores},
                            {test_stored_matrices}, {test_roots},         {test_boxes}};

} // namespace

int main() {
    constexpr size_t count = sizeof bodies / sizeof *bodies;
    const char *const names[] = {"clusters",        "fixed cluster", "device launches",
                                 "tail turns",      "constants",     "tensor cores",
                                 "stored matrices", "roots",         "boxes"};
    static_assert(sizeof names / sizeof *names == count, "a name for each");
    struct CMUnitTest tests[count];
    for (size_t k = 0; k < count; k++)
        tests[k] = {names[k], test_on_each_place, nullptr, nullptr, (void *)&bodies[k]};
    return _cmocka_run_group_tests("kernels", tests, count, nullptr, nullptr);
}
