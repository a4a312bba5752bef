/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses which rungs of a ladder are tested, and which of the many similar cases of a test are
 * run: all, or those that must be and then random ones until the program's budget is spent. See
 * testing.h. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

enum {
    TRIES = 64,     /* to draw an existing case for a combination that must be run */
    MOST_DRAWS = 4, /* of a size, of which the smallest is taken */
    ONE_CHOICE_IN = 4
};

/* How much work a program may do with a budget of 1; on place emu, with one seed. */
#ifdef WEFT_EMU
static const double usual_budget = 16e6; /* steps */
#else
static const double usual_budget = 96e6; /* bytes, on each place */
#endif

const size_t test_small_sizes[] = {0,  1,  2,  3,  5,  7,   8,   9,   15,  16,  17, 31,
                                   32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257};
const size_t test_small_size_count = sizeof test_small_sizes / sizeof *test_small_sizes;
const size_t test_medium_sizes[] = {1023, 1024, 1025, 2047, 2048,  2049,  4095, 4096,
                                    4097, 8191, 8192, 8193, 16383, 16384, 16385};
const size_t test_medium_size_count = sizeof test_medium_sizes / sizeof *test_medium_sizes;

bool test_size_wanted(size_t n) {
    const char *const text = getenv("WEFT_TEST_MAX");
    return !text || n <= strtoull(text, NULL, 0);
}

static uint64_t one_in(void) {
    const char *const text = getenv("WEFT_TEST_ONE_IN");
    return text ? strtoull(text, NULL, 0) : 1;
}

bool test_case_wanted(test_random *r) {
    const uint64_t many = one_in();
    return many == 1 || test_below(r, many) == 0;
}

/* A multiple of the usual budget; INFINITY: everything is run. */
static double budget_factor(void) {
    const char *const text = getenv("WEFT_TEST_BUDGET");
    char *end = NULL;
    if (!text || !*text)
        return 1;
    if (strcmp(text, "all") == 0)
        return INFINITY;
    const double factor = strtod(text, &end);
    if (*end || !(factor > 0))
        fail_msg("WEFT_TEST_BUDGET is \"%s\", neither a number above 0 nor \"all\"", text);
    return factor;
}

size_t test_times(size_t all) {
    const double wanted = budget_factor() * (double)all / 4;
    return wanted < (double)all ? (size_t)ceil(wanted) : all;
}

bool test_largest_wanted(void) {
#ifdef WEFT_EMU
    return budget_factor() > 1 || (test_seed() & 2);
#else
    return true;
#endif
}

/* ---- rungs ---- */

const wi_row *test_row_named(const wi_ladder *ladder, const char *name) {
    for (size_t k = 0; k < ladder->count; k++)
        if (strcmp(ladder->rows[k].name, name) == 0)
            return &ladder->rows[k];
    fail_msg("%s has no rung %s", ladder->op, name);
    return NULL;
}

size_t test_rows(const weft_context *ctx, const wi_ladder *ladder, const wi_row *rows[]) {
    size_t count = 0;
    for (size_t i = 0; i < ladder->count; i++) {
        if (!wi_row_serves(&ladder->rows[i], ctx)) {
            continue;
        }
        if (count == TEST_MAX_ROWS - 1) {
            fail_msg("%s has more rungs than TEST_MAX_ROWS, %d, has room for", ladder->op,
                     TEST_MAX_ROWS);
        }
        rows[count++] = &ladder->rows[i];
    }
    rows[count++] = NULL;
    return count;
}

/* ---- one sweep ---- */

/* A sweep in progress: axis 0 is the size, axis 1 the rung, the others are the sweep's own. */
typedef struct sweeping {
    const test_sweep *s;
    test_random *r;
    void *rig;
    const wi_row *rows[TEST_MAX_ROWS];
    size_t extent[2 + TEST_MOST_AXES], at[2 + TEST_MOST_AXES], axes;
    size_t total, must_run, drawn;
} sweeping;

static sweeping sweep_begin(const weft_context *ctx, test_random *r, const test_sweep *s,
                            void *rig) {
    sweeping w = {.s = s, .r = r, .rig = rig, .axes = 2, .total = 1};
    w.extent[0] = s->sizes ? 0 : 1;
    while (w.extent[0] < s->size_count && test_size_wanted(s->sizes[w.extent[0]]))
        w.extent[0]++;
    w.extent[1] = s->ladder ? test_rows(ctx, s->ladder, w.rows) : 1;
    while (w.axes < 2 + TEST_MOST_AXES && s->extent[w.axes - 2] > 0) {
        w.extent[w.axes] = s->extent[w.axes - 2];
        w.axes++;
    }
    for (size_t axis = 0; axis < w.axes; axis++)
        w.total *= w.extent[axis];
    return w;
}

/* Must every value of this axis be run, with every value of the others for which this is so? */
static bool must_see(const sweeping *w, size_t axis) {
    return axis == 1 || (axis > 1 && (w->s->must >> (axis - 2) & 1));
}

/* Runs the case at w->at; false if there is no such case. */
static bool run_here(const sweeping *w) {
    const size_t n = w->s->sizes ? w->s->sizes[w->at[0]] : 0;
    return w->s->run(w->rig, n, w->rows[w->at[1]], w->at + 2);
}

/* Sets the axes that must be run (or all axes) to combination number k; draws the others, a size so
 * often that the smallest of these is taken. */
static void go_to(sweeping *w, size_t k, bool all, size_t sizes) {
    for (size_t axis = w->axes; axis-- > 0;) {
        if (!all && !must_see(w, axis)) {
            w->at[axis] = test_below(w->r, w->extent[axis]);
            for (size_t again = 1; axis == 0 && again < sizes; again++) {
                const size_t other = test_below(w->r, w->extent[axis]);
                w->at[axis] = other < w->at[axis] ? other : w->at[axis];
            }
            continue;
        }
        w->at[axis] = k % w->extent[axis];
        k /= w->extent[axis];
    }
}

static void run_all(sweeping *w) {
    for (size_t k = 0; k < w->total; k++) {
        if (w->s->one_in > 1 && test_below(w->r, w->s->one_in) > 0)
            continue;
        go_to(w, k, true, 1);
        run_here(w);
    }
}

/* Where the combinations before the k-th have taken more than their part of the budget, small sizes
 * are more likely, so that each has as good a chance of a large one. */
static size_t sizes_to_draw(uint64_t spent, double budget, size_t k, size_t combinations) {
    const double due = budget * (double)(k + 1) / (double)combinations;
    const double over = (double)spent / due;
    return over <= 1 ? 1 : over < MOST_DRAWS ? 1 + (size_t)over : MOST_DRAWS;
}

/* Is this the library's choice among rungs that are run by their names anyway? It is seen with one
 * combination in so many, at random. */
static bool is_choice(const sweeping *w, size_t k, size_t combinations) {
    const size_t rungs = w->extent[1] - 1;
    return w->s->ladder && rungs > 1 && k >= combinations / (rungs + 1) * rungs;
}

static void run_must(sweeping *w, double budget) {
    const uint64_t begun = test_work();
    size_t combinations = 1;
    for (size_t axis = 0; axis < w->axes; axis++)
        combinations *= must_see(w, axis) ? w->extent[axis] : 1;
    for (size_t k = 0; k < combinations; k++) {
        const size_t draws = sizes_to_draw(test_work() - begun, budget, k, combinations);
        bool ran = false;
        if (is_choice(w, k, combinations) && test_below(w->r, ONE_CHOICE_IN) > 0)
            continue;
        for (int try = 0; try < TRIES && !ran; try++) {
            go_to(w, k, false, draws);
            ran = run_here(w);
        }
        w->must_run += ran;
    }
}

static void run_drawn(sweeping *w, double budget) {
    const uint64_t begun = test_work();
    for (size_t k = 0; k < w->total && (double)(test_work() - begun) < budget; k++) {
        go_to(w, test_below(w->r, w->total), true, 1);
        w->drawn += run_here(w);
    }
}

void test_sweep_run(const weft_context *ctx, test_random *r, const test_sweep *s, void *rig) {
    const double budget = budget_factor() * usual_budget * s->share / 100;
    const uint64_t begun = test_work();
    sweeping w = sweep_begin(ctx, r, s, rig);
    if (w.total == 0)
        return;
    if (isinf(budget)) {
        run_all(&w);
        return;
    }
    run_must(&w, budget);
    const uint64_t spent = test_work() - begun;
    run_drawn(&w, (budget - (double)spent) / (double)one_in());
    print_message("%s: of %zu cases %zu that must be run, %zu drawn; work %.3g and %.3g\n",
                  weft_place(ctx), w.total, w.must_run, w.drawn, (double)spent,
                  (double)(test_work() - begun - spent));
}
