/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of columns that the analysis of an indefinite matrix keeps together, so that they can be a
 * pivot of two columns: a column with a small diagonal entry, and one with a large entry in its
 * row. The pair is ordered as one vertex, and afterwards its columns have the same neighbours, so
 * that they follow each other in one supernode. Internal. */
#ifndef WI_SPARSE_PAIRS_H
#define WI_SPARSE_PAIRS_H

#include "sparse/symbolic.h"

/* partner[j]: the other column of the pair, or -1. *partner is NULL if there are no pairs; free it
 * with wi_host_free. */
weft_status wi_pairs_find(weft_context *ctx, const char *call, const weft_sparse *matrix,
                          int64_t **partner);

/* The graph in which every pair is one vertex. `vertex` has room for n: vertex[j] is that of column
 * j; vertices are numbered by their first columns. */
weft_status wi_pairs_join(weft_context *ctx, const char *call, const wi_pattern *graph,
                          const int64_t *partner, int64_t *vertex, wi_pattern *joined);

/* Replaces an order of these vertices, in perm, by that of the columns, and the graph by one in
 * which the columns of a pair have the same neighbours. */
weft_status wi_pairs_part(weft_context *ctx, const char *call, const wi_pattern *joined,
                          const int64_t *partner, const int64_t *vertex, int64_t *perm,
                          wi_pattern *graph);

#endif
