/* SPDX-License-Identifier: Apache-2.0 */
/* expr and random over ranks. */
#include <stdlib.h>

#include "dist.h"

enum {
    MOST = 1500
};

static const size_t sizes[] = {0, 1, 2, 7, 300, MOST};

static void expr_case(test_random *r, dist_shape shape, size_t n, weft_type type) {
    const size_t size = test_size_of(type);
    char *const x = dist_whole(r, TEST_TIES, type, n), *const z = malloc(n * size + 1);
    const dist_part part = dist_deal(r, shape, n);
    const size_t at = part.first * size, bytes = part.n * size;
    dist_array dx = dist_take(r, x + at, bytes), dz = dist_take(r, NULL, bytes);
    dist_array flags = dist_take(r, NULL, part.n);
    dist_ok(dist_one, weft_binary(dist_one, WEFT_X_ADD, type, n, x, x, z));
    dist_ok(dist_ctx, weft_binary(dist_ctx, WEFT_X_ADD, type, part.n, dx.p, dx.p, dz.p));
    dist_expect(&dz, z + at, bytes, "weft_binary");
    dist_ok(dist_one, weft_adjacent_difference(dist_one, type, n, x, z));
    dist_ok(dist_ctx, weft_adjacent_difference(dist_ctx, type, part.n, dx.p, dz.p));
    dist_expect(&dz, z + at, bytes, "weft_adjacent_difference");
    dist_ok(dist_one, weft_flag_heads(dist_one, type, n, x, z));
    dist_ok(dist_ctx, weft_flag_heads(dist_ctx, type, part.n, dx.p, flags.p));
    dist_expect(&flags, z + part.first, part.n, "weft_flag_heads");
    dist_give(&dx), dist_give(&dz), dist_give(&flags);
    free(x), free(z);
}

/* The sum, the largest, where it is, and the bits of the whole's x + y, but for sums of floats,
 * whose parts are rounded: those are of small whole numbers. */
static void reduced_case(test_random *r, dist_shape shape, size_t n, weft_type type) {
    static const weft_op ops[] = {WEFT_SUM, WEFT_MAX, WEFT_ARGMAX, WEFT_XOR};
    static const weft_expr_step sum[] = {{.op = WEFT_X_INPUT, .argument = 0},
                                         {.op = WEFT_X_INPUT, .argument = 1},
                                         {.op = WEFT_X_ADD}};
    const size_t size = test_size_of(type);
    char *const x = dist_whole(r, TEST_SMALL, type, n);
    const dist_part part = dist_deal(r, shape, n);
    dist_array dx = dist_take(r, x + part.first * size, part.n * size);
    const weft_expr_input whole[] = {{type, x}, {type, x}}, own[] = {{type, dx.p}, {type, dx.p}};
    const weft_type value = test_is_float(type)       ? type == WEFT_F64 ? WEFT_F64 : WEFT_F32
                            : test_size_of(type) == 8 ? type
                            : test_is_signed(type)    ? WEFT_I32
                                                      : WEFT_U32;
    for (size_t k = 0; k < 4 - (size_t)test_is_float(type); k++) {
        uint64_t wanted = 0;
        const bool is_wide = test_size_of(value) == 8 || ops[k] == WEFT_ARGMAX ||
                             (ops[k] == WEFT_SUM && !test_is_float(value));
        dist_array dr = dist_take(r, NULL, is_wide ? 8 : 4);
        dist_ok(dist_one, weft_expr_reduce(dist_one, ops[k], sum, 3, n, whole, 2, value, &wanted));
        dist_ok(dist_ctx, weft_expr_reduce(dist_ctx, ops[k], sum, 3, part.n, own, 2, value, dr.p));
        dist_expect(&dr, &wanted, is_wide ? 8 : 4, "weft_expr_reduce");
        dist_give(&dr);
    }
    dist_give(&dx);
    free(x);
}

static void random_case(test_random *r, dist_shape shape, size_t n) {
    const uint64_t seed = dist_draw(r, 1000000), offset = dist_draw(r, 9);
    const uint32_t low = 5, high = 17;
    const dist_part part = dist_deal(r, shape, n);
    uint32_t *const z = malloc(4 * n + 1);
    dist_array dz = dist_take(r, NULL, 4 * part.n);
    dist_ok(dist_one, weft_random_bits(dist_one, WEFT_U32, n, seed, offset, z));
    dist_ok(dist_ctx, weft_random_bits(dist_ctx, WEFT_U32, part.n, seed, offset, dz.p));
    dist_expect(&dz, z + part.first, 4 * part.n, "weft_random_bits");
    dist_ok(dist_one, weft_random_integers(dist_one, WEFT_U32, n, &low, &high, seed, offset, z));
    dist_ok(dist_ctx,
            weft_random_integers(dist_ctx, WEFT_U32, part.n, &low, &high, seed, offset, dz.p));
    dist_expect(&dz, z + part.first, 4 * part.n, "weft_random_integers");
    dist_ok(dist_one, weft_random_normal(dist_one, WEFT_F32, n, seed, offset, z));
    dist_ok(dist_ctx, weft_random_normal(dist_ctx, WEFT_F32, part.n, seed, offset, dz.p));
    dist_expect(&dz, z + part.first, 4 * part.n, "weft_random_normal");
    dist_ok(dist_one, weft_random_permutation(dist_one, WEFT_U32, n, seed, z));
    dist_ok(dist_ctx, weft_random_permutation(dist_ctx, WEFT_U32, part.n, seed, dz.p));
    dist_expect(&dz, z + part.first, 4 * part.n, "weft_random_permutation");
    dist_give(&dz);
    free(z);
}

void dist_test_elements(void **state) {
    test_random r = test_random_at(21);
    int type = 0;
    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int shape = 0; shape < DIST_SHAPES; shape++)
            if (dist_wanted(k, shape, sizes[k])) {
                weft_type t = (weft_type)(type++ % WEFT_TYPE_COUNT);
                expr_case(&r, (dist_shape)shape, sizes[k], t);
                reduced_case(&r, (dist_shape)shape, sizes[k], t);
                random_case(&r, (dist_shape)shape, sizes[k]);
            }
    assert_string_equal(weft_used(dist_ctx, "expr"), "ranks");
    assert_string_equal(weft_used(dist_ctx, "expr_reduce"), "ranks");
    assert_string_equal(weft_used(dist_ctx, "random"), "ranks");
}
