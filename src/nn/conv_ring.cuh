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

#include "cuda/boxes.cuh"
#include "cuda/group.cuh"
#include "gemm/gemm_boxes.cuh"
#include "nn/conv_tensor_plan.cuh"

constexpr int wi_conv_adders = 8, wi_conv_fetchers = 2; /* warps */
constexpr int wi_conv_ring_threads = 32 * (wi_conv_adders + wi_conv_fetchers);

/* Tiles of rows x columns. With Across, weights lie across: their columns side by side. */
template <class Element, int rows_, int columns_, bool Taps, bool Across = false>
struct wi_conv_ring_shape {
    using T = Element;
    static constexpr int rows = rows_, columns = columns_, slots = 3;
    static constexpr bool taps = Taps, across = Across;
    using A = wi_gemm_panel<T, rows, !Taps>;
    using B = wi_gemm_panel<T, columns, !Taps && !Across>;
    using Gathered = std::conditional_t<Taps, B, A>;
    using Plain = std::conditional_t<Taps, A, B>;
    static constexpr int depth = A::depth;
    static constexpr uint32_t slot_bytes = A::bytes + B::bytes;
    static constexpr uint32_t gathered_at = Taps ? A::bytes : 0, plain_at = Taps ? 0 : A::bytes;
    static constexpr int high_groups = rows / 64;                 /* side by side down the tile */
    static constexpr int own_columns = columns * high_groups / 2; /* of a group */
    static constexpr int sums = own_columns / 2;                  /* of a thread */
    static constexpr int spots = Taps ? 0 : rows;

    struct barriers {
        wi_barrier full[slots], empty[slots];
    };
    static constexpr size_t slots_bytes = (size_t)slots * slot_bytes;
    static constexpr size_t sum_bytes = wi_conv_sums_bytes(rows, columns);
    static constexpr size_t room_bytes = slots_bytes > sum_bytes ? slots_bytes : sum_bytes;
    static constexpr size_t shared_bytes =
        wi_box_align + room_bytes + spots * sizeof(wi_conv_spot) + sizeof(barriers);
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
    /* Starts the copies of the plain matrix. */
    __device__ void load_plain(char *to, const wi_boxes *plain, int term, wi_barrier *full) const {
        if constexpr (Shape::across) {
            const unsigned window = p.view.channels.of((unsigned)term);
            const unsigned row = p.view.window_w.of(window);
            const int filter = term - (int)(window * p.view.channels.by);
            const int place = p.place + (int)row * p.place_h +
                              (int)(window - row * p.view.window_w.by) * p.place_w;
            Shape::Plain::load(to, plain, tile.column, tile.group * (int)p.plain_group + filter,
                               place, full);
        } else {
            Shape::Plain::load(to, plain, Shape::taps ? tile.row : tile.column, term, tile.group,
                               full);
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
        wi_box_turn<Shape::slots> turn = {0, 1}; /* a slot that was never used is empty */
        for (int s = 0; s < steps; s++) {
            const int term = tile.first + s * Shape::depth;
            char *const to = slots + (uint32_t)turn.slot * Shape::slot_bytes;
            wi_barrier_wait(&b.empty[turn.slot], turn.parity);
            if (thread == 0) {
                wi_barrier_arrive_expect(&b.full[turn.slot], Shape::Plain::bytes);
                load_plain(to + Shape::plain_at, plain, term, &b.full[turn.slot]);
            }
            gather(to + Shape::gathered_at, term, from, thread);
            wi_async_commit();
            if (s > 0) {
                wi_async_wait<1>();
                hand_over(before);
            }
            before = turn.slot;
            turn.next();
        }
        wi_async_wait<0>();
        if (steps > 0)
            hand_over(before);
    }

    /* ---- the groups that multiply ---- */

    __device__ void release(int slot) const {
        __syncwarp();
        if (wi_lane() == 0)
            wi_barrier_arrive(&b.empty[slot]);
    }

    __device__ void multiply(float (&sum)[Shape::sums], int row, int column) const {
        constexpr int product_k = 32 / (int)sizeof(T);
        int before = 0;
        wi_box_turn<Shape::slots> turn = {0, 0};
#pragma unroll
        for (int q = 0; q < Shape::sums; q++)
            sum[q] = 0;
#pragma unroll(1)
        for (int s = 0; s < steps; s++) {
            const char *const of_a = slots + (uint32_t)turn.slot * Shape::slot_bytes;
            const char *const of_b = of_a + Shape::A::bytes;
            wi_barrier_wait(&b.full[turn.slot], turn.parity);
            wi_group_begin();
#pragma unroll
            for (int k = 0; k < Shape::depth; k += product_k) {
                const wi_group_operand x = {of_a + Shape::A::at(row, k), Shape::A::box_bytes};
                const wi_group_operand y = {of_b + Shape::B::at(column, k), Shape::B::box_bytes};
                wi_group_multiply<T, Shape::A::by_k, Shape::B::by_k>(sum, x, y);
            }
            wi_group_commit();
            wi_group_wait<1>();
            if (s > 0)
                release(before);
            before = turn.slot;
            turn.next();
        }
        wi_group_wait<0>();
    }

    /* Sums to shared memory, in the place of slots that nobody needs any more. */
    __device__ void lay_out(const float (&sum)[Shape::sums], int row, int column) const {
        constexpr int pitch = Shape::columns + wi_conv_sums_pad;
        const int lane = wi_lane(), warp = (int)threadIdx.x / 32 % 4;
        float *const to =
            (float *)slots + (row + warp * 16 + lane / 4) * pitch + column + lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < Shape::sums / 4; j++)
#pragma unroll
            for (int r = 0; r < 2; r++)
                *(float2 *)(to + 8 * r * pitch + 8 * j) = {sum[4 * j + 2 * r],
                                                           sum[4 * j + 2 * r + 1]};
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
    const wi_conv_tensor_tile tile = wi_conv_tensor_tile_of<Shape::rows, Shape::columns>(p);
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
    const int group = (int)threadIdx.x / 128;
    const int row = group % Shape::high_groups * 64;
    const int column = group / Shape::high_groups * Shape::own_columns;
    float sum[Shape::sums];
    if ((int)threadIdx.x >= 32 * wi_conv_adders)
        block.fetch(&plain);
    else
        block.multiply(sum, row, column);
    __syncthreads();
    if ((int)threadIdx.x < 32 * wi_conv_adders)
        block.lay_out(sum, row, column);
    __syncthreads();
    wi_conv_store_sums<Shape::rows, Shape::columns, wi_conv_ring_threads>(p, tile, (float *)slots);
}

template <class T>
struct wi_conv_ring_engine {
    static constexpr int depth = wi_box_line / (int)sizeof(T), blocks = 2;
    static constexpr bool across = sizeof(T) == 2; /* does it take operands that lie across? */

    template <class Shape>
    static weft_status launch_shape(weft_context *ctx, const wi_conv_tensor_job<T> &job,
                                    weft_type type, unsigned grid) {
        using Plain = typename Shape::Plain;
        const size_t width = sizeof(T), pitch = job.plain_pitch * width;
        const size_t length = (size_t)job.plain_length;
        const size_t lines = (size_t)(Shape::taps ? job.terms : job.columns);
        wi_box_source from = {
            type, job.plain, length, lines, pitch, (size_t)job.groups, job.plain_group * width};
        if (Shape::across)
            from = {type,  job.plain,          length,        (size_t)job.plain_lines,
                    pitch, (size_t)job.places, length * width};
        wi_boxes plain;
        memset(&plain, 0, sizeof plain);
        if (job.terms > 0) {
            const weft_status status = wi_gpu_describe_boxes(ctx, &from, Plain::box_lines, &plain);
            if (status != WEFT_OK)
                return status;
        }
        return WEFT_LAUNCH(wi_conv_ring_tiles<Shape>, ctx, grid, wi_conv_ring_threads,
                           Shape::shared_bytes, plain, job);
    }
    static weft_status launch(weft_context *ctx, const wi_conv_tensor_job<T> &job, weft_type type,
                              bool taps, bool narrow, unsigned grid) {
        if constexpr (across) {
            if (taps)
                return narrow ? launch_shape<wi_conv_ring_shape<T, 64, 128, true>>(ctx, job, type,
                                                                                   grid)
                              : launch_shape<wi_conv_ring_shape<T, 128, 128, true>>(ctx, job, type,
                                                                                    grid);
            if (job.across)
                return narrow
                           ? launch_shape<wi_conv_ring_shape<T, 128, 64, false, true>>(ctx, job,
                                                                                       type, grid)
                           : launch_shape<wi_conv_ring_shape<T, 128, 128, false, true>>(ctx, job,
                                                                                        type, grid);
        }
        return narrow ? launch_shape<wi_conv_ring_shape<T, 128, 64, false>>(ctx, job, type, grid)
                      : launch_shape<wi_conv_ring_shape<T, 128, 128, false>>(ctx, job, type, grid);
    }
};

#endif
