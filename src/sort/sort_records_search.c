/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds in records that are in order, and merging by them: the place of a record is its number
 * plus its bound among the others. */
#include "comm/gpus.h"
#include "cpu/team.h"
#include "gather/gather.h"
#include "sort/sort_fields.h"
#include "sort/sort_run.h"

weft_status wi_fields_check(weft_context *ctx, const char *call, size_t record_bytes,
                            const weft_field *fields, size_t n_fields, wi_fields *checked) {
    if (n_fields > WEFT_MOST_FIELDS)
        return wi_fail(ctx, WEFT_EARG, "%s: n_fields is %zu; pass at most %d", call, n_fields,
                       WEFT_MOST_FIELDS);
    const weft_status status = wi_records_check(ctx, call, record_bytes, fields, n_fields);
    if (status != WEFT_OK)
        return status;
    checked->record_bytes = record_bytes;
    checked->count = n_fields;
    for (size_t k = 0; k < n_fields; k++)
        checked->field[k] =
            (wi_field){fields[k].offset, weft_type_size(fields[k].type),
                       wi_sort_key_of(fields[k].type, fields[k].order == WEFT_DESCENDING)};
    return WEFT_OK;
}

uint64_t wi_fields_alike(const wi_fields *fields) {
    uint64_t alike = wi_alike(wi_alike(0, fields->record_bytes), fields->count);
    for (size_t k = 0; k < fields->count; k++) {
        const wi_field *const f = &fields->field[k];
        alike = wi_alike(wi_alike(wi_alike(alike, f->offset), f->size), f->key.sign);
        alike = wi_alike(wi_alike(wi_alike(alike, f->key.floats), f->key.lowest), f->key.flip);
    }
    return alike;
}

static void search_part(void *user, int rank, int team) {
    const wi_search_records_args *const a = user;
    const size_t end = wi_team_share(a->m, rank + 1, team);
    for (size_t j = wi_team_share(a->m, rank, team); j < end; j++)
        a->positions[j] =
            (a->merges ? j : 0) + wi_fields_bound(&a->fields, a->records, a->n,
                                                  a->wanted + j * a->fields.record_bytes, a->upper);
}

weft_status wi_search_records_threads(weft_context *ctx, const void *args) {
    wi_search_records_args a = *(const wi_search_records_args *)args;
    /* One search takes about as long as reading some hundred bytes. */
    const int team = wi_team_size(ctx, a.m, a.m > SIZE_MAX / 256 ? SIZE_MAX : a.m * 256);
    wi_team_run(ctx, team, search_part, &a);
    return WEFT_OK;
}

static const wi_row rows[] = {
    {.name = "threads",
     .what = "a bisection for each",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_search_records_threads},
#ifdef WEFT_CUDA
    {.name = "bisect",
     .what = "a bisection for each, one a thread",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_search_records_bisect},
#endif
    {.name = "ranks",
     .what = "every wanted record is sent to the rank where it belongs",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_search_records_ranks},
};

const wi_ladder wi_search_records_ladder = {"search_records", rows, sizeof rows / sizeof rows[0]};

/* ---- search ---- */

enum {
    RECORDS,
    WANTED,
    POSITIONS
};

static weft_status run_search(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_search_records_args args = *(const wi_search_records_args *)user;
    args.records = part->p[RECORDS];
    args.wanted = part->p[WANTED];
    args.positions = part->p[POSITIONS];
    return wi_run(ctx, &wi_search_records_ladder, call->name, WI_NO_TYPE, &args);
}

static weft_status run_share(weft_context *rank, void *user);

static weft_status search(weft_context *ctx, wi_search_records_request r, size_t n_fields,
                          weft_status status) {
    static const char name[] = "weft_search_records";
    wi_search_records_args *const a = &r.args;
    wi_call call;
    wi_call_begin(&call, name, 0, 0);
    call.distributed = true;
    if (status == WEFT_OK)
        status = wi_fields_check(ctx, name, a->fields.record_bytes, r.fields, n_fields, &a->fields);
    if (status == WEFT_OK) {
        const size_t bytes = a->fields.record_bytes;
        wi_call_add(&call, wi_items("records", a->records, a->n, bytes, WI_IN));
        wi_call_add(&call, wi_items("wanted", a->wanted, a->m, bytes, WI_IN));
        wi_call_add(&call, wi_elements("positions", a->positions, a->m, WEFT_U64, WI_OUT));
        status = wi_call_check(ctx, &call);
    }
    if (status == WEFT_OK && wi_gpus_forced(ctx, &wi_search_records_ladder))
        return wi_gpus_run(ctx, &wi_search_records_ladder, name, run_share, &r);
    if (wi_is_dist(ctx))
        return wi_dist_run(ctx, &wi_search_records_ladder, name, WI_NO_TYPE,
                           status == WEFT_OK ? wi_alike(wi_fields_alike(&a->fields), a->upper) : 0,
                           status, &r);
    return status == WEFT_OK && a->m > 0 ? wi_call_run(ctx, &call, run_search, a) : status;
}

/* On a place of several GPUs, if that is forced: each has a share of both arrays. */
static weft_status run_share(weft_context *rank, void *user) {
    wi_search_records_request r = *(const wi_search_records_request *)user;
    wi_search_records_args *const a = &r.args;
    const size_t bytes = a->fields.record_bytes;
    const wi_share records = wi_gpus_share(rank, a->records, a->n, bytes);
    const wi_share wanted = wi_gpus_share(rank, a->wanted, a->m, bytes);
    a->n = records.n;
    a->records = wi_share_of(a->records, records, bytes);
    a->m = wanted.n;
    a->wanted = wi_share_of(a->wanted, wanted, bytes);
    a->positions = wi_share_of(a->positions, wanted, sizeof *a->positions);
    return search(rank, r, a->fields.count, WEFT_OK);
}

weft_status weft_search_records(weft_context *ctx, weft_bound bound, size_t n, size_t record_bytes,
                                const void *records, size_t m, const void *wanted,
                                const weft_field *fields, size_t n_fields, uint64_t *positions) {
    const wi_search_records_request r = {.args = {.fields = {.record_bytes = record_bytes},
                                                  .upper = bound == WEFT_UPPER,
                                                  .n = n,
                                                  .m = m,
                                                  .records = records,
                                                  .wanted = wanted,
                                                  .positions = positions},
                                         .fields = fields};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    return search(ctx, r, n_fields, wi_sort_check_bound(ctx, "weft_search_records", bound));
}

/* ---- merge ---- */

enum {
    A,
    B,
    OUT
};

typedef struct merging {
    wi_fields fields;
    size_t na, nb;
} merging;

/* Moves the records of one input to where they belong among those of the other. */
static weft_status move(weft_context *ctx, const char *name, const merging *m, const wi_part *part,
                        bool first, uint64_t *places) {
    const wi_search_records_args search = {.fields = m->fields,
                                           .upper = !first,
                                           .merges = true,
                                           .n = first ? m->nb : m->na,
                                           .m = first ? m->na : m->nb,
                                           .records = part->p[first ? B : A],
                                           .wanted = part->p[first ? A : B],
                                           .positions = places};
    const wi_gather_args scatter = {.scatters = true,
                                    .n = search.m,
                                    .m = m->na + m->nb,
                                    .width = m->fields.record_bytes,
                                    .index_type = WEFT_U64,
                                    .index = places,
                                    .x = search.wanted,
                                    .y = part->p[OUT]};
    if (search.m == 0)
        return WEFT_OK;
    const weft_status status = wi_run(ctx, &wi_search_records_ladder, name, WI_NO_TYPE, &search);
    return status == WEFT_OK ? wi_run(ctx, &wi_scatter_ladder, name, WI_NO_TYPE, &scatter) : status;
}

static weft_status run_merge(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    const merging *const m = user;
    const size_t longer = m->na > m->nb ? m->na : m->nb;
    void *places = NULL;
    weft_status status = wi_sort_take(ctx, call->name, longer * sizeof(uint64_t), &places);
    if (status == WEFT_OK)
        status = move(ctx, call->name, m, part, true, places);
    if (status == WEFT_OK)
        status = move(ctx, call->name, m, part, false, places);
    wi_sort_give(ctx, places);
    return status;
}

/* On a place of several GPUs, if that is forced: each has a share of both arrays. */
static weft_status merge_share(weft_context *rank, void *user) {
    const wi_sort_records_request *const r = user;
    const wi_records_args *const a = &r->args;
    const size_t bytes = a->record_bytes;
    const wi_share of_a = wi_gpus_share(rank, a->records, a->n, bytes);
    const wi_share of_b = wi_gpus_share(rank, r->b, r->nb, bytes);
    const wi_share out = {of_a.first + of_b.first, of_a.n + of_b.n};
    return weft_merge_records(rank, bytes, of_a.n, wi_share_of(a->records, of_a, bytes), of_b.n,
                              wi_share_of(r->b, of_b, bytes), wi_share_of(a->out, out, bytes),
                              a->fields, a->n_fields);
}

weft_status weft_merge_records(weft_context *ctx, size_t record_bytes, size_t na, const void *a,
                               size_t nb, const void *b, void *out, const weft_field *fields,
                               size_t n_fields) {
    static const char name[] = "weft_merge_records";
    merging m = {.na = na, .nb = nb};
    wi_call call;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_fields_check(ctx, name, record_bytes, fields, n_fields, &m.fields);
    if (status == WEFT_OK && na > SIZE_MAX - nb)
        status = wi_fail(ctx, WEFT_EARG, "%s: na + nb, %zu and %zu, does not fit the address space",
                         name, na, nb);
    wi_call_begin(&call, name, 0, 0);
    call.distributed = true;
    if (status == WEFT_OK) {
        wi_call_add(&call, wi_items("a", a, na, record_bytes, WI_IN));
        wi_call_add(&call, wi_items("b", b, nb, record_bytes, WI_IN));
        wi_call_add(&call, wi_items("out", out, na + nb, record_bytes, WI_OUT));
        status = wi_call_check(ctx, &call);
    }
    if (wi_is_dist(ctx) || (status == WEFT_OK && wi_gpus_forced(ctx, &wi_sort_records_ladder))) {
        wi_sort_records_request r = {.args = {.call = name,
                                              .n = na,
                                              .record_bytes = record_bytes,
                                              .records = a,
                                              .out = out,
                                              .fields = fields,
                                              .n_fields = n_fields},
                                     .merges = true,
                                     .nb = nb,
                                     .b = b};
        if (!wi_is_dist(ctx))
            return wi_gpus_run(ctx, &wi_sort_records_ladder, name, merge_share, &r);
        return wi_dist_run(ctx, &wi_sort_records_ladder, name, WI_NO_TYPE,
                           status == WEFT_OK ? wi_records_alike(&r.args) : 0, status, &r);
    }
    return status == WEFT_OK && na + nb > 0 ? wi_call_run(ctx, &call, run_merge, &m) : status;
}
