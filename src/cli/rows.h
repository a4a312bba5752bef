/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of tables whose columns have types of their own: their keys, which are some of the columns,
 * and the order of these. */
#ifndef WI_CLI_ROWS_H
#define WI_CLI_ROWS_H

#include "cli/columns.h"
#include "weft/sort.h"

enum {
    WI_KEY_COLUMNS = 64 /* the most */
};

/* The bytes of a row's key: its columns beside each other. */
size_t wi_key_bytes(const wi_column_set *keys);

/* Makes the keys, row after row; free them with wi_host_free. NULL: there is no memory. */
char *wi_keys_pack(const wi_column_set *keys);

/* order[i] = which row comes i-th by its key, which wi_keys_pack made; rows with equal keys keep
 * their order. */
weft_status wi_keys_order(weft_context *ctx, weft_order direction, const wi_column_set *keys,
                          const char *packed, uint64_t *order);

/* Moves rows: row i of *out, which has the titles of `columns`, is the one that positions[i] says.
 * On failure an error has been printed. */
wi_exit wi_rows_gather(const wi_arguments *args, weft_context *ctx, const wi_npy *positions,
                       wi_column_set *columns, wi_column_set *out);

#endif
