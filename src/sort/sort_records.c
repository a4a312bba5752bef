/* SPDX-License-Identifier: Apache-2.0 */
/* Records, ordered by several fields. On a cpu, positions are sorted by one field after the other,
 * the last field first: sorts are stable, so records with equal fields keep the order of the sorts
 * before. Then every record moves once. */
#include <string.h>

#include "comm/gpus.h"
#include "cpu/team.h"
#include "sort/sort_run.h"

/* Scratch memory of a call. */
typedef struct scratch {
    void *keys, *positions, *moved;
    size_t index_bytes;
} scratch;

static size_t position_at(const scratch *d, size_t i) {
    return d->index_bytes == 4 ? ((const uint32_t *)d->positions)[i]
                               : ((const uint64_t *)d->positions)[i];
}

/* A field to extract from every record. */
typedef struct taking {
    const wi_records_args *args;
    const weft_field *field;
    const scratch *d;
    bool first; /* the records in their original order; else in the order of the positions */
} taking;

static void gather_field(void *user, int rank, int team) {
    const taking *const t = user;
    const wi_records_args *const a = t->args;
    const size_t size = weft_type_size(t->field->type), end = wi_team_share(a->n, rank + 1, team);
    for (size_t i = wi_team_share(a->n, rank, team); i < end; i++) {
        const size_t record = t->first ? i : position_at(t->d, i);
        memcpy((char *)t->d->keys + i * size,
               (const char *)a->records + record * a->record_bytes + t->field->offset, size);
    }
}

/* Sorts the positions by one field. */
static weft_status sort_by(weft_context *ctx, const wi_records_args *a, const weft_field *field,
                           const scratch *d, bool first, size_t *bytes) {
    const size_t size = weft_type_size(field->type);
    if (!bytes)
        wi_team_run(ctx, wi_team_size(ctx, a->n, a->n * a->record_bytes), gather_field,
                    &(taking){a, field, d, first});
    const wi_sort_args sort = {.call = a->call,
                               .type = field->type,
                               .descending = field->order == WEFT_DESCENDING,
                               .end_bit = 8 * (unsigned)size,
                               .n = a->n,
                               .x = d->keys,
                               .y = d->keys,
                               .value_bytes = d->index_bytes,
                               .values = first ? NULL : d->positions,
                               .values_out = d->positions,
                               .bytes = bytes};
    return wi_sort_buckets(ctx, &sort);
}

static size_t whole_lines(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* Sorts the positions by all fields; `room` is asked for or taken by the sorts themselves. */
static weft_status sort_positions(weft_context *ctx, const wi_records_args *a, const scratch *d,
                                  size_t *room) {
    weft_status status = WEFT_OK;
    for (size_t k = a->n_fields; k > 0 && status == WEFT_OK; k--) {
        size_t bytes = 0;
        status = sort_by(ctx, a, &a->fields[k - 1], d, k == a->n_fields, a->bytes ? &bytes : NULL);
        *room = bytes > *room ? bytes : *room;
    }
    return status;
}

static weft_status move_records(weft_context *ctx, const wi_records_args *a, const scratch *d) {
    const wi_sort_gather_args move = {.n = a->n,
                                      .value_bytes = a->record_bytes,
                                      .index_bytes = d->index_bytes,
                                      .values = a->records,
                                      .indices = d->positions,
                                      .values_out = d->moved};
    const weft_status status = wi_sort_gather_threads(ctx, &move);
    return status == WEFT_OK && d->moved != a->out
               ? weft_copy(ctx, a->out, d->moved, a->n * a->record_bytes)
               : status;
}

/* The caller's arrays are written last, when nothing more can fail for want of memory. */
weft_status wi_sort_records_threads(weft_context *ctx, const void *args) {
    const wi_records_args *const a = args;
    const bool in_place = a->records == a->out;
    const size_t short_index = a->n - 1 <= UINT32_MAX ? 4 : 8;
    scratch d = {.index_bytes = a->out ? short_index : a->index_bytes};
    const size_t keys = whole_lines(a->n * 8), positions = whole_lines(a->n * d.index_bytes);
    const size_t needed = keys + positions + (in_place ? a->n * a->record_bytes : 0);
    size_t room = 0;
    void *memory = NULL;
    weft_status status = WEFT_OK;
    if (!a->bytes)
        status = wi_sort_take(ctx, a->call, needed, &memory);
    if (status != WEFT_OK)
        return status;
    d.keys = memory;
    if (a->bytes)
        d.keys = a->out ? a->out : a->indices; /* asked for bytes only, the sort reads no array but
                                                  needs to know which are NULL */
    d.positions = (char *)memory + keys;
    d.moved = in_place ? (char *)memory + keys + positions : a->out;
    status = sort_positions(ctx, a, &d, &room);
    if (a->bytes) {
        *a->bytes += needed + room;
        return status;
    }
    if (status == WEFT_OK)
        status = a->out ? move_records(ctx, a, &d)
                        : weft_copy(ctx, a->indices, d.positions, a->n * d.index_bytes);
    wi_sort_give(ctx, memory);
    return status;
}

weft_status wi_records_check(weft_context *ctx, const char *call, size_t record_bytes,
                             const weft_field *fields, size_t n_fields) {
    if (record_bytes == 0)
        return wi_fail(ctx, WEFT_EARG, "%s: record_bytes is 0; pass the size of a record", call);
    if (n_fields == 0)
        return wi_fail(ctx, WEFT_EARG, "%s: n_fields is 0; pass the field to order by", call);
    if (!fields)
        return wi_fail(ctx, WEFT_EARG, "%s: fields is NULL; pass %zu of them", call, n_fields);
    if (!wi_is_host(ctx, fields))
        return wi_fail(ctx, WEFT_EARG, "%s: fields must lie in host memory", call);
    for (size_t k = 0; k < n_fields; k++) {
        const weft_field *const f = &fields[k];
        weft_status status = wi_check_type(ctx, call, f->type);
        if (status == WEFT_OK)
            status = wi_sort_check_order(ctx, call, f->order);
        if (status != WEFT_OK)
            return status;
        const size_t size = weft_type_size(f->type);
        if (size > record_bytes || f->offset > record_bytes - size)
            return wi_fail(ctx, WEFT_EARG,
                           "%s: fields[%zu], %zu bytes from byte %zu on, ends behind a record of "
                           "record_bytes = %zu",
                           call, k, size, f->offset, record_bytes);
    }
    return WEFT_OK;
}

static const wi_row rows[] = {
    {.name = "threads",
     .what = "positions sorted by the last field first, then each record moved once",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_sort_records_threads},
#ifdef WEFT_CUDA
    {.name = "by_fields",
     .what = "the same; fields that fit one word together are sorted at once",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_sort_records_by_fields},
#endif
    {.name = "ranks",
     .what = "every rank sorts its part; exact cuts; each sorts the pieces of its share",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_sort_records_ranks},
};

const wi_ladder wi_sort_records_ladder = {"sort_records", rows, sizeof rows / sizeof rows[0]};

enum {
    RECORDS,
    OUT,
    ARRAYS
};

static weft_status run_part(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_records_args args = *(const wi_records_args *)user;
    args.records = part->p[RECORDS];
    if (args.index_bytes > 0)
        args.indices = part->p[OUT];
    else
        args.out = part->p[OUT];
    args.bytes = call->asked;
    return wi_run(ctx, &wi_sort_records_ladder, call->name, WI_NO_TYPE, &args);
}

uint64_t wi_records_alike(const wi_records_args *a) {
    uint64_t alike = wi_alike(wi_alike(0, a->record_bytes), a->n_fields);
    for (size_t k = 0; k < a->n_fields; k++)
        alike = wi_alike(wi_alike(wi_alike(alike, a->fields[k].offset), a->fields[k].type),
                         a->fields[k].order);
    return alike;
}

static weft_status run_share(weft_context *rank, void *user);
static weft_status sort_records(weft_context *ctx, wi_records_args args);

/* Checks the call and runs it; `output` is its second array. */
static weft_status check_and_run(weft_context *ctx, wi_records_args *a, wi_array output,
                                 weft_type index_type, weft_status status) {
    wi_call call = {
        .name = a->call,
        .array = {[RECORDS] = wi_items("records", a->records, a->n, a->record_bytes, WI_IN),
                  [OUT] = output},
        .count = ARRAYS,
        .asked = a->bytes,
        .distributed = !a->bytes};
    if (status == WEFT_OK)
        status = wi_records_check(ctx, a->call, a->record_bytes, a->fields, a->n_fields);
    if (status == WEFT_OK)
        status = wi_call_check(ctx, &call);
    if (status == WEFT_OK)
        status = wi_sort_check_room(ctx, a->call, a->n, a->record_bytes + 8 * a->n_fields);
    wi_sort_records_request request = {.args = *a, .index_type = index_type};
    if (status == WEFT_OK && !a->bytes && wi_gpus_forced(ctx, &wi_sort_records_ladder))
        return wi_gpus_run(ctx, &wi_sort_records_ladder, a->call, run_share, &request);
    if (!a->bytes && wi_is_dist(ctx))
        return wi_dist_run(ctx, &wi_sort_records_ladder, a->call, WI_NO_TYPE,
                           status == WEFT_OK ? wi_alike(wi_records_alike(a), index_type) : 0,
                           status, &request);
    if (status != WEFT_OK)
        return status;
    if (a->bytes)
        *a->bytes = 0;
    return a->n == 0 ? WEFT_OK : wi_sort_call_run(ctx, &call, run_part, a);
}

/* On a place of several GPUs, if that is forced: each has a share of both arrays. */
static weft_status run_share(weft_context *rank, void *user) {
    const wi_sort_records_request *const r = user;
    wi_records_args a = r->args;
    const wi_share share = wi_gpus_share(rank, a.records, a.n, a.record_bytes);
    const size_t width = a.index_bytes > 0 ? a.index_bytes : a.record_bytes;
    a.n = share.n;
    a.records = wi_share_of(a.records, share, a.record_bytes);
    a.out = wi_share_of(a.out, share, width);
    a.indices = wi_share_of(a.indices, share, width);
    if (a.index_bytes > 0)
        return check_and_run(rank, &a,
                             wi_elements("indices", a.indices, a.n, r->index_type, WI_OUT),
                             r->index_type, WEFT_OK);
    return sort_records(rank, a);
}

/* ---- the records themselves ---- */

static weft_status sort_records(weft_context *ctx, wi_records_args args) {
    wi_array out = wi_items("out", args.out, args.n, args.record_bytes, WI_OUT);
    out.in_place = 1u << RECORDS;
    return check_and_run(ctx, &args, out, WEFT_U8, WEFT_OK);
}

weft_status weft_sort_records(weft_context *ctx, size_t n, size_t record_bytes, const void *records,
                              void *out, const weft_field *fields, size_t n_fields) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    return sort_records(ctx, (wi_records_args){.call = "weft_sort_records",
                                               .n = n,
                                               .record_bytes = record_bytes,
                                               .records = records,
                                               .out = out,
                                               .fields = fields,
                                               .n_fields = n_fields});
}

weft_status weft_sort_records_bytes(weft_context *ctx, size_t n, size_t record_bytes,
                                    const void *records, void *out, const weft_field *fields,
                                    size_t n_fields, size_t *bytes) {
    static const char name[] = "weft_sort_records_bytes";
    if (wi_check_context(ctx) != WEFT_OK || wi_sort_check_asked(ctx, name, bytes) != WEFT_OK)
        return WEFT_EARG;
    return sort_records(ctx, (wi_records_args){.call = name,
                                               .n = n,
                                               .record_bytes = record_bytes,
                                               .records = records,
                                               .out = out,
                                               .fields = fields,
                                               .n_fields = n_fields,
                                               .bytes = bytes});
}

/* ---- their positions ---- */

static weft_status sort_positions_of(weft_context *ctx, wi_records_args args,
                                     weft_type index_type) {
    const size_t last = args.n > 0 ? args.n - 1 : 0;
    weft_status status = wi_check_type(ctx, args.call, index_type);
    if (status == WEFT_OK)
        status = wi_check_index_type(ctx, args.call, "index_type", index_type, last);
    args.index_bytes = weft_type_size(index_type);
    return check_and_run(ctx, &args,
                         wi_elements("indices", args.indices, args.n, index_type, WI_OUT),
                         index_type, status);
}

weft_status weft_sort_records_indices(weft_context *ctx, size_t n, size_t record_bytes,
                                      const void *records, const weft_field *fields,
                                      size_t n_fields, weft_type index_type, void *indices) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    return sort_positions_of(ctx,
                             (wi_records_args){.call = "weft_sort_records_indices",
                                               .n = n,
                                               .record_bytes = record_bytes,
                                               .records = records,
                                               .fields = fields,
                                               .n_fields = n_fields,
                                               .indices = indices},
                             index_type);
}

weft_status weft_sort_records_indices_bytes(weft_context *ctx, size_t n, size_t record_bytes,
                                            const void *records, const weft_field *fields,
                                            size_t n_fields, weft_type index_type, void *indices,
                                            size_t *bytes) {
    static const char name[] = "weft_sort_records_indices_bytes";
    if (wi_check_context(ctx) != WEFT_OK || wi_sort_check_asked(ctx, name, bytes) != WEFT_OK)
        return WEFT_EARG;
    return sort_positions_of(ctx,
                             (wi_records_args){.call = name,
                                               .n = n,
                                               .record_bytes = record_bytes,
                                               .records = records,
                                               .fields = fields,
                                               .n_fields = n_fields,
                                               .indices = indices,
                                               .bytes = bytes},
                             index_type);
}
