/* SPDX-License-Identifier: Apache-2.0 */
/* C -= L U for an inner size of at most 32, by the warps of a cluster. A warp keeps its rows of L
 * in registers and goes along the columns, the next of which are on their way while it multiplies.
 * f64 go by tensor cores. */
#ifndef WI_LU_SLAB_CUH
#define WI_LU_SLAB_CUH

#include "cuda/async.cuh"
#include "cuda/tensor_f64.cuh"
#include "cuda/types.cuh"
#include "cuda/warp.cuh"

template <class T>
struct wi_lu_subtract_params {
    const T *l, *u;
    T *c;
    size_t ld;
    int m, n, k;
};

/* Columns of U, each in a row of its own; the gap keeps lanes that read four rows of four columns
 * in different banks. */
template <class T>
struct alignas(16) wi_lu_u_memory {
    static constexpr int most_k = 32, columns = 256, gap = 4;
    static constexpr int beyond = 16; /* zeros, read with the last ones */
    T u[columns + beyond][most_k + gap];
};

/* Some rows of L, negative, in the registers of a warp. It takes a group of columns of C at a time,
 * `groups` of which are in registers. Of a group a lane has, in every apart'th column, `high` runs
 * of `run` elements one below the other, of which the second is rows_apart lower. */
template <class T>
struct wi_lu_slab {
    static constexpr int rows = 64, group = 1, groups = 4, apart = 1, beyond = groups - 1;
    static constexpr int run = 1, high = 2, rows_apart = 32, runs = high * group / apart;
    static constexpr int most_k = wi_lu_u_memory<T>::most_k;
    T l[2][most_k];

    __device__ static int row_of(int lane) {
        return lane;
    }
    __device__ static int column_of(int) {
        return 0;
    }
    /* of(row, k): an element of L. */
    template <class F>
    __device__ void load(int lane, const F &of) {
#pragma unroll
        for (int k = 0; k < most_k; k++)
#pragma unroll
            for (int r = 0; r < runs; r++)
                l[r][k] = -of(lane + r * rows_apart, k);
    }
    /* All columns at once, so that no product waits for the one before. */
    template <int k_end>
    __device__ void subtract(T (&c)[groups][runs][run],
                             const T (*u)[most_k + wi_lu_u_memory<T>::gap]) const {
        constexpr int pack = 16 / (int)sizeof(T);
        struct alignas(16) packed {
            T at[pack];
        };
#pragma unroll
        for (int k = 0; k < k_end; k += pack) {
            packed known[groups];
#pragma unroll
            for (int q = 0; q < groups; q++)
                known[q] = *(const packed *)&u[q][k];
#pragma unroll
            for (int e = 0; e < pack; e++)
#pragma unroll
                for (int q = 0; q < groups; q++)
#pragma unroll
                    for (int r = 0; r < runs; r++)
                        c[q][r][0] = wi_fma(l[r][k + e], known[q].at[e], c[q][r][0]);
        }
    }
    __device__ void subtract(int, T (&c)[groups][runs][run],
                             const T (*u)[most_k + wi_lu_u_memory<T>::gap], int, int k_end) const {
        if (k_end > most_k / 2)
            subtract<most_k>(c, u);
        else if (k_end > most_k / 4)
            subtract<most_k / 2>(c, u);
        else
            subtract<most_k / 4>(c, u);
    }
};
/* Tensor cores make the transpose, U' L', so that what a lane has of a column is 16 bytes. */
template <>
struct wi_lu_slab<double> {
    static constexpr int rows = 16, group = 16, groups = 2, apart = 8, beyond = group - 1;
    static constexpr int run = 2, high = 2, rows_apart = 8, runs = high * group / apart;
    static constexpr int most_k = wi_lu_u_memory<double>::most_k;
    double b[high][most_k / 16][4]; /* as wi_multiply_f64 has it */

    __device__ static int row_of(int lane) {
        return lane % 4 * run;
    }
    __device__ static int column_of(int lane) {
        return lane / 4;
    }
    template <class F>
    __device__ void load(int lane, const F &of) {
#pragma unroll
        for (int q = 0; q < high; q++)
#pragma unroll
            for (int i = 0; i < most_k / 16; i++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    b[q][i][e] = -of(8 * q + lane / 4, 16 * i + lane % 4 + e * 4);
    }
    __device__ void subtract(int lane, double (&c)[groups][runs][run],
                             const double (*u)[most_k + wi_lu_u_memory<double>::gap], int left,
                             int k_end) const {
#pragma unroll
        for (int q = 0; q < groups; q++)
            if (left > q * group)
                subtract(lane, c[q], u + q * group, k_end);
    }
    __device__ void subtract(int lane, double (&c)[runs][run],
                             const double (*u)[most_k + wi_lu_u_memory<double>::gap],
                             int k_end) const {
        double d[high][4];
#pragma unroll
        for (int e = 0; e < 8; e++)
            d[e / 2 % high][e / 4 * 2 + e % 2] = c[e / 2][e % 2];
#pragma unroll
        for (int i = 0; i < most_k / 16; i++)
            if (16 * i < k_end) {
                double a[8];
#pragma unroll
                for (int e = 0; e < 8; e++)
                    a[e] = u[lane / 4 + e % 2 * 8][16 * i + lane % 4 + e / 2 * 4];
#pragma unroll
                for (int q = 0; q < high; q++)
                    wi_multiply_f64(d[q], a, b[q][i]);
            }
#pragma unroll
        for (int e = 0; e < 8; e++)
            c[e / 2][e % 2] = d[e / 2 % high][e / 4 * 2 + e % 2];
    }
};

/* For all warps of some blocks, of `warps` warps each. */
template <class T, int warps>
struct wi_lu_subtractor {
    using memory = wi_lu_u_memory<T>;
    using slab = wi_lu_slab<T>;
    static constexpr int most_k = memory::most_k, threads = 32 * warps;
    static_assert(memory::beyond >= slab::beyond, "what is read is in memory");

    wi_lu_subtract_params<T> p;
    memory &s;
    int thread;

    /* Columns base ... base + count - 1 of U, and zeros beyond and below row k. Later there:
     * wi_async_wait. */
    __device__ void fetch_u(int base, int count) const {
        constexpr int at_once = 16 / (int)sizeof(T), pieces = most_k / at_once;
        const int filled = count + slab::beyond;
        if (p.k == most_k && ((uintptr_t)p.u % 16 | p.ld % at_once) == 0) {
            for (int e = thread; e < filled * pieces; e += threads) {
                const int k = e % pieces * at_once, j = e / pieces;
                wi_async_copy<16>(&s.u[j][k], j < count ? p.u + k + (base + j) * p.ld : p.u,
                                  j < count);
            }
            wi_async_commit();
            return;
        }
        for (int e = thread; e < filled * most_k; e += threads) {
            const int k = e % most_k, j = e / most_k;
            const bool is_u = k < p.k && j < count;
            wi_async_copy<sizeof(T)>(&s.u[j][k], is_u ? p.u + k + (base + j) * p.ld : p.u, is_u);
        }
        wi_async_commit();
    }
    /* What a warp has to do: rows from `row` on, columns begin ... end - 1. */
    struct piece {
        int row, begin, end;
    };
    using part = T[slab::runs][slab::run];
    using columns = part[slab::groups];
    struct alignas(sizeof(T) * slab::run) run_of {
        T at[slab::run];
    };
    struct state {
        slab own;
        int rows;   /* of C from this lane's first row on */
        bool whole; /* runs: all are in the matrix, and aligned */
        T *x;       /* this lane's first element of the columns in c */
        columns c;
    };
    /* f(run r, its address) of a group whose first run is at x. */
    template <class F>
    __device__ void each(T *x, const F &f) const {
#pragma unroll
        for (int r = 0; r < slab::runs; r++)
            f(r, x + r % slab::high * slab::rows_apart + r / slab::high * slab::apart * p.ld);
    }
    /* f(run r, its element e, the address) of those in the matrix, which has n columns from the
     * group's first on. */
    template <class F>
    __device__ void each_inside(const state &w, T *x, int n, const F &f) const {
        n -= slab::column_of(thread % 32);
        each(x, [&](int r, T *at) {
#pragma unroll
            for (int e = 0; e < slab::run; e++)
                if (r / slab::high * slab::apart < n &&
                    r % slab::high * slab::rows_apart + e < w.rows)
                    f(r, e, at + e);
        });
    }
    /* The columns from x on, `left` of which are there. */
    __device__ void fetch(const state &w, T *x, int left, columns &c) const {
        const bool whole = slab::run > 1 && w.whole && left >= slab::groups * slab::group;
#pragma unroll
        for (int q = 0; q < slab::groups; q++) {
            if (whole)
                each(x, [&](int r, const T *at) {
                    const run_of all = *(const run_of *)at;
#pragma unroll
                    for (int e = 0; e < slab::run; e++)
                        c[q][r][e] = all.at[e];
                });
            else
                each_inside(w, x, left - q * slab::group,
                            [&](int r, int e, const T *at) { c[q][r][e] = *at; });
            x += slab::group * p.ld;
        }
    }
    __device__ void put(const state &w, int left, const part &c) const {
        if (slab::run > 1 && w.whole && left >= slab::group)
            each(w.x, [&](int r, T *at) {
                run_of all;
#pragma unroll
                for (int e = 0; e < slab::run; e++)
                    all.at[e] = c[r][e];
                *(run_of *)at = all;
            });
        else
            each_inside(w, w.x, left, [&](int r, int e, T *at) { *at = c[r][e]; });
    }
    __device__ void begin(const piece &todo, state &w) const {
        const int lane = thread % 32, left = p.m - todo.row;
        w.own.load(lane, [&](int r, int k) {
            return r < left && k < p.k ? p.l[todo.row + r + k * p.ld] : (T)0;
        });
        w.rows = left - slab::row_of(lane);
        w.whole = slab::run > 1 && left >= slab::rows && (uintptr_t)p.c % sizeof(run_of) == 0 &&
                  p.ld % slab::run == 0;
        w.x = p.c + todo.row + slab::row_of(lane) + (todo.begin + slab::column_of(lane)) * p.ld;
        fetch(w, w.x, todo.end - todo.begin, w.c);
    }
    /* u is that of column `base`. */
    __device__ void finish(const piece &todo, state &w, int base) const {
        constexpr int in_registers = slab::groups * slab::group;
#pragma unroll 1
        for (int column = todo.begin; column < todo.end; column += in_registers) {
            columns next = {};
            fetch(w, w.x + in_registers * p.ld, todo.end - column - in_registers, next);
            w.own.subtract(thread % 32, w.c, &s.u[column - base], todo.end - column, p.k);
#pragma unroll
            for (int q = 0; q < slab::groups; q++) {
                put(w, todo.end - column - q * slab::group, w.c[q]);
                w.x += slab::group * p.ld;
            }
#pragma unroll
            for (int q = 0; q < slab::groups; q++)
#pragma unroll
                for (int e = 0; e < slab::runs * slab::run; e++)
                    w.c[q][e / slab::run][e % slab::run] = next[q][e / slab::run][e % slab::run];
        }
    }
    /* How the columns of a part are dealt out to `stride` warps. */
    struct pieces {
        int slabs, each, base, count;

        __device__ pieces(int m, int stride, int base_, int count_) : base(base_), count(count_) {
            const int all_groups = (count + slab::group - 1) / slab::group;
            slabs = (m + slab::rows - 1) / slab::rows;
            const int wanted = slabs < stride ? stride / slabs : 1;
            const int parts = wanted < all_groups ? wanted : all_groups;
            each = (all_groups + parts - 1) / parts * slab::group;
        }
        __device__ int all() const {
            return (count + each - 1) / each * slabs;
        }
        __device__ piece at(int item) const {
            const int begin = item / slabs * each, end = begin + each;
            return {item % slabs * slab::rows, base + begin, base + (end < count ? end : count)};
        }
    };
    /* Columns base ... base + count - 1, by warps first, first + stride, ... of all pieces. */
    __device__ void run(int first, int stride, int base, int count) const {
        const pieces dealt(p.m, stride, base, count);
        state w = {};
        fetch_u(base, count);
        if (first < dealt.all())
            begin(dealt.at(first), w);
        wi_async_wait<0>();
        __syncthreads();
#pragma unroll 1
        for (int item = first; item < dealt.all();) {
            finish(dealt.at(item), w, base);
            item += stride;
            if (item < dealt.all())
                begin(dealt.at(item), w);
        }
    }
    __device__ void run(int first, int stride) const {
#pragma unroll 1
        for (int base = 0; base < p.n; base += memory::columns) {
            if (base > 0)
                __syncthreads();
            run(first, stride, base, p.n - base < memory::columns ? p.n - base : memory::columns);
        }
    }
};

#endif
