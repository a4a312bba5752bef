/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of a matrix in one kernel. A block of threads draws two tiles of 64 x 64, one below the
 * other, takes from them all that the columns before them have, as soon as these are known, then
 * makes them tiles of L, a strip of 16 columns after the other, and tells of them. Those who draw
 * the tile below the diagonal have the next one on the diagonal beside it, and factor that.
 *
 * Tiles are drawn by columns, from the diagonal down. So those that a block waits for are done, or
 * drawn by blocks that run: nobody waits for a block that has not begun. */
#include "cholesky/cholesky_flow_strips.cuh"

#include "cuda/tensor_f64.cuh"

constexpr unsigned clearers = 256;

template <class T, bool by_columns>
struct cholesky_flow : wi_flow_strips<T, by_columns> {
    using Base = wi_flow_strips<T, by_columns>;
    using Base::at_first;
    using Base::by_inverse;
    using Base::group;
    using Base::has_x;
    using Base::inverse;
    using Base::known;
    using Base::launch;
    using Base::letter_numbers;
    using Base::letter_place;
    using Base::m;
    using Base::p;
    using Base::part;
    using Base::pieces;
    using Base::square;
    using Base::strip_row;
    using Base::sums;
    using Base::task;

    /* Pieces of 8 columns of the tile on the diagonal lose what strip b of the tile beside it has.
     */
    template <int from, int to>
    __device__ void take_from_diagonal(int b) {
        const T *const x = m.x[0] + b * wi_strip * wi_tile_pitch;
        sums.template subtract_pieces<from, to>(x + strip_row(), x, wi_strip);
    }
    __device__ void solve_strip_beside(int b) {
        if constexpr (by_inverse) {
            this->divide(b);
            sums.template store_pieces<0, 2>(m.x[0] + strip_row() + b * wi_strip * wi_tile_pitch,
                                             2);
            this->store_first(b);
            this->rotate();
        } else {
            this->substitute(b);
            this->store_rows(m.x[0], task.row, b);
        }
    }
    /* The tile beside it, strip by strip as they become known. What the last one has is taken from
     * the diagonal later. */
    __device__ bool solve_beside() {
        constexpr int last = wi_strips - 1;
        int have = 0;
#pragma unroll 1
        for (int b = 0; b < wi_strips; b++) {
            this->prepare(b);
            if (b == last && have == last ? __syncthreads_or(!this->receive_letter())
                                          : !this->receive(b, have))
                return false;
            if (group == 0)
                solve_strip_beside(b);
            __syncthreads();
            if (group > 0 && b < last)
                take_from_diagonal<0, pieces>(b);
        }
        return true;
    }
    /* By the warps that do not factor. */
    __device__ void publish(int b) const {
        this->each_pack(
            task.row, b, (int)threadIdx.x - 32, 32 * (int)flow_publishers,
            [](const T *from, T *to) { *(wi_vector<T> *)to = *(const wi_vector<T> *)from; });
        __syncwarp();
        if (wi_lane() == 0)
            wi_advance(p.factored + task.row, 1);
    }
    __device__ void send_letter() const {
        wi_pair *const letter = p.letter(task.row);
        for (int e = (int)threadIdx.x; e < letter_numbers; e += flow_threads)
            wi_write_pair(letter + e, wi_bit_cast<wi_bits<T>>(*letter_place(e)), launch);
    }
    /* The columns before the first pivot that is none, and the pivot, which tells why. */
    __device__ void fail() const {
        const wi_tile_factor<T> &f = m.factor;
        const int rows = p.rows(task.row), done = f.done;
        T *const to = p.tile(task.row, task.row);
        for (int e = (int)threadIdx.x; e < flow_side * (done + 1); e += flow_threads) {
            const int i = e % flow_side, j = e / flow_side;
            if (i < rows && j <= i && (j < done || i == done))
                to[i * p.down() + j * p.across()] =
                    j == done ? f.pivot : f.tile[i + j * wi_tile_pitch];
        }
        if (threadIdx.x == 0) {
            wi_cholesky_tell(p.first, f.pivot, (int64_t)task.row * flow_side + done);
            wi_advance(&p.state->failed, 1);
        }
    }
    /* Rows of strip `row`, columns of strip `column`, lose what strip b has. */
    __device__ void update(int row, int column, int b) const {
        wi_cholesky_strip_sums<T, 2> sums;
        T *const tile = m.factor.tile, *const columns = tile + b * wi_strip * wi_tile_pitch;
        T *const own = tile + row * wi_strip + column * wi_strip * wi_tile_pitch;
        sums.load(own);
        sums.subtract(columns + row * wi_strip, columns + column * wi_strip, wi_strip);
        sums.store(own);
    }
    /* What other warps do while one factors strip b: those of the first group publish. */
    __device__ void go_along(int b) {
        if (group == 0 && b > 0)
            publish(b - 1);
        else if (group == 0 && task.has_x && wi_lane() == 0)
            wi_advance(p.ready + task.row, flow_tile_units / flow_publishers);
        else if (group > 0 && b == 0)
            finish_tile();
        else if (group > 0 && b == 1 && part > 0)
            update(part == 1 ? 2 : 3, part == 3 ? 3 : 2, 0);
        else if (group > 0 && b == 2 && part == 1)
            update(3, 3, 1);
    }
    __device__ void finish_tile() {
        if (task.has_x)
            take_from_diagonal<at_first, pieces>(wi_strips - 1);
        sums.template store_pieces<at_first, pieces>(m.factor.tile + strip_row(), 2 * (part + 1));
    }
    __device__ void factor_strip(int b) const {
        if constexpr (by_inverse)
            wi_factorer<T>{m.factor}.run_square(b, inverse(b));
        else
            wi_factorer<T>{m.factor}.run(b);
    }
    /* While a strip is factored, those behind the next lose what the strip before it has. */
    __device__ bool factor() {
        static_assert(wi_strips == 4, "the order of updates is for four strips");
        wi_tile_factor<T> &f = m.factor;
        if (group > 0) {
            if (task.has_x)
                take_from_diagonal<0, at_first>(wi_strips - 1);
            sums.template store_pieces<0, at_first>(f.tile + strip_row(), at_first);
        }
        if (threadIdx.x == 0)
            f.done = flow_side;
        __syncthreads();
#pragma unroll 1
        for (int b = 0; b < wi_strips; b++) {
            if (b > 0) {
                if (group > 0 && part >= b)
                    update(part, b, b - 1);
                __syncthreads();
            }
            if (group == 0 && part == 0)
                factor_strip(b);
            else
                go_along(b);
            __syncthreads();
            if (f.done < flow_side) {
                fail();
                return false;
            }
            if constexpr (by_inverse) {
                if (group > 0 && part > b)
                    wi_divide(f.tile + strip_row() + b * wi_strip * wi_tile_pitch, square(b),
                              inverse(b));
                __syncthreads();
            }
        }
        send_letter();
        if (group == 0 && part > 0)
            publish(wi_strips - 1);
        this->store(f.tile, task.row, task.row, 0, (int)threadIdx.x, flow_threads);
        return true;
    }

    /* False if the block is to stop. */
    __device__ bool run() {
        known = 0;
        sums = {}; /* else a compiler would keep what they were */
        if (task.is_diagonal && group > 0)
            this->load_diagonal();
        else if (has_x())
            this->load();
        if (!this->take_products())
            return false;
        if (!by_inverse && has_x()) {
            sums.store(m.x[group] + strip_row());
            __syncwarp();
        }
        if (!task.is_diagonal)
            return this->solve();
        return (!task.has_x || solve_beside()) && factor();
    }
};

template <class T, bool by_columns>
__global__ void __launch_bounds__(flow_threads, 1)
    flow_of_columns(wi_flow_params<T, by_columns> p) {
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(uint64_t, drawn, );
    WEFT_SHARED(int, strips, );
    const int warp = wi_shuffle((int)threadIdx.x / 32, 0); /* known to be the same in all lanes */
    const wi_flow_order order = {p.tiles, p.begin, p.end};
    const uint64_t count = order.count();
    cholesky_flow<T, by_columns> flow = {{{p,
                                           *(wi_flow_memory<T> *)memory,
                                           strips,
                                           p.mail->launch.value,
                                           warp / wi_strips,
                                           warp % wi_strips,
                                           {},
                                           0,
                                           {}}}};
    for (;;) {
        if (threadIdx.x == 0)
            drawn = wi_progress(&p.state->failed) ? count : wi_take_number(&p.state->next);
        __syncthreads();
        const uint64_t number = drawn;
        if (number >= count)
            return;
        flow.task = order.at(number);
        if (!flow.run())
            return;
        __syncthreads();
    }
}

template <class T, bool by_columns>
__global__ void __launch_bounds__(clearers) begin_flow(wi_flow_params<T, by_columns> p) {
    const bool failed = !p.clears && wi_cholesky_has_failed(p.first);
    __syncthreads();
    if (p.clears && threadIdx.x < WI_CHOLESKY_WORDS)
        p.first[threadIdx.x] = WI_CHOLESKY_NONE;
    if (threadIdx.x == 0) {
        *p.state = {0, failed};
        p.mail->launch.value++;
    }
    for (unsigned i = p.begin + threadIdx.x; i < p.tiles; i += clearers)
        p.ready[i] = p.factored[i] = 0;
}

/* ---- launches ---- */

static size_t flow_bytes(const wi_cholesky_args *g, size_t columns) {
    const size_t tiles = (g->n - 1) / flow_side + 1;
    const size_t words = 2 * tiles * sizeof(uint32_t);
    return sizeof(wi_flow_state) + (words + 15) / 16 * 16 +
           ((columns - 1) / flow_side + 1) * wi_strips * flow_record * weft_type_size(g->type);
}

template <class T, bool by_columns>
static weft_status run(weft_context *ctx, const wi_cholesky_args *g, const wi_cholesky_steps *s) {
    wi_flow_params<T, by_columns> p = {};
    p.a = (T *)g->a;
    p.ld = g->lda;
    p.n = g->n;
    p.tiles = (unsigned)((g->n - 1) / flow_side + 1);
    p.begin = (unsigned)(s->first / flow_side);
    p.end = (unsigned)((s->first + s->columns - 1) / flow_side + 1);
    p.packs = !g->upper && (uintptr_t)g->a % 16 == 0 && g->lda * sizeof(T) % 16 == 0;
    const size_t slot_bytes = sizeof(wi_flow_slot<T>), all = flow_slots_most * slot_bytes;
    p.slots = all <= ctx->gpu->shared_optin ? flow_slots_most : flow_slots_most / 2;
    p.state = (wi_flow_state *)s->flow;
    p.ready = (uint32_t *)(p.state + 1);
    p.factored = p.ready + p.tiles;
    p.records = (T *)((char *)s->flow + flow_bytes(g, s->columns) -
                      (size_t)(p.end - p.begin) * wi_strips * flow_record * sizeof(T));
    p.mail = (wi_flow_mail *)s->mail;
    p.first = g->first;
    p.clears = s->first == 0;
    const uint64_t count = wi_flow_order{p.tiles, p.begin, p.end}.count();
    const unsigned units = (unsigned)ctx->gpu->multiprocessors;
    const unsigned most = s->units < units ? s->units : units;
    const size_t in_slots = p.slots * slot_bytes, in_tiles = sizeof(wi_flow_memory<T>);
    const weft_status status = WEFT_LAUNCH((begin_flow<T, by_columns>), ctx, 1, clearers, 0, p);
    return status == WEFT_OK ? WEFT_LAUNCH((flow_of_columns<T, by_columns>), ctx,
                                           count < most ? (unsigned)count : most, flow_threads,
                                           in_slots > in_tiles ? in_slots : in_tiles, p)
                             : status;
}

/* Mail has a block of its own: nothing but the number of a launch may be where that is looked for.
 */
weft_status wi_cholesky_flow_memory(weft_context *ctx, const wi_cholesky_args *g, size_t columns,
                                    wi_cholesky_steps *steps) {
    static const char mail = 0;
    const size_t tiles = (columns - 1) / flow_side + 1;
    const weft_status status = wi_cholesky_memory(ctx, flow_bytes(g, columns), &steps->flow);
    return status == WEFT_OK
               ? wi_gpu_scratch(ctx, &mail, sizeof(wi_pair) * (1 + tiles * flow_letter),
                                &steps->mail)
               : status;
}

weft_status wi_cholesky_run_flow(weft_context *ctx, const wi_cholesky_args *args,
                                 const wi_cholesky_steps *steps) {
    if (args->type == WEFT_F64)
        return args->upper ? run<double, false>(ctx, args, steps)
                           : run<double, true>(ctx, args, steps);
    return args->upper ? run<float, false>(ctx, args, steps) : run<float, true>(ctx, args, steps);
}

weft_status wi_cholesky_flow(weft_context *ctx, const void *args) {
    const wi_cholesky_args *const g = (const wi_cholesky_args *)args;
    wi_cholesky_steps all = {0, g->n, (unsigned)ctx->gpu->multiprocessors, NULL, NULL, NULL};
    const weft_status status = wi_cholesky_flow_memory(ctx, g, g->n, &all);
    return status == WEFT_OK ? wi_cholesky_run_flow(ctx, g, &all) : status;
}
