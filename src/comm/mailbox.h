/* SPDX-License-Identifier: Apache-2.0 */
/* One step between the GPUs of a process by a kernel on each of them: it writes what this rank
 * sends into the mailboxes of the others, and makes its result of what they have written into its
 * own. comm_mailbox.c decides which steps go so, mailbox_cuda.cu has the kernel. */
#ifndef WI_MAILBOX_H
#define WI_MAILBOX_H

#include "core/gpu.h"
#include "weft/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A mailbox begins with words by which others tell that they take part, one for each block of each
 * rank; then come the slots, one of each generation for each such rank, of vectors with marks
 * (cuda/marked.cuh). */
enum {
#ifdef WEFT_EMU
    WI_MAIL_SLOT = 1 << 13, /* so that tests are short */
    WI_MAIL_THREADS = 64,
#    define WI_MAIL_MARKS 16 /* so that they come again */
#else
    WI_MAIL_SLOT = 1 << 18, /* bytes that a rank can send to another in a step */
    WI_MAIL_THREADS = 512,
#    define WI_MAIL_MARKS ((uint64_t)1 << 32)
#endif
    WI_MAIL_VECTOR = 16, /* bytes that a thread writes at once */
    WI_MAIL_BLOCKS = 16, /* of a kernel, at most: all are resident */
    WI_MAIL_GENERATIONS = 2,
    WI_MAIL_TOLD = WI_MOST_GPUS * WI_MAIL_BLOCKS * 8, /* bytes */
    WI_MAIL_KEEP = -1
};

/* Elements at ... at + n - 1 of an array. */
typedef struct wi_mail_part {
    size_t at, n;
} wi_mail_part;

/* What a rank's kernel does. What rank r sends to rank k has as many elements as k gets from r. */
typedef struct wi_mail {
    uint64_t step; /* larger than of all steps before; no multiple of WI_MAIL_MARKS */
    int own, ranks;
    int op; /* combines the `got`, whose `at` is 0 and whose n are equal, into `to`; WI_MAIL_KEEP:
               each goes to its own place in `to` */
    const void *from;
    void *to;
    void *box[WI_MOST_GPUS];         /* the mailboxes of all ranks */
    wi_mail_part sent[WI_MOST_GPUS]; /* of `from`, to each rank; to itself, too */
    wi_mail_part got[WI_MOST_GPUS];  /* from each rank */
    /* In pinned memory: */
    const uint64_t *abandoned; /* the host's: steps up to this one are given up */
    uint64_t *done;            /* of each block: the latest step whose result is there */
} wi_mail;

/* Bytes of a mailbox. */
static inline size_t wi_mail_bytes(int ranks) {
    return WI_MAIL_TOLD + 2 * (size_t)WI_MAIL_GENERATIONS * (size_t)ranks * WI_MAIL_SLOT;
}

/* Queues the kernel, by the rank's graph; the same number of blocks on all ranks. The type is one
 * of 1, 2, 4 or 8 bytes and, unless the op is WI_MAIL_KEEP, such that wi_comm_reduces(type, op). */
weft_status wi_mail_launch(weft_context *ctx, wi_launch_graph *graph, weft_type type,
                           unsigned blocks, const wi_mail *m);

#ifdef __cplusplus
}
#endif
#endif
