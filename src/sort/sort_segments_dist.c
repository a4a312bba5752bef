/* SPDX-License-Identifier: Apache-2.0 */
/* Segments over ranks: every rank sorts those that lie in its part by themselves. Of the others the
 * elements become records of the segment's number, the key and the value, which all ranks sort: as
 * segments are in order already, each element stays in the places of its segment. */
#include "group/group_dist.h"
#include "sort/sort_run.h"
#include "weft/gather.h"
#include "weft/map.h"
#include "weft/records.h"

typedef struct work {
    weft_context *ctx;
    const wi_segments_args *args;
    wi_group_dealt d;
    uint64_t head_number, tail_number; /* of the segments that are cut at both ends */
    bool any_cut;                      /* on any rank */
    size_t size, record_bytes;         /* of a key, of a record */
    void *numbers, *records;
} work;

/* Numbers the segments that are cut: one begins in the tail of each rank that has one. */
static weft_status number_cut(work *w) {
    const wi_group_ends *const e = &w->d.ends;
    const bool cut_behind = e->tail < e->n;
    const bool cut_before = e->head > 0;
    const uint64_t own[2] = {cut_behind, cut_before || cut_behind}, *all = NULL;
    const weft_status status = wi_all_words(w->ctx, own, 2, &all);
    for (int r = 0; r < w->ctx->comm->size && status == WEFT_OK; r++) {
        w->head_number += r < w->ctx->comm->rank ? all[2 * r] : 0;
        w->any_cut |= all[2 * r + 1] != 0;
    }
    w->tail_number = w->head_number + 1;
    return status;
}

/* Elements [from, end), whose records are `at` and behind: packs them, or puts them back. */
static weft_status move(const work *w, size_t at, size_t from, size_t end, uint64_t number,
                        bool back) {
    const wi_sort_args *const a = &w->args->sort;
    weft_context *const child = w->ctx->child;
    char *const records = (char *)w->records + at * w->record_bytes;
    uint64_t *const numbers = (uint64_t *)w->numbers + at;
    const void *const keys = back ? a->y : a->x;
    const void *const values = back ? a->values_out : a->values;
    const weft_table_column column[] = {
        {sizeof number, w->size, (char *)(uintptr_t)keys + from * w->size},
        {sizeof number + w->size, a->value_bytes,
         a->value_bytes > 0 ? (char *)(uintptr_t)values + from * a->value_bytes : NULL},
        {0, sizeof number, numbers}};
    const weft_table_column packed[] = {column[2], column[0], column[1]};
    const size_t columns = a->value_bytes > 0 ? 2 : 1;
    if (end == from)
        return WEFT_OK;
    if (back)
        return weft_take_columns(child, end - from, w->record_bytes, records, columns, column);
    const weft_status status = weft_fill(child, WEFT_U64, end - from, &number, numbers);
    return status == WEFT_OK
               ? weft_put_columns(child, end - from, w->record_bytes, records, columns + 1, packed)
               : status;
}

static weft_status move_cut(const work *w, bool back) {
    const wi_group_ends *const e = &w->d.ends;
    weft_status status = move(w, 0, 0, e->head, w->head_number, back);
    if (status == WEFT_OK)
        status = move(w, e->head, e->tail, e->n, w->tail_number, back);
    return wi_local(w->ctx, status);
}

static weft_status pack(work *w) {
    const wi_group_ends *const e = &w->d.ends;
    const size_t n = e->head + (e->n - e->tail);
    weft_status status = wi_dist_take_near(w->ctx, n, sizeof(uint64_t), &w->numbers);
    if (status == WEFT_OK)
        status = wi_dist_take_near(w->ctx, n, w->record_bytes, &w->records);
    return status == WEFT_OK ? move_cut(w, false) : status;
}

static weft_status sort_cut(const work *w) {
    const wi_sort_args *const a = &w->args->sort;
    const wi_group_ends *const e = &w->d.ends;
    const weft_order order = a->descending ? WEFT_DESCENDING : WEFT_ASCENDING;
    const weft_field fields[] = {{0, WEFT_U64, WEFT_ASCENDING}, {sizeof(uint64_t), a->type, order}};
    const wi_sort_records_request request = {.args = {.call = a->call,
                                                      .n = e->head + (e->n - e->tail),
                                                      .record_bytes = w->record_bytes,
                                                      .records = w->records,
                                                      .out = w->records,
                                                      .fields = fields,
                                                      .n_fields = 2}};
    return wi_sort_records_ranks(w->ctx, &request);
}

/* Sorts what lies between the ends. */
static weft_status sort_inside(work *w) {
    const wi_sort_args *const a = &w->args->sort;
    const wi_group_ends *const e = &w->d.ends;
    const size_t from = e->head > 0, end = w->d.count - (e->tail < e->n);
    const weft_order order = a->descending ? WEFT_DESCENDING : WEFT_ASCENDING;
    if (e->tail <= e->head || end <= from)
        return WEFT_OK;
    for (size_t k = from; k <= end; k++)
        w->d.starts[k] -= e->head;
    const size_t key = e->head * w->size, value = e->head * a->value_bytes;
    return wi_local(w->ctx,
                    weft_sort_segments(w->ctx->child, order, a->type, e->tail - e->head,
                                       (const char *)a->x + key, (char *)a->y + key, a->value_bytes,
                                       a->value_bytes > 0 ? (const char *)a->values + value : NULL,
                                       a->value_bytes > 0 ? (char *)a->values_out + value : NULL,
                                       end - from, w->d.starts + from));
}

static weft_status sort_all(work *w) {
    weft_status status = number_cut(w);
    if (status == WEFT_OK && w->any_cut) {
        status = wi_agree(w->ctx, 0, pack(w));
        if (status == WEFT_OK)
            status = wi_agree(w->ctx, 0, sort_cut(w));
    }
    if (status == WEFT_OK)
        status = sort_inside(w);
    if (status == WEFT_OK && w->any_cut)
        status = move_cut(w, true);
    return status;
}

weft_status wi_sort_segments_ranks(weft_context *ctx, const void *arguments) {
    const wi_segments_args *const args = arguments;
    const wi_sort_args *const a = &args->sort;
    work w = {.ctx = ctx, .args = args, .size = weft_type_size(a->type)};
    w.record_bytes = sizeof(uint64_t) + w.size + a->value_bytes;
    const wi_group_args segments = {.call = a->call,
                                    .n = a->n,
                                    .segments = args->segments,
                                    .starts = args->offsets,
                                    .start_bytes = sizeof(uint64_t)};
    weft_status status = wi_group_deal(ctx, &segments, WEFT_U64, &w.d);
    if (status == WEFT_OK && w.d.total > 0)
        status = sort_all(&w);
    wi_dist_give_near(ctx, w.numbers);
    wi_dist_give_near(ctx, w.records);
    wi_group_deal_close(&w.d);
    return status;
}
