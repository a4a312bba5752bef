/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_batch's climb: products of small matrices, one behind the other, stored by columns. The
 * problem is a wi_data whose x is A, whose y is B and whose z is C; the extents of its setup are m,
 * n, k and the number of products. */
#include <stdio.h>
#include <string.h>

#include "gemm/gemm_batch.h"
#include "gemm/gemm_climb.h"

enum {
    M,
    N,
    K,
    COUNT,
    EXTENTS,
    USUAL_SIDE = 32,
    USUAL_COUNT = 1 << 13,
    FIRST_COUNT = 16,
    CHECKED = 16 /* products of which each element is computed anew */
};

/* The extents: of those asked for as much as n allows. */
static wi_setup setup_of(const wi_setup *setup) {
    wi_setup own = *setup;
    for (int e = 0; e < EXTENTS; e++)
        if (own.extent[e] == 0 || own.extent[e] > setup->n)
            own.extent[e] = setup->n;
    return own;
}

static weft_status make(const wi_setup *setup, void **problem) {
    wi_setup own = setup_of(setup);
    const size_t *const x = own.extent;
    size_t a, b, c;
    if (__builtin_mul_overflow(x[M], x[K], &a) || __builtin_mul_overflow(a, x[COUNT], &a) ||
        __builtin_mul_overflow(x[K], x[N], &b) || __builtin_mul_overflow(b, x[COUNT], &b) ||
        __builtin_mul_overflow(x[M], x[N], &c) || __builtin_mul_overflow(c, x[COUNT], &c) ||
        c > SIZE_MAX / 8)
        return wi_fail(setup->ctx, WEFT_ENOMEM,
                       "climb: %zu products of %zu x %zu x %zu exceed the address space; choose a "
                       "smaller --count",
                       x[COUNT], x[M], x[N], x[K]);
    own.n = a > b ? a : b;
    return wi_data_make(&own, WI_DATA_PLACE, true, c * weft_type_size(wi_gemm_climb_out(own.type)),
                        problem);
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    const size_t *const x = s->extent;
    return weft_gemm_batch_strided(s->ctx, 0, s->type, wi_gemm_climb_out(s->type), x[M], x[N], x[K],
                                   1, data->x, x[M], x[M] * x[K], data->y, x[K], x[K] * x[N], 0,
                                   data->z, x[M], x[M] * x[N], x[COUNT]);
}

/* ---- the oracle: 64-bit integers ---- */

/* One product, and the vectors that it is tried with. */
typedef struct trial {
    int64_t *a, *b;     /* m x k and k x n, by columns */
    uint64_t *bv, *abv; /* B v and A (B v), modulo 2^64 */
} trial;

static bool differs(const wi_data *data, size_t i, size_t row, size_t column, int64_t right,
                    char *why, size_t bytes) {
    const size_t *const x = data->setup.extent;
    const size_t at = (i * x[N] + column) * x[M] + row;
    if (wi_gemm_climb_out(data->setup.type) == WEFT_I32)
        right = (int32_t)(uint32_t)right;
    if (wi_gemm_climb_found(data, at) == right)
        return false;
    snprintf(why, bytes, "element (%zu, %zu) of product %zu is wrong", row, column, i);
    return true;
}

static bool check_elements(const wi_data *data, size_t i, const trial *t, char *why, size_t bytes) {
    const size_t *const x = data->setup.extent;
    for (size_t column = 0; column < x[N]; column++)
        for (size_t row = 0; row < x[M]; row++) {
            int64_t sum = 0;
            for (size_t p = 0; p < x[K]; p++)
                sum += t->a[p * x[M] + row] * t->b[column * x[K] + p];
            if (differs(data, i, row, column, sum, why, bytes))
                return false;
        }
    return true;
}

/* Is C v = A (B v)? */
static bool check_product(const wi_data *data, size_t i, const trial *t, char *why, size_t bytes) {
    const size_t *const x = data->setup.extent;
    memset(t->bv, 0, x[K] * sizeof *t->bv);
    memset(t->abv, 0, x[M] * sizeof *t->abv);
    for (size_t column = 0; column < x[N]; column++)
        for (size_t p = 0; p < x[K]; p++)
            t->bv[p] += (uint64_t)t->b[column * x[K] + p] * wi_gemm_climb_factor(column);
    for (size_t p = 0; p < x[K]; p++)
        for (size_t row = 0; row < x[M]; row++)
            t->abv[row] += (uint64_t)t->a[p * x[M] + row] * t->bv[p];
    for (size_t column = 0; column < x[N]; column++)
        for (size_t row = 0; row < x[M]; row++)
            t->abv[row] -= (uint64_t)wi_gemm_climb_found(data, (i * x[N] + column) * x[M] + row) *
                           wi_gemm_climb_factor(column);
    for (size_t row = 0; row < x[M]; row++)
        if (t->abv[row] != 0) {
            snprintf(why, bytes, "row %zu of product %zu is wrong", row, i);
            return false;
        }
    return true;
}

static bool check_all(const wi_data *data, const trial *t, char *why, size_t bytes) {
    const size_t *const x = data->setup.extent;
    const size_t a = x[M] * x[K], b = x[K] * x[N], apart = x[COUNT] / CHECKED + 1;
    bool right = true;
    for (size_t i = 0; i < x[COUNT] && right; i++) {
        wi_data_draw(data, 0, i * a, a, t->a);
        wi_data_draw(data, 1, i * b, b, t->b);
        right = check_product(data, i, t, why, bytes) &&
                (i % apart != 0 || check_elements(data, i, t, why, bytes));
    }
    return right;
}

static bool check(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    const size_t *const x = data->setup.extent;
    if (!wi_data_try(data, call, why, bytes))
        return false;
    const trial t = {wi_host_alloc(x[M] * x[K] * sizeof *t.a),
                     wi_host_alloc(x[K] * x[N] * sizeof *t.b), wi_host_alloc(x[K] * sizeof *t.bv),
                     wi_host_alloc(x[M] * sizeof *t.abv)};
    bool right = t.a && t.b && t.bv && t.abv;
    if (right)
        right = check_all(data, &t, why, bytes);
    else
        snprintf(why, bytes, "no memory to check the products");
    wi_host_free(t.a);
    wi_host_free(t.b);
    wi_host_free(t.bv);
    wi_host_free(t.abv);
    return right;
}

/* Small products take longer to read and write than to compute: their roof is the memory's. */
static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    const size_t *const x = s->extent;
    const double m = (double)x[M], n = (double)x[N], k = (double)x[K], count = (double)x[COUNT];
    (void)rung;
    *facts =
        (wi_facts){.size = {{x[M], x[N], x[K], x[COUNT]}},
                   .bytes = count * ((m * k + k * n) * (double)weft_type_size(s->type) +
                                     m * n * (double)weft_type_size(wi_gemm_climb_out(s->type))),
                   .flops = count * 2 * m * n * k};
    const wi_machine *const machine = wi_machine_of(s->ctx);
    const double peak = s->type == WEFT_F64 ? machine->f64_flops : machine->f32_flops;
    const bool moves = facts->bytes / machine->bytes_per_s > facts->flops / peak;
    facts->roof = moves ? WI_ROOF_COPY : wi_gemm_climb_roof(s, false);
}

const wi_climb wi_gemm_batch_climb = {
    .ladder = &wi_gemm_batch_ladder,
    .example = "C = A B of each",
    .type = WEFT_F32,
    .types = WI_FLOATS | WI_TYPE(WEFT_I8),
    .has_extents = true,
    .usual_side = USUAL_SIDE,
    .first_n = FIRST_COUNT,
    .usual_n = USUAL_COUNT,
    .make = make,
    .call = call,
    .check = check,
    .describe = describe,
    .drop = wi_data_drop,
};
