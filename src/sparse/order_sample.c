/* SPDX-License-Identifier: Apache-2.0 */
/* Predicts from a small part of a graph whether `amd` or `dissect` orders the whole graph with
 * fewer operations. The part is a ball: the columns that a breadth-first search reaches first. */
#include <math.h>

#include "sparse/dissection.h"
#include "sparse/symbolic.h"

enum {
    LEAST = 1 << 16, /* columns: of smaller graphs the orderings themselves take little time */
    SHARE = 16,      /* the ball has 1 / SHARE of the columns, */
    INNER = 8        /* and a smaller ball, with the same centre, 1 / INNER of the ball's */
};

double wi_order_dense(int64_t n) {
    return fmax(16, 10 * sqrt((double)n));
}

/* The vertices of a graph in the order in which a search reaches them, breadth first, from its
 * middle column on, without those that have more neighbours than wi_order_dense: the first `most`
 * at list[0 ...], and in seen[v], which has room for all vertices, their numbers, -1 of others.
 * Returns how many there are. */
static int64_t search(const wi_pattern *graph, int64_t most, int32_t *list, int32_t *seen) {
    const int64_t dense = (int64_t)wi_order_dense(graph->n);
    int64_t count = 0;
    for (int64_t v = 0; v < graph->n; v++)
        seen[v] = -1;
    list[count++] = (int32_t)(graph->n / 2);
    seen[list[0]] = 0;
    for (int64_t k = 0; k < count; k++) {
        const int64_t *const start = graph->start + list[k];
        for (int64_t e = start[0]; e < start[1] && count < most; e++) {
            const int64_t u = graph->row[e], *const own = graph->start + u;
            if (seen[u] >= 0 || own[1] - own[0] > dense)
                continue;
            seen[u] = (int32_t)count;
            list[count++] = (int32_t)u;
        }
    }
    return count;
}

/* The graph of the first `count` vertices of a search. */
static weft_status take_ball(const wi_pattern *graph, int64_t count, const int32_t *list,
                             const int32_t *seen, wi_pattern *ball) {
    int64_t entries = 0;
    for (int64_t k = 0; k < count; k++)
        entries += graph->start[list[k] + 1] - graph->start[list[k]];
    int64_t *const start = wi_host_alloc((size_t)(count + 1 + entries) * sizeof *start);
    if (!start)
        return WEFT_ENOMEM;
    int64_t *const row = start + count + 1;
    int64_t to = 0;
    for (int64_t k = 0; k < count; k++) {
        start[k] = to;
        for (int64_t e = graph->start[list[k]]; e < graph->start[list[k] + 1]; e++) {
            const int64_t u = seen[graph->row[e]];
            row[to] = u;
            to += u >= 0 && u < count;
        }
    }
    start[count] = to;
    *ball = (wi_pattern){count, start, row};
    return WEFT_OK;
}

/* The flops that the graph of the first `count` vertices takes in the order of amd, or of dissect.
 */
static weft_status try_ball(const wi_order_args *args, int64_t count, const int32_t *list,
                            const int32_t *seen, bool dissect, double *flops) {
    wi_pattern ball = {0, NULL, NULL};
    double entries;
    weft_status status = take_ball(args->graph, count, list, seen, &ball);
    int64_t *const perm = wi_host_alloc((size_t)count * sizeof *perm);
    if (status == WEFT_OK && !perm)
        status = WEFT_ENOMEM;
    const wi_order_args own = {.call = args->call, .graph = &ball, .perm = perm, .flops = flops};
    if (status == WEFT_OK)
        status = dissect ? wi_dissect(NULL, &own, "dissect", wi_separate, 1, NULL)
                         : wi_order_amd(NULL, &own);
    if (status == WEFT_OK && dissect)
        status = wi_predict_cost(NULL, args->call, &ball, perm, &entries, flops);
    wi_host_free(perm);
    wi_pattern_free(&ball);
    return status;
}

/* Compares the two orderings on the ball. By how much amd's flops grow from the smaller ball to the
 * ball is their growth per column; the same growth gives the guess for the whole graph. */
static weft_status compare(const wi_order_args *args, double least, int64_t count,
                           const int32_t *list, const int32_t *seen, double *guess, bool *clear) {
    static const double margin = 2, share = 0.8;
    double inner, amd, dissect;
    weft_status status = try_ball(args, count / INNER, list, seen, false, &inner);
    if (status == WEFT_OK)
        status = try_ball(args, count, list, seen, false, &amd);
    if (status != WEFT_OK)
        return status;
    const double growth = log(amd / inner) / log(INNER);
    *guess = amd * pow(SHARE, growth);
    if (!(*guess > margin * least))
        return WEFT_OK;
    status = try_ball(args, count, list, seen, true, &dissect);
    *clear = status == WEFT_OK && dissect < share * amd;
    return status;
}

weft_status wi_order_sample(const wi_order_args *args, double least, double *guess, bool *clear) {
    const int64_t n = args->graph->n, count = n / SHARE;
    weft_status status = WEFT_OK;
    *guess = INFINITY;
    *clear = false;
    if (n < LEAST)
        return WEFT_OK;
    int32_t *const list = wi_host_alloc((size_t)(count + n) * sizeof *list);
    if (!list)
        return WEFT_ENOMEM;
    if (search(args->graph, count, list, list + count) == count)
        status = compare(args, least, count, list, list + count, guess, clear);
    wi_host_free(list);
    return status;
}
