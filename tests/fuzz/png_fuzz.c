/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the PNG reader takes any bytes and ends in an image or in a message, whether they
 * come as a pipe or as a file. Checksums are mended first, or few inputs would get past them. */
#include "image_fuzz.h"

enum {
    SIGNATURE_BYTES = 8,
    CHUNK_BYTES = 12, /* length, name and checksum */
    MOST_BYTES = 1 << 16
};

static uint32_t checksum(const uint8_t *bytes, size_t length) {
    uint32_t crc = ~0u;
    for (size_t i = 0; i < length; i++) {
        crc ^= bytes[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static uint32_t big_endian(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void mend(uint8_t *bytes, size_t length) {
    size_t at = SIGNATURE_BYTES;
    while (at + CHUNK_BYTES <= length) {
        const size_t data = big_endian(bytes + at);
        if (data > length - at - CHUNK_BYTES)
            return;
        const uint32_t crc = checksum(bytes + at + 4, data + 4);
        for (int k = 0; k < 4; k++)
            bytes[at + 8 + data + (size_t)k] = (uint8_t)(crc >> (24 - 8 * k));
        at += data + CHUNK_BYTES;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    static uint8_t mended[MOST_BYTES];
    if (length > MOST_BYTES)
        return 0;
    fuzz_image(wi_png_read, bytes, length);
    memcpy(mended, bytes, length);
    mend(mended, length);
    fuzz_image(wi_png_read, mended, length);
    return 0;
}
