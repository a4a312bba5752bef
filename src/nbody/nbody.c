/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of nbody. */
#include "nbody/nbody.h"

#include <math.h>

#include "comm/dist.h"
#include "core/gpu.h"
#include "weft/op.h"
#include "weft/reduce.h"

const wi_nbody_moves *wi_nbody_moves_of(const weft_context *ctx) {
#ifdef WEFT_CUDA
    if (ctx->kind == WI_CUDA)
        return &wi_nbody_on_cuda;
#endif
    (void)ctx;
    return &wi_nbody_on_cpu;
}

static weft_status take(weft_context *ctx, const char *name, void **p, size_t bytes) {
    if (ctx->kind == WI_CUDA)
        return wi_gpu_alloc(ctx, p, bytes);
    *p = wi_host_alloc(bytes);
    return *p ? WEFT_OK
              : wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes of bodies", name, bytes);
}

static weft_status give_back(weft_context *ctx, void *p, weft_status status) {
    weft_status freed = WEFT_OK;
    if (ctx->kind == WI_CUDA)
        freed = wi_gpu_free(ctx, p);
    else
        wi_host_free(p);
    return status == WEFT_OK ? freed : status;
}

/* ---- checks ---- */

static weft_status check_number(weft_context *ctx, const char *name, const char *what, double x,
                                bool may_be_negative) {
    if (isfinite(x) && (x >= 0 || may_be_negative))
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG, "%s: %s is %g; pass a finite number%s", name, what, x,
                   may_be_negative ? "" : " of 0 or more");
}

static weft_status check_system(weft_context *ctx, const char *name, const weft_nbody *s) {
    if (!s)
        return wi_fail(ctx, WEFT_EARG, "%s: system is NULL; pass a weft_nbody", name);
    if (wi_check_type(ctx, name, s->type) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_check_wide_float(ctx, name, s->type);
    if (status == WEFT_OK && s->n > WI_NBODY_MOST_BODIES)
        status = wi_fail(ctx, WEFT_EARG, "%s: n is %zu; pass at most %d bodies", name, s->n,
                         WI_NBODY_MOST_BODIES);
    if (status == WEFT_OK)
        status = check_number(ctx, name, "gravity", s->gravity, true);
    if (status == WEFT_OK)
        status = check_number(ctx, name, "softening", s->softening, false);
    if (status == WEFT_OK)
        status = check_number(ctx, name, "tolerance", s->tolerance, false);
    return status;
}

/* Describes the arrays that all calls have. */
static void describe(wi_call *call, const weft_nbody *s, const void *positions, const void *masses,
                     unsigned use) {
    wi_call_add(call, wi_elements("positions", positions, (masses ? 3 : 4) * s->n, s->type, use));
    wi_call_add(call, wi_elements("masses", masses, s->n, s->type, WI_IN | WI_OPTIONAL));
    call->distributed = true;
}

/* Does the call run over several ranks or GPUs? If so it has, and *status is how it ended. */
static bool spreads(weft_context *ctx, const wi_nbody_request *r, weft_status *status) {
    if (wi_is_dist(ctx))
        *status = wi_nbody_over_ranks(ctx, r, *status);
    else if (*status == WEFT_OK && wi_nbody_wants_gpus(ctx, r))
        *status = wi_nbody_over_gpus(ctx, r);
    else
        return false;
    return true;
}

wi_nbody_args wi_nbody_args_of(const weft_nbody *s, const wi_part *part) {
    const bool is_packed = !part->p[WI_NBODY_MASSES];
    wi_nbody_args args = {.type = s->type,
                          .n = s->n,
                          .own = s->n,
                          .gravity = s->gravity == 0 ? 1 : s->gravity,
                          .softening = s->softening,
                          .tolerance = s->tolerance,
                          .positions = part->p[WI_NBODY_POSITIONS],
                          .masses = part->p[WI_NBODY_MASSES],
                          .position_pitch = is_packed ? 4 : 3,
                          .mass_pitch = is_packed ? 4 : 1};
    if (is_packed)
        args.masses = (const char *)args.positions + 3 * weft_type_size(s->type);
    return args;
}

static weft_status attract(weft_context *ctx, const char *name, const wi_nbody_args *args) {
    return wi_run(ctx, &wi_nbody_ladder, name, args->type, args);
}

/* ---- accelerations ---- */

/* All memory is taken before anything is written. */
static weft_status run_measured(weft_context *ctx, const char *name, const wi_nbody_args *args,
                                double *error) {
    const wi_nbody_moves *const moves = wi_nbody_moves_of(ctx);
    const size_t count = wi_nbody_sampled(args);
    void *room = NULL;
    weft_status status = take(ctx, name, &room, 4 * count * sizeof(double));
    if (status != WEFT_OK)
        return status;
    double *const exact = room;
    status = moves->sample(ctx, args, exact);
    if (status == WEFT_OK)
        status = attract(ctx, name, args);
    if (status == WEFT_OK)
        status = moves->measure(ctx, args, exact, exact + 3 * count, error);
    return give_back(ctx, room, status);
}

static weft_status run_accelerations(weft_context *ctx, wi_call *call, const wi_part *part,
                                     void *user) {
    wi_nbody_args args = wi_nbody_args_of(user, part);
    args.accelerations = part->p[WI_NBODY_OTHERS];
    args.potentials = part->p[WI_NBODY_POTENTIALS];
    if (part->p[WI_NBODY_ERROR])
        return run_measured(ctx, call->name, &args, part->p[WI_NBODY_ERROR]);
    return attract(ctx, call->name, &args);
}

weft_status weft_nbody_accelerations(weft_context *ctx, const weft_nbody *system,
                                     const void *positions, const void *masses, void *accelerations,
                                     void *potentials, double *error) {
    static const char name[] = "weft_nbody_accelerations";
    wi_call call;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = check_system(ctx, name, system);
    if (status == WEFT_OK && !accelerations && (!potentials || error) && system->n > 0)
        status = wi_fail(ctx, WEFT_EARG, "%s: accelerations is NULL; pass %s", name,
                         error ? "3 n elements, of which the error is measured"
                               : "3 n elements, or potentials");
    wi_call_begin(&call, name, 0, 0);
    if (status == WEFT_OK) {
        describe(&call, system, positions, masses, WI_IN);
        wi_call_add(&call, wi_elements("accelerations", accelerations, 3 * system->n, system->type,
                                       WI_OUT | WI_OPTIONAL));
        wi_call_add(&call, wi_elements("potentials", potentials, system->n, system->type,
                                       WI_OUT | WI_OPTIONAL));
        wi_call_add(&call, wi_elements("error", error, 1, WEFT_F64, WI_OUT | WI_OPTIONAL));
        status = wi_call_check(ctx, &call);
    }
    const wi_nbody_request r = {.job = WI_NBODY_ACCELERATIONS, .system = system, .call = &call};
    if (spreads(ctx, &r, &status) || status != WEFT_OK)
        return status;
    if (system->n > 0)
        return wi_call_run(ctx, &call, run_accelerations, (void *)system);
    const double none = 0;
    return error ? weft_copy(ctx, error, &none, sizeof none) : WEFT_OK;
}

/* ---- steps ---- */

typedef struct walk {
    const weft_nbody *system;
    double dt;
    size_t steps;
} walk;

/* Bodies move in memory of the call, so that one that fails has changed nothing. */
static weft_status run_steps(weft_context *ctx, const char *name, const walk *w,
                             const wi_nbody_args *from, const wi_nbody_state *state) {
    const wi_nbody_moves *const moves = wi_nbody_moves_of(ctx);
    wi_nbody_args args = *from;
    args.positions = state->bodies;
    args.masses = (const char *)state->bodies + 3 * weft_type_size(state->type);
    args.position_pitch = args.mass_pitch = 4;
    args.accelerations = state->accelerations;
    weft_status status = attract(ctx, name, &args);
    for (size_t k = 0; k < w->steps && status == WEFT_OK; k++) {
        status = moves->kick(ctx, state, w->dt / 2);
        if (status == WEFT_OK)
            status = moves->drift(ctx, state, w->dt);
        if (status == WEFT_OK)
            status = attract(ctx, name, &args);
        if (status == WEFT_OK)
            status = moves->kick(ctx, state, w->dt / 2);
    }
    return status;
}

static weft_status run_walk(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    const walk *const w = user;
    const wi_nbody_moves *const moves = wi_nbody_moves_of(ctx);
    const wi_nbody_args from = wi_nbody_args_of(w->system, part);
    const size_t n = from.n, size = weft_type_size(from.type);
    wi_nbody_state state = {.type = from.type, .n = n};
    weft_status status = take(ctx, call->name, &state.bodies, 10 * n * size);
    if (status != WEFT_OK)
        return status;
    state.velocities = (char *)state.bodies + 4 * n * size;
    state.accelerations = (char *)state.bodies + 7 * n * size;
    status = moves->load(ctx, &from, part->p[WI_NBODY_OTHERS], &state);
    if (status == WEFT_OK)
        status = run_steps(ctx, call->name, w, &from, &state);
    if (status == WEFT_OK)
        status = moves->store(ctx, &state, part->p[WI_NBODY_POSITIONS], from.position_pitch,
                              part->p[WI_NBODY_OTHERS]);
    return give_back(ctx, state.bodies, status);
}

weft_status weft_nbody_step(weft_context *ctx, const weft_nbody *system, double dt, size_t steps,
                            void *positions, const void *masses, void *velocities) {
    static const char name[] = "weft_nbody_step";
    walk w = {system, dt, steps};
    wi_call call;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = check_system(ctx, name, system);
    if (status == WEFT_OK)
        status = check_number(ctx, name, "dt", dt, true);
    wi_call_begin(&call, name, 0, 0);
    if (status == WEFT_OK) {
        describe(&call, system, positions, masses, WI_IN | WI_OUT);
        wi_call_add(&call, wi_elements("velocities", velocities, 3 * system->n, system->type,
                                       WI_IN | WI_OUT));
        status = wi_call_check(ctx, &call);
    }
    const wi_nbody_request r = {WI_NBODY_STEPS, system, &call, dt, steps};
    if (spreads(ctx, &r, &status) || status != WEFT_OK || system->n == 0 || steps == 0)
        return status;
    return wi_call_run(ctx, &call, run_walk, &w);
}

/* ---- energy ---- */

static weft_status run_energy(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_nbody_args args = wi_nbody_args_of(user, part);
    double *const energy = part->p[WI_NBODY_ENERGIES];
    const size_t n = args.n;
    void *room = NULL;
    weft_status status = take(ctx, call->name, &room, 3 * n * sizeof(double));
    if (status != WEFT_OK)
        return status;
    double *const kinetic = room, *const potential = kinetic + n;
    args.potentials = potential + n;
    status = attract(ctx, call->name, &args);
    if (status == WEFT_OK)
        status = wi_nbody_moves_of(ctx)->energies(ctx, &args, part->p[WI_NBODY_OTHERS], kinetic,
                                                  potential);
    if (status == WEFT_OK)
        status = weft_reduce(ctx, WEFT_SUM, WEFT_F64, n, kinetic, energy);
    if (status == WEFT_OK)
        status = weft_reduce(ctx, WEFT_SUM, WEFT_F64, n, potential, energy + 1);
    return give_back(ctx, room, status);
}

weft_status weft_nbody_energy(weft_context *ctx, const weft_nbody *system, const void *positions,
                              const void *masses, const void *velocities, double *energy) {
    static const char name[] = "weft_nbody_energy";
    static const double none[2] = {0, 0};
    wi_call call;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = check_system(ctx, name, system);
    wi_call_begin(&call, name, 0, 0);
    if (status == WEFT_OK) {
        describe(&call, system, positions, masses, WI_IN);
        wi_call_add(&call,
                    wi_elements("velocities", velocities, 3 * system->n, system->type, WI_IN));
        wi_call_add(&call, wi_elements("energy", energy, 2, WEFT_F64, WI_OUT));
        status = wi_call_check(ctx, &call);
    }
    const wi_nbody_request r = {.job = WI_NBODY_ENERGY, .system = system, .call = &call};
    if (spreads(ctx, &r, &status) || status != WEFT_OK)
        return status;
    if (system->n == 0)
        return weft_copy(ctx, energy, none, sizeof none);
    return wi_call_run(ctx, &call, run_energy, (void *)system);
}
