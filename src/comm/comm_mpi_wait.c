/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for MPI, which also looks whether all ranks are still alive, so that a rank that has died
 * does not leave the others waiting. The waiting ranks of its machine see that; they tell the ranks
 * of other machines by a note. */
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "comm/comm_mpi.h"
#include "comm/dist.h"

enum {
    SPINS = 200,          /* tests without a pause */
    YIELDS = 2000,        /* and then so many that only yield the core */
    PAUSE_NS = 50 * 1000, /* later pauses */
    PROBES = 100,         /* until a note that was sent has surely come */
    NOTE_TAG = 1
};

static const double look_s = 0.05; /* between two looks at the other ranks */

/* ---- failures ---- */

/* Tells all ranks that rank `ended` has died. Nobody waits for these notes. */
static void send_notes(const weft_context *ctx, int ended) {
    wi_mpi *const m = wi_mpi_of(ctx);
    m->note = ended;
    for (int r = 0; r < ctx->comm->size; r++) {
        MPI_Request request;
        if (r != ctx->comm->rank && r != ended &&
            MPI_Isend(&m->note, 1, MPI_INT, r, NOTE_TAG, m->notes, &request) == MPI_SUCCESS)
            MPI_Request_free(&request);
    }
}

static weft_status rank_ended(weft_context *ctx, int rank) {
    char why[WI_MESSAGE_BYTES];
    snprintf(why, sizeof why,
             "rank %d of %d has ended without closing its context; close this one, end the "
             "program and see what stopped that rank",
             rank, ctx->comm->size);
    wi_mpi_spoil();
    return wi_comm_break(ctx, why);
}

weft_status wi_mpi_failed(weft_context *ctx, int error) {
    char text[MPI_MAX_ERROR_STRING] = "", why[WI_MESSAGE_BYTES];
    int length = 0;
    MPI_Error_string(error, text, &length);
    snprintf(why, sizeof why, "MPI on rank %d says: %.300s", ctx->comm->rank, text);
    wi_mpi_spoil();
    return wi_comm_break(ctx, why);
}

/* Ranks that learn of a dead rank end as well, so a rank that this one sees dead need not be the
 * one that died first. Each sends a note about the first before it ends: a note is believed rather
 * than what is seen here. */
weft_status wi_mpi_look(weft_context *ctx) {
    const wi_mpi *const m = wi_mpi_of(ctx);
    if (m->whole) {
        const weft_status status = wi_mpi_look(m->whole);
        return status == WEFT_OK ? status : wi_comm_break(ctx, m->whole->comm->why);
    }
    int ended = wi_peers_ended(m->peers), noted = 0;
    for (int turn = 0; turn < (ended < 0 ? 1 : PROBES) && !noted; turn++)
        MPI_Iprobe(MPI_ANY_SOURCE, NOTE_TAG, m->notes, &noted, MPI_STATUS_IGNORE);
    if (noted)
        MPI_Recv(&ended, 1, MPI_INT, MPI_ANY_SOURCE, NOTE_TAG, m->notes, MPI_STATUS_IGNORE);
    if (ended < 0)
        return WEFT_OK;
    send_notes(ctx, ended);
    return rank_ended(ctx, ended);
}

/* ---- waiting ---- */

static void pause_a_little(unsigned turn) {
    if (turn >= YIELDS)
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    else if (turn >= SPINS)
        sched_yield();
}

weft_status wi_mpi_wait(weft_context *ctx, MPI_Request *requests, int count) {
    double looked = wi_now();
    for (unsigned turn = 0;; turn++) {
        int done = 0;
        const int error = MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE);
        if (error != MPI_SUCCESS)
            return wi_mpi_failed(ctx, error);
        if (done)
            return WEFT_OK;
        pause_a_little(turn);
        if (turn < YIELDS || wi_now() - looked < look_s)
            continue;
        looked = wi_now();
        const weft_status status = wi_mpi_look(ctx);
        if (status != WEFT_OK)
            return status;
    }
}

weft_status wi_mpi_finish(weft_context *ctx, int error, MPI_Request request) {
    return error == MPI_SUCCESS ? wi_mpi_wait(ctx, &request, 1) : wi_mpi_failed(ctx, error);
}

weft_status wi_mpi_begin(weft_context *ctx) {
    int over = 0;
    MPI_Finalized(&over);
    if (over && !ctx->comm->broken)
        return wi_comm_break(ctx, "MPI has been finalised; close the context before that");
    return wi_comm_check(ctx);
}
