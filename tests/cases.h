/* SPDX-License-Identifier: Apache-2.0 */
/* What a slice gives to the tests of all calls: its SLICE_cases.c defines wi_SLICE_cases, and the
 * build lists those it finds. */
#ifndef WEFT_TEST_CASES_H
#define WEFT_TEST_CASES_H

#include "testing.h"

/* Arrays of n floats, in host or device memory; on a GPU place so many that those on the host are
 * staged in segments. A call whose allocation fails must leave z and the 8 bytes of the result as
 * they were. */
typedef struct test_arrays {
    size_t n;
    float *x, *y; /* all elements 1 */
    float *z;
    void *result;
    void *allocated;          /* is freed after the call */
    int (*allocations)(void); /* how many there were so far */
} test_arrays;

/* A call of which each allocation is to fail in turn. */
typedef struct test_call {
    const char *name;
    weft_status (*run)(weft_context *ctx, test_arrays *a);
    const wi_ladder *ladder; /* each of its rungs is tested; NULL: the call has none */
    /* Asks how many bytes the same call would take; NULL: there is no such call. */
    weft_status (*ask)(weft_context *ctx, const test_arrays *a, size_t *bytes);
} test_call;

/* Wrong arguments, and unusual ones that are right, on one place; arguments.h has the tools. */
typedef struct test_refusal {
    const char *name;
    void (*run)(weft_context *ctx);
} test_refusal;

typedef struct test_cases {
    void (*without_context)(void); /* every public call with NULL in place of a context */
    const test_refusal *refusals;
    size_t refusal_count;
    const test_call *calls;
    size_t call_count;
} test_cases;

extern const test_cases *const test_all_cases[]; /* ends in NULL */

#endif
