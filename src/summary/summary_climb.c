/* SPDX-License-Identifier: Apache-2.0 */
/* summary's climb: the statistics of small numbers, of which the sums are exact. */
#include <math.h>
#include <stdio.h>

#include "climb/data.h"
#include "summary/summary.h"

static weft_status make(const wi_setup *setup, void **problem) {
    return wi_data_make(setup, WI_DATA_PLACE, false, sizeof(weft_statistics), problem);
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    return weft_summary(data->setup.ctx, data->setup.type, data->setup.n, data->x, data->z);
}

static weft_status serial(void *problem) {
    const wi_data *const data = problem;
    const wi_summary_args args = {
        .type = data->setup.type, .n = data->setup.n, .x = data->host_x, .result = data->host_z};
    return wi_summary_serial(data->setup.ctx, &args);
}

/* Elements are whole numbers, or eighths of them: sums and their squares are exact in integers. */
static bool check(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    const size_t n = data->setup.n;
    int64_t k[WI_DATA_CHUNK], least = INT64_MAX, most = INT64_MIN, sum = 0, squares = 0;
    if (!wi_data_try(data, call, why, bytes))
        return false;
    for (size_t first = 0; first < n; first += WI_DATA_CHUNK) {
        const size_t few = n - first < WI_DATA_CHUNK ? n - first : WI_DATA_CHUNK;
        wi_data_draw(data, 0, first, few, k);
        for (size_t i = 0; i < few; i++) {
            least = k[i] < least ? k[i] : least;
            most = k[i] > most ? k[i] : most;
            sum += k[i];
            squares += k[i] * k[i];
        }
    }
    const weft_statistics *const got = data->host_z;
    const double unit = wi_type_is_float(data->setup.type) ? 0.125 : 1;
    const double mean = unit * (double)sum / (double)n;
    const double variance = unit * unit * (double)squares / (double)n - mean * mean;
    const double near = 1e-12 * (1 + variance);
    if (got->count == n && got->nans == 0 && got->min == unit * (double)least &&
        got->max == unit * (double)most && fabs(got->mean - mean) <= near &&
        fabs(got->variance - variance) <= near)
        return true;
    snprintf(why, bytes, "count %llu, min %g, max %g, mean %.17g, variance %.17g; not %.17g, %.17g",
             (unsigned long long)got->count, got->min, got->max, got->mean, got->variance, mean,
             variance);
    return false;
}

const wi_climb wi_summary_climb = {
    .ladder = &wi_summary_ladder,
    .example = "mean and variance",
    .type = WEFT_F32,
    .make = make,
    .call = call,
    .serial = serial,
    .check = check,
    .describe = wi_data_describe_read,
    .drop = wi_data_drop,
};
