/* SPDX-License-Identifier: Apache-2.0 */
/* Elimination of a host matrix that is larger than the memory of a GPU. One panel of columns is on
 * the device; the panels of L before it come by one after another, each takes its effect, and then
 * the panel itself is factored and goes back ("left-looking"). So every panel is written once, and
 * read once for each panel to its right.
 *
 * A panel of L is used as it was when it was factored. The exchanges of rows that came later reach
 * it at the end, when each panel travels once more.
 *
 * With panels of w columns about m n^2 / (3 w) elements of L travel while 2/3 m n^2 multiply-adds
 * are done: 2 w for each element, so that with w in the thousands, as a GPU of many gigabytes has
 * room for, travel is the lesser part though nothing is done meanwhile. */
#include "lu/lu_streamed.h"

#include "core/call.h"
#include "core/gpu.h"
#include "core/rowcopy.h"
#include "cuda/limit.cuh"
#include "gemm/gemm.h"
#include "gemm/transpose.h"
#include "gemm/trsm.h"

/* Bytes of a matrix that is streamed although it would fit; 0: the device's memory decides. */
WI_LIMIT(size_t, wi_lu_resident_bytes, 0)

enum {
    PANELS = 3, /* on the device: the one that is made, one of L, and a copy by rows */
    SHARE = 2,  /* of the device's memory that panels may take: one part in so many */
    STEP = 16,  /* columns of a panel are a multiple */
    WORD = sizeof(int64_t),
    ROOM = 7,
    OF = 8 /* of the device's memory that a whole matrix may take */
};

/* A call under way. */
struct stream {
    weft_context *ctx;
    const wi_lu_streamed *s;
    size_t width; /* bytes of an element */
    size_t wide;  /* columns of a panel */
    char *panel, *other, *strip;
    int64_t *pivots; /* of the place's memory: of each panel as it was factored */
    int64_t *found;  /* WI_LU_WORDS words there */
};

/* Columns first ... first + count - 1, from row `top` on. */
struct lu_part {
    size_t first, count, top;
};

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t device_bytes(void) {
    size_t left = 0, all = 0;
    return cudaMemGetInfo(&left, &all) == cudaSuccess ? all : 0;
}

bool wi_lu_wants_streaming(const weft_context *ctx, const wi_lu_streamed *s) {
    const size_t bytes = s->m * s->n * weft_type_size(s->type);
    const size_t copies = s->by_rows && s->m != s->n ? 2 : 1;
    if (ctx->kind != WI_CUDA || wi_is_device(ctx, s->a) || !ctx->gpu)
        return false;
    if (wi_lu_resident_bytes > 0)
        return bytes > wi_lu_resident_bytes;
    const size_t few = (size_t)1 << 30; /* that every GPU holds */
    return bytes > few && bytes * copies > device_bytes() / OF * ROOM;
}

/* ---- panels that travel ---- */

static weft_status copy_part(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    const size_t width = call->array[0].width;
    (void)user;
    return wi_copy_rows(ctx, {(char *)part->p[1], part->ld[1] * width},
                        {(char *)part->p[0], part->ld[0] * width}, part->rows, part->cols * width);
}

/* Lines from one matrix to another, one of which is host memory. */
static weft_status copy_lines(const stream *w, void *from, size_t ld_from, void *to, size_t ld_to,
                              size_t lines, size_t length) {
    const weft_type type = w->s->type;
    wi_call call;
    wi_call_begin(&call, w->s->call, lines, length);
    wi_call_add(&call, wi_matrix("a", from, lines, length, "lda", ld_from, type, WI_IN));
    wi_call_add(&call, wi_matrix("a", to, lines, length, "lda", ld_to, type, WI_OUT));
    const weft_status status = wi_call_check(w->ctx, &call);
    return status == WEFT_OK ? wi_call_run(w->ctx, &call, copy_part, NULL) : status;
}

/* A part to `there`, by columns of m - top elements, or back. */
static weft_status move(const stream *w, lu_part p, char *there, bool back) {
    const wi_lu_streamed *const s = w->s;
    const size_t rows = s->m - p.top;
    if (rows == 0)
        return WEFT_OK;
    if (!s->by_rows) {
        char *const here = (char *)s->a + (p.top + p.first * s->lda) * w->width;
        return back ? copy_lines(w, there, rows, here, s->lda, p.count, rows)
                    : copy_lines(w, here, s->lda, there, rows, p.count, rows);
    }
    char *const here = (char *)s->a + (p.top * s->lda + p.first) * w->width;
    const wi_transpose_args down = {w->width, p.count, rows, w->strip, p.count, there, rows};
    const wi_transpose_args up = {w->width, rows, p.count, there, rows, w->strip, p.count};
    weft_status status = back ? wi_transpose_part(w->ctx, &up)
                              : copy_lines(w, here, s->lda, w->strip, p.count, rows, p.count);
    if (status != WEFT_OK)
        return status;
    return back ? copy_lines(w, w->strip, p.count, here, s->lda, rows, p.count)
                : wi_transpose_part(w->ctx, &down);
}

/* ---- steps ---- */

/* X = op(T)^-1 X for a triangle of `order` rows. */
static weft_status solve(const stream *w, bool upper, bool transposed, size_t order, size_t sides,
                         const void *t, size_t ldt, void *x, size_t ldx) {
    wi_triangle_args a = {};
    a.type = w->s->type;
    a.upper = upper;
    a.transposed = transposed;
    a.unit = !upper;
    a.m = order;
    a.n = sides;
    a.alpha = 1;
    a.a = t;
    a.lda = ldt;
    a.b = x;
    a.ldb = ldx;
    return wi_pick(w->ctx, &wi_trsm_ladder, a.type, &a)->run(w->ctx, &a);
}

/* C = C - op(A) B. */
static weft_status subtract(const stream *w, bool transposed, size_t m, size_t n, size_t k,
                            const void *a, size_t lda, const void *b, size_t ldb, void *c,
                            size_t ldc) {
    wi_gemm_args g = {};
    if (m == 0 || n == 0 || k == 0)
        return WEFT_OK;
    g.type = g.out = w->s->type;
    g.transposed_a = transposed;
    g.m = m;
    g.n = n;
    g.k = k;
    g.alpha = -1;
    g.beta = 1;
    g.a = a;
    g.lda = lda;
    g.b = b;
    g.ldb = ldb;
    g.c = c;
    g.ldc = ldc;
    return wi_pick(w->ctx, &wi_gemm_ladder, g.type, &g)->run(w->ctx, &g);
}

static char *at(const stream *w, void *x, size_t rows) {
    return (char *)x + rows * w->width;
}

static size_t steps_of(const stream *w) {
    return least(w->s->m, w->s->n);
}

/* The panel that begins at column `first`, cut off at `end`. */
static lu_part panel_at(const stream *w, size_t first, size_t end, size_t top) {
    return {first, least(w->wide, end - first), top};
}

/* The effect of one panel of L on `count` columns of m rows: exchanges, a triangle, a product. */
static weft_status take_effect(const stream *w, lu_part l, char *x, size_t count) {
    const size_t m = w->s->m, rows = m - l.first;
    char *const top = at(w, x, l.first);
    weft_status status =
        wi_lu_swap_rows(w->ctx, w->s->type, count, top, m, l.count, w->pivots + l.first, true);
    if (status == WEFT_OK)
        status = solve(w, false, false, l.count, count, w->other, rows, top, m);
    if (status == WEFT_OK)
        status = subtract(w, false, rows - l.count, count, l.count, at(w, w->other, l.count), rows,
                          top, m, at(w, top, l.count), m);
    return status;
}

/* Notes what the factorization of the panel at `first` found. */
static weft_status note(const stream *w, size_t first, int64_t *words) {
    int64_t found[WI_LU_WORDS];
    const weft_status status = wi_gpu_copy(w->ctx, found, w->found, sizeof found);
    for (int k = 0; k < WI_LU_WORDS && status == WEFT_OK; k++)
        if (words[k] == WI_LU_NONE && found[k] != WI_LU_NONE)
            words[k] = found[k] + (int64_t)first;
    return status;
}

static weft_status factor_panel(const stream *w, lu_part p, int64_t *words) {
    wi_lu_args args = {};
    args.type = w->s->type;
    args.m = w->s->m - p.first;
    args.n = p.count;
    args.a = at(w, w->panel, p.first);
    args.lda = w->s->m;
    args.pivot = w->pivots + p.first;
    args.first = w->found;
    const weft_status status = wi_run(w->ctx, &wi_lu_ladder, w->s->call, args.type, &args);
    return status == WEFT_OK ? note(w, p.first, words) : status;
}

static weft_status make_panel(const stream *w, size_t first, int64_t *words) {
    const size_t steps = steps_of(w);
    const lu_part p = panel_at(w, first, w->s->n, 0);
    weft_status status = move(w, p, w->panel, false);
    for (size_t k = 0; k < least(first, steps) && status == WEFT_OK; k += w->wide) {
        const lu_part l = panel_at(w, k, steps, k);
        status = move(w, l, w->other, false);
        if (status == WEFT_OK)
            status = take_effect(w, l, w->panel, p.count);
    }
    if (status == WEFT_OK && first < steps)
        status = factor_panel(w, p, words);
    return status == WEFT_OK ? move(w, p, w->panel, true) : status;
}

/* The exchanges of later panels reach the rows of L of one panel. */
static weft_status finish_panel(const stream *w, size_t first) {
    const size_t steps = steps_of(w), later = first + w->wide;
    if (later >= steps)
        return WEFT_OK;
    const lu_part p = panel_at(w, first, steps, later);
    weft_status status = move(w, p, w->panel, false);
    for (size_t k = later; k < steps && status == WEFT_OK; k += w->wide)
        status = wi_lu_swap_rows(w->ctx, w->s->type, p.count, at(w, w->panel, k - later),
                                 w->s->m - later, least(w->wide, steps - k), w->pivots + k, true);
    return status == WEFT_OK ? move(w, p, w->panel, true) : status;
}

/* ---- memory ---- */

static weft_status take(const stream *w, char **p, size_t bytes) {
    void *memory = NULL;
    const weft_status status = wi_gpu_alloc(w->ctx, &memory, bytes);
    *p = (char *)memory;
    return status;
}

/* As many columns as fit the share of the memory, at least STEP. */
static void choose_width(stream *w) {
    const size_t memory = wi_lu_resident_bytes > 0 ? wi_lu_resident_bytes : device_bytes();
    const size_t column = PANELS * w->s->m * w->width;
    const size_t wide = memory / SHARE / column / STEP * STEP;
    w->wide = wide > (size_t)STEP ? wide : (size_t)STEP;
}

static weft_status open_stream(stream *w, weft_context *ctx, const wi_lu_streamed *s) {
    *w = {};
    w->ctx = ctx;
    w->s = s;
    w->width = weft_type_size(s->type);
    choose_width(w);
    const size_t bytes = w->wide * s->m * w->width;
    char *words = NULL;
    weft_status status = take(w, &w->panel, bytes);
    if (status == WEFT_OK)
        status = take(w, &w->other, bytes);
    if (status == WEFT_OK && s->by_rows)
        status = take(w, &w->strip, bytes);
    if (status == WEFT_OK)
        status = take(w, &words, (WI_LU_WORDS + steps_of(w)) * WORD);
    w->found = (int64_t *)words;
    w->pivots = w->found + WI_LU_WORDS;
    return status;
}

static weft_status close_stream(const stream *w, weft_status status) {
    void *const taken[] = {w->panel, w->other, w->strip, w->found};
    for (void *p : taken) {
        const weft_status freed = p ? wi_gpu_free(w->ctx, p) : WEFT_OK;
        status = status == WEFT_OK ? freed : status;
    }
    return status;
}

/* ---- the calls ---- */

/* Of panels, rows are counted from their own first. */
static weft_status tell_pivots(const stream *w, int64_t *pivot) {
    const size_t steps = steps_of(w);
    const weft_status status = wi_gpu_copy(w->ctx, pivot, w->pivots, steps * WORD);
    for (size_t k = 0; k < steps && status == WEFT_OK; k++)
        pivot[k] += (int64_t)(k / w->wide * w->wide);
    return status;
}

weft_status wi_lu_factor_streamed(weft_context *ctx, const wi_lu_streamed *s, int64_t *pivot,
                                  int64_t *words) {
    stream w;
    weft_status status = open_stream(&w, ctx, s);
    for (size_t first = 0; first < s->n && status == WEFT_OK; first += w.wide)
        status = make_panel(&w, first, words);
    for (size_t first = 0; first < s->n && status == WEFT_OK; first += w.wide)
        status = finish_panel(&w, first);
    if (status == WEFT_OK)
        status = tell_pivots(&w, pivot);
    return close_stream(&w, status);
}

/* A panel of the factors, all rows of it, on its way down or up the system. X is op(A)'s. */
static weft_status pass(const stream *w, lu_part p, bool lower, bool transposed, size_t nrhs,
                        char *x, size_t ldx) {
    const size_t n = w->s->n, rest = lower ? n - p.first - p.count : p.first;
    char *const own = at(w, x, p.first), *const block = at(w, w->other, p.first);
    char *const beside = lower ? at(w, block, p.count) : w->other;
    char *const others = lower ? at(w, own, p.count) : x;
    weft_status status = move(w, p, w->other, false);
    if (status == WEFT_OK && transposed)
        status = subtract(w, true, p.count, nrhs, rest, beside, n, others, ldx, own, ldx);
    if (status == WEFT_OK)
        status = solve(w, !lower, transposed, p.count, nrhs, block, n, own, ldx);
    if (status == WEFT_OK && !transposed)
        status = subtract(w, false, rest, nrhs, p.count, beside, n, own, ldx, others, ldx);
    return status;
}

/* All panels, from the first on if L is solved or U', else from the last. */
static weft_status pass_all(const stream *w, bool lower, bool transposed, size_t nrhs, char *x,
                            size_t ldx) {
    const size_t n = w->s->n, count = (n + w->wide - 1) / w->wide;
    weft_status status = WEFT_OK;
    for (size_t k = 0; k < count && status == WEFT_OK; k++) {
        const size_t number = lower != transposed ? k : count - 1 - k;
        status = pass(w, panel_at(w, number * w->wide, n, 0), lower, transposed, nrhs, x, ldx);
    }
    return status;
}

weft_status wi_lu_solve_streamed(weft_context *ctx, const wi_lu_streamed *s, bool transposed,
                                 size_t nrhs, const int64_t *pivot, void *x, size_t ldx) {
    stream w;
    weft_status status = open_stream(&w, ctx, s);
    if (status == WEFT_OK && !transposed)
        status = wi_lu_swap_rows(ctx, s->type, nrhs, x, ldx, s->n, pivot, true);
    if (status == WEFT_OK)
        status = pass_all(&w, !transposed, transposed, nrhs, (char *)x, ldx);
    if (status == WEFT_OK)
        status = pass_all(&w, transposed, transposed, nrhs, (char *)x, ldx);
    if (status == WEFT_OK && transposed)
        status = wi_lu_swap_rows(ctx, s->type, nrhs, x, ldx, s->n, pivot, false);
    return close_stream(&w, status);
}
