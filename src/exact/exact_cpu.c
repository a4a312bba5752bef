/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "threads" of exact: each thread adds up its part in blocks that fit the first-level
 * cache, without rounding (exact_simd.h), and empties them into a wide number of its own. A block
 * that needs more folds than there are is added element by element. The parts' sums are exact, so
 * it does not matter how the work was divided. */
#include "cpu/team.h"
#include "exact/exact_simd.h"

enum {
    STEP = 32, /* doubles: the most that an instruction set adds side by side */
    CARRY_BLOCKS = WI_EXACT_MOST_ADDS / 4 / WI_EXACT_BLOCK,
    FEWER_AFTER = 64, /* blocks, after which one fold less is tried again */
    SKIPPED = 15 /* blocks added element by element after one that all folds were too few for */
};

/* What a thread knows from the blocks before. */
typedef struct habit {
    int folds, top;
    unsigned blocks, skip;
} habit;

typedef struct work {
    const wi_exact_args *args;
    const wi_exact_simd *simd;
    int64_t (*words)[WI_EXACT_WORDS]; /* of each thread */
} work;

/* Products of two f64 have a part in the second fold, and what is left of it. */
static bool has_rest(const wi_exact_args *args) {
    return args->type == WEFT_F64 &&
           (args->terms == WI_EXACT_DOT || args->terms == WI_EXACT_SQUARES);
}

static int fewest_folds(const wi_exact_args *args) {
    return has_rest(args) ? WI_EXACT_FOLDS : args->type == WEFT_F64 ? 2 : 1;
}

/* The least window for magnitudes up to `largest`, and room for one twice as large. */
static int window_for(double largest) {
    const int field = (int)(wi_exact_bits(largest) >> 52);
    const int top = field - 1023 + 2;
    return top < WI_EXACT_TOP_LEAST ? WI_EXACT_TOP_LEAST : top;
}

static bool is_within(double largest, int top) {
    return (int)(wi_exact_bits(largest) >> 52) - 1023 < top;
}

static void empty(const wi_exact_run *run, const wi_exact_block *block, int64_t *word) {
    for (int f = 0; f < run->folds; f++) {
        const int64_t sum = block->sum[f];
        const int unit = run->top + WI_EXACT_FIRST - f * WI_EXACT_FOLD_BITS - 52;
        wi_exact_add_integer(word, sum < 0, sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum, unit);
    }
}

/* Adds up a block by folds; false if they are too few. Only a block of nothing but zeros must be
 * asked whether they are all -0.0. */
static bool add_folds(const wi_exact_simd *simd, wi_exact_run *run, habit *h, int64_t *word) {
    wi_exact_block block;
    for (;;) {
        run->folds = h->folds;
        run->top = h->top;
        simd->fold(run, &block);
        run->ahead = NULL;
        const bool within = is_within(block.largest, h->top);
        if (within && !block.left)
            break;
        const int top = window_for(block.largest);
        if (top > WI_EXACT_TOP_MOST)
            return false;
        if (within && top >= h->top && h->folds == WI_EXACT_FOLDS)
            return false;
        if (within && top >= h->top)
            h->folds++;
        h->top = top;
    }
    empty(run, &block, word);
    word[WI_EXACT_OTHER] += block.largest > 0;
    for (size_t i = 0; i < run->n && block.largest == 0 && word[WI_EXACT_OTHER] == 0; i++)
        word[WI_EXACT_OTHER] += wi_exact_bits(run->v[i]) != (uint64_t)1 << 63;
    return true;
}

/* The terms of elements [from, from + n), at most a block, in whole steps: filled up with -0.0,
 * which changes nothing. False if they must be added one by one. */
static bool make_run(const work *w, size_t from, size_t n, double *v, double *rest,
                     wi_exact_run *run) {
    const wi_exact_args *const args = w->args;
    *run = (wi_exact_run){.n = (n + STEP - 1) / STEP * STEP, .v = v};
    if (args->type == WEFT_F64 && args->terms == WI_EXACT_SUM && run->n == n) {
        run->v = (const double *)args->x + from;
        run->ahead = args->n - from >= 2 * n ? run->v + n : NULL;
        return true;
    }
    if (!w->simd->terms(args, from, n, v, rest))
        return false;
    run->rest = has_rest(args) ? rest : NULL;
    for (size_t i = n; i < run->n; i++) {
        v[i] = -0.0;
        rest[run->rest ? i : 0] = -0.0;
    }
    return true;
}

/* Elements [from, from + n). */
static void add_block(const work *w, habit *h, size_t from, size_t n, int64_t *word) {
    double v[WI_EXACT_BLOCK], rest[WI_EXACT_BLOCK / 2];
    wi_exact_run run;
    bool one_by_one = h->skip > 0;
    if (one_by_one) {
        h->skip--;
    } else {
        one_by_one = !make_run(w, from, n, v, rest, &run) || !add_folds(w->simd, &run, h, word);
        h->skip = one_by_one ? SKIPPED : 0;
    }
    if (one_by_one)
        wi_exact_add_elements(w->args, from, n, word);
    if (++h->blocks % FEWER_AFTER == 0 && h->folds > fewest_folds(w->args))
        h->folds--;
}

static void add_part(void *user, int rank, int size) {
    const work *const w = user;
    const size_t block = has_rest(w->args) ? WI_EXACT_BLOCK / 2 : WI_EXACT_BLOCK, n = w->args->n;
    const size_t blocks = (n + block - 1) / block;
    int64_t *const word = w->words[rank];
    habit h = {.folds = fewest_folds(w->args), .top = 4};
    memset(word, 0, WI_EXACT_WORDS * sizeof *word);
    const size_t end = wi_team_share(blocks, rank + 1, size);
    for (size_t k = wi_team_share(blocks, rank, size); k < end; k++) {
        const size_t left = n - k * block;
        add_block(w, &h, k * block, left < block ? left : block, word);
        if (h.blocks % CARRY_BLOCKS == 0)
            wi_exact_carry(word);
    }
    wi_exact_carry(word);
}

weft_status wi_exact_threads(weft_context *ctx, const void *arguments) {
    const wi_exact_args *const args = arguments;
    int64_t alone[1][WI_EXACT_WORDS];
    work w = {args, WI_OF_ISA(wi_cpu_isa(), wi_exact_simd), alone};
    const size_t units = (args->n + WI_EXACT_BLOCK - 1) / WI_EXACT_BLOCK;
    const int team = wi_team_size(ctx, units, args->n * weft_type_size(args->type));
    if (args->n == 0)
        return wi_exact_serial(ctx, args);
    if (team > 1)
        w.words = wi_host_alloc((size_t)team * sizeof *w.words);
    if (!w.words)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "weft_exact: no memory for the sums of %d threads; free some, or use "
                       "variant serial, which needs none",
                       team);
    wi_team_run(ctx, team, add_part, &w);
    for (int t = 1; t < team; t++)
        wi_exact_merge_words(w.words[0], w.words[t]);
    w.words[0][WI_EXACT_COUNT] = (int64_t)args->n;
    wi_exact_carry(w.words[0]);
    wi_exact_finish(args, w.words[0]);
    if (team > 1)
        wi_host_free(w.words);
    return WEFT_OK;
}
