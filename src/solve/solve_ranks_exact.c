/* SPDX-License-Identifier: Apache-2.0 */
/* Residuals over ranks that are correctly rounded. A rank with rows of op(A) has whole elements.
 * One with columns has a part of every element, as a cascade; all ranks get the cascades of all,
 * and join them in the same order. An element that these do not tell is added up as integers. */
#include "core/smaller.h"
#include "solve/solve_exact.h"
#include "solve/solve_ranks.h"

/* Own columns, or rows, of op(A) times z + z_low. */
static wi_product product_of(wi_ranks *s) {
    wi_product p = wi_ranks_product(s, s->group);
    p.exact = true;
    p.low = s->place_low;
    p.c = s->args->transposed ? s->place_c : NULL;
    p.sums = s->args->transposed ? NULL : s->place_sums;
    return p;
}

/* Own rows of c. */
static weft_status put_right_hand_sides(wi_ranks *s) {
    weft_status status = WEFT_OK;
    for (size_t k = 0; k < s->group && status == WEFT_OK && s->args->transposed; k++)
        status = wi_ranks_move(s, s->place_c + k * s->own, s->c + k * s->n + s->first,
                               s->own * sizeof *s->c);
    return status;
}

/* size of own columns or rows; r, if these are rows, and else sums. */
static weft_status multiply_own(wi_ranks *s) {
    const wi_product p = product_of(s);
    weft_status status = put_right_hand_sides(s);
    if (status == WEFT_OK)
        status = wi_ranks_put_rows(s, s->place_x, s->z);
    if (status == WEFT_OK)
        status = wi_ranks_put_rows(s, s->place_low, s->z_low);
    if (status == WEFT_OK)
        status = wi_local(s->ctx, s->place->multiply(s->child, &p));
    if (status == WEFT_OK)
        status = wi_ranks_spread(s, s->place_size, s->group, s->size);
    if (status == WEFT_OK && s->args->transposed)
        return wi_ranks_spread(s, s->place_r, s->group, s->r);
    return status == WEFT_OK
               ? wi_ranks_move(s, s->sums, s->place_sums, s->n * s->group * sizeof *s->sums)
               : status;
}

/* The words of some elements, of own columns. */
static weft_status find_words(wi_ranks *s, const uint64_t *which, size_t count, int64_t *words) {
    const size_t bytes = count * WI_EXACT_WORDS * sizeof *words;
    const wi_product p = product_of(s);
    const wi_wide_args args = {&p, count, s->place_which, s->place_words};
    memset(words, 0, bytes);
    if (s->own == 0)
        return WEFT_OK;
    weft_status status = wi_ranks_move(s, s->place_which, which, count * sizeof *which);
    if (status == WEFT_OK)
        status = wi_local(s->ctx, s->place->wide(s->child, &args));
    return status == WEFT_OK ? wi_ranks_move(s, words, s->place_words, bytes) : status;
}

/* Adds up some elements of r as integers. */
static weft_status add_wide(wi_ranks *s, const uint64_t *which, size_t count) {
    const size_t numbers = count * WI_EXACT_WORDS;
    int64_t *const own = s->words, *const all = own + WI_RANKS_WIDE * WI_EXACT_WORDS;
    weft_status status = wi_agree(s->ctx, 0, find_words(s, which, count, own));
    if (status == WEFT_OK)
        status = s->ctx->comm->calls->all_reduce(s->ctx, own, all, numbers, WEFT_I64, WEFT_SUM);
    for (size_t k = 0; k < count && status == WEFT_OK; k++) {
        int64_t *const word = all + k * WI_EXACT_WORDS;
        wi_exact_add_f64(word, s->c[which[k]]);
        wi_exact_carry(word);
        const uint64_t bits = wi_exact_round(word, WEFT_F64, false);
        memcpy(&s->r[which[k]], &bits, sizeof bits);
    }
    return status;
}

/* r = c + the cascades of all ranks; those elements that these do not tell are listed. Returns how
 * many there are. */
static size_t join_sums(wi_ranks *s) {
    const size_t numbers = s->n * s->group, ranks = (size_t)s->ctx->comm->size;
    size_t untold = 0;
    for (size_t e = 0; e < numbers; e++) {
        wi_deep_cascade sum = {{s->c[e], 0, 0}, 0};
        uint64_t bits;
        for (size_t r = 0; r < ranks; r++)
            wi_deep_merge(&sum, &s->all_sums[e + r * numbers]);
        if (wi_deep_round(&sum, WEFT_F64, &bits))
            memcpy(&s->r[e], &bits, sizeof bits);
        else
            s->untold[untold++] = e;
    }
    return untold;
}

weft_status wi_ranks_exact_residual(wi_ranks *s) {
    const size_t numbers = s->n * s->group;
    const size_t figures = numbers * sizeof *s->sums / sizeof(double);
    weft_status status = WEFT_OK;
    memset(s->r, 0, numbers * sizeof *s->r);
    memset(s->size, 0, numbers * sizeof *s->size);
    memset(s->sums, 0, numbers * sizeof *s->sums);
    if (s->own > 0)
        status = multiply_own(s);
    status = wi_ranks_combine(s, s->size, numbers, false, status);
    if (status == WEFT_OK && s->args->transposed)
        return wi_ranks_combine(s, s->r, numbers, false, status);
    if (status == WEFT_OK)
        status = s->ctx->comm->calls->all_gather(s->ctx, s->sums, s->all_sums, figures, WEFT_F64);
    const size_t untold = status == WEFT_OK ? join_sums(s) : 0;
    for (size_t k = 0; k < untold && status == WEFT_OK; k += WI_RANKS_WIDE)
        status = add_wide(s, s->untold + k, wi_smaller(WI_RANKS_WIDE, untold - k));
    return status;
}
