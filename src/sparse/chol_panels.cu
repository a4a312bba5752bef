/* SPDX-License-Identifier: Apache-2.0 */
/* Large fronts of a level, all together: assembled, then 64 columns at a time. What a panel changes
 * is cut into tiles, which tensor cores multiply. */
#include "cuda/async.cuh"
#include "cuda/tensor_f64.cuh"
#include "sparse/chol_cuda.cuh"

constexpr int side = WI_PANEL;

/* A launch over the large fronts of a level: front + k is the first's record number + k. */
struct wi_front_batch {
    int first, fronts;
    const int32_t *sums;
    int panel;
};

/* ---- assembly ---- */

/* Adds column `column` of the parent's front from a child's update, if it has it. */
__device__ static void add_column(const wi_device_chol &d, const wi_front_record &c, int column,
                                  double *to) {
    const int rows = c.height - c.columns;
    const int32_t *const relative = d.relative + c.relative;
    const int j = wi_count_up_to(relative, rows, column) - 1;
    if (j < 0 || relative[j] != column)
        return;
    const double *const update = d.updates + c.update + (int64_t)j * c.ld_update;
    for (int i = j + wi_lane(); i < rows; i += 32)
        to[relative[i]] += update[i];
}

/* A warp does a column: what is in L already, or zeros, and the columns of its children in turn. */
__global__ void __launch_bounds__(wi_front_threads)
    wi_assemble_large(wi_device_chol d, wi_front_batch b) {
    const wi_front_share share = wi_share_of(b.sums, b.fronts, (int)blockIdx.x);
    const wi_front_record r = d.front[b.first + share.front];
    const int column = share.block * wi_front_warps + (int)threadIdx.x / 32;
    if (column >= r.height)
        return;
    double *const to = wi_front_element(d, r, column, column) - column;
    if (column >= r.columns)
        for (int i = column + wi_lane(); i < r.height; i += 32)
            to[i] = 0;
    for (int k = 0; k < r.children; k++) {
        __syncwarp();
        add_column(d, d.front[d.child[r.child + k]], column, to);
    }
}

/* ---- a panel: its square, the rows below, what is right of it ---- */

__device__ static int panel_width(const wi_front_record &r, int p) {
    return r.columns - p * side < side ? r.columns - p * side : side;
}

__global__ void __launch_bounds__(wi_front_block<side>::threads)
    wi_factor_squares(wi_device_chol d, wi_front_batch b) {
    WEFT_SHARED(double, f, [side][side + 1]);
    WEFT_SHARED(double, line, [side]);
    WEFT_SHARED(double, corner, [2]);
    WEFT_SHARED(double, product, [side * side / 4]);
    const wi_front_record r = d.front[b.first + (int)blockIdx.x];
    const int width = panel_width(r, b.panel);
    double *const l = d.l + r.panel + (int64_t)b.panel * side * (r.ld + 1);
    for (int e = (int)threadIdx.x; e < side * side; e += wi_front_block<side>::threads) {
        const int i = e % side, j = e / side;
        f[j][i] = i >= j && i < width ? l[i + (int64_t)j * r.ld] : 0;
    }
    __syncthreads();
    const wi_front_block<side> block = {f, line, corner, product, width, width};
    const int done = block.run([&](int i, int j, double x) { l[i + (int64_t)j * r.ld] = x; },
                               [&](int i, int j, double x) { l[j + (int64_t)i * r.ld] = x; });
    if (done < width && threadIdx.x == 0)
        wi_chol_tell_failed(d, r.first + b.panel * side + done);
}

/* L(rows below, panel) = A(rows below, panel) / L(panel, panel)', a row for each thread. */
__global__ void __launch_bounds__(WI_FRONT_ROWS)
    wi_solve_below(wi_device_chol d, wi_front_batch b) {
    WEFT_SHARED(double, l, [side][side]);
    WEFT_SHARED(double, reciprocal, [side]);
    const wi_front_share share = wi_share_of(b.sums, b.fronts, (int)blockIdx.x);
    const wi_front_record r = d.front[b.first + share.front];
    const int width = panel_width(r, b.panel), begin = b.panel * side;
    const int row = begin + width + share.block * WI_FRONT_ROWS + (int)threadIdx.x;
    double *const panel = d.l + r.panel + (int64_t)begin * r.ld;
    for (int e = (int)threadIdx.x; e < side * side; e += WI_FRONT_ROWS) {
        const int i = e % side, j = e / side;
        l[j][i] = i >= j && i < width ? panel[begin + i + (int64_t)j * r.ld] : 0;
    }
    __syncthreads();
    if ((int)threadIdx.x < width)
        reciprocal[threadIdx.x] = wi_reciprocal(l[threadIdx.x][threadIdx.x]);
    __syncthreads();
    if (row >= r.height)
        return;
    double x[side];
#pragma unroll
    for (int j = 0; j < side; j++)
        x[j] = j < width ? panel[row + (int64_t)j * r.ld] : 0;
#pragma unroll
    for (int j = 0; j < side; j++) {
        if (j >= width)
            break;
        x[j] *= reciprocal[j];
        panel[row + (int64_t)j * r.ld] = x[j];
#pragma unroll
        for (int k = j + 1; k < side; k++)
            x[k] = wi_fma(-x[j], l[j][k], x[k]);
    }
}

constexpr int tile = WI_FRONT_TILE, depth = 16; /* columns of L that arrive together */
constexpr int slots = 4;                        /* of which so many are on their way or in use */
constexpr int tile_warps = 4, tile_threads = 32 * tile_warps;
constexpr int stride = tile + 4; /* lanes of a fragment are in different banks */

/* `depth` columns of L in shared memory: element (i, k) at [k][i]. */
struct wi_tile_rows {
    double at[depth][stride];
};
struct wi_tile_slot {
    wi_tile_rows rows, columns;
};

/* Rows first ... of columns from ... of a front's panel; zeros beyond `rows` and `end`. */
__device__ static void fetch_rows(const double *l, int ld, int first, int rows, int from, int end,
                                  wi_tile_rows *to) {
    constexpr int pairs = tile / 2;
    const int pair = (int)threadIdx.x % pairs, left = rows - first - 2 * pair;
    const int count = left < 0 ? 0 : left > 2 ? 2 : left;
    for (int k = (int)threadIdx.x / pairs; k < depth; k += tile_threads / pairs) {
        const bool is_there = from + k < end && count > 0;
        const double *const p = is_there ? l + first + 2 * pair + (int64_t)(from + k) * ld : l;
        wi_async_copy<16>(&to->at[k][2 * pair], p, is_there ? count * (int)sizeof(double) : 0);
    }
}

/* The sums of a warp, 32 x 32 of a tile. */
struct wi_tile_sums {
    double at[2][4][4] = {};

    __device__ void add(const wi_tile_slot &slot, int row, int column) {
        const int g = wi_lane() / 4, t = wi_lane() % 4;
        double left[2][8], right[4][4];
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int q = 0; q < 8; q++)
                left[m][q] = slot.rows.at[t + 4 * (q / 2)][row + 16 * m + g + 8 * (q % 2)];
#pragma unroll
        for (int n = 0; n < 4; n++)
#pragma unroll
            for (int q = 0; q < 4; q++)
                right[n][q] = slot.columns.at[t + 4 * q][column + 8 * n + g];
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int n = 0; n < 4; n++)
                wi_multiply_f64(at[m][n], left[m], right[n]);
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

/* F(rows, columns) -= L(rows, from ... ) L(columns, from ... )' */
__global__ void __launch_bounds__(tile_threads)
    wi_update_tiles(wi_device_chol d, wi_front_batch b) {
    WEFT_DYNAMIC_SHARED(memory);
    wi_tile_slot *const slot = (wi_tile_slot *)memory;
    const wi_front_share share = wi_share_of(b.sums, b.fronts, (int)blockIdx.x);
    const wi_front_record r = d.front[b.first + share.front];
    const wi_panel_scope scope = wi_panel_scope_of(r.height, r.columns, b.panel);
    const int from = wi_panel_tiles_from(scope);
    const wi_tile_place place = place_of(share.block, wi_pieces(r.height - from, tile));
    const int row = from + place.row * tile, column = from + place.column * tile;
    const int warp = (int)threadIdx.x / 32, below = warp % 2 * 32, right = warp / 2 * 32;
    const int steps = wi_pieces(scope.begin - scope.from, depth);
    const double *const l = d.l + r.panel;
    const auto fetch = [&](int step) {
        const int k = scope.from + step * depth;
        if (step < steps) {
            fetch_rows(l, r.ld, row, r.height, k, scope.begin, &slot[step % slots].rows);
            fetch_rows(l, r.ld, column, scope.end, k, scope.begin, &slot[step % slots].columns);
        }
        wi_async_commit();
    };
    wi_tile_sums sums;
    for (int step = 0; step < slots - 1; step++)
        fetch(step);
    for (int step = 0; step < steps; step++) {
        wi_async_wait<slots - 2>();
        __syncthreads();
        fetch(step + slots - 1);
        sums.add(slot[step % slots], below, right);
    }
    const int g = wi_lane() / 4, t = wi_lane() % 4;
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int n = 0; n < 4; n++)
#pragma unroll
            for (int q = 0; q < 4; q++) {
                const int i = row + below + 16 * m + g + 8 * (q / 2);
                const int j = column + right + 8 * n + 2 * t + q % 2;
                if (j >= scope.begin && i >= j && i < r.height && j < scope.end)
                    *wi_front_element(d, r, i, j) -= sums.at[m][n][q];
            }
}

/* ---- all panels of a level ---- */

weft_status wi_chol_large_fronts(weft_context *ctx, const weft_chol *plan,
                                 const wi_chol_level *level) {
    const wi_device_chol d = wi_chol_device_view(plan);
    const wi_schedule *const schedule = &plan->device->schedule;
    const int32_t *const list = schedule->list;
    const int first = level->first + level->small[0] + level->small[1];
    if (level->large == 0)
        return WEFT_OK;
    const wi_front_batch all = {first, level->large, d.list + level->heights_at, 0};
    weft_status status =
        WEFT_LAUNCH(wi_assemble_large, ctx, (unsigned)list[level->heights_at + level->large],
                    wi_front_threads, 0, d, all);
    for (int p = 0; p < level->steps && status == WEFT_OK; p++) {
        const wi_chol_step *const step = &schedule->step[level->step + p];
        const unsigned below = (unsigned)list[step->rows_at + step->active];
        const unsigned tiles = (unsigned)list[step->tiles_at + step->active];
        wi_front_batch b = {first, step->active, d.list + step->rows_at, p};
        status = WEFT_LAUNCH(wi_factor_squares, ctx, (unsigned)step->active,
                             wi_front_block<side>::threads, 0, d, b);
        if (status == WEFT_OK)
            status = WEFT_LAUNCH(wi_solve_below, ctx, below, WI_FRONT_ROWS, 0, d, b);
        b.sums = d.list + step->tiles_at;
        if (status == WEFT_OK && tiles > 0)
            status = WEFT_LAUNCH(wi_update_tiles, ctx, tiles, tile_threads,
                                 slots * sizeof(wi_tile_slot), d, b);
    }
    return status;
}
