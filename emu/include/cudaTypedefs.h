/* SPDX-License-Identifier: Apache-2.0 */
/* emu's stand-in for the one driver call that weft asks for. */
#ifndef EMU_CUDA_TYPEDEFS_H
#define EMU_CUDA_TYPEDEFS_H

typedef enum cudaError_enum {
    CUDA_SUCCESS = 0
} CUresult;
typedef int CUdevice;
typedef CUresult (*PFN_cuDevicePrimaryCtxGetState_v7000)(CUdevice device, unsigned *flags,
                                                         int *active);

#endif
