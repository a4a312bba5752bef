/* SPDX-License-Identifier: Apache-2.0 */
/* What a panel does to the columns beside it: a warp takes a column of 32 rows through the
 * exchanges and, to the right, through the panel's unit lower triangle, two columns at a time. */
#ifndef WI_LU_APPLY_CUH
#define WI_LU_APPLY_CUH

#include "cuda/launch.cuh"
#include "cuda/types.cuh"
#include "cuda/warp.cuh"

template <class T>
struct wi_lu_apply_params {
    T *a; /* row `first` of the whole matrix, column 0 */
    size_t lda;
    int width;
    size_t first, left, right,
        count;            /* columns left ... first - 1, and right ..., `count` in all */
    const int64_t *pivot; /* of the panel */

    __device__ bool is_after(size_t n) const {
        return n >= first - left;
    }
    __device__ T *column(size_t n) const {
        return a + (is_after(n) ? right + n - (first - left) : left + n) * lda;
    }
};

/* Where rows of a panel go by its exchanges: this lane's row, and the row it was exchanged with if
 * that is beyond the panel and no later lane has the same. */
struct wi_lu_moves {
    int own_to, partner, partner_to;
    bool has_partner;
};

/* partner: that of this lane's exchange; -1 beyond the last. */
__device__ inline wi_lu_moves wi_lu_trace(int lane, int partner, int width) {
    wi_lu_moves m = {lane, partner, partner, partner >= width};
#pragma unroll 8
    for (int k = 0; k < width; k++) {
        const int with = wi_shuffle(partner, k);
        m.own_to = m.own_to == k ? with : m.own_to == with ? k : m.own_to;
        m.partner_to = m.partner_to == k ? with : m.partner_to == with ? k : m.partner_to;
        if (k > lane && with == partner)
            m.has_partner = false;
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
        if (thread % 32 < p.width) {
            if (m.own_to < p.width)
                top[m.own_to] = r.own;
            else
                column[m.own_to] = r.own;
        }
        if (m.has_partner) {
            if (m.partner_to < p.width)
                top[m.partner_to] = r.partner;
            else
                column[m.partner_to] = r.partner;
        }
    }
    /* x = L \ x of columns that are after the panel. */
    __device__ void solve(T (&x)[together], const bool (&after)[together]) const {
        const int lane = thread % 32;
#pragma unroll 8
        for (int k = 0; k < p.width; k++) {
            const T l = s.l[k][lane];
#pragma unroll
            for (int c = 0; c < together; c++) {
                const T known = wi_shuffle(x[c], k);
                x[c] = after[c] && lane > k ? wi_fma(-l, known, x[c]) : x[c];
            }
        }
    }
    /* Columns first, first + stride, ... */
    __device__ void run(size_t first, size_t stride) const {
        const int lane = thread % 32, warp = thread / 32;
        const int partner = lane < p.width ? (int)(p.pivot[lane] - (int64_t)p.first) : -1;
        rows r[together];
#pragma unroll
        for (int c = 0; c < together; c++)
            r[c] = fetch(first + c * stride, partner);
        for (int c = warp; c < p.width; c += warps)
            s.l[c][lane] = lane < p.width ? p.a[lane + (p.first + c) * p.lda] : (T)0;
        const wi_lu_moves m = wi_lu_trace(lane, partner, p.width);
        __syncthreads();
        for (size_t n = first; n < p.count;) {
            T x[together];
            bool there[together], after[together];
#pragma unroll
            for (int c = 0; c < together; c++)
                there[c] = n + c * stride < p.count;
#pragma unroll
            for (int c = 0; c < together; c++)
                if (there[c])
                    move(m, r[c], p.column(n + c * stride), s.top[warp][c]);
            __syncwarp();
#pragma unroll
            for (int c = 0; c < together; c++) {
                x[c] = there[c] && lane < p.width ? s.top[warp][c][lane] : (T)0;
                after[c] = p.is_after(n + c * stride);
            }
            solve(x, after);
#pragma unroll
            for (int c = 0; c < together; c++)
                if (there[c] && lane < p.width)
                    p.column(n + c * stride)[lane] = x[c];
            n += together * stride;
#pragma unroll
            for (int c = 0; c < together; c++)
                r[c] = fetch(n + c * stride, partner);
            __syncwarp();
        }
    }
};

#endif
