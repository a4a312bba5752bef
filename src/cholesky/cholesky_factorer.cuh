/* SPDX-License-Identifier: Apache-2.0 */
/* The factor of a tile of 64 x 64 in shared memory, by a warp, 16 columns at a time; and rows below
 * it: by substitution, or by the inverses of its squares of 16 x 16. */
#ifndef WI_CHOLESKY_FACTORER_CUH
#define WI_CHOLESKY_FACTORER_CUH

#include "cholesky/cholesky_tile.cuh"

/* ---- products and quotients in registers ---- */

/* Pieces of 16 x 8 of f64 in registers, as tensor cores leave them, which also multiply them so:
 * the columns of a factor may be taken in any order. */
template <class T>
struct wi_piece {
    using At = T[4];

    /* d -= a B': 8 rows of B, whose columns are wi_tile_pitch apart. */
    __device__ static void subtract(At &d, const At &a, const T *b) {
        const T *const from = b + wi_lane() / 4 + wi_lane() % 4 * 2 * wi_tile_pitch;
        const T own[4] = {-a[0], -a[2], -a[1], -a[3]};
        const T other[2] = {from[0], from[wi_tile_pitch]};
        wi_multiply_f64(d, own, other);
    }
    /* 16 x 16 elements, in two pieces, lose x x'. */
    __device__ static void subtract_square(At (&d)[2], const At (&x)[2]) {
#pragma unroll
        for (int q = 0; q < 2; q++) {
            const T own[4] = {-x[q][0], -x[q][2], -x[q][1], -x[q][3]};
            const T upper[2] = {x[q][0], x[q][1]}, lower[2] = {x[q][2], x[q][3]};
            wi_multiply_f64(d[0], own, upper);
            wi_multiply_f64(d[1], own, lower);
        }
    }
    /* ... of two pieces, with the lower triangle of 16 rows and columns. */
    __device__ static void subtract_triangle(At &d, At &e, const At &a, const At &b, const T *l) {
        subtract(e, a, l + 8);
        subtract(d, a, l);
        subtract(e, b, l + 8 + 8 * wi_tile_pitch);
    }
    /* Both become a / L', L being a strip's square, from -1 / L; corrected, as if by substitution,
     * where all bits count. */
    template <bool corrected>
    __device__ static void divide(At &a, At &b, const T *l, const T *inverse) {
        At x = {}, y = {};
        subtract_triangle(x, y, a, b, inverse);
        if constexpr (corrected) {
            subtract_triangle(a, b, x, y, l);
            subtract_triangle(x, y, a, b, inverse);
        }
#pragma unroll
        for (int e = 0; e < 4; e++) {
            a[e] = x[e];
            b[e] = y[e];
        }
    }
};

/* ---- the tile on the diagonal ---- */

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
     * which the device's guess does not take. Of rows before `end`. */
    __device__ void eliminate_slowly(int b, int known, int end) const {
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
                for (int i = j + wi_lane(); i < end; i += 32)
                    column[i] = i == j ? root : column[i] / root;
                if (wi_lane() == 0)
                    f.reciprocal[j] = 1 / root;
                __syncwarp();
                publish(b, j - first, column[first + wi_lane() % wi_strip]);
            }
            for (int k = j < first + known ? first + known : j + 1; k < last; k++)
                for (int i = k + wi_lane(); i < end; i += 32)
                    f.tile[i + k * wi_tile_pitch] =
                        wi_fma(-column[i], column[k], f.tile[i + k * wi_tile_pitch]);
            __syncwarp();
        }
    }
    /* A lane has two rows, and all lanes the four rows at the diagonal of the next four columns,
     * which each factors for itself: so four columns meet no other lane's work. What four columns
     * take from the others is taken while the next roots are found. Returns the number of columns
     * that are done: among the next four is a pivot that is no normal number above 0. */
    __device__ int eliminate(int b) const {
        const int lane = wi_lane(), row = b * wi_strip + lane;
        const bool has_x = row < wi_cholesky_side, has_y = row + 32 < wi_cholesky_side;
        T *own = f.tile + row + b * wi_strip * wi_tile_pitch;
        const T *before = f.tile + b * (wi_strip + wi_strip * wi_tile_pitch); /* at the diagonal */
        wi_line<T> x, y, *const both[2] = {&x, &y};
        wi_four<T> four;
        T known[2][4];
        x.load_row(own, has_x);
        y.load_row(own + 32, has_y);
#pragma unroll 1
        for (int p = 0; p < wi_strip; p += 4) {
            if (p > 0) {
                before += 4;
                x.template take_four<0, 4>(known[0], before, wi_strip - p);
                four.gather(x, p);
                x.template take_four<4, wi_strip - 4>(known[0], before, wi_strip - p);
                y.template take_four<0, wi_strip - 4>(known[1], before, wi_strip - p);
                before += 4 * wi_tile_pitch;
            } else {
                four.gather(x, p);
            }
            if (!four.factor(both, known))
                return p;
#pragma unroll
            for (int j = 0; j < 4; j++) {
                publish(b, p + j, known[0][j]);
                if (has_x)
                    own[j * wi_tile_pitch] = lane == p + j ? four.root[j] : known[0][j];
                if (has_y)
                    own[j * wi_tile_pitch + 32] = known[1][j];
                if (lane == 0)
                    f.reciprocal[b * wi_strip + p + j] = four.reciprocal[j];
            }
            own += 4 * wi_tile_pitch;
            __syncwarp();
        }
        return wi_strip;
    }
    /* The same of the strip's own 16 rows alone, in half of the lanes; with the other half, which
     * have the rows of -1, that becomes -1 / L. L gets zeros above its diagonal. Arithmetic is of
     * type N; unless it is T, columns of L lie once more in f.line. */
    template <class N>
    __device__ int eliminate_square(int b, T *inverse) const {
        constexpr bool is_own = sizeof(N) == sizeof(T);
        constexpr int pitch = is_own ? wi_tile_pitch : wi_strip + 4, last = wi_strip - 4;
        const int lane = wi_lane(), row = lane % wi_strip;
        const bool is_of_l = lane < wi_strip;
        T *const square = f.tile + b * (wi_strip + wi_strip * wi_tile_pitch);
        T *own = is_of_l ? square + row : inverse + row * wi_tile_pitch;
        const int step = is_of_l ? wi_tile_pitch : 1;
        N *const lines = is_own ? (N *)square : (N *)f.line, *before = lines;
        wi_line<N> x, *const only[1] = {&x};
        wi_four<N> four;
        N known[1][4], l[4];
        const auto begin = [&](int from, int to) {
#pragma unroll
            for (int k = from; k < to; k++)
                x.at[k] = is_of_l ? (N)own[k * step] : -(N)(row == k);
        };
        /* what L has of four columns from p on */
        const auto finish = [&](int p) {
#pragma unroll
            for (int j = 0; j < 4; j++)
                l[j] = lane == p + j ? four.root[j] : is_of_l && row < p + j ? (N)0 : known[0][j];
        };
        begin(0, 4);
        four.gather(x, 0);
        begin(4, wi_strip);
        bool usual = four.factor(only, known);
#pragma unroll 1
        for (int p = 0; usual;) {
            if (is_own || p == last) {
                finish(p);
                store_four(own, step, l);
            }
            if (p == last)
                return wi_strip;
            if (!is_own && is_of_l)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    before[row - p + j * pitch] = known[0][j];
            __syncwarp();
            p += 4;
            before += 4;
            x.template take_four<0, 4, pitch>(known[0], before, wi_strip - p);
            four.gather(x, p);
            x.template take_four<4, last, pitch>(known[0], before, wi_strip - p);
            before += 4 * pitch;
            if (!is_own)
                finish(p - 4);
            usual = four.factor(only, known);
            if (!is_own)
                store_four(own, step, l);
            own += 4 * step;
            if (!usual)
                return p;
        }
        return 0;
    }
    /* As numbers of type T: conversions take long, and nobody waits for them. */
    template <class N>
    __device__ static void store_four(T *to, int step, const N (&l)[4]) {
#pragma unroll
        for (int j = 0; j < 4; j++)
            to[j * step] = (T)l[j];
    }
    /* -1 / L of a strip's square, and zeros above it, by the formula. */
    __device__ void invert(int b, T *inverse) const {
        T *const square = f.tile + b * (wi_strip + wi_strip * wi_tile_pitch);
        T *const column = inverse + wi_lane() * wi_tile_pitch;
        if (wi_lane() < wi_strip)
            for (int i = 0; i < wi_strip; i++) {
                T sum = i == wi_lane() ? (T)-1 : (T)0;
                for (int k = wi_lane(); k < i; k++)
                    sum = wi_fma(-square[i + k * wi_tile_pitch], column[k], sum);
                column[i] = sum / square[i + i * wi_tile_pitch];
            }
        __syncwarp();
        for (int i = 0; i < wi_lane() && wi_lane() < wi_strip; i++)
            square[i + wi_lane() * wi_tile_pitch] = 0;
        __syncwarp();
    }
    /* To -1 / L from what differs from it by roundings of a shorter type: by about their square. */
    __device__ void refine(const T *l, T *inverse) const {
        using piece = wi_piece<T>;
        typename piece::At x[2], rest[2];
        T *const own = inverse + wi_lane() / 4 * wi_tile_pitch + wi_lane() % 4 * 2;
#pragma unroll
        for (int c = 0; c < 2; c++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int i = e / 2 * 8, j = c * 8 + e % 2;
                x[c][e] = own[i * wi_tile_pitch + j];
                rest[c][e] = -(T)(wi_lane() / 4 + i == wi_lane() % 4 * 2 + j);
            }
        piece::subtract_triangle(rest[0], rest[1], x[0], x[1], l);
        piece::subtract_triangle(x[0], x[1], rest[0], rest[1], inverse);
        __syncwarp();
#pragma unroll
        for (int c = 0; c < 2; c++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                own[e / 2 * 8 * wi_tile_pitch + c * 8 + e % 2] = x[c][e];
    }
    /* A strip's square and -1 / L. */
    template <class N>
    __device__ void run_square(int b, T *inverse) const {
        const int known = eliminate_square<N>(b, inverse);
        __syncwarp();
        if (known < wi_strip) {
            eliminate_slowly(b, known, (b + 1) * wi_strip);
            __syncwarp();
            if (f.done == wi_cholesky_side)
                invert(b, inverse);
        } else if (sizeof(N) < sizeof(T)) {
            refine(f.tile + b * (wi_strip + wi_strip * wi_tile_pitch), inverse);
        }
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
                eliminate_slowly(b, known, wi_cholesky_side);
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
