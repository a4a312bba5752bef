/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of `weft map`: whole files, and columns of tables that the formula names. */
#ifndef WI_CLI_MAP_INPUTS_H
#define WI_CLI_MAP_INPUTS_H

#include "cli/columns.h"
#include "weft/expr.h"

enum {
    WI_LABEL_BYTES = 128
};

typedef struct wi_map_inputs {
    size_t count;
    wi_npy array[WEFT_EXPR_MAX_INPUTS];
    wi_table_text name[WEFT_EXPR_MAX_INPUTS];         /* in the formula */
    char label[WEFT_EXPR_MAX_INPUTS][WI_LABEL_BYTES]; /* for messages */
} wi_map_inputs;

/* Reads what the formula, the first operand, is about: of the tables of text among the files those
 * columns that it names, each with a type of its own; and all other files, which it calls a, b, c
 * and so on. Over ranks each reads its part. On failure an error has been printed. */
wi_exit wi_map_load(const wi_arguments *args, weft_context *ctx, wi_map_inputs *in);
void wi_map_free(wi_map_inputs *in);

#endif
