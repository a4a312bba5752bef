/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs whose sums are exact, and checks of whole outputs; see data.h. */
#include "climb/data.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "climb/meter.h"
#include "cpu/team.h"

enum {
    POISON = 0xA5
};

static size_t chunk_count(size_t n) {
    return n / WI_DATA_CHUNK + (n % WI_DATA_CHUNK != 0);
}

static size_t chunk_elements(size_t n, size_t chunk) {
    size_t left = n - chunk * WI_DATA_CHUNK;
    return left < WI_DATA_CHUNK ? left : WI_DATA_CHUNK;
}

/* The finalizer of SplitMix64: every bit of the argument affects every bit of the result. */
static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

size_t wi_data_bytes(const wi_setup *setup) {
    return setup->n * weft_type_size(setup->type);
}

void wi_data_draw(const wi_data *data, int stream, size_t first, size_t count, int64_t *k) {
    const weft_type type = data->setup.type;
    bool below_zero = wi_type_is_float(type) || wi_type_is_signed(type);
    int64_t low = below_zero ? -63 : 0;
    uint64_t start = mix(data->setup.seed * 2 + (uint64_t)stream) + first;
    for (size_t i = 0; i < count; i++) {
        k[i] = (int64_t)((mix(start + i) >> 32) * 127 >> 32) + low;
    }
}

static void convert_halves(weft_type type, size_t count, const int64_t *k, void *out) {
    for (size_t i = 0; i < count; i++) {
        float value = (float)((double)k[i] / 8);
        if (type == WEFT_F16) {
            ((weft_f16 *)out)[i] = weft_f16_from_float(value);
        } else {
            ((weft_bf16 *)out)[i] = weft_bf16_from_float(value);
        }
    }
}

static void convert_floats(weft_type type, size_t count, const int64_t *k, void *out) {
    for (size_t i = 0; i < count; i++) {
        double value = (double)k[i] / 8;
        if (type == WEFT_F32) {
            ((float *)out)[i] = (float)value;
        } else {
            ((double *)out)[i] = value;
        }
    }
}

static void convert_integers(size_t size, size_t count, const int64_t *k, void *out) {
    for (size_t i = 0; i < count; i++) {
        switch (size) {
        case 1:
            ((uint8_t *)out)[i] = (uint8_t)k[i];
            break;
        case 2:
            ((uint16_t *)out)[i] = (uint16_t)k[i];
            break;
        case 4:
            ((uint32_t *)out)[i] = (uint32_t)k[i];
            break;
        default:
            ((uint64_t *)out)[i] = (uint64_t)k[i];
        }
    }
}

void wi_data_convert(weft_type type, size_t count, const int64_t *k, void *out) {
    if (!wi_type_is_float(type)) {
        convert_integers(weft_type_size(type), count, k, out);
    } else if (weft_type_size(type) == 2) {
        convert_halves(type, count, k, out);
    } else {
        convert_floats(type, count, k, out);
    }
}

/* The arguments of the threads. */
typedef struct filling {
    const wi_data *data;
    int stream;
    char *host;
    int64_t *sums;
} filling;

static void fill_part(void *user, int rank, int team) {
    const filling *const f = user;
    const wi_setup *const setup = &f->data->setup;
    const size_t chunks = chunk_count(setup->n), size = weft_type_size(setup->type);
    const size_t end = wi_team_share(chunks, rank + 1, team);
    int64_t k[WI_DATA_CHUNK];
    for (size_t chunk = wi_team_share(chunks, rank, team); chunk < end; chunk++) {
        size_t first = chunk * WI_DATA_CHUNK, count = chunk_elements(setup->n, chunk);
        wi_data_draw(f->data, f->stream, first, count, k);
        wi_data_convert(setup->type, count, k, f->host + first * size);
        int64_t sum = 0;
        for (size_t i = 0; i < count; i++) {
            sum += k[i];
        }
        if (f->sums) {
            f->sums[chunk] = sum;
        }
    }
}

/* Fills one array; stores the sum of each chunk in sums, unless that is NULL. */
static void fill_sums(const wi_data *data, int stream, void *host, int64_t *sums) {
    weft_context *const ctx = data->setup.ctx;
    filling f = {.data = data, .stream = stream, .host = host, .sums = sums};
    wi_team_run(ctx, ctx->threads, fill_part, &f);
}

/* sums[i] = the sum of all before i; sums[count] = the sum of all. */
static void sum_before(int64_t *sums, size_t count) {
    int64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t own = sums[i];
        sums[i] = total;
        total += own;
    }
    sums[count] = total;
}

static weft_status no_memory(const wi_setup *setup) {
    return wi_fail(setup->ctx, WEFT_ENOMEM,
                   "climb: no host memory for arrays of %zu elements of %s; choose a smaller --n",
                   setup->n, weft_type_name(setup->type));
}

/* Would a problem take more than half of the machine's memory? The system may promise more than it
 * has, and then kills the process when that is used. */
static bool is_too_large(const wi_data *data, bool has_y) {
    const size_t memory = wi_memory_bytes();
    const double inputs = (has_y ? 2.0 : 1.0) * (double)wi_data_bytes(&data->setup);
    return memory && inputs + (double)data->z_bytes > (double)memory / 2;
}

static weft_status allocate_host(wi_data *data, bool has_y) {
    if (is_too_large(data, has_y))
        return no_memory(&data->setup);
    const size_t bytes = wi_data_bytes(&data->setup), n = data->setup.n;
    data->host_x = wi_host_alloc_huge(bytes);
    data->host_y = has_y ? wi_host_alloc_huge(bytes) : NULL;
    data->host_z = wi_host_alloc_huge(data->z_bytes);
    data->before = wi_host_alloc((chunk_count(n) + 1) * sizeof *data->before);
    bool missing = (bytes && (!data->host_x || (has_y && !data->host_y))) ||
                   (data->z_bytes && !data->host_z) || !data->before;
    return missing ? no_memory(&data->setup) : WEFT_OK;
}

static weft_status copy_to_place(wi_data *data, bool has_y) {
    weft_context *const ctx = data->setup.ctx;
    const size_t bytes = wi_data_bytes(&data->setup);
    weft_status status = weft_alloc(ctx, &data->x, bytes);
    if (status == WEFT_OK && has_y) {
        status = weft_alloc(ctx, &data->y, bytes);
    }
    if (status == WEFT_OK) {
        status = weft_alloc(ctx, &data->z, data->z_bytes);
    }
    if (status == WEFT_OK) {
        status = weft_copy(ctx, data->x, data->host_x, bytes);
    }
    if (status == WEFT_OK && has_y) {
        status = weft_copy(ctx, data->y, data->host_y, bytes);
    }
    return status;
}

weft_status wi_data_make(const wi_setup *setup, wi_data_home home, bool has_y, size_t z_bytes,
                         void **problem) {
    wi_data *data = wi_host_alloc(sizeof *data);
    if (!data) {
        return no_memory(setup);
    }
    *data = (wi_data){.setup = *setup,
                      .z_bytes = z_bytes,
                      .shared = home == WI_DATA_HOST || setup->ctx->kind == WI_CPU};
    weft_status status = allocate_host(data, has_y);
    if (status == WEFT_OK) {
        fill_sums(data, 0, data->host_x, data->before);
        sum_before(data->before, chunk_count(setup->n));
        if (has_y) {
            fill_sums(data, 1, data->host_y, NULL);
        }
        if (data->shared) {
            data->x = data->host_x;
            data->y = data->host_y;
            data->z = data->host_z;
        } else {
            status = copy_to_place(data, has_y);
        }
    }
    if (status != WEFT_OK) {
        wi_data_drop(data);
        return status;
    }
    *problem = data;
    return WEFT_OK;
}

weft_status wi_data_make_filled(const wi_setup *setup, size_t z_bytes, wi_data_filler fill,
                                void **problem) {
    weft_context *const ctx = setup->ctx;
    weft_status status = wi_data_make(setup, WI_DATA_PLACE, false, z_bytes, problem);
    if (status != WEFT_OK)
        return status;
    const wi_data *const data = *problem;
    wi_team_run(ctx, ctx->threads, fill, *problem);
    if (!data->shared)
        status = weft_copy(ctx, data->x, data->host_x, wi_data_bytes(setup));
    if (status != WEFT_OK)
        wi_data_drop(*problem);
    return status;
}

static void put_random(weft_type type, uint64_t bits, void *x, size_t i) {
    const size_t size = weft_type_size(type);
    const double value = (double)(int64_t)bits * 0x1p-63;
    const float single = (float)value;
    const weft_f16 half = weft_f16_from_float(single);
    const weft_bf16 brain = weft_bf16_from_float(single);
    const void *from = &bits; /* the low bytes come first */
    if (wi_type_is_float(type))
        from = type == WEFT_F64   ? (const void *)&value
               : type == WEFT_F32 ? (const void *)&single
               : type == WEFT_F16 ? (const void *)&half
                                  : (const void *)&brain;
    memcpy((char *)x + i * size, from, size);
}

static void fill_random(void *user, int rank, int team) {
    const wi_data *const data = user;
    const wi_setup *const setup = &data->setup;
    const uint64_t start = mix(setup->seed);
    const size_t end = wi_team_share(setup->n, rank + 1, team);
    for (size_t i = wi_team_share(setup->n, rank, team); i < end; i++)
        put_random(setup->type, mix(start + i * 0x9E3779B97F4A7C15u), data->host_x, i);
}

weft_status wi_data_make_random(const wi_setup *setup, size_t z_bytes, void **problem) {
    return wi_data_make_filled(setup, z_bytes, fill_random, problem);
}

static weft_status add_y(wi_data *data, size_t y_bytes, wi_data_filler fill) {
    weft_context *const ctx = data->setup.ctx;
    data->host_y = wi_host_alloc_huge(y_bytes);
    if (!data->host_y && y_bytes > 0)
        return no_memory(&data->setup);
    wi_team_run(ctx, ctx->threads, fill, data);
    if (data->shared) {
        data->y = data->host_y;
        return WEFT_OK;
    }
    const weft_status status = weft_alloc(ctx, &data->y, y_bytes);
    return status == WEFT_OK ? weft_copy(ctx, data->y, data->host_y, y_bytes) : status;
}

weft_status wi_data_add_y(wi_data *data, size_t y_bytes, wi_data_filler fill) {
    const weft_status status = add_y(data, y_bytes, fill);
    if (status != WEFT_OK)
        wi_data_drop(data);
    return status;
}

void wi_data_drop(void *problem) {
    wi_data *data = problem;
    if (!data->shared) {
        weft_free(data->setup.ctx, data->x);
        weft_free(data->setup.ctx, data->y);
        weft_free(data->setup.ctx, data->z);
    }
    wi_host_free(data->host_x);
    wi_host_free(data->host_y);
    wi_host_free(data->host_z);
    wi_host_free(data->before);
    wi_host_free(data);
}

static weft_status poison(wi_data *data) {
    memset(data->host_z, POISON, data->z_bytes);
    return data->shared ? WEFT_OK
                        : weft_copy(data->setup.ctx, data->z, data->host_z, data->z_bytes);
}

static weft_status fetch(wi_data *data) {
    weft_context *const ctx = data->setup.ctx;
    return data->shared ? weft_sync(ctx) : weft_copy(ctx, data->host_z, data->z, data->z_bytes);
}

bool wi_data_try(wi_data *data, weft_status (*call)(void *problem), char *why, size_t bytes) {
    if (poison(data) == WEFT_OK && call(data) == WEFT_OK && fetch(data) == WEFT_OK)
        return true;
    snprintf(why, bytes, "%s", weft_message(data->setup.ctx));
    return false;
}

bool wi_data_check_sum(wi_data *data, weft_status (*call)(void *problem), weft_type type, char *why,
                       size_t bytes) {
    uint64_t right = 0, got = 0;
    if (!wi_data_try(data, call, why, bytes))
        return false;
    wi_data_convert(type, 1, &data->before[chunk_count(data->setup.n)], &right);
    memcpy(&got, data->host_z, weft_type_size(type));
    if (got != right)
        snprintf(why, bytes, "the sum of %zu elements has the bits %#" PRIx64 ", not %#" PRIx64,
                 data->setup.n, got, right);
    return got == right;
}

void wi_data_prefixes(const wi_data *data, size_t first, size_t count, int64_t *k) {
    int64_t sum = data->before[first / WI_DATA_CHUNK];
    wi_data_draw(data, 0, first, count, k);
    for (size_t i = 0; i < count; i++) {
        sum += k[i];
        k[i] = sum;
    }
}

/* The first element of a chunk whose bits are wrong, or n. */
static size_t first_wrong(const wi_data *data, wi_data_expected expected, size_t chunk) {
    int64_t k[WI_DATA_CHUNK], right[WI_DATA_CHUNK];
    const weft_type type = data->setup.type;
    size_t first = chunk * WI_DATA_CHUNK, count = chunk_elements(data->setup.n, chunk);
    size_t size = weft_type_size(type);
    const char *got = (const char *)data->host_z + first * size;
    expected(data, first, count, k);
    wi_data_convert(type, count, k, right);
    if (memcmp(got, right, count * size) == 0) {
        return data->setup.n;
    }
    size_t i = 0;
    while (memcmp(got + i * size, (const char *)right + i * size, size) == 0) {
        i++;
    }
    return first + i;
}

static void explain(const wi_data *data, wi_data_expected expected, size_t wrong, char *why,
                    size_t bytes) {
    int64_t k[WI_DATA_CHUNK];
    double right = 0;
    const weft_type type = data->setup.type;
    size_t first = wrong - wrong % WI_DATA_CHUNK, size = weft_type_size(type);
    expected(data, first, wrong - first + 1, k);
    wi_data_convert(type, 1, &k[wrong - first], &right);
    snprintf(why, bytes, "element %zu of %zu is %.9g, should be %.9g", wrong, data->setup.n,
             wi_element_value(type, (const char *)data->host_z + wrong * size),
             wi_element_value(type, &right));
}

/* The arguments of the threads; `wrong` is the first wrong element found so far. */
typedef struct comparison {
    const wi_data *data;
    wi_data_expected expected;
    atomic_size_t wrong;
} comparison;

static void compare_part(void *user, int rank, int team) {
    comparison *const all = user;
    const size_t chunks = chunk_count(all->data->setup.n);
    const size_t end = wi_team_share(chunks, rank + 1, team);
    for (size_t chunk = wi_team_share(chunks, rank, team); chunk < end; chunk++) {
        const size_t first = first_wrong(all->data, all->expected, chunk);
        size_t wrong = atomic_load(&all->wrong);
        while (first < wrong && !atomic_compare_exchange_weak(&all->wrong, &wrong, first)) {
        }
    }
}

bool wi_data_compare(const wi_data *data, wi_data_expected expected, char *why, size_t bytes) {
    weft_context *const ctx = data->setup.ctx;
    comparison all = {.data = data, .expected = expected, .wrong = data->setup.n};
    wi_team_run(ctx, ctx->threads, compare_part, &all);
    const size_t wrong = all.wrong;
    if (wrong < data->setup.n) {
        explain(data, expected, wrong, why, bytes);
    }
    return wrong == data->setup.n;
}

/* ---- facts ---- */

static wi_facts facts_of(const wi_data *data, double arrays, wi_roof roof) {
    return (wi_facts){.size = wi_size_of(data->setup.n),
                      .bytes = arrays * (double)wi_data_bytes(&data->setup),
                      .roof = roof};
}

void wi_data_describe_read(const void *problem, const char *rung, wi_facts *facts) {
    (void)rung;
    *facts = facts_of(problem, 1, WI_ROOF_READ);
}

void wi_data_describe_copy(const void *problem, const char *rung, wi_facts *facts) {
    (void)rung;
    *facts = facts_of(problem, 2, WI_ROOF_COPY);
}

void wi_data_describe_join(const void *problem, const char *rung, wi_facts *facts) {
    (void)rung;
    *facts = facts_of(problem, 3, WI_ROOF_COPY);
}
