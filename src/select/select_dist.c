/* SPDX-License-Identifier: Apache-2.0 */
/* select over ranks: every rank selects from its own part, so the output lies in the order of the
 * ranks already. Then the count becomes that of all, positions those in the whole, and a run that
 * continues on the next ranks is one run of the rank where it begins. */
#include <string.h>

#include "comm/dist.h"
#include "select/select.h"

/* Element i of an array of integers of up to 8 bytes, as bits. */
static weft_status read_bits(weft_context *ctx, const void *p, size_t i, size_t width,
                             uint64_t *bits) {
    *bits = 0;
    return wi_local(ctx, weft_copy(ctx->child, bits, (const char *)p + i * width, width));
}

/* ---- runs that cross from rank to rank ---- */

/* What all know of a rank's part. */
enum {
    COUNT, /* of its elements */
    RUNS,
    FIRST,        /* the bits of its first element */
    LAST,         /* and of the last */
    FIRST_LENGTH, /* the length of its first run */
    WORDS
};

static weft_status look_at_ends(weft_context *ctx, const wi_select_request *r, uint64_t runs,
                                uint64_t own[WORDS]) {
    const wi_array *const array = r->call->array;
    const size_t n = r->args->n, width = r->args->tested_bytes;
    const wi_array *const lengths = &array[WI_SELECT_POSITIONS];
    weft_status status = WEFT_OK;
    memset(own, 0, WORDS * sizeof *own);
    own[COUNT] = n;
    own[RUNS] = runs;
    if (n > 0)
        status = read_bits(ctx, array[WI_SELECT_Y].p, 0, width, &own[FIRST]);
    if (n > 0 && status == WEFT_OK)
        status = read_bits(ctx, array[WI_SELECT_Y].p, runs - 1, width, &own[LAST]);
    if (n > 0 && status == WEFT_OK && lengths->p)
        status = read_bits(ctx, lengths->p, 0, lengths->width, &own[FIRST_LENGTH]);
    return status;
}

/* Does the first run of rank r begin on a rank before? */
static bool continues(const uint64_t *all, int r) {
    int before = r - 1;
    while (before >= 0 && all[before * WORDS + COUNT] == 0)
        before--;
    return all[r * WORDS + COUNT] > 0 && before >= 0 &&
           all[before * WORDS + LAST] == all[r * WORDS + FIRST];
}

/* How many elements the last run of rank r has on the ranks behind it. */
static uint64_t length_behind(const uint64_t *all, int r, int size) {
    uint64_t length = 0;
    for (int k = r + 1; k < size; k++) {
        const uint64_t *const part = &all[k * WORDS];
        if (part[COUNT] > 0 && part[FIRST] != all[r * WORDS + LAST])
            break;
        length += part[FIRST_LENGTH];
        if (part[RUNS] > 1)
            break;
    }
    return length;
}

static weft_status join_runs(weft_context *ctx, const wi_select_request *r, uint64_t *own) {
    const wi_array *const values = &r->call->array[WI_SELECT_Y],
                          *const lengths = &r->call->array[WI_SELECT_POSITIONS];
    const wi_comm *const comm = ctx->comm;
    uint64_t ends[WORDS];
    const uint64_t *all = NULL;
    weft_status status = wi_agree(ctx, 0, look_at_ends(ctx, r, *own, ends));
    if (status == WEFT_OK)
        status = wi_all_words(ctx, ends, WORDS, &all);
    if (status != WEFT_OK || *own == 0)
        return status;
    const bool first_goes = continues(all, comm->rank);
    if (lengths->p && !(first_goes && *own == 1)) {
        char *const last = (char *)(uintptr_t)lengths->p + (*own - 1) * lengths->width;
        status =
            wi_dist_add(ctx, last, 1, lengths->width, length_behind(all, comm->rank, comm->size));
    }
    if (first_goes && status == WEFT_OK)
        status = wi_dist_drop_first(ctx, (void *)(uintptr_t)values->p, *own, values->width);
    if (first_goes && status == WEFT_OK)
        status = wi_dist_drop_first(ctx, (void *)(uintptr_t)lengths->p, *own, lengths->width);
    *own -= first_goes;
    return status;
}

/* ---- the rung ---- */

static weft_status select_own(weft_context *ctx, const wi_select_request *r, uint64_t *own) {
    wi_call call = *r->call;
    wi_select_args args = *r->args;
    call.array[WI_SELECT_COUNT] = wi_elements("count", own, 1, WEFT_U64, WI_OUT);
    weft_status status = wi_call_check(ctx->child, &call);
    if (status == WEFT_OK)
        status = wi_select_run(ctx->child, &call, &args);
    return wi_local(ctx, status);
}

weft_status wi_select_ranks(weft_context *ctx, const void *request) {
    const wi_select_request *const r = request;
    const wi_array *const array = r->call->array, *const positions = &array[WI_SELECT_POSITIONS];
    uint64_t own = 0, before = 0, all_n = 0, count = 0, unused;
    if (r->args->job == WI_SELECT_EXPAND)
        return wi_expand_ranks(ctx, r);
    weft_status status = wi_all_counts(ctx, r->args->n, &before, &all_n);
    if (status == WEFT_OK && r->args->position_bytes > 0)
        status =
            wi_check_index_type(ctx, r->call->name, r->args->unique ? "length_type" : "index_type",
                                r->index_type, r->args->unique || all_n == 0 ? all_n : all_n - 1);
    if (status != WEFT_OK)
        return status; /* the same on all ranks */
    status = wi_agree(ctx, 0, select_own(ctx, r, &own));
    if (status == WEFT_OK && r->args->unique)
        status = join_runs(ctx, r, &own);
    else if (status == WEFT_OK && r->args->position_bytes > 0)
        status = wi_dist_add(ctx, (void *)(uintptr_t)positions->p, own, positions->width, before);
    status = wi_agree(ctx, 0, status);
    if (status == WEFT_OK)
        status = wi_all_counts(ctx, own, &unused, &count);
    if (status != WEFT_OK)
        return status;
    ctx->comm->own_count = own;
    return wi_local(ctx, weft_copy(ctx->child, (void *)(uintptr_t)array[WI_SELECT_COUNT].p, &count,
                                   sizeof count));
}
