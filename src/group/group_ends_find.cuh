/* SPDX-License-Identifier: Apache-2.0 */
/* The first kernel of the rung "ends" of reduction by key: where runs end; group_ends.cu tells the
 * plan. */
#ifndef WI_GROUP_ENDS_FIND_CUH
#define WI_GROUP_ENDS_FIND_CUH

#include "cuda/async.cuh"
#include "cuda/memory.cuh"
#include "group/group_parts.cuh"

constexpr int threads = 256;
constexpr int warps = threads / 32;
constexpr int resident = 3; /* blocks on a multiprocessor, at least */

/* What both kernels know: n elements, cut into stretches, of which each is so many parts. */
struct wi_end_cuts {
    uint64_t n;
    unsigned part, stretches;
    uint32_t *bits;   /* one for each element: set if a run ends with it */
    uint32_t *counts; /* runs that end in each stretch */
    uint32_t *few;    /* set if there are so few that the kernels below do the work */

    __device__ uint64_t first(unsigned stretch) const {
        const uint64_t parts = (n + part - 1) / part, each = parts / stretches,
                       rest = parts % stretches;
        const uint64_t at = (stretch * each + (stretch < rest ? stretch : rest)) * part;
        return at < n ? at : n;
    }
};

/* A warp's shared memory: a ring of chunks of keys, of which all but one are on their way or wait.
 * A register that is to be loaded cannot be moved before it has come, so registers would hold one
 * chunk on its way. */
template <class Key>
struct wi_end_ring : wi_part_shape<Key> {
    using wi_part_shape<Key>::part;
    static constexpr unsigned slots = 3, room = 1024 / sizeof(Key);
    alignas(16) Key chunk[slots][part];
    Key ended[room]; /* keys that end a run, of a chunk that has no more than these */
};

/* A warp at work on a stretch's keys, a chunk at a time, of which each lane has neighbours. */
template <class Key>
struct wi_end_finder {
    using Vector = wi_vector<Key>;
    using Ring = wi_end_ring<Key>;
    static constexpr unsigned wide = Vector::count, vectors = Ring::vectors, each = Ring::each,
                              part = Ring::part;
    const wi_end_cuts &cuts;
    const Key *keys;
    Key *found; /* room for the stretch's keys, each once */
    Ring &ring;
    uint64_t begin, end;
    uint32_t many = 0; /* runs that have ended */

    /* Asks for the chunk at a place, if the stretch has it. Behind the array's end are zeros. */
    __device__ void ask(uint64_t at, unsigned slot) const {
        const unsigned first = (unsigned)wi_lane() * wide;
        Key *const to = ring.chunk[slot];
        if (at < end && cuts.n - at >= part) {
#pragma unroll
            for (unsigned k = 0; k < part; k += 32 * wide)
                wi_async_copy<16>(to + first + k, keys + at + first + k);
        } else if (at < end) {
#pragma unroll 1
            for (unsigned k = first; k < part; k += 32 * wide) {
                const uint64_t left = at + k < cuts.n ? cuts.n - at - k : 0;
                wi_async_copy_first(to + k, keys + at + k, left < wide ? (int)left : (int)wide);
            }
        }
        wi_async_commit();
    }

    /* A bit for each of the lane's keys that differs from the next; `behind` is next to the last
     * lane's. */
    __device__ uint32_t mark(const Key *chunk, Key behind) const {
        const Vector *const own = (const Vector *)chunk + (unsigned)wi_lane() * vectors;
        Key key[each + 1];
#pragma unroll
        for (unsigned k = 0; k < vectors; k++) {
            const Vector v = own[k];
#pragma unroll
            for (unsigned e = 0; e < wide; e++)
                key[k * wide + e] = v.at[e];
        }
        key[each] = wi_shuffle(wi_lane() == 0 ? behind : key[0], (wi_lane() + 1) % 32);
        uint32_t marks = 0;
#pragma unroll
        for (unsigned e = 0; e < each; e++)
            if (key[e] != key[e + 1])
                marks |= 1u << e;
        return marks;
    }

    /* The marks of a chunk that goes beyond the stretch or up to the array's end: its last key ends
     * a run. */
    __device__ uint32_t cut(uint64_t at, uint32_t marks) const {
        const uint64_t own = at + (unsigned)wi_lane() * each;
        const uint64_t left = end > own ? end - own : 0;
        if (left > each)
            return marks;
        marks &= (1u << left) - 1;
        return left > 0 && end == cuts.n ? marks | 1u << (left - 1) : marks;
    }

    /* Writes the bits of a chunk in their order: word w by lane w, from lanes side by side. */
    __device__ void write_bits(uint64_t at, uint32_t marks) const {
        const unsigned word = (unsigned)wi_lane(), first = word * 32 / each,
                       past = word * 32 % each;
        uint32_t mine = wi_shuffle(marks, (int)first % 32) >> past;
#pragma unroll
        for (unsigned k = 1; k * each < 32 + each - 1; k++) {
            const uint32_t other = wi_shuffle(marks, (int)(first + k) % 32);
            if (k * each - past < 32)
                mine |= other << (k * each - past);
        }
        if (word < part / 32 && at + word * 32 < end)
            cuts.bits[at / 32 + word] = mine;
    }

    /* Writes the keys that end a run, in their order, side by side if there is room. */
    __device__ void keep(const Key *chunk, uint32_t marks) {
        const Key *const own = chunk + (unsigned)wi_lane() * each;
        const uint32_t mine = (uint32_t)__popc(marks), up_to = wi_warp_sum_scan(mine),
                       all = wi_shuffle(up_to, 31);
        const auto put = [&](Key *to) {
#pragma unroll 1
            for (to += up_to - mine; marks; marks &= marks - 1)
                *to++ = own[__ffs((int)marks) - 1];
        };
        if (all <= Ring::room) {
            put(ring.ended);
            __syncwarp();
            for (unsigned r = (unsigned)wi_lane(); r < all; r += 32)
                found[many + r] = ring.ended[r];
        } else {
            put(found + many);
        }
        many += all;
    }

    __device__ void take(uint64_t at, const Key *chunk, Key behind) {
        uint32_t marks = mark(chunk, behind);
        if (end - at < part || cuts.n - at <= part)
            marks = cut(at, marks);
        write_bits(at, marks);
        if (__any_sync(wi_all_lanes, marks != 0))
            keep(chunk, marks);
    }

    __device__ void work() {
        const Key last = end < cuts.n ? keys[end] : Key{};
#pragma unroll 1
        for (unsigned k = 0; k < Ring::slots; k++)
            ask(begin + k * part, k);
        unsigned slot = 0;
#pragma unroll 1
        for (uint64_t at = begin; at < end; at += part) {
            const unsigned next = slot + 1 < Ring::slots ? slot + 1 : 0;
            wi_async_wait<Ring::slots - 2>(); /* the next chunk, too: its first key is looked at */
            __syncwarp();
            take(at, ring.chunk[slot], end - at > part ? ring.chunk[next][0] : last);
            __syncwarp();
            ask(at + Ring::slots * part, slot);
            slot = next;
        }
    }
};

constexpr unsigned samples = 1024, least_length = 6; /* of runs, on average */

/* Do few keys end a run, as far as samples tell? All blocks look at the same. */
template <class Key>
__device__ bool wi_few_end(const Key *keys, uint64_t n) {
    WEFT_SHARED(uint32_t, of_warp, [warps]);
    const uint64_t step = n / samples > 0 ? n / samples : 1;
    uint32_t ended = 0;
#pragma unroll
    for (unsigned k = threadIdx.x; k < samples; k += threads) {
        const uint64_t at = k * step + k * 2654435761u % step;
        ended += at + 1 < n && keys[at] != keys[at + 1];
    }
    ended = wi_warp_sum(ended);
    if (wi_lane() == 0)
        of_warp[threadIdx.x / 32] = ended;
    __syncthreads();
    ended = 0;
    for (int w = 0; w < warps; w++)
        ended += of_warp[w];
    return ended * least_length <= samples;
}

/* A stretch for each warp. `found` has room for n keys. */
template <class Key>
__global__ void __launch_bounds__(threads, resident)
    find_ends(wi_end_cuts cuts, const Key *keys, Key *found) {
    WEFT_DYNAMIC_SHARED(memory);
    const unsigned warp = threadIdx.x / 32, k = blockIdx.x * warps + warp;
    const bool few = wi_few_end(keys, cuts.n);
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *cuts.few = few;
    if (!few)
        return;
    const uint64_t begin = cuts.first(k), end = cuts.first(k + 1);
    wi_end_finder<Key> finder = {cuts,  keys, found + begin, ((wi_end_ring<Key> *)memory)[warp],
                                 begin, end};
    finder.work();
    if (wi_lane() == 0)
        cuts.counts[k] = finder.many;
}

#endif
