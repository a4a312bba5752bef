/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets of image readers share. */
#ifndef WEFT_IMAGE_FUZZ_H
#define WEFT_IMAGE_FUZZ_H

#include "fuzz.h"
#include "io/image.h"

typedef weft_status (*image_reader)(FILE *file, const char *name, wi_image *image, wi_note *note);

/* Every sample is there to be read, and none is larger than the image says. */
static inline void check_image(const wi_image *image) {
    const size_t samples = image->width * image->height * image->channels;
    require(image->data && image->channels >= 1 && image->channels <= 4 && samples > 0);
    for (size_t i = 0; i < samples; i++)
        require((image->type == WEFT_U8 ? ((const uint8_t *)image->data)[i]
                                        : ((const uint16_t *)image->data)[i]) <= image->most);
}

static inline void fuzz_image(image_reader read, const uint8_t *bytes, size_t length) {
    for (int pipe = 0; length > 0 && pipe < 2; pipe++) {
        wi_note note = {""};
        wi_image image;
        FILE *const file = open_bytes(bytes, length, pipe);
        const weft_status status = read(file, "fuzz", &image, &note);
        require(fclose(file) == 0);
        require((status == WEFT_OK) == (note.text[0] == '\0') && !strchr(note.text, '\n'));
        if (status == WEFT_OK)
            check_image(&image);
        else
            require(!image.data);
        wi_image_free(&image);
    }
}

#endif
