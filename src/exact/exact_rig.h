/* SPDX-License-Identifier: Apache-2.0 */
/* One call of exact on any rung and place, held against the oracle. */
#ifndef WEFT_EXACT_RIG_H
#define WEFT_EXACT_RIG_H

#include <stdio.h>

#include "exact/exact_data.h"
#include "exact/exact_oracle.h"

enum {
    DEVICE_X = 1,
    DEVICE_Y = 2,
    DEVICE_RESULT = 4
};

static const char *const exact_names[WI_EXACT_TERMS] = {"sum", "nrm1", "nrm2", "dot"};

static inline const char *exact_describe(const rig *r, const exact_case *c) {
    static char text[256];
    snprintf(text, sizeof text,
             "exact %s of %s as %s on %s, variant %s, n %zu, offsets %zu %zu, device %#x, "
             "pattern %d",
             exact_names[c->terms], test_type_name(c->type), test_type_name(c->result_type),
             weft_place(r->ctx), c->row ? c->row->name : "auto", c->n, c->offset_x, c->offset_y,
             c->device, c->pattern);
    return text;
}

static inline void exact_expect(const rig *r, const exact_case *c, oracle *o) {
    oracle_clear(o);
    for (size_t i = 0; i < c->n; i++) {
        if (c->terms == WI_EXACT_SUM)
            oracle_add(o, r->x[i]);
        else if (c->terms == WI_EXACT_NRM1)
            oracle_add(o, fabs(r->x[i]));
        else
            oracle_add_product(o, r->x[i], c->terms == WI_EXACT_DOT ? r->y[i] : r->x[i]);
    }
}

static inline weft_status exact_call(const rig *r, const exact_case *c, const void *x,
                                     const void *y, void *result) {
    static const weft_op ops[] = {WEFT_SUM, WEFT_NRM1, WEFT_NRM2};
    test_use(r->ctx, "exact", c->row);
    return c->terms == WI_EXACT_DOT
               ? weft_exact_dot(r->ctx, c->type, c->n, x, y, c->result_type, result)
               : weft_exact_reduce(r->ctx, ops[c->terms], c->type, c->n, x, c->result_type, result);
}

static inline test_buffer *exact_choose(const rig *r, const exact_case *c, unsigned which,
                                        test_buffer *host, test_buffer *device) {
    return r->ctx->kind == WI_CUDA && c->device & which ? device : host;
}

static inline void exact_check(const rig *r, const exact_case *c, test_value got) {
    oracle o;
    exact_expect(r, c, &o);
    if (c->terms == WI_EXACT_SQUARES) {
        if (!oracle_is_root(&o, c->result_type, got.f))
            fail_msg("%s: %s is not the root of %s", exact_describe(r, c),
                     test_text(c->result_type, got),
                     test_text(WEFT_F64, (test_value){.f = oracle_round(&o, WEFT_F64)}));
        return;
    }
    const test_value right = {.f = oracle_round(&o, c->result_type)};
    if (!test_same(c->result_type, right, got))
        fail_msg("%s: %s, not %s", exact_describe(r, c), test_text(c->result_type, got),
                 test_text(c->result_type, right));
}

/* Not all types, and windows no products. */
static inline bool exact_may_refuse(const exact_case *c) {
    const bool products = c->terms == WI_EXACT_SQUARES || c->terms == WI_EXACT_DOT;
    return c->row && (!(c->row->types & WI_TYPE(c->type)) ||
                      (products && strcmp(c->row->name, "windows") == 0));
}

/* With the data that the rig has. */
static inline void exact_run_drawn(rig *r, const exact_case *c) {
    const size_t size = test_size_of(c->type), bytes = c->n * size;
    test_buffer *const x = exact_choose(r, c, DEVICE_X, &r->host_x, &r->device_x);
    test_buffer *const y = exact_choose(r, c, DEVICE_Y, &r->host_y, &r->device_y);
    test_buffer *const result =
        exact_choose(r, c, DEVICE_RESULT, &r->host_result, &r->device_result);
    test_buffer_load(x, r->source_x, bytes, c->offset_x * size);
    if (c->terms == WI_EXACT_DOT)
        test_buffer_load(y, r->source_y, bytes, c->offset_y * size);
    test_buffer_poison(result, test_size_of(c->result_type), test_size_of(c->result_type));
    const weft_status status = exact_call(r, c, x->p, y->p, result->p);
    const void *const seen = test_buffer_read(result, exact_describe(r, c));
    if (status == WEFT_EUNSUPPORTED && exact_may_refuse(c))
        return;
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", exact_describe(r, c), weft_status_name(status),
                 weft_message(r->ctx));
    if (c->n > 0)
        test_used(r->ctx, "exact", c->row, exact_describe(r, c));
    exact_check(r, c, test_load(c->result_type, seen, 0));
}

static inline void exact_run_case(rig *r, const exact_case *c) {
    draw(&r->random, c, r->x, r->source_x);
    if (c->terms == WI_EXACT_DOT)
        draw(&r->random, c, r->y, r->source_y);
    exact_run_drawn(r, c);
}

#endif
