/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel of a step does with tiles of 64 x 64 in shared memory: products, the factor of
 * the one on the diagonal, and substitution with it, 16 columns at a time. Element (i, j) of a tile
 * is at i + j * wi_tile_pitch, with which neither rows, nor columns, nor operands of tensor cores
 * meet in a bank. */
#ifndef WI_CHOLESKY_TILE_CUH
#define WI_CHOLESKY_TILE_CUH

#include "cholesky/cholesky_cuda.cuh"
#include "cuda/memory.cuh"
#include "cuda/root.cuh"
#include "cuda/tensor_f64.cuh"
#include "cuda/warp.cuh"

constexpr int wi_tile_pitch = wi_cholesky_side + 4;
constexpr int wi_tile_size = wi_cholesky_side * wi_tile_pitch;
constexpr int wi_strip = 16; /* rows that a warp multiplies, columns that become columns of L */
constexpr int wi_strips = wi_cholesky_side / wi_strip;

/* ---- products of a warp ---- */

/* 16 rows and 8 `parts` columns, spread over the lanes: f64 as tensor.cuh has it; f32 as squares of
 * four rows and `parts` columns, whose factors are few wide loads. */
template <class T, int parts>
struct wi_cholesky_strip_sums {
    static constexpr bool on_tensors = sizeof(T) == 8;
    T at[parts][4];

    __device__ static int row(int e) {
        return on_tensors ? wi_lane() / 4 + e / 2 * 8 : wi_lane() / 8 * 4 + e;
    }
    __device__ static int column(int c, int e) {
        return on_tensors ? c * 8 + wi_lane() % 4 * 2 + e % 2 : wi_lane() % 8 * parts + c;
    }
    /* f(x, row, column) sees each of a lane's. */
    template <class F>
    __device__ void each(F f) {
#pragma unroll
        for (int c = 0; c < parts; c++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                f(at[c][e], row(e), column(c, e));
    }
    __device__ void load(const T *tile) {
        each([=](T &x, int i, int j) { x = tile[i + j * wi_tile_pitch]; });
    }
    __device__ void store(T *tile) {
        each([=](T &x, int i, int j) { tile[i + j * wi_tile_pitch] = x; });
    }
    /* Takes A B' of eight columns of each from them, or of one: 16 rows of A, the columns' rows of
     * B. */
    __device__ void subtract_eight(const T *a, const T *b) {
        const int from = wi_lane() / 4 + wi_lane() % 4 * wi_tile_pitch;
        const T *const left = a + from, *const right = b + from;
        const T own[4] = {-left[0], -left[8], -left[4 * wi_tile_pitch],
                          -left[4 * wi_tile_pitch + 8]};
#pragma unroll
        for (int c = 0; c < parts; c++) {
            const T other[2] = {right[8 * c], right[8 * c + 4 * wi_tile_pitch]};
            wi_multiply_f64(at[c], own, other);
        }
    }
    __device__ void subtract_one(const T *a, const T *b) {
        struct alignas(sizeof(T) * (parts < 4 ? parts : 4)) pack {
            T at[parts < 4 ? parts : 4];
        };
        constexpr int width = sizeof(pack) / sizeof(T);
        const wi_vector<T> own = *(const wi_vector<T> *)(a + row(0));
#pragma unroll
        for (int c = 0; c < parts; c += width) {
            const pack other = *(const pack *)(b + column(c, 0));
#pragma unroll
            for (int k = 0; k < width; k++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    at[c + k][e] = wi_fma(-own.at[e], other.at[k], at[c + k][e]);
        }
    }
    __device__ void subtract_once(const T *a, const T *b) {
        if constexpr (on_tensors)
            subtract_eight(a, b);
        else
#pragma unroll
            for (int q = 0; q < 8; q++)
                subtract_one(a + q * wi_tile_pitch, b + q * wi_tile_pitch);
    }
    /* Of k columns, a multiple of 8. */
    __device__ void subtract(const T *a, const T *b, int k) {
#pragma unroll 2
        for (int q = 0; q < k; q += 8)
            subtract_once(a + q * wi_tile_pitch, b + q * wi_tile_pitch);
    }
};

/* ---- roots ---- */

template <class T>
struct wi_pivot_root {
    T root, reciprocal;
};

/* The root of a pivot, and its reciprocal: both to the last bit or the one before it, and exact if
 * the reciprocal is a number of the type. A step of third order from the device's guess, which
 * takes normal numbers. */
#ifdef WEFT_EMU
template <class T>
inline wi_pivot_root<T> wi_quick_root(T pivot) {
    const T root = sqrt(pivot);
    return {root, 1 / root};
}
#else
template <class T>
__device__ inline wi_pivot_root<T> wi_quick_root(T pivot) {
    const T guess = wi_near_root(pivot);
    const T rest = wi_fma(-(pivot * guess), guess, (T)1);
    const T r = wi_fma(guess * rest, wi_fma((T)0.375, rest, (T)0.5), guess);
    const T s = pivot * r;
    return {wi_fma(wi_fma(-s, s, pivot), (T)0.5 * r, s), r};
}
#endif
/* ---- the tile on the diagonal ---- */

/* Of a tile that is being factored. */
template <class T>
struct alignas(16) wi_tile_factor {
    T tile[wi_tile_size];
    T line[wi_cholesky_side][wi_strip]; /* of L, from the diagonal of a column on, in its strip */
    T reciprocal[wi_cholesky_side];     /* of its diagonal */
    T pivot;                            /* the first that is none, */
    int done;                           /* and its number; or wi_cholesky_side */
};

/* A row of 16 columns, the next one first: once it is known it is taken from the others, and these
 * move up. What comes in at the end does not count. The loop over columns stays a loop: as straight
 * code it would be larger than a multiprocessor's nearest cache of instructions. */
template <class T>
struct wi_line {
    T at[wi_strip];

    __device__ void load(const T *from) {
        constexpr int width = wi_vector<T>::count;
#pragma unroll
        for (int k = 0; k < wi_strip; k += width) {
            const wi_vector<T> v = *(const wi_vector<T> *)(from + k);
#pragma unroll
            for (int e = 0; e < width; e++)
                at[k + e] = v.at[e];
        }
    }
    __device__ void load_row(const T *row, bool is_there) {
#pragma unroll
        for (int k = 0; k < wi_strip; k++)
            at[k] = is_there ? row[k * wi_tile_pitch] : (T)0;
    }
    __device__ void take(T known, const wi_line &l) {
#pragma unroll
        for (int k = 1; k < wi_strip; k++)
            at[k - 1] = wi_fma(-known, l.at[k], at[k]);
    }
};

/* Of numbers above 0, the larger one has the larger bits. */
template <class T>
__device__ inline bool wi_is_usual(T pivot) {
    constexpr int fraction = sizeof(T) == 8 ? 52 : 23;
    constexpr wi_bits<T> least = (wi_bits<T>)1 << fraction;
    constexpr wi_bits<T> infinite = ((wi_bits<T>)2 << (8 * sizeof(T) - 2)) - least;
    return wi_bit_cast<wi_bits<T>>(pivot) - least < infinite - least;
}

/* One warp's work, but for updates. */
template <class T>
struct wi_factorer {
    wi_tile_factor<T> &f;

    /* A part of what all warps of a block do together: taking the columns before strip b from it,
     * 16 rows of 8 columns at a time. */
    __device__ void update(int b, int warp, int warps) const {
        const int units = 2 * (wi_strips - b);
#pragma unroll 1
        for (int u = warp; u < units; u += warps) {
            const int row = (b + u / 2) * wi_strip, column = b * wi_strip + u % 2 * 8;
            wi_cholesky_strip_sums<T, 1> sums;
            T *const own = f.tile + row + column * wi_tile_pitch;
            sums.load(own);
            sums.subtract(f.tile + row, f.tile + column, b * wi_strip);
            sums.store(own);
        }
    }
    /* The line of a column, from its diagonal on, for all who take it from others. */
    __device__ void publish(int b, int j, T x) const {
        T *const line = f.line[b * wi_strip + j] + ((unsigned)(wi_lane() - j)) % wi_strip;
        if (wi_lane() < wi_strip)
            *line = x;
    }
    /* In memory, from column `known` of the strip up to the first pivot that is none: for pivots
     * which the device's guess does not take. */
    __device__ void eliminate_slowly(int b, int known) const {
        const int first = b * wi_strip, last = first + wi_strip;
#pragma unroll 1
        for (int j = first; j < last && f.done == wi_cholesky_side; j++) {
            T *const column = f.tile + j * wi_tile_pitch;
            const T pivot = column[j], root = sqrt(pivot);
            __syncwarp();
            if (j >= first + known) {
                if (wi_lane() == 0 && !wi_cholesky_is_pivot(pivot)) {
                    f.done = j;
                    f.pivot = pivot;
                }
                for (int i = j + wi_lane(); i < wi_cholesky_side; i += 32)
                    column[i] = i == j ? root : column[i] / root;
                if (wi_lane() == 0)
                    f.reciprocal[j] = 1 / root;
                __syncwarp();
                publish(b, j - first, column[first + wi_lane() % wi_strip]);
            }
            for (int k = j < first + known ? first + known : j + 1; k < last; k++)
                for (int i = k + wi_lane(); i < wi_cholesky_side; i += 32)
                    f.tile[i + k * wi_tile_pitch] =
                        wi_fma(-column[i], column[k], f.tile[i + k * wi_tile_pitch]);
            __syncwarp();
        }
    }
    /* A lane has two rows. The next pivot is its own lane's work, and what a column takes from the
     * others is taken while the next root is found. Returns the number of columns that are done:
     * the next pivot is no normal number above 0. */
    __device__ int eliminate(int b) const {
        const int lane = wi_lane(), row = b * wi_strip + lane;
        const bool has_x = row < wi_cholesky_side, has_y = row + 32 < wi_cholesky_side;
        T *own = f.tile + row + b * wi_strip * wi_tile_pitch;
        wi_line<T> x, y, l;
        bool goes_on;
        T known_x, known_y, diagonal = lane < wi_strip ? own[lane * wi_tile_pitch] : (T)0;
        T pivot = wi_shuffle(diagonal, 0);
        int j = 0;
        x.load_row(own, has_x);
        y.load_row(own + 32, has_y);
        const auto scale = [&](const wi_pivot_root<T> &r) {
            known_x = x.at[0] * r.reciprocal;
            known_y = y.at[0] * r.reciprocal;
            diagonal = wi_fma(-known_x, known_x, diagonal);
            pivot = wi_shuffle(diagonal, (j + 1) % wi_strip);
            publish(b, j, known_x);
            if (lane == 0)
                f.reciprocal[b * wi_strip + j] = r.reciprocal;
            __syncwarp();
            l.load(f.line[b * wi_strip + j]);
            if (has_x)
                own[0] = lane == j ? r.root : known_x;
            if (has_y)
                own[32] = known_y;
            own += wi_tile_pitch;
            j++;
            /* not &&: a second branch would keep the two halves of the loop from mixing */
            goes_on = (j < wi_strip) & wi_is_usual(pivot);
        };
        if (!wi_is_usual(pivot))
            return 0;
        scale(wi_quick_root(pivot));
#pragma unroll 1
        while (goes_on) {
            const wi_pivot_root<T> r = wi_quick_root(pivot);
            x.take(known_x, l);
            y.take(known_y, l);
            scale(r);
        }
        return j;
    }
    /* Zeros in place of what a pivot that is none leaves unknown: others read on. */
    __device__ void blank(int b) const {
        const int first = b * wi_strip;
        for (int j = first; j < first + wi_strip; j++)
            if (j >= f.done && wi_lane() < wi_strip)
                f.line[j][wi_lane()] = 0;
        if (wi_lane() < wi_strip && first + wi_lane() >= f.done)
            f.reciprocal[first + wi_lane()] = 0;
    }
    /* Strip b of the tile, those before it being done and taken from it. */
    __device__ void run(int b) const {
        if (f.done == wi_cholesky_side) {
            const int known = eliminate(b);
            __syncwarp();
            if (known < wi_strip)
                eliminate_slowly(b, known);
        }
        if (f.done < wi_cholesky_side)
            blank(b);
    }
};

/* ---- rows below it ---- */

/* A warp's 16 rows x of a tile, by columns of strip b: x becomes x / L', the strips before it being
 * done. */
template <class T>
__device__ inline void wi_substitute(const wi_tile_factor<T> &f, T *rows, int b) {
    const int first = b * wi_strip;
    T *const own = rows + first * wi_tile_pitch, *const mine = own + wi_lane();
    if (b > 0) {
        wi_cholesky_strip_sums<T, 2> sums;
        sums.load(own);
        sums.subtract(rows, f.tile + first, first);
        sums.store(own);
        __syncwarp();
    }
    if (wi_lane() < wi_strip) {
        wi_line<T> x, line;
        x.load_row(mine, true);
#pragma unroll 2
        for (int j = 0; j < wi_strip; j++) {
            const T known = x.at[0] * f.reciprocal[first + j];
            mine[j * wi_tile_pitch] = known;
            line.load(f.line[first + j]);
            x.take(known, line);
        }
    }
    __syncwarp();
}

#endif
