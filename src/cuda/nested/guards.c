/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA's device runtime was compiled as C++: its host stubs of device kernels, which nobody calls,
 * guard their static variables with functions of libstdc++. These two replace them, visible to
 * those stubs only (cmake/WeftNested.cmake), so that C programs need no libstdc++. */
#include <stdint.h>

int __cxa_guard_acquire(int64_t *guard);  /* NOLINT(bugprone-reserved-identifier) */
void __cxa_guard_release(int64_t *guard); /* NOLINT(bugprone-reserved-identifier) */

int __cxa_guard_acquire(int64_t *guard) { /* NOLINT(bugprone-reserved-identifier) */
    return *(char *)guard == 0;
}

void __cxa_guard_release(int64_t *guard) { /* NOLINT(bugprone-reserved-identifier) */
    *(char *)guard = 1;
}
