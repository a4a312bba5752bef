/* SPDX-License-Identifier: Apache-2.0 */
/* `weft tune OP`: measures by what factors predicted times are wrong on this device, and writes the
 * table that WEFT_TUNING names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/rates.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/text.h"
#include "climb/rung.h"
#include "climb/tune.h"
#include "core/tuning.h"
#include "io/decimal.h"

enum {
    SIDE = 4096, /* to which the extents below belong */
    EXTENTS = 3,
    SIZES = 5, /* of an operation with one size */
    STEP = 8,  /* from one to the next */
    LEAST_N = 16,
    BATCH_SIDES = 3,
    BATCH_COUNTS = 2,
    BATCH_STEP = 16
};

/* Two or three of each shape of product: small, large, thin, flat, of few terms and of many. */
static const size_t products[][EXTENTS] = {
    {256, 256, 256},    {500, 300, 400},    {128, 1000, 512},    {4096, 4096, 4096},
    {2048, 2048, 2048}, {1000, 3000, 2000}, {4096, 16, 4096},    {8192, 48, 2048},
    {16, 4096, 4096},   {33, 8192, 2048},   {4096, 4096, 64},    {4096, 4096, 256},
    {2000, 3000, 100},  {64, 64, 1 << 18},  {256, 256, 1 << 15}, {128, 96, 20000}};

/* Of filters. */
static const size_t filter_sides[] = {3, 5, 9, 17};

enum {
    FILTER_SIDES = sizeof filter_sides / sizeof *filter_sides,
    PRODUCTS = sizeof products / sizeof *products
};

/* Lists the operations with a ladder that can be measured. */
static void list_ladders(const wi_command *command, wi_words *words) {
    (void)command;
    for (size_t k = 0; k < wi_climb_count; k++)
        if (wi_climbs[k]->ladder->count > 0)
            wi_words_add(words, wi_climbs[k]->ladder->op);
}

/* A run of the command. */
typedef struct tuner {
    const wi_arguments *args;
    weft_context *ctx;
    wi_meter meter;
    FILE *table;
    size_t factors; /* written */
} tuner;

/* ---- which problems ---- */

static size_t scaled(size_t extent, size_t side) {
    const size_t own = (size_t)((double)extent * (double)side / SIDE);
    return own > 0 ? own : 1;
}

static size_t problems_of(const wi_climb *climb) {
    if (climb->usual_side)
        return (size_t)BATCH_SIDES * BATCH_COUNTS;
    return climb->has_extents ? PRODUCTS : SIZES;
}

/* Problem `index` of those on the scale n. */
static wi_setup problem_of(const tuner *t, const wi_climb *climb, weft_type type, size_t n,
                           size_t index) {
    wi_setup setup = {.ctx = t->ctx, .type = type, .n = n, .seed = 1};
    if (climb->usual_side) {
        const size_t side = climb->usual_side << index % BATCH_SIDES;
        for (int e = 0; e < EXTENTS; e++)
            setup.extent[e] = side;
        setup.extent[EXTENTS] = index < BATCH_SIDES ? n : n / BATCH_STEP + 1;
        setup.n = n > side ? n : side;
    } else if (climb->has_extents) {
        setup.n = 1;
        for (int e = 0; e < EXTENTS; e++) {
            setup.extent[e] = scaled(products[index][e], n);
            setup.n = setup.extent[e] > setup.n ? setup.extent[e] : setup.n;
        }
        if (climb->usual_k)
            setup.extent[EXTENTS - 1] = filter_sides[index % FILTER_SIDES];
    } else {
        for (size_t k = 0; k < index && setup.n > LEAST_N; k++)
            setup.n /= STEP;
    }
    return setup;
}

/* Is this a type to measure: is there a choice between rungs, and did the user not name another? */
static bool wants(const tuner *t, const wi_climb *climb, weft_type type) {
    if (wi_given(t->args, &wi_type_option) && t->args->type != type)
        return false;
    return wi_tune_rivals(climb->ladder, t->ctx, type) > 1 && wi_climb_takes(climb, type);
}

static bool wants_any(const tuner *t, const wi_climb *climb) {
    bool any = false;
    for (int type = 0; type < WEFT_TYPE_COUNT; type++)
        any = any || wants(t, climb, (weft_type)type);
    return any;
}

/* ---- measuring ---- */

static weft_status measure_type(tuner *t, wi_samples *samples, weft_type type, bool rounds,
                                size_t n) {
    const wi_climb *const climb = samples->climb;
    weft_status status = WEFT_OK;
    for (size_t k = 0; k < problems_of(climb) && status == WEFT_OK; k++) {
        wi_setup setup = problem_of(t, climb, type, n, k);
        setup.rounds = rounds;
        wi_progress("tune: %s, %s, problem %zu of %zu ...", climb->ladder->op,
                    wi_tuning_type(type, rounds ? WI_ROUNDED : 0), k + 1, problems_of(climb));
        status = wi_tune_problem(samples, &t->meter, &setup);
        wi_progress_end();
    }
    return status;
}

/* Does the ladder know the types of its calls? Known after the first of them. */
static bool has_types(const wi_samples *samples) {
    return samples->count == 0 || samples->at[0].type != WI_NO_TYPE;
}

/* Measures all types, the usual one first: of calls without a type it stands for all. */
static weft_status measure(tuner *t, wi_samples *samples) {
    const wi_climb *const climb = samples->climb;
    weft_status status = WEFT_OK;
    for (int k = 0; k < WEFT_TYPE_COUNT && status == WEFT_OK && has_types(samples); k++) {
        const weft_type type = (weft_type)(((int)climb->type + k) % WEFT_TYPE_COUNT);
        const size_t n =
            wi_given(t->args, &wi_n_option) ? t->args->n : wi_usual_n(climb, t->ctx, type);
        if (!wants(t, climb, type))
            continue;
        status = measure_type(t, samples, type, false, n);
        if (status == WEFT_OK && climb->may_round && type == WEFT_F32)
            status = measure_type(t, samples, type, true, n);
    }
    return status;
}

/* ---- telling ---- */

/* The columns of what is printed. */
enum {
    RUNG,
    TYPE,
    SHAPE,
    COUNT,
    FACTOR,
    COLUMNS
};

static wi_column columns[COLUMNS] = {[RUNG] = {.title = "rung", .width = -12},
                                     [TYPE] = {.title = "type", .width = -5},
                                     [SHAPE] = {.title = "shape", .width = -6},
                                     [COUNT] = {.title = "samples", .width = 7},
                                     [FACTOR] = {.title = "factor", .width = 10}};

static bool is_silent(const tuner *t) {
    return wi_is_standard(wi_value(t->args, &wi_output_option));
}

static void show_factor(const tuner *t, const wi_row *row, const char *op, const char *type,
                        const char *shape, double factor, size_t count) {
    char count_text[WI_FIELD_BYTES], factor_text[WI_FIELD_BYTES];
    wi_json json;
    if (wi_given(t->args, &wi_json_option)) {
        wi_json_open(&json);
        wi_json_string(&json, "op", op);
        wi_json_string(&json, "variant", row->name);
        wi_json_string(&json, "place", weft_place(t->ctx));
        wi_json_string(&json, "type", type);
        wi_json_string(&json, "shape", shape);
        wi_json_count(&json, "samples", count);
        wi_json_number(&json, "factor", factor);
        wi_json_close(&json);
    } else if (!is_silent(t)) {
        snprintf(count_text, sizeof count_text, "%zu", count);
        snprintf(factor_text, sizeof factor_text, "%.3g", factor);
        const char *const cells[COLUMNS] = {row->name, type, shape, count_text, factor_text};
        wi_table_print(columns, COLUMNS, cells);
        putchar('\n');
    }
}

/* Writes and shows the factors of a row and type, of the shapes from `first` on. */
static void write_row(tuner *t, const wi_samples *samples, size_t row, weft_type type,
                      unsigned first) {
    const wi_ladder *const ladder = samples->climb->ladder;
    for (unsigned shape = first; shape < first + WI_SHAPES; shape++) {
        size_t count;
        char text[WI_DECIMAL_BYTES];
        const double factor = wi_tune_factor(samples, row, type, shape, &count);
        if (count == 0)
            continue;
        wi_decimal_write(factor, text);
        fprintf(t->table, "%s %s %s %s %s\n", ladder->op, ladder->rows[row].name,
                wi_tuning_type(type, shape), wi_tuning_shape(shape), text);
        t->factors++;
        show_factor(t, &ladder->rows[row], ladder->op, wi_tuning_type(type, shape),
                    wi_tuning_shape(shape), factor, count);
    }
}

/* Says how good the choices are, before and with the table. */
static void show_loss(const tuner *t, const char *op, const char *type, const wi_tune_loss *loss,
                      bool written) {
    wi_json json;
    if (wi_given(t->args, &wi_json_option)) {
        wi_json_open(&json);
        wi_json_string(&json, "op", op);
        wi_json_string(&json, "place", weft_place(t->ctx));
        wi_json_string(&json, "type", type);
        wi_json_count(&json, "problems", loss->problems);
        wi_json_number(&json, "slower_without", loss->model);
        wi_json_number(&json, "slower_with", loss->table);
        wi_json_bool(&json, "written", written);
        wi_json_close(&json);
    } else if (!is_silent(t)) {
        wi_print_line(stdout, 0,
                      "%s: over %zu problems the rung chosen takes %.2f times as long as the "
                      "fastest, with the factors %.2f%s",
                      type, loss->problems, loss->model, loss->table,
                      written ? "" : ": they are left out of the table");
    }
}

/* Writes the factors of a type, unless rungs are chosen worse with them. */
static void write_type(tuner *t, const wi_samples *samples, weft_type type, unsigned first) {
    const wi_ladder *const ladder = samples->climb->ladder;
    const wi_tune_loss loss = wi_tune_find_loss(samples, type, first);
    const bool pays = loss.table <= loss.model;
    for (size_t row = 0; row < ladder->count && pays; row++)
        write_row(t, samples, row, type, first);
    if (loss.problems > 0)
        show_loss(t, ladder->op, wi_tuning_type(type, first), &loss, pays);
}

static void print_heading(const tuner *t, const wi_ladder *ladder) {
    if (wi_given(t->args, &wi_json_option) || is_silent(t))
        return;
    wi_print_line(stdout, 0,
                  "%s on %s\nfactor: measured over predicted time, the median of the samples",
                  ladder->op, weft_place(t->ctx));
    wi_table_fit(columns, COLUMNS);
    wi_table_print(columns, COLUMNS, NULL);
    putchar('\n');
}

/* Measures one ladder, and writes its factors. */
static weft_status tune(tuner *t, const wi_climb *climb) {
    wi_samples samples = {.climb = climb};
    const weft_status status = measure(t, &samples);
    if (status == WEFT_OK) {
        print_heading(t, climb->ladder);
        for (int type = 0; type <= WEFT_TYPE_COUNT; type++)
            for (unsigned first = 0; first < WI_SHAPE_CLASSES; first += WI_SHAPES)
                write_type(t, &samples, (weft_type)type, first);
    }
    wi_tune_free(&samples);
    return status;
}

/* ---- the command ---- */

/* Checks that each operand is an operation with a choice at this place. */
static wi_exit check_operands(tuner *t) {
    for (size_t k = 0; k < t->args->operands; k++) {
        const char *const op = t->args->operand[k];
        const wi_climb *const climb = wi_find_climb(op);
        size_t same = 0;
        while (strcmp(t->args->operand[same], op) != 0)
            same++;
        if (!climb)
            return wi_usage_word(t->args->command, "ladder", op, list_ladders);
        if (same < k)
            return wi_usage(t->args->command, "%s is named twice; name it once", op);
        if (wants_any(t, climb))
            continue;
        wi_say_error("tune: place %s has no choice between rungs of %s for %s; name another place, "
                     "type or operation",
                     weft_place(t->ctx), op,
                     wi_given(t->args, &wi_type_option) ? weft_type_name(t->args->type)
                                                        : "any type");
        return WI_EXIT_FAILED;
    }
    return WI_EXIT_OK;
}

static void write_head(const tuner *t) {
    char device[WI_DEVICE_BYTES];
    wi_tuning_device(t->ctx, device);
    fprintf(t->table, "weft-tuning %d\nplace %s\nlibrary %s\ndevice %s\n", WI_TUNING_VERSION,
            wi_tuning_place(t->ctx), weft_version(), device);
    fputs("# operation, rung, type, shape of call, measured time over predicted\n", t->table);
}

/* Measures all operands; the table is written at the end, when all went well. */
static wi_exit write_table(tuner *t) {
    wi_output output;
    wi_exit result = wi_output_open(wi_value(t->args, &wi_output_option), &output);
    if (result != WI_EXIT_OK)
        return result;
    t->table = output.file;
    write_head(t);
    for (size_t k = 0; k < t->args->operands && result == WI_EXIT_OK; k++)
        if (tune(t, wi_find_climb(t->args->operand[k])) != WEFT_OK)
            result = wi_session_failed(t->ctx);
    fprintf(t->table, "factors %zu\n", t->factors);
    const wi_exit ended = wi_output_end(&output, result == WI_EXIT_OK);
    return result == WI_EXIT_OK ? ended : result;
}

static wi_exit check_output(const wi_arguments *args) {
    const char *const path = wi_value(args, &wi_output_option);
    if (!path)
        return wi_usage(args->command, "option --output is missing; add -o FILE, or -o - for "
                                       "standard output");
    if (wi_is_standard(path) && wi_given(args, &wi_json_option))
        return wi_usage(args->command, "option --json: standard output takes the table already; "
                                       "name a file with --output");
    return wi_check_writable(args, &wi_output_option);
}

static wi_exit execute(const wi_arguments *args) {
    tuner t = {.args = args};
    wi_exit result = check_output(args);
    /* The table that is to be replaced may be of another version: it must not stop the command. */
    unsetenv("WEFT_TUNING");
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, NULL, &t.ctx);
    if (result == WI_EXIT_OK)
        result = check_operands(&t);
    if (result == WI_EXIT_OK) {
        wi_progress("preparing ...");
        const weft_status status = wi_meter_open(&t.meter, t.ctx);
        wi_progress_end();
        result = status == WEFT_OK ? write_table(&t) : wi_session_failed(t.ctx);
        wi_meter_close(&t.meter);
    }
    weft_close(t.ctx);
    return result;
}

static const wi_option *const options[] = {
    &wi_place_option, &wi_type_option, &wi_n_option, &wi_output_option,
    &wi_json_option,  &wi_help_option, NULL};

const wi_command wi_tune_command = {
    .name = "tune",
    .operand_text = "OP...",
    .summary = "measure this device, for the choice between variants",
    .details = "Runs the variants that the library chooses among on calls of many shapes and "
               "types, and compares their times with the predicted ones, by which it chooses. The "
               "table that it writes has the median of measured over predicted times for each "
               "variant, type and shape. Programs use it where WEFT_TUNING names the file, or by "
               "weft_set_tuning. It is for this device and this version of the library; other "
               "devices and versions refuse it.",
    .examples = {{"weft tune gemm -o h200.tuning", "measure the best place"},
                 {"weft tune gemm sort scan -p gpu:1 -o gpu1.tuning", "three ladders, one table"},
                 {"WEFT_TUNING=h200.tuning weft climb gemm", "with the table"}},
    .options = options,
    .list_operands = list_ladders,
    .operand_heading = "OP",
    .least_operands = 1,
    .most_operands = WI_MAX_OPS,
    .run = execute,
};
