/* SPDX-License-Identifier: Apache-2.0 */
/* Races blend against the plain copy of as many bytes, and against a kernel of one thread for one
 * element, on the same images in the same process; then images in host memory against the link.
 * Compares every output with a plain kernel: a wrong one ends the program with status 1.
 *
 *     blend_peer            all races
 *     blend_peer NAME       those whose name begins so: device, mask, host */
#include <string.h>

#include "peer.cuh"

/* The status that says: nothing here to race on. */
constexpr int no_race = 77;

static bool all_ok = true;

struct track {
    weft_context *ctx;
    cudaStream_t stream;
    const char *only;
};

struct picture {
    const char *name;
    weft_type type;
    size_t width, height;
    unsigned channels;
    bool has_mask;
    size_t elements() const {
        return width * height * channels;
    }
};

static weft_blending blending_of(const picture &p) {
    weft_blending b = {};
    b.type = p.type;
    b.width = p.width;
    b.height = p.height;
    b.channels = p.channels;
    b.weight_a = 0.3;
    b.weight_b = 0.7;
    return b;
}

template <class T>
__device__ inline T rounded(float v) {
    return (T)__float2uint_rn(fminf(fmaxf(v, 0.0f), (float)(T) ~(T)0));
}
template <>
__device__ inline float rounded<float>(float v) {
    return v;
}
template <class T>
__device__ inline float share_of(T m) {
    return (float)m * (1.0f / (float)(T) ~(T)0);
}
template <>
__device__ inline float share_of<float>(float m) {
    return m;
}

/* One thread for one element. */
template <class T>
__global__ void plain(const T *a, const T *b, const T *mask, T *out, size_t n, unsigned channels,
                      float weight_a, float weight_b) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    if (mask) {
        weight_a = share_of(mask[i / channels]);
        weight_b = 1 - weight_a;
    }
    out[i] = rounded<T>(fmaf(weight_a, (float)a[i], __fmul_rn(weight_b, (float)b[i])));
}

template <class T>
static void launch_plain(const track &t, const picture &p, const T *a, const T *b, const T *mask,
                         T *out) {
    const size_t n = p.elements();
    plain<<<(unsigned)((n + 255) / 256), 256, 0, t.stream>>>(a, b, p.has_mask ? mask : nullptr, out,
                                                             n, p.channels, 0.3f, 0.7f);
    CUDA(cudaGetLastError());
}

static bool is_wanted(const track &t, const char *name) {
    return !t.only || strncmp(t.only, name, strlen(t.only)) == 0;
}

/* Images on the device; the roof is a copy that reads and writes as many bytes in all. */
template <class T>
static void race(const track &t, const picture &p) {
    if (!is_wanted(t, p.name))
        return;
    const size_t n = p.elements(), pixels = p.width * p.height;
    device_array<T> a(n), b(n), mask(pixels), out(n), right(n);
    fill_reals(a.p, n, 1);
    fill_reals(b.p, n, 2);
    fill_reals(mask.p, pixels, 3);
    const weft_blending how = blending_of(p);
    const double bytes = (3.0 * (double)n + (p.has_mask ? (double)pixels : 0)) * sizeof(T);
    double seconds, peer;
    seconds_in_turns(
        t.stream, (size_t)bytes,
        [&] {
            check_weft(t.ctx, weft_blend(t.ctx, &how, a.p, b.p, p.has_mask ? mask.p : NULL, out.p));
        },
        [&] { launch_plain(t, p, a.p, b.p, mask.p, right.p); }, &seconds, &peer);
    CUDA(cudaStreamSynchronize(t.stream));
    const bool ok = is_same(out.p, right.p, n);
    all_ok = all_ok && ok;
    report(p.name, weft_type_name(p.type), n, weft_used(t.ctx, "blend"), bytes, seconds, "plain",
           peer, "copy", copy_roof(t.stream, (size_t)(bytes / 2)), ok);
}

/* Images in pageable host memory: two cross the link and one comes back. The roof is the link in
 * the busier direction. */
static void race_host(const track &t, const picture &p) {
    if (!is_wanted(t, p.name))
        return;
    const size_t n = p.elements();
    std::vector<uint8_t> a(n, 100), b(n, 50), out(n);
    uint8_t *pinned = nullptr;
    device_array<uint8_t> there(n);
    CUDA(cudaMallocHost(&pinned, n));
    const double link =
        (double)n / device_seconds(t.stream, (size_t)1 << 30, [&] {
            CUDA(cudaMemcpyAsync(there.p, pinned, n, cudaMemcpyHostToDevice, t.stream));
        });
    CUDA(cudaFreeHost(pinned));
    const weft_blending how = blending_of(p);
    const double seconds = device_seconds(t.stream, (size_t)1 << 30, [&] {
        check_weft(t.ctx, weft_blend(t.ctx, &how, a.data(), b.data(), NULL, out.data()));
    });
    const bool ok = std::count(out.begin(), out.end(), (uint8_t)65) == (ptrdiff_t)n;
    all_ok = all_ok && ok;
    report(p.name, weft_type_name(p.type), n, weft_used(t.ctx, "blend"), 2.0 * (double)n, seconds,
           "none", 0, "link", link * 1e-9, ok);
}

int main(int argc, char **argv) {
    static const picture pictures[] = {
        {"device 2048 x 1536 RGB", WEFT_U8, 2048, 1536, 3, false},
        {"device 16384 x 16384 RGB", WEFT_U8, 16384, 16384, 3, false},
        {"device 16384 x 16384", WEFT_U16, 16384, 16384, 1, false},
        {"device 16384 x 16384", WEFT_F32, 16384, 16384, 1, false},
        {"mask 16384 x 16384 RGB", WEFT_U8, 16384, 16384, 3, true},
    };
    track t = {};
    t.only = argc > 1 ? argv[1] : nullptr;
    if (weft_open(&t.ctx, "gpu") != WEFT_OK) {
        fprintf(stderr, "blend_peer: no race: %s\n", weft_message(nullptr));
        return no_race;
    }
    CUDA(cudaStreamCreateWithFlags(&t.stream, cudaStreamNonBlocking));
    check_weft(t.ctx, weft_set_stream(t.ctx, t.stream));
    for (const picture &p : pictures)
        if (p.type == WEFT_U8)
            race<uint8_t>(t, p);
        else if (p.type == WEFT_U16)
            race<uint16_t>(t, p);
        else
            race<float>(t, p);
    race_host(t, {"host 2048 x 1536 RGB", WEFT_U8, 2048, 1536, 3, false});
    race_host(t, {"host 16384 x 16384 RGB", WEFT_U8, 16384, 16384, 3, false});
    weft_close(t.ctx);
    CUDA(cudaStreamDestroy(t.stream));
    return all_ok ? 0 : 1;
}
