/* SPDX-License-Identifier: Apache-2.0 */
/* Backend `staged`, which stands above one that takes host memory only: with it a step may have its
 * arrays in memory of the rank's GPU. They pass through pinned memory in pieces, and while one
 * piece travels the next is copied. Messages between two ranks may go without, if the backend below
 * says that it takes memory of GPUs for them (wi_comm.takes_device). */
#ifndef WI_COMM_STAGED_H
#define WI_COMM_STAGED_H

#include "comm/comm.h"

/* Puts the backend above the one that ctx has, whose child works on a GPU. All ranks do, or none:
 * then steps are cut alike on all, wherever their arrays are. Without memory it returns
 * WEFT_ENOMEM, and the backend below remains. */
weft_status wi_comm_staged_open(weft_context *ctx);

#endif
