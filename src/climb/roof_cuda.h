/* SPDX-License-Identifier: Apache-2.0 */
/* The roofs of a GPU, by what they need. Each sets 0 if the place does not have it. */
#ifndef WI_ROOF_CUDA_H
#define WI_ROOF_CUDA_H

#include "climb/meter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flops a second: of multiply-adds in registers, or of products on tensor cores. */
weft_status wi_gpu_fma_roof(const wi_meter *meter, wi_roof roof, double *rate);
weft_status wi_gpu_tensor_roof(const wi_meter *meter, wi_roof roof, double *rate);

/* Bytes a second from or to pinned host memory, and to another GPU. */
weft_status wi_gpu_link_roof(const wi_meter *meter, bool back, double *rate);
weft_status wi_gpu_peer_roof(const wi_meter *meter, double *rate);

/* Seconds from launching an empty kernel until the host knows that it has finished. */
weft_status wi_gpu_launch_roof(const wi_meter *meter, double *seconds);

#ifdef __cplusplus
}
#endif
#endif
