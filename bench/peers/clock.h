/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of the races on a cpu. */
#ifndef PEER_CLOCK_H
#define PEER_CLOCK_H

#include <time.h>

/* Seconds since some moment, by a clock that is never set back. */
static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
