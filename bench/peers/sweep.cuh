/* SPDX-License-Identifier: Apache-2.0 */
/* What the sweeps share: every operation at sizes from 2^4 to 2^30 beside CUB and Thrust, on the
 * same device arrays in the same process, with results compared. A row has three times of each
 * side: of calls one after another, which is what its ratio is of; of the host alone, which such a
 * call takes at least; and of the device alone, by a captured graph of the same calls. */
#ifndef WEFT_SWEEP_CUH
#define WEFT_SWEEP_CUH

#include <chrono>
#include <functional>
#include <string.h>
#include <type_traits>

#include "peer.cuh"

/* Memory for the arrays of one race after another: to allocate gigabytes takes longer than to race
 * in them. */
struct arena {
    char *base = nullptr;
    size_t used = 0, bytes;
    explicit arena(size_t room) : bytes(room) {
        CUDA(cudaMalloc(&base, room));
    }
    ~arena() {
        cudaFree(base);
    }
    arena(const arena &) = delete;
    arena &operator=(const arena &) = delete;

    template <class T>
    T *take(size_t n) {
        const size_t at = used;
        used += (n * sizeof(T) + 255) / 256 * 256 + 256;
        if (used > bytes) {
            fprintf(stderr, "sweep: the arena of %zu bytes is too small\n", bytes);
            exit(1);
        }
        return (T *)(base + at);
    }
};

struct times {
    double seconds = 0, host = 0, device = 0;
};

struct sweep {
    weft_context *ctx = nullptr;
    cudaStream_t stream = nullptr;
    arena room;
    std::vector<int> sizes;
    const char *only = nullptr; /* the operation raced, or NULL */
    bool all_ok = true;
    explicit sweep(size_t bytes) : room(bytes) {}
};

using call_of = std::function<bool()>;

constexpr int short_calls = 20;

/* Device seconds of one call, by a graph of many; 0 where the call cannot be captured. */
inline double graph_seconds(cudaStream_t stream, int calls, const call_of &call) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    bool ok = cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaSuccess;
    for (int i = 0; i < calls && ok; i++)
        ok = call();
    ok = cudaStreamEndCapture(stream, &graph) == cudaSuccess && ok && graph;
    ok = ok && cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess;
    (void)cudaGetLastError();
    std::vector<double> seconds;
    cudaEvent_t at[2];
    for (cudaEvent_t &e : at)
        CUDA(cudaEventCreate(&e));
    for (int pass = 0; pass < 9 && ok; pass++) {
        float ms = 0;
        keep_busy<<<1, 1, 0, stream>>>();
        CUDA(cudaEventRecord(at[0], stream));
        CUDA(cudaGraphLaunch(exec, stream));
        CUDA(cudaEventRecord(at[1], stream));
        CUDA(cudaEventSynchronize(at[1]));
        CUDA(cudaEventElapsedTime(&ms, at[0], at[1]));
        seconds.push_back(ms * 1e-3 / calls);
    }
    for (cudaEvent_t &e : at)
        CUDA(cudaEventDestroy(e));
    if (exec)
        CUDA(cudaGraphExecDestroy(exec));
    if (graph)
        CUDA(cudaGraphDestroy(graph));
    std::sort(seconds.begin(), seconds.end());
    return ok ? seconds[seconds.size() / 2] : 0;
}

/* Both in turns, with the host's time beside. Each begins on a stream that has nothing to do:
 * behind calls whose host is quicker than the device, those of the other would be queued before the
 * device comes to them, and so be timed without their host. `once`: seconds of a call. */
inline void time_both(cudaStream_t stream, double once, const call_of who[2], times t[2]) {
    const int calls = once < 100e-6 ? short_calls : 1, passes = once < 5e-3 ? 15 : 5;
    cudaEvent_t at[2];
    for (cudaEvent_t &e : at)
        CUDA(cudaEventCreate(&e));
    std::vector<double> seconds[2], host[2];
    for (int turn = -4; turn < 2 * passes; turn++) {
        const int k = turn & 1;
        float ms = 0;
        if (calls == 1)
            keep_busy<<<1, 1, 0, stream>>>();
        CUDA(cudaEventRecord(at[0], stream));
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; i++)
            if (!who[k]())
                exit(1);
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        CUDA(cudaEventRecord(at[1], stream));
        CUDA(cudaEventSynchronize(at[1]));
        CUDA(cudaEventElapsedTime(&ms, at[0], at[1]));
        if (turn >= 0) {
            host[k].push_back(taken.count() / calls);
            seconds[k].push_back(ms * 1e-3 / calls);
        }
    }
    for (cudaEvent_t &e : at)
        CUDA(cudaEventDestroy(e));
    for (int k = 0; k < 2; k++) {
        std::sort(seconds[k].begin(), seconds[k].end());
        std::sort(host[k].begin(), host[k].end());
        t[k].seconds = seconds[k][seconds[k].size() / 2];
        t[k].host = host[k][host[k].size() / 2];
        t[k].device = calls > 1 ? graph_seconds(stream, calls, who[k]) : t[k].seconds;
    }
}

/* One row: `ours` returns a weft_status, `theirs` a cudaError_t; `ok` compares the results. */
template <class Ours, class Theirs, class Ok>
void race(sweep &s, const char *op, const char *type, size_t n, const char *ladder,
          const char *peer, Ours ours, Theirs theirs, Ok ok) {
    times t[2];
    const call_of who[2] = {[&] {
                                const weft_status status = ours();
                                if (status != WEFT_OK)
                                    fprintf(stderr, "%s: %s\n", op, weft_message(s.ctx));
                                return status == WEFT_OK;
                            },
                            [&] { return theirs() == cudaSuccess; }};
    for (int k = 0; k < 2; k++)
        if (!who[k]())
            exit(1);
    CUDA(cudaStreamSynchronize(s.stream));
    const auto begin = std::chrono::steady_clock::now();
    if (!who[1]())
        exit(1);
    CUDA(cudaStreamSynchronize(s.stream));
    const std::chrono::duration<double> once = std::chrono::steady_clock::now() - begin;
    time_both(s.stream, once.count(), who, t);
    CUDA(cudaStreamSynchronize(s.stream));
    const bool right = ok();
    s.all_ok = s.all_ok && right;
    printf("{\"op\":\"%s\",\"type\":\"%s\",\"n\":%zu,\"variant\":\"%s\",\"seconds\":%.4g,"
           "\"host_seconds\":%.4g,\"device_seconds\":%.4g,\"peer\":\"%s\",\"peer_seconds\":%.4g,"
           "\"peer_host_seconds\":%.4g,\"peer_device_seconds\":%.4g,\"peer_ratio\":%.3f,\"ok\":%s}"
           "\n",
           op, type, n, weft_used(s.ctx, ladder), t[0].seconds, t[0].host, t[0].device, peer,
           t[1].seconds, t[1].host, t[1].device, t[1].seconds / t[0].seconds,
           right ? "true" : "false");
    fflush(stdout);
}

/* The same beside a call of CUB that asks for scratch first. */
template <class Ours, class Cub, class Ok>
void race_cub(sweep &s, const char *op, const char *type, size_t n, const char *ladder, Cub cub,
              Ours ours, Ok ok) {
    size_t bytes = 0;
    CUDA(cub(nullptr, bytes));
    char *const scratch = s.room.take<char>(bytes + 1);
    race(
        s, op, type, n, ladder, "CUB", ours, [&] { return cub(scratch, bytes); }, ok);
}

/* Calls `at(n)` for every size up to 2^most of operation `op`, if it is wanted. */
template <class At>
void each_size(sweep &s, const char *op, int most, At at) {
    if (s.only && strcmp(s.only, op) != 0)
        return;
    for (const int log_n : s.sizes)
        if (log_n <= most) {
            s.room.used = 0;
            at((size_t)1 << log_n);
        }
}

template <class T>
constexpr weft_type type_of() {
    return std::is_same<T, float>::value      ? WEFT_F32
           : std::is_same<T, double>::value   ? WEFT_F64
           : std::is_same<T, uint8_t>::value  ? WEFT_U8
           : std::is_same<T, uint64_t>::value ? WEFT_U64
                                              : WEFT_U32;
}

template <class T>
const char *name_of() {
    return weft_type_name(type_of<T>());
}

/* Integers of all bits, floats from -1 to below 1. */
template <class T>
__global__ void draw_values(T *x, size_t n, uint64_t seed) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        if constexpr (std::is_floating_point<T>::value)
            x[i] = (T)draw_real(seed, i) + (T)0;
        else
            x[i] = (T)(draw_bits(seed, i) >> (64 - 8 * sizeof(T)));
    }
}

template <class T>
void fill_values(T *x, size_t n, uint64_t seed) {
    draw_values<<<filling_blocks, filling_threads>>>(x, n, seed);
    CUDA(cudaDeviceSynchronize());
}

template <class T>
T fetched(const T *p) {
    T value;
    CUDA(cudaMemcpy(&value, p, sizeof value, cudaMemcpyDefault));
    return value;
}

/* NAME [OPERATION [LOG2_N...]]: all operations and sizes unless it says otherwise; "all" is every
 * operation. Returns the status of the program. */
template <class Run>
int run_sweep(int argc, char **argv, size_t bytes, Run run) {
    weft_context *ctx = nullptr;
    if (weft_open(&ctx, "gpu") != WEFT_OK) {
        fprintf(stderr, "sweep: no race: %s\n", weft_message(nullptr));
        return 77;
    }
    sweep s(bytes);
    s.ctx = ctx;
    if (argc > 1 && strcmp(argv[1], "all") != 0)
        s.only = argv[1];
    for (int k = 2; k < argc; k++)
        s.sizes.push_back(atoi(argv[k]));
    if (argc < 3)
        s.sizes = {4, 7, 10, 13, 16, 20, 24, 28, 30};
    CUDA(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
    check_weft(ctx, weft_set_stream(ctx, s.stream));
    run(s);
    weft_close(ctx);
    CUDA(cudaStreamDestroy(s.stream));
    return s.all_ok ? 0 : 1;
}

#endif
