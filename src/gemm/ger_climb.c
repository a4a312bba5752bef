/* SPDX-License-Identifier: Apache-2.0 */
/* ger's climb: A = A + x yt, stored by columns. The problem is a wi_data whose x is the vector x
 * followed by y, and whose z is A; the extents of its setup are m and n. Each call adds to what the
 * one before it left; only that which is checked begins with the pattern of wi_data_try. */
#include <stdio.h>
#include <string.h>

#include "climb/data.h"
#include "cpu/half.h"
#include "gemm/ger.h"
#include "weft/map.h"

enum {
    M,
    N,
    USUAL_N = 8192,
    FIRST_N = 64,
    POISON = 0xA5 /* of wi_data_try */
};

static weft_status make(const wi_setup *setup, void **problem) {
    wi_setup own = *setup;
    size_t elements;
    for (int e = M; e <= N; e++)
        if (own.extent[e] == 0 || own.extent[e] > setup->n)
            own.extent[e] = setup->n;
    if (__builtin_mul_overflow(own.extent[M], own.extent[N], &elements) || elements > SIZE_MAX / 8)
        return wi_fail(setup->ctx, WEFT_ENOMEM,
                       "climb: a matrix of %zu x %zu exceeds the address space; choose a smaller "
                       "--n",
                       own.extent[M], own.extent[N]);
    own.n = own.extent[M] + own.extent[N];
    weft_status status =
        wi_data_make(&own, WI_DATA_PLACE, false, elements * weft_type_size(own.type), problem);
    if (status != WEFT_OK)
        return status;
    const double zero = 0;
    const wi_data *const data = *problem;
    status = weft_fill(own.ctx, own.type, elements, &zero, data->z);
    if (status != WEFT_OK)
        wi_data_drop(*problem);
    return status;
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    const size_t m = s->extent[M];
    const void *const y = (const char *)data->x + m * weft_type_size(s->type);
    return weft_ger(s->ctx, 0, s->type, m, s->extent[N], 1, data->x, 1, y, 1, data->z, m);
}

/* `before` + k / 64, which is exact but for the tiny pattern of the wide types, rounded to them. */
static double rounded(weft_type type, double before, int64_t k) {
    const double sum = before + (double)k / 64;
    switch (type) {
    case WEFT_F64:
        return sum;
    case WEFT_F16:
        return wi_f16_widen(wi_f16_narrow((float)sum));
    case WEFT_BF16:
        return wi_bf16_widen(wi_bf16_narrow((float)sum));
    default:
        return (float)sum;
    }
}

static bool check(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    const size_t m = s->extent[M], n = s->extent[N], width = weft_type_size(s->type);
    int64_t x[WI_DATA_CHUNK], y;
    unsigned char pattern[8];
    memset(pattern, POISON, sizeof pattern);
    const double before = wi_element_value(s->type, pattern);
    if (!wi_data_try(data, call, why, bytes))
        return false;
    for (size_t j = 0; j < n; j++) {
        wi_data_draw(data, 0, m + j, 1, &y);
        for (size_t i = 0; i < m; i++) {
            if (i % WI_DATA_CHUNK == 0)
                wi_data_draw(data, 0, i, m - i < WI_DATA_CHUNK ? m - i : WI_DATA_CHUNK, x);
            const double right = rounded(s->type, before, x[i % WI_DATA_CHUNK] * y);
            const double found =
                wi_element_value(s->type, (const char *)data->host_z + (i + j * m) * width);
            if (found == right)
                continue;
            snprintf(why, bytes, "element (%zu, %zu) is %.9g, should be %.9g", i, j, found, right);
            return false;
        }
    }
    return true;
}

/* A is read and written. */
static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    const double m = (double)s->extent[M], n = (double)s->extent[N];
    (void)rung;
    *facts = (wi_facts){.size = {{s->extent[M], s->extent[N]}},
                        .bytes = (2 * m * n + m + n) * (double)weft_type_size(s->type),
                        .roof = WI_ROOF_COPY};
}

const wi_climb wi_ger_climb = {
    .ladder = &wi_ger_ladder,
    .example = "A = A + x yt",
    .type = WEFT_F32,
    .types = WI_FLOATS,
    .has_extents = true,
    .lacks = WI_LACKS_K,
    .first_n = FIRST_N,
    .usual_n = USUAL_N,
    .make = make,
    .call = call,
    .check = check,
    .describe = describe,
    .drop = wi_data_drop,
};
