/* SPDX-License-Identifier: Apache-2.0 */
/* The list of all ladders, and the choice of a rung: forced by the user, or the best that fits. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "comm/gpus.h"
#include "core/gpu.h"
#include "core/gpu_calls.h"
#include "core/trace.h"
#include "core/tuning.h"
#include "core/variant.h"

#define WI_LADDER(name) WI_OP(name)
#define WI_OP(name) extern const wi_ladder wi_##name##_ladder;
#include "core/ops.def"
#undef WI_OP

#define WI_OP(name) &wi_##name##_ladder,
const wi_ladder *const wi_ops[] = {
#include "core/ops.def"
};
#undef WI_OP
#undef WI_LADDER

_Static_assert(sizeof wi_ops / sizeof *wi_ops <= WI_MAX_OPS, "raise WI_MAX_OPS");
const size_t wi_op_count = sizeof wi_ops / sizeof *wi_ops;

/* A word of a longer string, as the parts of WEFT_VARIANT are. */
typedef struct word {
    const char *text;
    size_t length;
} word;

static word word_of(const char *text) {
    return (word){text, strlen(text)};
}

static bool is_word(const char *name, word w) {
    return strlen(name) == w.length && memcmp(name, w.text, w.length) == 0;
}

/* The position of operation `op` in wi_ops, or wi_op_count. */
static size_t find_op(word op) {
    size_t k = 0;
    while (k < wi_op_count && !is_word(wi_ops[k]->op, op))
        k++;
    return k;
}

/* The position of a ladder in wi_ops. */
static size_t index_of(const wi_ladder *ladder) {
    size_t k = 0;
    while (k < wi_op_count && wi_ops[k] != ladder)
        k++;
    return k < wi_op_count ? k : find_op(word_of(ladder->op)); /* tests make their own */
}

bool wi_row_serves(const wi_row *row, const weft_context *ctx) {
    const wi_scope scope = ctx->comm ? WI_DISTRIBUTED : WI_LOCAL;
    return row->scope == scope && (row->kinds >> ctx->kind & 1);
}

/* The context that the row is to be forced in: on a distributed place, local rows serve each rank's
 * own. NULL: the row does not serve this place. */
static weft_context *served_by(const wi_row *row, weft_context *ctx) {
    if (wi_row_serves(row, ctx) || (wi_is_gpus(ctx) && wi_row_serves(row, wi_gpus_rank(ctx, 0))))
        return ctx;
    return ctx->child && wi_row_serves(row, ctx->child) ? ctx->child : NULL;
}

/* The row named, one that serves the place before others; NULL if there is none. */
static const wi_row *find_row(weft_context *ctx, const wi_ladder *ladder, word variant) {
    const wi_row *other = NULL;
    for (size_t k = 0; k < ladder->count; k++) {
        const wi_row *const row = &ladder->rows[k];
        if (!is_word(row->name, variant))
            continue;
        if (served_by(row, ctx))
            return row;
        other = row;
    }
    return other;
}

static weft_status unknown_op(weft_context *ctx, const char *call, word op) {
    char known[WI_MESSAGE_BYTES] = "";
    for (size_t k = 0; k < wi_op_count; k++)
        wi_append(known, sizeof known, ", ", wi_ops[k]->op);
    return wi_fail(ctx, WEFT_EARG, "%s: there is no operation \"%.*s\"; there are: %s", call,
                   (int)op.length, op.text, known);
}

static weft_status unknown_variant(weft_context *ctx, const char *call, const wi_ladder *ladder,
                                   word variant) {
    char known[WI_MESSAGE_BYTES] = "";
    for (size_t k = 0; k < ladder->count; k++)
        wi_append(known, sizeof known, ", ", ladder->rows[k].name);
    return wi_fail(ctx, WEFT_EARG, "%s: this build has no variant \"%.*s\" of %s; it has: %s", call,
                   (int)variant.length, variant.text, ladder->op, *known ? known : "none");
}

static const char *places_of(const wi_row *row) {
    if (row->scope == WI_DISTRIBUTED)
        return "distributed";
    return row->kinds & WI_ON_CPU ? "cpu" : "gpu";
}

/* Forces ladder k to a row, NULL for none, where it serves; on a place of several GPUs also for
 * each of them. False if it serves nowhere. */
static bool force_row(weft_context *ctx, size_t k, const wi_row *row) {
    weft_context *const served = row ? served_by(row, ctx) : ctx;
    for (int r = 0; wi_is_gpus(ctx) && r < wi_gpus_count(ctx); r++)
        force_row(wi_gpus_rank(ctx, r), k, row);
    if (!row && ctx->child)
        ctx->child->forced[k] = NULL;
    if (served)
        served->forced[k] = row;
    return served;
}

/* Forces op to variant. With `lenient` a variant of another kind of place is passed over. */
static weft_status force(weft_context *ctx, const char *call, word op, word variant, bool lenient) {
    const size_t k = find_op(op);
    if (k == wi_op_count)
        return unknown_op(ctx, call, op);
    if (is_word("auto", variant)) {
        force_row(ctx, k, NULL);
        return WEFT_OK;
    }
    const wi_row *const row = find_row(ctx, wi_ops[k], variant);
    if (!row)
        return unknown_variant(ctx, call, wi_ops[k], variant);
    if (!force_row(ctx, k, row) && !lenient)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: variant %s of %s runs on a %s place, and this one is %s", call,
                       row->name, wi_ops[k]->op, places_of(row), ctx->place);
    return WEFT_OK;
}

weft_status weft_use(weft_context *ctx, const char *op, const char *variant) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    if (!op)
        return wi_fail(ctx, WEFT_EARG, "weft_use: op is NULL; name an operation, as \"scan\"");
    return force(ctx, "weft_use", word_of(op), word_of(variant ? variant : "auto"), false);
}

weft_status wi_use_list(weft_context *ctx, const char *call, const char *list) {
    while (*list) {
        const size_t length = strcspn(list, ",");
        const char *const colon = memchr(list, ':', length);
        if (!colon)
            return wi_fail(ctx, WEFT_EARG,
                           "%s: \"%.*s\" is not OP:VARIANT; write it as "
                           "scan:lookback,reduce:serial",
                           call, (int)length, list);
        const word op = {list, (size_t)(colon - list)};
        const word variant = {colon + 1, length - op.length - 1};
        const weft_status status = force(ctx, call, op, variant, true);
        if (status != WEFT_OK)
            return status;
        list += length + (list[length] == ',');
    }
    return WEFT_OK;
}

const char *weft_used(const weft_context *ctx, const char *op) {
    if (!ctx || !op)
        return NULL;
    const size_t k = find_op(word_of(op));
    return k < wi_op_count && ctx->used[k] ? ctx->used[k]->name : NULL;
}

/* ---- the choice ---- */

static bool takes(const wi_row *row, weft_type type) {
    return row->types >> type & 1;
}

bool wi_row_can(const wi_row *row, const weft_context *ctx, weft_type type, const void *args) {
    return takes(row, type) && !(row->misfit && row->misfit(ctx, args));
}

static unsigned shape_of(const wi_row *row, const void *args) {
    return row->shape ? row->shape(args) : WI_SHAPE_ANY;
}

const wi_row *wi_pick(const weft_context *ctx, const wi_ladder *ladder, weft_type type,
                      const void *args) {
    const wi_row *best = NULL;
    double least = INFINITY;
    const size_t op = ctx->tuning ? index_of(ladder) : 0;
    for (size_t k = 0; k < ladder->count; k++) {
        const wi_row *const row = &ladder->rows[k];
        if (!row->seconds || !wi_row_serves(row, ctx) || !wi_row_can(row, ctx, type, args))
            continue;
        double seconds = row->seconds(ctx, args);
        if (ctx->tuning)
            seconds *= wi_tuning_factor(ctx->tuning, op, k, type, shape_of(row, args));
        if (seconds <= least) {
            best = row;
            least = seconds;
        }
    }
    return best;
}

/* Why the row cannot do the call; NULL if it can. `line`, of WI_MESSAGE_BYTES bytes, may be needed
 * for it. */
static const char *reason_of(const weft_context *ctx, const wi_row *row, weft_type type,
                             const void *args, char *line) {
    char known[WI_MESSAGE_BYTES / 2] = "";
    if (takes(row, type))
        return row->misfit ? row->misfit(ctx, args) : NULL;
    for (int k = 0; k < WEFT_TYPE_COUNT; k++) {
        if (takes(row, (weft_type)k))
            wi_append(known, sizeof known, ", ", weft_type_name((weft_type)k));
    }
    snprintf(line, WI_MESSAGE_BYTES, "does not take %s, only %s", weft_type_name(type), known);
    return line;
}

/* There is nothing to choose: says why, by the first row that the library would choose at all. */
static weft_status none_fits(weft_context *ctx, const wi_ladder *ladder, const char *call,
                             weft_type type, const void *args) {
    char line[WI_MESSAGE_BYTES];
    const char *reason = NULL;
    for (size_t k = 0; k < ladder->count && !reason; k++) {
        if (ladder->rows[k].seconds && wi_row_serves(&ladder->rows[k], ctx))
            reason = reason_of(ctx, &ladder->rows[k], type, args, line);
    }
    return wi_fail(ctx, WEFT_EUNSUPPORTED, "%s: no variant of %s on place %s can do this call: %s",
                   call, ladder->op, ctx->place, reason ? reason : "this place has no rung of it");
}

static weft_status check_forced(weft_context *ctx, const wi_ladder *ladder, const char *call,
                                weft_type type, const void *args, const wi_row *row) {
    char line[WI_MESSAGE_BYTES];
    const char *const reason = wi_row_serves(row, ctx)
                                   ? reason_of(ctx, row, type, args, line)
                                   : "runs on all GPUs, and this call runs on one";
    if (!reason)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EUNSUPPORTED, "%s: variant %s of %s is forced, but it %s", call,
                   row->name, ladder->op, reason);
}

/* Adds what the row predicts of the call to ctx->forecast, if that is about this ladder. */
static void forecast(const weft_context *ctx, const wi_ladder *ladder, const wi_row *row,
                     weft_type type, const void *args) {
    wi_forecast *const told = ctx->forecast;
    if (!told || told->ladder != ladder || !row->seconds)
        return;
    told->seconds += row->seconds(ctx, args);
    told->calls++;
    told->type = type;
    told->shape = shape_of(row, args);
}

const wi_row *wi_forced_row(const weft_context *ctx, const wi_ladder *ladder) {
    return ctx->forced[index_of(ladder)];
}

bool wi_is_forced(const weft_context *ctx, const wi_ladder *ladder) {
    return wi_forced_row(ctx, ladder);
}

void wi_take_used(weft_context *ctx, const wi_ladder *ladder, const weft_context *from) {
    ctx->used[index_of(ladder)] = from->used[index_of(ladder)];
}

/* The ladder is number `op` in wi_ops. */
static weft_status choose(weft_context *ctx, size_t op, const wi_ladder *ladder, const char *call,
                          weft_type type, const void *args, const wi_row **row) {
    const wi_row *const forced = ctx->forced[op];
    *row = forced ? forced : wi_pick(ctx, ladder, type, args);
    if (!*row)
        return none_fits(ctx, ladder, call, type, args);
    return forced ? check_forced(ctx, ladder, call, type, args, forced) : WEFT_OK;
}

static weft_status run_chosen(weft_context *ctx, size_t op, const wi_ladder *ladder,
                              const wi_row *row, const void *args) {
    int before;
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    if (ctx->gpu)
        wi_gpu_call_begins(ctx);
    status = ctx->tracer ? wi_trace_row(ctx, ladder, row, args) : row->run(ctx, args);
    if (ctx->gpu)
        wi_gpu_call_ends(ctx);
    wi_gpu_leave(ctx, before);
    if (status == WEFT_OK)
        ctx->used[op] = row;
    return status;
}

weft_status wi_choose_row(weft_context *ctx, const wi_ladder *ladder, const char *call,
                          weft_type type, const void *args, const wi_row **row) {
    return choose(ctx, index_of(ladder), ladder, call, type, args, row);
}

weft_status wi_run(weft_context *ctx, const wi_ladder *ladder, const char *call, weft_type type,
                   const void *args) {
    const size_t op = index_of(ladder); /* once: all ladders are looked through for it */
    const wi_row *row;
    const weft_status status = choose(ctx, op, ladder, call, type, args, &row);
    if (status != WEFT_OK)
        return status;
    forecast(ctx, ladder, row, type, args);
    return run_chosen(ctx, op, ladder, row, args);
}

weft_status wi_run_row(weft_context *ctx, const wi_ladder *ladder, const wi_row *row,
                       const void *args) {
    return run_chosen(ctx, index_of(ladder), ladder, row, args);
}
