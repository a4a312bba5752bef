/* SPDX-License-Identifier: Apache-2.0 */
/* select's climb: the elements above their middle. */
#include "core/data_climb.h"
#include "select/select.h"

#include <stdio.h>
#include <string.h>

enum {
    MIDDLE_UNSIGNED = 63 /* of k; that of signed types is 0 */
};

static weft_predicate above_middle(const wi_case *c) {
    weft_predicate p = {.test = WEFT_GT, .type = c->type};
    int64_t middle = wi_type_is_float(c->type) || wi_type_is_signed(c->type) ? 0 : MIDDLE_UNSIGNED;
    wi_data_convert(c->type, 1, &middle, &p.a);
    return p;
}

static bool is_wanted(const wi_case *c, int64_t k) {
    return k > (wi_type_is_float(c->type) || wi_type_is_signed(c->type) ? 0 : MIDDLE_UNSIGNED);
}

/* The output array, and the count behind it. */
static size_t count_at(const wi_case *c) {
    return (c->n * weft_type_size(c->type) + 7) / 8 * 8;
}
static size_t z_bytes(const wi_case *c) {
    return count_at(c) + sizeof(uint64_t);
}

static weft_status make(wi_case *c) {
    return wi_data_make(c, WI_DATA_PLACE, false, z_bytes(c));
}

static weft_status call(wi_case *c) {
    return weft_select(c->ctx, above_middle(c), c->n, c->x, c->z,
                       (uint64_t *)(void *)((char *)c->z + count_at(c)));
}

static weft_status serial(wi_case *c) {
    const wi_data *data = c->expected;
    const weft_predicate p = above_middle(c);
    const wi_select_args args = {
        .job = WI_SELECT_KEEP,
        .n = c->n,
        .tested = data->host_x,
        .tested_bytes = weft_type_size(c->type),
        .range = wi_select_range_of(&p),
        .x = data->host_x,
        .unit = weft_type_size(c->type),
        .units = 1,
        .kept = data->host_z,
        .count = (uint64_t *)(void *)((char *)data->host_z + count_at(c)),
    };
    return wi_select_serial(c->ctx, &args);
}

/* Draws the input again, chunk by chunk, and looks for what is wanted at its place in the output.
 */
static bool compare(const wi_case *c, char *why, size_t bytes) {
    const wi_data *data = c->expected;
    const size_t size = weft_type_size(c->type);
    const char *const z = data->host_z;
    uint64_t kept = 0, count;
    memcpy(&count, z + count_at(c), sizeof count);
    for (size_t first = 0; first < c->n; first += WI_DATA_CHUNK) {
        int64_t k[WI_DATA_CHUNK], right[WI_DATA_CHUNK];
        const size_t left = c->n - first, drawn = left < WI_DATA_CHUNK ? left : WI_DATA_CHUNK;
        size_t wanted = 0;
        wi_data_draw(c, 0, first, drawn, k);
        for (size_t i = 0; i < drawn; i++) {
            if (is_wanted(c, k[i]))
                k[wanted++] = k[i];
        }
        wi_data_convert(c->type, wanted, k, right);
        if (memcmp(z + kept * size, right, wanted * size) != 0) {
            snprintf(why, bytes, "an element between %zu and %zu is not the one kept there",
                     (size_t)kept, (size_t)kept + wanted);
            return false;
        }
        kept += wanted;
    }
    if (count != kept) {
        snprintf(why, bytes, "the count is %zu, should be %zu", (size_t)count, (size_t)kept);
        return false;
    }
    return true;
}

static bool check(wi_case *c, char *why, size_t bytes) {
    if (wi_data_poison(c, z_bytes(c)) != WEFT_OK || call(c) != WEFT_OK ||
        wi_data_fetch(c, z_bytes(c)) != WEFT_OK) {
        snprintf(why, bytes, "%s", weft_message(c->ctx));
        return false;
    }
    return compare(c, why, bytes);
}

/* Each element read once; those kept, 63 of 127, written once. */
static double bytes_moved(const wi_case *c) {
    return (1 + 63.0 / 127) * (double)c->n * (double)weft_type_size(c->type);
}

const wi_climb wi_select_climb = {
    .ladder = &wi_select_ladder,
    .example = "above the middle",
    .type = WEFT_F32,
    .roof = WI_ROOF_COPY,
    .make = make,
    .call = call,
    .serial = serial,
    .check = check,
    .bytes = bytes_moved,
    .drop = wi_data_drop,
};
