/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a sort by ranges, from samples: which ranges there are, whose they are, and where
 * their elements lie. All ranks make the same one. */
#include "sort/sort_ranges.h"

#include <math.h>

#ifdef WEFT_CUDA

enum {
    RANGES_OF_RANK = 3, /* with bounds, at most: each is a group */
    ROUND = 64          /* elements: memory of a range begins at a multiple */
};

/* Each group is so much longer than the one before: a GPU sorts one in the time in which the next
 * one arrives. An H200 sorts 2.7 times as many keys as a link brings; with values, fewer. Behind
 * the first digit it sorts in less time. */
static const double growth = 2.5, growth_of_digits = 2;

static size_t rounded(size_t elements) {
    return (elements + ROUND - 1) / ROUND * ROUND;
}

/* Of `groups` that grow, which share of the whole comes before group k. */
static double share_before(int k, int groups, double grows) {
    return (pow(grows, k) - 1) / (pow(grows, groups) - 1);
}

/* Divides the sorted samples: each rank's share of the whole into ranges that grow. */
void wi_sort_ranges_divide(wi_sort_plan_ranges *p) {
    wi_sort_ranges *const r = &p->ranges;
    const int most = WI_SORT_MOST_RANGES / r->ranks;
    const int of_rank = most < RANGES_OF_RANK ? most : RANGES_OF_RANK;
    const uint64_t total = r->first[r->ranks];
    r->count = r->ranks * of_rank;
    for (int k = 0; k < r->count; k++) {
        const int rank = k / of_rank;
        const double part = share_before(k % of_rank, of_rank, growth);
        const uint64_t first = r->first[rank];
        const uint64_t at = first + (uint64_t)(part * (double)(r->first[rank + 1] - first));
        r->begin[k] = (uint64_t)((double)at / (double)total * (double)r->samples);
    }
    for (int rank = 0; rank <= r->ranks; rank++)
        p->first_range[rank] = rank * of_rank;
}

/* How many samples of all ranks have digit d. */
static uint64_t samples_of(const wi_sort_plan_ranges *p, int d) {
    uint64_t sum = 0;
    for (int rank = 0; rank < p->ranges.ranks; rank++)
        sum += p->drawn[rank][d];
    return sum;
}

/* Are there many elements, whose first digits are spread so evenly that each can be a range? A
 * piece that is sorted has fewer than 2^30 elements. */
static bool is_even(const wi_sort_plan_ranges *p) {
    const wi_sort_digit digit = wi_sort_first_digit();
    const int digits = 1 << digit.bits;
    const double total = (double)p->ranges.first[p->ranges.ranks], all = (double)p->ranges.samples;
    uint64_t most = 0;
    for (int d = 0; d < digits; d++) {
        const uint64_t samples = samples_of(p, d);
        most = samples > most ? samples : most;
    }
    return total >= (double)digit.from * p->ranges.ranks &&
           (double)most * digits <= digit.most * all &&
           (double)most / all * total < (double)(1 << 29);
}

/* Gives each digit to the rank whose share has the middle one of its elements. */
bool wi_sort_digits_divide(wi_sort_plan_ranges *p) {
    wi_sort_ranges *const r = &p->ranges;
    const double total = (double)r->first[r->ranks];
    double before = 0; /* samples */
    int rank = 0;
    p->by_digit = is_even(p);
    if (!p->by_digit)
        return false;
    r->count = 1 << wi_sort_first_digit().bits;
    for (int d = 0; d < r->count; d++) {
        const double samples = (double)samples_of(p, d), middle = before + samples / 2;
        while (rank < r->ranks && (double)r->first[rank] / total * (double)r->samples <= middle)
            p->first_range[rank++] = d;
        before += samples;
    }
    while (rank <= r->ranks)
        p->first_range[rank++] = r->count;
    return true;
}

/* Room for what each rank has of each range. */
static void plan_room(wi_sort_plan_ranges *p, size_t key_bytes) {
    const wi_sort_ranges *const r = &p->ranges;
    const double stretch = (double)r->first[r->ranks] / (double)r->samples;
    for (int rank = 0; rank < r->ranks; rank++) {
        const uint64_t has = r->first[rank + 1] - r->first[rank];
        for (int k = 0; k < r->count; k++) {
            const uint64_t most = wi_sort_ranges_room(key_bytes, p->drawn[rank][k], stretch);
            p->room[rank][k] = rounded((size_t)(most < has ? most : has));
        }
    }
}

/* Where in the memory of `owner` that lies which it deals out: its own ranges first, each with
 * those of all ranks in their order, then what it has for other ranks. */
static void plan_places(wi_sort_plan_ranges *p, int owner) {
    const int first = p->first_range[owner], end = p->first_range[owner + 1];
    size_t at = 0;
    for (int k = first; k < end; k++) {
        for (int from = 0; from < p->ranges.ranks; from++) {
            if (from == owner)
                p->place[owner][k] = at;
            at += p->room[from][k];
        }
    }
    for (int k = 0; k < p->ranges.count; k++) {
        if (k >= first && k < end)
            continue;
        p->place[owner][k] = at;
        at += p->room[owner][k];
    }
    p->length[owner] = at;
}

void wi_sort_ranges_place(wi_sort_plan_ranges *p, size_t key_bytes) {
    plan_room(p, key_bytes);
    for (int owner = 0; owner < p->ranges.ranks; owner++)
        plan_places(p, owner);
}

int wi_sort_ranges_groups(const wi_sort_plan_ranges *p, int rank, int *first) {
    const int begin = p->first_range[rank], ranges = p->first_range[rank + 1] - begin;
    const int groups = p->by_digit ? WI_SORT_MOST_GROUPS : ranges;
    for (int g = 0; g <= groups; g++)
        first[g] =
            begin + (p->by_digit ? (int)(ranges * share_before(g, groups, growth_of_digits)) : g);
    return groups;
}

#endif
