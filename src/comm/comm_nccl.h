/* SPDX-License-Identifier: Apache-2.0 */
/* The way `nccl`: it takes over steps between the GPUs of ranks whose arrays are large and lie in
 * device memory. */
#ifndef WI_COMM_NCCL_H
#define WI_COMM_NCCL_H

#include "comm/comm_layers.h"

/* For the steps of this rank; all ranks open it. Nothing is loaded before a step needs it; and
 * if NCCL then is not there, steps go as before. Without memory, too. */
void wi_comm_nccl_open(weft_context *rank);

/* Runs a step if NCCL takes it, which is the same on all ranks: *taken. */
weft_status wi_comm_nccl_run(weft_context *ctx, const wi_comm_step *s, bool *taken);

/* Ends the use of NCCL. All ranks call this at once, for NCCL waits for all in a process. */
weft_status wi_comm_nccl_end(weft_context *rank);

/* Frees it, and ends NCCL without waiting if that was not done. No rank is in a step. */
void wi_comm_nccl_close(weft_context *rank);

/* One line: by what large steps go, and why not by NCCL. "" without this backend. */
const char *wi_comm_nccl_about(const weft_context *rank);

#endif
