/* SPDX-License-Identifier: Apache-2.0 */
/* The state of backend `mpi`, for comm_mpi.c and comm_mpi_open.c: no other file knows MPI. */
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
    weft_context *whole; /* of a part of the ranks: the context that it was split off; else NULL */
    MPI_Comm notes;      /* for notes about ranks that have died; another copy */
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

/* This process must not wait for others in MPI any more. */
void wi_mpi_spoil(void);

#endif
