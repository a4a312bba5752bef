/* SPDX-License-Identifier: Apache-2.0 */
/* What the command knows of GPUs in a build without CUDA: nothing, and it says so. */
#ifndef WEFT_CUDA

#    include <stdio.h>

#    include "cli/machine.h"
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

#endif
