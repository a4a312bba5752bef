/* SPDX-License-Identifier: Apache-2.0 */
/* Roofs: the highest speed at which this machine does one thing, measured by the simplest code that
 * reaches it. Rates of rungs are compared with them. Each is an entry in roof.c. */
#ifndef WI_ROOF_H
#define WI_ROOF_H

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wi_roof {
    WI_ROOF_READ,
    WI_ROOF_WRITE,
    WI_ROOF_COPY,
    WI_ROOF_LINK,
    WI_ROOF_LINK_BACK,
    WI_ROOF_PEER,
    WI_ROOF_FMA_F32,
    WI_ROOF_FMA_F64,
    WI_ROOF_TENSOR_F64,
    WI_ROOF_TENSOR_TF32,
    WI_ROOF_TENSOR_BF16,
    WI_ROOF_TENSOR_INT8,
    WI_ROOF_LAUNCH,
    WI_ROOFS
} wi_roof;

/* The unit of a roof. */
typedef enum wi_unit {
    WI_UNIT_BYTES,   /* a second */
    WI_UNIT_FLOPS,   /* a second: additions and multiplications of floating-point numbers */
    WI_UNIT_OPS,     /* a second: the same with integers */
    WI_UNIT_SECONDS, /* less is better */
} wi_unit;

typedef struct wi_roof_row {
    const char *name; /* one word; the same in the table, in JSON and in docs */
    wi_unit unit;
    const char *meaning;
} wi_roof_row;

extern const wi_roof_row wi_roof_rows[WI_ROOFS];

typedef struct wi_meter wi_meter;

/* Measures a roof of the meter's place, in its unit, or gives the value that the meter keeps; 0:
 * this place does not have it. */
weft_status wi_roof_measure(const wi_meter *meter, wi_roof roof, double *value);

/* The same for one kind of place. */
weft_status wi_cpu_roof(const wi_meter *meter, wi_roof roof, double *value);
weft_status wi_gpu_roof(const wi_meter *meter, wi_roof roof, double *value);

#ifdef __cplusplus
}
#endif
#endif
