/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of WI_LIMIT (src/cuda/limit.cuh), which a test on emu may change for a while. */
#ifndef WEFT_LIMITS_H
#define WEFT_LIMITS_H

#include <stddef.h>

#ifdef WEFT_EMU
extern unsigned wi_group;          /* tiles of a group of look-back: 1 ... 32 */
extern size_t wi_portion_keys;     /* that a pass of onesweep takes at once: at least a tile's */
extern size_t wi_large_from;       /* keys that onesweep sorts in large tiles */
extern unsigned wi_top_k_scanners; /* threads that scan the tiles' winners: whole warps */
extern size_t wi_gather_first;     /* the number that gather's first word has */
#endif

#endif
