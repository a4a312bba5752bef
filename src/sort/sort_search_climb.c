/* SPDX-License-Identifier: Apache-2.0 */
/* The climbs of keys in order: is_sorted, search, merge. */
#include <stdio.h>
#include <string.h>

#include "climb/data.h"
#include "cpu/team.h"
#include "sort/sort_run.h"
#include "weft/reduce.h"

enum {
    VALUES = 64 /* keys take so many values, which all types can hold */
};

/* The value of key i of n in order. */
static int64_t rising(size_t n, size_t i) {
    return (int64_t)((double)i * VALUES / (double)n);
}

/* How many keys of n in order are below a value. */
static size_t below(size_t n, int64_t value) {
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (rising(n, middle) < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void put(const wi_data *data, void *to, size_t i, int64_t k) {
    const size_t size = weft_type_size(data->setup.type);
    wi_data_convert(data->setup.type, 1, &k, (char *)to + i * size);
}

static void fill_rising(void *user, int rank, int team) {
    const wi_data *const data = user;
    const size_t n = data->setup.n, end = wi_team_share(n, rank + 1, team);
    for (size_t i = wi_team_share(n, rank, team); i < end; i++)
        put(data, data->host_x, i, rising(n, i));
}

static void describe(const wi_data *data, double arrays, double words, wi_roof roof,
                     wi_facts *facts) {
    *facts = (wi_facts){.size = wi_size_of(data->setup.n),
                        .bytes = arrays * (double)wi_data_bytes(&data->setup) +
                                 words * (double)data->setup.n,
                        .roof = roof};
}

/* ---- is_sorted ---- */

static weft_status make_sorted(const wi_setup *setup, void **problem) {
    return wi_data_make_filled(setup, sizeof(uint64_t), fill_rising, problem);
}

static weft_status call_sorted(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const setup = &data->setup;
    return weft_is_sorted(setup->ctx, WEFT_ASCENDING, setup->type, setup->n, data->x, data->z);
}

static bool check_sorted(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    if (!wi_data_try(data, call_sorted, why, bytes))
        return false;
    const uint64_t found = *(const uint64_t *)data->host_z;
    if (found != WEFT_NOWHERE)
        snprintf(why, bytes, "element %llu is not out of order", (unsigned long long)found);
    return found == WEFT_NOWHERE;
}

static void describe_sorted(const void *problem, const char *rung, wi_facts *facts) {
    (void)rung;
    describe(problem, 1, 0, WI_ROOF_READ, facts);
}

const wi_climb wi_is_sorted_climb = {
    .ladder = &wi_is_sorted_ladder,
    .example = "keys in order",
    .type = WEFT_U32,
    .make = make_sorted,
    .call = call_sorted,
    .check = check_sorted,
    .describe = describe_sorted,
    .drop = wi_data_drop,
};

/* ---- search: y has the wanted keys, in no order, and z their positions ---- */

static void fill_wanted(void *user, int rank, int team) {
    const wi_data *const data = user;
    const size_t n = data->setup.n, end = wi_team_share(n, rank + 1, team);
    for (size_t i = wi_team_share(n, rank, team); i < end; i++) {
        int64_t k;
        wi_data_draw(data, 1, i, 1, &k);
        put(data, data->host_y, i, k);
    }
}

static weft_status make_search(const wi_setup *setup, void **problem) {
    const weft_status status =
        wi_data_make_filled(setup, setup->n * sizeof(uint64_t), fill_rising, problem);
    return status == WEFT_OK ? wi_data_add_y(*problem, wi_data_bytes(setup), fill_wanted) : status;
}

static weft_status call_search(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const setup = &data->setup;
    return weft_search(setup->ctx, WEFT_LOWER, WEFT_ASCENDING, setup->type, setup->n, data->x,
                       setup->n, data->y, data->z);
}

static bool check_search(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    const size_t n = data->setup.n;
    const uint64_t *const positions = data->host_z;
    if (!wi_data_try(data, call_search, why, bytes))
        return false;
    for (size_t j = 0; j < n; j++) {
        int64_t k;
        wi_data_draw(data, 1, j, 1, &k);
        if (positions[j] == below(n, k))
            continue;
        snprintf(why, bytes, "position %zu of %zu is %llu, should be %zu", j, n,
                 (unsigned long long)positions[j], below(n, k));
        return false;
    }
    return true;
}

/* Keys and wanted keys are read once, positions written once. */
static void describe_search(const void *problem, const char *rung, wi_facts *facts) {
    (void)rung;
    describe(problem, 2, sizeof(uint64_t), WI_ROOF_COPY, facts);
}

const wi_climb wi_search_climb = {
    .ladder = &wi_search_ladder,
    .example = "as many as keys",
    .type = WEFT_U32,
    .make = make_search,
    .call = call_search,
    .check = check_search,
    .describe = describe_search,
    .drop = wi_data_drop,
};

/* ---- merge: x has both inputs, each of half as many keys ---- */

static size_t half_of(const wi_setup *setup) {
    return setup->n / 2;
}

static void fill_halves(void *user, int rank, int team) {
    const wi_data *const data = user;
    const size_t n = data->setup.n, half = half_of(&data->setup);
    const size_t end = wi_team_share(n, rank + 1, team);
    for (size_t i = wi_team_share(n, rank, team); i < end; i++)
        put(data, data->host_x, i, i < half ? rising(half, i) : rising(n - half, i - half));
}

static weft_status make_merge(const wi_setup *setup, void **problem) {
    return wi_data_make_filled(setup, wi_data_bytes(setup), fill_halves, problem);
}

static weft_status call_merge(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const setup = &data->setup;
    const size_t half = half_of(setup);
    return weft_merge(setup->ctx, WEFT_ASCENDING, setup->type, half, data->x, setup->n - half,
                      (const char *)data->x + half * weft_type_size(setup->type), data->z, 0, NULL,
                      NULL, NULL);
}

/* The output has as many keys of each value as both inputs together. */
static bool check_merge(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    const size_t n = data->setup.n, half = half_of(&data->setup);
    const size_t size = weft_type_size(data->setup.type);
    if (!wi_data_try(data, call_merge, why, bytes))
        return false;
    size_t i = 0;
    for (int64_t value = 0; value < VALUES; value++) {
        uint64_t right = 0;
        wi_data_convert(data->setup.type, 1, &value, &right);
        const size_t end = below(half, value + 1) + below(n - half, value + 1);
        for (; i < end; i++) {
            if (memcmp((const char *)data->host_z + i * size, &right, size) == 0)
                continue;
            snprintf(why, bytes, "key %zu of %zu is wrong", i, n);
            return false;
        }
    }
    return true;
}

static void describe_merge(const void *problem, const char *rung, wi_facts *facts) {
    (void)rung;
    describe(problem, 2, 0, WI_ROOF_COPY, facts);
}

const wi_climb wi_merge_climb = {
    .ladder = &wi_merge_ladder,
    .example = "two equal halves",
    .type = WEFT_U32,
    .make = make_merge,
    .call = call_merge,
    .check = check_merge,
    .describe = describe_merge,
    .drop = wi_data_drop,
};
