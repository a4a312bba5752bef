/* SPDX-License-Identifier: Apache-2.0 */
/* For which devices this build's kernels were compiled. */
#include "core/gpu.h"
#include "cuda/launch.cuh"

static __global__ void compiled() {}

int wi_gpu_code_capability(void) {
    cudaFuncAttributes kernel;
    if (cudaFuncGetAttributes(&kernel, (const void *)compiled) == cudaSuccess)
        return kernel.ptxVersion;
    cudaGetLastError();
    return 0;
}
