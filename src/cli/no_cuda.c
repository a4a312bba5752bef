/* SPDX-License-Identifier: Apache-2.0 */
/* What the command knows of GPUs in a build without CUDA: nothing, and it says so. */
#ifndef WEFT_CUDA

#    include <stdio.h>

#    include "cli/machine.h"
#    include "cli/meter.h"
#    include "core/gpu.h"

int wi_gpu_count(char *why, size_t bytes) {
    wi_gpu_present(why, bytes);
    return 0;
}

bool wi_gpu_describe(int device, wi_gpu_facts *facts) {
    (void)device;
    (void)facts;
    return false;
}

void wi_cuda_versions(int *built, int *driver) {
    *built = *driver = 0;
}

size_t wi_gpu_cache_bytes(const weft_context *ctx) {
    (void)ctx;
    return 0;
}

weft_status wi_gpu_time(const wi_meter *meter, const wi_task *task, double *seconds) {
    (void)task;
    (void)seconds;
    return wi_fail(meter->ctx, WEFT_EUNSUPPORTED, "this build of weft has no CUDA");
}

weft_status wi_gpu_roof(const wi_meter *meter, wi_roof roof, double *rate) {
    (void)roof;
    (void)rate;
    return wi_fail(meter->ctx, WEFT_EUNSUPPORTED, "this build of weft has no CUDA");
}

#endif
