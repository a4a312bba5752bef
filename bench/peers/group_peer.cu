/* SPDX-License-Identifier: Apache-2.0 */
/* Races reductions and scans by segment and by key against CUB, and gather and scatter against
 * Thrust, on the same device arrays in the same process. Values are small whole numbers, so that
 * every order of additions gives the same bits; a result that differs from the peer's ends the
 * program with status 1.
 *
 *   group_peer [PART]    all, or one of segments, keys, moves */
#include <cub/cub.cuh>
#include <string.h>
#include <thrust/execution_policy.h>
#include <thrust/gather.h>
#include <thrust/scatter.h>

#include "peer.cuh"

static bool all_ok = true;

/* The status that says: nothing here to race on. */
constexpr int no_race = 77;

struct track {
    weft_context *ctx;
    cudaStream_t stream;
    double read_gbps, copy_gbps;
};

template <class T>
static bool same(const T *a, const T *b, size_t n) {
    const bool ok = is_same(a, b, n);
    all_ok = all_ok && ok;
    return ok;
}

/* A CUB call that asks for scratch first; `ladder` tells which of our rungs ran. */
template <class Call, class Ours>
static void race(const track &t, const char *op, const char *type, size_t n, const char *ladder,
                 double bytes, const char *peer, bool reads, Call call, Ours ours,
                 bool (*is_ok)(void *), void *results) {
    size_t scratch_bytes = 0;
    CUDA(call(nullptr, scratch_bytes));
    device_array<char> scratch(scratch_bytes + 1);
    double our_s = 0, peer_s = 0;
    seconds_in_turns(
        t.stream, n * 4, ours, [&] { CUDA(call(scratch.p, scratch_bytes)); }, &our_s, &peer_s);
    report(op, type, n, weft_used(t.ctx, ladder), bytes, our_s, peer, peer_s,
           reads ? "read" : "copy", reads ? t.read_gbps : t.copy_gbps, is_ok(results));
}

/* ---- segments and runs ---- */

/* Lengths of segments: all the same, or mixed: many of 1, some of 1000, one of a quarter of all. */
static std::vector<uint32_t> divide(size_t n, size_t length) {
    std::vector<uint32_t> offsets;
    for (size_t at = 0, s = 0; at < n; s++) {
        offsets.push_back((uint32_t)at);
        at += length > 0 ? length : s == 1000 ? n / 4 : s % 64 == 63 ? 1000 : s % 8 + 1;
    }
    offsets.push_back((uint32_t)n);
    return offsets;
}

/* The keys of runs that begin at offsets. */
__global__ void fill_runs(const uint32_t *offsets, size_t segments, uint32_t *keys) {
    const size_t stride = (size_t)gridDim.x * (blockDim.x / 32);
    for (size_t s = (size_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; s < segments;
         s += stride)
        for (size_t i = offsets[s] + threadIdx.x % 32; i < offsets[s + 1]; i += 32)
            keys[i] = (uint32_t)s * 2654435761u;
}

struct outputs {
    const float *ours, *theirs;
    size_t n;
    const uint32_t *our_keys, *their_keys; /* or NULL */
};

static bool same_outputs(void *results) {
    const outputs *const o = (const outputs *)results;
    const bool ok = same(o->ours, o->theirs, o->n);
    return (!o->our_keys || same(o->our_keys, o->their_keys, o->n)) && ok;
}

static void race_segments(const track &t, size_t n, size_t length) {
    const std::vector<uint32_t> offsets = divide(n, length);
    const size_t segments = offsets.size() - 1;
    device_array<uint32_t> at(segments + 1);
    CUDA(cudaMemcpy(at.p, offsets.data(), (segments + 1) * 4, cudaMemcpyDefault));
    device_array<float> x(n), ours(segments), theirs(segments);
    fill_random(x.p, n, 3);
    char op[64];
    snprintf(op, sizeof op, length ? "sums of segments of %zu" : "sums of segments, mixed", length);
    outputs o = {ours.p, theirs.p, segments, nullptr, nullptr};
    race(
        t, op, "f32", n, "group", 4.0 * (double)n + 8.0 * (double)segments,
        "CUB DeviceSegmentedReduce", true,
        [&](void *scratch, size_t &bytes) {
            return cub::DeviceSegmentedReduce::Sum(scratch, bytes, x.p, theirs.p, (int64_t)segments,
                                                   at.p, at.p + 1, t.stream);
        },
        [&] {
            check_weft(t.ctx, weft_reduce_segments(t.ctx, WEFT_SUM, WEFT_F32, n, x.p, segments,
                                                   WEFT_U32, at.p, ours.p));
        },
        same_outputs, &o);
}

/* Of the keys and values: reduction by key, and scan by key. */
static void race_keys(const track &t, size_t n, size_t length) {
    const std::vector<uint32_t> offsets = divide(n, length);
    const size_t runs = offsets.size() - 1;
    device_array<uint32_t> at(runs + 1), keys(n), our_keys(n), their_keys(n);
    device_array<float> x(n), ours(n), theirs(n);
    device_array<uint64_t> our_count(1), their_count(1);
    CUDA(cudaMemcpy(at.p, offsets.data(), (runs + 1) * 4, cudaMemcpyDefault));
    fill_runs<<<filling_blocks * 16, 128>>>(at.p, runs, keys.p);
    CUDA(cudaDeviceSynchronize());
    fill_random(x.p, n, 4);
    char op[64];
    snprintf(op, sizeof op, length ? "sums by key, runs of %zu" : "sums by key, mixed runs",
             length);
    outputs o = {ours.p, theirs.p, runs, our_keys.p, their_keys.p};
    const weft_column column = {WEFT_SUM, WEFT_F32, x.p, ours.p};
    race(
        t, op, "u32, f32", n, "group_keys", 8.0 * (double)n + 8.0 * (double)runs,
        "CUB DeviceReduce ReduceByKey", true,
        [&](void *scratch, size_t &bytes) {
            return cub::DeviceReduce::ReduceByKey(scratch, bytes, keys.p, their_keys.p, x.p,
                                                  theirs.p, their_count.p, cuda::std::plus<>{},
                                                  (int64_t)n, t.stream);
        },
        [&] {
            check_weft(t.ctx, weft_reduce_by_key(t.ctx, n, 4, keys.p, our_keys.p, 1, &column,
                                                 our_count.p));
        },
        same_outputs, &o);
    snprintf(op, sizeof op, length ? "scan by key, runs of %zu" : "scan by key, mixed runs",
             length);
    o = {ours.p, theirs.p, n, nullptr, nullptr};
    race(
        t, op, "u32, f32", n, "group_scan", 12.0 * (double)n, "CUB DeviceScan InclusiveSumByKey",
        false,
        [&](void *scratch, size_t &bytes) {
            return cub::DeviceScan::InclusiveSumByKey(scratch, bytes, keys.p, x.p, theirs.p,
                                                      (int64_t)n, cuda::std::equal_to<>{},
                                                      t.stream);
        },
        [&] {
            check_weft(t.ctx, weft_scan_by_key(t.ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, n, 4,
                                               keys.p, x.p, ours.p));
        },
        same_outputs, &o);
}

/* ---- moving ---- */

struct wide {
    uint64_t at[2];
    __host__ __device__ bool operator==(const wide &o) const {
        return at[0] == o.at[0] && at[1] == o.at[1];
    }
};

/* A permutation of 2^bits numbers, or the numbers in order. */
__global__ void fill_permutation(uint32_t *index, size_t n, bool in_order) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        uint32_t k = (uint32_t)i, mask = (uint32_t)(n - 1);
        for (int round = 0; round < 3 && !in_order; round++) {
            k = (k * 2654435769u + 12345u) & mask;
            k ^= k >> 11;
        }
        index[i] = k;
    }
}

__global__ void fill_numbers(uint32_t *words, size_t n) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        words[i] = (uint32_t)(i * 2654435761u);
}

template <class T>
static void race_moves(const track &t, const char *type, size_t n, bool in_order) {
    device_array<uint32_t> index(n);
    device_array<T> x(n), ours(n), theirs(n);
    device_array<uint64_t> bad(1);
    fill_permutation<<<filling_blocks, filling_threads>>>(index.p, n, in_order);
    fill_numbers<<<filling_blocks, filling_threads>>>((uint32_t *)x.p, n * (sizeof(T) / 4));
    CUDA(cudaDeviceSynchronize());
    const double bytes = (double)n * (4 + 2 * sizeof(T));
    const auto policy = thrust::cuda::par_nosync.on(t.stream);
    double our_s = 0, peer_s = 0;
    seconds_in_turns(
        t.stream, n * sizeof(T),
        [&] {
            check_weft(t.ctx,
                       weft_gather(t.ctx, n, sizeof(T), WEFT_U32, index.p, n, x.p, ours.p, bad.p));
        },
        [&] { thrust::gather(policy, index.p, index.p + n, x.p, theirs.p); }, &our_s, &peer_s);
    report(in_order ? "gather in order" : "gather at random", type, n, "batches", bytes, our_s,
           "Thrust gather", peer_s, "copy", t.copy_gbps, same(ours.p, theirs.p, n));
    seconds_in_turns(
        t.stream, n * sizeof(T),
        [&] {
            check_weft(t.ctx, weft_scatter(t.ctx, n, sizeof(T), x.p, WEFT_U32, index.p,
                                           WEFT_REPEATS_ANY, n, ours.p, bad.p));
        },
        [&] { thrust::scatter(policy, x.p, x.p + n, index.p, theirs.p); }, &our_s, &peer_s);
    report(in_order ? "scatter in order" : "scatter at random", type, n, "batches", bytes, our_s,
           "Thrust scatter", peer_s, "copy", t.copy_gbps, same(ours.p, theirs.p, n));
}

int main(int argc, char **argv) {
    const auto wanted = [&](const char *part) { return argc < 2 || strcmp(argv[1], part) == 0; };
    track t;
    if (weft_open(&t.ctx, "gpu") != WEFT_OK) {
        fprintf(stderr, "group_peer: no race: %s\n", weft_message(nullptr));
        return no_race;
    }
    CUDA(cudaStreamCreateWithFlags(&t.stream, cudaStreamNonBlocking));
    check_weft(t.ctx, weft_set_stream(t.ctx, t.stream));
    const size_t large = (size_t)1 << 28, middle = (size_t)1 << 26;
    t.read_gbps = read_roof(t.stream, (size_t)1 << 31);
    t.copy_gbps = copy_roof(t.stream, (size_t)1 << 31);
    for (const size_t length : {1, 10, 100, 10000, 0}) {
        if (wanted("segments"))
            race_segments(t, length == 1 || length == 10 ? middle : large, length);
        if (wanted("keys"))
            race_keys(t, large, length);
    }
    for (const bool in_order : {true, false}) {
        if (!wanted("moves"))
            break;
        race_moves<uint32_t>(t, "u32", large, in_order);
        race_moves<wide>(t, "16 bytes", middle, in_order);
    }
    weft_close(t.ctx);
    CUDA(cudaStreamDestroy(t.stream));
    return all_ok ? 0 : 1;
}
