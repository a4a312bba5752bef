/* SPDX-License-Identifier: Apache-2.0 */
/* The names that --op takes. */
#ifndef WI_CLI_OPS_H
#define WI_CLI_OPS_H

#include "cli/words.h"
#include "core/core.h"
#include "weft/op.h"

typedef struct wi_op_name {
    const char *name;
    weft_op op;
    bool reduces, scans;
    bool pairs; /* dot: takes two arrays, and `op` is not used */
} wi_op_name;

/* The names for reductions, and those for scans. */
void wi_list_reductions(const wi_command *command, wi_words *words);
void wi_list_scans(const wi_command *command, wi_words *words);

/* The entry with this name; NULL if there is none. */
const wi_op_name *wi_find_op(const char *name);

#endif
