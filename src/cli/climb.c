/* SPDX-License-Identifier: Apache-2.0 */
/* `weft climb OP`: an operation's ladder, rung by rung. */
#include <stdio.h>
#include <string.h>

#include "cli/machine.h"
#include "cli/rung.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/text.h"

enum {
    MOST_RUNGS = 64,
    INDENT = 4
};

enum {
    RUNG,
    N,
    TIME,
    FIRST_RATE, /* the rate and its share of the roof, or the merits */
    BELOW = FIRST_RATE + WI_MERITS,
    FIRST,
    COLUMNS
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
    wi_column columns[COLUMNS];
    bool says_what; /* is there room for what a rung changes, behind the columns? */
} climber;

static bool wants_json(const climber *c) {
    return wi_given(c->args, WI_OPT_JSON);
}

/* How much better a rung is than an earlier one: by the rate, or by the last of the merits if both
 * have done the same; 0 if that is not known. */
static double gain(const climber *c, const wi_rung *rung, const wi_rung *earlier) {
    if (!earlier || !(earlier->seconds > 0) || !(rung->seconds > 0))
        return 0;
    if (!c->pool->climb->merits)
        return wi_rung_rate(rung) / wi_rung_rate(earlier);
    const double merit = rung->merit[WI_MERITS - 1];
    return rung->n == earlier->n && merit > 0 ? earlier->merit[WI_MERITS - 1] / merit : 0;
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

/* Chooses what the table shows: as much as the terminal has room for. */
static void lay_out(climber *c) {
    const wi_climb *const climb = c->pool->climb;
    int name = (int)strlen("rung");
    size_t what = strlen("what it changes");
    for (size_t k = 0; k < climb->ladder->count; k++) {
        const wi_row *const row = &climb->ladder->rows[k];
        const int length = (int)strlen(row->name);
        if (row->kind != c->pool->ctx->kind)
            continue;
        name = length > name ? length : name;
        what = strlen(row->what) > what ? strlen(row->what) : what;
    }
    c->columns[RUNG] = (wi_column){.title = "rung", .width = -name};
    c->columns[N] = (wi_column){.title = "n", .width = 8, .rank = 2};
    c->columns[TIME] = (wi_column){.title = "time", .width = 8};
    c->columns[FIRST_RATE] = (wi_column){.title = "rate", .width = 9, .rank = 1};
    c->columns[FIRST_RATE + 1] = (wi_column){.title = "roof", .width = 6, .rank = 3};
    for (size_t k = 0; climb->merits && k < WI_MERITS; k++) /* the last counts most */
        c->columns[FIRST_RATE + k] = (wi_column){
            .title = climb->merits->of[k].title, .width = 7, .rank = k + 1 < WI_MERITS ? 3 : 1};
    c->columns[BELOW] = (wi_column){.title = "x below", .width = 7, .rank = 4};
    c->columns[FIRST] = (wi_column){.title = "x first", .width = 7, .rank = 5};
    wi_table_fit(c->columns, COLUMNS);
    const size_t room = wi_screen_columns(stdout);
    c->says_what = !room || wi_table_width(c->columns, COLUMNS) + 2 + what <= room;
}

static void print_heading(const climber *c) {
    const wi_climb *const climb = c->pool->climb;
    const weft_context *const ctx = c->pool->ctx;
    char title[WI_NAME_BYTES], n[WI_FIELD_BYTES], bytes[WI_FIELD_BYTES], size[64] = "";
    wi_place_title(ctx, title, sizeof title);
    if (!climb->flops && !climb->merits)
        snprintf(size, sizeof size, " (%s an array)",
                 wi_format_bytes((double)(c->n * weft_type_size(c->pool->type)), bytes));
    wi_print_line(stdout, INDENT, "%s%s%s: %s, %s, n = %s%s", wi_style_on(stdout, WI_BOLD),
                  climb->ladder->op, wi_style_on(stdout, WI_PLAIN), climb->example,
                  weft_type_name(c->pool->type), wi_format_count(c->n, n), size);
    wi_print_line(stdout, INDENT, "place: %s, %s", weft_place(ctx), title);
    if (climb->merits)
        wi_print_line(stdout, INDENT, "%s\nx below, x first: how many times fewer %s at the same n",
                      climb->merits->meaning, climb->merits->of[WI_MERITS - 1].title);
    else
        wi_print_line(stdout, INDENT, "roof: %s, measured beside each rung",
                      wi_roof_meaning(climb->roof));
    if (climb->flops)
        wi_print_line(stdout, INDENT,
                      "rate: the additions and multiplications the call cannot do "
                      "without, over its time");
    wi_print_line(stdout, INDENT, "Every result is checked in full before it is timed.\n");
    fputs(wi_style_on(stdout, WI_DIM), stdout);
    wi_table_print(c->columns, COLUMNS, NULL);
    printf("%s%s\n", c->says_what ? "  what it changes" : "", wi_style_on(stdout, WI_PLAIN));
    fflush(stdout);
}

static void print_timed(const climber *c, size_t index) {
    const wi_rung *const rung = &c->rungs[index];
    const wi_climb *const climb = c->pool->climb;
    char n[WI_FIELD_BYTES], time[WI_FIELD_BYTES], rate[WI_MERITS][WI_FIELD_BYTES],
        below[WI_FIELD_BYTES], first[WI_FIELD_BYTES], mark[WI_FIELD_BYTES + 2];
    snprintf(mark, sizeof mark, "%s%s", wi_format_count(rung->n, n),
             rung->limit == WI_LIMIT_NONE ? "" : "*");
    if (climb->merits) {
        for (size_t k = 0; k < WI_MERITS; k++)
            wi_format_amount(rung->merit[k], rate[k]);
    } else {
        wi_rung_format_rate(climb, wi_rung_rate(rung), rate[0]);
        wi_format_share(wi_rung_rate(rung) / rung->roof, rate[1]);
    }
    const char *const cells[COLUMNS] = {
        [RUNG] = rung->row->name,
        [N] = mark,
        [TIME] = wi_format_seconds(rung->seconds, time),
        [FIRST_RATE] = rate[0],
        [FIRST_RATE + 1] = rate[1],
        [BELOW] = wi_format_times(gain(c, rung, measured(c, index, false)), below),
        [FIRST] = wi_format_times(gain(c, rung, measured(c, index, true)), first),
    };
    wi_table_print(c->columns, COLUMNS, cells);
    if (c->says_what)
        printf("  %s\n", rung->row->what);
    else
        wi_print_line(stdout, INDENT, "\n%*s%s", INDENT, "", rung->row->what);
}

static void print_rung(const climber *c, size_t index) {
    const wi_rung *const rung = &c->rungs[index];
    const int width = c->columns[RUNG].width;
    char n[WI_FIELD_BYTES];
    if (rung->n == 0)
        wi_print_line(stdout, INDENT, "%*s %8s  cannot do this call (see below)", width,
                      rung->row->name, "-");
    else if (!rung->ok)
        wi_print_line(stdout, INDENT, "%*s %8s  %sWRONG:%s %s", width, rung->row->name,
                      wi_format_count(rung->n, n), wi_style_on(stdout, WI_RED),
                      wi_style_on(stdout, WI_PLAIN), rung->why);
    else
        print_timed(c, index);
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
    const char *gap = "\n"; /* before the first line */
    char a[WI_FIELD_BYTES], b[WI_FIELD_BYTES];
    for (size_t k = 0; k < c->count; k++) {
        const double roof = c->rungs[k].roof;
        if (roof > 0) {
            least = least > 0 && least < roof ? least : roof;
            most = roof > most ? roof : most;
        }
    }
    if (most > 0) {
        wi_print_line(stdout, INDENT, "%sroof: %s to %s", gap,
                      wi_rung_format_rate(c->pool->climb, least, a),
                      wi_rung_format_rate(c->pool->climb, most, b));
        gap = "";
    }
    for (size_t k = 0; k < c->count; k++) {
        const wi_rung *const rung = &c->rungs[k];
        const char *const text = rung->ok || rung->n == 0 ? limit_text(rung) : NULL;
        if (text) {
            wi_print_line(stdout, INDENT, "%s* %s: %s", gap, rung->row->name, text);
            gap = "";
        }
    }
}

static void json_rung(const climber *c, size_t index) {
    const wi_rung *const rung = &c->rungs[index];
    const wi_climb *const climb = c->pool->climb;
    const double below = gain(c, rung, measured(c, index, false));
    const double first = gain(c, rung, measured(c, index, true));
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
    if (!climb->merits) {
        wi_json_number(&json, "roof_share", timed ? wi_rung_rate(rung) / rung->roof : 0);
        wi_json_number(&json, "speedup_below", below > 0 ? below : 1);
        wi_json_number(&json, "speedup_first", first > 0 ? first : 1);
    }
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
    if (!wants_json(c)) {
        lay_out(c);
        print_heading(c);
    }
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
        c.n = wi_usual_n(climb, ctx, pool.type);
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
    wi_progress_end();
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
