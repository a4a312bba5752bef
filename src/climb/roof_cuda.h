/* SPDX-License-Identifier: Apache-2.0 */
/* The roofs of a GPU by what they are made of. Each gives 0 where there is nothing of the kind. */
#ifndef WI_ROOF_CUDA_H
#define WI_ROOF_CUDA_H

#include "climb/meter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flops a second of multiply-adds, and of products on tensor cores, in registers. */
weft_status wi_gpu_fma_roof(const wi_meter *meter, wi_roof roof, double *rate);
weft_status wi_gpu_tensor_roof(const wi_meter *meter, wi_roof roof, double *rate);

/* Bytes a second from or to pinned host memory, and to another GPU. */
weft_status wi_gpu_link_roof(const wi_meter *meter, bool back, double *rate);
weft_status wi_gpu_peer_roof(const wi_meter *meter, double *rate);

/* Seconds from the launch of an empty kernel to the host's knowing that it is done. */
weft_status wi_gpu_launch_roof(const wi_meter *meter, double *seconds);

#ifdef __cplusplus
}
#endif
#endif
