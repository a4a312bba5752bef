/* SPDX-License-Identifier: Apache-2.0 */
/* Writing raw PGM and PPM files. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "io/image.h"

enum {
    SOME = 4096 /* samples written at a time */
};

/* Samples of 16 bits have their high byte first. */
static bool put_samples(FILE *file, const wi_image *image) {
    const size_t n = image->width * image->height * image->channels;
    unsigned char bytes[2 * SOME];
    if (image->type == WEFT_U8)
        return fwrite(image->data, 1, n, file) == n;
    for (size_t at = 0; at < n; at += SOME) {
        const size_t count = n - at < SOME ? n - at : SOME;
        for (size_t i = 0; i < count; i++) {
            const uint16_t sample = ((const uint16_t *)image->data)[at + i];
            bytes[2 * i] = (unsigned char)(sample >> 8);
            bytes[2 * i + 1] = (unsigned char)sample;
        }
        if (fwrite(bytes, 2, count, file) != count)
            return false;
    }
    return true;
}

weft_status wi_pnm_write(FILE *file, const char *name, const wi_image *image, wi_note *note) {
    if (image->channels != 1 && image->channels != 3)
        return wi_note_fail(
            note, WEFT_EUNSUPPORTED,
            "%s: PGM and PPM hold no alpha channel, which this image has; write .png "
            "or .npy",
            name);
    char header[64];
    const int length =
        snprintf(header, sizeof header, "P%c\n%zu %zu\n%u\n", image->channels == 1 ? '5' : '6',
                 image->width, image->height, image->most);
    errno = 0;
    if (fwrite(header, 1, (size_t)length, file) != (size_t)length || !put_samples(file, image) ||
        fflush(file) != 0)
        return wi_note_fail(note, WEFT_EIO, "%s: writing failed: %s", name, strerror(errno));
    return WEFT_OK;
}
