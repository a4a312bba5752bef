/* SPDX-License-Identifier: Apache-2.0 */
/* The way `staged`: above a backend that takes host memory only, a step may have its arrays in
 * memory of the rank's GPU. They pass through pinned memory in pieces, and while one piece travels
 * the next is copied. Messages between two ranks go without, if the backend says that it takes
 * memory of GPUs for them (wi_comm.takes_device). */
#ifndef WI_COMM_STAGED_H
#define WI_COMM_STAGED_H

#include "comm/comm_layers.h"

/* For ctx, whose child works on a GPU. All ranks open it, or none: then steps are cut alike on all,
 * wherever their arrays are. */
weft_status wi_comm_staged_open(weft_context *ctx);
void wi_comm_staged_close(weft_context *ctx);

weft_status wi_comm_staged_run(weft_context *ctx, const wi_comm_step *s);

#endif
