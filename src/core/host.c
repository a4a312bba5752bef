/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory: the one place that allocates it. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/core.h"

enum {
    LINE_BYTES = 64,
    HUGE_PAGE_BYTES = 2 << 20
};

void *wi_host_alloc(size_t bytes) {
    /* Arrays of several huge pages start on one and ask for them: a scan over a large array
     * otherwise spends much of its time on page faults and missing address translations. */
    const size_t alignment = bytes >= 4 * (size_t)HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : LINE_BYTES;
    if (bytes > PTRDIFF_MAX - alignment)
        return NULL;
    const size_t units = bytes ? (bytes + alignment - 1) / alignment : 1;
    void *const p = aligned_alloc(alignment, units * alignment);
    if (p && alignment == HUGE_PAGE_BYTES)
        madvise(p, units * alignment, MADV_HUGEPAGE); /* a hint: refusal changes nothing */
    return p;
}

void wi_host_free(void *p) {
    free(p);
}
