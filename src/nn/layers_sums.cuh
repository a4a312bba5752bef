/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the pixels of each channel, in f64, on a GPU: a block sums a part of them, in an order
 * that the sizes and the device alone decide. */
#ifndef WI_LAYERS_SUMS_CUH
#define WI_LAYERS_SUMS_CUH

#include "cuda/ahead.cuh"
#include "cuda/memory.cuh"
#include "nn/layers_cuda.cuh"

namespace {

/* What is summed, for each pixel of a channel: u; u and u (v - centre); or u - centre and its
 * square. */
enum summed {
    ALONE,
    PRODUCTS,
    SQUARES
};

struct sums {
    double first, second;
};

/* How a block's threads share out channels that lie side by side: `across` threads have neighbours
 * of a pixel, `rows` such rows pixels. `groups` of blocks have other channels. */
struct channel_rows {
    unsigned across, rows, groups;
};

struct channel_params {
    wi_layer layer;
    wi_layer_step step;
    unsigned channels, plane; /* pixels of an image */
    size_t images;
    unsigned parts; /* of a channel, which a block sums each */
    channel_rows share;
    bool planes;
    double pixels; /* that sums stand for */
    double epsilon, momentum;
    wi_layer_finder finder;
};

} // namespace

constexpr int wi_sum_planes_threads = 256;
constexpr int wi_sum_pixels_threads = 512;
constexpr int wi_sums_each =
    16; /* vectors of a thread, at least, before a channel has more parts */

/* Elements that are added up together, of one line. Where these lie decides how they are read, but
 * not the order of sums. */
template <class T, int Width>
struct alignas(Width * sizeof(T)) wi_sums_vector {
    T at[Width];
};
template <bool Aligned, class T, int Width>
static __device__ void read_vector(const T *from, wi_sums_vector<T, Width> *to) {
    if constexpr (Aligned)
        *to = *(const wi_sums_vector<T, Width> *)from;
    else
#pragma unroll
        for (int e = 0; e < Width; e++)
            to->at[e] = from[e];
}

/* Elements of a vector: of planes 16 bytes, of pixels no more than four, each of which has sums of
 * its own. */
template <class T>
constexpr int wi_sums_wide_plane = wi_vector<T>::count;
template <class T>
constexpr int wi_sums_wide_pixel = wi_vector<T>::count < 4 ? wi_vector<T>::count : 4;

/* Vectors that a thread reads before it adds one: 64 bytes, but no more than so many. */
template <class Vector, int most>
constexpr int wi_sums_ahead = 64 / (int)sizeof(Vector) < most ? 64 / (int)sizeof(Vector) : most;

inline channel_rows wi_channel_rows(unsigned vectors, unsigned threads, unsigned groups = 1) {
    channel_rows r;
    r.groups = vectors > threads ? (unsigned)wi_layer_pieces(vectors, threads) : groups;
    r.across = (unsigned)wi_layer_pieces(vectors, r.groups);
    r.rows = threads / (r.across ? r.across : 1);
    return r;
}

template <summed What>
static __device__ void add(sums *s, double u, double v, double centre) {
    if constexpr (What == SQUARES) {
        const double x = u - centre;
        s->first += x;
        s->second = fma(x, x, s->second);
    } else {
        s->first += u;
        if constexpr (What == PRODUCTS)
            s->second = fma(u, v - centre, s->second);
    }
}

/* What the sums of squares are taken around: any pixel of the channel. */
template <summed What, class T>
static __device__ double centre_of(const channel_params &p, const T *u, const wi_compute<T> *mean,
                                   unsigned c) {
    if constexpr (What == SQUARES)
        return (double)wi_load(u[p.planes ? (size_t)c * p.plane : c]);
    else
        return What == PRODUCTS ? (double)mean[c] : 0;
}

/* The sums of all lanes, in every lane. */
template <summed What>
static __device__ sums sum_of_warp(sums s) {
    const auto plus = [](double a, double b) { return a + b; };
    s.first = wi_warp_reduce(s.first, plus);
    if constexpr (What != ALONE)
        s.second = wi_warp_reduce(s.second, plus);
    return s;
}

/* The sums of all warps, in their order; thread 0 has them. */
template <summed What, int Threads>
static __device__ sums sum_of_block(sums s) {
    constexpr int warps = Threads / 32;
    WEFT_SHARED(sums, of_warps, [warps]);
    s = sum_of_warp<What>(s);
    if (threadIdx.x % 32 == 0)
        of_warps[threadIdx.x / 32] = s;
    __syncthreads();
    sums all = {0, 0};
    for (int w = 0; threadIdx.x == 0 && w < warps; w++) {
        all.first += of_warps[w].first;
        all.second += of_warps[w].second;
    }
    return all;
}

constexpr int wi_sum_threads_held = 2048; /* by a multiprocessor of 8.0 and 9.0, at most */

/* Blocks of a multiprocessor: those of one part for each channel leave no room for others. */
template <summed What, int Threads>
constexpr int wi_sum_planes_blocks = Threads > wi_sum_planes_threads ? wi_sum_threads_held / Threads
                                     : What == PRODUCTS              ? 3
                                                                     : 4;

/* Planes: the vectors of a channel are counted over all images, and a part is a run of them. Parts
 * come one after the other, so that memory is read from its beginning to its end. Larger blocks
 * have a channel each, and write its sum to `whole`. */
template <summed What, class T, int Width, bool Aligned, int Threads = wi_sum_planes_threads>
static __global__ void __launch_bounds__(Threads, (wi_sum_planes_blocks<What, Threads>))
    sum_planes(const __grid_constant__ channel_params p, const T *u, const T *v,
               const wi_compute<T> *mean, sums *to, wi_compute<T> *whole) {
    using vector = wi_sums_vector<T, Width>;
    wi_wait_for_earlier();
    constexpr int ahead = wi_sums_ahead<vector, 8>, chains = 4;
    constexpr unsigned threads = Threads;
    const unsigned c = blockIdx.x % p.channels, part = blockIdx.x / p.channels;
    const unsigned line = p.plane >= Width ? p.plane / Width : 1;
    const unsigned step_images = threads / line, step = threads % line;
    const size_t all = p.images * (p.plane / Width), each = (all + p.parts - 1) / p.parts;
    const size_t from = part * each, end = from + each < all ? from + each : all;
    const size_t of_image = (size_t)p.channels * p.plane;
    const double centre = centre_of<What>(p, u, mean, c);
    const size_t first = from + threadIdx.x, image = first / line;
    unsigned i = (unsigned)(first - image * line);
    size_t at = image * of_image + (size_t)c * p.plane + (size_t)i * Width;
    const size_t on = step_images * of_image + step * Width, wrap = of_image - p.plane;
    sums s[chains] = {};
    const unsigned count = from < end ? (unsigned)(end - from) : 0;
    for (unsigned k = threadIdx.x; k < count; k += ahead * threads) {
        vector of_u[ahead] = {}, of_v[ahead] = {};
#pragma unroll
        for (int a = 0; a < ahead; a++) {
            if (k + (unsigned)a * threads < count) {
                read_vector<Aligned>(u + at, &of_u[a]);
                if constexpr (What == PRODUCTS)
                    read_vector<Aligned>(v + at, &of_v[a]);
            }
            i += step;
            at += on + (i >= line ? wrap : 0);
            i -= i >= line ? line : 0;
        }
#pragma unroll
        for (int a = 0; a < ahead; a++)
            if (k + (unsigned)a * threads < count)
#pragma unroll
                for (int e = 0; e < Width; e++)
                    add<What>(&s[(a * Width + e) % chains], (double)wi_load(of_u[a].at[e]),
                              (double)wi_load(of_v[a].at[e]), centre);
    }
#pragma unroll
    for (int j = 1; j < chains; j++) {
        s[0].first += s[j].first;
        s[0].second += s[j].second;
    }
    const sums sum = sum_of_block<What, Threads>(s[0]);
    if (threadIdx.x != 0)
        return;
    if constexpr (Threads > wi_sum_planes_threads)
        whole[c] = (wi_compute<T>)sum.first;
    else
        to[(size_t)c * p.parts + part] = sum;
}

/* Adds the sums of all rows of a block to those of its first, which has them then. The later half
 * of the rows is added to the earlier one, again and again. */
template <int Width>
static __device__ void sum_of_rows(sums (&s)[Width], const channel_rows &share, unsigned row) {
    WEFT_SHARED(sums, later, [Width][wi_sum_pixels_threads / 2]);
    for (unsigned rows = share.rows; rows > 1;) {
        const unsigned half = (rows + 1) / 2;
        if (row >= half && row < rows)
#pragma unroll
            for (int e = 0; e < Width; e++)
                later[e][threadIdx.x - half * share.across] = s[e];
        __syncthreads();
        if (row + half < rows)
#pragma unroll
            for (int e = 0; e < Width; e++) {
                s[e].first += later[e][threadIdx.x].first;
                s[e].second += later[e][threadIdx.x].second;
            }
        __syncthreads();
        rows = half;
    }
}

/* Channels side by side: a thread sums some of them, over the pixels of its row. Blocks go through
 * memory together. */
template <summed What, class T, int Width, bool Aligned>
static __global__ void __launch_bounds__(wi_sum_pixels_threads, 2)
    sum_pixels(const __grid_constant__ channel_params p, const T *u, const T *v,
               const wi_compute<T> *mean, sums *to) {
    using vector = wi_sums_vector<T, Width>;
    wi_wait_for_earlier();
    constexpr int ahead = wi_sums_ahead < vector,
                  What == ALONE ? 8 : 4 > / (What == PRODUCTS ? 2 : 1);
    const channel_rows &share = p.share;
    const unsigned part = blockIdx.x / share.groups, group = blockIdx.x % share.groups;
    const unsigned row = threadIdx.x / share.across;
    const unsigned c = (group * share.across + threadIdx.x - row * share.across) * Width;
    const size_t pixels = p.images * p.plane, step = (size_t)p.parts * share.rows;
    const bool works = row < share.rows && c < p.channels;
    sums s[Width] = {};
    if (works) {
        double centre[Width];
#pragma unroll
        for (int e = 0; e < Width; e++)
            centre[e] = centre_of<What>(p, u, mean, c + (unsigned)e);
        size_t i = (size_t)part * share.rows + row, at = i * p.channels + c;
        const size_t on = step * p.channels;
        for (; i < pixels; i += ahead * step, at += ahead * on) {
            vector of_u[ahead] = {}, of_v[ahead] = {};
#pragma unroll
            for (int a = 0; a < ahead; a++)
                if (i + (size_t)a * step < pixels) {
                    read_vector<Aligned>(u + at + (size_t)a * on, &of_u[a]);
                    if constexpr (What == PRODUCTS)
                        read_vector<Aligned>(v + at + (size_t)a * on, &of_v[a]);
                }
#pragma unroll
            for (int a = 0; a < ahead; a++)
                if (i + (size_t)a * step < pixels)
#pragma unroll
                    for (int e = 0; e < Width; e++)
                        add<What>(&s[e], (double)wi_load(of_u[a].at[e]),
                                  (double)wi_load(of_v[a].at[e]), centre[e]);
        }
    }
    sum_of_rows<Width>(s, share, row);
    if (works && row == 0)
#pragma unroll
        for (int e = 0; e < Width; e++)
            to[(size_t)(c + (unsigned)e) * p.parts + part] = s[e];
}

/* ---- launches ---- */

/* Elements that are added up together: those of a vector, if it is of one line; else 1. */
template <class T>
static unsigned width_of_sums(const channel_params &p) {
    const unsigned width = p.planes ? wi_sums_wide_plane<T> : wi_sums_wide_pixel<T>;
    return (p.planes ? p.plane : p.channels) % width == 0 ? width : 1;
}

/* Blocks of pixels share out channels, of no less than a line of memory: fewer parts of each are
 * left to be added up. */
constexpr unsigned most_groups = 4;

/* Threads of a block that sums a channel alone, if so many blocks as there are channels fill the
 * device then; else 0. */
inline int wi_sums_whole_threads(const weft_context *ctx, unsigned channels) {
    const size_t resident = wi_sum_threads_held * (size_t)ctx->gpu->multiprocessors;
    for (int threads = 1024; threads >= 512; threads /= 2) {
        const size_t wanted = (size_t)channels * (size_t)threads;
        if (wanted >= resident - resident / 10 && (wanted <= resident || threads == 512))
            return threads;
    }
    return 0;
}

/* So many parts of a channel that blocks fill the device, of planes several times, where two arrays
 * are read or squares summed; but no more than leave a thread enough to sum. */
template <class T>
static void share_sums(const weft_context *ctx, channel_params *p) {
    const size_t each = wi_sums_each, pixels = p->images * p->plane;
    const size_t multiprocessors = (size_t)ctx->gpu->multiprocessors;
    const unsigned width = width_of_sums<T>(*p);
    size_t wanted, most;
    if (p->planes) {
        wanted = (p->layer == WI_LAYER_BIAS_BACK ? 4 : 16) * multiprocessors / p->channels;
        most = pixels / width / (wi_sum_planes_threads * each);
    } else {
        const unsigned vectors = p->channels / width, lines = vectors * width * sizeof(T) / 128;
        p->share = wi_channel_rows(vectors, wi_sum_pixels_threads,
                                   lines < 1             ? 1
                                   : lines < most_groups ? lines
                                                         : most_groups);
        wanted = 2 * multiprocessors / p->share.groups;
        most = wi_layer_pieces(pixels, p->share.rows * each);
    }
    const size_t parts = wanted < most ? wanted : most;
    p->parts = parts < 1 ? 1 : (unsigned)parts;
}

template <summed What, class T, int Width, bool Aligned>
static weft_status launch_sums(weft_context *ctx, const channel_params &p, const T *u, const T *v,
                               const wi_compute<T> *mean, sums *to) {
    const size_t blocks = (size_t)(p.planes ? p.channels : p.share.groups) * p.parts;
    const weft_status status = wi_layer_check_grid(ctx, blocks);
    if (status != WEFT_OK)
        return status;
    if constexpr (Width == 1 || Width == wi_sums_wide_plane<T>)
        if (p.planes)
            return WEFT_LAUNCH_AHEAD((sum_planes<What, T, Width, Aligned>), ctx, (unsigned)blocks,
                                     wi_sum_planes_threads, 0, p, u, v, mean, to,
                                     (wi_compute<T> *)NULL);
    if constexpr (Width == 1 || Width == wi_sums_wide_pixel<T>)
        return WEFT_LAUNCH_AHEAD((sum_pixels<What, T, Width, Aligned>), ctx, (unsigned)blocks,
                                 wi_sum_pixels_threads, 0, p, u, v, mean, to);
    return WEFT_OK;
}

template <summed What, class T, int Width>
static weft_status launch_wide(weft_context *ctx, const channel_params &p, const T *u, const T *v,
                               const wi_compute<T> *mean, sums *to) {
    return wi_is_aligned(u) && wi_is_aligned(v)
               ? launch_sums<What, T, Width, true>(ctx, p, u, v, mean, to)
               : launch_sums<What, T, Width, false>(ctx, p, u, v, mean, to);
}

/* to[c * parts + part]: sums of u, or of u and v, as share_sums has shared them out. */
template <summed What, class T>
static weft_status sum_channels(weft_context *ctx, const channel_params &p, const T *u, const T *v,
                                const wi_compute<T> *mean, sums *to) {
    if (width_of_sums<T>(p) == 1)
        return launch_sums<What, T, 1, true>(ctx, p, u, v, mean, to);
    return p.planes ? launch_wide<What, T, wi_sums_wide_plane<T>>(ctx, p, u, v, mean, to)
                    : launch_wide<What, T, wi_sums_wide_pixel<T>>(ctx, p, u, v, mean, to);
}

/* whole[c]: the sum of u over the planes of channel c, by one kernel; of a call that
 * wi_sums_whole_threads has given threads for. */
template <int Threads, bool Aligned, class T>
static weft_status launch_whole(weft_context *ctx, const channel_params &p, const T *u,
                                wi_compute<T> *whole) {
    return WEFT_LAUNCH_AHEAD((sum_planes<ALONE, T, wi_sums_wide_plane<T>, Aligned, Threads>), ctx,
                             p.channels, Threads, 0, p, u, u, (const wi_compute<T> *)NULL,
                             (sums *)NULL, whole);
}

template <class T>
static weft_status sum_whole(weft_context *ctx, const channel_params &p, int of_block, const T *u,
                             wi_compute<T> *whole) {
    if (of_block == 1024)
        return wi_is_aligned(u) ? launch_whole<1024, true>(ctx, p, u, whole)
                                : launch_whole<1024, false>(ctx, p, u, whole);
    return wi_is_aligned(u) ? launch_whole<512, true>(ctx, p, u, whole)
                            : launch_whole<512, false>(ctx, p, u, whole);
}

#endif
