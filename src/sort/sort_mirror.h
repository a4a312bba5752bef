/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of a call whole on the device: what lies in host memory is copied there and back. */
#ifndef WI_SORT_MIRROR_H
#define WI_SORT_MIRROR_H

#include "core/core.h"

typedef struct wi_mirror {
    const void *array; /* the caller's; NULL: there is none */
    size_t bytes;
    bool in, out; /* the call reads it; the call writes all of it */
    void *p;      /* where the place reaches it: `array` itself or a copy */
    bool copied;
} wi_mirror;

/* Sets p of each. Arrays that are the same one share their copy. With `asked` nothing is allocated
 * or copied: the bytes of the copies are added to it, and p of a copy is an address that is aligned
 * as the copy would be and must not be read. On failure nothing is held. */
weft_status wi_mirror_open(weft_context *ctx, const char *call, wi_mirror *mirrors, size_t count,
                           size_t *asked);

/* Copies outputs back, if `status` says that there are any, and frees the copies. Returns `status`,
 * or else what went wrong. */
weft_status wi_mirror_close(weft_context *ctx, wi_mirror *mirrors, size_t count,
                            weft_status status);

#endif
