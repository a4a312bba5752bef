/* SPDX-License-Identifier: Apache-2.0 */
/* group over ranks: segments go to the ranks that have their elements, and results come back; runs
 * of equal keys belong to the rank where they begin; a scan goes on from rank to rank. */
#include <string.h>

#include "group/group_dist.h"
#include "scan/scan.h"

static bool is_position(wi_reduction op) {
    return op == WI_RED_ARGMIN || op == WI_RED_ARGMAX;
}

/* ---- segments reduced ---- */

/* Of one column; the segments that ranks have are the same for all. */
typedef struct segments {
    weft_context *ctx;
    const wi_group_args *column;
    const wi_group_pieces *pieces;
    weft_type offset_type;
    wi_group_dealt d;
    wi_group_joining joining;
    size_t width;            /* of a result */
    void *results, *answers; /* of the segments that came, and of this rank's own */
} segments;

/* Positions are made those of the whole in host memory. */
static weft_status take_room(const segments *s, size_t n, void **p) {
    return is_position(s->column->op) ? wi_dist_take(s->ctx, n, s->width, p)
                                      : wi_dist_take_near(s->ctx, n, s->width, p);
}

static void give_room(const segments *s, void *p) {
    if (is_position(s->column->op))
        wi_host_free(p);
    else
        wi_dist_give_near(s->ctx, p);
}

static weft_status take_results(segments *s) {
    size_t all = 0;
    for (int r = 0; r < s->ctx->comm->size; r++)
        all += s->d.sent[r];
    weft_status status = wi_group_joining_open(s->ctx, s->pieces, &s->joining);
    if (status == WEFT_OK)
        status = take_room(s, s->d.count, &s->results);
    return status == WEFT_OK ? take_room(s, all, &s->answers) : status;
}

/* What is sent back of segments that are cut; their results come from all ranks' pieces. */
static weft_status clear_cut(const segments *s) {
    const wi_group_ends *const e = &s->d.ends;
    const uint64_t none = 0;
    char *const results = s->results;
    weft_status status = WEFT_OK;
    if (e->head > 0)
        status = weft_copy(s->ctx->child, results, &none, s->width);
    if (e->tail < e->n && status == WEFT_OK)
        status = weft_copy(s->ctx->child, results + (s->d.count - 1) * s->width, &none, s->width);
    return wi_local(s->ctx, status);
}

/* Reduces the segments that lie in this rank's part with both ends. */
static weft_status reduce_inside(segments *s) {
    const wi_group_args *const a = s->column;
    wi_group_dealt *const d = &s->d;
    const wi_group_ends *const e = &d->ends;
    const size_t from = e->head > 0, end = d->count - (e->tail < e->n);
    weft_status status = clear_cut(s);
    if (end <= from || status != WEFT_OK)
        return status;
    char *const results = (char *)s->results + from * s->width;
    status =
        wi_local(s->ctx, s->pieces->segments(s->ctx->child, a, e->tail - e->head,
                                             (const char *)a->x + e->head * weft_type_size(a->type),
                                             end - from, WEFT_U64, d->starts + from, results));
    if (status == WEFT_OK && is_position(a->op))
        status = wi_dist_add(s->ctx, results, end - from, s->width, d->before + e->head);
    return status;
}

/* Gives the caller the results of this rank's segments, which came from the ranks in order. */
static weft_status put_answers(const segments *s) {
    weft_context *const child = s->ctx->child;
    const char *from = s->answers;
    weft_status status = WEFT_OK;
    for (int r = 0; r < s->ctx->comm->size && status == WEFT_OK; r++) {
        const size_t bytes = s->d.sent[r] * s->width;
        if (bytes > 0)
            status = weft_copy(child, (char *)s->column->y + s->d.first[r] * s->width, from, bytes);
        from += bytes;
    }
    return wi_local(s->ctx, status);
}

/* The result of a segment of this rank that begins in the tail of rank `first`. */
static weft_status put_joined(const segments *s, int first, size_t segment) {
    const wi_group_args *const a = s->column;
    uint64_t result;
    wi_group_join(s->ctx, a, &s->joining, first, &result);
    if (is_position(a->op))
        result += s->d.begins[first] + wi_group_border_of(&s->joining, first)[WI_GROUP_TAIL];
    return wi_local(s->ctx,
                    weft_copy(s->ctx->child, (char *)a->y + segment * s->width, &result, s->width));
}

/* Joins the segments of this rank that are cut between ranks. */
static weft_status join_segments(const segments *s) {
    weft_status status = WEFT_OK;
    int before = -1; /* the rank before, of those that have segments of this rank */
    int first = -1;  /* where the segment begins that is cut */
    for (int r = 0; r < s->ctx->comm->size && status == WEFT_OK; r++) {
        if (s->d.sent[r] == 0)
            continue;
        if (s->d.cut[r]) {
            first = first < 0 ? before : first;
            const uint64_t flags = wi_group_border_of(&s->joining, r)[WI_GROUP_FLAGS];
            if (!(flags & WI_GROUP_THROUGH) && first >= 0) {
                status = put_joined(s, first, s->d.first[r]);
                first = -1;
            }
        }
        before = r;
    }
    return status;
}

static weft_status reduce_segments(segments *s) {
    const wi_group_args *const a = s->column;
    weft_status status = wi_agree(s->ctx, 0, take_results(s));
    if (status == WEFT_OK)
        status = wi_group_share_ends(s->ctx, a->call, a, &s->d.ends, &s->joining);
    if (status == WEFT_OK)
        status = wi_agree(s->ctx, 0, reduce_inside(s));
    if (status == WEFT_OK)
        status = wi_dist_exchange(s->ctx, s->results, s->d.got, s->answers, s->d.sent, s->width);
    if (status == WEFT_OK)
        status = put_answers(s);
    if (status == WEFT_OK)
        status = join_segments(s);
    return status;
}

/* There are no elements: every segment is empty. */
static weft_status reduce_nothing(const segments *s) {
    const wi_group_args *const a = s->column;
    return a->segments == 0
               ? WEFT_OK
               : wi_local(s->ctx, s->pieces->segments(s->ctx->child, a, 0, NULL, a->segments,
                                                      s->offset_type, a->starts, a->y));
}

static weft_status reduce_column(segments *s, const wi_group_args *column) {
    s->column = column;
    s->width = weft_type_size(column->result_type);
    s->results = s->answers = NULL;
    memset(&s->joining, 0, sizeof s->joining);
    const weft_status status = s->d.total > 0 ? reduce_segments(s) : reduce_nothing(s);
    give_room(s, s->results);
    give_room(s, s->answers);
    wi_group_joining_close(&s->joining);
    return status;
}

/* Segments inside of this rank's part are counted from the first of their elements. */
static void shift_starts(wi_group_dealt *d) {
    const wi_group_ends *const e = &d->ends;
    const size_t from = e->head > 0, end = d->count - (e->tail < e->n);
    for (size_t k = from; end > from && k <= end; k++)
        d->starts[k] -= e->head;
}

weft_status wi_group_ranks(weft_context *ctx, const void *request) {
    const wi_group_request *const r = request;
    segments s = {.ctx = ctx, .pieces = r->way->pieces, .offset_type = r->offset_type};
    weft_status status = wi_group_deal(ctx, &r->column[0], r->offset_type, &s.d);
    if (status == WEFT_OK && s.d.total > 0)
        shift_starts(&s.d);
    for (size_t c = 0; c < r->columns && status == WEFT_OK; c++)
        status = reduce_column(&s, &r->column[c]);
    wi_group_deal_close(&s.d);
    return status;
}

/* ---- by key ---- */

typedef struct by_key {
    weft_context *ctx;
    const wi_call *call;
    const wi_group_keys_args *args;
    wi_group_ends ends;
    uint64_t before; /* elements on lower ranks */
    uint64_t runs;   /* that begin here */
    wi_group_joining joining[WEFT_COLUMNS];
    void *keys; /* of runs, if they cannot be written where they go */
} by_key;

static void *y_of(const by_key *b, size_t c) {
    return (void *)(uintptr_t)b->call->array[WI_GROUP_COLUMNS + 2 * c + 1].p;
}

static wi_group_args column_of(const by_key *b, size_t c) {
    wi_group_args column = b->args->column[c];
    column.x = b->call->array[WI_GROUP_COLUMNS + 2 * c].p;
    return column;
}

static weft_status take_keys(by_key *b) {
    const wi_array *const array = b->call->array;
    const bool same = array[WI_GROUP_KEYS_OUT].p == array[WI_GROUP_KEYS].p;
    weft_status status = WEFT_OK;
    for (size_t c = 0; c < b->args->columns && status == WEFT_OK; c++)
        status = wi_group_joining_open(b->ctx, b->args->way->pieces, &b->joining[c]);
    if (status == WEFT_OK && same && b->ends.head > 0)
        status = wi_dist_take_near(b->ctx, b->ends.n - b->ends.head, b->args->width, &b->keys);
    return status;
}

static weft_status share_ends(by_key *b) {
    weft_status status = wi_agree(b->ctx, 0, take_keys(b));
    for (size_t c = 0; c < b->args->columns && status == WEFT_OK; c++) {
        const wi_group_args column = column_of(b, c);
        status = wi_group_share_ends(b->ctx, b->call->name, &column, &b->ends, &b->joining[c]);
    }
    return status;
}

/* Reduces the runs that begin here, as far as they go here. */
static weft_status reduce_runs(by_key *b) {
    wi_call call = *b->call;
    wi_group_keys_args k = *b->args;
    const size_t n = b->ends.n - b->ends.head;
    if (n == 0)
        return WEFT_OK;
    k.n = n;
    for (size_t c = 0; c < k.columns; c++)
        k.column[c].n = k.column[c].segments = n;
    for (int i = 0; i < call.count; i++) {
        wi_array *const a = &call.array[i];
        if (i == WI_GROUP_COUNT)
            continue;
        if (!(a->use & WI_OUT))
            a->p = (const char *)a->p + b->ends.head * a->width;
        a->cols = a->ld = n;
    }
    if (b->keys)
        call.array[WI_GROUP_KEYS_OUT].p = b->keys;
    call.array[WI_GROUP_COUNT] = wi_elements("count", &b->runs, 1, WEFT_U64, WI_OUT);
    weft_status status = wi_call_check(b->ctx->child, &call);
    if (status == WEFT_OK)
        status = wi_group_keys_call_run(b->ctx->child, &call, &k);
    if (status == WEFT_OK && b->keys && b->runs > 0)
        status = weft_copy(b->ctx->child, (void *)(uintptr_t)b->call->array[WI_GROUP_KEYS_OUT].p,
                           b->keys, b->runs * k.width);
    return wi_local(b->ctx, status);
}

/* Positions become those in the whole, and the last run gets what it has on ranks behind. */
static weft_status finish_column(const by_key *b, size_t c) {
    const wi_group_args column = column_of(b, c);
    const size_t width = weft_type_size(column.result_type);
    weft_status status = WEFT_OK;
    uint64_t result;
    if (is_position(column.op))
        status = wi_dist_add(b->ctx, y_of(b, c), b->runs, width, b->before + b->ends.head);
    if (b->ends.tail == b->ends.n || status != WEFT_OK)
        return status;
    wi_group_join(b->ctx, &column, &b->joining[c], b->ctx->comm->rank, &result);
    if (is_position(column.op))
        result += b->before + b->ends.tail;
    return wi_local(b->ctx, weft_copy(b->ctx->child, (char *)y_of(b, c) + (b->runs - 1) * width,
                                      &result, width));
}

static weft_status reduce_by_key(by_key *b) {
    const wi_array *const keys = &b->call->array[WI_GROUP_KEYS];
    void *const count = (void *)(uintptr_t)b->call->array[WI_GROUP_COUNT].p;
    uint64_t unused, total;
    weft_status status = wi_all_counts(b->ctx, b->args->n, &b->before, &total);
    if (status == WEFT_OK)
        status = wi_group_key_ends(b->ctx, keys->p, b->args->width, b->args->n, &b->ends);
    if (status == WEFT_OK)
        status = share_ends(b);
    if (status == WEFT_OK)
        status = reduce_runs(b);
    for (size_t c = 0; c < b->args->columns && status == WEFT_OK; c++)
        status = finish_column(b, c);
    status = wi_agree(b->ctx, 0, status);
    if (status == WEFT_OK)
        status = wi_all_counts(b->ctx, b->runs, &unused, &total);
    b->ctx->comm->own_count = b->runs;
    return status == WEFT_OK
               ? wi_local(b->ctx, weft_copy(b->ctx->child, count, &total, sizeof total))
               : status;
}

weft_status wi_group_keys_ranks(weft_context *ctx, const void *args) {
    const wi_dist_args *const dist = args;
    by_key b = {.ctx = ctx, .call = dist->call, .args = dist->args};
    const weft_status status = reduce_by_key(&b);
    for (size_t c = 0; c < b.args->columns; c++)
        wi_group_joining_close(&b.joining[c]);
    wi_dist_give_near(ctx, b.keys);
    return status;
}

/* ---- scans ---- */

/* Elements [from, end) of this rank. */
static wi_scan_args piece_of(const wi_group_scan_request *r, size_t from, size_t end) {
    const size_t size = weft_type_size(r->scan.type);
    return (wi_scan_args){.call = r->segments.call,
                          .op = r->scan.op,
                          .kind = r->scan.kind,
                          .type = r->scan.type,
                          .from = r->scan.type,
                          .n = end - from,
                          .x = (const char *)r->scan.x + from * size,
                          .y = (char *)r->scan.y + from * size};
}

enum {
    FLAGS,
    TAIL, /* what the elements make that go on behind; of all of the part, and from before */
    WHOLE,
    WORDS
};

/* What the ranks before leave open, for the first segment of this rank. */
static weft_status find_carry(weft_context *ctx, const wi_group_scan_request *r,
                              const wi_group_ends *e, uint64_t *carry) {
    uint64_t own[WORDS] = {[FLAGS] =
                               (e->n > 0 ? WI_GROUP_HAS : 0) | (e->through ? WI_GROUP_THROUGH : 0)};
    const uint64_t *all = NULL;
    const wi_scan_args tail = piece_of(r, e->tail, e->n), whole = piece_of(r, 0, e->n);
    weft_status status = WEFT_OK;
    if (tail.n > 0)
        status = wi_scan_total(ctx->child, &tail, &own[TAIL]);
    if (e->through && status == WEFT_OK)
        status = wi_scan_total(ctx->child, &whole, &own[WHOLE]);
    status = wi_agree(ctx, 0, wi_local(ctx, status));
    if (status == WEFT_OK)
        status = wi_all_words(ctx, own, WORDS, &all);
    *carry = wi_scan_identity(r->scan.op, r->scan.type);
    if (status != WEFT_OK || e->head == 0)
        return status;
    int first = ctx->comm->rank - 1;
    while (first > 0 && all[first * WORDS + FLAGS] != WI_GROUP_HAS)
        first--;
    *carry = all[first * WORDS + TAIL];
    for (int k = first + 1; k < ctx->comm->rank; k++) {
        if (all[k * WORDS + FLAGS] & WI_GROUP_HAS)
            *carry = wi_scan_combine(r->scan.op, r->scan.type, *carry, all[k * WORDS + WHOLE]);
    }
    return status;
}

/* Scans what begins here. */
static weft_status scan_rest(weft_context *ctx, const wi_group_scan_request *r, size_t head,
                             wi_group_dealt *d) {
    const wi_scan_args rest = piece_of(r, head, r->scan.n);
    weft_context *const child = ctx->child;
    const size_t from = head > 0;
    if (rest.n == 0)
        return WEFT_OK;
    if (r->has_keys)
        return weft_scan_by_key(child, rest.kind, rest.op, rest.type, rest.n, r->width,
                                (const char *)r->keys + head * r->width, rest.x, rest.y);
    for (size_t k = from; k <= d->count; k++)
        d->starts[k] -= head;
    return weft_scan_segments(child, rest.kind, rest.op, rest.type, rest.n, rest.x, rest.y,
                              d->count - from, WEFT_U64, d->starts + from);
}

weft_status wi_group_scan_ranks(weft_context *ctx, const void *request) {
    const wi_group_scan_request *const r = request;
    wi_group_dealt d = {.count = 0};
    wi_group_ends ends = {.n = 0};
    uint64_t carry;
    weft_status status = r->has_keys ? wi_group_key_ends(ctx, r->keys, r->width, r->scan.n, &ends)
                                     : wi_group_deal(ctx, &r->segments, r->offset_type, &d);
    if (!r->has_keys)
        ends = d.ends;
    if (status == WEFT_OK)
        status = find_carry(ctx, r, &ends, &carry);
    if (status == WEFT_OK && ends.head > 0) {
        const wi_scan_args first = piece_of(r, 0, ends.head);
        status = wi_local(ctx, wi_scan_from(ctx->child, &first, carry));
    }
    if (status == WEFT_OK)
        status = wi_local(ctx, scan_rest(ctx, r, ends.head, &d));
    wi_group_deal_close(&d);
    return status;
}
