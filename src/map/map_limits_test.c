/* SPDX-License-Identifier: Apache-2.0 */
/* Cases that would otherwise need arrays of gigabytes: positions beyond 2^32, by calling rungs as
 * for a later segment of a long array; and more rows than a grid's height, on emu, whose grids are
 * low. */
#include <stdio.h>
#include <string.h>

#include "map/map.h"
#include "testing.h"

enum {
    MOST_BYTES = 1 << 18,
    TEXT_BYTES = 160
};

typedef struct shape {
    size_t rows, cols, ld;
} shape;

static const char call[] = "weft_iota_matrix";

static double right(uint64_t i) {
    return (double)(3 * i) + 1;
}

/* z(i, k) = 1 + 3 (first + i cols + k). Of a type that holds it, or rounded. */
static void check(weft_context *ctx, const wi_row *row, weft_type type, const shape *s,
                  uint64_t first) {
    const bool gpu = ctx->kind == WI_CUDA;
    const size_t size = test_size_of(type), bytes = ((s->rows - 1) * s->ld + s->cols) * size;
    char what[TEXT_BYTES];
    snprintf(what, sizeof what, "iota of %s from %llu on %s, variant %s, %zu x %zu, ld %zu",
             test_type_name(type), (unsigned long long)first, weft_place(ctx),
             row ? row->name : "auto", s->rows, s->cols, s->ld);
    test_buffer z = test_buffer_open(ctx, gpu, MOST_BYTES);
    test_buffer_poison(&z, bytes, 0);
    wi_map_args args = {.op = WI_MAP_IOTA,
                        .type = type,
                        .rows = s->rows,
                        .cols = s->cols,
                        .z = z.p,
                        .ldz = s->ld,
                        .first = first};
    test_store(type, &args.a, 0, test_is_float(type) ? (test_value){.f = 1} : (test_value){.u = 1});
    test_store(type, &args.b, 0, test_is_float(type) ? (test_value){.f = 3} : (test_value){.u = 3});
    test_use(ctx, "map", row);
    const weft_status status = wi_run(ctx, &wi_map_ladder, call, type, &args);
    const void *const got = test_buffer_read(&z, what);
    if (status == WEFT_EUNSUPPORTED && row && gpu && strcmp(row->name, "vector") != 0) {
        test_buffer_close(&z);
        return; /* teaching rungs take few types, and some no gaps */
    }
    if (status != WEFT_OK) {
        fail_msg("%s: %s", what, weft_message(ctx));
    }
    for (size_t k = 0; k < s->rows * s->cols; k++) {
        const uint64_t i = first + k;
        const test_value y = test_load(type, got, k / s->cols * s->ld + k % s->cols);
        const test_value wanted = test_is_float(type)
                                      ? (test_value){.f = test_round(type, right(i))}
                                      : (test_value){.u = test_wrap(type, 1 + 3 * i)};
        if (!test_same(type, y, wanted)) {
            fail_msg("%s: element %zu is %s, should be %s", what, k, test_text(type, y),
                     test_text(type, wanted));
        }
    }
    test_buffer_close(&z);
}

static void check_all(weft_context *ctx, const shape *s, uint64_t first) {
    static const weft_type types[] = {WEFT_I32, WEFT_F32, WEFT_U64, WEFT_F64};
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_map_ladder, rows);
    for (size_t k = 0; k < count * (sizeof types / sizeof *types); k++) {
        check(ctx, rows[k % count], types[k / count], s, first);
    }
}

static void far_positions(weft_context *ctx) {
    static const shape shapes[] = {{1, 5001, 5001}, {50, 7, 9}, {3, 1500, 1503}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        check_all(ctx, &shapes[k], (UINT64_C(5) << 32) - 1000);
    }
}

static void many_rows(weft_context *ctx) {
    static const shape tall = {1003, 3, 4};
    check_all(ctx, &tall, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(far_positions),
        TEST_ON_EACH_PLACE(many_rows),
    };
    return cmocka_run_group_tests_name("map, limits", tests, NULL, NULL);
}
