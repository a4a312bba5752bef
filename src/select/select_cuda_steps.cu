/* SPDX-License-Identifier: Apache-2.0 */
/* select as textbooks do it: one kernel marks the wanted elements, a scan of the marks gives their
 * places, another kernel gathers them. */
#include "scan/scan.h"
#include "select/select_cuda.cuh"

constexpr int step_threads = 256;

/* marks[i] = 1 if element i is wanted, else 0 */
__global__ void mark_wanted(wi_select_params p, uint32_t *marks) {
    const uint64_t i = (uint64_t)blockIdx.x * step_threads + threadIdx.x;
    if (i < p.n)
        marks[i] = wi_with_tested(p.tested_bytes, [&](auto zero) {
            using S = decltype(zero);
            return wi_in_range<S>(p.range).wants(((const S *)p.tested)[i]);
        });
}

/* places[i] = how many of elements 0 ... i are wanted */
template <class P>
__global__ void gather(wi_select_params p, const uint32_t *places) {
    const uint64_t i = (uint64_t)blockIdx.x * step_threads + threadIdx.x;
    if (i >= p.n)
        return;
    const uint32_t before = i > 0 ? places[i - 1] : 0;
    if (places[i] != before)
        for (uint64_t u = 0; u < p.units; u++)
            ((P *)p.kept)[before * p.units + u] = ((const P *)p.x)[i * p.units + u];
    if (i == p.n - 1)
        *p.count = places[i];
}

weft_status wi_select_three_kernels(weft_context *ctx, const void *arguments) {
    const wi_select_args *args = (const wi_select_args *)arguments;
    if (args->n == 0)
        return wi_select_count_queue(ctx, args, args->count);
    wi_select_params p;
    void *scratch, *marks;
    weft_status status = wi_select_begin(ctx, args, 0, 0, &p, &scratch);
    if (status == WEFT_OK)
        status = wi_gpu_alloc(ctx, &marks, args->n * sizeof(uint32_t));
    if (status != WEFT_OK)
        return status;
    const unsigned blocks = (unsigned)((args->n + step_threads - 1) / step_threads);
    status = WEFT_LAUNCH(mark_wanted, ctx, blocks, step_threads, 0, p, (uint32_t *)marks);
    wi_scan_args scan = {};
    scan.op = WEFT_SUM;
    scan.kind = WEFT_INCLUSIVE;
    scan.type = WEFT_U32;
    scan.n = args->n;
    scan.x = scan.y = marks;
    if (status == WEFT_OK)
        status = wi_scan_lookback(ctx, &scan);
    if (status == WEFT_OK)
        status = wi_with_unit(args->unit, [=](auto tag) {
            using P = typename decltype(tag)::type;
            return WEFT_LAUNCH(gather<P>, ctx, blocks, step_threads, 0, p, (const uint32_t *)marks);
        });
    const weft_status freed = wi_gpu_free(ctx, marks);
    return status == WEFT_OK ? freed : status;
}
