/* SPDX-License-Identifier: Apache-2.0 */
/* Merging two arrays that are in order. On a cpu the output is divided into equal pieces; bisection
 * finds where each begins in the inputs, and threads merge the pieces. */
#include <string.h>

#include "comm/gpus.h"
#include "cpu/team.h"
#include "sort/sort_run.h"
#include "sort/sort_scalar.h"

/* How many of the first `out` elements of the result come from a. Among equal keys those of a come
 * first, so it is the smallest i for which a[i] is greater than b[out - i - 1]. */
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

/* Merges elements first ... end - 1 of the result. `size` is a constant where this is inlined. If
 * inputs are not in order, a piece may begin in b (or a) after the place where it ends: then all
 * its elements come from the other input, and the reads stay before the end of the piece there. */
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

weft_status wi_merge_pieces(weft_context *ctx, const void *args) {
    wi_merge_args m = *(const wi_merge_args *)args;
    if (m.bytes)
        return WEFT_OK;
    const size_t n = m.na + m.nb;
    const int team = wi_team_size(ctx, n, n * (weft_type_size(m.type) + m.value_bytes));
    wi_team_run(ctx, team, merge_part, &m);
    return WEFT_OK;
}

static const wi_row rows[] = {
    {.name = "pieces",
     .what = "equal pieces of the output, begun where bisection finds them",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_merge_pieces},
#ifdef WEFT_CUDA
    {.name = "paths",
     .what = "merge path: blocks find their pieces by bisection, then threads theirs",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_merge_paths},
#endif
    {.name = "ranks",
     .what = "parts cut where the ranks' shares begin, exchanged and merged",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_merge_ranks},
};

const wi_ladder wi_merge_ladder = {"merge", rows, sizeof rows / sizeof rows[0]};

enum {
    A,
    B,
    OUT,
    A_VALUES,
    B_VALUES,
    VALUES_OUT,
    ARRAYS
};

static weft_status run_part(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_merge_args args = *(const wi_merge_args *)user;
    args.a = part->p[A];
    args.b = part->p[B];
    args.out = part->p[OUT];
    args.a_values = part->p[A_VALUES];
    args.b_values = part->p[B_VALUES];
    args.values_out = part->p[VALUES_OUT];
    args.bytes = call->asked;
    return wi_run(ctx, &wi_merge_ladder, call->name, args.type, &args);
}

static wi_call call_of(const wi_merge_args *m) {
    const size_t n = m->na + m->nb, bytes = m->value_bytes;
    wi_call call = {.name = m->call,
                    .array = {[A] = wi_elements("a", m->a, m->na, m->type, WI_IN),
                              [B] = wi_elements("b", m->b, m->nb, m->type, WI_IN),
                              [OUT] = wi_elements("keys_out", m->out, n, m->type, WI_OUT)},
                    .count = ARRAYS,
                    .asked = m->bytes};
    if (bytes > 0) {
        call.array[A_VALUES] = wi_items("a_values", m->a_values, m->na, bytes, WI_IN);
        call.array[B_VALUES] = wi_items("b_values", m->b_values, m->nb, bytes, WI_IN);
        call.array[VALUES_OUT] = wi_items("values_out", m->values_out, n, bytes, WI_OUT);
    }
    return call;
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

static weft_status check_and_run(weft_context *ctx, weft_order order, wi_merge_args *args);

/* A checked call on a place of several GPUs: each merges as many elements as it has of both. */
static weft_status run_share(weft_context *rank, void *user) {
    wi_merge_args m = *(const wi_merge_args *)user;
    const size_t size = weft_type_size(m.type);
    const wi_share a = wi_gpus_share(rank, m.a, m.na, size),
                   b = wi_gpus_share(rank, m.b, m.nb, size), out = {a.first + b.first, a.n + b.n};
    m.na = a.n;
    m.nb = b.n;
    m.a = wi_share_of(m.a, a, size);
    m.b = wi_share_of(m.b, b, size);
    m.out = wi_share_of(m.out, out, size);
    m.a_values = wi_share_of(m.a_values, a, m.value_bytes);
    m.b_values = wi_share_of(m.b_values, b, m.value_bytes);
    m.values_out = wi_share_of(m.values_out, out, m.value_bytes);
    return check_and_run(rank, m.descending ? WEFT_DESCENDING : WEFT_ASCENDING, &m);
}

static bool wants_gpus(weft_context *ctx, const wi_merge_args *m) {
    const size_t size = weft_type_size(m->type);
    return wi_gpus_wanted(ctx, &wi_merge_ladder, m->na > m->nb ? m->a : m->b, m->na + m->nb, size);
}

static weft_status check_and_run(weft_context *ctx, weft_order order, wi_merge_args *args) {
    const size_t n = args->na + args->nb;
    const bool asks = args->bytes;
    wi_call call;
    weft_status status = wi_sort_check_keys(ctx, args->call, order, args->type);
    if (status == WEFT_OK) {
        call = call_of(args);
        call.distributed = !asks;
        status = wi_call_check(ctx, &call);
    }
    if (status == WEFT_OK)
        status = wi_sort_check_room(ctx, args->call, n, args->value_bytes);
    if (status == WEFT_OK && !asks && wants_gpus(ctx, args))
        return wi_gpus_run(ctx, &wi_merge_ladder, args->call, run_share, args);
    if (wi_is_dist(ctx) && !asks)
        return wi_dist_run(ctx, &wi_merge_ladder, args->call, args->type,
                           wi_alike(wi_alike(0, order), args->value_bytes), status,
                           &(wi_dist_args){&call, args});
    if (status != WEFT_OK)
        return status;
    if (args->bytes)
        *args->bytes = 0;
    return n == 0 ? WEFT_OK : wi_sort_call_run(ctx, &call, run_part, args);
}

weft_status weft_merge(weft_context *ctx, weft_order order, weft_type type, size_t na,
                       const void *a, size_t nb, const void *b, void *keys_out, size_t value_bytes,
                       const void *a_values, const void *b_values, void *values_out) {
    wi_merge_args args = args_of("weft_merge", order, type, na, a, nb, b, keys_out, value_bytes,
                                 a_values, b_values, values_out);
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
