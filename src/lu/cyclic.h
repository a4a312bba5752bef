/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices whose columns are dealt out to the ranks in turn, a block at a time, so that all have
 * work to the end of an elimination. A call passes them otherwise: each rank the next columns of
 * the whole, or, on a place of several GPUs, one matrix that all reach. */
#ifndef WI_CYCLIC_H
#define WI_CYCLIC_H

#include "comm/dist.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A matrix as a call passes it. */
typedef struct wi_given {
    weft_type type;
    bool by_rows;
    bool shared; /* all ranks pass the same matrix, the whole one */
    bool square; /* m is not known: it is the number of all columns */
    size_t m, n; /* what is at a: of the whole matrix all rows, and n columns */
    void *a;
    size_t lda;
} wi_given;

typedef struct wi_cyclic {
    weft_context *ctx;
    wi_given given;
    size_t all;    /* columns of the whole matrix */
    size_t before; /* that the ranks before this one pass */
    size_t block;  /* columns dealt out together */
    bool lower;    /* of a matrix that is shared only rows from each block's first on are moved */
    size_t own;    /* columns dealt to this rank */
    char *a;       /* these, in memory of the rank's own place, in the order of the whole */
    size_t ld;
    /* Room for the exchange, unless the matrix is shared. */
    char *passed;   /* the columns that this rank passes, in the order of the ranks they go to */
    char *dealt;    /* the columns dealt to it, where the communicator can reach them */
    char *piece;    /* a block, if `passed` is not in memory of the rank's place */
    size_t *starts; /* where the columns begin that each rank passes, and `all` */
    size_t *outgoing, *incoming; /* elements that go to each rank when they are dealt, and come */
} wi_cyclic;

/* Learns how many columns the ranks pass: fills all but what is dealt out. Collective. */
weft_status wi_cyclic_begin(wi_cyclic *c, weft_context *ctx, const wi_given *given);
/* Columns of a block: as wide as products need, but so that each rank has several blocks. */
size_t wi_cyclic_usual_block(const wi_cyclic *c);
/* Chooses the block, and takes all memory that is needed. May fail on one rank alone. */
weft_status wi_cyclic_take(wi_cyclic *c, size_t block);
/* Deals the columns out; or puts them back to where the call passed them. Collective. */
weft_status wi_cyclic_deal(wi_cyclic *c);
weft_status wi_cyclic_return(wi_cyclic *c);
/* Of a matrix that is shared: deals out columns first ... end - 1, as far as they are this rank's,
 * or puts them back. */
weft_status wi_cyclic_move_some(const wi_cyclic *c, size_t first, size_t end, bool back);
/* Copies n columns from column `first` of what the call passes to `columns`, c->ld elements apart,
 * or back; by way of c->piece, if that is there, where the place does not reach them. */
weft_status wi_cyclic_move(const wi_cyclic *c, size_t first, size_t n, char *columns, bool back);
/* Frees what was taken. */
void wi_cyclic_end(wi_cyclic *c);

/* Columns of the whole before column `end` that are dealt to a rank. */
size_t wi_cyclic_below(const wi_cyclic *c, int rank, size_t end);

/* The rank that block number k is dealt to. */
static inline int wi_cyclic_owner(const wi_cyclic *c, size_t k) {
    return (int)(k % (size_t)c->ctx->comm->size);
}
/* Own columns before block number k of the whole. */
static inline size_t wi_cyclic_own_before(const wi_cyclic *c, size_t k) {
    return wi_cyclic_below(c, c->ctx->comm->rank, k * c->block);
}
/* An element of the columns dealt to this rank. */
static inline char *wi_cyclic_at(const wi_cyclic *c, size_t row, size_t column) {
    return c->a + (row + column * c->ld) * weft_type_size(c->given.type);
}

/* Elements from one column to the next, so that columns begin at multiples of 16 bytes or more. */
static inline size_t wi_cyclic_pitch(size_t rows) {
    return (rows + 31) / 32 * 32;
}

#ifdef __cplusplus
}
#endif
#endif
