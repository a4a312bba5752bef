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

/* The part of a child's update that goes to a column: from row j of it on. */
struct wi_child_column {
    int64_t update, relative; /* of row 0 */
    int j, rows;              /* none: j is not below rows */
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
        found = {c.update, c.relative, 0, c.height - c.columns};
        ld = c.ld_update;
    }
    const int32_t *const relative = d.relative + found.relative;
    found.j = count_by_groups(relative, found.rows, column) - 1;
    if (found.j < 0 || relative[found.j] != column)
        found.j = found.rows;
    found.update += (int64_t)found.j * ld;
    return found;
}

constexpr int rows_at_once = 4; /* of a lane, 32 apart */

/* Adds a lane's rows of a child's column, `count` of them or as many as go at once, to those of the
 * parent's column: all are read before the first is written, so that they arrive together. */
template <class real>
__device__ static void add_rows(const int32_t *relative, const real *update, int count, real *to) {
    real x[rows_at_once], *place[rows_at_once];
#pragma unroll
    for (int b = 0; b < rows_at_once; b++)
        place[b] = b < count ? to + relative[32 * b] : nullptr;
#pragma unroll
    for (int b = 0; b < rows_at_once; b++)
        x[b] = place[b] ? *place[b] + update[32 * b] : 0;
#pragma unroll
    for (int b = 0; b < rows_at_once; b++)
        if (place[b])
            *place[b] = x[b];
}

/* Adds column `column` of the parent's front from its children's updates, one after the other. */
template <class real>
__device__ static void add_children(const wi_device_chol &d, const wi_front_record &r, int column,
                                    real *to) {
    constexpr int groups = 32 / group;
    for (int from = 0; from < r.children; from += groups) {
        const wi_child_column mine = find_column(d, r, from, column);
        for (int g = 0; g < groups && from + g < r.children; g++) {
            const wi_child_column c = wi_shuffle(mine, g * group);
            const int32_t *const relative = d.relative + c.relative;
            const real *const update = (const real *)d.updates + c.update;
            __syncwarp();
            for (int i = c.j + wi_lane(); i < c.rows; i += 32 * rows_at_once)
                add_rows(relative + i, update + i, wi_pieces(c.rows - i, 32), to);
        }
    }
}

/* A warp does a column: what is in L already, or zeros, and the columns of its children in turn. */
template <class real>
__global__ void __launch_bounds__(wi_front_threads)
    wi_assemble_large(wi_device_chol d, wi_front_batch b) {
    const wi_front_share share = wi_share_of(b.sums, b.fronts, (int)blockIdx.x);
    const wi_front_record r = d.front[b.first + share.front];
    const int column = (share.block + b.panel) * wi_front_warps + (int)threadIdx.x / 32;
    if (column >= r.height)
        return;
    real *const to = wi_front_element<real>(d, r, column, column) - column;
    if (column >= r.columns)
        for (int i = column + wi_lane(); i < r.height; i += 32)
            to[i] = 0;
    add_children(d, r, column, to);
}

static weft_status assemble(weft_context *ctx, const weft_chol *plan, const wi_chol_level *level,
                            int first, int blocks) {
    const wi_device_chol d = wi_chol_device_view(plan);
    const wi_front_batch b = {wi_first_large(level), level->large, d.list + level->heights_at,
                              first};
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
