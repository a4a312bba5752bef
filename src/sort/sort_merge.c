/* SPDX-License-Identifier: Apache-2.0 */
/* Merging two arrays that are in order. On a cpu the output is cut into equal pieces; where each
 * begins in the inputs is found by bisection, and threads merge the pieces. */
#include <string.h>

#include "cpu/team.h"
#include "sort/sort_mirror.h"
#include "sort/sort_run.h"
#include "sort/sort_scalar.h"

/* How many of the first `out` elements of the result come from a. Of equal keys a's come first, so
 * it is the least i for which a[i] is above b[out - i - 1]. */
static size_t from_a(const wi_merge_args *m, const wi_sort_key *key, size_t out) {
    const size_t size = weft_type_size(m->type);
    size_t low = out > m->nb ? out - m->nb : 0, high = out < m->na ? out : m->na;
    while (low < high) {
        const size_t i = low + (high - low) / 2;
        if (wi_sort_key_at(key, size, m->a, i) <= wi_sort_key_at(key, size, m->b, out - i - 1))
            low = i + 1;
        else
            high = i;
    }
    return low;
}

static void put(void *out, size_t at, const void *from, size_t i, size_t bytes) {
    memcpy((char *)out + at * bytes, (const char *)from + i * bytes, bytes);
}

/* Elements first ... end - 1 of the result. `size` is a constant where this is inlined. Of inputs
 * in no order the piece may begin behind where it ends in b, or in a: then all comes from the other
 * one, and no further than to the piece's end there. */
static inline __attribute__((always_inline)) void
merge_piece(const wi_merge_args *m, const wi_sort_key *key, size_t size, size_t first, size_t end) {
    size_t i = from_a(m, key, first), k = first - i;
    const size_t na = from_a(m, key, end), nb = end - na;
    for (size_t at = first; at < end; at++) {
        const bool a_first = k >= nb || (i < na && wi_sort_key_at(key, size, m->a, i) <=
                                                       wi_sort_key_at(key, size, m->b, k));
        const size_t from = a_first ? i : k;
        put(m->out, at, a_first ? m->a : m->b, from, size);
        if (m->value_bytes > 0)
            put(m->values_out, at, a_first ? m->a_values : m->b_values, from, m->value_bytes);
        i += a_first;
        k += !a_first;
    }
}

static void merge_part(void *user, int rank, int team) {
    const wi_merge_args *const m = user;
    const wi_sort_key of_type = wi_sort_key_of(m->type, m->descending), *const key = &of_type;
    const size_t n = m->na + m->nb;
    const size_t first = wi_team_share(n, rank, team), end = wi_team_share(n, rank + 1, team);
    switch (weft_type_size(m->type)) {
    case 1:
        merge_piece(m, key, 1, first, end);
        break;
    case 2:
        merge_piece(m, key, 2, first, end);
        break;
    case 4:
        merge_piece(m, key, 4, first, end);
        break;
    default:
        merge_piece(m, key, 8, first, end);
    }
}

weft_status wi_merge_cpu(weft_context *ctx, const void *args) {
    wi_merge_args m = *(const wi_merge_args *)args;
    if (m.bytes)
        return WEFT_OK;
    const size_t n = m.na + m.nb;
    const int team = wi_team_size(ctx, n, n * (weft_type_size(m.type) + m.value_bytes));
    wi_team_run(ctx, team, merge_part, &m);
    return WEFT_OK;
}

/* An array of the call, by its name. */
typedef struct named {
    const char *name;
    const void *p;
    size_t bytes;
} named;

static weft_status check_outputs(weft_context *ctx, const wi_merge_args *m) {
    const size_t size = weft_type_size(m->type), n = m->na + m->nb;
    const named in[] = {{"a", m->a, m->na * size},
                        {"b", m->b, m->nb * size},
                        {"a_values", m->a_values, m->na * m->value_bytes},
                        {"b_values", m->b_values, m->nb * m->value_bytes}};
    const named out[] = {{"keys_out", m->out, n * size},
                         {"values_out", m->values_out, n * m->value_bytes}};
    weft_status status = wi_sort_check_apart(ctx, m->call, out[0].name, out[0].p, out[0].bytes,
                                             out[1].name, out[1].p, out[1].bytes);
    for (size_t k = 0; k < 8 && status == WEFT_OK; k++) {
        const named *const i = &in[k / 2], *const o = &out[k % 2];
        status =
            wi_sort_check_apart(ctx, m->call, i->name, i->p, i->bytes, o->name, o->p, o->bytes);
    }
    return status;
}

static weft_status check(weft_context *ctx, weft_order order, const wi_merge_args *m) {
    weft_status status = wi_check_type(ctx, m->call, m->type);
    if (status == WEFT_OK)
        status = wi_sort_check_order(ctx, m->call, order);
    if (status == WEFT_OK)
        status = wi_check_array(ctx, m->call, "a", m->a, m->na, m->type);
    if (status == WEFT_OK)
        status = wi_check_array(ctx, m->call, "b", m->b, m->nb, m->type);
    const size_t n = m->na + m->nb;
    if (status == WEFT_OK)
        status = wi_check_array(ctx, m->call, "keys_out", m->out, n, m->type);
    if (status != WEFT_OK || m->value_bytes == 0)
        return status == WEFT_OK ? check_outputs(ctx, m) : status;
    const size_t bytes = m->value_bytes;
    status = wi_sort_check_bytes(ctx, m->call, "values_out", m->values_out, n, bytes);
    if (status == WEFT_OK)
        status = wi_sort_check_bytes(ctx, m->call, "a_values", m->a_values, m->na, bytes);
    if (status == WEFT_OK)
        status = wi_sort_check_bytes(ctx, m->call, "b_values", m->b_values, m->nb, bytes);
    return status == WEFT_OK ? check_outputs(ctx, m) : status;
}

enum {
    A,
    B,
    OUT,
    A_VALUES,
    B_VALUES,
    VALUES_OUT,
    ARRAYS
};

static weft_status run_mirrored(weft_context *ctx, const wi_merge_args *args) {
    wi_merge_args part = *args;
    const size_t size = weft_type_size(part.type), value_bytes = part.value_bytes;
    const size_t na = part.na, nb = part.nb;
    wi_mirror m[ARRAYS] = {
        [A] = {.array = part.a, .bytes = na * size, .in = true},
        [B] = {.array = part.b, .bytes = nb * size, .in = true},
        [OUT] = {.array = part.out, .bytes = (na + nb) * size, .out = true},
        [A_VALUES] = {.array = part.a_values, .bytes = na * value_bytes, .in = true},
        [B_VALUES] = {.array = part.b_values, .bytes = nb * value_bytes, .in = true},
        [VALUES_OUT] = {.array = part.values_out, .bytes = (na + nb) * value_bytes, .out = true},
    };
    weft_status status = wi_mirror_open(ctx, part.call, m, ARRAYS, part.bytes);
    if (status != WEFT_OK)
        return status;
    part.a = m[A].p;
    part.b = m[B].p;
    part.out = m[OUT].p;
    part.a_values = m[A_VALUES].p;
    part.b_values = m[B_VALUES].p;
    part.values_out = m[VALUES_OUT].p;
    status = wi_sort_on_place(ctx, part.call, wi_merge_cpu, WI_CUDA_RUNG(wi_merge_cuda), &part);
    return wi_mirror_close(ctx, m, ARRAYS, status);
}

static wi_merge_args args_of(const char *call, weft_order order, weft_type type, size_t na,
                             const void *a, size_t nb, const void *b, void *keys_out,
                             size_t value_bytes, const void *a_values, const void *b_values,
                             void *values_out) {
    const bool has = value_bytes > 0;
    return (wi_merge_args){.call = call,
                           .type = type,
                           .descending = order == WEFT_DESCENDING,
                           .na = na,
                           .nb = nb,
                           .a = a,
                           .b = b,
                           .out = keys_out,
                           .value_bytes = value_bytes,
                           .a_values = has ? a_values : NULL,
                           .b_values = has ? b_values : NULL,
                           .values_out = has ? values_out : NULL};
}

static weft_status check_and_run(weft_context *ctx, weft_order order, const wi_merge_args *args) {
    const size_t n = args->na + args->nb;
    weft_status status = check(ctx, order, args);
    if (status == WEFT_OK)
        status = wi_sort_check_room(ctx, args->call, n, args->value_bytes);
    if (status != WEFT_OK)
        return status;
    if (args->bytes)
        *args->bytes = 0;
    return n == 0 ? WEFT_OK : run_mirrored(ctx, args);
}

weft_status weft_merge(weft_context *ctx, weft_order order, weft_type type, size_t na,
                       const void *a, size_t nb, const void *b, void *keys_out, size_t value_bytes,
                       const void *a_values, const void *b_values, void *values_out) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const wi_merge_args args = args_of("weft_merge", order, type, na, a, nb, b, keys_out,
                                       value_bytes, a_values, b_values, values_out);
    return check_and_run(ctx, order, &args);
}

weft_status weft_merge_bytes(weft_context *ctx, weft_order order, weft_type type, size_t na,
                             const void *a, size_t nb, const void *b, void *keys_out,
                             size_t value_bytes, const void *a_values, const void *b_values,
                             void *values_out, size_t *bytes) {
    wi_merge_args args = args_of("weft_merge_bytes", order, type, na, a, nb, b, keys_out,
                                 value_bytes, a_values, b_values, values_out);
    args.bytes = bytes;
    if (wi_check_context(ctx) != WEFT_OK || wi_sort_check_asked(ctx, args.call, bytes) != WEFT_OK)
        return WEFT_EARG;
    return check_and_run(ctx, order, &args);
}
