/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of top_k on a GPU for few elements: "places", and "sorted". */
#ifndef WI_SORT_PLACES_H
#define WI_SORT_PLACES_H

#include "sort/sort.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Are there so few elements that each can count those before it? */
bool wi_top_k_has_places(const wi_top_k_args *args);

/* The rungs; args is a wi_top_k_args. */
weft_status wi_top_k_places(weft_context *ctx, const void *args);
weft_status wi_top_k_sorted(weft_context *ctx, const void *args);

/* The sort of all elements, with their positions if these are wanted; it has no outputs yet. */
wi_sort_args wi_top_k_as_sort(const wi_top_k_args *args);

#ifdef __cplusplus
}
#endif
#endif
