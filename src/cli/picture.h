/* SPDX-License-Identifier: Apache-2.0 */
/* Images of the command, from and to files of any kind that it knows. */
#ifndef WI_PICTURE_H
#define WI_PICTURE_H

#include "cli/session.h"
#include "io/image.h"

/* The kind of a file. */
typedef enum wi_picture_kind {
    WI_PICTURE_NPY,
    WI_PICTURE_PNM,
    WI_PICTURE_PNG
} wi_picture_kind;

/* Pixels in rows from the top, channels interleaved. */
typedef struct wi_picture {
    wi_picture_kind kind; /* of the file it came from */
    size_t width, height;
    unsigned channels; /* 1 to 4 */
    bool has_channels; /* the array has a third dimension */
    weft_type type;
    unsigned most; /* the value of white; 0: of a .npy of floats */
    void *data;    /* from wi_host_alloc */
} wi_picture;

/* Reads a file ("-": standard input): an image, or an array of rows and columns, or of rows,
 * columns and up to four channels. On failure an error has been printed. */
wi_exit wi_picture_load(const wi_arguments *args, const char *path, wi_picture *picture);

/* Prints an error if --output is missing, cannot be written, or names a kind that does not hold the
 * picture. */
wi_exit wi_picture_check_output(const wi_arguments *args, const wi_picture *picture);

/* Writes it to --output, as the kind that its name says; standard output gets the kind that the
 * picture came from. */
wi_exit wi_picture_save(const wi_arguments *args, const wi_picture *picture);

void wi_picture_free(wi_picture *picture);

#endif
