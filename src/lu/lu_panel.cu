/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks in one cluster: which shape for how many rows. (cuda/cluster.cuh, cuda/bulk.cuh,
 * cuda/tensor_f64.cuh) */
#include "lu/lu_block.cuh"

#include "lu/lu_cuda.cuh"

/* Few rows want small blocks, whose warps meet sooner; many want all registers of 16
 * multiprocessors, and narrower panels. A row of the pivot that a warp reads serves all rows of its
 * threads: of f64, where this takes long, they have twice as many. */
template <class T>
constexpr int more = sizeof(T) == 8 ? 2 : 1;
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
using higher = wi_lu_panel_shape<double, 384, 8, 8>;
template <class T>
using tallest = wi_lu_panel_shape<T, 512, 8, 4>;

constexpr size_t portable = 8; /* blocks of a cluster that any GPU with clusters can hold */
constexpr unsigned fewest = 2; /* that messages travel between: wi_send. One may have no rows */

template <class Shape>
constexpr size_t most_rows(size_t blocks) {
    return blocks * Shape::rows_of_block;
}

size_t wi_lu_cluster_width(const weft_context *ctx, size_t rows) {
    if (ctx->gpu->capability < 90)
        return 0;
    if (rows <= most_rows<medium<double>>(WI_LARGEST_CLUSTER))
        return medium<double>::width;
    if (rows <= most_rows<tall<double>>(WI_LARGEST_CLUSTER))
        return tall<double>::width;
    if (rows <= most_rows<taller<double>>(WI_LARGEST_CLUSTER))
        return taller<double>::width;
    return rows <= most_rows<tallest<double>>(WI_LARGEST_CLUSTER) ? tallest<double>::width : 0;
}

/* Where other columns follow a panel, all blocks of a cluster help. */
template <class Shape>
static weft_status launch(weft_context *ctx, const wi_lu_args *args, wi_lu_columns c) {
    using T = typename Shape::T;
    const size_t rows = args->m - c.first;
    const unsigned needed = (unsigned)((rows + Shape::rows_of_block - 1) / Shape::rows_of_block);
    const unsigned holders = needed > fewest ? needed : fewest;
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

template <class T>
static weft_status factor(weft_context *ctx, const wi_lu_args *args, wi_lu_columns c) {
    const size_t rows = args->m - c.first;
    if (rows <= most_rows<tiny<T>>(portable))
        return launch<tiny<T>>(ctx, args, c);
    if (rows <= most_rows<small<T>>(WI_LARGEST_CLUSTER))
        return launch<small<T>>(ctx, args, c);
    if (rows <= most_rows<medium<T>>(WI_LARGEST_CLUSTER))
        return launch<medium<T>>(ctx, args, c);
    if (rows <= most_rows<tall<T>>(WI_LARGEST_CLUSTER))
        return launch<tall<T>>(ctx, args, c);
    if (rows <= most_rows<taller<T>>(WI_LARGEST_CLUSTER))
        return launch<taller<T>>(ctx, args, c);
    if constexpr (sizeof(T) == 8)
        if (rows <= most_rows<higher>(WI_LARGEST_CLUSTER))
            return launch<higher>(ctx, args, c);
    return launch<tallest<T>>(ctx, args, c);
}

weft_status wi_lu_factor_in_cluster(weft_context *ctx, const wi_lu_args *args,
                                    wi_lu_columns whole) {
    return args->type == WEFT_F64 ? factor<double>(ctx, args, whole)
                                  : factor<float>(ctx, args, whole);
}
