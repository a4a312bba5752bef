/* SPDX-License-Identifier: Apache-2.0 */
/* nbody's climb: accelerations of a cube of bodies, all of one mass, packed. Results are compared
 * with sums in f64 over all pairs of a few bodies; all rungs but the tree must be exact. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "climb/climb.h"
#include "nbody/nbody.h"
#include "nbody/nbody_at.h"

enum {
    USUAL_N = 1 << 17,
    FIRST_N = 256,
    MOST_CHECKED = 32, /* bodies */
    FLOPS_OF_PAIR = 20 /* as is usual to count, a root being one */
};

static const double softening = 1.0 / 64, tree_tolerance = 1e-3;

typedef struct problem {
    wi_setup setup;
    void *bodies, *accelerations; /* of the place */
    void *host_bodies, *found;
} problem;

static void drop(void *user) {
    problem *const p = user;
    if (!p)
        return;
    weft_free(p->setup.ctx, p->bodies);
    weft_free(p->setup.ctx, p->accelerations);
    wi_host_free(p->host_bodies);
    wi_host_free(p->found);
    wi_host_free(p);
}

/* A number in [0, 1) that depends on the seed and i. */
static double draw(uint64_t seed, uint64_t i) {
    uint64_t z = (i + seed * 0x9e3779b97f4a7c15u + 1) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 29)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 32)) >> 11) * 0x1p-53;
}

static weft_status fill(problem *p) {
    const size_t n = p->setup.n, size = weft_type_size(p->setup.type);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < 3; k++)
            wi_nbody_put(p->setup.type, p->host_bodies, 4 * i + k,
                         draw(p->setup.seed, 3 * i + k) * 2 - 1);
        wi_nbody_put(p->setup.type, p->host_bodies, 4 * i + 3, 1 / (double)n);
    }
    return weft_copy(p->setup.ctx, p->bodies, p->host_bodies, 4 * n * size);
}

static weft_status make(const wi_setup *setup, void **out) {
    const size_t size = weft_type_size(setup->type);
    problem *const p = wi_host_alloc(sizeof *p);
    if (!p)
        return wi_fail(setup->ctx, WEFT_ENOMEM, "climb: no memory for a problem");
    if (setup->n > INT32_MAX) {
        wi_host_free(p);
        return wi_fail(setup->ctx, WEFT_EARG, "climb: n is %zu; choose less than 2^31 bodies",
                       setup->n);
    }
    *p = (problem){.setup = *setup,
                   .host_bodies = wi_host_alloc(4 * setup->n * size),
                   .found = wi_host_alloc(3 * setup->n * size)};
    weft_status status =
        p->host_bodies && p->found
            ? WEFT_OK
            : wi_fail(setup->ctx, WEFT_ENOMEM, "climb: no memory for %zu bodies", setup->n);
    if (status == WEFT_OK)
        status = weft_alloc(setup->ctx, &p->bodies, 4 * setup->n * size);
    if (status == WEFT_OK)
        status = weft_alloc(setup->ctx, &p->accelerations, 3 * setup->n * size);
    if (status == WEFT_OK)
        status = fill(p);
    if (status != WEFT_OK)
        drop(p);
    else
        *out = p;
    return status;
}

/* All rungs get the same call: one with a tolerance, so that a tree may do it. */
static weft_status call(void *user) {
    const problem *const p = user;
    const weft_nbody system = {.type = p->setup.type,
                               .n = p->setup.n,
                               .softening = softening,
                               .tolerance = tree_tolerance};
    return weft_nbody_accelerations(p->setup.ctx, &system, p->bodies, NULL, p->accelerations, NULL,
                                    NULL);
}

/* The sum over all pairs for body i; *magnitude is the sum of the lengths of its terms. */
static void sum_of(const problem *p, size_t i, double sum[3], double *magnitude) {
    const weft_type type = p->setup.type;
    sum[0] = sum[1] = sum[2] = *magnitude = 0;
    for (size_t j = 0; j < p->setup.n; j++) {
        double d[3], q = 0;
        for (size_t k = 0; k < 3; k++) {
            d[k] = wi_nbody_at(type, p->host_bodies, 4 * j + k) -
                   wi_nbody_at(type, p->host_bodies, 4 * i + k);
            q += d[k] * d[k];
        }
        const double r2 = q + softening * softening;
        const double w = wi_nbody_at(type, p->host_bodies, 4 * j + 3) / (r2 * sqrt(r2));
        for (size_t k = 0; k < 3; k++)
            sum[k] += w * d[k];
        *magnitude += w * sqrt(q);
    }
}

static bool check(void *user, char *why, size_t bytes) {
    problem *const p = user;
    const weft_type type = p->setup.type;
    const size_t n = p->setup.n, size = weft_type_size(type);
    const size_t count = n < MOST_CHECKED ? n : MOST_CHECKED;
    const double bound = type == WEFT_F32 ? 300 * 0x1p-24 : (300 + (double)n / 256) * 0x1p-53;
    memset(p->found, 0xff, 3 * n * size);
    weft_status status =
        weft_copy(p->setup.ctx, p->accelerations, p->found, 3 * n * size); /* NaN */
    if (status == WEFT_OK)
        status = call(p);
    if (status == WEFT_OK)
        status = weft_copy(p->setup.ctx, p->found, p->accelerations, 3 * n * size);
    if (status != WEFT_OK) {
        snprintf(why, bytes, "%s", weft_message(p->setup.ctx));
        return false;
    }
    const bool is_tree = strstr(weft_used(p->setup.ctx, "nbody"), "tree") != NULL;
    for (size_t s = 0; s < count; s++) {
        const size_t i = s * n / count;
        double sum[3], magnitude;
        sum_of(p, i, sum, &magnitude);
        for (size_t k = 0; k < 3; k++) {
            const double found = wi_nbody_at(type, p->found, 3 * i + k);
            if (fabs(found - sum[k]) <= (is_tree ? tree_tolerance : bound) * magnitude)
                continue;
            snprintf(why, bytes, "component %zu of body %zu is %.9g, should be %.9g", k, i, found,
                     sum[k]);
            return false;
        }
    }
    return true;
}

static void describe(const void *user, const char *rung, wi_facts *facts) {
    const problem *const p = user;
    const double n = (double)p->setup.n;
    (void)rung;
    *facts = (wi_facts){.size = wi_size_of(p->setup.n),
                        .bytes = 7 * n * (double)weft_type_size(p->setup.type),
                        .flops = n * n * FLOPS_OF_PAIR,
                        .roof = p->setup.type == WEFT_F32 ? WI_ROOF_FMA_F32 : WI_ROOF_FMA_F64};
}

const wi_climb wi_nbody_climb = {
    .ladder = &wi_nbody_ladder,
    .example = "accelerations of bodies, to 0.1 %",
    .type = WEFT_F32,
    .types = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
    .first_n = FIRST_N,
    .usual_n = USUAL_N,
    .make = make,
    .call = call,
    .check = check,
    .describe = describe,
    .drop = drop,
};
