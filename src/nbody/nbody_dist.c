/* SPDX-License-Identifier: Apache-2.0 */
/* nbody over ranks and GPUs: every rank has bodies of its own. All bodies come to all ranks, once
 * for each evaluation of the accelerations, and every rank sums up what acts on its own: 16 or 32
 * bytes of a body travel for n pairs. With a tolerance they may share out the walks through a tree
 * (nbody_dist_tree.c). */
#include "nbody/nbody_dist.h"

#include <string.h>

#include "comm/gpus.h"
#include "core/gpu.h"
#include "weft/op.h"
#include "weft/reduce.h"

#define LEAST_PAIRS 0x1p31 /* fewer are done faster by one GPU: about 1 ms */

enum {
    ROW = WI_NBODY_ROW,
    OWN_ROW = 10 /* of one's own: velocities and accelerations, too */
};

typedef wi_nbody_ranked bodies;

/* ---- memory ---- */

/* Does the communicator take memory of the place? */
static bool is_near(const bodies *x) {
    return !x->ctx->child->gpu || wi_dist_stays(x->ctx);
}

weft_status wi_nbody_take(const bodies *x, size_t elements, void **p) {
    *p = NULL;
    return elements == 0 ? WEFT_OK
                         : wi_local(x->ctx, weft_alloc(x->ctx->child, p, elements * x->width));
}

static weft_status take_all(bodies *x) {
    const size_t n = x->own.n;
    const size_t share = x->all / (size_t)x->ctx->comm->size + WI_NBODY_TOGETHER;
    weft_status status = wi_nbody_take(x, OWN_ROW * n, &x->own.bodies);
    if (status == WEFT_OK)
        status = wi_nbody_take(x, ROW * x->all, &x->whole);
    if (status == WEFT_OK && !is_near(x)) /* the own share of a tree may be the larger part */
        status = wi_dist_take(x->ctx, ROW * (n > share ? n : share), x->width, &x->host_own);
    if (status == WEFT_OK && !is_near(x))
        status = wi_dist_take(x->ctx, ROW * x->all, x->width, &x->host_whole);
    if (n > 0) {
        x->own.velocities = (char *)x->own.bodies + ROW * n * x->width;
        x->own.accelerations = (char *)x->own.velocities + 3 * n * x->width;
    }
    return status;
}

/* All ranks learn how many bodies each has. */
static weft_status open_bodies(bodies *x) {
    const size_t size = (size_t)x->ctx->comm->size;
    const uint64_t n = x->own.n, *all = NULL;
    void *parts;
    weft_status status =
        wi_agree(x->ctx, 0, wi_dist_take(x->ctx, 2 * size, sizeof *x->parts, &parts));
    x->parts = parts;
    if (status == WEFT_OK)
        status = wi_all_words(x->ctx, &n, 1, &all);
    if (status != WEFT_OK)
        return status;
    x->sent = x->parts + size;
    for (size_t r = 0; r < size; r++) {
        x->parts[r] = all[r];
        x->first += r < (size_t)x->ctx->comm->rank ? all[r] : 0;
        x->all += all[r];
    }
    if (x->all > WI_NBODY_MOST_BODIES)
        status =
            wi_fail(x->ctx, WEFT_EARG, "%s: all ranks together have %zu bodies; pass at most %d",
                    x->r->call->name, x->all, WI_NBODY_MOST_BODIES);
    return status == WEFT_OK ? wi_agree(x->ctx, 0, take_all(x)) : status;
}

static void close_bodies(bodies *x) {
    wi_host_free(x->parts);
    wi_host_free(x->host_own);
    wi_host_free(x->host_whole);
    weft_free(x->ctx->child, x->own.bodies);
    weft_free(x->ctx->child, x->whole);
}

/* ---- the caller's arrays ---- */

/* A call with those of the arrays that hold the bodies. */
static wi_call describe(const bodies *x, unsigned use) {
    const wi_array *const array = x->r->call->array;
    wi_call call;
    wi_call_begin(&call, x->r->call->name, 0, 0);
    for (int k = WI_NBODY_POSITIONS; k <= WI_NBODY_OTHERS; k++) {
        wi_array *const a = wi_call_add(&call, array[k]);
        if (k != WI_NBODY_MASSES)
            a->use = use;
        if (k == WI_NBODY_OTHERS && x->r->job == WI_NBODY_ACCELERATIONS)
            *a = wi_elements("velocities", NULL, 0, x->own.type, WI_IN | WI_OPTIONAL);
    }
    return call;
}

static weft_status load_part(weft_context *child, wi_call *call, const wi_part *part, void *user) {
    const bodies *const x = user;
    const wi_nbody_args from = wi_nbody_args_of(x->r->system, part);
    (void)call;
    return wi_nbody_moves_of(child)->load(child, &from, part->p[WI_NBODY_OTHERS], &x->own);
}

static weft_status store_part(weft_context *child, wi_call *call, const wi_part *part, void *user) {
    const bodies *const x = user;
    const size_t pitch = part->p[WI_NBODY_MASSES] ? 3 : ROW;
    (void)call;
    return wi_nbody_moves_of(child)->store(child, &x->own, part->p[WI_NBODY_POSITIONS], pitch,
                                           part->p[WI_NBODY_OTHERS]);
}

static weft_status visit(bodies *x, unsigned use, wi_part_run run) {
    wi_call call = describe(x, use);
    if (x->own.n == 0)
        return WEFT_OK;
    weft_status status = wi_call_check(x->ctx->child, &call);
    if (status == WEFT_OK)
        status = wi_call_run(x->ctx->child, &call, run, x);
    return wi_local(x->ctx, status);
}

/* ---- steps of all ranks ---- */

weft_status wi_nbody_gather(bodies *x, weft_status status, const void *own, const size_t *parts,
                            void *whole, size_t row) {
    weft_context *const ctx = x->ctx;
    const bool near = is_near(x);
    const size_t sent = row * parts[ctx->comm->rank] * x->width, got = row * x->all * x->width;
    if (status == WEFT_OK && !near && sent > 0)
        status = wi_local(ctx, weft_copy(ctx->child, x->host_own, own, sent));
    status = wi_agree(ctx, 0, status);
    for (int r = 0; r < ctx->comm->size; r++)
        x->sent[r] = row * parts[r];
    if (status == WEFT_OK)
        status = ctx->comm->calls->all_gather_v(ctx, near ? own : x->host_own,
                                                near ? whole : x->host_whole, x->sent, x->own.type);
    if (status == WEFT_OK && !near && got > 0)
        status = wi_local(ctx, weft_copy(ctx->child, whole, x->host_whole, got));
    return status;
}

static weft_status gather(bodies *x, weft_status status) {
    return wi_nbody_gather(x, status, x->own.bodies, x->parts, x->whole, ROW);
}

wi_nbody_args wi_nbody_args_of_ranks(const bodies *x) {
    const weft_nbody *const s = x->r->system;
    return (wi_nbody_args){.type = s->type,
                           .n = x->all,
                           .first = x->first,
                           .own = x->own.n,
                           .gravity = s->gravity == 0 ? 1 : s->gravity,
                           .softening = s->softening,
                           .positions = x->whole,
                           .masses = (const char *)x->whole + 3 * x->width,
                           .position_pitch = ROW,
                           .mass_pitch = ROW};
}

/* What acts on this rank's bodies; `status` is how the rank has fared. Collective if by a tree. */
static weft_status attract(bodies *x, weft_status status, void *accelerations, void *potentials) {
    wi_nbody_args args = wi_nbody_args_of_ranks(x);
    args.accelerations = accelerations;
    args.potentials = potentials;
    if (x->tree.parts)
        return wi_nbody_walk_shares(x, status, accelerations, potentials);
    if (status != WEFT_OK || x->own.n == 0)
        return status;
    return wi_local(x->ctx,
                    wi_run(x->ctx->child, &wi_nbody_ladder, x->r->call->name, args.type, &args));
}

/* ---- accelerations ---- */

static weft_status measure_in(const bodies *x, void *accelerations, double *room) {
    weft_context *const child = x->ctx->child;
    const wi_nbody_moves *const moves = wi_nbody_moves_of(child);
    wi_nbody_args args = wi_nbody_args_of_ranks(x);
    const size_t count = wi_nbody_sampled(&args);
    double *const error = room + 4 * count;
    args.first = 0;
    args.own = args.n;
    args.accelerations = accelerations;
    weft_status status = moves->sample(child, &args, room);
    if (status == WEFT_OK)
        status = moves->measure(child, &args, room, room + 3 * count, error);
    if (status == WEFT_OK)
        status = weft_copy(child, (void *)(uintptr_t)x->r->call->array[WI_NBODY_ERROR].p, error,
                           sizeof *error);
    return wi_local(x->ctx, status);
}

/* Every rank measures the same sample of all bodies. */
static weft_status measure(bodies *x, weft_status status) {
    const size_t sample = 4 * WI_NBODY_SAMPLE + 1;
    const double none = 0;
    void *room = NULL, *accelerations = NULL;
    if (x->all == 0)
        return wi_local(x->ctx, weft_copy(x->ctx->child,
                                          (void *)(uintptr_t)x->r->call->array[WI_NBODY_ERROR].p,
                                          &none, sizeof none));
    if (status == WEFT_OK)
        status = wi_nbody_take(x, 3 * x->all, &accelerations);
    if (status == WEFT_OK)
        status = wi_nbody_take(x, sample * sizeof(double) / x->width, &room);
    status = wi_nbody_gather(x, status, x->own.accelerations, x->parts, accelerations, 3);
    if (status == WEFT_OK)
        status = measure_in(x, accelerations, room);
    weft_free(x->ctx->child, accelerations);
    weft_free(x->ctx->child, room);
    return status;
}

/* Gives the caller n elements of a result, if wanted. */
static weft_status put(const bodies *x, int array, const void *from, size_t n) {
    void *const to = (void *)(uintptr_t)x->r->call->array[array].p;
    return to && n > 0 ? wi_local(x->ctx, weft_copy(x->ctx->child, to, from, n * x->width))
                       : WEFT_OK;
}

/* Potentials are made where velocities would be. */
static weft_status run_accelerations(bodies *x) {
    const wi_array *const array = x->r->call->array;
    const size_t n = x->own.n;
    void *const potentials = array[WI_NBODY_POTENTIALS].p ? x->own.velocities : NULL;
    void *const accelerations = array[WI_NBODY_OTHERS].p ? x->own.accelerations : NULL;
    weft_status status = gather(x, visit(x, WI_IN, load_part));
    if (status == WEFT_OK)
        status = attract(x, status, accelerations, potentials);
    if (array[WI_NBODY_ERROR].p)
        status = measure(x, status);
    if (status == WEFT_OK)
        status = put(x, WI_NBODY_OTHERS, accelerations, 3 * n);
    return status == WEFT_OK ? put(x, WI_NBODY_POTENTIALS, potentials, n) : status;
}

/* ---- steps ---- */

static weft_status kick(const bodies *x) {
    weft_context *const child = x->ctx->child;
    return x->own.n == 0
               ? WEFT_OK
               : wi_local(x->ctx, wi_nbody_moves_of(child)->kick(child, &x->own, x->r->dt / 2));
}

static weft_status drift(const bodies *x) {
    weft_context *const child = x->ctx->child;
    return x->own.n == 0
               ? WEFT_OK
               : wi_local(x->ctx, wi_nbody_moves_of(child)->drift(child, &x->own, x->r->dt));
}

static weft_status run_steps(bodies *x) {
    weft_status status = gather(x, visit(x, WI_IN, load_part));
    if (x->r->steps == 0 || status != WEFT_OK)
        return status;
    status = attract(x, status, x->own.accelerations, NULL);
    for (size_t k = 0; k < x->r->steps; k++) {
        if (status == WEFT_OK)
            status = kick(x);
        if (status == WEFT_OK)
            status = drift(x);
        status = gather(x, status);
        if (status != WEFT_OK)
            return status;
        status = attract(x, status, x->own.accelerations, NULL);
        if (status == WEFT_OK)
            status = kick(x);
    }
    status = wi_agree(x->ctx, 0, status);
    return status == WEFT_OK ? visit(x, WI_IN | WI_OUT, store_part) : status;
}

/* ---- energy ---- */

/* room has three numbers of each own body; the last of them are potentials. */
static weft_status fill_energies(const bodies *x, double *room) {
    weft_context *const child = x->ctx->child;
    const size_t n = x->own.n;
    const wi_nbody_args args = {.type = x->own.type,
                                .n = n,
                                .own = n,
                                .positions = x->own.bodies,
                                .masses = (const char *)x->own.bodies + 3 * x->width,
                                .position_pitch = ROW,
                                .mass_pitch = ROW,
                                .potentials = room + 2 * n};
    return n == 0 ? WEFT_OK
                  : wi_local(x->ctx, wi_nbody_moves_of(child)->energies(
                                         child, &args, x->own.velocities, room, room + n));
}

static weft_status run_energy(bodies *x) {
    double *const energy = (double *)(uintptr_t)x->r->call->array[WI_NBODY_ENERGIES].p;
    const size_t n = x->own.n;
    void *room = NULL;
    weft_status status = gather(x, visit(x, WI_IN, load_part));
    if (status == WEFT_OK)
        status = wi_nbody_take(x, 3 * n * sizeof(double) / x->width, &room);
    status = attract(x, status, NULL, room ? (double *)room + 2 * n : NULL);
    if (status == WEFT_OK)
        status = fill_energies(x, room);
    status = wi_agree(x->ctx, 0, status);
    for (size_t k = 0; k < 2 && status == WEFT_OK; k++)
        status = weft_reduce(x->ctx, WEFT_SUM, WEFT_F64, n, room ? (double *)room + k * n : NULL,
                             energy + k);
    x->ctx->comm->call = x->r->call->name;
    weft_free(x->ctx->child, room);
    return status;
}

/* ---- the rung, and calls ---- */

static weft_status run_job(bodies *x) {
    switch (x->r->job) {
    case WI_NBODY_ACCELERATIONS:
        return run_accelerations(x);
    case WI_NBODY_STEPS:
        return run_steps(x);
    default:
        return run_energy(x);
    }
}

weft_status wi_nbody_ranks(weft_context *ctx, const void *request) {
    const wi_nbody_request *const r = request;
    const wi_array *const array = r->call->array;
    const bool potentials = r->job == WI_NBODY_ENERGY ||
                            (r->job == WI_NBODY_ACCELERATIONS && array[WI_NBODY_POTENTIALS].p);
    bodies x = {.ctx = ctx,
                .r = r,
                .width = weft_type_size(r->system->type),
                .own = {.type = r->system->type, .n = r->system->n}};
    weft_status status = open_bodies(&x);
    if (status == WEFT_OK)
        status = wi_nbody_plan_tree(&x, r->job != WI_NBODY_ENERGY && array[WI_NBODY_OTHERS].p,
                                    potentials);
    if (status == WEFT_OK)
        status = run_job(&x);
    wi_nbody_end_tree(&x);
    close_bodies(&x);
    return status;
}

/* What ranks must pass alike. */
static uint64_t alike_of(const wi_nbody_request *r) {
    const weft_nbody *const s = r->system;
    const double numbers[4] = {s->gravity, s->softening, s->tolerance, r->dt};
    const bool measures =
        r->job == WI_NBODY_ACCELERATIONS && r->call->array[WI_NBODY_ERROR].p != NULL;
    return wi_alike_bytes(wi_alike(wi_alike(0, r->steps), measures), numbers, sizeof numbers);
}

weft_status wi_nbody_over_ranks(weft_context *ctx, const wi_nbody_request *r, weft_status status) {
    const bool valid = status == WEFT_OK;
    return wi_dist_run(ctx, &wi_nbody_ladder, r->call->name, valid ? r->system->type : WEFT_F32,
                       valid ? alike_of(r) : 0, status, r);
}

/* Bodies are few beside their pairs, so it does not matter where they lie. */
bool wi_nbody_wants_gpus(weft_context *ctx, const wi_nbody_request *r) {
    if (!wi_is_gpus(ctx) || wi_gpu_capturing(ctx))
        return false;
    return wi_gpus_wanted(ctx, &wi_nbody_ladder, NULL, 0, 1) ||
           (wi_gpus_count(ctx) > 1 && wi_nbody_pairs(r->system) >= LEAST_PAIRS);
}

static weft_status run_share(weft_context *rank, void *user) {
    const wi_nbody_request *const r = user;
    const wi_array *const array = r->call->array;
    const size_t width = weft_type_size(r->system->type), row = array[WI_NBODY_MASSES].p ? 3 : ROW;
    const bool first = weft_rank(rank) == 0;
    double unused[2];
    weft_nbody s = *r->system;
    const wi_share share = wi_gpus_share(rank, array[WI_NBODY_POSITIONS].p, s.n, row * width);
    s.n = share.n;
    void *const positions = wi_share_of(array[WI_NBODY_POSITIONS].p, share, row * width),
                *const masses = wi_share_of(array[WI_NBODY_MASSES].p, share, width),
                *const others = wi_share_of(array[WI_NBODY_OTHERS].p, share, 3 * width);
    if (r->job == WI_NBODY_STEPS)
        return weft_nbody_step(rank, &s, r->dt, r->steps, positions, masses, others);
    if (r->job == WI_NBODY_ENERGY)
        return weft_nbody_energy(rank, &s, positions, masses, others,
                                 first ? (double *)(uintptr_t)array[WI_NBODY_ENERGIES].p : unused);
    double *const error = (double *)(uintptr_t)array[WI_NBODY_ERROR].p;
    return weft_nbody_accelerations(rank, &s, positions, masses, others,
                                    wi_share_of(array[WI_NBODY_POTENTIALS].p, share, width),
                                    error && !first ? unused : error);
}

weft_status wi_nbody_over_gpus(weft_context *ctx, const wi_nbody_request *r) {
    return wi_gpus_run(ctx, &wi_nbody_ladder, r->call->name, run_share, (void *)(uintptr_t)r);
}
