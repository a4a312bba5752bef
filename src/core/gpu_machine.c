/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a GPU, from its attributes. The driver gives clocks and widths; the share of the
 * peak that a copy reaches, and the time that a launch takes, were measured on an H200. */
#include <stdio.h>

#include "core/gpu.h"

static const double memory_share = 0.85;        /* of the peak: 4.18 of 4.92 TB/s */
static const double cache_bytes_per_cycle = 24; /* of the second-level cache, a multiprocessor */
static const double launch_s = 3e-6;            /* behind another kernel of the same stream */
/* Used where the driver gives no value. */
static const double usual_hz = 1.5e9, usual_bytes_per_s = 20e9; /* a multiprocessor */

enum {
    CORES = 128, /* f32 multiply-adds a cycle, of a multiprocessor */
    CORES_80 = 64,
    USUAL_RATIO = 64, /* of f32 to f64 */
    TRANSFERS = 2     /* a cycle of the memory's clock */
};

static double attribute(int device, enum cudaDeviceAttr name, double otherwise) {
    const int value = wi_device_attribute(device, name);
    return value > 0 ? value : otherwise;
}

wi_machine wi_machine_of_gpu(int device, int capability) {
    const int units = (int)attribute(device, cudaDevAttrMultiProcessorCount, 1);
    const double hz = 1e3 * attribute(device, cudaDevAttrClockRate, usual_hz / 1e3);
    const double memory_hz = 1e3 * attribute(device, cudaDevAttrMemoryClockRate, 0);
    const double width = attribute(device, cudaDevAttrGlobalMemoryBusWidth, 0) / 8;
    const double told = TRANSFERS * memory_hz * width * memory_share;
    const double f32_flops = 2.0 * (capability == 80 ? CORES_80 : CORES) * units * hz;
    return (wi_machine){
        .bytes_per_s = told > 0 ? told : units * usual_bytes_per_s,
        .cache_bytes_per_s = units * hz * cache_bytes_per_cycle,
        .cache_bytes = (size_t)attribute(device, cudaDevAttrL2CacheSize, 0),
        .launch_s = launch_s,
        .f32_flops = f32_flops,
        .f64_flops =
            f32_flops / attribute(device, cudaDevAttrSingleToDoublePrecisionPerfRatio, USUAL_RATIO),
        .units = units,
        .unit_hz = hz,
    };
}

void wi_gpu_name(int device, char *name, size_t bytes) {
#ifdef WEFT_EMU
    (void)device;
    snprintf(name, bytes, "emu");
#else
    struct cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, device) == cudaSuccess) {
        snprintf(name, bytes, "%s", properties.name);
        return;
    }
    cudaGetLastError();
    snprintf(name, bytes, "unknown GPU");
#endif
}
