/* SPDX-License-Identifier: Apache-2.0 */
/* Pivots of L D Lt that are chosen, in shared memory by the rules of ldlt_simd.c: the first warp of
 * a block searches, interchanges and divides, all threads update what is left. */
#ifndef WI_LDLT_CUDA_CUH
#define WI_LDLT_CUDA_CUH

#include "sparse/chol_cuda.cuh"

template <int side>
struct wi_pivot_room {
    double f[side][side + 1]; /* element (i, j), i >= j, at f[j][i] */
    double beside[2][side];   /* the columns of the pivot before they were divided by it */
    int order[side];          /* place k has what was in place order[k] */
    int next, count;          /* the latest pivot is of `count` columns, those before `next` */
    bool failed;              /* column `next` is tiny or not finite, and d has it */
};

__device__ inline bool wi_is_finite(double x) {
    return x - x == 0;
}

__device__ inline double wi_size_of(double x) {
    return x < 0 ? -x : x;
}

/* A front, or a square of one, of `height` rows. Pivots are in its first `columns` columns, of
 * which at least `must` have to get one; they are column first ... of L. */
template <int side>
struct wi_pivot_square {
    static constexpr int parts = wi_cholesky_parts, threads = side * parts;
    /* (1 + sqrt(17)) / 8, as in ldlt_simd.c */
    static constexpr double enough = 0.6403882032022076;
    wi_pivot_room<side> &room;
    const wi_device_pivots &pivots;
    int first, height, columns, must;

    /* ---- the first warp ---- */

    /* The columns from k on have no pivot yet; those from `tail` on were tiny when they were looked
     * at, and if others were eliminated since, are looked at again. */
    struct progress {
        int k, tail;
        bool changed;
    };
    /* A search for a pivot: one column p, or two, p and q; q < 0: one. */
    struct choice {
        int p, q;
        bool tiny, finite;
    };
    struct largest {
        double size; /* infinite for what is no number */
        int row;
    };
    /* What is eliminated next: so many columns; one has this pivot. */
    struct step {
        int count;
        double pivot;
    };

    __device__ double &at(int i, int j) const {
        return i > j ? room.f[j][i] : room.f[i][j];
    }
    /* The largest entry of column j in rows from k on, without the diagonal: one of the first lane
     * that has one. */
    __device__ largest largest_beside(int k, int j) const {
        largest most = {0, j};
        for (int i = wi_lane(); i < columns; i += 32) {
            const double size = i < k || i == j ? 0 : wi_size_of(at(i, j));
            const double known = wi_is_finite(size) ? size : (double)INFINITY;
            if (known > most.size)
                most = {known, i};
        }
        const uint64_t bits = (uint64_t)__double_as_longlong(most.size);
        const uint32_t high = wi_warp_max((uint32_t)(bits >> 32));
        const uint32_t low = wi_warp_max(bits >> 32 == high ? (uint32_t)bits : 0);
        const uint64_t all = (uint64_t)high << 32 | low;
        const int lane = __ffs((int)__ballot_sync(wi_all_lanes, bits == all)) - 1;
        return {__longlong_as_double((long long)all), wi_shuffle(most.row, lane)};
    }
    __device__ choice search(int k) const {
        choice c = {k, -1, false, true};
        largest beside = largest_beside(k, k);
        const double own = wi_size_of(at(k, k));
        c.finite = wi_is_finite(beside.size) && wi_is_finite(own);
        c.tiny = beside.size <= *pivots.tiny && own <= *pivots.tiny;
        while (c.finite && !c.tiny) {
            if (wi_size_of(at(c.p, c.p)) >= enough * beside.size)
                return c;
            const int next = beside.row;
            const largest after = largest_beside(k, next);
            const double other = wi_size_of(at(next, next));
            c.finite = wi_is_finite(after.size) && wi_is_finite(other);
            if (other >= enough * after.size) {
                c.p = next;
                return c;
            }
            if (!(after.size > beside.size)) {
                c.q = next;
                return c;
            }
            c.p = next;
            beside = after;
        }
        return c;
    }
    /* Exchanges rows and columns p and q, those of L and of what is below included. */
    __device__ void interchange(int p, int q) const {
        __syncwarp();
        if (p == q)
            return;
        for (int i = wi_lane(); i < height; i += 32) {
            if (i == p || i == q)
                continue;
            const double kept = at(i, p);
            at(i, p) = at(i, q);
            at(i, q) = kept;
        }
        if (wi_lane() == 0) {
            const double kept = at(p, p);
            at(p, p) = at(q, q);
            at(q, q) = kept;
            const int place = room.order[p];
            room.order[p] = room.order[q];
            room.order[q] = place;
        }
        __syncwarp();
    }
    __device__ void note(int k, double d, double e, int mark) const {
        if (wi_lane() != 0)
            return;
        pivots.d[first + k] = d;
        pivots.e[first + k] = e;
        pivots.mark[first + k] = (int8_t)mark;
    }
    __device__ step fail(int k, double pivot) const {
        note(k, pivot, 0, WI_PIVOT_ONE);
        if (wi_lane() == 0)
            room.failed = true;
        return {0, pivot};
    }
    /* Column k alone, although it is tiny. */
    __device__ step replace(int k) const {
        const double pivot = at(k, k);
        if (!pivots.perturb || !wi_is_finite(pivot))
            return fail(k, pivot);
        const double replaced = copysign(*pivots.tiny, pivot);
        note(k, replaced, 0, WI_PIVOT_CHANGED);
        return {1, replaced};
    }
    __device__ step take_one(int k) const {
        const double pivot = at(k, k);
        note(k, pivot, 0, WI_PIVOT_ONE);
        return {1, pivot};
    }
    __device__ step next(progress &s) const {
        while (s.k < columns) {
            if (s.k == s.tail && s.changed) {
                s.tail = columns;
                s.changed = false;
            }
            if (s.k == s.tail) {
                s.tail = columns;
                return s.k < must ? replace(s.k) : step{0, 0};
            }
            const choice c = search(s.k);
            if (!c.finite)
                return fail(s.k, (double)NAN);
            if (c.tiny) {
                interchange(s.k, --s.tail);
                continue;
            }
            s.changed = true;
            interchange(s.k, c.p);
            if (c.q < 0)
                return take_one(s.k);
            interchange(s.k + 1, c.q == s.k ? c.p : c.q);
            return {2, 0};
        }
        return {0, 0};
    }
    /* Keeps what is below the pivot, and divides it. */
    __device__ void divide_one(int k, double pivot) const {
        double *const l = room.f[k];
        const wi_divisor<double> by(pivot);
        for (int i = k + 1 + wi_lane(); i < height; i += 32) {
            room.beside[0][i] = l[i];
            l[i] = by.of(l[i]);
        }
        if (wi_lane() == 0)
            l[k] = 1;
    }
    __device__ void divide_two(int k) const {
        double *const l = room.f[k], *const m = room.f[k + 1];
        const double d = l[k], e = l[k + 1], next = m[k + 1];
        for (int i = k + 2 + wi_lane(); i < height; i += 32) {
            double x = l[i], y = m[i];
            room.beside[0][i] = x;
            room.beside[1][i] = y;
            wi_dense_divide_pair(d, e, next, &x, &y);
            l[i] = x;
            m[i] = y;
        }
        note(k, d, e, WI_PIVOT_FIRST);
        note(k + 1, next, 0, WI_PIVOT_SECOND);
        __syncwarp();
        if (wi_lane() == 0) {
            l[k] = m[k + 1] = 1;
            l[k + 1] = 0;
        }
    }
    __device__ void choose(progress &s) const {
        const step now = next(s);
        __syncwarp();
        if (now.count == 1)
            divide_one(s.k, now.pivot);
        else if (now.count == 2)
            divide_two(s.k);
        s.k += now.count;
        if (wi_lane() == 0) {
            room.next = s.k;
            room.count = now.count;
        }
    }

    /* ---- all threads ---- */

    /* Takes the products of the columns before `next` from what is right of them. */
    __device__ void update(int next, int count) const {
        const int row = (int)threadIdx.x % side;
        if (row >= height)
            return;
        const double l = room.f[next - count][row], m = room.f[next - 1][row];
        for (int j = next + (int)threadIdx.x / side; j <= row; j += parts) {
            const double x = wi_fma(-l, room.beside[0][j], room.f[j][row]);
            room.f[j][row] = count == 1 ? x : wi_fma(-m, room.beside[1][j], x);
        }
    }
    /* f becomes L in the columns that are done, and what is left in the others. Returns how many
     * are done. */
    __device__ int run() const {
        progress s = {0, columns, false};
        if ((int)threadIdx.x < side)
            room.order[threadIdx.x] = (int)threadIdx.x;
        if (threadIdx.x == 0)
            room.failed = false;
        __syncthreads();
        for (;;) {
            if (threadIdx.x < 32)
                choose(s);
            __syncthreads();
            const int next = room.next, count = room.count;
            if (count == 0)
                return next;
            update(next, count);
            __syncthreads();
        }
    }
};

#endif
