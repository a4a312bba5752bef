/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of columns of large fronts, by the kernel of dense Cholesky: slice cholesky's rung `flow`.
 * Before it they have lost what the columns before them have. */
#include "cholesky/cholesky_cuda.cuh"
#include "cuda/limit.cuh"
#include "sparse/chol_panels.cuh"

#ifdef WEFT_RING
WI_LIMIT(int, wi_chol_flow_least, 512)

int32_t wi_chol_flow_from(const weft_context *ctx, const weft_chol *plan) {
    const bool has_boxes = ctx->kind == WI_CUDA && ctx->gpu->capability == 90;
    return has_boxes && !plan->narrow && !wi_chol_has_d(plan) ? wi_chol_flow_least : 0;
}
#else
int32_t wi_chol_flow_from(const weft_context *, const weft_chol *) {
    return 0;
}
#endif

constexpr size_t flow_block = WI_FLOW_OUTER * WI_PANEL;
constexpr int square_side = WI_PANEL, square_threads = 128;

/* What the kernel works with, for a block of a front with so many rows. */
static weft_status take_memory(weft_context *ctx, wi_cholesky_args *g, wi_cholesky_steps *steps) {
    static const char words = 0;
    const weft_status status =
        wi_gpu_scratch(ctx, &words, WI_CHOLESKY_WORDS * sizeof *g->first, (void **)&g->first);
    return status == WEFT_OK ? wi_cholesky_flow_memory(ctx, g, flow_block, steps) : status;
}

weft_status wi_chol_flow_block(weft_context *ctx, const wi_device_chol &d, const wi_front_record &r,
                               int begin) {
    const size_t ld = (size_t)r.ld;
    const size_t left = (size_t)(wi_flow_columns(r.columns, d.flow_from) - begin);
    wi_cholesky_args g = {};
    g.type = WEFT_F64;
    g.n = ld - (size_t)begin; /* whole lines: rows behind the front's last are 0 */
    g.a = (double *)d.l + r.panel + (size_t)begin * (ld + 1);
    g.lda = ld;
    g.columns = left < flow_block ? left : flow_block;
    wi_cholesky_steps steps = {};
    steps.columns = g.columns;
    steps.units = (unsigned)ctx->gpu->multiprocessors;
    const weft_status status = take_memory(ctx, &g, &steps);
    return status == WEFT_OK ? wi_cholesky_run_flow(ctx, &g, &steps) : status;
}

weft_status wi_chol_flow_reserve(weft_context *ctx, const wi_schedule *s) {
    wi_cholesky_args g = {};
    wi_cholesky_steps steps = {};
    for (int64_t k = 0; k < wi_schedule_records(s); k++)
        if (wi_flow_columns(s->front[k].columns, s->flow_from) > 0 && (size_t)s->front[k].ld > g.n)
            g.n = (size_t)s->front[k].ld;
    if (g.n == 0)
        return WEFT_OK;
    weft_status status = take_memory(ctx, &g, &steps);
    if (status == WEFT_OK)
        status = wi_gpu_fork(ctx);
    if (status != WEFT_OK)
        return status;
    wi_gpu_take_side(ctx, true);
    status = take_memory(ctx, &g, &steps);
    wi_gpu_take_side(ctx, false);
    const weft_status joined = wi_gpu_join(ctx);
    return status == WEFT_OK ? joined : status;
}

/* ---- inverses of squares on the diagonal ---- */

struct wi_square_inverse {
    double f[square_side][square_side + 1], product[square_side * square_side / 4];
};

/* How many columns of the square are right: the diagonal of the next has a pivot that is none. */
__device__ static int count_squares_right(const double *l, int ld) {
    WEFT_SHARED(unsigned, wrong, [square_side / 32]);
    const int me = (int)threadIdx.x;
    if (me < square_side) {
        const unsigned bad =
            __ballot_sync(wi_all_lanes, !wi_cholesky_is_pivot(l[(int64_t)me * (ld + 1)]));
        if (me % 32 == 0)
            wrong[me / 32] = bad;
    }
    __syncthreads();
    int count = 0;
    for (int k = 0; k < square_side / 32 && count == 32 * k; k++)
        count += wrong[k] ? __ffs((int)wrong[k]) - 1 : 32;
    return count;
}

/* Of the blocks' squares in each front. Says which column is the first whose pivot is none. */
__global__ void __launch_bounds__(square_threads)
    wi_invert_flowed(wi_device_chol d, int first, int flow_from) {
    WEFT_SHARED(wi_square_inverse, room, );
    const wi_front_record r = d.front[first + (int)blockIdx.y];
    const int begin = (int)blockIdx.x * square_side, ld = r.ld;
    if (begin >= wi_flow_columns(r.columns, flow_from))
        return;
    double *const l = wi_front_panel<double>(d, r) + (int64_t)begin * (ld + 1);
    const int done = count_squares_right(l, ld);
#pragma unroll 8
    for (int e = (int)threadIdx.x; e < square_side * square_side; e += square_threads) {
        const int i = e % square_side, j = e / square_side;
        room.f[j][i] = i >= done ? i == j : i >= j ? l[i + (int64_t)j * ld] : 0;
    }
    __syncthreads();
    wi_store_inverse<square_threads>(room.f, room.product, done,
                                     [&](int i, int j, double x) { l[j + (int64_t)i * ld] = x; });
    if (done < square_side && threadIdx.x == 0)
        wi_chol_tell_failed(d, r.first + begin + done);
}

weft_status wi_chol_invert_squares(weft_context *ctx, const weft_chol *plan,
                                   const wi_device_chol &d, int first, int fronts) {
    const wi_schedule *const s = &plan->device->schedule;
    int most = 0, count = 0;
    for (int k = 0; k < fronts; k++) {
        const int columns = wi_flow_columns(s->front[first + k].columns, s->flow_from);
        most = columns > most ? columns : most;
        count = columns > 0 ? k + 1 : count;
    }
    return count == 0 ? WEFT_OK
                      : WEFT_LAUNCH(wi_invert_flowed, ctx,
                                    dim3((unsigned)(most / square_side), (unsigned)count),
                                    square_threads, 0, d, first, s->flow_from);
}

#ifndef WEFT_RING
/* No front has such tiles. */
static weft_status refuse(weft_context *ctx) {
    return wi_fail(ctx, WEFT_EUNSUPPORTED, "this build has no kernels for compute capability 9.0");
}
weft_status wi_chol_update_by_ring(weft_context *ctx, const wi_device_chol &,
                                   const wi_front_batch &, unsigned) {
    return refuse(ctx);
}
weft_status wi_chol_stripes_by_ring(weft_context *ctx, const wi_device_chol &,
                                    const wi_front_record &, const wi_front_batch &,
                                    wi_front_stripes) {
    return refuse(ctx);
}
weft_status wi_chol_describe_fronts(weft_context *ctx, const wi_chol_device *, void *) {
    return refuse(ctx);
}
#endif
