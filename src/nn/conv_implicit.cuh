/* SPDX-License-Identifier: Apache-2.0 */
/* conv by products of matrices that are never laid out: tiles of the matrix of columns are gathered
 * from the images into shared memory.
 *
 * A pass is a sum over taps and pixels. A tap is a place in the window of a pixel: it has an offset
 * in memory from the pixel's own place, and says by how many rows and columns it lies away, so that
 * two comparisons tell whether it is inside of the image.
 *
 *     forward   y(filter, pixel)  = sum over taps of packed(tap, filter) x(pixel + tap)
 *     data      dx(channel, pixel) = sum over taps of packed(tap, channel) dy(pixel + tap)
 *     weights   df(filter, tap)   = sum over pixels of dy(filter, pixel) x(pixel + tap)
 *
 * In the gradient for data the pixels of x that lie a stride apart meet the same weights; each such
 * class of pixels is a product of its own, with no product wasted. */
#ifndef WI_CONV_IMPLICIT_CUH
#define WI_CONV_IMPLICIT_CUH

#include "cuda/async.cuh"
#include "cuda/types.cuh"
#include "nn/conv_cuda.cuh"

constexpr int wi_conv_depth = 8;  /* taps, or pixels, that are multiplied from one stage */
constexpr int wi_conv_stages = 4; /* in shared memory at a time */
constexpr int wi_conv_pad = 4;    /* so that a column of a tile meets all banks */

struct alignas(8) wi_conv_tap {
    int offset; /* in elements */
    int place;  /* away from the pixel: rows in the upper half, columns in the lower */
};

/* How pixels of a launch are found in the images that are gathered. */
struct wi_conv_grid {
    int height, width;                    /* of an image, in pixels of the launch */
    int step_h, step_w, first_h, first_w; /* their rows in the gathered images: first + i step */
    wi_image_steps from;                  /* steps in the gathered images */
    int from_height, from_width;
};

/* One launch, of one group after the other. `rows` are filters or channels, `columns` pixels or, of
 * the gradient for weights, taps; `terms` are taps or pixels. */
template <class T>
struct wi_conv_product_of {
    wi_conv_grid grid;
    const T *gathered;
    const wi_conv_tap *taps;
    const T *factor; /* packed weights [group][tap][pitch]; of the gradient for weights dy */
    T *to, *partial;
    size_t pitch;          /* of packed weights */
    size_t gathered_group; /* elements from a group to the next */
    size_t factor_group, to_group;
    wi_image_steps factor_steps; /* of dy */
    wi_image_steps to_steps;     /* n, h and w of pixels (or w of taps), c of rows */
    int rows, columns, terms;
    int groups, slices, slice_terms; /* terms of a slice; sums of slices go to `partial` */
    int row_tiles, column_tiles;
};

/* Four elements that are moved together. */
template <class T>
struct alignas(16) wi_conv_four {
    T at[4];
};

/* A tile of Rows x Columns, of which each thread has 4 * Row_quads by 4 * Column_quads. With
 * Rows_first eight threads side by side lie along the rows, which then are contiguous in the
 * result; else along the columns. */
template <class T, int Rows, int Columns, int Row_quads, int Column_quads, bool Rows_first>
struct wi_conv_tile {
    static constexpr int rows = Rows, columns = Columns;
    static constexpr int row_quads = Row_quads, column_quads = Column_quads;
    static constexpr int row_lanes = Rows / (4 * Row_quads);
    static constexpr int column_lanes = Columns / (4 * Column_quads);
    static constexpr int threads = row_lanes * column_lanes;
    static constexpr int least_blocks = sizeof(T) == 4 ? 256 / threads : 2; /* side by side */
    static constexpr int row_pitch = rows + wi_conv_pad, column_pitch = columns + wi_conv_pad;
    static constexpr int stage = wi_conv_depth * (row_pitch + column_pitch);
    static constexpr bool rows_first = Rows_first;

    struct operands {
        wi_conv_four<T> left[Row_quads], right[Column_quads];
    };

    T sum[4 * Row_quads][4 * Column_quads];

    /* Element e of this thread's rows, or columns. */
    static __device__ int row(int e) {
        const int t = (int)threadIdx.x, lane = Rows_first ? t % row_lanes : t / column_lanes;
        return e / 4 * (4 * row_lanes) + lane * 4 + e % 4;
    }
    static __device__ int column(int e) {
        const int t = (int)threadIdx.x, lane = Rows_first ? t / row_lanes : t % column_lanes;
        return e / 4 * (4 * column_lanes) + lane * 4 + e % 4;
    }

    __device__ void clear() {
#pragma unroll
        for (int i = 0; i < 4 * Row_quads; i++)
#pragma unroll
            for (int j = 0; j < 4 * Column_quads; j++)
                sum[i][j] = 0;
    }

    static __device__ void take(const T *a, const T *b, int k, operands *o) {
#pragma unroll
        for (int q = 0; q < Row_quads; q++)
            o->left[q] = *(const wi_conv_four<T> *)(a + k * row_pitch + row(4 * q));
#pragma unroll
        for (int q = 0; q < Column_quads; q++)
            o->right[q] = *(const wi_conv_four<T> *)(b + k * column_pitch + column(4 * q));
    }

    /* sum += the products of one stage. The next operands come while these are used. */
    __device__ void multiply(const T *a, const T *b) {
        operands o[2];
        take(a, b, 0, &o[0]);
#pragma unroll
        for (int k = 0; k < wi_conv_depth; k++) {
            const operands &now = o[k % 2];
            if (k + 1 < wi_conv_depth)
                take(a, b, k + 1, &o[(k + 1) % 2]);
#pragma unroll
            for (int i = 0; i < 4 * Row_quads; i++)
#pragma unroll
                for (int j = 0; j < 4 * Column_quads; j++)
                    sum[i][j] =
                        wi_fma(now.left[i / 4].at[i % 4], now.right[j / 4].at[j % 4], sum[i][j]);
        }
    }
};

/* Which tile a block makes. Tiles of one column stand side by side, as they gather the same. */
struct wi_conv_block {
    int row, column, slice, group, first, end; /* the first row and column; the terms */
};

template <class Tile, class T>
__device__ inline wi_conv_block wi_conv_block_of(const wi_conv_product_of<T> &p) {
    unsigned rest = blockIdx.x;
    wi_conv_block b;
    b.row = (int)(rest % (unsigned)p.row_tiles) * Tile::rows;
    rest /= (unsigned)p.row_tiles;
    b.column = (int)(rest % (unsigned)p.column_tiles) * Tile::columns;
    rest /= (unsigned)p.column_tiles;
    b.slice = (int)(rest % (unsigned)p.slices);
    b.group = (int)(rest / (unsigned)p.slices);
    b.first = b.slice * p.slice_terms;
    b.end = p.terms - b.first < p.slice_terms ? p.terms : b.first + p.slice_terms;
    return b;
}

/* Runs the stages: load(stage memory, first term) queues copies, and the tile multiplies. */
template <class Tile, class T, class Load>
__device__ inline void wi_conv_run(Tile &tile, T *shared, const wi_conv_block &b, Load load) {
    const int steps = (b.end - b.first + wi_conv_depth - 1) / wi_conv_depth;
    for (int s = 0; s < wi_conv_stages - 1; s++) {
        if (s < steps)
            load(shared + s * Tile::stage, b.first + s * wi_conv_depth);
        wi_async_commit();
    }
    for (int s = 0; s < steps; s++) {
        const int next = s + wi_conv_stages - 1;
        wi_async_wait<wi_conv_stages - 2>();
        __syncthreads();
        if (next < steps)
            load(shared + next % wi_conv_stages * Tile::stage, b.first + next * wi_conv_depth);
        wi_async_commit();
        const T *const a = shared + s % wi_conv_stages * Tile::stage;
        tile.multiply(a, a + wi_conv_depth * Tile::row_pitch);
    }
    wi_async_wait<0>();
}

/* Where element (row, column) of a launch's product is in the result; row and column of a group. */
template <class T>
__device__ inline size_t wi_conv_place(const wi_conv_product_of<T> &p, int column) {
    const unsigned plane = (unsigned)(p.grid.height * p.grid.width);
    const unsigned image = (unsigned)column / plane, in_image = (unsigned)column % plane;
    return image * p.to_steps.n + in_image / (unsigned)p.grid.width * p.to_steps.h +
           in_image % (unsigned)p.grid.width * p.to_steps.w;
}

/* Stores four elements that follow each other in memory, or some of them. */
template <class T>
__device__ inline void wi_conv_store_four(T *to, wi_conv_four<T> value, int count) {
    if (count >= 4 && (uintptr_t)to % 16 == 0)
        *(wi_conv_four<T> *)to = value;
    else
#pragma unroll
        for (int e = 0; e < 4; e++)
            if (e < count)
                to[e] = value.at[e];
}

/* Stores the tile: place(column) is where a column begins, and rows are `row_step` apart. */
template <class Tile, class T, class Place>
__device__ inline void wi_conv_store(const Tile &tile, const wi_conv_block &b, T *to,
                                     size_t row_step, int rows, int columns, Place place) {
    if constexpr (Tile::rows_first) {
#pragma unroll
        for (int j = 0; j < 4 * Tile::column_quads; j++) {
            const int column = b.column + Tile::column(j);
            if (column >= columns)
                continue;
            T *const line = to + place(column);
#pragma unroll
            for (int q = 0; q < Tile::row_quads; q++) {
                const int row = b.row + Tile::row(4 * q);
                wi_conv_four<T> four;
#pragma unroll
                for (int e = 0; e < 4; e++)
                    four.at[e] = tile.sum[4 * q + e][j];
                wi_conv_store_four(line + row, four, rows - row);
            }
        }
    } else {
#pragma unroll
        for (int q = 0; q < Tile::column_quads; q++) {
            const int column = b.column + Tile::column(4 * q);
            size_t at[4];
#pragma unroll
            for (int e = 0; e < 4; e++)
                at[e] = column + e < columns ? place(column + e) : 0;
            const bool together = column + 3 < columns && at[3] == at[0] + 3;
#pragma unroll
            for (int i = 0; i < 4 * Tile::row_quads; i++) {
                const int row = b.row + Tile::row(i);
                if (row >= rows)
                    continue;
                T *const line = to + (size_t)row * row_step;
                wi_conv_four<T> four;
#pragma unroll
                for (int e = 0; e < 4; e++)
                    four.at[e] = tile.sum[i][4 * q + e];
                if (together)
                    wi_conv_store_four(line + at[0], four, 4);
                else
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        if (column + e < columns)
                            line[at[e]] = four.at[e];
            }
        }
    }
}

/* Stores the tile in the result or, if there are slices, with the sums of its slice: those of a
 * group are a matrix that lies as threads do, by columns if rows come first. */
template <class Tile, class T, class Place>
__device__ inline void wi_conv_finish_tile(const wi_conv_product_of<T> &p, const Tile &tile,
                                           const wi_conv_block &b, Place place) {
    if (p.slices == 1) {
        wi_conv_store(tile, b, p.to + (size_t)b.group * p.to_group, p.to_steps.c, p.rows, p.columns,
                      place);
        return;
    }
    T *const to = p.partial + ((size_t)b.slice * (size_t)p.groups + (size_t)b.group) *
                                  (size_t)p.rows * (size_t)p.columns;
    const size_t step = Tile::rows_first ? (size_t)p.rows : 1;
    wi_conv_store(tile, b, to, (size_t)p.columns, p.rows, p.columns,
                  [=](int column) { return (size_t)column * step; });
}

/* ---- forward and data: columns are pixels ---- */

/* A pixel of the tile, as threads gather it. */
struct wi_conv_pixel {
    long long at; /* of its place in the gathered images; it may lie outside of them */
    int row, column;
};

template <class T>
__device__ inline wi_conv_pixel wi_conv_pixel_of(const wi_conv_product_of<T> &p, int index) {
    const wi_conv_grid &g = p.grid;
    const unsigned plane = (unsigned)(g.height * g.width);
    const unsigned image = (unsigned)index / plane, in_image = (unsigned)index % plane;
    wi_conv_pixel x;
    x.row = (int)(in_image / (unsigned)g.width) * g.step_h + g.first_h;
    x.column = (int)(in_image % (unsigned)g.width) * g.step_w + g.first_w;
    x.at = (long long)(image * g.from.n) + x.row * (long long)g.from.h +
           x.column * (long long)g.from.w;
    if (index >= p.columns)
        x.row = INT32_MIN / 2; /* outside, whatever the tap */
    return x;
}

/* `from` is the pixel's place, which may be outside. No branches: they would cost more. */
template <class T>
__device__ inline void wi_conv_gather(const wi_conv_grid &g, T *to, const T *from, int row,
                                      int column, wi_conv_tap tap, bool valid) {
    const bool inside = valid & ((unsigned)(row + (tap.place >> 16)) < (unsigned)g.from_height) &
                        ((unsigned)(column + (short)tap.place) < (unsigned)g.from_width);
    wi_async_copy<sizeof(T)>(to, from + tap.offset, inside);
}

template <class Tile, class T>
__device__ inline void wi_conv_load_weights(const wi_conv_product_of<T> &p, const wi_conv_block &b,
                                            T *to, int term) {
    constexpr int each = 16 / sizeof(T), line = Tile::rows / each, lines = Tile::threads / line;
    static_assert(wi_conv_depth % lines == 0, "each thread makes as many copies");
    const int row = (int)threadIdx.x % line * each;
#pragma unroll
    for (int i = 0; i < wi_conv_depth / lines; i++) {
        const int k = (int)threadIdx.x / line + i * lines;
        const bool valid = term + k < b.end && (size_t)(b.row + row) < p.pitch;
        wi_async_copy<16>(to + k * Tile::row_pitch + row,
                          p.factor + (size_t)b.group * p.factor_group +
                              (size_t)(term + k) * p.pitch + (size_t)(b.row + row),
                          valid);
    }
}

/* Planes: a warp gathers pixels side by side for one tap. Else it gathers 8 taps, which are
 * channels side by side, of four pixels. */
template <class Tile, class T, bool Planes>
static __global__ void __launch_bounds__(Tile::threads, Tile::least_blocks)
    wi_conv_pixels(const __grid_constant__ wi_conv_product_of<T> p) {
    WEFT_DYNAMIC_SHARED(memory);
    wi_conv_pixel *const pixels = (wi_conv_pixel *)memory;
    T *const stages = (T *)(pixels + Tile::columns);
    const wi_conv_block b = wi_conv_block_of<Tile>(p);
    const T *const from = p.gathered + (size_t)b.group * p.gathered_group;
    const int t = (int)threadIdx.x;
    for (int i = t; i < Tile::columns; i += Tile::threads)
        pixels[i] = wi_conv_pixel_of(p, b.column + i);
    __syncthreads();
    Tile tile;
    tile.clear();
    wi_conv_run(tile, stages, b, [&](T *stage, int term) {
        T *const to = stage + wi_conv_depth * Tile::row_pitch;
        wi_conv_load_weights<Tile>(p, b, stage, term);
        if constexpr (Planes) {
            constexpr int across = (Tile::columns + Tile::threads - 1) / Tile::threads;
            constexpr int apart = Tile::threads * across / Tile::columns;
            constexpr int count = wi_conv_depth / apart;
            const int first = t / Tile::columns;
            wi_conv_tap tap[count];
#pragma unroll
            for (int i = 0; i < count; i++)
                tap[i] = p.taps[term + first + i * apart];
#pragma unroll
            for (int j = 0; j < across; j++) {
                const int column = t % Tile::columns + j * Tile::threads;
                const wi_conv_pixel own = pixels[column];
#pragma unroll
                for (int i = 0; i < count; i++) {
                    const int k = first + i * apart;
                    wi_conv_gather(p.grid, to + k * Tile::column_pitch + column, from + own.at,
                                   own.row, own.column, tap[i], term + k < b.end);
                }
            }
        } else {
            constexpr int apart = Tile::threads / wi_conv_depth, count = Tile::columns / apart;
            const int k = t % wi_conv_depth, first = t / wi_conv_depth;
            const wi_conv_tap tap = p.taps[term + k];
            wi_conv_pixel x[count];
#pragma unroll
            for (int i = 0; i < count; i++)
                x[i] = pixels[first + i * apart];
#pragma unroll
            for (int i = 0; i < count; i++)
                wi_conv_gather(p.grid, to + k * Tile::column_pitch + first + i * apart,
                               from + x[i].at, x[i].row, x[i].column, tap, term + k < b.end);
        }
    });
    wi_conv_finish_tile(p, tile, b, [&](int column) { return wi_conv_place(p, column); });
}

/* ---- weights: columns are taps ---- */

/* The pixel that a thread gathers next: it moves on by wi_conv_depth pixels a stage. */
struct wi_conv_walker {
    int index, image, row, column;

    __device__ wi_conv_walker(const wi_conv_grid &g, int first) : index(first) {
        const unsigned plane = (unsigned)(g.height * g.width);
        const unsigned in_image = (unsigned)first % plane;
        image = (int)((unsigned)first / plane);
        row = (int)(in_image / (unsigned)g.width);
        column = (int)(in_image % (unsigned)g.width);
    }
    __device__ void move(const wi_conv_grid &g) {
        index += wi_conv_depth;
        column += wi_conv_depth;
        while (column >= g.width) {
            column -= g.width;
            if (++row == g.height) {
                row = 0;
                image++;
            }
        }
    }
};

/* Eight threads side by side gather eight pixels, of which planes have them side by side. */
template <class Tile, class T>
static __global__ void __launch_bounds__(Tile::threads, Tile::least_blocks)
    wi_conv_taps(const __grid_constant__ wi_conv_product_of<T> p) {
    WEFT_DYNAMIC_SHARED(memory);
    wi_conv_tap *const taps = (wi_conv_tap *)memory;
    T *const stages = (T *)(taps + Tile::columns);
    const wi_conv_block b = wi_conv_block_of<Tile>(p);
    const int t = (int)threadIdx.x, k = t % wi_conv_depth, line = t / wi_conv_depth;
    for (int i = t; i < Tile::columns; i += Tile::threads)
        taps[i] = b.column + i < p.columns ? p.taps[b.column + i] : wi_conv_tap{0, 0};
    __syncthreads();
    wi_conv_walker at(p.grid, b.first + k);
    Tile tile;
    tile.clear();
    wi_conv_run(tile, stages, b, [&](T *stage, int) {
        constexpr int apart = Tile::threads / wi_conv_depth, count = Tile::columns / apart;
        const wi_conv_grid &g = p.grid;
        const bool valid = at.index < b.end;
        const wi_image_steps &s = p.factor_steps;
        const int row = at.row * g.step_h + g.first_h, column = at.column * g.step_w + g.first_w;
        const T *const y =
            p.factor + (size_t)b.group * p.factor_group +
            ((size_t)at.image * s.n + (size_t)at.row * s.h + (size_t)at.column * s.w) +
            (size_t)(b.row + line) * s.c;
        const T *const x = p.gathered + (size_t)b.group * p.gathered_group +
                           ((long long)at.image * (long long)g.from.n + row * (long long)g.from.h +
                            column * (long long)g.from.w);
        const int rows_left = valid ? p.rows - b.row - line : 0;
        const int columns_left = valid ? p.columns - b.column - line : 0;
        wi_conv_tap tap[count];
#pragma unroll
        for (int i = 0; i < count; i++)
            tap[i] = taps[line + i * apart];
#pragma unroll
        for (int i = 0; i < Tile::rows / apart; i++)
            wi_async_copy<sizeof(T)>(stage + k * Tile::row_pitch + line + i * apart,
                                     y + (size_t)(i * apart) * s.c, i * apart < rows_left);
        T *const to = stage + wi_conv_depth * Tile::row_pitch + k * Tile::column_pitch + line;
#pragma unroll
        for (int i = 0; i < count; i++)
            wi_conv_gather(g, to + i * apart, x, row, column, tap[i], i * apart < columns_left);
        at.move(g);
    });
    wi_conv_finish_tile(p, tile, b, [](int column) { return (size_t)column; });
}

/* What a launch of one of the two needs. */
template <class Tile>
constexpr size_t wi_conv_shared_bytes(size_t element, size_t of_a_column) {
    return Tile::columns * of_a_column + wi_conv_stages * Tile::stage * element;
}

#endif
