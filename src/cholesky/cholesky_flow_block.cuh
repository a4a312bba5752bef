/* SPDX-License-Identifier: Apache-2.0 */
/* What a block of threads does with its task: the factor of the tile on the diagonal, which it
 * sends to all others, and the order of what it does before. */
#ifndef WI_CHOLESKY_FLOW_BLOCK_CUH
#define WI_CHOLESKY_FLOW_BLOCK_CUH

#include "cholesky/cholesky_flow_strips.cuh"

template <class T, bool by_columns, int kind>
struct wi_flow_block : wi_flow_strips<T, by_columns, kind> {
    using Base = wi_flow_strips<T, by_columns, kind>;
    using Base::at_first;
    using Base::group;
    using Base::has_x;
    using Base::inverse;
    using Base::m;
    using Base::p;
    using Base::part;
    using Base::pieces;
    using Base::rehearses;
    using Base::shared;
    using Base::square;
    using Base::strip_row;
    using Base::sums;
    using Base::task;

    /* Pieces of 8 columns of the tile on the diagonal lose what strip b of the tile beside it has.
     */
    template <int from, int to>
    __device__ void take_from_diagonal(int b) {
        const double *const x = m.x[0] + b * wi_strip * wi_tile_pitch;
        sums.template subtract_pieces<from, to>(x + strip_row(), x, wi_strip);
    }
    /* The tile beside it. What its last strip has is taken from the diagonal later. */
    __device__ bool solve_beside() {
        const auto put = [&](int b) {
            sums.template store_pieces<0, 2>(m.x[0] + strip_row() + b * wi_strip * wi_tile_pitch,
                                             2);
        };
        const auto behind = [&](int b) {
            if (b < wi_strips - 1)
                take_from_diagonal<0, pieces>(b);
        };
        if constexpr (kind == WI_FLOW_CHAINED)
            return this->solve_passed(put, behind);
        else
            return this->solve_first(put, behind);
    }
    __device__ void send_letter() const {
        wi_pair *const letter = this->letter(task.row);
        for (int e = (int)threadIdx.x; e < Base::letter_parts * flow_threads; e += flow_threads)
            wi_write_pair(letter + e, wi_bit_cast<uint64_t>(*this->letter_place(e)),
                          this->stamp(task.row));
    }
    /* The first group, to all others. */
    __device__ void publish(int b) const {
        if constexpr (kind == WI_FLOW_CHAINED)
            if (b < wi_strips - 1)
                this->pass_on(b, (int)threadIdx.x, flow_threads / flow_groups, false);
        this->each_pack(task.row, b, (int)threadIdx.x, 32 * (int)flow_publishers,
                        [](const double *from, double *to) {
                            *(wi_vector<double> *)to = *(const wi_vector<double> *)from;
                        });
        __syncwarp();
        if (wi_lane() == 0)
            wi_advance(this->factored(task.row), 1);
    }
    /* The columns before the first pivot that is none, and the pivot, which tells why. */
    __device__ void fail() const {
        const wi_tile_factor<double> &f = m.factor;
        const int rows = p.rows(task.row), done = f.done;
        T *const to = p.tile(task.row, task.row);
        for (int e = (int)threadIdx.x; e < flow_side * (done + 1); e += flow_threads) {
            const int i = e % flow_side, j = e / flow_side;
            if (i < rows && j <= i && (j < done || i == done))
                to[i * p.down() + j * p.across()] =
                    (T)(j == done ? f.pivot : f.tile[i + j * wi_tile_pitch]);
        }
        if (threadIdx.x == 0) {
            wi_cholesky_tell(p.first, (T)f.pivot, (int64_t)task.row * flow_side + done);
            wi_advance(this->failed(), 1);
        }
    }
    /* Rows of strip `row`, columns of strip `column`, lose what strip b has. */
    __device__ void update(int row, int column, int b) const {
        wi_cholesky_strip_sums<double, 2> sums;
        double *const tile = m.factor.tile, *const columns = tile + b * wi_strip * wi_tile_pitch;
        double *const own = tile + row * wi_strip + column * wi_strip * wi_tile_pitch;
        sums.load(own);
        sums.subtract(columns + row * wi_strip, columns + column * wi_strip, wi_strip);
        sums.store(own);
    }
    /* What other warps do while one factors strip b: those of the first group publish the one
     * before, those of the second bring up to date what that has left behind. */
    __device__ void go_along(int b) {
        if (rehearses && group == 0)
            return;
        if (group == 0 && b > 0)
            publish(b - 1);
        else if (group == 0)
            this->tell_of_half(wi_flow_count::second);
        else if (group > 0 && b == 0)
            finish_tile();
        else if (group > 0 && part > b)
            update(part, b, b - 1);
        if (group > 0 && b == 1 && part != 1)
            update(part == 2 ? 2 : 3, part == 3 ? 3 : 2, 0);
        else if (group > 0 && b == 2 && part == 0)
            update(3, 3, 1);
    }
    __device__ void finish_tile() {
        if (task.has_x)
            take_from_diagonal<at_first, pieces>(wi_strips - 1);
        sums.template store_pieces<at_first, pieces>(m.factor.tile + strip_row(), 2 * (part + 1));
    }
    /* A warp's rows of strip b become those of L, which its own square loses if it is the next. */
    __device__ void divide_rows(int b) const {
        using piece = wi_piece<double>;
        double *const rows = m.factor.tile + strip_row();
        wi_cholesky_strip_sums<double, 2> x, own;
        x.load(rows + b * wi_strip * wi_tile_pitch);
        own.load(rows + part * wi_strip * wi_tile_pitch);
        piece::divide<Base::is_corrected>(x.at[0], x.at[1], square(b), inverse(b));
        this->keep(x.at[0]);
        this->keep(x.at[1]);
        if (part == b + 1) {
            piece::subtract_square(own.at, x.at);
            own.store(rows + part * wi_strip * wi_tile_pitch);
        }
        x.store(rows + b * wi_strip * wi_tile_pitch);
    }
    /* Warp b of the second group factors strip b. Returns how many strips have been passed on. */
    __device__ int factor() {
        static_assert(wi_strips == 4, "the order of updates is for four strips");
        const wi_tile_factor<double> &f = m.factor;
        if (group > 0) {
            if (task.has_x)
                take_from_diagonal<0, at_first>(wi_strips - 1);
            sums.template store_pieces<0, at_first>(m.factor.tile + strip_row(), at_first);
            __syncwarp();
        }
#pragma unroll 1
        for (int b = 0;; b++) {
            if (group > 0 && part == b)
                wi_factorer<double>{m.factor}.template run_square<typename Base::number>(
                    b, inverse(b));
            else
                go_along(b);
            __syncthreads();
            if (f.done < flow_side) {
                fail();
                return b;
            }
            if (b == wi_strips - 1)
                break;
            if (group > 0 && part > b)
                divide_rows(b);
            __syncthreads();
        }
        if (rehearses)
            return wi_strips;
        if constexpr (kind == WI_FLOW_CHAINED)
            this->pass_on(wi_strips - 1, (int)threadIdx.x, flow_threads, false);
        send_letter();
        if (group == 0)
            publish(wi_strips - 1);
        this->store(f.tile, task.row, task.row, 0, (int)threadIdx.x, flow_threads);
        return wi_strips;
    }

    __device__ void begin() const {
        if constexpr (kind == WI_FLOW_CHAINED)
            if (blockIdx.x < wi_cluster_size()) {
                if (threadIdx.x == 0 && blockIdx.x > 0 && blockIdx.x < p.chain) {
                    this->expect_passed();
                    wi_barrier_publish();
                }
                wi_cluster_sync();
            }
        if constexpr (wi_flow_has_boxes)
            if (threadIdx.x == 0) {
                for (int s = 0; s < flow_ring_slots; s++) {
                    wi_barrier_init(&shared.ring.full[s], 1);
                    wi_barrier_init(&shared.ring.empty[s], flow_threads / 32);
                }
                wi_barrier_publish();
            }
    }
    /* In place of bring(): a tile on the diagonal that is 1. */
    __device__ void make_one() {
        sums.each([&](double &x, int i, int j) { x = strip_row() + i == j ? 1 : 0; });
    }
    /* The task's tiles, without what columns before have. False if the matrix has failed. */
    __device__ bool bring() {
        const unsigned bulk = this->bulk_columns();
        if (!this->take_bulk(bulk))
            return false;
        if (task.is_diagonal && group > 0)
            this->load_diagonal();
        else if (has_x())
            this->load();
        if (bulk > 0)
            this->take_sums();
        return this->take_products(bulk, [&](int strips) {
            if (kind != WI_FLOW_CHAINED || !task.is_diagonal)
                this->fetch_strips(strips);
        });
    }
    /* A block of the chain passes on all strips, also when the matrix has failed, and ends when all
     * have come that are sent to it. */
    __device__ void run_chain() {
        int passed = 0;
        if (!shared.stops && bring()) {
            if (threadIdx.x == 0)
                m.factor.done = flow_side;
            __syncthreads();
            if (!task.has_x || solve_beside())
                passed = factor();
        }
        for (; passed < wi_strips; passed++)
            this->pass_on(passed, (int)threadIdx.x, flow_threads, true);
        for (int b = 0; b < wi_strips && task.has_x; b++)
            (void)this->receive_passed(b);
    }
    /* Two columns: the products of all columns before them, then one column after the other, of
     * which the second loses what the first has. */
    __device__ void run_joined() {
        const unsigned first = task.column, before = first - p.begin;
        if (before > 0 && !this->template sum_bulk<2>(before))
            return;
#pragma unroll 1
        for (unsigned next = 0; next < 2; next++) {
            task.column = first + next;
            task.is_joined = next == 0;
            this->have = 0;
            if (has_x())
                this->load();
            if (before > 0)
                this->take_sums(next > 0);
            if (!this->take_products(before, [&](int strips) { this->fetch_strips(strips); }) ||
                !this->solve_pair())
                return;
            __syncthreads();
        }
    }
    __device__ void run() {
        if constexpr (kind == WI_FLOW_JOINED)
            if (task.is_joined) {
                run_joined();
                return;
            }
        if (rehearses)
            make_one();
        else if (!bring())
            return;
        if (!task.is_diagonal) {
            this->solve();
            return;
        }
        if (threadIdx.x == 0)
            m.factor.done = flow_side;
        __syncthreads();
        if constexpr (kind != WI_FLOW_CHAINED)
            if (!task.has_x || solve_beside())
                (void)factor();
    }
};

#endif
