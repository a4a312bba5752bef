/* SPDX-License-Identifier: Apache-2.0 */
/* The climbs of records: sort_records, record_runs, search_records. A record is 8 bytes, stored as
 * one u64: a u16 and a u32 that order it, and two bytes that do not. */
#include <stdio.h>

#include "climb/data.h"
#include "cpu/team.h"
#include "sort/sort_fields.h"
#include "weft/records.h"

static const weft_field fields[] = {{0, WEFT_U16, WEFT_ASCENDING}, {4, WEFT_U32, WEFT_DESCENDING}};

enum {
    FIELDS = sizeof fields / sizeof *fields,
    RUN = 4,        /* records of a run */
    GROUP = 1 << 16 /* records that share their first field */
};

/* A number that rises with the place of a record in the order. */
static uint64_t rank_of(uint64_t record) {
    return (record & 0xFFFF) << 32 | (UINT32_MAX - (record >> 32));
}

/* The records in order: run r is the r-th number of these ranks. */
static uint64_t record_of(size_t run) {
    const uint64_t first = run / GROUP & 0xFFFF, second = UINT32_MAX - run % GROUP;
    return second << 32 | first;
}

static void fill_runs(void *user, int rank, int team) {
    const wi_data *const data = user;
    const size_t n = data->setup.n, end = wi_team_share(n, rank + 1, team);
    for (size_t i = wi_team_share(n, rank, team); i < end; i++)
        ((uint64_t *)data->host_x)[i] = record_of(i / RUN) | (uint64_t)(i % RUN) << 16;
}

static void describe(const wi_data *data, double words, wi_facts *facts) {
    *facts = (wi_facts){.size = wi_size_of(data->setup.n),
                        .bytes = words * sizeof(uint64_t) * (double)data->setup.n,
                        .roof = WI_ROOF_COPY};
}

/* ---- sort_records ---- */

/* The finalizer of MurmurHash3. */
static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 33)) * 0xFF51AFD7ED558CCDu;
    z = (z ^ (z >> 33)) * 0xC4CEB9FE1A85EC53u;
    return z ^ (z >> 33);
}

/* First fields repeat, second ones seldom. */
static void fill_random(void *user, int rank, int team) {
    const wi_data *const data = user;
    const size_t n = data->setup.n, end = wi_team_share(n, rank + 1, team);
    for (size_t i = wi_team_share(n, rank, team); i < end; i++)
        ((uint64_t *)data->host_x)[i] = mix(i + data->setup.seed) & 0xFFFFFFFFFFFF01FFu;
}

static weft_status make_sort(const wi_setup *setup, void **problem) {
    return wi_data_make_filled(setup, wi_data_bytes(setup), fill_random, problem);
}

static weft_status call_sort(void *problem) {
    const wi_data *const data = problem;
    return weft_sort_records(data->setup.ctx, data->setup.n, sizeof(uint64_t), data->x, data->z,
                             fields, FIELDS);
}

static bool check_sort(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    const uint64_t *const x = data->host_x, *const z = data->host_z;
    uint64_t sum = 0, other = 0;
    if (!wi_data_try(data, call_sort, why, bytes))
        return false;
    for (size_t i = 0; i < data->setup.n; i++) {
        sum += mix(x[i]) - mix(z[i]);
        other += mix(~x[i]) - mix(~z[i]);
        if (i == 0 || rank_of(z[i - 1]) <= rank_of(z[i]))
            continue;
        snprintf(why, bytes, "record %zu belongs before the one in front of it", i);
        return false;
    }
    if (sum != 0 || other != 0)
        snprintf(why, bytes, "the records in order are not those that came in");
    return sum == 0 && other == 0;
}

static void describe_sort(const void *problem, const char *rung, wi_facts *facts) {
    (void)rung;
    describe(problem, 2, facts);
}

const wi_climb wi_sort_records_climb = {
    .ladder = &wi_sort_records_ladder,
    .example = "by two fields",
    .type = WEFT_U64,
    .types = WI_TYPE(WEFT_U64),
    .make = make_sort,
    .call = call_sort,
    .check = check_sort,
    .describe = describe_sort,
    .drop = wi_data_drop,
};

/* ---- record_runs: z has the number of runs, and behind it their first records ---- */

static weft_status make_runs(const wi_setup *setup, void **problem) {
    return wi_data_make_filled(setup, (setup->n + 1) * sizeof(uint64_t), fill_runs, problem);
}

static weft_status call_runs(void *problem) {
    const wi_data *const data = problem;
    uint64_t *const count = data->z;
    return weft_unique_records(data->setup.ctx, data->setup.n, sizeof(uint64_t), data->x, count + 1,
                               fields, FIELDS, count);
}

static bool check_runs(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    const uint64_t *const z = data->host_z, runs = (data->setup.n + RUN - 1) / RUN;
    if (!wi_data_try(data, call_runs, why, bytes))
        return false;
    bool right = z[0] == runs;
    for (uint64_t r = 0; r < runs && right; r++)
        right = z[1 + r] == record_of(r);
    if (!right)
        snprintf(why, bytes, "%llu runs were found; their number, or one of them, is wrong",
                 (unsigned long long)z[0]);
    return right;
}

static void describe_runs(const void *problem, const char *rung, wi_facts *facts) {
    (void)rung;
    describe(problem, 1 + 1.0 / RUN, facts);
}

const wi_climb wi_record_runs_climb = {
    .ladder = &wi_record_runs_ladder,
    .example = "runs of four",
    .type = WEFT_U64,
    .types = WI_TYPE(WEFT_U64),
    .make = make_runs,
    .call = call_runs,
    .check = check_runs,
    .describe = describe_runs,
    .drop = wi_data_drop,
};

/* ---- search_records: y has the wanted records, in no order, and z their positions ---- */

/* The run of which a record is wanted. */
static size_t wanted_run(size_t n, size_t j) {
    return mix(j) % ((n + RUN - 1) / RUN);
}

static void fill_wanted(void *user, int rank, int team) {
    const wi_data *const data = user;
    const size_t n = data->setup.n, end = wi_team_share(n, rank + 1, team);
    for (size_t j = wi_team_share(n, rank, team); j < end; j++)
        ((uint64_t *)data->host_y)[j] = record_of(wanted_run(n, j));
}

static weft_status make_search(const wi_setup *setup, void **problem) {
    const weft_status status =
        wi_data_make_filled(setup, setup->n * sizeof(uint64_t), fill_runs, problem);
    return status == WEFT_OK ? wi_data_add_y(*problem, setup->n * sizeof(uint64_t), fill_wanted)
                             : status;
}

static weft_status call_search(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const setup = &data->setup;
    return weft_search_records(setup->ctx, WEFT_LOWER, setup->n, sizeof(uint64_t), data->x,
                               setup->n, data->y, fields, FIELDS, data->z);
}

static bool check_search(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    const size_t n = data->setup.n;
    const uint64_t *const positions = data->host_z;
    if (!wi_data_try(data, call_search, why, bytes))
        return false;
    for (size_t j = 0; j < n; j++) {
        if (positions[j] == RUN * wanted_run(n, j))
            continue;
        snprintf(why, bytes, "position %zu of %zu is %llu, should be %zu", j, n,
                 (unsigned long long)positions[j], RUN * wanted_run(n, j));
        return false;
    }
    return true;
}

static void describe_search(const void *problem, const char *rung, wi_facts *facts) {
    (void)rung;
    describe(problem, 3, facts);
}

const wi_climb wi_search_records_climb = {
    .ladder = &wi_search_records_ladder,
    .example = "as many as records",
    .type = WEFT_U64,
    .types = WI_TYPE(WEFT_U64),
    .make = make_search,
    .call = call_search,
    .check = check_search,
    .describe = describe_search,
    .drop = wi_data_drop,
};
