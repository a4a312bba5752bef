/* SPDX-License-Identifier: Apache-2.0 */
/* Forcing variants from the environment; shared by context.c and rows.c. */
#ifndef WI_VARIANT_H
#define WI_VARIANT_H

#include "core/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Obeys a list like "scan:lookback,reduce:serial"; variants of another kind of place are passed
 * over. `call` stands before messages. */
weft_status wi_use_list(weft_context *ctx, const char *call, const char *list);

#ifdef __cplusplus
}
#endif
#endif
