/* SPDX-License-Identifier: Apache-2.0 */
/* Forcing variants by environment variable; context.c and rows.c use it. */
#ifndef WI_VARIANT_H
#define WI_VARIANT_H

#include "core/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Applies a list like "scan:lookback,reduce:serial", ignoring variants that belong to another kind
 * of place. Messages begin with `call`. */
weft_status wi_use_list(weft_context *ctx, const char *call, const char *list);

#ifdef __cplusplus
}
#endif
#endif
