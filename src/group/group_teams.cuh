/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "teams": a team of lanes for each segment, so many that each has eight elements on
 * average. A call of few elements is then one wave of blocks that wait for their own loads alone.
 *
 * Segments need not be of one length. What is too much for a team is put on a list, which the whole
 * block goes through; and segments longer than a tile are left to blocks of their own, one for each
 * tile of the array, which reduce what lies in their tile. The last of them joins these parts. */
#ifndef WI_GROUP_TEAMS_CUH
#define WI_GROUP_TEAMS_CUH

#include "cuda/ticket.cuh"
#include "group/group_records.cuh"

namespace {

constexpr unsigned team_threads = 256, team_warps = team_threads / 32, least_team = 8;
/* Elements that a lane has on their way at once, and turns of them that a team takes. Teams of
 * several warps load vectors. */
constexpr unsigned team_loads = 8, team_wide_loads = 16, team_turns = 4;

/* Blocks that teams have, and blocks for tiles, which come behind them. Segments longer than a tile
 * are shared out. */
struct team_shape {
    unsigned lanes, blocks, tiles, tile;
};

struct team_segment {
    uint64_t begin, end;
    __device__ uint64_t length() const {
        return end - begin;
    }
};

template <class State>
struct team_shared {
    State of_warp[team_warps];
    uint64_t listed[team_threads / least_team];
    unsigned many;
    uint64_t ends_of_tile[2]; /* the segments of its first and of its last element */
    wi_open_segment<State> opens[team_warps];
    bool joins;
};

template <class Reducer, class T>
struct team_block {
    using State = typename Reducer::State;
    const Reducer &reducer;
    const wi_group_params<Reducer, T> &p;
    uint64_t count; /* of segments */
    const team_shape &shape;
    team_shared<State> &shared;

    /* Offsets that fall, which nobody has checked, give segments that there are, too. */
    __device__ team_segment segment(uint64_t s) const {
        const uint64_t n = p.starts.n, begin = p.starts.of(s, count),
                       end = p.starts.of(s + 1, count);
        const uint64_t last = end < n ? end : n;
        return {begin < last ? begin : last, last};
    }

    /* Of elements [begin, end) those of the lane `own` of so many: every so many-th. */
    __device__ State take_apart(uint64_t begin, uint64_t end, unsigned own, unsigned lanes) const {
        State state = reducer.identity();
        for (uint64_t i = begin + own; i < end; i += team_loads * lanes) {
            T x[team_loads];
#pragma unroll
            for (unsigned k = 0; k < team_loads; k++)
                x[k] = i + k * lanes < end ? p.x[i + k * lanes] : T();
#pragma unroll
            for (unsigned k = 0; k < team_loads; k++)
                if (i + k * lanes < end)
                    state = reducer.take(state, x[k], x[k], i + k * lanes);
        }
        return state;
    }

    /* The same in vectors; what is before the first and behind the last of them last. */
    __device__ State take_vectors(uint64_t begin, uint64_t end, unsigned own,
                                  unsigned lanes) const {
        using Vector = wi_vector<T>;
        constexpr unsigned wide = Vector::count, many = team_wide_loads / wide;
        const bool is_aligned = wi_is_aligned(p.x);
        const uint64_t round = (begin + wide - 1) / wide * wide, up = round < end ? round : end,
                       low = end / wide * wide, down = low > up ? low : up;
        State state = reducer.identity();
        T before = T(), behind = T();
        if (own < up - begin)
            before = p.x[begin + own];
        if (own < end - down)
            behind = p.x[down + own];
        for (uint64_t i = up + own * wide; i < down; i += many * lanes * wide) {
            Vector x[many];
#pragma unroll
            for (unsigned k = 0; k < many; k++)
                if (i + k * lanes * wide < down)
                    x[k] = wi_load_vector(p.x + i + k * lanes * wide, is_aligned);
#pragma unroll
            for (unsigned k = 0; k < many; k++)
                if (i + k * lanes * wide < down)
#pragma unroll
                    for (unsigned e = 0; e < wide; e++)
                        state =
                            reducer.take(state, x[k].at[e], x[k].at[e], i + k * lanes * wide + e);
        }
        if (own < up - begin)
            state = reducer.take(state, before, before, begin + own);
        if (own < end - down)
            state = reducer.take(state, behind, behind, down + own);
        return state;
    }
    __device__ State take(uint64_t begin, uint64_t end, unsigned own, unsigned lanes) const {
        return lanes > 32 ? take_vectors(begin, end, own, lanes)
                          : take_apart(begin, end, own, lanes);
    }

    /* The states of a team's lanes, for its first one. All of the block call it. */
    __device__ State join(State state, unsigned lanes) const {
        const unsigned lane = (unsigned)wi_lane(), warp = threadIdx.x / 32;
        for (unsigned step = 1; step < lanes && step < 32; step *= 2) {
            const State other = wi_shuffle_xor(state, (int)step);
            state = lane & step ? reducer.combine(other, state) : reducer.combine(state, other);
        }
        if (lanes <= 32)
            return state;
        __syncthreads(); /* what was there before has been read */
        if (lane == 0)
            shared.of_warp[warp] = state;
        __syncthreads();
        if (threadIdx.x % lanes == 0)
            for (unsigned w = 1; w < lanes / 32; w++)
                state = reducer.combine(state, shared.of_warp[warp + w]);
        return state;
    }

    /* The segments on the list, one after another. */
    __device__ void take_listed() const {
        for (unsigned k = 0; k < shared.many; k++) {
            const team_segment own = segment(shared.listed[k]);
            const State all =
                join(take(own.begin, own.end, threadIdx.x, team_threads), team_threads);
            if (threadIdx.x == 0)
                p.y[shared.listed[k]] = reducer.finish(all);
        }
    }

    /* Segments from `first` on, one for each team. */
    __device__ void take_teams(uint64_t first) const {
        const unsigned lanes = shape.lanes, team = threadIdx.x / lanes,
                       own_lane = threadIdx.x % lanes,
                       loads = lanes > 32 ? team_wide_loads : team_loads;
        const uint64_t s = first + team;
        const team_segment own = s < count ? segment(s) : team_segment{0, 0};
        const bool is_own =
            own.length() <= (uint64_t)lanes * loads * team_turns && own.length() <= shape.tile;
        const bool is_listed = !is_own && own.length() <= shape.tile && own_lane == 0;
        const State state =
            join(is_own ? take(own.begin, own.end, own_lane, lanes) : reducer.identity(), lanes);
        if (is_own && own_lane == 0 && s < count)
            p.y[s] = reducer.finish(state);
        if (!__syncthreads_or(is_listed))
            return;
        if (threadIdx.x == 0)
            shared.many = 0;
        __syncthreads();
        if (is_listed)
            shared.listed[atomicAdd(&shared.many, 1u)] = s;
        __syncthreads();
        take_listed();
        __syncthreads();
    }

    /* The last segment that begins at `place` or before it, found by a warp: looks first around
     * where it would be if all had one length. */
    __device__ uint64_t segment_at(uint64_t place) const {
        const unsigned lane = (unsigned)wi_lane();
        const uint64_t guess = (uint64_t)((double)place / (double)p.starts.n * (double)count);
        uint64_t low = 0, high = count, apart = 1, from = guess > 16 ? guess - 16 : 0;
        while (low < high) {
            const uint64_t s = from + lane * apart;
            const bool is_before = s < high && p.starts.of(s, count) <= place;
            const unsigned many = (unsigned)__popc(__ballot_sync(wi_all_lanes, is_before));
            const uint64_t behind = from + many * apart;
            if (many > 0)
                low = behind - apart + 1;
            if (many < 32 && behind < high)
                high = many > 0 ? behind : from;
            from = low;
            apart = (high - low) / 32 + 1;
        }
        return low > 0 ? low - 1 : 0;
    }

    /* What lies in a tile of the segment s, if that is shared out; all of the block call it. */
    __device__ State part_of(uint64_t s, uint64_t first, uint64_t end, bool *ends) const {
        const team_segment own = segment(s);
        *ends = false;
        if (own.length() <= shape.tile)
            return reducer.identity();
        *ends = own.end <= end;
        const uint64_t from = own.begin > first ? own.begin : first;
        return join(take(from, own.end < end ? own.end : end, threadIdx.x, team_threads),
                    team_threads);
    }

    /* What this block leaves of its tile for the one that joins; is anything of it shared out? */
    __device__ bool take_tile(unsigned tile, wi_path_record<State> *record) const {
        const uint64_t first = (uint64_t)tile * shape.tile, behind = first + shape.tile,
                       end = behind < p.starts.n ? behind : p.starts.n;
        const unsigned warp = threadIdx.x / 32;
        if (warp < 2) {
            const uint64_t s = segment_at(warp == 0 ? first : end - 1);
            if (wi_lane() == 0)
                shared.ends_of_tile[warp] = s;
        }
        __syncthreads();
        const uint64_t s = shared.ends_of_tile[0], other = shared.ends_of_tile[1];
        const bool is_shared = segment(s).length() > shape.tile ||
                               (other != s && segment(other).length() > shape.tile);
        if (!is_shared)
            return false;
        bool ends, other_ends;
        const State head = part_of(s, first, end, &ends);
        State open = ends ? reducer.identity() : head;
        if (other != s)
            open = part_of(other, first, end, &other_ends);
        if (threadIdx.x == 0)
            *record = {head, {open, ends}, s};
        return true;
    }
};

/* What is zero before a launch and after it: how many blocks have looked at their tile and, from
 * bit 16 on, how many have left a record; and which these are. */
struct team_words {
    unsigned *ticket, *has_record;
};

/* Is this the last of so many blocks, and has one of them left a record? Only who has written needs
 * an order of memory, which takes longer than all else here. */
__device__ inline bool ends_last_with_records(const team_words &words, unsigned tile,
                                              unsigned tiles, bool has_record, bool *joins) {
    if (threadIdx.x == 0) {
        constexpr unsigned one_record = 1u << 16;
        if (has_record) {
            words.has_record[tile] = 1;
            __threadfence();
        }
        const unsigned was = atomicAdd(words.ticket, has_record ? 1 + one_record : 1);
        const bool is_last = was % one_record == tiles - 1;
        *joins = is_last && (has_record || was >= one_record);
        if (is_last)
            *words.ticket = 0;
        if (*joins)
            __threadfence();
    }
    __syncthreads();
    return *joins;
}

template <class Reducer, class T>
__global__ void __launch_bounds__(team_threads)
    reduce_teams(Reducer reducer, wi_group_params<Reducer, T> p, team_shape shape, team_words words,
                 wi_path_record<typename Reducer::State> *records) {
    using State = typename Reducer::State;
    using Shared = team_shared<State>;
    WEFT_SHARED(Shared, shared, );
    const team_block<Reducer, T> block = {reducer, p, p.starts.count(), shape, shared};
    if (blockIdx.x < shape.blocks) {
        const uint64_t each = team_threads / shape.lanes, stride = shape.blocks * each;
        for (uint64_t s = blockIdx.x * each; s < block.count; s += stride)
            block.take_teams(s);
        return;
    }
    const unsigned tile = blockIdx.x - shape.blocks;
    const bool has_record = block.take_tile(tile, &records[tile]);
    if (!ends_last_with_records(words, tile, shape.tiles, has_record, &shared.joins))
        return;
    for (unsigned k = threadIdx.x; k < shape.tiles; k += team_threads) {
        if (!words.has_record[k])
            records[k] = {reducer.identity(), {reducer.identity(), 0}, 0};
        words.has_record[k] = 0;
    }
    __syncthreads();
    wi_close_records<team_threads>(reducer, records, shape.tiles, p.y, shared.opens);
}

} // namespace

#endif
