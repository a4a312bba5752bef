/* SPDX-License-Identifier: Apache-2.0 */
/* Panels of a host matrix on their way to a GPU and back, and triangular systems with them. */
#include "core/gpu_limits.h"
#include "core/smaller.h"
#include "lu/host_panels.cuh"

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
    PANELS = 3, /* on the device: the one that is made, one before it, and a copy by rows */
    SHARE = 2,  /* of the device's memory that panels may take: one part in so many */
    STEP = 16,  /* columns of a panel are a multiple */
    ROOM = 7,
    OF = 8 /* of the device's memory that is free, which matrices may take */
};

size_t wi_read_panel_bytes(void) {
    constexpr size_t usual = (size_t)1 << 28, part = 16;
    return wi_lu_resident_bytes > 0 ? wi_lu_resident_bytes / part : usual;
}

size_t wi_panels_memory(const weft_context *ctx) {
    return wi_lu_resident_bytes > 0 ? wi_lu_resident_bytes : wi_gpu_free_bytes(ctx);
}

bool wi_fits_device(const weft_context *ctx, double bytes) {
    const double few = (double)((size_t)1 << 28); /* not worth the question */
    if (ctx->kind != WI_CUDA || !ctx->gpu)
        return true;
    if (wi_lu_resident_bytes > 0)
        return bytes <= (double)wi_lu_resident_bytes;
    return bytes <= few || bytes <= (double)(wi_gpu_free_bytes(ctx) / OF * ROOM);
}

/* ---- panels that travel ---- */

static weft_status copy_part(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    const size_t width = call->array[0].width;
    (void)user;
    return wi_copy_rows(ctx, {(char *)part->p[1], part->ld[1] * width},
                        {(char *)part->p[0], part->ld[0] * width}, part->rows, part->cols * width);
}

weft_status wi_host_copy_lines(weft_context *ctx, const char *call, weft_type type, void *from,
                               size_t ld_from, void *to, size_t ld_to, size_t lines,
                               size_t length) {
    wi_call copy;
    wi_call_begin(&copy, call, lines, length);
    wi_call_add(&copy, wi_matrix("a", from, lines, length, "lda", ld_from, type, WI_IN));
    wi_call_add(&copy, wi_matrix("a", to, lines, length, "lda", ld_to, type, WI_OUT));
    const weft_status status = wi_call_check(ctx, &copy);
    return status == WEFT_OK ? wi_call_run(ctx, &copy, copy_part, NULL) : status;
}

weft_status wi_panel_move(const wi_panels *w, wi_panel p, char *there, bool back) {
    const wi_host_matrix *const s = w->s;
    if (p.rows == 0)
        return WEFT_OK;
    if (!s->by_rows) {
        char *const here = (char *)s->a + (p.top + p.first * s->lda) * w->width;
        return back ? wi_host_copy_lines(w->ctx, s->call, s->type, there, p.rows, here, s->lda,
                                         p.count, p.rows)
                    : wi_host_copy_lines(w->ctx, s->call, s->type, here, s->lda, there, p.rows,
                                         p.count, p.rows);
    }
    char *const here = (char *)s->a + (p.top * s->lda + p.first) * w->width;
    const wi_transpose_args down = {w->width, p.count, p.rows, w->strip, p.count, there, p.rows};
    const wi_transpose_args up = {w->width, p.rows, p.count, there, p.rows, w->strip, p.count};
    weft_status status = back ? wi_transpose_part(w->ctx, &up)
                              : wi_host_copy_lines(w->ctx, s->call, s->type, here, s->lda, w->strip,
                                                   p.count, p.rows, p.count);
    if (status != WEFT_OK)
        return status;
    return back ? wi_host_copy_lines(w->ctx, s->call, s->type, w->strip, p.count, here, s->lda,
                                     p.rows, p.count)
                : wi_transpose_part(w->ctx, &down);
}

/* ---- steps ---- */

weft_status wi_panel_solve(const wi_panels *w, const wi_panel_triangle *t, size_t m, size_t n) {
    wi_triangle_args a = {};
    if (m == 0 || n == 0)
        return WEFT_OK;
    a.type = w->s->type;
    a.right = t->right;
    a.upper = t->upper;
    a.transposed = t->transposed;
    a.unit = t->unit;
    a.m = m;
    a.n = n;
    a.alpha = 1;
    a.a = t->t;
    a.lda = t->ldt;
    a.b = t->x;
    a.ldb = t->ldx;
    return wi_pick(w->ctx, &wi_trsm_ladder, a.type, &a)->run(w->ctx, &a);
}

weft_status wi_panel_subtract(const wi_panels *w, const wi_panel_product *p, size_t m, size_t n,
                              size_t k) {
    wi_gemm_args g = {};
    if (m == 0 || n == 0 || k == 0)
        return WEFT_OK;
    g.type = g.out = w->s->type;
    g.transposed_a = p->transposed_a;
    g.transposed_b = p->transposed_b;
    g.m = m;
    g.n = n;
    g.k = k;
    g.alpha = -1;
    g.beta = 1;
    g.a = p->a;
    g.lda = p->lda;
    g.b = p->b;
    g.ldb = p->ldb;
    g.c = p->c;
    g.ldc = p->ldc;
    return wi_pick(w->ctx, &wi_gemm_ladder, g.type, &g)->run(w->ctx, &g);
}

wi_panel wi_panel_at(const wi_panels *w, size_t first, size_t end, size_t top) {
    return {first, wi_smaller(w->wide, end - first), top, w->s->m - top};
}

/* ---- memory ---- */

static weft_status take(const wi_panels *w, char **p, size_t bytes) {
    void *memory = NULL;
    const weft_status status = wi_gpu_alloc(w->ctx, &memory, bytes);
    *p = (char *)memory;
    return status;
}

/* As many columns as fit the share of the memory, at least STEP. */
static void choose_width(wi_panels *w) {
    const size_t column = PANELS * w->s->m * w->width;
    const size_t wide = wi_panels_memory(w->ctx) / SHARE / column / STEP * STEP;
    w->wide = wi_smaller(wide > (size_t)STEP ? wide : (size_t)STEP, w->s->n);
}

weft_status wi_panels_open(wi_panels *w, weft_context *ctx, const wi_host_matrix *s, size_t words) {
    *w = {};
    w->ctx = ctx;
    w->s = s;
    w->width = weft_type_size(s->type);
    choose_width(w);
    const size_t bytes = w->wide * s->m * w->width;
    weft_status status = take(w, &w->panel, bytes);
    if (status == WEFT_OK)
        status = take(w, &w->other, bytes);
    if (status == WEFT_OK && s->by_rows)
        status = take(w, &w->strip, bytes);
    return status == WEFT_OK && words > 0 ? take(w, &w->words, words) : status;
}

weft_status wi_panels_close(const wi_panels *w, weft_status status) {
    void *const taken[] = {w->panel, w->other, w->strip, w->words};
    for (void *p : taken) {
        const weft_status freed = p ? wi_gpu_free(w->ctx, p) : WEFT_OK;
        status = status == WEFT_OK ? freed : status;
    }
    return status;
}

/* ---- triangular systems ---- */

/* What a panel of T does to X: its own unknowns, and its share of the others. Of a transposed
 * triangle the others come first. */
static weft_status pass(const wi_panels *w, const wi_host_triangle *t, wi_panel p, size_t nrhs,
                        char *x, size_t ldx) {
    const size_t end = p.first + p.count;
    p.top = t->upper ? 0 : p.first;
    p.rows = t->upper ? end : w->s->n - p.first;
    const size_t rest = p.rows - p.count;
    char *const own = wi_panel_row(w, x, p.first);
    char *const block = t->upper ? wi_panel_row(w, w->other, p.first) : w->other;
    char *const beside = t->upper ? w->other : wi_panel_row(w, block, p.count);
    char *const others = t->upper ? x : wi_panel_row(w, own, p.count);
    const wi_panel_triangle triangle = {false, t->upper, t->unit, t->transposed,
                                        block, p.rows,   own,     ldx};
    const wi_panel_product from = {true, false, beside, p.rows, others, ldx, own, ldx};
    const wi_panel_product to = {false, false, beside, p.rows, own, ldx, others, ldx};
    weft_status status = wi_panel_move(w, p, w->other, false);
    if (status == WEFT_OK && t->transposed)
        status = wi_panel_subtract(w, &from, p.count, nrhs, rest);
    if (status == WEFT_OK)
        status = wi_panel_solve(w, &triangle, p.count, nrhs);
    if (status == WEFT_OK && !t->transposed)
        status = wi_panel_subtract(w, &to, rest, nrhs, p.count);
    return status;
}

weft_status wi_host_triangle_solve(weft_context *ctx, const wi_host_triangle *t, size_t nrhs,
                                   void *x, size_t ldx) {
    wi_panels w;
    weft_status status = wi_panels_open(&w, ctx, &t->matrix, 0);
    const size_t n = t->matrix.n, count = (n + w.wide - 1) / w.wide;
    for (size_t k = 0; k < count && status == WEFT_OK; k++) {
        const size_t number = t->upper == t->transposed ? k : count - 1 - k;
        status = pass(&w, t, wi_panel_at(&w, number * w.wide, n, 0), nrhs, (char *)x, ldx);
    }
    return wi_panels_close(&w, status);
}
