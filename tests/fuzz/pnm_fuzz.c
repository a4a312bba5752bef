/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the PGM and PPM reader takes any bytes and ends in an image or in a message, whether
 * they come as a pipe or as a file. */
#include "image_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    fuzz_image(wi_pnm_read, bytes, length);
    return 0;
}
