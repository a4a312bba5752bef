/* SPDX-License-Identifier: Apache-2.0 */
/* Products of f32 on tensor cores with a small C and a long k, of which each element of A and B is
 * cut into parts once (gemm_narrow_cut.cuh) by a block that has 64 rows and columns of C. The copy
 * engine brings 64 of k of both at a time, which one of three warp groups takes: it cuts B into
 * shared memory of its own, and A on its way to registers. The groups' sums are added up at the
 * end, slices of k by the kernel of gemm_launch.cuh. */
#ifndef WI_GEMM_NARROW_DEEP_CUH
#define WI_GEMM_NARROW_DEEP_CUH

#include "gemm/gemm_narrow_boxed.cuh"

template <bool a_along_, bool b_along_>
struct wi_narrow_deep_shape {
    static constexpr bool a_along = a_along_, b_along = b_along_, natural = !a_along || !b_along;
    static constexpr int groups = 3, side = 64, rows = side, columns = side;
    static constexpr int adders = 4 * groups, warps = adders + 4, threads = 32 * warps;
    static constexpr int depth = 64, halves = depth / wi_cut_depth;     /* of k, of a slot */
    static constexpr int box = side * wi_box_line, of_factor = 2 * box; /* of f32 */
    static constexpr int part = side * wi_box_line, parts = wi_cut_parts * part; /* of B, cut */
    static constexpr int slot = 2 * of_factor, slots = 4;
    static constexpr int line = side + 4; /* of sums: columns begin in different banks */
    static constexpr int copier_registers = 40, adder_registers = 152;

    struct barriers {
        wi_barrier full[slots], empty[slots];
        wi_barrier cut[groups], used[groups]; /* B's parts: they are there, and needed no more */
        uint32_t is_fit[groups][4];           /* is what a warp cut of B? */
    };
    static constexpr size_t shared_bytes =
        wi_box_align + (size_t)slots * slot + (size_t)groups * parts + sizeof(barriers);
    static_assert(groups * side * line * (int)sizeof(float) <= slots * slot,
                  "sums are left where the factors were");
};

template <class S>
struct wi_narrow_deep_memory {
    char *slot, *parts;
    typename S::barriers *b;

    __device__ explicit wi_narrow_deep_memory(unsigned char *memory) {
        const uintptr_t past = (uintptr_t)memory % wi_box_align;
        slot = (char *)memory + (past ? wi_box_align - past : 0);
        parts = slot + S::slots * S::slot;
        b = (typename S::barriers *)(parts + S::groups * S::parts);
    }
    __device__ void begin() const {
        for (int s = 0; s < S::slots; s++) {
            wi_barrier_init(&b->full[s], 1);
            wi_barrier_init(&b->empty[s], 4);
        }
        for (int group = 0; group < S::groups; group++) {
            wi_barrier_init(&b->cut[group], 4);
            wi_barrier_init(&b->used[group], 4);
        }
        wi_barrier_publish();
    }
};

/* By one lane: brings the pieces, each when its slot is free. */
template <class S>
__device__ void wi_narrow_deep_copy(const wi_boxes *a, const wi_boxes *b,
                                    const wi_narrow_boxed_place<S> &at,
                                    const wi_narrow_deep_memory<S> &memory) {
    wi_box_turn<S::slots> t = {0, 1}; /* a slot that was never used is empty */
    for (size_t p = at.first; p < at.end; p++, t.next()) {
        wi_barrier *const full = &memory.b->full[t.slot];
        char *const to = memory.slot + t.slot * S::slot;
        const int k = (int)p * S::depth;
        wi_barrier_wait(&memory.b->empty[t.slot], t.parity);
        wi_barrier_arrive_expect(full, S::slot);
#pragma unroll
        for (int box = 0; box < 2; box++) {
            const int row = (int)at.row, column = (int)at.column, further = 32 * box;
            wi_box_load(to + box * S::box, a, S::a_along ? k + further : row + further,
                        S::a_along ? row : k, 0, full);
            wi_box_load(to + S::of_factor + box * S::box, b,
                        S::b_along ? k + further : column + further, S::b_along ? column : k, 0,
                        full);
        }
    }
}

/* What a warp of a group does with the pieces that the group takes. */
template <class S>
struct wi_narrow_deep_adder {
    using RowsOfA = wi_narrow_rows<S::a_along, S::natural, S::box>;
    using RowsOfB = wi_narrow_rows<S::b_along, S::natural, S::box>;
    static constexpr int count = S::columns / 2;
    const wi_narrow_deep_memory<S> &memory;
    const int group = (int)threadIdx.x / 128, first = (int)threadIdx.x / 32 % 4 * 16;
    float sum[count] = {};

    __device__ explicit wi_narrow_deep_adder(const wi_narrow_deep_memory<S> &where)
        : memory(where) {}
    __device__ int row_of(int r) const {
        return first + RowsOfA::row_of(r);
    }
    __device__ char *parts() const {
        return memory.parts + group * S::parts;
    }
    /* The warp is done with what others wait for. */
    __device__ static void arrive(wi_barrier *b) {
        __syncwarp();
        if (wi_lane() == 0)
            wi_barrier_arrive(b);
    }
    /* Cuts the warp's 16 columns of B to where tensor cores look for them. */
    __device__ void cut_b(const char *slot) const {
        bool is_fit = true;
        const int t = wi_lane() % 4;
#pragma unroll
        for (int half = 0; half < S::halves; half++) {
            float x[2][wi_cut_elements];
            RowsOfB::take(slot + S::of_factor, first, half, x);
#pragma unroll
            for (int r = 0; r < 2; r++) {
                uint32_t word[wi_cut_parts][wi_cut_words];
                is_fit = wi_cut(x[r], word) && is_fit;
                const uint32_t at = (uint32_t)((first + RowsOfB::row_of(r)) * wi_box_line);
                const uint32_t place = wi_box_place(at + (uint32_t)(64 * half + 4 * t));
#pragma unroll
                for (int part = 0; part < wi_cut_parts; part++)
#pragma unroll
                    for (int w = 0; w < wi_cut_words; w++)
                        *(uint32_t *)(parts() + part * S::part + (place ^ (uint32_t)(16 * w))) =
                            word[part][w];
            }
        }
        is_fit = __all_sync(wi_all_lanes, is_fit);
        if (wi_lane() == 0)
            memory.b->is_fit[group][first / 16] = is_fit;
        wi_bulk_fence();
        arrive(&memory.b->cut[group]);
    }
    /* The products of k as far as `end`, one after the other. */
    __device__ void add_slowly(const wi_narrow_boxed_factor &a, const wi_narrow_boxed_factor &b,
                               size_t row, size_t column, size_t k, size_t end) {
        wi_narrow_add_slowly(a, b, {row + (size_t)row_of(0), row + (size_t)row_of(1)}, column, k,
                             end, sum);
    }
    /* A piece in a slot, the group's `turn`th but for whole pairs: tells which of its halves are
     * left to be added slowly, as bits. The slot is given back as soon as all of it is cut. */
    __device__ unsigned add(int slot, uint32_t turn) {
        const char *const from = memory.slot + slot * S::slot;
        wi_barrier_wait(&memory.b->used[group], turn ^ 1);
        cut_b(from);
        float x[2][wi_cut_elements], piece[count];
        wi_narrow_words of;
        RowsOfA::take(from, first, 0, x);
        unsigned left = wi_narrow_cut_rows(x, of) ? 0 : 1;
        wi_barrier_wait(&memory.b->cut[group], turn);
        const uint32_t(&fit)[4] = memory.b->is_fit[group];
        const bool is_b_fit = fit[0] && fit[1] && fit[2] && fit[3];
        if (is_b_fit)
            wi_narrow_add_products<S::part>(of, parts(), 0, piece);
        RowsOfA::take(from, first, 1, x);
        wi_bulk_fence();
        arrive(&memory.b->empty[slot]);
        left |= wi_narrow_cut_rows(x, of) ? 0 : 2;
        if (is_b_fit) {
            wi_narrow_add_products<S::part>(of, parts(), 1, piece);
#pragma unroll
            for (int q = 0; q < count; q++)
                sum[q] += piece[q];
        }
        arrive(&memory.b->used[group]);
        return is_b_fit ? left : 3;
    }
    /* To shared memory, by columns that are S::line apart. */
    __device__ void put(float *to) const {
        wi_narrow_put<S::line>(sum, {row_of(0), row_of(1)}, to + group * S::columns * S::line);
    }
};

template <class S>
__global__ void __launch_bounds__(S::threads, 1)
    wi_gemm_narrow_deep(const __grid_constant__ wi_boxes from_a,
                        const __grid_constant__ wi_boxes from_b,
                        wi_gemm_params<float, float, float> g, wi_gemm_slices<float> slices) {
    WEFT_DYNAMIC_SHARED(dynamic);
    const wi_narrow_deep_memory<S> memory(dynamic);
    const int warp = (int)threadIdx.x / 32;
    if (threadIdx.x == 0)
        memory.begin();
    __syncthreads();
    const wi_narrow_boxed_place<S> at(g.m, g.n, g.k, slices.depth);
    wi_wait_for_earlier();
    if (!wi_gemm_holds(slices.when))
        return;
    if (warp >= S::adders) {
        wi_keep_registers<S::copier_registers>();
        if (warp == S::adders && wi_lane() == 0)
            wi_narrow_deep_copy(&from_a, &from_b, at, memory);
        __syncwarp();
        wi_narrow_boxed_meet();
        wi_narrow_boxed_meet();
        return;
    }
    wi_take_registers<S::adder_registers>();
    wi_narrow_deep_adder<S> mine(memory);
    uint32_t turn = 0;
    for (size_t i = (size_t)mine.group; i < at.end - at.first; i += S::groups, turn ^= 1) {
        const int slot = (int)(i % S::slots);
        wi_barrier_wait(&memory.b->full[slot], (uint32_t)(i / S::slots) & 1);
        const unsigned left = mine.add(slot, turn);
#pragma unroll 1
        for (int half = 0; half < S::halves; half++) {
            const size_t k = (at.first + i) * S::depth + (size_t)(half * wi_cut_depth);
            const size_t end = k + wi_cut_depth < g.k ? k + wi_cut_depth : g.k;
            if (left >> half & 1)
                mine.add_slowly({g.a, g.lda, g.m, S::a_along}, {g.b, g.ldb, g.n, S::b_along},
                                at.row, at.column, k, end);
        }
    }
    float *const sums = (float *)memory.slot;
    wi_narrow_boxed_meet();
    mine.put(sums);
    wi_narrow_boxed_meet();
    for (int e = (int)threadIdx.x; e < S::rows * S::columns; e += 32 * S::adders) {
        const size_t i = at.row + (size_t)(e % S::rows), j = at.column + (size_t)(e / S::rows);
        float sum = 0;
#pragma unroll
        for (int group = 0; group < S::groups; group++)
            sum += sums[(group * S::columns + e / S::rows) * S::line + e % S::rows];
        if (i < g.m && j < g.n)
            wi_gemm_store_slice(g, slices, at.slice, i, j, sum);
    }
}

#endif
