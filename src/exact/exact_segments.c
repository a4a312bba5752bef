/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of exact sums by segment and by key, and the ladder that makes them. */
#include "exact/exact_segments.h"

#include "core/gpu.h"
#include "cpu/team.h"

/* ---- costs: cycles of an element and of a segment, fitted to README.md's figures on two cores
 * ----
 */

/* How much longer an element takes if it is squared. */
static double squaring(const wi_group_args *a) {
    return a->op == WI_RED_NRM2 ? 1.9 : 1;
}

static double serial_seconds(const weft_context *ctx, const void *args) {
    const wi_group_args *const a = args;
    const double element = (a->type == WEFT_F16 ? 17 : 9) * squaring(a), segment = 850;
    const double cycles = element * (double)a->n + segment * (double)a->segments;
    return wi_team_seconds(ctx, 1, cycles, wi_group_bytes(a));
}

/* Summing in the lanes of a vector (a cascade for each) pays for segments of several vectors; the
 * constants were measured with AVX2. */
static double threads_seconds(const weft_context *ctx, const void *args) {
    const wi_group_args *const a = args;
    const double narrower = wi_narrower(wi_machine_of(ctx));
    const bool lanes = (double)a->n * narrower >= 16 * (double)a->segments;
    const double element = (lanes ? 1.9 * narrower : 5.7) * squaring(a), segment = lanes ? 95 : 10;
    const double cycles = 500 + element * (double)a->n + segment * (double)a->segments;
    return wi_team_seconds(ctx, wi_group_team(ctx, a), cycles, wi_group_bytes(a));
}

static const wi_row rows[] = {
    {.name = "serial",
     .what = "every segment by the digits of a wide integer",
     .kinds = WI_ON_CPU,
     .types = WI_FLOATS,
     .seconds = serial_seconds,
     .run = wi_exact_segments_serial},
    {.name = "threads",
     .what = "as much for each thread; short segments by two sums and a bound of what they lose",
     .kinds = WI_ON_CPU,
     .types = WI_FLOATS,
     .seconds = threads_seconds,
     .run = wi_exact_segments_threads},
#ifdef WEFT_CUDA
    {.name = "paths",
     .what = "as much for each block; a thread, a warp or the block for a segment, by its length",
     .kinds = WI_ON_CUDA,
     .types = WI_FLOATS,
     .seconds = wi_no_rival,
     .run = wi_exact_segments_paths},
#endif
    {.name = "ranks",
     .what = "segments go to the ranks that have their elements; what crosses ranks is added up as "
             "integers",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_FLOATS,
     .seconds = wi_no_rival,
     .run = wi_group_ranks},
};

const wi_ladder wi_exact_segments_ladder = {"exact_segments", rows, sizeof rows / sizeof rows[0]};

/* ---- checks ---- */

static weft_status check_op(weft_context *ctx, const char *call, weft_op op, wi_reduction *is) {
    if ((unsigned)op >= WEFT_OP_COUNT)
        return wi_fail(ctx, WEFT_EARG, "%s: op %d is not a weft_op; pass WEFT_SUM, NRM1 or NRM2",
                       call, (int)op);
    if (op != WEFT_SUM && op != WEFT_NRM1 && op != WEFT_NRM2)
        return wi_fail(
            ctx, WEFT_EUNSUPPORTED,
            "%s: op must be SUM, NRM1 or NRM2; the calls in weft/group.h have the others", call);
    *is = op == WEFT_SUM ? WI_RED_SUM : op == WEFT_NRM1 ? WI_RED_NRM1 : WI_RED_NRM2;
    return WEFT_OK;
}

/* Checks what is to be added up, and puts it into `a`. */
static weft_status describe(weft_context *ctx, const char *call, weft_op op, weft_type type,
                            weft_type result_type, wi_group_args *a) {
    weft_status status = check_op(ctx, call, op, &a->op);
    if (status == WEFT_OK)
        status = wi_exact_check_float(ctx, call, "type", type);
    if (status == WEFT_OK)
        status = wi_exact_check_float(ctx, call, "result_type", result_type);
    a->type = type;
    a->result_type = result_type;
    return status;
}

/* ---- the calls ---- */

static weft_status prepare(weft_context *ctx, const wi_group_args *a) {
#ifdef WEFT_CUDA
    return wi_exact_segments_prepare(ctx, a);
#else
    (void)ctx, (void)a;
    return WEFT_OK;
#endif
}

static const wi_group_way exactly = {&wi_exact_segments_ladder, false, wi_exact_segments_bytes,
                                     prepare, &wi_exact_pieces};

weft_status weft_exact_reduce_segments(weft_context *ctx, weft_op op, weft_type type, size_t n,
                                       const void *x, size_t segments, weft_type offset_type,
                                       const void *offsets, weft_type result_type, void *y) {
    wi_group_request r = {.way = &exactly,
                          .offset_type = offset_type,
                          .columns = 1,
                          .has_names = true,
                          .column = {{.call = "weft_exact_reduce_segments",
                                      .asked = op,
                                      .n = n,
                                      .segments = segments,
                                      .x = x,
                                      .starts = offsets,
                                      .y = y}}};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    return wi_group_by_segment(
        ctx, &r, describe(ctx, r.column[0].call, op, type, result_type, &r.column[0]));
}

weft_status weft_exact_reduce_by_key(weft_context *ctx, size_t n, size_t width, const void *keys,
                                     void *keys_out, size_t columns,
                                     const weft_exact_column *column, uint64_t *count) {
    wi_group_keys_args k = {.call = "weft_exact_reduce_by_key",
                            .way = &exactly,
                            .n = n,
                            .width = width,
                            .columns = columns,
                            .keys = keys,
                            .keys_out = keys_out,
                            .count = count};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_group_check_keys(ctx, k.call, width, columns, column);
    for (size_t c = 0; c < columns && status == WEFT_OK; c++) {
        k.column[c] = (wi_group_args){.x = column[c].x, .y = column[c].y};
        status = describe(ctx, k.call, column[c].op, column[c].type, column[c].result_type,
                          &k.column[c]);
    }
    return wi_group_by_key(ctx, &k, status);
}
