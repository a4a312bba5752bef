/* SPDX-License-Identifier: Apache-2.0 */
/* gemm's climb: C = A B, stored by columns, of whole numbers or eighths whose sums are exact. The
 * problem is a wi_data whose x is A, whose y is B and whose z is C; the extents of its setup are m,
 * n and k. */
#include <stdio.h>
#include <string.h>

#include "climb/data.h"
#include "gemm/gemm.h"
#include "gemm/gemm_climb.h"

enum {
    M,
    N,
    K,
    USUAL_N = 4096,
    FIRST_N = 64,
    /* Rows of a large product that are computed anew; of one with no more products than that, all
     * are. */
    DRAWN_ROWS = 2,
    FEW_PRODUCTS = 1 << 24
};

static const char no_room[] = "no memory to check the product";

/* The extents: of those asked for as much as n allows. */
static wi_setup setup_of(const wi_setup *setup) {
    wi_setup own = *setup;
    for (int e = M; e <= K; e++)
        if (own.extent[e] == 0 || own.extent[e] > setup->n)
            own.extent[e] = setup->n;
    return own;
}

static weft_status make(const wi_setup *setup, void **problem) {
    wi_setup own = setup_of(setup);
    const size_t *const x = own.extent;
    size_t a, b, c;
    if (__builtin_mul_overflow(x[M], x[K], &a) || __builtin_mul_overflow(x[K], x[N], &b) ||
        __builtin_mul_overflow(x[M], x[N], &c) || c > SIZE_MAX / 8)
        return wi_fail(setup->ctx, WEFT_ENOMEM,
                       "climb: matrices of %zu x %zu x %zu exceed the address space; choose a "
                       "smaller --n",
                       x[M], x[N], x[K]);
    own.n = a > b ? a : b;
    return wi_data_make(&own, WI_DATA_PLACE, true, c * weft_type_size(wi_gemm_climb_out(own.type)),
                        problem);
}

static weft_status multiply(const wi_data *data, unsigned how) {
    const wi_setup *const s = &data->setup;
    const size_t *const x = s->extent;
    return weft_gemm(s->ctx, how, s->type, wi_gemm_climb_out(s->type), x[M], x[N], x[K], 1, data->x,
                     x[M], data->y, x[K], 0, data->z, x[M]);
}

/* A rung that rounds f32 is given leave to. */
static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const weft_status status = multiply(data, data->setup.rounds ? WEFT_TF32 : 0);
    return status == WEFT_EUNSUPPORTED && data->setup.type == WEFT_F32 ? multiply(data, WEFT_TF32)
                                                                       : status;
}

/* ---- the oracle: 64-bit integers ---- */

/* Calls back with runs of a stream that end where a column of `rows` elements does: element i of
 * column j and on. */
typedef void (*taker)(void *user, size_t i, size_t j, size_t count, const int64_t *k);

static void each_run(const wi_data *data, int stream, size_t rows, size_t columns, taker take,
                     void *user) {
    int64_t k[WI_DATA_CHUNK];
    for (size_t j = 0; j < columns; j++)
        for (size_t i = 0; i < rows; i += WI_DATA_CHUNK) {
            const size_t count = rows - i < WI_DATA_CHUNK ? rows - i : WI_DATA_CHUNK;
            wi_data_draw(data, stream, j * rows + i, count, k);
            take(user, i, j, count, k);
        }
}

static int64_t found_at(const wi_data *data, size_t i, size_t j) {
    return wi_gemm_climb_found(data, i + j * data->setup.extent[M]);
}

static bool differs(const wi_data *data, size_t i, size_t j, int64_t right, char *why,
                    size_t bytes) {
    const weft_type out = wi_gemm_climb_out(data->setup.type);
    const double scale = out == WEFT_I32 ? 1 : 64;
    if (out == WEFT_I32)
        right = (int32_t)(uint32_t)right;
    if (found_at(data, i, j) == right)
        return false;
    const size_t at = i + j * data->setup.extent[M];
    snprintf(why, bytes, "element (%zu, %zu) is %.9g, should be %.9g", i, j,
             wi_element_value(out, (const char *)data->host_z + at * weft_type_size(out)),
             (double)right / scale);
    return true;
}

/* Some rows of A, and their sums over one column of B. */
typedef struct rows_check {
    const wi_data *data;
    const size_t *row;
    size_t count;
    int64_t *a;   /* row r at a[r k] */
    int64_t *sum; /* of each row */
    bool wrong;
    char *why;
    size_t bytes;
} rows_check;

static void take_b(void *user, size_t p, size_t j, size_t count, const int64_t *b) {
    rows_check *const c = user;
    const size_t k = c->data->setup.extent[K];
    for (size_t r = 0; r < c->count; r++) {
        int64_t sum = p == 0 ? 0 : c->sum[r];
        for (size_t q = 0; q < count; q++)
            sum += c->a[r * k + p + q] * b[q];
        c->sum[r] = sum;
        if (p + count == k && !c->wrong)
            c->wrong = differs(c->data, c->row[r], j, sum, c->why, c->bytes);
    }
}

/* Are these rows of C right? */
static bool check_rows(const wi_data *data, const size_t *row, size_t count, char *why,
                       size_t bytes) {
    const size_t *const x = data->setup.extent;
    rows_check c = {.data = data, .row = row, .count = count, .why = why, .bytes = bytes};
    c.a = wi_host_alloc(count * x[K] * sizeof *c.a);
    c.sum = wi_host_alloc(count * sizeof *c.sum);
    if (c.a && c.sum) {
        for (size_t r = 0; r < count; r++)
            for (size_t p = 0; p < x[K]; p++)
                wi_data_draw(data, 0, row[r] + p * x[M], 1, &c.a[r * x[K] + p]);
        each_run(data, 1, x[K], x[N], take_b, &c);
    } else {
        c.wrong = true;
        snprintf(why, bytes, "%s", no_room);
    }
    wi_host_free(c.a);
    wi_host_free(c.sum);
    return !c.wrong;
}

/* to += matrix from, or to += matrix transposed from; all 64-bit integers modulo 2^64. */
typedef struct vector_product {
    const uint64_t *from; /* NULL: wi_gemm_climb_factor(j) */
    uint64_t *to;
} vector_product;

static void take_column(void *user, size_t i, size_t j, size_t count, const int64_t *k) {
    const vector_product *const v = user;
    const uint64_t by = v->from ? v->from[j] : wi_gemm_climb_factor(j);
    for (size_t q = 0; q < count; q++)
        v->to[i + q] += (uint64_t)k[q] * by;
}

/* C v, where v is the vector of factors; false if an element stands for nothing. */
static bool times_factors(const wi_data *data, uint64_t *to) {
    const size_t *const x = data->setup.extent;
    for (size_t j = 0; j < x[N]; j++)
        for (size_t i = 0; i < x[M]; i++) {
            const int64_t element = found_at(data, i, j);
            if (element == INT64_MIN)
                return false;
            to[i] += (uint64_t)element * wi_gemm_climb_factor(j);
        }
    return true;
}

/* Is C v = A (B v)? */
static bool check_all(const wi_data *data, char *why, size_t bytes) {
    const size_t *const x = data->setup.extent;
    const size_t sizes[] = {x[K], x[M], x[M]};
    uint64_t *v[3];
    bool right = true;
    for (int k = 0; k < 3; k++) {
        v[k] = wi_host_alloc(sizes[k] * sizeof *v[k]);
        right = right && v[k];
        if (v[k])
            memset(v[k], 0, sizes[k] * sizeof *v[k]);
    }
    if (right) {
        each_run(data, 1, x[K], x[N], take_column, &(vector_product){NULL, v[0]});
        each_run(data, 0, x[M], x[K], take_column, &(vector_product){v[0], v[1]});
        right = times_factors(data, v[2]);
        size_t i = 0;
        while (right && i < x[M] && v[1][i] == v[2][i])
            i++;
        right = right && i == x[M];
        snprintf(why, bytes, "row %zu of the product is wrong", i);
    } else {
        snprintf(why, bytes, "%s", no_room);
    }
    for (int k = 0; k < 3; k++)
        wi_host_free(v[k]);
    return right;
}

static bool check(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    const size_t *const x = data->setup.extent;
    if (!wi_data_try(data, call, why, bytes))
        return false;
    const bool few = (double)x[M] * (double)x[N] * (double)x[K] <= FEW_PRODUCTS;
    const size_t drawn[DRAWN_ROWS] = {x[M] / 3, x[M] - 1};
    if (!few)
        return check_rows(data, drawn, DRAWN_ROWS, why, bytes) && check_all(data, why, bytes);
    size_t *const all = wi_host_alloc(x[M] * sizeof *all);
    for (size_t i = 0; all && i < x[M]; i++)
        all[i] = i;
    const bool right = all && check_rows(data, all, x[M], why, bytes);
    if (!all)
        snprintf(why, bytes, "%s", no_room);
    wi_host_free(all);
    return right;
}

static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    const double m = (double)s->extent[M], n = (double)s->extent[N], k = (double)s->extent[K];
    *facts = (wi_facts){.size = {{s->extent[M], s->extent[N], s->extent[K]}},
                        .bytes = (m * k + k * n) * (double)weft_type_size(s->type) +
                                 m * n * (double)weft_type_size(wi_gemm_climb_out(s->type)),
                        .flops = 2 * m * n * k,
                        .roof = wi_gemm_climb_roof(s, rung && strcmp(rung, "tensor") == 0)};
}

const wi_climb wi_gemm_climb = {
    .ladder = &wi_gemm_ladder,
    .example = "C = A B",
    .type = WEFT_F32,
    .types = WI_FLOATS | WI_TYPE(WEFT_I8),
    .has_extents = true,
    .may_round = true,
    .first_n = FIRST_N,
    .usual_n = USUAL_N,
    .make = make,
    .call = call,
    .check = check,
    .describe = describe,
    .drop = wi_data_drop,
};
