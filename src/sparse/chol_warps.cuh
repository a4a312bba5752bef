/* SPDX-License-Identifier: Apache-2.0 */
/* L Lt of a front of up to 32 rows by one warp, a lane for each row: no barriers of the block, and
 * a tenth of the instructions that a block of four warps needs, most of whose threads such a front
 * leaves idle. */
#ifndef WI_CHOL_WARPS_CUH
#define WI_CHOL_WARPS_CUH

#include "sparse/chol_cuda.cuh"

constexpr int wi_warp_side = 32, wi_warp_stride = wi_warp_side + 1;
static_assert(WI_FRONT_TINY <= wi_warp_side, "a lane for each row");
using wi_warp_room = double[wi_warp_side][wi_warp_stride];

/* What a front waits for, where all is there: its children, and the memory for its update. */
struct wi_all_there {
    __device__ void child(int) const {}
    __device__ void memory() const {}
};

/* What a front needs of its child. */
struct wi_warp_child {
    int64_t update, relative;
    int rows, ld;
};

template <class real, class Ready>
struct wi_warp_front {
    static constexpr int width = 8; /* columns that are made those of L together */

    const wi_device_chol &d;
    const wi_front_record &r;
    wi_warp_room &f; /* element (i, j), i >= j, at f[j][i]; above the diagonal, the
                                    inverse of the square of the columns: (i, j) at f[i][j] */
    Ready ready;

    /* The entries of A, zeros, and the children's updates one after the other. */
    __device__ void assemble() const {
        const real *const panel = wi_front_panel<real>(d, r);
        const int row = wi_lane();
#pragma unroll 8
        for (int j = 0; j < r.height; j++)
            f[j][row] = j < r.columns && row >= j && row < r.height
                            ? (double)panel[row + (int64_t)j * r.ld]
                            : 0;
        for (int from = 0; from < r.children; from += 32) {
            wi_warp_child mine = {};
            if (from + row < r.children) {
                const int number = d.child[r.child + from + row];
                const wi_front_record &c = d.front[number];
                mine = {c.update, c.relative, c.height - c.columns, c.ld_update};
                ready.child(number);
            }
            for (int k = 0; k < 32 && from + k < r.children; k++)
                add(wi_shuffle(mine, k));
        }
        __syncwarp();
    }
    __device__ void add(const wi_warp_child &c) const {
        constexpr int batch = 8;
        const int row = wi_lane(), to = row < c.rows ? d.relative[c.relative + row] : 0;
        const real *const update = (const real *)d.updates + c.update + row;
        __syncwarp();
        for (int j = 0; j < c.rows; j += batch) {
            double x[batch];
#pragma unroll
            for (int b = 0; b < batch; b++)
                x[b] = row >= j + b && row < c.rows ? (double)update[(int64_t)(j + b) * c.ld] : 0;
#pragma unroll
            for (int b = 0; b < batch; b++) {
                const int column = __shfl_sync(wi_all_lanes, to, (j + b) % 32);
                if (row >= j + b && row < c.rows)
                    f[column][to] += x[b];
            }
        }
    }

    /* Makes columns begin ... begin + count - 1, at most `width`, those of L, and takes their
     * products from the others, in their order. Returns how many have a pivot. */
    __device__ int strip(int begin, int count) const {
        const int row = wi_lane();
        double a[width];
#pragma unroll
        for (int c = 0; c < width; c++)
            a[c] = c < count ? f[begin + c][row] : 0;
        int done = count;
        double pivot = wi_shuffle(a[0], begin);
#pragma unroll
        for (int j = 0; j < width; j++) {
            if (j >= done)
                break;
            if (!wi_cholesky_is_pivot(pivot)) {
                done = j;
                break;
            }
            const wi_root found(pivot);
            const wi_divisor<double> divisor(found.root, found.reciprocal);
            a[j] = row == begin + j ? found.root : divisor.of(a[j]);
            if (j + 1 < width) /* all wait for it, and its lane needs only its own row */
                pivot = wi_shuffle(wi_fma(-a[j], a[j], a[(j + 1) % width]), (begin + j + 1) % 32);
#pragma unroll
            for (int c = j + 1; c < width; c++)
                a[c] = wi_fma(-a[j], wi_shuffle(a[j], (begin + c) % 32), a[c]);
        }
#pragma unroll
        for (int c = 0; c < width; c++)
            if (c < count && row >= begin + c)
                f[begin + c][row] = a[c];
        __syncwarp();
        if (done == count)
            subtract(begin, count, a);
        __syncwarp();
        return done;
    }
    /* Takes the products of a strip, of which the lane's row has a[], from the columns after it. */
    __device__ void subtract(int begin, int count, const double (&a)[width]) const {
        const int row = wi_lane();
#pragma unroll 2
        for (int c = begin + count; c < r.height; c++) {
            double x = f[c][row];
#pragma unroll
            for (int k = 0; k < width; k++)
                if (k < count)
                    x = wi_fma(-a[k], f[begin + k][c], x);
            if (row >= c)
                f[c][row] = x;
        }
    }
    /* Returns how many columns are right. */
    __device__ int eliminate() const {
        for (int begin = 0; begin < r.columns; begin += width) {
            const int count = r.columns - begin < width ? r.columns - begin : width;
            const int done = strip(begin, count);
            if (done < count)
                return begin + done;
        }
        return r.columns;
    }
    /* The inverse of the square of the first `done` columns: a lane has a column of it, and finds
     * it from the top down. */
    __device__ void invert(int done) const {
        const int column = wi_lane();
        const double own = column < done ? wi_reciprocal(f[column][column]) : 0;
        for (int i = 1; i < done; i++) {
            double sum = 0;
            for (int k = 0; k < i; k++)
                if (k >= column)
                    sum = wi_fma(f[k][i], k == column ? own : f[k][column], sum);
            const double x = -sum * wi_shuffle(own, i);
            if (column < i)
                f[i][column] = x;
        }
        __syncwarp();
    }
    /* The columns of L, with the inverse of those before `done` above their diagonal, and the
     * update. */
    __device__ void store(int done) const {
        real *const panel = wi_front_panel<real>(d, r);
        real *const update = wi_front_update<real>(d, r);
        const int row = wi_lane();
        if (row >= r.height)
            return;
#pragma unroll 4
        for (int j = 0; j < r.columns; j++)
            if (row >= j || j < done)
                panel[row + (int64_t)j * r.ld] = (real)f[j][row];
#pragma unroll 4
        for (int j = r.columns; j < r.height; j++)
            if (row >= j)
                update[(row - r.columns) + (int64_t)(j - r.columns) * r.ld_update] =
                    (real)f[j][row];
    }
};

template <class real, class Ready>
__device__ void wi_factor_by_warp(const wi_device_chol &d, const wi_front_record &r,
                                  wi_warp_room &f, Ready ready) {
    const wi_warp_front<real, Ready> front = {d, r, f, ready};
    front.assemble();
    const int done = front.eliminate();
    front.invert(done);
    if (wi_lane() == 0)
        ready.memory();
    __syncwarp();
    front.store(done);
    if (done < r.columns && wi_lane() == 0)
        wi_chol_tell_failed(d, r.first + done);
}

#endif
