/* SPDX-License-Identifier: Apache-2.0 */
/* Products of f32 on tensor cores with a thin C, by blocks of one or two warp groups, each of which
 * has 64 rows of C. A block takes 32 of k at a time. The long factor, A, comes to a ring in shared
 * memory, pieces ahead, and is cut into parts (gemm_narrow_cut.cuh) on its way to registers; the
 * short one, B, is cut into shared memory, where the tensor cores read it.
 *
 * Slices of k leave their sums in memory, to be added up by the kernel of gemm_launch.cuh. Where an
 * element has no parts, the products of its 32 of k are made by fused multiply-adds. */
#ifndef WI_GEMM_NARROW_F32_CUH
#define WI_GEMM_NARROW_F32_CUH

#include <string.h>

#include "cuda/ahead.cuh"
#include "cuda/async.cuh"
#include "cuda/bulk.cuh"
#include "cuda/group.cuh"
#include "gemm/gemm_narrow_cut.cuh"
#include "gemm/gemm_tile.cuh"

/* How a block is made: its rows and columns of C, and how many there are on a multiprocessor. */
template <bool along_k_, int rows_, int columns_, int blocks_>
struct wi_narrow_f32_shape {
    static constexpr bool along_k = along_k_; /* of A: elements that follow each other */
    static constexpr int rows = rows_, columns = columns_, blocks = blocks_, threads = 2 * rows;
    static constexpr int box = columns * wi_box_line, slot = 2 * box;      /* of B, cut; bytes */
    static constexpr int piece = rows * wi_cut_depth * (int)sizeof(float); /* of A */
    static constexpr int room = (227 / blocks - 1) * 1024 - (int)wi_box_align - 2 * slot;
    static constexpr int stages = room / piece < 6 ? room / piece : 6;
    static constexpr int line = rows + 4; /* of sums: columns begin in different banks */
    static constexpr size_t slots_bytes = 2 * slot, rings_bytes = (size_t)stages * piece;
    static constexpr size_t shared_bytes = wi_box_align + slots_bytes + rings_bytes;
    static_assert(stages >= 3 && columns * line * sizeof(float) <= slots_bytes + rings_bytes,
                  "sums are left where the factors were");
};

/* A factor, of which a block has some rows (of B columns). */
struct wi_narrow_f32_factor {
    const float *x;
    size_t ld, first, count; /* the block's first row; all rows */
    bool along_k, is_wide;   /* wide: lines begin at multiples of 16 bytes */

    __device__ const float *element(size_t i, size_t k) const {
        return x + (along_k ? i * ld + k : i + k * ld);
    }
    __device__ bool has(int row) const {
        return first + (size_t)row < count;
    }
};

/* A. In a stage of its ring it lies as in memory, as lines along k, 128 bytes of each row, or
 * across, of all rows. */
template <class S>
struct wi_narrow_f32_long {
    static constexpr int of_line = S::along_k ? 8 : S::rows / 4; /* runs of 16 bytes */
    static constexpr int lines = S::along_k ? S::rows : wi_cut_depth;
    wi_narrow_f32_factor f;
    char *ring;
    const float *next; /* the first that the thread brings of the next piece */

    __device__ wi_narrow_f32_long(const wi_narrow_f32_factor &from, size_t k, char *to)
        : f(from), ring(to) {
        f.is_wide = f.is_wide && (S::along_k || f.count % 4 == 0 || f.has(S::rows - 1));
        const int each = f.is_wide ? 4 : 1, line = (int)threadIdx.x / (4 / each * of_line);
        const int e = (int)threadIdx.x % (4 / each * of_line) * each;
        next = S::along_k ? f.element(f.first + (size_t)line, k + (size_t)e)
                          : f.element(f.first + (size_t)e, k + (size_t)line);
    }
    /* The row that belongs to the thread's place r of two, among its warp's 16. */
    __device__ static int row_of(int r) {
        return S::along_k ? wi_lane() / 4 + 8 * r : wi_lane() / 4 * 2 + r;
    }
    /* Begins to bring the next piece, from k on. Rows that C does not have are 0, and so is what is
     * behind the end of k. */
    __device__ void bring(size_t k, size_t end, int stage) {
        char *const to = ring + stage * S::piece;
        const size_t left = k < end ? end - k : 0;
        const int there = left < wi_cut_depth ? (int)left : wi_cut_depth;
        if (!f.is_wide)
            bring_lines<1>(to, there);
        else if (there == wi_cut_depth)
            bring_lines<4>(to, there);
        else
            bring_rest(k, to, there);
        wi_async_commit();
        next += S::along_k ? (size_t)wi_cut_depth : wi_cut_depth * f.ld;
    }
    /* The thread's eight elements of two rows. */
    __device__ void take(int stage, float (&x)[2][wi_cut_elements]) const {
        const char *const from = ring + stage * S::piece;
        const int first = (int)threadIdx.x / 32 * 16, t = wi_lane() % 4;
        if constexpr (S::along_k) {
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int at = place(first + row_of(e / 2), 4 * (e % 2) + t);
                const uint4 run = *(const uint4 *)(from + at);
                memcpy(x[e / 2] + 4 * (e % 2), &run, sizeof run);
            }
        } else {
            const int i = first + row_of(0);
#pragma unroll
            for (int q = 0; q < wi_cut_elements; q++) {
                const int at = place(wi_cut_k_of(t, q), i / 4) + i % 4 * 4;
                const float2 two = *(const float2 *)(from + at);
                x[0][q] = two.x;
                x[1][q] = two.y;
            }
        }
    }

  private:
    /* Where a line has a run: lanes that read together use different banks. */
    __device__ static int place(int line, int run) {
        return 16 * (line * of_line + (run ^ (S::along_k ? line % 2 * 4 : line / 4 % 4 * 2)));
    }
    /* So many elements at a time, of lines that follow each other at a distance. */
    template <int each>
    __device__ void bring_lines(char *to, int there) const {
        constexpr int per_line = 4 / each * of_line, apart = S::threads / per_line;
        const int e = (int)threadIdx.x % per_line * each, first = (int)threadIdx.x / per_line;
        const size_t step = (size_t)apart * f.ld;
        const float *from = next;
#pragma unroll each == 1 ? 2 : lines / apart /* with more, registers lack */
        for (int i = 0; i < lines / apart; i++) {
            const int line = first + i * apart;
            const bool is_there = f.has(S::along_k ? line : e) && (S::along_k ? e : line) < there;
            wi_async_copy<4 * each>(to + place(line, e / 4) + e % 4 * 4, from, is_there);
            from += step;
        }
    }
    /* The end of k of aligned lines, element by element. */
    __device__ void bring_rest(size_t k, char *to, int there) const {
#pragma unroll 1
        for (int n = (int)threadIdx.x; n < S::rows * wi_cut_depth; n += S::threads) {
            const int line = n / (4 * of_line), e = n % (4 * of_line);
            const int row = S::along_k ? line : e, of_k = S::along_k ? e : line;
            wi_async_copy<4>(to + place(line, e / 4) + e % 4 * 4,
                             f.element(f.first + (size_t)row, k + (size_t)of_k),
                             f.has(row) && of_k < there);
        }
    }
};

/* B, of a piece of which a thread brings some eights, which belong to one column. */
template <class S>
struct wi_narrow_f32_short {
    static constexpr int eights = 4 * S::columns;
    static constexpr int each = (eights + S::threads - 1) / S::threads;
    wi_narrow_f32_factor f;
    const float *next[each]; /* of the piece to come */
    float x[each][wi_cut_elements];

    __device__ wi_narrow_f32_short(const wi_narrow_f32_factor &from, size_t k) : f(from), x{} {
#pragma unroll
        for (int n = 0; n < each; n++) {
            const place p = place_of(n);
            next[n] = f.element(f.first + (size_t)p.column, k + (size_t)(4 * p.t));
        }
    }
    /* The next piece, from k on; what is behind `end`, and columns that C does not have, are 0. */
    __device__ void load(size_t k, size_t end) {
        const size_t step = f.along_k ? 1 : f.ld;
#pragma unroll
        for (int n = 0; n < each; n++) {
            const place p = place_of(n);
            const bool is_there = p.column < S::columns && f.has(p.column);
            const float *const from = next[n];
            if (f.along_k && f.is_wide && is_there && k + wi_cut_depth <= end) {
                const float4 low = *(const float4 *)from, high = *(const float4 *)(from + 16);
                memcpy(x[n], &low, sizeof low);
                memcpy(x[n] + 4, &high, sizeof high);
            } else {
#pragma unroll
                for (int q = 0; q < wi_cut_elements; q++) {
                    const size_t further = (size_t)wi_cut_k_of(0, q);
                    const bool in = is_there && k + (size_t)(4 * p.t) + further < end;
                    x[n][q] = in ? from[further * step] : 0;
                }
            }
            next[n] += wi_cut_depth * step;
        }
    }
    /* Cuts what was loaded and stores it where tensor cores look for it; is all of it fit? */
    __device__ bool cut(char *slot) const {
        bool all = true;
#pragma unroll
        for (int n = 0; n < each; n++) {
            const place p = place_of(n);
            if (eights % S::threads != 0 && p.column >= S::columns)
                continue;
            uint32_t word[wi_cut_parts][wi_cut_words];
            all = wi_cut(x[n], word) && all;
            const uint32_t first = wi_box_place((uint32_t)(p.column * wi_box_line + 4 * p.t));
#pragma unroll
            for (int part = 0; part < wi_cut_parts; part++)
#pragma unroll
                for (int w = 0; w < wi_cut_words; w++)
                    *(uint32_t *)(slot + box_of(part) +
                                  (first ^ (uint32_t)(in_line(part) + 16 * w))) = word[part][w];
        }
        wi_bulk_fence();
        return all;
    }
    /* A column's line of 128 bytes has two parts of 32 of k each. */
    __device__ static constexpr int box_of(int part) {
        return part / 2 * S::box;
    }
    __device__ static constexpr int in_line(int part) {
        return part % 2 * (wi_box_line / 2);
    }

  private:
    struct place {
        int column, t;
    };
    __device__ place place_of(int n) const {
        const int e = (int)threadIdx.x + n * S::threads;
        return f.along_k || e >= eights ? place{e / 4, e % 4}
                                        : place{e % S::columns, e / S::columns};
    }
};

/* A warp's sums of 16 rows: sum[4 j + 2 r + c] is of row_of(r) and column 8 j + 2 t + c. */
template <class S>
struct wi_narrow_f32_sums {
    using Long = wi_narrow_f32_long<S>;
    using Short = wi_narrow_f32_short<S>;
    static constexpr int count = S::columns / 2;
    float sum[count];

    /* A's words, cut. */
    struct words {
        uint32_t of[2][wi_cut_parts][wi_cut_words];
    };
    /* Are all of the warp's elements fit? Else its words are 0. */
    __device__ static bool cut(const float (&x)[2][wi_cut_elements], words &to) {
        const bool low = wi_cut(x[0], to.of[0]), high = wi_cut(x[1], to.of[1]);
        if (__all_sync(wi_all_lanes, low && high))
            return true;
        to = {};
        return false;
    }
    /* Tensor cores cut their sums, so these are kept short, and added up with rounding. */
    __device__ void add(const words &a, const char *slot) {
        float piece[count];
        wi_group_begin();
#pragma unroll
        for (int which = 0; which < wi_cut_pairs; which++)
#pragma unroll
            for (int s = 0; s < wi_cut_steps; s++) {
                const wi_cut_pair pair = wi_cut_factors(which);
                const uint32_t(&low)[wi_cut_words] = a.of[0][pair.of_long];
                const uint32_t(&high)[wi_cut_words] = a.of[1][pair.of_long];
                const uint32_t of_a[4] = {low[2 * s], high[2 * s], low[2 * s + 1], high[2 * s + 1]};
                const char *const of_b =
                    slot + Short::box_of(pair.of_short) + Short::in_line(pair.of_short) + 32 * s;
                wi_group_multiply_bf16(piece, of_a, {of_b, S::box}, which > 0 || s > 0);
            }
        wi_group_commit();
        wi_group_wait<0>();
#pragma unroll
        for (int q = 0; q < count; q++)
            sum[q] += piece[q];
    }
    /* The products of k as far as `end`, one after the other; `row` is the warp's first in C. */
    __device__ void add_slowly(const Long &a, const Short &b, size_t row, size_t k, size_t end) {
        const int t = wi_lane() % 4;
        const size_t first = row + (size_t)Long::row_of(0), second = row + (size_t)Long::row_of(1);
#pragma unroll 1
        for (; k < end; k++) {
            const float x[2] = {first < a.f.count ? *a.f.element(first, k) : 0,
                                second < a.f.count ? *a.f.element(second, k) : 0};
#pragma unroll
            for (int q = 0; q < count; q++) {
                const size_t j = b.f.first + (size_t)(q / 4 * 8 + 2 * t + q % 2);
                if (j < b.f.count)
                    sum[q] = wi_fma(x[q / 2 % 2], *b.f.element(j, k), sum[q]);
            }
        }
    }
    /* To shared memory, by columns that are S::line apart: here is the warp's first row. */
    __device__ void put(float *to) const {
        const int t = wi_lane() % 4;
#pragma unroll
        for (int q = 0; q < count; q++)
            to[(q / 4 * 8 + 2 * t + q % 2) * S::line + Long::row_of(q / 2 % 2)] = sum[q];
    }
};

/* How the product lies: whether B's elements follow each other along k, and which lines begin at
 * multiples of 16 bytes. */
struct wi_narrow_f32_layout {
    bool b_along_k, is_a_wide, is_b_wide;
};

/* Which tile of C a block has, and which part of k. */
template <class S>
struct wi_narrow_f32_place {
    size_t row, column, slice, first, end;

    __device__ wi_narrow_f32_place(size_t m, size_t n, size_t k, size_t depth) {
        const size_t across = wi_gemm_pieces(n, S::columns);
        const size_t tiles = wi_gemm_pieces(m, S::rows) * across, tile = blockIdx.x % tiles;
        row = tile / across * S::rows;
        column = tile % across * S::columns;
        slice = blockIdx.x / tiles;
        first = slice * depth;
        end = k - first < depth ? k : first + depth;
    }
};

/* Adds up a warp's products of the block's part of k, which all warps go through together: B's next
 * piece is asked for before the last one is used, and stored for all after it. */
template <class S>
__device__ void wi_narrow_f32_add_up(const wi_narrow_f32_place<S> &at, wi_narrow_f32_long<S> &a,
                                     wi_narrow_f32_short<S> &b, char *slots,
                                     wi_narrow_f32_sums<S> &mine) {
    constexpr int ahead = S::stages - 1;
    constexpr size_t depth = wi_cut_depth;
    const size_t row = at.row + threadIdx.x / 32 * 16;
#pragma unroll 1
    for (int stage = 0; stage < ahead; stage++)
        a.bring(at.first + (size_t)stage * depth, at.end, stage);
    b.load(at.first, at.end);
    int stage = 0, free = ahead, turn = 0;
    for (size_t k = at.first; k < at.end; k += depth) {
        char *const slot = slots + turn * S::slot;
        const bool is_unfit = !b.cut(slot);
        wi_async_wait<ahead - 1>();
        const bool is_b_fit = !__syncthreads_or(is_unfit);
        a.bring(k + ahead * depth, at.end, free);
        b.load(k + depth, at.end);
        float x[2][wi_cut_elements];
        typename wi_narrow_f32_sums<S>::words words;
        a.take(stage, x);
        const bool is_fit = mine.cut(x, words) && is_b_fit;
        if (is_b_fit)
            mine.add(words, slot);
        if (!is_fit)
            mine.add_slowly(a, b, row, k, k + depth < at.end ? k + depth : at.end);
        turn ^= 1;
        free = stage;
        stage = stage == ahead ? 0 : stage + 1;
    }
    wi_async_wait<0>();
    __syncthreads();
}

template <class S>
__global__ void __launch_bounds__(S::threads, S::blocks)
    wi_gemm_narrow_f32(wi_gemm_params<float, float, float> g, wi_gemm_slices<float> slices,
                       wi_narrow_f32_layout lies) {
    WEFT_DYNAMIC_SHARED(memory);
    wi_wait_for_earlier();
    if (!wi_gemm_holds(slices.when))
        return;
    const wi_narrow_f32_place<S> at(g.m, g.n, g.k, slices.depth);
    const uintptr_t past = (uintptr_t)memory % wi_box_align;
    char *const slots = (char *)memory + (past ? wi_box_align - past : 0);
    wi_narrow_f32_long<S> a({g.a, g.lda, at.row, g.m, S::along_k, lies.is_a_wide}, at.first,
                            slots + S::slots_bytes);
    wi_narrow_f32_short<S> b({g.b, g.ldb, at.column, g.n, lies.b_along_k, lies.is_b_wide},
                             at.first);
    wi_narrow_f32_sums<S> mine = {};
    wi_narrow_f32_add_up(at, a, b, slots, mine);
    float *const sums = (float *)slots;
    mine.put(sums + threadIdx.x / 32 * 16);
    __syncthreads();
    for (int e = (int)threadIdx.x; e < S::rows * S::columns; e += S::threads) {
        const size_t i = at.row + (size_t)(e % S::rows), j = at.column + (size_t)(e / S::rows);
        const float sum = sums[e / S::rows * S::line + e % S::rows];
        if (i < g.m && j < g.n)
            wi_gemm_store_slice(g, slices, at.slice, i, j, sum);
    }
}

#endif
