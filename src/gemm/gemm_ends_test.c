/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices whose lines begin at multiples of 16 bytes, are not whole chunks of 16 bytes, and end
 * where their memory ends: who copies by chunks must not read beyond. Every rung of the ladders of
 * gemm, syrk and gemm_batch, in all layouts; place emu and compute-sanitizer see such a read. And
 * products with whole tiles of C, which the copy engine takes where they belong. */
#include <stdlib.h>
#include <string.h>

#include "core/machine.h"
#include "gemm/gemm_batch.h"
#include "gemm/gemm_cases.h"
#include "gemm/syrk.h"
#include "limits.h"

enum {
    STORED = 8, /* ways to store the matrices */
    PRODUCTS = 3
};

typedef struct call call;

/* What the three calls differ in. */
typedef struct operation {
    const wi_ladder *ladder;
    size_t count; /* of products, one behind the other */
    weft_status (*run)(weft_context *ctx, const call *c, void *const at[]);
} operation;

struct call {
    const operation *op;
    product p;
    size_t stride[ARRAYS]; /* from a product's matrix to the next one's */
};

static weft_status run_gemm(weft_context *ctx, const call *c, void *const at[]) {
    return call_gemm(ctx, &c->p, at[A], at[B], at[C]);
}

static weft_status run_syrk(weft_context *ctx, const call *c, void *const at[]) {
    const product *const p = &c->p;
    return weft_syrk(ctx, p->how & ~(unsigned)WEFT_TRANSPOSE_B, p->types.type, p->n, p->k, p->alpha,
                     at[A], p->ld[A], p->beta, at[C], p->ld[C]);
}

static weft_status run_batch(weft_context *ctx, const call *c, void *const at[]) {
    const product *const p = &c->p;
    return weft_gemm_batch_strided(ctx, p->how, p->types.type, p->types.out, p->m, p->n, p->k, 1,
                                   at[A], p->ld[A], c->stride[A], at[B], p->ld[B], c->stride[B], 1,
                                   at[C], p->ld[C], c->stride[C], c->op->count);
}

static size_t all_bytes(const call *c, int array) {
    const size_t before = (c->op->count - 1) * c->stride[array];
    return before * test_size_of(type_of(&c->p, array)) + bytes_of(&c->p, array);
}

static void lay_out(call *c) {
    for (int k = 0; k < ARRAYS; k++) {
        const size_t chunk = 16 / test_size_of(type_of(&c->p, k));
        size_t lines, length;
        stored_as(&c->p, k, &lines, &length);
        assert_true(length % chunk != 0);
        c->p.ld[k] = (length + chunk - 1) / chunk * chunk;
        c->stride[k] = lines * c->p.ld[k];
    }
}

/* C as it should be comes from a cpu: of small whole numbers, so that all orders of additions give
 * the same. */
static void run_case(weft_context *ctx, weft_context *cpu, const call *c) {
    void *host[ARRAYS], *at[ARRAYS];
    test_random random = test_random_at(12);
    for (int k = 0; k < ARRAYS; k++) {
        const weft_type type = type_of(&c->p, k);
        const size_t bytes = all_bytes(c, k);
        host[k] = malloc(bytes);
        assert_non_null(host[k]);
        test_fill(&random, TEST_SMALL, type, bytes / test_size_of(type), host[k]);
        assert_int_equal(weft_alloc(ctx, &at[k], bytes), WEFT_OK);
        assert_int_equal(weft_copy(ctx, at[k], host[k], bytes), WEFT_OK);
    }
    const wi_row *const row = c->p.row;
    test_use(ctx, c->op->ladder->op, row);
    const weft_status status = c->op->run(ctx, c, at);
    if (status != WEFT_EUNSUPPORTED) { /* not every row can do every call */
        unsigned char *const got = malloc(all_bytes(c, C));
        assert_non_null(got);
        assert_int_equal(status, WEFT_OK);
        assert_int_equal(c->op->run(cpu, c, host), WEFT_OK);
        assert_int_equal(weft_copy(ctx, got, at[C], all_bytes(c, C)), WEFT_OK);
        if (memcmp(got, host[C], all_bytes(c, C)) != 0)
            fail_msg("%s by %s of %s, how %#x: C is wrong", c->op->ladder->op, row->name,
                     test_type_name(c->p.types.type), c->p.how);
        free(got);
    }
    for (int k = 0; k < ARRAYS; k++) {
        assert_int_equal(weft_free(ctx, at[k]), WEFT_OK);
        free(host[k]);
    }
}

static void each_row(weft_context *ctx, const operation *op) {
    weft_context *const cpu = test_open("cpu:1");
    for (size_t r = 0; r < op->ladder->count; r++) {
        const wi_row *const row = &op->ladder->rows[r];
        for (int t = 0; wi_row_serves(row, ctx) && t < PAIRS; t++)
            for (unsigned how = 0; how < STORED; how++) {
                if (!(row->types & WI_TYPE(pairs[t].type)))
                    continue;
                call c = {.op = op,
                          .p = {.row = row,
                                .types = pairs[t],
                                .how = how,
                                .m = op->ladder == &wi_syrk_ladder ? 21 : 37,
                                .n = 21,
                                .k = 27,
                                .alpha = 1,
                                .beta = 1}};
                lay_out(&c);
                run_case(ctx, cpu, &c);
            }
    }
    weft_close(cpu);
}

/* On emu, with the usual budget, one or two of the four pairs of layouts that differ in everything.
 */
static bool has_tiles(unsigned how) {
#ifdef WEFT_EMU
    const unsigned pair = how < STORED / 2 ? how : STORED - 1 - how;
    test_random r = test_random_at(5);
    const unsigned drawn = (unsigned)test_below(&r, 4);
    return test_times(4) == 4 || pair == drawn || (test_largest_wanted() && pair == (drawn ^ 1));
#else
    return how < STORED;
#endif
}

/* Several large tiles for each block of `ring` that stays, of f64: whole ones alone, or with others
 * between them; added to what was there, or not. */
static void tiles_of(weft_context *ctx, weft_context *cpu, const operation *op) {
    const size_t tile_m = 96, tile_n = 128;
    size_t side = 1;
    while (side * side <= 2 * (size_t)wi_machine_of(ctx)->units)
        side++;
    for (unsigned how = 0; how < STORED; how++) {
        if (!has_tiles(how))
            continue;
        call c = {.op = op,
                  .p = {.row = test_row_named(op->ladder, "ring"),
                        .types = pairs[0],
                        .how = how,
                        .m = tile_m * side + (how % 3 ? 10 : 0),
                        .n = tile_n * side + (how % 3 ? 6 : 0),
                        .k = 70,
                        .alpha = -1,
                        .beta = how % 2}};
        for (int k = 0; k < ARRAYS; k++) {
            size_t lines, length;
            stored_as(&c.p, k, &lines, &length);
            c.p.ld[k] = length + length % 2 + 2 * how;
        }
        run_case(ctx, cpu, &c);
    }
}
static void tiles(weft_context *ctx) {
    if (ctx->kind != WI_CUDA)
        return;
    weft_context *const cpu = test_open("cpu:1");
    tiles_of(ctx, cpu, &(operation){&wi_gemm_ladder, 1, run_gemm});
    weft_close(cpu);
}

/* More columns of tiles than go down together, so that blocks find most of their tiles from the one
 * before, and some where fewer are left. */
static void bands(weft_context *ctx) {
    const operation op = {&wi_gemm_ladder, 1, run_gemm};
    if (ctx->kind != WI_CUDA)
        return;
    weft_context *const cpu = test_open("cpu:1");
    call c = {.op = &op,
              .p = {.row = test_row_named(&wi_gemm_ladder, "ring"),
                    .types = pairs[0],
                    .m = 2 * 64 + 22,
                    .n = 18 * 64 + 6,
                    .k = 18,
                    .alpha = 1}};
    c.p.ld[A] = c.p.ld[C] = c.p.m;
    c.p.ld[B] = c.p.k;
#ifdef WEFT_EMU
    wi_gemm_only_tile_m = wi_gemm_only_tile_n = 64;
#endif
    run_case(ctx, cpu, &c);
#ifdef WEFT_EMU
    wi_gemm_only_tile_m = wi_gemm_only_tile_n = 0;
#endif
    weft_close(cpu);
}

/* Tiles whose sums go to C through shared memory, and such as C ends in: columns of C begin at
 * multiples of 16 bytes, or of 16-bit floats at multiples of 8, or of less. On emu, with the usual
 * budget, two of the four ways go to every other tile, and the others to those between; or one way
 * to each, where largest cases are not wanted. */
static void staged_tile(weft_context *ctx, weft_context *cpu, const char *row, type_pair types,
                        const size_t tile[2], unsigned way) {
    const operation op = {&wi_gemm_ladder, 1, run_gemm};
    const size_t beyond[] = {8, 4, 8, 2}; /* the rows of whole tiles */
    const bool is_tf32 = types.type == WEFT_F32 && strcmp(row, "ring") == 0;
    call c = {.op = &op,
              .p = {.row = test_row_named(&wi_gemm_ladder, row),
                    .types = types,
                    .how = is_tf32 ? WEFT_TF32 : 0,
                    .m = tile[0] + beyond[way],
                    .n = tile[1] + way,
                    .k = 40,
                    .alpha = -1,
                    .beta = way / 2 ? 2 : 0}};
    c.p.ld[A] = c.p.m;
    c.p.ld[B] = c.p.k;
    c.p.ld[C] = c.p.m;
    run_case(ctx, cpu, &c);
}
static void staged(weft_context *ctx) {
    static const size_t tiles[][2] = {{128, 128}, {256, 128}, {128, 64}, {64, 64}, {192, 192}};
    if (ctx->kind != WI_CUDA)
        return;
    weft_context *const cpu = test_open("cpu:1");
#ifdef WEFT_EMU
    test_random r = test_random_at(2);
    const unsigned begun = (unsigned)test_below(&r, 4), all = test_times(4) == 4;
#endif
    for (unsigned k = 0; k < sizeof tiles / sizeof *tiles; k++)
        for (int t = 1; t < PAIRS; t++)
            for (unsigned way = 0; way < 4; way++) {
                const bool is_narrow = tiles[k][1] < 128, is_even = tiles[k][1] == 192;
                if ((is_narrow && pairs[t].type == WEFT_I8) ||
                    (is_even && test_size_of(pairs[t].type) != 2))
                    continue;
#ifdef WEFT_EMU
                if (!all && (test_largest_wanted() ? (begun + way + way / 2 + (unsigned)t + k) % 2
                                                   : (begun + way + (unsigned)t + k) % 4))
                    continue;
                wi_gemm_only_tile_m = (int)tiles[k][0];
                wi_gemm_only_tile_n = (int)tiles[k][1];
#endif
                staged_tile(ctx, cpu, "ring", pairs[t], tiles[k], way);
                if (pairs[t].type == WEFT_F32 && !is_narrow)
                    staged_tile(ctx, cpu, "parts", pairs[t], tiles[k], way);
            }
#ifdef WEFT_EMU
    wi_gemm_only_tile_m = wi_gemm_only_tile_n = 0;
#endif
    weft_close(cpu);
}

/* Tiles of 16-bit floats that the copy engine brings to C: whole ones and such as C ends in,
 * several for each block, with gaps between C's columns. */
static void sent(weft_context *ctx) {
    static const size_t highs[] = {256, 192};
    const operation op = {&wi_gemm_ladder, 1, run_gemm};
    if (ctx->kind != WI_CUDA)
        return;
    weft_context *const cpu = test_open("cpu:1");
    test_random r = test_random_at(3);
    for (size_t k = 0; k < sizeof highs / sizeof *highs; k++)
        for (int t = 0; t < PAIRS; t++) {
            if (test_size_of(pairs[t].type) != 2 || pairs[t].out != pairs[t].type)
                continue;
            call c = {.op = &op,
                      .p = {.row = test_row_named(&wi_gemm_ladder, "ring"),
                            .types = pairs[t],
                            .how = (unsigned)test_below(&r, STORED / 2),
                            .m = 2 * highs[k] + 8 * test_below(&r, 8) + 3,
                            .n = 2 * 128 + test_below(&r, 70),
                            .k = 24 + 64 * test_below(&r, 2),
                            .alpha = k == 0 ? -1 : 2}};
#ifdef WEFT_EMU
            wi_gemm_only_tile_m = (int)highs[k];
            wi_gemm_only_tile_n = 128;
            wi_gemm_only_sent = 1;
#endif
            for (int array = 0; array < ARRAYS; array++) {
                size_t lines, length;
                stored_as(&c.p, array, &lines, &length);
                c.p.ld[array] = (length + 7) / 8 * 8 + 8 * k;
            }
            run_case(ctx, cpu, &c);
        }
#ifdef WEFT_EMU
    wi_gemm_only_tile_m = wi_gemm_only_tile_n = 0;
    wi_gemm_only_sent = 0;
#endif
    weft_close(cpu);
}

/* Tiles of 16-bit floats by blocks in pairs, on emu: whole ones and such as C ends in, of which the
 * second block may have nothing, k whole and in slices. */
static void paired(weft_context *ctx) {
#ifdef WEFT_EMU
    static const size_t tiles[][2] = {{256, 128}, {192, 128}, {192, 64}};
    const operation op = {&wi_gemm_ladder, 1, run_gemm};
    if (ctx->kind != WI_CUDA)
        return;
    weft_context *const cpu = test_open("cpu:1");
    test_random r = test_random_at(4);
    for (size_t k = 0; k < sizeof tiles / sizeof *tiles; k++)
        for (int t = 0; t < PAIRS; t++) {
            if (test_size_of(pairs[t].type) != 2 || pairs[t].out != pairs[t].type)
                continue;
            const bool in_slices = test_below(&r, 2);
            call c = {.op = &op,
                      .p = {.row = test_row_named(&wi_gemm_ladder, "ring"),
                            .types = pairs[t],
                            .how = (unsigned)test_below(&r, STORED / 2),
                            .m = tiles[k][0] + 8 * test_below(&r, 9),
                            .n = 8 + 8 * test_below(&r, 3 * tiles[k][1] / 8),
                            .k = in_slices ? 200 + 8 * test_below(&r, 7) : 70,
                            .alpha = k == 0 ? -1 : 2}};
            wi_gemm_only_tile_m = (int)tiles[k][0];
            wi_gemm_only_tile_n = (int)tiles[k][1];
            wi_gemm_only_pair = 1;
            wi_gemm_price_by_kernel = in_slices ? 0 : 1e9;
            for (int array = 0; array < ARRAYS; array++) {
                size_t lines, length;
                stored_as(&c.p, array, &lines, &length);
                c.p.ld[array] = (length + 7) / 8 * 8 + 8 * k;
            }
            run_case(ctx, cpu, &c);
        }
    wi_gemm_only_tile_m = wi_gemm_only_tile_n = wi_gemm_only_pair = 0;
    wi_gemm_price_by_kernel = 1;
    weft_close(cpu);
#else
    (void)ctx;
#endif
}

static void gemm(weft_context *ctx) {
    each_row(ctx, &(operation){&wi_gemm_ladder, 1, run_gemm});
}
static void syrk(weft_context *ctx) {
    each_row(ctx, &(operation){&wi_syrk_ladder, 1, run_syrk});
}
static void gemm_batch(weft_context *ctx) {
    each_row(ctx, &(operation){&wi_gemm_batch_ladder, PRODUCTS, run_batch});
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(gemm),       TEST_ON_EACH_PLACE(syrk),
                                       TEST_ON_EACH_PLACE(gemm_batch), TEST_ON_EACH_PLACE(tiles),
                                       TEST_ON_EACH_PLACE(bands),      TEST_ON_EACH_PLACE(sent),
                                       TEST_ON_EACH_PLACE(staged),     TEST_ON_EACH_PLACE(paired)};
    return cmocka_run_group_tests_name("gemm_ends", tests, NULL, NULL);
}
