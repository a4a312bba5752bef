/* SPDX-License-Identifier: Apache-2.0 */
/* Files being read, which are not trusted: a reader never takes more memory than bytes truly arrive
 * (and at most as much again while a pipe delivers them). */
#ifndef WI_SOURCE_H
#define WI_SOURCE_H

#include "io/npy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A file being read, and what to call it. */
typedef struct wi_source {
    FILE *file;
    const char *name;
    wi_note *note;
} wi_source;

/* Says that `what` should have had `expected` bytes, or that reading failed. */
weft_status wi_source_cut_short(const wi_source *s, const char *what, size_t expected, size_t got);

weft_status wi_source_no_memory(const wi_source *s, size_t bytes);

/* Bytes from here to the end of a regular file; false for pipes and the like. */
bool wi_source_left(FILE *file, size_t *left);

/* Gives `*data` room for `room` bytes, keeping the first `used`. */
weft_status wi_source_resize(const wi_source *s, unsigned char **data, size_t used, size_t room);

/* Reads exactly `bytes` into new memory, the caller's to free with wi_host_free. */
weft_status wi_source_read(const wi_source *s, const char *what, size_t bytes, void **result);

#ifdef __cplusplus
}
#endif
#endif
