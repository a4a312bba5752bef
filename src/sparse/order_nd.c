/* SPDX-License-Identifier: Apache-2.0 */
/* `nd`: nested dissection by METIS. */
#include "sparse/order.h"

#ifdef WEFT_METIS
#    include <metis.h>
#    include <pthread.h>

/* METIS draws from the C library's one generator, so that two orderings at once would disturb each
 * other: they take turns. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void narrow(int64_t n, const int64_t *from, idx_t *to) {
    for (int64_t k = 0; k < n; k++)
        to[k] = (idx_t)from[k];
}

weft_status wi_order_nd(weft_context *ctx, const void *args) {
    const wi_order_args *const order = args;
    const wi_pattern *const graph = order->graph;
    idx_t n = (idx_t)graph->n;
    const int64_t entries = graph->start[graph->n];
    if (entries == 0) /* METIS takes no graph without edges */
        return wi_order_natural(ctx, args);
    const size_t bytes = (size_t)(3 * graph->n + 1 + entries) * sizeof(idx_t);
    idx_t *const start = wi_host_alloc(bytes);
    if (!start)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes of ordering nd; free some",
                       order->call, bytes);
    idx_t *const perm = start + n + 1, *const inverse = perm + n, *const row = inverse + n;
    narrow(graph->n + 1, graph->start, start);
    narrow(entries, graph->row, row);
    idx_t options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    pthread_mutex_lock(&turn);
    const int result = METIS_NodeND(&n, start, row, NULL, options, perm, inverse);
    pthread_mutex_unlock(&turn);
    for (idx_t k = 0; result == METIS_OK && k < n; k++)
        order->perm[k] = perm[k];
    wi_host_free(start);
    if (result != METIS_OK)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: METIS gave up (%d), as it does for lack of memory",
                       order->call, result);
    return WEFT_OK;
}
#else
weft_status wi_order_nd(weft_context *ctx, const void *args) {
    return wi_fail(ctx, WEFT_EUNSUPPORTED, "%s: ordering nd needs METIS",
                   ((const wi_order_args *)args)->call);
}
#endif
