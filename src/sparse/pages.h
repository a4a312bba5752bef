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

/* Memory whose pages are there; NULL if there is none. For a team of one as wi_host_alloc. */
void *wi_pages_take(const weft_context *ctx, int team, size_t bytes);
/* `team` and `bytes` as above. */
void wi_pages_free(const weft_context *ctx, int team, void *p, size_t bytes);

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
