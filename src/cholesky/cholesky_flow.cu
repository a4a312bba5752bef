/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of a matrix in one kernel. A block of threads draws a task, two tiles of 64 x 64, one
 * below the other; takes from them all that the columns before them have, as soon as these are
 * known, then makes them tiles of L, a strip of 16 columns after the other, and tells of them.
 * Those who draw the tile below the diagonal have the next one on the diagonal beside it, and
 * factor that.
 *
 * Tiles that a block waits for are in tasks drawn before its own: they are done, or other blocks
 * have them that run. Nobody waits for a block that has not begun; but in small matrices the blocks
 * of one cluster, which have the tiles on the diagonal and are drawn by nobody. */
#include "cholesky/cholesky_cost.h"
#include "cholesky/cholesky_flow_block.cuh"

#include "cuda/ahead.cuh"
#include "cuda/bulk.cuh"
#include "cuda/cluster.cuh"
#include "cuda/limit.cuh"
#include "cuda/tensor_f64.cuh"

WI_LIMIT(unsigned, wi_cholesky_boxed, 6)
WI_LIMIT(unsigned, wi_cholesky_few, 32)
WI_LIMIT(unsigned, wi_cholesky_slots, flow_slots_most)
/* Columns that go one by one, at the end of a matrix and of a block. */
WI_LIMIT(unsigned, wi_cholesky_apart, 64)
WI_LIMIT(unsigned, wi_cholesky_last, 2)
/* Chains that may have begun without the other blocks of their kernels: multiprocessors take
 * kernels one after the other, but those of streams of higher priority first, of which there are
 * six. */
WI_LIMIT(size_t, wi_cholesky_chains, 6)

/* Each block draws once: the last one to do so sets the number for the next launch. Has an earlier
 * launch failed? The first one asks and tells the others, which wait for its tile: they may begin
 * while this launch fails, and would read what it writes. */
template <class Params>
__device__ static void draw(const Params &p, bool is_idle, wi_flow_shared &shared) {
    wi_flow_sets &sets = p.mail->sets;
    if (p.rehearses() || is_idle) {
        shared.launch = 0;
        shared.drawn = p.tasks;
        shared.stops = false;
        return;
    }
    const bool in_chain = blockIdx.x < p.chain;
    const uint32_t even = wi_read_word(&sets.failed[0]), odd = wi_read_word(&sets.failed[1]);
    const uint64_t number = in_chain ? atomicAdd(&sets.next, (unsigned long long)flow_chain_unit)
                                     : wi_take_number(&sets.next);
    const uint64_t drawn = number & UINT32_MAX;
    shared.launch = (uint32_t)(number >> 32);
    shared.drawn = drawn % flow_chain_unit;
    shared.stops = (shared.launch % 2 ? odd : even) > 0;
    if (drawn == 0 && !p.clears && wi_cholesky_has_failed(p.first)) {
        shared.stops = true;
        wi_advance(&sets.failed[shared.launch % 2], 1);
    }
    if (drawn + (in_chain ? flow_chain_unit : 1) == p.tasks + p.chain * (uint64_t)flow_chain_unit)
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

template <class T, bool by_columns, int kind>
__device__ __forceinline__ static void run_block(const wi_boxes &boxes,
                                                 const wi_flow_params<T, by_columns> &p,
                                                 unsigned char *memory, wi_flow_shared &shared) {
    const int warp = wi_shuffle((int)threadIdx.x / 32, 0); /* known to be the same in all lanes */
    constexpr bool chained = kind == WI_FLOW_CHAINED;
    const wi_flow_order order = {p.tiles, p.begin, p.end, p.joined, chained};
    const bool in_chain = chained && blockIdx.x < p.chain;
    bool is_idle = false; /* in the chain's cluster without a tile */
    if constexpr (chained) {
        if (blockIdx.x >= wi_cluster_size() + p.tasks)
            return;
        is_idle = !in_chain && blockIdx.x < wi_cluster_size();
    }
    wi_wait_for_earlier();
    if (threadIdx.x == 0)
        draw(p, is_idle, shared);
    __syncthreads();
    if (chained ? blockIdx.x == 0 : shared.drawn == 0)
        clear_for_next(p, shared.launch);
    wi_flow_block<T, by_columns, kind> flow = {{{{p,
                                                  &boxes,
                                                  *(wi_flow_memory *)memory,
                                                  shared,
                                                  shared.launch,
                                                  warp / wi_strips,
                                                  warp % wi_strips,
                                                  {p.begin, p.begin, false, false, true, false},
                                                  p.rehearses(),
                                                  0,
                                                  0,
                                                  {}}},
                                                0,
                                                false}};
    flow.begin();
    if constexpr (chained)
        if (blockIdx.x < wi_cluster_size()) {
            flow.task = order.on_diagonal(p.begin + blockIdx.x);
            if (in_chain)
                flow.run_chain();
            return;
        }
    if (shared.stops)
        return;
    if (!flow.rehearses)
        flow.task = order.at(shared.drawn);
    flow.run();
}

/* Before compute capability 9.0 there are neither boxes nor clusters. */
template <class T, bool by_columns, int kind>
__global__ void __launch_bounds__(flow_threads, 1)
    flow_of_columns(const __grid_constant__ wi_boxes boxes,
                    const __grid_constant__ wi_flow_params<T, by_columns> p) {
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(wi_flow_shared, shared, );
    if constexpr (kind == WI_FLOW_PLAIN || wi_flow_has_boxes)
        run_block<T, by_columns, kind>(boxes, p, memory, shared);
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

/* The first column that goes by itself: the last ones of a matrix do, where the chain is what takes
 * time, and a few at the end of a block, for small tasks end more alike. */
static unsigned joined_columns(unsigned tiles, unsigned begin, unsigned end) {
    const unsigned apart = end < tiles ? wi_cholesky_last : wi_cholesky_apart;
    return end > begin + apart ? end - apart : begin;
}

template <class T, bool by_columns, int kind>
struct flow_call {
    using Params = wi_flow_params<T, by_columns>;
    static constexpr bool joins = kind == WI_FLOW_JOINED, chained = kind == WI_FLOW_CHAINED;
    static constexpr size_t before = flow_slots_at<T, kind>;
    static constexpr size_t ring_bytes = flow_ring_memory<1 + joins, kind> + (chained ? before : 0);

    weft_context *ctx;
    const wi_cholesky_args *g;
    const wi_cholesky_steps *s;
    unsigned boxed; /* a task with so many columns before its own reads boxes; 0: none does */
    const wi_boxes *boxes;

    unsigned slots() const {
        const size_t all = before + flow_slots_most * sizeof(wi_flow_slot<T>);
        return all <= ctx->gpu->shared_optin ? wi_cholesky_slots : flow_slots_most / 2;
    }
    size_t shared_bytes() const {
        const size_t in_slots = before + slots() * sizeof(wi_flow_slot<T>);
        const size_t in_both = boxed > 0 && ring_bytes > in_slots ? ring_bytes : in_slots;
        const size_t in_tiles = joins ? sizeof(wi_flow_joined_memory) : sizeof(wi_flow_memory);
        return in_both > in_tiles ? in_both : in_tiles;
    }
    Params params() const {
        Params p = {};
        p.a = (T *)g->a;
        p.ld = g->lda;
        p.n = g->n;
        p.tiles = (unsigned)tiles_of(g->n);
        p.begin = (unsigned)(s->first / flow_side);
        p.end = (unsigned)tiles_of(s->first + s->columns);
        p.joined = joins ? joined_columns(p.tiles, p.begin, p.end) : p.begin;
        p.chain = chained ? p.end - p.begin : 0;
        p.tasks = (unsigned)wi_flow_order{p.tiles, p.begin, p.end, p.joined, chained}.count();
        p.packs = !g->upper && (uintptr_t)g->a % 16 == 0 && g->lda * sizeof(T) % 16 == 0;
        p.slots = slots();
        p.boxed = boxed;
        p.late = p.tiles <= wi_cholesky_few ? flow_late : 0; /* few tiles: all wait for the chain */
        p.records = (double *)s->flow;
        p.mail = (wi_flow_mail *)s->mail;
        p.first = g->first;
        p.clears = s->first == 0;
        return p;
    }
    weft_status launch() const {
        Params p = params();
        const unsigned units = (unsigned)ctx->gpu->multiprocessors;
        const unsigned idle = rehearsing(p.end - p.begin, p.tasks, units);
        p.mixed = idle < p.tasks ? idle : p.tasks;
        return WEFT_LAUNCH_AHEAD((flow_of_columns<T, by_columns, kind>), ctx,
                                 p.tasks + flow_rehearsals * idle, flow_threads, shared_bytes(),
                                 *boxes, p);
    }

    /* ---- of a matrix whose tiles on the diagonal are a cluster's ---- */

    unsigned cluster() const {
        unsigned blocks = 2;
        while (blocks < tiles_of(g->n))
            blocks *= 2;
        return blocks;
    }
    bool is_small() const {
        const size_t tiles = tiles_of(g->n);
        return ctx->gpu->capability == 90 && s->first == 0 && s->columns == g->n && tiles > 1 &&
               tiles <= WI_CHOLESKY_CHAIN;
    }
    /* The chain's blocks wait for those of other clusters, of which one must have room, whatever
     * other chains wait. */
    weft_status find_room(bool *has_room) const {
        size_t held = 0;
        const weft_status status = wi_resident_clusters(
            ctx, "flow_of_columns<T, by_columns, kind>", flow_of_columns<T, by_columns, kind>,
            flow_threads, cluster(), shared_bytes(), &held);
        *has_room = held > wi_cholesky_chains;
        return status;
    }
    weft_status launch_chained() const {
        const Params p = params();
        const unsigned size = cluster(), clusters = 1 + (p.tasks + size - 1) / size;
        return WEFT_LAUNCH_CLUSTER((flow_of_columns<T, by_columns, kind>), ctx, size * clusters,
                                   flow_threads, size, shared_bytes(), *boxes, p);
    }
};

template <class T, bool by_columns>
static weft_status run(weft_context *ctx, const wi_cholesky_args *g, const wi_cholesky_steps *s) {
    wi_boxes boxes = {};
    unsigned boxed = 0;
    weft_status status = describe<T, by_columns>(ctx, g, &boxed, &boxes);
    if (status != WEFT_OK)
        return status;
    const flow_call<T, by_columns, WI_FLOW_CHAINED> chained = {ctx, g, s, boxed, &boxes};
    bool has_room = false;
    if (chained.is_small())
        status = chained.find_room(&has_room);
    if (status != WEFT_OK || has_room)
        return status == WEFT_OK ? chained.launch_chained() : status;
    if constexpr (sizeof(T) == sizeof(double))
        if (boxed > 0 && tiles_of(g->n) > wi_cholesky_apart)
            return flow_call<T, by_columns, WI_FLOW_JOINED>{ctx, g, s, boxed, &boxes}.launch();
    return flow_call<T, by_columns, WI_FLOW_PLAIN>{ctx, g, s, boxed, &boxes}.launch();
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
