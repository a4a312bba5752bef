/* SPDX-License-Identifier: Apache-2.0 */
/* Where sorted parts of all ranks are cut, so that every rank gets its share of the whole in order.
 * The cuts are exact, whatever the keys are: equal keys are divided, too. */
#ifndef WI_SORT_CUT_H
#define WI_SORT_CUT_H

#include "comm/dist.h"
#include "sort/sort.h"

enum {
    WI_SORT_RUNS = 2
};

/* One or two arrays in order, of which every rank has a part, in memory that the communicator
 * takes. Among equal keys those of the first array come first, and in each array those of lower
 * ranks. */
typedef struct wi_sort_cut {
    weft_type type;
    bool descending;
    unsigned first_bit, end_bit; /* what is compared */
    int runs;
    size_t n[WI_SORT_RUNS];
    const void *x[WI_SORT_RUNS];
    /* For each run and rank: how many elements go there, and come from there. */
    size_t *sent[WI_SORT_RUNS], *got[WI_SORT_RUNS];
    uint64_t *room;            /* the memory of all this */
    struct wi_sort_seen *seen; /* keys that were read from device memory; NULL: x is host memory */
    size_t guesses;            /* of the key where a share begins, that are counted at once */
    weft_status status;        /* of reads and searches in device memory */
} wi_sort_cut;

/* Takes memory; wi_sort_cut_close frees it. */
weft_status wi_sort_cut_open(weft_context *ctx, wi_sort_cut *cut);
void wi_sort_cut_close(wi_sort_cut *cut);

/* Fills sent and got, so that every rank gets as many elements as it has. WEFT_EARG on all ranks if
 * an array is not in order. */
weft_status wi_sort_cut_find(weft_context *ctx, wi_sort_cut *cut);

/* Does this rank get as many elements, got[k][r] of run k from rank r, as it has, n[k]? WEFT_EARG:
 * no, and so an array is not in order. */
weft_status wi_sort_check_share(weft_context *ctx, int runs, const size_t n[], size_t *const got[]);

/* Sends run k's elements of `width` bytes: those of `from` to the ranks, and theirs to `to`. */
weft_status wi_sort_cut_exchange(weft_context *ctx, wi_sort_cut *cut, int k, const void *from,
                                 void *to, size_t width);

#endif
