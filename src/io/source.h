/* SPDX-License-Identifier: Apache-2.0 */
/* Reading files that are not trusted: no more memory is allocated than bytes were read (while a
 * pipe delivers them, up to twice as much). */
#ifndef WI_SOURCE_H
#define WI_SOURCE_H

#include "io/npy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A file being read, and its name for messages. */
typedef struct wi_source {
    FILE *file;
    const char *name;
    wi_note *note;
} wi_source;

/* Records that `what` should have had `expected` bytes, or that reading failed. */
weft_status wi_source_cut_short(const wi_source *s, const char *what, size_t expected, size_t got);

weft_status wi_source_no_memory(const wi_source *s, size_t bytes);

/* The bytes from here to the end of a regular file; false for a pipe or a device. */
bool wi_source_left(FILE *file, size_t *left);

/* Resizes `*data` to `room` bytes, keeping the first `used`. */
weft_status wi_source_resize(const wi_source *s, unsigned char **data, size_t used, size_t room);

/* Reads exactly `bytes` bytes into new memory; free it with wi_host_free. */
weft_status wi_source_read(const wi_source *s, const char *what, size_t bytes, void **result);

#ifdef __cplusplus
}
#endif
#endif
