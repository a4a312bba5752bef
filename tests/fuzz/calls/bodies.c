/* SPDX-License-Identifier: Apache-2.0 */
/* weft_nbody_accelerations, _step and _energy, compared with the sums of their definition. */
#include "calls/matrices.h"

#include <math.h>
#include <string.h>

enum {
    CPU_BODIES = 300,
    GPU_BODIES = 80
};

typedef struct sky {
    weft_nbody system;
    fuzz_array *positions, *masses, *velocities;
    size_t row; /* elements of a row of positions: with masses in it, or without */
} sky;

static long double at(const sky *s, const fuzz_array *a, size_t k) {
    return test_load(s->system.type, a->before, k).f;
}

static long double mass(const sky *s, size_t i) {
    return s->masses ? at(s, s->masses, i) : at(s, s->positions, s->row * i + 3);
}

/* Coordinates between -1 and 1, masses between 0 and 1; some bodies at the very same point. */
static fuzz_array *coordinates(fuzz *f, const char *name, weft_type type, size_t row, size_t n) {
    const size_t size = test_size_of(type);
    void *const data = fuzz_take(f, n * row * size);
    test_random *const r = fuzz_random(f);
    for (size_t k = 0; k < n * row; k++) {
        const double unit = test_unit(r);
        test_store(type, data, k, (test_value){.f = row == 1 || k % row == 3 ? fabs(unit) : unit});
    }
    for (size_t i = 1; i < n && row >= 3; i++) {
        if (test_below(r, 20) == 0) {
            memcpy((char *)data + i * row * size, data, 3 * size);
        }
    }
    return fuzz_input(f, name, n * row * size, size, data);
}

static sky draw(fuzz *f) {
    sky s = {.system = {.type = fuzz_one_in(f, 2) ? WEFT_F64 : WEFT_F32}};
    s.system.n = fuzz_extent(f, f->gpu ? GPU_BODIES : CPU_BODIES);
    s.system.gravity = fuzz_one_in(f, 2) ? 0 : 0.5;
    s.system.softening = fuzz_one_in(f, 3) ? 0.125 : 0.5;
    const bool apart = fuzz_one_in(f, 2);
    s.row = apart ? 3 : 4;
    s.positions = coordinates(f, "positions", s.system.type, s.row, s.system.n);
    s.masses = apart ? coordinates(f, "masses", s.system.type, 1, s.system.n) : NULL;
    if (s.masses) {
        s.masses->optional = true;
    }
    return s;
}

/* The pull on body i and its potential, and the sums of the magnitudes of their terms. */
static void pull(const sky *s, size_t i, long double value[4], long double sizes[4]) {
    const long double g = s->system.gravity == 0 ? 1 : s->system.gravity;
    const long double eps = s->system.softening;
    memset(value, 0, 4 * sizeof *value);
    memset(sizes, 0, 4 * sizeof *sizes);
    for (size_t j = 0; j < s->system.n; j++) {
        long double way[3], square = 0;
        for (size_t d = 0; d < 3; d++) {
            way[d] = at(s, s->positions, s->row * j + d) - at(s, s->positions, s->row * i + d);
            square += way[d] * way[d];
        }
        if (square == 0) {
            continue;
        }
        const long double inverse = 1 / sqrtl(square + eps * eps), term = g * mass(s, j) * inverse;
        for (size_t d = 0; d < 3; d++) {
            value[d] += term * inverse * inverse * way[d];
            sizes[d] += fabsl(term * inverse * inverse * way[d]);
        }
        value[3] -= term;
        sizes[3] += term;
    }
}

static fuzz_array *wanted(fuzz *f, const sky *s, const char *name, size_t row) {
    const size_t size = test_size_of(s->system.type), count = s->system.n * row;
    fuzz_array *const a = fuzz_output(f, name, count * size, size);
    a->type = s->system.type;
    a->compare = FUZZ_BOUNDED;
    a->value = fuzz_take(f, count * sizeof *a->value);
    a->bound = fuzz_take(f, count * sizeof *a->bound);
    a->optional = true;
    return a;
}

static void foretell(const sky *s, fuzz_array *accelerations, fuzz_array *potentials) {
    const bool narrow = s->system.type == WEFT_F32;
    const long double n = (long double)s->system.n;
    const long double u = narrow ? 300 * 0x1p-24L : (300 + n / 256) * 0x1p-53L;
    for (size_t i = 0; i < s->system.n; i++) {
        long double value[4], sizes[4];
        pull(s, i, value, sizes);
        for (size_t d = 0; d < 3 && accelerations; d++) {
            accelerations->value[3 * i + d] = value[d];
            accelerations->bound[3 * i + d] = u * sizes[d];
        }
        if (potentials) {
            potentials->value[i] = value[3];
            potentials->bound[i] = u * sizes[3];
        }
    }
}

void fuzz_pull(fuzz *f) {
    fuzz_begin(f, "nbody");
    const sky s = draw(f);
    const bool both = fuzz_one_in(f, 2), one = fuzz_one_in(f, 2);
    fuzz_array *const a = both || one ? wanted(f, &s, "accelerations", 3) : NULL;
    fuzz_array *const p = both || !one ? wanted(f, &s, "potentials", 1) : NULL;
    foretell(&s, a, p);
    if (both || (!s.masses && fuzz_one_in(f, 2))) {
        fuzz_spoil_any_array(f);
    }
    if (f->wrong && !s.positions->p && s.system.n == 0) {
        f->wrong = NULL;
    }
    fuzz_say(f, "weft_nbody_accelerations(%s, %zu, masses %s, gravity %g, softening %g)",
             weft_type_name(s.system.type), s.system.n, s.masses ? "apart" : "in rows",
             s.system.gravity, s.system.softening);
    fuzz_end(f, "weft_nbody_accelerations",
             weft_nbody_accelerations(f->ctx, &s.system, s.positions->p,
                                      s.masses ? s.masses->p : NULL, a ? a->p : NULL,
                                      p ? p->p : NULL, NULL));
}

/* Steps in one call have the bits of as many calls of one step. */
void fuzz_steps(fuzz *f) {
    fuzz_begin(f, "nbody");
    sky s = draw(f);
    const size_t steps = fuzz_below(f, 4), size = test_size_of(s.system.type);
    s.velocities = coordinates(f, "velocities", s.system.type, 3, s.system.n);
    s.positions->output = s.velocities->output = true;
    s.positions->compare = s.velocities->compare = FUZZ_ANY;
    const size_t x_bytes = s.positions->bytes, v_bytes = s.velocities->bytes;
    unsigned char *const x = fuzz_take(f, x_bytes + size), *const v = fuzz_take(f, v_bytes + size);
    fuzz_say(f, "weft_nbody_step(%s, %zu, %zu steps)", weft_type_name(s.system.type), s.system.n,
             steps);
    const void *const m = s.masses ? s.masses->p : NULL;
    const weft_status status =
        weft_nbody_step(f->ctx, &s.system, 0.01, steps, s.positions->p, m, s.velocities->p);
    if (!fuzz_end(f, "weft_nbody_step", status)) {
        return;
    }
    memcpy(x, s.positions->before, x_bytes);
    memcpy(v, s.velocities->before, v_bytes);
    for (size_t k = 0; k < steps; k++) {
        if (weft_nbody_step(f->ctx, &s.system, 0.01, 1, x, s.masses ? s.masses->before : NULL, v)) {
            fail_msg("one step after another: %s", weft_message(f->ctx));
        }
    }
    if (memcmp(x, fuzz_read(f, s.positions), x_bytes) != 0 ||
        memcmp(v, fuzz_read(f, s.velocities), v_bytes) != 0) {
        fail_msg("%zu steps in one call and one after another differ: %s", steps, fuzz_said());
    }
}

void fuzz_energy(fuzz *f) {
    fuzz_begin(f, "nbody");
    sky s = draw(f);
    s.velocities = coordinates(f, "velocities", s.system.type, 3, s.system.n);
    fuzz_array *const energy = fuzz_output(f, "energy", 2 * sizeof(double), sizeof(double));
    long double kinetic = 0, potential = 0, sizes = 0, value[4], terms[4];
    for (size_t i = 0; i < s.system.n; i++) {
        for (size_t d = 0; d < 3; d++) {
            const long double v = at(&s, s.velocities, 3 * i + d);
            kinetic += mass(&s, i) * v * v / 2;
        }
        pull(&s, i, value, terms);
        potential += mass(&s, i) * value[3] / 2;
        sizes += mass(&s, i) * terms[3] / 2;
    }
    const long double u = (s.system.type == WEFT_F32 ? 0x1p-24L : 0x1p-53L) * 302;
    const long double values[] = {kinetic, potential}, bounds[] = {u * kinetic, u * sizes};
    energy->type = WEFT_F64;
    energy->compare = FUZZ_BOUNDED;
    energy->value = fuzz_take(f, sizeof values);
    energy->bound = fuzz_take(f, sizeof bounds);
    memcpy(energy->value, values, sizeof values);
    memcpy(energy->bound, bounds, sizeof bounds);
    fuzz_say(f, "weft_nbody_energy(%s, %zu)", weft_type_name(s.system.type), s.system.n);
    fuzz_end(f, "weft_nbody_energy",
             weft_nbody_energy(f->ctx, &s.system, s.positions->p, s.masses ? s.masses->p : NULL,
                               s.velocities->p, energy->p));
}
