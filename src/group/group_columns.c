/* SPDX-License-Identifier: Apache-2.0 */
/* Several columns in one call: what reductions by segment and by key share. */
#include "group/group.h"

const char *const wi_group_x_names[WEFT_COLUMNS] = {"column[0].x", "column[1].x", "column[2].x",
                                                    "column[3].x", "column[4].x", "column[5].x",
                                                    "column[6].x", "column[7].x"};
const char *const wi_group_y_names[WEFT_COLUMNS] = {"column[0].y", "column[1].y", "column[2].y",
                                                    "column[3].y", "column[4].y", "column[5].y",
                                                    "column[6].y", "column[7].y"};

static weft_status prepare(weft_context *ctx, const wi_group_args *a) {
#ifdef WEFT_CUDA
    weft_status status = wi_group_paths_prepare(ctx, a);
    if (status == WEFT_OK)
        status = wi_group_stretches_prepare(ctx, a);
    if (status == WEFT_OK)
        status = wi_group_marks_prepare(ctx, a);
    if (status == WEFT_OK)
        status = wi_group_lanes_prepare(ctx, a);
    return status == WEFT_OK ? wi_group_teams_prepare(ctx, a) : status;
#else
    (void)ctx, (void)a;
    return WEFT_OK;
#endif
}

const wi_group_way wi_group_rounding = {&wi_group_ladder, true, wi_group_threads_bytes, prepare,
                                        &wi_group_rounded_pieces};

weft_status wi_group_check_columns(weft_context *ctx, const char *call, size_t columns,
                                   const void *column) {
    if (columns > WEFT_COLUMNS)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: columns is %zu; pass at most %d, and the others in another call", call,
                       columns, WEFT_COLUMNS);
    if (columns > 0 && !column)
        return wi_fail(ctx, WEFT_EARG, "%s: column is NULL; pass an array of %zu columns", call,
                       columns);
    return WEFT_OK;
}

weft_status wi_group_take_columns(weft_context *ctx, const char *call, size_t columns,
                                  const weft_column *column, wi_group_args *args) {
    weft_status status = WEFT_OK;
    for (size_t c = 0; c < columns && status == WEFT_OK; c++) {
        wi_group_args *const a = &args[c];
        a->call = call;
        a->asked = column[c].op;
        a->type = column[c].type;
        a->x = column[c].x;
        a->y = column[c].y;
        status = wi_reduce_check_op(ctx, call, a->asked, a->type, &a->op);
        if (status == WEFT_OK)
            a->result_type = wi_reduce_result_type(a->op, a->type);
    }
    return status;
}

weft_status wi_group_take_room(weft_context *ctx, const wi_group_way *way, size_t columns,
                               const wi_group_args *args, void **room) {
    weft_status status = WEFT_OK;
    size_t most = 0;
    for (size_t c = 0; c < columns && status == WEFT_OK; c++) {
        const wi_group_args *const a = &args[c];
        const wi_row *unused; /* a rung that is forced but cannot do it is refused here */
        status = wi_choose_row(ctx, way->ladder, a->call, a->type, a, &unused);
        if (ctx->kind == WI_CUDA && status == WEFT_OK)
            status = way->prepare(ctx, a);
        const size_t bytes = ctx->kind == WI_CPU ? way->bytes(ctx, a) : 0;
        most = bytes > most ? bytes : most;
    }
    return status == WEFT_OK && most > 0 ? wi_group_take(ctx, args[0].call, most, room) : status;
}
