/* SPDX-License-Identifier: Apache-2.0 */
/* `nd`: nested dissection, with METIS finding the separators. */
#include "sparse/dissection.h"

#ifdef WEFT_METIS
#    include <metis.h>
#    include <pthread.h>

/* METIS uses the C library's only random generator and seeds it in every call: two calls at once
 * would disturb each other. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void widen(idx_t *to, const int32_t *from, size_t count) {
    for (size_t k = 0; k < count; k++)
        to[k] = from[k];
}

static bool separate(wi_arena *arena, const wi_graph *graph, uint64_t seed, uint8_t *side) {
    (void)seed;
    const size_t count = (size_t)graph->n, entries = (size_t)graph->start[count];
    idx_t *const start = wi_arena_take(arena, (3 * count + 1 + entries) * sizeof *start);
    if (!start)
        return false;
    idx_t *const weight = start + count + 1, *const found = weight + count;
    idx_t *const row = found + count;
    widen(start, graph->start, count + 1);
    widen(weight, graph->weight, count);
    widen(row, graph->row, entries);
    idx_t options[METIS_NOPTIONS], separator, n = graph->n;
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    pthread_mutex_lock(&turn);
    const int result =
        METIS_ComputeVertexSeparator(&n, start, row, weight, options, &separator, found);
    pthread_mutex_unlock(&turn);
    for (size_t v = 0; v < count && result == METIS_OK; v++)
        side[v] = (uint8_t)found[v];
    return result == METIS_OK; /* it fails only for lack of memory */
}

/* On one thread: METIS calls would only wait for each other. */
weft_status wi_order_nd(weft_context *ctx, const void *args) {
    return wi_dissect(ctx, args, "nd", separate, 1, NULL);
}
#else
weft_status wi_order_nd(weft_context *ctx, const void *args) {
    return wi_fail(ctx, WEFT_EUNSUPPORTED, "%s: ordering nd needs METIS",
                   ((const wi_order_args *)args)->call);
}
#endif
