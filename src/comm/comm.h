/* SPDX-License-Identifier: Apache-2.0 */
/* Communication between the ranks of a distributed context: one table of functions, with a backend
 * behind it. `self` is for one rank, `mpi` for the processes of an MPI communicator, `peer` for the
 * GPUs of one process; `staged`, `nccl` and `mailbox` may stand above one (comm_layers.h).
 *
 * All ranks make the same calls in the same order. Memory is host memory; of a backend that says so
 * (`device`) it may also be of the rank's GPU. Counts are elements of
 * `type`; every rank passes the same, except where they have a name of their own. What is not one
 * number is sent as WEFT_U8. Reductions are those of integers with SUM ... XOR, and sums of f32 and
 * f64, whose order the backend chooses: what must have the same bits in every run is gathered and
 * combined in the order of the ranks instead.
 *
 * After a failure, or when a rank has died, the communicator is broken: the call and all later ones
 * return WEFT_ECOMM, and a message says which rank it was. Arrays of the failed call may still be
 * written to as long as the program makes MPI calls. */
#ifndef WI_COMM_H
#define WI_COMM_H

#include "core/core.h"
#include "weft/op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wi_comm wi_comm;

typedef struct wi_comm_table {
    const char *name;
    bool device;
    weft_status (*barrier)(weft_context *ctx);
    weft_status (*broadcast)(weft_context *ctx, void *data, size_t n, weft_type type, int root);
    /* to, of the root alone = the elements of all ranks, combined */
    weft_status (*reduce)(weft_context *ctx, const void *from, void *to, size_t n, weft_type type,
                          weft_op op, int root);
    weft_status (*all_reduce)(weft_context *ctx, const void *from, void *to, size_t n,
                              weft_type type, weft_op op);
    /* to = n elements of each rank, in the order of ranks; or counts[r] elements of rank r */
    weft_status (*all_gather)(weft_context *ctx, const void *from, void *to, size_t n,
                              weft_type type);
    weft_status (*all_gather_v)(weft_context *ctx, const void *from, void *to,
                                const size_t counts[], weft_type type);
    /* from has n elements for each rank; to = the n of this rank, combined over all ranks */
    weft_status (*reduce_scatter)(weft_context *ctx, const void *from, void *to, size_t n,
                                  weft_type type, weft_op op);
    /* from = sent[0] elements for rank 0, then sent[1] for rank 1, ...; to = got[r] elements of
     * each rank r, in the order of ranks */
    weft_status (*all_to_all_v)(weft_context *ctx, const void *from, const size_t sent[], void *to,
                                const size_t got[], weft_type type);
    /* to = the elements of all ranks before this one, combined; rank 0's stays as it is */
    weft_status (*exscan)(weft_context *ctx, const void *from, void *to, size_t n, weft_type type,
                          weft_op op);
    weft_status (*send)(weft_context *ctx, const void *data, size_t n, weft_type type, int to_rank);
    weft_status (*recv)(weft_context *ctx, void *data, size_t n, weft_type type, int from_rank);
    /* A broadcast, or an exchange as all_to_all_v, in the background, of a backend that has it
     * (else all three are NULL): begins one; and `poll` drives it on and says whether it is over,
     * or with `wait` returns when it is. One at a time, and no other step until it is over. */
    weft_status (*begin_broadcast)(weft_context *ctx, void *data, size_t n, weft_type type,
                                   int root);
    weft_status (*begin_exchange)(weft_context *ctx, const void *from, const size_t sent[],
                                  void *to, const size_t got[], weft_type type);
    weft_status (*poll)(weft_context *ctx, bool wait, bool *over);
    /* While a rank waits for others by other means: have they failed? And if this one has, which
     * `status` tells and the call returns, they learn it as far as the backend can. */
    weft_status (*look)(weft_context *ctx, weft_status status);
    /* Fills part->comm, of this rank and those that pass the same colour, in their order, with a
     * backend for host memory; NULL: it cannot. See wi_comm_grid. */
    weft_status (*split)(weft_context *ctx, weft_context *part, int colour);
    void (*close)(weft_context *ctx); /* frees the backend's state; waits for nobody */
} wi_comm_table;

enum {
    WI_COMM_WORDS = 8,
    WI_COMM_ABOUT_BYTES = 192
};

/* What a distributed context has beside an ordinary one. */
struct wi_comm {
    const wi_comm_table *calls;
    const wi_comm_table *below; /* the backend, where `calls` is `layered`; else NULL */
    wi_comm_table layered;      /* comm_layers.h */
    int rank, size;
    int host_rank, host_size;  /* among the ranks of this machine */
    size_t piece;              /* elements in one message, at most; the same on all ranks */
    void *state;               /* the backend's own */
    struct wi_nccl *nccl;      /* comm_nccl.c; or NULL */
    struct wi_staged *staged;  /* comm_staged.c; or NULL */
    struct wi_mailboxes *mail; /* comm_mailbox_open.h; or NULL */
    bool by_mail;              /* small steps go by them */
    bool takes_device; /* in messages and all_to_all_v, of any backend: memory of GPUs, too */
    weft_context *grid_row, *grid_column; /* split.c; or NULL */
    size_t grid_rows;
    const char *call;    /* the public call that runs, for messages */
    const char *carried; /* by what the latest step went, if not by the backend itself */
    bool broken;
    bool left;                  /* of `peer`: the other ranks do not wait for this one any more */
    char why[WI_MESSAGE_BYTES]; /* it is broken */
    char about[WI_COMM_ABOUT_BYTES]; /* the backend, for reports */
    uint64_t own_count;              /* see weft_own_count */
    uint64_t *words;                 /* room for WI_COMM_WORDS of each rank */
    size_t *ones;                    /* a 1 for each rank */
};

/* The backend for one rank; fills what of ctx->comm is its. */
void wi_comm_self_open(weft_context *ctx);

/* Contexts to communicate with some of the ranks alone, in host memory: those of the same row, and
 * of the same column, of a grid with so many rows, in which rank r is in row r mod rows. They are
 * kept until the context closes or another grid is asked for, since MPI makes them by a step that
 * does not see that a rank has died. Collective. */
weft_status wi_comm_grid(weft_context *ctx, size_t rows, weft_context **row, weft_context **column);
void wi_comm_grid_close(weft_context *ctx);
bool wi_comm_splits(const weft_context *ctx);
/* Ends a step of such a part: if it failed, ctx's communicator is broken. */
weft_status wi_comm_part(weft_context *ctx, const weft_context *part, weft_status status);

/* The backend over an MPI communicator: `handed` is the address of the caller's MPI_Comm, or NULL
 * for all processes. Initialises MPI if nobody has. Collective. If there is one rank only, opens
 * `self`. */
weft_status wi_comm_mpi_open(weft_context *ctx, const void *handed);

/* Does communication reduce elements of that type so? */
bool wi_comm_reduces(weft_type type, weft_op op);

/* Two integers, SUM ... XOR, in 64 bits: of narrower types only the low bits count, but signed ones
 * are extended. */
uint64_t wi_comm_combine(weft_op op, bool is_signed, uint64_t a, uint64_t b);

/* Makes the communicator broken and returns WEFT_ECOMM; `why` follows the name of the call. */
weft_status wi_comm_break(weft_context *ctx, const char *why);

/* WEFT_OK, or WEFT_ECOMM with the message, if the communicator is broken already. */
weft_status wi_comm_check(weft_context *ctx);

#ifdef __cplusplus
}
#endif
#endif
