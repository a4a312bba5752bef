/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic that all rungs share, the same on a cpu and on a GPU: what a rank found becomes
 * when it is given out, and between which elements of a sample a rank is looked for. */
#ifndef WI_QUANTILE_RULE_H
#define WI_QUANTILE_RULE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#    define WI_QUANTILE_BOTH __host__ __device__ static inline
#else
#    define WI_QUANTILE_BOTH static inline
#endif

enum {
    WI_QUANTILE_GROUP = 8,              /* ranks that one pass over the elements looks for */
    WI_QUANTILE_SAMPLED_FROM = 1 << 14, /* elements; of fewer a GPU takes no sample */
    WI_QUANTILE_PLACES = 1 << 12        /* elements; of so many a GPU counts those before each */
};

/* What is wanted: the element of a rank or, if `fraction` is not 0, what lies that far between it
 * and the next. */
typedef struct wi_quantile_job {
    uint64_t rank;
    double fraction;
} wi_quantile_job;

/* The jobs of one pass. */
typedef struct wi_quantile_group {
    uint32_t count;
    wi_quantile_job job[WI_QUANTILE_GROUP];
} wi_quantile_group;

/* The keys between which a rank is looked for, and how many keys there are. Keys strictly between
 * low and high are kept; those equal to an end are only counted, so that an element that occurs
 * often fills no memory. */
typedef struct wi_quantile_bracket {
    uint64_t low, high;       /* low <= high */
    uint64_t below;           /* keys < low */
    uint64_t at_low, at_high; /* keys equal to an end; at_high is 0 if the ends are equal */
    uint64_t inside;
} wi_quantile_bracket;

/* Does the bracket hold this rank, and the next if that is wanted too? */
WI_QUANTILE_BOTH bool wi_quantile_holds(const wi_quantile_bracket *b, const wi_quantile_job *job) {
    const uint64_t last = job->rank + (job->fraction > 0);
    return b->below <= job->rank && last < b->below + b->at_low + b->inside + b->at_high;
}

/* Where in a sorted sample the ends of a bracket are. The number of sampled keys below the wanted
 * one varies by less than spread = 4.5 standard deviations in all but one of 100 000 samples. An
 * end beyond the sample is the end of all keys, for which these return false. */
typedef struct wi_quantile_window {
    double first, last;
} wi_quantile_window;

WI_QUANTILE_BOTH wi_quantile_window wi_quantile_window_of(uint64_t rank, uint64_t n,
                                                          double sample) {
    const double share = ((double)rank + 0.5) / (double)n, at = share * sample;
    const double spread = 2 + 4.5 * sqrt(at * (1 - share));
    const wi_quantile_window window = {floor(at - spread), ceil(at + spread)};
    return window;
}

/* a + fraction (b - a), as weft/quantile.h says. Every NaN becomes the same one. */
WI_QUANTILE_BOTH double wi_quantile_between(double a, double b, double fraction) {
    double between = a;
    if (fraction > 0 && !(a == b)) {
        const double width = b - a;
        between = isinf(width) ? fma(fraction, b, (1 - fraction) * a) : fma(fraction, width, a);
        between = between > b ? b : between;
    }
    return isnan(between) ? (double)NAN : between;
}

/* The place in x of element i of a sample of `size`: anywhere in the i-th of `size` equal parts of
 * x, so that no period of x can mislead. */
WI_QUANTILE_BOTH uint64_t wi_quantile_sampled(uint64_t i, uint64_t size, uint64_t n) {
    const uint64_t part = n / size;
    uint64_t z = (i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return i * part + (z ^ (z >> 31)) % part;
}

#endif
