/* SPDX-License-Identifier: Apache-2.0 */
/* The climb of sums of segments: what that of exact sums shares with it. */
#ifndef WI_GROUP_CLIMB_H
#define WI_GROUP_CLIMB_H

#include "climb/climb.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A problem is a wi_data: x has the elements, y the offsets, in u64, z the sums. */
weft_status wi_group_climb_make(const wi_setup *setup, void **problem);
/* How many segments n elements have, and the type of their sums. */
size_t wi_group_climb_segments(size_t n);
weft_type wi_group_climb_type(const wi_setup *setup);
/* Runs a call, and compares all sums. */
bool wi_group_climb_check(void *problem, weft_status (*run)(void *problem), char *why,
                          size_t bytes);
void wi_group_climb_describe(const void *problem, const char *rung, wi_facts *facts);

#ifdef __cplusplus
}
#endif
#endif
