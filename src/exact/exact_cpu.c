/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "threads" of exact: each thread adds up its part in blocks that fit the first-level
 * cache, without rounding (exact_simd.h), and empties them into a wide number of its own. A block
 * that needs more folds than there are is added element by element. The parts' sums are exact, so
 * it does not matter how the work was divided. */
#include "cpu/team.h"
#include "exact/exact_simd.h"

enum {
    CARRY_BLOCKS = WI_EXACT_MOST_ADDS / 4 / WI_EXACT_BLOCK,
    FEWER_AFTER = 64, /* blocks, after which one fold less is tried again */
    MOST_SKIPPED = 31
};

_Static_assert((int64_t)CARRY_BLOCKS *WI_EXACT_BLOCK * 2 <= WI_EXACT_MOST_ADDS,
               "an element, or a product, adds to a word twice at most");

/* What a thread knows from the blocks before. */
typedef struct habit {
    int folds, top;
    unsigned blocks;
    unsigned skip, skipped; /* blocks to add element by element before the next try; those before
                               the latest */
} habit;

typedef struct work {
    const wi_exact_args *args;
    const wi_exact_simd *simd;
    int64_t (*words)[WI_EXACT_WORDS]; /* of each thread */
} work;

static wi_exact_shape shape_of(const wi_exact_args *args) {
    const bool products = args->terms == WI_EXACT_DOT || args->terms == WI_EXACT_SQUARES;
    if (args->type == WEFT_F64)
        return products ? WI_EXACT_PRODUCTS : WI_EXACT_DOUBLES;
    return products ? WI_EXACT_FLOAT_PRODUCTS : WI_EXACT_FLOATS;
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

/* Adds up a block by folds; false if they cannot take it. Of a block of zeros they do not know
 * whether all are -0.0. */
static bool add_folds(const wi_exact_simd *simd, wi_exact_run *run, habit *h, int64_t *word) {
    wi_exact_block block;
    for (;;) {
        run->folds = h->folds;
        run->top = h->top;
        simd->fold(run, &block);
        run->more = false;
        const bool within = is_within(block.largest, h->top);
        if (block.lost)
            return false;
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
    if (block.largest == 0 && word[WI_EXACT_OTHER] == 0)
        return false;
    empty(run, &block, word);
    word[WI_EXACT_OTHER] += block.largest > 0;
    return true;
}

/* Elements [from, from + n) as the folds read them; those of 16 bits are widened. */
static wi_exact_run make_run(const work *w, size_t from, size_t n, float *x, float *y) {
    const wi_exact_args *const args = w->args;
    const size_t width = weft_type_size(args->type);
    wi_exact_run run = {.shape = shape_of(args),
                        .magnitudes = args->terms == WI_EXACT_NRM1,
                        .x = (const char *)args->x + from * width,
                        .n = n,
                        .in_stretch = from * width % WI_EXACT_STRETCH};
    run.more = width > 2 && (args->n - from) * width + run.in_stretch >= 2 * WI_EXACT_STRETCH;
    if (args->terms == WI_EXACT_SQUARES)
        run.y = run.x;
    else if (args->terms == WI_EXACT_DOT)
        run.y = (const char *)args->y + from * width;
    if (width == 2) {
        w->simd->widen(args->type, n, run.x, x);
        if (args->terms == WI_EXACT_DOT)
            w->simd->widen(args->type, n, run.y, y);
        run.y = args->terms == WI_EXACT_DOT ? y : args->terms == WI_EXACT_SQUARES ? x : NULL;
        run.x = x;
    }
    return run;
}

/* Elements [from, from + n). After blocks in a row that folds could not take, more and more are not
 * tried. */
static void add_block(const work *w, habit *h, size_t from, size_t n, int64_t *word) {
    float x[WI_EXACT_BLOCK], y[WI_EXACT_BLOCK];
    size_t whole = n / WI_EXACT_STEP * WI_EXACT_STEP;
    if (h->skip > 0) {
        h->skip--;
        whole = 0;
    } else if (whole > 0) {
        wi_exact_run run = make_run(w, from, whole, x, y);
        const bool taken = add_folds(w->simd, &run, h, word);
        h->skipped = taken ? 0 : 2 * h->skipped + 1;
        h->skipped = h->skipped < MOST_SKIPPED ? h->skipped : MOST_SKIPPED;
        h->skip = h->skipped / 2;
        whole = taken ? whole : 0;
    }
    wi_exact_add_elements(w->args, from + whole, n - whole, word);
    if (++h->blocks % FEWER_AFTER == 0 && h->folds > wi_exact_least_folds(shape_of(w->args)))
        h->folds--;
}

/* Adds blocks [first, end), counted from the start of the array. */
static void add_blocks(const work *w, size_t first, size_t end, size_t block, int64_t *word) {
    const wi_exact_shape shape = shape_of(w->args);
    const size_t n = w->args->n;
    habit h = {.folds = wi_exact_least_folds(shape), .top = 4};
    memset(word, 0, WI_EXACT_WORDS * sizeof *word);
    for (size_t k = first; k < end; k++) {
        const size_t left = n - k * block;
        add_block(w, &h, k * block, left < block ? left : block, word);
        if (h.blocks % CARRY_BLOCKS == 0)
            wi_exact_carry(word);
    }
    wi_exact_carry(word);
}

void wi_exact_add_share(const wi_exact_args *args, size_t from, size_t n, int64_t *word) {
    wi_exact_args share = *args;
    const work w = {&share, WI_OF_ISA(wi_cpu_isa(), wi_exact_simd), NULL};
    share.x = (const char *)args->x + from * weft_type_size(args->type);
    share.n = n;
    add_blocks(&w, 0, (n + WI_EXACT_BLOCK - 1) / WI_EXACT_BLOCK, WI_EXACT_BLOCK, word);
    word[WI_EXACT_COUNT] = (int64_t)n;
}

static void add_part(void *user, int rank, int size) {
    const work *const w = user;
    const size_t n = w->args->n;
    const size_t block =
        shape_of(w->args) == WI_EXACT_PRODUCTS ? WI_EXACT_BLOCK / 2 : WI_EXACT_BLOCK;
    const size_t blocks = (n + block - 1) / block;
    add_blocks(w, wi_team_share(blocks, rank, size), wi_team_share(blocks, rank + 1, size), block,
               w->words[rank]);
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
