/* SPDX-License-Identifier: Apache-2.0 */
/* `weft climb OP`: an operation's ladder, rung by rung. */
#include <stdio.h>
#include <string.h>

#include "cli/info.h"
#include "cli/machine.h"
#include "cli/rates.h"
#include "cli/roofs.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/text.h"

/* Lists the ladders, and the word for the roofs, the hardware's limits. */
static void list_ladders(const wi_command *command, wi_words *words) {
    (void)command;
    for (size_t k = 0; k < wi_climb_count; k++) {
        if (wi_climbs[k]->ladder->count > 0)
            wi_words_add(words, wi_climbs[k]->ladder->op);
    }
    wi_words_add(words, WI_ROOF_WORD);
}

static const wi_option m_option = {
    .name = "m",
    .value = "COUNT",
    .help = "rows of a product or image, if not as --n; of gemm, trsm, trmm, convolve"};
static const wi_option k_option = {
    .name = "k",
    .value = "COUNT",
    .help = "terms of its sums, if not as --n; of gemm, syrk; of convolve the side of the filter"};
static const wi_option count_option = {
    .name = "count", .value = "COUNT", .help = "number of products; of gemm_batch"};

enum {
    INDENT = 4,
    COUNT_COLUMNS = 8 /* of each extent of a size */
};

enum {
    RUNG,
    N,
    TIME,
    FIRST_RATE, /* the rate and its share of the roof; for a ladder with merits, those */
    BELOW = FIRST_RATE + WI_MERITS,
    FIRST,
    ERROR, /* only of climbs that find it */
    COLUMNS
};

/* A ladder while its rungs are measured one after the other. */
typedef struct climber {
    const wi_arguments *args;
    const wi_meter *meter;
    wi_pool *pool;
    size_t n;
    wi_facts first; /* of a small problem, before any rung has run */
    wi_rung *rungs; /* measured so far; there is room for the whole ladder */
    size_t count;
    double times_below, times_first; /* speedup of the latest rung over the one below it and over
                                        the first; 0: not known */
    bool wrong;
    wi_column columns[COLUMNS];
    size_t column_count;
    bool says_what; /* is there room beside the columns for what each rung changes? */
} climber;

static bool wants_json(const climber *c) {
    return wi_given(c->args, &wi_json_option);
}

static weft_context *context_of(const climber *c) {
    return c->pool->setup.ctx;
}

/* The first rung that was measured, or the last one before number `before`; NULL if none was. */
static const wi_rung *measured(const climber *c, size_t before, bool first) {
    for (size_t k = 0; k < before; k++) {
        const wi_rung *const rung = &c->rungs[first ? k : before - 1 - k];
        if (rung->seconds > 0)
            return rung;
    }
    return NULL;
}

static bool shows_error(const climber *c) {
    return c->pool->climb->error && wi_type_is_float(c->pool->setup.type);
}

/* Chooses which columns the table shows: as many as fit the terminal. */
static void lay_out(climber *c) {
    const wi_climb *const climb = c->pool->climb;
    int name = (int)strlen("rung"), extents = 1;
    size_t what = strlen("what it changes");
    for (size_t k = 0; k < climb->ladder->count; k++) {
        const wi_row *const row = &climb->ladder->rows[k];
        const int length = (int)strlen(row->name);
        if (!wi_row_serves(row, context_of(c)))
            continue;
        name = length > name ? length : name;
        what = strlen(row->what) > what ? strlen(row->what) : what;
    }
    c->columns[RUNG] = (wi_column){.title = "rung", .width = -name};
    while (extents < WI_EXTENTS && c->first.size.extent[extents] > 0)
        extents++;
    c->columns[N] = (wi_column){
        .title = extents > 1 ? "size" : "n", .width = COUNT_COLUMNS * extents, .rank = 2};
    c->columns[TIME] = (wi_column){.title = "time", .width = 8};
    c->columns[FIRST_RATE] = (wi_column){.title = "rate", .width = 9, .rank = 1};
    c->columns[FIRST_RATE + 1] = (wi_column){.title = "roof", .width = 6, .rank = 3};
    for (size_t k = 0; climb->merits && k < WI_MERITS; k++) /* the last one matters most */
        c->columns[FIRST_RATE + k] = (wi_column){
            .title = climb->merits->of[k].title, .width = 7, .rank = k + 1 < WI_MERITS ? 3 : 1};
    c->columns[BELOW] = (wi_column){.title = "x below", .width = 7, .rank = 4};
    c->columns[FIRST] = (wi_column){.title = "x first", .width = 7, .rank = 5};
    c->columns[ERROR] = (wi_column){.title = "error", .width = 7, .rank = 2};
    c->column_count = shows_error(c) ? COLUMNS : ERROR;
    wi_table_fit(c->columns, c->column_count);
    const size_t room = wi_screen_columns(stdout);
    c->says_what = !room || wi_table_width(c->columns, c->column_count) + 2 + what <= room;
}

/* Prints below the title what the columns mean. */
static void print_meaning(const climber *c) {
    const wi_climb *const climb = c->pool->climb;
    const wi_roof_row *const roof = &wi_roof_rows[c->first.roof];
    if (climb->merits)
        wi_print_line(stdout, INDENT, "%s\nx below, x first: how many times fewer %s at the same n",
                      climb->merits->meaning, climb->merits->of[WI_MERITS - 1].title);
    else
        wi_print_line(stdout, INDENT,
                      "roof: %s, measured beside each rung\n"
                      "x below, x first: how many times faster at the same n",
                      roof->meaning);
    if (!climb->merits && roof->unit != WI_UNIT_BYTES)
        wi_print_line(stdout, INDENT,
                      "rate: the additions and multiplications the call cannot do "
                      "without, over its time");
    if (shows_error(c))
        wi_print_line(stdout, INDENT,
                      "error: of the sum of numbers that must be rounded, in units in the last "
                      "place, against the exact sum");
    wi_print_line(stdout, INDENT, "Every result is checked in full before it is timed.\n");
}

/* The extents that the climb has, of those asked for, and their letters. */
static wi_size asked_for(const wi_climb *climb, const wi_setup *setup, const char **letters) {
    const size_t *const x = setup->extent;
    if (climb->usual_side) {
        *letters = "m x n x k x count";
        return (wi_size){{x[0], x[1], x[2], x[3]}};
    }
    if (climb->lacks & WI_LACKS_M) {
        *letters = "n x k";
        return (wi_size){{x[1], x[2]}};
    }
    *letters = climb->lacks & WI_LACKS_K ? "m x n" : "m x n x k";
    return (wi_size){{x[0], x[1], climb->lacks & WI_LACKS_K ? 0 : x[2]}};
}

static void print_heading(const climber *c) {
    const wi_climb *const climb = c->pool->climb;
    const wi_setup *const setup = &c->pool->setup;
    char title[WI_NAME_BYTES], n[WI_SIZE_BYTES], bytes[WI_FIELD_BYTES], size[64] = "";
    const char *letters = "n";
    wi_size asked = wi_size_of(c->n);
    if (climb->has_extents)
        asked = asked_for(climb, setup, &letters);
    wi_place_title(setup->ctx, title, sizeof title);
    if (!climb->merits && !climb->has_extents && wi_roof_rows[c->first.roof].unit == WI_UNIT_BYTES)
        snprintf(size, sizeof size, " (%s an array)",
                 wi_format_bytes((double)(c->n * weft_type_size(setup->type)), bytes));
    wi_print_line(stdout, INDENT, "%s%s%s: %s, %s, %s = %s%s", wi_style_on(stdout, WI_BOLD),
                  climb->ladder->op, wi_style_on(stdout, WI_PLAIN), climb->example,
                  weft_type_name(setup->type), letters, wi_format_size(&asked, n), size);
    wi_print_line(stdout, INDENT, "place: %s, %s", weft_place(setup->ctx), title);
    if (wi_is_demo_build && !climb->serial)
        wi_print_line(stdout, INDENT,
                      "slow: this build optimises what `weft demo` shows; `make` makes one that "
                      "optimises all");
    print_meaning(c);
    fputs(wi_style_on(stdout, WI_DIM), stdout);
    wi_table_print(c->columns, c->column_count, NULL);
    printf("%s%s\n", c->says_what ? "  what it changes" : "", wi_style_on(stdout, WI_PLAIN));
    fflush(stdout);
}

static void print_timed(const climber *c, size_t index) {
    const wi_rung *const rung = &c->rungs[index];
    const wi_climb *const climb = c->pool->climb;
    char size[WI_SIZE_BYTES], time[WI_FIELD_BYTES], rate[WI_MERITS][WI_FIELD_BYTES],
        below[WI_FIELD_BYTES], first[WI_FIELD_BYTES], mark[WI_SIZE_BYTES + 2],
        error[WI_FIELD_BYTES];
    snprintf(error, sizeof error, "%.3g", rung->error);
    snprintf(mark, sizeof mark, "%s%s", wi_format_size(&rung->facts.size, size),
             rung->limit == WI_LIMIT_NONE ? "" : "*");
    if (climb->merits) {
        for (size_t k = 0; k < WI_MERITS; k++)
            wi_format_amount(rung->merit[k], rate[k]);
    } else {
        wi_format_roof(rung->facts.roof, wi_rung_rate(rung), rate[0]);
        wi_format_share(wi_rung_rate(rung) / rung->roof, rate[1]);
    }
    const char *const cells[COLUMNS] = {
        [RUNG] = rung->row->name,
        [N] = mark,
        [TIME] = wi_format_seconds(rung->seconds, time),
        [FIRST_RATE] = rate[0],
        [FIRST_RATE + 1] = rate[1],
        [BELOW] = wi_format_times(c->times_below, below),
        [FIRST] = wi_format_times(c->times_first, first),
        [ERROR] = error,
    };
    wi_table_print(c->columns, c->column_count, cells);
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

/* Prints the range in which a roof was measured beside the rungs that are compared with it; false
 * if no rung is. A roof other than the heading's is named. */
static bool print_roof_range(const climber *c, wi_roof roof, const char *gap) {
    double least = 0, most = 0;
    char a[WI_FIELD_BYTES], b[WI_FIELD_BYTES];
    for (size_t k = 0; k < c->count; k++) {
        const double measured_roof = c->rungs[k].roof;
        if (!(measured_roof > 0) || c->rungs[k].facts.roof != roof)
            continue;
        least = least > 0 && least < measured_roof ? least : measured_roof;
        most = measured_roof > most ? measured_roof : most;
    }
    if (!(most > 0))
        return false;
    const char *const name = roof == c->first.roof ? "" : wi_roof_rows[roof].meaning;
    wi_print_line(stdout, INDENT, "%sroof%s%s: %s to %s", gap, *name ? " of " : "", name,
                  wi_format_roof(roof, least, a), wi_format_roof(roof, most, b));
    return true;
}

static void print_footnotes(const climber *c) {
    const char *gap = "\n"; /* before the first line */
    for (int roof = 0; roof < WI_ROOFS; roof++)
        gap = print_roof_range(c, (wi_roof)roof, gap) ? "" : gap;
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
    const wi_setup *const setup = &c->pool->setup;
    const bool timed = rung->seconds > 0, is_first = !measured(c, index, true);
    wi_json json;
    wi_json_open(&json);
    wi_json_string(&json, "op", climb->ladder->op);
    wi_json_string(&json, "variant", rung->row->name);
    wi_json_string(&json, "what", rung->row->what);
    wi_json_string(&json, "example", climb->example);
    wi_json_string(&json, "place", weft_place(setup->ctx));
    wi_json_bool(&json, "host_data", c->first.on_host || setup->ctx->kind == WI_CPU);
    wi_json_string(&json, "type", weft_type_name(setup->type));
    wi_json_count(&json, "n", rung->n);
    wi_json_count(&json, "n_asked", c->n);
    wi_json_count(&json, "seed", setup->seed);
    wi_json_rung(&json, climb, rung);
    if (shows_error(c))
        wi_json_known(&json, "error_ulps", timed, rung->error);
    if (!climb->merits) {
        wi_json_number(&json, "roof_share", timed ? wi_rung_rate(rung) / rung->roof : 0);
        wi_json_known(&json, "speedup_below", is_first || c->times_below > 0,
                      is_first ? 1 : c->times_below);
        wi_json_known(&json, "speedup_first", is_first || c->times_first > 0,
                      is_first ? 1 : c->times_first);
    }
    if (rung->n > 0)
        wi_json_bool(&json, "ok", rung->ok);
    else
        wi_json_null(&json, "ok"); /* it did not run */
    wi_json_string(&json, "note", rung->n > 0 && !rung->ok ? rung->why : limit_text(rung));
    wi_json_close(&json);
}

/* Runs one rung, and compares its time with earlier ones. The result is in c->rungs[c->count]. */
static weft_status measure_rung(climber *c, const wi_row *row) {
    const wi_rung *const below = measured(c, c->count, false), *const first =
                                                                   measured(c, c->count, true);
    wi_rung *const rung = &c->rungs[c->count];
    char count[WI_FIELD_BYTES];
    c->times_below = c->times_first = 0;
    wi_progress("%s: %s, n = %s ...", c->pool->climb->ladder->op, row->name,
                wi_format_count(c->n, count));
    weft_status status = wi_rung_run(c->pool, c->meter, row, c->n, rung);
    if (status == WEFT_OK)
        status = wi_rung_compare(c->pool, c->meter, rung, below, &c->times_below);
    if (status == WEFT_OK && first == below)
        c->times_first = c->times_below;
    else if (status == WEFT_OK)
        status = wi_rung_compare(c->pool, c->meter, rung, first, &c->times_first);
    wi_progress_end();
    return status;
}

/* Runs one rung and reports it. */
static weft_status climb_rung(climber *c, const wi_row *row) {
    const size_t index = c->count;
    const weft_status status = measure_rung(c, row);
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

/* Runs a ladder: all rungs of the place, or the one of --variant. */
static weft_status climb_ladder(climber *c) {
    const wi_ladder *const ladder = c->pool->climb->ladder;
    const char *const only = wi_value(c->args, &wi_variant_option);
    weft_status status = wi_pool_describe(c->pool, c->n, &c->first);
    if (status == WEFT_OK && !wants_json(c)) {
        lay_out(c);
        print_heading(c);
    }
    for (size_t k = 0; k < ladder->count && status == WEFT_OK; k++) {
        const wi_row *const row = &ladder->rows[k];
        if (wi_row_serves(row, context_of(c)) && (!only || strcmp(only, row->name) == 0))
            status = climb_rung(c, row);
    }
    if (status == WEFT_OK && !wants_json(c))
        print_footnotes(c);
    return status;
}

/* An extent that an option gives, or else n; 0, with a message, if that makes no sense. */
static size_t extent_of(const wi_arguments *args, const wi_option *option, size_t n) {
    const char *const text = wi_value(args, option);
    size_t extent = n;
    if (text && (!wi_read_count(text, &extent) || extent == 0)) {
        wi_usage(args->command, "option --%s: \"%s\" is no count above 0", option->name, text);
        return 0;
    }
    return extent;
}

/* m, n and k of a product, and of a batch the number of products; of an image its rows, columns and
 * the side of the filter. *n, what --n says or the usual scale, becomes the largest. False, with a
 * message, if one makes no sense. */
static bool take_extents(const wi_arguments *args, const wi_climb *climb, size_t *n,
                         size_t extent[WI_EXTENTS]) {
    if (!climb->has_extents)
        return true;
    const bool batch = climb->usual_side > 0;
    const size_t side = batch && !wi_given(args, &wi_n_option) ? climb->usual_side : *n;
    extent[0] = extent_of(args, &m_option, side);
    extent[1] = side;
    extent[2] = extent[0] ? extent_of(args, &k_option, climb->usual_k ? climb->usual_k : side) : 0;
    extent[3] = batch && extent[2] ? extent_of(args, &count_option, climb->usual_n) : 0;
    *n = 0;
    for (int e = 0; e < WI_EXTENTS; e++)
        *n = extent[e] > *n ? extent[e] : *n;
    return extent[0] > 0 && extent[2] > 0 && (extent[3] > 0 || !batch);
}

static wi_exit climb_one(const wi_arguments *args, const wi_climb *climb, weft_context *ctx,
                         const wi_meter *meter) {
    wi_pool pool = {.climb = climb, .setup = {.ctx = ctx, .seed = args->seed, .type = climb->type}};
    if (wi_given(args, &wi_type_option))
        pool.setup.type = args->type;
    climber c = {.args = args, .meter = meter, .pool = &pool, .n = args->n};
    if (!wi_given(args, &wi_n_option))
        c.n = wi_usual_n(climb, ctx, pool.setup.type);
    if (!take_extents(args, climb, &c.n, pool.setup.extent))
        return WI_EXIT_USAGE;
    c.rungs = wi_host_alloc(climb->ladder->count * sizeof *c.rungs);
    if (!c.rungs) {
        wi_say_error("climb: no memory for a ladder of %zu rungs", climb->ladder->count);
        return WI_EXIT_FAILED;
    }
    wi_exit result = climb_ladder(&c) == WEFT_OK ? WI_EXIT_OK : wi_session_failed(ctx);
    wi_pool_drop(&pool);
    if (result == WI_EXIT_OK &&
        (c.wrong || (wi_given(args, &wi_variant_option) && !(c.count > 0 && c.rungs[0].ok))))
        result = WI_EXIT_FAILED;
    wi_host_free(c.rungs);
    return result;
}

/* Climbs `climb`. After map, on a GPU, the ladder "stage" follows (how host arrays get to the GPU),
 * unless one rung was asked for. */
static wi_exit climb_all(const wi_arguments *args, const wi_climb *climb, weft_context *ctx,
                         const wi_meter *meter) {
    const char *const op = climb->ladder->op;
    wi_exit result = climb_one(args, climb, ctx, meter);
    const wi_climb *const stage = wi_find_climb("stage");
    if (stage && result != WI_EXIT_USAGE && strcmp(op, "map") == 0 && ctx->kind == WI_CUDA &&
        !wi_given(args, &wi_variant_option)) {
        if (!wi_given(args, &wi_json_option))
            putchar('\n');
        const wi_exit staged = climb_one(args, stage, ctx, meter);
        result = result == WI_EXIT_OK ? staged : result;
    }
    return result;
}

/* Refuses options that make no sense for the ladder; climb is NULL for the roofs. */
static wi_exit check_options(const wi_arguments *args, const wi_climb *climb) {
    static const wi_option *const of_ladders[] = {
        &wi_variant_option, &wi_type_option, &wi_n_option,   &m_option,
        &k_option,          &count_option,   &wi_seed_option};
    static const wi_option *const of_products[] = {&m_option, &k_option};
    static const unsigned lacks[] = {WI_LACKS_M, WI_LACKS_K};
    for (size_t k = 0; !climb && k < sizeof of_ladders / sizeof *of_ladders; k++) {
        if (wi_given(args, of_ladders[k]))
            return wi_usage(args->command, "option --%s: roofs have no such choice; leave it out",
                            of_ladders[k]->name);
    }
    for (size_t k = 0; climb && !climb->has_extents && k < 2; k++) {
        if (wi_given(args, of_products[k]))
            return wi_usage(args->command, "option --%s: %s has one size, --n; gemm has more",
                            of_products[k]->name, climb->ladder->op);
    }
    if (climb && !climb->usual_side && wi_given(args, &count_option))
        return wi_usage(args->command,
                        "option --count: %s is one call; gemm_batch has many "
                        "products",
                        climb->ladder->op);
    for (size_t k = 0; climb && k < 2; k++) {
        if (wi_given(args, of_products[k]) && climb->lacks & lacks[k])
            return wi_usage(args->command, "option --%s: %s has no such extent; leave it out",
                            of_products[k]->name, climb->ladder->op);
    }
    if (climb && climb->only_type && wi_given(args, &wi_type_option) && args->type != climb->type)
        return wi_usage(args->command, "option --type: %s is of %s only; leave the option out",
                        climb->ladder->op, weft_type_name(climb->type));
    return WI_EXIT_OK;
}

static wi_exit execute(const wi_arguments *args) {
    const char *const op = args->operand[0];
    const bool roofs = strcmp(op, WI_ROOF_WORD) == 0;
    const wi_climb *const climb = roofs ? NULL : wi_find_climb(op);
    weft_context *ctx = NULL;
    wi_meter meter;
    if (!climb && !roofs)
        return wi_usage_word(args->command, "ladder", op, list_ladders);
    wi_exit result = check_options(args, climb);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, roofs ? NULL : op, &ctx);
    if (result != WI_EXIT_OK)
        return result;
    wi_progress("preparing ...");
    const weft_status status = wi_meter_open(&meter, ctx);
    wi_progress_end();
    if (status != WEFT_OK)
        result = wi_session_failed(ctx);
    else
        result = roofs ? wi_show_roofs(args, &meter) : climb_all(args, climb, ctx, &meter);
    wi_meter_close(&meter);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {
    &wi_place_option, &wi_variant_option, &wi_type_option, &wi_n_option,    &m_option, &k_option,
    &count_option,    &wi_seed_option,    &wi_json_option, &wi_help_option, NULL};

const wi_command wi_climb_command = {
    .name = "climb",
    .operand_text = "OP",
    .summary = "run an operation's ladder of variants, rung by rung",
    .details = "Runs every variant of an operation, from the textbook's first version to the "
               "fastest here. Each result is checked in full before it is timed; times are "
               "medians, and each call starts with the data outside the caches. Rates are "
               "compared with the roof of this machine, measured in the same run: bytes a second "
               "(the fewest that the call must move, or for sort those of the rung's passes), or "
               "flops where arithmetic is the limit (sparse); orderings (sparse_order) show the "
               "entries of L and the flops they lead to instead. A rung that cannot do n "
               "elements, or would take long, runs on fewer and says so; speedups are measured "
               "at an n that both rungs do. roof in place of an operation shows all roofs of the "
               "place. A wrong result makes the command exit with 1.",
    .examples = {{"weft climb scan", "the scan ladder on the best place"},
                 {"weft climb reduce --place cpu:2 --type f64 --n 2^24", "smaller, on 2 cores"},
                 {"weft climb sparse --place cpu:2 --n 1e5", "beside the rate of arithmetic"},
                 {"weft climb map --variant vector --json", "one rung, for programs"},
                 {"weft climb roof", "what this machine can do"}},
    .options = options,
    .list_operands = list_ladders,
    .operand_heading = "OP",
    .least_operands = 1,
    .most_operands = 1,
    .run = execute,
};
