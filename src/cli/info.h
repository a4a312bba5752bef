/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of `weft info`. */
#ifndef WI_INFO_H
#define WI_INFO_H

#include "cli/commands.h"

/* Built with -DWEFT_DEMO=ON: what `weft demo` does not show is slow. */
extern const bool wi_is_demo_build;

void wi_info_heading(const char *title, const char *rest);
void wi_info_field(const char *name, const char *value);

/* `weft info --limits`: the limits of every GPU, and how much of them each rung's kernels use. */
wi_exit wi_info_limits(const wi_arguments *args);

#endif
