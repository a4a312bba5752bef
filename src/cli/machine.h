/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine offers: the processor and the GPUs. */
#ifndef WI_MACHINE_H
#define WI_MACHINE_H

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_NAME_BYTES = 256,
    WI_ISA_BYTES = 96
};

typedef struct wi_cpu_facts {
    char model[WI_NAME_BYTES];
    int cores;                        /* that this process may use */
    size_t level_1, level_2, level_3; /* bytes of data cache; 0: not known */
    size_t memory_bytes;
    char instructions[WI_ISA_BYTES]; /* the vector instruction sets, as "AVX2 FMA F16C" */
} wi_cpu_facts;

typedef struct wi_gpu_facts {
    char name[WI_NAME_BYTES];
    char bus[16]; /* of PCIe, as "0000:1b:00.0"; "": not known */
    int capability_major, capability_minor;
    int multiprocessors, threads_per_multiprocessor;
    int registers_per_multiprocessor, registers_per_block;
    size_t shared_per_block, shared_optin_per_block, shared_per_multiprocessor;
    size_t l2_bytes, memory_bytes;
    double clock_hz, memory_clock_hz; /* 0: not known */
    int bus_bits;
    double peak_bytes_per_second; /* bus width times two transfers per clock of the memory; 0: not
                                     known */
} wi_gpu_facts;

void wi_cpu_describe(wi_cpu_facts *facts);

/* How many GPUs the driver reports; if none, `why` gets the reason. */
int wi_gpu_count(char *why, size_t bytes);

bool wi_gpu_describe(int device, wi_gpu_facts *facts);

/* The CUDA version that this build was compiled with and the one that the driver supports, as 12040
 * for 12.4; 0: none. */
void wi_cuda_versions(int *built, int *driver);

/* A short name of the context's device: the GPU's or the processor's. */
void wi_place_title(const weft_context *ctx, char *title, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
