/* SPDX-License-Identifier: Apache-2.0 */
/* gemv's climb: y = A x, stored by columns, of eighths whose sums are exact. The problem is a
 * wi_data whose x is A followed by the vector, and whose z is y; the extents of its setup are m and
 * n. */
#include <stdio.h>
#include <string.h>

#include "climb/data.h"
#include "gemm/gemv.h"

enum {
    M,
    N,
    USUAL_N = 8192,
    FIRST_N = 64
};

/* Sums of 16-bit floats are not rounded to them, so that each can be compared. */
static weft_type out_of(weft_type type) {
    return type == WEFT_F16 || type == WEFT_BF16 ? WEFT_F32 : type;
}

static weft_status make(const wi_setup *setup, void **problem) {
    wi_setup own = *setup;
    size_t elements;
    for (int e = M; e <= N; e++)
        if (own.extent[e] == 0 || own.extent[e] > setup->n)
            own.extent[e] = setup->n;
    if (__builtin_mul_overflow(own.extent[M], own.extent[N], &elements) ||
        __builtin_add_overflow(elements, own.extent[N], &elements) || elements > SIZE_MAX / 8)
        return wi_fail(setup->ctx, WEFT_ENOMEM,
                       "climb: a matrix of %zu x %zu exceeds the address space; choose a smaller "
                       "--n",
                       own.extent[M], own.extent[N]);
    own.n = elements;
    return wi_data_make(&own, WI_DATA_PLACE, false,
                        own.extent[M] * weft_type_size(out_of(own.type)), problem);
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    const size_t m = s->extent[M], n = s->extent[N];
    const void *const x = (const char *)data->x + m * n * weft_type_size(s->type);
    return weft_gemv(s->ctx, 0, s->type, out_of(s->type), m, n, 1, data->x, m, x, 1, 0, data->z, 1);
}

/* right[i] = sum of A(i, j) x(j), in 64ths. */
static void sum_up(const wi_data *data, int64_t *right) {
    const size_t m = data->setup.extent[M], n = data->setup.extent[N];
    int64_t a[WI_DATA_CHUNK], x;
    memset(right, 0, m * sizeof *right);
    for (size_t j = 0; j < n; j++) {
        wi_data_draw(data, 0, m * n + j, 1, &x);
        for (size_t i = 0; i < m; i += WI_DATA_CHUNK) {
            const size_t count = m - i < WI_DATA_CHUNK ? m - i : WI_DATA_CHUNK;
            wi_data_draw(data, 0, j * m + i, count, a);
            for (size_t k = 0; k < count; k++)
                right[i + k] += a[k] * x;
        }
    }
}

static bool check(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    const size_t m = data->setup.extent[M];
    const weft_type out = out_of(data->setup.type);
    if (!wi_data_try(data, call, why, bytes))
        return false;
    int64_t *const right = wi_host_alloc(m * sizeof *right);
    if (!right) {
        snprintf(why, bytes, "no memory to check the product");
        return false;
    }
    sum_up(data, right);
    size_t i = 0;
    double found = 0;
    for (; i < m; i++) {
        found = wi_element_value(out, (const char *)data->host_z + i * weft_type_size(out));
        if (!(found == (double)right[i] / 64))
            break;
    }
    if (i < m)
        snprintf(why, bytes, "element %zu is %.9g, should be %.9g", i, found,
                 (double)right[i] / 64);
    wi_host_free(right);
    return i == m;
}

static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    const double m = (double)s->extent[M], n = (double)s->extent[N];
    (void)rung;
    *facts = (wi_facts){.size = {{s->extent[M], s->extent[N]}},
                        .bytes = (m * n + n) * (double)weft_type_size(s->type) +
                                 m * (double)weft_type_size(out_of(s->type)),
                        .roof = WI_ROOF_READ};
}

const wi_climb wi_gemv_climb = {
    .ladder = &wi_gemv_ladder,
    .example = "y = A x",
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
