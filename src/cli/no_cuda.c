/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for the GPU parts of the command in a build without CUDA, and says that there is no
 * GPU. */
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
