/* SPDX-License-Identifier: Apache-2.0 */
/* The rung tree on a GPU: built and walked on the device; the host reads nothing of it. */
#include "cuda/warp.cuh"
#include "nbody/nbody_cuda.cuh"
#include "nbody/nbody_tree.h"
#include "weft/scan.h"
#include "weft/sort.h"

constexpr int tree_threads = 256;
constexpr int walkers = 128; /* threads of a block that walks */
constexpr int extreme_blocks = 256;

/* A node as a walk reads it: three or six accesses of 16 bytes. */
template <class T>
struct alignas(16) body_node {
    T x, y, z, m;
    T xx, yy, zz, xy, xz, yz;
    T open2;       /* the square of the distance within which it is opened */
    uint32_t next; /* as in nbody_tree.h */
};

/* All that a call makes of its bodies. Arrays of bodies are in the order of their keys. */
template <class T>
struct body_tree {
    size_t n;
    double theta;
    wi_nbody_cube *cube;
    double *extremes; /* the lowest and highest coordinates that a block saw */
    uint64_t *keys;
    uint32_t *order; /* which body of the call is where */
    uint32_t
        *before; /* nodes whose first body is earlier; n + 1 of them, the last is their count */
    wi_nbody_body<T> *bodies;
    body_node<T> *nodes;
    uint32_t *first; /* bodies of nodes, and n after them */
    uint8_t *levels; /* of the smallest cell that holds a node's bodies */
};

/* ---- keys ---- */

static __device__ inline void widen(double (&low)[3], double (&high)[3],
                                    const double (&other_low)[3], const double (&other_high)[3]) {
    for (int k = 0; k < 3; k++) {
        low[k] = other_low[k] < low[k] ? other_low[k] : low[k];
        high[k] = other_high[k] > high[k] ? other_high[k] : high[k];
    }
}

/* Writes the extremes of all threads of a block to `to`: the lowest of x, y, z, the highest. */
static __device__ inline void join_extremes(double (&low)[3], double (&high)[3], double *room,
                                            double *to) {
    for (int k = 0; k < 3; k++) {
        low[k] = wi_warp_reduce(low[k], [](double a, double b) { return b < a ? b : a; });
        high[k] = wi_warp_reduce(high[k], [](double a, double b) { return b > a ? b : a; });
    }
    if (wi_lane() == 0)
        for (int k = 0; k < 3; k++) {
            room[threadIdx.x / 32 * 6 + k] = low[k];
            room[threadIdx.x / 32 * 6 + 3 + k] = high[k];
        }
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (int w = 1; w < tree_threads / 32; w++) {
        const double *const o = room + w * 6;
        widen(low, high, {o[0], o[1], o[2]}, {o[3], o[4], o[5]});
    }
    for (int k = 0; k < 3; k++) {
        to[k] = low[k];
        to[3 + k] = high[k];
    }
}

template <class T>
static __global__ void __launch_bounds__(tree_threads)
    find_extremes(wi_nbody_bodies<T> bodies, double *extremes) {
    WEFT_SHARED(double, room, [tree_threads / 32 * 6]);
    const size_t stride = (size_t)gridDim.x * tree_threads;
    const wi_nbody_body<T> any = bodies.at(0);
    double low[3] = {(double)any.x, (double)any.y, (double)any.z};
    double high[3] = {low[0], low[1], low[2]};
    for (size_t i = (size_t)blockIdx.x * tree_threads + threadIdx.x; i < bodies.n; i += stride) {
        const wi_nbody_body<T> b = bodies.at(i);
        const double x[3] = {(double)b.x, (double)b.y, (double)b.z};
        widen(low, high, x, x);
    }
    join_extremes(low, high, room, extremes + (size_t)blockIdx.x * 6);
}

static __global__ void __launch_bounds__(tree_threads)
    find_cube(const double *extremes, int blocks, wi_nbody_cube *cube) {
    WEFT_SHARED(double, room, [tree_threads / 32 * 6]);
    const double *const o = extremes + ((int)threadIdx.x < blocks ? threadIdx.x : 0) * 6;
    double low[3] = {o[0], o[1], o[2]}, high[3] = {o[3], o[4], o[5]}, both[6];
    join_extremes(low, high, room, both);
    if (threadIdx.x != 0)
        return;
    double side = 0;
    for (int k = 0; k < 3; k++) {
        cube->low[k] = both[k];
        side = both[3 + k] - both[k] > side ? both[3 + k] - both[k] : side;
    }
    cube->side = side;
}

template <class T>
static __global__ void __launch_bounds__(tree_threads)
    find_keys(wi_nbody_bodies<T> bodies, body_tree<T> t) {
    const size_t i = (size_t)blockIdx.x * tree_threads + threadIdx.x;
    if (i >= t.n)
        return;
    const wi_nbody_body<T> b = bodies.at(i);
    t.keys[i] = wi_nbody_key(t.cube, (double)b.x, (double)b.y, (double)b.z);
    t.order[i] = (uint32_t)i;
}

/* ---- nodes ---- */

/* Puts bodies in order, and counts the nodes that begin with each. */
template <class T>
static __global__ void __launch_bounds__(tree_threads)
    put_bodies(wi_nbody_bodies<T> bodies, body_tree<T> t) {
    const size_t i = (size_t)blockIdx.x * tree_threads + threadIdx.x;
    if (i > t.n)
        return;
    t.before[i] = i < t.n ? wi_nbody_nodes_at(t.keys, t.n, i) : 0;
    if (i < t.n)
        t.bodies[i] = bodies.at(t.order[i]);
}

template <class T>
static __device__ inline wi_nbody_moments moments_of(const wi_nbody_body<T> &b) {
    return {(double)b.m, (double)b.x, (double)b.y, (double)b.z, 0, 0, 0, 0, 0, 0};
}

template <class T>
static __device__ inline wi_nbody_moments moments_of(const body_node<T> &node) {
    return {(double)node.m,  (double)node.x,  (double)node.y,  (double)node.z,  (double)node.xx,
            (double)node.yy, (double)node.zz, (double)node.xy, (double)node.xz, (double)node.yz};
}

template <class T>
static __device__ inline void put_moments(const body_tree<T> &t, size_t k,
                                          const wi_nbody_moments &of) {
    body_node<T> *const node = &t.nodes[k];
    const wi_nbody_body<T> any = t.bodies[t.first[k]];
    const double body[3] = {(double)any.x, (double)any.y, (double)any.z};
    const double reach = wi_nbody_reach(t.cube, t.levels[k], body, &of, t.theta);
    node->x = (T)of.x;
    node->y = (T)of.y;
    node->z = (T)of.z;
    node->m = (T)of.m;
    node->xx = (T)of.xx;
    node->yy = (T)of.yy;
    node->zz = (T)of.zz;
    node->xy = (T)of.xy;
    node->xz = (T)of.xz;
    node->yz = (T)of.yz;
    node->open2 = (T)(reach * reach);
}

template <class T>
static __device__ inline void put_leaf(const body_tree<T> &t, size_t k, size_t first, size_t end) {
    const wi_nbody_moments origin = moments_of(t.bodies[first]);
    wi_nbody_moments sum = {};
    for (size_t i = first; i < end; i++) {
        const wi_nbody_moments one = moments_of(t.bodies[i]);
        wi_nbody_weigh(&sum, &one, &origin);
    }
    wi_nbody_centre(&sum, &origin);
    for (size_t i = first; i < end; i++) {
        const wi_nbody_moments one = moments_of(t.bodies[i]);
        wi_nbody_spread(&sum, &one);
    }
    put_moments(t, k, sum);
}

/* Makes the nodes that begin with each body; of leaves, also their moments. */
template <class T>
static __global__ void __launch_bounds__(tree_threads) put_nodes(body_tree<T> t) {
    const size_t i = (size_t)blockIdx.x * tree_threads + threadIdx.x;
    wi_nbody_nodes at;
    if (i >= t.n)
        return;
    if (i == 0)
        t.first[t.before[t.n]] = (uint32_t)t.n;
    size_t k = t.before[i + 1];
    bool is_leaf = true;
    for (bool is_one = wi_nbody_innermost(t.keys, t.n, i, &at); is_one;
         is_one = wi_nbody_outwards(t.keys, t.n, i, &at)) {
        k--;
        t.first[k] = (uint32_t)i;
        t.nodes[k].next = t.before[at.end];
        t.levels[k] = (uint8_t)wi_nbody_common(t.keys[i], t.keys[at.end - 1]);
        if (is_leaf)
            put_leaf(t, k, i, at.end);
        is_leaf = false;
    }
}

/* The moments of the nodes at one level that have child nodes, whose moments are known. */
template <class T>
static __global__ void __launch_bounds__(tree_threads) join_nodes(body_tree<T> t, int level) {
    const size_t count = t.before[t.n], stride = (size_t)gridDim.x * tree_threads;
    for (size_t k = (size_t)blockIdx.x * tree_threads + threadIdx.x; k < count; k += stride) {
        const size_t end = t.levels[k] == level ? t.nodes[k].next : 0;
        wi_nbody_moments sum = {};
        if (end <= k + 1) /* of another level, or a leaf */
            continue;
        const wi_nbody_moments origin = moments_of(t.nodes[k + 1]);
        for (size_t c = k + 1; c < end; c = t.nodes[c].next) {
            const wi_nbody_moments part = moments_of(t.nodes[c]);
            wi_nbody_weigh(&sum, &part, &origin);
        }
        wi_nbody_centre(&sum, &origin);
        for (size_t c = k + 1; c < end; c = t.nodes[c].next) {
            const wi_nbody_moments part = moments_of(t.nodes[c]);
            wi_nbody_spread(&sum, &part);
        }
        put_moments(t, k, sum);
    }
}

/* ---- the walk ---- */

/* Adds what the mass and second moments of a node do: the formulas stand in nbody_simd_sums.inc.
 * (x, y, z) leads to it, and d2 is the square of that distance plus eps^2. */
template <class T>
static __device__ inline void add_moments(const body_node<T> &node, T x, T y, T z, T d2,
                                          wi_nbody_sums<T> &sum) {
    T cube, one; /* d2^(-3/2), d2^(-1/2) */
    wi_nbody_powers((T)1, d2, wi_near_root(d2), &cube, &one);
    const T square = one * one, fifth = cube * square;
    const T sx = wi_fma(node.xx, x, wi_fma(node.xy, y, node.xz * z));
    const T sy = wi_fma(node.xy, x, wi_fma(node.yy, y, node.yz * z));
    const T sz = wi_fma(node.xz, x, wi_fma(node.yz, y, node.zz * z));
    const T rsr = wi_fma(x, sx, wi_fma(y, sy, z * sz)), trace = node.xx + node.yy + node.zz;
    const T five = wi_fma(rsr * square, (T)7.5, (T)-1.5 * trace);
    const T along = wi_fma(five, fifth, node.m * cube), across = (T)-3 * fifth;
    sum.x = wi_fma(along, x, wi_fma(across, sx, sum.x));
    sum.y = wi_fma(along, y, wi_fma(across, sy, sum.y));
    sum.z = wi_fma(along, z, wi_fma(across, sz, sum.z));
    sum.phi -= wi_fma((T)1.5 * rsr, fifth, wi_fma((T)-0.5 * trace, cube, node.m * one));
}

/* The bodies of a warp walk the tree together: a node is opened if one of them is too close. If
 * the call is shared out, only bodies first ... end - 1 walk, and results are in their order. */
template <class T, bool shared>
static __global__ void __launch_bounds__(walkers)
    walk(const __grid_constant__ body_tree<T> t, T eps2, wi_nbody_results<T> results, size_t first,
         size_t end) {
    const size_t i = (size_t)blockIdx.x * walkers + threadIdx.x + (shared ? first : 0);
    const size_t n = shared ? end : t.n;
    const wi_nbody_body<T> own = t.bodies[i < n ? i : n - 1];
    const uint32_t count = t.before[t.n];
    wi_nbody_sums<T> sum = {};
    for (uint32_t k = 0; k < count;) {
        const body_node<T> node = t.nodes[k];
        const T x = node.x - own.x, y = node.y - own.y, z = node.z - own.z;
        const T q = wi_fma(x, x, wi_fma(y, y, z * z));
        const bool opens = __any_sync(wi_all_lanes, q <= node.open2);
        if (!opens)
            add_moments(node, x, y, z, q + eps2, sum);
        else if (node.next == k + 1)
            for (uint32_t j = t.first[k], end = t.first[k + 1]; j < end; j++)
                wi_nbody_add<false>(t.bodies[j], own.x, own.y, own.z, eps2, sum);
        k = opens ? k + 1 : node.next;
    }
    if (i < n)
        results.put(shared ? i - first : t.order[i], (double)sum.x, (double)sum.y, (double)sum.z,
                    (double)sum.phi);
}

/* ---- a call ---- */

/* Takes the next `n` elements of a block of memory; with NULL only counts its bytes. */
template <class E>
static E *carve(char *block, size_t *used, size_t n) {
    E *const p = block ? (E *)(void *)(block + *used) : nullptr;
    *used += (n * sizeof(E) + 255) / 256 * 256;
    return p;
}

/* The bytes of a tree. n bodies have fewer than 2 n nodes. */
template <class T>
static size_t lay_out(body_tree<T> *t, char *block) {
    const size_t n = t->n;
    size_t used = 0;
    t->cube = carve<wi_nbody_cube>(block, &used, 1);
    t->extremes = carve<double>(block, &used, (size_t)extreme_blocks * 6);
    t->keys = carve<uint64_t>(block, &used, n);
    t->order = carve<uint32_t>(block, &used, n);
    t->before = carve<uint32_t>(block, &used, n + 1);
    t->bodies = carve<wi_nbody_body<T>>(block, &used, n);
    t->nodes = carve<body_node<T>>(block, &used, 2 * n);
    t->first = carve<uint32_t>(block, &used, 2 * n + 1);
    t->levels = carve<uint8_t>(block, &used, 2 * n);
    return used;
}

static unsigned tree_blocks(size_t n, int size) {
    return (unsigned)((n + (size_t)size - 1) / (size_t)size);
}

template <class T>
static weft_status put_in_order(weft_context *ctx, const wi_nbody_bodies<T> &bodies,
                                const body_tree<T> &t) {
    const unsigned blocks = tree_blocks(t.n, tree_threads);
    const unsigned few = blocks < (unsigned)extreme_blocks ? blocks : (unsigned)extreme_blocks;
    weft_status status =
        WEFT_LAUNCH(find_extremes<T>, ctx, few, tree_threads, 0, bodies, t.extremes);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(find_cube, ctx, 1, tree_threads, 0, (const double *)t.extremes,
                             (int)few, t.cube);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(find_keys<T>, ctx, blocks, tree_threads, 0, bodies, t);
    if (status == WEFT_OK)
        status = weft_sort_pairs(ctx, WEFT_ASCENDING, WEFT_U64, t.n, t.keys, t.keys,
                                 sizeof *t.order, t.order, t.order);
    return status;
}

template <class T>
static weft_status build(weft_context *ctx, const wi_nbody_bodies<T> &bodies,
                         const body_tree<T> &t) {
    const size_t most = 4 * (size_t)ctx->gpu->multiprocessors;
    const size_t wanted = tree_blocks(2 * t.n, tree_threads);
    weft_status status = WEFT_LAUNCH(put_bodies<T>, ctx, tree_blocks(t.n + 1, tree_threads),
                                     tree_threads, 0, bodies, t);
    if (status == WEFT_OK)
        status = weft_scan(ctx, WEFT_EXCLUSIVE, WEFT_SUM, WEFT_U32, t.n + 1, t.before, t.before,
                           nullptr);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(put_nodes<T>, ctx, tree_blocks(t.n, tree_threads), tree_threads, 0, t);
    for (int level = WI_NBODY_LEVELS - 1; level >= 0 && status == WEFT_OK; level--)
        status = WEFT_LAUNCH(join_nodes<T>, ctx, (unsigned)(wanted < most ? wanted : most),
                             tree_threads, 0, t, level);
    return status;
}

template <class T>
static weft_status walk_all(weft_context *ctx, const wi_nbody_args *a, const body_tree<T> &t) {
    const T eps2 = (T)(a->softening * a->softening);
    const wi_nbody_results<T> results = wi_nbody_results_of<T>(a);
    if (a->shares == 0)
        return WEFT_LAUNCH((walk<T, false>), ctx, tree_blocks(t.n, walkers), walkers, 0, t, eps2,
                           results, (size_t)0, t.n);
    const size_t first = wi_nbody_share_begin(a->n, a->share, a->shares);
    const size_t end = wi_nbody_share_begin(a->n, a->share + 1, a->shares);
    if (first < end) {
        const weft_status status =
            WEFT_LAUNCH((walk<T, true>), ctx, tree_blocks(end - first, walkers), walkers, 0, t,
                        eps2, results, first, end);
        if (status != WEFT_OK)
            return status;
    }
    return weft_copy(ctx, a->order, t.order, a->n * sizeof *t.order);
}

template <class T>
static weft_status run(weft_context *ctx, const wi_nbody_args *a) {
    const wi_nbody_bodies<T> bodies = wi_nbody_bodies_of<T>(a);
    body_tree<T> t = {};
    void *block = nullptr;
    t.n = a->n;
    t.theta = wi_nbody_theta(a->tolerance);
    weft_status status = wi_gpu_alloc(ctx, &block, lay_out(&t, (char *)nullptr));
    if (status != WEFT_OK)
        return status;
    lay_out(&t, (char *)block);
    status = put_in_order(ctx, bodies, t);
    if (status == WEFT_OK)
        status = build(ctx, bodies, t);
    if (status == WEFT_OK)
        status = walk_all(ctx, a, t);
    const weft_status freed = wi_gpu_free(ctx, block);
    return status == WEFT_OK ? freed : status;
}

weft_status wi_nbody_tree_cuda(weft_context *ctx, const void *args) {
    const wi_nbody_args *const a = (const wi_nbody_args *)args;
    return a->type == WEFT_F32 ? run<float>(ctx, a) : run<double>(ctx, a);
}
