/* SPDX-License-Identifier: Apache-2.0 */
/* stage's climb: z = x + y on pageable host memory, computed on a GPU place. */
#include "core/data_climb.h"
#include "core/stage.h"

static weft_status make(wi_case *c) {
    return wi_data_make(c, WI_DATA_HOST, true, c->n * weft_type_size(c->type));
}

/* x and y travel in; z travels out at the same time, over the other half of a full-duplex link. */
static double bytes_moved(const wi_case *c) {
    return 2.0 * (double)(c->n * weft_type_size(c->type));
}

const wi_climb wi_stage_climb = {
    .ladder = &wi_stage_ladder,
    .example = "add of host arrays",
    .type = WEFT_F32,
    .roof = WI_ROOF_LINK,
    .make = make,
    .call = wi_data_add,
    .serial = wi_data_add_serial,
    .check = wi_data_add_check,
    .bytes = bytes_moved,
    .drop = wi_data_drop,
};
