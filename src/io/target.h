/* SPDX-License-Identifier: Apache-2.0 */
/* Files being written. What stood under the name stays whole until all of the new is on the disk:
 * that is written beside it, under a name of its own, and takes the name last. */
#ifndef WI_TARGET_H
#define WI_TARGET_H

#include <stdio.h>

#include "core/core.h"
#include "io/note.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_PATH_BYTES = 4096 /* no longer path can be opened */
};

/* A file being written. Devices, pipes and what /proc lists are written as they are; `temporary` is
 * then empty, and failure leaves what was written. */
typedef struct wi_target {
    FILE *file;
    const char *path;              /* as given, for messages */
    char final[WI_PATH_BYTES];     /* what is replaced: where `path` leads, links followed */
    char temporary[WI_PATH_BYTES]; /* the name of what is written, in the same folder */
} wi_target;

/* Where `path` leads, links followed, whether or not that exists. 0 or an errno. */
int wi_target_find(const char *path, char final[WI_PATH_BYTES]);

/* 0, or the errno that wi_target_open is going to fail with, as far as can be told. */
int wi_target_foresee(const char *path);

/* Opens target->file. A file that is to be replaced has to be one that could be written, and the
 * new one gets its mode and, as far as this process may, its owner and group. */
weft_status wi_target_open(const char *path, wi_target *target, wi_note *note);

/* Sees to it that all is on the disk, and gives it its name; on failure it is removed. Other names
 * of the file that is replaced (hard links) keep what was there. */
weft_status wi_target_close(wi_target *target, wi_note *note);

/* After a write that failed: says why, by errno, and drops the file. Returns WEFT_EIO. */
weft_status wi_target_fail(wi_target *target, wi_note *note);

/* Closes and removes what was written so far. */
void wi_target_drop(wi_target *target);

#ifdef __cplusplus
}
#endif
#endif
