/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of nbody. */
#include "nbody/nbody.h"

#include <math.h>

#include "core/call.h"
#include "core/gpu.h"
#include "weft/op.h"
#include "weft/reduce.h"

enum {
    POSITIONS,
    MASSES,
    OTHERS, /* the first array that is a call's own */
    MOST_BODIES = INT32_MAX
};

static const wi_nbody_moves *moves_of(const weft_context *ctx) {
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
    if (status == WEFT_OK && s->n > MOST_BODIES)
        status = wi_fail(ctx, WEFT_EARG, "%s: n is %zu; pass at most %d bodies", name, s->n,
                         MOST_BODIES);
    if (status == WEFT_OK)
        status = check_number(ctx, name, "gravity", s->gravity, true);
    if (status == WEFT_OK)
        status = check_number(ctx, name, "softening", s->softening, false);
    if (status == WEFT_OK)
        status = check_number(ctx, name, "tolerance", s->tolerance, false);
    return status;
}

/* Begins the description of a call with the arrays that all have. */
static void describe(wi_call *call, const char *name, const weft_nbody *s, const void *positions,
                     const void *masses, unsigned use) {
    wi_call_begin(call, name, 0, 0);
    wi_call_add(call, wi_elements("positions", positions, (masses ? 3 : 4) * s->n, s->type, use));
    wi_call_add(call, wi_elements("masses", masses, s->n, s->type, WI_IN | WI_OPTIONAL));
}

static wi_nbody_args args_of(const weft_nbody *s, const wi_part *part) {
    const bool is_packed = !part->p[MASSES];
    wi_nbody_args args = {.type = s->type,
                          .n = s->n,
                          .gravity = s->gravity == 0 ? 1 : s->gravity,
                          .softening = s->softening,
                          .tolerance = s->tolerance,
                          .positions = part->p[POSITIONS],
                          .masses = part->p[MASSES],
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

enum {
    ACCELERATIONS = OTHERS,
    POTENTIALS,
    ERROR
};

/* All memory is taken before anything is written. */
static weft_status run_measured(weft_context *ctx, const char *name, const wi_nbody_args *args,
                                double *error) {
    const wi_nbody_moves *const moves = moves_of(ctx);
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
    wi_nbody_args args = args_of(user, part);
    args.accelerations = part->p[ACCELERATIONS];
    args.potentials = part->p[POTENTIALS];
    if (part->p[ERROR])
        return run_measured(ctx, call->name, &args, part->p[ERROR]);
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
    if (status != WEFT_OK)
        return status;
    if (!accelerations && (!potentials || error) && system->n > 0)
        return wi_fail(ctx, WEFT_EARG, "%s: accelerations is NULL; pass %s", name,
                       error ? "3 n elements, of which the error is measured"
                             : "3 n elements, or potentials");
    describe(&call, name, system, positions, masses, WI_IN);
    wi_call_add(&call, wi_elements("accelerations", accelerations, 3 * system->n, system->type,
                                   WI_OUT | WI_OPTIONAL));
    wi_call_add(&call, wi_elements("potentials", potentials, system->n, system->type,
                                   WI_OUT | WI_OPTIONAL));
    wi_call_add(&call, wi_elements("error", error, 1, WEFT_F64, WI_OUT | WI_OPTIONAL));
    status = wi_call_check(ctx, &call);
    if (status != WEFT_OK)
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
    const wi_nbody_moves *const moves = moves_of(ctx);
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
    const wi_nbody_moves *const moves = moves_of(ctx);
    const wi_nbody_args from = args_of(w->system, part);
    const size_t n = from.n, size = weft_type_size(from.type);
    wi_nbody_state state = {.type = from.type, .n = n};
    weft_status status = take(ctx, call->name, &state.bodies, 10 * n * size);
    if (status != WEFT_OK)
        return status;
    state.velocities = (char *)state.bodies + 4 * n * size;
    state.accelerations = (char *)state.bodies + 7 * n * size;
    status = moves->load(ctx, &from, part->p[OTHERS], &state);
    if (status == WEFT_OK)
        status = run_steps(ctx, call->name, w, &from, &state);
    if (status == WEFT_OK)
        status =
            moves->store(ctx, &state, part->p[POSITIONS], from.position_pitch, part->p[OTHERS]);
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
    if (status != WEFT_OK)
        return status;
    describe(&call, name, system, positions, masses, WI_IN | WI_OUT);
    wi_call_add(&call,
                wi_elements("velocities", velocities, 3 * system->n, system->type, WI_IN | WI_OUT));
    status = wi_call_check(ctx, &call);
    if (status != WEFT_OK || system->n == 0 || steps == 0)
        return status;
    return wi_call_run(ctx, &call, run_walk, &w);
}

/* ---- energy ---- */

static weft_status run_energy(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_nbody_args args = args_of(user, part);
    double *const energy = part->p[OTHERS + 1];
    const size_t n = args.n;
    void *room = NULL;
    weft_status status = take(ctx, call->name, &room, 3 * n * sizeof(double));
    if (status != WEFT_OK)
        return status;
    double *const kinetic = room, *const potential = kinetic + n;
    args.potentials = potential + n;
    status = attract(ctx, call->name, &args);
    if (status == WEFT_OK)
        status = moves_of(ctx)->energies(ctx, &args, part->p[OTHERS], kinetic, potential);
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
    if (status != WEFT_OK)
        return status;
    describe(&call, name, system, positions, masses, WI_IN);
    wi_call_add(&call, wi_elements("velocities", velocities, 3 * system->n, system->type, WI_IN));
    wi_call_add(&call, wi_elements("energy", energy, 2, WEFT_F64, WI_OUT));
    status = wi_call_check(ctx, &call);
    if (status != WEFT_OK)
        return status;
    if (system->n == 0)
        return weft_copy(ctx, energy, none, sizeof none);
    return wi_call_run(ctx, &call, run_energy, (void *)system);
}
