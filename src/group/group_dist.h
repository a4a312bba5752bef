/* SPDX-License-Identifier: Apache-2.0 */
/* Segments and runs over ranks: each rank works on those that lie in its part of the elements, and
 * what crosses from rank to rank is joined. */
#ifndef WI_GROUP_DIST_H
#define WI_GROUP_DIST_H

#include "comm/dist.h"
#include "group/group.h"

/* The elements of this rank's part at whose ends a segment is cut. */
typedef struct wi_group_ends {
    size_t n, head; /* the first `head` belong to a segment that begins on a rank before */
    size_t tail;    /* those from `tail` on to one that begins here and goes on behind; n: none */
    bool through;   /* the first segment is all of the part, and goes on behind */
} wi_group_ends;

/* What all know of the ends of a rank's part, for one column: words, and after these the pieces at
 * both ends. */
enum {
    WI_GROUP_FLAGS, /* WI_GROUP_HAS ... */
    WI_GROUP_TAIL,  /* where the tail begins */
    WI_GROUP_BORDER
};

enum {
    WI_GROUP_HAS = 1, /* elements */
    WI_GROUP_THROUGH = 2
};

/* The ends of all ranks, and room to join them. */
typedef struct wi_group_joining {
    const wi_group_pieces *pieces;
    uint64_t *own, *all, *parts;
} wi_group_joining;

/* Words of a border. */
static inline size_t wi_group_border_words(const wi_group_joining *j) {
    return WI_GROUP_BORDER + 2 * j->pieces->words;
}
/* The border of a rank. */
static inline const uint64_t *wi_group_border_of(const wi_group_joining *j, int rank) {
    return j->all + (size_t)rank * wi_group_border_words(j);
}

weft_status wi_group_joining_open(weft_context *ctx, const wi_group_pieces *pieces,
                                  wi_group_joining *j);
void wi_group_joining_close(wi_group_joining *j);

/* Reduces both ends of this rank's part of x, and gives those of all ranks to each. */
weft_status wi_group_share_ends(weft_context *ctx, const char *name, const wi_group_args *column,
                                const wi_group_ends *ends, wi_group_joining *j);

/* *result = the segment reduced that begins in the tail of rank `first`; a position is counted from
 * its beginning. */
void wi_group_join(weft_context *ctx, const wi_group_args *column, const wi_group_joining *j,
                   int first, uint64_t *result);

/* Where runs of equal keys are cut. All ranks make this step; their parts may be empty. */
weft_status wi_group_key_ends(weft_context *ctx, const void *keys, size_t width, size_t n,
                              wi_group_ends *ends);

/* Segments while the ranks work on them: every rank has its own, and gets those of its elements. */
typedef struct wi_group_dealt {
    uint64_t *begins;       /* where the part of each rank begins in the whole; then its length */
    uint64_t before, total; /* elements on lower ranks, and on all */
    size_t *sent, *got;     /* segments that go to each rank, and come from there */
    size_t *first;          /* of this rank's segments: the first that goes there */
    size_t *cut;            /* 1 if that begins before the rank's elements */
    size_t count;           /* of segments that came */
    uint64_t *starts;       /* where each begins in this rank's part; then its length */
    void *sent_offsets, *got_offsets;
    wi_group_ends ends;
} wi_group_dealt;

/* Gives all ranks the segments that lie in their parts, empty ones too, if any rank has elements.
 * Close `d` in any case. */
weft_status wi_group_deal(weft_context *ctx, const wi_group_args *segments, weft_type offset_type,
                          wi_group_dealt *d);
void wi_group_deal_close(wi_group_dealt *d);

#endif
