/* SPDX-License-Identifier: Apache-2.0 */
/* OpenBLAS, loaded at its first use. */
#include "cpu/blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static wi_blas blas;
static bool loaded;

/* Copies a function pointer from the object pointer that dlsym returns: ISO C has no cast for it.
 */
static bool find(void *library, const char *name, void *function, size_t bytes) {
    void *const symbol = dlsym(library, name);
    memcpy(function, &symbol, bytes);
    return symbol;
}

static void load(void) {
    void *const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    loaded =
        library && find(library, "dsyrk_", &blas.dsyrk, sizeof blas.dsyrk) &&
        find(library, "dgemm_", &blas.dgemm, sizeof blas.dgemm) &&
        find(library, "sgemm_", &blas.sgemm, sizeof blas.sgemm) &&
        find(library, "dtrsm_", &blas.dtrsm, sizeof blas.dtrsm) &&
        find(library, "ssyrk_", &blas.ssyrk, sizeof blas.ssyrk) &&
        find(library, "strsm_", &blas.strsm, sizeof blas.strsm) &&
        find(library, "dtrmm_", &blas.dtrmm, sizeof blas.dtrmm) &&
        find(library, "strmm_", &blas.strmm, sizeof blas.strmm) &&
        find(library, "dpotrf_", &blas.dpotrf, sizeof blas.dpotrf) &&
        find(library, "spotrf_", &blas.spotrf, sizeof blas.spotrf) &&
        find(library, "dgetrf_", &blas.dgetrf, sizeof blas.dgetrf) &&
        find(library, "sgetrf_", &blas.sgetrf, sizeof blas.sgetrf) &&
        find(library, "openblas_set_num_threads", &blas.set_threads, sizeof blas.set_threads) &&
        find(library, "openblas_get_num_threads", &blas.get_threads, sizeof blas.get_threads);
    if (library && !loaded)
        dlclose(library);
}

const wi_blas *wi_blas_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return loaded ? &blas : NULL;
}
