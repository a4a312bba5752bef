/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of a matrix in one kernel. A block of threads draws a task, two tiles of 64 x 64, one
 * below the other; takes from them all that the columns before them have, as soon as these are
 * known, then makes them tiles of L, a strip of 16 columns after the other, and tells of them.
 * Those who draw the tile below the diagonal have the next one on the diagonal beside it, and
 * factor that.
 *
 * Tiles that a block waits for are in tasks drawn before its own: they are done, or other blocks
 * have them that run. Nobody waits for a block that has not begun. */
#include "cholesky/cholesky_flow_strips.cuh"

#include "cuda/ahead.cuh"
#include "cuda/bulk.cuh"
#include "cuda/limit.cuh"
#include "cuda/tensor_f64.cuh"

WI_LIMIT(unsigned, wi_cholesky_boxed, 6)
WI_LIMIT(unsigned, wi_cholesky_few, 32)

template <class T, bool by_columns>
struct cholesky_flow : wi_flow_strips<T, by_columns> {
    using Base = wi_flow_strips<T, by_columns>;
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
        return this->solve_first(
            [&](int b) {
                sums.template store_pieces<0, 2>(
                    m.x[0] + strip_row() + b * wi_strip * wi_tile_pitch, 2);
            },
            [&](int b) {
                if (b < wi_strips - 1)
                    take_from_diagonal<0, pieces>(b);
            });
    }
    __device__ void send_letter() const {
        wi_pair *const letter = this->letter(task.row);
        for (int e = (int)threadIdx.x; e < Base::letter_parts * flow_threads; e += flow_threads)
            wi_write_pair(letter + e, wi_bit_cast<uint64_t>(*this->letter_place(e)),
                          this->stamp(task.row));
    }
    /* The first group, to all others. */
    __device__ void publish(int b) const {
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
    /* Warp b of the second group factors strip b. */
    __device__ void factor() {
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
                return;
            }
            if (b == wi_strips - 1)
                break;
            if (group > 0 && part > b)
                divide_rows(b);
            __syncthreads();
        }
        if (rehearses)
            return;
        send_letter();
        if (group == 0)
            publish(wi_strips - 1);
        this->store(f.tile, task.row, task.row, 0, (int)threadIdx.x, flow_threads);
    }

    __device__ void begin() const {
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
        return this->take_products(bulk, [&](int strips) { this->fetch_strips(strips); });
    }
    __device__ void run() {
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
        if (!task.has_x || solve_beside())
            factor();
    }
};

/* Each block draws once: the last one to do so sets the number for the next launch. */
template <class Params>
__device__ static void draw(const Params &p, wi_flow_shared &shared) {
    wi_flow_sets &sets = p.mail->sets;
    if (p.rehearses()) {
        shared.launch = 0;
        shared.drawn = p.tasks;
        shared.stops = false;
        return;
    }
    const bool failed = !p.clears && wi_cholesky_has_failed(p.first);
    const uint32_t even = wi_read_word(&sets.failed[0]), odd = wi_read_word(&sets.failed[1]);
    const uint64_t number = wi_take_number(&sets.next), drawn = number & UINT32_MAX;
    shared.launch = (uint32_t)(number >> 32);
    shared.drawn = drawn;
    shared.stops = failed || (shared.launch % 2 ? odd : even) > 0;
    if (drawn + 1 == p.tasks)
        sets.next = (uint64_t)(shared.launch + 1) << 32;
}
/* By the first block: the set that this launch does not use, and the words of `first`. */
template <class Params>
__device__ static void clear_for_next(const Params &p, uint32_t launch) {
    wi_flow_sets &sets = p.mail->sets;
    const uint32_t other = (launch + 1) % 2, rows = sets.rows[other];
    if (p.clears && threadIdx.x < WI_CHOLESKY_WORDS)
        p.first[threadIdx.x] = WI_CHOLESKY_NONE;
    if (threadIdx.x == 0) {
        wi_write_word(&sets.failed[other], 0);
        sets.rows[launch % 2] = p.tiles;
    }
    for (unsigned i = threadIdx.x; i < rows; i += flow_threads)
        p.mail->counts[i].of[other] = {0, 0};
}

template <class T, bool by_columns>
__global__ void __launch_bounds__(flow_threads, 1)
    flow_of_columns(const __grid_constant__ wi_boxes boxes,
                    const __grid_constant__ wi_flow_params<T, by_columns> p) {
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(wi_flow_shared, shared, );
    const int warp = wi_shuffle((int)threadIdx.x / 32, 0); /* known to be the same in all lanes */
    const wi_flow_order order = {p.tiles, p.begin, p.end};
    wi_wait_for_earlier();
    if (threadIdx.x == 0)
        draw(p, shared);
    __syncthreads();
    if (shared.drawn == 0)
        clear_for_next(p, shared.launch);
    cholesky_flow<T, by_columns> flow = {{{{p,
                                            &boxes,
                                            *(wi_flow_memory *)memory,
                                            shared,
                                            shared.launch,
                                            warp / wi_strips,
                                            warp % wi_strips,
                                            {p.begin, p.begin, false, false, true},
                                            p.rehearses(),
                                            0,
                                            0,
                                            {}}},
                                          0,
                                          false}};
    flow.begin();
    if (shared.stops)
        return;
    if (!flow.rehearses)
        flow.task = order.at(shared.drawn);
    flow.run();
}

/* ---- launches ---- */

static size_t tiles_of(size_t columns) {
    return (columns - 1) / flow_side + 1;
}

constexpr unsigned flow_rehearsals = 3;

/* Multiprocessors that have no task rehearse: they factor a tile that is 1, so that the code for it
 * is in caches near those that the chain comes to. Two neighbours share one, and have blocks 2 k
 * and 2 k + 1: so one of them rehearses. How many do; a few columns have no time for that. */
static unsigned rehearsing(unsigned columns, unsigned tasks, unsigned units) {
    constexpr unsigned fewest = 3;
    return columns < fewest || tasks >= units ? 0 : units - tasks;
}

/* The matrix for the copy engine, if there is one that can bring it and it is worth it. */
template <class T, bool by_columns>
static weft_status describe(weft_context *ctx, const wi_cholesky_args *g, unsigned *boxed,
                            wi_boxes *boxes) {
    using Panel = wi_gemm_panel<T, flow_side, !by_columns>;
    constexpr size_t group = by_columns ? Panel::box_extent : 1; /* rows of a matrix to it */
    const size_t pitch = g->lda * sizeof(T);
    const bool alone = by_columns || pitch % (2 * wi_box_line) != 0;
    const wi_box_source by_groups = {g->type, g->a,         group,       g->n,
                                     pitch,   g->n / group, wi_box_line, alone};
    const wi_box_source by_rows = {g->type, g->a, g->n, g->n, pitch, 1, g->n * pitch, alone};
    if (ctx->gpu->capability != 90 || !wi_is_aligned(g->a) || pitch % 16 != 0 ||
        g->n % group != 0 || g->n <= wi_cholesky_boxed * flow_side)
        return WEFT_OK;
    *boxed = wi_cholesky_boxed;
    return by_columns ? wi_gpu_describe_deep_boxes(ctx, &by_groups, Panel::box_lines,
                                                   flow_side / (unsigned)group, boxes)
                      : wi_gpu_describe_boxes(ctx, &by_rows, flow_side, boxes);
}

template <class T, bool by_columns>
static weft_status run(weft_context *ctx, const wi_cholesky_args *g, const wi_cholesky_steps *s) {
    wi_flow_params<T, by_columns> p = {};
    p.a = (T *)g->a;
    p.ld = g->lda;
    p.n = g->n;
    p.tiles = (unsigned)tiles_of(g->n);
    p.begin = (unsigned)(s->first / flow_side);
    p.end = (unsigned)tiles_of(s->first + s->columns);
    p.packs = !g->upper && (uintptr_t)g->a % 16 == 0 && g->lda * sizeof(T) % 16 == 0;
    const size_t slot_bytes = sizeof(wi_flow_slot<T>), before = flow_slots_at<T>;
    const size_t all = before + flow_slots_most * slot_bytes;
    p.slots = all <= ctx->gpu->shared_optin ? flow_slots_most : flow_slots_most / 2;
    p.records = (double *)s->flow;
    p.mail = (wi_flow_mail *)s->mail;
    p.first = g->first;
    p.clears = s->first == 0;
    p.tasks = (unsigned)wi_flow_order{p.tiles, p.begin, p.end}.count();
    const unsigned units = (unsigned)ctx->gpu->multiprocessors;
    const unsigned idle = rehearsing(p.end - p.begin, p.tasks, units);
    p.mixed = idle < p.tasks ? idle : p.tasks;
    wi_boxes boxes = {};
    const weft_status status = describe<T, by_columns>(ctx, g, &p.boxed, &boxes);
    p.late = p.tiles <= wi_cholesky_few ? flow_late : 0; /* few tiles: all wait for the chain */
    const size_t in_slots = before + p.slots * slot_bytes;
    const size_t in_ring = p.boxed > 0 ? flow_ring_memory : 0;
    const size_t in_both = in_slots > in_ring ? in_slots : in_ring;
    const size_t in_tiles = sizeof(wi_flow_memory);
    return status == WEFT_OK ? WEFT_LAUNCH_AHEAD((flow_of_columns<T, by_columns>), ctx,
                                                 p.tasks + flow_rehearsals * idle, flow_threads,
                                                 in_both > in_tiles ? in_both : in_tiles, boxes, p)
                             : status;
}

/* Mail has a block of its own, which each launch leaves for the next one. */
weft_status wi_cholesky_flow_memory(weft_context *ctx, const wi_cholesky_args *g, size_t columns,
                                    wi_cholesky_steps *steps) {
    static const char mail = 0;
    const size_t records = tiles_of(columns) * wi_strips;
    const size_t counts = tiles_of(g->n) * sizeof(wi_flow_counts);
    const weft_status status =
        wi_cholesky_memory(ctx, records * flow_record * sizeof(double), &steps->flow);
    return status == WEFT_OK
               ? wi_gpu_scratch(ctx, &mail, sizeof(wi_flow_mail) + counts, &steps->mail)
               : status;
}

weft_status wi_cholesky_run_flow(weft_context *ctx, const wi_cholesky_args *args,
                                 const wi_cholesky_steps *steps) {
    if (args->type == WEFT_F64)
        return args->upper ? run<double, false>(ctx, args, steps)
                           : run<double, true>(ctx, args, steps);
    return args->upper ? run<float, false>(ctx, args, steps) : run<float, true>(ctx, args, steps);
}

static weft_status take_memory(weft_context *ctx, const wi_cholesky_args *g,
                               wi_cholesky_steps *all) {
    const size_t columns = g->columns > 0 ? g->columns : g->n;
    *all = {0, columns, (unsigned)ctx->gpu->multiprocessors, NULL, NULL, NULL};
    return wi_cholesky_flow_memory(ctx, g, columns, all);
}

weft_status wi_cholesky_flow_prepare(weft_context *ctx, const wi_cholesky_args *args) {
    wi_cholesky_steps unused;
    return take_memory(ctx, args, &unused);
}

weft_status wi_cholesky_flow(weft_context *ctx, const void *args) {
    const wi_cholesky_args *const g = (const wi_cholesky_args *)args;
    wi_cholesky_steps all;
    const weft_status status = take_memory(ctx, g, &all);
    return status == WEFT_OK ? wi_cholesky_run_flow(ctx, g, &all) : status;
}
