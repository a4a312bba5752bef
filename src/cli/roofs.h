/* SPDX-License-Identifier: Apache-2.0 */
/* `weft climb roof`: what this machine can do. */
#ifndef WI_CLI_ROOFS_H
#define WI_CLI_ROOFS_H

#include "cli/commands.h"
#include "climb/meter.h"

/* The operand of climb that stands for the roofs. */
#define WI_ROOF_WORD "roof"

/* Measures all roofs that the place has, and prints each as soon as it is known. */
wi_exit wi_show_roofs(const wi_arguments *args, const wi_meter *meter);

#endif
