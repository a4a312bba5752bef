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

/* The cost of dissect for a vertex and for an entry of the graph, and of a flop of the
 * factorization: seconds on one or two ordinary cores. Only their ratio matters: no clock is read,
 * so that every run chooses the same. */
static const double vertex_seconds = 2e-6, entry_seconds = 0.04e-6, flop_seconds = 2e-11;

/* Would dissect pay for itself if it saved `share` of the flops of amd? */
static bool worth_dissecting(const wi_order_args *order, double flops) {
    static const double share = 0.4;
    const int64_t n = order->graph->n;
    const double cost = (double)n * vertex_seconds + (double)order->graph->start[n] * entry_seconds;
    return !fits_i32(NULL, order) && cost < share * flops * flop_seconds &&
           cost < order->seconds_budget;
}

static void say(const wi_order_args *order, const char *chosen) {
    if (order->chosen)
        *order->chosen = chosen;
}

weft_status wi_order_best(weft_context *ctx, const void *args) {
    const wi_order_args *const order = args;
    double entries, flops = 0, dissected_flops = 0;
    wi_order_args first = *order;
    first.flops = &flops;
    weft_status status = wi_order_amd(ctx, &first);
    say(order, "amd");
    if (status != WEFT_OK)
        return status;
    if (!worth_dissecting(
            order,
            flops)) { /* amd's bound on the flops already decides: no exact count is needed */
        if (order->flops)
            *order->flops = flops;
        return WEFT_OK;
    }
    status = wi_predict_cost(ctx, order->call, order->graph, order->perm, &entries, &flops);
    if (status != WEFT_OK || !worth_dissecting(order, flops))
        return status;
    const size_t bytes = (size_t)order->graph->n * sizeof(int64_t);
    wi_order_args second = *order;
    second.perm = wi_host_alloc(bytes);
    if (!second.perm)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "%s: no memory for %zu bytes of a second ordering; order "
                       "amd",
                       order->call, bytes);
    status = wi_order_dissect(ctx, &second);
    if (status == WEFT_OK)
        status = wi_predict_cost(ctx, order->call, order->graph, second.perm, &entries,
                                 &dissected_flops);
    if (status == WEFT_OK && dissected_flops < flops) {
        say(order, "dissect");
        for (int64_t k = 0; k < order->graph->n; k++)
            order->perm[k] = second.perm[k];
    }
    wi_host_free(second.perm);
    return status;
}
