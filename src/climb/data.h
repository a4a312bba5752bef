/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs whose sums are exact, and checks of whole outputs, for every slice's climb.
 *
 * Element i of an input holds a small whole number k drawn from (seed, stream, i): -63 ... 63, or
 * 0 ... 126 in unsigned types; floats hold k / 8. So every sum of two, and in practice every sum of
 * 2^32 (a walk with steps of 37: far below 2^24), is exact in f32 in any order of additions, and an
 * output can be compared bit for bit with integer arithmetic. */
#ifndef WI_DATA_CLIMB_H
#define WI_DATA_CLIMB_H

#include "cli/climb.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_DATA_CHUNK = 1024 /* elements made, or compared, at a time */
};

/* What a case carries in `expected`. */
typedef struct wi_data {
    void *host_x, *host_y, *host_z; /* the case's own x, y, z where the host reaches them */
    bool shared;                    /* they are */
    int64_t *before;                /* k of x summed over the chunks before each, then all */
} wi_data;

/* Where the arrays of a case lie. */
typedef enum wi_data_home {
    WI_DATA_PLACE, /* memory of the place */
    WI_DATA_HOST   /* pageable host memory, whatever the place */
} wi_data_home;

/* Allocates x and y of n elements, y only if `has_y`, and z of z_bytes, fills x and y, and sets
 * c->expected. On failure everything is given back. */
weft_status wi_data_make(wi_case *c, wi_data_home home, bool has_y, size_t z_bytes);
void wi_data_drop(wi_case *c);

/* k of elements first ... first + count - 1 of a stream: 0 for x, 1 for y. */
void wi_data_draw(const wi_case *c, int stream, size_t first, size_t count, int64_t *k);

/* The element of `type` that stands for k: k wrapped, or k / 8 rounded. */
void wi_data_convert(weft_type type, size_t count, const int64_t *k, void *out);

/* Overwrites z with a pattern that no right answer repeats. */
weft_status wi_data_poison(wi_case *c, size_t z_bytes);

/* Brings z to host_z. */
weft_status wi_data_fetch(wi_case *c, size_t z_bytes);

/* Fills k with what elements first ... first + count - 1 of the output stand for; count is at most
 * WI_DATA_CHUNK and first a multiple of it. */
typedef void (*wi_data_expected)(const wi_case *c, size_t first, size_t count, int64_t *k);

/* Compares all n elements of host_z; false, with the first wrong one in `why`. */
bool wi_data_compare(const wi_case *c, wi_data_expected expected, char *why, size_t bytes);

/* The add of map's climb, which stage's climb runs on host memory. */
weft_status wi_data_add(wi_case *c);
weft_status wi_data_add_serial(wi_case *c);
bool wi_data_add_check(wi_case *c, char *why, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
