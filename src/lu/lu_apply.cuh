/* SPDX-License-Identifier: Apache-2.0 */
/* What a panel does to the columns beside it: a warp takes a column of 32 rows through the
 * exchanges and, to the right, through the panel's unit lower triangle, two columns at a time. */
#ifndef WI_LU_APPLY_CUH
#define WI_LU_APPLY_CUH

#include "cuda/launch.cuh"
#include "cuda/types.cuh"
#include "cuda/warp.cuh"
#include "lu/lu_triangle.cuh"

template <class T>
struct wi_lu_apply_params {
    T *a; /* row `first` of the whole matrix, column 0 */
    size_t lda;
    int width;
    size_t first, left, right,
        count; /* columns left ... first - 1, and right ..., `count` in all */

    __device__ bool is_after(size_t n) const {
        return n >= first - left;
    }
    __device__ T *column(size_t n) const {
        return a + (is_after(n) ? right + n - (first - left) : left + n) * lda;
    }
};

/* Where this lane's row of a panel goes by the exchanges, and whether a row beyond the panel comes
 * in its place: that of its own exchange, unless an earlier lane has the same. */
struct wi_lu_moves {
    int to;
    bool has_partner;
};

/* partner: the row that this lane's is exchanged with; the lane itself beyond the last. */
__device__ inline wi_lu_moves wi_lu_trace(int lane, int partner, int width) {
    wi_lu_moves m = {lane, lane < width && partner >= width};
#pragma unroll
    for (int k = 0; k < 32; k++) {
        const int with = wi_shuffle(partner, k);
        m.to = m.to == k ? with : m.to == with ? k : m.to;
        m.has_partner = m.has_partner & ((k >= lane) | (with != partner));
    }
    return m;
}

/* For `warps` warps of a block. */
template <class T, int warps>
struct wi_lu_applier {
    static constexpr int side = 32, together = 2;
    struct memory {
        T l[side][side]; /* the triangle, by columns */
        T top[warps][together][side];
    };

    wi_lu_apply_params<T> p;
    memory &s;
    int thread;

    struct rows {
        T own, partner;
    };
    __device__ rows fetch(size_t n, int partner) const {
        const int lane = thread % 32;
        rows r = {0, 0};
        if (n < p.count && lane < p.width) {
            const T *const column = p.column(n);
            r = {column[lane], column[partner]};
        }
        return r;
    }
    /* Rows go where the exchanges bring them; those of the panel to `top`. */
    __device__ void move(const wi_lu_moves &m, const rows &r, T *column, T *top) const {
        const int lane = thread % 32;
        if (lane < p.width) {
            if (m.to < p.width)
                top[m.to] = r.own;
            else
                column[m.to] = r.own;
        }
        if (m.has_partner)
            top[lane] = r.partner;
    }
    /* Columns first, first + stride, ...; partner as wi_lu_trace has it. */
    __device__ void run(size_t first, size_t stride, int partner) const {
        const int lane = thread % 32, warp = thread / 32;
        rows r[together];
#pragma unroll
        for (int c = 0; c < together; c++)
            r[c] = fetch(first + c * stride, partner);
        for (int c = warp; c < side; c += warps)
            s.l[c][lane] = lane < p.width && c < p.width ? p.a[lane + (p.first + c) * p.lda] : (T)0;
        const wi_lu_moves m = wi_lu_trace(lane, partner, p.width);
        __syncthreads();
        for (size_t n = first; n < p.count;) {
            T x[together], moved[together];
            bool there[together];
#pragma unroll
            for (int c = 0; c < together; c++)
                there[c] = n + c * stride < p.count;
#pragma unroll
            for (int c = 0; c < together; c++)
                if (there[c])
                    move(m, r[c], p.column(n + c * stride), s.top[warp][c]);
            __syncwarp();
#pragma unroll
            for (int c = 0; c < together; c++)
                x[c] = moved[c] = there[c] && lane < p.width ? s.top[warp][c][lane] : (T)0;
            if (p.is_after(n + (together - 1) * stride))
                wi_lu_solve_unit(x, [&](int row, int k) { return s.l[k][row]; });
#pragma unroll
            for (int c = 0; c < together; c++)
                if (there[c] && lane < p.width)
                    p.column(n + c * stride)[lane] = p.is_after(n + c * stride) ? x[c] : moved[c];
            n += together * stride;
#pragma unroll
            for (int c = 0; c < together; c++)
                r[c] = fetch(n + c * stride, partner);
            __syncwarp();
        }
    }
};

#endif
