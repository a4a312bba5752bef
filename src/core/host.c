/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory: the only file that allocates it. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/core.h"

enum {
    LINE_BYTES = 64,
    PAGE_BYTES = 4096,
    HUGE_PAGE_BYTES = 2 << 20,
    LEAST_HUGE_BYTES = 4 * HUGE_PAGE_BYTES /* smaller blocks gain too little from huge pages */
};

/* The caller's functions; all NULL if C's are used. They change only while the library holds no
 * block, so every block is freed by the allocator that it came from. */
static weft_allocator callers;
static atomic_size_t blocks; /* how many the library holds */

weft_status weft_set_allocator(const weft_allocator *allocator) {
    static const char call[] = "weft_set_allocator";
    if (allocator && allocator->size < sizeof *allocator)
        return wi_fail(NULL, WEFT_EARG,
                       "%s: allocator->size is %zu; set it to sizeof(weft_allocator), %zu", call,
                       allocator->size, sizeof *allocator);
    if (allocator && (!allocator->allocate || !allocator->release))
        return wi_fail(NULL, WEFT_EARG, "%s: allocator->%s is NULL; pass both functions", call,
                       allocator->allocate ? "release" : "allocate");
    const size_t held = atomic_load(&blocks);
    if (held != 0)
        return wi_fail(NULL, WEFT_EARG,
                       "%s: the library holds %zu blocks of memory; close all contexts and "
                       "destroy all plans and matrices first",
                       call, held);
    callers = allocator ? *allocator : (weft_allocator){0};
    return WEFT_OK;
}

/* Counts the block at p, if there is one. */
static void *counted(void *p) {
    if (p)
        atomic_fetch_add_explicit(&blocks, 1, memory_order_relaxed);
    return p;
}

/* aligned_alloc needs a multiple of the alignment; 0 bytes become one unit. */
static void *take(size_t bytes, size_t alignment) {
    if (bytes > PTRDIFF_MAX - alignment)
        return NULL;
    const size_t units = bytes ? (bytes + alignment - 1) / alignment : 1;
    if (callers.allocate)
        return counted(callers.allocate(callers.user, alignment, units * alignment));
    return counted(aligned_alloc(alignment, units * alignment));
}

void *wi_host_alloc(size_t bytes) {
    return take(bytes, LINE_BYTES);
}

void *wi_host_alloc_huge(size_t bytes) {
    if (bytes < LEAST_HUGE_BYTES)
        return wi_host_alloc(bytes);
    void *const p = take(bytes, HUGE_PAGE_BYTES);
    if (p && !callers.allocate)
        madvise(p, bytes, MADV_HUGEPAGE); /* a hint: refusal changes nothing */
    return p;
}

void *wi_host_map(size_t bytes) {
    if (callers.allocate)
        return take(bytes, PAGE_BYTES);
    void *const p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : counted(p);
}

void wi_host_drop(void *p, size_t bytes) {
    if (!callers.allocate)
        madvise(p, bytes, MADV_DONTNEED); /* if refused, wi_host_unmap does it */
}

bool wi_host_populate(void *p, size_t bytes) {
#ifdef MADV_POPULATE_WRITE
    const uintptr_t begin = (uintptr_t)p / PAGE_BYTES * PAGE_BYTES;
    return madvise((void *)begin, (uintptr_t)p + bytes - begin, MADV_POPULATE_WRITE) == 0;
#else
    (void)p;
    (void)bytes;
    return false;
#endif
}

void wi_host_unmap(void *p, size_t bytes) {
    if (!p)
        return;
    if (callers.allocate) {
        wi_host_free(p);
        return;
    }
    munmap(p, bytes);
    atomic_fetch_sub_explicit(&blocks, 1, memory_order_relaxed);
}

void wi_host_free(void *p) {
    if (!p)
        return;
    if (callers.allocate)
        callers.release(callers.user, p);
    else
        free(p);
    atomic_fetch_sub_explicit(&blocks, 1, memory_order_relaxed);
}
