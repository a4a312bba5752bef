/* SPDX-License-Identifier: Apache-2.0 */
/* The options that several subcommands take. */
#ifndef WI_OPTIONS_H
#define WI_OPTIONS_H

#include "cli/commands.h"
#include "core/rows.h"

extern const wi_option wi_place_option, wi_variant_option, wi_type_option, wi_read_type_option,
    wi_n_option, wi_seed_option, wi_json_option, wi_help_option, wi_output_option,
    wi_indices_option, wi_trace_option, wi_columns_option, wi_types_option;

/* The names of the types. */
void wi_list_types(const wi_command *command, wi_words *words);

/* The rungs of the ladder named `op`, on any kind of place; or only those on `kind`. */
void wi_list_rungs(const char *op, wi_words *words);
void wi_list_rungs_of(const char *op, wi_kind kind, wi_words *words);

#endif
