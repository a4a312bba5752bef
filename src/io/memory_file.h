/* SPDX-License-Identifier: Apache-2.0 */
/* Memory as files, so that what writes and reads files writes and reads memory. */
#ifndef WI_MEMORY_FILE_H
#define WI_MEMORY_FILE_H

#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory to write to or to read from. */
typedef struct wi_memory_file {
    unsigned char *memory; /* NULL: what is written is only counted */
    size_t bytes;          /* how many there are */
    size_t at;             /* how many were written, or where reading is */
} wi_memory_file;

/* Opens it for writing; what goes beyond its bytes fails. m->at is right when the file is closed,
 * and *m must live until then. NULL if there is no memory for a FILE. */
FILE *wi_memory_file_write(wi_memory_file *m);

/* Opens it for reading. Its bytes are only read. */
FILE *wi_memory_file_read(wi_memory_file *m);

#ifdef __cplusplus
}
#endif
#endif
