/* SPDX-License-Identifier: Apache-2.0 */
/* Counts allocations, and makes one of them fail. Only for the program that is linked with --wrap
 * for everything that allocates. */
#ifndef WEFT_INJECTION_H
#define WEFT_INJECTION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WEFT_CUDA
#    include <cuda_runtime_api.h>
#endif

enum {
    MOST_LIVE = 1024,
    NEVER = -1
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool watching;       /* track allocations */
static bool only_own;       /* ignore malloc and similar calls: on a GPU the driver makes them */
static int counted;         /* allocations since arm() */
static int fail_at = NEVER; /* which of them fails */
static void *live[MOST_LIVE];
static size_t live_bytes[MOST_LIVE];
static size_t live_count;
static size_t now_bytes, most_bytes; /* of the library's own allocations: now, and the maximum */

/* Counts an allocation; true if it is the one to fail. */
static bool fails(bool own) {
    pthread_mutex_lock(&lock);
    bool counts = watching && (own || !only_own);
    bool result = counts && counted == fail_at;
    counted += counts;
    pthread_mutex_unlock(&lock);
    return result;
}

static void *born(void *p, bool own, size_t bytes) {
    pthread_mutex_lock(&lock);
    if (p && watching && (own || !only_own) && live_count < MOST_LIVE) {
        live_bytes[live_count] = own ? bytes : 0;
        live[live_count++] = p;
        now_bytes += own ? bytes : 0;
        most_bytes = now_bytes > most_bytes ? now_bytes : most_bytes;
    }
    pthread_mutex_unlock(&lock);
    return p;
}

static void died(const void *p) {
    pthread_mutex_lock(&lock);
    for (size_t k = 0; p && k < live_count; k++) {
        if (live[k] == p) {
            now_bytes -= live_bytes[k];
            live_bytes[k] = live_bytes[live_count - 1];
            live[k] = live[--live_count];
            break;
        }
    }
    pthread_mutex_unlock(&lock);
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *p, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
int __real_posix_memalign(void **p, size_t alignment, size_t bytes);
void __real_free(void *p);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **p, size_t alignment, size_t bytes);
void __wrap_free(void *p);

void *__wrap_malloc(size_t bytes) {
    return fails(false) ? NULL : born(__real_malloc(bytes), false, bytes);
}

void *__wrap_calloc(size_t count, size_t bytes) {
    return fails(false) ? NULL : born(__real_calloc(count, bytes), false, bytes);
}

void *__wrap_realloc(void *p, size_t bytes) {
    if (fails(false)) {
        return NULL;
    }
    died(p);
    return born(__real_realloc(p, bytes), false, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
    /* with device memory in use, host memory is not counted */
    return fails(true) ? NULL
                       : born(__real_aligned_alloc(alignment, bytes), true, only_own ? 0 : bytes);
}

int __wrap_posix_memalign(void **p, size_t alignment, size_t bytes) {
    if (fails(false)) {
        return 12; /* ENOMEM */
    }
    int error = __real_posix_memalign(p, alignment, bytes);
    if (!error) {
        born(*p, false, bytes);
    }
    return error;
}

void __wrap_free(void *p) {
    died(p);
    __real_free(p);
}

void *__real_wi_host_map(size_t bytes);
void __real_wi_host_unmap(void *p, size_t bytes);
void *__wrap_wi_host_map(size_t bytes);
void __wrap_wi_host_unmap(void *p, size_t bytes);

void *__wrap_wi_host_map(size_t bytes) {
    return fails(true) ? NULL : born(__real_wi_host_map(bytes), true, only_own ? 0 : bytes);
}

void __wrap_wi_host_unmap(void *p, size_t bytes) {
    died(p);
    __real_wi_host_unmap(p, bytes);
}

#ifdef WEFT_CUDA

/* Both sides of a function that sets *p and has more arguments after it. `size` is what counts as
 * bytes taken on a GPU; pinned memory is host memory. */
#    define WRAP_CUDA(name, size, parameters, arguments)                                           \
        cudaError_t __real_##name parameters;                                                      \
        cudaError_t __wrap_##name parameters;                                                      \
        cudaError_t __wrap_##name parameters {                                                     \
            if (fails(true)) {                                                                     \
                return cudaErrorMemoryAllocation;                                                  \
            }                                                                                      \
            cudaError_t error = __real_##name arguments;                                           \
            if (error == cudaSuccess) {                                                            \
                born(*p, true, size);                                                              \
            }                                                                                      \
            return error;                                                                          \
        }

WRAP_CUDA(cudaMalloc, bytes, (void **p, size_t bytes), (p, bytes))
WRAP_CUDA(cudaMallocAsync, bytes, (void **p, size_t bytes, cudaStream_t stream), (p, bytes, stream))
WRAP_CUDA(cudaMallocFromPoolAsync, bytes,
          (void **p, size_t bytes, cudaMemPool_t pool, cudaStream_t stream),
          (p, bytes, pool, stream))
WRAP_CUDA(cudaMallocHost, 0, (void **p, size_t bytes), (p, bytes))
WRAP_CUDA(cudaHostAlloc, 0, (void **p, size_t bytes, unsigned int flags), (p, bytes, flags))

cudaError_t __real_cudaFree(void *p);
cudaError_t __real_cudaFreeHost(void *p);
cudaError_t __real_cudaFreeAsync(void *p, cudaStream_t stream);
cudaError_t __wrap_cudaFree(void *p);
cudaError_t __wrap_cudaFreeHost(void *p);
cudaError_t __wrap_cudaFreeAsync(void *p, cudaStream_t stream);

cudaError_t __wrap_cudaFree(void *p) {
    died(p);
    return __real_cudaFree(p);
}

cudaError_t __wrap_cudaFreeHost(void *p) {
    died(p);
    return __real_cudaFreeHost(p);
}

cudaError_t __wrap_cudaFreeAsync(void *p, cudaStream_t stream) {
    died(p);
    return __real_cudaFreeAsync(p, stream);
}

#endif

static void watch(bool on) {
    pthread_mutex_lock(&lock);
    watching = on;
    pthread_mutex_unlock(&lock);
}

/* Makes allocation number `which` from now on fail. */
static void arm(int which) {
    counted = 0;
    fail_at = which;
}

#endif
