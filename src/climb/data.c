/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs whose sums are exact, and checks of whole outputs; see data_climb.h. */
#include "core/data_climb.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* The finalizer of SplitMix64: every bit of the position reaches every bit of the result. */
static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

void wi_data_draw(const wi_case *c, int stream, size_t first, size_t count, int64_t *k) {
    bool below_zero = wi_type_is_float(c->type) || wi_type_is_signed(c->type);
    int64_t low = below_zero ? -63 : 0;
    uint64_t start = mix(c->seed * 2 + (uint64_t)stream) + first;
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

/* What threads share. */
typedef struct filling {
    const wi_case *c;
    int stream;
    char *host;
    int64_t *sums;
} filling;

static void fill_part(void *user, int rank, int team) {
    const filling *const f = user;
    const wi_case *const c = f->c;
    const size_t chunks = chunk_count(c->n), size = weft_type_size(c->type);
    const size_t end = wi_team_share(chunks, rank + 1, team);
    int64_t k[WI_DATA_CHUNK];
    for (size_t chunk = wi_team_share(chunks, rank, team); chunk < end; chunk++) {
        size_t first = chunk * WI_DATA_CHUNK, count = chunk_elements(c->n, chunk);
        wi_data_draw(c, f->stream, first, count, k);
        wi_data_convert(c->type, count, k, f->host + first * size);
        int64_t sum = 0;
        for (size_t i = 0; i < count; i++) {
            sum += k[i];
        }
        if (f->sums) {
            f->sums[chunk] = sum;
        }
    }
}

/* Fills one stream; leaves the sum of each chunk in sums, unless that is NULL. */
static void fill(const wi_case *c, int stream, void *host, int64_t *sums) {
    filling f = {.c = c, .stream = stream, .host = host, .sums = sums};
    wi_team_run(c->ctx, c->ctx->threads, fill_part, &f);
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

static weft_status no_memory(wi_case *c) {
    return wi_fail(c->ctx, WEFT_ENOMEM,
                   "climb: no host memory for arrays of %zu elements of %s; choose a smaller --n",
                   c->n, weft_type_name(c->type));
}

/* Would a case take more than half of the machine's memory? The system promises more than it has,
 * and ends the process once that is used. */
static bool is_too_large(const wi_case *c, bool has_y, size_t z_bytes) {
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    const double memory =
        pages > 0 && page_bytes > 0 ? (double)pages * (double)page_bytes : (double)PTRDIFF_MAX;
    const double inputs = (has_y ? 2 : 1) * (double)c->n * (double)weft_type_size(c->type);
    return inputs + (double)z_bytes > memory / 2;
}

static weft_status allocate_host(wi_case *c, wi_data *data, bool has_y, size_t z_bytes) {
    if (is_too_large(c, has_y, z_bytes))
        return no_memory(c);
    size_t bytes = c->n * weft_type_size(c->type);
    data->host_x = wi_host_alloc_huge(bytes);
    data->host_y = has_y ? wi_host_alloc_huge(bytes) : NULL;
    data->host_z = wi_host_alloc_huge(z_bytes);
    data->before = wi_host_alloc((chunk_count(c->n) + 1) * sizeof *data->before);
    bool missing = (bytes && (!data->host_x || (has_y && !data->host_y))) ||
                   (z_bytes && !data->host_z) || !data->before;
    return missing ? no_memory(c) : WEFT_OK;
}

static weft_status copy_to_place(wi_case *c, bool has_y, size_t z_bytes) {
    wi_data *data = c->expected;
    size_t bytes = c->n * weft_type_size(c->type);
    weft_status status = weft_alloc(c->ctx, &c->x, bytes);
    if (status == WEFT_OK && has_y) {
        status = weft_alloc(c->ctx, &c->y, bytes);
    }
    if (status == WEFT_OK) {
        status = weft_alloc(c->ctx, &c->z, z_bytes);
    }
    if (status == WEFT_OK) {
        status = weft_copy(c->ctx, c->x, data->host_x, bytes);
    }
    if (status == WEFT_OK && has_y) {
        status = weft_copy(c->ctx, c->y, data->host_y, bytes);
    }
    return status;
}

weft_status wi_data_make(wi_case *c, wi_data_home home, bool has_y, size_t z_bytes) {
    c->x = c->y = c->z = NULL;
    wi_data *data = wi_host_alloc(sizeof *data);
    if (!data) {
        return no_memory(c);
    }
    *data = (wi_data){.shared = home == WI_DATA_HOST || c->ctx->kind == WI_CPU};
    c->expected = data;
    weft_status status = allocate_host(c, data, has_y, z_bytes);
    if (status == WEFT_OK) {
        fill(c, 0, data->host_x, data->before);
        sum_before(data->before, chunk_count(c->n));
        if (has_y) {
            fill(c, 1, data->host_y, NULL);
        }
        if (data->shared) {
            c->x = data->host_x;
            c->y = data->host_y;
            c->z = data->host_z;
        } else {
            status = copy_to_place(c, has_y, z_bytes);
        }
    }
    if (status != WEFT_OK) {
        wi_data_drop(c);
    }
    return status;
}

void wi_data_drop(wi_case *c) {
    wi_data *data = c->expected;
    if (!data) {
        return;
    }
    if (!data->shared) {
        weft_free(c->ctx, c->x);
        weft_free(c->ctx, c->y);
        weft_free(c->ctx, c->z);
    }
    wi_host_free(data->host_x);
    wi_host_free(data->host_y);
    wi_host_free(data->host_z);
    wi_host_free(data->before);
    wi_host_free(data);
    c->x = c->y = c->z = c->expected = NULL;
}

weft_status wi_data_poison(wi_case *c, size_t z_bytes) {
    wi_data *data = c->expected;
    memset(data->host_z, POISON, z_bytes);
    return data->shared ? WEFT_OK : weft_copy(c->ctx, c->z, data->host_z, z_bytes);
}

weft_status wi_data_fetch(wi_case *c, size_t z_bytes) {
    wi_data *data = c->expected;
    return data->shared ? weft_sync(c->ctx) : weft_copy(c->ctx, data->host_z, c->z, z_bytes);
}

/* The first element of a chunk whose bits differ from those expected, or n. */
static size_t first_wrong(const wi_case *c, wi_data_expected expected, size_t chunk) {
    int64_t k[WI_DATA_CHUNK], right[WI_DATA_CHUNK];
    const wi_data *data = c->expected;
    size_t first = chunk * WI_DATA_CHUNK, count = chunk_elements(c->n, chunk);
    size_t size = weft_type_size(c->type);
    const char *got = (const char *)data->host_z + first * size;
    expected(c, first, count, k);
    wi_data_convert(c->type, count, k, right);
    if (memcmp(got, right, count * size) == 0) {
        return c->n;
    }
    size_t i = 0;
    while (memcmp(got + i * size, (const char *)right + i * size, size) == 0) {
        i++;
    }
    return first + i;
}

static void explain(const wi_case *c, wi_data_expected expected, size_t wrong, char *why,
                    size_t bytes) {
    int64_t k[WI_DATA_CHUNK];
    double right = 0;
    const wi_data *data = c->expected;
    size_t first = wrong - wrong % WI_DATA_CHUNK, size = weft_type_size(c->type);
    expected(c, first, wrong - first + 1, k);
    wi_data_convert(c->type, 1, &k[wrong - first], &right);
    snprintf(why, bytes, "element %zu of %zu is %.9g, should be %.9g", wrong, c->n,
             wi_element_value(c->type, (const char *)data->host_z + wrong * size),
             wi_element_value(c->type, &right));
}

/* What threads share: `wrong` is the first wrong element known. */
typedef struct comparison {
    const wi_case *c;
    wi_data_expected expected;
    atomic_size_t wrong;
} comparison;

static void compare_part(void *user, int rank, int team) {
    comparison *const all = user;
    const size_t chunks = chunk_count(all->c->n), end = wi_team_share(chunks, rank + 1, team);
    for (size_t chunk = wi_team_share(chunks, rank, team); chunk < end; chunk++) {
        const size_t first = first_wrong(all->c, all->expected, chunk);
        size_t wrong = atomic_load(&all->wrong);
        while (first < wrong && !atomic_compare_exchange_weak(&all->wrong, &wrong, first)) {
        }
    }
}

bool wi_data_compare(const wi_case *c, wi_data_expected expected, char *why, size_t bytes) {
    comparison all = {.c = c, .expected = expected, .wrong = c->n};
    wi_team_run(c->ctx, c->ctx->threads, compare_part, &all);
    const size_t wrong = all.wrong;
    if (wrong < c->n) {
        explain(c, expected, wrong, why, bytes);
    }
    return wrong == c->n;
}
