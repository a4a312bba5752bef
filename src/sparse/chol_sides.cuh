/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of a group of right-hand sides on a GPU share, in calls and in graphs. */
#ifndef WI_CHOL_SIDES_CUH
#define WI_CHOL_SIDES_CUH

#include "sparse/chol_cuda.cuh"
#include "sparse/solve.h"

constexpr int wi_side_threads = 256;

/* What the kernels of a group have; `given` and `out` are the caller's, or b and solution. */
struct wi_group_view {
    wi_device_matrix a;
    wi_device_sides s;
    const double *given;
    double *out;
    size_t ldb, ldx;
    int n;
    bool permuted, keep;
    const unsigned *taken; /* if not NULL: which corrections are added */
};
wi_group_view wi_group_view_of(const wi_solve_group *g);

/* Raises figure[q] to |x|; NaN is larger than anything. A whole warp does so. */
__device__ inline void wi_raise(unsigned long long *figure, double x) {
    const unsigned long long bits = (unsigned long long)__double_as_longlong(x < 0 ? -x : x);
    const unsigned long long size = bits & ~(1ull << 63);
    unsigned long long most = size;
    for (int by = 16; by > 0; by /= 2) {
        const unsigned long long other = __shfl_xor_sync(wi_all_lanes, most, by);
        most = other > most ? other : most;
    }
    if (wi_lane() == 0 && most > 0)
        atomicMax(figure, most);
}

__device__ inline int wi_row_of_thread() {
    return (int)(blockIdx.x * wi_side_threads + threadIdx.x);
}

/* A thread for each row. */
template <class... Parameters, class... Arguments>
static weft_status wi_launch_rows(const wi_solve_group *g, void (*kernel)(Parameters...),
                                  Arguments... arguments) {
    return WEFT_LAUNCH(kernel, g->ctx, (unsigned)((g->n - 1) / wi_side_threads + 1),
                       wi_side_threads, 0, arguments...);
}

/* These only queue: x = A \ b, or another part, in the caller's order; its misfit; a correction,
 * and its sizes; x += those whose bit is set; x to g->out, which is device memory. */
weft_status wi_queue_solution(const wi_solve_group *g, const wi_group_view &v);
weft_status wi_queue_misfit(const wi_solve_group *g, const wi_group_view &v);
weft_status wi_queue_correction(const wi_solve_group *g, const wi_group_view &v);
weft_status wi_queue_sum(const wi_solve_group *g, const wi_group_view &v, unsigned taken);
weft_status wi_queue_out(const wi_solve_group *g, const wi_group_view &v);

#endif
