/* SPDX-License-Identifier: Apache-2.0 */
/* The rung tree on a cpu. */
#include <math.h>
#include <string.h>

#include "cpu/team.h"
#include "nbody/nbody_at.h"
#include "nbody/nbody_simd.h"
#include "weft/scan.h"
#include "weft/sort.h"

/* All that a call makes of its bodies. Arrays of bodies are in the order of their keys. */
typedef struct body_tree {
    const wi_nbody_args *args;
    wi_nbody_cube cube;
    uint64_t *keys;
    uint32_t *order;  /* which body of the call is where */
    uint32_t *before; /* nodes whose first body is earlier; n + 1 of them */
    wi_nbody_node *nodes;
    uint8_t *levels;   /* of the smallest cell that holds a node's bodies */
    size_t count;      /* nodes */
    size_t begin, end; /* of the bodies that walk */
    double theta;
    wi_nbody_tree_work work;
    wi_nbody_walk walk;
    char *room, *node_room;
} body_tree;

static size_t padded(size_t n) {
    return (n + WI_NBODY_GROUP - 1) / WI_NBODY_GROUP * WI_NBODY_GROUP;
}

static void position_of(const wi_nbody_args *a, size_t i, double x[3]) {
    for (size_t k = 0; k < 3; k++)
        x[k] = wi_nbody_at(a->type, a->positions, i * a->position_pitch + k);
}

/* Coordinate k of a body that has been put in order; k = 3: its mass. */
static double part_at(const body_tree *g, size_t i, size_t k) {
    return wi_nbody_at(g->args->type, g->work.work.source[k], i);
}

/* Memory of n bodies: what is aligned most comes first. */
static weft_status take_bodies(weft_context *ctx, body_tree *g) {
    const size_t n = g->args->n, wide = padded(n), size = weft_type_size(g->args->type);
    const size_t bytes = wide * (4 * sizeof(double) + sizeof(uint64_t) + 4 * size) +
                         (n + wide + 1) * sizeof(uint32_t);
    char *at = g->room = wi_host_alloc_huge(bytes);
    if (!at)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_nbody: no memory for %zu bytes of bodies", bytes);
    for (size_t k = 0; k < 4; k++, at += wide * sizeof(double))
        g->work.work.sum[k] = (double *)(void *)at;
    memset(g->room, 0, 4 * wide * sizeof(double));
    g->keys = (uint64_t *)(void *)at;
    at += wide * sizeof(uint64_t);
    for (size_t k = 0; k < 4; k++, at += wide * size) {
        g->work.work.source[k] = at;
        if (k < 3)
            g->work.work.target[k] = at;
    }
    g->order = (uint32_t *)(void *)at;
    g->before = g->order + wide;
    return WEFT_OK;
}

static weft_status take_nodes(weft_context *ctx, body_tree *g) {
    const size_t bytes = (g->count + 1) * (sizeof *g->nodes + sizeof *g->levels);
    g->node_room = wi_host_alloc_huge(bytes);
    if (!g->node_room)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_nbody: no memory for %zu bytes of a tree", bytes);
    g->nodes = (wi_nbody_node *)(void *)g->node_room;
    g->levels = (uint8_t *)(g->nodes + g->count + 1);
    return WEFT_OK;
}

/* ---- steps, each for bodies or groups first ... end - 1 ---- */

static void find_keys(body_tree *g, size_t first, size_t end) {
    for (size_t i = first; i < end; i++) {
        double x[3];
        position_of(g->args, i, x);
        g->keys[i] = wi_nbody_key(&g->cube, x[0], x[1], x[2]);
        g->order[i] = (uint32_t)i;
    }
}

/* Puts bodies in order, and counts the nodes that begin with each. */
static void put_bodies(body_tree *g, size_t first, size_t end) {
    const wi_nbody_args *const a = g->args;
    for (size_t i = first; i < end; i++) {
        const size_t from = g->order[i];
        double x[3];
        position_of(a, from, x);
        for (size_t k = 0; k < 3; k++)
            wi_nbody_put(a->type, (void *)g->work.work.source[k], i, x[k]);
        wi_nbody_put(a->type, (void *)g->work.work.source[3], i,
                     a->gravity * wi_nbody_at(a->type, a->masses, from * a->mass_pitch));
        g->before[i] = wi_nbody_nodes_at(g->keys, a->n, i);
    }
}

static wi_nbody_moments body_at(const body_tree *g, size_t i) {
    return (wi_nbody_moments){
        .x = part_at(g, i, 0), .y = part_at(g, i, 1), .z = part_at(g, i, 2), .m = part_at(g, i, 3)};
}

static void finish_node(body_tree *g, size_t k) {
    const wi_nbody_moments of = body_at(g, g->nodes[k].first);
    const double body[3] = {of.x, of.y, of.z};
    const double reach = wi_nbody_reach(&g->cube, g->levels[k], body, &g->nodes[k].of, g->theta);
    g->nodes[k].open2 = reach * reach;
}

static void fill_leaf(body_tree *g, size_t k, size_t end) {
    const size_t first = g->nodes[k].first;
    const wi_nbody_moments origin = body_at(g, first);
    wi_nbody_moments sum = {.m = 0};
    for (size_t i = first; i < end; i++) {
        const wi_nbody_moments one = body_at(g, i);
        wi_nbody_weigh(&sum, &one, &origin);
    }
    wi_nbody_centre(&sum, &origin);
    for (size_t i = first; i < end; i++) {
        const wi_nbody_moments one = body_at(g, i);
        wi_nbody_spread(&sum, &one);
    }
    g->nodes[k].of = sum;
    finish_node(g, k);
}

/* Makes the nodes that begin with each body; of leaves, also their moments. */
static void put_nodes(body_tree *g, size_t first, size_t end) {
    const size_t n = g->args->n;
    for (size_t i = first; i < end; i++) {
        wi_nbody_nodes at;
        size_t k = g->before[i + 1];
        bool is_leaf = true;
        for (bool is_one = wi_nbody_innermost(g->keys, n, i, &at); is_one;
             is_one = wi_nbody_outwards(g->keys, n, i, &at)) {
            g->nodes[--k].first = (uint32_t)i;
            g->nodes[k].next = g->before[at.end];
            g->levels[k] = (uint8_t)wi_nbody_common(g->keys[i], g->keys[at.end - 1]);
            if (is_leaf)
                fill_leaf(g, k, at.end);
            is_leaf = false;
        }
    }
}

static void walk_groups(body_tree *g, size_t first, size_t end) {
    for (size_t k = first; k < end; k++)
        g->walk(&g->work, g->begin + k * WI_NBODY_GROUP);
}

typedef struct share {
    body_tree *g;
    size_t count;
    void (*step)(body_tree *g, size_t first, size_t end);
} share;

static void run_share(void *user, int rank, int team) {
    const share *const s = user;
    s->step(s->g, wi_team_share(s->count, rank, team), wi_team_share(s->count, rank + 1, team));
}

static void in_parallel(weft_context *ctx, body_tree *g, size_t count, size_t work,
                        void (*step)(body_tree *g, size_t first, size_t end)) {
    share s = {g, count, step};
    wi_team_run(ctx, wi_team_size(ctx, count, work), run_share, &s);
}

/* ---- building ---- */

static void find_cube(body_tree *g) {
    double low[3], high[3], side = 0;
    position_of(g->args, 0, low);
    position_of(g->args, 0, high);
    for (size_t i = 1; i < g->args->n; i++) {
        double x[3];
        position_of(g->args, i, x);
        for (size_t k = 0; k < 3; k++) {
            low[k] = x[k] < low[k] ? x[k] : low[k];
            high[k] = x[k] > high[k] ? x[k] : high[k];
        }
    }
    for (size_t k = 0; k < 3; k++) {
        g->cube.low[k] = low[k];
        side = high[k] - low[k] > side ? high[k] - low[k] : side;
    }
    g->cube.side = side;
}

/* Nodes of several nodes; those come after them. */
static void join_nodes(body_tree *g) {
    for (size_t k = g->count; k-- > 0;) {
        wi_nbody_node *const node = &g->nodes[k];
        wi_nbody_moments sum = {.m = 0};
        if (node->next == k + 1)
            continue;
        for (size_t c = k + 1; c < node->next; c = g->nodes[c].next)
            wi_nbody_weigh(&sum, &g->nodes[c].of, &node[1].of);
        wi_nbody_centre(&sum, &node[1].of);
        for (size_t c = k + 1; c < node->next; c = g->nodes[c].next)
            wi_nbody_spread(&sum, &g->nodes[c].of);
        node->of = sum;
        finish_node(g, k);
    }
}

/* What pads the targets is where the last body is, and opens no other nodes. */
static void pad_targets(body_tree *g) {
    const size_t n = g->args->n;
    for (size_t i = n; i < padded(n); i++)
        for (size_t k = 0; k < 3; k++)
            wi_nbody_put(g->args->type, (void *)g->work.work.target[k], i, part_at(g, n - 1, k));
}

static weft_status build(weft_context *ctx, body_tree *g) {
    const size_t n = g->args->n;
    find_cube(g);
    in_parallel(ctx, g, n, 64 * n, find_keys);
    weft_status status = weft_sort_pairs(ctx, WEFT_ASCENDING, WEFT_U64, n, g->keys, g->keys,
                                         sizeof *g->order, g->order, g->order);
    if (status != WEFT_OK)
        return status;
    in_parallel(ctx, g, n, 128 * n, put_bodies);
    g->before[n] = 0;
    status = weft_scan(ctx, WEFT_EXCLUSIVE, WEFT_SUM, WEFT_U32, n + 1, g->before, g->before, NULL);
    g->count = g->before[n];
    if (status == WEFT_OK)
        status = take_nodes(ctx, g);
    if (status != WEFT_OK)
        return status;
    g->nodes[g->count].first = (uint32_t)n;
    in_parallel(ctx, g, n, 128 * n, put_nodes);
    join_nodes(g);
    pad_targets(g);
    return WEFT_OK;
}

/* Row `to` of the results is that of the body that is i-th in the order of keys. */
static void put_result(const body_tree *g, size_t i, size_t to) {
    const wi_nbody_args *const a = g->args;
    for (size_t k = 0; k < 3 && a->accelerations; k++)
        wi_nbody_put(a->type, a->accelerations, 3 * to + k, g->work.work.sum[k][i]);
    if (a->potentials)
        wi_nbody_put(a->type, a->potentials, to, g->work.work.sum[3][i]);
}

static void put_results(const body_tree *g) {
    for (size_t i = g->begin; i < g->end; i++)
        put_result(g, i, g->args->shares ? i - g->begin : g->order[i]);
    if (g->args->shares)
        memcpy(g->args->order, g->order, g->args->n * sizeof *g->order);
}

static void walk_all(weft_context *ctx, body_tree *g) {
    const wi_nbody_args *const a = g->args;
    g->work.nodes = g->nodes;
    g->work.count = g->count;
    g->begin = a->shares ? wi_nbody_share_begin(a->n, a->share, a->shares) : 0;
    g->end = a->shares ? wi_nbody_share_begin(a->n, a->share + 1, a->shares) : a->n;
    const size_t walking = g->end - g->begin;
    in_parallel(ctx, g, padded(walking) / WI_NBODY_GROUP, 4096 * walking, walk_groups);
    put_results(g);
}

weft_status wi_nbody_tree(weft_context *ctx, const void *args) {
    const wi_nbody_simd *const simd = WI_OF_ISA(wi_cpu_isa(), wi_nbody_simd);
    body_tree g = {.args = args, .theta = wi_nbody_theta(((const wi_nbody_args *)args)->tolerance)};
    g.walk = g.args->type == WEFT_F32 ? simd->walk_f32 : simd->walk_f64;
    g.work.work.softening = g.args->softening;
    g.work.work.is_soft = wi_nbody_is_soft(g.args) && !g.args->potentials;
    weft_status status = take_bodies(ctx, &g);
    if (status == WEFT_OK)
        status = build(ctx, &g);
    if (status == WEFT_OK)
        walk_all(ctx, &g);
    wi_host_free(g.room);
    wi_host_free(g.node_room);
    return status;
}
