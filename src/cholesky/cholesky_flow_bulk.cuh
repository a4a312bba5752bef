/* SPDX-License-Identifier: Apache-2.0 */
/* Subtracts the products of all columns of tiles but the last ones from a block's two tiles, as
 * gemm's ring does it: the copy engine brings 128 bytes of k of three tiles at a time to a ring of
 * slots, and each warp has 32 x 32 sums. Afterwards the sums change to strips, through shared
 * memory. For compute capability 9.0. */
#ifndef WI_CHOLESKY_FLOW_BULK_CUH
#define WI_CHOLESKY_FLOW_BULK_CUH

#include "cholesky/cholesky_flow_sums.cuh"
#include "cholesky/cholesky_flow_tiles.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr bool wi_flow_has_boxes = false;
#else
constexpr bool wi_flow_has_boxes = true;
#endif

/* Columns of tiles right before a task's that are left to its last products, where others wait for
 * it: when all before have been taken these may not be known. */
constexpr unsigned flow_late = 2;

/* The ring as a warp sees it: warp w of eight begins the copies of each step that comes to slot w.
 */
template <class Flow, int columns>
struct wi_flow_copies {
    static constexpr unsigned slots = flow_slots_of<columns, Flow::kind>;
    using turn = wi_box_turn<(int)slots>;
    static constexpr unsigned of_column = flow_side / Flow::Rows::depth;
    static constexpr unsigned of_half = of_column / flow_parts;
    static_assert(slots <= flow_threads / 32, "no warp has two slots");

    Flow &flow;
    unsigned steps, warp;
    mutable unsigned used, own; /* steps; the next one that this warp begins */
    mutable bool stopped;       /* the matrix has failed: slots count as full */

    __device__ char *slot(unsigned number) const {
        return flow.first_slot() + number * flow_slot_bytes<columns>;
    }
    /* Begins the copies of the warp's next step if its columns are known; waits for them if there
     * is nothing else to do. */
    __device__ void begin_own() const {
        const unsigned halves = own / of_half + 1;
        if (!stopped && !flow.has(halves)) {
            if (own > used)
                return;
            stopped = !flow.await([&] { return flow.has(halves); });
        }
        if (wi_lane() == 0) {
            wi_barrier *const full = &flow.shared.ring.full[warp];
            wi_barrier_wait(&flow.shared.ring.empty[warp], (own / slots + 1) % 2);
            wi_bulk_fence_memory();
            if (stopped)
                wi_barrier_arrive(full);
            else
                flow.template load_boxes<columns>(slot(warp), own, full);
        }
        __syncwarp();
        own += slots;
    }
    __device__ const char *wait(const turn &t) const {
        if (own < steps && own < used + slots - 1)
            begin_own();
        used++;
        wi_barrier_wait(&flow.shared.ring.full[t.slot], t.parity);
        return slot((unsigned)t.slot);
    }
    __device__ void release_read(const turn &t) const {
        wi_bulk_fence();
        __syncwarp();
        if (wi_lane() == 0)
            wi_barrier_arrive(&flow.shared.ring.empty[t.slot]);
    }
    __device__ void pass(turn &t) const {
        for (unsigned s = 0; s < steps; s++, t.next()) {
            (void)wait(t);
            release_read(t);
        }
    }
};

template <class T, bool by_columns, int kind_>
struct wi_flow_bulk : wi_flow_tiles<T, by_columns, kind_> {
    using Base = wi_flow_tiles<T, by_columns, kind_>;
    static constexpr int kind = kind_;
    using Base::boxes;
    using Base::group;
    using Base::m;
    using Base::p;
    using Base::part;
    using Base::pieces;
    using Base::shared;
    using Base::strip_row;
    using Base::sums;
    using Base::task;
    using Rows = wi_gemm_panel<T, flow_groups * flow_side, !by_columns>;
    using Columns = wi_gemm_panel<T, flow_side, !by_columns>;

    /* How many columns of tiles are subtracted in this way. */
    __device__ unsigned bulk_columns() const {
        const unsigned all = task.column - p.begin, late = task.has_second ? p.late : flow_late;
        return wi_flow_has_boxes && p.boxed > 0 && all >= p.boxed && all > late ? all - late : 0;
    }
    __device__ char *first_slot() const {
        char *const from = (char *)&m + (kind == WI_FLOW_CHAINED ? flow_slots_at<T, kind> : 0);
        const uintptr_t past = (uintptr_t)from % wi_box_align;
        return from + (past ? wi_box_align - past : 0);
    }
    __device__ void load_tile(char *to, unsigned row, int k, wi_barrier *full) const {
        const int first = (int)(row * flow_side);
        if constexpr (by_columns)
            wi_box_load(to, boxes, 0, k, first / Columns::box_extent, full);
        else
            wi_box_load(to, boxes, k, first, 0, full);
    }
    /* Rows of the first factor, then columns of the second. With the tile on the diagonal these are
     * of its row, and the first tile comes turned. */
    template <int columns>
    __device__ void load_boxes(char *slot, unsigned step, wi_barrier *full) const {
        constexpr uint32_t bytes = Columns::bytes;
        const int k = (int)(p.begin * flow_side + step * (unsigned)Rows::depth);
        const bool has_two = this->has_second_or_diagonal();
        wi_barrier_arrive_expect(full, ((has_two ? 2 : 1) + columns) * bytes);
        load_tile(slot, task.is_diagonal ? task.column : task.row, k, full);
        if (has_two)
            load_tile(slot + bytes, task.is_diagonal ? task.row : task.row + 1, k, full);
        load_tile(slot + 2 * bytes, task.is_diagonal ? task.row : task.column, k, full);
        if constexpr (columns > 1)
            load_tile(slot + 3 * bytes, task.column + 1, k, full);
    }
    /* Prefetches the task's own tiles into the second-level cache. */
    __device__ void fetch_tiles(unsigned next = 0) const {
        constexpr int line = 128 / (int)sizeof(T), lines = flow_side / line;
        for (int e = (int)threadIdx.x; e < flow_groups * flow_side * lines; e += flow_threads) {
            const unsigned tile = (unsigned)e / (flow_side * lines);
            const int along = e % lines * line, other = e / lines % flow_side;
            const unsigned row = task.row + (task.is_diagonal ? 0 : tile);
            const unsigned column = task.is_diagonal && tile > 0 ? task.row : task.column + next;
            if (row < p.tiles && p.rows(row) == flow_side)
                wi_prefetch(p.tile(row, column) + along * (by_columns ? p.down() : p.across()) +
                            other * (by_columns ? p.across() : p.down()));
        }
    }
    /* Where the sums of the task's column, or of the one joined to it, are. */
    __device__ double *sums_of(int group, bool later) const {
        return later ? ((wi_flow_joined_memory &)m).later[group] : m.x[group];
    }
    template <class Sums>
    __device__ void store_sums(const Sums &own) const {
        own.each([&](int i, int j, const auto &run) {
            double *const x = sums_of(i / flow_side, j >= flow_side);
            const int u = i % flow_side, v = j % flow_side;
#pragma unroll
            for (int q = 0; q < 2; q++)
                x[task.is_diagonal && i < flow_side ? v + (u + q) * wi_tile_pitch
                                                    : u + q + v * wi_tile_pitch] = run.at[q];
        });
    }
    /* Leaves in m.x the products of the first `before` columns of tiles, added up, and those of the
     * next column behind it if there is a second one. False if the matrix has failed. */
    template <int columns = 1>
    __device__ bool sum_bulk(unsigned before) {
        using Copies = wi_flow_copies<wi_flow_bulk, columns>;
        using Sums =
            wi_flow_sums<T, columns, Rows, wi_gemm_panel<T, columns * flow_side, !by_columns>>;
        const int warp = group * wi_strips + part;
        const unsigned steps = before * Copies::of_column, none = steps;
        wi_bulk_fence();
        __syncthreads();
        fetch_tiles();
        if constexpr (columns > 1)
            fetch_tiles(1);
        const unsigned own_slot = (unsigned)warp < Copies::slots ? (unsigned)warp : none;
        const Copies copies = {*this, steps, (unsigned)warp, 0, own_slot, false};
        typename Copies::turn turn = {0, 0};
        Sums own(warp);
        const bool is_used = own.row < flow_side || this->has_second_or_diagonal();
        if (is_used)
            own.add_up(copies, steps, turn);
        else
            copies.pass(turn);
        if (__syncthreads_or(copies.stopped))
            return false;
        if (is_used)
            store_sums(own);
        __syncthreads();
        return true;
    }
    __device__ bool take_bulk(unsigned columns) {
        if constexpr (wi_flow_has_boxes)
            return columns == 0 || sum_bulk(columns);
        return true;
    }
    /* Subtracts the sums from the tiles in registers. */
    __device__ void take_sums(bool later = false) {
        const double *const own = sums_of(group, later) + strip_row();
        if (group == 0 || this->has_second_or_diagonal())
            sums.each([&](double &x, int i, int j) { x -= own[i + j * wi_tile_pitch]; });
        __syncthreads();
    }
};

#endif
