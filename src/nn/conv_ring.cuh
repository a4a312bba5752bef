/* SPDX-License-Identifier: Apache-2.0 */
/* conv's rung ring (compute capability 9.0): tiles of 128 x 128, or half of it, in a ring of slots
 * in shared memory. Two warps gather images into slots by asynchronous copies, while the copy
 * engine brings the plain matrix in boxes; two groups of four warps multiply, on tensor cores that
 * read both factors from the slot. Two blocks share a multiprocessor, so that one multiplies while
 * the other begins or ends. */
#ifndef WI_CONV_RING_CUH
#define WI_CONV_RING_CUH

#include <string.h>

#include <type_traits>

#include "gemm/gemm_boxes.cuh"
#include "nn/conv_groups.cuh"
#include "nn/conv_tensor_plan.cuh"

constexpr int wi_conv_adders = 8, wi_conv_fetchers = 2; /* warps */
constexpr int wi_conv_ring_threads = 32 * (wi_conv_adders + wi_conv_fetchers);

/* Tiles of rows x columns. With Across, weights lie across: their columns side by side. */
template <class T, int rows_, int columns_, bool Taps, bool Across = false>
struct wi_conv_ring_shape
    : wi_conv_group_shape<T, wi_gemm_panel<T, rows_, !Taps>,
                          wi_gemm_panel<T, columns_, !Taps && !Across>, rows_, columns_> {
    using A = wi_gemm_panel<T, rows_, !Taps>;
    using B = wi_gemm_panel<T, columns_, !Taps && !Across>;
    using Base = wi_conv_group_shape<T, A, B, rows_, columns_>;
    static constexpr int slots = 3;
    static constexpr bool taps = Taps, across = Across;
    using Gathered = std::conditional_t<Taps, B, A>;
    using Plain = std::conditional_t<Taps, A, B>;
    static constexpr uint32_t gathered_at = Taps ? A::bytes : 0, plain_at = Taps ? 0 : A::bytes;
    static constexpr int spots = Taps ? 0 : rows_;

    struct barriers {
        wi_barrier full[slots], empty[slots];
    };
    static constexpr size_t slots_bytes = (size_t)slots * Base::slot_bytes;
    static constexpr size_t room_bytes =
        slots_bytes > Base::sum_bytes ? slots_bytes : Base::sum_bytes;
    static constexpr size_t shared_bytes =
        wi_box_align + room_bytes + spots * sizeof(wi_conv_spot) + sizeof(barriers);
    static_assert(Base::adders == wi_conv_adders);
};

template <class Shape>
struct wi_conv_ring_block {
    using T = typename Shape::T;
    using Gathered = typename Shape::Gathered;
    static constexpr int threads = 32 * wi_conv_fetchers;
    static constexpr int chunk = 16 / (int)sizeof(T), in_line = wi_box_line / 16;

    const wi_conv_tensor_job<T> &p;
    const wi_conv_tensor_tile &tile;
    char *slots;
    wi_conv_spot *spot;
    typename Shape::barriers &b;
    int steps;

    /* ---- the warps that fetch ---- */

    /* Chunks of the step whose terms begin at `term`. Lines are pixels; a box has 64 taps. */
    __device__ void gather(char *to, int term, const T *from, int thread) const {
        const int place = thread % in_line * chunk, first = thread / in_line;
        constexpr int at_once = threads / in_line;
        if constexpr (Shape::taps) {
            wi_conv_spot tap[Gathered::boxes];
            bool valid[Gathered::boxes];
#pragma unroll
            for (int box = 0; box < Gathered::boxes; box++) {
                const int column = tile.column + box * Gathered::across + place;
                tap[box] = wi_conv_way_of(p.view, column);
                valid[box] = column < p.columns;
            }
#pragma unroll
            for (int k = 0; k < Gathered::box_lines / at_once; k++) {
                const int l = first + k * at_once;
                const wi_conv_spot pixel = wi_conv_spot_of(p.view, term + l);
#pragma unroll
                for (int box = 0; box < Gathered::boxes; box++)
                    wi_conv_fetch(p.view, to + (uint32_t)box * Gathered::box_bytes + at(l, place),
                                  from, pixel, tap[box], valid[box] & (term + l < tile.end));
            }
        } else {
            const wi_conv_spot tap = wi_conv_way_of(p.view, term + place);
#pragma unroll
            for (int k = 0; k < Shape::rows / at_once; k++) {
                const int l = first + k * at_once;
                wi_conv_fetch(p.view, to + at(l, place), from, spot[l], tap,
                              term + place < tile.end);
            }
        }
    }
    __device__ static uint32_t at(int line, int place) {
        return wi_box_place((uint32_t)(line * wi_box_line + place * (int)sizeof(T)));
    }

    /* What this thread has copied to a slot is there: says so, with its warp. */
    __device__ void hand_over(int slot) const {
        wi_bulk_fence();
        __syncwarp();
        if (wi_lane() == 0)
            wi_barrier_arrive(&b.full[slot]);
    }

    /* Copies of a step are under way while those of the step before arrive. */
    __device__ void fetch(const wi_boxes *plain) const {
        const T *const from = p.gathered + (size_t)tile.group * p.gathered_group;
        const int thread = (int)threadIdx.x - 32 * wi_conv_adders;
        int before = 0;
        wi_conv_ring_turn turn = {0, 1}; /* a slot that was never used is empty */
        for (int s = 0; s < steps; s++) {
            const int term = tile.first + s * Shape::depth;
            char *const to = slots + (uint32_t)turn.slot * Shape::slot_bytes;
            wi_barrier_wait(&b.empty[turn.slot], turn.parity);
            if (thread == 0) {
                wi_barrier_arrive_expect(&b.full[turn.slot], Shape::Plain::bytes);
                wi_conv_load_plain<Shape>(to + Shape::plain_at, p, tile, plain, term,
                                          &b.full[turn.slot]);
            }
            gather(to + Shape::gathered_at, term, from, thread);
            wi_async_commit();
            if (s > 0) {
                wi_async_wait<1>();
                hand_over(before);
            }
            before = turn.slot;
            turn.next(Shape::slots);
        }
        wi_async_wait<0>();
        if (steps > 0)
            hand_over(before);
    }
};

template <class Shape>
static __global__ void __launch_bounds__(wi_conv_ring_threads, 2)
    wi_conv_ring_tiles(const __grid_constant__ wi_boxes plain,
                       const __grid_constant__ wi_conv_tensor_job<typename Shape::T> p) {
    WEFT_DYNAMIC_SHARED(memory);
    const uintptr_t past = (uintptr_t)memory % wi_box_align;
    char *const slots = (char *)memory + (past ? wi_box_align - past : 0);
    wi_conv_spot *const spot = (wi_conv_spot *)(slots + Shape::room_bytes);
    typename Shape::barriers &b = *(typename Shape::barriers *)(spot + Shape::spots);
    const wi_conv_tensor_tile tile =
        wi_conv_tensor_tile_of<Shape::rows, Shape::columns>(p, blockIdx.x);
    const int left = tile.end - tile.first;
    const wi_conv_ring_block<Shape> block = {
        p, tile, slots, spot, b, left > 0 ? (left + Shape::depth - 1) / Shape::depth : 0};
    for (int i = (int)threadIdx.x; i < Shape::spots; i += wi_conv_ring_threads) {
        spot[i] = wi_conv_spot_of(p.view, tile.row + i);
        if (tile.row + i >= p.rows)
            spot[i].row = INT32_MIN / 2; /* outside, whatever the tap */
    }
    if (threadIdx.x == 0) {
        for (int s = 0; s < Shape::slots; s++) {
            wi_barrier_init(&b.full[s], wi_conv_fetchers + 1);
            wi_barrier_init(&b.empty[s], wi_conv_adders);
        }
        wi_barrier_publish();
    }
    __syncthreads();
    const wi_conv_group<Shape> group = {slots, b.full, b.empty, Shape::slots};
    float sum[Shape::sums];
    if ((int)threadIdx.x >= 32 * wi_conv_adders)
        block.fetch(&plain);
    else
        group.multiply(sum, block.steps);
    __syncthreads();
    if ((int)threadIdx.x < 32 * wi_conv_adders)
        group.lay_out(sum);
    __syncthreads();
    wi_conv_store_sums<Shape::rows, Shape::columns, wi_conv_ring_threads>(p, tile, (float *)slots);
}

template <class T>
struct wi_conv_ring_engine {
    static constexpr int depth = wi_box_line / (int)sizeof(T), blocks = 2, together = 1;
    static constexpr bool across = sizeof(T) == 2; /* does it take operands that lie across? */

    static void cut(const weft_context *ctx, wi_conv_tensor_launch<T> *l, int count) {
        for (int k = 0; k < count; k++)
            wi_conv_tensor_cut<wi_conv_ring_engine>(ctx, &l[k]);
    }

    template <class Shape>
    static weft_status launch_shape(weft_context *ctx, const wi_conv_tensor_job<T> &job,
                                    weft_type type) {
        const wi_box_source from = wi_conv_plain_source<Shape>(job, type);
        wi_boxes plain;
        memset(&plain, 0, sizeof plain);
        if (job.terms > 0) {
            const weft_status status =
                wi_gpu_describe_boxes(ctx, &from, Shape::Plain::box_lines, &plain);
            if (status != WEFT_OK)
                return status;
        }
        return WEFT_LAUNCH(wi_conv_ring_tiles<Shape>, ctx, job.blocks(), wi_conv_ring_threads,
                           Shape::shared_bytes, plain, job);
    }
    template <bool Across>
    static weft_status launch_pixels(weft_context *ctx, const wi_conv_tensor_launch<T> &l,
                                     weft_type type) {
        if (l.narrow)
            return launch_shape<wi_conv_ring_shape<T, 128, 64, false, Across>>(ctx, l.job, type);
        return launch_shape<wi_conv_ring_shape<T, 128, 128, false, Across>>(ctx, l.job, type);
    }
    static weft_status launch(weft_context *ctx, const wi_conv_args *a,
                              const wi_conv_tensor_launch<T> *l, int) {
        const weft_type type = a->in.type;
        if constexpr (across) {
            if (l->taps && l->narrow)
                return launch_shape<wi_conv_ring_shape<T, 64, 128, true>>(ctx, l->job, type);
            if (l->taps)
                return launch_shape<wi_conv_ring_shape<T, 128, 128, true>>(ctx, l->job, type);
            if (l->job.across)
                return launch_pixels<true>(ctx, *l, type);
        }
        return launch_pixels<false>(ctx, *l, type);
    }
};

#endif
