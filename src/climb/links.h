/* SPDX-License-Identifier: Apache-2.0 */
/* What the links of a machine carry: between GPUs, between GPUs and host memory, and within host
 * memory. */
#ifndef WI_LINKS_H
#define WI_LINKS_H

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An end of a link: a GPU's number, or one of these kinds of host memory. */
enum {
    WI_END_PINNED = -1,
    WI_END_PAGEABLE = -2
};

typedef struct wi_link {
    bool direct;        /* between GPUs: the one that copies reaches the other's memory itself */
    double one_way;     /* bytes per second */
    double both_ways;   /* both directions at once, added up; 0: not measured (pageable memory) */
    double latency;     /* seconds of a copy of 4 bytes, until the host knows that it is done */
    const char *broken; /* what was copied wrong; NULL: nothing */
} wi_link;

/* Measures the link from one end to the other with copies of `bytes` bytes. At least one end is a
 * GPU. With `staged`, GPUs do not copy directly. */
weft_status wi_link_measure(weft_context *ctx, int from, int to, size_t bytes, bool staged,
                            wi_link *link);

/* Copies within host memory, by one thread. */
weft_status wi_link_of_host(size_t bytes, wi_link *link);

#ifdef __cplusplus
}
#endif
#endif
