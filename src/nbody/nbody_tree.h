/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of the rung tree, for a cpu and for kernels.
 *
 * Bodies lie in the order of their keys, which interleave 21 bits of each coordinate. The cell of
 * level l around a body are the bodies whose keys have the same first 3 l bits: a range. A leaf is
 * the largest cell around a body with at most WI_NBODY_LEAF bodies (or all with one key). Nodes are
 * the leaves, and the cells that hold several of them; a cell whose bodies are all in one smaller
 * cell is no node of its own, so n bodies have fewer than 2 n nodes.
 *
 * Nodes lie in the order of their first bodies, larger before smaller: a walk that opens a node
 * goes to the next one in memory, and one that does not goes to node `next`, the first whose bodies
 * come after. Body i is the first of as many nodes as wi_nbody_nodes_at counts, from the leaf
 * outwards; so the number of a node is a sum of these counts, and `next` is the sum over all bodies
 * before the end of its range. Of a leaf `next` is the node after it. */
#ifndef WI_NBODY_TREE_H
#define WI_NBODY_TREE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#    define WI_NBODY_BOTH __host__ __device__ static inline
#else
#    define WI_NBODY_BOTH static inline
#endif

enum {
    WI_NBODY_LEVELS = 21, /* bits of a coordinate in a key */
    WI_NBODY_LEAF = 16    /* bodies */
};

/* The cube that holds all bodies. */
typedef struct wi_nbody_cube {
    double low[3], side;
} wi_nbody_cube;

/* 21 bits, each followed by two zeros. */
WI_NBODY_BOTH uint64_t wi_nbody_spread_bits(uint64_t x) {
    x = (x | x << 32) & 0x001f00000000ffffu;
    x = (x | x << 16) & 0x001f0000ff0000ffu;
    x = (x | x << 8) & 0x100f00f00f00f00fu;
    x = (x | x << 4) & 0x10c30c30c30c30c3u;
    return (x | x << 2) & 0x1249249249249249u;
}

/* The cell of a coordinate, at the lowest level; also of one that is not a number. */
WI_NBODY_BOTH uint64_t wi_nbody_cell(double x, double low, double side) {
    const double most = (double)((1 << WI_NBODY_LEVELS) - 1);
    const double at = side > 0 ? (x - low) / side * (1 << WI_NBODY_LEVELS) : 0;
    return at > 0 ? (uint64_t)(at < most ? at : most) : 0;
}

WI_NBODY_BOTH uint64_t wi_nbody_key(const wi_nbody_cube *cube, double x, double y, double z) {
    return wi_nbody_spread_bits(wi_nbody_cell(x, cube->low[0], cube->side)) << 2 |
           wi_nbody_spread_bits(wi_nbody_cell(y, cube->low[1], cube->side)) << 1 |
           wi_nbody_spread_bits(wi_nbody_cell(z, cube->low[2], cube->side));
}

/* The level of the smallest cell that holds both keys. */
WI_NBODY_BOTH int wi_nbody_common(uint64_t a, uint64_t b) {
    if (a == b)
        return WI_NBODY_LEVELS;
#ifdef __CUDA_ARCH__
    return (__clzll((long long)(a ^ b)) - 1) / 3;
#else
    return (__builtin_clzll(a ^ b) - 1) / 3;
#endif
}

/* The end of the range of bodies that are in one cell of `level` with body i, looked for after i.
 */
WI_NBODY_BOTH size_t wi_nbody_end(const uint64_t *keys, size_t n, size_t i, int level) {
    size_t inside = i, step = 1, end;
    while (inside + step < n && wi_nbody_common(keys[i], keys[inside + step]) >= level) {
        inside += step;
        step *= 2;
    }
    end = inside + step < n ? inside + step : n; /* is outside */
    while (end - inside > 1) {
        const size_t middle = inside + (end - inside) / 2;
        if (wi_nbody_common(keys[i], keys[middle]) >= level)
            inside = middle;
        else
            end = middle;
    }
    return end;
}

/* The level of the leaf around body i. */
WI_NBODY_BOTH int wi_nbody_leaf_level(const uint64_t *keys, size_t n, size_t i) {
    const size_t first = i < WI_NBODY_LEAF ? 0 : i - WI_NBODY_LEAF;
    int crowded = -1; /* the lowest level at which the cell has more bodies than a leaf */
    for (size_t k = first; k <= i && k + WI_NBODY_LEAF < n; k++) {
        const int level = wi_nbody_common(keys[k], keys[k + WI_NBODY_LEAF]);
        crowded = level > crowded ? level : crowded;
    }
    return crowded < WI_NBODY_LEVELS ? crowded + 1 : WI_NBODY_LEVELS;
}

/* The nodes whose first body is i: begin with the leaf, then go outwards while there is one more.
 */
typedef struct wi_nbody_nodes {
    int level, above; /* of the cell; of the smallest cell that also holds the body before i */
    size_t end;       /* of its bodies */
} wi_nbody_nodes;

WI_NBODY_BOTH bool wi_nbody_innermost(const uint64_t *keys, size_t n, size_t i,
                                      wi_nbody_nodes *at) {
    at->above = i ? wi_nbody_common(keys[i - 1], keys[i]) : -1;
    at->level = wi_nbody_leaf_level(keys, n, i);
    if (at->level <= at->above)
        return false;
    at->end = wi_nbody_end(keys, n, i, at->level);
    return true;
}

WI_NBODY_BOTH bool wi_nbody_outwards(const uint64_t *keys, size_t n, size_t i, wi_nbody_nodes *at) {
    if (at->end == n)
        return false;
    at->level = wi_nbody_common(keys[i], keys[at->end]);
    if (at->level <= at->above)
        return false;
    at->end = wi_nbody_end(keys, n, i, at->level);
    return true;
}

WI_NBODY_BOTH uint32_t wi_nbody_nodes_at(const uint64_t *keys, size_t n, size_t i) {
    wi_nbody_nodes at;
    uint32_t count = 0;
    for (bool is_one = wi_nbody_innermost(keys, n, i, &at); is_one;
         is_one = wi_nbody_outwards(keys, n, i, &at))
        count++;
    return count;
}

/* ---- moments ---- */

/* A mass, its centre, and its second moments about the centre: sums of m d d'. */
typedef struct wi_nbody_moments {
    double m, x, y, z;
    double xx, yy, zz, xy, xz, yz;
} wi_nbody_moments;

/* First all parts are weighed, then centred, then spread. Places are taken from `origin`, one of
 * the parts: so the centre of parts that lie at one place, or of one part, is that place to the
 * last bit, and a walk that comes from there sees a distance of 0. */
WI_NBODY_BOTH void wi_nbody_weigh(wi_nbody_moments *sum, const wi_nbody_moments *part,
                                  const wi_nbody_moments *origin) {
    sum->m += part->m;
    sum->x += part->m * (part->x - origin->x);
    sum->y += part->m * (part->y - origin->y);
    sum->z += part->m * (part->z - origin->z);
}

/* Without mass the centre is the origin. */
WI_NBODY_BOTH void wi_nbody_centre(wi_nbody_moments *sum, const wi_nbody_moments *origin) {
    const bool has_mass = sum->m != 0;
    sum->x = has_mass ? origin->x + sum->x / sum->m : origin->x;
    sum->y = has_mass ? origin->y + sum->y / sum->m : origin->y;
    sum->z = has_mass ? origin->z + sum->z / sum->m : origin->z;
}

WI_NBODY_BOTH void wi_nbody_spread(wi_nbody_moments *sum, const wi_nbody_moments *part) {
    const double dx = part->x - sum->x, dy = part->y - sum->y, dz = part->z - sum->z;
    sum->xx += part->xx + part->m * dx * dx;
    sum->yy += part->yy + part->m * dy * dy;
    sum->zz += part->zz + part->m * dz * dz;
    sum->xy += part->xy + part->m * dx * dy;
    sum->xz += part->xz + part->m * dx * dz;
    sum->yz += part->yz + part->m * dy * dz;
}

/* A node must be opened for a body closer to its centre of mass than the side of its cell over
 * theta, plus the distance of the centre of mass from that of the cell. What is added to the side
 * covers the rounding of positions, so that a node is always opened for its own bodies. `level` is
 * that of the smallest cell that holds the node's bodies, of which (x, y, z) is one. */
WI_NBODY_BOTH double wi_nbody_reach(const wi_nbody_cube *cube, int level, const double body[3],
                                    const wi_nbody_moments *of, double theta) {
    const double side = cube->side / (double)((uint64_t)1 << level);
    const double centre[3] = {of->x, of->y, of->z};
    double square = 0;
    for (int k = 0; k < 3; k++) {
        const uint64_t cell =
            wi_nbody_cell(body[k], cube->low[k], cube->side) >> (WI_NBODY_LEVELS - level);
        const double d = centre[k] - (cube->low[k] + ((double)cell + 0.5) * side);
        square += d * d;
    }
    return (side + cube->side / (1 << 20)) / theta + sqrt(square);
}

#endif
