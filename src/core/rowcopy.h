/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between arrays of rows, whole, or in pieces that several threads share. */
#ifndef WI_ROWCOPY_H
#define WI_ROWCOPY_H

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows in memory (a pitched array): consecutive rows start pitch_bytes apart. */
typedef struct wi_pitched {
    char *p;
    size_t pitch_bytes;
} wi_pitched;

/* Of host arrays: copies bytes [begin, end) of the rows, counted as if they had no gaps; a row has
 * row_bytes. The gaps of `to` are not written. */
void wi_pitched_copy(wi_pitched to, wi_pitched from, size_t row_bytes, size_t begin, size_t end);

/* Of host arrays: copies all rows with up to `threads` threads. */
void wi_pitched_copy_all(const weft_context *ctx, int threads, wi_pitched to, wi_pitched from,
                         size_t rows, size_t row_bytes);

/* Copies rows between memory that the place can reach, all of them; on a GPU the copy is queued. */
weft_status wi_copy_rows(weft_context *ctx, wi_pitched to, wi_pitched from, size_t rows,
                         size_t row_bytes);

#ifdef __cplusplus
}
#endif
#endif
