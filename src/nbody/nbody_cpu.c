/* SPDX-License-Identifier: Apache-2.0 */
/* The rung threads, and what else is done with bodies on a cpu. */
#include <math.h>
#include <string.h>

#include "cpu/team.h"
#include "nbody/nbody_at.h"
#include "nbody/nbody_simd.h"

/* Arrays of one call: sources, targets and sums. */
typedef struct job {
    wi_nbody_work work;
    wi_nbody_group group;
    size_t groups;
    char *room;
} job;

static size_t padded(size_t n) {
    return (n + WI_NBODY_GROUP - 1) / WI_NBODY_GROUP * WI_NBODY_GROUP;
}

/* Coordinate k, or with k = 3 the mass times G, of body i. */
static double part_of(const wi_nbody_args *a, size_t i, size_t k) {
    return k < 3 ? wi_nbody_at(a->type, a->positions, i * a->position_pitch + k)
                 : a->gravity * wi_nbody_at(a->type, a->masses, i * a->mass_pitch);
}

/* Memory for a call in which all bodies, in `type`, act on `targets` bodies; the sources are filled
 * in, and sums are 0. What pads the targets is 0. */
static weft_status prepare(weft_context *ctx, const wi_nbody_args *a, weft_type type,
                           size_t targets, bool is_soft, job *j) {
    const wi_nbody_simd *const simd = WI_OF_ISA(wi_cpu_isa(), wi_nbody_simd);
    const size_t size = weft_type_size(type), sources = padded(a->n) * size;
    const size_t wanted = padded(targets) * size, sums = padded(targets) * sizeof(double);
    const size_t bytes = 4 * sources + 3 * wanted + 4 * sums;
    *j = (job){.group = type == WEFT_F32 ? simd->f32 : simd->f64,
               .groups = padded(targets) / WI_NBODY_GROUP,
               .room = wi_host_alloc(bytes)};
    if (!j->room)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_nbody: no memory for %zu bytes of bodies", bytes);
    char *const after = j->room + 4 * sources;
    memset(after, 0, 3 * wanted + 4 * sums);
    j->work.sources = a->n;
    j->work.softening = a->softening;
    j->work.is_soft = is_soft;
    for (size_t k = 0; k < 4; k++) {
        char *const source = j->room + k * sources;
        j->work.source[k] = source;
        j->work.sum[k] = (double *)(void *)(after + 3 * wanted + k * sums);
        for (size_t i = 0; i < a->n; i++)
            wi_nbody_put(type, source, i, part_of(a, i, k));
        if (k < 3)
            j->work.target[k] = after + k * wanted;
    }
    return WEFT_OK;
}

static void run_share(void *user, int rank, int team) {
    const job *const j = user;
    const size_t end = wi_team_share(j->groups, rank + 1, team);
    for (size_t g = wi_team_share(j->groups, rank, team); g < end; g++)
        j->group(&j->work, g * WI_NBODY_GROUP);
}

static void run(weft_context *ctx, job *j) {
    const size_t pairs = j->groups * WI_NBODY_GROUP * j->work.sources;
    wi_team_run(ctx, wi_team_size(ctx, j->groups, pairs / 8), run_share, j);
}

weft_status wi_nbody_threads(weft_context *ctx, const void *args) {
    const wi_nbody_args *const a = args;
    job j;
    const bool is_soft = wi_nbody_is_soft(a) && !a->potentials;
    const weft_status status = prepare(ctx, a, a->type, a->own, is_soft, &j);
    if (status != WEFT_OK)
        return status;
    const size_t size = weft_type_size(a->type);
    for (size_t k = 0; k < 3; k++)
        memcpy((void *)j.work.target[k], (const char *)j.work.source[k] + a->first * size,
               a->own * size);
    run(ctx, &j);
    for (size_t i = 0; i < a->own; i++) {
        for (size_t k = 0; k < 3 && a->accelerations; k++)
            wi_nbody_put(a->type, a->accelerations, 3 * i + k, j.work.sum[k][i]);
        if (a->potentials)
            wi_nbody_put(a->type, a->potentials, i, j.work.sum[3][i]);
    }
    wi_host_free(j.room);
    return WEFT_OK;
}

/* ---- moving ---- */

static weft_status load(weft_context *ctx, const wi_nbody_args *from, const void *velocities,
                        const wi_nbody_state *s) {
    (void)ctx;
    for (size_t i = 0; i < s->n; i++) {
        for (size_t k = 0; k < 3; k++)
            wi_nbody_put(s->type, s->bodies, 4 * i + k,
                         wi_nbody_at(s->type, from->positions, i * from->position_pitch + k));
        wi_nbody_put(s->type, s->bodies, 4 * i + 3,
                     wi_nbody_at(s->type, from->masses, i * from->mass_pitch));
    }
    if (velocities)
        memcpy(s->velocities, velocities, 3 * s->n * weft_type_size(s->type));
    return WEFT_OK;
}

static weft_status store(weft_context *ctx, const wi_nbody_state *s, void *positions, size_t pitch,
                         void *velocities) {
    (void)ctx;
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < 3; k++)
            wi_nbody_put(s->type, positions, i * pitch + k,
                         wi_nbody_at(s->type, s->bodies, 4 * i + k));
    memcpy(velocities, s->velocities, 3 * s->n * weft_type_size(s->type));
    return WEFT_OK;
}

/* Row i of x, `pitch` elements apart, becomes x + y time, rounded once. */
static void advance(weft_type type, size_t n, void *x, size_t pitch, const void *y, double time) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < 3; k++) {
            if (type == WEFT_F32) {
                float *const at = (float *)x + i * pitch + k;
                *at = fmaf(((const float *)y)[3 * i + k], (float)time, *at);
            } else {
                double *const at = (double *)x + i * pitch + k;
                *at = fma(((const double *)y)[3 * i + k], time, *at);
            }
        }
}

static weft_status kick(weft_context *ctx, const wi_nbody_state *s, double time) {
    (void)ctx;
    advance(s->type, s->n, s->velocities, 3, s->accelerations, time);
    return WEFT_OK;
}

static weft_status drift(weft_context *ctx, const wi_nbody_state *s, double dt) {
    (void)ctx;
    advance(s->type, s->n, s->bodies, 4, s->velocities, dt);
    return WEFT_OK;
}

static weft_status energies(weft_context *ctx, const wi_nbody_args *a, const void *velocities,
                            double *kinetic, double *potential) {
    (void)ctx;
    for (size_t i = 0; i < a->n; i++) {
        const double half = 0.5 * wi_nbody_at(a->type, a->masses, i * a->mass_pitch);
        double square = 0;
        for (size_t k = 0; k < 3; k++) {
            const double v = wi_nbody_at(a->type, velocities, 3 * i + k);
            square = fma(v, v, square);
        }
        kinetic[i] = half * square;
        potential[i] = half * wi_nbody_at(a->type, a->potentials, i);
    }
    return WEFT_OK;
}

/* ---- errors ---- */

static weft_status sample(weft_context *ctx, const wi_nbody_args *a, double *exact) {
    const size_t count = wi_nbody_sampled(a);
    job j;
    const weft_status status = prepare(ctx, a, WEFT_F64, count, false, &j);
    if (status != WEFT_OK)
        return status;
    for (size_t s = 0; s < count; s++)
        for (size_t k = 0; k < 3; k++)
            wi_nbody_put(WEFT_F64, (void *)j.work.target[k], s, part_of(a, s * a->n / count, k));
    run(ctx, &j);
    for (size_t s = 0; s < count; s++)
        for (size_t k = 0; k < 3; k++)
            exact[3 * s + k] = j.work.sum[k][s];
    wi_host_free(j.room);
    return WEFT_OK;
}

static weft_status measure(weft_context *ctx, const wi_nbody_args *a, const double *exact,
                           double *room, double *error) {
    const size_t count = wi_nbody_sampled(a);
    double mean = 0;
    (void)ctx;
    (void)room;
    for (size_t s = 0; s < count; s++) {
        double difference = 0, square = 0;
        for (size_t k = 0; k < 3; k++) {
            const double b = exact[3 * s + k];
            const double d = wi_nbody_at(a->type, a->accelerations, s * a->n / count * 3 + k) - b;
            difference += d * d;
            square += b * b;
        }
        mean += difference == 0 ? 0 : difference / square / (double)count;
    }
    *error = sqrt(mean);
    return WEFT_OK;
}

const wi_nbody_moves wi_nbody_on_cpu = {.load = load,
                                        .store = store,
                                        .kick = kick,
                                        .drift = drift,
                                        .energies = energies,
                                        .sample = sample,
                                        .measure = measure};
