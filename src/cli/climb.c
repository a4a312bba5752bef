/* SPDX-License-Identifier: Apache-2.0 */
/* `weft climb OP`: an operation's ladder, rung by rung. */
#include <stdio.h>
#include <string.h>

#include "cli/machine.h"
#include "cli/rung.h"
#include "cli/session.h"
#include "cli/text.h"

enum {
    MOST_RUNGS = 64
};

/* A ladder being climbed. */
typedef struct climber {
    const wi_arguments *args;
    const wi_meter *meter;
    wi_pool *pool;
    size_t n;
    wi_rung rungs[MOST_RUNGS];
    size_t count;
    bool wrong;
} climber;

static bool wants_json(const climber *c) {
    return wi_given(c->args, WI_OPT_JSON);
}

/* The rate over that of an earlier rung; 0 if either has none. */
static double speedup(const wi_rung *rung, const wi_rung *earlier) {
    return earlier && wi_rung_rate(earlier) > 0 ? wi_rung_rate(rung) / wi_rung_rate(earlier) : 0;
}

/* The nearest earlier rung that was measured, seen from below or from the first. */
static const wi_rung *measured(const climber *c, size_t before, bool first) {
    for (size_t k = 0; k < before; k++) {
        const wi_rung *const rung = &c->rungs[first ? k : before - 1 - k];
        if (rung->seconds > 0)
            return rung;
    }
    return NULL;
}

static void print_heading(const climber *c) {
    const wi_climb *const climb = c->pool->climb;
    const weft_context *const ctx = c->pool->ctx;
    char title[WI_NAME_BYTES], n[WI_FIELD_BYTES], bytes[WI_FIELD_BYTES];
    wi_place_title(ctx, title, sizeof title);
    printf("%s%s%s: %s, %s, n = %s", wi_style_on(stdout, WI_BOLD), climb->ladder->op,
           wi_style_on(stdout, WI_PLAIN), climb->example, weft_type_name(c->pool->type),
           wi_format_count(c->n, n));
    if (!climb->flops)
        printf(" (%s an array)",
               wi_format_bytes((double)(c->n * weft_type_size(c->pool->type)), bytes));
    printf("\nplace: %s, %s\n", weft_place(ctx), title);
    printf("roof: %s, measured beside each rung\n", wi_roof_meaning(climb->roof));
    if (climb->flops)
        puts("rate: the additions and multiplications the call cannot do without, over its time");
    puts("Every result is checked in full before it is timed.\n");
    printf("%s%-17s %8s %8s %9s %6s %7s %7s  %s%s\n", wi_style_on(stdout, WI_DIM), "rung", "n",
           "time", "rate", "roof", "x below", "x first", "what it changes",
           wi_style_on(stdout, WI_PLAIN));
    fflush(stdout);
}

static void print_rung(const climber *c, size_t index) {
    const wi_rung *const rung = &c->rungs[index];
    char n[WI_FIELD_BYTES], time[WI_FIELD_BYTES], rate[WI_FIELD_BYTES], share[WI_FIELD_BYTES],
        below[WI_FIELD_BYTES], first[WI_FIELD_BYTES], mark[WI_FIELD_BYTES + 2];
    if (rung->n == 0) {
        printf("%-17s %8s  %s\n", rung->row->name, "-", "cannot do this call (see below)");
    } else if (!rung->ok) {
        printf("%-17s %8s  %sWRONG:%s %s\n", rung->row->name, wi_format_count(rung->n, n),
               wi_style_on(stdout, WI_RED), wi_style_on(stdout, WI_PLAIN), rung->why);
    } else {
        snprintf(mark, sizeof mark, "%s%s", wi_format_count(rung->n, n),
                 rung->limit == WI_LIMIT_NONE ? "" : "*");
        printf("%-17s %8s %8s %9s %6s %7s %7s  %s\n", rung->row->name, mark,
               wi_format_seconds(rung->seconds, time),
               wi_rung_format_rate(c->pool->climb, wi_rung_rate(rung), rate),
               wi_format_share(wi_rung_rate(rung) / rung->roof, share),
               wi_format_times(speedup(rung, measured(c, index, false)), below),
               wi_format_times(speedup(rung, measured(c, index, true)), first), rung->row->what);
    }
    fflush(stdout);
}

/* Why a rung did not run on all n elements; NULL if it did. */
static const char *limit_text(const wi_rung *rung) {
    switch (rung->limit) {
    case WI_LIMIT_SLOW:
        return "one call with more would take over half a second";
    case WI_LIMIT_MEMORY:
    case WI_LIMIT_MISFIT:
        return rung->why;
    case WI_LIMIT_NONE:
        break;
    }
    return NULL;
}

static void print_footnotes(const climber *c) {
    double least = 0, most = 0;
    char a[WI_FIELD_BYTES], b[WI_FIELD_BYTES];
    for (size_t k = 0; k < c->count; k++) {
        const double roof = c->rungs[k].roof;
        if (roof > 0) {
            least = least > 0 && least < roof ? least : roof;
            most = roof > most ? roof : most;
        }
    }
    putchar('\n');
    if (most > 0)
        printf("roof: %s to %s\n", wi_rung_format_rate(c->pool->climb, least, a),
               wi_rung_format_rate(c->pool->climb, most, b));
    for (size_t k = 0; k < c->count; k++) {
        const wi_rung *const rung = &c->rungs[k];
        if (rung->ok || rung->n == 0) {
            const char *const text = limit_text(rung);
            if (text)
                printf("* %s: %s\n", rung->row->name, text);
        }
    }
}

static void json_rung(const climber *c, size_t index) {
    const wi_rung *const rung = &c->rungs[index];
    const wi_climb *const climb = c->pool->climb;
    const double below = speedup(rung, measured(c, index, false));
    const double first = speedup(rung, measured(c, index, true));
    const bool timed = rung->seconds > 0;
    wi_json json;
    wi_json_open(&json);
    wi_json_string(&json, "op", climb->ladder->op);
    wi_json_string(&json, "variant", rung->row->name);
    wi_json_string(&json, "what", rung->row->what);
    wi_json_string(&json, "example", climb->example);
    wi_json_string(&json, "place", weft_place(c->pool->ctx));
    wi_json_bool(&json, "host_data", climb->roof == WI_ROOF_LINK || c->pool->ctx->kind == WI_CPU);
    wi_json_string(&json, "type", weft_type_name(c->pool->type));
    wi_json_count(&json, "n", rung->n);
    wi_json_count(&json, "n_asked", c->n);
    wi_json_count(&json, "seed", c->pool->seed);
    wi_rung_json(&json, climb, rung);
    wi_json_number(&json, "roof_share", timed ? wi_rung_rate(rung) / rung->roof : 0);
    wi_json_number(&json, "speedup_below", below > 0 ? below : 1);
    wi_json_number(&json, "speedup_first", first > 0 ? first : 1);
    if (rung->n > 0)
        wi_json_bool(&json, "ok", rung->ok);
    else
        wi_json_null(&json, "ok"); /* it did not run */
    wi_json_string(&json, "note", rung->n > 0 && !rung->ok ? rung->why : limit_text(rung));
    wi_json_close(&json);
}

/* Runs one rung and reports it. */
static weft_status climb_rung(climber *c, const wi_row *row) {
    const size_t index = c->count;
    const weft_status status = wi_rung_run(c->pool, c->meter, row, c->n, &c->rungs[index]);
    if (status != WEFT_OK)
        return status;
    c->count++;
    if (c->rungs[index].n > 0 && !c->rungs[index].ok)
        c->wrong = true;
    if (wants_json(c))
        json_rung(c, index);
    else
        print_rung(c, index);
    return WEFT_OK;
}

/* Climbs one ladder; all rungs of the place, or the one of --variant. */
static weft_status climb_ladder(climber *c) {
    const wi_ladder *const ladder = c->pool->climb->ladder;
    const char *const only = c->args->value[WI_OPT_VARIANT];
    weft_status status = WEFT_OK;
    if (!wants_json(c))
        print_heading(c);
    for (size_t k = 0; k < ladder->count && status == WEFT_OK && c->count < MOST_RUNGS; k++) {
        const wi_row *const row = &ladder->rows[k];
        if (row->kind == c->pool->ctx->kind && (!only || strcmp(only, row->name) == 0))
            status = climb_rung(c, row);
    }
    if (status == WEFT_OK && !wants_json(c))
        print_footnotes(c);
    return status;
}

static wi_exit climb_one(const wi_arguments *args, const wi_climb *climb, weft_context *ctx,
                         const wi_meter *meter) {
    wi_pool pool = {.climb = climb, .ctx = ctx, .seed = args->seed, .type = climb->type};
    if (wi_given(args, WI_OPT_TYPE))
        pool.type = args->type;
    climber c = {.args = args, .meter = meter, .pool = &pool, .n = args->n};
    if (!wi_given(args, WI_OPT_N))
        c.n = wi_usual_n(ctx, pool.type);
    wi_exit result = climb_ladder(&c) == WEFT_OK ? WI_EXIT_OK : wi_session_failed(ctx);
    wi_pool_drop(&pool);
    if (result == WI_EXIT_OK && (c.wrong || (wi_given(args, WI_OPT_VARIANT) && !c.rungs[0].ok)))
        result = WI_EXIT_FAILED;
    return result;
}

static const wi_climb *find_climb(const char *op) {
    for (size_t k = 0; k < wi_climb_count; k++) {
        if (wi_climbs[k]->ladder->count > 0 && strcmp(wi_climbs[k]->ladder->op, op) == 0)
            return wi_climbs[k];
    }
    return NULL;
}

/* Climbs `climb`, and after map, on a GPU and unless one rung was asked for, how host data gets
 * there. */
static wi_exit climb_all(const wi_arguments *args, const wi_climb *climb, weft_context *ctx) {
    wi_meter meter;
    const char *const op = climb->ladder->op;
    wi_progress("preparing ...");
    if (wi_meter_open(&meter, ctx) != WEFT_OK)
        return wi_session_failed(ctx);
    wi_exit result = climb_one(args, climb, ctx, &meter);
    const wi_climb *const stage = find_climb("stage");
    if (stage && result != WI_EXIT_USAGE && strcmp(op, "map") == 0 && ctx->kind == WI_CUDA &&
        !wi_given(args, WI_OPT_VARIANT)) {
        if (!wi_given(args, WI_OPT_JSON))
            putchar('\n');
        const wi_exit staged = climb_one(args, stage, ctx, &meter);
        result = result == WI_EXIT_OK ? staged : result;
    }
    wi_meter_close(&meter);
    return result;
}

wi_exit wi_climb_command(const wi_arguments *args) {
    const char *const op = args->operand[0];
    const wi_climb *const climb = find_climb(op);
    weft_context *ctx = NULL;
    if (!climb)
        return wi_usage_word(args->command, "ladder", op, WI_WORDS_CLIMB);
    if (climb->only_type && wi_given(args, WI_OPT_TYPE) && args->type != climb->type)
        return wi_usage(args->command, "option --type: %s is of %s only; leave the option out", op,
                        weft_type_name(climb->type));
    wi_exit result = wi_session_open(args, op, &ctx);
    if (result == WI_EXIT_OK)
        result = climb_all(args, climb, ctx);
    weft_close(ctx);
    return result;
}
