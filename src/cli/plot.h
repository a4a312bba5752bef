/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of an analysis. */
#ifndef WI_CLI_PLOT_H
#define WI_CLI_PLOT_H

#include <stdio.h>

#include "sparse/chol.h"

/* Writes an SVG of three panels: the pattern of A as given, the pattern of L over that of A in the
 * plan's order, and the tree of supernodes. `name` is written above them, and explanations below.
 * Large matrices are drawn as cells. False if there is no memory or the file cannot be written;
 * errno says why. */
bool wi_plot_analysis(FILE *file, const char *name, const weft_sparse *matrix,
                      const weft_chol *plan);

#endif
