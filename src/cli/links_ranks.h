/* SPDX-License-Identifier: Apache-2.0 */
/* `weft links` over several GPUs or ranks. */
#ifndef WI_LINKS_RANKS_H
#define WI_LINKS_RANKS_H

#include "cli/commands.h"

extern const wi_option wi_links_bytes_option, wi_links_plot_option;

/* Measures messages and collectives of the place of --place, up to `bytes` bytes. */
wi_exit wi_links_over_ranks(const wi_arguments *args, size_t bytes);

#endif
