/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "places" of sort_segments on a GPU. */
#ifndef WI_SORT_SEGMENTS_PLACES_H
#define WI_SORT_SEGMENTS_PLACES_H

#include "sort/sort.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_PLACES_SEGMENTS = 2048, /* every block has all offsets in shared memory */
    WI_PLACES_ELEMENTS = 1 << 16
};

/* The rung; args is a wi_segments_args. */
weft_status wi_sort_segments_places(weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
