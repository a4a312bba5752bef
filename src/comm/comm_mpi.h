/* SPDX-License-Identifier: Apache-2.0 */
/* The state of backend `mpi`, and what the files comm_mpi*.c share: no others know MPI. */
#ifndef WI_COMM_MPI_H
#define WI_COMM_MPI_H

#include <mpi.h>

#include "comm/comm.h"
#include "comm/peers.h"

enum {
    WI_MPI_BEHIND = 16
};

typedef struct wi_mpi {
    MPI_Comm all;        /* for the steps; a copy of the caller's communicator */
    MPI_Comm notes;      /* for notes about ranks that have died; another copy */
    weft_context *whole; /* of a part of the ranks: the context that it was split off; else NULL */
    wi_peers *peers;
    int note; /* the rank that has died, while notes about it are under way */
    /* Room for the arguments of a step: 2 requests for each rank, and a number of each. */
    MPI_Request *requests;
    int *counts, *offsets;
    size_t *sent;
    MPI_Request behind[WI_MPI_BEHIND]; /* pieces of the broadcast in the background */
    MPI_Request *under_way;            /* those, or `requests` of an exchange */
    int under_way_count;
} wi_mpi;

extern const wi_comm_table wi_comm_mpi;

weft_status wi_comm_mpi_split(weft_context *ctx, weft_context *part, int colour);
void wi_comm_mpi_close(weft_context *ctx);

static inline wi_mpi *wi_mpi_of(const weft_context *ctx) {
    return ctx->comm->state;
}

/* This process must not wait for others in MPI any more. */
void wi_mpi_spoil(void);

/* Every step begins with this: fails if MPI is over, or the communicator is broken. */
weft_status wi_mpi_begin(weft_context *ctx);
/* Waits until the requests are done, or a rank has died. */
weft_status wi_mpi_wait(weft_context *ctx, MPI_Request *requests, int count);
/* Ends a step: waits for its request, if MPI has begun it without an error. */
weft_status wi_mpi_finish(weft_context *ctx, int error, MPI_Request request);
/* Breaks the communicator: MPI has returned this error. */
weft_status wi_mpi_failed(weft_context *ctx, int error);
/* Fails if a rank has died. */
weft_status wi_mpi_look(weft_context *ctx);

#endif
