/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes backend `mpi`. What MPI has once a process (it is initialised once, and
 * finalised once) is state of the library outside of contexts, as are only open timelines. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm_mpi.h"
#include "comm/dist.h"

#ifdef OPEN_MPI
#    include <mpi-ext.h>
#endif

enum {
    PIECE = 1 << 28
};

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static atomic_int open_contexts;
static atomic_bool spoiled;

void wi_mpi_spoil(void) {
    atomic_store(&spoiled, true);
}

/* At the end of a process in which the library has initialised MPI. MPI_Finalize waits for all
 * ranks, so it is only called if this rank has left none waiting and none has died; without it,
 * mpirun knows that the rank has failed. */
static void finalise(void) {
    int over = 0;
    MPI_Finalized(&over);
    if (!over && !atomic_load(&spoiled) && atomic_load(&open_contexts) == 0)
        MPI_Finalize();
}

static weft_status start(weft_context *ctx) {
    int begun = 0, over = 0, threads, error = MPI_SUCCESS;
    pthread_mutex_lock(&starting);
    MPI_Finalized(&over);
    MPI_Initialized(&begun);
    if (!begun && !over) {
        error = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &threads);
        if (error == MPI_SUCCESS)
            atexit(finalise);
    }
    pthread_mutex_unlock(&starting);
    if (over)
        return wi_fail(ctx, WEFT_ECOMM,
                       "weft_open: MPI has been finalised in this process; open the place before");
    return error == MPI_SUCCESS ? WEFT_OK
                                : wi_fail(ctx, WEFT_ECOMM, "weft_open: MPI does not start");
}

static wi_mpi *take_state(int size) {
    const size_t n = (size_t)size;
    wi_mpi *const m = wi_host_alloc(
        sizeof *m + n * (sizeof *m->sent + 2 * sizeof *m->requests + 2 * sizeof *m->counts));
    if (!m)
        return NULL;
    *m = (wi_mpi){.note = -1};
    m->sent = (size_t *)(void *)(m + 1);
    m->requests = (MPI_Request *)(void *)(m->sent + n);
    m->counts = (int *)(void *)(m->requests + 2 * n);
    m->offsets = m->counts + n;
    return m;
}

/* Which of the ranks run on this machine: fills host_rank, host_size and the watch. */
static bool meet(weft_context *ctx, wi_mpi *m, MPI_Comm all) {
    wi_comm *const comm = ctx->comm;
    const wi_peer self = wi_peer_self();
    wi_peer *const peers = wi_host_alloc((size_t)comm->size * sizeof *peers);
    int well = m && peers, all_well = 0;
    MPI_Allreduce(&well, &all_well, 1, MPI_INT, MPI_MIN, all);
    if (all_well) {
        MPI_Allgather(&self, 2, MPI_UINT64_T, peers, 2, MPI_UINT64_T, all);
        for (int r = 0; r < comm->size; r++) {
            const bool here = peers[r].machine == self.machine;
            comm->host_rank += here && r < comm->rank;
            comm->host_size += here;
        }
        m->peers = wi_peers_open(peers, comm->size);
        well = m->peers != NULL;
        MPI_Allreduce(&well, &all_well, 1, MPI_INT, MPI_MIN, all);
    }
    wi_host_free(peers);
    return all_well;
}

/* The library's name and version: the beginning of what MPI says of itself. */
static void name_library(char *about, size_t room) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(version, &length);
    snprintf(about, room, "%.*s", (int)strcspn(version, ",\n"), version);
}

/* Does MPI take memory of GPUs in messages? WEFT_MPI_GPU answers, or else MPI itself. */
static weft_status ask_device(weft_context *ctx) {
    static const char direct[] = "direct", staged[] = "staged";
    const char *const wish = getenv("WEFT_MPI_GPU");
    ctx->comm->takes_device = false;
    if (wish && *wish) {
        ctx->comm->takes_device = strcmp(wish, direct) == 0;
        if (!ctx->comm->takes_device && strcmp(wish, staged) != 0)
            return wi_fail(ctx, WEFT_EARG,
                           "weft_open: WEFT_MPI_GPU is \"%.64s\"; set it to %s or %s, or unset it",
                           wish, direct, staged);
        return WEFT_OK;
    }
#ifdef MPIX_CUDA_AWARE_SUPPORT
    ctx->comm->takes_device = MPIX_Query_cuda_support() == 1;
#endif
    return WEFT_OK;
}

static weft_status join(weft_context *ctx, MPI_Comm given) {
    wi_comm *const comm = ctx->comm;
    MPI_Comm all, notes;
    if (MPI_Comm_dup(given, &all) != MPI_SUCCESS || MPI_Comm_dup(given, &notes) != MPI_SUCCESS)
        return wi_fail(ctx, WEFT_ECOMM, "weft_open: MPI does not copy the communicator");
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(notes, MPI_ERRORS_RETURN);
    wi_mpi *const m = take_state(comm->size);
    if (!meet(ctx, m, all)) {
        if (m)
            wi_peers_close(m->peers);
        wi_host_free(m);
        MPI_Comm_free(&all);
        MPI_Comm_free(&notes);
        return wi_fail(ctx, WEFT_ENOMEM, "weft_open: a rank has no memory for a context");
    }
    m->all = all;
    m->notes = notes;
    comm->state = m;
    comm->calls = &wi_comm_mpi;
    comm->piece = PIECE;
    atomic_fetch_add(&open_contexts, 1);
    return WEFT_OK;
}

weft_status wi_comm_mpi_open(weft_context *ctx, const void *handed) {
    wi_comm *const comm = ctx->comm;
    const weft_status status = start(ctx);
    if (status != WEFT_OK)
        return status;
    const MPI_Comm given = handed ? *(const MPI_Comm *)handed : MPI_COMM_WORLD;
    if (given == MPI_COMM_NULL)
        return wi_fail(ctx, WEFT_EARG,
                       "weft_open_mpi: comm is MPI_COMM_NULL; pass a communicator of this rank");
    if (MPI_Comm_rank(given, &comm->rank) != MPI_SUCCESS ||
        MPI_Comm_size(given, &comm->size) != MPI_SUCCESS)
        return wi_fail(ctx, WEFT_ECOMM, "weft_open_mpi: MPI refuses the communicator");
    if (comm->size == 1) {
        wi_comm_self_open(ctx);
        return WEFT_OK;
    }
    name_library(comm->about, sizeof comm->about);
    const weft_status joined = join(ctx, given);
    return joined == WEFT_OK ? wi_agree(ctx, 0, ask_device(ctx)) : joined;
}

weft_status wi_comm_mpi_split(weft_context *ctx, weft_context *part, int colour) {
    wi_comm *const comm = part->comm;
    const wi_mpi *const whole = wi_mpi_of(ctx);
    MPI_Comm some;
    if (MPI_Comm_split(whole->all, colour, ctx->comm->rank, &some) != MPI_SUCCESS ||
        MPI_Comm_rank(some, &comm->rank) != MPI_SUCCESS ||
        MPI_Comm_size(some, &comm->size) != MPI_SUCCESS)
        return wi_comm_break(ctx, "MPI does not split the communicator");
    MPI_Comm_set_errhandler(some, MPI_ERRORS_RETURN);
    wi_mpi *const m = take_state(comm->size);
    if (!m) {
        MPI_Comm_free(&some);
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no host memory for a communicator", ctx->comm->call);
    }
    m->all = some;
    m->whole = ctx;
    comm->state = m;
    comm->calls = &wi_comm_mpi;
    comm->piece = PIECE;
    return WEFT_OK;
}

static void close_part(weft_context *part) {
    wi_mpi *const m = wi_mpi_of(part);
    int over = 0;
    if (part->comm->broken || m->whole->comm->broken)
        return; /* MPI may still refer to its state */
    MPI_Finalized(&over);
    if (!over)
        MPI_Comm_free(&m->all);
    wi_host_free(m);
}

void wi_comm_mpi_close(weft_context *ctx) {
    wi_mpi *const m = wi_mpi_of(ctx);
    int over = 0;
    if (m->whole) {
        close_part(ctx);
        return;
    }
    atomic_fetch_sub(&open_contexts, 1);
    wi_peers_close(m->peers);
    if (ctx->comm->broken)
        return; /* MPI may still refer to its state */
    MPI_Finalized(&over);
    if (!over) {
        MPI_Comm_free(&m->all);
        MPI_Comm_free(&m->notes);
    }
    wi_host_free(m);
}
