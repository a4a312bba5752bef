/* SPDX-License-Identifier: Apache-2.0 */
/* conv as products on tensor cores, of images whose channels lie side by side: what the rungs
 * tensor and ring share. Each line that comes to shared memory in chunks of 16 bytes is either
 * gathered from images, or of a plain matrix:
 *
 *     product    rows      columns    terms    A                    B
 *     pixels     pixels    filters    taps     gathered, by taps    weights, by taps
 *     taps       filters   taps       pixels   dy, by pixels        gathered, by pixels
 *
 * The first is the forward pass and, with channels of x in place of filters, the gradient for data;
 * the second the gradient for weights. Taps are numbered row, column, channel of a window; channels
 * of a group are filled up with zeros to whole chunks. */
#ifndef WI_CONV_TENSOR_CUH
#define WI_CONV_TENSOR_CUH

#include "cuda/async.cuh"
#include "cuda/memory.cuh"
#include "nn/conv_cuda.cuh"
#include "nn/divisor.cuh"

/* How taps and pixels are found in the images that are gathered. */
struct wi_conv_view {
    wi_nn_divisor plane, width;       /* of pixels: from a number to the image, and to the row */
    wi_nn_divisor channels, window_w; /* of taps: to the place in the window, and to its row */
    int step_h, step_w, first_h, first_w; /* row i of pixels is row first + i step of the images */
    int unit_h, unit_w;                   /* rows from a tap to the next */
    int height, width_from;               /* of the images */
    size_t image, row, column;            /* elements from each to the next */
};

/* A product, of one group after the other. */
template <class T>
struct wi_conv_tensor_job {
    wi_conv_view view;
    const T *gathered, *plain;
    T *to;
    float *partial; /* sums [slice][group][row][column]; NULL: results go to `to` */
    size_t gathered_group, plain_group, to_group; /* elements from a group to the next */
    size_t plain_pitch;
    wi_image_steps to_steps; /* n, h, w of the result's pixels */
    size_t to_row;           /* of the result, if rows are filters; else 0 */
    int plain_length;        /* elements of its lines */
    /* Weights as [filter][place in a window of them][channel], of which columns are channels: the
     * place of a tap in row r and column s is place + r place_h + s place_w. */
    bool across;
    int place, place_h, place_w;
    int plain_lines, places;
    int rows, columns, terms;
    int groups, slices, slice_terms;
    int row_tiles, column_tiles;

    size_t tiles() const {
        return (size_t)row_tiles * (size_t)column_tiles * (size_t)groups;
    }
    unsigned blocks() const {
        return (unsigned)(tiles() * (size_t)slices);
    }
};

/* A place in the images, or how far one lies from another. Rows and columns tell whether it is
 * outside. */
struct alignas(16) wi_conv_spot {
    long long at; /* in elements */
    int row, column;
};

__device__ inline wi_conv_spot wi_conv_spot_of(const wi_conv_view &v, int pixel) {
    const unsigned image = v.plane.of((unsigned)pixel), rest = (unsigned)pixel - image * v.plane.by;
    const unsigned row = v.width.of(rest), column = rest - row * v.width.by;
    wi_conv_spot s;
    s.row = (int)row * v.step_h + v.first_h;
    s.column = (int)column * v.step_w + v.first_w;
    s.at = (long long)(image * v.image) + s.row * (long long)v.row + s.column * (long long)v.column;
    return s;
}

__device__ inline wi_conv_spot wi_conv_way_of(const wi_conv_view &v, int tap) {
    const unsigned place = v.channels.of((unsigned)tap);
    const unsigned channel = (unsigned)tap - place * v.channels.by;
    const unsigned row = v.window_w.of(place), column = place - row * v.window_w.by;
    wi_conv_spot s;
    s.row = (int)row * v.unit_h;
    s.column = (int)column * v.unit_w;
    s.at = (long long)channel + s.row * (long long)v.row + s.column * (long long)v.column;
    return s;
}

/* Starts the copy of a chunk: zeros if it is outside of the images. */
template <class T>
__device__ inline void wi_conv_fetch(const wi_conv_view &v, void *to, const T *from,
                                     const wi_conv_spot &pixel, const wi_conv_spot &tap,
                                     bool valid) {
    const bool inside = valid & ((unsigned)(pixel.row + tap.row) < (unsigned)v.height) &
                        ((unsigned)(pixel.column + tap.column) < (unsigned)v.width_from);
    wi_async_copy<16>(to, from + (pixel.at + tap.at), inside);
}

/* Which tile of which slice a block of a product makes, and its terms. */
struct wi_conv_tensor_tile {
    int row, column, slice, group, first, end;
};

template <int rows, int columns, class T>
__device__ inline wi_conv_tensor_tile wi_conv_tensor_tile_of(const wi_conv_tensor_job<T> &p,
                                                             unsigned block) {
    unsigned rest = block;
    wi_conv_tensor_tile b;
    b.column = (int)(rest % (unsigned)p.column_tiles) * columns;
    rest /= (unsigned)p.column_tiles;
    b.row = (int)(rest % (unsigned)p.row_tiles) * rows;
    rest /= (unsigned)p.row_tiles;
    b.slice = (int)(rest % (unsigned)p.slices);
    b.group = (int)(rest / (unsigned)p.slices);
    b.first = b.slice * p.slice_terms;
    b.end = p.terms - b.first < p.slice_terms ? p.terms : b.first + p.slice_terms;
    return b;
}

/* ---- results: a tile of sums in shared memory goes out by runs of a row ---- */

constexpr int wi_conv_run_length = 8, wi_conv_sums_pad = 4;

template <class To>
struct alignas(16) wi_conv_sixteen {
    static constexpr int count = 16 / (int)sizeof(To);
    To at[count];
};

/* The first `count` of a run. */
template <class To>
__device__ inline void wi_conv_store_run(To *to, const float *run, int count) {
    using chunk = wi_conv_sixteen<To>;
    if (count >= wi_conv_run_length && wi_is_aligned(to)) {
#pragma unroll
        for (int k = 0; k < wi_conv_run_length; k += chunk::count) {
            chunk c;
#pragma unroll
            for (int e = 0; e < chunk::count; e++)
                c.at[e] = (To)run[k + e];
            *(chunk *)(to + k) = c;
        }
        return;
    }
#pragma unroll
    for (int e = 0; e < wi_conv_run_length; e++)
        if (e < count)
            to[e] = (To)run[e];
}

/* Elements from the result's beginning to a row: a pixel or a filter. */
template <class T>
__device__ inline size_t wi_conv_row_place(const wi_conv_tensor_job<T> &p, unsigned pixel) {
    if (p.to_row)
        return pixel * p.to_row;
    const unsigned image = p.view.plane.of(pixel), rest = pixel - image * p.view.plane.by;
    const unsigned row = p.view.width.of(rest), column = rest - row * p.view.width.by;
    return image * p.to_steps.n + row * p.to_steps.h + column * p.to_steps.w;
}

/* Stores rows `from` to `to` of a tile of sums; read(i, j, run) brings a run of row i from column j
 * on. All threads call it. */
template <int columns, int threads, class T, class Read>
__device__ inline void wi_conv_store_rows(const wi_conv_tensor_job<T> &p,
                                          const wi_conv_tensor_tile &b, int from, int to,
                                          Read read) {
    constexpr int runs = columns / wi_conv_run_length;
    for (int e = from * runs + (int)threadIdx.x; e < to * runs; e += threads) {
        const int i = e / runs, j = e % runs * wi_conv_run_length;
        const int row = b.row + i, column = b.column + j, count = p.columns - column;
        float run[wi_conv_run_length];
        if (row >= p.rows || count <= 0)
            continue;
        read(i, j, run);
        if (p.partial) {
            const size_t line =
                ((size_t)b.slice * (size_t)p.groups + (size_t)b.group) * (size_t)p.rows +
                (size_t)row;
            wi_conv_store_run(p.partial + line * (size_t)p.columns + (size_t)column, run, count);
        } else {
            wi_conv_store_run(p.to + (size_t)b.group * p.to_group +
                                  wi_conv_row_place(p, (unsigned)row) + (size_t)column,
                              run, count);
        }
    }
}

/* A run of a tile in shared memory, whose rows are wi_conv_sums_pad longer than `columns`. */
template <int columns>
__device__ inline void wi_conv_read_run(const float *tile, int i, int j,
                                        float (&run)[wi_conv_run_length]) {
    const float *const from = tile + i * (columns + wi_conv_sums_pad) + j;
#pragma unroll
    for (int q = 0; q < wi_conv_run_length; q += 4)
        *(float4 *)(run + q) = *(const float4 *)(from + q);
}

/* `tile` has rows x columns sums. All threads call it. */
template <int rows, int columns, int threads, class T>
__device__ inline void wi_conv_store_sums(const wi_conv_tensor_job<T> &p,
                                          const wi_conv_tensor_tile &b, const float *tile) {
    wi_conv_store_rows<columns, threads>(p, b, 0, rows,
                                         [&](int i, int j, float(&run)[wi_conv_run_length]) {
                                             wi_conv_read_run<columns>(tile, i, j, run);
                                         });
}

constexpr size_t wi_conv_sums_bytes(int rows, int columns) {
    return (size_t)rows * (size_t)(columns + wi_conv_sums_pad) * sizeof(float);
}

#endif
