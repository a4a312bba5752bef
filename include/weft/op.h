/* SPDX-License-Identifier: Apache-2.0 */
/* The operations that reductions and scans combine elements with. */
#ifndef WEFT_OP_H
#define WEFT_OP_H

/* The values are part of the ABI: new ones are added at the end. */
typedef enum weft_op {
    WEFT_SUM = 0,
    WEFT_PRODUCT,
    WEFT_MIN,
    WEFT_MAX,
    WEFT_AND, /* bitwise; integers only */
    WEFT_OR,
    WEFT_XOR,
    WEFT_ARGMIN, /* this one and those below: reductions only */
    WEFT_ARGMAX,
    WEFT_NRM1,
    WEFT_NRM2,
    WEFT_NRMINF
} weft_op;

#define WEFT_OP_COUNT 12

#endif
