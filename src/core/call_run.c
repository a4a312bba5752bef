/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the arrays of a call accessible to its place, by copies where that is needed. */
#include "core/call.h"

#include <string.h>

#include "core/gpu.h"
#include "core/stage.h"
#include "core/trace.h"

enum {
    COPY_ALIGNMENT = 256, /* the smallest alignment of device memory */
    SMALL_BYTES = COPY_ALIGNMENT,
    NESTED = 3 /* calls inside of one another that have scratch memory each */
};

/* The addresses of these are the keys of the scratch memory for small copies: one for each depth,
 * because a call that another call makes, on the same GPU, must not overwrite the copies of that
 * one.
 */
static const char small_copies[NESTED];

/* A call while it runs: where its arrays are. */
typedef struct visit {
    wi_call *call;
    wi_part_run run;
    void *user;
    bool host[WI_CALL_ARRAYS];  /* it is in memory that kernels cannot access */
    void *copy[WI_CALL_ARRAYS]; /* its copy on the device, or NULL */
    bool owned[WI_CALL_ARRAYS]; /* the copy must be freed */
    size_t parts;               /* run so far */
    unsigned depth;             /* in calls of the GPU that have small copies */
    bool has_small;
    bool uncut;     /* more arrays than staging can cut: all are copied whole */
    bool over_link; /* staging has copied none: kernels access those of the host over the link */
} visit;

static size_t dense_bytes(const wi_array *a) {
    return a->rows * a->cols * a->width;
}

static bool has_gaps(const wi_array *a) {
    return a->rows > 1 && a->ld != a->cols;
}

static bool is_streamed(const visit *v, int k) {
    return !v->uncut && v->call->cols > 0 && !(v->call->array[k].use & WI_WHOLE);
}

static int count_streamed(const visit *v) {
    int count = 0;
    for (int k = 0; k < v->call->count; k++)
        count += is_streamed(v, k) && v->call->array[k].p;
    return count;
}

/* Can the copy of array i also serve as the copy of array k? Yes if they begin at the same address,
 * i is at least as long, and their rows coincide. */
static bool covers(const visit *v, int i, int k) {
    const wi_array *const a = &v->call->array[i], *const b = &v->call->array[k];
    const bool same_rows =
        a->ld == b->ld && a->width == b->width && a->cols == b->cols && a->rows >= b->rows;
    const bool dense = !has_gaps(a) && !has_gaps(b);
    return v->host[i] && a->p == b->p && (same_rows || (dense && a->bytes >= b->bytes));
}

/* The array whose copy array k uses: the longest that can serve it, the first among equals. */
static int owner_of(const visit *v, int k) {
    int owner = k;
    for (int i = 0; i < v->call->count; i++)
        if (!is_streamed(v, i) && covers(v, i, owner) && (i < owner || !covers(v, owner, i)))
            owner = i;
    return owner;
}

/* ---- copies ---- */

/* Small copies are in scratch memory that the context keeps, so that the call allocates nothing. */
static weft_status take_small(weft_context *ctx, visit *v, int k) {
    void *scratch;
    const weft_status status = wi_gpu_scratch(ctx, &small_copies[v->depth],
                                              (size_t)WI_CALL_ARRAYS * SMALL_BYTES, &scratch);
    if (status != WEFT_OK)
        return status;
    v->copy[k] = (char *)scratch + k * SMALL_BYTES;
    if (!v->has_small)
        wi_gpu_nest(ctx, 1);
    v->has_small = true;
    return WEFT_OK;
}

static weft_status take_copy(weft_context *ctx, visit *v, int k) {
    const size_t bytes = dense_bytes(&v->call->array[k]);
    if (v->call->asked) {
        *v->call->asked += bytes > SMALL_BYTES ? bytes : 0;
        v->copy[k] = (void *)(uintptr_t)((k + 1) * COPY_ALIGNMENT); /* never dereferenced */
        return WEFT_OK;
    }
    if (bytes <= SMALL_BYTES && v->depth < NESTED)
        return take_small(ctx, v, k);
    const weft_status status = wi_gpu_alloc(ctx, &v->copy[k], bytes);
    v->owned[k] = status == WEFT_OK;
    return status;
}

/* Copies one segment. The rows of a staged segment have no gaps on either side. */
static weft_status copy_segment(weft_context *ctx, const void *user, size_t first, size_t rows,
                                size_t cols, void *const p[], const size_t ld[]) {
    const wi_array *const a = user;
    (void)first;
    (void)ld;
    return wi_gpu_copy_within(ctx, p[1], p[0], rows * cols * a->width);
}

/* Copies between an array in host memory and its copy, whose rows have no gaps. */
static weft_status cross(weft_context *ctx, const wi_call *call, int k, void *copy, bool back) {
    const wi_array *const a = &call->array[k];
    void *const p = (void *)(uintptr_t)a->p;
    if (!has_gaps(a))
        return wi_gpu_copy(ctx, back ? p : copy, back ? copy : p, a->bytes);
    const wi_operand host = {p, a->width, a->ld * a->width, !back, back};
    const wi_operand device = {copy, a->width, a->cols * a->width, back, !back};
    const wi_stage_args stage = {.call = call->name,
                                 .rows = a->rows,
                                 .cols = a->cols,
                                 .operand = {back ? device : host, back ? host : device},
                                 .operands = 2,
                                 .run = copy_segment,
                                 .user = a};
    return wi_stage_run(ctx, &stage);
}

static weft_status open_copies(weft_context *ctx, visit *v) {
    weft_status status = WEFT_OK;
    for (int k = 0; k < v->call->count && status == WEFT_OK; k++) {
        if (v->host[k] && !is_streamed(v, k) && owner_of(v, k) == k)
            status = take_copy(ctx, v, k);
    }
    for (int k = 0; k < v->call->count && status == WEFT_OK; k++) {
        if (!v->host[k] || is_streamed(v, k))
            continue;
        const int owner = owner_of(v, k);
        v->copy[k] = v->copy[owner];
        const bool filled = owner != k && v->call->array[owner].use & WI_IN;
        if (v->call->array[k].use & WI_IN && !filled && !v->call->asked)
            status = cross(ctx, v->call, k, v->copy[k], false);
    }
    return status;
}

/* Copies outputs back if `status` is WEFT_OK, and frees the copies. */
static weft_status close_copies(weft_context *ctx, visit *v, weft_status status) {
    for (int k = 0; k < v->call->count && status == WEFT_OK; k++) {
        const wi_array *const a = &v->call->array[k];
        if (v->copy[k] && a->use & WI_OUT && !v->call->asked && a->bytes > 0)
            status = cross(ctx, v->call, k, v->copy[k], true);
    }
    for (int k = 0; k < v->call->count; k++) {
        const weft_status freed = v->owned[k] ? wi_gpu_free(ctx, v->copy[k]) : WEFT_OK;
        status = status == WEFT_OK ? freed : status;
    }
    if (v->has_small)
        wi_gpu_nest(ctx, -1);
    return status;
}

/* ---- running ---- */

static void place_whole(const visit *v, int k, wi_part *part) {
    const wi_array *const a = &v->call->array[k];
    part->p[k] = v->copy[k] ? v->copy[k] : (void *)(uintptr_t)a->p;
    part->ld[k] = v->copy[k] ? a->cols : a->ld;
    part->mirrored = part->mirrored || (v->copy[k] && a->use & WI_OUT);
}

static weft_status run_whole(weft_context *ctx, visit *v) {
    wi_part part = {.rows = v->call->rows, .cols = v->call->cols, .last = true};
    for (int k = 0; k < v->call->count; k++)
        place_whole(v, k, &part);
    return v->run(ctx, v->call, &part, v->user);
}

/* Runs on the caller's own arrays. Kept short, because it adds to the time of every small call. */
static weft_status run_in_place(weft_context *ctx, wi_call *call, wi_part_run run, void *user) {
    wi_part part;
    part.index = part.first = 0;
    part.rows = call->rows;
    part.cols = call->cols;
    part.last = true;
    part.mirrored = part.over_link = false;
    for (int k = 0; k < call->count; k++) {
        part.p[k] = (void *)(uintptr_t)call->array[k].p;
        part.ld[k] = call->array[k].ld;
    }
    return run(ctx, call, &part, user);
}

/* Tells the tracer what the part reads and writes. */
static void note_traffic(weft_context *ctx, const wi_call *call, const wi_part *part) {
    wi_traffic bytes = {0};
    for (int k = 0; k < call->count; k++) {
        const wi_array *const a = &call->array[k];
        const bool cut = call->cols > 0 && !(a->use & WI_WHOLE);
        const size_t elements = cut ? part->rows * part->cols : a->rows * a->cols;
        const uint64_t moved = a->p ? elements * a->width : 0;
        bytes.in += a->use & WI_IN ? moved : 0;
        bytes.out += a->use & WI_OUT ? moved : 0;
    }
    ctx->tracer->bytes = bytes;
}

static weft_status run_segment(weft_context *ctx, const void *user, size_t first, size_t rows,
                               size_t cols, void *const p[], const size_t ld[]) {
    visit *const v = *(visit *const *)user;
    const size_t all = v->call->rows * v->call->cols;
    wi_part part = {.index = v->parts++,
                    .first = first,
                    .rows = rows,
                    .cols = cols,
                    .last = first + rows * cols == all,
                    .over_link = v->over_link};
    for (int k = 0, operand = 0; k < v->call->count; k++) {
        place_whole(v, k, &part);
        if (is_streamed(v, k) && v->call->array[k].p) {
            part.p[k] = p[operand];
            part.ld[k] = ld[operand++];
        }
    }
    if (ctx->tracer)
        note_traffic(ctx, v->call, &part);
    return v->run(ctx, v->call, &part, v->user);
}

static weft_status run_streamed(weft_context *ctx, visit *v) {
    wi_stage_args stage = {.call = v->call->name,
                           .rows = v->call->rows,
                           .cols = v->call->cols,
                           .run = run_segment,
                           .user = &v,
                           .over_link = v->call->over_link ? &v->over_link : NULL};
    for (int k = 0; k < v->call->count; k++) {
        const wi_array *const a = &v->call->array[k];
        if (is_streamed(v, k) && a->p)
            stage.operand[stage.operands++] = (wi_operand){.p = (void *)(uintptr_t)a->p,
                                                           .element_bytes = a->width,
                                                           .pitch_bytes = a->ld * a->width,
                                                           .in = a->use & WI_IN,
                                                           .out = a->use & WI_OUT};
    }
    return wi_stage_run(ctx, &stage);
}

/* Finds where each array is. Memory of another GPU is treated as host memory: copies can read it,
 * kernels may not. */
static bool find_host(const weft_context *ctx, const wi_call *call, bool host[WI_CALL_ARRAYS]) {
    bool any = false;
    for (int k = 0; k < call->count; k++) {
        const wi_array *const a = &call->array[k];
        host[k] = a->bytes > 0 && !wi_is_device(ctx, a->p);
        any = any || host[k];
    }
    return any;
}

/* Copies in, runs, copies out. Arrays that are streamed are copied by segments while it runs. */
static weft_status run_mirrored(weft_context *ctx, visit *v) {
    bool streams = false;
    for (int k = 0; k < v->call->count; k++)
        streams = streams || (v->host[k] && is_streamed(v, k));
    weft_status status = open_copies(ctx, v);
    if (status == WEFT_OK)
        status = streams ? run_streamed(ctx, v) : run_whole(ctx, v);
    return close_copies(ctx, v, status);
}

/* Runs a call whose arrays have no strides: on the caller's arrays if the place can access all of
 * them, else with copies. */
static weft_status run_unstrided(weft_context *ctx, wi_call *call, wi_part_run run, void *user) {
    bool host[WI_CALL_ARRAYS];
    if (ctx->kind == WI_CPU || !find_host(ctx, call, host))
        return run_in_place(ctx, call, run, user);
    int first = 0;
    while (!host[first])
        first++;
    if (!call->asked && wi_gpu_capturing(ctx))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: %s is host memory, which cannot take part in a stream capture; pass "
                       "device memory",
                       call->name, call->array[first].name);
    visit v = {.call = call, .run = run, .user = user, .depth = wi_gpu_nest(ctx, 0)};
    memcpy(v.host, host, (size_t)call->count * sizeof *host);
    v.uncut = count_streamed(&v) > WI_MAX_OPERANDS;
    return run_mirrored(ctx, &v);
}

/* Strided arrays are packed first, and unpacked afterwards. */
static weft_status run_call(weft_context *ctx, wi_call *call, wi_part_run run, void *user) {
    wi_packed packed;
    if (!wi_has_strides(call))
        return run_unstrided(ctx, call, run, user);
    weft_status status = wi_strided_take(ctx, call, &packed);
    if (status == WEFT_OK)
        status = run_unstrided(ctx, call, run, user);
    const weft_status freed = wi_strided_give(ctx, call, &packed);
    return status == WEFT_OK ? freed : status;
}

weft_status wi_call_run(weft_context *ctx, wi_call *call, wi_part_run run, void *user) {
    if (!ctx->tracer || call->asked)
        return run_call(ctx, call, run, user);
    const wi_part all = {.rows = call->rows, .cols = call->cols};
    const wi_traffic before = ctx->tracer->bytes;
    const double begin = wi_trace_host_begin(ctx, call->name, NULL);
    note_traffic(ctx, call, &all);
    const weft_status status = run_call(ctx, call, run, user);
    note_traffic(ctx, call, &all);
    wi_trace_host_end(ctx, call->name, NULL, begin);
    ctx->tracer->bytes = before;
    return status;
}
