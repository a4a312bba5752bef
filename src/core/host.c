/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory: the only file that allocates it. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/core.h"

enum {
    LINE_BYTES = 64,
    HUGE_PAGE_BYTES = 2 << 20
};

static void *take(size_t bytes, size_t alignment) {
    if (bytes > PTRDIFF_MAX - alignment)
        return NULL;
    const size_t units = bytes ? (bytes + alignment - 1) / alignment : 1;
    return aligned_alloc(alignment, units * alignment);
}

void *wi_host_alloc(size_t bytes) {
    return take(bytes, LINE_BYTES);
}

void *wi_host_alloc_huge(size_t bytes) {
    if (bytes < 4 * (size_t)HUGE_PAGE_BYTES)
        return wi_host_alloc(bytes);
    void *const p = take(bytes, HUGE_PAGE_BYTES);
    if (p)
        madvise(p, bytes, MADV_HUGEPAGE); /* a hint: refusal changes nothing */
    return p;
}

void *wi_host_map(size_t bytes) {
    void *const p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void wi_host_unmap(void *p, size_t bytes) {
    if (p)
        munmap(p, bytes);
}

void wi_host_free(void *p) {
    free(p);
}
