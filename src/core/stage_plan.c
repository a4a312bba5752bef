/* SPDX-License-Identifier: Apache-2.0 */
/* How a staged call is cut up. */
#include "core/stage_plan.h"

enum {
    WANTED_SEGMENTS = 8, /* with so many, copying hides most of the threads' and kernels' time */
    FEWEST_SEGMENTS = 4, /* of small calls, where a segment costs more than what it hides */
    SMALL_SEGMENT_BYTES = 4 << 20,
    LEAST_QUARTER_BYTES = 1 << 20, /* of smaller calls all segments are short */
    LEAST_SEGMENT_BYTES = 1 << 18, /* starting a smaller transfer costs as much as doing it */
    ELEMENT_STEP = 4096 /* keeps segments on the device as well aligned as the arrays are */
};

static bool same_array(const wi_operand *a, const wi_operand *b, size_t rows) {
    return a->p == b->p && a->element_bytes == b->element_bytes &&
           (rows == 1 || a->pitch_bytes == b->pitch_bytes);
}

wi_stage_arrays wi_stage_arrays_of(const wi_stage_args *args) {
    wi_stage_arrays arrays = {.rows = args->rows, .cols = args->cols};
    bool gaps = false;
    for (int k = 0; k < args->operands; k++) {
        const wi_operand *const operand = &args->operand[k];
        int array = 0;
        while (array < arrays.count && !same_array(operand, &arrays.array[array], args->rows))
            array++;
        if (array == arrays.count) {
            arrays.array[arrays.count++] = *operand;
            gaps = gaps || operand->pitch_bytes != args->cols * operand->element_bytes;
        } else {
            arrays.array[array].in |= operand->in;
            arrays.array[array].out |= operand->out;
        }
        arrays.of[k] = array;
    }
    if (arrays.rows == 1 || !gaps) {
        arrays.cols *= arrays.rows;
        arrays.rows = 1;
        for (int k = 0; k < arrays.count; k++)
            arrays.array[k].pitch_bytes = arrays.cols * arrays.array[k].element_bytes;
    }
    return arrays;
}

size_t wi_stage_array_span(const wi_stage_arrays *arrays, int k) {
    const wi_operand *const array = &arrays->array[k];
    return (arrays->rows - 1) * array->pitch_bytes + arrays->cols * array->element_bytes;
}

char *wi_stage_array_at(const wi_stage_arrays *arrays, int k, size_t row, size_t col) {
    const wi_operand *const array = &arrays->array[k];
    return (char *)array->p + row * array->pitch_bytes + col * array->element_bytes;
}

static size_t pieces_of(size_t whole, size_t each) {
    return whole / each + (whole % each != 0);
}

wi_plan wi_plan_of(size_t rows, size_t cols, size_t most) {
    wi_plan plan = {.rows = rows, .cols = cols, .rows_each = 1, .cols_each = cols};
    if (cols > most)
        plan.cols_each = most;
    else if (most / cols < rows)
        plan.rows_each = most / cols;
    else
        plan.rows_each = rows;
    plan.count = pieces_of(rows, plan.rows_each) * pieces_of(cols, plan.cols_each);
    return plan;
}

wi_segment wi_plan_segment(const wi_plan *plan, size_t index) {
    const size_t across = pieces_of(plan->cols, plan->cols_each);
    wi_segment s = {.row = index / across * plan->rows_each,
                    .col = index % across * plan->cols_each};
    s.rows = plan->rows - s.row < plan->rows_each ? plan->rows - s.row : plan->rows_each;
    s.cols = plan->cols - s.col < plan->cols_each ? plan->cols - s.col : plan->cols_each;
    return s;
}

size_t wi_plan_most(size_t elements, size_t busiest, size_t segment_bytes) {
    const size_t quarter = elements / FEWEST_SEGMENTS * busiest;
    size_t bytes = elements / WANTED_SEGMENTS * busiest;
    if (bytes < SMALL_SEGMENT_BYTES && quarter >= LEAST_QUARTER_BYTES)
        bytes = quarter < SMALL_SEGMENT_BYTES ? quarter : SMALL_SEGMENT_BYTES;
    if (bytes < LEAST_SEGMENT_BYTES)
        bytes = LEAST_SEGMENT_BYTES;
    if (bytes > segment_bytes)
        bytes = segment_bytes;
    const size_t most = bytes / busiest;
    return most > ELEMENT_STEP ? most / ELEMENT_STEP * ELEMENT_STEP : most;
}
