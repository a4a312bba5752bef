/* SPDX-License-Identifier: Apache-2.0 */
/* What a test can do to the emulated device: plant a fault, change a limit, declare what a kernel
 * needs. */
#ifndef EMU_FAULTS_H
#define EMU_FAULTS_H

#include "cuda_runtime_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* When a planted fault occurs. */
EMU_ENUM(emu_moment,
         EMU_AT_OPEN,   /* when a stream is created: the process begins to use the device */
         EMU_AT_LAUNCH, /* a launch is refused */
         EMU_IN_KERNEL, /* a kernel fails while it runs; every later call returns the error, until
                           emu_replace_device */
         EMU_IN_NESTED_LAUNCH /* a kernel's own launch is refused */
);

/* After `after` successes, the next one fails with the error; with EMU_IN_NESTED_LAUNCH all later
 * ones do. cudaSuccess removes a planted fault. */
void emu_plant(enum emu_moment moment, cudaError_t error, unsigned after);

/* Declares what the compiler would have reported about the kernel. */
void emu_kernel_needs(const void *kernel, int registers, size_t local_bytes);

/* Declares for which compute capability, 90 unless told otherwise, all kernels were compiled. */
void emu_compile_for(int capability);

/* How much memory all devices together have, pinned memory counted too; 0: as at first. */
void emu_set_memory(size_t bytes);

void emu_set_attribute(enum cudaDeviceAttr name, int value);

/* Resets the device to what a new process finds: limits and memory as at first. All contexts must
 * be closed. */
void emu_replace_device(void);

#ifdef __cplusplus
}
#endif
#endif
