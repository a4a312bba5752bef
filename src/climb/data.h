/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs whose sums are exact, and checks of complete outputs, for every slice's climb.
 *
 * Element i of an input stands for a small integer k drawn from (seed, stream, i): -63 ... 63, or 0
 * ... 126 in unsigned types; floats hold k / 8. So every sum of two, and in practice every sum of
 * 2^32 (a random walk with a mean step of 37, so far below 2^24), is exact in f32 in any order of
 * additions, and an output can be compared bit for bit with integer arithmetic. */
#ifndef WI_CLIMB_DATA_H
#define WI_CLIMB_DATA_H

#include "climb/climb.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_DATA_CHUNK = 1024 /* elements made or compared at a time */
};

/* A problem of up to three arrays, inputs x and y and output z: enough for most climbs. */
typedef struct wi_data {
    wi_setup setup;
    size_t z_bytes;
    void *x, *y, *z;                /* in memory of the place, or in host memory */
    void *host_x, *host_y, *host_z; /* the same arrays in host memory */
    bool shared;                    /* both are the same memory */
    int64_t *before; /* the sum of k of x over all chunks before each; at last of all */
} wi_data;

/* Where the arrays of a problem are. */
typedef enum wi_data_home {
    WI_DATA_PLACE, /* memory of the place */
    WI_DATA_HOST   /* pageable host memory, on every place */
} wi_data_home;

/* Allocates x and y of n elements (y only if `has_y`) and z of z_bytes, and fills x and y. On
 * failure nothing stays allocated. */
weft_status wi_data_make(const wi_setup *setup, wi_data_home home, bool has_y, size_t z_bytes,
                         void **problem);
/* The same in memory of the place, without y; then all threads fill host_x as `fill` says, and x
 * gets a copy. */
typedef void (*wi_data_filler)(void *data, int rank, int team);
weft_status wi_data_make_filled(const wi_setup *setup, size_t z_bytes, wi_data_filler fill,
                                void **problem);
/* The same with random x: integers take all values, floats are in [-1, 1). */
weft_status wi_data_make_random(const wi_setup *setup, size_t z_bytes, void **problem);
/* Gives a problem of the place a y of y_bytes, which all threads fill as `fill` says in host_y. If
 * that fails the problem is dropped. */
weft_status wi_data_add_y(wi_data *data, size_t y_bytes, wi_data_filler fill);
void wi_data_drop(void *problem);

/* The bytes of an array of n elements. */
size_t wi_data_bytes(const wi_setup *setup);

/* k of elements first ... first + count - 1 of an input: stream 0 for x, 1 for y. */
void wi_data_draw(const wi_data *data, int stream, size_t first, size_t count, int64_t *k);

/* The element of `type` that stands for k: k modulo 2^bits, or k / 8 rounded. */
void wi_data_convert(weft_type type, size_t count, const int64_t *k, void *out);

/* Fills z with a pattern that is never a right answer, calls, and copies z to host_z; if that
 * fails, false, and `why` gets the context's message. */
bool wi_data_try(wi_data *data, weft_status (*call)(void *problem), char *why, size_t bytes);

/* wi_data_try for a call that leaves the sum of x, of type `type` and rounded once, in z. */
bool wi_data_check_sum(wi_data *data, weft_status (*call)(void *problem), weft_type type, char *why,
                       size_t bytes);

/* Fills k with the right values of elements first ... first + count - 1 of the output; count is at
 * most WI_DATA_CHUNK and first a multiple of it. */
typedef void (*wi_data_expected)(const wi_data *data, size_t first, size_t count, int64_t *k);

/* The right values of an inclusive sum of x. */
void wi_data_prefixes(const wi_data *data, size_t first, size_t count, int64_t *k);

/* Compares all n elements of host_z; if one is wrong, false, and `why` names the first. */
bool wi_data_compare(const wi_data *data, wi_data_expected expected, char *why, size_t bytes);

/* Facts of calls that move little but arrays of n elements of the problem's type: of one that reads
 * x; of one that reads x and writes z; of one that reads x and y and writes z. */
void wi_data_describe_read(const void *problem, const char *rung, wi_facts *facts);
void wi_data_describe_copy(const void *problem, const char *rung, wi_facts *facts);
void wi_data_describe_join(const void *problem, const char *rung, wi_facts *facts);

#ifdef __cplusplus
}
#endif
#endif
