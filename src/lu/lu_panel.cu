/* SPDX-License-Identifier: Apache-2.0 */
/* Panels in one cluster: which shape for how many rows. (cuda/cluster.cuh, cuda/bulk.cuh) */
#include "lu/lu_panel.cuh"

#include "lu/lu_cuda.cuh"

/* Few rows want small blocks, whose warps meet sooner; many want all registers of 16
 * multiprocessors, and narrower panels. */
template <class T>
using tiny = wi_lu_panel_shape<T, 128, 1, 32>;
template <class T>
using small = wi_lu_panel_shape<T, 256, 1, 32>;
template <class T>
using medium = wi_lu_panel_shape<T, 512, 1, 32>;
template <class T>
using tall = wi_lu_panel_shape<T, 512, 2, 16>;
template <class T>
using taller = wi_lu_panel_shape<T, 512, 4, 8>;
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

template <class Shape>
static weft_status launch(weft_context *ctx, const wi_lu_panel *panel) {
    using T = typename Shape::T;
    const wi_lu_args *const args = panel->args;
    const size_t rows = args->m - panel->first;
    const unsigned needed = (unsigned)((rows + Shape::rows_of_block - 1) / Shape::rows_of_block);
    const unsigned blocks = needed > fewest ? needed : fewest;
    const wi_lu_panel_params<T> p = {(T *)wi_lu_at(args, panel->first, panel->first),
                                     args->lda,
                                     (unsigned)rows,
                                     (int)panel->width,
                                     (int64_t)panel->first,
                                     args->pivot + panel->first,
                                     args->first};
    return WEFT_LAUNCH_CLUSTER(wi_lu_factor_panel<Shape>, ctx, blocks, Shape::threads, blocks, 0,
                               p);
}

template <class T>
static weft_status factor(weft_context *ctx, const wi_lu_panel *panel) {
    const size_t rows = panel->args->m - panel->first;
    if (rows <= most_rows<tiny<T>>(portable))
        return launch<tiny<T>>(ctx, panel);
    if (rows <= most_rows<small<T>>(WI_LARGEST_CLUSTER))
        return launch<small<T>>(ctx, panel);
    if (rows <= most_rows<medium<T>>(WI_LARGEST_CLUSTER))
        return launch<medium<T>>(ctx, panel);
    if (rows <= most_rows<tall<T>>(WI_LARGEST_CLUSTER))
        return launch<tall<T>>(ctx, panel);
    return rows <= most_rows<taller<T>>(WI_LARGEST_CLUSTER) ? launch<taller<T>>(ctx, panel)
                                                            : launch<tallest<T>>(ctx, panel);
}

weft_status wi_lu_factor_in_cluster(weft_context *ctx, const wi_lu_panel *panel) {
    return panel->args->type == WEFT_F64 ? factor<double>(ctx, panel) : factor<float>(ctx, panel);
}
