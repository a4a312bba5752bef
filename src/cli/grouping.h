/* SPDX-License-Identifier: Apache-2.0 */
/* What `weft group` computes: rows of a table put into groups of equal keys, and each group's
 * values combined. */
#ifndef WI_CLI_GROUPING_H
#define WI_CLI_GROUPING_H

#include "cli/rows.h"
#include "cli/text.h"

/* What --op names. */
typedef enum wi_group_op {
    WI_GROUP_COUNT, /* of rows; the others are of each column of values */
    WI_GROUP_SUM,
    WI_GROUP_MEAN,
    WI_GROUP_MIN,
    WI_GROUP_MAX,
    WI_GROUP_PRODUCT,
    WI_GROUP_OPS
} wi_group_op;

extern const char *const wi_group_op_names[WI_GROUP_OPS];

enum {
    WI_GROUP_MOST_COLUMNS = WI_KEY_COLUMNS /* of keys, and of values */
};

/* The rows to group: as many of keys as of values. */
typedef struct wi_grouping {
    wi_column_set keys, values;
    const char *value_name[WI_GROUP_MOST_COLUMNS];
    bool may_wrap[WI_GROUP_MOST_COLUMNS]; /* of values: sums may be too large for their type */
    size_t ops;
    wi_group_op op[WI_GROUP_OPS]; /* each at most once */
    bool exact;                   /* sums of floats are correctly rounded */
    bool runs;                    /* only neighbours with equal keys are a group: do not sort */
} wi_grouping;

/* Looks at all rows, which over ranks all have read, and then keeps this rank's share of them. */
wi_exit wi_grouping_begin(const weft_context *ctx, wi_grouping *g);

/* Makes the table of groups: for each the columns of its key, then for each operation, in their
 * order, a column of counts or one for each column of values, each with a type of its own. Over
 * ranks it has the groups that begin in this rank's share. On failure an error has been printed. */
wi_exit wi_group_rows(const wi_arguments *args, weft_context *ctx, wi_grouping *g,
                      wi_column_set *table);

/* Frees the memory. */
void wi_grouping_free(wi_grouping *g);

#endif
