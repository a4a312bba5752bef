/* SPDX-License-Identifier: Apache-2.0 */
/* `weft demo`: every operation on the best place, against the serial C loop. */
#include <stdio.h>
#include <string.h>

#include "cli/machine.h"
#include "cli/rates.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/text.h"

enum {
    OPERATION,
    VARIANT,
    N,
    TIME,
    RATE,
    ROOF,
    SERIAL,
    SPEED_UP,
    COLUMNS
};

enum {
    FEWER = 4,       /* elements, where all of them take too long */
    TRIAL_PART = 32, /* of the elements, to learn how long that is */
};

static const wi_column all_columns[COLUMNS] = {
    [OPERATION] = {"operation", -22, 0, true},
    [VARIANT] = {"variant", -8, 3, true},
    [N] = {"n", 5, 4, true},
    [TIME] = {"time", 8, 0, true},
    [RATE] = {"rate", 9, 2, true},
    [ROOF] = {"roof", 5, 1, true},
    [SERIAL] = {"serial", 8, 5, true},
    [SPEED_UP] = {"speed-up", 8, 0, true},
};

/* A serial loop that takes longer than this runs once, not many times for a median. */
static const double slow_seconds = 0.1;

/* One that would take longer than this on a cpu runs on a quarter of the elements or, if need be, a
 * quarter of these, and so does the rung: it shows as much. */
static const double longest_seconds = 0.3;

/* An operation that the demo shows. */
typedef struct shown {
    wi_rung rung;
    char variant[WI_FIELD_BYTES];
    double serial_seconds; /* of the plain C loop on the same elements */
} shown;

static void print_place(const char *place, const char *text) {
    printf("  %s%-6s%s ", wi_style_on(stdout, WI_BOLD), place, wi_style_on(stdout, WI_PLAIN));
    wi_print_wrapped(text, 9, 9);
}

static void print_cpu(void) {
    wi_cpu_facts facts;
    char line[2 * WI_NAME_BYTES];
    wi_cpu_describe(&facts);
    snprintf(line, sizeof line, "%s, %d core%s, %s", facts.model, facts.cores,
             facts.cores == 1 ? "" : "s", facts.instructions);
    print_place("cpu", line);
}

static void print_gpus(void) {
    char why[WI_MESSAGE_BYTES], place[WI_PLACE_BYTES], line[2 * WI_NAME_BYTES],
        bytes[WI_FIELD_BYTES];
    const int count = wi_gpu_count(why, sizeof why);
    for (int device = 0; device < count; device++) {
        wi_gpu_facts facts;
        if (!wi_gpu_describe(device, &facts))
            continue;
        snprintf(place, sizeof place, "gpu:%d", device);
        snprintf(line, sizeof line, "%s, %d SMs, %s", facts.name, facts.multiprocessors,
                 wi_format_bytes((double)facts.memory_bytes, bytes));
        print_place(place, line);
    }
    if (count == 0) {
        char text[WI_MESSAGE_BYTES + 8];
        snprintf(text, sizeof text, "none: %s", why);
        print_place("gpu", text);
    }
}

static void print_heading(const weft_context *ctx, const wi_column columns[COLUMNS]) {
    wi_print_line(stdout, 2,
                  "%sweft %s%s: the same C call on the cores and on the GPU\n\nPlaces found",
                  wi_style_on(stdout, WI_BOLD), weft_version(), wi_style_on(stdout, WI_PLAIN));
    print_cpu();
    print_gpus();
    wi_print_line(stdout, 2, "\nOn %s, every result checked in full, against the serial C loop\n",
                  weft_place(ctx));
    fputs(wi_style_on(stdout, WI_DIM), stdout);
    wi_table_print(columns, COLUMNS, NULL);
    puts(wi_style_on(stdout, WI_PLAIN));
    fflush(stdout);
}

static void print_shown(const wi_column columns[COLUMNS], const wi_pool *pool, const shown *s) {
    char n[WI_FIELD_BYTES], time[WI_FIELD_BYTES], rate[WI_FIELD_BYTES], share[WI_FIELD_BYTES],
        serial[WI_FIELD_BYTES], times[WI_FIELD_BYTES], gain[2 * WI_FIELD_BYTES], name[64];
    const wi_rung *const rung = &s->rung;
    snprintf(name, sizeof name, "%s, %s", pool->climb->example, weft_type_name(pool->setup.type));
    if (!rung->ok) {
        wi_print_line(stdout, 2, "%s %sWRONG:%s %s", name, wi_style_on(stdout, WI_RED),
                      wi_style_on(stdout, WI_PLAIN), rung->why);
        return;
    }
    snprintf(gain, sizeof gain, "%s%s%s", wi_style_on(stdout, WI_GREEN),
             wi_format_times(s->serial_seconds / rung->seconds, times),
             wi_style_on(stdout, WI_PLAIN));
    const char *const cells[COLUMNS] = {
        [OPERATION] = name,
        [VARIANT] = s->variant,
        [N] = wi_format_count(rung->n, n),
        [TIME] = wi_format_seconds(rung->seconds, time),
        [RATE] = wi_format_roof(rung->facts.roof, wi_rung_rate(rung), rate),
        [ROOF] = wi_format_share(wi_rung_rate(rung) / rung->roof, share),
        [SERIAL] = wi_format_seconds(s->serial_seconds, serial),
        [SPEED_UP] = gain,
    };
    wi_table_print(columns, COLUMNS, cells);
    putchar('\n');
    fflush(stdout);
}

static void json_shown(const wi_pool *pool, const shown *s) {
    const wi_rung *const rung = &s->rung;
    const bool timed = rung->ok;
    wi_json json;
    wi_json_open(&json);
    wi_json_string(&json, "op", pool->climb->ladder->op);
    wi_json_string(&json, "variant", s->variant);
    wi_json_string(&json, "example", pool->climb->example);
    wi_json_string(&json, "place", weft_place(pool->setup.ctx));
    wi_json_string(&json, "type", weft_type_name(pool->setup.type));
    wi_json_count(&json, "n", rung->n);
    wi_json_count(&json, "seed", pool->setup.seed);
    wi_json_rung(&json, pool->climb, rung);
    wi_json_number(&json, "serial_seconds", s->serial_seconds);
    wi_json_number(&json, "speedup", timed ? s->serial_seconds / rung->seconds : 0);
    wi_json_bool(&json, "ok", rung->ok);
    wi_json_string(&json, "note", rung->ok ? NULL : rung->why);
    wi_json_close(&json);
}

/* Times the serial loop on the problem that the rung ran on. */
static weft_status time_serial(wi_pool *pool, const wi_meter *meter, shown *s) {
    void *problem;
    weft_status status = wi_pool_get(pool, s->rung.n, &problem);
    if (status != WEFT_OK)
        return status;
    wi_progress("%s: the serial C loop ...", pool->climb->ladder->op);
    const wi_timed timed = {pool->climb->serial, problem, s->rung.facts.bytes, true};
    status = wi_meter_once(meter, &timed, &s->serial_seconds);
    if (status == WEFT_OK && s->serial_seconds < slow_seconds)
        status = wi_meter_time(meter, &timed, &s->serial_seconds);
    wi_progress_end();
    return status;
}

/* Runs one operation with the rung that the library chooses, and then the serial loop. */
static weft_status show(wi_pool *pool, const wi_meter *meter, size_t n, shown *s) {
    const char *const op = pool->climb->ladder->op;
    char count[WI_FIELD_BYTES];
    *s = (shown){.variant = ""};
    wi_progress("%s: best, n = %s ...", op, wi_format_count(n, count));
    const weft_status status = wi_rung_run(pool, meter, NULL, n, &s->rung);
    wi_progress_end();
    if (status != WEFT_OK || !s->rung.ok)
        return status;
    const char *const used = weft_used(pool->setup.ctx, op);
    snprintf(s->variant, sizeof s->variant, "%s", used ? used : "");
    return time_serial(pool, meter, s);
}

/* How many elements are shown. On a cpu the serial loops take most of the time, and a quarter of
 * what climbs use, 64 MiB of f32, shows the same; fewer where the loop is slow, as its time on a
 * part of that tells. */
static weft_status usual_n(wi_pool *pool, const wi_meter *meter, size_t *n) {
    const wi_climb *const climb = pool->climb;
    void *problem;
    double seconds;
    *n = wi_usual_n(climb, meter->ctx, pool->setup.type);
    if (meter->ctx->kind != WI_CPU || climb->usual_n)
        return WEFT_OK;
    *n /= FEWER;
    weft_status status = wi_pool_get(pool, *n / TRIAL_PART, &problem);
    if (status != WEFT_OK)
        return status;
    const wi_timed timed = {.run = climb->serial, .user = problem};
    status = wi_meter_once(meter, &timed, &seconds);
    for (seconds *= TRIAL_PART; seconds > longest_seconds; seconds /= FEWER)
        *n /= FEWER;
    return status;
}

/* Shows one operation; sets *right to false if its result was wrong. */
static weft_status demo_one(const wi_arguments *args, const wi_column columns[COLUMNS],
                            const wi_meter *meter, const wi_climb *climb, bool *right) {
    shown s;
    wi_pool pool = {.climb = climb,
                    .setup = {.ctx = meter->ctx, .seed = args->seed, .type = climb->type}};
    if (wi_given(args, &wi_type_option))
        pool.setup.type = args->type;
    size_t n = args->n;
    weft_status status = WEFT_OK;
    if (!wi_given(args, &wi_n_option))
        status = usual_n(&pool, meter, &n);
    if (status == WEFT_OK)
        status = show(&pool, meter, n, &s);
    if (status == WEFT_OK) {
        if (wi_given(args, &wi_json_option))
            json_shown(&pool, &s);
        else
            print_shown(columns, &pool, &s);
        *right = *right && s.rung.ok;
    }
    wi_pool_drop(&pool);
    return status;
}

static void print_ending(void) {
    putchar('\n');
    wi_print_wrapped("roof: the share of the fastest that this memory can be read or copied, "
                     "measured in this run. Next: weft climb scan, weft info, weft help",
                     0, 0);
}

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    wi_meter meter;
    bool right = true;
    double roofs[WI_ROOFS] = {0};
    wi_column columns[COLUMNS];
    wi_exit result = wi_session_open(args, NULL, &ctx);
    if (result != WI_EXIT_OK)
        return result;
    memcpy(columns, all_columns, sizeof columns);
    wi_table_fit(columns, COLUMNS);
    if (!wi_given(args, &wi_json_option))
        print_heading(ctx, columns);
    wi_progress("preparing ...");
    weft_status status = wi_meter_open(&meter, ctx);
    meter.roofs = roofs;
    wi_progress_end();
    for (size_t k = 0; k < wi_climb_count && status == WEFT_OK; k++) {
        if (wi_climbs[k]->serial && wi_has_rungs(wi_climbs[k]->ladder, ctx->kind))
            status = demo_one(args, columns, &meter, wi_climbs[k], &right);
    }
    if (status != WEFT_OK)
        result = wi_session_failed(ctx);
    else if (!right)
        result = WI_EXIT_FAILED;
    else if (!wi_given(args, &wi_json_option))
        print_ending();
    wi_meter_close(&meter);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {
    &wi_place_option, &wi_type_option, &wi_n_option, &wi_seed_option,
    &wi_json_option,  &wi_help_option, NULL};

const wi_command wi_demo_command = {
    .name = "demo",
    .operand_text = "",
    .summary = "run every operation against the serial C loop",
    .details = "Runs every operation on the best place, checks the whole result, and compares "
               "with the loop that one would write in C: time, rate, share of the roof (what the "
               "memory can do, measured in the same run) and speed-up. Takes well under a "
               "minute.",
    .examples = {{"weft demo", "on the best place"}, {"weft demo --place cpu:1", "on one core"}},
    .options = options,
    .run = execute,
};
