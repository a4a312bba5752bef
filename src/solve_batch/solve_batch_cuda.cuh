/* SPDX-License-Identifier: Apache-2.0 */
/* Small systems on a GPU: kernels and their launches. */
#ifndef WI_SOLVE_BATCH_CUDA_CUH
#define WI_SOLVE_BATCH_CUDA_CUH

#include "cuda/launch.cuh"
#include "solve_batch/solve_batch_system.cuh"

constexpr size_t wi_batch_most_blocks = 1 << 20; /* which take turns beyond that */

template <class Shape>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    wi_batch_solve(wi_solve_batch_params<typename Shape::T> p) {
    WEFT_SHARED(wi_batch_board<Shape>, boards, [Shape::systems]);
    const int group = (int)threadIdx.x / Shape::team, i = (int)threadIdx.x % Shape::team;
    const size_t apart = (size_t)gridDim.x * Shape::systems;
    for (size_t first = (size_t)blockIdx.x * Shape::systems; first < p.count; first += apart) {
        const size_t system = first + (size_t)group;
        wi_batch_system<Shape> s = {{p, boards[group], system, system < p.count, i}};
        s.run_task();
        s.meet();
    }
}

/* ---- launches ---- */

template <class Shape>
weft_status wi_batch_launch(weft_context *ctx, const wi_solve_batch_args *g) {
    using T = typename Shape::T;
    const wi_solve_batch_params<T> p = {g->task,
                                        g->transposed,
                                        (int)g->n,
                                        g->nrhs,
                                        g->count,
                                        {(T *)g->a.p, g->a.row, g->a.column, g->a.stride},
                                        {(T *)g->b.p, g->b.row, g->b.column, g->b.stride},
                                        g->pivot,
                                        g->info,
                                        (T)-0.0};
    const size_t blocks = (g->count - 1) / Shape::systems + 1;
    return WEFT_LAUNCH(wi_batch_solve<Shape>, ctx,
                       (unsigned)(blocks < wi_batch_most_blocks ? blocks : wi_batch_most_blocks),
                       Shape::threads, 0, p);
}

template <class T, int order, int rhs>
weft_status wi_batch_of_kind(weft_context *ctx, const wi_solve_batch_args *g) {
    return g->spd ? wi_batch_launch<wi_batch_shape<T, order, rhs, true>>(ctx, g)
                  : wi_batch_launch<wi_batch_shape<T, order, rhs, false>>(ctx, g);
}

template <class T, int order>
weft_status wi_batch_of_order(weft_context *ctx, const wi_solve_batch_args *g) {
    constexpr int several = 16 / (int)sizeof(T);
    return g->nrhs < 2 ? wi_batch_of_kind<T, order, 1>(ctx, g)
                       : wi_batch_of_kind<T, order, several>(ctx, g);
}

template <class T>
weft_status wi_batch_of_type(weft_context *ctx, const wi_solve_batch_args *g) {
    return g->n <= 8    ? wi_batch_of_order<T, 8>(ctx, g)
           : g->n <= 16 ? wi_batch_of_order<T, 16>(ctx, g)
           : g->n <= 32 ? wi_batch_of_order<T, 32>(ctx, g)
                        : wi_batch_of_kind<T, 64, 2>(ctx, g);
}

weft_status wi_solve_batch_registers_f64(weft_context *ctx, const wi_solve_batch_args *g);
weft_status wi_solve_batch_registers_f32(weft_context *ctx, const wi_solve_batch_args *g);

#endif
