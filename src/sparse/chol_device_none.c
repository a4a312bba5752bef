/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces what chol_device.c and the kernels do with a factor on a GPU in a build without CUDA,
 * where no plan has one: these are never called. */
#include "sparse/chol_device.h"
#include "sparse/solve.h"

static weft_status refuse(weft_context *ctx) {
    return wi_fail(ctx, WEFT_EUNSUPPORTED, "this build of weft has no CUDA; open place \"cpu\"");
}

weft_status wi_chol_go_up(weft_context *ctx, const weft_chol *plan, wi_device_sides sides) {
    (void)plan, (void)sides;
    return refuse(ctx);
}

weft_status wi_chol_go_down(weft_context *ctx, const weft_chol *plan, wi_device_sides sides,
                            wi_subtree tree) {
    (void)plan, (void)sides, (void)tree;
    return refuse(ctx);
}

weft_status wi_chol_interchange(weft_context *ctx, const weft_chol *plan, wi_device_sides sides,
                                bool back) {
    (void)plan, (void)sides, (void)back;
    return refuse(ctx);
}

weft_status wi_chol_device_map(weft_context *ctx, const char *call, weft_chol *plan,
                               const weft_sparse *matrix) {
    (void)call, (void)plan, (void)matrix;
    return refuse(ctx);
}

weft_status wi_chol_device_gather(weft_context *ctx, const weft_chol *plan) {
    (void)plan;
    return refuse(ctx);
}

weft_status wi_chol_device_size_up(weft_context *ctx, const weft_chol *plan, const double *value,
                                   double facts[WI_VALUE_FIGURES]) {
    (void)plan, (void)value, (void)facts;
    return refuse(ctx);
}

weft_status wi_chol_device_ask(weft_context *ctx, const weft_chol *plan, wi_chol_told *told,
                               int64_t *failed) {
    (void)plan;
    *told = (wi_chol_told){.factored = 0};
    *failed = -1;
    return refuse(ctx);
}

weft_status wi_solve_captured(wi_solve_group *g, int refine) {
    (void)refine;
    return refuse(g->ctx);
}

double wi_chol_spread_from(void) {
    return 0;
}

weft_status wi_chol_fetch_runs(weft_context *ctx, const weft_chol *plan, const double *from,
                               double *to) {
    (void)plan, (void)from, (void)to;
    return refuse(ctx);
}

int32_t wi_chol_flow_from(const weft_context *ctx, const weft_chol *plan) {
    (void)ctx, (void)plan;
    return 0;
}

weft_status wi_chol_flow_reserve(weft_context *ctx, const wi_schedule *schedule) {
    (void)schedule;
    return refuse(ctx);
}

weft_status wi_chol_describe_fronts(weft_context *ctx, const wi_chol_device *d, void *there) {
    (void)d, (void)there;
    return refuse(ctx);
}

size_t wi_chol_free_bytes(const weft_context *ctx) {
    (void)ctx;
    return SIZE_MAX;
}

weft_status wi_chol_windows_take(weft_context *ctx, const weft_chol *plan, wi_chol_device *d) {
    (void)plan, (void)d;
    return refuse(ctx);
}

void wi_chol_windows_drop(wi_chol_device *d) {
    (void)d;
}

weft_status wi_solve_device_plainly(wi_solve_group *g, bool *plain) {
    *plain = false;
    return refuse(g->ctx);
}

weft_status wi_solve_device_measure(wi_solve_group *g, bool keep) {
    (void)keep;
    return refuse(g->ctx);
}

weft_status wi_solve_device_correction(wi_solve_group *g, double *sizes) {
    (void)sizes;
    return refuse(g->ctx);
}

weft_status wi_solve_device_correct(wi_solve_group *g, const bool *taken) {
    (void)taken;
    return refuse(g->ctx);
}

weft_status wi_solve_device_hand_out(wi_solve_group *g) {
    return refuse(g->ctx);
}

weft_status wi_solve_device_largest(wi_solve_group *g, double *right) {
    (void)right;
    return refuse(g->ctx);
}
