/* SPDX-License-Identifier: Apache-2.0 */
/* The lengths of runs from the positions where they begin, in place, by all threads. */
#include "cpu/team.h"
#include "select/select.h"

enum {
    MOST_THREADS = 256
};

typedef struct work {
    const wi_select_args *args;
    size_t count;
    uint64_t next[MOST_THREADS]; /* the position behind the last of each thread's */
} work;

static void take_share(void *user, int rank, int size) {
    const work *const w = user;
    const size_t first = wi_team_share(w->count, rank, size);
    const size_t end = wi_team_share(w->count, rank + 1, size);
    if (first == end)
        return;
    if (w->args->position_bytes == sizeof(uint32_t)) {
        uint32_t *const at = w->args->positions;
#pragma omp simd
        for (size_t k = first; k < end - 1; k++)
            at[k] = at[k + 1] - at[k];
        at[end - 1] = (uint32_t)w->next[rank] - at[end - 1];
    } else {
        uint64_t *const at = w->args->positions;
#pragma omp simd
        for (size_t k = first; k < end - 1; k++)
            at[k] = at[k + 1] - at[k];
        at[end - 1] = w->next[rank] - at[end - 1];
    }
}

void wi_select_take_lengths(const weft_context *ctx, const wi_select_args *args, uint64_t count) {
    const size_t bytes = (size_t)count * args->position_bytes;
    const int most = wi_team_size(ctx, (size_t)count, bytes);
    const int team = most < MOST_THREADS ? most : MOST_THREADS;
    work w = {.args = args, .count = (size_t)count};
    for (int rank = 0; rank < team; rank++) {
        const size_t end = wi_team_share(w.count, rank + 1, team);
        w.next[rank] =
            end < w.count ? wi_element_bits(args->positions, args->position_bytes, end) : args->n;
    }
    wi_team_run(ctx, team, take_share, &w);
}
