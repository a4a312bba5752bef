/* SPDX-License-Identifier: Apache-2.0 */
/* emu's stand-in for the driver calls that weft uses. */
#ifndef EMU_CUDA_TYPEDEFS_H
#define EMU_CUDA_TYPEDEFS_H

#include <stdint.h>

#include "cuda_runtime_api.h"

typedef EMU_ENUM(cudaError_enum, CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE,
                 CUDA_ERROR_OUT_OF_MEMORY) CUresult;
typedef CUresult (*PFN_cuDevicePrimaryCtxGetState_v7000)(int device, unsigned *flags, int *active);

/* Ranges of addresses, to which memory of several devices is mapped. */
typedef uint64_t CUdeviceptr, CUmemGenericAllocationHandle;
typedef EMU_ENUM(CUmemLocationType, CU_MEM_LOCATION_TYPE_DEVICE = 1) CUmemLocationType;
typedef EMU_ENUM(CUmemAllocationType, CU_MEM_ALLOCATION_TYPE_PINNED = 1) CUmemAllocationType;
typedef EMU_ENUM(CUmemAccess_flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3) CUmemAccess_flags;
typedef EMU_ENUM(CUmemAllocationGranularity_flags,
                 CU_MEM_ALLOC_GRANULARITY_MINIMUM) CUmemAllocationGranularity_flags;
typedef struct CUmemLocation {
    CUmemLocationType type;
    int id;
} CUmemLocation;
typedef struct CUmemAllocationProp {
    CUmemAllocationType type;
    CUmemLocation location;
} CUmemAllocationProp;
typedef struct CUmemAccessDesc {
    CUmemLocation location;
    CUmemAccess_flags flags;
} CUmemAccessDesc;
typedef CUresult (*PFN_cuMemGetAllocationGranularity_v10020)(
    size_t *granularity, const CUmemAllocationProp *properties,
    CUmemAllocationGranularity_flags option);
typedef CUresult (*PFN_cuMemAddressReserve_v10020)(CUdeviceptr *p, size_t bytes, size_t alignment,
                                                   CUdeviceptr at, unsigned long long flags);
typedef CUresult (*PFN_cuMemAddressFree_v10020)(CUdeviceptr p, size_t bytes);
typedef CUresult (*PFN_cuMemCreate_v10020)(CUmemGenericAllocationHandle *handle, size_t bytes,
                                           const CUmemAllocationProp *properties,
                                           unsigned long long flags);
typedef CUresult (*PFN_cuMemRelease_v10020)(CUmemGenericAllocationHandle handle);
typedef CUresult (*PFN_cuMemMap_v10020)(CUdeviceptr p, size_t bytes, size_t offset,
                                        CUmemGenericAllocationHandle handle,
                                        unsigned long long flags);
typedef CUresult (*PFN_cuMemUnmap_v10020)(CUdeviceptr p, size_t bytes);
typedef CUresult (*PFN_cuMemSetAccess_v10020)(CUdeviceptr p, size_t bytes,
                                              const CUmemAccessDesc *to, size_t count);

/* A matrix, or images, as the copy engine sees them. */
typedef struct CUtensorMap {
    const void *base;
    uint64_t extents[4], strides[4];
    unsigned box[3], width;
    unsigned line;             /* bytes of a box's line */
    int shuffled;              /* are its chunks of 16 bytes? */
    unsigned pixels, steps[2]; /* of images */
    int first[2], past[2];
} CUtensorMap;
typedef uint64_t cuuint64_t;
typedef unsigned cuuint32_t;
typedef EMU_ENUM(CUtensorMapDataType, CU_TENSOR_MAP_DATA_TYPE_UINT8,
                 CU_TENSOR_MAP_DATA_TYPE_FLOAT16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                 CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                 CU_TENSOR_MAP_DATA_TYPE_FLOAT64) CUtensorMapDataType;
typedef EMU_ENUM(CUtensorMapInterleave, CU_TENSOR_MAP_INTERLEAVE_NONE) CUtensorMapInterleave;
typedef EMU_ENUM(CUtensorMapSwizzle, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_64B,
                 CU_TENSOR_MAP_SWIZZLE_128B) CUtensorMapSwizzle;
typedef EMU_ENUM(CUtensorMapL2promotion, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B) CUtensorMapL2promotion;
typedef EMU_ENUM(CUtensorMapFloatOOBfill,
                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) CUtensorMapFloatOOBfill;
typedef CUresult (*PFN_cuTensorMapEncodeTiled_v12000)(
    CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *base,
    const cuuint64_t *extents, const cuuint64_t *strides, const cuuint32_t *box,
    const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);
typedef CUresult (*PFN_cuTensorMapEncodeIm2col_v12000)(
    CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *base,
    const cuuint64_t *extents, const cuuint64_t *strides, const int *first, const int *past,
    cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps,
    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
    CUtensorMapFloatOOBfill fill);

#ifdef __cplusplus
extern "C" {
#endif
CUresult emu_describe_boxes(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *base,
                            const cuuint64_t *extents, const cuuint64_t *strides,
                            const cuuint32_t *box, const cuuint32_t *steps,
                            CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                            CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);
CUresult emu_describe_walk(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *base,
                           const cuuint64_t *extents, const cuuint64_t *strides, const int *first,
                           const int *past, cuuint32_t channels, cuuint32_t pixels,
                           const cuuint32_t *steps, CUtensorMapInterleave interleave,
                           CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                           CUtensorMapFloatOOBfill fill);
/* What cuda/boxes.cuh says of wi_walk_load. */
void emu_walk_load(void *shared, const CUtensorMap *from, const int *at, int column, int row,
                   uint64_t *barrier);
#ifdef __cplusplus
}
#endif
#endif
