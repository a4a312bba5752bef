/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of equal records. On a cpu each thread counts the runs that begin in its share, and then
 * writes them behind those of the threads before. */
#include <string.h>

#include "comm/gpus.h"
#include "cpu/team.h"
#include "select/select.h"
#include "sort/sort_fields.h"
#include "sort/sort_run.h"

/* What the threads share. */
typedef struct runs {
    const wi_record_runs_args *args;
    size_t *begun; /* in each thread's share; then in all shares before */
    bool writes;
} runs;

static bool begins(const wi_record_runs_args *a, size_t i) {
    const size_t bytes = a->fields.record_bytes;
    return i == 0 ||
           wi_fields_compare(&a->fields, a->records + (i - 1) * bytes, a->records + i * bytes) != 0;
}

/* Run k begins at record i; lengths hold where runs begin at first. */
static void write_run(const wi_record_runs_args *a, size_t k, size_t i) {
    const size_t bytes = a->fields.record_bytes;
    memcpy(a->out + k * bytes, a->records + i * bytes, bytes);
    if (a->length_bytes == sizeof(uint32_t))
        ((uint32_t *)a->lengths)[k] = (uint32_t)i;
    else if (a->length_bytes > 0)
        ((uint64_t *)a->lengths)[k] = i;
}

static void look_at_share(void *user, int rank, int team) {
    const runs *const r = user;
    const size_t n = r->args->n, end = wi_team_share(n, rank + 1, team);
    size_t k = r->writes ? r->begun[rank] : 0;
    for (size_t i = wi_team_share(n, rank, team); i < end; i++) {
        if (!begins(r->args, i))
            continue;
        if (r->writes)
            write_run(r->args, k, i);
        k++;
    }
    if (!r->writes)
        r->begun[rank] = k;
}

weft_status wi_record_runs_threads(weft_context *ctx, const void *args) {
    const wi_record_runs_args *const a = args;
    const int team = wi_team_size(ctx, a->n, a->n * a->fields.record_bytes);
    runs r = {.args = a, .begun = wi_host_alloc((size_t)team * sizeof *r.begun)};
    size_t count = 0;
    if (!r.begun)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no host memory for the counts of %d threads", a->call,
                       team);
    wi_team_run(ctx, team, look_at_share, &r);
    for (int rank = 0; rank < team; rank++) {
        const size_t own = r.begun[rank];
        r.begun[rank] = count;
        count += own;
    }
    r.writes = true;
    wi_team_run(ctx, team, look_at_share, &r);
    wi_host_free(r.begun);
    if (a->length_bytes > 0)
        wi_select_take_distances(&(wi_select_args){.n = a->n,
                                                   .positions = a->lengths,
                                                   .position_bytes = a->length_bytes},
                                 count);
    *a->count = count;
    return WEFT_OK;
}

static const wi_row rows[] = {
    {.name = "threads",
     .what = "runs counted in each thread's share, then written",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_record_runs_threads},
#ifdef WEFT_CUDA
    {.name = "marked",
     .what = "the first of each run marked, its position selected, the record moved",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_record_runs_marked},
#endif
    {.name = "ranks",
     .what = "every rank its own runs; those that cross ranks are joined",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_record_runs_ranks},
};

const wi_ladder wi_record_runs_ladder = {"record_runs", rows, sizeof rows / sizeof rows[0]};

/* ---- the calls ---- */

enum {
    RECORDS,
    OUT,
    COUNT,
    LENGTHS
};

/* Only what was written is copied back to the host. */
static weft_status keep_written(weft_context *ctx, wi_call *call, const wi_part *part) {
    uint64_t count;
    if (!part->mirrored)
        return WEFT_OK;
    const weft_status status = weft_copy(ctx, &count, part->p[COUNT], sizeof count);
    if (status != WEFT_OK)
        return status;
    call->array[OUT].bytes = count * call->array[OUT].width;
    if (call->count > LENGTHS)
        call->array[LENGTHS].bytes = count * call->array[LENGTHS].width;
    return WEFT_OK;
}

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_record_runs_args args = *(const wi_record_runs_args *)user;
    args.records = part->p[RECORDS];
    args.out = part->p[OUT];
    args.count = part->p[COUNT];
    args.lengths = call->count > LENGTHS ? part->p[LENGTHS] : NULL;
    const weft_status status = wi_run(ctx, &wi_record_runs_ladder, call->name, WI_NO_TYPE, &args);
    return status == WEFT_OK ? keep_written(ctx, call, part) : status;
}

static weft_status run_share(weft_context *rank, void *user);

/* `status` is what the checks of other arguments have said. */
static weft_status find_runs(weft_context *ctx, wi_record_runs_request r, size_t record_bytes,
                             size_t n_fields, weft_status status) {
    static const uint64_t none = 0;
    wi_record_runs_args *const a = &r.args;
    wi_call call;
    wi_call_begin(&call, a->call, 0, 0);
    call.distributed = true;
    if (status == WEFT_OK)
        status = wi_fields_check(ctx, a->call, record_bytes, r.fields, n_fields, &a->fields);
    if (status == WEFT_OK) {
        wi_call_add(&call, wi_items("records", a->records, a->n, record_bytes, WI_IN));
        wi_call_add(&call, wi_items("out", a->out, a->n, record_bytes, WI_OUT));
        wi_call_add(&call, wi_elements("count", a->count, 1, WEFT_U64, WI_OUT));
        if (a->length_bytes > 0)
            wi_call_add(&call, wi_elements("lengths", a->lengths, a->n, r.length_type, WI_OUT));
        status = wi_call_check(ctx, &call);
    }
    if (status == WEFT_OK &&
        wi_gpus_wanted(ctx, &wi_record_runs_ladder, a->records, a->n, record_bytes))
        return wi_gpus_run(ctx, &wi_record_runs_ladder, a->call, run_share, &r);
    if (wi_is_dist(ctx))
        return wi_dist_run(ctx, &wi_record_runs_ladder, a->call, WI_NO_TYPE,
                           status == WEFT_OK ? wi_alike(wi_fields_alike(&a->fields), r.length_type)
                                             : 0,
                           status, &r);
    if (status != WEFT_OK)
        return status;
    return a->n > 0 ? wi_call_run(ctx, &call, run, a)
                    : weft_copy(ctx, a->count, &none, sizeof none);
}

/* On a place of several GPUs: outputs of ranks behind the first wait in memory of their own, until
 * all know where they belong. */
static weft_status run_share(weft_context *rank, void *user) {
    const wi_record_runs_request *const all = user;
    wi_record_runs_request r = *all;
    wi_record_runs_args *const a = &r.args;
    const size_t bytes = a->fields.record_bytes;
    const wi_share share = wi_gpus_share(rank, a->records, a->n, bytes);
    void *out = NULL, *lengths = NULL;
    uint64_t unused, total;
    weft_status status = WEFT_OK;
    a->n = share.n;
    a->records = wi_share_of(a->records, share, bytes);
    if (weft_rank(rank) > 0) {
        a->count = &unused;
        if (share.n > 0)
            status = weft_alloc(rank->child, &out, share.n * bytes);
        if (share.n > 0 && a->length_bytes > 0 && status == WEFT_OK)
            status = weft_alloc(rank->child, &lengths, share.n * a->length_bytes);
        a->out = out;
        a->lengths = lengths;
    }
    status = wi_agree(rank, 0, wi_local(rank, status));
    if (status == WEFT_OK)
        status = find_runs(rank, r, bytes, a->fields.count, WEFT_OK);
    const uint64_t own = rank->comm->own_count;
    if (status == WEFT_OK)
        status = wi_gpus_put(rank, status, all->args.out, out, own, bytes, &total);
    if (status == WEFT_OK && a->length_bytes > 0)
        status =
            wi_gpus_put(rank, status, all->args.lengths, lengths, own, a->length_bytes, &total);
    weft_free(rank->child, out);
    weft_free(rank->child, lengths);
    return status;
}

weft_status weft_unique_records(weft_context *ctx, size_t n, size_t record_bytes,
                                const void *records, void *out, const weft_field *fields,
                                size_t n_fields, uint64_t *count) {
    const wi_record_runs_request r = {.args = {.call = "weft_unique_records",
                                               .n = n,
                                               .records = records,
                                               .out = out,
                                               .count = count},
                                      .fields = fields};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    return find_runs(ctx, r, record_bytes, n_fields, WEFT_OK);
}

weft_status weft_run_length_records(weft_context *ctx, size_t n, size_t record_bytes,
                                    const void *records, void *out, const weft_field *fields,
                                    size_t n_fields, weft_type length_type, void *lengths,
                                    uint64_t *count) {
    static const char name[] = "weft_run_length_records";
    const wi_record_runs_request r = {.args = {.call = name,
                                               .n = n,
                                               .records = records,
                                               .out = out,
                                               .length_bytes = weft_type_size(length_type),
                                               .lengths = lengths,
                                               .count = count},
                                      .fields = fields,
                                      .length_type = length_type};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_check_type(ctx, name, length_type);
    if (status == WEFT_OK)
        status = wi_check_index_type(ctx, name, "length_type", length_type, n);
    return find_runs(ctx, r, record_bytes, n_fields, status);
}
