/* SPDX-License-Identifier: Apache-2.0 */
/* Measures by what factors a ladder's predictions miss the times of this device. */
#ifndef WI_TUNE_H
#define WI_TUNE_H

#include "climb/climb.h"
#include "climb/meter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A rung on a problem: what was predicted and what was measured. */
typedef struct wi_sample {
    size_t row; /* of the ladder */
    size_t problem;
    weft_type type; /* of its calls; WI_NO_TYPE if they have none */
    unsigned shape; /* class of calls: core/tuning.h */
    double predicted, seconds;
} wi_sample;

/* All samples of a ladder. Zero all of it but the climb to begin with. */
typedef struct wi_samples {
    const wi_climb *climb;
    wi_sample *at;
    double *ratios; /* as much room, for medians */
    size_t count, room, problems;
} wi_samples;

/* How many rungs of the ladder the library may choose among at this place, for calls of `type`. */
size_t wi_tune_rivals(const wi_ladder *ladder, const weft_context *ctx, weft_type type);

/* Times each of them that can do the problem. A problem for which memory does not suffice, or that
 * would take too long, is left out. */
weft_status wi_tune_problem(wi_samples *samples, const wi_meter *meter, const wi_setup *setup);

/* The median of measured over predicted times of a row, type and class of calls, within what a
 * table may hold; of a class of any shape the median over all shapes. *count is the number of
 * samples; without any the factor is 0. */
double wi_tune_factor(const wi_samples *samples, size_t row, weft_type type, unsigned shape,
                      size_t *count);

/* How well rungs are chosen: the time of the rung of the least predicted time over that of the
 * fastest, the geometric mean over the problems that more than one rung did; without the factors
 * and with them. */
typedef struct wi_tune_loss {
    size_t problems;
    double model, table;
} wi_tune_loss;

/* Of the calls of a type: those of shapes from WI_ROUNDED on if `shape` is one of them, else the
 * others. */
wi_tune_loss wi_tune_find_loss(const wi_samples *samples, weft_type type, unsigned shape);

void wi_tune_free(wi_samples *samples);

#ifdef __cplusplus
}
#endif
#endif
