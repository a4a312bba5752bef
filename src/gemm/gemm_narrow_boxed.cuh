/* SPDX-License-Identifier: Apache-2.0 */
/* Products of f32 on tensor cores with a thin C, where the long factor, A, is much longer than the
 * short one, B, is wide. A first kernel cuts B into parts (gemm_narrow_cut.cuh) in memory, once for
 * all; so the adders of a block, three warp groups of 64 rows each, have nothing to do but to cut A
 * on its way from shared memory to registers. A warp of its own has the copy engine bring 64 of k
 * at a time: boxes of A, and of B a piece that lies as a slot of the ring has it.
 *
 * Slices of k leave their sums in memory, to be added up by the kernel of gemm_launch.cuh. Where an
 * element has no parts, the products of its 32 of k are made by fused multiply-adds. */
#ifndef WI_GEMM_NARROW_BOXED_CUH
#define WI_GEMM_NARROW_BOXED_CUH

#include "cuda/ahead.cuh"
#include "cuda/boxes.cuh"
#include "cuda/group.cuh"
#include "gemm/gemm_narrow_cut.cuh"
#include "gemm/gemm_tile.cuh"

template <bool along_k_, int columns_>
struct wi_narrow_boxed_shape {
    static constexpr bool along_k = along_k_; /* of A: elements that follow each other */
    static constexpr int groups = 3, rows = 64 * groups, columns = columns_;
    static_assert(rows == WI_NARROW_BOXED_ROWS, "what the estimate counts with");
    static constexpr int adders = 4 * groups, warps = adders + 4, threads = 32 * warps;
    static constexpr int depth = 64, halves = depth / wi_cut_depth; /* of k, of a slot */
    /* Of A: a box has 32 of k and all rows, or 32 rows and all of k. */
    static constexpr int box_lines = along_k ? rows : depth, box = box_lines * wi_box_line;
    static constexpr int boxes = along_k ? halves : rows / 32;
    /* Of B: a part's lines are columns, with all of k. */
    static constexpr int part = columns * wi_box_line, of_b = wi_cut_parts * part;
    static constexpr int slot = boxes * box + of_b;
    static constexpr int room = 225 * 1024, slots = room / slot < 4 ? room / slot : 4;
    static constexpr int line = rows + 4; /* of sums: columns begin in different banks */
    static constexpr int copier_registers = 40, adder_registers = 152;

    struct barriers {
        wi_barrier full[slots], empty[slots];
    };
    /* A word for each slot that tells whether B's elements are fit. */
    static constexpr size_t shared_bytes =
        wi_box_align + (size_t)slots * slot + slots * 16 + sizeof(barriers);
    static_assert(slots >= 3 && columns * line * (int)sizeof(float) <= slots * slot,
                  "sums are left where the factors were");
    static_assert(part % wi_box_align == 0, "parts are boxes");
};

/* ---- B, cut in memory ---- */

/* A factor, of which a block has some rows (of B columns). */
struct wi_narrow_boxed_factor {
    const float *x;
    size_t ld, count;
    bool along_k;

    __device__ float element(size_t i, size_t k) const {
        return x[along_k ? i * ld + k : i + k * ld];
    }
};

/* Where pieces of 64 of k of so many columns lie: of each, what a slot has, and 16 bytes more, the
 * first word of which is 1 if all elements are fit. */
struct wi_narrow_cut_pieces {
    char *first;
    int columns;
    bool natural; /* the order of k: see wi_narrow_rows */

    __host__ __device__ int part() const {
        return columns * wi_box_line;
    }
    __host__ __device__ int stride() const {
        return wi_cut_parts * part() + wi_box_line;
    }
};

/* A block of 4 threads for each column cuts one piece, a thread 16 of k. */
__global__ void __launch_bounds__(256)
    wi_gemm_narrow_cut_short(wi_narrow_boxed_factor b, size_t k_end, wi_narrow_cut_pieces cut,
                             wi_gemm_condition when) {
    constexpr int step = 16, depth = WI_NARROW_BOXED_DEPTH;
    const unsigned pieces = (unsigned)wi_gemm_pieces(k_end, (size_t)depth);
    const size_t piece = blockIdx.x % pieces, first = blockIdx.x / pieces * (size_t)cut.columns;
    const int e = (int)threadIdx.x, column = b.along_k ? e / 4 : e % cut.columns;
    const int which = b.along_k ? e % 4 : e / cut.columns;
    const size_t j = first + (size_t)column, k = piece * depth + (size_t)(which * step);
    wi_wait_for_earlier();
    if (!wi_gemm_holds(when))
        return;
    float x[step];
#pragma unroll
    for (int q = 0; q < step; q++)
        x[q] = j < b.count && k + (size_t)q < k_end ? b.element(j, k + (size_t)q) : 0;
    char *const to = cut.first + (size_t)blockIdx.x * (size_t)cut.stride();
    bool is_fit = true;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float of_half[wi_cut_elements];
#pragma unroll
        for (int q = 0; q < wi_cut_elements; q++)
            of_half[q] = cut.natural ? x[8 * half + q] : x[q / 2 * 4 + 2 * half + q % 2];
        uint32_t word[wi_cut_parts][wi_cut_words];
        is_fit = wi_cut(of_half, word) && is_fit;
        const uint32_t at = wi_box_place((uint32_t)(column * wi_box_line + which * 32 + half * 16));
#pragma unroll
        for (int part = 0; part < wi_cut_parts; part++)
            *(uint4 *)(to + part * cut.part() + at) = {word[part][0], word[part][1], word[part][2],
                                                       word[part][3]};
    }
    const bool is_unfit = __syncthreads_or(!is_fit);
    if (threadIdx.x == 0)
        *(uint4 *)(to + wi_cut_parts * cut.part()) = {is_unfit ? 0u : 1u, 0, 0, 0};
}

/* ---- the product ---- */

/* Which tile of C a block has, and which pieces of k. */
template <class S>
struct wi_narrow_boxed_place {
    size_t row, column, slice, first, end, pieces;

    __device__ wi_narrow_boxed_place(size_t m, size_t n, size_t k, size_t depth) {
        const size_t across = wi_gemm_pieces(n, S::columns);
        const size_t tiles = wi_gemm_pieces(m, S::rows) * across, tile = blockIdx.x % tiles;
        row = tile / across * S::rows;
        column = tile % across * S::columns;
        slice = blockIdx.x / tiles;
        pieces = wi_gemm_pieces(k, S::depth);
        first = slice * (depth / S::depth);
        end = pieces - first < depth / S::depth ? pieces : first + depth / S::depth;
    }
};

/* Shared memory of a block. */
template <class S>
struct wi_narrow_boxed_memory {
    char *slot;
    uint4 *fit; /* for each slot, 16 bytes as they were beside B's piece */
    typename S::barriers *b;

    __device__ explicit wi_narrow_boxed_memory(unsigned char *memory) {
        const uintptr_t past = (uintptr_t)memory % wi_box_align;
        slot = (char *)memory + (past ? wi_box_align - past : 0);
        fit = (uint4 *)(slot + S::slots * S::slot);
        b = (typename S::barriers *)(fit + S::slots);
    }
    __device__ char *at(int turn) const {
        return slot + turn * S::slot;
    }
};

/* By one lane: brings the pieces, each when its slot is free. */
template <class S>
__device__ void wi_narrow_boxed_copy(const wi_boxes *a, const wi_narrow_cut_pieces &cut,
                                     const wi_narrow_boxed_place<S> &at,
                                     const wi_narrow_boxed_memory<S> &memory) {
    wi_box_turn<S::slots> t = {0, 1}; /* a slot that was never used is empty */
    const char *from =
        cut.first + (at.column / S::columns * at.pieces + at.first) * (size_t)cut.stride();
    for (size_t p = at.first; p < at.end; p++, t.next(), from += cut.stride()) {
        wi_barrier *const full = &memory.b->full[t.slot];
        char *const to = memory.at(t.slot);
        wi_barrier_wait(&memory.b->empty[t.slot], t.parity);
        wi_barrier_arrive_expect(full, (uint32_t)S::slot + 16);
#pragma unroll
        for (int box = 0; box < S::boxes; box++) {
            const int row = (int)at.row, k = (int)p * S::depth;
            wi_box_load(to + box * S::box, a, S::along_k ? k + 32 * box : row + 32 * box,
                        S::along_k ? row : k, 0, full);
        }
        wi_bulk_load(to + S::boxes * S::box, from, S::of_b, full);
        wi_bulk_load(&memory.fit[t.slot], from + S::of_b, 16, full);
    }
}

/* 16 rows of a factor, as a warp takes them from boxes: a thread has two rows and, of 16 of k, the
 * four that it reads at once if `natural` is not set, else those that tensor cores say. */
template <bool along_k, bool natural, int box>
struct wi_narrow_rows {
    static_assert(along_k || natural, "across k elements are read one by one");

    /* The row that belongs to the thread's place r of two: lanes that read together use different
     * banks. */
    __device__ static int row_of(int r) {
        const int g = wi_lane() / 4;
        if constexpr (!along_k)
            return 2 * g + r;
        else
            return (natural ? g % 4 * 2 + g / 4 : g / 2 + g % 2 * 4) + 8 * r;
    }
    /* The thread's eight elements of two rows, of one half of a slot's k. */
    __device__ static void take(const char *boxes, int first, int half,
                                float (&x)[2][wi_cut_elements]) {
        const int t = wi_lane() % 4;
        if constexpr (along_k) {
#pragma unroll
            for (int r = 0; r < 2; r++) {
                const int row = first + row_of(r);
                const char *const line = boxes + half * box + row * wi_box_line;
#pragma unroll
                for (int q = 0; q < wi_cut_elements; q += natural ? 2 : 4)
                    if constexpr (natural)
                        read_two(x[r] + q, line + ((q + t / 2) ^ row % 8) * 16 + t % 2 * 8);
                    else
                        read_four(x[r] + q, line + ((q + t) ^ row % 8) * 16);
            }
        } else {
            const int row = first + row_of(0);
            const char *const from = boxes + row / 32 * box;
#pragma unroll
            for (int q = 0; q < wi_cut_elements; q++) {
                const int k = 32 * half + q / 2 * 8 + 2 * t + q % 2;
                const float2 two = *(const float2 *)(from + k * wi_box_line +
                                                     (row % 32 / 4 ^ k % 8) * 16 + row % 4 * 4);
                x[0][q] = two.x;
                x[1][q] = two.y;
            }
        }
    }

  private:
    __device__ static void read_two(float *to, const char *from) {
        const float2 two = *(const float2 *)from;
        to[0] = two.x;
        to[1] = two.y;
    }
    __device__ static void read_four(float *to, const char *from) {
        const uint4 four = *(const uint4 *)from;
        memcpy(to, &four, sizeof four);
    }
};

/* The parts of a thread's elements of two rows. */
using wi_narrow_words = uint32_t[2][wi_cut_parts][wi_cut_words];

/* Cuts them. False if the warp has elements without parts: all its words are 0 then. */
__device__ inline bool wi_narrow_cut_rows(const float (&x)[2][wi_cut_elements],
                                          wi_narrow_words &to) {
    const bool low = wi_cut(x[0], to[0]), high = wi_cut(x[1], to[1]);
    if (__all_sync(wi_all_lanes, low && high))
        return true;
    memset(to, 0, sizeof to);
    return false;
}

/* Adds the products of half a slot's k: parts of B are `part` bytes apart. */
template <int part, int count>
__device__ void wi_narrow_add_products(const wi_narrow_words &of, const char *b, int half,
                                       float (&piece)[count]) {
    wi_group_begin();
#pragma unroll
    for (int which = 0; which < wi_cut_pairs; which++)
#pragma unroll
        for (int s = 0; s < wi_cut_steps; s++) {
            const wi_cut_pair pair = wi_cut_factors(which);
            const uint32_t(&above)[wi_cut_words] = of[0][pair.of_long];
            const uint32_t(&below)[wi_cut_words] = of[1][pair.of_long];
            const uint32_t of_a[4] = {above[2 * s], below[2 * s], above[2 * s + 1],
                                      below[2 * s + 1]};
            wi_group_multiply_bf16(piece, of_a,
                                   {b + pair.of_short * part + 64 * half + 32 * s, part},
                                   half > 0 || which > 0 || s > 0);
        }
    wi_group_commit();
    wi_group_wait<0>();
}

/* Of a thread's sums of two rows, each of which has its own elements, the products of k as far as
 * `end`, one after the other. */
template <int count>
__device__ void wi_narrow_add_slowly(const wi_narrow_boxed_factor &a,
                                     const wi_narrow_boxed_factor &b, const size_t (&row)[2],
                                     size_t column, size_t k, size_t end, float (&sum)[count]) {
    const int t = wi_lane() % 4;
#pragma unroll 1
    for (; k < end; k++) {
        const float x[2] = {row[0] < a.count ? a.element(row[0], k) : 0,
                            row[1] < a.count ? a.element(row[1], k) : 0};
#pragma unroll
        for (int q = 0; q < count; q++) {
            const size_t j = column + (size_t)(q / 4 * 8 + 2 * t + q % 2);
            if (j < b.count)
                sum[q] = wi_fma(x[q / 2 % 2], b.element(j, k), sum[q]);
        }
    }
}

/* A thread's sums of two rows to shared memory, by columns that are `line` apart. */
template <int line, int count>
__device__ void wi_narrow_put(const float (&sum)[count], const int (&row)[2], float *to) {
    const int t = wi_lane() % 4;
#pragma unroll
    for (int q = 0; q < count; q++)
        to[(q / 4 * 8 + 2 * t + q % 2) * line + row[q / 2 % 2]] = sum[q];
}

/* A warp's sums of 16 rows: sum[4 j + 2 r + c] is of row_of(r) and column 8 j + 2 t + c. */
template <class S>
struct wi_narrow_boxed_sums {
    using Rows = wi_narrow_rows<S::along_k, !S::along_k, S::box>;
    static constexpr int count = S::columns / 2;
    float sum[count];

    __device__ static int first_row() {
        return (int)threadIdx.x / 32 * 16;
    }
    __device__ static int row_of(int r) {
        return Rows::row_of(r);
    }
    /* Adds the products of half a slot to `piece`. False if the warp has elements without parts: 0
     * takes their place. */
    __device__ static bool multiply(const char *slot, int half, float (&piece)[count]) {
        float x[2][wi_cut_elements];
        wi_narrow_words of;
        Rows::take(slot, first_row(), half, x);
        const bool is_fit = wi_narrow_cut_rows(x, of);
        wi_narrow_add_products<S::part>(of, slot + S::boxes * S::box, half, piece);
        return is_fit;
    }
    /* The products of k as far as `end`, one after the other; `row` is the warp's first in C. */
    __device__ void add_slowly(const wi_narrow_boxed_factor &a, const wi_narrow_boxed_factor &b,
                               size_t row, size_t column, size_t k, size_t end) {
        wi_narrow_add_slowly(a, b, {row + (size_t)row_of(0), row + (size_t)row_of(1)}, column, k,
                             end, sum);
    }
    /* To shared memory, by columns that are S::line apart. */
    __device__ void put(float *to) const {
        wi_narrow_put<S::line>(sum, {first_row() + row_of(0), first_row() + row_of(1)}, to);
    }
};

/* An adder's work: tensor cores cut their sums, so these are kept short, and added up with
 * rounding. */
template <class S>
__device__ void wi_narrow_boxed_add(const wi_gemm_params<float, float, float> &g, bool b_along_k,
                                    const wi_narrow_boxed_place<S> &at,
                                    const wi_narrow_boxed_memory<S> &memory,
                                    wi_narrow_boxed_sums<S> &mine) {
    constexpr int count = wi_narrow_boxed_sums<S>::count;
    wi_box_turn<S::slots> t = {0, 0};
    for (size_t p = at.first; p < at.end; p++, t.next()) {
        wi_barrier_wait(&memory.b->full[t.slot], t.parity);
        const bool is_b_fit = memory.fit[t.slot].x != 0;
        bool is_fit[S::halves] = {};
        if (is_b_fit) {
            float piece[count];
#pragma unroll
            for (int half = 0; half < S::halves; half++)
                is_fit[half] = mine.multiply(memory.at(t.slot), half, piece);
#pragma unroll
            for (int q = 0; q < count; q++)
                mine.sum[q] += piece[q];
        }
        wi_bulk_fence();
        __syncwarp();
        if (wi_lane() == 0)
            wi_barrier_arrive(&memory.b->empty[t.slot]);
#pragma unroll 1
        for (int half = 0; half < S::halves; half++) {
            if (half == 0 ? is_fit[0] : is_fit[1])
                continue;
            const size_t k = p * S::depth + (size_t)(half * wi_cut_depth);
            const size_t end = k + wi_cut_depth < g.k ? k + wi_cut_depth : g.k;
            mine.add_slowly({g.a, g.lda, g.m, S::along_k}, {g.b, g.ldb, g.n, b_along_k},
                            at.row + (size_t)mine.first_row(), at.column, k, end);
        }
    }
}

/* Where all threads meet, from two places: the copier's warps have few registers, and must not go
 * where the adders go. */
__device__ inline void wi_narrow_boxed_meet() {
    __syncthreads();
}

template <class S>
__global__ void __launch_bounds__(S::threads, 1)
    wi_gemm_narrow_boxed(const __grid_constant__ wi_boxes from_a, wi_narrow_cut_pieces cut,
                         wi_gemm_params<float, float, float> g, wi_gemm_slices<float> slices,
                         bool b_along_k) {
    WEFT_DYNAMIC_SHARED(dynamic);
    const wi_narrow_boxed_memory<S> memory(dynamic);
    const int warp = (int)threadIdx.x / 32;
    if (threadIdx.x == 0) {
        for (int s = 0; s < S::slots; s++) {
            wi_barrier_init(&memory.b->full[s], 1);
            wi_barrier_init(&memory.b->empty[s], S::adders);
        }
        wi_barrier_publish();
    }
    __syncthreads();
    const wi_narrow_boxed_place<S> at(g.m, g.n, g.k, slices.depth);
    float *const sums = (float *)memory.slot;
    wi_wait_for_earlier();
    if (!wi_gemm_holds(slices.when))
        return;
    if (warp >= S::adders) {
        wi_keep_registers<S::copier_registers>();
        if (warp == S::adders && wi_lane() == 0)
            wi_narrow_boxed_copy(&from_a, cut, at, memory);
        __syncwarp();
        wi_narrow_boxed_meet();
        wi_narrow_boxed_meet();
        return;
    }
    wi_take_registers<S::adder_registers>();
    wi_narrow_boxed_sums<S> mine = {};
    wi_narrow_boxed_add(g, b_along_k, at, memory, mine);
    wi_narrow_boxed_meet();
    mine.put(sums);
    wi_narrow_boxed_meet();
    for (int e = (int)threadIdx.x; e < S::rows * S::columns; e += 32 * S::adders) {
        const size_t i = at.row + (size_t)(e % S::rows), j = at.column + (size_t)(e / S::rows);
        const float sum = sums[e / S::rows * S::line + e % S::rows];
        if (i < g.m && j < g.n)
            wi_gemm_store_slice(g, slices, at.slice, i, j, sum);
    }
}

#endif
