/* SPDX-License-Identifier: Apache-2.0 */
/* `md` and `mmd`: minimum degree with exact degrees; `mmd` eliminates many columns at a time and
 * merges columns with the same neighbours. */
#include "sparse/order.h"

#define INDEX int32_t
#define LARGEST INT32_MAX
#include "sparse/quotient.inc"

/* Variables whose lists have changed since their degree was counted. */
typedef struct touched {
    int32_t *vertex;
    int32_t count;
} touched;

static const int32_t uncounted = -1; /* the degree of a touched variable */

/* In the lists of variable i, replaces by p the elements that p absorbed and the variables of L_p.
 * Returns the sum of the numbers in the lists. */
static void prune(quotient *q, int32_t p, int32_t i) {
    vertex *const v = &q->vertex[i];
    const int32_t from = v->at, end = from + v->length;
    int32_t to = from;
    for (int32_t m = from; m < from + v->elements; m++) {
        if (q->stamp[q->list[m]] != 0)
            q->list[to++] = q->list[m];
    }
    const int32_t variables = to;
    for (int32_t m = from + v->elements; m < end; m++) {
        if (q->weight[q->list[m]] > 0)
            q->list[to++] = q->list[m];
    }
    v->elements = variables - from + 1;
    v->length = to - from + 1;
    q->list[to] = q->list[variables]; /* there is room: p has replaced at least one entry */
    q->list[variables] = p;
}

/* Eliminates p; the variables it touches leave the degree chains until their degrees are counted
 * again. */
static void eliminate(quotient *q, int32_t p, touched *t) {
    chain_remove(q, p);
    make_element(q, p);
    const vertex newest = q->vertex[p];
    for (int32_t k = newest.at; k < newest.at + newest.length; k++)
        prune(q, p, q->list[k]);
    q->weight[p] = -q->weight[p];
    for (int32_t k = newest.at; k < newest.at + newest.length; k++) {
        const int32_t i = q->list[k];
        q->weight[i] = -q->weight[i];
        q->next[i] = q->previous[i] = i;
        if (q->vertex[i].degree != uncounted)
            t->vertex[t->count++] = i;
        q->vertex[i].degree = uncounted;
    }
}

/* How many columns the variables in list[from .. from + count) have, without those met before. */
static int32_t meet(quotient *q, int32_t from, int32_t count) {
    int32_t columns = 0;
    for (int32_t k = from; k < from + count; k++) {
        const int32_t j = q->list[k];
        if (q->weight[j] == 0 || q->stamp[j] == q->mark)
            continue;
        q->stamp[j] = q->mark;
        columns += q->weight[j];
    }
    return columns;
}

/* The external degree of i: how many columns it can reach, not counting its own. */
static int32_t count_degree(quotient *q, int32_t i) {
    const vertex v = q->vertex[i];
    int32_t degree = 0;
    mark_forward(q);
    q->stamp[i] = q->mark;
    for (int32_t k = v.at; k < v.at + v.elements; k++) {
        const vertex e = q->vertex[q->list[k]];
        degree += meet(q, e.at, e.length);
    }
    return degree + meet(q, v.at + v.elements, v.length - v.elements);
}

static void merge_touched(quotient *q, const touched *t, buckets *b) {
    mark_forward(q);
    for (int32_t k = 0; k < t->count; k++) {
        const int32_t i = t->vertex[k];
        uint64_t sum = 0;
        for (int32_t m = 0; m < q->vertex[i].length; m++)
            sum += (uint64_t)q->list[q->vertex[i].at + m];
        bucket_add(b, i, sum);
    }
    for (int32_t k = 0; k < t->count; k++) {
        if (q->weight[t->vertex[k]] != 0)
            bucket_merge(q, b, t->vertex[k]);
    }
}

/* If `multiple`, all variables of least degree without a common neighbour are eliminated before
 * degrees are counted again, and indistinguishable variables are merged. */
static weft_status minimum_degree(weft_context *ctx, const wi_order_args *args, bool multiple) {
    const wi_pattern *const graph = args->graph;
    const int32_t n = (int32_t)graph->n;
    quotient q;
    buckets b;
    touched t = {wi_host_alloc((size_t)n * sizeof *t.vertex), 0};
    if (!t.vertex)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory to order %d columns; free some", args->call,
                       (int)n);
    weft_status status = WEFT_ENOMEM;
    if (!quotient_alloc(ctx, args->call, &q, n, graph->start[n]))
        goto done;
    quotient_fill(&q, graph);
    buckets_clear(&q, &b);
    for (int32_t i = 0; i < n; i++)
        chain_push(&q, i);
    while (q.done < n) {
        while (q.head[q.least] < 0)
            q.least++;
        const int32_t least = q.least;
        t.count = 0;
        do {
            eliminate(&q, q.head[least], &t);
        } while (multiple && q.head[least] >= 0);
        if (multiple)
            merge_touched(&q, &t, &b);
        for (int32_t k = 0; k < t.count; k++) {
            const int32_t i = t.vertex[k];
            if (q.weight[i] == 0)
                continue;
            q.vertex[i].degree = count_degree(&q, i);
            chain_push(&q, i);
        }
    }
    quotient_order(&q, args->perm);
    wi_host_free(q.memory);
    status = WEFT_OK;
done:
    wi_host_free(t.vertex);
    return status;
}

weft_status wi_order_md(weft_context *ctx, const void *args) {
    return minimum_degree(ctx, args, false);
}

weft_status wi_order_mmd(weft_context *ctx, const void *args) {
    return minimum_degree(ctx, args, true);
}
