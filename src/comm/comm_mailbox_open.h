/* SPDX-License-Identifier: Apache-2.0 */
/* What the ranks of a process share for steps by mailboxes: comm_mailbox_open.c allocates and frees
 * it, comm_mailbox.c uses it in steps. */
#ifndef WI_COMM_MAILBOX_OPEN_H
#define WI_COMM_MAILBOX_OPEN_H

#include "comm/comm_mailbox.h"
#include "comm/mailbox.h"

#ifdef WEFT_CUDA
#    include <pthread.h>
#    include <stdatomic.h>

enum {
    WI_MAIL_WHY = 160, /* bytes of the reason why they are not open */
    WI_MAIL_LINE = 8   /* words in a cache line */
};

typedef enum wi_mail_state {
    WI_MAIL_UNTRIED,
    WI_MAIL_OPEN,
    WI_MAIL_NONE
} wi_mail_state;

/* What a rank tells the others, in a cache line of its own. */
typedef struct wi_mail_told {
    /* The latest step; UINT64_MAX: all to come. */
    _Alignas(8 * WI_MAIL_LINE) _Atomic uint64_t declined;
    uint64_t step; /* the rank's own: how many it has counted */
} wi_mail_told;

/* A rank's words in pinned memory, by which its host and its kernel talk. */
typedef struct wi_mail_words {
    uint64_t abandoned;
    uint64_t unused[WI_MAIL_LINE - 1];
    uint64_t done[WI_MAIL_BLOCKS];
} wi_mail_words;

struct wi_mailboxes {
    int ranks;
    bool wished; /* WEFT_MAILBOX=on */
    pthread_mutex_t lock;
    atomic_int state; /* changed once, under the lock */
    char why[WI_MAIL_WHY];
    char about[WI_MAIL_WHY + 64];
    wi_mail_words *words; /* of each rank */
    void *box[WI_MOST_GPUS];
    wi_launch_graph graph[WI_MOST_GPUS];
    wi_mail_told told[WI_MOST_GPUS];
};

/* Are they open? The first rank that asks takes the memory for all; if that fails, they never are.
 */
bool wi_mailboxes_are_open(weft_context *ctx, wi_mailboxes *all);
#endif

#endif
