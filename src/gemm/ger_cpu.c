/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "threads" of ger: threads share the columns, or strips of them if they are few. */
#include "cpu/half.h"
#include "cpu/team.h"
#include "gemm/ger.h"
#include "gemm/ger_simd.h"

enum {
    STRIPS = 8, /* of a task, at most */
    STACK_BYTES = 4096
};

typedef struct plan {
    const wi_ger_args *g;
    const wi_ger_kernel *kernel;
    size_t width, sum_width;
    size_t strips; /* tasks of a column */
    const char *x; /* without gaps */
} plan;

/* alpha_y y[j]. */
static double factor(const wi_ger_args *g, size_t j) {
    const ptrdiff_t at = (ptrdiff_t)j * g->y.step;
    switch (g->type) {
    case WEFT_F64:
        return g->alpha_y * ((const double *)g->y.first)[at];
    case WEFT_F32:
        return (float)g->alpha_y * ((const float *)g->y.first)[at];
    case WEFT_F16:
        return (float)g->alpha_y * wi_f16_widen(((const uint16_t *)g->y.first)[at]);
    default:
        return (float)g->alpha_y * wi_bf16_widen(((const uint16_t *)g->y.first)[at]);
    }
}

static void scale(size_t n, double by, weft_type type, void *x) {
    for (size_t i = 0; i < n; i++)
        if (type == WEFT_F64)
            ((double *)x)[i] *= by;
        else
            ((float *)x)[i] *= (float)by;
}

static void do_task(const plan *p, size_t task) {
    const wi_ger_args *const g = p->g;
    const size_t j = task / p->strips, first = task % p->strips * STRIPS * WI_GER_STRIP;
    const size_t left = g->rows - first, most = STRIPS * WI_GER_STRIP;
    const size_t end = first + (left < most ? left : most);
    const double by = factor(g, j);
    char *const column = (char *)g->a + j * g->lda * p->width;
    for (size_t i = first; i < end; i += WI_GER_STRIP)
        p->kernel->add(end - i < WI_GER_STRIP ? end - i : WI_GER_STRIP, p->x + i * p->sum_width, by,
                       column + i * p->width);
}

static void do_share(void *user, int rank, int size) {
    const plan *const p = user;
    const size_t count = p->strips * p->g->columns;
    for (size_t k = wi_team_share(count, rank, size); k < wi_team_share(count, rank + 1, size); k++)
        do_task(p, k);
}

weft_status wi_ger_threads(weft_context *ctx, const void *args) {
    const wi_ger_args *const g = args;
    _Alignas(64) char stack[STACK_BYTES];
    const size_t most = STRIPS * WI_GER_STRIP;
    plan p = {.g = g,
              .kernel = &WI_OF_ISA(wi_cpu_isa(), wi_ger_simd)->kernel[g->type],
              .width = weft_type_size(g->type),
              .sum_width = g->type == WEFT_F64 ? sizeof(double) : sizeof(float),
              .strips = (g->rows + most - 1) / most};
    const size_t bytes = g->rows * p.sum_width;
    char *const x = bytes <= sizeof stack ? stack : wi_host_alloc(bytes);
    if (!x)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_ger: no memory for %zu bytes of x", bytes);
    p.x = x;
    p.kernel->take(g->rows, g->x.first, g->x.step, x);
    if (g->alpha_x != 1)
        scale(g->rows, g->alpha_x, g->type, x);
    wi_team_run(ctx, wi_team_size(ctx, p.strips * g->columns, 2 * g->rows * g->columns * p.width),
                do_share, &p);
    if (x != stack)
        wi_host_free(x);
    return WEFT_OK;
}
