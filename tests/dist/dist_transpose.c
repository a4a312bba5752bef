/* SPDX-License-Identifier: Apache-2.0 */
/* transpose over ranks: lines are columns or, by rows, rows. */
#include <stdlib.h>
#include <string.h>

#include "dist.h"
#include "weft/gemm.h"

/* This rank's even part of n lines; of a place of several GPUs it is all of them. */
static dist_part even_part(size_t n) {
    const size_t ranks = dist_on_gpus() ? 1 : (size_t)dist_ranks;
    const size_t me = dist_on_gpus() ? 0 : (size_t)dist_rank;
    const size_t first = n * me / ranks, end = n * (me + 1) / ranks;
    return (dist_part){first, end - first};
}

static size_t extent(size_t lines, size_t length, size_t ld) {
    return lines > 0 && length > 0 ? (lines - 1) * ld + length : 0;
}

/* Some lines of a matrix without gaps, with a gap behind each. */
static char *spread(const char *whole, dist_part part, size_t length, size_t ld, size_t width) {
    const size_t bytes = extent(part.n, length, ld) * width;
    char *const p = malloc(bytes + 1);
    assert_non_null(p);
    memset(p, TEST_POISON, bytes);
    for (size_t j = 0; j < part.n; j++)
        memcpy(p + j * ld * width, whole + (part.first + j) * length * width, length * width);
    return p;
}

/* A has `lines` lines of `length` elements. */
static void transpose_case(test_random *r, dist_shape shape, size_t lines, size_t length) {
    const size_t width = 1 + dist_draw(r, 16);
    const bool by_rows = dist_draw(r, 2);
    const unsigned how = by_rows ? WEFT_ROW_MAJOR : 0;
    const dist_part part = dist_deal(r, shape, lines), share = even_part(length);
    const size_t lda = length + dist_draw(r, 3), ldb = lines + dist_draw(r, 3);
    char *const a = dist_whole(r, TEST_ANY, WEFT_U8, lines * length * width);
    char *const b = malloc(lines * length * width + 1);
    assert_non_null(b);
    dist_ok(dist_one, weft_transpose(dist_one, 0, width, length, lines, a, length, b, lines));
    char *const own = spread(a, part, length, lda, width);
    char *const wanted = spread(b, share, lines, ldb, width);
    const size_t a_bytes = extent(part.n, length, lda) * width,
                 b_bytes = extent(share.n, lines, ldb) * width;
    char *const poison = malloc(b_bytes + 1);
    assert_non_null(poison);
    memset(poison, TEST_POISON, b_bytes);
    dist_array da = dist_take(r, own, a_bytes), db = dist_take(r, poison, b_bytes);
    dist_ok(dist_ctx, weft_transpose(dist_ctx, how, width, by_rows ? part.n : length,
                                     by_rows ? length : part.n, da.p, lda, db.p, ldb));
    dist_expect(&db, wanted, b_bytes, "weft_transpose");
    dist_give(&da), dist_give(&db);
    free(a), free(b), free(own), free(wanted), free(poison);
}

static void test_refusals(void) {
    float a[4] = {0}, b[4] = {0};
    if (dist_on_gpus() || dist_ranks == 1)
        return;
    test_refused(dist_ctx, weft_transpose(dist_ctx, 0, 4, 1, 1, a, 1, a, (size_t)dist_ranks),
                 WEFT_EUNSUPPORTED, "weft_transpose", "separate");
    const weft_status status =
        weft_transpose(dist_ctx, 0, 4, (size_t)dist_ranks, 1, a, (size_t)dist_ranks, b, 1);
    assert_int_equal(status, WEFT_EARG); /* a line of b has an element of every rank */
}

void dist_test_transpose(void **state) {
    static const size_t sizes[][2] = {{0, 3}, {3, 0}, {1, 1}, {1, 40}, {40, 1}, {7, 5}, {61, 83}};
    test_random r = test_random_at(44);
    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int shape = 0; shape < DIST_SHAPES; shape++)
            if (dist_wanted(k, shape, sizes[k][0] * sizes[k][1]))
                transpose_case(&r, (dist_shape)shape, sizes[k][0], sizes[k][1]);
    if (!dist_on_gpus())
        assert_string_equal(weft_used(dist_ctx, "transpose"), "ranks");
    test_refusals();
}
