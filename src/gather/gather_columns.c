/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of a table of records, taken out and put back: the public calls, and how a cpu does it.
 */
#include "gather/gather_columns.h"

#include <string.h>

#include "comm/gpus.h"
#include "cpu/team.h"

enum {
    BLOCK_BYTES = 1 << 14 /* of records, which all columns read from the cache */
};

/* Rows [from, end) of a column; `width` is a constant in most uses. */
static inline __attribute__((always_inline)) void move_rows(const wi_columns_args *a,
                                                            const weft_table_column *c, size_t from,
                                                            size_t end, size_t width) {
    unsigned char *const record = a->records + c->offset, *const array = c->array;
    for (size_t i = from; i < end; i++) {
        if (a->puts)
            memcpy(record + i * a->record_bytes, array + i * width, width);
        else
            memcpy(array + i * width, record + i * a->record_bytes, width);
    }
}

static void move_column(const wi_columns_args *a, const weft_table_column *c, size_t from,
                        size_t end) {
    switch (c->width) {
    case 1:
        move_rows(a, c, from, end, 1);
        break;
    case 2:
        move_rows(a, c, from, end, 2);
        break;
    case 4:
        move_rows(a, c, from, end, 4);
        break;
    case 8:
        move_rows(a, c, from, end, 8);
        break;
    default:
        move_rows(a, c, from, end, c->width);
        break;
    }
}

static void move_share(void *user, int rank, int team) {
    const wi_columns_args *const a = user;
    const size_t rows = BLOCK_BYTES / a->record_bytes, block = rows > 0 ? rows : 1;
    const size_t end = wi_team_share(a->n, rank + 1, team);
    for (size_t i = wi_team_share(a->n, rank, team); i < end; i += block)
        for (size_t c = 0; c < a->columns; c++)
            move_column(a, &a->column[c], i, end - i < block ? end : i + block);
}

weft_status wi_columns_threads(weft_context *ctx, const void *args) {
    wi_columns_args a = *(const wi_columns_args *)args;
    wi_team_run(ctx, wi_team_size(ctx, a.n, a.n * a.record_bytes), move_share, &a);
    return WEFT_OK;
}

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user);

static weft_status columns_ranks(weft_context *ctx, const void *arguments) {
    const wi_dist_args *const dist = arguments;
    wi_columns_args args = *(const wi_columns_args *)dist->args;
    wi_call call = *dist->call;
    return args.n > 0 && args.columns > 0
               ? wi_local(ctx, wi_call_run(ctx->child, &call, run, &args))
               : WEFT_OK;
}

static const wi_row rows[] = {
    {.name = "threads",
     .what = "a stretch of the records for each thread, all columns of a block in turn",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_columns_threads},
#ifdef WEFT_CUDA
    {.name = "rows",
     .what = "a thread for each record, all columns in turn",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_columns_rows},
#endif
    {.name = "ranks",
     .what = "every rank its own records",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = columns_ranks},
};

const wi_ladder wi_columns_ladder = {"columns", rows, sizeof rows / sizeof rows[0]};

/* ---- the calls ---- */

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_columns_args args = *(const wi_columns_args *)user;
    args.n = part->cols;
    args.records = part->p[0];
    for (size_t c = 0; c < args.columns; c++)
        args.column[c].array = part->p[1 + c];
    return wi_run(ctx, &wi_columns_ladder, call->name, WI_NO_TYPE, &args);
}

static weft_status check_columns(weft_context *ctx, const char *name, size_t record_bytes,
                                 size_t columns, const weft_table_column *column) {
    if (record_bytes == 0)
        return wi_fail(ctx, WEFT_EARG, "%s: record_bytes is 0; pass the size of a record", name);
    if (columns > WEFT_TABLE_COLUMNS)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: columns is %zu; pass at most %d, and the others in another call", name,
                       columns, WEFT_TABLE_COLUMNS);
    if (columns > 0 && !column)
        return wi_fail(ctx, WEFT_EARG, "%s: column is NULL; pass an array of %zu weft_table_column",
                       name, columns);
    for (size_t c = 0; c < columns; c++)
        if (column[c].width == 0 || column[c].width > record_bytes ||
            column[c].offset > record_bytes - column[c].width)
            return wi_fail(ctx, WEFT_EARG,
                           "%s: column[%zu], %zu bytes from byte %zu on, is no part of a record of "
                           "record_bytes = %zu",
                           name, c, column[c].width, column[c].offset, record_bytes);
    return WEFT_OK;
}

/* What all ranks must pass alike. */
static uint64_t alike_of(const wi_columns_args *args) {
    uint64_t alike = wi_alike(wi_alike(0, args->record_bytes), args->columns);
    for (size_t c = 0; c < args->columns; c++)
        alike = wi_alike(wi_alike(alike, args->column[c].offset), args->column[c].width);
    return alike;
}

static weft_status move_columns(weft_context *ctx, bool puts, size_t n, size_t record_bytes,
                                const void *records, size_t columns,
                                const weft_table_column *column);

static weft_status run_share(weft_context *rank, void *user) {
    const wi_columns_args *const a = user;
    const wi_share share = wi_gpus_share(rank, a->records, a->n, a->record_bytes);
    weft_table_column column[WEFT_TABLE_COLUMNS];
    for (size_t c = 0; c < a->columns; c++) {
        column[c] = a->column[c];
        column[c].array = wi_share_of(column[c].array, share, column[c].width);
    }
    return move_columns(rank, a->puts, share.n, a->record_bytes,
                        wi_share_of(a->records, share, a->record_bytes), a->columns, column);
}

static weft_status move_columns(weft_context *ctx, bool puts, size_t n, size_t record_bytes,
                                const void *records, size_t columns,
                                const weft_table_column *column) {
    static const char *const names[WEFT_TABLE_COLUMNS] = {
        "column[0].array", "column[1].array", "column[2].array", "column[3].array",
        "column[4].array", "column[5].array", "column[6].array", "column[7].array"};
    const char *const name = puts ? "weft_put_columns" : "weft_take_columns";
    wi_columns_args args = {.puts = puts,
                            .n = n,
                            .record_bytes = record_bytes,
                            .records = (unsigned char *)(uintptr_t)records,
                            .columns = columns};
    wi_call call;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = check_columns(ctx, name, record_bytes, columns, column);
    wi_call_begin(&call, name, 1, n);
    call.distributed = true;
    wi_call_add(&call,
                wi_items("records", records, n, record_bytes, puts ? WI_IN | WI_OUT : WI_IN));
    for (size_t c = 0; c < columns && status == WEFT_OK; c++) {
        args.column[c] = column[c];
        wi_call_add(&call,
                    wi_items(names[c], column[c].array, n, column[c].width, puts ? WI_IN : WI_OUT));
    }
    if (status == WEFT_OK)
        status = wi_call_check(ctx, &call);
    if (status == WEFT_OK && wi_gpus_wanted(ctx, &wi_columns_ladder, records, n, record_bytes))
        return wi_gpus_run(ctx, &wi_columns_ladder, name, run_share, &args);
    if (wi_is_dist(ctx))
        return wi_dist_run(ctx, &wi_columns_ladder, name, WI_NO_TYPE,
                           status == WEFT_OK ? alike_of(&args) : 0, status,
                           &(wi_dist_args){&call, &args});
    return status == WEFT_OK && n > 0 && columns > 0 ? wi_call_run(ctx, &call, run, &args) : status;
}

weft_status weft_take_columns(weft_context *ctx, size_t n, size_t record_bytes, const void *records,
                              size_t columns, const weft_table_column *column) {
    return move_columns(ctx, false, n, record_bytes, records, columns, column);
}

weft_status weft_put_columns(weft_context *ctx, size_t n, size_t record_bytes, void *records,
                             size_t columns, const weft_table_column *column) {
    return move_columns(ctx, true, n, record_bytes, records, columns, column);
}
