/* SPDX-License-Identifier: Apache-2.0 */
/* Deals the supernodes of an elimination tree to ranks. The ranks are the line from 0 to their
 * number. The roots share all of it, each in proportion to the work of its subtree, and so do the
 * children of a supernode with its part. A subtree whose part lies within one rank is that rank's
 * (proportional mapping: Pothen and Sun 1993). */
#include "sparse/owners.h"

#include <math.h>
#include <string.h>

/* Parts are no smaller than this share of a rank, and ends of parts that are closer to the end of a
 * rank are moved there: the work of ranks differs by about as much. */
static const double grain = 0.1;

/* Where the part of a subtree begins and ends. */
typedef struct stretch {
    double low, high;
} stretch;

typedef struct dealing {
    const wi_symbolic *symbolic;
    const wi_owners *owners;
    stretch *part;   /* of each subtree */
    double *entries; /* of L that each rank has */
} dealing;

/* The end of a part within that of its parent. */
static double settle(double end, stretch all) {
    const double whole = round(end);
    const double settled = fabs(end - whole) < grain ? whole : end;
    return settled < all.low ? all.low : settled > all.high ? all.high : settled;
}

/* The first and the last rank that a part belongs to. */
static int first_rank(const dealing *d, stretch part) {
    const int rank = (int)part.low;
    return rank < d->owners->ranks ? rank : d->owners->ranks - 1;
}

static int last_rank(const dealing *d, stretch part) {
    const int rank = (int)ceil(part.high) - 1, first = first_rank(d, part);
    return rank < first ? first : rank;
}

static bool is_of_one(const dealing *d, stretch part) {
    return part.high - part.low < grain || first_rank(d, part) == last_rank(d, part);
}

/* The rank that has most of a part within one rank, or of a small one. */
static int rank_of(const dealing *d, stretch part) {
    const double middle = (part.low + part.high) / 2;
    return first_rank(d, (stretch){middle, middle});
}

static double entries_of(const wi_symbolic *symbolic, int64_t s) {
    return (double)wi_block_entries(wi_super_height(symbolic, s), wi_super_columns(symbolic, s));
}

/* Divides a part among the subtrees up to `last`, found by going to those before, that end after
 * supernode `end`. */
static void divide(const dealing *d, stretch all, int64_t last, int64_t end) {
    const wi_symbolic *const symbolic = d->symbolic;
    double work = 0, before = 0;
    for (int64_t c = last; c > end; c -= symbolic->size[c])
        work += symbolic->work[c];
    stretch part = all;
    for (int64_t c = last; c > end; c -= symbolic->size[c]) {
        before += symbolic->work[c];
        const double share = work > 0 ? before / work : 1;
        part.low = settle(all.high - (all.high - all.low) * share, all);
        part.low = part.low < part.high ? part.low : part.high;
        d->part[c] = part;
        part.high = part.low;
    }
}

/* Subtrees of one rank go to it; the supernodes above them have owner -1. */
static void deal_subtrees(const dealing *d) {
    const wi_symbolic *const symbolic = d->symbolic;
    int32_t *const owner = d->owners->owner;
    divide(d, (stretch){0, d->owners->ranks}, symbolic->supernodes - 1, -1);
    for (int64_t s = symbolic->supernodes - 1; s >= 0; s--) {
        const int64_t up = symbolic->super_parent[s];
        if (up >= 0 && owner[up] >= 0)
            owner[s] = owner[up];
        else
            owner[s] = is_of_one(d, d->part[s]) ? rank_of(d, d->part[s]) : -1;
        if (owner[s] >= 0)
            d->entries[owner[s]] += entries_of(symbolic, s);
        else
            divide(d, d->part[s], s - 1, s - symbolic->size[s]);
    }
}

/* Each of the others goes to that rank of its part that has the fewest numbers of L so far. */
static void deal_tops(const dealing *d) {
    for (int64_t s = 0; s < d->symbolic->supernodes; s++) {
        int32_t *const owner = &d->owners->owner[s];
        if (*owner >= 0)
            continue;
        *owner = first_rank(d, d->part[s]);
        for (int r = *owner + 1; r <= last_rank(d, d->part[s]); r++)
            *owner = d->entries[r] < d->entries[*owner] ? r : *owner;
        d->entries[*owner] += entries_of(d->symbolic, s);
    }
}

static void sum_up(const wi_symbolic *symbolic, wi_owners *owners) {
    memset(owners->shared, 0, (size_t)symbolic->supernodes);
    memset(owners->columns, 0, (size_t)owners->ranks * sizeof *owners->columns);
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        const int64_t up = symbolic->super_parent[s];
        owners->columns[owners->owner[s]] += (size_t)wi_super_columns(symbolic, s);
        if (up >= 0 && (owners->shared[s] || owners->owner[up] != owners->owner[s]))
            owners->shared[up] = 1;
    }
}

size_t wi_owners_bytes(const wi_owners *owners) {
    return owners
               ? (size_t)owners->ranks * sizeof *owners->columns +
                     (size_t)owners->supernodes * (sizeof *owners->owner + sizeof *owners->shared)
               : 0;
}

weft_status wi_owners_make(weft_context *ctx, const char *call, const wi_symbolic *symbolic,
                           int rank, int ranks, wi_owners *owners) {
    const size_t supernodes = (size_t)symbolic->supernodes;
    *owners = (wi_owners){.rank = rank, .ranks = ranks, .supernodes = symbolic->supernodes};
    char *const memory = wi_host_alloc(wi_owners_bytes(owners));
    void *const room = wi_host_alloc(supernodes * sizeof(stretch) + (size_t)ranks * sizeof(double));
    if (!memory || !room) {
        wi_host_free(memory);
        wi_host_free(room);
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for the shares of %d ranks; free some",
                       call, ranks);
    }
    owners->columns = (size_t *)(void *)memory;
    owners->owner = (int32_t *)(void *)(owners->columns + ranks);
    owners->shared = (uint8_t *)(owners->owner + supernodes);
    const dealing d = {.symbolic = symbolic,
                       .owners = owners,
                       .part = room,
                       .entries = (double *)((stretch *)room + supernodes)};
    memset(d.entries, 0, (size_t)ranks * sizeof *d.entries);
    deal_subtrees(&d);
    deal_tops(&d);
    sum_up(symbolic, owners);
    wi_host_free(room);
    return WEFT_OK;
}

void wi_owners_free(wi_owners *owners) {
    wi_host_free(owners->columns);
    *owners = (wi_owners){.ranks = 0};
}

bool wi_owners_join(const wi_owners *owners, const wi_symbolic *symbolic, int64_t s) {
    const bool own = wi_owns(owners, s);
    if (!owners->shared[s])
        return false;
    for (int64_t c = wi_last_child(symbolic, s); c >= 0; c = wi_child_before(symbolic, s, c)) {
        if (own != wi_owns(owners, c))
            return true;
    }
    return false;
}
