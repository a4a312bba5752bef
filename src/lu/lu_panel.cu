/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks in one cluster: which shape for how many rows. (cuda/cluster.cuh, cuda/bulk.cuh,
 * cuda/tensor_f64.cuh) */
#include "lu/lu_block.cuh"

#include "lu/lu_cuda.cuh"

/* Few rows want one block, which sends no messages, as long as its warps have few instructions;
 * then small blocks, whose warps meet sooner; many want all registers of 16 multiprocessors, and
 * narrower panels. A row of the pivot that a warp reads serves all rows of its threads: of f64,
 * where this takes long, they have twice as many. */
template <class T>
constexpr int more = sizeof(T) == 8 ? 2 : 1;
template <class T>
using single = wi_lu_panel_shape<T, 256, 2 / more<T>, 32, true>;
template <class T>
using tiny = wi_lu_panel_shape<T, 128, 1, 32>;
template <class T>
using small = wi_lu_panel_shape<T, 256, 1, 32>;
template <class T>
using medium = wi_lu_panel_shape<T, 512 / more<T>, more<T>, 32>;
template <class T>
using tall = wi_lu_panel_shape<T, 512 / more<T>, 2 * more<T>, 16>;
template <class T>
using taller = wi_lu_panel_shape<T, 512 / more<T>, 4 * more<T>, 8>;
/* Of f64 also with half as many threads more, which leaves them just enough registers: what is
 * narrower instead takes 1.8 times as long. */
template <class Shape>
using more_threads = wi_lu_panel_shape<double, Shape::threads / 2 * 3, Shape::rows, Shape::width>;
template <class T>
using tallest = wi_lu_panel_shape<T, 512, 8, 4>;

constexpr size_t portable = 8; /* blocks of a cluster that any GPU with clusters can hold */
constexpr unsigned fewest = 2; /* that messages travel between: wi_send. One may have no rows */

template <class Shape>
constexpr size_t most_rows(size_t blocks) {
    return blocks * Shape::rows_of_block;
}

/* Where other columns follow a panel, all blocks of a cluster help. */
template <class Shape>
static weft_status launch(weft_context *ctx, const wi_lu_args *args, wi_lu_columns c) {
    using T = typename Shape::T;
    const size_t rows = args->m - c.first;
    const unsigned needed = (unsigned)((rows + Shape::rows_of_block - 1) / Shape::rows_of_block);
    const unsigned holders = Shape::is_single || needed > fewest ? needed : fewest;
    const bool alone = wi_lu_count(c) <= Shape::width;
    const unsigned blocks = alone ? holders : (unsigned)WI_LARGEST_CLUSTER;
    const wi_lu_block_params<T> p = {(T *)wi_lu_at(args, 0, 0),
                                     args->lda,
                                     (int)args->m,
                                     {(int)c.first, (int)c.end},
                                     args->pivot,
                                     args->first,
                                     holders};
    return WEFT_LAUNCH_CLUSTER(wi_lu_factor_block<Shape>, ctx, blocks, Shape::threads, blocks,
                               sizeof(typename wi_lu_block<Shape>::Subtractor::memory), p);
}

/* By this shape, or more threads of it, if these have enough rows. */
template <class Shape>
static bool fits(size_t rows) {
    return rows <= most_rows<Shape>(WI_LARGEST_CLUSTER) ||
           (sizeof(typename Shape::T) == 8 &&
            rows <= most_rows<more_threads<Shape>>(WI_LARGEST_CLUSTER));
}
size_t wi_lu_cluster_width(const weft_context *ctx, size_t rows) {
    if (ctx->gpu->capability < 90)
        return 0;
    if (fits<medium<double>>(rows))
        return medium<double>::width;
    if (fits<tall<double>>(rows))
        return tall<double>::width;
    if (fits<taller<double>>(rows))
        return taller<double>::width;
    return rows <= most_rows<tallest<double>>(WI_LARGEST_CLUSTER) ? tallest<double>::width : 0;
}

template <class Shape>
static weft_status launch_fit(weft_context *ctx, const wi_lu_args *args, wi_lu_columns c) {
    if constexpr (sizeof(typename Shape::T) == 8)
        if (args->m - c.first > most_rows<Shape>(WI_LARGEST_CLUSTER))
            return launch<more_threads<Shape>>(ctx, args, c);
    return launch<Shape>(ctx, args, c);
}

template <class T>
static weft_status factor(weft_context *ctx, const wi_lu_args *args, wi_lu_columns c) {
    const size_t rows = args->m - c.first;
    if (rows <= most_rows<single<T>>(1))
        return launch<single<T>>(ctx, args, c);
    if (rows <= most_rows<tiny<T>>(portable))
        return launch<tiny<T>>(ctx, args, c);
    if (rows <= most_rows<small<T>>(WI_LARGEST_CLUSTER))
        return launch<small<T>>(ctx, args, c);
    if (fits<medium<T>>(rows))
        return launch_fit<medium<T>>(ctx, args, c);
    if (fits<tall<T>>(rows))
        return launch_fit<tall<T>>(ctx, args, c);
    return fits<taller<T>>(rows) ? launch_fit<taller<T>>(ctx, args, c)
                                 : launch<tallest<T>>(ctx, args, c);
}

weft_status wi_lu_factor_in_cluster(weft_context *ctx, const wi_lu_args *args,
                                    wi_lu_columns whole) {
    return args->type == WEFT_F64 ? factor<double>(ctx, args, whole)
                                  : factor<float>(ctx, args, whole);
}
