/* SPDX-License-Identifier: Apache-2.0 */
/* Communication between the threads of one process, each of which works for one GPU. */
#ifndef WI_COMM_PEER_H
#define WI_COMM_PEER_H

#include "comm/comm.h"

/* Where the ranks meet. */
typedef struct wi_peer_room wi_peer_room;

wi_peer_room *wi_peer_room_open(int size); /* NULL: no memory */
void wi_peer_room_close(wi_peer_room *room);
/* Forgets a failure of the call before; no rank is in a call. */
void wi_peer_room_clear(wi_peer_room *room);

/* The backend `peer` for one of the ranks; fills what of ctx->comm is its. */
void wi_comm_peer_open(weft_context *ctx, wi_peer_room *room, int rank);

/* A rank ends its part of a call with that failure: nobody waits for it any more. */
void wi_comm_peer_leave(weft_context *rank, weft_status status);

#endif
