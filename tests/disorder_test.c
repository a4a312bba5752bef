/* SPDX-License-Identifier: Apache-2.0 */
/* Calls whose contract requires order or structure, with data that violates it: they must end, and
 * access no memory but their arrays. In host memory each array ends, or begins, at a page that
 * faults; on place emu every access is checked. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "select/select.h"
#include "testing.h"

enum {
    ARRAYS = 6,
    MOST_ARRAYS = 16,
    POISON = 0x5C
};

/* An array of a case, and its initial contents. */
typedef struct array {
    unsigned char *p, *before;
    size_t bytes;
    bool device;
    unsigned char *map; /* host memory: its pages, with the one that faults */
    size_t map_bytes;
} array;

typedef struct rig {
    weft_context *ctx;
    test_random random;
    array arrays[MOST_ARRAYS];
    int count;
} rig;

static rig rig_open(weft_context *ctx) {
    return (rig){.ctx = ctx, .random = test_random_at(31)};
}

static unsigned char *fenced(rig *r, array *a) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t room = (a->bytes + page - 1) / page * page;
    const bool ends = test_below(&r->random, 2); /* it ends at that page; or begins there */
    a->map_bytes = room + page;
    a->map = mmap(NULL, a->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(a->map, MAP_FAILED);
    assert_int_equal(mprotect(ends ? a->map + room : a->map, page, PROT_NONE), 0);
    return ends ? a->map + room - a->bytes : a->map + page;
}

/* An array of so many bytes, filled from `from` or with a pattern. */
static void *put(rig *r, size_t bytes, const void *from, bool device) {
    assert_true(r->count < MOST_ARRAYS);
    array *const a = &r->arrays[r->count++];
    *a = (array){.bytes = bytes, .device = device};
    assert_non_null(a->before = malloc(bytes + 1));
    if (from && bytes)
        memcpy(a->before, from, bytes);
    else
        memset(a->before, POISON, bytes);
    if (device) {
        assert_int_equal(weft_alloc(r->ctx, (void **)&a->p, bytes), WEFT_OK);
        assert_int_equal(weft_copy(r->ctx, a->p, a->before, bytes), WEFT_OK);
    } else {
        a->p = fenced(r, a);
        memcpy(a->p, a->before, bytes);
    }
    return a->p;
}

/* On a GPU place, half of the arrays are in device memory. */
static bool drawn_device(rig *r) {
    return r->ctx->kind == WI_CUDA && test_below(&r->random, 2);
}

/* The contents of the array; the caller frees them. */
static unsigned char *now(const rig *r, const void *p) {
    for (int k = 0; k < r->count; k++) {
        const array *const a = &r->arrays[k];
        if (a->p != p)
            continue;
        unsigned char *const copy = malloc(a->bytes + 1);
        assert_non_null(copy);
        assert_int_equal(weft_copy(r->ctx, copy, a->p, a->bytes), WEFT_OK);
        return copy;
    }
    fail_msg("no such array");
    return NULL;
}

static void forget(rig *r) {
    for (int k = 0; k < r->count; k++) {
        array *const a = &r->arrays[k];
        if (a->device)
            assert_int_equal(weft_free(r->ctx, a->p), WEFT_OK);
        else
            assert_int_equal(munmap(a->map, a->map_bytes), 0);
        free(a->before);
    }
    r->count = 0;
}

static void expect_ok(const rig *r, weft_status status, const char *call) {
    if (status == WEFT_OK)
        status = weft_sync(r->ctx);
    if (status != WEFT_OK)
        fail_msg("%s on %s: %s: %s", call, weft_place(r->ctx), weft_status_name(status),
                 weft_message(r->ctx));
}

/* n elements out of order: random bits, descending, alternating, or one large one first. */
static void *disorder(rig *r, weft_type type, size_t n) {
    const size_t size = test_size_of(type), kind = test_below(&r->random, 4);
    unsigned char *const x = malloc(n * size + 1);
    assert_non_null(x);
    for (size_t k = 0; k < n * size; k++)
        x[k] = (unsigned char)test_bits(&r->random);
    for (size_t i = 0; i < n && kind > 0; i++) {
        const uint64_t v = kind == 1 ? n - i : kind == 2 ? (i % 2 ? i : n - i) : i == 0 ? n : i;
        test_store(type, x, i,
                   test_is_float(type) ? (test_value){.f = (double)v} : (test_value){.u = v});
    }
    return x;
}

static weft_order drawn_order(rig *r) {
    return test_below(&r->random, 2) ? WEFT_DESCENDING : WEFT_ASCENDING;
}

/* ---- merge ---- */

/* Inputs in order, to check that the place still works. */
static void merge_in_order(rig *r) {
    const int32_t a[] = {1, 4, 9}, b[] = {2, 3, 10, 11}, right[] = {1, 2, 3, 4, 9, 10, 11};
    int32_t out[7];
    expect_ok(r, weft_merge(r->ctx, WEFT_ASCENDING, WEFT_I32, 3, a, 4, b, out, 0, NULL, NULL, NULL),
              "weft_merge");
    assert_memory_equal(out, right, sizeof right);
}

static void merge_arrays(rig *r, weft_type type, size_t na, const void *a, size_t nb,
                         const void *b) {
    static const size_t widths[] = {0, 4, 8, 1, 12};
    const size_t size = test_size_of(type), width = widths[test_below(&r->random, 5)];
    void *const keys_a = put(r, na * size, a, drawn_device(r));
    void *const keys_b = put(r, nb * size, b, drawn_device(r));
    void *const out = put(r, (na + nb) * size, NULL, drawn_device(r));
    void *const values_a = put(r, na * width, NULL, drawn_device(r));
    void *const values_b = put(r, nb * width, NULL, drawn_device(r));
    void *const values_out = put(r, (na + nb) * width, NULL, drawn_device(r));
    expect_ok(r,
              weft_merge(r->ctx, drawn_order(r), type, na, keys_a, nb, keys_b, out, width, values_a,
                         values_b, values_out),
              "weft_merge");
    unsigned char *const kept = now(r, keys_a);
    assert_memory_equal(kept, a, na * size);
    free(kept);
    forget(r);
    merge_in_order(r);
}

enum {
    MERGE_SIZES = 7
};

static void merge_disorder(rig *r, weft_type type, size_t na, size_t nb) {
    void *const a = disorder(r, type, na), *const b = disorder(r, type, nb);
    merge_arrays(r, type, na, a, nb, b);
    free(a);
    free(b);
}

/* a descends at a place where the first of three threads reads a large element and the second a
 * small one, so the second goes on in b as if all of a came before. */
static void merge_step(rig *r, size_t n) {
    uint64_t *const a = malloc(n * sizeof *a), *const b = malloc(n * sizeof *b);
    assert_true(a && b);
    for (size_t i = 0; i < n; i++) {
        a[i] = i <= n / 3 ? 9 : 0;
        b[i] = 5;
    }
    merge_arrays(r, WEFT_U64, n, a, n, b);
    free(a);
    free(b);
}

static bool merge_at(void *rig_of_test, size_t n, const wi_row *none, const size_t at[]) {
    static const size_t sizes[MERGE_SIZES][2] = {{2, 2},     {33, 31},    {300, 5},       {3, 1000},
                                                 {9000, 99}, {200, 7000}, {150000, 60000}};
    rig *const r = rig_of_test;
    (void)n;
    (void)none;
    if (!test_size_wanted(sizes[at[0]][0] + sizes[at[0]][1]))
        return false;
    merge_disorder(r, (weft_type)test_below(&r->random, WEFT_TYPE_COUNT), sizes[at[0]][0],
                   sizes[at[0]][1]);
    return true;
}

static void merge(weft_context *ctx) {
    const test_sweep s = {.extent = {MERGE_SIZES, 8}, .must = 1, .share = 50, .run = merge_at};
    rig r = rig_open(ctx);
    test_sweep_run(ctx, &r.random, &s, &r);
    for (int times = 0; times < 3; times++) /* the same as when it was first found */
        merge_disorder(&r, WEFT_I32, 486, 26305);
    for (int times = 0; times < 6; times++)
        merge_step(&r, ctx->kind == WI_CPU ? 150000 : 3000);
}

/* ---- search ---- */

static void search_disorder(rig *r, size_t n, size_t m) {
    const weft_type type = (weft_type)test_below(&r->random, WEFT_TYPE_COUNT);
    const size_t size = test_size_of(type);
    void *const x = disorder(r, type, n), *const wanted = disorder(r, type, m);
    uint64_t *const positions = put(r, m * 8, NULL, drawn_device(r));
    const void *const own_x = put(r, n * size, x, drawn_device(r));
    const void *const own_wanted = put(r, m * size, wanted, drawn_device(r));
    expect_ok(r,
              weft_search(r->ctx, test_below(&r->random, 2) ? WEFT_UPPER : WEFT_LOWER,
                          drawn_order(r), type, n, own_x, m, own_wanted, positions),
              "weft_search");
    unsigned char *const found = now(r, positions);
    for (size_t j = 0; j < m; j++)
        assert_true(((const uint64_t *)(const void *)found)[j] <= n);
    free(found);
    free(x);
    free(wanted);
    forget(r);
}

static void search(weft_context *ctx) {
    rig r = rig_open(ctx);
    for (int times = 0; times < 8; times++) {
        search_disorder(&r, 1 + test_below(&r.random, 40), 300);
        search_disorder(&r, 1 + test_below(&r.random, 5000), 300);
    }
}

/* ---- offsets of segments ---- */

enum {
    FIRST_NOT_0,
    LAST_SHORT,
    LAST_BEYOND,
    ONE_FALLS,
    ONE_BEYOND,
    ALL_HUGE,
    ALL_RANDOM,
    ZIGZAG,
    LAST_FALLS,
    BREAKS
};

/* Offsets that violate the contract, for segments >= 2 and n >= 2. */
static uint64_t *broken_offsets(rig *r, int kind, size_t n, size_t segments) {
    uint64_t *const offsets = malloc((segments + 1) * sizeof *offsets);
    assert_non_null(offsets);
    const size_t at = 1 + test_below(&r->random, segments - 1);
    for (size_t s = 0; s <= segments; s++) {
        offsets[s] = s * n / segments;
        if (kind == ALL_HUGE)
            offsets[s] = UINT64_MAX;
        if (kind == ALL_RANDOM)
            offsets[s] = test_bits(&r->random);
        if (kind == ZIGZAG && s % 2)
            offsets[s] = n - offsets[s];
    }
    if (kind == FIRST_NOT_0)
        offsets[0] = 1;
    if (kind == LAST_SHORT)
        offsets[segments]--;
    if (kind == LAST_BEYOND)
        offsets[segments] += 5000;
    if (kind == LAST_FALLS)
        offsets[segments] = 0;
    if (kind == ONE_FALLS)
        offsets[at] = offsets[at + 1] + 1;
    if (kind == ONE_BEYOND)
        offsets[at] = UINT64_MAX - 3;
    if (kind == ZIGZAG && segments == 2) /* else half of n twice */
        offsets[1] = n + 1;
    return offsets;
}

/* Offsets in host memory are refused. With those in device memory nothing is sorted, and everything
 * is copied. */
static void segments_disorder(rig *r, int kind, size_t n, size_t segments) {
    static const size_t widths[] = {0, 4, 8, 1, 12};
    const weft_type type = (weft_type)test_below(&r->random, WEFT_TYPE_COUNT);
    const size_t size = test_size_of(type), width = widths[test_below(&r->random, 5)];
    const bool in_place = test_below(&r->random, 3) == 0;
    uint64_t *const offsets = broken_offsets(r, kind, n, segments);
    void *const x = disorder(r, type, n), *const v = disorder(r, WEFT_U8, n * width);
    void *const keys = put(r, n * size, x, drawn_device(r));
    void *const values = put(r, n * width, v, drawn_device(r));
    void *const keys_out = in_place ? keys : put(r, n * size, NULL, drawn_device(r));
    void *const values_out = in_place ? values : put(r, n * width, NULL, drawn_device(r));
    const bool device = r->ctx->kind == WI_CUDA && test_below(&r->random, 5) > 0;
    const uint64_t *const own = put(r, (segments + 1) * sizeof *own, offsets, device);
    const weft_status status = weft_sort_segments(r->ctx, drawn_order(r), type, n, keys, keys_out,
                                                  width, values, values_out, segments, own);
    if (device) {
        expect_ok(r, status, "weft_sort_segments");
        unsigned char *const got = now(r, keys_out), *const got_values = now(r, values_out);
        if (memcmp(got, x, n * size) != 0 || memcmp(got_values, v, n * width) != 0)
            fail_msg("offsets broken in way %d, n %zu, segments %zu, %s, values of %zu bytes%s: "
                     "the outputs are no copies",
                     kind, n, segments, test_type_name(type), width, in_place ? ", in place" : "");
        free(got);
        free(got_values);
    } else {
        test_refused(r->ctx, status, WEFT_EARG, "weft_sort_segments", "offsets");
    }
    free(offsets);
    free(x);
    free(v);
    forget(r);
}

static void segments(weft_context *ctx) {
    static const size_t sizes[][2] = {{2, 2}, {64, 9}, {3000, 700}, {5000, 2}, {20000, 3}};
    rig r = rig_open(ctx);
    for (int kind = 0; kind < BREAKS; kind++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            segments_disorder(&r, kind, sizes[k][0], sizes[k][1]);
}

/* ---- edges of bins ---- */

static void refuse_edges(rig *r, const double *edges, size_t count, const char *word) {
    const float x[] = {1, 2, 3};
    uint32_t counts[4] = {7, 7, 7, 7};
    const weft_bins bins = {.count = count, .edges = edges};
    test_refused(
        r->ctx,
        weft_histogram(r->ctx, WEFT_F32, 3, 1, x, &bins, WEFT_OVERWRITE, WEFT_U32, counts, NULL),
        WEFT_EARG, "weft_histogram", word);
    for (size_t k = 0; k < 4; k++)
        assert_int_equal(counts[k], 7);
}

static void edges(weft_context *ctx) {
    static const double broken[][4] = {
        {3, 2, 1, 0}, {0, 1, 1, 0.5}, {NAN, 0, 1, 2}, {0, NAN, 1, 2}, {0, 1, 2, NAN}};
    rig r = rig_open(ctx);
    for (size_t k = 0; k < sizeof broken / sizeof *broken; k++)
        for (int device = 0; device <= (ctx->kind == WI_CUDA); device++) {
            refuse_edges(&r, put(&r, sizeof *broken, broken[k], device), 3, "edges");
            forget(&r);
        }
}

/* Counts that would overwrite the edges while they are read. */
static void edges_that_change(weft_context *ctx) {
    const float x[] = {1, 2, 3};
    double edges[] = {0, 1, 2, 3};
    const double before[] = {0, 1, 2, 3};
    uint32_t counts[4];
    const weft_bins bins = {.count = 3, .edges = edges};
    test_refused(ctx,
                 weft_histogram(ctx, WEFT_F32, 3, 1, x, &bins, WEFT_OVERWRITE, WEFT_U32,
                                (uint32_t *)(void *)(edges + 1), NULL),
                 WEFT_EARG, "weft_histogram", "edges");
    test_refused(ctx,
                 weft_histogram(ctx, WEFT_F32, 3, 1, x, &bins, WEFT_OVERWRITE, WEFT_U32, counts,
                                (uint32_t *)(void *)edges),
                 WEFT_EARG, "weft_histogram", "edges");
    assert_memory_equal(edges, before, sizeof before);
}

/* ---- expand ---- */

/* More places wanted than there are elements, on every rung. */
static void expand(weft_context *ctx) {
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_select_ladder, rows), n = 3000;
    rig r = rig_open(ctx);
    unsigned char flags[3000];
    memset(flags, 1, sizeof flags);
    for (size_t k = 0; k < count; k++) {
        for (size_t width = 1; width <= 24; width = width == 1 ? 4 : 2 * width + width / 8) {
            const size_t m = test_below(&r.random, 40);
            test_use(ctx, "select", rows[k]);
            const void *const s = put(&r, n, flags, drawn_device(&r));
            const void *const x = put(&r, m * width, NULL, drawn_device(&r));
            void *const y = put(&r, n * width, NULL, drawn_device(&r));
            const weft_status status = weft_expand(ctx, WEFT_FLAGGED, n, s, width, m, x, NULL, y);
            if (status != WEFT_EUNSUPPORTED)
                expect_ok(&r, status, "weft_expand");
            forget(&r);
        }
    }
    test_use(ctx, "select", NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(merge),  TEST_ON_EACH_PLACE(search),
        TEST_ON_EACH_PLACE(edges),  TEST_ON_EACH_PLACE(edges_that_change),
        TEST_ON_EACH_PLACE(expand), TEST_ON_EACH_PLACE(segments),
    };
    return cmocka_run_group_tests_name("disorder", tests, NULL, NULL);
}
