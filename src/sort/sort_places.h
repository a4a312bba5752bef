/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "places" of top_k on a GPU. */
#ifndef WI_SORT_PLACES_H
#define WI_SORT_PLACES_H

#include "sort/sort.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Are there so few elements that each can count those before it? */
bool wi_top_k_has_places(const wi_top_k_args *args);

/* The rung; args is a wi_top_k_args. */
weft_status wi_top_k_places(weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
