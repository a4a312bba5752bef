/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets of readers share. */
#ifndef WEFT_FUZZ_H
#define WEFT_FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "weft/core.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static inline void require(bool truth) {
    if (!truth)
        abort();
}

/* A context of "cpu:1" or of "cpu:3", kept from run to run. */
static inline const weft_context *reader(const char *place) {
    static weft_context *one, *three;
    weft_context **const ctx = strcmp(place, "cpu:1") == 0 ? &one : &three;
    require(*ctx || weft_open(ctx, place) == WEFT_OK);
    return *ctx;
}

/* A stream that has no size, or a file that has one. */
static inline FILE *open_bytes(const uint8_t *bytes, size_t length, bool pipe) {
    FILE *file;
    if (pipe) {
        file = fmemopen((void *)(uintptr_t)bytes, length, "rb");
    } else {
        const int descriptor = memfd_create("fuzz", 0);
        require(descriptor >= 0);
        file = fdopen(descriptor, "w+b");
        require(file && fwrite(bytes, 1, length, file) == length);
        rewind(file);
    }
    require(file);
    return file;
}

#endif
