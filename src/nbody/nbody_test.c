/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of nbody, on every place: types, arrays packed or not, soft or not, bodies at one
 * point, host and device memory, against sums in long double within the bound that the header
 * states; the measured error; and steps: their bits, their order and the drift of the energy. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nbody/nbody.h"
#include "testing.h"

enum {
    POSITIONS,
    MASSES,
    ACCELERATIONS,
    POTENTIALS,
    ARRAYS,
    MOST_N = 1100,
    ALL_ON_DEVICE = (1 << ARRAYS) - 1
};

#ifdef WEFT_EMU
static const size_t most_pairs = 12000, orbits_seen = 1, first_steps = 80;
#else
static const size_t most_pairs = 300000, orbits_seen = 4, first_steps = 200;
#endif

static const weft_type types[] = {WEFT_F32, WEFT_F64};
static const size_t sizes[] = {1, 2, 3, 31, 33, 127, 255, 256, 257, 511, 513, 700, 1025, 1100};
static const double softenings[] = {0.0625, 0, 1e-6};

enum {
    TYPES = sizeof types / sizeof *types,
    SIZES = sizeof sizes / sizeof *sizes,
    SOFTENINGS = sizeof softenings / sizeof *softenings,
    WANTED = 3, /* accelerations, potentials, both */
};

typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_buffer host[ARRAYS], device[ARRAYS];
    unsigned char source[ARRAYS][4 * MOST_N * sizeof(double)];
    double x[MOST_N][4]; /* the bodies: coordinates and mass */
} rig;

typedef struct body_case {
    const wi_row *row;
    weft_nbody s;
    bool is_packed;
    unsigned wanted, device; /* of the arrays, as bits */
} body_case;

static const char *describe(const rig *r, const body_case *c) {
    static char text[300];
    snprintf(text, sizeof text,
             "%s on %s, variant %s, n %zu, %s, gravity %g, softening %g, tolerance %g, wanted %#x, "
             "device %#x",
             test_type_name(c->s.type), weft_place(r->ctx), c->row ? c->row->name : "auto", c->s.n,
             c->is_packed ? "packed" : "apart", c->s.gravity, c->s.softening, c->s.tolerance,
             c->wanted, c->device);
    return text;
}

static test_buffer *buffer_of(rig *r, const body_case *c, int array) {
    return r->ctx->kind == WI_CUDA && (c->device >> array & 1) ? &r->device[array]
                                                               : &r->host[array];
}

static size_t elements_of(const body_case *c, int array) {
    if (array == POSITIONS)
        return (c->is_packed ? 4 : 3) * c->s.n;
    return array == ACCELERATIONS ? 3 * c->s.n : c->s.n;
}

static rig *rig_open(weft_context *ctx) {
    rig *const r = malloc(sizeof *r);
    assert_non_null(r);
    r->ctx = ctx;
    r->random = test_random_at(1);
    for (int k = 0; k < ARRAYS; k++) {
        r->host[k] = test_buffer_open(ctx, false, sizeof r->source[k]);
        if (ctx->kind == WI_CUDA)
            r->device[k] = test_buffer_open(ctx, true, sizeof r->source[k]);
    }
    return r;
}

static void rig_close(rig *r) {
    for (int k = 0; k < ARRAYS; k++) {
        test_buffer_close(&r->host[k]);
        if (r->ctx->kind == WI_CUDA)
            test_buffer_close(&r->device[k]);
    }
    free(r);
}

/* Positions in [-1, 1), now and then that of an earlier body; masses, some of them 0. */
static void draw_bodies(rig *r, const body_case *c) {
    const size_t pitch = c->is_packed ? 4 : 3;
    for (size_t i = 0; i < c->s.n; i++) {
        const bool is_twin = i > 0 && test_below(&r->random, 16) == 0;
        const size_t twin = is_twin ? test_below(&r->random, i) : 0;
        for (size_t k = 0; k < 3; k++) {
            const test_value x = is_twin
                                     ? test_load(c->s.type, r->source[POSITIONS], twin * pitch + k)
                                     : (test_value){.f = test_unit(&r->random)};
            test_store(c->s.type, r->source[POSITIONS], i * pitch + k, x);
        }
        const test_value mass = {
            .f = test_below(&r->random, 16) ? 0.25 + fabs(test_unit(&r->random)) : 0};
        test_store(c->s.type, c->is_packed ? r->source[POSITIONS] : r->source[MASSES],
                   c->is_packed ? 4 * i + 3 : i, mass);
    }
}

/* What source holds, as numbers. */
static void widen(rig *r, const body_case *c) {
    for (size_t i = 0; i < c->s.n; i++) {
        for (size_t k = 0; k < 3; k++)
            r->x[i][k] =
                test_load(c->s.type, r->source[POSITIONS], i * (c->is_packed ? 4 : 3) + k).f;
        r->x[i][3] = c->is_packed ? test_load(c->s.type, r->source[POSITIONS], 4 * i + 3).f
                                  : test_load(c->s.type, r->source[MASSES], i).f;
    }
}

/* Acceleration and potential of body i, and the sums of the magnitudes of their terms. */
static void sum_all(const rig *r, const body_case *c, size_t i, long double sum[4],
                    long double magnitude[4]) {
    const long double eps2 = (long double)c->s.softening * c->s.softening;
    const long double gravity = c->s.gravity == 0 ? 1 : c->s.gravity;
    for (size_t k = 0; k < 4; k++)
        sum[k] = magnitude[k] = 0;
    for (size_t j = 0; j < c->s.n; j++) {
        long double d[3], q = 0;
        for (size_t k = 0; k < 3; k++) {
            d[k] = (long double)r->x[j][k] - r->x[i][k];
            q += d[k] * d[k];
        }
        if (q == 0)
            continue;
        const long double far = sqrtl(q + eps2), m = gravity * r->x[j][3];
        for (size_t k = 0; k < 4; k++) {
            const long double term = k < 3 ? m * d[k] / (far * far * far) : -m / far;
            sum[k] += term;
            magnitude[k] += fabsl(term);
        }
    }
}

static void compare(rig *r, const body_case *c) {
    const double u = test_roundoff(c->s.type);
    const double bound = c->s.type == WEFT_F32 ? 300 * u : (300 + (double)c->s.n / 256) * u;
    const void *found[ARRAYS] = {NULL};
    for (int array = ACCELERATIONS; array < ARRAYS; array++)
        if (c->wanted >> array & 1)
            found[array] = test_buffer_read(buffer_of(r, c, array), describe(r, c));
    for (size_t i = 0; i < c->s.n; i++) {
        long double sum[4], magnitude[4];
        sum_all(r, c, i, sum, magnitude);
        for (size_t k = 0; k < 4; k++) {
            const int array = k < 3 ? ACCELERATIONS : POTENTIALS;
            if (!found[array])
                continue;
            const double now = test_load(c->s.type, found[array], k < 3 ? 3 * i + k : i).f;
            if (!(fabsl(now - sum[k]) <= bound * magnitude[k]))
                fail_msg("%s: %s %zu of body %zu is %.17g, should be %.17Lg, off by %.3Lg u",
                         describe(r, c), k < 3 ? "acceleration" : "potential", k, i, now, sum[k],
                         fabsl(now - sum[k]) / (u * magnitude[k]));
        }
    }
}

static void load(rig *r, const body_case *c) {
    const size_t size = test_size_of(c->s.type);
    draw_bodies(r, c);
    widen(r, c);
    for (int k = 0; k < ARRAYS; k++) {
        const size_t offset = test_below(&r->random, 4) * size;
        if (k >= ACCELERATIONS)
            test_buffer_poison(buffer_of(r, c, k), elements_of(c, k) * size, offset);
        else
            test_buffer_load(buffer_of(r, c, k), r->source[k], elements_of(c, k) * size, offset);
    }
}

static weft_status attract(rig *r, const body_case *c, double *error) {
    test_use(r->ctx, "nbody", c->row);
    return weft_nbody_accelerations(
        r->ctx, &c->s, buffer_of(r, c, POSITIONS)->p,
        c->is_packed ? NULL : buffer_of(r, c, MASSES)->p,
        c->wanted >> ACCELERATIONS & 1 ? buffer_of(r, c, ACCELERATIONS)->p : NULL,
        c->wanted >> POTENTIALS & 1 ? buffer_of(r, c, POTENTIALS)->p : NULL, error);
}

static bool is_tree(const wi_row *row) {
    return row && (strcmp(row->name, "tree") == 0 || strcmp(row->name, "octree") == 0);
}

/* Axes: the type; the softening; what is wanted. */
static bool run_drawn(void *user, size_t n, const wi_row *row, const size_t at[]) {
    static const unsigned wanted[WANTED] = {1 << ACCELERATIONS, 1 << POTENTIALS,
                                            1 << ACCELERATIONS | 1 << POTENTIALS};
    rig *const r = user;
    body_case c = {.row = row, .wanted = wanted[at[2]]};
    c.s.type = types[at[0]];
    c.s.softening = softenings[at[1]];
    c.s.n = n;
    const bool is_large = test_below(&r->random, 8) == 0; /* several tiles, parts and blocks */
    while (!is_large && c.s.n * c.s.n > most_pairs)
        c.s.n -= 1 + c.s.n / 8;
    c.s.gravity = test_below(&r->random, 2) ? 0 : 6.5;
    c.is_packed = test_below(&r->random, 2);
    c.device = test_below(&r->random, 2) ? ALL_ON_DEVICE : (unsigned)test_below(&r->random, 16);
    load(r, &c);
    const weft_status status = attract(r, &c, NULL);
    if (status == WEFT_EUNSUPPORTED && is_tree(row))
        return false;
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", describe(r, &c), weft_status_name(status), weft_message(r->ctx));
    test_used(r->ctx, "nbody", row, describe(r, &c));
    compare(r, &c);
    return true;
}

static void all_pairs(weft_context *ctx) {
    rig *const r = rig_open(ctx);
    const test_sweep s = {.sizes = sizes,
                          .size_count = SIZES,
                          .ladder = &wi_nbody_ladder,
                          .extent = {TYPES, SOFTENINGS, WANTED},
                          .must = 7,
                          .share = 20,
                          .run = run_drawn};
    test_sweep_run(ctx, &r->random, &s, r);
    rig_close(r);
}

/* ---- the measured error ---- */

/* It is small when accelerations are right; and that of one that is wrong is as large as it is. */
static void errors(weft_context *ctx) {
    rig *const r = rig_open(ctx);
    body_case c = {.s = {.type = WEFT_F32, .n = 100, .softening = 0.0625},
                   .is_packed = true,
                   .wanted = 1 << ACCELERATIONS,
                   .device = ALL_ON_DEVICE};
    double error = -1;
    load(r, &c);
    assert_int_equal(attract(r, &c, &error), WEFT_OK);
    if (!(error >= 0 && error < 1e-5))
        fail_msg("%s: the error is %g", describe(r, &c), error);
    c.s.n = 1;
    load(r, &c);
    assert_int_equal(attract(r, &c, &error), WEFT_OK);
    assert_true(error == 0);
    rig_close(r);
}

/* ---- the tree ---- */

static const double tolerances[] = {1e-2, 1e-3, 1e-5};
static const size_t tree_sizes[] = {1, 2, 16, 17, 33, 100, 255, 513, 1025, 1100};

enum {
    TOLERANCES = sizeof tolerances / sizeof *tolerances,
    TREE_SIZES = sizeof tree_sizes / sizeof *tree_sizes,
    SHAPES = 4
};

/* Bodies that lie evenly, in clusters, on a line, or all at two points. */
static void draw_shape(rig *r, const body_case *c, size_t shape) {
    const size_t pitch = c->is_packed ? 4 : 3;
    for (size_t i = 0; i < c->s.n; i++) {
        const double far = shape == 1 ? ldexp(1, -(int)test_below(&r->random, 12)) : 1;
        for (size_t k = 0; k < 3; k++) {
            const double x = shape == 3   ? (double)(i % 2)
                             : shape == 2 ? (double)i / 8 * (k == 0)
                                          : far * test_unit(&r->random);
            test_store(c->s.type, r->source[POSITIONS], i * pitch + k, (test_value){.f = x});
        }
        test_store(c->s.type, c->is_packed ? r->source[POSITIONS] : r->source[MASSES],
                   c->is_packed ? 4 * i + 3 : i,
                   (test_value){.f = 0.5 + fabs(test_unit(&r->random)) / 2});
    }
    widen(r, c);
}

/* Against the sums of the magnitudes of their terms, accelerations and potentials are off by less
 * than the third power of theta, and the root of the mean
 * square is within three tolerances: these are not the shapes that the rule was found for. */
static void compare_roughly(rig *r, const body_case *c, double error) {
    const double rounding = (double)(c->s.n + 300) * test_roundoff(c->s.type);
    const double theta = wi_nbody_theta(c->s.tolerance), bound = theta * theta * theta + rounding;
    const void *const a = test_buffer_read(buffer_of(r, c, ACCELERATIONS), describe(r, c));
    const void *const p = test_buffer_read(buffer_of(r, c, POTENTIALS), describe(r, c));
    long double mean = 0, share = 0;
    bool is_plain = c->s.n <= WI_NBODY_SAMPLE; /* the sample is all, and no sum nearly cancels */
    for (size_t i = 0; i < c->s.n; i++) {
        long double sum[4], magnitude[4], off = 0, all = 0, square = 0;
        sum_all(r, c, i, sum, magnitude);
        for (size_t k = 0; k < 3; k++) {
            const long double d = test_load(c->s.type, a, 3 * i + k).f - sum[k];
            off += d * d;
            all += magnitude[k] * magnitude[k];
            square += sum[k] * sum[k];
        }
        mean += square > 0 ? off / square / c->s.n : 0;
        is_plain = is_plain && square >= 1e-4 * all;
        share += all > 0 ? off / all / c->s.n : 0;
        if (!(off <= bound * bound * all))
            fail_msg("%s: the acceleration of body %zu is off by %.3Lg of its terms",
                     describe(r, c), i, sqrtl(off / all));
        const long double d = test_load(c->s.type, p, i).f - sum[3];
        if (!(fabsl(d) <= bound * magnitude[3]))
            fail_msg("%s: the potential of body %zu is %.9g, should be %.9Lg", describe(r, c), i,
                     test_load(c->s.type, p, i).f, sum[3]);
    }
    if (!(sqrtl(share) <= 3 * c->s.tolerance + rounding))
        fail_msg("%s: off by %Lg of the terms", describe(r, c), sqrtl(share));
    if (!(error >= 0) ||
        (is_plain && !(fabsl(sqrtl(mean) - error) <= 1e-6 * error + 1e4 * test_roundoff(WEFT_F64))))
        fail_msg("%s: the error is said to be %g, and is %Lg", describe(r, c), error, sqrtl(mean));
}

/* Axes: the type; the softening; the tolerance; the shape. */
static bool run_tree(void *user, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = user;
    body_case c = {.row = row, .wanted = 1 << ACCELERATIONS | 1 << POTENTIALS};
    double error = -1;
    if (row && !is_tree(row))
        return false;
    c.s.type = types[at[0]];
    c.s.softening = softenings[at[1]];
    c.s.tolerance = tolerances[at[2]];
    c.s.n = n;
    while (c.s.n * c.s.n > most_pairs)
        c.s.n -= 1 + c.s.n / 8;
    c.is_packed = test_below(&r->random, 2);
    c.device = test_below(&r->random, 2) ? ALL_ON_DEVICE : (unsigned)test_below(&r->random, 16);
    load(r, &c);
    draw_shape(r, &c, at[3]);
    const size_t size = test_size_of(c.s.type);
    for (int k = 0; k < ACCELERATIONS; k++)
        test_buffer_load(buffer_of(r, &c, k), r->source[k], elements_of(&c, k) * size, 0);
    const weft_status status = attract(r, &c, &error);
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", describe(r, &c), weft_status_name(status), weft_message(r->ctx));
    test_used(r->ctx, "nbody", row, describe(r, &c));
    compare_roughly(r, &c, error);
    return true;
}

static void trees(weft_context *ctx) {
    rig *const r = rig_open(ctx);
    const test_sweep s = {.sizes = tree_sizes,
                          .size_count = TREE_SIZES,
                          .ladder = &wi_nbody_ladder,
                          .extent = {TYPES, SOFTENINGS, TOLERANCES, SHAPES},
                          .must = 9,
                          .share = 20,
                          .run = run_tree};
    test_sweep_run(ctx, &r->random, &s, r);
    rig_close(r);
}

/* Bodies at one point, or one alone, are at rest, whatever their masses and that point: the centre
 * of a node of the tree is where they are. */
static void rest_at(rig *r, const body_case *c) {
    load(r, c);
    for (size_t i = 1; i < c->s.n; i++)
        for (size_t j = 0; j < 3; j++)
            test_store(c->s.type, r->source[POSITIONS], 4 * i + j,
                       test_load(c->s.type, r->source[POSITIONS], j));
    test_buffer_load(buffer_of(r, c, POSITIONS), r->source[POSITIONS],
                     4 * c->s.n * test_size_of(c->s.type), 0);
    const weft_status status = attract(r, c, NULL);
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", describe(r, c), weft_status_name(status), weft_message(r->ctx));
    for (int array = ACCELERATIONS; array < ARRAYS; array++) {
        const void *const found = test_buffer_read(buffer_of(r, c, array), describe(r, c));
        for (size_t i = 0; i < elements_of(c, array); i++)
            if (test_load(c->s.type, found, i).f != 0)
                fail_msg("%s: element %zu of array %d is %g, should be 0", describe(r, c), i, array,
                         test_load(c->s.type, found, i).f);
    }
}

static void at_one_point(weft_context *ctx) {
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_nbody_ladder, rows);
    rig *const r = rig_open(ctx);
    for (size_t row = 0; row < count; row++)
        for (size_t k = 0; k < 24; k++)
            rest_at(r, &(body_case){.s = {.type = types[k % 2],
                                          .n = k / 2 % 2 ? 1 : 1 + k,
                                          .tolerance = is_tree(rows[row]) ? 1e-3 : 0},
                                    .row = rows[row],
                                    .is_packed = true,
                                    .wanted = 1 << ACCELERATIONS | 1 << POTENTIALS,
                                    .device = ALL_ON_DEVICE});
    rig_close(r);
}

/* ---- steps ---- */

/* Two bodies of mass 1/2 at a distance of 1 go round each other in 2 pi. */
static void put_pair(double x[8], double v[6], double speed) {
    const double x0[8] = {0.5, 0, 0, 0.5, -0.5, 0, 0, 0.5}, v0[6] = {0, 0.5, 0, 0, -0.5, 0};
    for (int k = 0; k < 8; k++)
        x[k] = x0[k];
    for (int k = 0; k < 6; k++)
        v[k] = speed * v0[k];
}

static double energy_of(weft_context *ctx, const weft_nbody *s, const double *x, const double *v) {
    double energy[2];
    assert_int_equal(weft_nbody_energy(ctx, s, x, NULL, v, energy), WEFT_OK);
    return energy[0] + energy[1];
}

/* Around the circle and back to the start, with an error of second order. */
static void orbits(weft_context *ctx) {
    const weft_nbody s = {.type = WEFT_F64, .n = 2};
    double away[2];
    for (size_t k = 0; k < 2; k++) {
        const size_t steps = 64 << k;
        double x[8], v[6];
        put_pair(x, v, 1);
        assert_int_equal(weft_nbody_step(ctx, &s, 2 * M_PI / (double)steps, steps, x, NULL, v),
                         WEFT_OK);
        away[k] = hypot(x[0] - 0.5, x[1]);
        assert_true(x[3] == 0.5 && x[7] == 0.5);
    }
    if (!(away[0] < 0.02 && away[0] / away[1] > 3.8 && away[0] / away[1] < 4.2))
        fail_msg("on %s: after an orbit off by %g in 64 steps, by %g in 128", weft_place(ctx),
                 away[0], away[1]);
}

/* On an ellipse the energy swings with dt^2 and does not drift: after whole orbits it is back. */
static void energies(weft_context *ctx) {
    const weft_nbody s = {.type = WEFT_F64, .n = 2, .softening = 0.01};
    double swing[2], drift[2];
    for (size_t k = 0; k < 2; k++) {
        const size_t steps = first_steps << k;
        double x[8], v[6], most = 0;
        put_pair(x, v, 0.8);
        const double before = energy_of(ctx, &s, x, v);
        for (size_t done = 0; done < orbits_seen * steps; done += 10) {
            assert_int_equal(weft_nbody_step(ctx, &s, 5.0 / (double)steps, 10, x, NULL, v),
                             WEFT_OK);
            const double now = fabs(energy_of(ctx, &s, x, v) / before - 1);
            most = now > most ? now : most;
        }
        swing[k] = most;
        drift[k] = fabs(energy_of(ctx, &s, x, v) / before - 1);
    }
    const double bound = 200.0 / (double)first_steps; /* of the length of a step */
    if (!(swing[0] < 5e-3 * bound * bound && swing[0] / swing[1] > 3 && swing[0] / swing[1] < 5 &&
          drift[0] <= swing[0] && drift[1] <= swing[1]))
        fail_msg(
            "on %s: the energy swings by %g and, in half the time, by %g; in the end by %g, %g",
            weft_place(ctx), swing[0], swing[1], drift[0], drift[1]);
}

/* Steps in one call or in several, packed or not, give the same bits. */
static void together(weft_context *ctx) {
    enum {
        N = 300,
        STEPS = 3
    };
    test_random random = test_random_at(7);
    for (int type = 0; type < TYPES; type++) {
        unsigned char at[3][4 * N * 8], v[3][3 * N * 8], m[N * 8];
        const weft_nbody s = {.type = types[type], .n = N, .softening = 0.125};
        for (size_t i = 0; i < N; i++)
            for (size_t k = 0; k < 4; k++) {
                const test_value x = {.f = test_unit(&random)}, speed = {.f = test_unit(&random)};
                test_store(s.type, at[0], 4 * i + k, k == 3 ? (test_value){.f = 1.0 / N} : x);
                if (k < 3) {
                    test_store(s.type, at[2], 3 * i + k, x);
                    test_store(s.type, v[0], 3 * i + k, speed);
                } else
                    test_store(s.type, m, i, (test_value){.f = 1.0 / N});
            }
        const size_t size = test_size_of(s.type);
        memcpy(at[1], at[0], sizeof at[0]);
        memcpy(v[1], v[0], sizeof v[0]);
        memcpy(v[2], v[0], sizeof v[0]);
        assert_int_equal(weft_nbody_step(ctx, &s, 0.01, STEPS, at[0], NULL, v[0]), WEFT_OK);
        for (int k = 0; k < STEPS; k++)
            assert_int_equal(weft_nbody_step(ctx, &s, 0.01, 1, at[1], NULL, v[1]), WEFT_OK);
        assert_int_equal(weft_nbody_step(ctx, &s, 0.01, STEPS, at[2], m, v[2]), WEFT_OK);
        assert_memory_equal(at[0], at[1], 4 * N * size);
        assert_memory_equal(v[0], v[1], 3 * N * size);
        assert_memory_equal(v[0], v[2], 3 * N * size);
        for (size_t i = 0; i < N; i++)
            assert_memory_equal(at[0] + 4 * i * size, at[2] + 3 * i * size, 3 * size);
    }
}

/* A step by hand, in f64, from the library's accelerations. */
static void one_step(weft_context *ctx) {
    const weft_nbody s = {.type = WEFT_F64, .n = 2, .gravity = 2};
    const double dt = 0.25;
    double x[8], v[6], a[6], x1[8], v1[6];
    put_pair(x, v, 1);
    put_pair(x1, v1, 1);
    assert_int_equal(weft_nbody_step(ctx, &s, dt, 1, x1, NULL, v1), WEFT_OK);
    assert_int_equal(weft_nbody_accelerations(ctx, &s, x, NULL, a, NULL, NULL), WEFT_OK);
    for (int i = 0; i < 6; i++)
        v[i] = fma(a[i], dt / 2, v[i]);
    for (int i = 0; i < 6; i++)
        x[i / 3 * 4 + i % 3] = fma(v[i], dt, x[i / 3 * 4 + i % 3]);
    assert_int_equal(weft_nbody_accelerations(ctx, &s, x, NULL, a, NULL, NULL), WEFT_OK);
    for (int i = 0; i < 6; i++)
        v[i] = fma(a[i], dt / 2, v[i]);
    assert_memory_equal(x, x1, sizeof x);
    assert_memory_equal(v, v1, sizeof v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(all_pairs),    TEST_ON_EACH_PLACE(trees),
        TEST_ON_EACH_PLACE(at_one_point), TEST_ON_EACH_PLACE(errors),
        TEST_ON_EACH_PLACE(orbits),       TEST_ON_EACH_PLACE(energies),
        TEST_ON_EACH_PLACE(together),     TEST_ON_EACH_PLACE(one_step),
    };
    return cmocka_run_group_tests_name("nbody", tests, NULL, NULL);
}
