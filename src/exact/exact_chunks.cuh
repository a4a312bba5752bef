/* SPDX-License-Identifier: Apache-2.0 */
/* How the warps of exact sums divide arrays and read them. A chunk is what a warp takes at a time:
 * neighbouring memory, of which each lane has every 32nd vector. Sums are exact, so it does not
 * matter who takes what. */
#ifndef WI_EXACT_CHUNKS_CUH
#define WI_EXACT_CHUNKS_CUH

#include <type_traits>

#include "exact/exact_cuda.cuh"

/* A lane's part of a chunk. Elements of 16 bits are kept as words: vectors of them the compiler
 * would unpack, and so wait for, where they are loaded and not where they are used. */
template <class T, int vectors>
struct wi_exact_chunk {
    using Vector = wi_vector<T>;
    using Kept = std::conditional_t<sizeof(T) == 2, wi_vector<uint32_t>, Vector>;
    static constexpr int width = Vector::count;
    Kept at[vectors];

    __device__ T element(int e) const {
        return wi_bit_cast<Vector>(at[e / width]).at[e % width];
    }
    __device__ void fill(T value) {
        Vector all;
#pragma unroll
        for (int e = 0; e < width; e++)
            all.at[e] = value;
#pragma unroll
        for (int v = 0; v < vectors; v++)
            at[v] = wi_bit_cast<Kept>(all);
    }
};

/* An array as chunks. */
template <class T, int vectors>
struct wi_exact_array {
    using Chunk = wi_exact_chunk<T, vectors>;
    static constexpr int width = Chunk::width;
    static constexpr size_t per_chunk = (size_t)32 * vectors * width;
    const T *x;
    size_t n;
    bool aligned;

    __device__ wi_exact_array(const void *from, size_t count)
        : x((const T *)from), n(count), aligned(wi_is_aligned(from)) {}

    /* Loads this lane's part of chunk k; `beyond` stands for elements past the end of the array. A
     * chunk that lies wholly past it leaves *c as it is. */
    __device__ void load(Chunk *c, size_t k, T beyond) const {
        const size_t first = k * per_chunk;
        if (first >= n)
            return;
        const T *const from = x + first + wi_lane() * width;
        if (aligned && n - first >= per_chunk) {
#pragma unroll
            for (int v = 0; v < vectors; v++)
                c->at[v] = *(const typename Chunk::Kept *)(from + v * 32 * width);
        } else {
            const size_t left = n - first;
            load_carefully(c, from, (int)(left < per_chunk ? left : per_chunk) - wi_lane() * width,
                           beyond);
        }
    }

  private:
    __device__ static void load_carefully(Chunk *c, const T *from, int left, T beyond) {
#pragma unroll
        for (int v = 0; v < vectors; v++) {
            wi_vector<T> one;
#pragma unroll
            for (int e = 0; e < width; e++)
                one.at[e] = v * 32 * width + e < left ? from[v * 32 * width + e] : beyond;
            c->at[v] = wi_bit_cast<typename Chunk::Kept>(one);
        }
    }
};

/* How chunks are divided. Most are assigned to warps in turn: warp w of W gets chunks w, w + W, and
 * so on, `rounds` of them. The rest are open: a warp that has done its own takes runs of them,
 * because not all multiprocessors read equally fast. */
struct wi_exact_shares {
    size_t chunks;
    unsigned rounds; /* chunks that each warp is assigned */
    unsigned run;    /* open chunks that a warp takes at a time */
};

/* `lane_bytes`: what a lane reads of a chunk. Small arrays have no open chunks. */
inline wi_exact_shares wi_exact_shares_of(size_t chunks, size_t warps, size_t lane_bytes) {
    constexpr size_t open_part = 16, run_bytes = 256; /* one chunk in 16 is open; bytes of a lane */
    const size_t rounds = chunks / warps, open = rounds / open_part;
    return {chunks, (unsigned)(open > 0 ? rounds - open : rounds + 1),
            (unsigned)(run_bytes / lane_bytes)};
}

/* The chunks of one warp, one after the other. */
struct wi_exact_share {
    const wi_exact_shares &shares;
    unsigned *taken;
    size_t next, step;
    unsigned left;  /* chunks of which this warp is certain, `step` apart from `next` on */
    unsigned asked; /* lane 0: the number of the open run that it takes after them */
    bool asks;      /* is that number still to be asked for? */

    __device__ wi_exact_share(const wi_exact_shares &p, wi_exact_shared_sum *sum)
        : shares(p), taken(&sum->next),
          next(blockIdx.x * (size_t)(blockDim.x / 32) + threadIdx.x / 32),
          step((size_t)gridDim.x * (blockDim.x / 32)), left(p.rounds), asked(0),
          asks(first_open() < p.chunks) {}
    /* Asks for the next open run, if there may be one. Not by atomicAdd, which the compiler
     * combines over lanes, and so waits for at once; nor by an atomicInc that can never return to
     * 0, which it treats alike. */
    __device__ void ask() {
        if (asks && wi_lane() == 0)
            asked = atomicInc(taken, (unsigned)INT32_MAX);
        asks = false;
    }
    /* The next chunk; none is left if it is not below `chunks`. */
    __device__ size_t take() {
        const size_t now = next;
        next += step;
        if (--left == 0)
            renew();
        return now;
    }

  private:
    __device__ size_t first_open() const {
        return shares.rounds * ((size_t)gridDim.x * (blockDim.x / 32));
    }
    __device__ void renew() {
        next = first_open() + (size_t)wi_shuffle(asked, 0) * shares.run;
        step = 1;
        left = shares.run;
        asks = next < shares.chunks;
    }
};

/* Calls load(&chunk, number) for each chunk of the warp, and add(chunk) for the one before while
 * that is on its way. `now`, all zeros, is added while the first chunk is. If the first were loaded
 * before the loop, the compiler would make the loop wait for it; and as loads are waited for
 * together, also for the second: nothing would be added meanwhile. */
template <class Chunk, class Load, class Add>
__device__ inline void wi_exact_each_chunk(const wi_exact_shares &shares, wi_exact_shared_sum *sum,
                                           Chunk now, Load load, Add add) {
    wi_exact_share share(shares, sum);
    Chunk next;
    size_t k = share.take();
    bool more;
#pragma unroll 1
    do {
        more = k < shares.chunks;
        load(&next, k);
        share.ask();
        add(now);
        k = share.take();
        now = next;
    } while (more);
}

#endif
