/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy files: one n-dimensional array with a header. Files are not trusted: whatever they
 * contain, the result is an array or a message, and no more memory is allocated than bytes were
 * read (while a pipe delivers them, up to twice as much). */
#ifndef WI_NPY_H
#define WI_NPY_H

#include <stdio.h>

#include "core/core.h"
#include "io/note.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_NPY_FIRST = 0x93,            /* the first byte of a file, which tells what it is */
    WI_NPY_MAX_DIMS = 64,           /* NumPy's own limit */
    WI_NPY_HEADER_BYTES = 64 << 10, /* far more than the header of a plain numeric array needs */
    WI_NPY_PREFIX_BYTES = 12        /* magic, version and the longest length field */
};

/* The shape and layout of an array: all that a header says, in this library's terms. */
typedef struct wi_npy_layout {
    weft_type type;
    bool opaque;        /* two-byte void, as which bf16 is stored; type is then bf16 */
    bool pairs;         /* complex numbers, of two elements of `type` each */
    bool swapped;       /* the file's byte order is not this machine's */
    bool fortran_order; /* the first index varies fastest */
    size_t dims;
    size_t shape[WI_NPY_MAX_DIMS];
    size_t count; /* elements: the product of the shape; of pairs twice as many */
} wi_npy_layout;

/* An array in host memory, in this machine's byte order. All zeros: empty. */
typedef struct wi_npy {
    wi_npy_layout layout;
    void *data;   /* from wi_host_alloc; layout.count elements of layout.type */
    char *titles; /* of a table's columns, as a line of .csv, from wi_host_alloc; NULL: none */
    bool is_text; /* read from a table of text */
} wi_npy;

/* Reads one array from `file`, which may be a pipe; does not read beyond the array. `name` is for
 * messages. Booleans are read as u8. If `type` is NULL any type is accepted, else only that one;
 * two-byte voids are accepted as bf16 only if `type` says so. On failure *array is empty and `note`
 * says why: WEFT_EIO, WEFT_EFORMAT, WEFT_EUNSUPPORTED or WEFT_ENOMEM. */
weft_status wi_npy_read(FILE *file, const char *name, const weft_type *type, wi_npy *array,
                        wi_note *note);

/* The same for one of several ranks that divide an array among them: reads part `rank` of `ranks`
 * equal parts, in C order, of a regular file. layout.count is then the number of its elements, and
 * the shape still that of the whole. */
weft_status wi_npy_read_part(FILE *file, const char *name, const weft_type *type, int rank,
                             int ranks, wi_npy *array, wi_note *note);

/* How many elements part `rank` has of `ranks` equal parts of `whole`, and which is its first. */
size_t wi_npy_part_of(size_t whole, int rank, int ranks, size_t *first);

/* Keeps that part of an array that was read whole. */
weft_status wi_npy_take_part(int rank, int ranks, wi_npy *array, wi_note *note);

/* wi_npy_read for arrays of real or complex numbers, which it refuses. */
weft_status wi_npy_read_numbers(FILE *file, const char *name, wi_npy *array, wi_note *note);

/* How many elements an array of this shape has. */
size_t wi_npy_whole(const wi_npy_layout *layout);

/* Writes the array as version 1.0, in this machine's byte order. */
weft_status wi_npy_write(FILE *file, const char *name, const wi_npy *array, wi_note *note);

/* Rearranges an array in Fortran order to C order; does nothing to others. */
weft_status wi_npy_to_c_order(wi_npy *array, wi_note *note);

/* Gives the array one dimension, its first `count` elements. */
void wi_npy_flatten(wi_npy *array, size_t count);
/* The same for this rank's part of an array of `whole` elements. */
void wi_npy_flatten_part(wi_npy *array, size_t count, size_t whole);

/* Frees the memory. An empty array is allowed. */
void wi_npy_free(wi_npy *array);

/* Parses the dictionary of a header: `text` of `length` bytes, not terminated. */
weft_status wi_npy_parse(const char *text, size_t length, const char *name, wi_npy_layout *layout,
                         wi_note *note);

/* Writes the prefix and the dictionary to `header`, padded to a multiple of 64 bytes; returns their
 * length. */
size_t wi_npy_format(const wi_npy_layout *layout, char header[4096]);

#ifdef __cplusplus
}
#endif
#endif
