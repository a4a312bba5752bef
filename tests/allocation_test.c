/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation in every public call, failed in turn: the call must say WEFT_ENOMEM, leave its
 * outputs as they were, and leak nothing; and the context must still work afterwards.
 *
 * The linker's --wrap redirects the library's allocating calls to injection.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stage.h"
#include "gemm/gemm.h"
#include "gemm/gemv.h"
#include "gemm/ger.h"
#include "gemm/syrk.h"
#include "gemm/transpose.h"
#include "gemm/trmm.h"
#include "gemm/trsm.h"
#include "histogram/histogram.h"
#include "injection.h"
#include "map/map.h"
#include "reduce/reduce.h"
#include "scan/scan.h"
#include "select/select.h"
#include "sort/sort.h"
#include "sparse_calls.h"
#include "testing.h"

/* ---- the calls ---- */

enum {
#ifdef WEFT_EMU
    COUNT = 12 * 1000 + 7, /* kernels are slow there, and stage_test runs the segments */
    MUST = 0,              /* only the cases that are drawn */
    ORDER = 100,           /* of a triangle */
#else
    COUNT = 3 * 1000 * 1000 + 7, /* host arrays of this many floats are staged in segments */
    MUST = 3,                    /* each call on each rung */
    ORDER = 600,                 /* of a triangle that is cut in halves */
#endif
    ALLOCATED_BYTES = 1000
};

/* Arrays a call works on, host or device memory. */
typedef struct arrays {
    float *x, *y, *z;
    void *result;
    void *allocated;
} arrays;

typedef struct public_call {
    const char *name;
    weft_status (*run)(weft_context *ctx, arrays *a);
    const wi_ladder *ladder; /* each of its rungs is tested; NULL: the call has none */
    /* Asks how many bytes the same call would take; NULL: there is no such call. */
    weft_status (*ask)(weft_context *ctx, const arrays *a, size_t *bytes);
} public_call;

static const float two = 2;

static weft_status run_alloc(weft_context *ctx, arrays *a) {
    return weft_alloc(ctx, &a->allocated, ALLOCATED_BYTES);
}

static weft_status run_copy(weft_context *ctx, arrays *a) {
    return weft_copy(ctx, a->z, a->x, COUNT * sizeof *a->x);
}

static weft_status run_sync(weft_context *ctx, arrays *a) {
    (void)a;
    weft_status status = weft_sync(ctx);
    return status == WEFT_OK ? weft_set_stream(ctx, NULL) : status;
}

static weft_status run_add(weft_context *ctx, arrays *a) {
    return weft_add(ctx, WEFT_F32, COUNT, a->x, a->y, a->z);
}

static weft_status run_axpy(weft_context *ctx, arrays *a) {
    return weft_axpy(ctx, WEFT_F32, COUNT, &two, a->x, a->z);
}

static weft_status run_fill(weft_context *ctx, arrays *a) {
    return weft_fill(ctx, WEFT_F32, COUNT, &two, a->z);
}

static weft_status run_iota(weft_context *ctx, arrays *a) {
    return weft_iota(ctx, WEFT_F32, COUNT, &two, &two, a->z);
}

static weft_status run_add_matrix(weft_context *ctx, arrays *a) {
    return weft_add_matrix(ctx, WEFT_F32, COUNT / 1000, 900, a->x, 1000, a->y, 1000, a->z, 1000);
}

static weft_status run_sum(weft_context *ctx, arrays *a) {
    return weft_reduce(ctx, WEFT_SUM, WEFT_F32, COUNT, a->x, a->result);
}

static weft_status run_argmax(weft_context *ctx, arrays *a) {
    return weft_reduce(ctx, WEFT_ARGMAX, WEFT_F32, COUNT, a->x, a->result);
}

static weft_status run_nrm2(weft_context *ctx, arrays *a) {
    return weft_reduce(ctx, WEFT_NRM2, WEFT_F32, COUNT, a->x, a->result);
}

static weft_status run_dot(weft_context *ctx, arrays *a) {
    return weft_dot(ctx, WEFT_F32, COUNT, a->x, a->y, a->result);
}

static weft_status run_scan(weft_context *ctx, arrays *a) {
    return weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, COUNT, a->x, a->z, &two);
}

static weft_status run_scan_bytes(weft_context *ctx, arrays *a) {
    return weft_scan(ctx, WEFT_EXCLUSIVE, WEFT_MAX, WEFT_I8, COUNT, a->x, a->z, NULL);
}

static weft_status run_sort(weft_context *ctx, arrays *a) {
    return weft_sort(ctx, WEFT_ASCENDING, WEFT_F32, COUNT, a->x, a->z);
}

static weft_status ask_sort(weft_context *ctx, const arrays *a, size_t *bytes) {
    return weft_sort_bytes(ctx, WEFT_ASCENDING, WEFT_F32, COUNT, a->x, a->z, bytes);
}

/* Keys in place, and values of a width that no rung moves. All keys are equal, so nothing moves. */
static weft_status run_sort_pairs(weft_context *ctx, arrays *a) {
    return weft_sort_pairs(ctx, WEFT_DESCENDING, WEFT_F32, COUNT / 3, a->x, a->x, 12, a->y, a->z);
}

static weft_status ask_sort_pairs(weft_context *ctx, const arrays *a, size_t *bytes) {
    return weft_sort_pairs_bytes(ctx, WEFT_DESCENDING, WEFT_F32, COUNT / 3, a->x, a->x, 12, a->y,
                                 a->z, bytes);
}

static weft_status run_sort_indices(weft_context *ctx, arrays *a) {
    return weft_sort_indices(ctx, WEFT_ASCENDING, WEFT_F32, COUNT, a->x, WEFT_U32, a->z);
}

static weft_status ask_sort_indices(weft_context *ctx, const arrays *a, size_t *bytes) {
    return weft_sort_indices_bytes(ctx, WEFT_ASCENDING, WEFT_F32, COUNT, a->x, WEFT_U32, a->z,
                                   bytes);
}

static const uint64_t offsets[] = {0, 7, COUNT / 2, COUNT / 2, COUNT};

static weft_status run_segments(weft_context *ctx, arrays *a) {
    return weft_sort_segments(ctx, WEFT_ASCENDING, WEFT_F32, COUNT, a->x, a->z, 0, NULL, NULL, 4,
                              offsets);
}

static weft_status ask_segments(weft_context *ctx, const arrays *a, size_t *bytes) {
    return weft_sort_segments_bytes(ctx, WEFT_ASCENDING, WEFT_F32, COUNT, a->x, a->z, 0, NULL, NULL,
                                    4, offsets, bytes);
}

static const weft_field fields[] = {{8, WEFT_F32, WEFT_DESCENDING}, {1, WEFT_U16, WEFT_ASCENDING}};

static weft_status run_records(weft_context *ctx, arrays *a) {
    return weft_sort_records(ctx, COUNT / 3, 12, a->x, a->z, fields, 2);
}

static weft_status ask_records(weft_context *ctx, const arrays *a, size_t *bytes) {
    return weft_sort_records_bytes(ctx, COUNT / 3, 12, a->x, a->z, fields, 2, bytes);
}

static weft_status run_merge(weft_context *ctx, arrays *a) {
    return weft_merge(ctx, WEFT_ASCENDING, WEFT_F32, COUNT / 2, a->x, COUNT - COUNT / 2, a->y, a->z,
                      0, NULL, NULL, NULL);
}

static weft_status ask_merge(weft_context *ctx, const arrays *a, size_t *bytes) {
    return weft_merge_bytes(ctx, WEFT_ASCENDING, WEFT_F32, COUNT / 2, a->x, COUNT - COUNT / 2, a->y,
                            a->z, 0, NULL, NULL, NULL, bytes);
}

/* Two outputs in host memory, so small that the driver copies them from a GPU. The rungs of staging
 * that copy whole arrays, which this test forces, allocate for each copy, so also for the second
 * output after the first is written; the rung that the library chooses keeps its buffers. */
enum {
    ODD = COUNT / 16
};

/* Values of one word each, at unaligned addresses: in device memory they are moved by position, but
 * copies of host arrays are aligned. */
static weft_status run_sort_odd(weft_context *ctx, arrays *a) {
    return weft_sort_pairs(ctx, WEFT_ASCENDING, WEFT_F32, ODD, a->x, a->z, 4, (char *)a->y + 1,
                           (char *)(a->z + COUNT / 2) + 1);
}

static weft_status ask_sort_odd(weft_context *ctx, const arrays *a, size_t *bytes) {
    return weft_sort_pairs_bytes(ctx, WEFT_ASCENDING, WEFT_F32, ODD, a->x, a->z, 4,
                                 (char *)a->y + 1, (char *)(a->z + COUNT / 2) + 1, bytes);
}

static weft_status run_merge_odd(weft_context *ctx, arrays *a) {
    return weft_merge(ctx, WEFT_DESCENDING, WEFT_F32, ODD, a->x, 1000, a->y, a->z, 4,
                      (char *)a->x + 1, (char *)a->y + 1, (char *)(a->z + COUNT / 2) + 1);
}

static weft_status ask_merge_odd(weft_context *ctx, const arrays *a, size_t *bytes) {
    return weft_merge_bytes(ctx, WEFT_DESCENDING, WEFT_F32, ODD, a->x, 1000, a->y, a->z, 4,
                            (char *)a->x + 1, (char *)a->y + 1, (char *)(a->z + COUNT / 2) + 1,
                            bytes);
}

static weft_status run_is_sorted(weft_context *ctx, arrays *a) {
    return weft_is_sorted(ctx, WEFT_ASCENDING, WEFT_F32, COUNT, a->x, a->result);
}

static weft_status run_search(weft_context *ctx, arrays *a) {
    return weft_search(ctx, WEFT_UPPER, WEFT_ASCENDING, WEFT_F32, COUNT, a->x, 1000, a->y,
                       (uint64_t *)a->z);
}

static weft_status run_top_k(weft_context *ctx, arrays *a) {
    return weft_top_k(ctx, WEFT_DESCENDING, WEFT_F32, COUNT, a->x, 1000, a->z, NULL);
}

static weft_status ask_top_k(weft_context *ctx, const arrays *a, size_t *bytes) {
    return weft_top_k_bytes(ctx, WEFT_DESCENDING, WEFT_F32, COUNT, a->x, 1000, a->z, NULL, bytes);
}

static weft_status run_top_many(weft_context *ctx, arrays *a) {
    return weft_top_k(ctx, WEFT_ASCENDING, WEFT_F32, COUNT, a->x, COUNT / 3, NULL,
                      (uint64_t *)a->z);
}

static weft_status ask_top_many(weft_context *ctx, const arrays *a, size_t *bytes) {
    return weft_top_k_bytes(ctx, WEFT_ASCENDING, WEFT_F32, COUNT, a->x, COUNT / 3, NULL,
                            (uint64_t *)a->z, bytes);
}

static weft_status run_histogram(weft_context *ctx, arrays *a) {
    const weft_bins bins = {.count = 1000, .lo = 0.1, .hi = 1.7};
    return weft_histogram(ctx, WEFT_F32, COUNT, 1, a->x, &bins, WEFT_OVERWRITE, WEFT_U32, a->z,
                          NULL);
}

static weft_status run_histogram_edges(weft_context *ctx, arrays *a) {
    const double edges[] = {-1, 0, 1, 1, 2.5};
    const weft_bins bins = {.count = 4, .edges = edges};
    return weft_histogram(ctx, WEFT_BF16, COUNT, 2, a->x, &bins, WEFT_OVERWRITE, WEFT_U64, a->z,
                          NULL);
}

static weft_status run_histogram_bytes(weft_context *ctx, arrays *a) {
    return weft_histogram(ctx, WEFT_U8, COUNT, 4, a->x, NULL, WEFT_OVERWRITE, WEFT_U32, a->z, NULL);
}

static const weft_predicate wanted = {.test = WEFT_GE, .type = WEFT_F32, .a.f32 = 1};

static weft_status run_select(weft_context *ctx, arrays *a) {
    return weft_select(ctx, wanted, COUNT, a->x, a->z, a->result);
}

static weft_status run_select_wide(weft_context *ctx, arrays *a) {
    return weft_select_where(ctx, wanted, COUNT / 3, a->x, 12, a->y, a->z, a->result);
}

static weft_status run_partition(weft_context *ctx, arrays *a) {
    return weft_partition(ctx, wanted, COUNT, a->x, a->z, NULL, a->result);
}

static weft_status run_expand(weft_context *ctx, arrays *a) {
    return weft_expand(ctx, wanted, COUNT, a->x, 4, COUNT, a->y, &two, a->z);
}

static weft_status run_run_length(weft_context *ctx, arrays *a) {
    return weft_run_length(ctx, WEFT_F32, COUNT / 2, a->x, a->z, WEFT_U32, a->z + COUNT / 2,
                           a->result);
}

static weft_status run_gemm(weft_context *ctx, arrays *a) {
    return weft_gemm(ctx, 0, WEFT_F32, WEFT_F32, 100, 90, 30, 2, a->x, 110, a->y, 30, 0.5, a->z,
                     100);
}

static weft_status run_gemm_halves(weft_context *ctx, arrays *a) {
    return weft_gemm(ctx, WEFT_ROW_MAJOR, WEFT_BF16, WEFT_BF16, 90, 100, 30, 1, a->x, 30, a->y, 100,
                     0, a->z, 100);
}

static weft_status run_gemv(weft_context *ctx, arrays *a) {
    return weft_gemv(ctx, 0, WEFT_F32, WEFT_F32, 90, 100, 2, a->x, 110, a->y, -2, 0.5, a->z, 3);
}

/* Its sums are cut into slices. */
static weft_status run_gemv_long(weft_context *ctx, arrays *a) {
    return weft_gemv(ctx, WEFT_TRANSPOSE_A, WEFT_F32, WEFT_F32, 2, 5000, 1, a->x, 5000, a->y, 1, 0,
                     a->z, 1);
}

static weft_status run_ger(weft_context *ctx, arrays *a) {
    return weft_ger(ctx, WEFT_ROW_MAJOR, WEFT_F32, 90, 100, 2, a->x, 1, a->y, -3, a->z, 110);
}

static weft_status run_transpose(weft_context *ctx, arrays *a) {
    return weft_transpose(ctx, 0, 4, 90, 100, a->x, 91, a->z, 103);
}

static weft_status run_transpose_in_place(weft_context *ctx, arrays *a) {
    return weft_transpose(ctx, 0, 4, 90, 100, a->z, 90, a->z, 100);
}

static weft_status run_syrk(weft_context *ctx, arrays *a) {
    return weft_syrk(ctx, 0, WEFT_F32, 100, 90, 2, a->x, 101, 0, a->z, 100);
}

static weft_status run_trsm(weft_context *ctx, arrays *a) {
    return weft_trsm(ctx, WEFT_UNIT_DIAGONAL, WEFT_F32, ORDER, 30, 1, a->x, ORDER + 1, a->z, ORDER);
}

static weft_status run_trmm(weft_context *ctx, arrays *a) {
    return weft_trmm(ctx, WEFT_RIGHT, WEFT_F32, 30, ORDER, 1, a->x, ORDER + 1, a->z, 30);
}

static const public_call calls[] = {
    {"weft_alloc", run_alloc, NULL, NULL},
    {"weft_copy", run_copy, NULL, NULL},
    {"weft_sync", run_sync, NULL, NULL},
    {"weft_add", run_add, &wi_map_ladder, NULL},
    {"weft_axpy", run_axpy, &wi_map_ladder, NULL},
    {"weft_fill", run_fill, &wi_map_ladder, NULL},
    {"weft_iota", run_iota, &wi_map_ladder, NULL},
    {"weft_add_matrix", run_add_matrix, &wi_map_ladder, NULL},
    {"weft_reduce sum", run_sum, &wi_reduce_ladder, NULL},
    {"weft_reduce argmax", run_argmax, &wi_reduce_ladder, NULL},
    {"weft_reduce nrm2", run_nrm2, &wi_reduce_ladder, NULL},
    {"weft_dot", run_dot, &wi_reduce_ladder, NULL},
    {"weft_scan", run_scan, &wi_scan_ladder, NULL},
    {"weft_scan of bytes", run_scan_bytes, &wi_scan_ladder, NULL},
    {"weft_sort", run_sort, &wi_sort_ladder, ask_sort},
    {"weft_sort_pairs", run_sort_pairs, &wi_sort_ladder, ask_sort_pairs},
    {"weft_sort_pairs, unaligned", run_sort_odd, &wi_sort_ladder, ask_sort_odd},
    {"weft_sort_indices", run_sort_indices, &wi_sort_ladder, ask_sort_indices},
    {"weft_sort_segments", run_segments, NULL, ask_segments},
    {"weft_sort_records", run_records, NULL, ask_records},
    {"weft_merge", run_merge, NULL, ask_merge},
    {"weft_merge, unaligned", run_merge_odd, NULL, ask_merge_odd},
    {"weft_is_sorted", run_is_sorted, NULL, NULL},
    {"weft_search", run_search, NULL, NULL},
    {"weft_top_k", run_top_k, NULL, ask_top_k},
    {"weft_top_k of many", run_top_many, NULL, ask_top_many},
    {"weft_gemm", run_gemm, &wi_gemm_ladder, NULL},
    {"weft_gemm of bf16", run_gemm_halves, &wi_gemm_ladder, NULL},
    {"weft_gemv", run_gemv, &wi_gemv_ladder, NULL},
    {"weft_gemv of long sums", run_gemv_long, &wi_gemv_ladder, NULL},
    {"weft_ger", run_ger, &wi_ger_ladder, NULL},
    {"weft_transpose", run_transpose, &wi_transpose_ladder, NULL},
    {"weft_transpose in place", run_transpose_in_place, NULL, NULL},
    {"weft_syrk", run_syrk, &wi_syrk_ladder, NULL},
    {"weft_trsm", run_trsm, &wi_trsm_ladder, NULL},
    {"weft_trmm", run_trmm, &wi_trmm_ladder, NULL},
    {"weft_histogram", run_histogram, &wi_histogram_ladder, NULL},
    {"weft_histogram of edges", run_histogram_edges, &wi_histogram_ladder, NULL},
    {"weft_histogram of bytes", run_histogram_bytes, &wi_histogram_ladder, NULL},
    {"weft_select", run_select, &wi_select_ladder, NULL},
    {"weft_select_where", run_select_wide, &wi_select_ladder, NULL},
    {"weft_partition", run_partition, &wi_select_ladder, NULL},
    {"weft_expand", run_expand, &wi_select_ladder, NULL},
    {"weft_run_length", run_run_length, &wi_select_ladder, NULL},
    {"weft_sparse_create_triplets", run_sparse, NULL, NULL},
    {"weft_sparse_create_csr", run_sparse_rows, NULL, NULL},
    {"weft_sparse_read", run_sparse_read, NULL, NULL},
    {"weft_chol_analyze", run_chol, &wi_sparse_order_ladder, NULL},
    {"weft_chol_analyze by dissection", run_strip, NULL, NULL},
    {"weft_chol_factor", run_factor, &wi_sparse_ladder, NULL},
    {"weft_chol_factor by all variants", run_every_factor, NULL, NULL},
};

/* ---- one call, each of its allocations failed ---- */

/* Arrays for the whole test, and what z and result hold before a call. */
typedef struct rig {
    weft_context *owner; /* allocated what is on the device */
    test_buffer x, y, z, result;
    test_random random; /* draws the cases to run, under slow sanitizers */
} rig;

static rig rig_open(weft_context *owner, bool device) {
    size_t bytes = COUNT * sizeof(float);
    rig r = {.owner = owner,
             .x = test_buffer_open(owner, device, bytes),
             .y = test_buffer_open(owner, device, bytes),
             .z = test_buffer_open(owner, device, bytes),
             .result = test_buffer_open(owner, device, 8),
             .random = test_random_at(device)};
    float *ones = malloc(bytes);
    assert_non_null(ones);
    for (size_t i = 0; i < COUNT; i++) {
        ones[i] = 1;
    }
    test_buffer_load(&r.x, ones, bytes, 0);
    test_buffer_load(&r.y, ones, bytes, 0);
    test_buffer_poison(&r.z, bytes, 0);
    test_buffer_poison(&r.result, 8, 0);
    free(ones);
    return r;
}

static void rig_close(rig *r) {
    test_buffer_close(&r->x);
    test_buffer_close(&r->y);
    test_buffer_close(&r->z);
    test_buffer_close(&r->result);
}

static void check_untouched(test_buffer *b, const char *what) {
    const unsigned char *bytes = test_buffer_read(b, what);
    for (size_t i = 0; i < b->bytes; i++) {
        if (bytes[i] != TEST_POISON) {
            fail_msg("%s: failed, yet byte %zu of an output was written", what, i);
        }
    }
}

static weft_context *open_watched(const char *place, const public_call *call, const wi_row *row,
                                  const wi_row *stage_row) {
    weft_context *ctx = NULL;
    watch(true);
    arm(NEVER);
    weft_status status = weft_open(&ctx, place);
    watch(false);
    if (status != WEFT_OK) {
        fail_msg("%s: %s", place, weft_message(NULL));
    }
    if (row) {
        test_use(ctx, call->ladder->op, row);
    }
    if (stage_row) {
        test_use(ctx, "stage", stage_row);
    }
    return ctx;
}

static void close_watched(weft_context *ctx, arrays *a, const char *what) {
    watch(true);
    arm(NEVER);
    weft_free(ctx, a->allocated);
    weft_close(ctx);
    watch(false);
    if (live_count) {
        fail_msg("%s: %zu allocations were not given back", what, live_count);
    }
}

static weft_status run_watched(weft_context *ctx, const public_call *call, arrays *a, int which) {
    watch(true);
    arm(which);
    now_bytes = most_bytes = 0;
    weft_status status = call->run(ctx, a);
    if (status == WEFT_OK) {
        status = weft_sync(ctx);
    }
    watch(false);
    return status;
}

/* A call must take and return as many bytes as it said; what remains is the context's scratch. On a
 * GPU this is exact; on a cpu, which allocates whole cache lines and pages, to a page for each
 * allocation. */
static void check_bytes(weft_context *ctx, const public_call *call, const arrays *a,
                        const char *what) {
    size_t asked = 0;
    const size_t most = most_bytes - now_bytes;
    const size_t page = ctx->kind == WI_CPU ? (size_t)counted << 21 : 0;
    watch(true);
    arm(0);
    const weft_status status = call->ask(ctx, a, &asked);
    watch(false);
    if (status != WEFT_OK || counted > 0)
        fail_msg("%s: asked for its bytes: %s, %d allocations", what, weft_message(ctx), counted);
    if (asked > most || most - asked > page)
        fail_msg("%s: said it takes %zu bytes, and took %zu", what, asked, most);
}

/* Fails the allocation numbered `which` of a call on a new context; false if the call makes fewer.
 */
static bool fail_one(rig *r, const public_call *call, const wi_row *row, const wi_row *stage_row,
                     int which) {
    char what[128];
    const char *place = weft_place(r->owner);
    arrays a = {(float *)r->x.p, (float *)r->y.p, (float *)r->z.p, r->result.p, NULL};
    weft_context *ctx = open_watched(place, call, row, stage_row);
    snprintf(what, sizeof what, "%s on %s, variant %s, allocation %d failed", call->name, place,
             row ? row->name : "auto", which);
    weft_status status = run_watched(ctx, call, &a, which);
    bool injected = counted > which;
    if (status == WEFT_EUNSUPPORTED && (row || stage_row)) {
        injected = false; /* the rung does not fit this call */
    } else if (!injected && status != WEFT_OK) {
        fail_msg("%s: %s: %s", what, weft_status_name(status), weft_message(ctx));
    } else if (!injected && call->ask) {
        check_bytes(ctx, call, &a, what);
    } else if (injected) {
        if (status != WEFT_ENOMEM || strlen(weft_message(ctx)) == 0) {
            fail_msg("%s: %s, message \"%s\"", what, weft_status_name(status), weft_message(ctx));
        }
        check_untouched(&r->z, what);
        check_untouched(&r->result, what);
        status = run_watched(ctx, call, &a, NEVER);
        if (status != WEFT_OK && !(status == WEFT_EUNSUPPORTED && row)) {
            fail_msg("%s, then tried again: %s", what, weft_message(ctx));
        }
    }
    close_watched(ctx, &a, what);
    test_buffer_poison(&r->z, COUNT * sizeof(float), 0);
    test_buffer_poison(&r->result, 8, 0);
    return injected;
}

static void fail_each(rig *r, const public_call *call, const wi_row *row, const wi_row *stage_row) {
    int which = 0;
    while (fail_one(r, call, row, stage_row, which)) {
        which++;
    }
}

/* Each call on each of its rungs; for host memory on a GPU place, on every rung of staging instead.
 */
static bool fail_at_rung(void *rig_of_test, size_t n, const wi_row *none, const size_t at[]) {
    rig *const r = rig_of_test;
    const public_call *const call = &calls[at[0]];
    const bool staged = r->owner->kind == WI_CUDA && !r->x.device;
    const wi_ladder *const ladder = !call->ladder ? NULL : staged ? &wi_stage_ladder : call->ladder;
    const wi_row *rows[TEST_MAX_ROWS] = {NULL};
    const size_t count = ladder ? test_rows(r->owner, ladder, rows) : 1;
    (void)n;
    (void)none;
    if (at[1] >= count)
        return false;
    const wi_row *const row = rows[at[1]];
    if (row && strcmp(row->name, "all_prefixes") == 0)
        return false; /* its work grows as n^2 */
    fail_each(r, call, staged ? NULL : row, staged ? row : NULL);
    return true;
}

static void failing_calls(weft_context *ctx) {
    const test_sweep s = {.extent = {sizeof calls / sizeof *calls, TEST_MAX_ROWS},
                          .must = MUST,
                          .share = 50,
                          .run = fail_at_rung};
    bool gpu = ctx->kind == WI_CUDA;
    only_own = gpu;
    for (int device = 0; device <= (gpu ? 1 : 0); device++) {
        rig r = rig_open(ctx, device);
        test_sweep_run(ctx, &r.random, &s, &r);
        rig_close(&r);
    }
}

static void failing_open(weft_context *other) {
    const char *place = weft_place(other);
    only_own = other->kind == WI_CUDA;
    for (int which = 0;; which++) {
        weft_context *ctx = other;
        watch(true);
        arm(which);
        weft_status status = weft_open(&ctx, place);
        bool injected = counted > which;
        arm(NEVER);
        if (status == WEFT_OK) {
            weft_close(ctx);
        }
        watch(false);
        assert_int_equal(live_count, 0);
        if (!injected) {
            assert_int_equal(status, WEFT_OK);
            return;
        }
        assert_int_equal(status, WEFT_ENOMEM);
        assert_null(ctx);
        assert_true(strlen(weft_message(NULL)) > 0);
    }
}

/* The test itself must be able to fail: without --wrap no allocation would be counted. */
static void test_injection_works(void **state) {
    (void)state;
    weft_context *ctx = NULL;
    only_own = false;
    watch(true);
    arm(0);
    weft_status status = weft_open(&ctx, "cpu:1");
    watch(false);
    assert_int_equal(counted, 1);
    assert_int_equal(status, WEFT_ENOMEM);
    assert_null(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_injection_works),
        TEST_ON_EACH_PLACE(failing_open),
        TEST_ON_EACH_PLACE(failing_calls),
    };
    return cmocka_run_group_tests_name("allocation", tests, NULL, NULL);
}
