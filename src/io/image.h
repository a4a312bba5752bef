/* SPDX-License-Identifier: Apache-2.0 */
/* Images from files: PGM and PPM (P2, P3, P5, P6) by our own reader, PNG through libpng. Files are
 * not trusted: whatever they contain, the result is an image or a message. And images to files: raw
 * PGM and PPM, and PNG. */
#ifndef WI_IMAGE_H
#define WI_IMAGE_H

#include "io/npy.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_PNM_FIRST = 'P', /* the first byte of a file, which tells what it is */
    WI_PNG_FIRST = 0x89
};

/* Pixels in rows from the top, channels interleaved: gray; gray and alpha; red, green and blue; or
 * red, green, blue and alpha. All zeros: empty. */
typedef struct wi_image {
    size_t width, height;
    unsigned channels; /* 1 to 4 */
    weft_type type;    /* WEFT_U8 or WEFT_U16, in this machine's byte order */
    unsigned most;     /* the value of white: 255 or 65535, or less in PGM and PPM */
    void *data;        /* from wi_host_alloc */
} wi_image;

/* Reads one image from `file`, which may be a pipe. `name` is for messages. On failure *image is
 * empty and `note` says why: WEFT_EIO, WEFT_EFORMAT, WEFT_EUNSUPPORTED or WEFT_ENOMEM. */
weft_status wi_pnm_read(FILE *file, const char *name, wi_image *image, wi_note *note);
/* The same for PNG; WEFT_EUNSUPPORTED in a build without libpng. Palettes become colours, and
 * samples of fewer than 8 bits get 8. */
weft_status wi_png_read(FILE *file, const char *name, wi_image *image, wi_note *note);

/* Writes an image of one channel as PGM (P5), of three as PPM (P6); others are WEFT_EUNSUPPORTED.
 * Samples are at most `most`. */
weft_status wi_pnm_write(FILE *file, const char *name, const wi_image *image, wi_note *note);
/* Writes PNG of 8 or 16 bits a sample; WEFT_EUNSUPPORTED in a build without libpng. Samples of an
 * image whose white is not that of its type are stretched to it. */
weft_status wi_png_write(FILE *file, const char *name, const wi_image *image, wi_note *note);

/* Frees the memory. An empty image is allowed. */
void wi_image_free(wi_image *image);

#ifdef __cplusplus
}
#endif
#endif
