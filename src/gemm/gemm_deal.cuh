/* SPDX-License-Identifier: Apache-2.0 */
/* How tiles of C are dealt out to blocks that stay. The first `whole` tiles go to one block each,
 * in turn. Those left over would keep but some blocks busy: all their steps of k, one tile after
 * the other, are cut into equal shares, one for each block. A share has parts of one tile or two,
 * for it is no longer than a tile's steps.
 *
 * Where a tile has several slices each leaves its sums in `partial`. A few are added up, in order,
 * by the warp that ends last; many by a kernel that runs afterwards, on the whole device:
 * gemm_join.cuh. */
#ifndef WI_GEMM_DEAL_CUH
#define WI_GEMM_DEAL_CUH

#include <math.h>

#include "core/machine.h"
#include "cuda/limit.cuh"
#include "gemm/gemm_cuda.cuh"
#include "gemm/gemm_triangle.cuh"

/* Two blocks may work as a pair, a cluster, on tiles side by side: each brings half of the rows of
 * A, which both need, to both. What is said of blocks and tiles is then true of pairs, and of the
 * two tiles that a pair has. */
template <class Shape>
constexpr int wi_gemm_blocks_of = Shape::is_pair ? 2 : 1;
template <class Shape>
constexpr size_t wi_gemm_dealt_n = (size_t)(Shape::tile_n *wi_gemm_blocks_of<Shape>);

template <class Sum>
struct wi_gemm_deal {
    size_t whole, rest;  /* tiles */
    size_t steps, share; /* of a tile that is cut, of a share; k may end before the steps do */
    Sum *partial;        /* two tiles for each share */
    unsigned *ended;     /* slices that have, for each warp of a tile that is cut, 0 at the end; or
                          * NULL: a kernel adds up the slices */
    wi_gemm_condition when;
    wi_gemm_wanted wanted;
    bool fetches; /* what C was, to the second-level cache, ahead of time */

    __host__ __device__ size_t shares() const {
        return wi_gemm_pieces(rest * steps, share);
    }
    /* Of a tile that is cut: its first and last share. */
    __device__ size_t first_share(size_t cut) const {
        return cut * steps / share;
    }
    __device__ size_t last_share(size_t cut) const {
        return ((cut + 1) * steps - 1) / share;
    }
    /* Where in `partial` a share has its part of the tile, which is its first or its second. */
    __device__ size_t place(size_t of_share, size_t cut) const {
        return 2 * of_share + (of_share * share >= cut * steps ? 0 : 1);
    }
};

/* ---- for blocks that stay ---- */

/* wi_gemm_place_of for one tile after another, of numbers that grow. If these are many a band's
 * first tile is remembered, so that almost none takes divisions. */
template <int band, bool are_many>
struct wi_gemm_walk {
    static_assert((band & (band - 1)) == 0, "then a band's tiles are divided by shifts");
    size_t first = 0, before = 0; /* tile of the band, and its first column of tiles */

    __device__ wi_gemm_place to(size_t tile, size_t tiles_m, size_t tiles_n) {
        if constexpr (!are_many)
            return wi_gemm_place_of<band>(tile, tiles_m, tiles_n);
        const size_t of_band = band * tiles_m;
        while (tile - first >= of_band) {
            first += of_band;
            before += band;
        }
        const size_t within = tile - first, left = tiles_n - before;
        if (left < (size_t)band)
            return {within / left, before + within % left};
        return {within / band, before + within % band};
    }
};

/* ---- for those who add up slices ---- */

/* The key under which memory for their sums is borrowed. */
inline const char wi_gemm_partial_key = 0;

constexpr int wi_gemm_joiners = 256;
/* Elements that one of them takes at once. */
template <class Sum>
constexpr int wi_gemm_joined_run = 16 / (int)sizeof(Sum);

/* As many groups as the device holds at once, and no more than there are slices. */
inline int wi_gemm_joining_lanes(size_t units, size_t runs, size_t slices) {
    constexpr size_t of_unit = 1536, least = 16;
    size_t groups = 1;
    while (groups < wi_gemm_joiners / least && groups * 2 <= slices &&
           runs * groups * 2 <= units * of_unit)
        groups *= 2;
    return (int)(wi_gemm_joiners / groups);
}

/* ---- how it is chosen ---- */

template <class Sum>
struct wi_gemm_plan {
    wi_gemm_deal<Sum> deal;
    bool joins_after; /* by the kernel */
    double seconds;   /* of the blocks that stay, and of the kernel */
};

/* How often a line of 128 bytes of an operand is asked for, beside what it is if lines begin where
 * those of memory do: at multiples of 32 bytes, and elsewhere. */
inline double wi_gemm_line_reads(const void *p, size_t ld, weft_type type) {
    constexpr size_t line = 128, sector = 32;
    constexpr double of_sectors = 1.2, of_others = 1.5;
    const size_t at = (uintptr_t)p | ld * weft_type_size(type);
    return at % line == 0 ? 1 : at % sector == 0 ? of_sectors : of_others;
}

/* Large products of 16-bit floats whose lines are not those of memory: the second-level cache sets
 * the pace. */
inline bool wi_gemm_is_unlined(const wi_gemm_args *g) {
    constexpr double large = (double)((size_t)1 << 31);
    return weft_type_size(g->type) == 2 && (double)g->m * (double)g->n * (double)g->k >= large &&
           (wi_gemm_line_reads(g->a, g->lda, g->type) > 1 ||
            wi_gemm_line_reads(g->b, g->ldb, g->type) > 1);
}
/* Those of few tiles whose k is cut into many slices, and whose factors that cache does not hold.
 */
inline bool wi_gemm_is_deep(const wi_machine *m, const wi_gemm_args *g) {
    constexpr size_t times = 64, least = (size_t)1 << 16; /* of C */
    const double factors = ((double)g->m + (double)g->n) * (double)g->k;
    return weft_type_size(g->type) == 2 && g->k / times >= g->m && g->k / times >= g->n &&
           g->m * g->n >= least &&
           factors * (double)weft_type_size(g->type) > (double)m->cache_bytes;
}

/* How long parts of the work take, in seconds. */
template <class Shape>
struct wi_gemm_pace {
    static constexpr double elements = (double)Shape::tile_m * Shape::tile_n;
    double multiplying, bringing; /* a step of one tile; what each that is at work adds to it */
    double slice;                 /* on one multiprocessor, to add one to the sums */
    double end, least;       /* of a tile: its way to C where nothing hides it; if it is carried */
    double begin, after;     /* to cut tiles at all: by warps, by the kernel */
    double after_each_share; /* the kernel's way through memory */

    wi_gemm_pace(const wi_machine *m, const wi_gemm_args *g) {
        using Sum = typename Shape::Sum;
        const size_t width = weft_type_size(g->out);
        constexpr double depth = 128.0 / sizeof(typename Shape::T);
        constexpr double of_all = 2.5; /* a multiprocessor alone has so many times its part */
        const double peak = sizeof(Sum) == 8 ? m->f64_flops : m->f32_flops;
        const double bytes = elements * sizeof(Sum);
        multiplying = 2 * elements * depth * m->units / (Shape::rate * peak);
        bringing = wi_gemm_is_unlined(g) ? bringing_to_one(m, g) : 0;
        /* small tiles of deep products ask memory for more than it has */
        if (wi_gemm_is_deep(m, g))
            multiplying *= elements < 256 * 128 ? 1.45 : Shape::is_pair ? 0.88 : 1;

        slice = bytes * m->units / (of_all * m->bytes_per_s);
        end =
            Shape::is_staged || Shape::sends_c
                ? Shape::ending * m->launch_s + elements * (double)width * m->units / m->bytes_per_s
                : 0;
        least = Shape::carries_c ? 2 * m->launch_s : 0;
        begin = 0.9 * m->launch_s;
        after = 2.2 * m->launch_s;
        after_each_share = 2 * (double)wi_gemm_blocks_of<Shape> * bytes / m->cache_bytes_per_s;
    }

    /* A step of so many tiles, or pairs of them, at the same time. */
    double step(size_t tiles) const {
        return fmax(multiplying, bringing * (double)tiles);
    }

  private:
    /* How long the second-level cache takes for what a block, or a pair, asks for at a step. */
    static double bringing_to_one(const wi_machine *m, const wi_gemm_args *g) {
        constexpr double line = 128, of_cache = 1.7;
        const size_t rows = g->m < Shape::tile_m ? g->m : Shape::tile_m;
        const size_t columns = g->n < Shape::tile_n ? g->n : Shape::tile_n;
        const double of_a =
            (double)rows * (Shape::is_pair ? 0.5 : 1) * wi_gemm_line_reads(g->a, g->lda, g->type);
        const double of_b = (double)columns * wi_gemm_line_reads(g->b, g->ldb, g->type);
        return (double)wi_gemm_blocks_of<Shape> * line * (of_a + of_b) /
               (of_cache * m->cache_bytes_per_s);
    }
};

constexpr size_t wi_gemm_most_slices_of_tile = 256;

/* Factors of what it costs to join slices: tests on emu choose the way by them. */
WI_LIMIT(double, wi_gemm_price_by_warps, 1)
WI_LIMIT(double, wi_gemm_price_by_kernel, 1)

/* One way to cut the tiles left over. */
struct wi_gemm_cut {
    size_t share;
    bool is_aligned, joins_after;
    double seconds;
};

/* Tries shares of so many steps. Where slices of all tiles begin at the same k, blocks meet in the
 * second-level cache; else each brings its operands from memory, but for the part of them that the
 * cache holds. */
template <class Shape>
void wi_gemm_try_share(const wi_machine *m, const wi_gemm_pace<Shape> &pace, const wi_gemm_args *g,
                       size_t rest, size_t steps, size_t share, bool is_aligned,
                       wi_gemm_cut *best) {
    constexpr double line = 128, sides = Shape::tile_m + Shape::tile_n;
    const size_t slices = wi_gemm_pieces(steps, share) + (is_aligned ? 0 : 1);
    const size_t count = is_aligned ? rest * slices : wi_gemm_pieces(rest * steps, share);
    const double by_warps = wi_gemm_price_by_warps * (pace.begin + (double)slices * pace.slice);
    const double by_kernel =
        wi_gemm_price_by_kernel * (pace.after + (double)count * pace.after_each_share);
    const bool after = g->wanted == WI_ALL && (Shape::is_lean || by_kernel < by_warps);
    const double all = line * ((double)g->m + (double)g->n) * (double)steps;
    const double bytes = line * sides * (double)(rest * steps);
    const double held = all > (double)m->cache_bytes ? (double)m->cache_bytes / all : 1;
    const double moving = is_aligned || !Shape::any_share
                              ? 0
                              : bytes * (held / m->cache_bytes_per_s + (1 - held) / m->bytes_per_s);
    const double working = (double)share * pace.step(count);
    const double seconds = (working > moving ? working : moving) + (after ? by_kernel : by_warps);
    if (share < steps && seconds < best->seconds)
        *best = {share, is_aligned, after, seconds};
}

/* Tiles in a row, one for most multiprocessors, would leave the others idle. Each reads elements of
 * the long factor that no other does, so it may be cut anywhere. */
template <class Shape>
bool wi_gemm_is_uneven_row(const wi_gemm_args *g, size_t tiles, size_t units) {
    return (g->m <= Shape::tile_m || g->n <= Shape::tile_n) && 2 * tiles > units &&
           4 * tiles < 3 * units;
}

/* Tiles stay whole where cutting them would not repay the sums' way through memory. Of aligned
 * slices as many are tried as there is room for, and the numbers from which on more would cost more
 * to join than they save. */
template <class Shape>
wi_gemm_cut wi_gemm_best_cut(const weft_context *ctx, const wi_gemm_args *g, size_t rest,
                             bool is_all, size_t steps, size_t units) {
    const wi_machine *const m = wi_machine_of(ctx);
    const wi_gemm_pace<Shape> pace(m, g);
    const size_t even = wi_gemm_pieces(rest * steps, units), room = units / rest;
    const double whole = (double)steps * pace.step(rest);
    wi_gemm_cut best = {steps, true, false, whole};
    if (Shape::any_share ||
        (Shape::evens_thin && is_all && wi_gemm_is_uneven_row<Shape>(g, rest, units)))
        wi_gemm_try_share(m, pace, g, rest, steps, even, false, &best);
    const double of_kernel = (double)rest * pace.after_each_share;
    const size_t counts[] = {room, (size_t)sqrt(whole / pace.slice),
                             (size_t)sqrt(whole / of_kernel)};
    for (const size_t count : counts) {
        const size_t most = count < room ? count : room;
        const size_t slices =
            most < wi_gemm_most_slices_of_tile ? most : wi_gemm_most_slices_of_tile;
        if (slices >= 2)
            wi_gemm_try_share(m, pace, g, rest, steps, wi_gemm_pieces(steps, slices), true, &best);
    }
    if (!is_all && best.seconds > Shape::worth_cutting * whole)
        return {steps, true, false, whole};
    return best;
}

template <class Shape>
wi_gemm_plan<typename Shape::Sum> wi_gemm_plan_for(const weft_context *ctx, const wi_gemm_args *g) {
    const size_t units = wi_gemm_units(ctx, g) / wi_gemm_blocks_of<Shape>;
    const size_t line = 128 / sizeof(typename Shape::T), steps = wi_gemm_pieces(g->k, line);
    const size_t tiles =
        g->wanted == WI_ALL
            ? wi_gemm_pieces(g->m, Shape::tile_m) * wi_gemm_pieces(g->n, wi_gemm_dealt_n<Shape>)
            : wi_gemm_triangle<Shape>(g->m, g->n, g->wanted).count();
    const size_t rest = tiles % units;
    wi_gemm_plan<typename Shape::Sum> plan = {
        {tiles, 0, steps, steps, NULL, NULL, g->when, g->wanted, false}, false, 0};
    const wi_gemm_pace<Shape> pace(wi_machine_of(ctx), g);
    const double of_steps = pace.step(units) * (double)steps;
    const double of_pair = Shape::is_pair ? 0.3 * wi_machine_of(ctx)->launch_s : 0;
    plan.seconds = of_pair + (double)(tiles / units) *
                                 ((of_steps > pace.least ? of_steps : pace.least) + pace.end);
    if (rest == 0 || steps == 0)
        return plan;
    const wi_gemm_cut cut = wi_gemm_best_cut<Shape>(ctx, g, rest, rest == tiles, steps, units);
    plan.seconds += cut.seconds + pace.end;
    if (cut.share == steps)
        return plan;
    plan.joins_after = cut.joins_after;
    plan.deal.whole = tiles - rest;
    plan.deal.rest = rest;
    plan.deal.share = cut.share;
    if (cut.is_aligned)
        plan.deal.steps = wi_gemm_pieces(steps, cut.share) * cut.share;
    return plan;
}

#endif
