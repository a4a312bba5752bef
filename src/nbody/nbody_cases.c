/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of nbody for the tests of all calls: with no context, with wrong arguments, and with
 * each of their allocations failed. */
#include <math.h>
#include <stdint.h>

#include "arguments.h"
#include "cases.h"
#include "nbody/nbody.h"

static const char on_accelerations[] = "weft_nbody_accelerations", on_step[] = "weft_nbody_step",
                  on_energy[] = "weft_nbody_energy";

static weft_nbody good(void) {
    return (weft_nbody){.type = WEFT_F32, .n = 4, .softening = 0.5};
}

static void without_context(void) {
    const weft_nbody s = good();
    float x[16] = {1}, v[12] = {2};
    double e[2] = {3, 3};
    assert_int_equal(weft_nbody_accelerations(NULL, &s, x, NULL, v, NULL, e), WEFT_EARG);
    assert_int_equal(weft_nbody_step(NULL, &s, 1, 1, x, NULL, v), WEFT_EARG);
    assert_int_equal(weft_nbody_energy(NULL, &s, x, NULL, v, e), WEFT_EARG);
    assert_true(x[0] == 1 && v[0] == 2 && e[0] == 3);
}

/* Each call refuses the system with a message that has `word`. */
static void refuse_system(const rig *r, const weft_nbody *s, weft_status status, const char *word) {
    weft_context *const ctx = r->ctx;
    double *const e = (double *)(void *)r->z;
    test_refused(ctx, weft_nbody_accelerations(ctx, s, r->x, NULL, r->y, NULL, e), status,
                 on_accelerations, word);
    test_refused(ctx, weft_nbody_step(ctx, s, 1, 1, r->x, NULL, r->y), status, on_step, word);
    test_refused(ctx, weft_nbody_energy(ctx, s, r->x, NULL, r->y, e), status, on_energy, word);
}

#define BAD(word, status, member, value)                                                           \
    do {                                                                                           \
        weft_nbody changed = good();                                                               \
        changed.member = (value);                                                                  \
        refuse_system(&r, &changed, status, word);                                                 \
    } while (0)

static void systems(weft_context *ctx) {
    rig r = rig_open(ctx);
    refuse_system(&r, NULL, WEFT_EARG, "system");
    for (size_t k = 0; k < sizeof bad_types / sizeof *bad_types; k++)
        BAD("type", WEFT_EARG, type, bad_types[k]);
    BAD("type", WEFT_EUNSUPPORTED, type, WEFT_I32);
    BAD("n", WEFT_EARG, n, (size_t)1 << 31);
    BAD("n", WEFT_EARG, n, SIZE_MAX);
    BAD("gravity", WEFT_EARG, gravity, INFINITY);
    BAD("softening", WEFT_EARG, softening, -1);
    BAD("softening", WEFT_EARG, softening, NAN);
    BAD("tolerance", WEFT_EARG, tolerance, -0.5);
    BAD("tolerance", WEFT_EARG, tolerance, NAN);
    rig_close(&r);
}

static void arrays(weft_context *ctx) {
    rig r = rig_open(ctx);
    const weft_nbody s = good();
    double *const e = (double *)(void *)r.z;
    float *const x = (float *)(void *)r.x, *const v = (float *)(void *)r.y;
    REFUSED(on_accelerations, "positions",
            weft_nbody_accelerations(ctx, &s, NULL, NULL, v, NULL, e));
    REFUSED(on_accelerations, "accelerations",
            weft_nbody_accelerations(ctx, &s, x, NULL, NULL, NULL, NULL));
    REFUSED(on_accelerations, "accelerations",
            weft_nbody_accelerations(ctx, &s, x, NULL, NULL, v, e));
    REFUSED(on_accelerations, "masses",
            weft_nbody_accelerations(ctx, &s, x, (char *)r.y + 2, v + 12, NULL, NULL));
    REFUSED(on_accelerations, "overlap", weft_nbody_accelerations(ctx, &s, x, NULL, x, NULL, NULL));
    REFUSED(on_accelerations, "overlap",
            weft_nbody_accelerations(ctx, &s, x, NULL, v, v + 11, NULL));
    REFUSED(on_accelerations, "error",
            weft_nbody_accelerations(ctx, &s, x, NULL, v, NULL, (double *)((char *)e + 4)));
    REFUSED(on_step, "positions", weft_nbody_step(ctx, &s, 1, 1, NULL, NULL, v));
    REFUSED(on_step, "velocities", weft_nbody_step(ctx, &s, 1, 1, x, NULL, NULL));
    REFUSED(on_step, "overlap", weft_nbody_step(ctx, &s, 1, 1, x, NULL, x + 15));
    REFUSED(on_step, "overlap", weft_nbody_step(ctx, &s, 1, 1, x, x + 11, v));
    REFUSED(on_step, "dt", weft_nbody_step(ctx, &s, NAN, 1, x, NULL, v));
    REFUSED(on_energy, "velocities", weft_nbody_energy(ctx, &s, x, NULL, NULL, e));
    REFUSED(on_energy, "energy", weft_nbody_energy(ctx, &s, x, NULL, v, NULL));
    rig_close(&r);
}

static void empty(weft_context *ctx) {
    weft_nbody s = good();
    float x = 1, v = 2;
    double e[2] = {3, 3};
    assert_int_equal(weft_nbody_step(ctx, &s, 1, 0, (float[16]){1}, NULL, (float[12]){1}), WEFT_OK);
    s.n = 0;
    assert_int_equal(weft_nbody_accelerations(ctx, &s, NULL, NULL, NULL, NULL, e), WEFT_OK);
    assert_true(e[0] == 0 && e[1] == 3);
    assert_int_equal(weft_nbody_step(ctx, &s, 1, 5, &x, NULL, &v), WEFT_OK);
    assert_int_equal(weft_nbody_energy(ctx, &s, &x, NULL, &v, e), WEFT_OK);
    assert_true(x == 1 && v == 2 && e[0] == 0 && e[1] == 0);
}

/* ---- allocations ---- */

enum {
    FEW = 300
};

static weft_nbody few(double tolerance) {
    return (weft_nbody){.type = WEFT_F32, .n = FEW, .softening = 0.5, .tolerance = tolerance};
}

static weft_status run_accelerations(weft_context *ctx, test_arrays *a) {
    const weft_nbody s = few(0);
    return weft_nbody_accelerations(ctx, &s, a->x, NULL, a->z, NULL, a->result);
}

static weft_status run_step(weft_context *ctx, test_arrays *a) {
    const weft_nbody s = few(0);
    return weft_nbody_step(ctx, &s, 0.125, 2, a->z, a->x, a->z + (ptrdiff_t)4 * FEW);
}

static weft_status run_energy(weft_context *ctx, test_arrays *a) {
    const weft_nbody s = few(0);
    double energy[2];
    return weft_nbody_energy(ctx, &s, a->x, NULL, a->y, energy);
}

static const test_refusal refusals[] = {
    {"nbody: systems", systems},
    {"nbody: arrays", arrays},
    {"nbody: empty", empty},
};

static const test_call calls[] = {
    {on_accelerations, run_accelerations, &wi_nbody_ladder, NULL},
    {on_step, run_step, &wi_nbody_ladder, NULL},
    {on_energy, run_energy, &wi_nbody_ladder, NULL},
};

const test_cases wi_nbody_cases = {.without_context = without_context,
                                   .refusals = refusals,
                                   .refusal_count = sizeof refusals / sizeof *refusals,
                                   .calls = calls,
                                   .call_count = sizeof calls / sizeof *calls};
