/* SPDX-License-Identifier: Apache-2.0 */
/* Looks functions of the driver up by their names: see gpu_driver.h. */
#include "core/gpu_driver.h"

#include <string.h>

#include "core/gpu.h"

bool wi_gpu_find_driver(const char *name, unsigned version, void *function) {
    void *entry = NULL;
    enum cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    cudaGetDriverEntryPointByVersion(name, &entry, version, cudaEnableDefault, &result);
#else
    (void)version;
    cudaGetDriverEntryPoint(name, &entry, cudaEnableDefault, &result);
#endif
    const bool found = result == cudaDriverEntryPointSuccess && entry;
    if (!found) {
        cudaGetLastError(); /* clear the error, or the next launch would report it */
        entry = NULL;
    }
    memcpy(function, &entry, sizeof entry); /* ISO C has no cast from object to function */
    return found;
}
