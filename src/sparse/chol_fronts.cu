/* SPDX-License-Identifier: Apache-2.0 */
/* Fronts of up to 64 rows, assembled in shared memory: each by one block of threads, or by one warp
 * if it has up to 32 rows. */
#include "sparse/chol_warps.cuh"
#include "sparse/ldlt_cuda.cuh"

constexpr int warps = 4; /* of a block, with a front each */

template <class real>
__global__ void __launch_bounds__(32 * warps)
    wi_factor_warps(wi_device_chol d, int first, int end) {
    WEFT_SHARED(double, f, [warps][wi_warp_side][wi_warp_stride]);
    const int own = (int)threadIdx.x / 32, number = first + (int)blockIdx.x * warps + own;
    if (number >= end)
        return;
    const wi_front_record r = d.front[number];
    const wi_warp_front<real> front = {d, r, f[own]};
    front.assemble();
    const int done = front.eliminate();
    front.invert(done);
    front.store(done);
    if (done < r.columns && wi_lane() == 0)
        wi_chol_tell_failed(d, r.first + done);
}

/* Adds a child's update to f. Columns of a thread are read eight at a time, so that they arrive
 * together. */
template <class real, int side>
__device__ void wi_add_child(const wi_device_chol &d, const wi_front_record &c,
                             double (&f)[side][side + 1]) {
    constexpr int across = wi_front_block<side>::threads / side, batch = 8;
    const int row = (int)threadIdx.x % side, rows = c.height - c.columns;
    const int32_t *const to = d.relative + c.relative;
    const real *const update = wi_front_update<real>(d, c) + row;
    if (row >= rows)
        return;
    const int place = to[row];
    for (int from = (int)threadIdx.x / side; from <= row; from += across * batch) {
        double x[batch];
        int column[batch];
#pragma unroll
        for (int b = 0; b < batch; b++) { /* the last one again, if there is none */
            const int j = from + b * across < row ? from + b * across : row;
            column[b] = to[j];
            x[b] = update[(int64_t)j * c.ld_update];
        }
#pragma unroll
        for (int b = 0; b < batch; b++)
            if (from + b * across <= row)
                f[column[b]][place] += x[b];
    }
}

/* f = the columns of the front, in which the entries of A are, and zeros; then the children's
 * updates, one child after the other. */
template <class real, int side>
__device__ void wi_assemble_small(const wi_device_chol &d, const wi_front_record &r,
                                  double (&f)[side][side + 1]) {
    constexpr int across = wi_front_block<side>::threads / side;
    const int row = (int)threadIdx.x % side, column = (int)threadIdx.x / side;
    const real *const panel = wi_front_panel<real>(d, r) + row;
#pragma unroll 16
    for (int j = column; j < side; j += across)
        f[j][row] =
            j < r.columns && row >= j && row < r.height ? (double)panel[(int64_t)j * r.ld] : 0;
    for (int k = 0; k < r.children; k++) {
        const wi_front_record c = d.front[d.child[r.child + k]];
        __syncthreads();
        wi_add_child<real>(d, c, f);
    }
    __syncthreads();
}

template <class real, int side, bool is_signed>
__global__ void __launch_bounds__(wi_front_block<side>::threads)
    wi_factor_small(wi_device_chol d, int first) {
    WEFT_SHARED(double, f, [side][side + 1]);
    WEFT_SHARED(double, line, [side]);
    WEFT_SHARED(double, corner, [2]);
    WEFT_SHARED(double, product, [side * side / 4]);
    const wi_front_record r = d.front[first + (int)blockIdx.x];
    wi_assemble_small<real>(d, r, f);
    const wi_front_block<side> block = {f, line, corner, r.height, r.columns};
    real *const panel = wi_front_panel<real>(d, r);
    const auto store = [&](int i, int j, double x) {
        *wi_front_element<real>(d, r, i, j) = (real)x;
    };
    const auto store_inverse = [&](int i, int j, double x) {
        panel[j + (int64_t)i * r.ld] = (real)x;
    };
    const int done = is_signed ? block.run_signed(d.pivots, r.first, store) : block.run(store);
    block.invert(product, done, store_inverse);
    if (done < r.columns && threadIdx.x == 0)
        wi_chol_tell_failed(d, r.first + done);
}

/* The same where pivots are chosen: all columns of the front are one window. */
template <class real, int side>
__global__ void __launch_bounds__(wi_front_block<side>::threads)
    wi_pivot_small(wi_device_chol d, int first) {
    constexpr int threads = wi_front_block<side>::threads;
    WEFT_SHARED(wi_pivot_room<side>, room, );
    WEFT_SHARED(double, product, [side * side / 4]);
    const wi_front_record r = d.front[first + (int)blockIdx.x];
    real *const panel = wi_front_panel<real>(d, r);
    wi_assemble_small<real>(d, r, room.f);
    wi_pivot_square<side> square = {room, d.pivots, r.first, r.height, r.columns, r.columns};
    const int done = square.run(), row = (int)threadIdx.x % side;
    if (done < r.columns && threadIdx.x == 0)
        wi_chol_tell_failed(d, r.first + done);
    if ((int)threadIdx.x < r.columns)
        d.pivots.order[r.first + (int)threadIdx.x] = r.first + room.order[threadIdx.x];
    for (int j = (int)threadIdx.x / side; j <= row; j += threads / side) {
        if (row < r.height)
            *wi_front_element<real>(d, r, row, j) = (real)room.f[j][row];
        if (row >= done)
            room.f[j][row] = row == j;
    }
    __syncthreads();
    wi_store_inverse<threads>(room.f, product, done, [&](int i, int j, double x) {
        panel[j + (int64_t)i * r.ld] = (real)x;
    });
}

/* Fronts of L D Lt, or of L Lt if they are not tiny. */
template <class real, int side>
static weft_status launch(weft_context *ctx, const wi_device_chol &d, int first, int count) {
    void (*kernel)(wi_device_chol, int) =
        d.pivots.order ? wi_pivot_small<real, side> : wi_factor_small<real, side, true>;
    if constexpr (side > WI_FRONT_TINY)
        if (!d.pivots.d)
            kernel = wi_factor_small<real, side, false>;
    return count == 0 ? WEFT_OK
                      : WEFT_LAUNCH(kernel, ctx, (unsigned)count, wi_front_block<side>::threads, 0,
                                    d, first);
}

/* Fronts of up to WI_FRONT_TINY rows. */
template <class real>
static weft_status launch_tiny(weft_context *ctx, const wi_device_chol &d, int first, int count) {
    if (count == 0 || d.pivots.d)
        return launch<real, WI_FRONT_TINY>(ctx, d, first, count);
    return WEFT_LAUNCH(wi_factor_warps<real>, ctx, (unsigned)wi_pieces(count, warps), 32 * warps, 0,
                       d, first, first + count);
}

template <class real>
static weft_status small_fronts(weft_context *ctx, const weft_chol *plan,
                                const wi_chol_level *level) {
    const wi_device_chol d = wi_chol_device_view(plan);
    const int second = level->first + level->small[0];
    const weft_status status = launch_tiny<real>(ctx, d, level->first, level->small[0]);
    return status == WEFT_OK ? launch<real, WI_FRONT_SMALL>(ctx, d, second, level->small[1])
                             : status;
}

weft_status wi_chol_small_fronts(weft_context *ctx, const weft_chol *plan,
                                 const wi_chol_level *level) {
    return plan->narrow ? small_fronts<float>(ctx, plan, level)
                        : small_fronts<double>(ctx, plan, level);
}
