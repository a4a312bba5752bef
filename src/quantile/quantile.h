/* SPDX-License-Identifier: Apache-2.0 */
/* quantile inside the library: one checked call as its rungs get it, and the rungs. */
#ifndef WI_QUANTILE_H
#define WI_QUANTILE_H

#include "core/rows.h"
#include "quantile/quantile_rule.h"
#include "weft/quantile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One checked call on memory that the place can access directly. */
typedef struct wi_quantile_args {
    const char *call; /* the public name, for messages */
    weft_type type;
    size_t n; /* > 0 */
    const void *x;
    size_t count;                /* of jobs, > 0 */
    const wi_quantile_job *jobs; /* in host memory */
    bool elements;               /* the results are elements, of fraction 0; else f64 */
    void *out;
} wi_quantile_args;

extern const wi_ladder wi_quantile_ladder;

/* A public call, as the user made it: what the rung over ranks gets. */
typedef struct wi_quantile_request {
    const char *call, *wanted_name, *results_name;
    weft_type type, wanted_type, result_type;
    weft_quantile_rule rule;
    size_t n, m;
    const void *x, *wanted;
    void *results;
    bool silent; /* on a GPU of several whose results nobody reads: `results` is NULL */
} wi_quantile_request;

/* Takes the jobs that are wanted of n elements; refuses ranks that are not below n. */
weft_status wi_quantile_take_jobs(weft_context *ctx, const wi_quantile_request *r, size_t n,
                                  wi_quantile_job **jobs);

/* Does the request ask for elements as they are? */
bool wi_quantile_wants_elements(const wi_quantile_request *r);

enum {
    WI_QUANTILE_DIGIT_BITS = 8, /* of keys whose digits are counted over ranks */
    WI_QUANTILE_DIGITS = 1 << WI_QUANTILE_DIGIT_BITS
};

/* Keys that begin with the same bits; and how many of the elements that are counted have smaller
 * keys, and such ones. */
typedef struct wi_quantile_prefix {
    uint64_t bits, below, inside;
} wi_quantile_prefix;

/* counts[p][d] = how many keys begin with prefix p and have the digit d next, where `shift` bits
 * follow the prefix. At most WI_QUANTILE_GROUP prefixes. */
weft_status wi_quantile_count(weft_context *ctx, const wi_quantile_args *args,
                              const wi_quantile_prefix *prefixes, unsigned count, unsigned shift,
                              uint64_t (*counts)[WI_QUANTILE_DIGITS]);
weft_status wi_quantile_count_cuda(weft_context *ctx, const wi_quantile_args *args,
                                   const wi_quantile_prefix *prefixes, unsigned count,
                                   unsigned shift, uint64_t (*counts)[WI_QUANTILE_DIGITS]);

/* The jobs from `first` on, as many as one pass takes. */
wi_quantile_group wi_quantile_group_at(const wi_quantile_args *args, size_t first);

/* The k-th smallest of n keys, which end in another order: none before keys[k] is larger, none
 * after it is smaller. k < n. */
uint64_t wi_quantile_select(uint64_t *keys, size_t n, size_t k);

/* Stores result j on a cpu: of two neighbouring keys, the second if the job wants it. */
void wi_quantile_put(const wi_quantile_args *args, size_t j, uint64_t key, uint64_t next);

/* ---- the rungs ---- */
weft_status wi_quantile_serial(weft_context *ctx, const void *args);
weft_status wi_quantile_narrowed(weft_context *ctx, const void *args);
weft_status wi_quantile_sampled_threads(weft_context *ctx, const void *args);
weft_status wi_quantile_sorted(weft_context *ctx, const void *args);
weft_status wi_quantile_sorted_cuda(weft_context *ctx, const void *args);
weft_status wi_quantile_digits(weft_context *ctx, const void *args);
weft_status wi_quantile_places(weft_context *ctx, const void *args);
weft_status wi_quantile_bracketed(weft_context *ctx, const void *args);
weft_status wi_quantile_ranks(weft_context *ctx, const void *request);

#ifdef __cplusplus
}
#endif
#endif
