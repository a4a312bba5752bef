/* SPDX-License-Identifier: Apache-2.0 */
/* gemm over ranks: each has its columns of all matrices (rows, by rows). Elements are small whole
 * numbers, so that sums are exact in any order. */
#include <stdio.h>

#include "dist_parts.h"
#include "limits.h"
#include "weft/gemm.h"

enum {
    A,
    B,
    C,
    MATRICES,
    PIECE = 16 /* rows and columns of pieces, on emu */
};

static const struct {
    weft_type type, out;
} pairs[] = {
    {WEFT_F64, WEFT_F64},  {WEFT_F32, WEFT_F32},   {WEFT_F16, WEFT_F16}, {WEFT_F16, WEFT_F32},
    {WEFT_BF16, WEFT_F32}, {WEFT_BF16, WEFT_BF16}, {WEFT_I8, WEFT_I32},
};

/* A whole product, and this rank's part of each matrix. */
typedef struct rig {
    weft_type type, out;
    unsigned how;
    double alpha, beta;
    size_t m, n, k;
    matrix whole[MATRICES], part[MATRICES];
    size_t first; /* line of C */
} rig;

static bool lies_by_rows(const rig *g, int which) {
    const bool turned =
        (which == A && g->how & WEFT_TRANSPOSE_A) || (which == B && g->how & WEFT_TRANSPOSE_B);
    return !(g->how & WEFT_ROW_MAJOR) == turned;
}

static void deal(test_random *r, dist_shape shape, rig *g) {
    const bool by_rows = g->how & WEFT_ROW_MAJOR;
    const size_t rows[] = {g->m, g->k, g->m}, cols[] = {g->k, g->n, g->n};
    const dist_part lines = dist_deal(r, shape, by_rows ? g->m : g->n),
                    terms = dist_deal(r, (dist_shape)dist_draw(r, DIST_SHAPES), g->k);
    g->first = lines.first;
    for (int x = 0; x < MATRICES; x++) {
        const weft_type type = x == C ? g->out : g->type;
        const dist_part own = x == (by_rows ? B : A) ? terms : lines;
        const bool stored = lies_by_rows(g, x);
        g->whole[x] = whole_of(r, rows[x], cols[x], stored, type);
        g->part[x] = matrix_of(by_rows ? own.n : rows[x], by_rows ? cols[x] : own.n, stored,
                               dist_draw(r, PAD), type);
        copy_part(&g->part[x], &g->whole[x], by_rows ? own.first : 0, by_rows ? 0 : own.first);
    }
}

static weft_status multiply(weft_context *ctx, const rig *g, const matrix x[MATRICES], void *a,
                            void *b, void *c) {
    const bool by_rows = g->how & WEFT_ROW_MAJOR;
    return weft_gemm(ctx, g->how, g->type, g->out, x[C].rows, x[C].cols,
                     by_rows ? x[B].rows : x[A].cols, g->alpha, a, x[A].ld, b, x[B].ld, g->beta, c,
                     x[C].ld);
}

static void run_case(test_random *r, dist_shape shape, rig *g) {
    dist_array d[MATRICES];
    matrix *const c = &g->part[C];
    deal(r, shape, g);
    for (int x = 0; x < MATRICES; x++)
        d[x] = dist_take(r, g->part[x].p, bytes_of(&g->part[x]));
    dist_ok(dist_one, multiply(dist_one, g, g->whole, g->whole[A].p, g->whole[B].p, g->whole[C].p));
    dist_ok(dist_ctx, multiply(dist_ctx, g, g->part, d[A].p, d[B].p, d[C].p));
    const bool by_rows = g->how & WEFT_ROW_MAJOR;
    copy_part(c, &g->whole[C], by_rows ? g->first : 0, by_rows ? 0 : g->first);
    char what[128];
    snprintf(what, sizeof what, "weft_gemm of %s, how %#x, %zu x %zu x %zu, beta %g",
             test_type_name(g->type), g->how, g->m, g->n, g->k, g->beta);
    dist_expect(&d[C], c->p, bytes_of(c), what);
    for (int x = 0; x < MATRICES; x++) {
        dist_give(&d[x]);
        free(g->whole[x].p), free(g->part[x].p);
    }
}

/* On emu small matrices, too, may be cut into pieces if they lie elsewhere. */
static void run_cut(test_random *r, dist_shape shape, rig *g) {
#ifdef WEFT_EMU
    const size_t from = wi_gemm_panels_from, least = wi_gemm_panels_least;
    if (dist_draw(r, 2)) {
        wi_gemm_panels_from = 64;
        wi_gemm_panels_least = PIECE;
    }
    run_case(r, shape, g);
    wi_gemm_panels_from = from;
    wi_gemm_panels_least = least;
#else
    run_case(r, shape, g);
#endif
}

void dist_test_gemm(void **state) {
    (void)state;
    static const size_t sizes[][3] = {{3, 4, 5},   {0, 5, 4},     {9, 0, 3},
                                      {7, 6, 0},   {1, 1, 1},     {40, 33, 70},
                                      {90, 65, 9}, {300, 20, 30}, {20, 150, 17}};
    test_random r = test_random_at(80);
    const bool slow = dist_ctx->gpu;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t t = 0; t < sizeof pairs / sizeof *pairs; t++)
            for (int shape = 0; shape < DIST_SHAPES; shape++) {
                rig g = {.type = pairs[t].type,
                         .out = pairs[t].out,
                         .how = (unsigned)dist_draw(&r, 8),
                         .alpha = 1 + (double)dist_draw(&r, 2),
                         .beta = (double)dist_draw(&r, 2),
                         .m = sizes[s][0],
                         .n = sizes[s][1],
                         .k = sizes[s][2]};
                if (dist_draw(&r, slow ? 40 : 4) != 0 && s + t + (size_t)shape > 0)
                    continue;
                run_cut(&r, (dist_shape)shape, &g);
            }
    assert_string_equal(weft_used(dist_ctx, "gemm"), "ranks");
}

/* One rank's matrix is refused: none multiplies, and the next call works. */
void dist_test_gemm_failure(void **state) {
    (void)state;
    const double a = 2, b[16] = {1};
    double c = 7;
    const int culprit = dist_ranks / 2;
    const bool wrong = dist_rank == culprit;
    const size_t k = (size_t)dist_ranks;
    const weft_status status = weft_gemm(dist_ctx, 0, WEFT_F64, WEFT_F64, 1, 1, 1, 1,
                                         wrong ? NULL : &a, 1, b, k, 0, &c, 1);
    dist_refused_by_one(status, culprit, "weft_gemm", "a");
    assert_true(c == 7);
    dist_refused_by_one(weft_gemm(dist_ctx, wrong ? 1u << 20 : 0, WEFT_F64, WEFT_F64, 1, 1, 1, 1,
                                  &a, 1, b, k, 0, &c, 1),
                        culprit, "weft_gemm", "how");
    dist_ok(dist_ctx,
            weft_gemm(dist_ctx, 0, WEFT_F64, WEFT_F64, 1, 1, 1, 1, &a, 1, b, k, 0, &c, 1));
    assert_true(c == 2);
}
