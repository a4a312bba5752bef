/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "tiles" of scan by segment: what each tile leaves open, that carried on, then every tile
 * by itself. Flags say where segments begin, so a tile costs the same whatever their lengths. The
 * carries go through groups of tiles, so that one block never has more than a few to carry on. */
#include "cuda/limit.cuh"
#include "group/group_scan_cuda.cuh"

constexpr int scan_threads = 256;
constexpr int warps = scan_threads / 32;
constexpr int steps = 16; /* elements that a thread takes, side by side */
constexpr size_t tile_elements = (size_t)scan_threads * steps;

/* Tiles of a group: one for each thread of a block; tests set it lower. */
WI_LIMIT(unsigned, wi_group_scan_group, scan_threads)

/* What one thread's elements need: they lie in shared memory, with a gap behind each thread's. */
template <class T>
struct wi_group_tile {
    static constexpr size_t gap = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
    T at[(size_t)scan_threads * (steps + gap)];

    __device__ T &of(unsigned i) {
        return at[i + i / steps * gap];
    }
};

/* Loads a tile; returns this thread's flags, one bit for each of its elements. */
template <class Op, class T>
static __device__ inline unsigned load_tile(const wi_scan_params<T> &p, const uint8_t *heads,
                                            size_t first, wi_group_tile<T> &tile) {
    T x[steps];
#pragma unroll
    for (unsigned k = 0; k < steps; k++) {
        const size_t i = first + threadIdx.x + k * scan_threads;
        x[k] = i < p.n ? p.x[i] : T();
    }
#pragma unroll
    for (unsigned k = 0; k < steps; k++)
        tile.of(threadIdx.x + k * scan_threads) = wi_flipped<Op>(p, x[k]);
    const size_t own = first + (size_t)threadIdx.x * steps;
    unsigned bits = 0;
    if (own + steps <= p.n) {
        const wi_vector<uint32_t> words = *(const wi_vector<uint32_t> *)(heads + own);
#pragma unroll
        for (int k = 0; k < 4; k++)
            bits |= (words.at[k] * 0x01020408u >> 24) << (4 * k);
    } else {
        for (unsigned k = 0; own + k < p.n; k++)
            bits |= (unsigned)heads[own + k] << k;
    }
    __syncthreads();
    return bits;
}

/* What this thread's elements leave open. */
template <class Combiner, class T>
static __device__ inline auto take_own(const Combiner &combiner, unsigned bits, size_t left,
                                       wi_group_tile<T> &tile) {
    using Carry = decltype(combiner.identity());
    wi_open_segment<Carry> open = {combiner.identity(), bits != 0};
#pragma unroll
    for (unsigned k = 0; k < steps; k++) {
        if (threadIdx.x * steps + k < left) {
            if (bits >> k & 1)
                open.state = combiner.start();
            open.state =
                combiner.combine(open.state, (Carry)wi_load(tile.of(threadIdx.x * steps + k)));
        }
    }
    return open;
}

template <class Op, class T>
__global__ void __launch_bounds__(scan_threads)
    group_scan_totals(Op, wi_scan_params<T> p, const uint8_t *heads,
                      wi_open_segment<wi_scan_carry<T>> *totals) {
    using Carry = wi_scan_carry<T>;
    using Open = wi_open_segment<Carry>;
    using Tile = wi_group_tile<T>;
    WEFT_SHARED(Tile, tile, );
    WEFT_SHARED(Open, of_warp, [warps]);
    const wi_group_combiner<Op, Carry> combiner = {};
    const size_t first = blockIdx.x * tile_elements;
    const unsigned bits = load_tile<Op>(p, heads, first, tile);
    const Open mine = take_own(combiner, bits, p.n - first, tile);
    Open all;
    wi_scan_open<warps>(combiner, mine, of_warp, &all);
    if (threadIdx.x == 0)
        totals[blockIdx.x] = all;
}

template <class Op, class T>
__global__ void __launch_bounds__(scan_threads)
    group_scan_outputs(Op, wi_scan_params<T> p, const uint8_t *heads,
                       const wi_open_segment<wi_scan_carry<T>> *tiles, unsigned each,
                       const wi_open_segment<wi_scan_carry<T>> *groups) {
    using Carry = wi_scan_carry<T>;
    using Open = wi_open_segment<Carry>;
    using Tile = wi_group_tile<T>;
    WEFT_SHARED(Tile, tile, );
    WEFT_SHARED(Open, of_warp, [warps]);
    const wi_group_combiner<Op, Carry> combiner = {};
    const size_t first = blockIdx.x * tile_elements, left = p.n - first;
    const unsigned bits = load_tile<Op>(p, heads, first, tile);
    Open all;
    const Open in_tile =
        wi_scan_open<warps>(combiner, take_own(combiner, bits, left, tile), of_warp, &all);
    const Open before_tile = wi_follow(combiner, groups[blockIdx.x / each], tiles[blockIdx.x]);
    Carry running = wi_follow(combiner, before_tile, in_tile).state;
#pragma unroll
    for (unsigned k = 0; k < steps; k++) {
        T &own = tile.of(threadIdx.x * steps + k);
        if (bits >> k & 1)
            running = combiner.start();
        const Carry with = combiner.combine(running, (Carry)wi_load(own));
        own = (T)(wi_compute<T>)(p.exclusive ? running : with);
        running = with;
    }
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < steps; k++) {
        const unsigned i = threadIdx.x + k * scan_threads;
        if (i < left)
            p.y[first + i] = wi_flipped<Op>(p, tile.of(i));
    }
}

static const char totals_key = 0;

template <class Op, class T>
static weft_status launch_scan(weft_context *ctx, const wi_scan_params<T> &p, const uint8_t *heads,
                               Op op) {
    using Open = wi_open_segment<wi_scan_carry<T>>;
    const uint64_t tiles = wi_tiles_of(p.n, tile_elements);
    const unsigned each = wi_group_scan_group;
    const uint64_t groups = wi_tiles_of(tiles, each);
    void *scratch;
    weft_status status =
        wi_gpu_scratch(ctx, &totals_key, (tiles + groups) * sizeof(Open), &scratch);
    Open *const of_tiles = (Open *)scratch, *const of_groups = of_tiles + tiles;
    if (status == WEFT_OK)
        status = WEFT_LAUNCH((group_scan_totals<Op, T>), ctx, (unsigned)tiles, scan_threads, 0, op,
                             p, heads, of_tiles);
    if (status == WEFT_OK)
        status = wi_carry_opens<scan_threads>(ctx, wi_group_combiner<Op, wi_scan_carry<T>>{},
                                              of_tiles, tiles, each, of_groups);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH((group_scan_outputs<Op, T>), ctx, (unsigned)tiles, scan_threads, 0, op,
                             p, heads, of_tiles, each, of_groups);
    return status;
}

weft_status wi_group_scan_tiles(weft_context *ctx, const void *arguments) {
    const wi_group_scan_args *const args = (const wi_group_scan_args *)arguments;
    return wi_group_with_scan(args, [=](auto p, auto op) {
        return launch_scan<decltype(op), typename decltype(p)::T>(ctx, p, args->heads, op);
    });
}
