/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank factors which supernode. Internal. */
#ifndef WI_SPARSE_OWNERS_H
#define WI_SPARSE_OWNERS_H

#include "sparse/symbolic.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every supernode has one owner: whole subtrees of about equal work, and the supernodes above them,
 * which are dealt out so that the ranks have about as many numbers of L each. */
typedef struct wi_owners {
    int rank, ranks; /* this one, and how many there are */
    size_t *columns; /* of L, for each rank; this pointer owns the memory */
    int32_t *owner;  /* of each supernode */
    uint8_t *shared; /* is its subtree not all of one rank? */
    int64_t supernodes;
} wi_owners;

/* The same on all ranks. */
weft_status wi_owners_make(weft_context *ctx, const char *call, const wi_symbolic *symbolic,
                           int rank, int ranks, wi_owners *owners);
void wi_owners_free(wi_owners *owners);
size_t wi_owners_bytes(const wi_owners *owners);

/* Is s this rank's? Without owners, everything is. */
static inline bool wi_owns(const wi_owners *owners, int64_t s) {
    return !owners || owners->owner[s] == owners->rank;
}

/* Does s get the updates of a child from another rank, or send one of its own there? */
bool wi_owners_join(const wi_owners *owners, const wi_symbolic *symbolic, int64_t s);

#ifdef __cplusplus
}
#endif
#endif
