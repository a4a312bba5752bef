/* SPDX-License-Identifier: Apache-2.0 */
/* Where sorted parts of records are cut, so that every rank gets its share of the whole in order:
 * sort_cut.h for records, which have no bits of one key to search by. */
#ifndef WI_SORT_RECORDS_CUT_H
#define WI_SORT_RECORDS_CUT_H

#include "comm/dist.h"
#include "sort/sort.h"

/* One or two arrays of records in order, of which every rank has a part. Among equal records those
 * of the first array come first, and in each array those of lower ranks. */
typedef struct wi_records_cut {
    size_t record_bytes, n_fields;
    const weft_field *fields;
    int runs;
    size_t n[2];
    const void *x[2];
    /* For each array and rank: how many records go there, and come from there. */
    size_t *sent[2], *got[2];
    void *room; /* memory of `sent` and `got`, which wi_records_cut_close frees */
} wi_records_cut;

/* Finds the cuts and tells the ranks how many records come. Close the cut in any case. */
weft_status wi_records_cut_find(weft_context *ctx, wi_records_cut *cut);
void wi_records_cut_close(wi_records_cut *cut);

#endif
