/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of tables whose columns have types of their own: their keys, their order, and new places. */
#include "cli/rows.h"

#include <string.h>

#include "weft/gather.h"
#include "weft/mpi.h"

static size_t size_of(const wi_npy *column) {
    return weft_type_size(column->layout.type);
}

size_t wi_key_bytes(const wi_column_set *keys) {
    size_t bytes = 0;
    for (size_t k = 0; k < keys->count; k++)
        bytes += size_of(&keys->column[k]);
    return bytes;
}

char *wi_keys_pack(const wi_column_set *keys) {
    const size_t n = wi_table_rows(keys), bytes = wi_key_bytes(keys);
    char *const packed = wi_host_alloc(n * bytes);
    size_t at = 0;
    for (size_t k = 0; packed && k < keys->count; at += size_of(&keys->column[k++])) {
        const size_t size = size_of(&keys->column[k]);
        const char *const from = keys->column[k].data;
        for (size_t r = 0; r < n; r++)
            memcpy(packed + r * bytes + at, from + r * size, size);
    }
    return packed;
}

weft_status wi_keys_order(weft_context *ctx, weft_order direction, const wi_column_set *keys,
                          const char *packed, uint64_t *order) {
    const size_t n = wi_table_rows(keys);
    weft_field fields[WI_KEY_COLUMNS];
    size_t at = 0;
    if (keys->count == 1)
        return weft_sort_indices(ctx, direction, keys->column[0].layout.type, n, packed, WEFT_U64,
                                 order);
    for (size_t k = 0; k < keys->count; at += size_of(&keys->column[k++]))
        fields[k] = (weft_field){at, keys->column[k].layout.type, direction};
    return weft_sort_records_indices(ctx, n, at, packed, fields, keys->count, WEFT_U64, order);
}

static wi_exit gather_column(weft_context *ctx, const wi_npy *positions, wi_npy *from, wi_npy *to) {
    const size_t n = positions->layout.count, size = size_of(from);
    to->layout.type = from->layout.type;
    to->layout.opaque = from->layout.opaque;
    wi_npy_flatten_part(to, n, weft_ranks(ctx) > 1 ? wi_npy_whole(&positions->layout) : n);
    to->titles = from->titles;
    from->titles = NULL;
    to->data = wi_host_alloc(n * size);
    if (!to->data) {
        wi_say_error("no host memory for %zu elements", n);
        return WI_EXIT_FAILED;
    }
    const weft_status status = weft_gather(ctx, n, size, positions->layout.type, positions->data,
                                           from->layout.count, from->data, to->data, NULL);
    return status == WEFT_OK ? WI_EXIT_OK : wi_session_failed(ctx);
}

wi_exit wi_rows_gather(const wi_arguments *args, weft_context *ctx, const wi_npy *positions,
                       wi_column_set *columns, wi_column_set *out) {
    wi_exit result = wi_columns_make(args, columns->count, out);
    for (size_t k = 0; k < columns->count && result == WI_EXIT_OK; k++)
        result = gather_column(ctx, positions, &columns->column[k], &out->column[k]);
    return result;
}
