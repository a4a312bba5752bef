/* SPDX-License-Identifier: Apache-2.0 */
/* The assembly of the large fronts of a level. */
#include "sparse/chol_panels.cuh"

/* As wi_count_up_to, for each eight lanes together: they pass the same list, count and x. */
constexpr int group = 8;
__device__ static int count_by_groups(const int32_t *list, int count, int32_t x) {
    int low = 0, left = count;
    while (__ballot_sync(wi_all_lanes, left > 0)) {
        const int step = (left + group - 1) / group, probe = (wi_lane() % group + 1) * step - 1;
        const bool small = left > 0 && probe < left && list[low + probe] <= x;
        const unsigned found = __ballot_sync(wi_all_lanes, small) >> wi_lane() / group * group;
        const int whole = __popc(found & ((1u << group) - 1)) * step;
        low += whole;
        left = step - 1 < left - whole ? step - 1 : left - whole;
    }
    return low;
}

/* A child's column that goes to a column of its parent, what is still to be added of it: rows j ...
 * end - 1 of `rows`. */
struct wi_child_column {
    int64_t update, relative; /* of row 0 */
    int j, end, rows;         /* none: j is not below rows */
};

/* What the lane's child, of those from `from` on that four groups of lanes look at, has for column
 * `column`. */
__device__ static wi_child_column find_column(const wi_device_chol &d, const wi_front_record &r,
                                              int from, int column) {
    const int k = from + wi_lane() / group;
    wi_child_column found = {};
    int32_t ld = 0;
    if (k < r.children) {
        const wi_front_record &c = d.front[d.child[r.child + k]];
        found = {c.update, c.relative, 0, 0, c.height - c.columns};
        ld = c.ld_update;
    }
    const int32_t *const relative = d.relative + found.relative;
    found.j = count_by_groups(relative, found.rows, column) - 1;
    if (found.j < 0 || relative[found.j] != column)
        found.j = found.rows;
    found.update += (int64_t)found.j * ld;
    return found;
}

constexpr int rows_at_once = 4;   /* of a lane, 32 apart */
constexpr int room_of_warp = 512; /* rows of a column that are put together in shared memory */

/* Adds a lane's rows of a child's column, `count` of them or as many as go at once, to those of the
 * parent's column: all are read before the first is written, so that they arrive together. */
template <class real>
__device__ static void add_rows(const int32_t *relative, const real *update, int count, real *to) {
    real x[rows_at_once];
    int32_t at[rows_at_once];
#pragma unroll
    for (int b = 0; b < rows_at_once; b++) {
        at[b] = b < count ? relative[32 * b] : -1;
        x[b] = b < count ? update[32 * b] : 0;
    }
#pragma unroll
    for (int b = 0; b < rows_at_once; b++)
        if (at[b] >= 0)
            to[at[b]] += x[b];
}

/* A column of a front, and the warp's room for some of its rows. */
template <class real>
struct wi_column_rows {
    const wi_device_chol &d;
    real *to, *room; /* row 0 */
    int height;

    /* Rows begin ... end - 1, which are not there yet if they are `fresh`, get what four children
     * have for them. */
    __device__ void add(wi_child_column &mine, int begin, int end, bool fresh) const {
        if (!fresh && !__ballot_sync(wi_all_lanes, mine.j < mine.rows))
            return;
        real *const own = room - begin;
        const int32_t *const relative = d.relative + mine.relative;
        mine.end = mine.rows;
        if (end < height)
            mine.end = mine.j + count_by_groups(relative + mine.j, mine.rows - mine.j, end - 1);
#pragma unroll 4
        for (int i = begin + wi_lane(); i < end; i += 32)
            own[i] = fresh ? 0 : to[i];
        __syncwarp();
        for (int g = 0; g < 32 / group; g++) {
            const wi_child_column c = wi_shuffle(mine, g * group);
            const int32_t *const rows = d.relative + c.relative;
            const real *const update = (const real *)d.updates + c.update;
            for (int i = c.j + wi_lane(); i < c.end; i += 32 * rows_at_once)
                add_rows(rows + i, update + i, wi_pieces(c.end - i, 32), own);
            __syncwarp();
        }
        mine.j = mine.end;
#pragma unroll 4
        for (int i = begin + wi_lane(); i < end; i += 32)
            to[i] = own[i];
        __syncwarp();
    }
};

/* A warp does a column: what is in L already, or zeros, and the columns of its children in turn,
 * four of them at a time. */
template <class real>
__global__ void __launch_bounds__(wi_front_threads)
    wi_assemble_large(wi_device_chol d, wi_front_batch b) {
    WEFT_SHARED(real, room, [wi_front_warps][room_of_warp]);
    const wi_front_share share = wi_share_of(b.sums, b.fronts, (int)blockIdx.x);
    const wi_front_record r = d.front[b.first + share.front];
    const int warp = (int)threadIdx.x / 32;
    const int column = (share.block + b.panel) * wi_front_warps + warp;
    if (column >= r.height)
        return;
    const wi_column_rows<real> rows = {d, wi_front_element<real>(d, r, column, column) - column,
                                       room[warp], r.height};
    const bool in_update = column >= r.columns;
    for (int from = 0; from < r.children || (from == 0 && in_update); from += 32 / group) {
        wi_child_column mine = find_column(d, r, from, column);
        for (int begin = column; begin < r.height; begin += room_of_warp)
            rows.add(mine, begin, begin + room_of_warp < r.height ? begin + room_of_warp : r.height,
                     in_update && from == 0);
    }
}

static weft_status assemble(weft_context *ctx, const weft_chol *plan, const wi_chol_level *level,
                            int first, int blocks) {
    const wi_device_chol d = wi_chol_device_view(plan);
    const wi_front_batch b = {wi_first_large(level), level->large, d.list + level->heights_at,
                              first, 0};
    return WEFT_LAUNCH(plan->narrow ? wi_assemble_large<float> : wi_assemble_large<double>, ctx,
                       (unsigned)blocks, wi_front_threads, 0, d, b);
}

weft_status wi_chol_assemble_large(weft_context *ctx, const weft_chol *plan,
                                   const wi_chol_level *level) {
    const int32_t *const list = plan->device->schedule.list;
    return assemble(ctx, plan, level, 0, list[level->heights_at + level->large]);
}

weft_status wi_chol_assemble_columns(weft_context *ctx, const weft_chol *plan,
                                     const wi_chol_level *level, int begin, int end) {
    return assemble(ctx, plan, level, begin / WI_FRONT_COLUMNS,
                    wi_pieces(end - begin, WI_FRONT_COLUMNS));
}
