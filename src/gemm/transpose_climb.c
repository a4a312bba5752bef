/* SPDX-License-Identifier: Apache-2.0 */
/* transpose's climb: z = the transpose of x, m x n, stored by columns. The problem is a wi_data;
 * the extents of its setup are m and n. */
#include "climb/data.h"
#include "gemm/transpose.h"

enum {
    M,
    N,
    USUAL_N = 8192,
    FIRST_N = 64
};

static weft_status make(const wi_setup *setup, void **problem) {
    wi_setup own = *setup;
    for (int e = M; e <= N; e++)
        if (own.extent[e] == 0 || own.extent[e] > setup->n)
            own.extent[e] = setup->n;
    if (__builtin_mul_overflow(own.extent[M], own.extent[N], &own.n) || own.n > SIZE_MAX / 8)
        return wi_fail(setup->ctx, WEFT_ENOMEM,
                       "climb: a matrix of %zu x %zu exceeds the address space; choose a smaller "
                       "--n",
                       own.extent[M], own.extent[N]);
    return wi_data_make(&own, WI_DATA_PLACE, false, wi_data_bytes(&own), problem);
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    return weft_transpose(s->ctx, 0, weft_type_size(s->type), s->extent[M], s->extent[N], data->x,
                          s->extent[M], data->z, s->extent[N]);
}

/* Element e of z is A(i, j) where e = j + i n. */
static void expected(const wi_data *data, size_t first, size_t count, int64_t *k) {
    const size_t m = data->setup.extent[M], n = data->setup.extent[N];
    for (size_t e = 0; e < count; e++)
        wi_data_draw(data, 0, (first + e) / n + (first + e) % n * m, 1, &k[e]);
}

static bool check(void *problem, char *why, size_t bytes) {
    return wi_data_try(problem, call, why, bytes) && wi_data_compare(problem, expected, why, bytes);
}

static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    (void)rung;
    *facts = (wi_facts){.size = {{s->extent[M], s->extent[N]}},
                        .bytes = 2.0 * (double)wi_data_bytes(s),
                        .roof = WI_ROOF_COPY};
}

const wi_climb wi_transpose_climb = {
    .ladder = &wi_transpose_ladder,
    .example = "B = At",
    .type = WEFT_F32,
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
