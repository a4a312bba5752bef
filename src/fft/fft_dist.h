/* SPDX-License-Identifier: Apache-2.0 */
/* fft over ranks. An array is divided along dimension 0 (rows: planes of a box) or along dimension
 * 1 (columns: for each index of dimension 0, some of the numbers of its row). A rank transforms
 * along dimension 0 what it has of columns, and along the others what it has of rows; in between
 * the ranks exchange blocks. */
#ifndef WI_FFT_DIST_H
#define WI_FFT_DIST_H

#include "comm/dist.h"
#include "fft/fft.h"

/* Where a call is only prepared or counted: all of its steps are gone through, but none takes
 * memory, or sends anything. Arrays are stand-ins: no address within them is computed. */
typedef struct wi_fft_tally {
    size_t taken, most; /* bytes that the steps would have now, and had at a time */
} wi_fft_tally;

/* A call on one rank: `a` has the whole lengths, and the strides of this rank's parts. Index k of
 * the divided dimension belongs to the rank r with begin[r] <= k < begin[r + 1]. */
typedef struct wi_fft_spread {
    weft_context *ctx;
    const wi_fft_args *a;
    const wi_row *row;     /* what each rank runs on its own place */
    const size_t *x_begin; /* indices of dimension 0, or of dimension 1 if x is transposed */
    const size_t *y_begin;
    size_t columns;      /* complex numbers of a row: of all dimensions but the first */
    size_t across;       /* and of all but the first two */
    wi_fft_tally *tally; /* not NULL: the call is only prepared or counted */
} wi_fft_spread;

/* Numbers in memory of the place, or the caller's: row i of transform b begins at
 * p + b apart + i pitch. Columns have a pitch of 2 at least, unless the whole has one column: a
 * column that is alone would be transformed in another way than one with neighbours. */
typedef struct wi_fft_rows {
    void *p;
    size_t pitch, apart; /* in complex numbers */
} wi_fft_rows;

/* Memory of this rank that a step takes, and gives back, if it is only counted. */
static inline void wi_fft_tally_take(const wi_fft_spread *s, size_t bytes) {
    s->tally->taken += bytes;
    if (s->tally->taken > s->tally->most)
        s->tally->most = s->tally->taken;
}
static inline void wi_fft_tally_give(const wi_fft_spread *s, size_t bytes) {
    s->tally->taken -= bytes;
}

/* Where the part of rank r begins if n indices are divided as equally as can be. */
size_t wi_fft_even_begin(size_t n, size_t rank, size_t ranks);

/* Transforms this rank's rows and leaves its columns, with all indices of dimension 0, in `to`.
 * `args` says how rows are transformed, and from where; its y and n[0] are set here. */
weft_status wi_fft_rows_to_columns(const wi_fft_spread *s, const wi_fft_args *args,
                                   const size_t *rows, const size_t *columns,
                                   const wi_fft_rows *to);

/* The other way: if `transforms`, columns are transformed along dimension 0 in `work`, where they
 * are; and rows are left in `to`. */
weft_status wi_fft_columns_to_rows(const wi_fft_spread *s, const wi_fft_rows *work, bool transforms,
                                   const size_t *columns, const size_t *rows,
                                   const wi_fft_rows *to);

/* Transforms columns first ... first + count - 1 of those in `work` along dimension 0. */
weft_status wi_fft_columns_run(const wi_fft_spread *s, const wi_fft_rows *work, size_t first,
                               size_t count);

/* Memory of this rank's place for `numbers` complex numbers. */
weft_status wi_fft_numbers_take(const wi_fft_spread *s, size_t numbers, void **p);
void wi_fft_numbers_give(const wi_fft_spread *s, size_t numbers, void *p);

/* Number `at` of an array of complex numbers. */
void *wi_fft_number_at(const wi_fft_spread *s, void *p, size_t at);

/* Runs a part of the call on this rank's place: from and to arrays in any memory. */
weft_status wi_fft_run_here(const wi_fft_spread *s, const wi_fft_args *args);

#endif
