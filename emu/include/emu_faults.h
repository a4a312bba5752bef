/* SPDX-License-Identifier: Apache-2.0 */
/* What a test can do to the device that emu stands in for: plant a fault, change a limit, say what
 * a kernel needs. */
#ifndef EMU_FAULTS_H
#define EMU_FAULTS_H

#include "cuda_runtime_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* When a planted fault occurs. */
EMU_ENUM(emu_moment, EMU_AT_OPEN, /* a stream is created: the process begins to use the device */
         EMU_AT_LAUNCH,           /* a launch is refused */
         EMU_IN_KERNEL,           /* a kernel fails while it runs; every later call gives the error,
                                     until emu_replace_device */
         EMU_IN_NESTED_LAUNCH     /* a kernel's own launch is refused */
);

/* After so many that succeed, the next one gives the error; from then on all of
 * EMU_IN_NESTED_LAUNCH do. cudaSuccess takes back what was planted. */
void emu_plant(enum emu_moment moment, cudaError_t error, unsigned after);

/* What the compiler would have told of the kernel. */
void emu_kernel_needs(const void *kernel, int registers, size_t local_bytes);

void emu_set_attribute(enum cudaDeviceAttr name, int value);

/* As a new process finds the device: limits and memory are what they were at first. All contexts
 * must have been closed. */
void emu_replace_device(void);

#ifdef __cplusplus
}
#endif
#endif
