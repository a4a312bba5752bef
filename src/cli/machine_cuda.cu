/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the GPUs, from the CUDA runtime. */
#include "cli/machine.h"
#include "core/gpu.h"

#include <ctype.h>
#include <stdio.h>

int wi_gpu_count(char *why, size_t bytes) {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess)
        count = 0;
    if (count == 0)
        wi_gpu_present(why, bytes);
    return count;
}

static int attribute(int device, cudaDeviceAttr which) {
    int value = 0;
    return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

bool wi_gpu_describe(int device, wi_gpu_facts *facts) {
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess)
        return false;
    *facts = wi_gpu_facts();
    snprintf(facts->name, sizeof facts->name, "%s", properties.name);
    if (cudaDeviceGetPCIBusId(facts->bus, sizeof facts->bus, device) != cudaSuccess)
        facts->bus[0] = '\0';
    for (char *c = facts->bus; *c; c++) /* the system writes small letters */
        *c = (char)tolower((unsigned char)*c);
    facts->capability_major = properties.major;
    facts->capability_minor = properties.minor;
    facts->multiprocessors = properties.multiProcessorCount;
    facts->threads_per_multiprocessor = properties.maxThreadsPerMultiProcessor;
    facts->registers_per_multiprocessor = properties.regsPerMultiprocessor;
    facts->registers_per_block = properties.regsPerBlock;
    facts->shared_per_block = properties.sharedMemPerBlock;
    facts->shared_optin_per_block = properties.sharedMemPerBlockOptin;
    facts->shared_per_multiprocessor = properties.sharedMemPerMultiprocessor;
    facts->l2_bytes = (size_t)properties.l2CacheSize;
    facts->memory_bytes = properties.totalGlobalMem;
    facts->bus_bits = properties.memoryBusWidth;
    /* in kHz, and as attributes: CUDA 13 has removed them from cudaDeviceProp */
    facts->clock_hz = 1e3 * attribute(device, cudaDevAttrClockRate);
    facts->memory_clock_hz = 1e3 * attribute(device, cudaDevAttrMemoryClockRate);
    facts->peak_bytes_per_second = 2 * facts->memory_clock_hz * facts->bus_bits / 8;
    return true;
}

void wi_cuda_versions(int *built, int *driver) {
    *built = CUDART_VERSION;
    if (cudaDriverGetVersion(driver) != cudaSuccess)
        *driver = 0;
}
