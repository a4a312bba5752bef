/* SPDX-License-Identifier: Apache-2.0 */
/* Races select against CUB on the same device arrays in the same process, beside the copy bandwidth
 * measured here too. Results are compared in full: a wrong one ends the program with status 1.
 *
 * CUB's partition leaves the rest in reverse; weft keeps it in order, in an array of its own or, at
 * the price of counting first, behind those kept. */
#include <cub/cub.cuh>

#include "peer.cuh"

static bool all_ok = true;

/* The status that says: nothing here to race on. */
constexpr int no_race = 77;

struct track {
    weft_context *ctx;
    cudaStream_t stream;
    double copy_gbps;
};

struct positive {
    template <class T>
    __host__ __device__ bool operator()(const T &x) const {
        return x > T(0);
    }
};

__host__ __device__ inline uint64_t mix(uint64_t i) {
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* `percent` of the elements above zero, at random, their sizes all different. */
template <class T>
__global__ void draw_shares(T *x, unsigned char *flags, size_t n, double percent) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const bool up = (double)(mix(i) >> 11) * 0x1p-53 * 100 < percent;
        const T size = (T)(1 + i % 1000003);
        x[i] = up ? size : -size;
        flags[i] = up;
    }
}

/* Runs of equal elements, `mean` long on average. */
template <class T>
__global__ void draw_runs(T *x, size_t n, uint64_t mean) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        size_t begin = i; /* of the run: where the last die came up */
        while (begin > 0 && mix(begin) % mean != 0)
            begin--;
        x[i] = (T)(begin % 1000003);
    }
}

template <class T>
__global__ void count_differences(const T *a, const T *b, size_t n, bool reversed,
                                  unsigned long long *count) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        if (!(a[i] == b[reversed ? n - 1 - i : i]))
            atomicAdd(count, 1ull);
}

template <class T>
static bool same(const T *a, const T *b, size_t n, bool reversed = false) {
    device_array<unsigned long long> count(1);
    CUDA(cudaMemset(count.p, 0, sizeof(unsigned long long)));
    count_differences<<<filling_blocks, filling_threads>>>(a, b, n, reversed, count.p);
    unsigned long long different = 1;
    CUDA(cudaMemcpy(&different, count.p, sizeof different, cudaMemcpyDefault));
    return different == 0;
}

template <class T>
static uint64_t fetched(const T *p) {
    T value = 0;
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpy(&value, p, sizeof value, cudaMemcpyDefault));
    return (uint64_t)value;
}

template <class Call>
static double cub_seconds(const track &t, size_t bytes, Call call) {
    size_t scratch_bytes = 0;
    CUDA(call(nullptr, scratch_bytes));
    device_array<char> scratch(scratch_bytes);
    return device_seconds(t.stream, bytes, [&] { CUDA(call(scratch.p, scratch_bytes)); });
}

/* Arrays of one race, and what both sides made of them. */
template <class T>
struct field {
    const track &t;
    size_t n;
    device_array<T> x, ours, theirs;
    device_array<uint64_t> our_count, their_count;

    field(const track &track, size_t elements)
        : t(track), n(elements), x(elements), ours(elements), theirs(elements), our_count(1),
          their_count(1) {}

    template <class Call>
    double our_seconds(Call call) const {
        return device_seconds(t.stream, n * sizeof(T), [&] { check_weft(t.ctx, call()); });
    }
    uint64_t kept() const {
        return fetched(their_count.p);
    }
    /* Both counts and both outputs' first `kept` elements agree. */
    bool agrees() const {
        return fetched(our_count.p) == kept() && same(ours.p, theirs.p, kept());
    }
    void tell(const char *op, double bytes, double seconds, double peer, bool ok) const {
        all_ok = all_ok && ok;
        report(op, sizeof(T) == 4 ? "f32" : "f64", n, weft_used(t.ctx, "select"), bytes, seconds,
               "CUB", peer, "copy", t.copy_gbps, ok);
    }
};

template <class T>
static weft_predicate above_zero() {
    weft_predicate p = {WEFT_GT, sizeof(T) == 4 ? WEFT_F32 : WEFT_F64, {}, {}};
    return p;
}

template <class T>
static void race_select(const track &t, size_t n, double percent) {
    field<T> f(t, n);
    device_array<unsigned char> flags(n);
    char name[64];
    draw_shares<<<filling_blocks, filling_threads>>>(f.x.p, flags.p, n, percent);
    CUDA(cudaDeviceSynchronize());
    double peer = cub_seconds(t, n * sizeof(T), [&](void *scratch, size_t &bytes) {
        return cub::DeviceSelect::If(scratch, bytes, f.x.p, f.theirs.p, f.their_count.p, n,
                                     positive(), t.stream);
    });
    double seconds = f.our_seconds(
        [&] { return weft_select(t.ctx, above_zero<T>(), n, f.x.p, f.ours.p, f.our_count.p); });
    const double moved = (double)(n + f.kept()) * sizeof(T);
    snprintf(name, sizeof name, "select x > 0, %g %% kept", percent);
    f.tell(name, moved, seconds, peer, f.agrees());
    if (percent != 50)
        return;
    peer = cub_seconds(t, n * sizeof(T), [&](void *scratch, size_t &bytes) {
        return cub::DeviceSelect::Flagged(scratch, bytes, f.x.p, flags.p, f.theirs.p,
                                          f.their_count.p, n, t.stream);
    });
    seconds = f.our_seconds([&] {
        return weft_select_where(t.ctx, WEFT_FLAGGED, n, flags.p, sizeof(T), f.x.p, f.ours.p,
                                 f.our_count.p);
    });
    f.tell("select by flags, 50 % kept", moved + (double)n, seconds, peer, f.agrees());
}

template <class T>
static void race_partition(const track &t, size_t n) {
    field<T> f(t, n);
    device_array<T> rest(n);
    device_array<unsigned char> flags(n);
    draw_shares<<<filling_blocks, filling_threads>>>(f.x.p, flags.p, n, 50);
    CUDA(cudaDeviceSynchronize());
    const double peer = cub_seconds(t, n * sizeof(T), [&](void *scratch, size_t &bytes) {
        return cub::DevicePartition::If(scratch, bytes, f.x.p, f.theirs.p, f.their_count.p, n,
                                        positive(), t.stream);
    });
    const uint64_t kept = f.kept();
    const double moved = 2.0 * (double)n * sizeof(T);
    double seconds = f.our_seconds([&] {
        return weft_partition(t.ctx, above_zero<T>(), n, f.x.p, f.ours.p, rest.p, f.our_count.p);
    });
    f.tell("partition, the rest apart", moved, seconds, peer,
           f.agrees() && same(rest.p, f.theirs.p + kept, n - kept, true));
    seconds = f.our_seconds([&] {
        return weft_partition(t.ctx, above_zero<T>(), n, f.x.p, f.ours.p, nullptr, f.our_count.p);
    });
    f.tell("partition, the rest behind", moved, seconds, peer,
           f.agrees() && same(f.ours.p + kept, f.theirs.p + kept, n - kept, true));
}

template <class T>
static void race_unique(const track &t, size_t n, uint64_t mean) {
    field<T> f(t, n);
    device_array<uint64_t> lengths(n), their_lengths(n);
    char name[64];
    draw_runs<<<filling_blocks, filling_threads>>>(f.x.p, n, mean);
    CUDA(cudaDeviceSynchronize());
    const weft_type type = sizeof(T) == 4 ? WEFT_F32 : WEFT_F64;
    double peer = cub_seconds(t, n * sizeof(T), [&](void *scratch, size_t &bytes) {
        return cub::DeviceSelect::Unique(scratch, bytes, f.x.p, f.theirs.p, f.their_count.p, n,
                                         t.stream);
    });
    double seconds =
        f.our_seconds([&] { return weft_unique(t.ctx, type, n, f.x.p, f.ours.p, f.our_count.p); });
    snprintf(name, sizeof name, "unique, runs of %d", (int)mean);
    f.tell(name, (double)(n + f.kept()) * sizeof(T), seconds, peer, f.agrees());
    peer = cub_seconds(t, n * sizeof(T), [&](void *scratch, size_t &bytes) {
        return cub::DeviceRunLengthEncode::Encode(scratch, bytes, f.x.p, f.theirs.p,
                                                  their_lengths.p, f.their_count.p, n, t.stream);
    });
    seconds = f.our_seconds([&] {
        return weft_run_length(t.ctx, type, n, f.x.p, f.ours.p, WEFT_U64, lengths.p, f.our_count.p);
    });
    snprintf(name, sizeof name, "run lengths, runs of %d", (int)mean);
    f.tell(name, (double)(n + f.kept()) * sizeof(T) + (double)f.kept() * 8, seconds, peer,
           f.agrees() && same(lengths.p, their_lengths.p, f.kept()));
}

int main() {
    track t;
    const weft_status opened = weft_open(&t.ctx, "gpu");
    if (opened != WEFT_OK) {
        fprintf(stderr, "select_peer: no race: %s\n", weft_message(nullptr));
        return no_race;
    }
    CUDA(cudaStreamCreateWithFlags(&t.stream, cudaStreamNonBlocking));
    check_weft(t.ctx, weft_set_stream(t.ctx, t.stream));
    t.copy_gbps = copy_roof(t.stream, (size_t)1 << 31);
    for (const int log_n : {20, 28}) {
        for (const double percent : {1.0, 50.0, 99.0})
            race_select<float>(t, (size_t)1 << log_n, percent);
        race_select<double>(t, (size_t)1 << log_n, 50);
        race_partition<float>(t, (size_t)1 << log_n);
        race_unique<float>(t, (size_t)1 << log_n, 2);
        race_unique<float>(t, (size_t)1 << log_n, 100);
    }
    weft_close(t.ctx);
    CUDA(cudaStreamDestroy(t.stream));
    return all_ok ? 0 : 1;
}
