/* SPDX-License-Identifier: Apache-2.0 */
/* What `weft group` computes: rows of a table put into groups of equal keys, and each group's
 * values combined. */
#ifndef WI_CLI_GROUPING_H
#define WI_CLI_GROUPING_H

#include "cli/session.h"
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
    WI_GROUP_KEY_COLUMNS = 64 /* the most */
};

/* The rows to group. Keys and values are one type each; memory is from wi_host_alloc. */
typedef struct wi_grouping {
    size_t rows, key_columns, value_columns;
    weft_type key_type, value_type;
    void *keys;   /* rows x key_columns, row after row */
    void *values; /* one column of `rows` elements after the other */
    size_t ops;
    wi_group_op op[WI_GROUP_OPS]; /* each at most once */
    bool exact;                   /* sums of floats are correctly rounded */
    bool runs;                    /* only neighbours with equal keys are a group: do not sort */
} wi_grouping;

/* Over ranks, which all have read all rows: keeps this rank's share of them. */
void wi_grouping_take_share(const weft_context *ctx, wi_grouping *g);

/* Makes the table of groups: for each the columns of its key, then for each operation, in their
 * order, a column of counts or one for each column of values. Its type is i64 if all of that is
 * integers, else f64. Over ranks
 * it has the groups that begin in this rank's share. On failure an error has been printed. */
wi_exit wi_group_rows(const wi_arguments *args, weft_context *ctx, wi_grouping *g, wi_npy *table);

/* Over ranks: rank 0's table becomes that of all, those of others empty. */
wi_exit wi_grouping_collect(const wi_arguments *args, weft_context *ctx, wi_npy *table);

/* Frees the memory. */
void wi_grouping_free(wi_grouping *g);

#endif
