/* SPDX-License-Identifier: Apache-2.0 */
/* The names that --op takes. */
#ifndef WI_CLI_OPS_H
#define WI_CLI_OPS_H

#include "core/core.h"
#include "weft/op.h"

typedef struct wi_op_name {
    const char *name;
    weft_op op;
    bool reduces, scans;
    bool pairs; /* dot: takes two arrays, and `op` means nothing */
} wi_op_name;

extern const wi_op_name wi_op_names[];
extern const size_t wi_op_name_count;

/* The row of a name; NULL if there is none. */
const wi_op_name *wi_find_op(const char *name);

#endif
