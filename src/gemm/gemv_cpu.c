/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "threads" of gemv. The matrix is cut into pieces of at most WI_GEMV_DEPTH terms, which
 * threads share; where the terms are cut, the pieces' sums are kept apart and added up in order. So
 * an element's bits depend on its line of the matrix and x alone. */
#include "cpu/team.h"
#include "gemm/gemv.h"
#include "gemm/gemv_simd.h"

enum {
    COLUMNS = 64, /* of a piece whose sums go across */
    STACK_SUMS = 512
};

typedef struct plan {
    const wi_gemv_args *g;
    const wi_gemv_kernel *kernel;
    size_t in_width, width; /* of an element, of a sum */
    size_t breadth;         /* results of a piece */
    size_t pieces_across, chunks;
    char *x, *sums; /* sums: those of a chunk after those of the one before it */
} plan;

static size_t pieces(size_t n, size_t size) {
    return n / size + (n % size != 0);
}

static void finish(const plan *p, size_t first, size_t count, const char *sums) {
    const wi_gemv_args *const g = p->g;
    char *const y =
        (char *)g->y.first + (ptrdiff_t)first * g->y.step * (ptrdiff_t)weft_type_size(g->out);
    p->kernel->finish[g->out](count, sums, g->alpha, g->beta, y, g->y.step);
}

static void do_piece(const plan *p, size_t index) {
    const wi_gemv_args *const g = p->g;
    const size_t chunk = index / p->pieces_across, first = index % p->pieces_across * p->breadth;
    const size_t left = g->results - first, from = chunk * WI_GEMV_DEPTH;
    const size_t count = left < p->breadth ? left : p->breadth;
    const size_t after = g->terms - from, terms = after < WI_GEMV_DEPTH ? after : WI_GEMV_DEPTH;
    const char *const x = p->x + from * p->width;
    char *const sums = p->sums + (chunk * g->results + first) * p->width;
    const char *const a = g->a;
    if (g->transposed)
        p->kernel->across(terms, count, a + (from + first * g->lda) * p->in_width, g->lda, x, sums);
    else
        p->kernel->along(count, terms, a + (first + from * g->lda) * p->in_width, g->lda, x, sums);
    if (p->chunks == 1)
        finish(p, first, count, sums);
}

static void do_share(void *user, int rank, int size) {
    const plan *const p = user;
    const size_t count = p->pieces_across * p->chunks;
    for (size_t k = wi_team_share(count, rank, size); k < wi_team_share(count, rank + 1, size); k++)
        do_piece(p, k);
}

static void add_chunks(const plan *p) {
    const size_t row = p->g->results * p->width;
    for (size_t chunk = 1; chunk < p->chunks; chunk++)
        p->kernel->add(p->g->results, p->sums + chunk * row, p->sums);
    finish(p, 0, p->g->results, p->sums);
}

weft_status wi_gemv_threads(weft_context *ctx, const void *args) {
    const wi_gemv_args *const g = args;
    _Alignas(64) char stack[STACK_SUMS * sizeof(double)];
    plan p = {.g = g,
              .kernel = &WI_OF_ISA(wi_cpu_isa(), wi_gemv_simd)->kernel[g->type],
              .in_width = weft_type_size(g->type),
              .width = g->type == WEFT_F64 ? sizeof(double) : sizeof(float),
              .breadth = g->transposed ? COLUMNS : WI_GEMV_STRIP};
    if (g->terms == 0) {
        finish(&p, 0, g->results, NULL);
        return WEFT_OK;
    }
    p.pieces_across = pieces(g->results, p.breadth);
    p.chunks = pieces(g->terms, WI_GEMV_DEPTH);
    const size_t bytes = (g->terms + p.chunks * g->results) * p.width;
    char *const memory = bytes <= sizeof stack ? stack : wi_host_alloc(bytes);
    if (!memory)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_gemv: no memory for %zu bytes of sums", bytes);
    p.x = memory;
    p.sums = memory + g->terms * p.width;
    p.kernel->take(g->terms, g->x.first, g->x.step, p.x);
    wi_team_run(ctx,
                wi_team_size(ctx, p.pieces_across * p.chunks, g->rows * g->columns * p.in_width),
                do_share, &p);
    if (p.chunks > 1)
        add_chunks(&p);
    if (memory != stack)
        wi_host_free(memory);
    return WEFT_OK;
}
