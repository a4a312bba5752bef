/* SPDX-License-Identifier: Apache-2.0 */
/* A panel of a large front of L Lt: its square, the inverse of that, and the rows below, in one
 * pass of strips of eight columns through shared memory.
 *
 * A panel's rows are shared out among blocks of threads, and each block makes the whole square that
 * of L for itself. The inverse comes from rows, too: those of the unit matrix become the rows of
 * the inverse transposed, which lie where the square has no numbers of L. So row i of a panel of
 * `columns` columns, i < columns, is one of the unit matrix, and after them come the rows below. */
#ifndef WI_CHOL_COLUMNS_CUH
#define WI_CHOL_COLUMNS_CUH

#include "sparse/chol_panels.cuh"

template <class real, bool in_cluster = false>
struct wi_panel_rows {
    static constexpr int side = WI_PANEL, others = in_cluster ? WI_MIDDLE_ROWS : WI_FRONT_ROWS;
    static constexpr int width = wi_strips<side>::width;
    static constexpr int halves = 2; /* threads for a row of the square: four columns each */
    static constexpr int threads = halves * side + others;
    using shared = double[side][side + others];
    struct alignas(16) two {
        double at[2];
    };

    shared &f; /* element (i, j) of the square, i >= j, at f[j][i]; of this block's other rows, at
                  f[j][side + i] */
    double (&corner)[2];
    real *l;                        /* element (i, j) of the panel at l[i + j * ld] */
    int ld, columns, height, first; /* the other rows begin with the panel's row `first`, */
    int blocks = 1; /* and in a cluster of so many they are every blocks-th strip of WI_MIDDLE_STRIP
                       rows from there on; those before the panel have a row below 0 */

    __device__ static bool is_of_square() {
        return (int)threadIdx.x < halves * side;
    }
    __device__ static int half() {
        return is_of_square() ? (int)threadIdx.x / side : 0;
    }
    __device__ static int shared_row() {
        return is_of_square() ? (int)threadIdx.x % side : (int)threadIdx.x - (halves - 1) * side;
    }
    __device__ int row() const {
        const int other = shared_row() - side;
        if (is_of_square())
            return shared_row();
        return in_cluster ? first + other / WI_MIDDLE_STRIP * WI_MIDDLE_STRIP * blocks +
                                other % WI_MIDDLE_STRIP
                          : first + other;
    }
    __device__ bool is_of_unit() const {
        return !is_of_square() && row() < columns && (!in_cluster || row() >= 0);
    }
    /* Is element (row(), j) one of A, and, when its column is done, of L? */
    __device__ bool is_there(int j) const {
        const int i = row();
        return i < (is_of_square() ? columns : height) && j < columns &&
               (is_of_square() ? i >= j : i >= columns);
    }
    /* Element (row(), j) of A is read(j). */
    template <class Read>
    __device__ void load(Read read) const {
        constexpr int batch = 16;
        const int step = is_of_square() ? halves : 1, whole = wi_pieces(columns, width) * width;
        for (int from = half(); from < whole; from += batch * step) {
            real x[batch];
#pragma unroll
            for (int k = 0; k < batch; k++) {
                const int j = from + k * step;
                x[k] = is_there(j) ? read(j) : is_of_unit() && j == row() ? (real)1 : (real)0;
            }
#pragma unroll
            for (int k = 0; k < batch; k++)
                if (from + k * step < whole)
                    f[from + k * step][shared_row()] = x[k];
        }
    }
    /* Takes the products of the columns before `begin` from `own` columns of the thread's row. */
    template <int own>
    __device__ void subtract(int begin, int column) const {
        const int i = shared_row();
        double a[own];
#pragma unroll
        for (int c = 0; c < own; c++)
            a[c] = f[column + c][i];
#pragma unroll 4
        for (int k = 0; k < begin; k++) {
            const double factor = f[k][i];
#pragma unroll
            for (int c = 0; c < own; c += 2) {
                const two l = *(const two *)&f[k][column + c];
                a[c] = wi_fma(-factor, l.at[0], a[c]);
                a[c + 1] = wi_fma(-factor, l.at[1], a[c + 1]);
            }
        }
#pragma unroll
        for (int c = 0; c < own; c++)
            if (!is_of_square() || i >= column + c)
                f[column + c][i] = a[c];
    }
    /* Makes `count` columns from `begin` on those of L in the thread's row below, or of the inverse
     * in that of the unit matrix, and stores them. */
    __device__ void solve(int begin, int count) const {
        double a[width];
#pragma unroll
        for (int c = 0; c < width; c++)
            a[c] = f[begin + c][shared_row()];
#pragma unroll
        for (int j = 0; j < width; j++) {
            if (j >= count)
                break;
            a[j] *= wi_reciprocal(f[begin + j][begin + j]);
#pragma unroll
            for (int c = j + 1; c < width; c++)
                a[c] = wi_fma(-a[j], f[begin + j][begin + c], a[c]);
        }
#pragma unroll
        for (int c = 0; c < width; c++) {
            if (c >= count)
                break;
            f[begin + c][shared_row()] = a[c];
            if (is_there(begin + c) || (is_of_unit() && begin + c > row()))
                l[row() + (int64_t)(begin + c) * ld] = (real)a[c];
        }
    }
    /* All strips. While a warp finishes one in the square, the other rows get ready for it. Returns
     * how many columns are right. */
    __device__ int run() const {
        const wi_strips<side, side + others> strips = {f, corner, columns};
        int begin = 0, done = width;
        for (; begin < columns && done == width; begin += width) {
            const int count = columns - begin < width ? columns - begin : width;
            if (is_of_square() && shared_row() >= begin)
                subtract<width / halves>(begin, begin + half() * (width / halves));
            if (!is_of_square() && begin > 0)
                solve(begin - width, width);
            __syncthreads();
            if (threadIdx.x < 32) {
                const int right = strips.finish(begin, count);
                if (wi_lane() == 0)
                    corner[0] = right;
            }
            if (!is_of_square())
                subtract<width>(begin, begin);
            __syncthreads();
            done = (int)corner[0];
        }
        if (!is_of_square())
            solve(begin - width, done);
        return begin - width + done;
    }
    /* The square, when all blocks have loaded it. */
    __device__ void store_square() const {
        if (is_of_square())
            for (int j = half(); j <= shared_row(); j += halves)
                if (is_there(j))
                    l[row() + (int64_t)j * ld] = (real)f[j][row()];
    }
};

#endif
