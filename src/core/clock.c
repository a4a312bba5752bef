/* SPDX-License-Identifier: Apache-2.0 */
/* Time. */
#include <time.h>

#include "core/core.h"

double wi_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
