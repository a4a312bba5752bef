/* SPDX-License-Identifier: Apache-2.0 */
/* What a panel does to the columns beside it: a warp takes a column of 32 rows through the
 * exchanges and, to the right, through the panel's unit lower triangle. */
#include "cuda/launch.cuh"
#include "cuda/types.cuh"
#include "cuda/warp.cuh"
#include "lu/lu_cuda.cuh"

constexpr int side = 32;
constexpr int warps = 8;
constexpr int columns_each = 2; /* of a warp, at least: the triangle is read once for all */

template <class T>
struct apply_params {
    T *a; /* row `first` of the whole matrix, column 0 */
    size_t lda;
    int width;
    size_t first, left, right,
        count;            /* columns left ... first - 1, and right ..., `count` in all */
    const int64_t *pivot; /* of the panel */
};

/* Where rows of a panel go by its exchanges: this lane's row, and the row it was exchanged with if
 * that is beyond the panel and no later lane has the same. */
struct moves {
    int64_t own, partner, own_to, partner_to;
    bool has_partner;
};

__device__ static moves trace(const int64_t *pivot, size_t first, int width) {
    const int lane = wi_lane();
    moves m = {lane, -1, lane, -1, false};
    if (lane < width)
        m.partner = m.partner_to = pivot[lane] - (int64_t)first;
    m.has_partner = m.partner >= width;
    for (int k = 0; k < width; k++) {
        const int64_t with = wi_shuffle(m.partner, k);
        m.own_to = m.own_to == k ? with : m.own_to == with ? k : m.own_to;
        m.partner_to = m.partner_to == k ? with : m.partner_to == with ? k : m.partner_to;
        if (k > lane && with == m.partner)
            m.has_partner = false;
    }
    return m;
}

/* Column c of the panel's triangle at l[c]; x is this lane's row of a column beside. */
template <class T>
__device__ static T solve(const T (*l)[side], T x, int width) {
    const int lane = wi_lane();
#pragma unroll 8
    for (int k = 0; k < width; k++) {
        const T known = wi_shuffle(x, k);
        x = lane > k ? wi_fma(-l[k][lane], known, x) : x;
    }
    return x;
}

template <class T>
__global__ void __launch_bounds__(32 * warps) apply(apply_params<T> p) {
    WEFT_SHARED(T, l, [side][side]);
    WEFT_SHARED(T, top, [warps][side]);
    const int lane = wi_lane(), warp = (int)threadIdx.x / 32;
    for (int c = warp; c < p.width; c += warps)
        l[c][lane] = lane < p.width ? p.a[lane + (p.first + c) * p.lda] : (T)0;
    const moves m = trace(p.pivot, p.first, p.width);
    __syncthreads();
    for (size_t n = (size_t)blockIdx.x * warps + warp; n < p.count;
         n += (size_t)gridDim.x * warps) {
        const bool after = n >= p.first - p.left;
        T *const column = p.a + (after ? p.right + n - (p.first - p.left) : p.left + n) * p.lda;
        const T own = lane < p.width ? column[m.own] : (T)0;
        const T partner = m.has_partner ? column[m.partner] : (T)0;
        __syncwarp();
        if (lane < p.width) {
            if (m.own_to < p.width)
                top[warp][m.own_to] = own;
            else
                column[m.own_to] = own;
        }
        if (m.has_partner) {
            if (m.partner_to < p.width)
                top[warp][m.partner_to] = partner;
            else
                column[m.partner_to] = partner;
        }
        __syncwarp();
        const T x = lane < p.width ? top[warp][lane] : (T)0;
        const T solved = after ? solve(l, x, p.width) : x;
        if (lane < p.width)
            column[lane] = solved;
    }
}

template <class T>
static weft_status launch(weft_context *ctx, const wi_lu_panel *panel, wi_lu_columns whole) {
    const wi_lu_args *const args = panel->args;
    const size_t right = panel->first + panel->width;
    const size_t count = panel->first - whole.first + whole.end - right;
    const size_t wanted = (count + warps * columns_each - 1) / (warps * columns_each);
    const size_t most = 8 * (size_t)ctx->gpu->multiprocessors;
    const apply_params<T> p = {(T *)wi_lu_at(args, panel->first, 0),
                               args->lda,
                               (int)panel->width,
                               panel->first,
                               whole.first,
                               right,
                               count,
                               args->pivot + panel->first};
    if (count == 0)
        return WEFT_OK;
    return WEFT_LAUNCH(apply<T>, ctx, (unsigned)(wanted < most ? wanted : most), 32 * warps, 0, p);
}

weft_status wi_lu_apply(weft_context *ctx, const wi_lu_panel *panel, wi_lu_columns whole) {
    return panel->args->type == WEFT_F64 ? launch<double>(ctx, panel, whole)
                                         : launch<float>(ctx, panel, whole);
}
