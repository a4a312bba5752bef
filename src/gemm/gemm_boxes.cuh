/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that stay and take one tile of C after another, with a warp of its own, the copier, that
 * keeps a ring of slots in shared memory full: the copy engine brings a slot the boxes of A and B
 * of one step of k, 128 bytes of it, and has C's tile ready in the second-level cache. The other
 * warps, the adders, wait for a slot, use it up and give it back. So the copies for the next tile
 * run while the sums of this one are stored. A Shape says how large everything is:
 *
 *   T, Out, Sum          the types
 *   tile_m, tile_n       of C's tile
 *   slots                of the ring
 *   adders, warps        of a block; the copier comes after the adders, then the carrier, if C is
 *                        carried; the others do nothing
 *   copier_registers, adder_registers   of a thread of each
 *   band                 how many columns of tiles go down together: gemm_cuda.cuh
 *   rate                 of flops, beside that of multiply-adds of Sum
 *   any_share            may tiles be cut anywhere? gemm_deal.cuh
 *   evens_thin           are they, where C is one tile wide or high, and tiles are few?
 *   may_turn_c           may C be stored by rows?
 *   writes_rows          is it, where it is only written, if the call asks for it?
 *   read_bytes           of C that a thread reads at once, to add to them
 *   carries_c            does C come and go by shared memory? gemm_carried.cuh
 *   sends_c              does C go by shared memory, as boxes? gemm_sent.cuh
 *   is_staged            do sums go there through it? gemm_staged.cuh
 *   ending               what a tile's end takes beside its way through memory, in launches
 *   is_pair              do two blocks share what they bring? gemm_deal.cuh
 *   is_lean              is it for a C that is only written, in whole runs, alone? It is staged,
 *                        and slices are added up by the kernel
 *   wants_many           is it for more tiles than there are multiprocessors?
 *   begins_ahead         is a block's first tile found before earlier work has ended?
 *   takes_many           are its tiles so many that the next is found from the one before?
 *   worth_cutting        what cutting the tiles left over may take at most, beside whole ones
 *   Adder<A, B>          gemm_groups.cuh, gemm_doubles.cuh, gemm_floats.cuh
 *   parts                A and B are sums of so many matrices; a slot has one of each
 *
 * An Adder holds `count` sums of one thread, `run` of which lie together in C:
 *
 *   add_up(block, steps, turn)   waits for so many slots, adds their products, releases them
 *   each(f)                      calls f(row, column, run of sums) */
#ifndef WI_GEMM_BOXES_CUH
#define WI_GEMM_BOXES_CUH

#include "cuda/ahead.cuh"
#include "cuda/boxes.cuh"
#include "cuda/cluster.cuh"
#include "cuda/group.cuh"
#include "cuda/prefetch.cuh"
#include "cuda/warp.cuh"
#include "gemm/gemm_carried.cuh"
#include "gemm/gemm_cuda.cuh"
#include "gemm/gemm_deal.cuh"
#include "gemm/gemm_panel.cuh"
#include "gemm/gemm_sent.cuh"
#include "gemm/gemm_staged.cuh"
#include "gemm/gemm_triangle.cuh"

/* A piece of the work. */
struct wi_gemm_item {
    size_t row, column;
    size_t first, end; /* of k */
    bool whole;
    size_t cut, share; /* which of the tiles that are cut, and whose part of it, if not whole */
};

template <class Shape, bool a_by_k, bool b_by_k>
struct wi_gemm_boxed_block {
    using T = typename Shape::T;
    using Out = typename Shape::Out;
    using Sum = typename Shape::Sum;
    using Params = wi_gemm_params<T, Out, Sum>;
    using A = wi_gemm_panel<T, Shape::tile_m, a_by_k, Shape::is_pair>;
    using B = wi_gemm_panel<T, Shape::tile_n, b_by_k>;
    using Adder = typename Shape::template Adder<A, B>;
    using Triangle = wi_gemm_triangle<Shape>;
    using Carried = wi_gemm_carried<Shape>;
    using Sent = wi_gemm_sent<Shape>;
    using Staged = wi_gemm_staged<Shape>;
    static constexpr int slots = Shape::slots, depth = A::depth;
    static constexpr int blocks = wi_gemm_blocks_of<Shape>; /* of a pair, else 1 */
    static constexpr size_t dealt_n = wi_gemm_dealt_n<Shape>;
    static constexpr int threads = 32 * Shape::warps;
    static constexpr uint32_t slot_bytes = A::bytes + B::bytes;

    struct barriers {
        wi_barrier full[slots], empty[slots];
        typename Carried::barriers of_c;
        typename Sent::barriers of_sent;
    };
    static constexpr size_t shared_bytes = wi_box_align + (size_t)slots * slot_bytes + Sent::bytes +
                                           sizeof(barriers) + Carried::bytes + Staged::bytes;
    static_assert(sizeof(barriers) % 16 == 0, "what comes behind them is aligned");

    const Params &g;
    const wi_gemm_deal<Sum> &deal;
    char *slot; /* the first */
    barriers &b;

    __device__ static char *first_slot(unsigned char *memory) {
        const uintptr_t past = (uintptr_t)memory % wi_box_align;
        return (char *)memory + (past ? wi_box_align - past : 0);
    }
    __device__ wi_gemm_boxed_block(const Params &g_, const wi_gemm_deal<Sum> &deal_,
                                   unsigned char *memory)
        : g(g_), deal(deal_), slot(first_slot(memory)),
          b(*(barriers *)(slot + (size_t)slots * slot_bytes + Sent::bytes)) {
        if (threadIdx.x == 0) {
            for (int s = 0; s < slots; s++) {
                wi_barrier_init(&b.full[s], 1);
                wi_barrier_init(&b.empty[s], Shape::adders * blocks);
            }
            carried().begin();
            sent().begin();
            wi_barrier_publish();
        }
        if constexpr (blocks > 1)
            wi_cluster_sync(); /* the other block's barriers are there, too */
        else
            __syncthreads();
    }
    /* Which of a pair this block is. */
    __device__ static size_t rank() {
        if constexpr (blocks > 1)
            return wi_cluster_rank();
        return 0;
    }

    using turn = wi_box_turn<slots>;
    /* The part of share number `share` that begins `done` steps behind the share's own beginning;
     * adds its steps to `done`, and makes that 0 at the share's end. */
    __device__ wi_gemm_item part(size_t share, size_t &done) const {
        const size_t all = deal.rest * deal.steps, from = share * deal.share;
        const size_t to = from + deal.share < all ? from + deal.share : all;
        const size_t cut = (from + done) / deal.steps, first = from + done - cut * deal.steps;
        const size_t left = to - from - done, in_tile = deal.steps - first;
        const size_t end = first + (left < in_tile ? left : in_tile);
        done = left <= in_tile ? 0 : done + in_tile;
        return {0,
                0,
                first * depth,
                end * depth < g.k ? end * depth : g.k,
                deal.first_share(cut) == deal.last_share(cut),
                cut,
                share};
    }

    /* Calls f(item) for each piece of this block's work. */
    template <class F>
    __device__ void each_item(F f) const {
        const size_t tiles_m = wi_gemm_pieces(g.m, Shape::tile_m);
        const size_t tiles_n = wi_gemm_pieces(g.n, dealt_n);
        const size_t items = deal.whole + deal.shares();
        size_t done = 0;
        wi_gemm_walk<Shape::band, Shape::takes_many> walk;
        bool is_first = Shape::begins_ahead;
        for (size_t i = blockIdx.x / blocks; i < items; i += done == 0 ? gridDim.x / blocks : 0) {
            wi_gemm_item item = {0, 0, 0, g.k, true, 0, 0};
            size_t tile = i;
            if (i >= deal.whole) {
                item = part(i - deal.whole, done);
                tile = deal.whole + item.cut;
            }
            const wi_gemm_place at = deal.wanted == WI_ALL
                                         ? walk.to(tile, tiles_m, tiles_n)
                                         : Triangle(g.m, g.n, deal.wanted).place(tile);
            item.row = at.row * Shape::tile_m;
            item.column = at.column * dealt_n + rank() * Shape::tile_n;
            if (is_first) {
                wi_wait_for_earlier();
                if (!wi_gemm_holds(deal.when))
                    return;
                is_first = false;
            }
            f(item);
        }
    }

    /* The copier's work, by its warp: one lane starts the copies. */
    __device__ void copy(const wi_boxes *from_a, const wi_boxes *from_b) const {
        turn t = {0, 1}; /* a slot that was never used is empty */
        each_item([&](const wi_gemm_item &item) {
            if (deal.fetches && item.whole && !is_carried(item))
                fetch(item);
            if (wi_lane() == 0)
                copy_item(item, from_a, from_b, t);
            __syncwarp();
        });
    }
    __device__ void copy_item(const wi_gemm_item &item, const wi_boxes *from_a,
                              const wi_boxes *from_b, turn &t) const {
        for (size_t p = item.first; p < item.end; p += depth)
            for (int part = 0; part < Shape::parts; part++, t.next()) {
                wi_barrier *const full = &b.full[t.slot];
                char *const to = slot + (uint32_t)t.slot * slot_bytes;
                wi_barrier_wait(&b.empty[t.slot], t.parity);
                wi_barrier_arrive_expect(full, slot_bytes);
                A::load(to, from_a, (int)item.row, (int)p, part, full, (int)rank());
                B::load(to + A::bytes, from_b, (int)item.column, (int)p, part, full);
            }
    }
    __device__ bool has_turned_c() const {
        return (Shape::may_turn_c || Shape::writes_rows) && g.c_by_rows;
    }
    /* Brings C's tile to the second-level cache, so that those who add to it wait less. */
    template <class To>
    __device__ void fetch_tile(const wi_gemm_item &item, const To *c) const {
        const To *const tile = c + item.row + item.column * g.ldc;
        constexpr uint32_t bytes = Shape::tile_m * (uint32_t)sizeof(To);
        if (!has_turned_c() && (uintptr_t)tile % 16 == 0 && g.ldc * sizeof(To) % 16 == 0 &&
            item.row + Shape::tile_m <= g.m)
            for (size_t j = (size_t)wi_lane(); j < (size_t)Shape::tile_n && item.column + j < g.n;
                 j += 32)
                wi_bulk_prefetch(tile + j * g.ldc, bytes);
    }
    __device__ void fetch(const wi_gemm_item &item) const {
        if constexpr (sizeof(Out) == 2)
            if (g.c_f32) {
                fetch_tile(item, g.c_f32);
                return;
            }
        fetch_tile(item, g.c);
    }

    /* May all of the tile be stored by whole runs? */
    template <class To>
    __device__ bool is_plain(const wi_gemm_item &item, const To *c) const {
        const To *const tile = c + item.row + item.column * g.ldc;
        return !has_turned_c() && (uintptr_t)tile % (sizeof(To) * Adder::run) == 0 &&
               g.ldc % Adder::run == 0 && item.row + Shape::tile_m <= g.m &&
               item.column + Shape::tile_n <= g.n &&
               Triangle::has_all_of(item.row, item.column, deal.wanted);
    }
    __device__ bool is_carried(const wi_gemm_item &item) const {
        return Shape::carries_c && item.whole && is_plain(item, g.c);
    }
    __device__ Carried carried() const {
        return {(char *)(&b + 1), b.of_c};
    }
    __device__ Sent sent() const {
        return {slot + (size_t)slots * slot_bytes, b.of_sent};
    }
    __device__ Staged staged() const {
        return {(char *)(&b + 1) + Carried::bytes + threadIdx.x / 32 * Staged::of_warp};
    }
    /* The carrier's work, by its warp. */
    __device__ void carry() const {
        uint32_t parity = 0;
        each_item([&](const wi_gemm_item &item) {
            Out *const tile = g.c + item.row + item.column * g.ldc;
            if (!is_carried(item))
                return;
            carried().load(tile, g.ldc, g.beta != (Sum)0);
            carried().store(tile, g.ldc, parity);
            parity ^= 1;
        });
    }

    /* The same where tiles are sent. */
    __device__ void send(const wi_boxes *to) const {
        uint32_t parity = 0;
        each_item([&](const wi_gemm_item &item) {
            if (!item.whole)
                return;
            if (wi_lane() == 0)
                sent().send(to, item.row, item.column, parity);
            __syncwarp();
            parity ^= 1;
        });
        if (wi_lane() == 0)
            Sent::finish();
    }

    /* For an adder: waits until the slot is full; returns A, behind which is B. */
    __device__ const char *wait(const turn &t) const {
        wi_barrier_wait(&b.full[t.slot], t.parity);
        return slot + (uint32_t)t.slot * slot_bytes;
    }
    /* For an adder: its warp needs the slot no more. Tensor cores have read it, as the copy engine
     * does, and are done. */
    __device__ void release(const turn &t) const {
        __syncwarp();
        if constexpr (blocks > 1) {
            if (wi_lane() < blocks)
                wi_barrier_arrive_at(&b.empty[t.slot], (unsigned)wi_lane());
        } else if (wi_lane() == 0) {
            wi_barrier_arrive(&b.empty[t.slot]);
        }
    }
    /* The same, if lanes have read it themselves. */
    __device__ void release_read(const turn &t) const {
        wi_bulk_fence();
        release(t);
    }

    /* Where a slice leaves its sums, a tile by columns, for the kernel that adds up all slices. */
    __device__ Sum *slice_of(const wi_gemm_item &item) const {
        const size_t column = deal.place(item.share, item.cut) * dealt_n + rank() * Shape::tile_n;
        return deal.partial + column * Shape::tile_m;
    }
    __device__ bool is_left(const wi_gemm_item &item) const {
        return !item.whole && !deal.ended;
    }
    __device__ void leave(const wi_gemm_item &item, const Adder &sums) const {
        constexpr size_t rows = Shape::tile_m, columns = Shape::tile_n;
        if constexpr (Shape::is_lean)
            staged().write(sums, slice_of(item), rows, rows, columns, (Sum)1);
        else if constexpr (Shape::is_staged)
            staged().store(sums, slice_of(item), rows, rows, columns, (Sum)1, (Sum)0);
        else
            store_all(sums, slice_of(item), rows, (Sum)1, (Sum)0);
    }

    /* Leaves a slice's sums for the warp that ends last; for that one, gets those of all slices. */
    __device__ bool join(const wi_gemm_item &item, int adder, Sum (&sum)[Adder::count]) const {
        constexpr size_t of_warp = (size_t)Adder::count * 32;
        constexpr size_t adders = (size_t)(Shape::adders * blocks), of_tile = of_warp * adders;
        const size_t which = rank() * Shape::adders + (size_t)adder;
        Sum *const partial = deal.partial + which * of_warp + (size_t)wi_lane();
        Sum *const mine = partial + deal.place(item.share, item.cut) * of_tile;
        unsigned *const ended = &deal.ended[item.cut * adders + which];
        const size_t from = deal.first_share(item.cut), to = deal.last_share(item.cut);
#pragma unroll
        for (int q = 0; q < Adder::count; q++)
            mine[q * 32] = sum[q];
        __syncwarp();
        unsigned before = 0;
        if (wi_lane() == 0) {
            __threadfence();
            before = atomicAdd(ended, 1u);
            __threadfence();
        }
        __syncwarp();
        if (wi_shuffle(before, 0) < to - from)
            return false;
        if (wi_lane() == 0)
            *ended = 0;
        const Sum *const first = partial + deal.place(from, item.cut) * of_tile;
#pragma unroll
        for (int q = 0; q < Adder::count; q++)
            sum[q] = first[q * 32];
        for (size_t share = from + 1; share <= to; share++) {
            const Sum *const next = partial + deal.place(share, item.cut) * of_tile;
#pragma unroll
            for (int q = 0; q < Adder::count; q++)
                sum[q] = wi_plus(sum[q], next[q * 32]);
        }
        return true;
    }

    /* Stores all sums of an adder at place(row, column). What they are added to is read several
     * runs at a time, before any is written, which for all the compiler knows is the same. */
    template <class To, class Place>
    __device__ void store_at(const Adder &sums, Sum alpha, Sum beta, const Place &place) const {
        using run = wi_gemm_run<To, Adder::run>;
        using sum_run = wi_gemm_run<Sum, Adder::run>;
        constexpr int runs = Adder::count / Adder::run,
                      at_once = Shape::read_bytes / (int)sizeof(run);
#pragma unroll
        for (int first = 0; first < runs; first += at_once) {
            run old[at_once] = {};
            int q = 0;
            sums.each([&](int i, int j, const sum_run &) {
                if (q >= first && q < first + at_once && beta != (Sum)0)
                    old[q - first] = *(const run *)place(i, j);
                q++;
            });
            q = 0;
            sums.each([&](int i, int j, const sum_run &x) {
                if (q >= first && q < first + at_once)
                    *(run *)place(i, j) = wi_gemm_updated(old[q - first], alpha, x, beta);
                q++;
            });
        }
    }
    template <class To>
    __device__ void store_all(const Adder &sums, To *tile, size_t ldc, Sum alpha, Sum beta) const {
        store_at<To>(sums, alpha, beta,
                     [&](int i, int j) { return tile + (size_t)i + (size_t)j * ldc; });
    }
    /* In the carried tile, whose turns are counted by `parity`. */
    __device__ void store_carried(const Adder &sums, uint32_t &parity) const {
        const Carried tile = carried();
        tile.take(parity);
        parity ^= 1;
        store_at<Out>(sums, g.alpha, g.beta, [&](int i, int j) { return tile.at(i, j); });
        tile.give_back();
    }

    /* Stores an adder's sums in C: elements c and on. */
    template <class To>
    __device__ void store(const wi_gemm_item &item, const Adder &sums, To *c) const {
        if (item.row >= g.m || item.column >= g.n)
            return;
        const size_t down = has_turned_c() ? g.ldc : 1, across = has_turned_c() ? 1 : g.ldc;
        To *const tile = c + item.row * down + item.column * across;
        const size_t rows = g.m - item.row, columns = g.n - item.column;
        const Sum alpha = g.alpha, beta = g.beta;
        using run = wi_gemm_run<To, Adder::run>;
        const bool aligned =
            down == 1 && (uintptr_t)tile % sizeof(run) == 0 && across % Adder::run == 0;
        if constexpr (Shape::is_staged)
            if (down == 1 && Triangle::has_all_of(item.row, item.column, deal.wanted) &&
                staged().store(sums, tile, across, rows, columns, alpha, beta))
                return;
        if constexpr (Shape::writes_rows)
            if (has_turned_c()) {
                store_rows(sums, tile, rows, columns);
                return;
            }
        if (!Shape::is_staged && is_plain(item, c))
            store_all(sums, tile, across, alpha, beta);
        else if (!Shape::is_staged && aligned && beta == (Sum)0 && deal.wanted == WI_ALL)
            sums.each([&](int i, int j, const wi_gemm_run<Sum, Adder::run> &x) {
                To *const to = tile + (size_t)i + (size_t)j * across;
                const bool is_there = (size_t)j < columns && (size_t)i < rows;
                const bool is_whole = is_there && (size_t)(i + Adder::run) <= rows;
                wi_store_if(is_whole, (run *)to, wi_gemm_updated(run{}, alpha, x, beta));
                if (is_there && !is_whole)
                    wi_gemm_update_edge(to, 1, {0, (int)(rows - (size_t)i)}, false, alpha, x, beta);
            });
        else if (beta == (Sum)0 && deal.wanted == WI_ALL)
            sums.each([&](int i, int j, const wi_gemm_run<Sum, Adder::run> &x) {
                To *const to = tile + (size_t)i * down + (size_t)j * across;
#pragma unroll
                for (int q = 0; q < Adder::run; q++)
                    wi_store_if((size_t)j < columns && (size_t)(i + q) < rows,
                                to + (size_t)q * down, (To)wi_gemm_scaled(alpha, x.at[q]));
            });
        else
            sums.each([&](int i, int j, const wi_gemm_run<Sum, Adder::run> &x) {
                const int to_diagonal = (int)(item.column - item.row) + j - i;
                const wi_gemm_range in =
                    wi_gemm_range_of<Adder::run>((int)rows - i, to_diagonal, deal.wanted);
                if ((size_t)j < columns && in.first < in.end)
                    wi_gemm_update_edge(tile + (size_t)i * down + (size_t)j * across, down, in,
                                        aligned, alpha, x, beta);
            });
    }

    /* The same by rows, where C is only written. */
    template <class To>
    __device__ void store_rows(const Adder &sums, To *tile, size_t rows, size_t columns) const {
        const bool aligned = (uintptr_t)tile % (2 * sizeof(To)) == 0 && g.ldc % 2 == 0;
        sums.each_across([&](int i, int j, const wi_gemm_run<Sum, 2> &x) {
            To *const to = tile + (size_t)i * g.ldc + (size_t)j;
            const bool is_first = (size_t)i < rows && (size_t)j < columns;
            const bool is_next = is_first && (size_t)(j + 1) < columns;
            const auto two = wi_gemm_updated(wi_gemm_run<To, 2>{}, g.alpha, x, (Sum)0);
            wi_store_if(aligned && is_next, (wi_gemm_run<To, 2> *)to, two);
            wi_store_if(is_first && !(aligned && is_next), to, two.at[0]);
            wi_store_if(is_next && !aligned, to + 1, two.at[1]);
        });
    }

    __device__ void add(int adder) const {
        turn t = {0, 0};
        uint32_t parity = 0;
        each_item([&](const wi_gemm_item &item) {
            Adder sums(adder);
            const size_t steps = wi_gemm_pieces(item.end - item.first, depth);
            sums.add_up(*this, steps * (size_t)Shape::parts, t);
            if (is_left(item)) {
                leave(item, sums);
                return;
            }
            if constexpr (Shape::is_lean) {
                if (item.row < g.m && item.column < g.n)
                    staged().write(sums, g.c + item.row + item.column * g.ldc, g.ldc,
                                   g.m - item.row, g.n - item.column, g.alpha);
            } else if (item.whole || join(item, adder, sums.sum)) {
                end(item, sums, parity);
            }
        });
    }

  private:
    /* The sums of a tile go to C, the way that its shape has. */
    __device__ void end(const wi_gemm_item &item, const Adder &sums, uint32_t &parity) const {
        if constexpr (Shape::sends_c)
            if (item.whole) {
                sent().put(sums, g.alpha, parity);
                parity ^= 1;
                return;
            }
        if constexpr (Shape::carries_c)
            if (is_carried(item)) {
                store_carried(sums, parity);
                return;
            }
        if constexpr (sizeof(Out) == 2)
            if (g.c_f32) {
                store(item, sums, g.c_f32);
                return;
            }
        store(item, sums, g.c);
    }
};

/* What the kernels below do. */
template <class Shape, bool a_by_k, bool b_by_k, class Params, class Deal>
__device__ inline void wi_gemm_boxed_work(const wi_boxes *from_a, const wi_boxes *from_b,
                                          const wi_boxes *to_c, const Params &g, const Deal &deal,
                                          unsigned char *memory) {
    const wi_gemm_boxed_block<Shape, a_by_k, b_by_k> block(g, deal, memory);
    const int warp = (int)threadIdx.x / 32;
    if constexpr (!Shape::begins_ahead) {
        wi_wait_for_earlier();
        if (!wi_gemm_holds(deal.when))
            return;
    }
    if (warp >= Shape::adders) {
        wi_keep_registers<Shape::copier_registers>();
        if (warp == Shape::adders)
            block.copy(from_a, from_b);
        if constexpr (Shape::carries_c)
            if (warp == Shape::adders + 1)
                block.carry();
        if constexpr (Shape::sends_c)
            if (warp == Shape::adders + 1)
                block.send(to_c);
    } else {
        wi_take_registers<Shape::adder_registers>();
        block.add(warp);
    }
    if constexpr (Shape::is_pair)
        wi_cluster_sync(); /* neither ends while the other may bring it something */
}

template <class Shape, bool a_by_k, bool b_by_k>
__global__ void __launch_bounds__(32 * Shape::warps, 1)
    wi_gemm_boxed(const __grid_constant__ wi_boxes from_a, const __grid_constant__ wi_boxes from_b,
                  wi_gemm_params<typename Shape::T, typename Shape::Out, typename Shape::Sum> g,
                  wi_gemm_deal<typename Shape::Sum> deal) {
    WEFT_DYNAMIC_SHARED(memory);
    wi_gemm_boxed_work<Shape, a_by_k, b_by_k>(&from_a, &from_b, NULL, g, deal, memory);
}

/* The same by pairs. */
template <class Shape, bool a_by_k, bool b_by_k>
__global__ void __launch_bounds__(32 * Shape::warps, 1) WEFT_CLUSTER(2) wi_gemm_boxed_pair(
    const __grid_constant__ wi_boxes from_a, const __grid_constant__ wi_boxes from_b,
    wi_gemm_params<typename Shape::T, typename Shape::Out, typename Shape::Sum> g,
    wi_gemm_deal<typename Shape::Sum> deal) {
    WEFT_DYNAMIC_SHARED(memory);
    wi_gemm_boxed_work<Shape, a_by_k, b_by_k>(&from_a, &from_b, NULL, g, deal, memory);
}

/* The same with C as boxes. */
template <class Shape, bool a_by_k, bool b_by_k>
__global__ void __launch_bounds__(32 * Shape::warps, 1) wi_gemm_boxed_and_sent(
    const __grid_constant__ wi_boxes from_a, const __grid_constant__ wi_boxes from_b,
    const __grid_constant__ wi_boxes to_c,
    wi_gemm_params<typename Shape::T, typename Shape::Out, typename Shape::Sum> g,
    wi_gemm_deal<typename Shape::Sum> deal) {
    WEFT_DYNAMIC_SHARED(memory);
    wi_gemm_boxed_work<Shape, a_by_k, b_by_k>(&from_a, &from_b, &to_c, g, deal, memory);
}

/* What most shapes have in common: two groups of adders, and a third whose registers they take. */
template <class Element, class Out_, class Sum_, int m, int n, int slots_, int band_>
struct wi_gemm_boxed_shape {
    using T = Element;
    using Out = Out_;
    using Sum = Sum_;
    static constexpr int tile_m = m, tile_n = n, slots = slots_, band = band_;
    static constexpr int adders = 8, warps = 12, parts = 1;
    static constexpr bool any_share = false, may_turn_c = false, carries_c = false;
    static constexpr bool is_staged = false, sends_c = false, wants_many = false;
    static constexpr bool writes_rows = false, is_lean = false, evens_thin = false;
    static constexpr bool is_pair = false, begins_ahead = true, takes_many = true;
    static constexpr double ending = 0.25, worth_cutting = 0.85;
    static constexpr int read_bytes = 64;
    static constexpr int copier_registers = 40, adder_registers = 232;
};

#endif
