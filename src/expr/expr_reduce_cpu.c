/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "blocks" of weft_expr_reduce. Blocks of values, which stay in the first-level cache, are
 * reduced by the loops of reduce; runs of blocks, at most MAX_SPANS of them, have a state each, and
 * these are joined in a tree. The division depends on n and the formula only, so neither the number
 * of threads nor the instruction set changes a bit of the result. */
#include <string.h>

#include "cpu/team.h"
#include "expr/expr_reduce.h"
#include "expr/expr_simd.h"
#include "reduce/reduce.h"

enum {
    MAX_SPANS = 1024
};

typedef struct plan {
    const wi_expr_reduce_args *args;
    const wi_expr_simd *simd;
    size_t span, spans; /* elements of a span, and how many there are */
    wi_expr_state *state;
    unsigned char *room;
} plan;

static uint64_t word_of(const void *values, size_t k) {
    uint64_t word;
    memcpy(&word, (const unsigned char *)values + k * sizeof word, sizeof word);
    return word;
}

/* n values with AND, OR or XOR between them: eight bytes at a time, which may be two values. */
static uint64_t joined_bits(const wi_expr_fold *f, size_t n, const void *values) {
    const bool pairs = !wi_fold_is_wide(f);
    const size_t words = pairs ? n / 2 : n;
    uint64_t all = UINT64_MAX, any = 0, odd = 0;
    if (f->how == WI_FOLD_AND)
        for (size_t k = 0; k < words; k++)
            all &= word_of(values, k);
    else if (f->how == WI_FOLD_OR)
        for (size_t k = 0; k < words; k++)
            any |= word_of(values, k);
    else
        for (size_t k = 0; k < words; k++)
            odd ^= word_of(values, k);
    const uint64_t bits = f->how == WI_FOLD_AND ? all : any | odd;
    wi_expr_state s = {bits, 0};
    if (pairs)
        s = wi_fold_join(f, wi_fold_one(f, bits, 0), wi_fold_one(f, bits >> 32, 0));
    if (pairs && n % 2 == 1)
        s = wi_fold_join(f, s, wi_fold_one(f, wi_element_bits(values, 4, n - 1), 0));
    return s.bits;
}

static wi_reduction reduction_of(const wi_expr_fold *f) {
    switch ((weft_op)f->op) {
    case WEFT_SUM:
        return WI_RED_SUM;
    case WEFT_PRODUCT:
        return WI_RED_PRODUCT;
    case WEFT_MIN:
    case WEFT_ARGMIN:
        return WI_RED_MIN;
    default:
        return WI_RED_MAX;
    }
}

/* Where the first value with this key is. */
static size_t find(const wi_expr_fold *f, uint64_t key, const void *values) {
    const size_t size = wi_fold_is_wide(f) ? 8 : 4;
    size_t i = 0;
    while (wi_fold_key(f, wi_element_bits(values, size, i)) != key)
        i++;
    return i;
}

/* The state of n values, if it matters beside `before`; the first is at position `at`. */
static wi_expr_state state_of(const wi_expr_fold *f, const wi_expr_state *before, size_t at,
                              size_t n, const void *values) {
    wi_expr_state s = {0, at};
    if (f->how >= WI_FOLD_AND && f->how <= WI_FOLD_XOR)
        s.bits = joined_bits(f, n, values);
    else
        s.bits = wi_reduce_block_bits(reduction_of(f), (weft_type)f->type, n, values);
    if (f->how == WI_FOLD_LEAST)
        s.bits = wi_fold_key(f, s.bits);
    if (wi_fold_is_position(f) && (s.bits < before->bits || before->at == WEFT_NOWHERE))
        s.at = at + find(f, s.bits, values);
    return s;
}

static void take(void *user, size_t i, size_t n, const void *values) {
    const plan *const p = user;
    const wi_expr_fold *const f = &p->args->fold;
    wi_expr_state *const state = &p->state[i / p->span];
    const wi_expr_state none = wi_fold_none(f), *const before = i % p->span == 0 ? &none : state;
    const wi_expr_state own = state_of(f, before, i, n, values);
    *state = i % p->span == 0 ? own : wi_fold_join(f, *state, own);
}

static void run_share(void *user, int rank, int team) {
    const plan *const p = user;
    const wi_expr_args *const call = &p->args->expr;
    const size_t from = wi_team_share(p->spans, rank, team) * p->span;
    const size_t end = wi_team_share(p->spans, rank + 1, team) * p->span;
    p->simd->each(call, from, end < call->n ? end : call->n,
                  p->room + (size_t)rank * wi_expr_room(call->program), take, user);
}

static void run(const weft_context *ctx, plan *p, int team) {
    const wi_expr_fold *const f = &p->args->fold;
    wi_team_run(ctx, team, run_share, p);
    for (size_t step = 1; step < p->spans; step *= 2)
        for (size_t k = 0; k + step < p->spans; k += 2 * step)
            p->state[k] = wi_fold_join(f, p->state[k], p->state[k + step]);
    wi_expr_reduce_end(p->args, p->state[0]);
}

weft_status wi_expr_reduce_blocks(weft_context *ctx, const void *arguments) {
    const wi_expr_reduce_args *const args = arguments;
    const wi_expr_args *const call = &args->expr;
    if (call->n == 0)
        return wi_expr_reduce_serial(ctx, arguments);
    const size_t block = wi_expr_block_n(call->program), blocks = (call->n - 1) / block + 1;
    const size_t per_span = (blocks - 1) / MAX_SPANS + 1;
    plan p = {.args = args,
              .simd = WI_OF_ISA(wi_cpu_isa(), wi_expr_simd),
              .span = per_span * block,
              .spans = (blocks - 1) / per_span + 1};
    const int team =
        wi_team_size(ctx, p.spans, call->n * (size_t)wi_expr_bytes_read(call->program));
    const size_t states = p.spans * sizeof *p.state,
                 bytes = states + (size_t)team * wi_expr_room(call->program);
    p.state = wi_host_alloc(bytes);
    if (!p.state)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "expr_reduce: no host memory for buffers of %zu bytes; free some, or use "
                       "variant serial, which needs none",
                       bytes);
    p.room = (unsigned char *)p.state + states;
    run(ctx, &p, team);
    wi_host_free(p.state);
    return WEFT_OK;
}
