/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas as people write them, made into programs of weft_expr. */
#ifndef WI_FORMULA_H
#define WI_FORMULA_H

#include "cli/text.h"
#include "weft/expr.h"

typedef struct wi_formula {
    weft_expr_step step[WEFT_EXPR_MAX_STEPS];
    size_t steps;
    weft_type type; /* of the result */
} wi_formula;

/* Parses `text` over inputs named a, b, c, ... of these types. If `type` is not NULL the result is
 * converted to it. False if the text is no formula: `why` says so. */
bool wi_formula_parse(const char *text, const weft_type *inputs, size_t count,
                      const weft_type *type, wi_formula *formula, char why[WI_REASON_BYTES]);

#endif
