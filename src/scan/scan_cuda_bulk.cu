/* SPDX-License-Identifier: Apache-2.0 */
/* Scan in one pass by persistent blocks (see cuda/ring.cuh): totallers compute the total of a tile
 * in its slot; a team of finishers loads it into registers, which frees the slot, and when its
 * carry is known scans it and writes it. */
#include "cuda/ring.cuh"
#include "scan/scan_tile.cuh"

/* Found by experiment on an H200; README.md has the figures. */
struct scan_shape {
    static constexpr int slots = 6, preparers = 0, preparer_warps = 1, totallers = 3, lookers = 1,
                         starters = 0, finishers = 2, finisher_warps = wi_tile_warps,
                         parts = wi_tile_warps;
};

template <class Op, class T>
struct scan_block {
    using C = wi_scan_carry<T>;
    using Vector = wi_vector<T>;
    using ring_block = wi_ring_block<scan_shape, Op, C>;

    const ring_block &ring;
    const wi_scan_params<T> &p;
    unsigned char *memory; /* `slots` tiles */

    __device__ bool is_whole(uint64_t tile) const {
        return (tile + 1) * wi_tile_elements<T> <= p.n;
    }
    __device__ unsigned char *slot(int k) const {
        return memory + (size_t)(k % scan_shape::slots) * wi_tile_bytes;
    }

    /* For the copier: the last tile, if incomplete, is left for its totaller to load. */
    __device__ void load(int k, uint64_t tile, wi_barrier *loaded) const {
        wi_ring_load(slot(k), p.x + tile * wi_tile_elements<T>, wi_tile_bytes, is_whole(tile),
                     loaded);
    }

    /* This lane's vector of a row of a part of the k-th tile. */
    __device__ Vector *vector_of(int k, int part, int row) const {
        return (Vector *)(slot(k) + (size_t)part * wi_part_bytes + (size_t)row * wi_row_bytes) +
               wi_lane();
    }

    /* For the totaller: loads a part of the incomplete tile. */
    __device__ void fetch_broken(int k, int part, uint64_t tile) const {
        for (int row = 0; row < wi_part_rows; row++)
            *vector_of(k, part, row) = wi_read_vector<Op>(p, wi_place_in<T>(tile, part, row), true);
    }

    __device__ C total(int k, uint64_t tile) const {
        C mine = Op::template identity<C>();
        for (int part = 0; part < scan_shape::parts; part++) {
            if (!is_whole(tile))
                fetch_broken(k, part, tile);
            const C of_part = wi_part_total<Op, T>(
                [&](int row) { return wi_flipped<Op>(p, *vector_of(k, part, row)); });
            if (wi_lane() == part)
                mine = of_part;
        }
        return wi_scan_parts<Op>(mine);
    }

    /* For the finisher. */
    __device__ void scan(int k, uint64_t tile, int part) const {
        Vector x[wi_part_rows];
#pragma unroll
        for (int row = 0; row < wi_part_rows; row++)
            x[row] = wi_flipped<Op>(p, *vector_of(k, part, row));
        ring.release(k);
        C carry = ring.carries(k)[part];
#pragma unroll
        for (int row = 0; row < wi_part_rows; row++)
            wi_write_vector(p.y, wi_place_in<T>(tile, part, row), p.n, true,
                            wi_flipped<Op>(p, wi_scan_row<Op>(x[row], p.exclusive, &carry)));
    }
};

template <class Op, class T>
__global__ void __launch_bounds__(wi_ring_block<scan_shape, Op, wi_scan_carry<T>>::threads)
    bulk(wi_scan_params<T> p, wi_lookback l) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    using C = wi_scan_carry<T>;
    using ring_memory = wi_ring<scan_shape, C>;
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(ring_memory, r, );
    const wi_ring_block<scan_shape, Op, C> ring = {l, r, wi_lookback_epoch(l)};
    const scan_block<Op, T> b = {ring, p, memory};
    ring.work(
        wi_scan_start<Op>(p),
        [&](int k, uint64_t tile, wi_barrier *loaded) { b.load(k, tile, loaded); },
        [](int, uint64_t, int) {}, [&](int k, uint64_t tile) { return b.total(k, tile); },
        [&](C all) {
            if (p.carry_out)
                wi_scan_hand_on<Op>(p, all);
        },
        [&](int k, uint64_t tile, int part) { b.scan(k, tile, part); });
#endif
}

weft_status wi_scan_bulk(weft_context *ctx, const void *arguments) {
    const wi_scan_args *args = (const wi_scan_args *)arguments;
    return wi_with_scan(args, [=](auto p, auto op) {
        using T = typename decltype(p)::T;
        constexpr size_t shared = scan_shape::slots * wi_tile_bytes;
        constexpr int threads = wi_ring_block<scan_shape, decltype(op), wi_scan_carry<T>>::threads;
        const uint64_t tiles = wi_tiles_of(args->n, wi_tile_elements<T>);
        void *scratch;
        weft_status status =
            wi_gpu_scratch(ctx, &wi_scan_ladder, wi_lookback_bytes(tiles), &scratch);
        if (status != WEFT_OK)
            return status;
        const uint64_t resident = (uint64_t)ctx->gpu->multiprocessors;
        const unsigned blocks = (unsigned)(tiles < resident ? tiles : resident);
        return WEFT_LAUNCH((bulk<decltype(op), T>), ctx, blocks, threads, shared, p,
                           wi_lookback_in(scratch, tiles));
    });
}
