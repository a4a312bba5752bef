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
     * B; of eight also from some pieces of eight columns alone, and of factors of another type. */
    template <int from = 0, int to = parts, int pitch = wi_tile_pitch, class Factor>
    __device__ void subtract_eight(const Factor *a, const Factor *b) {
        const int place = wi_lane() / 4 + wi_lane() % 4 * pitch;
        const Factor *const left = a + place, *const right = b + place;
        const T own[4] = {-(T)left[0], -(T)left[8], -(T)left[4 * pitch], -(T)left[4 * pitch + 8]};
#pragma unroll
        for (int c = from; c < to; c++) {
            const T other[2] = {(T)right[8 * c], (T)right[8 * c + 4 * pitch]};
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
    /* Of pieces of eight columns of f64, or of all. */
    template <int from, int to>
    __device__ void subtract_pieces(const T *a, const T *b, int k) {
        if constexpr (to - from == parts)
            subtract(a, b, k);
        else if constexpr (to > from)
            for (int q = 0; q < k; q += 8)
                subtract_eight<from, to>(a + q * wi_tile_pitch, b + q * wi_tile_pitch);
    }
    /* ... of f64 the first `count` alone. */
    template <int from, int to>
    __device__ void store_pieces(T *tile, int count) {
#pragma unroll
        for (int c = from; c < to; c++)
            if (!on_tensors || c < count)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    tile[row(e) + column(c, e) * wi_tile_pitch] = at[c][e];
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
 * the reciprocal is a number of the type. From the device's guess, which takes normal numbers, a
 * step of second order in f32, of which the guess has all bits but two, of third in f64. */
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
    T r;
    if constexpr (sizeof(T) == sizeof(float))
        r = wi_fma((T)0.5 * guess, rest, guess);
    else
        r = wi_fma(guess * rest, wi_fma((T)0.375, rest, (T)0.5), guess);
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
    /* The same with four columns of L, of which so many rows lie there from the next one on: some
     * of the elements, first ones first. */
    template <int from, int to, int pitch = wi_tile_pitch>
    __device__ void take_four(const T (&known)[4], const T *l, int rows) {
        constexpr int width = wi_vector<T>::count;
#pragma unroll
        for (int k = from; k < to; k += width) {
#pragma unroll
            for (int e = 0; e < width; e++)
                at[k + e] = at[k + e + 4];
#pragma unroll
            for (int q = 0; q < 4; q++) {
                const T *const there = l + (k < rows ? k : 0);
                const wi_vector<T> v = *(const wi_vector<T> *)(there + q * pitch);
#pragma unroll
                for (int e = 0; e < width; e++)
                    at[k + e] = wi_fma(-known[q], v.at[e], at[k + e]);
            }
        }
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

/* A block of 4 x 4 at the diagonal, of which every lane has all. */
template <class T>
struct wi_four {
    T at[4][4], root[4], reciprocal[4];

    /* From the rows that lanes `first` ... first + 3 have. */
    __device__ void gather(const wi_line<T> &x, int first) {
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j <= i; j++)
                at[i][j] = wi_shuffle(x.at[j], first + i);
    }
    /* The next four of some rows become those of L, too. False if a pivot is no normal number above
     * 0. */
    template <int rows>
    __device__ bool factor(wi_line<T> *const (&x)[rows], T (&known)[rows][4]) {
        bool usual = true;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const wi_pivot_root<T> r = wi_quick_root(at[j][j]);
            usual = usual & wi_is_usual(at[j][j]);
            root[j] = r.root;
            reciprocal[j] = r.reciprocal;
#pragma unroll
            for (int i = j + 1; i < 4; i++) {
                at[i][j] *= r.reciprocal;
#pragma unroll
                for (int k = j + 1; k <= i; k++)
                    at[i][k] = wi_fma(-at[i][j], at[k][j], at[i][k]);
            }
#pragma unroll
            for (int row = 0; row < rows; row++) {
                known[row][j] = x[row]->at[j] * r.reciprocal;
#pragma unroll
                for (int k = j + 1; k < 4; k++)
                    x[row]->at[k] = wi_fma(-known[row][j], at[k][j], x[row]->at[k]);
            }
        }
        return usual;
    }
};

#endif
