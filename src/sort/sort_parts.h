/* SPDX-License-Identifier: Apache-2.0 */
/* The arrays that a sort on a cpu uses: two of keys and two of values, some of which are the
 * caller's. */
#ifndef WI_SORT_PARTS_H
#define WI_SORT_PARTS_H

#include "sort/sort_simd.h"

typedef struct wi_sort_parts {
    wi_sort_key key;
    /* n elements. If allowed, keys are in y, where they should end; and values likewise. The spare
     * arrays are then temporary. */
    wi_sort_range range;
    bool own_spare_keys, own_spare_values; /* are the spare arrays temporary? */
    void *extra;                           /* the extra bytes that were asked for */
    void *memory;                          /* all temporary memory, to be freed with wi_host_free */
} wi_sort_parts;

/* Fills *parts; for a call that only asks for its bytes, adds them and allocates nothing. With
 * `apart`, keys and values to be sorted are never in the caller's input arrays: for a sort in place
 * they are in temporary memory, and the spare arrays are the caller's. */
weft_status wi_sort_take_parts(weft_context *ctx, const wi_sort_args *args, bool apart,
                               size_t extra_bytes, wi_sort_parts *parts);

/* Loads elements first ... end - 1 of the call as keys, with their values; returns that part of the
 * range. */
wi_sort_range wi_sort_load(const wi_sort_args *args, const wi_sort_parts *parts, size_t first,
                           size_t end);

/* Stores a sorted part where the caller wants it. */
void wi_sort_store(const wi_sort_args *args, const wi_sort_parts *parts, const wi_sort_range *part,
                   size_t first);

/* A part of the range, not loaded. */
wi_sort_range wi_sort_part(const wi_sort_parts *parts, size_t first, size_t end);

/* Are n elements few enough to be sorted in one piece by one thread? */
bool wi_sort_is_short(const wi_sort_args *args, size_t n);

/* Sorts elements first ... end - 1 of the call by themselves, with `team` threads. The parts must
 * be `apart`, unless the elements are few, and have wi_sort_team_bytes(team) extra bytes. */
void wi_sort_stretch(const weft_context *ctx, const wi_sort_args *args, const wi_sort_parts *parts,
                     int team, size_t first, size_t end);
size_t wi_sort_team_bytes(int team);

/* Sorts the first n elements of a call, n <= call->n, and takes as much memory as sorting all of
 * them takes. If call->bytes is not NULL, only adds the size of that memory to it. */
weft_status wi_sort_some(weft_context *ctx, const wi_sort_args *call, size_t n);

#endif
