/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel of a step does with tiles of 64 x 64 in shared memory: products, the factor of
 * the one on the diagonal, and substitution with it, 16 columns at a time. Element (i, j) of a tile
 * is at i + j * wi_tile_pitch, with which neither rows, nor columns, nor operands of tensor cores
 * meet in a bank. */
#ifndef WI_CHOLESKY_TILE_CUH
#define WI_CHOLESKY_TILE_CUH

#include "cholesky/cholesky_cuda.cuh"
#include "cuda/memory.cuh"
#include "cuda/tensor_f64.cuh"
#include "cuda/warp.cuh"

constexpr int wi_tile_pitch = wi_cholesky_side + 4;
constexpr int wi_tile_size = wi_cholesky_side * wi_tile_pitch;
constexpr int wi_strip = 16; /* rows that a warp multiplies, columns that become columns of L */
constexpr int wi_strips = wi_cholesky_side / wi_strip;

/* ---- products of a warp ---- */

/* 16 rows and 8 `parts` columns, spread over the lanes as tensor.cuh has it. f(e, row, column) sees
 * each of a lane's. */
template <class T, int parts>
struct wi_strip_sums {
    T at[parts][4];

    template <class F>
    __device__ void each(F f) {
        const int g = wi_lane() / 4, t = wi_lane() % 4;
#pragma unroll
        for (int c = 0; c < parts; c++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                f(at[c][e], g + e / 2 * 8, c * 8 + 2 * t + e % 2);
    }
    __device__ void load(const T *tile) {
        each([=](T &x, int i, int j) { x = tile[i + j * wi_tile_pitch]; });
    }
    __device__ void store(T *tile) {
        each([=](T &x, int i, int j) { tile[i + j * wi_tile_pitch] = x; });
    }
    /* Takes A B' from them: 16 rows of A, the columns' rows of B, k columns of both. */
    __device__ void subtract(const T *a, const T *b, int k) {
        const int g = wi_lane() / 4, t = wi_lane() % 4;
        if constexpr (sizeof(T) == 8) {
#pragma unroll 2
            for (int q = 0; q < k; q += 8) {
                const T *const left = a + g + (q + t) * wi_tile_pitch;
                const T *const right = b + g + (q + t) * wi_tile_pitch;
                const T own[4] = {-left[0], -left[8], -left[4 * wi_tile_pitch],
                                  -left[4 * wi_tile_pitch + 8]};
#pragma unroll
                for (int c = 0; c < parts; c++) {
                    const T other[2] = {right[8 * c], right[8 * c + 4 * wi_tile_pitch]};
                    wi_multiply_f64(at[c], own, other);
                }
            }
        } else {
#pragma unroll 4
            for (int q = 0; q < k; q++) {
                const T own[2] = {-a[g + q * wi_tile_pitch], -a[g + 8 + q * wi_tile_pitch]};
#pragma unroll
                for (int c = 0; c < parts; c++)
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        at[c][e] = wi_fma(own[e / 2], b[8 * c + 2 * t + e % 2 + q * wi_tile_pitch],
                                          at[c][e]);
            }
        }
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
__device__ inline double wi_guess_root(double pivot) {
    double guess;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(guess) : "d"(pivot));
    return guess;
}
__device__ inline float wi_guess_root(float pivot) {
    float guess;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(guess) : "f"(pivot));
    return guess;
}
template <class T>
__device__ inline wi_pivot_root<T> wi_quick_root(T pivot) {
    const T guess = wi_guess_root(pivot);
    const T rest = wi_fma(-(pivot * guess), guess, (T)1);
    const T r = wi_fma(guess * rest, wi_fma((T)0.375, rest, (T)0.5), guess);
    const T s = pivot * r;
    return {wi_fma(wi_fma(-s, s, pivot), (T)0.5 * r, s), r};
}
#endif
/* ---- the tile on the diagonal ---- */

/* Of a tile that is being factored. */
template <class T>
struct wi_tile_factor {
    T tile[wi_tile_size];
    T line[2][wi_strip];            /* of L: the column that is being taken from the others */
    T reciprocal[wi_cholesky_side]; /* of its diagonal */
    T pivot;                        /* the first that is none, */
    int done;                       /* and its number; or wi_cholesky_side */
};

/* f(k, L(k)) for the columns after j of a line of 16. */
template <class T, class F>
__device__ inline void wi_each_after(const T *line, int j, F f) {
    constexpr int width = wi_vector<T>::count;
#pragma unroll
    for (int k = (j + 1) / width * width; k < wi_strip; k += width) {
        const wi_vector<T> v = *(const wi_vector<T> *)(line + k);
#pragma unroll
        for (int e = 0; e < width; e++)
            if (k + e > j)
                f(k + e, v.at[e]);
    }
}

/* 16 columns of a tile, of which a lane has two rows: a column is scaled, and taken from those
 * after it. The next pivot is its own lane's work, and what the others have to do is done while its
 * root is found; so there is no branch. */
template <class T>
struct wi_strip_factor {
    T x[wi_strip], y[wi_strip];
    T diagonal;    /* of row x */
    bool is_usual; /* all pivots are normal numbers above 0 */

    __device__ void load(const T *rows, bool has_x, bool has_y) {
#pragma unroll
        for (int j = 0; j < wi_strip; j++) {
            x[j] = has_x ? rows[j * wi_tile_pitch] : (T)0;
            y[j] = has_y ? rows[j * wi_tile_pitch + 32] : (T)0;
        }
        diagonal = wi_lane() < wi_strip ? rows[wi_lane() * wi_tile_pitch] : (T)0;
        is_usual = true;
    }
    __device__ void store(T *rows, bool has_x, bool has_y) const {
#pragma unroll
        for (int j = 0; j < wi_strip; j++) {
            if (has_x)
                rows[j * wi_tile_pitch] = x[j];
            if (has_y)
                rows[j * wi_tile_pitch + 32] = y[j];
        }
    }
    /* Of numbers above 0, the larger one has the larger bits. */
    __device__ void watch(T pivot) {
        constexpr int fraction = sizeof(T) == 8 ? 52 : 23;
        constexpr wi_bits<T> least = (wi_bits<T>)1 << fraction;
        constexpr wi_bits<T> infinite = ((wi_bits<T>)2 << (8 * sizeof(T) - 2)) - least;
        is_usual = is_usual && wi_bit_cast<wi_bits<T>>(pivot) - least < infinite - least;
    }
    /* line[0] and line[1]: for columns of L in turn; reciprocal[j]: of the root of pivot j. */
    __device__ void run(T (&line)[2][wi_strip], T *reciprocal) {
        const int lane = wi_lane();
        T pivot = wi_shuffle(diagonal, 0);
#pragma unroll
        for (int j = 0; j < wi_strip; j++) {
            const wi_pivot_root<T> r = wi_quick_root(pivot);
            watch(pivot);
            x[j] *= r.reciprocal;
            diagonal = wi_fma(-x[j], x[j], diagonal);
            pivot = wi_shuffle(diagonal, (j + 1) % wi_strip);
            if (lane < wi_strip)
                line[j % 2][lane] = x[j];
            if (lane == 0)
                reciprocal[j] = r.reciprocal;
            y[j] *= r.reciprocal;
            __syncwarp();
            T l[wi_strip];
            wi_each_after(line[j % 2], j, [&](int k, T other) { l[k] = other; });
#pragma unroll
            for (int k = j + 1; k < wi_strip; k++) {
                x[k] = wi_fma(-x[j], l[k], x[k]);
                y[k] = wi_fma(-y[j], l[k], y[k]);
            }
            x[j] = lane == j ? r.root : x[j];
        }
    }
};

/* One warp's work. */
template <class T>
struct wi_factorer {
    wi_tile_factor<T> &f;

    /* Takes the columns before strip b from it. */
    __device__ void update(int b) const {
#pragma unroll 1
        for (int s = b; s < wi_strips; s++) {
            wi_strip_sums<T, 2> sums;
            T *const own = f.tile + s * wi_strip + b * wi_strip * wi_tile_pitch;
            sums.load(own);
            sums.subtract(f.tile + s * wi_strip, f.tile + b * wi_strip, b * wi_strip);
            sums.store(own);
        }
        __syncwarp();
    }
    /* In memory, up to the first pivot that is none: for pivots which the device's guess does not
     * take. */
    __device__ void eliminate_slowly(int b) const {
        const int first = b * wi_strip, last = first + wi_strip;
#pragma unroll 1
        for (int j = first; j < last && f.done == wi_cholesky_side; j++) {
            T *const column = f.tile + j * wi_tile_pitch;
            const T pivot = column[j], root = sqrt(pivot);
            __syncwarp();
            if (wi_lane() == 0 && !wi_cholesky_is_pivot(pivot)) {
                f.done = j;
                f.pivot = pivot;
            }
            for (int i = j + wi_lane(); i < wi_cholesky_side; i += 32)
                column[i] = i == j ? root : column[i] / root;
            if (wi_lane() == 0)
                f.reciprocal[j] = 1 / root;
            __syncwarp();
            for (int k = j + 1; k < last; k++)
                for (int i = k + wi_lane(); i < wi_cholesky_side; i += 32)
                    f.tile[i + k * wi_tile_pitch] =
                        wi_fma(-column[i], column[k], f.tile[i + k * wi_tile_pitch]);
            __syncwarp();
        }
    }
    __device__ void eliminate(int b) const {
        const int row = b * wi_strip + wi_lane();
        const bool has_x = row < wi_cholesky_side, has_y = row + 32 < wi_cholesky_side;
        T *const rows = f.tile + row + b * wi_strip * wi_tile_pitch;
        wi_strip_factor<T> s;
        s.load(rows, has_x, has_y);
        s.run(f.line, f.reciprocal + b * wi_strip);
        if (s.is_usual) {
            s.store(rows, has_x, has_y);
        } else {
            __syncwarp();
            eliminate_slowly(b);
        }
    }
    /* Strip b of the tile, those before it being done. */
    __device__ void run(int b) const {
        if (b > 0)
            update(b);
        eliminate(b);
    }
};

/* ---- rows below it ---- */

/* A warp's 16 rows x of a tile, by columns of strip b: x becomes x / L', the strips before it being
 * done. */
template <class T>
__device__ inline void wi_substitute(const wi_tile_factor<T> &f, T *rows, int b) {
    const int first = b * wi_strip;
    const T *const l = f.tile + first * (wi_tile_pitch + 1);
    T *const own = rows + first * wi_tile_pitch, *const mine = own + wi_lane();
    if (b > 0) {
        wi_strip_sums<T, 2> sums;
        sums.load(own);
        sums.subtract(rows, f.tile + first, first);
        sums.store(own);
        __syncwarp();
    }
    if (wi_lane() < wi_strip) {
        T x[wi_strip];
#pragma unroll
        for (int j = 0; j < wi_strip; j++)
            x[j] = mine[j * wi_tile_pitch];
#pragma unroll
        for (int j = 0; j < wi_strip; j++) {
            x[j] *= f.reciprocal[first + j];
            wi_each_after(l + j * wi_tile_pitch, j,
                          [&](int k, T other) { x[k] = wi_fma(-x[j], other, x[k]); });
        }
#pragma unroll
        for (int j = 0; j < wi_strip; j++)
            mine[j * wi_tile_pitch] = x[j];
    }
    __syncwarp();
}

#endif
