/* SPDX-License-Identifier: Apache-2.0 */
/* A block's two tiles in registers: how they come from memory and go there, and how the products of
 * the columns before are subtracted. */
#ifndef WI_CHOLESKY_FLOW_TILES_CUH
#define WI_CHOLESKY_FLOW_TILES_CUH

#include "cholesky/cholesky_flow.cuh"
#include "cuda/async.cuh"
#include "cuda/progress.cuh"

template <class T, bool by_columns, int kind>
struct wi_flow_tiles {
    using Strip = wi_cholesky_strip_sums<double, flow_side / 8>;
    /* Pieces of 8 columns of a tile, and those that the factor of its first strip needs. */
    static constexpr int pieces = flow_side / 8, at_first = 2;

    const wi_flow_params<T, by_columns> &p;
    const wi_boxes *boxes; /* of the matrix */
    wi_flow_memory &m;
    wi_flow_shared &shared;
    uint32_t launch; /* its number */
    int group, part; /* a warp has strip `part` of the first or the second tile */
    wi_flow_task task;
    bool rehearses;  /* factors a unit matrix, to bring the code to the cache; tells nobody */
    unsigned known;  /* halves of columns of tiles whose parts all of this task's rows have */
    unsigned strips; /* strips of the column's factor that were there at the last look */
    Strip sums;

    __device__ int strip_row() const {
        return part * wi_strip;
    }

    __device__ bool has_second_or_diagonal() const {
        return task.has_second || task.is_diagonal;
    }
    /* Has this warp a tile that becomes a tile of L? */
    __device__ bool has_x() const {
        return group == 0 ? task.has_x : task.has_second;
    }
    __device__ unsigned row() const {
        return task.row + (unsigned)group;
    }

    /* ---- what blocks tell each other ---- */

    __device__ uint32_t *ready(unsigned i) const {
        return &p.mail->counts[i].of[launch % 2].ready;
    }
    __device__ uint32_t *factored(unsigned i) const {
        return &p.mail->counts[i].of[launch % 2].factored;
    }
    __device__ uint32_t *failed() const {
        return &p.mail->sets.failed[launch % 2];
    }
    __device__ wi_pair *letter(unsigned i) const {
        return p.mail->letter[i % flow_letters];
    }
    /* What each number of letter i comes with, so that the reader knows that it is this launch's.
     */
    __device__ uint64_t stamp(unsigned i) const {
        return ((uint64_t)launch + 1) << 32 | i;
    }

    /* ---- waiting ---- */

    /* Called between two looks. False if the matrix has failed, which every flow_turns-th call
     * asks. */
    __device__ bool goes_on(unsigned &turns) const {
        return ++turns % flow_turns != 0 || wi_read_word(failed()) == 0;
    }
    /* True once all lanes have seen it; false if the matrix has failed. */
    template <class F>
    __device__ bool await(F is_there) const {
        unsigned turns = 0;
        while (!__all_sync(wi_all_lanes, is_there())) {
            if (!__all_sync(wi_all_lanes, goes_on(turns)))
                return false;
            wi_spin();
        }
        return true;
    }
    /* Each lane looks at the count of one of the rows, or of the column's factor: all at once. */
    __device__ void look() {
        constexpr int at_factor = 3;
        const int which = wi_lane() % 4;
        const unsigned next = wi_lane() % 8 < 4 && task.is_joined ? 1 : 0;
        const unsigned row =
            which == 0 ? task.column + next : task.row + (which == 2 && task.has_second ? 1u : 0u);
        const uint32_t own = wi_progress(which == at_factor ? factored(task.column) : ready(row));
        __syncwarp();
        strips = wi_shuffle(own, at_factor) / flow_publishers;
        known = wi_warp_min(which == at_factor ? UINT32_MAX : wi_flow_count{own}.halves());
    }
    /* Are the parts of so many halves of columns of tiles there? */
    __device__ bool has(unsigned halves) {
        if (known < halves)
            look();
        return known >= halves;
    }

    /* ---- what columns before take from the tiles ---- */

    __device__ wi_flow_slot<T> &slot_of(unsigned step) const {
        char *const slots = (char *)&m + flow_slots_at<T, kind>;
        return ((wi_flow_slot<T> *)slots)[step & (p.slots - 1)];
    }
    /* Starts the copy of 32 columns of a tile of L. */
    __device__ void fetch_chunk(T *to, unsigned row, unsigned column, int part) const {
        constexpr int width = wi_vector<T>::count, packs = flow_side / width;
        const T *const from = p.tile(row, column) + (size_t)(part * flow_depth) * p.across();
        const int rows = p.rows(row);
        if (p.packs && rows == flow_side) {
#pragma unroll
            for (int e = (int)threadIdx.x; e < packs * flow_depth; e += flow_threads) {
                const int u = e % packs * width, v = e / packs;
                wi_async_copy<16>(to + u + v * flow_pitch<T>, from + u + v * p.across());
            }
            return;
        }
#pragma unroll 2
        for (int e = (int)threadIdx.x; e < flow_side * flow_depth; e += flow_threads) {
            const int i = by_columns ? e % flow_side : e / flow_depth;
            const int k = by_columns ? e / flow_side : e % flow_depth;
            wi_async_copy<(int)sizeof(T)>(to + i + k * flow_pitch<T>,
                                          i < rows ? from + i * p.down() + k * p.across() : p.a,
                                          i < rows);
        }
    }
    __device__ void fetch(unsigned step) const {
        const unsigned column = p.begin + step / flow_parts;
        const int part = (int)(step % flow_parts);
        wi_flow_slot<T> &slot = slot_of(step);
        fetch_chunk(slot[0], task.row, column, part);
        if (task.has_second)
            fetch_chunk(slot[1], task.row + 1, column, part);
        fetch_chunk(slot[2], task.column, column, part);
        wi_async_commit();
    }
    __device__ static void wait_for_all_but(unsigned pending) {
        if (pending == 0)
            wi_async_wait<0>();
        else if (pending == 1)
            wi_async_wait<1>();
        else if (pending == 2)
            wi_async_wait<2>();
        else
            wi_async_wait<3>();
    }
    __device__ void multiply(const wi_flow_slot<T> &slot) {
        if (group > 0 && !has_second_or_diagonal())
            return;
        const T *const own = slot[task.is_diagonal ? 0 : group] + strip_row();
        const T *const other = slot[task.is_diagonal && group > 0 ? 0 : 2];
#pragma unroll
        for (int q = 0; q < flow_depth; q += 8)
            sums.template subtract_eight<0, pieces, flow_pitch<T>>(own + q * flow_pitch<T>,
                                                                   other + q * flow_pitch<T>);
    }
    /* Subtracts the products of the columns of tiles from number `columns` on; false if the matrix
     * has failed. Before the last products it calls at_last(strips of the column's factor that are
     * known), which may begin copies of them. */
    template <class F>
    __device__ bool take_products(unsigned columns, F at_last) {
        const unsigned first = columns * flow_parts;
        const unsigned steps = (task.column - p.begin) * flow_parts;
        unsigned fetched = first;
        for (unsigned s = first; s < steps; s++) {
            const bool goes_on = fetched > s || await([&] { return has(s + 1); });
            if (goes_on && fetched == s)
                fetch(fetched++);
            wait_for_all_but(goes_on ? fetched - 1 - s : 0);
            if (threadIdx.x == 0)
                shared.strips = (int)strips;
            if (__syncthreads_or(!goes_on))
                return false;
            while (fetched < steps && fetched < s + p.slots &&
                   __all_sync(wi_all_lanes, has(fetched + 1)))
                fetch(fetched++);
            if (s + 1 == steps)
                at_last(shared.strips);
            multiply(slot_of(s));
        }
        wi_async_wait<0>();
        __syncthreads();
        return true;
    }

    /* ---- tiles from and to memory ---- */

    /* f(x, place, row, column) of each of a lane's sums of a tile. */
    template <class F>
    __device__ void each(unsigned i, unsigned j, F f) {
        const int row = strip_row() + sums.row(0);
        T *at = p.tile(i, j) + row * p.down() + sums.column(0, 0) * p.across();
#pragma unroll
        for (int c = 0; c < flow_side / 8; c++) {
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int lower_by = sums.row(e) - sums.row(0);
                const int right_by = sums.column(0, e) - sums.column(0, 0);
                f(sums.at[c][e], at + lower_by * p.down() + right_by * p.across(), row + lower_by,
                  sums.column(c, e));
            }
            at += (sums.column(1, 0) - sums.column(0, 0)) * p.across();
        }
    }
    __device__ void load() {
        const int rows = p.rows(row());
        each(row(), task.column,
             [=](double &x, const T *from, int u, int) { x = u < rows ? (double)*from : 0; });
    }
    /* Beyond the end of the matrix the tile is that of a unit matrix. */
    __device__ void load_diagonal() {
        const int rows = p.rows(task.row);
        each(task.row, task.row, [=](double &x, const T *from, int u, int v) {
            x = u < rows && v <= u ? (double)*from : (double)(u == v);
        });
    }
    /* `count` threads store columns of a tile of L, from `first` on. */
    __device__ void store(const double *tile, unsigned i, unsigned j, int first, int thread,
                          int count) const {
        const int rows = p.rows(i), across = flow_side - first;
        T *const to = p.tile(i, j);
#pragma unroll 4
        for (int e = thread; e < flow_side * across; e += count) {
            const int u = by_columns ? e % flow_side : e / across;
            const int v = first + (by_columns ? e / flow_side : e % across);
            if (u < rows && (i != j || v <= u))
                to[u * p.down() + v * p.across()] = (T)tile[u + v * wi_tile_pitch];
        }
    }
};

#endif
