/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds in records that are in order, and merging by them: the place of a record is its number
 * plus its bound among the others. */
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

weft_status weft_search_records(weft_context *ctx, weft_bound bound, size_t n, size_t record_bytes,
                                const void *records, size_t m, const void *wanted,
                                const weft_field *fields, size_t n_fields, uint64_t *positions) {
    static const char name[] = "weft_search_records";
    wi_search_records_args args = {.upper = bound == WEFT_UPPER, .n = n, .m = m};
    wi_call call;
    if (wi_check_context(ctx) != WEFT_OK || wi_sort_check_bound(ctx, name, bound) != WEFT_OK ||
        wi_fields_check(ctx, name, record_bytes, fields, n_fields, &args.fields) != WEFT_OK)
        return WEFT_EARG;
    wi_call_begin(&call, name, 0, 0);
    wi_call_add(&call, wi_items("records", records, n, record_bytes, WI_IN));
    wi_call_add(&call, wi_items("wanted", wanted, m, record_bytes, WI_IN));
    wi_call_add(&call, wi_elements("positions", positions, m, WEFT_U64, WI_OUT));
    const weft_status status = wi_call_check(ctx, &call);
    return status == WEFT_OK && m > 0 ? wi_call_run(ctx, &call, run_search, &args) : status;
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

weft_status weft_merge_records(weft_context *ctx, size_t record_bytes, size_t na, const void *a,
                               size_t nb, const void *b, void *out, const weft_field *fields,
                               size_t n_fields) {
    static const char name[] = "weft_merge_records";
    merging m = {.na = na, .nb = nb};
    wi_call call;
    if (wi_check_context(ctx) != WEFT_OK ||
        wi_fields_check(ctx, name, record_bytes, fields, n_fields, &m.fields) != WEFT_OK)
        return WEFT_EARG;
    if (na > SIZE_MAX - nb)
        return wi_fail(ctx, WEFT_EARG, "%s: na + nb, %zu and %zu, does not fit the address space",
                       name, na, nb);
    wi_call_begin(&call, name, 0, 0);
    wi_call_add(&call, wi_items("a", a, na, record_bytes, WI_IN));
    wi_call_add(&call, wi_items("b", b, nb, record_bytes, WI_IN));
    wi_call_add(&call, wi_items("out", out, na + nb, record_bytes, WI_OUT));
    const weft_status status = wi_call_check(ctx, &call);
    return status == WEFT_OK && na + nb > 0 ? wi_call_run(ctx, &call, run_merge, &m) : status;
}
