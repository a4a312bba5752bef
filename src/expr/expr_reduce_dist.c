/* SPDX-License-Identifier: Apache-2.0 */
/* weft_expr_reduce over ranks: every rank reduces its part to a state; all get all states, and join
 * them in the order of the ranks. So all have the same bits, in every run. */
#include "comm/dist.h"
#include "expr/expr_reduce.h"

/* What all know of a rank's part. */
typedef struct part_state {
    uint64_t n;
    wi_expr_state state;
} part_state;

enum {
    WORDS = sizeof(part_state) / sizeof(uint64_t)
};

static weft_status reduce_part(weft_context *ctx, const wi_dist_args *dist, part_state *own) {
    wi_expr_reduce_args args = *(const wi_expr_reduce_args *)dist->args;
    wi_call call = *dist->call;
    call.array[call.count - 1] = wi_elements("state", &own->state, 2, WEFT_U64, WI_OUT | WI_WHOLE);
    own->n = args.expr.n;
    args.raw = true;
    weft_status status = wi_call_check(ctx->child, &call);
    if (status == WEFT_OK)
        status = wi_expr_reduce_call_run(ctx->child, &call, &args);
    return wi_local(ctx, status);
}

/* Positions in parts become those in the whole. */
static wi_expr_state join(const wi_expr_fold *f, const part_state *parts, int count) {
    wi_expr_state state = wi_fold_none(f);
    uint64_t before = 0;
    for (int k = 0; k < count; k++) {
        wi_expr_state of_part = parts[k].state;
        of_part.at += before;
        if (parts[k].n > 0)
            state = wi_fold_join(f, state, of_part);
        before += parts[k].n;
    }
    return state;
}

weft_status wi_expr_reduce_ranks(weft_context *ctx, const void *arguments) {
    const wi_dist_args *const dist = arguments;
    const wi_call *const call = dist->call;
    wi_expr_reduce_args args = *(const wi_expr_reduce_args *)dist->args;
    part_state own = {.n = 0};
    const uint64_t *words = NULL;
    uint64_t mine[WORDS], result = 0;
    weft_status status = wi_agree(ctx, 0, reduce_part(ctx, dist, &own));
    memcpy(mine, &own, sizeof mine);
    if (status == WEFT_OK)
        status = wi_all_words(ctx, mine, WORDS, &words);
    if (status != WEFT_OK)
        return status;
    args.result = &result;
    wi_expr_reduce_end(&args, join(&args.fold, (const void *)words, ctx->comm->size));
    return wi_local(ctx, weft_copy(ctx->child, (void *)(uintptr_t)call->array[call->count - 1].p,
                                   &result, args.fold.bytes));
}
