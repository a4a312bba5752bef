/* SPDX-License-Identifier: Apache-2.0 */
/* Columns taken out of records, or put into them: one call as the rungs get it, and the rungs. */
#ifndef WI_GATHER_COLUMNS_H
#define WI_GATHER_COLUMNS_H

#include "core/call.h"
#include "core/rows.h"
#include "weft/gather.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One call on memory that the place can access directly. */
typedef struct wi_columns_args {
    bool puts; /* arrays into records; else records into arrays */
    size_t n;  /* > 0 */
    size_t record_bytes;
    unsigned char *records; /* only read, unless `puts` */
    size_t columns;
    weft_table_column column[WEFT_TABLE_COLUMNS];
} wi_columns_args;

extern const wi_ladder wi_columns_ladder;

weft_status wi_columns_threads(weft_context *ctx, const void *args);
weft_status wi_columns_rows(weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
