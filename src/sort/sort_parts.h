/* SPDX-License-Identifier: Apache-2.0 */
/* The arrays a sort on a cpu works in: two of keys and two of values, some of them the caller's. */
#ifndef WI_SORT_PARTS_H
#define WI_SORT_PARTS_H

#include "sort/sort_simd.h"

typedef struct wi_sort_parts {
    wi_sort_key key;
    /* n elements; keys lie where they should end up, in y, if they may, and so do values. The spare
     * arrays are then temporary. */
    wi_sort_range range;
    bool own_spare_keys, own_spare_values; /* are the spare arrays temporary? */
    void *extra;                           /* of the bytes asked for beside them */
    void *memory;                          /* what wi_host_free gives back */
} wi_sort_parts;

/* Fills *parts; a call that only asks for its bytes gets them added, and no memory. With `apart`,
 * keys and values to be sorted never lie where the caller's are: in place they end up in temporary
 * memory, and the spare arrays are the caller's. */
weft_status wi_sort_take_parts(weft_context *ctx, const wi_sort_args *args, bool apart,
                               size_t extra_bytes, wi_sort_parts *parts);

/* Elements first ... end - 1 of the call as keys with their values: a part of the whole range. */
wi_sort_range wi_sort_load(const wi_sort_args *args, const wi_sort_parts *parts, size_t first,
                           size_t end);

/* Puts a part, sorted, where the caller wants it. */
void wi_sort_store(const wi_sort_args *args, const wi_sort_parts *parts, const wi_sort_range *part,
                   size_t first);

/* The part without anything in it. */
wi_sort_range wi_sort_part(const wi_sort_parts *parts, size_t first, size_t end);

/* Is a stretch of n elements short enough to be sorted in one piece, by one thread? */
bool wi_sort_is_short(const wi_sort_args *args, size_t n);

/* Sorts elements first ... end - 1 of the call by themselves, with `team` threads. The parts must
 * lie apart, unless the stretch is short, and have wi_sort_team_bytes(team) extra bytes. */
void wi_sort_stretch(const weft_context *ctx, const wi_sort_args *args, const wi_sort_parts *parts,
                     int team, size_t first, size_t end);
size_t wi_sort_team_bytes(int team);

#endif
