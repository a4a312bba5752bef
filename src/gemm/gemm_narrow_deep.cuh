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
    static constexpr bool a_along = a_along_, b_along = b_along_;
    static constexpr int groups = 3, side = 64, rows = side, columns = side;
    static constexpr int adders = 4 * groups, warps = adders + 4, threads = 32 * warps;
    static constexpr int depth = 64, halves = depth / wi_cut_depth;     /* of k, of a slot */
    static constexpr int box = side * wi_box_line, of_factor = 2 * box; /* of f32 */
    static constexpr int part = side * wi_box_line, parts = wi_cut_parts * part; /* of B, cut */
    static constexpr int slot = 2 * of_factor, slots = 4;
    static constexpr int line = side + 4; /* of sums: columns begin in different banks */
    static constexpr int copier_registers = 24, adder_registers = 160;

    struct barriers {
        wi_barrier full[slots], empty[slots];
        /* Halves of B's parts: they are there, and needed no more. */
        wi_barrier cut[groups][halves], used[groups][halves];
        uint32_t unfit[groups][halves]; /* a byte for what each warp cut of B */
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
        for (int group = 0; group < S::groups; group++)
            for (int half = 0; half < S::halves; half++) {
                wi_barrier_init(&b->cut[group][half], 4);
                wi_barrier_init(&b->used[group][half], 4);
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

/* Where a thread finds its elements of factors in a slot: places that are the same for all pieces.
 *
 * A across k. A thread has two rows and eight of a half's k, two for each word w. Where B lies
 * across too these are 8 w + 2 t and the next one; where it lies along k, crossed such that both
 * what is read of B and what is written of its parts are 16 bytes: with u = t / 2,
 * 4 (w ^ u) + 16 u + 2 (t % 2) and the next one. Lanes that read together use different banks. */
template <class S>
struct wi_narrow_deep_across {
    static constexpr bool crossed = S::b_along;
    static constexpr int two_words = (crossed ? 8 : 16) * wi_box_line;
    int at[2][2]; /* for two words, of their two k each */

    __device__ explicit wi_narrow_deep_across(int first) {
        const int t = wi_lane() % 4, u = t / 2, row = first + wi_lane() / 4 * 2;
#pragma unroll
        for (int w = 0; w < 2; w++)
#pragma unroll
            for (int c = 0; c < 2; c++) {
                const int k = crossed ? 4 * (w ^ u) + 16 * u + 2 * (t % 2) + c : 8 * w + 2 * t + c;
                at[w][c] =
                    row / 32 * S::box + k * wi_box_line + (row % 32 / 4 ^ k % 8) * 16 + row % 4 * 4;
            }
    }
    __device__ static int row_of(int r) {
        return wi_lane() / 4 * 2 + r;
    }
    __device__ void take(const char *factor, int half, float (&x)[2][wi_cut_elements]) const {
#pragma unroll
        for (int q = 0; q < wi_cut_elements; q++) {
            const float2 two = *(const float2 *)(factor + at[q / 2 % 2][q % 2] + q / 4 * two_words +
                                                 half * wi_cut_depth * wi_box_line);
            x[0][q] = two.x;
            x[1][q] = two.y;
        }
    }
};
/* A along k. */
template <class S>
struct wi_narrow_deep_along {
    using Rows = wi_narrow_rows<true, !S::b_along, S::box>;
    int first;

    __device__ explicit wi_narrow_deep_along(int first_) : first(first_) {}
    __device__ static int row_of(int r) {
        return Rows::row_of(r);
    }
    __device__ void take(const char *factor, int half, float (&x)[2][wi_cut_elements]) const {
        Rows::take(factor, first, half, x);
    }
};

/* B along k, whose parts a thread writes by 16 bytes, eight of k of two columns in each half. */
template <class S>
struct wi_narrow_deep_chunks {
    int column, from[wi_cut_words]; /* words of the chunk, two of k each */
    int to;                         /* of the first half */

    __device__ explicit wi_narrow_deep_chunks(int first) {
        const int t = wi_lane() % 4, g = wi_lane() / 4;
        column = first + (S::a_along ? g : g / 2 + g % 2 * 4);
#pragma unroll
        for (int w = 0; w < wi_cut_words; w++) {
            const int k = S::a_along ? t / 2 * 16 + 4 * w + t % 2 * 2
                          : w < 2    ? 4 * t + 2 * w
                                     : 16 + 4 * (t ^ 1) + 2 * (w - 2);
            from[w] = column * wi_box_line + (k / 4 ^ column % 8) * 16 + k % 4 * 4;
        }
        to = (int)wi_box_place((uint32_t)(column * wi_box_line + 16 * t));
    }
    /* Cuts half a piece; false if some elements have no parts. */
    __device__ bool cut(const char *factor, char *parts, int half) const {
        bool is_fit = true;
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const char *const line = factor + half * S::box + r * 8 * wi_box_line;
            float x[wi_cut_elements];
            take(line, x);
            uint32_t word[wi_cut_parts][wi_cut_words];
            is_fit = wi_cut(x, word) && is_fit;
#pragma unroll
            for (int part = 0; part < wi_cut_parts; part++)
                put(parts, half, r, part,
                    {word[part][0], word[part][1], word[part][2], word[part][3]});
        }
        return is_fit;
    }
    __device__ void put(char *parts, int half, int r, int part, const uint4 &words) const {
        *(uint4 *)(parts + part * S::part + (to ^ 64 * half) + r * 8 * wi_box_line) = words;
    }
    __device__ void clear(char *parts, int half) const {
#pragma unroll 1
        for (int i = 0; i < 2 * wi_cut_parts; i++)
            put(parts, half, i % 2, i / 2, {0, 0, 0, 0});
    }

  private:
    __device__ void take(const char *line, float (&x)[wi_cut_elements]) const {
        if constexpr (S::a_along) {
#pragma unroll
            for (int w = 0; w < wi_cut_words; w++) {
                const float2 two = *(const float2 *)(line + from[w]);
                x[2 * w] = two.x;
                x[2 * w + 1] = two.y;
            }
        } else {
#pragma unroll
            for (int w = 0; w < wi_cut_words; w += 2) {
                const uint4 four = *(const uint4 *)(line + from[w]);
                memcpy(x + 2 * w, &four, sizeof four);
            }
        }
    }
};
/* B across k, by single words. */
template <class S>
struct wi_narrow_deep_words {
    using Rows = wi_narrow_rows<false, true, S::box>;
    int first;

    __device__ explicit wi_narrow_deep_words(int first_) : first(first_) {}
    __device__ bool cut(const char *factor, char *parts, int half) const {
        bool is_fit = true;
        float x[2][wi_cut_elements];
        Rows::take(factor, first, half, x);
#pragma unroll
        for (int r = 0; r < 2; r++) {
            uint32_t word[wi_cut_parts][wi_cut_words];
            is_fit = wi_cut(x[r], word) && is_fit;
            put(parts, half, r, word);
        }
        return is_fit;
    }
    __device__ void put(char *parts, int half, int r,
                        const uint32_t (&word)[wi_cut_parts][wi_cut_words]) const {
        const uint32_t at = (uint32_t)((first + Rows::row_of(r)) * wi_box_line + 64 * half);
        const uint32_t place = wi_box_place(at + (uint32_t)(4 * (wi_lane() % 4)));
#pragma unroll
        for (int part = 0; part < wi_cut_parts; part++)
#pragma unroll
            for (int w = 0; w < wi_cut_words; w++)
                *(uint32_t *)(parts + part * S::part + (place ^ (uint32_t)(16 * w))) =
                    word[part][w];
    }
    __device__ void clear(char *parts, int half) const {
#pragma unroll 1
        for (int r = 0; r < 2; r++)
            put(parts, half, r, {});
    }
};

/* What a warp of a group does with the pieces that the group takes: B's second half is cut while
 * tensor cores are at the first, and the next piece's first while they are at the second. */
template <class S>
struct wi_narrow_deep_adder {
    using RowsOfA =
        std::conditional_t<S::a_along, wi_narrow_deep_along<S>, wi_narrow_deep_across<S>>;
    using ColumnsOfB =
        std::conditional_t<S::b_along, wi_narrow_deep_chunks<S>, wi_narrow_deep_words<S>>;
    static constexpr int count = S::columns / 2;
    const wi_narrow_deep_memory<S> &memory;
    const int group, warp; /* of the group */
    const RowsOfA rows;
    const ColumnsOfB columns;
    char *const parts;
    float sum[count] = {}, piece[count] = {};

    __device__ explicit wi_narrow_deep_adder(const wi_narrow_deep_memory<S> &where)
        : memory(where), group(wi_shuffle((int)threadIdx.x / 128, 0)),
          warp((int)threadIdx.x / 32 % 4), rows(16 * warp), columns(16 * warp),
          parts(where.parts + group * S::parts) {}
    __device__ int row_of(int r) const {
        return 16 * warp + RowsOfA::row_of(r);
    }
    /* The warp is done with what others wait for. */
    __device__ static void arrive(wi_barrier *b) {
        __syncwarp();
        if (wi_lane() == 0)
            wi_barrier_arrive(b);
    }
    /* Cuts the warp's 16 columns of half a piece of B to where tensor cores look for them: 0 in
     * place of all if some have no parts. */
    __device__ void cut_b(const char *slot, int half, uint32_t parity) const {
        wi_barrier_wait(&memory.b->used[group][half], parity);
        const bool is_fit = __all_sync(wi_all_lanes, columns.cut(slot + S::of_factor, parts, half));
        if (!is_fit)
            columns.clear(parts, half);
        if (wi_lane() == 0)
            ((unsigned char *)&memory.b->unfit[group][half])[warp] = is_fit ? 0 : 1;
        wi_bulk_fence();
        arrive(&memory.b->cut[group][half]);
    }
    /* Begins to add the products of half a piece; the slot is given back after the last. Returns
     * a bit for each 16 columns that are left to be added slowly. */
    __device__ unsigned multiply(const char *slot, int half, uint32_t turn, wi_barrier *empty) {
        float x[2][wi_cut_elements];
        wi_narrow_words of;
        rows.take(slot, half, x);
        if (half == S::halves - 1) {
            wi_bulk_fence();
            arrive(empty);
        }
        const bool is_fit = wi_narrow_cut_rows(x, of);
        wi_barrier_wait(&memory.b->cut[group][half], turn);
        const uint32_t unfit = memory.b->unfit[group][half];
        wi_narrow_begin_products<S::part>(of, parts, half, piece);
        return is_fit && unfit == 0 ? 0 : slowly(is_fit, unfit);
    }
    __device__ static unsigned slowly(bool is_fit, uint32_t unfit) {
        return is_fit ? (unfit & 1) | (unfit >> 7 & 2) | (unfit >> 14 & 4) | (unfit >> 21 & 8) : 15;
    }
    /* The products that have begun are over. */
    __device__ void end_products(int half) const {
        wi_group_wait<0>();
        arrive(&memory.b->used[group][half]);
    }
    __device__ void add_piece() {
#pragma unroll
        for (int q = 0; q < count; q++)
            sum[q] += piece[q];
    }
    /* The products of k as far as `end`, one after the other. */
    __device__ void add_slowly(const wi_narrow_boxed_factor &a, const wi_narrow_boxed_factor &b,
                               size_t row, size_t column, size_t k, size_t end, unsigned which) {
        wi_narrow_add_slowly(a, b, {row + (size_t)row_of(0), row + (size_t)row_of(1)}, column, k,
                             end, sum, which);
    }
    /* To shared memory, by columns that are S::line apart. */
    __device__ void put(float *to) const {
        wi_narrow_put<S::line>(sum, {row_of(0), row_of(1)}, to + group * S::columns * S::line);
    }
};

/* What a piece, which begins at k, left: the columns of each half in four bits. */
template <class S>
__device__ void wi_narrow_deep_add_left(const wi_gemm_params<float, float, float> &g,
                                        const wi_narrow_boxed_place<S> &at, size_t k, unsigned left,
                                        wi_narrow_deep_adder<S> &mine) {
#pragma unroll 1
    for (; left != 0; left >>= 4, k += wi_cut_depth)
        mine.add_slowly({g.a, g.lda, g.m, S::a_along}, {g.b, g.ldb, g.n, S::b_along}, at.row,
                        at.column, k, k + wi_cut_depth < g.k ? k + wi_cut_depth : g.k, left & 15);
}

/* An adder's work. */
template <class S>
__device__ void
wi_narrow_deep_add(const wi_gemm_params<float, float, float> &g, const wi_narrow_boxed_place<S> &at,
                   const wi_narrow_deep_memory<S> &memory, wi_narrow_deep_adder<S> &mine) {
    uint32_t turn = 0;
    unsigned left = 0; /* of the piece before */
    for (size_t i = at.first + (size_t)mine.group;; i += S::groups, turn ^= 1) {
        const int slot = (int)((i - at.first) % S::slots);
        const uint32_t parity = (uint32_t)((i - at.first) / S::slots) & 1;
        const char *const from = memory.slot + slot * S::slot;
        if (i < at.end) {
            wi_barrier_wait(&memory.b->full[slot], parity);
            mine.cut_b(from, 0, turn ^ 1);
        }
        mine.end_products(1);
        mine.add_piece();
        wi_narrow_deep_add_left(g, at, (i - S::groups) * S::depth, left, mine);
        if (i >= at.end)
            return;
        left = mine.multiply(from, 0, turn, &memory.b->empty[slot]);
        mine.cut_b(from, 1, turn);
        mine.end_products(0);
        left |= mine.multiply(from, 1, turn, &memory.b->empty[slot]) << 4;
    }
}

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
    wi_narrow_deep_add(g, at, memory, mine);
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
