/* SPDX-License-Identifier: Apache-2.0 */
/* The last warp of a block of the rung "one_pass" of reduction by key, and the words by which it
 * and the others tell each other how far they are. */
#ifndef WI_GROUP_RUNS_GUIDE_CUH
#define WI_GROUP_RUNS_GUIDE_CUH

#include "cuda/lookback.cuh"
#include "cuda/post.cuh"
#include "group/group_tile.cuh"
#include "select/select_cuda.cuh"

/* A block's warps: the first have elements; the last takes tickets and looks back. */
constexpr int threads = wi_group_block; /* that have elements */
constexpr int warps = threads / 32;
constexpr int block = threads + 32;
constexpr int rounds_apart = 2;                  /* rounds that a block's warps are at, at most */
constexpr uint64_t has_runs = (uint64_t)1 << 63; /* beside the number of runs before a tile */

template <class Reducer, class T>
struct wi_run_params {
    const T *x;
    typename Reducer::Result *y;
    const void *keys;
    void *keys_out; /* or NULL */
    uint64_t n, *count;
    unsigned width;
    const uint32_t *skip;
};

/* What tiles leave to the kernels behind: one of each for every tile, and one for the end. */
template <class State>
struct wi_run_scratch {
    wi_open_segment<State> *opens, *groups;
    State *heads;    /* what is before the first run of a tile */
    uint64_t *bases; /* the runs that begin before a tile; with has_runs if any begins in it */
};

/* What the last warp and the others tell each other in a round. */
template <class State>
struct wi_run_round {
    wi_open_segment<State> open[warps]; /* what each leaves open */
    State head[warps];                  /* what each has before its first run */
    uint64_t ticket, base[warps];       /* runs that begin before each warp's part */
    uint32_t runs[warps];               /* that begin in it */
    /* Words with the number of the round when it has come so far: */
    uint32_t begun, found;
    uint32_t walked[warps];
    uint32_t counted[warps]; /* and the runs of the part that was counted */
};

/* The number of a round beside a count. */
constexpr unsigned bits_of_count = 16;
__device__ inline uint32_t wi_round_word(uint32_t round, uint32_t count = 0) {
    return (round + 1) << bits_of_count | count;
}
__device__ inline bool wi_is_of_round(uint32_t word, uint32_t round) {
    return (word ^ wi_round_word(round)) >> bits_of_count == 0;
}

/* Waits for a word of a round; for one lane. */
__device__ inline uint32_t wi_await_round(uint32_t *word, uint32_t round) {
    uint32_t now = wi_hear(word);
    while (!wi_is_of_round(now, round)) {
        wi_pause();
        now = wi_hear(word);
    }
    return now;
}

/* The last warp, which takes tickets, publishes counts and finds bases. */
template <class Reducer, class T>
struct wi_run_guide {
    using State = typename Reducer::State;
    using Open = wi_open_segment<State>;
    using Round = wi_run_round<State>;
    const Reducer &reducer;
    const wi_run_params<Reducer, T> &p;
    const wi_run_scratch<State> &scratch;
    const wi_lookback &l;
    Round *rounds;
    uint64_t epoch;

    __device__ static bool is_part() {
        return wi_lane() < warps;
    }

    /* Waits until all warps have counted in a round; lane w gets what warp w has. */
    __device__ uint32_t await_counts(uint32_t round) const {
        uint32_t runs = 0;
        if (is_part())
            runs = wi_await_round(&rounds[round % rounds_apart].counted[wi_lane()], round) &
                   ((1u << bits_of_count) - 1);
        __syncwarp();
        return runs;
    }

    /* Waits until a warp is nearly done with its part in a round. A ticket that is taken before
     * lies there uncounted, and others wait for it. */
    __device__ void await_first_walked(uint32_t round) const {
        uint32_t *const walked = rounds[round % rounds_apart].walked;
        while (!__any_sync(wi_all_lanes,
                           is_part() && wi_is_of_round(wi_hear(&walked[wi_lane()]), round)))
            wi_pause();
    }

    /* Finds how many runs begin before the parts of a tile, which is reduced in this round. */
    __device__ void find_bases(const wi_view<wi_add_counts, uint64_t> &view, uint64_t tile,
                               uint32_t runs, uint32_t round) const {
        Round &now = rounds[round % rounds_apart];
        const uint32_t up_to = wi_warp_sum_scan(runs), all = wi_shuffle(up_to, 31);
        uint64_t after;
        const uint64_t base = wi_find_carry_from<wi_add_counts>(view, l, epoch, tile, (uint64_t)0,
                                                                (uint64_t)all, &after);
        if (is_part())
            now.base[wi_lane()] = base + up_to - runs;
        __syncwarp();
        if (wi_lane() > 0)
            return;
        wi_tell(&now.found, wi_round_word(round));
        scratch.bases[tile] = base | (all > 0 ? has_runs : 0);
        if (tile == l.tiles - 1) {
            *p.count = after;
            scratch.bases[l.tiles] = after | has_runs;
            scratch.heads[l.tiles] = reducer.identity();
            scratch.opens[l.tiles] = {reducer.identity(), 1};
        }
    }

    /* Joins what the parts of a tile have left in a round: the run that ends where the first of a
     * part begins. */
    __device__ void close(uint64_t tile, uint32_t round) const {
        const Round &done = rounds[round % rounds_apart];
        const int lane = wi_lane();
        Open mine = {reducer.identity(), 0};
        if (is_part())
            mine = done.open[lane];
        const Open up_to = wi_warp_scan<warps>(
            mine, [&](const Open &a, const Open &b) { return wi_follow(reducer, a, b); });
        Open before = wi_shuffle_up(up_to, 1);
        if (lane == 0)
            before = {reducer.identity(), 0};
        if (lane == warps - 1)
            scratch.opens[tile] = up_to;
        if (!is_part() || done.runs[lane] == 0)
            return;
        const State state = reducer.combine(before.state, done.head[lane]);
        if (before.ended)
            p.y[done.base[lane] - 1] = reducer.finish(state);
        else
            scratch.heads[tile] = state;
    }

    __device__ uint64_t take_ticket() const {
        return wi_lane() == 0 ? wi_lookback_take_tile(l) : 0;
    }

    /* In a round it hands out a ticket, publishes how many runs begin in that tile, finds bases of
     * the ticket before, and joins what was left of the one before that. */
    __device__ void work() const {
        uint64_t ticket = wi_shuffle(take_ticket(), 0), last = l.tiles, before_last = l.tiles;
        uint32_t last_runs = 0;
        for (uint32_t round = 0;; round++) {
            Round &now = rounds[round % rounds_apart];
            if (wi_lane() == 0) {
                now.ticket = ticket;
                wi_tell(&now.begun, wi_round_word(round));
            }
            wi_view<wi_add_counts, uint64_t> view = {};
            if (last < l.tiles)
                view = wi_look<wi_add_counts, uint64_t>(l, last);
            const uint32_t runs = await_counts(round), all = wi_warp_sum(runs);
            if (ticket < l.tiles && wi_lane() == 0)
                wi_publish_total(l, epoch, ticket, (uint64_t)all);
            if (last < l.tiles)
                find_bases(view, last, last_runs, round);
            if (ticket < l.tiles && wi_ends_group(ticket))
                wi_publish_group<wi_add_counts, uint64_t>(l, epoch, ticket);
            if (before_last < l.tiles)
                close(before_last, round - 1);
            if (ticket >= l.tiles && last >= l.tiles)
                return;
            if (last < l.tiles)
                await_first_walked(round);
            before_last = last, last = ticket, last_runs = runs;
            __syncwarp(); /* the round before is done with */
            if (ticket < l.tiles)
                ticket = wi_shuffle(take_ticket(), 0);
        }
    }
};

#endif
