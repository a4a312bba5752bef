/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy files: one n-dimensional array with a header. Files are untrusted: whatever they
 * hold, reading ends in an array or in a message, and never takes more memory than the bytes that
 * truly arrived (and at most as much again while a pipe delivers them). */
#ifndef WI_NPY_H
#define WI_NPY_H

#include <stdio.h>

#include "core/core.h"
#include "io/note.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_NPY_FIRST = 0x93,            /* the first byte of the files, by which to tell them */
    WI_NPY_MAX_DIMS = 64,           /* NumPy's own limit */
    WI_NPY_HEADER_BYTES = 64 << 10, /* no header of a plain numeric array comes near */
    WI_NPY_PREFIX_BYTES = 12        /* magic, version and the longest length field */
};

/* The shape and layout of an array: all that a header says, in the terms of this library. */
typedef struct wi_npy_layout {
    weft_type type;
    bool opaque;        /* two-byte void, which is how bf16 is stored; type is then bf16 */
    bool swapped;       /* in the file, bytes run against this machine's order */
    bool fortran_order; /* the first index runs fastest */
    size_t dims;
    size_t shape[WI_NPY_MAX_DIMS];
    size_t count; /* elements: the product of the shape */
} wi_npy_layout;

/* One array in host memory, in this machine's byte order. Zeroed, it holds nothing. */
typedef struct wi_npy {
    wi_npy_layout layout;
    void *data; /* from wi_host_alloc; layout.count elements of layout.type */
} wi_npy;

/* Reads one array from `file`, which may be a pipe; bytes after the array are left alone. `name` is
 * for messages. Booleans are read as u8. `type` NULL takes what the file holds; otherwise any other
 * is refused, and bf16 is what lets a file of two-byte voids through. On failure *array is empty
 * and `note` says why: WEFT_EIO, WEFT_EFORMAT, WEFT_EUNSUPPORTED or WEFT_ENOMEM. */
weft_status wi_npy_read(FILE *file, const char *name, const weft_type *type, wi_npy *array,
                        wi_note *note);

/* Writes the array as version 1.0, little or big endian as this machine is. */
weft_status wi_npy_write(FILE *file, const char *name, const wi_npy *array, wi_note *note);

/* Rearranges an array in Fortran order to C order; others are left as they are. */
weft_status wi_npy_to_c_order(wi_npy *array, wi_note *note);

/* Makes of the array one of a single dimension, its first `count` elements. */
void wi_npy_flatten(wi_npy *array, size_t count);

/* Gives the memory back. An empty array is allowed. */
void wi_npy_free(wi_npy *array);

/* Reads the dictionary of a header: `text` of `length` bytes, not terminated. */
weft_status wi_npy_parse(const char *text, size_t length, const char *name, wi_npy_layout *layout,
                         wi_note *note);

/* Writes prefix and dictionary into `header`, padded to a multiple of 64; returns their length. */
size_t wi_npy_format(const wi_npy_layout *layout, char header[4096]);

#ifdef __cplusplus
}
#endif
#endif
