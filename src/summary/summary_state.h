/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of a part of the elements, and how two become one: the same on a cpu and on a GPU. */
#ifndef WI_SUMMARY_STATE_H
#define WI_SUMMARY_STATE_H

#include <math.h>
#include <stdint.h>

#ifdef __CUDACC__
#    define WI_SUMMARY_BOTH __host__ __device__ static inline
#else
#    define WI_SUMMARY_BOTH static inline
#endif

/* Sums of differences to `shift`, a number among the elements or near them: means and their
 * differences are then as accurate as the spread of the elements allows, however far from 0 they
 * are. */
typedef struct wi_summary_sums {
    uint64_t count;
    double shift;
    double sum;     /* of x - shift */
    double squares; /* of x - mean */
} wi_summary_sums;

/* Extremes are keys of sort.h, of which the order is the elements'. */
typedef struct wi_summary_state {
    wi_summary_sums sums;
    uint64_t nans;
    uint64_t least, most;
    uint64_t least_at, most_at; /* not used if there are no elements */
} wi_summary_state;

/* Ends sums of d = x - shift and of d d. */
WI_SUMMARY_BOTH wi_summary_sums wi_summary_close(uint64_t count, double shift, double sum,
                                                 double of_squares) {
    const double squares = count > 0 ? of_squares - sum * (sum / (double)count) : 0;
    const wi_summary_sums s = {count, shift, sum, squares < 0 ? 0 : squares};
    return s;
}

/* a, then b (Chan, Golub and LeVeque 1979). */
WI_SUMMARY_BOTH wi_summary_sums wi_summary_add(wi_summary_sums a, wi_summary_sums b) {
    if (a.count == 0)
        return b;
    if (b.count == 0)
        return a;
    const double na = (double)a.count, nb = (double)b.count;
    const double sum = b.sum + nb * (b.shift - a.shift); /* about a's shift */
    const double apart = a.sum / na - sum / nb;
    a.squares += b.squares + na * (nb / (na + nb)) * (apart * apart);
    a.count += b.count;
    a.sum += sum;
    return a;
}

/* Of equal extremes the one at the lower position counts. */
WI_SUMMARY_BOTH wi_summary_state wi_summary_merge(wi_summary_state a, wi_summary_state b) {
    if (a.sums.count == 0) {
        b.nans += a.nans;
        return b;
    }
    a.nans += b.nans;
    if (b.sums.count == 0)
        return a;
    if (b.least < a.least || (b.least == a.least && b.least_at < a.least_at)) {
        a.least = b.least;
        a.least_at = b.least_at;
    }
    if (b.most > a.most || (b.most == a.most && b.most_at < a.most_at)) {
        a.most = b.most;
        a.most_at = b.most_at;
    }
    a.sums = wi_summary_add(a.sums, b.sums);
    return a;
}

#endif
