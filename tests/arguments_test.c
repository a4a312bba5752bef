/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong arguments: each has its own status and a message that names the call and the argument, and
 * a refused call has changed nothing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"

/* ---- no context ---- */

static void test_no_context(void **state) {
    (void)state;
    float x = 1, y = 2;
    void *memory = &x;
    weft_close(NULL);
    assert_int_equal(weft_open(NULL, "cpu"), WEFT_EARG);
    assert_int_equal(weft_use(NULL, "map", NULL), WEFT_EARG);
    assert_null(weft_used(NULL, "map"));
    assert_int_equal(weft_alloc(NULL, &memory, 8), WEFT_EARG);
    assert_int_equal(weft_free(NULL, &x), WEFT_EARG);
    assert_int_equal(weft_copy(NULL, &y, &x, sizeof x), WEFT_EARG);
    assert_int_equal(weft_sync(NULL), WEFT_EARG);
    assert_int_equal(weft_set_stream(NULL, NULL), WEFT_EARG);
    assert_int_equal(weft_add(NULL, WEFT_F32, 1, &x, &x, &y), WEFT_EARG);
    assert_int_equal(weft_axpy(NULL, WEFT_F32, 1, &x, &x, &y), WEFT_EARG);
    assert_int_equal(weft_fill(NULL, WEFT_F32, 1, &x, &y), WEFT_EARG);
    assert_int_equal(weft_iota(NULL, WEFT_F32, 1, &x, &x, &y), WEFT_EARG);
    assert_int_equal(weft_add_matrix(NULL, WEFT_F32, 1, 1, &x, 1, &x, 1, &y, 1), WEFT_EARG);
    assert_int_equal(weft_axpy_matrix(NULL, WEFT_F32, 1, 1, &x, &x, 1, &y, 1), WEFT_EARG);
    assert_int_equal(weft_fill_matrix(NULL, WEFT_F32, 1, 1, &x, &y, 1), WEFT_EARG);
    assert_int_equal(weft_iota_matrix(NULL, WEFT_F32, 1, 1, &x, &x, &y, 1), WEFT_EARG);
    assert_int_equal(weft_reduce(NULL, WEFT_SUM, WEFT_F32, 1, &x, &y), WEFT_EARG);
    assert_int_equal(weft_dot(NULL, WEFT_F32, 1, &x, &x, &y), WEFT_EARG);
    assert_int_equal(weft_scan(NULL, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, 1, &x, &y, NULL),
                     WEFT_EARG);
    uint64_t position = 3;
    size_t bytes = 4;
    const weft_field field = {0, WEFT_F32, WEFT_ASCENDING};
    assert_int_equal(weft_sort(NULL, WEFT_ASCENDING, WEFT_F32, 1, &x, &y), WEFT_EARG);
    assert_int_equal(weft_sort_bytes(NULL, WEFT_ASCENDING, WEFT_F32, 1, &x, &y, &bytes), WEFT_EARG);
    assert_int_equal(weft_sort_pairs(NULL, WEFT_ASCENDING, WEFT_F32, 1, &x, &x, 4, &y, &y),
                     WEFT_EARG);
    assert_int_equal(weft_sort_indices(NULL, WEFT_ASCENDING, WEFT_F32, 1, &x, WEFT_U64, &position),
                     WEFT_EARG);
    assert_int_equal(
        weft_sort_bits(NULL, WEFT_ASCENDING, WEFT_F32, 0, 32, 1, &x, &y, 0, NULL, NULL), WEFT_EARG);
    assert_int_equal(
        weft_sort_segments(NULL, WEFT_ASCENDING, WEFT_F32, 1, &x, &y, 0, NULL, NULL, 1, &position),
        WEFT_EARG);
    assert_int_equal(weft_sort_records(NULL, 1, 4, &x, &y, &field, 1), WEFT_EARG);
    assert_int_equal(
        weft_merge(NULL, WEFT_ASCENDING, WEFT_F32, 1, &x, 0, NULL, &y, 0, NULL, NULL, NULL),
        WEFT_EARG);
    assert_int_equal(weft_is_sorted(NULL, WEFT_ASCENDING, WEFT_F32, 1, &x, &position), WEFT_EARG);
    assert_int_equal(
        weft_search(NULL, WEFT_LOWER, WEFT_ASCENDING, WEFT_F32, 1, &x, 1, &x, &position),
        WEFT_EARG);
    assert_int_equal(weft_top_k(NULL, WEFT_ASCENDING, WEFT_F32, 1, &x, 1, &y, &position),
                     WEFT_EARG);
    assert_int_equal(
        weft_histogram(NULL, WEFT_F32, 1, 1, &x, NULL, WEFT_OVERWRITE, WEFT_U32, &y, NULL),
        WEFT_EARG);
    assert_int_equal(weft_gemm(NULL, 0, WEFT_F32, WEFT_F32, 1, 1, 1, 1, &x, 1, &x, 1, 0, &y, 1),
                     WEFT_EARG);
    assert_int_equal(weft_gemv(NULL, 0, WEFT_F32, WEFT_F32, 1, 1, 1, &x, 1, &x, 1, 0, &y, 1),
                     WEFT_EARG);
    assert_int_equal(weft_ger(NULL, 0, WEFT_F32, 1, 1, 1, &x, 1, &x, 1, &y, 1), WEFT_EARG);
    assert_int_equal(weft_transpose(NULL, 0, 4, 1, 1, &x, 1, &y, 1), WEFT_EARG);
    assert_int_equal(weft_syrk(NULL, 0, WEFT_F32, 1, 1, 1, &x, 1, 0, &y, 1), WEFT_EARG);
    assert_int_equal(weft_trsm(NULL, 0, WEFT_F32, 1, 1, 1, &x, 1, &y, 1), WEFT_EARG);
    assert_int_equal(weft_trmm(NULL, 0, WEFT_F32, 1, 1, 1, &x, 1, &y, 1), WEFT_EARG);
    assert_true(y == 2 && position == 3 && bytes == 4);
    uint64_t count = 3;
    const weft_predicate p = {.test = WEFT_GT, .type = WEFT_F32};
    assert_int_equal(weft_select(NULL, p, 1, &x, &y, &count), WEFT_EARG);
    assert_int_equal(weft_select_where(NULL, p, 1, &x, 4, &x, &y, &count), WEFT_EARG);
    assert_int_equal(weft_select_count(NULL, p, 1, &x, &count), WEFT_EARG);
    assert_int_equal(weft_select_indices(NULL, p, 1, &x, WEFT_U32, &y, &count), WEFT_EARG);
    assert_int_equal(weft_partition(NULL, p, 1, &x, &y, NULL, &count), WEFT_EARG);
    assert_int_equal(weft_partition_where(NULL, p, 1, &x, 4, &x, &y, NULL, &count), WEFT_EARG);
    assert_int_equal(weft_expand(NULL, p, 1, &x, 4, 1, &x, NULL, &y), WEFT_EARG);
    assert_int_equal(weft_unique(NULL, WEFT_F32, 1, &x, &y, &count), WEFT_EARG);
    assert_int_equal(weft_run_length(NULL, WEFT_F32, 1, &x, &y, WEFT_U32, &y, &count), WEFT_EARG);
    assert_true(y == 2 && count == 3);
    weft_sparse *matrix = (weft_sparse *)&x;
    const int64_t index[2] = {0, 0};
    const double value = 1;
    assert_int_equal(weft_sparse_create_csc(NULL, &matrix, WEFT_SYMMETRIC_LOWER, 1, 1, WEFT_I64,
                                            index, index, &value),
                     WEFT_EARG);
    assert_int_equal(weft_sparse_create_csr(NULL, &matrix, WEFT_SYMMETRIC_LOWER, 1, 1, WEFT_I64,
                                            index, index, &value),
                     WEFT_EARG);
    assert_int_equal(weft_sparse_create_triplets(NULL, &matrix, WEFT_SYMMETRIC_LOWER, 1, 1, 1,
                                                 WEFT_I64, index, index, &value),
                     WEFT_EARG);
    assert_int_equal(weft_sparse_create(NULL, &matrix, NULL), WEFT_EARG);
    assert_int_equal(weft_sparse_read(NULL, &matrix, "x.mtx"), WEFT_EARG);
    assert_int_equal(weft_sparse_read_as(NULL, &matrix, "x.mtx", WEFT_GENERAL, 0), WEFT_EARG);
    assert_int_equal(weft_sparse_write(NULL, matrix, "x.mtx"), WEFT_EARG);
    assert_int_equal(weft_sparse_update(NULL, matrix, 1, &value), WEFT_EARG);
    assert_int_equal(weft_sparse_multiply(NULL, matrix, 0, NULL, 1, NULL, 1), WEFT_EARG);
    weft_chol *plan = (weft_chol *)&x;
    weft_chol_report report = {.size = sizeof report};
    assert_int_equal(weft_chol_analyze(NULL, matrix, NULL, &plan), WEFT_EARG);
    assert_int_equal(weft_chol_get_report(NULL, plan, &report), WEFT_EARG);
    assert_int_equal(weft_chol_save(NULL, plan, "x"), WEFT_EARG);
    assert_int_equal(weft_chol_load(NULL, "x", &plan), WEFT_EARG);
    assert_ptr_equal(plan, &x);
}

/* ---- places ---- */

static void test_bad_places(void **state) {
    (void)state;
    static const char *const places[] = {"",
                                         " ",
                                         "CPU",
                                         "cpu ",
                                         " cpu",
                                         "cpu:",
                                         "cpu:0",
                                         "cpu:-1",
                                         "cpu:+2",
                                         "cpu:x",
                                         "tpu",
                                         TEST_GPU ":",
                                         TEST_GPU ":x",
                                         TEST_GPU ":-1",
                                         "cpu:2x",
                                         TEST_GPU "x",
                                         "cpu: 2",
                                         "cpu:4097",
                                         "cpus",
                                         TEST_GPU ":0:1",
                                         "cpu:99999999999999999999"};
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        weft_context *ctx = (weft_context *)1;
        weft_status status = weft_open(&ctx, places[k]);
        if (status != WEFT_EARG || ctx) {
            fail_msg("place \"%s\": status %s", places[k], weft_status_name(status));
        }
        const char *message = weft_message(NULL);
        if (!strstr(message, places[k]) || !strstr(message, "cpu:N") || strchr(message, '\n')) {
            fail_msg("place \"%s\": message \"%s\"", places[k], message);
        }
    }
}

/* A GPU that does not exist is not a wrong string: the status may concern the device or the build.
 */
static void test_missing_gpu(void **state) {
    (void)state;
    weft_context *ctx = NULL;
    assert_int_not_equal(weft_open(&ctx, TEST_GPU ":1000"), WEFT_OK);
    assert_null(ctx);
    assert_true(strlen(weft_message(NULL)) > 0);
}

/* ---- arrays and scalars ---- */

static void null_arguments(weft_context *ctx) {
    rig r = rig_open(ctx);
    REFUSED("weft_add", "x", weft_add(ctx, WEFT_I32, 4, NULL, r.y, r.z));
    REFUSED("weft_add", "y", weft_add(ctx, WEFT_I32, 4, r.x, NULL, r.z));
    REFUSED("weft_add", "z", weft_add(ctx, WEFT_I32, 4, r.x, r.y, NULL));
    REFUSED("weft_axpy", "alpha", weft_axpy(ctx, WEFT_I32, 4, NULL, r.x, r.y));
    REFUSED("weft_axpy", "x", weft_axpy(ctx, WEFT_I32, 4, &r.one, NULL, r.y));
    REFUSED("weft_axpy", "y", weft_axpy(ctx, WEFT_I32, 4, &r.one, r.x, NULL));
    REFUSED("weft_fill", "value", weft_fill(ctx, WEFT_I32, 4, NULL, r.x));
    REFUSED("weft_fill", "x", weft_fill(ctx, WEFT_I32, 4, &r.one, NULL));
    REFUSED("weft_iota", "start", weft_iota(ctx, WEFT_I32, 4, NULL, &r.one, r.x));
    REFUSED("weft_iota", "step", weft_iota(ctx, WEFT_I32, 4, &r.one, NULL, r.x));
    REFUSED("weft_iota", "x", weft_iota(ctx, WEFT_I32, 4, &r.one, &r.one, NULL));
    REFUSED("weft_add_matrix", "z", weft_add_matrix(ctx, WEFT_I32, 2, 2, r.x, 2, r.y, 2, NULL, 2));
    REFUSED("weft_axpy_matrix", "x",
            weft_axpy_matrix(ctx, WEFT_I32, 2, 2, &r.one, NULL, 2, r.y, 2));
    REFUSED("weft_fill_matrix", "x", weft_fill_matrix(ctx, WEFT_I32, 2, 2, &r.one, NULL, 2));
    REFUSED("weft_iota_matrix", "x",
            weft_iota_matrix(ctx, WEFT_I32, 2, 2, &r.one, &r.one, NULL, 2));
    REFUSED("weft_reduce", "x", weft_reduce(ctx, WEFT_SUM, WEFT_I32, 4, NULL, r.z));
    REFUSED("weft_reduce", "result", weft_reduce(ctx, WEFT_SUM, WEFT_I32, 4, r.x, NULL));
    REFUSED("weft_reduce", "result", weft_reduce(ctx, WEFT_SUM, WEFT_I32, 0, r.x, NULL));
    REFUSED("weft_dot", "x", weft_dot(ctx, WEFT_I32, 4, NULL, r.y, r.z));
    REFUSED("weft_dot", "y", weft_dot(ctx, WEFT_I32, 4, r.x, NULL, r.z));
    REFUSED("weft_dot", "result", weft_dot(ctx, WEFT_I32, 4, r.x, r.y, NULL));
    REFUSED("weft_scan", "x",
            weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_I32, 4, NULL, r.y, NULL));
    REFUSED("weft_scan", "y",
            weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_I32, 4, r.x, NULL, NULL));
    REFUSED("weft_copy", "to", weft_copy(ctx, NULL, r.x, 4));
    REFUSED("weft_copy", "from", weft_copy(ctx, r.x, NULL, 4));
    REFUSED("weft_alloc", "memory", weft_alloc(ctx, NULL, 4));
    REFUSED("weft_use", "op", weft_use(ctx, NULL, "serial"));
    assert_int_equal(weft_free(ctx, NULL), WEFT_OK);
    rig_close(&r);
}

/* Half an element off: no C array has such an address, and a GPU would fault. */
static void misaligned(weft_context *ctx) {
    rig r = rig_open(ctx);
    void *const off = (char *)r.x + 2;
    REFUSED("weft_add", "x", weft_add(ctx, WEFT_I32, 4, off, r.y, r.z));
    REFUSED("weft_add", "z", weft_add(ctx, WEFT_I32, 4, r.y, r.z, off));
    REFUSED("weft_axpy", "y", weft_axpy(ctx, WEFT_I32, 4, &r.one, r.y, off));
    REFUSED("weft_fill_matrix", "x", weft_fill_matrix(ctx, WEFT_I32, 2, 2, &r.one, off, 2));
    REFUSED("weft_reduce", "x", weft_reduce(ctx, WEFT_SUM, WEFT_I32, 4, off, r.z));
    if (ctx->kind == WI_CUDA) { /* on the host any memory will do for one element */
        REFUSED("weft_reduce", "result", weft_reduce(ctx, WEFT_SUM, WEFT_I32, 4, r.y, off));
        REFUSED("weft_scan", "init",
                weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_I32, 4, r.y, r.z, off));
    }
    REFUSED("weft_dot", "y", weft_dot(ctx, WEFT_I32, 4, r.y, off, r.z));
    REFUSED("weft_scan", "y",
            weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_I32, 4, r.y, off, NULL));
    rig_close(&r);
}

static void bad_types_and_ops(weft_context *ctx) {
    rig r = rig_open(ctx);
    for (size_t k = 0; k < sizeof bad_types / sizeof *bad_types; k++) {
        weft_type t = bad_types[k];
        REFUSED("weft_add", "type", weft_add(ctx, t, 4, r.x, r.y, r.z));
        REFUSED("weft_axpy", "type", weft_axpy(ctx, t, 4, &r.one, r.x, r.y));
        REFUSED("weft_fill", "type", weft_fill(ctx, t, 4, &r.one, r.x));
        REFUSED("weft_iota", "type", weft_iota(ctx, t, 4, &r.one, &r.one, r.x));
        REFUSED("weft_add_matrix", "type", weft_add_matrix(ctx, t, 2, 2, r.x, 2, r.y, 2, r.z, 2));
        REFUSED("weft_reduce", "type", weft_reduce(ctx, WEFT_SUM, t, 4, r.x, r.z));
        REFUSED("weft_dot", "type", weft_dot(ctx, t, 4, r.x, r.y, r.z));
        REFUSED("weft_scan", "type",
                weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, t, 4, r.x, r.y, NULL));
    }
    for (int k = 0; k < 2; k++) {
        weft_op op = (weft_op)(k ? WEFT_OP_COUNT : -1);
        weft_scan_kind kind = (weft_scan_kind)(k ? 2 : -1);
        REFUSED("weft_reduce", "op", weft_reduce(ctx, op, WEFT_I32, 4, r.x, r.z));
        REFUSED("weft_scan", "op", weft_scan(ctx, WEFT_INCLUSIVE, op, WEFT_I32, 4, r.x, r.y, NULL));
        REFUSED("weft_scan", "kind", weft_scan(ctx, kind, WEFT_SUM, WEFT_I32, 4, r.x, r.y, NULL));
    }
    for (int op = WEFT_AND; op <= WEFT_XOR; op++) {
        weft_status status = weft_reduce(ctx, (weft_op)op, WEFT_I32, 4, r.x, r.z);
        test_refused(ctx, status, WEFT_EUNSUPPORTED, "weft_reduce", "op");
    }
    for (int op = WEFT_ARGMIN; op <= WEFT_NRMINF; op++) {
        weft_status status =
            weft_scan(ctx, WEFT_INCLUSIVE, (weft_op)op, WEFT_I32, 4, r.x, r.y, NULL);
        test_refused(ctx, status, WEFT_EUNSUPPORTED, "weft_scan", "op");
    }
    rig_close(&r);
}

/* select and similar calls: 16 elements in x, y and z; the count is after them in z. */
static void select_arguments(weft_context *ctx) {
    rig r = rig_open(ctx);
    enum {
        N = 16
    };
    const weft_predicate p = {.test = WEFT_GT, .type = WEFT_I32}, bytes = WEFT_FLAGGED;
    weft_predicate bad = p;
    uint64_t *const count = (uint64_t *)(void *)(r.z + 32);
    void *const off = (char *)r.x + 2;
    const size_t too_many = (size_t)PTRDIFF_MAX / 2;
    REFUSED("weft_select", "x", weft_select(ctx, p, N, NULL, r.y, count));
    REFUSED("weft_select", "y", weft_select(ctx, p, N, r.x, NULL, count));
    REFUSED("weft_select", "count", weft_select(ctx, p, N, r.x, r.y, NULL));
    REFUSED("weft_select", "count", weft_select(ctx, p, 0, r.x, r.y, NULL));
    REFUSED("weft_select", "x", weft_select(ctx, p, N, off, r.y, count));
    REFUSED("weft_select", "count", weft_select(ctx, p, N, r.x, r.y, (uint64_t *)(void *)r.x));
    REFUSED("weft_select", "overlap", weft_select(ctx, p, N, r.x, r.x + 1, count));
    REFUSED("weft_select", "x", weft_select(ctx, p, too_many, r.x, r.y, count));
    REFUSED("weft_select_where", "s", weft_select_where(ctx, p, N, NULL, 4, r.x, r.y, count));
    REFUSED("weft_select_where", "width", weft_select_where(ctx, p, N, r.x, 0, r.y, r.z, count));
    REFUSED("weft_select_where", "x", weft_select_where(ctx, p, N, r.x, 4, NULL, r.z, count));
    REFUSED("weft_select_where", "width",
            weft_select_where(ctx, bytes, N, r.x, too_many, r.y, r.z, count));
    REFUSED("weft_select_where", "overlap", weft_select_where(ctx, p, N, r.x, 4, r.y, r.x, count));
    REFUSED("weft_select_count", "x", weft_select_count(ctx, p, N, NULL, count));
    REFUSED("weft_select_count", "count", weft_select_count(ctx, p, N, r.x, NULL));
    REFUSED("weft_select_indices", "index_type",
            weft_select_indices(ctx, p, N, r.x, WEFT_I16, r.y, count));
    REFUSED("weft_select_indices", "index_type",
            weft_select_indices(ctx, bytes, ((size_t)1 << 32) + 1, r.x, WEFT_U32, r.y, count));
    REFUSED("weft_select_indices", "index_type",
            weft_select_indices(ctx, bytes, ((size_t)1 << 31) + 1, r.x, WEFT_I32, r.y, count));
    REFUSED("weft_select_indices", "overlap",
            weft_select_indices(ctx, p, N, r.x, WEFT_U32, r.x, count));
    REFUSED("weft_partition", "overlap", weft_partition(ctx, p, N, r.x, r.x, NULL, count));
    REFUSED("weft_partition", "overlap", weft_partition(ctx, p, N, r.x, r.y, r.y, count));
    REFUSED("weft_partition", "z", weft_partition(ctx, p, N, r.x, r.y, off, count));
    REFUSED("weft_partition_where", "overlap",
            weft_partition_where(ctx, p, N, r.x, 4, r.y, r.z, r.x, count));
    REFUSED("weft_expand", "s", weft_expand(ctx, p, N, NULL, 4, N, r.x, NULL, r.y));
    REFUSED("weft_expand", "x", weft_expand(ctx, p, N, r.x, 4, N, NULL, NULL, r.y));
    REFUSED("weft_expand", "y", weft_expand(ctx, p, N, r.x, 4, N, r.y, NULL, NULL));
    REFUSED("weft_expand", "fill", weft_expand(ctx, p, N, r.x, 4, N, r.y, r.z + 1, r.z));
    REFUSED("weft_expand", "overlap", weft_expand(ctx, p, N, r.x, 4, N, r.y, NULL, r.x));
    REFUSED("weft_unique", "x", weft_unique(ctx, WEFT_I32, N, NULL, r.y, count));
    REFUSED("weft_unique", "overlap", weft_unique(ctx, WEFT_I32, N, r.x, r.x + 1, count));
    REFUSED("weft_run_length", "length_type",
            weft_run_length(ctx, WEFT_I32, N, r.x, r.y, WEFT_F32, r.z, count));
    REFUSED("weft_run_length", "length_type",
            weft_run_length(ctx, WEFT_I8, (size_t)1 << 31, r.x, r.y, WEFT_I32, r.z, count));
    REFUSED("weft_run_length", "lengths",
            weft_run_length(ctx, WEFT_I32, N, r.x, r.y, WEFT_U32, NULL, count));
    REFUSED("weft_run_length", "overlap",
            weft_run_length(ctx, WEFT_I32, N, r.x, r.y, WEFT_U32, r.x, count));
    for (size_t k = 0; k < sizeof bad_types / sizeof *bad_types; k++) {
        bad.type = bad_types[k];
        REFUSED("weft_select", "type", weft_select(ctx, bad, N, r.x, r.y, count));
        REFUSED("weft_unique", "type", weft_unique(ctx, bad.type, N, r.x, r.y, count));
    }
    bad = p;
    bad.test = (weft_test)WEFT_TEST_COUNT;
    REFUSED("weft_partition", "test", weft_partition(ctx, bad, N, r.x, r.y, r.z, count));
    rig_close(&r);
}

static void overlaps(weft_context *ctx) {
    rig r = rig_open(ctx);
    const size_t n = 8;
    REFUSED("weft_add", "z", weft_add(ctx, WEFT_I32, n, r.x, r.y, r.x + 1));
    REFUSED("weft_add", "z", weft_add(ctx, WEFT_I32, n, r.x + 1, r.y, r.x));
    REFUSED("weft_add", "y", weft_add(ctx, WEFT_I32, n, r.x, r.y, r.y + n - 1));
    REFUSED("weft_add", "x", weft_add(ctx, WEFT_I8, n, r.x, r.y, (char *)r.x + 1));
    REFUSED("weft_axpy", "x", weft_axpy(ctx, WEFT_I32, n, &r.one, r.y + 3, r.y));
    REFUSED("weft_scan", "y",
            weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_I32, n, r.x, r.x + 1, NULL));
    REFUSED("weft_scan", "x",
            weft_scan(ctx, WEFT_EXCLUSIVE, WEFT_SUM, WEFT_I32, n, r.x + n - 1, r.x, NULL));
    REFUSED("weft_reduce", "result", weft_reduce(ctx, WEFT_SUM, WEFT_I32, n, r.x, r.x + 2));
    REFUSED("weft_reduce", "result", weft_reduce(ctx, WEFT_MIN, WEFT_I32, n, r.x, r.x));
    REFUSED("weft_dot", "result", weft_dot(ctx, WEFT_I32, n, r.x, r.y, r.y + n - 1));
    REFUSED("weft_add_matrix", "z",
            weft_add_matrix(ctx, WEFT_I32, 2, 2, r.x, 4, r.y, 4, r.x + 1, 4));
    REFUSED("weft_add_matrix", "ldz", /* in place needs one layout */
            weft_add_matrix(ctx, WEFT_I32, 2, 2, r.x, 4, r.y, 4, r.x, 3));
    REFUSED("weft_copy", "from", weft_copy(ctx, r.x, (char *)r.x + 3, 4));
    rig_close(&r);
}

/* Arrays that touch but share nothing do not overlap; nor does in place. */
static void neighbours(weft_context *ctx) {
    int32_t *x = NULL, back[COUNT], ones[COUNT];
    const int32_t one = 1;
    void *memory = NULL;
    assert_int_equal(weft_alloc(ctx, &memory, sizeof back), WEFT_OK);
    x = memory;
    assert_int_equal(weft_fill(ctx, WEFT_I32, COUNT, &one, x), WEFT_OK);
    assert_int_equal(weft_add(ctx, WEFT_I32, 8, x, x + 16, x + 8), WEFT_OK);
    assert_int_equal(weft_add(ctx, WEFT_I32, 8, x + 24, x + 24, x + 24), WEFT_OK);
    assert_int_equal(weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_I32, 8, x + 32, x + 40, NULL),
                     WEFT_OK);
    assert_int_equal(weft_reduce(ctx, WEFT_MAX, WEFT_I32, 8, x + 32, x + 48), WEFT_OK);
    assert_int_equal(weft_copy(ctx, back, x, sizeof back), WEFT_OK);
    for (int i = 0; i < COUNT; i++) {
        bool doubled = (i >= 8 && i < 16) || (i >= 24 && i < 32);
        ones[i] = doubled ? 2 : i >= 40 && i < 48 ? i - 39 : 1;
    }
    assert_memory_equal(back, ones, sizeof back);
    assert_int_equal(weft_free(ctx, memory), WEFT_OK);
}

/* ---- sizes ---- */

static void impossible_sizes(weft_context *ctx) {
    rig r = rig_open(ctx);
    const size_t n = SIZE_MAX / 4, half = SIZE_MAX / 2;
    REFUSED("weft_add", NULL, weft_add(ctx, WEFT_I32, n, r.x, r.y, r.z));
    REFUSED("weft_add", NULL, weft_add(ctx, WEFT_I32, SIZE_MAX, r.x, r.y, r.z));
    REFUSED("weft_axpy", NULL, weft_axpy(ctx, WEFT_I32, n, &r.one, r.x, r.y));
    REFUSED("weft_fill", NULL, weft_fill(ctx, WEFT_I32, n, &r.one, r.x));
    REFUSED("weft_iota", NULL, weft_iota(ctx, WEFT_I32, n, &r.one, &r.one, r.x));
    REFUSED("weft_reduce", NULL, weft_reduce(ctx, WEFT_SUM, WEFT_I32, n, r.x, r.z));
    REFUSED("weft_dot", NULL, weft_dot(ctx, WEFT_I32, n, r.x, r.y, r.z));
    REFUSED("weft_scan", NULL,
            weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_I32, n, r.x, r.y, NULL));
    REFUSED("weft_fill_matrix", NULL,
            weft_fill_matrix(ctx, WEFT_I32, half, half, &r.one, r.x, half));
    REFUSED("weft_fill_matrix", NULL, weft_fill_matrix(ctx, WEFT_I32, half, 2, &r.one, r.x, 4));
    REFUSED("weft_fill_matrix", "ldx", weft_fill_matrix(ctx, WEFT_I32, 2, 4, &r.one, r.x, 3));
    REFUSED("weft_add_matrix", "ldx", weft_add_matrix(ctx, WEFT_I32, 2, 4, r.x, 3, r.y, 4, r.z, 4));
    REFUSED("weft_add_matrix", "ldy", weft_add_matrix(ctx, WEFT_I32, 2, 4, r.x, 4, r.y, 0, r.z, 4));
    REFUSED("weft_add_matrix", "ldz", weft_add_matrix(ctx, WEFT_I32, 2, 4, r.x, 4, r.y, 4, r.z, 1));
    REFUSED("weft_axpy_matrix", "ldy",
            weft_axpy_matrix(ctx, WEFT_I32, 2, 4, &r.one, r.x, 4, r.y, 3));
    REFUSED("weft_iota_matrix", "ldx",
            weft_iota_matrix(ctx, WEFT_I32, 2, 4, &r.one, &r.one, r.x, 2));
    rig_close(&r);
}

/* More memory than there is. AddressSanitizer would end the process instead of returning NULL. */
static void impossible_memory(weft_context *ctx) {
#if !defined(__SANITIZE_ADDRESS__)
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 60};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        void *memory = ctx;
        weft_status status = weft_alloc(ctx, &memory, sizes[k]);
        test_refused(ctx, status, WEFT_ENOMEM, "memory", NULL);
        assert_null(memory);
    }
#else
    (void)ctx;
#endif
}

static void empty(weft_context *ctx) {
    const float one = 1;
    void *memory = &memory;
    int64_t sum = 7;
    uint64_t at = 7;
    float least = 7;
    assert_int_equal(weft_add(ctx, WEFT_F32, 0, NULL, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_axpy(ctx, WEFT_F32, 0, &one, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_fill(ctx, WEFT_F32, 0, &one, NULL), WEFT_OK);
    assert_int_equal(weft_iota(ctx, WEFT_F32, 0, &one, &one, NULL), WEFT_OK);
    assert_int_equal(weft_fill_matrix(ctx, WEFT_F32, 0, 5, &one, NULL, 5), WEFT_OK);
    assert_int_equal(weft_fill_matrix(ctx, WEFT_F32, 5, 0, &one, NULL, 0), WEFT_OK);
    assert_int_equal(weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, 0, NULL, NULL, NULL),
                     WEFT_OK);
    assert_int_equal(weft_reduce(ctx, WEFT_SUM, WEFT_I8, 0, NULL, &sum), WEFT_OK);
    assert_int_equal(sum, 0);
    assert_int_equal(weft_dot(ctx, WEFT_I8, 0, NULL, NULL, &sum), WEFT_OK);
    assert_int_equal(sum, 0);
    assert_int_equal(weft_reduce(ctx, WEFT_ARGMAX, WEFT_F32, 0, NULL, &at), WEFT_OK);
    assert_true(at == WEFT_NOWHERE);
    assert_int_equal(weft_reduce(ctx, WEFT_MIN, WEFT_F32, 0, NULL, &least), WEFT_OK);
    assert_true(least > 0 && least * 0.5f == least);
    assert_int_equal(weft_copy(ctx, NULL, NULL, 0), WEFT_OK);
    assert_int_equal(weft_alloc(ctx, &memory, 0), WEFT_OK);
    assert_null(memory);
}

/* ---- variants ---- */

static void bad_variants(weft_context *ctx) {
    rig r = rig_open(ctx);
    REFUSED("weft_use", "sacn", weft_use(ctx, "sacn", "serial"));
    assert_true(test_has_word(weft_message(ctx), "scan")); /* the message lists what exists */
    REFUSED("weft_use", "fastest", weft_use(ctx, "scan", "fastest"));
    assert_true(test_has_word(weft_message(ctx), "serial"));
    REFUSED("weft_use", NULL, weft_use(ctx, "scan", ""));
    const char *foreign = ctx->kind == WI_CPU ? "lookback" : "serial";
    weft_status status = weft_use(ctx, "scan", foreign);
#ifdef WEFT_CUDA
    test_refused(ctx, status, WEFT_EUNSUPPORTED, "weft_use", foreign);
#else
    test_refused(ctx, status, WEFT_EARG, "weft_use", foreign); /* this build does not have it */
#endif
    assert_int_equal(weft_use(ctx, "scan", "auto"), WEFT_OK);
    rig_close(&r);
}

/* ---- histogram ---- */

static void histogram_arguments(weft_context *ctx) {
    static const char call[] = "weft_histogram";
    rig r = rig_open(ctx);
    const weft_bins good = {.count = 4, .lo = 0, .hi = 1};
#define COUNT_I32(n, channels, x, bins, counting, type, counts, outside)                           \
    weft_histogram(ctx, WEFT_I32, n, channels, x, bins, counting, type, counts, outside)
    REFUSED(call, "x", COUNT_I32(4, 1, NULL, &good, WEFT_OVERWRITE, WEFT_U32, r.y, NULL));
    REFUSED(call, "counts", COUNT_I32(4, 1, r.x, &good, WEFT_OVERWRITE, WEFT_U32, NULL, NULL));
    REFUSED(call, "counts",
            COUNT_I32(4, 1, r.x, &good, WEFT_OVERWRITE, WEFT_U32, (char *)r.y + 1, NULL));
    REFUSED(call, "outside",
            COUNT_I32(4, 1, r.x, &good, WEFT_OVERWRITE, WEFT_U32, r.y, (char *)r.z + 1));
    REFUSED(call, "channels", COUNT_I32(4, 0, r.x, &good, WEFT_OVERWRITE, WEFT_U32, r.y, NULL));
    REFUSED(call, "channels", COUNT_I32(4, 5, r.x, &good, WEFT_OVERWRITE, WEFT_U32, r.y, NULL));
    REFUSED(call, "counting", COUNT_I32(4, 1, r.x, &good, (weft_counting)2, WEFT_U32, r.y, NULL));
    REFUSED(call, "count_type", COUNT_I32(4, 1, r.x, &good, WEFT_OVERWRITE, WEFT_F32, r.y, NULL));
    REFUSED(call, "n",
            COUNT_I32((size_t)1 << 31, 1, r.x, &good, WEFT_OVERWRITE, WEFT_I32, r.y, NULL));
    REFUSED(call, "n",
            COUNT_I32((size_t)1 << 32, 1, r.x, &good, WEFT_OVERWRITE, WEFT_U32, r.y, NULL));
    REFUSED(call, "n", COUNT_I32(SIZE_MAX, 4, r.x, &good, WEFT_OVERWRITE, WEFT_U64, r.y, NULL));
    REFUSED(call, "counts", COUNT_I32(4, 1, r.x, &good, WEFT_OVERWRITE, WEFT_U32, r.x + 3, NULL));
    REFUSED(call, "outside", COUNT_I32(4, 1, r.x, &good, WEFT_OVERWRITE, WEFT_U32, r.y, r.x));
    REFUSED(call, "outside", COUNT_I32(4, 1, r.x, &good, WEFT_OVERWRITE, WEFT_U32, r.y, r.y + 3));
    for (size_t k = 0; k < sizeof bad_types / sizeof *bad_types; k++) {
        REFUSED(call, "type",
                weft_histogram(ctx, bad_types[k], 4, 1, r.x, &good, WEFT_OVERWRITE, WEFT_U32, r.y,
                               NULL));
    }
    weft_status status = COUNT_I32(4, 1, r.x, NULL, WEFT_OVERWRITE, WEFT_U32, r.y, NULL);
    test_refused(ctx, status, WEFT_EUNSUPPORTED, call, "bins");
    rig_close(&r);
}

static void histogram_bins(weft_context *ctx) {
    rig r = rig_open(ctx);
    const double falling[] = {0, 2, 1}, with_nan[] = {0, NAN, 1};
    const weft_bins bad[] = {
        {.count = 0, .lo = 0, .hi = 1},          {.count = WEFT_MOST_BINS + 1, .lo = 0, .hi = 1},
        {.count = 2, .lo = 1, .hi = 1},          {.count = 2, .lo = 2, .hi = 1},
        {.count = 2, .lo = NAN, .hi = 1},        {.count = 2, .lo = 0, .hi = INFINITY},
        {.count = 2, .lo = -1e308, .hi = 1e308}, {.count = 2, .edges = falling},
        {.count = 2, .edges = with_nan},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        REFUSED("weft_histogram", bad[k].edges ? "edges" : "bins",
                COUNT_I32(4, 1, r.x, &bad[k], WEFT_OVERWRITE, WEFT_U32, r.y, r.z));
    }
    rig_close(&r);
}

/* A refused weft_use does not change the choice; a forced rung that does not fit is refused. */
static void forced_misfit(weft_context *ctx) {
    if (ctx->kind == WI_CPU || weft_use(ctx, "scan", "doubling_shared") != WEFT_OK) {
        print_message("skipped on %s: no rung there refuses a call\n", weft_place(ctx));
        return;
    }
    const size_t n = 1025;
    test_buffer x = test_buffer_open(ctx, true, n * 4), y = test_buffer_open(ctx, true, n * 4);
    test_buffer_poison(&x, n * 4, 0);
    test_buffer_poison(&y, n * 4, 0);
    assert_int_equal(weft_use(ctx, "scan", "fastest"), WEFT_EARG);
    weft_status status = weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_I32, n, x.p, y.p, NULL);
    test_refused(ctx, status, WEFT_EUNSUPPORTED, "weft_scan", "doubling_shared");
    assert_true(test_has_word(weft_message(ctx), "1024"));
    const unsigned char *now = test_buffer_read(&y, "refused scan");
    assert_true(now[0] == TEST_POISON && now[n * 4 - 1] == TEST_POISON);
    assert_int_equal(weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_I32, n - 1, x.p, y.p, NULL),
                     WEFT_OK);
    assert_string_equal(weft_used(ctx, "scan"), "doubling_shared");
    test_buffer_close(&x);
    test_buffer_close(&y);
}

static void message_rules(weft_context *ctx) {
    weft_context *fresh = test_open(weft_place(ctx));
    assert_string_equal(weft_message(fresh), "");
    assert_null(weft_used(fresh, "reduce"));
    assert_null(weft_used(fresh, "no such"));
    weft_close(fresh);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_context),       cmocka_unit_test(test_bad_places),
        cmocka_unit_test(test_missing_gpu),      TEST_ON_EACH_PLACE(null_arguments),
        TEST_ON_EACH_PLACE(bad_types_and_ops),   TEST_ON_EACH_PLACE(overlaps),
        TEST_ON_EACH_PLACE(neighbours),          TEST_ON_EACH_PLACE(impossible_sizes),
        TEST_ON_EACH_PLACE(impossible_memory),   TEST_ON_EACH_PLACE(empty),
        TEST_ON_EACH_PLACE(bad_variants),        TEST_ON_EACH_PLACE(forced_misfit),
        TEST_ON_EACH_PLACE(message_rules),       TEST_ON_EACH_PLACE(misaligned),
        TEST_ON_EACH_PLACE(histogram_arguments), TEST_ON_EACH_PLACE(histogram_bins),
        TEST_ON_EACH_PLACE(select_arguments),
    };
    return cmocka_run_group_tests_name("arguments", tests, NULL, NULL);
}
