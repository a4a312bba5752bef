/* SPDX-License-Identifier: Apache-2.0 */
/* `weft climb OP`: an operation's ladder, rung by rung. */
#include <stdio.h>
#include <string.h>

#include "cli/climb_show.h"
#include "cli/rates.h"
#include "cli/roofs.h"
#include "cli/session.h"
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

/* Runs one rung, and compares its time with earlier ones. The result is in c->rungs[c->count]. */
static weft_status measure_rung(wi_climber *c, const wi_row *row) {
    const wi_rung *const below = wi_climb_measured(c, c->count, false);
    const wi_rung *const first = wi_climb_measured(c, c->count, true);
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
static weft_status climb_rung(wi_climber *c, const wi_row *row) {
    const size_t index = c->count;
    const weft_status status = measure_rung(c, row);
    if (status != WEFT_OK)
        return status;
    c->count++;
    if (c->rungs[index].n > 0 && !c->rungs[index].ok)
        c->wrong = true;
    wi_climb_show_rung(c, index);
    return WEFT_OK;
}

/* Runs a ladder: all rungs of the place, or the one of --variant. */
static weft_status climb_ladder(wi_climber *c) {
    const wi_ladder *const ladder = c->pool->climb->ladder;
    const char *const only = wi_value(c->args, &wi_variant_option);
    weft_status status = wi_pool_describe(c->pool, c->n, &c->first);
    if (status == WEFT_OK)
        wi_climb_show_heading(c);
    for (size_t k = 0; k < ladder->count && status == WEFT_OK; k++) {
        const wi_row *const row = &ladder->rows[k];
        if (wi_row_serves(row, c->pool->setup.ctx) && (!only || strcmp(only, row->name) == 0))
            status = climb_rung(c, row);
    }
    if (status == WEFT_OK)
        wi_climb_show_footnotes(c);
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
    wi_climber c = {.args = args, .meter = meter, .pool = &pool, .n = args->n};
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

static wi_exit refuse_type(const wi_arguments *args, const wi_climb *climb) {
    char known[WI_REASON_BYTES] = "";
    if (climb->types == WI_TYPE(climb->type))
        return wi_usage(args->command, "option --type: %s is of %s only; leave the option out",
                        climb->ladder->op, weft_type_name(climb->type));
    for (int type = 0; type < WEFT_TYPE_COUNT; type++)
        if (wi_climb_takes(climb, (weft_type)type))
            wi_append(known, sizeof known, ", ", weft_type_name((weft_type)type));
    return wi_usage(args->command, "option --type: %s does not take %s, only %s", climb->ladder->op,
                    weft_type_name(args->type), known);
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
    if (climb && wi_given(args, &wi_type_option) && !wi_climb_takes(climb, args->type))
        return refuse_type(args, climb);
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
