/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas as people write them, made into programs of weft_expr. */
#ifndef WI_FORMULA_H
#define WI_FORMULA_H

#include "cli/text.h"
#include "io/text_table.h"
#include "weft/expr.h"

typedef struct wi_formula {
    weft_expr_step step[WEFT_EXPR_MAX_STEPS];
    size_t steps;
    weft_type type; /* of the result */
} wi_formula;

/* What a formula calls one of its inputs: a word, a text in double quotes, or $ and a number. */
typedef struct wi_formula_input {
    wi_table_text name; /* as it stands in the formula */
    weft_type type;
} wi_formula_input;

/* How many characters the name at the front of the text takes; 0 if there is none. */
size_t wi_formula_name_length(const char *text);

/* Does a parenthesis come next? Then the word before it is a function's. */
bool wi_formula_is_called(const char *after);

/* Removes the next name of an input from the front of a text, which may be no formula; false if
 * there is none. */
bool wi_formula_next_name(const char **text, wi_table_text *name);

/* Parses `text` over these inputs. If `type` is not NULL the result is converted to it. False if
 * the text is no formula: `why` says so. */
bool wi_formula_parse(const char *text, const wi_formula_input *inputs, size_t count,
                      const weft_type *type, wi_formula *formula, char why[WI_REASON_BYTES]);

#endif
