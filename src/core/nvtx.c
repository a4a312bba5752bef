/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges for profilers that read NVTX. Its header is all there is of it: it loads the profiler's
 * library if the profiler has named one in the environment, and otherwise does nothing. */
#include <stdio.h>
#include <stdlib.h>

#include "core/trace.h"

#if defined(WEFT_CUDA) && !defined(WEFT_EMU) && __has_include(<nvtx3/nvToolsExt.h>)
#    pragma GCC diagnostic push
#    pragma GCC diagnostic ignored "-Wpedantic" /* it makes functions of what dlsym gives */
#    include <nvtx3/nvToolsExt.h>
#    pragma GCC diagnostic pop

enum {
    NAME_BYTES = 128
};

bool wi_nvtx_wanted(void) {
    const char *const library = getenv("NVTX_INJECTION64_PATH");
    return library && *library;
}

void wi_nvtx_push(const char *op, const char *what) {
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s%s%s", op, what ? " " : "", what ? what : "");
    nvtxRangePushA(name);
}

void wi_nvtx_pop(void) {
    nvtxRangePop();
}
#else
bool wi_nvtx_wanted(void) {
    return false;
}

void wi_nvtx_push(const char *op, const char *what) {
    (void)op;
    (void)what;
}

void wi_nvtx_pop(void) {}
#endif
