/* SPDX-License-Identifier: Apache-2.0 */
/* How the kernels of pooling and up-sampling share out images: a thread walks down some rows of a
 * column of pixels, and makes some neighbouring channels of them. Planes (NCHW) are images of one
 * channel. */
#ifndef WI_LAYERS_WALK_CUH
#define WI_LAYERS_WALK_CUH

#include "cuda/memory.cuh"
#include "nn/layers_cuda.cuh"

/* Neighbouring channels of a pixel, read and written at once. */
template <class T, int V>
struct alignas(V * sizeof(T)) wi_pack {
    T at[V];
};

/* The same in the type that they are computed in. */
template <class T, int V>
using wi_wide_pack = wi_pack<wi_compute<T>, V>;

template <class T, int V>
__device__ inline wi_wide_pack<T, V> wi_pack_load(const T *from) {
    const wi_pack<T, V> pack = *(const wi_pack<T, V> *)from;
    wi_wide_pack<T, V> wide;
#pragma unroll
    for (int v = 0; v < V; v++)
        wide.at[v] = wi_load(pack.at[v]);
    return wide;
}

/* Writes a pack by one access. The compiler takes an assignment apart into its elements, and in
 * some kernels does not put them together again, which cost half of the speed. */
template <class T, int V>
__device__ inline void wi_pack_write(T *to, const wi_pack<T, V> &pack) {
#ifndef WEFT_EMU
    if constexpr (sizeof pack == 16) {
        uint4 words;
        memcpy(&words, &pack, sizeof words);
        __stwb((uint4 *)to, words);
        return;
    }
    if constexpr (sizeof pack == 8) {
        uint2 words;
        memcpy(&words, &pack, sizeof words);
        __stwb((uint2 *)to, words);
        return;
    }
#endif
    *(wi_pack<T, V> *)to = pack;
}

template <class T, int V>
__device__ inline void wi_pack_store(T *to, const wi_wide_pack<T, V> &wide) {
    wi_pack<T, V> pack;
#pragma unroll
    for (int v = 0; v < V; v++)
        pack.at[v] = (T)wide.at[v];
    wi_pack_write<T, V>(to, pack);
}

struct wi_layer_walk {
    wi_nn_divisor line, groups, packs; /* threads of a row; rows of threads; packs of a pixel */
    unsigned threads;                  /* of the launch, without those that fill its last block */
    unsigned channels;                 /* elements from a pixel to the next */
    size_t of_x, of_y;                 /* elements from an image to the next */

    struct place {
        size_t image;
        int group, column;
        unsigned channel;
    };
    __device__ place of(unsigned i) const {
        place at;
        const unsigned row = line.of(i), in_row = i - row * line.by;
        const unsigned image = groups.of(row), column = packs.of(in_row);
        at.image = image;
        at.group = (int)(row - image * groups.by);
        at.column = (int)column;
        at.channel = in_row - column * packs.by;
        return at;
    }
};

/* Fills a walk over `columns` x `groups` of each image, by packs of `width` channels. Gives false
 * if there are too many threads for 32 bits. */
inline bool wi_layer_walk_make(wi_layer_walk *w, const wi_layer_args *a, size_t columns,
                               size_t groups, size_t width) {
    const wi_sampling &z = a->sampling;
    const bool planes = a->in.layout == WEFT_NCHW;
    const size_t channels = planes ? 1 : a->in.c, images = planes ? a->in.n * a->in.c : a->in.n;
    const size_t line = columns * (channels / width), of_image = line * groups;
    if (of_image > INT32_MAX || images > INT32_MAX / of_image)
        return false;
    w->line = wi_nn_divisor((unsigned)line);
    w->groups = wi_nn_divisor((unsigned)groups);
    w->packs = wi_nn_divisor((unsigned)(channels / width));
    w->threads = (unsigned)(images * of_image);
    w->channels = (unsigned)channels;
    w->of_x = planes ? z.x.c : z.x.n;
    w->of_y = planes ? z.y.c : z.y.n;
    return true;
}

/* Channels that are taken at a time: 16 bytes, or one; those of f64 go one by one. */
inline unsigned wi_layer_pack_of(const wi_layer_args *a) {
    const unsigned width = 16 / (unsigned)weft_type_size(a->type);
    bool wide = a->type != WEFT_F64 && a->in.layout == WEFT_NHWC && a->in.c % width == 0;
    for (int k = 0; k < 3; k++)
        wide = wide && wi_is_aligned(a->array[k]);
    return wide ? width : 1;
}

/* Calls f(wi_tag<T>{}, packs of so many channels) with the type of a call. */
template <int V>
struct wi_pack_size {
    static constexpr int count = V;
};
template <class F>
weft_status wi_layer_with_packs(weft_type type, bool wide, F f) {
    return wi_with_float_type(type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (sizeof(T) < sizeof(double))
            if (wide)
                return f(tag, wi_pack_size<16 / (int)sizeof(T)>{});
        return f(tag, wi_pack_size<1>{});
    });
}

/* Try a walk: false if the layer is not one of theirs, else *status is the launch's. */
bool wi_layers_double(weft_context *ctx, const wi_layer_args *a, weft_status *status);
bool wi_layers_pool_planes(weft_context *ctx, const wi_layer_args *a, weft_status *status);
bool wi_layers_resample(weft_context *ctx, const wi_layer_args *a, weft_status *status);
bool wi_layers_windows(weft_context *ctx, const wi_layer_args *a, weft_status *status);

#endif
