/* SPDX-License-Identifier: Apache-2.0 */
/* A front of up to 64 rows by one block of threads, assembled in shared memory: L Lt, and L D Lt
 * with known signs. (chol_warps.cuh has those by one warp.) */
#ifndef WI_CHOL_SMALL_CUH
#define WI_CHOL_SMALL_CUH

#include "sparse/chol_warps.cuh"

/* Adds a child's update to f. Columns of a thread are read eight at a time, so that they arrive
 * together. */
template <class real, int side>
__device__ void wi_add_child(const wi_device_chol &d, const wi_front_record &c,
                             double (&f)[side][side + 1]) {
    constexpr int across = wi_front_block<side>::threads / side, batch = 8;
    const int row = (int)threadIdx.x % side, rows = c.height - c.columns;
    const int32_t *const to = d.relative + c.relative;
    const real *const update = wi_front_update<real>(d, c) + row;
    if (row >= rows)
        return;
    const int place = to[row];
    for (int from = (int)threadIdx.x / side; from <= row; from += across * batch) {
        double x[batch];
        int column[batch];
#pragma unroll
        for (int b = 0; b < batch; b++) { /* the last one again, if there is none */
            const int j = from + b * across < row ? from + b * across : row;
            column[b] = to[j];
            x[b] = update[(int64_t)j * c.ld_update];
        }
#pragma unroll
        for (int b = 0; b < batch; b++)
            if (from + b * across <= row)
                f[column[b]][place] += x[b];
    }
}

/* f = the columns of the front, in which the entries of A are, and zeros; then the children's
 * updates, one child after the other, when they are ready. */
template <class real, int side, class Ready>
__device__ void wi_assemble_small(const wi_device_chol &d, const wi_front_record &r,
                                  double (&f)[side][side + 1], Ready ready) {
    constexpr int across = wi_front_block<side>::threads / side;
    const int row = (int)threadIdx.x % side, column = (int)threadIdx.x / side;
    const real *const panel = wi_front_panel<real>(d, r) + row;
#pragma unroll 16
    for (int j = column; j < side; j += across)
        f[j][row] =
            j < r.columns && row >= j && row < r.height ? (double)panel[(int64_t)j * r.ld] : 0;
    for (int k = (int)threadIdx.x; k < r.children; k += wi_front_block<side>::threads)
        ready.child(d.child[r.child + k]);
    for (int k = 0; k < r.children; k++) {
        const wi_front_record c = d.front[d.child[r.child + k]];
        __syncthreads();
        wi_add_child<real>(d, c, f);
    }
    __syncthreads();
}

template <int side>
struct wi_small_room {
    double f[side][side + 1], line[side], corner[2], product[side * side / 4];
};

template <class real, int side, bool is_signed, class Ready>
__device__ void wi_factor_small_front(const wi_device_chol &d, const wi_front_record &r,
                                      wi_small_room<side> &room, Ready ready) {
    wi_assemble_small<real>(d, r, room.f, ready);
    const wi_front_block<side> block = {room.f, room.line, room.corner, r.height, r.columns};
    real *const panel = wi_front_panel<real>(d, r);
    const auto store = [&](int i, int j, double x) {
        *wi_front_element<real>(d, r, i, j) = (real)x;
    };
    const auto store_inverse = [&](int i, int j, double x) {
        panel[j + (int64_t)i * r.ld] = (real)x;
    };
    if (threadIdx.x == 0)
        ready.memory(); /* before the next barrier, behind which the update is stored */
    const int done = is_signed ? block.run_signed(d.pivots, r.first, store) : block.run(store);
    block.invert(room.product, done, store_inverse);
    if (done < r.columns && threadIdx.x == 0)
        wi_chol_tell_failed(d, r.first + done);
}

#endif
