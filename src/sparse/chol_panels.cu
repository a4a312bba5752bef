/* SPDX-License-Identifier: Apache-2.0 */
/* Large fronts of a level, all together, 64 columns at a time: L Lt, and L D Lt with known signs.
 */
#include "sparse/chol_panels.cuh"

constexpr int side = WI_PANEL;

/* ---- a panel: its square, the rows below, what is right of it ---- */

template <class real, bool is_signed>
__global__ void __launch_bounds__(wi_front_block<side>::threads)
    wi_factor_squares(wi_device_chol d, wi_front_batch b) {
    WEFT_SHARED(double, f, [side][side + 1]);
    WEFT_SHARED(double, line, [side]);
    WEFT_SHARED(double, corner, [2]);
    WEFT_SHARED(double, product, [side * side / 4]);
    const wi_front_record r = d.front[b.first + (int)blockIdx.x];
    const int width = wi_panel_width(r, b.panel);
    real *const l = wi_front_panel<real>(d, r) + (int64_t)b.panel * side * (r.ld + 1);
    for (int e = (int)threadIdx.x; e < side * side; e += wi_front_block<side>::threads) {
        const int i = e % side, j = e / side;
        f[j][i] = i >= j && i < width ? l[i + (int64_t)j * r.ld] : 0;
    }
    __syncthreads();
    const wi_front_block<side> block = {f, line, corner, width, width};
    const int first = r.first + b.panel * side;
    const auto store = [&](int i, int j, double x) { l[i + (int64_t)j * r.ld] = (real)x; };
    const auto store_inverse = [&](int i, int j, double x) { l[j + (int64_t)i * r.ld] = (real)x; };
    const int done = is_signed ? block.run_signed(d.pivots, first, store) : block.run(store);
    block.invert(product, done, store_inverse);
    if (done < width && threadIdx.x == 0)
        wi_chol_tell_failed(d, first + done);
}

/* L(rows below, panel) = A(rows below, panel) / L(panel, panel)' / D, a row for each thread. */
template <class real, bool is_signed>
__global__ void __launch_bounds__(WI_FRONT_ROWS)
    wi_solve_below(wi_device_chol d, wi_front_batch b) {
    WEFT_SHARED(double, l, [side][side]);
    WEFT_SHARED(double, reciprocal, [side]);
    WEFT_SHARED(double, pivot, [side]); /* the diagonal of L, or D */
    const wi_front_share share = wi_share_of(b.sums, b.fronts, (int)blockIdx.x);
    const wi_front_record r = d.front[b.first + share.front];
    const int width = wi_panel_width(r, b.panel), begin = b.panel * side;
    const int row = begin + width + share.block * WI_FRONT_ROWS + (int)threadIdx.x;
    real *const panel = wi_front_panel<real>(d, r) + (int64_t)begin * r.ld;
    for (int e = (int)threadIdx.x; e < side * side; e += WI_FRONT_ROWS) {
        const int i = e % side, j = e / side;
        l[j][i] = i >= j && i < width ? panel[begin + i + (int64_t)j * r.ld] : 0;
    }
    __syncthreads();
    if ((int)threadIdx.x < width) {
        const int me = (int)threadIdx.x;
        pivot[me] = is_signed ? d.pivots.d[r.first + begin + me] : l[me][me];
        reciprocal[me] = wi_reciprocal(pivot[me]);
    }
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
        if (!is_signed)
            x[j] *= reciprocal[j];
        panel[row + (int64_t)j * r.ld] =
            (real)(is_signed ? wi_divisor<double>(pivot[j], reciprocal[j]).of(x[j]) : x[j]);
#pragma unroll
        for (int k = j + 1; k < side; k++)
            x[k] = wi_fma(-x[j], l[j][k], x[k]);
    }
}

/* ---- all panels of a level ---- */

template <class real>
static weft_status large_fronts(weft_context *ctx, const weft_chol *plan,
                                const wi_chol_level *level) {
    const wi_device_chol d = wi_chol_device_view(plan);
    const wi_schedule *const schedule = &plan->device->schedule;
    const int32_t *const list = schedule->list;
    const bool is_signed = wi_chol_has_d(plan);
    weft_status status = wi_chol_assemble_large(ctx, plan, level);
    for (int p = 0; p < level->steps && status == WEFT_OK; p++) {
        const wi_chol_step *const step = &schedule->step[level->step + p];
        wi_front_batch b = {wi_first_large(level), step->active, d.list + step->rows_at, p};
        status = WEFT_LAUNCH(
            (is_signed ? wi_factor_squares<real, true> : wi_factor_squares<real, false>), ctx,
            (unsigned)step->active, wi_front_block<side>::threads, 0, d, b);
        if (status == WEFT_OK)
            status = WEFT_LAUNCH(
                (is_signed ? wi_solve_below<real, true> : wi_solve_below<real, false>), ctx,
                (unsigned)list[step->rows_at + step->active], WI_FRONT_ROWS, 0, d, b);
        b.sums = d.list + step->tiles_at;
        if (status == WEFT_OK)
            status =
                wi_chol_update_tiles(ctx, plan, b, (unsigned)list[step->tiles_at + step->active]);
    }
    return status;
}

weft_status wi_chol_large_fronts(weft_context *ctx, const weft_chol *plan,
                                 const wi_chol_level *level) {
    if (level->large == 0)
        return WEFT_OK;
    if (plan->kind == WEFT_CHOL_INDEFINITE)
        return wi_ldlt_large_fronts(ctx, plan, level);
    return plan->narrow ? large_fronts<float>(ctx, plan, level)
                        : large_fronts<double>(ctx, plan, level);
}
