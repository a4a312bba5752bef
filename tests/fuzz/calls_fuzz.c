/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: sessions of public calls, compared with oracles; see calls/calls.h. The place is one
 * of those that WEFT_TEST_PLACES names; otherwise cpu, or emu where that is linked. WEFT_FUZZ_SAY=1
 * tells every call before it is made. */
#include <stdlib.h>
#include <string.h>

#include "calls/calls.h"
#include "gpu_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum {
    SEED_BYTES = 8,  /* as few as these only seed the generator */
    MOST_CALLS = 12, /* of a session */
    MOST_THREADS = 3,
    CPU_ELEMENTS = 20000,
    GPU_ELEMENTS = 3000 /* emu takes its time */
};

static const fuzz_call calls[] = {
    {"core", 2, fuzz_core},
    {"map", 3, fuzz_map},
    {"matrix", 3, fuzz_map_matrix},
    {"reduce", 6, fuzz_reduce},
    {"scan", 6, fuzz_scan},
    {"select", 6, fuzz_select},
    {"partition", 3, fuzz_partition},
    {"expand", 2, fuzz_expand},
    {"runs", 3, fuzz_runs},
    {"histogram", 6, fuzz_histogram},
    {"sort", 8, fuzz_sort},
    {"segments", 3, fuzz_segments},
    {"records", 2, fuzz_records},
    {"merge", 3, fuzz_merge},
    {"search", 3, fuzz_search},
    {"top_k", 4, fuzz_top_k},
    {"sparse", 5, fuzz_sparse},
    {"chol", 5, fuzz_chol},
    {"gemm", 4, fuzz_gemm},
    {"gemv", 3, fuzz_gemv},
    {"ger", 2, fuzz_ger},
    {"syrk", 2, fuzz_syrk},
    {"trmm", 2, fuzz_trmm},
    {"trsm", 3, fuzz_trsm},
    {"transpose", 3, fuzz_transpose},
    {"lu", 3, fuzz_lu},
    {"cholesky", 2, fuzz_cholesky},
    {"convolve", 4, fuzz_convolve},
    {"blend", 3, fuzz_blend},
    {"fft", 4, fuzz_fft},
    {"pull", 2, fuzz_pull},
    {"steps", 1, fuzz_steps},
    {"energy", 1, fuzz_energy},
    {"conv", 4, fuzz_conv},
    {"pool", 2, fuzz_pool},
    {"upsample", 2, fuzz_upsample},
    {"bias", 1, fuzz_bias},
    {"exact", 4, fuzz_exact},
    {"exact_scan", 3, fuzz_exact_scan},
    {"exact_group", 3, fuzz_exact_group},
    {"accumulate", 2, fuzz_accumulate},
    {"nth", 3, fuzz_nth},
    {"quantiles", 3, fuzz_quantiles},
    {"summary", 3, fuzz_summary},
    {"random bits", 2, fuzz_random_bits},
    {"random reals", 2, fuzz_random_reals},
    {"random range", 2, fuzz_random_range},
    {"group", 4, fuzz_group},
    {"group_scan", 3, fuzz_group_scan},
    {"gather", 3, fuzz_gather},
    {"scatter", 3, fuzz_scatter},
    {"expr", 5, fuzz_expr},
    {"record_runs", 3, fuzz_record_runs},
    {"record_search", 2, fuzz_record_search},
    {"columns", 2, fuzz_columns},
    {"strided", 2, fuzz_strided},
    {"scan_wide", 3, fuzz_scan_wide},
};

static const fuzz_call *draw_call(fuzz *f) {
    size_t sum = 0, at;
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        sum += calls[k].weight;
    }
    at = fuzz_below(f, sum);
    for (const fuzz_call *call = calls;; call++) {
        if (at < call->weight) {
            return call;
        }
        at -= call->weight;
    }
}

/* A place, and on the cpu one of other threads beside it. */
static void open_places(fuzz *f) {
    char name[] = "cpu:1";
#ifdef WEFT_EMU
    const char *places[TEST_MAX_PLACES] = {TEST_GPU};
#else
    const char *places[TEST_MAX_PLACES] = {"cpu"};
#endif
    const size_t count = getenv("WEFT_TEST_PLACES") ? test_places(places) : 1;
    const char *const place = places[fuzz_below(f, count)];
    f->gpu = test_place_is_gpu(place);
    f->most = f->gpu ? GPU_ELEMENTS : CPU_ELEMENTS;
    if (f->gpu) {
        f->ctx = test_open(place);
        return;
    }
    const size_t threads = fuzz_below(f, MOST_THREADS);
    name[4] = (char)('1' + threads);
    f->ctx = test_open(strcmp(place, "cpu") == 0 ? name : place);
    name[4] = (char)('1' + (threads + 1) % MOST_THREADS);
    f->twin = test_open(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    fuzz f = {.bytes = bytes, .length = length, .random = {length}};
    for (size_t k = 0; k < length; k++) {
        f.random.state = f.random.state * 0x100000001B3u ^ bytes[k];
    }
    if (length <= SEED_BYTES) {
        f.length = 0;
    }
    setenv("CMOCKA_TEST_ABORT", "1", 1); /* a failure is a crash: that is what fuzzers look for */
    open_places(&f);
    for (size_t left = 1 + fuzz_below(&f, MOST_CALLS); left > 0; left--) {
        draw_call(&f)->run(&f);
        fuzz_free(&f);
    }
    weft_close(f.twin);
    weft_close(f.ctx);
    return 0;
}
