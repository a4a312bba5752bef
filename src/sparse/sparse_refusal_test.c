/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls on sparse matrices refuse: each wrong argument has its own message, and *matrix is
 * NULL afterwards. */
#include <math.h>
#include <string.h>

#include "sparse/sparse.h"
#include "testing.h"

#define CREATE_CSC "weft_sparse_create_csc"
#define CREATE_CSR "weft_sparse_create_csr"
#define CREATE_TRIPLETS "weft_sparse_create_triplets"

/* A 3 x 3 matrix by columns, to be made invalid. */
typedef struct input {
    weft_storage storage;
    size_t rows, cols;
    weft_type type;
    int64_t start[4], index[5];
    double value[5];
    const void *p_start, *p_index, *p_value; /* what is passed to the call */
} input;

static void reset(input *in) {
    *in = (input){.storage = WEFT_GENERAL,
                  .rows = 3,
                  .cols = 3,
                  .type = WEFT_I64,
                  .start = {0, 2, 3, 5},
                  .index = {0, 1, 1, 0, 2},
                  .value = {4, -1, 5, -2, 6}};
    in->p_start = in->start;
    in->p_index = in->index;
    in->p_value = in->value;
}

static weft_status create(weft_context *ctx, const input *in, bool by_columns) {
    weft_sparse *m = (weft_sparse *)(uintptr_t)in;
    const weft_status status = (by_columns ? weft_sparse_create_csc : weft_sparse_create_csr)(
        ctx, &m, in->storage, in->rows, in->cols, in->type, in->p_start, in->p_index, in->p_value);
    if (status != WEFT_OK)
        assert_null(m);
    weft_sparse_destroy(m);
    return status;
}

/* Both compressed forms refuse the input, with these pieces in the message. */
static void refuse(weft_context *ctx, input *in, weft_status expected, const char *word,
                   const char *piece) {
    for (int by_columns = 0; by_columns < 2; by_columns++) {
        test_refused(ctx, create(ctx, in, by_columns), expected,
                     by_columns ? CREATE_CSC : CREATE_CSR, word);
        if (!strstr(weft_message(ctx), piece))
            fail_msg("no \"%s\" in \"%s\"", piece, weft_message(ctx));
    }
    reset(in);
}

static void wrong_arguments(weft_context *ctx) {
    input in;
    reset(&in);
    for (int by_columns = 0; by_columns < 2; by_columns++)
        assert_int_equal(create(ctx, &in, by_columns), WEFT_OK);
    in.storage = (weft_storage)6;
    refuse(ctx, &in, WEFT_EARG, "storage",
           "WEFT_SYMMETRIC_FULL, WEFT_SYMMETRIC_USE_LOWER or WEFT_SYMMETRIC_USE_UPPER");
    in.storage = (weft_storage)-1;
    refuse(ctx, &in, WEFT_EARG, "storage", "-1");
    in.type = WEFT_F64;
    refuse(ctx, &in, WEFT_EARG, "index_type is f64", "WEFT_I32, WEFT_I64, WEFT_U32 or WEFT_U64");
    in.storage = WEFT_SYMMETRIC_LOWER;
    in.rows = 4;
    in.cols = 2;
    refuse(ctx, &in, WEFT_EARG, "rows", "square");
    in.rows = SIZE_MAX;
    refuse(ctx, &in, WEFT_EARG, "rows", "index");
    in.cols = SIZE_MAX;
    refuse(ctx, &in, WEFT_EARG, "cols", "index");
    in.p_start = NULL;
    refuse(ctx, &in, WEFT_EARG, "start", "NULL");
    in.p_index = NULL;
    refuse(ctx, &in, WEFT_EARG, "index", "NULL");
    in.p_value = NULL;
    refuse(ctx, &in, WEFT_EARG, "value", "NULL");
    in.p_index = (const char *)in.index + 4;
    refuse(ctx, &in, WEFT_EARG, "index", "8 bytes");
    in.p_value = (const char *)in.value + 1;
    refuse(ctx, &in, WEFT_EARG, "value", "8 bytes");
}

static void wrong_entries(weft_context *ctx) {
    input in;
    reset(&in);
    in.start[0] = 1;
    refuse(ctx, &in, WEFT_EARG, "start", "start[0] is 1");
    in.start[2] = 1;
    refuse(ctx, &in, WEFT_EARG, "start", "start[2] is 1, less than start[1], which is 2");
    in.start[3] = -5;
    refuse(ctx, &in, WEFT_EARG, "start", "start[3] is -5");
    in.index[3] = 3;
    refuse(ctx, &in, WEFT_EARG, NULL, "entry 3 is in");
    in.index[0] = -1;
    refuse(ctx, &in, WEFT_EARG, NULL, "entry 0 is in");
    in.index[4] = INT64_MIN;
    refuse(ctx, &in, WEFT_EARG, NULL, "from 0 to 2");
    in.value[2] = NAN;
    refuse(ctx, &in, WEFT_ENONFINITE, NULL, "value 2, in row 1 and column 1 (counted from 0)");
    in.value[4] = INFINITY;
    refuse(ctx, &in, WEFT_ENONFINITE, NULL, "value 4, in row 2 and column 2 (counted from 0)");
    in.storage = WEFT_SYMMETRIC_FULL;
    refuse(ctx, &in, WEFT_EARG, NULL, "not symmetric");
    in.index[1] = in.index[0];
    in.value[0] = in.value[1] = 1e308;
    refuse(ctx, &in, WEFT_ENONFINITE, NULL, "row 0 and column 0 (counted from 0) add up to inf");
    in.type = WEFT_U64;
    in.start[3] = -1;
    refuse(ctx, &in, WEFT_EARG, "start", "start[3] is 18446744073709551615, more than");
    in.type = WEFT_U64;
    in.index[4] = INT64_MIN;
    refuse(ctx, &in, WEFT_EARG, "index", "index[4] is 9223372036854775808, more than");
}

static void wrong_side(weft_context *ctx) {
    input in;
    reset(&in);
    in.storage = WEFT_SYMMETRIC_LOWER;
    test_refused(ctx, create(ctx, &in, true), WEFT_EARG, CREATE_CSC, "above");
    assert_non_null(strstr(weft_message(ctx), "entry 3, in row 0 and column 2 (counted from 0)"));
    in.storage = WEFT_SYMMETRIC_UPPER;
    test_refused(ctx, create(ctx, &in, true), WEFT_EARG, CREATE_CSC, "below");
    assert_non_null(strstr(weft_message(ctx), "entry 1, in row 1 and column 0"));
}

/* FULL with different values on the two sides: the message has the caller's positions. */
static void not_symmetric(weft_context *ctx) {
    const int32_t row[] = {0, 2, 0, 2, 1}, col[] = {0, 0, 2, 2, 1};
    double value[] = {1, 5, 5, 2, 2};
    weft_sparse *m;
    assert_int_equal(weft_sparse_create_triplets(ctx, &m, WEFT_SYMMETRIC_FULL, 3, 3, 5, WEFT_I32,
                                                 row, col, value),
                     WEFT_OK);
    value[2] = 5.00000001;
    test_refused(ctx, weft_sparse_update(ctx, m, 5, value), WEFT_EARG, "weft_sparse_update",
                 "WEFT_SYMMETRIC_USE_LOWER");
    assert_non_null(strstr(weft_message(ctx), "row 2 of column 0 holds 5, row 0 of column 2 "
                                              "5.00000001 (counted from 0), apart by 2.0e-09"));
    assert_true(weft_sparse_values(m)[1] == 5);
    value[2] = NAN;
    test_refused(ctx, weft_sparse_update(ctx, m, 5, value), WEFT_ENONFINITE, "weft_sparse_update",
                 NULL);
    assert_non_null(strstr(weft_message(ctx), "value 2, in row 0 and column 2"));
    test_refused(ctx, weft_sparse_update(ctx, m, 4, value), WEFT_EARG, "weft_sparse_update", "n");
    test_refused(ctx, weft_sparse_update(ctx, m, 5, NULL), WEFT_EARG, "weft_sparse_update",
                 "value");
    test_refused(ctx, weft_sparse_update(ctx, NULL, 5, value), WEFT_EARG, "weft_sparse_update",
                 "matrix");
    weft_sparse_destroy(m);
}

static void wrong_triplets(weft_context *ctx) {
    const int64_t row[] = {0, 1}, col[] = {0, 1};
    const double value[] = {1, 1};
    weft_sparse *m;
#define REFUSED(word, ...)                                                                         \
    test_refused(ctx, weft_sparse_create_triplets(ctx, __VA_ARGS__), WEFT_EARG, CREATE_TRIPLETS,   \
                 word)
    REFUSED("matrix", NULL, WEFT_SYMMETRIC_FULL, 2, 2, 2, WEFT_I64, row, col, value);
    REFUSED("row", &m, WEFT_SYMMETRIC_FULL, 2, 2, 2, WEFT_I64, NULL, col, value);
    REFUSED("col", &m, WEFT_SYMMETRIC_FULL, 2, 2, 2, WEFT_I64, row, NULL, value);
    REFUSED("value", &m, WEFT_SYMMETRIC_FULL, 2, 2, 2, WEFT_I64, row, col, NULL);
    REFUSED("row", &m, WEFT_SYMMETRIC_FULL, 2, 2, SIZE_MAX / 8, WEFT_I64, row, col, value);
    REFUSED("entry", &m, WEFT_SYMMETRIC_FULL, 1, 1, 2, WEFT_I64, row, col, value);
    REFUSED("entry", &m, WEFT_GENERAL, 2, 1, 2, WEFT_I64, row, col, value);
#undef REFUSED
}

static void wrong_inputs(weft_context *ctx) {
    const int64_t start[] = {0, 1}, row[] = {0}, col[] = {0};
    const double value[] = {2};
    const weft_sparse_input good = {.size = sizeof good,
                                    .rows = 1,
                                    .cols = 1,
                                    .n = 1,
                                    .start_type = WEFT_I64,
                                    .index_type = WEFT_I64,
                                    .start = start,
                                    .row = row,
                                    .col = col,
                                    .value = value};
    weft_sparse *m;
    for (int form = WEFT_CSC; form <= WEFT_TRIPLETS; form++) {
        weft_sparse_input in = good;
        in.form = (weft_form)form;
        assert_int_equal(weft_sparse_create(ctx, &m, &in), WEFT_OK);
        weft_sparse_destroy(m);
    }
#define REFUSED(word, ...)                                                                         \
    do {                                                                                           \
        weft_sparse_input in = good;                                                               \
        __VA_ARGS__;                                                                               \
        m = (weft_sparse *)ctx;                                                                    \
        test_refused(ctx, weft_sparse_create(ctx, &m, &in), WEFT_EARG, "weft_sparse_create",       \
                     word);                                                                        \
        assert_null(m);                                                                            \
    } while (0)
    REFUSED("input.size", in.size = 0);
    REFUSED("input.size", in.size = sizeof in + 8);
    REFUSED("input.size", in.size = sizeof in - 1);
    REFUSED("form", in.form = (weft_form)3);
    REFUSED("storage", in.storage = (weft_storage)6);
    REFUSED("start_type", in.start_type = WEFT_I16);
    REFUSED("index_type", in.start_type = in.index_type = WEFT_I8);
    REFUSED("symmetry_tolerance", in.symmetry_tolerance = NAN);
    REFUSED("symmetry_tolerance", in.symmetry_tolerance = INFINITY);
    REFUSED("row", in.row = NULL);
    REFUSED("col", in.form = WEFT_CSR, in.col = NULL);
    REFUSED("start", in.form = WEFT_CSR, in.start = NULL);
    REFUSED("value", in.form = WEFT_TRIPLETS, in.value = NULL);
#undef REFUSED
    test_refused(ctx, weft_sparse_create(ctx, NULL, &good), WEFT_EARG, "weft_sparse_create",
                 "matrix");
    test_refused(ctx, weft_sparse_create(ctx, &m, NULL), WEFT_EARG, "weft_sparse_create", "input");
}

static void wrong_products(weft_context *ctx) {
    const int64_t row[] = {0, 1}, col[] = {0, 1};
    double value[] = {1, 1}, x[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    weft_sparse *m;
    assert_int_equal(weft_sparse_create_triplets(ctx, &m, WEFT_SYMMETRIC_FULL, 2, 2, 2, WEFT_I64,
                                                 row, col, value),
                     WEFT_OK);
#define REFUSED(word, ...)                                                                         \
    test_refused(ctx, weft_sparse_multiply(ctx, __VA_ARGS__), WEFT_EARG, "weft_sparse_multiply",   \
                 word)
    REFUSED("matrix", NULL, 1, x, 2, x + 4, 2);
    REFUSED("x", m, 1, NULL, 2, x + 4, 2);
    REFUSED("y", m, 1, x, 2, NULL, 2);
    REFUSED("ldx", m, 1, x, 1, x + 4, 2);
    REFUSED("ldy", m, 1, x, 2, x + 4, 1);
    REFUSED("x", m, SIZE_MAX / 2, x, 2, x + 4, 2);
    REFUSED("overlap", m, 1, x, 2, x, 2);
    REFUSED("overlap", m, 2, x, 4, x + 5, 2);
#undef REFUSED
    for (size_t k = 0; k < 8; k++)
        assert_true(x[k] == 1);
    assert_int_equal(weft_sparse_multiply(ctx, m, 0, NULL, 2, NULL, 2), WEFT_OK);
    weft_sparse_destroy(m);
}

static void wrong_files(weft_context *ctx) {
    weft_sparse *m = (weft_sparse *)ctx;
    test_refused(ctx, weft_sparse_read(ctx, NULL, "x"), WEFT_EARG, "weft_sparse_read", "matrix");
    test_refused(ctx, weft_sparse_read(ctx, &m, NULL), WEFT_EARG, "weft_sparse_read", "path");
    assert_null(m);
    test_refused(ctx, weft_sparse_read_as(ctx, NULL, "x", WEFT_GENERAL, 0), WEFT_EARG,
                 "weft_sparse_read_as", "matrix");
    test_refused(ctx, weft_sparse_read_as(ctx, &m, "x", (weft_storage)6, 0), WEFT_EARG,
                 "weft_sparse_read_as", "storage");
    test_refused(ctx, weft_sparse_read_as(ctx, &m, "x", WEFT_SYMMETRIC_FULL, NAN), WEFT_EARG,
                 "weft_sparse_read_as", "symmetry_tolerance");
    test_refused(ctx, weft_sparse_read(ctx, &m, "/no/such/file"), WEFT_EIO, "weft_sparse_read",
                 "opening");
    test_refused(ctx, weft_sparse_read(ctx, &m, "/"), WEFT_EIO, "weft_sparse_read", "reading");
    test_refused(ctx, weft_sparse_write(ctx, NULL, "x"), WEFT_EARG, "weft_sparse_write", "matrix");
}

/* Device memory cannot be read here, and is refused instead of read. */
static void device_memory(weft_context *ctx) {
    void *memory = NULL;
    weft_sparse *m;
    if (ctx->kind != WI_CUDA)
        return;
    assert_int_equal(weft_alloc(ctx, &memory, 64), WEFT_OK);
    test_refused(ctx,
                 weft_sparse_create_triplets(ctx, &m, WEFT_GENERAL, 2, 2, 2, WEFT_I64, memory,
                                             memory, memory),
                 WEFT_EARG, CREATE_TRIPLETS, "weft_copy");
    assert_int_equal(weft_free(ctx, memory), WEFT_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(wrong_arguments), TEST_ON_EACH_PLACE(wrong_entries),
        TEST_ON_EACH_PLACE(wrong_side),      TEST_ON_EACH_PLACE(not_symmetric),
        TEST_ON_EACH_PLACE(wrong_triplets),  TEST_ON_EACH_PLACE(wrong_inputs),
        TEST_ON_EACH_PLACE(wrong_products),  TEST_ON_EACH_PLACE(wrong_files),
        TEST_ON_EACH_PLACE(device_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
