/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas over x and y of a climb's problem. */
#ifndef WI_EXPR_CLIMB_H
#define WI_EXPR_CLIMB_H

#include "climb/data.h"
#include "expr/expr.h"

/* Compiles one for the serial rungs, which read x and y in host memory. */
static inline weft_status wi_expr_compile_xy(const wi_data *data, const char *call,
                                             const weft_expr_step *step, size_t steps,
                                             weft_type type, wi_expr_program *program,
                                             wi_expr_args *args) {
    const wi_setup *const setup = &data->setup;
    const weft_expr_input inputs[] = {{setup->type, data->host_x}, {setup->type, data->host_y}};
    *args = (wi_expr_args){
        .program = program, .n = setup->n, .x = {data->host_x, data->host_y}, .z = data->host_z};
    return wi_expr_compile(setup->ctx, call, step, steps, inputs, 2, type, program);
}

#endif
