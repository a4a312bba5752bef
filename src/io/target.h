/* SPDX-License-Identifier: Apache-2.0 */
/* Writing files. The old file stays complete until all of the new one is on the disk: the new one
 * is written under a temporary name in the same folder, and renamed last. */
#ifndef WI_TARGET_H
#define WI_TARGET_H

#include <stdio.h>

#include "core/core.h"
#include "io/note.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_PATH_BYTES = 4096 /* longer paths cannot be opened */
};

/* A file being written. Devices, pipes and files in /proc are written directly; `temporary` is then
 * empty, and after a failure what was written remains. */
typedef struct wi_target {
    FILE *file;
    const char *path;              /* as given, for messages */
    char final[WI_PATH_BYTES];     /* the file to be replaced: `path` with links followed */
    char temporary[WI_PATH_BYTES]; /* the temporary name, in the same folder */
} wi_target;

/* Follows links from `path`; the file need not exist. Returns 0 or an errno. */
int wi_target_find(const char *path, char final[WI_PATH_BYTES]);

/* 0, or the errno with which wi_target_open will fail, as far as can be known. */
int wi_target_foresee(const char *path);

/* Opens target->file. A file that would be replaced must be writable; the new one gets its mode
 * and, as far as this process may, its owner and group. */
weft_status wi_target_open(const char *path, wi_target *target, wi_note *note);

/* Flushes the file to the disk and renames it; on failure it is removed. Other names (hard links)
 * of the replaced file keep the old contents. */
weft_status wi_target_close(wi_target *target, wi_note *note);

/* After a failed write: records why, from errno, and drops the file. Returns WEFT_EIO. */
weft_status wi_target_fail(wi_target *target, wi_note *note);

/* Closes and removes the unfinished file. */
void wi_target_drop(wi_target *target);

#ifdef __cplusplus
}
#endif
#endif
