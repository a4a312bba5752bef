/* SPDX-License-Identifier: Apache-2.0 */
/* The way `mailbox`: it takes over small steps between the GPUs of one process whose arrays lie in
 * device memory, if these reach each other's memory. Nobody waits for other ranks to choose it. */
#ifndef WI_COMM_MAILBOX_H
#define WI_COMM_MAILBOX_H

#include "comm/comm_layers.h"

/* What the ranks share. */
typedef struct wi_mailboxes wi_mailboxes;

/* For that many ranks; nothing is taken of the GPUs before a step needs it. NULL: no memory, or
 * WEFT_MAILBOX is "off". */
wi_mailboxes *wi_mailboxes_open(int ranks);
/* No rank is in a step. Before the ranks' GPUs are closed. */
void wi_mailboxes_close(wi_mailboxes *all);
/* Forgets what a failure of the call before has left; no rank is in a call. */
void wi_mailboxes_clear(wi_mailboxes *all);

/* For the steps of this rank; all ranks open it. `all` may be NULL: then it does nothing. */
void wi_comm_mailbox_open(weft_context *rank, wi_mailboxes *all);

/* Sets whether steps go by mailboxes where they can; returns the setting before. All ranks set the
 * same between the same steps. At first they do only if WEFT_MAILBOX is "on". */
bool wi_comm_mailbox_use(weft_context *rank, bool use);

/* Runs a step if the mailboxes take it, which is the same on all ranks: *taken. */
weft_status wi_comm_mailbox_run(weft_context *ctx, const wi_comm_step *s, bool *taken);

/* The rank ends its part of a call with a failure: no kernel waits for its steps any more. */
void wi_comm_mailbox_leave(weft_context *rank);

/* One line: whether small steps go by mailboxes, and if not, why. "" if none has been tried. */
const char *wi_comm_mailbox_about(const weft_context *rank);

#endif
