/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of records, and runs of equal ones. */
#include "cuda/launch.cuh"
#include "select/select.h"
#include "sort/sort_fields.h"

constexpr unsigned fields_threads = 256;

static unsigned blocks_for(size_t n) {
    return (unsigned)((n + fields_threads - 1) / fields_threads);
}

__global__ void __launch_bounds__(fields_threads)
    search_records(const __grid_constant__ wi_search_records_args a) {
    const size_t j = (size_t)blockIdx.x * fields_threads + threadIdx.x;
    if (j < a.m)
        a.positions[j] =
            (a.merges ? j : 0) + wi_fields_bound(&a.fields, a.records, a.n,
                                                 a.wanted + j * a.fields.record_bytes, a.upper);
}

weft_status wi_search_records_bisect(weft_context *ctx, const void *args) {
    const wi_search_records_args *const a = (const wi_search_records_args *)args;
    return WEFT_LAUNCH(search_records, ctx, blocks_for(a->m), fields_threads, 0, *a);
}

/* ---- runs ---- */

/* heads[i] = 1 where a run begins. */
__global__ void __launch_bounds__(fields_threads)
    mark_runs(const __grid_constant__ wi_record_runs_args a, uint8_t *heads) {
    const size_t i = (size_t)blockIdx.x * fields_threads + threadIdx.x;
    const size_t bytes = a.fields.record_bytes;
    if (i < a.n)
        heads[i] = i == 0 || wi_fields_compare(&a.fields, a.records + (i - 1) * bytes,
                                               a.records + i * bytes) != 0;
}

/* Run k begins at record starts[k]; there are *found. */
template <class Length>
__global__ void __launch_bounds__(fields_threads)
    write_runs(const __grid_constant__ wi_record_runs_args a, const uint64_t *starts,
               const uint64_t *found) {
    const size_t k = (size_t)blockIdx.x * fields_threads + threadIdx.x, runs = *found;
    const size_t bytes = a.fields.record_bytes;
    if (k == 0)
        *a.count = runs;
    if (k >= runs)
        return;
    const uint64_t first = starts[k];
    for (size_t b = 0; b < bytes; b++)
        a.out[k * bytes + b] = a.records[first * bytes + b];
    if (a.lengths)
        ((Length *)a.lengths)[k] = (Length)((k + 1 < runs ? starts[k + 1] : a.n) - first);
}

/* starts = where marks are, and *found = how many. */
static weft_status find_starts(weft_context *ctx, const wi_record_runs_args *a,
                               const uint8_t *heads, uint64_t *starts, uint64_t *found) {
    const weft_predicate flagged = WEFT_FLAGGED;
    wi_select_args args = {};
    args.n = a->n;
    args.tested = heads;
    args.tested_bytes = 1;
    args.range = wi_select_range_of(&flagged);
    args.unit = args.units = 1;
    args.positions = starts;
    args.position_bytes = sizeof *starts;
    args.count = found;
    return wi_select_lookback(ctx, &args);
}

/* The caller's arrays are written last, when nothing more can fail for want of memory. */
weft_status wi_record_runs_marked(weft_context *ctx, const void *args) {
    const wi_record_runs_args *const a = (const wi_record_runs_args *)args;
    void *memory = NULL;
    weft_status status = wi_gpu_alloc(ctx, &memory, (a->n + 1) * sizeof(uint64_t) + a->n);
    if (status != WEFT_OK)
        return status;
    uint64_t *const starts = (uint64_t *)memory, *const found = starts + a->n;
    uint8_t *const heads = (uint8_t *)(found + 1);
    const unsigned blocks = blocks_for(a->n);
    status = WEFT_LAUNCH(mark_runs, ctx, blocks, fields_threads, 0, *a, heads);
    if (status == WEFT_OK)
        status = find_starts(ctx, a, heads, starts, found);
    if (status == WEFT_OK && a->length_bytes == sizeof(uint32_t))
        status =
            WEFT_LAUNCH(write_runs<uint32_t>, ctx, blocks, fields_threads, 0, *a, starts, found);
    else if (status == WEFT_OK)
        status =
            WEFT_LAUNCH(write_runs<uint64_t>, ctx, blocks, fields_threads, 0, *a, starts, found);
    const weft_status freed = wi_gpu_free(ctx, memory);
    return status == WEFT_OK ? freed : status;
}
