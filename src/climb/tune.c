/* SPDX-License-Identifier: Apache-2.0 */
/* Predicted and measured times of the rungs that the library chooses among. */
#include "climb/tune.h"

#include <math.h>
#include <string.h>

#include "climb/rung.h"
#include "core/tuning.h"

enum {
    FIRST_ROOM = 64
};

/* May the library choose this row at this place, by its cost? */
static bool is_rival(const wi_row *row, const weft_context *ctx) {
    return row->seconds && row->seconds != wi_no_rival && wi_row_serves(row, ctx);
}

size_t wi_tune_rivals(const wi_ladder *ladder, const weft_context *ctx, weft_type type) {
    size_t count = 0;
    for (size_t k = 0; k < ladder->count; k++)
        count += is_rival(&ladder->rows[k], ctx) && (ladder->rows[k].types >> type & 1);
    return count;
}

static weft_status add(wi_samples *s, weft_context *ctx, const wi_sample *sample) {
    if (s->count == s->room) {
        const size_t room = s->room ? 2 * s->room : FIRST_ROOM;
        wi_sample *const at = wi_host_alloc(room * sizeof *at);
        double *const ratios = wi_host_alloc(room * sizeof *ratios);
        if (!at || !ratios) {
            wi_host_free(at);
            wi_host_free(ratios);
            return wi_fail(ctx, WEFT_ENOMEM, "tune: no memory for %zu measurements", room);
        }
        if (s->count > 0)
            memcpy(at, s->at, s->count * sizeof *at);
        wi_host_free(s->at);
        wi_host_free(s->ratios);
        s->at = at;
        s->ratios = ratios;
        s->room = room;
    }
    s->at[s->count++] = *sample;
    return WEFT_OK;
}

/* Times row `index` on the problem. One that cannot do it gives no sample, nor does one whose call
 * takes too long or does not run the ladder. */
static weft_status time_row(wi_samples *s, const wi_meter *meter, size_t index, void *problem) {
    const wi_ladder *const ladder = s->climb->ladder;
    weft_context *const ctx = meter->ctx;
    wi_forecast told = {.ladder = ladder};
    wi_facts facts;
    double once;
    weft_status status = weft_use(ctx, ladder->op, ladder->rows[index].name);
    if (status != WEFT_OK)
        return status;
    s->climb->describe(problem, NULL, &facts);
    const wi_timed timed = {
        .run = s->climb->call, .user = problem, .bytes = facts.bytes, .on_host = facts.on_host};
    ctx->forecast = &told;
    status = wi_meter_once(meter, &timed, &once);
    ctx->forecast = NULL;
    if (status == WEFT_EUNSUPPORTED || status == WEFT_ENOMEM)
        return WEFT_OK;
    if (status != WEFT_OK || !(told.seconds > 0) || once > 4 * WI_LONGEST_CALL_SECONDS)
        return status;
    wi_sample sample = {.row = index,
                        .problem = s->problems,
                        .type = told.type,
                        .shape = told.shape,
                        .predicted = told.seconds};
    status = wi_meter_time(meter, &timed, &sample.seconds);
    return status == WEFT_OK ? add(s, ctx, &sample) : status;
}

weft_status wi_tune_problem(wi_samples *samples, const wi_meter *meter, const wi_setup *setup) {
    const wi_climb *const climb = samples->climb;
    const wi_ladder *const ladder = climb->ladder;
    void *problem;
    weft_status status = climb->make(setup, &problem);
    if (status != WEFT_OK)
        return status == WEFT_ENOMEM || status == WEFT_EUNSUPPORTED ? WEFT_OK : status;
    for (size_t k = 0; k < ladder->count && status == WEFT_OK; k++)
        if (is_rival(&ladder->rows[k], meter->ctx))
            status = time_row(samples, meter, k, problem);
    samples->problems++;
    climb->drop(problem);
    if (status == WEFT_OK)
        status = weft_use(meter->ctx, ladder->op, NULL);
    return status;
}

/* Is the sample of the type, and as rounded as the class of calls? */
static bool is_alike(const wi_sample *sample, weft_type type, unsigned shape) {
    return sample->type == type && (sample->shape >= WI_ROUNDED) == (shape >= WI_ROUNDED);
}

static bool is_of(const wi_sample *sample, weft_type type, unsigned shape) {
    return is_alike(sample, type, shape) &&
           (shape % WI_SHAPES == WI_SHAPE_ANY || sample->shape == shape);
}

double wi_tune_factor(const wi_samples *samples, size_t row, weft_type type, unsigned shape,
                      size_t *count) {
    *count = 0;
    for (size_t k = 0; k < samples->count; k++) {
        const wi_sample *const sample = &samples->at[k];
        if (sample->row == row && is_of(sample, type, shape))
            samples->ratios[(*count)++] = sample->seconds / sample->predicted;
    }
    if (*count == 0)
        return 0;
    return fmax(WI_TUNING_LEAST, fmin(WI_TUNING_MOST, wi_median(samples->ratios, *count)));
}

/* The rung with the least predicted time so far: that time, and what it measured. */
typedef struct choice {
    double predicted, seconds;
} choice;

static void consider(choice *best, double predicted, double seconds) {
    if (predicted <= best->predicted)
        *best = (choice){predicted, seconds};
}

/* Adds one problem's losses, as logarithms. */
static void add_loss(const wi_samples *samples, size_t problem, weft_type type, unsigned shape,
                     wi_tune_loss *loss) {
    choice model = {INFINITY, 0}, table = {INFINITY, 0}, fastest = {INFINITY, 0};
    size_t rungs = 0;
    for (size_t k = 0; k < samples->count; k++) {
        const wi_sample *const s = &samples->at[k];
        size_t unused;
        if (s->problem != problem || !is_alike(s, type, shape))
            continue;
        const double factor = wi_tune_factor(samples, s->row, s->type, s->shape, &unused);
        consider(&model, s->predicted, s->seconds);
        consider(&table, s->predicted * factor, s->seconds);
        consider(&fastest, s->seconds, s->seconds);
        rungs++;
    }
    if (rungs < 2)
        return;
    loss->problems++;
    loss->model += log(model.seconds / fastest.seconds);
    loss->table += log(table.seconds / fastest.seconds);
}

wi_tune_loss wi_tune_find_loss(const wi_samples *samples, weft_type type, unsigned shape) {
    wi_tune_loss loss = {0};
    for (size_t problem = 0; problem < samples->problems; problem++)
        add_loss(samples, problem, type, shape, &loss);
    const double problems = loss.problems > 0 ? (double)loss.problems : 1;
    loss.model = exp(loss.model / problems);
    loss.table = exp(loss.table / problems);
    return loss;
}

void wi_tune_free(wi_samples *samples) {
    wi_host_free(samples->at);
    wi_host_free(samples->ratios);
    samples->at = NULL;
    samples->ratios = NULL;
    samples->count = samples->room = 0;
}
