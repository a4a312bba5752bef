/* SPDX-License-Identifier: Apache-2.0 */
/* The climb of columns: two of the four members of each record are taken out. */
#include <stdio.h>
#include <string.h>

#include "climb/data.h"
#include "gather/gather_columns.h"

enum {
    MEMBERS = 4, /* elements of a record */
    TAKEN = 2
};
static const size_t members[TAKEN] = {1, 3};

/* The n elements of x are records; z has the columns, one after another. */
static size_t records_of(const wi_setup *setup) {
    return setup->n / MEMBERS;
}

static weft_status make(const wi_setup *setup, void **problem) {
    const size_t bytes = TAKEN * records_of(setup) * weft_type_size(setup->type);
    if (bytes == 0)
        return wi_fail(setup->ctx, WEFT_EUNSUPPORTED,
                       "climb: a record has %d elements; choose --n %d or more", MEMBERS, MEMBERS);
    return wi_data_make(setup, WI_DATA_PLACE, false, bytes, problem);
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const setup = &data->setup;
    const size_t size = weft_type_size(setup->type), records = records_of(setup);
    weft_table_column column[TAKEN];
    for (size_t c = 0; c < TAKEN; c++)
        column[c] =
            (weft_table_column){members[c] * size, size, (char *)data->z + c * records * size};
    return weft_take_columns(setup->ctx, records, MEMBERS * size, data->x, TAKEN, column);
}

static bool check(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    const size_t size = weft_type_size(data->setup.type), records = records_of(&data->setup);
    const char *const x = data->host_x, *const z = data->host_z;
    if (!wi_data_try(data, call, why, bytes))
        return false;
    for (size_t c = 0; c < TAKEN; c++) {
        for (size_t i = 0; i < records; i++) {
            if (memcmp(z + (c * records + i) * size, x + (i * MEMBERS + members[c]) * size, size) ==
                0)
                continue;
            snprintf(why, bytes, "element %zu of %zu of column %zu is wrong", i, records, c);
            return false;
        }
    }
    return true;
}

/* Records are read once, columns written once. */
static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    const double written = (double)TAKEN / MEMBERS;
    (void)rung;
    *facts = (wi_facts){.size = wi_size_of(data->setup.n),
                        .bytes = (1 + written) * (double)wi_data_bytes(&data->setup),
                        .roof = WI_ROOF_COPY};
}

const wi_climb wi_columns_climb = {
    .ladder = &wi_columns_ladder,
    .example = "two of four members",
    .type = WEFT_F32,
    .make = make,
    .call = call,
    .check = check,
    .describe = describe,
    .drop = wi_data_drop,
};
