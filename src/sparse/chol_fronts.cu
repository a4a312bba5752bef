/* SPDX-License-Identifier: Apache-2.0 */
/* Fronts of up to 64 rows, assembled in shared memory: each by one block of threads, or by one warp
 * if it has up to 32 rows. */
#include "sparse/chol_small.cuh"
#include "sparse/ldlt_cuda.cuh"

constexpr int warps = 4; /* of a block, with a front each */

template <class real>
__global__ void __launch_bounds__(32 * warps)
    wi_factor_warps(wi_device_chol d, int first, int end) {
    WEFT_SHARED(wi_warp_room, f, [warps]);
    const int own = (int)threadIdx.x / 32, number = first + (int)blockIdx.x * warps + own;
    if (number < end)
        wi_factor_by_warp<real>(d, d.front[number], f[own], wi_all_there{});
}

template <class real, int side, bool is_signed>
__global__ void __launch_bounds__(wi_front_block<side>::threads)
    wi_factor_small(wi_device_chol d, int first) {
    WEFT_SHARED(wi_small_room<side>, room, );
    const wi_front_record r = d.front[first + (int)blockIdx.x];
    wi_factor_small_front<real, side, is_signed>(d, r, room, wi_all_there{});
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
    wi_assemble_small<real>(d, r, room.f, wi_all_there{});
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
