/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder of orderings, and its trivial rungs. */
#include "sparse/order.h"

#include "sparse/symbolic.h"

static const char *fits_i32(const weft_context *ctx, const void *args) {
    (void)ctx;
    return wi_order_fits_i32(((const wi_order_args *)args)->graph)
               ? NULL
               : "needs a matrix of fewer than 2^29 entries: it has indices of 32 bits";
}

static const char *fits_given(const weft_context *ctx, const void *args) {
    (void)ctx;
    return ((const wi_order_args *)args)->given ? NULL : "needs options.permutation";
}

static const char *fits_metis(const weft_context *ctx, const void *args) {
#ifdef WEFT_METIS
    return fits_i32(ctx, args);
#else
    (void)ctx;
    (void)args;
    return "needs METIS, which this build is without: install libmetis-dev and configure again";
#endif
}

static const wi_row rows[] = {
    {.name = "natural",
     .what = "the caller's own order",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .run = wi_order_natural},
    {.name = "given",
     .what = "the permutation in the options",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = fits_given,
     .run = wi_order_given},
    {.name = "rcm",
     .what = "breadth first from far out, reversed: a narrow band",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .run = wi_order_rcm},
#if WEFT_LADDER
    {.name = "md",
     .what = "the column with the fewest neighbours first, counted exactly",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = fits_i32,
     .run = wi_order_md},
    {.name = "mmd",
     .what = "many columns between counts; like columns are one",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = fits_i32,
     .run = wi_order_mmd},
#endif
    {.name = "amd",
     .what = "degrees bounded, not counted; elements absorbed early",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .run = wi_order_amd},
    {.name = "nd",
     .what = "small separators last, by METIS",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = fits_metis,
     .run = wi_order_nd},
    {.name = "dissect",
     .what = "small separators last, our own: the sides in parallel",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = fits_i32,
     .run = wi_order_dissect},
    {.name = "best",
     .what = "amd, and dissect where the factor is dear enough",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_order_best},
};

const wi_ladder wi_sparse_order_ladder = {"sparse_order", rows, sizeof rows / sizeof rows[0]};

weft_status wi_order_natural(weft_context *ctx, const void *args) {
    const wi_order_args *const order = args;
    (void)ctx;
    for (int64_t k = 0; k < order->graph->n; k++)
        order->perm[k] = k;
    return WEFT_OK;
}

/* Uses perm as the list of columns seen: negative where one is missing. */
weft_status wi_order_given(weft_context *ctx, const void *args) {
    const wi_order_args *const order = args;
    const int64_t n = order->graph->n, *const given = order->given;
    for (int64_t k = 0; k < n; k++)
        order->perm[k] = -1;
    for (int64_t k = 0; k < n; k++) {
        if (given[k] < 0 || given[k] >= n)
            return wi_fail(ctx, WEFT_EARG,
                           "%s: permutation[%lld] is %lld; columns count from 0 to %lld",
                           order->call, (long long)k, (long long)given[k], (long long)n - 1);
        if (order->perm[given[k]] >= 0)
            return wi_fail(ctx, WEFT_EARG,
                           "%s: permutation names column %lld twice, at %lld and at %lld; name "
                           "each once",
                           order->call, (long long)given[k], (long long)order->perm[given[k]],
                           (long long)k);
        order->perm[given[k]] = k;
    }
    for (int64_t k = 0; k < n; k++)
        order->perm[k] = given[k];
    return WEFT_OK;
}
