/* SPDX-License-Identifier: Apache-2.0 */
/* Products of 16-bit floats with a C of at most 16 columns. The long factor, A, goes from memory to
 * registers and from there to tensor cores, with no stop in shared memory: many loads are on their
 * way, and hardly anything else takes time.
 *
 * A warp takes 64 rows of A and 32 of k at a time. Of these 32 a thread has eight that follow each
 * other, in A and in B alike: which place of a product they take does not matter, if it is the same
 * in both. The warps of a block have the same rows and take pieces of k in turn; their sums are
 * added up in order. Where there are few rows several blocks have a slice of k each, and the one
 * that ends last adds up what all have left, in order. */
#ifndef WI_GEMM_NARROW_CUH
#define WI_GEMM_NARROW_CUH

#include <string.h>

#include "cuda/ahead.cuh"
#include "cuda/memory.cuh"
#include "cuda/shifted.cuh"
#include "cuda/tensor.cuh"
#include "cuda/ticket.cuh"
#include "cuda/warp.cuh"
#include "gemm/gemm_cuda.cuh"

constexpr int wi_narrow_columns = 16, wi_narrow_depth = 32;
constexpr int wi_narrow_rows = 64;
constexpr int wi_narrow_line = wi_narrow_rows + 4; /* of sums: columns begin in different banks */
constexpr int wi_narrow_elements = wi_narrow_rows * wi_narrow_columns; /* of a block */
constexpr int wi_narrow_most_warps = 16; /* of a multiprocessor: a thread has 128 registers */

/* Of a block of so many warps. */
constexpr size_t wi_narrow_shared_bytes(int warps) {
    return (size_t)warps * wi_narrow_columns * wi_narrow_line * sizeof(float);
}

/* How the product is dealt out. Slices of the same rows follow each other. */
struct wi_narrow_deal {
    size_t slices, pieces; /* of the same rows; of a slice, each of 32 of k */
    float *partial;        /* the sums of every block, if there are several slices */
    unsigned *ended;       /* how many slices have, for each group of rows; 0 at the end */
};

/* Eight elements that lie together, as four words. */
struct alignas(16) wi_narrow_run {
    uint32_t word[4];
};

/* Of eight elements of which so many are there; the others become 0. */
template <class T>
__device__ inline wi_narrow_run wi_narrow_edge(const T *from, size_t step, int there) {
    T x[8];
#pragma unroll
    for (int e = 0; e < 8; e++)
        x[e] = e < there ? from[(size_t)e * step] : (T)0.f;
    wi_narrow_run run;
    memcpy(&run, x, sizeof run);
    return run;
}

/* How A lies: elements that follow each other are of one row, or of one k, and all lines begin at
 * multiples of 16 bytes, or some do not. */
template <bool along_k_, bool aligned_>
struct wi_narrow_lies {
    static constexpr bool along_k = along_k_, aligned = aligned_;
};

/* Where A ends: unaligned loads go no further. */
template <class Lies, class T>
__device__ inline const T *wi_narrow_end(const wi_gemm_params<T, T, float> &g) {
    if constexpr (Lies::aligned)
        return NULL;
    else
        return g.a + ((Lies::along_k ? g.m : g.k) - 1) * g.lda + (Lies::along_k ? g.k : g.m);
}

/* A. Each thread has eight runs. */
template <class T, class Lies>
struct wi_narrow_long {
    static constexpr bool along_k = Lies::along_k;
    const T *a, *end;      /* of all that A has */
    size_t lda, row, rows; /* the block's first row; all rows */

    /* The row of C that belongs to place n of product j. */
    __device__ static int row_of(int j, int n) {
        return along_k ? 8 * j + n : 8 * n + j;
    }
    /* The piece from k on, `there` of k in it. What belongs to no row of C may be any element. */
    __device__ void load(size_t k, int there, wi_narrow_run (&run)[8]) const {
        const int g = wi_lane() / 4, first = wi_lane() % 4 * 8;
        if constexpr (along_k) {
            const auto line = [&](int j) {
                const size_t i = row + (size_t)(8 * j + g), in = i < rows ? i : rows - 1;
                return a + in * lda + k + (size_t)first;
            };
            if constexpr (!Lies::aligned)
                if (there == wi_narrow_depth)
                    return load_shifted(line, run);
#pragma unroll
            for (int j = 0; j < 8; j++)
                run[j] = Lies::aligned && there == wi_narrow_depth
                             ? once(line(j))
                             : wi_narrow_edge(line(j), 1, there - first);
        } else {
            const size_t i = row + (size_t)(8 * g), in = i < rows ? i : 0;
            const int high = rows - in < 8 ? (int)(rows - in) : 8;
            const T *const from = a + in + (k + (size_t)first) * lda;
            const auto line = [&](int j) { return from + (size_t)j * lda; };
            if (there == wi_narrow_depth && high == 8) {
                if constexpr (Lies::aligned)
#pragma unroll
                    for (int j = 0; j < 8; j++)
                        run[j] = once(line(j));
                else
                    load_shifted(line, run);
            } else {
#pragma unroll
                for (int j = 0; j < 8; j++)
                    run[j] = wi_narrow_edge(line(j), 1, first + j < there ? high : 0);
            }
        }
    }
    /* Two words for product j, of the low and the high half of its k: pairs 2 half and 2 half + 1
     * of the eight. */
    __device__ static void take(const wi_narrow_run (&run)[8], int j, int half, uint32_t (&x)[2]) {
#pragma unroll
        for (int c = 0; c < 2; c++) {
            const int pair = 2 * half + c;
            if constexpr (along_k)
                x[c] = run[j].word[pair];
            else
                x[c] = both(run[2 * pair].word[j / 2], run[2 * pair + 1].word[j / 2], j % 2);
        }
    }

  private:
    __device__ static wi_narrow_run run_of(const uint4 &x) {
        return {{x.x, x.y, x.z, x.w}};
    }
    __device__ static wi_narrow_run once(const T *from) {
        return run_of(wi_load_once((const uint4 *)from));
    }
    /* Eight runs of which every element is there, run j at line(j), which may be anywhere. */
    template <class Line>
    __device__ void load_shifted(const Line &line, wi_narrow_run (&run)[8]) const {
        constexpr int at_once = 4; /* with more, registers lack */
        const wi_shifted_source source = {(const char *)a, (const char *)end};
#pragma unroll
        for (int first = 0; first < 8; first += at_once) {
            bool is_inside = true;
#pragma unroll
            for (int j = first; j < first + at_once; j++)
                is_inside = is_inside && source.has_all(line(j));
            if (is_inside) {
#pragma unroll
                for (int j = first; j < first + at_once; j++)
                    run[j] = run_of(wi_shifted_source::load(line(j)));
            } else {
#pragma unroll
                for (int j = first; j < first + at_once; j++)
                    run[j] = wi_narrow_edge(line(j), 1, 8);
            }
        }
    }
    /* The low halves, or the high ones, of two words. */
    __device__ static uint32_t both(uint32_t first, uint32_t second, int high) {
        return high ? (first >> 16) | (second & 0xffff0000u) : (first & 0xffffu) | (second << 16);
    }
};

/* B: of a piece each thread has eight of k of columns g and g + 8. */
template <class T>
struct wi_narrow_short {
    const T *b;
    size_t ldb, columns;
    bool along_k, aligned; /* aligned: all columns begin at multiples of 16 bytes */
    uint4 *mine;           /* a warp's own lines of a piece in shared memory, if they lie across */

    __device__ void load(size_t k, int there, wi_narrow_run (&run)[2]) const {
        if (along_k)
            load_along(k, there, run);
        else
            load_across(k, there, run);
    }

  private:
    __device__ void load_along(size_t k, int there, wi_narrow_run (&run)[2]) const {
        const int g = wi_lane() / 4, first = wi_lane() % 4 * 8;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const size_t j = (size_t)(g + 8 * h), in = j < columns ? j : 0;
            const T *const from = b + k + (size_t)first + in * ldb;
            if (8 * h >= (int)columns)
                run[h] = {};
            else if (there == wi_narrow_depth && aligned)
                run[h] = *(const wi_narrow_run *)from;
            else
                run[h] = wi_narrow_edge(from, 1, there - first);
        }
    }
    /* A lane brings one k, of all columns, to shared memory, and a load that transposes matrices of
     * 8 x 8 takes it from there. Lines are put where those that it reads together use different
     * banks. */
    __device__ void load_across(size_t k, int there, wi_narrow_run (&run)[2]) const {
        const int lane = wi_lane();
        const T *const line = b + (k + (size_t)lane) * ldb;
        const int in = lane < there ? (int)columns : 0;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const wi_narrow_run x = aligned && in >= 8 * h + 8
                                        ? *(const wi_narrow_run *)(line + 8 * h)
                                        : wi_narrow_edge(line + 8 * h, 1, in - 8 * h);
            *(wi_narrow_run *)(mine + place(lane) + h) = x;
        }
        __syncwarp();
        const int k_of_lane = lane % 8 / 2 * 8 + lane / 8 * 2 + lane % 2;
#pragma unroll
        for (int h = 0; h < 2; h++)
            wi_load_matrices_transposed(run[h].word, mine + place(k_of_lane) + h);
        __syncwarp();
    }
    __device__ static int place(int k) {
        return (k % 8 * 4 + k / 8) * 2;
    }
};

/* A warp's sums of 64 rows: those of product j are of rows row_of(j, ...). Tensor cores get B's
 * columns as rows, and A's rows as columns. */
template <class T, class Lies>
struct wi_narrow_sums {
    using Long = wi_narrow_long<T, Lies>;
    float sum[8][4];

    __device__ void add(const wi_narrow_run (&of_a)[8], const wi_narrow_run (&of_b)[2]) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const uint32_t b[4] = {of_b[0].word[2 * half], of_b[1].word[2 * half],
                                   of_b[0].word[2 * half + 1], of_b[1].word[2 * half + 1]};
#pragma unroll
            for (int j = 0; j < 8; j++) {
                uint32_t a[2];
                Long::take(of_a, j, half, a);
                wi_multiply_half<T>(sum[j], b, a);
            }
        }
    }
    /* Calls f(row, column, sum). */
    template <class F>
    __device__ void each(F f) const {
        const int g = wi_lane() / 4, t = wi_lane() % 4;
#pragma unroll
        for (int j = 0; j < 8; j++)
#pragma unroll
            for (int q = 0; q < 4; q++)
                f(Long::row_of(j, 2 * t + q % 2), g + q / 2 * 8, sum[j][q]);
    }
};

/* The sum of `count` values, in order. */
template <class At>
__device__ inline float wi_narrow_sum(unsigned count, const At &at) {
    float sum = at(0);
    for (unsigned s = 1; s < count; s++)
        sum += at(s);
    return sum;
}

/* Where each warp leaves its sums for the others: by columns. */
struct wi_narrow_board {
    static constexpr int of_warp = wi_narrow_columns * wi_narrow_line;
    float *sums;

    __device__ float *of(size_t warp) const {
        return sums + warp * of_warp;
    }
    template <class Sums>
    __device__ void put(size_t warp, const Sums &mine) const {
        float *const to = of(warp);
        mine.each([&](int i, int j, float x) { to[j * wi_narrow_line + i] = x; });
    }
    /* Element e of the block's sums, which are 64 x 16 by columns. */
    __device__ float total(int warps, int e) const {
        const int at = e / wi_narrow_rows * wi_narrow_line + e % wi_narrow_rows;
        return wi_narrow_sum((unsigned)warps, [&](unsigned w) { return sums[w * of_warp + at]; });
    }
};

template <class T, class Lies, int warps>
__global__ void __launch_bounds__(32 * warps, wi_narrow_most_warps / warps)
    wi_gemm_narrow(wi_gemm_params<T, T, float> g, wi_narrow_deal deal, bool b_along_k,
                   bool b_aligned) {
    WEFT_DYNAMIC_SHARED(memory);
    const wi_narrow_board board = {(float *)memory};
    wi_wait_for_earlier();
    const size_t group = blockIdx.x / deal.slices, slice = blockIdx.x % deal.slices;
    const size_t row = group * wi_narrow_rows, warp = threadIdx.x / 32;
    const wi_narrow_long<T, Lies> of_long = {g.a, wi_narrow_end<Lies>(g), g.lda, row, g.m};
    const wi_narrow_short<T> of_short = {g.b,       g.ldb,     g.n,
                                         b_along_k, b_aligned, (uint4 *)board.of(warp)};
    const size_t first = slice * deal.pieces * wi_narrow_depth;
    const size_t past = first + deal.pieces * wi_narrow_depth, end = past < g.k ? past : g.k;
    wi_narrow_sums<T, Lies> mine = {};
    for (size_t k = first + warp * wi_narrow_depth; k < end; k += warps * wi_narrow_depth) {
        const int there = end - k < wi_narrow_depth ? (int)(end - k) : wi_narrow_depth;
        wi_narrow_run of_a[8], of_b[2];
        of_long.load(k, there, of_a);
        of_short.load(k, there, of_b);
        mine.add(of_a, of_b);
    }
    board.put(warp, mine);
    __syncthreads();
    float *const of_group = deal.partial + group * deal.slices * wi_narrow_elements;
    const auto store = [&](int e, float sum) {
        const size_t i = row + (size_t)(e % wi_narrow_rows), j = (size_t)(e / wi_narrow_rows);
        if (i < g.m && j < g.n)
            wi_gemm_store_either(g, i, j, sum);
    };
    for (int e = (int)threadIdx.x; e < wi_narrow_elements; e += 32 * warps)
        if (deal.slices > 1)
            of_group[slice * wi_narrow_elements + (size_t)e] = board.total(warps, e);
        else
            store(e, board.total(warps, e));
    if (deal.slices == 1)
        return;
    __syncthreads();
    if (!wi_ends_last_of(&deal.ended[group], (unsigned)deal.slices))
        return;
    for (int e = (int)threadIdx.x; e < wi_narrow_elements; e += 32 * warps)
        store(e, wi_narrow_sum((unsigned)deal.slices, [&](unsigned s) {
                  return of_group[s * wi_narrow_elements + (size_t)e];
              }));
}

#endif
