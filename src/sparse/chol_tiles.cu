/* SPDX-License-Identifier: Apache-2.0 */
/* What a panel or a window of columns changes in the large fronts of a level, cut into tiles: of
 * doubles tensor cores multiply them, of floats threads do. */

#include <type_traits>

#include "cuda/async.cuh"
#include "cuda/tensor_f64.cuh"
#include "sparse/chol_panels.cuh"

constexpr int tile = WI_FRONT_TILE, depth = 16; /* columns of L that arrive together */
constexpr int slots = 4;                        /* of which so many are on their way or in use */
constexpr int tile_warps = 4, tile_threads = 32 * tile_warps;
constexpr int stride = tile + 4; /* lanes of a fragment are in different banks */

/* How the columns of L are multiplied by D before they meet its rows. */
enum wi_tile_kind {
    WI_TILES_PLAIN, /* L Lt: not at all */
    WI_TILES_SCALED,
    WI_TILES_PAIRED /* pivots may be of two columns: one more column on both sides is there */
};

/* Some columns of L in shared memory: element (i, k) at [k][i]. */
template <class real, int count>
struct wi_tile_rows {
    real at[count][stride];
};
template <class real, int kind>
struct wi_tile_slot {
    static constexpr int halo = kind == WI_TILES_PAIRED;
    wi_tile_rows<real, depth> rows;
    wi_tile_rows<real, depth + 2 * halo> columns;
    double d[depth], e[depth + 2]; /* e[k] of the column before column k */

    /* Element (column, k) of D Lt, of floats. */
    __device__ float right(int k, int column) const {
        const float own = (float)d[k] * columns.at[k + halo][column];
        const float after = halo ? (float)e[k + 1] : 0, before = halo ? (float)e[k] : 0;
        if (after != 0)
            return wi_fma(after, columns.at[k + 2 * halo][column], own);
        return before != 0 ? wi_fma(before, columns.at[k][column], own) : own;
    }
    /* right[n][q] = element (t + 4 q, column + 8 n + g) of D Lt. */
    __device__ void multiply(int column, double (&right)[4][4]) const {
        const int g = wi_lane() / 4, t = wi_lane() % 4;
#pragma unroll
        for (int q = 0; q < 4; q++) {
            const int k = t + 4 * q;
            const double own = d[k], after = halo ? e[k + 1] : 0, before = halo ? e[k] : 0;
            const double *const other = columns.at[after != 0 ? k + 2 * halo : k];
            const double factor = after != 0 ? after : before;
#pragma unroll
            for (int n = 0; n < 4; n++) {
                const double x = own * columns.at[k + halo][column + 8 * n + g];
                right[n][q] = halo ? wi_fma(factor, other[column + 8 * n + g], x) : x;
            }
        }
    }
};
template <class real>
struct wi_tile_slot<real, WI_TILES_PLAIN> {
    static constexpr int halo = 0;
    wi_tile_rows<real, depth> rows, columns;

    __device__ float right(int k, int column) const {
        return columns.at[k][column];
    }
    __device__ void multiply(int column, double (&right)[4][4]) const {
        const int g = wi_lane() / 4, t = wi_lane() % 4;
#pragma unroll
        for (int n = 0; n < 4; n++)
#pragma unroll
            for (int q = 0; q < 4; q++)
                right[n][q] = columns.at[t + 4 * q][column + 8 * n + g];
    }
};

/* Which columns there are: from `begin` on and before `end`. */
struct wi_tile_columns {
    int begin, end;
};

/* Rows first ... of columns from ... of a front's panel; zeros for columns that are not there. Rows
 * come in pairs, for which a column has room. The other one of the last row reaches only sums that
 * nobody keeps: it is a row of the front, or zeros. */
template <class real, int columns>
__device__ static void fetch_rows(const real *l, int ld, int first, int rows, int from,
                                  wi_tile_columns all, wi_tile_rows<real, columns> *to) {
    constexpr int pairs = tile / 2;
    static_assert(WI_FRONT_ALIGNMENT % 2 == 0, "columns of whole pairs");
    const int pair = (int)threadIdx.x % pairs;
    const bool has_row = first + 2 * pair < rows;
    for (int k = (int)threadIdx.x / pairs; k < columns; k += tile_threads / pairs) {
        const bool is_there = from + k >= all.begin && from + k < all.end && has_row;
        const real *const p = is_there ? l + first + 2 * pair + (int64_t)(from + k) * ld : l;
        wi_async_copy<2 * sizeof(real)>(&to->at[k][2 * pair], p, is_there);
    }
}

/* The part of D for the columns from ... */
template <class real, int kind>
__device__ static void fetch_pivots(const wi_device_pivots &p, int first, int from,
                                    wi_tile_columns all, wi_tile_slot<real, kind> *to) {
    const int k = (int)threadIdx.x;
    const auto fetch = [&](double *shared, const double *d, int column) {
        const bool is_there = column >= all.begin && column < all.end;
        wi_async_copy<8>(shared, is_there ? d + first + column : d, is_there);
    };
    if (k < depth)
        fetch(&to->d[k], p.d, from + k);
    if (kind == WI_TILES_PAIRED && k <= depth)
        fetch(&to->e[k], p.e, from + k - 1);
}

/* The sums of a thread. Those of its warp, or its own, begin at `part` of the tile: `add` adds the
 * products of some columns, and `subtract` takes each sum from the number at place(i, j), if that
 * is not NULL. Some numbers are read before the first of them is written, so that they arrive
 * together. */
template <class real>
struct wi_tile_sums;

/* Rows and columns, of a tile or in a front. */
struct wi_tile_part {
    int row, column;
};

/* A warp has 32 x 32 of a tile. */
template <>
struct wi_tile_sums<double> {
    double at[2][4][4] = {};

    __device__ static wi_tile_part part() {
        const int warp = (int)threadIdx.x / 32;
        return {warp % 2 * 32, warp / 2 * 32};
    }
    template <int kind>
    __device__ void add(const wi_tile_slot<double, kind> &slot, int row, int column) {
        const int g = wi_lane() / 4, t = wi_lane() % 4;
        double left[2][8], right[4][4];
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int q = 0; q < 8; q++)
                left[m][q] = slot.rows.at[t + 4 * (q / 2)][row + 16 * m + g + 8 * (q % 2)];
        slot.multiply(column, right);
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int n = 0; n < 4; n++)
                wi_multiply_f64(at[m][n], left[m], right[n]);
    }
    template <class Place>
    __device__ void subtract(wi_tile_part from, wi_tile_part part, Place place) const {
        const int g = wi_lane() / 4, t = wi_lane() % 4;
#pragma unroll
        for (int m = 0; m < 2; m++) {
            double *to[4][4], old[4][4];
#pragma unroll
            for (int n = 0; n < 4; n++)
#pragma unroll
                for (int q = 0; q < 4; q++) {
                    to[n][q] = place(from.row + part.row + 16 * m + g + 8 * (q / 2),
                                     from.column + part.column + 8 * n + 2 * t + q % 2);
                    old[n][q] = to[n][q] ? *to[n][q] : 0;
                }
#pragma unroll
            for (int n = 0; n < 4; n++)
#pragma unroll
                for (int q = 0; q < 4; q++)
                    if (to[n][q])
                        *to[n][q] = old[n][q] - at[m][n][q];
        }
    }
};

/* A thread has every 16th row and every 8th column of a tile. */
template <>
struct wi_tile_sums<float> {
    static constexpr int down = 16, across = tile_threads / down;
    float at[tile / down][tile / across] = {};

    __device__ static wi_tile_part part() {
        return {(int)threadIdx.x % down, (int)threadIdx.x / down};
    }
    template <int kind>
    __device__ void add(const wi_tile_slot<float, kind> &slot, int row, int column) {
#pragma unroll
        for (int k = 0; k < depth; k++) {
            float left[tile / down];
#pragma unroll
            for (int m = 0; m < tile / down; m++)
                left[m] = slot.rows.at[k][row + m * down];
#pragma unroll
            for (int n = 0; n < tile / across; n++) {
                const float right = slot.right(k, column + n * across);
#pragma unroll
                for (int m = 0; m < tile / down; m++)
                    at[m][n] = wi_fma(left[m], right, at[m][n]);
            }
        }
    }
    template <class Place>
    __device__ void subtract(wi_tile_part from, wi_tile_part part, Place place) const {
#pragma unroll
        for (int m = 0; m < tile / down; m++) {
            float *to[tile / across], old[tile / across];
#pragma unroll
            for (int n = 0; n < tile / across; n++) {
                to[n] =
                    place(from.row + part.row + m * down, from.column + part.column + n * across);
                old[n] = to[n] ? *to[n] : 0;
            }
#pragma unroll
            for (int n = 0; n < tile / across; n++)
                if (to[n])
                    *to[n] = old[n] - at[m][n];
        }
    }
};

/* The tile's first row and column, counted in tiles from where the update begins. */
struct wi_tile_place {
    int row, column;
};
__device__ static wi_tile_place place_of(int number, int down) {
    int column = 0;
    while (number >= down - column)
        number -= down - column++;
    return {column + number, column};
}

/* What a front's panel or window changes, and the first row in which that was not done when pivots
 * were chosen; false if nothing is to be done for this block. */
struct wi_tile_scope {
    wi_panel_scope panel;
    int row;
};
template <int kind>
__device__ static bool find_scope(const wi_device_chol &d, const wi_front_record &r, int number,
                                  int panel, int block, wi_tile_scope *scope) {
    if (kind != WI_TILES_PAIRED) {
        *scope = {wi_panel_scope_of(r.height, r.columns, panel, d.flow_from), 0};
        return true;
    }
    const wi_window_state w = d.pivots.window[number];
    const wi_window_place place = wi_window_place_of(r.columns, panel);
    *scope = {wi_window_scope_of(r.height, place, w.first, w.end), w.first + w.width};
    return w.width > 0 && block < wi_panel_tiles(r.height, scope->panel);
}

/* F(rows, columns) -= L(rows, from ... ) D L(columns, from ... )', in the tile that begins there.
 */
template <class real, int kind>
__device__ static void update_tile(const wi_device_chol &d, const wi_front_record &r,
                                   const wi_tile_scope &all, int row, int column,
                                   wi_tile_slot<real, kind> *slot) {
    const wi_panel_scope scope = all.panel;
    const wi_tile_part part = wi_tile_sums<real>::part();
    const int steps = wi_pieces(scope.begin - scope.from, depth);
    const wi_tile_columns columns = {scope.from, scope.begin};
    const real *const l = wi_front_panel<real>(d, r);
    const auto fetch = [&](int step) {
        const int k = scope.from + step * depth;
        wi_tile_slot<real, kind> *const to = &slot[step % slots];
        if (step < steps) {
            fetch_rows(l, r.ld, row, r.height, k, columns, &to->rows);
            fetch_rows(l, r.ld, column, scope.end, k - to->halo, columns, &to->columns);
            if constexpr (kind != WI_TILES_PLAIN)
                fetch_pivots(d.pivots, r.first, k, columns, to);
        }
        wi_async_commit();
    };
    wi_tile_sums<real> sums;
    for (int step = 0; step < slots - 1; step++)
        fetch(step);
    for (int step = 0; step < steps; step++) {
        wi_async_wait<slots - 2>();
        __syncthreads();
        fetch(step + slots - 1);
        sums.add(slot[step % slots], part.row, part.column);
    }
    sums.subtract({row, column}, part, [&](int i, int j) {
        return j >= scope.begin && i >= j && i >= all.row && i < r.height && j < scope.end
                   ? wi_front_element<real>(d, r, i, j)
                   : nullptr;
    });
}

template <class real, int kind>
__global__ void __launch_bounds__(tile_threads)
    wi_update_tiles(wi_device_chol d, wi_front_batch b) {
    WEFT_DYNAMIC_SHARED(memory);
    const wi_front_share share = wi_share_of(b.sums, b.fronts, (int)blockIdx.x);
    const wi_front_record r = d.front[b.first + share.front];
    wi_tile_scope all;
    if (!find_scope<kind>(d, r, b.first + share.front, b.panel, share.block, &all))
        return;
    const int from = wi_panel_tiles_from(all.panel);
    const wi_tile_place place = place_of(share.block, wi_pieces(r.height - from, tile));
    update_tile(d, r, all, from + place.row * tile, from + place.column * tile,
                (wi_tile_slot<real, kind> *)memory);
}

/* The same in stripes of one front. */
template <class real, int kind>
__global__ void __launch_bounds__(tile_threads)
    wi_update_stripes(wi_device_chol d, int number, int panel, wi_front_stripes stripes) {
    WEFT_DYNAMIC_SHARED(memory);
    const wi_front_record r = d.front[number];
    const wi_tile_scope all = {wi_panel_scope_of(r.height, r.columns, panel, d.flow_from), 0};
    const wi_stripe_tile at =
        wi_tile_of_stripes(r.height, all.panel.begin, stripes, {tile, tile}, (int)blockIdx.x);
    update_tile(d, r, all, (at.column + at.row) * tile, at.column * tile,
                (wi_tile_slot<real, kind> *)memory);
}

/* ---- launches ---- */

/* Calls work(real, kind) with a number of the type of L, and with how D is multiplied in. */
template <class Work>
static weft_status by_type(const weft_chol *plan, Work work) {
    const auto by_kind = [&](auto real) {
        switch (plan->kind) {
        case WEFT_CHOL_QUASIDEFINITE:
            return work(real, std::integral_constant<int, WI_TILES_SCALED>{});
        case WEFT_CHOL_INDEFINITE:
            return work(real, std::integral_constant<int, WI_TILES_PAIRED>{});
        default:
            return work(real, std::integral_constant<int, WI_TILES_PLAIN>{});
        }
    };
    return plan->narrow ? by_kind(float{}) : by_kind(double{});
}

weft_status wi_chol_update_tiles(weft_context *ctx, const weft_chol *plan, const wi_device_chol &d,
                                 const wi_front_batch &b, unsigned tiles) {
    return tiles == 0 ? WEFT_OK : by_type(plan, [&](auto real, auto kind) {
        using slot = wi_tile_slot<decltype(real), kind.value>;
        return WEFT_LAUNCH((wi_update_tiles<decltype(real), kind.value>), ctx, tiles, tile_threads,
                           slots * sizeof(slot), d, b);
    });
}

weft_status wi_chol_update_stripes(weft_context *ctx, const weft_chol *plan,
                                   const wi_device_chol &d, const wi_front_record &r, int number,
                                   int panel, wi_front_stripes stripes) {
    const wi_panel_scope scope = wi_panel_scope_of(r.height, r.columns, panel, d.flow_from);
    const int tiles = wi_tiles_of_stripes(r.height, scope.begin, stripes, {tile, tile});
    return tiles == 0 ? WEFT_OK : by_type(plan, [&](auto real, auto kind) {
        if constexpr (kind.value == WI_TILES_PAIRED)
            return wi_fail(ctx, WEFT_EUNSUPPORTED, "stripes are for pivots that stay in place");
        else
            return WEFT_LAUNCH((wi_update_stripes<decltype(real), kind.value>), ctx,
                               (unsigned)tiles, tile_threads,
                               slots * sizeof(wi_tile_slot<decltype(real), kind.value>), d, number,
                               panel, stripes);
    });
}
