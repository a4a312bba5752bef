/* SPDX-License-Identifier: Apache-2.0 */
/* Large blocks of memory for a team of threads: the system gives out and takes back pages one by
 * one, which takes one thread a good part of an analysis. */
#ifndef WI_SPARSE_PAGES_H
#define WI_SPARSE_PAGES_H

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_PAGE_BYTES = 4096
};

/* Memory from wi_host_map that a step of the work leaves to those after it, whose pages are there.
 */
typedef struct wi_spare {
    char *memory; /* NULL: none */
    size_t bytes, used;
} wi_spare;

/* A part of it, aligned to 64 bytes; NULL if there is not as much. `spare` may be NULL. */
void *wi_spare_take(wi_spare *spare, size_t bytes);
bool wi_is_spare(const wi_spare *spare, const void *p);
void wi_spare_free(const weft_context *ctx, int team, wi_spare *spare);

/* A part of `spare`, or memory whose pages are there; NULL if there is none. For a team of one as
 * wi_host_alloc. */
void *wi_pages_take(const weft_context *ctx, int team, wi_spare *spare, size_t bytes);
/* The same arguments again. What was a part of `spare` stays taken. */
void wi_pages_free(const weft_context *ctx, int team, const wi_spare *spare, void *p, size_t bytes);

/* Writes to the pages of one of `shares` shares of fresh memory. */
void wi_pages_touch_share(char *memory, size_t bytes, int share, int shares);
/* All threads write to each page of fresh memory, or give back the pages of memory that begins at
 * a page and is about to be unmapped. */
void wi_pages_touch(const weft_context *ctx, int team, void *p, size_t bytes);
void wi_pages_drop(const weft_context *ctx, int team, void *p, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
