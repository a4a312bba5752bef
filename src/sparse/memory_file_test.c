/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices and plans saved to memory: the bytes are those of a file, they read back the same, and
 * damaged or shortened ones are refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sparse/generate.h"
#include "testing.h"

enum {
    HEADER = 104, /* bytes of a plan, each of which is damaged in turn */
    BEYOND = 8,   /* bytes behind a copy, which must not change */
    POISON = 0xA5
};

static weft_sparse *generated(weft_context *ctx) {
    weft_sparse *m;
    assert_int_equal(wi_find_generator("laplace2d")->make(ctx, "test", &(wi_recipe){.n = 9}, &m),
                     WEFT_OK);
    return m;
}

/* A file for `path`, in memory. */
static int open_file(char path[64]) {
    const int file = memfd_create("saved", 0);
    assert_true(file >= 0);
    snprintf(path, 64, "/proc/self/fd/%d", file);
    return file;
}

/* The contents of a file; free them. */
static unsigned char *contents(int file, size_t *bytes) {
    *bytes = (size_t)lseek(file, 0, SEEK_END);
    unsigned char *const all = malloc(*bytes);
    assert_int_equal(pread(file, all, *bytes, 0), *bytes);
    close(file);
    return all;
}

static void check_behind(const unsigned char *memory, size_t bytes) {
    for (size_t k = 0; k < BEYOND; k++)
        assert_int_equal(memory[bytes + k], POISON);
}

static void matrix(weft_context *ctx) {
    weft_sparse *const m = generated(ctx), *again;
    char path[64];
    size_t bytes = 0, in_file;
    const int file = open_file(path);
    assert_int_equal(weft_sparse_write(ctx, m, path), WEFT_OK);
    unsigned char *const want = contents(file, &in_file);
    assert_int_equal(weft_sparse_write_memory(ctx, m, NULL, 0, &bytes), WEFT_OK);
    assert_int_equal(bytes, in_file);

    unsigned char *const memory = malloc(bytes + BEYOND);
    memset(memory, POISON, bytes + BEYOND);
    bytes = 7;
    test_refused(ctx, weft_sparse_write_memory(ctx, m, memory, in_file - 1, &bytes), WEFT_EARG,
                 "weft_sparse_write_memory", "room");
    assert_int_equal(bytes, 7);
    assert_int_equal(memory[0], POISON);
    assert_int_equal(weft_sparse_write_memory(ctx, m, memory, in_file, &bytes), WEFT_OK);
    assert_int_equal(bytes, in_file);
    assert_memory_equal(memory, want, bytes);
    check_behind(memory, bytes);

    assert_int_equal(weft_sparse_read_memory(ctx, &again, memory, bytes, WEFT_GENERAL, 0), WEFT_OK);
    assert_int_equal(weft_sparse_entries(again), weft_sparse_entries(m));
    assert_memory_equal(weft_sparse_values(again), weft_sparse_values(m),
                        weft_sparse_entries(m) * sizeof(double));
    weft_sparse_destroy(again);
    for (size_t cut = 0; cut < bytes - 3; cut += 1 + bytes / 50) {
        again = m;
        test_refused(ctx, weft_sparse_read_memory(ctx, &again, memory, cut, WEFT_GENERAL, 0),
                     WEFT_EFORMAT, "weft_sparse_read_memory", "memory");
        assert_null(again);
    }
    free(memory);
    free(want);
    weft_sparse_destroy(m);
}

static weft_chol *analyzed(weft_context *ctx, const weft_sparse *m) {
    weft_chol *plan;
    assert_int_equal(weft_chol_analyze(ctx, m, NULL, &plan), WEFT_OK);
    return plan;
}

static void plan(weft_context *ctx) {
    weft_sparse *const m = generated(ctx);
    weft_chol *const plan = analyzed(ctx, m), *again;
    char path[64];
    size_t bytes = 0, in_file;
    const int file = open_file(path);
    assert_int_equal(weft_chol_save(ctx, plan, path), WEFT_OK);
    unsigned char *const want = contents(file, &in_file);
    assert_int_equal(weft_chol_save_memory(ctx, plan, NULL, 0, &bytes), WEFT_OK);
    assert_int_equal(bytes, in_file);
    unsigned char *const memory = malloc(bytes + 1 + BEYOND) + 1; /* no alignment is needed */
    memset(memory, POISON, bytes + BEYOND);
    test_refused(ctx, weft_chol_save_memory(ctx, plan, memory, in_file - 1, &bytes), WEFT_EARG,
                 "weft_chol_save_memory", "room");
    assert_int_equal(memory[0], POISON);
    assert_int_equal(weft_chol_save_memory(ctx, plan, memory, in_file + 3, &bytes), WEFT_OK);
    assert_memory_equal(memory, want, in_file);
    check_behind(memory, bytes);

    assert_int_equal(weft_chol_load_memory(ctx, memory, bytes, &again), WEFT_OK);
    unsigned char *const twice = malloc(bytes);
    assert_int_equal(weft_chol_save_memory(ctx, again, twice, bytes, &bytes), WEFT_OK);
    assert_memory_equal(twice, want, in_file);
    assert_int_equal(weft_chol_factor(ctx, again, m), WEFT_OK);
    free(twice);
    weft_chol_destroy(again);
    for (size_t k = 0; k < bytes; k += k < HEADER ? 1 : 1 + bytes / 60) {
        again = plan;
        memory[k] ^= 1;
        test_refused(ctx, weft_chol_load_memory(ctx, memory, bytes, &again), WEFT_EFORMAT,
                     "weft_chol_load_memory", "damaged");
        assert_null(again);
        memory[k] ^= 1;
        test_refused(ctx, weft_chol_load_memory(ctx, memory, k, &again), WEFT_EFORMAT,
                     "weft_chol_load_memory", "memory");
        assert_null(again);
    }
    free(memory - 1);
    free(want);
    weft_chol_destroy(plan);
    weft_sparse_destroy(m);
}

static void null(weft_context *ctx) {
    weft_sparse *const m = generated(ctx), *none = m;
    weft_chol *const plan = analyzed(ctx, m), *no_plan = plan;
    size_t bytes;
    char room[8];
    test_refused(ctx, weft_sparse_write_memory(ctx, NULL, NULL, 0, &bytes), WEFT_EARG,
                 "weft_sparse_write_memory", "matrix");
    test_refused(ctx, weft_sparse_write_memory(ctx, m, room, 8, NULL), WEFT_EARG,
                 "weft_sparse_write_memory", "bytes");
    test_refused(ctx, weft_sparse_read_memory(ctx, &none, NULL, 0, WEFT_GENERAL, 0), WEFT_EARG,
                 "weft_sparse_read_memory", "memory");
    assert_null(none);
    test_refused(ctx, weft_sparse_read_memory(ctx, NULL, room, 0, WEFT_GENERAL, 0), WEFT_EARG,
                 "weft_sparse_read_memory", "matrix");
    test_refused(ctx, weft_sparse_read_memory(ctx, &none, room, 0, (weft_storage)9, 0), WEFT_EARG,
                 "weft_sparse_read_memory", "storage");
    test_refused(ctx, weft_chol_save_memory(ctx, NULL, NULL, 0, &bytes), WEFT_EARG,
                 "weft_chol_save_memory", "plan");
    test_refused(ctx, weft_chol_save_memory(ctx, plan, NULL, 0, NULL), WEFT_EARG,
                 "weft_chol_save_memory", "bytes");
    test_refused(ctx, weft_chol_load_memory(ctx, NULL, 0, &no_plan), WEFT_EARG,
                 "weft_chol_load_memory", "memory");
    assert_null(no_plan);
    test_refused(ctx, weft_chol_load_memory(ctx, room, 8, NULL), WEFT_EARG, "weft_chol_load_memory",
                 "plan");
    weft_chol_destroy(plan);
    weft_sparse_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(matrix),
        TEST_ON_EACH_PLACE(plan),
        TEST_ON_EACH_PLACE(null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
