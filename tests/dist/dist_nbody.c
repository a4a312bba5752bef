/* SPDX-License-Identifier: Apache-2.0 */
/* nbody over ranks, each with bodies of its own: the same bits as on one place where a cpu does the
 * work, and otherwise what differs is rounding. By a tree, the bits of one place of the same kind.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "dist.h"
#include "weft/nbody.h"

enum {
    POSITIONS,
    MASSES,
    VELOCITIES,
    ACCELERATIONS,
    POTENTIALS,
    ARRAYS
};

typedef struct rig {
    weft_nbody s;
    bool is_packed;
    dist_part part;
    unsigned char *whole[ARRAYS];
    dist_array own[ARRAYS];
} rig;

static size_t row_of(const rig *g, int k) {
    const size_t rows[ARRAYS] = {g->is_packed ? 4 : 3, 1, 3, 3, 1};
    return rows[k] * test_size_of(g->s.type);
}

static void fill(test_random *r, rig *g, dist_shape shape, size_t n) {
    g->part = dist_deal(r, shape, n);
    for (int k = 0; k < ARRAYS; k++) {
        const size_t row = row_of(g, k), size = test_size_of(g->s.type);
        g->whole[k] = malloc(n * row + 1);
        assert_non_null(g->whole[k]);
        for (size_t i = 0; i < n * row / size; i++) {
            const bool mass = k == MASSES || (k == POSITIONS && g->is_packed && i % 4 == 3);
            const double x = (double)dist_draw(r, 4096) / 1024 - (mass ? 0 : 2);
            if (g->s.type == WEFT_F32)
                ((float *)(void *)g->whole[k])[i] = (float)x;
            else
                ((double *)(void *)g->whole[k])[i] = x;
        }
        g->own[k] = dist_take(r, g->whole[k] + g->part.first * row, g->part.n * row);
    }
}

static void give(rig *g) {
    for (int k = 0; k < ARRAYS; k++) {
        dist_give(&g->own[k]);
        free(g->whole[k]);
    }
}

static void expect(const rig *g, int k, const char *what) {
    const size_t row = row_of(g, k), bytes = g->part.n * row, size = test_size_of(g->s.type);
    const unsigned char *const wanted = g->whole[k] + g->part.first * row;
    double most = 0;
    if (!dist_ctx->gpu) {
        dist_expect(&g->own[k], wanted, bytes, what);
        return;
    }
    void *const got = dist_fetch(&g->own[k]);
    for (size_t i = 0; i < bytes / size; i++)
        most = fmax(most, fabs(test_load(g->s.type, wanted, i).f));
    for (size_t i = 0; i < bytes / size; i++) {
        const double a = test_load(g->s.type, wanted, i).f, b = test_load(g->s.type, got, i).f;
        if (!(fabs(a - b) <= (g->s.type == WEFT_F32 ? 2e-5 : 1e-12) * most))
            fail_msg("%s of %zu bodies: element %zu is %g, not %g", what, g->s.n, i, b, a);
    }
    free(got);
}

static weft_nbody system_of(const rig *g, size_t n) {
    weft_nbody s = g->s;
    s.n = n;
    return s;
}

/* A block of threads sums for each body whose error is wanted: on emu, few. */
static bool affords_errors(size_t n) {
    return !dist_ctx->gpu || n <= 40;
}

static void accelerations_case(test_random *r, rig *g, size_t n) {
    const unsigned wanted = 1 + (unsigned)dist_draw(r, 3);
    const bool a = wanted & 1, p = wanted & 2, e = a && dist_draw(r, 2) && affords_errors(n);
    const weft_nbody all = system_of(g, n), own = system_of(g, g->part.n);
    double errors[2] = {-1, -1};
    dist_ok(dist_one,
            weft_nbody_accelerations(dist_one, &all, g->whole[POSITIONS],
                                     g->is_packed ? NULL : g->whole[MASSES],
                                     a ? g->whole[ACCELERATIONS] : NULL,
                                     p ? g->whole[POTENTIALS] : NULL, e ? &errors[0] : NULL));
    dist_ok(dist_ctx,
            weft_nbody_accelerations(dist_ctx, &own, g->own[POSITIONS].p,
                                     g->is_packed ? NULL : g->own[MASSES].p,
                                     a ? g->own[ACCELERATIONS].p : NULL,
                                     p ? g->own[POTENTIALS].p : NULL, e ? &errors[1] : NULL));
    expect(g, ACCELERATIONS, "accelerations");
    expect(g, POTENTIALS, "potentials");
    if (e && !dist_ctx->gpu)
        assert_true(errors[0] == errors[1]);
    else if (e)
        assert_true(errors[1] >= 0 && errors[1] < 1e-5);
}

static void moves_case(test_random *r, rig *g, size_t n) {
    const weft_nbody all = system_of(g, n), own = system_of(g, g->part.n);
    const void *const all_masses = g->is_packed ? NULL : g->whole[MASSES],
                      *const masses = g->is_packed ? NULL : g->own[MASSES].p;
    const size_t steps = dist_draw(r, 3);
    double energy[2], wanted[2];
    dist_ok(dist_one, weft_nbody_step(dist_one, &all, 0x1p-8, steps, g->whole[POSITIONS],
                                      all_masses, g->whole[VELOCITIES]));
    dist_ok(dist_ctx, weft_nbody_step(dist_ctx, &own, 0x1p-8, steps, g->own[POSITIONS].p, masses,
                                      g->own[VELOCITIES].p));
    expect(g, POSITIONS, "positions");
    expect(g, VELOCITIES, "velocities");
    dist_ok(dist_one, weft_nbody_energy(dist_one, &all, g->whole[POSITIONS], all_masses,
                                        g->whole[VELOCITIES], wanted));
    dist_ok(dist_ctx, weft_nbody_energy(dist_ctx, &own, g->own[POSITIONS].p, masses,
                                        g->own[VELOCITIES].p, energy));
    for (int k = 0; k < 2; k++) {
        const double slack = (dist_ctx->gpu ? 1e-4 : 1e-14) * fabs(wanted[k]);
        if (!(fabs(energy[k] - wanted[k]) <= slack))
            fail_msg("energy[%d] of %zu bodies, %zu steps: %.17g, not %.17g", k, n, steps,
                     energy[k], wanted[k]);
    }
}

void dist_test_nbody(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 33, 120, 300};
    test_random r = test_random_at(83);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int shape = 0; shape < DIST_SHAPES; shape++) {
            rig g = {.s = {.type = dist_draw(&r, 2) ? WEFT_F32 : WEFT_F64,
                           .gravity = 0.5,
                           .softening = dist_draw(&r, 2) ? 0.25 : 0},
                     .is_packed = dist_draw(&r, 2)};
            if (!dist_wanted(k, shape, sizes[k]))
                continue;
            fill(&r, &g, (dist_shape)shape, sizes[k]);
            if (g.s.softening > 0 && dist_draw(&r, 2))
                moves_case(&r, &g, sizes[k]);
            else
                accelerations_case(&r, &g, sizes[k]);
            give(&g);
        }
}

/* ---- by a tree ---- */

static const char *tree_name(void) {
    return dist_ctx->gpu ? "octree" : "tree";
}

/* What one rank, or the first GPU, works on. */
static weft_context *one_place(void) {
    return dist_on_gpus() ? dist_ctx : dist_ctx->child;
}

/* All ranks make trees from here on, or, as before, what they like; one place as well. */
static void take_trees(bool wanted) {
    dist_ok(dist_ctx, weft_use(dist_ctx, "nbody", wanted ? tree_name() : "auto"));
}

static void to_all_gpus(void) {
    if (dist_on_gpus())
        dist_ok(dist_ctx, weft_use(dist_ctx, "nbody", "ranks"));
}

static void expect_bits(const rig *g, int k, const char *what) {
    const size_t row = row_of(g, k);
    dist_expect(&g->own[k], g->whole[k] + g->part.first * row, g->part.n * row, what);
}

/* Bodies of one rank only may be asked for potentials. */
static void tree_accelerations(test_random *r, rig *g, size_t n) {
    const bool all_want = dist_draw(r, 2), p = all_want || dist_rank == 0;
    const bool e = dist_draw(r, 2) && affords_errors(n);
    const weft_nbody all = system_of(g, n), own = system_of(g, g->part.n);
    double errors[2] = {-1, -1};
    dist_ok(one_place(), weft_nbody_accelerations(one_place(), &all, g->whole[POSITIONS],
                                                  g->is_packed ? NULL : g->whole[MASSES],
                                                  g->whole[ACCELERATIONS], g->whole[POTENTIALS],
                                                  e ? &errors[0] : NULL));
    to_all_gpus();
    dist_ok(dist_ctx,
            weft_nbody_accelerations(
                dist_ctx, &own, g->own[POSITIONS].p, g->is_packed ? NULL : g->own[MASSES].p,
                g->own[ACCELERATIONS].p, p ? g->own[POTENTIALS].p : NULL, e ? &errors[1] : NULL));
    expect_bits(g, ACCELERATIONS, "accelerations");
    if (p)
        expect_bits(g, POTENTIALS, "potentials");
    assert_true(errors[0] == errors[1]);
}

static void tree_moves(rig *g, size_t n) {
    const weft_nbody all = system_of(g, n), own = system_of(g, g->part.n);
    const void *const all_masses = g->is_packed ? NULL : g->whole[MASSES],
                      *const masses = g->is_packed ? NULL : g->own[MASSES].p;
    double energy[2], wanted[2];
    dist_ok(one_place(), weft_nbody_step(one_place(), &all, 0x1p-8, 2, g->whole[POSITIONS],
                                         all_masses, g->whole[VELOCITIES]));
    dist_ok(one_place(), weft_nbody_energy(one_place(), &all, g->whole[POSITIONS], all_masses,
                                           g->whole[VELOCITIES], wanted));
    to_all_gpus();
    dist_ok(dist_ctx, weft_nbody_step(dist_ctx, &own, 0x1p-8, 2, g->own[POSITIONS].p, masses,
                                      g->own[VELOCITIES].p));
    dist_ok(dist_ctx, weft_nbody_energy(dist_ctx, &own, g->own[POSITIONS].p, masses,
                                        g->own[VELOCITIES].p, energy));
    expect_bits(g, POSITIONS, "positions");
    expect_bits(g, VELOCITIES, "velocities");
    for (int k = 0; k < 2; k++)
        if (!(fabs(energy[k] - wanted[k]) <= 1e-14 * fabs(wanted[k]) * (double)(n + 1)))
            fail_msg("energy[%d] of %zu bodies: %.17g, not %.17g", k, n, energy[k], wanted[k]);
}

static void tree_case(test_random *r, dist_shape shape, size_t n) {
    rig g = {.s = {.type = dist_draw(r, 2) ? WEFT_F32 : WEFT_F64,
                   .softening = 0.25,
                   .tolerance = dist_draw(r, 2) ? 1e-2 : 1e-4},
             .is_packed = dist_draw(r, 2)};
    fill(r, &g, shape, n);
    take_trees(true);
    if (dist_draw(r, 2))
        tree_moves(&g, n);
    else
        tree_accelerations(r, &g, n);
    take_trees(false);
    give(&g);
}

/* Nobody asks for a tree: all choose alike, the ranks that have no bodies too. */
static void choice_case(test_random *r, size_t n, double tolerance, bool tree) {
    rig g = {.s = {.type = WEFT_F32, .softening = 0.25, .tolerance = tolerance}};
    fill(r, &g, DIST_ALL_ON_LAST, n);
    const weft_nbody own = system_of(&g, g.part.n);
    double error = -1;
    dist_ok(dist_ctx, weft_nbody_accelerations(dist_ctx, &own, g.own[POSITIONS].p, g.own[MASSES].p,
                                               g.own[ACCELERATIONS].p, NULL, &error));
    if (g.part.n > 0)
        assert_string_equal(weft_used(dist_ctx->child, "nbody"), tree ? "tree" : "threads");
    assert_true(error >= 0 && error < 3e-2);
    give(&g);
}

void dist_test_nbody_tree(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 31, 65, 300};
    test_random r = test_random_at(84);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int shape = 0; shape < DIST_SHAPES; shape++)
            if (dist_wanted(k, shape, sizes[k]))
                tree_case(&r, (dist_shape)shape, sizes[k]);
    to_all_gpus();
    if (dist_ctx->gpu)
        return;
    choice_case(&r, 5000, 1e-2, true);
    choice_case(&r, 100, 1e-2, false);
    choice_case(&r, 5000, 0, false);
    if (dist_rank == 0) /* one rank that takes all pairs keeps all from trees */
        dist_ok(dist_ctx, weft_use(dist_ctx, "nbody", "threads"));
    choice_case(&r, 5000, 1e-2, false);
    take_trees(false);
}
