/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of tuning: for each rung, type and class of calls one factor, by which the predicted time
 * is multiplied before rungs are compared. `weft tune` measures and writes them. */
#ifndef WI_TUNING_H
#define WI_TUNING_H

#include "core/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Shapes of calls whose times a model may miss by different factors; wi_row.shape tells them. */
enum {
    WI_SHAPE_ANY,
    WI_SHAPE_SMALL,
    WI_SHAPE_LARGE,
    WI_SHAPE_THIN,
    WI_SHAPE_FLAT,
    WI_SHAPE_SHORT,
    WI_SHAPE_TALL,
    WI_SHAPES,
    /* The same for f32 that may be rounded to tf32, which is like a type of its own. */
    WI_ROUNDED = WI_SHAPES,
    WI_SHAPE_CLASSES = 2 * WI_SHAPES
};

#define WI_TUNING_VERSION 1
#define WI_TUNING_LEAST 1e-6 /* factors beyond these come from no measurement */
#define WI_TUNING_MOST 1e6

/* What the table calls a type in a class of calls: "f32", "tf32"; "-" for a call without a type. */
const char *wi_tuning_type(weft_type type, unsigned shape);
/* The name of the shape in a class of calls: "any", "thin". */
const char *wi_tuning_shape(unsigned shape);

/* What a table calls the context's place, without its number, and its device. */
const char *wi_tuning_place(const weft_context *ctx);

enum {
    WI_DEVICE_BYTES = 256
};

void wi_tuning_device(const weft_context *ctx, char device[WI_DEVICE_BYTES]);

typedef struct wi_tuning wi_tuning;

/* Reads a table. With `lenient` one of another kind of place is passed over: *tuning is NULL then.
 * Messages begin with `call`. */
weft_status wi_tuning_read(weft_context *ctx, const char *call, const char *path, bool lenient,
                           wi_tuning **tuning);
void wi_tuning_free(wi_tuning *tuning); /* NULL is allowed */

/* The factor of row `row` of the ladder wi_ops[op]: that of the class of calls, else that of any
 * shape, else 1. */
double wi_tuning_factor(const wi_tuning *tuning, size_t op, size_t row, weft_type type,
                        unsigned shape);

/* weft_set_tuning for weft_open: from the environment. */
weft_status wi_set_tuning(weft_context *ctx, const char *call, const char *path, bool lenient);

/* What a ladder predicts of the calls that run on a context, while ctx->forecast is set: the times
 * without a table, and the class of the latest call. */
typedef struct wi_forecast {
    const wi_ladder *ladder;
    double seconds; /* of all calls together */
    size_t calls;
    weft_type type; /* of the latest */
    unsigned shape;
} wi_forecast;

#ifdef __cplusplus
}
#endif
#endif
