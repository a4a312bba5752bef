/* SPDX-License-Identifier: Apache-2.0 */
/* conv's rung ring where the copy engine gathers the images too: it walks through their pixels, of
 * which a step takes 128 bytes of channels each, and fills in zeros outside. One warp starts the
 * copies, the groups multiply. A launch has up to four products, the classes of pixels of a
 * gradient for data.
 *
 * Where there are few tiles the blocks of a cluster share the terms of one. Each then adds up some
 * rows of it, from the shared memory of all, in the order of the blocks. */
#ifndef WI_CONV_BOXES_CUH
#define WI_CONV_BOXES_CUH

#include <type_traits>

#include "cuda/cluster.cuh"
#include "gemm/gemm_boxes.cuh"
#include "nn/conv_groups.cuh"

constexpr int wi_conv_classes = 4; /* of a launch */

/* A factor that is walked: `extent` pixels by one step of channels or, across, `extent` taps by one
 * step of pixels. */
template <class T, int extent, bool by_k_>
struct wi_conv_walked {
    static constexpr bool by_k = by_k_;
    static constexpr int across = wi_box_line / (int)sizeof(T);
    static constexpr int lines = by_k ? extent : across, boxes = by_k ? 1 : extent / across;
    static constexpr uint32_t box_bytes = (uint32_t)lines * wi_box_line, bytes = box_bytes * boxes;

    __device__ static constexpr uint32_t at(int i, int p) {
        return by_k ? (uint32_t)(i * wi_box_line + p * (int)sizeof(T))
                    : (uint32_t)(i / across) * box_bytes +
                          (uint32_t)(p * wi_box_line + i % across * (int)sizeof(T));
    }
};

/* `blocks` share a multiprocessor. */
template <class T, int rows_, int columns_, int blocks_, bool Taps, bool Across = false>
struct wi_conv_box_shape
    : wi_conv_group_shape<
          T,
          std::conditional_t<Taps, wi_gemm_panel<T, rows_, false>, wi_conv_walked<T, rows_, true>>,
          std::conditional_t<Taps, wi_conv_walked<T, columns_, false>,
                             wi_gemm_panel<T, columns_, !Across>>,
          rows_, columns_> {
    using Walked = wi_conv_walked<T, Taps ? columns_ : rows_, !Taps>;
    using Plain = wi_gemm_panel<T, Taps ? rows_ : columns_, !Taps && !Across>;
    using Base = wi_conv_group_shape<T, std::conditional_t<Taps, Plain, Walked>,
                                     std::conditional_t<Taps, Walked, Plain>, rows_, columns_>;
    static constexpr bool taps = Taps, across = Across;
    static constexpr int blocks = blocks_, threads = 32 * (Base::adders + 1);
    static constexpr uint32_t walked_at = Taps ? Base::A::bytes : 0;
    static constexpr uint32_t plain_at = Taps ? 0 : Base::A::bytes;
    static constexpr size_t most_shared = (size_t)227 << 10;
    static constexpr int most_slots = 7;

    struct barriers {
        wi_barrier full[most_slots], empty[most_slots];
    };
    static constexpr size_t besides = wi_box_align + sizeof(barriers);
    /* Slots of a block that shares a multiprocessor, or that has it for itself. */
    static constexpr int slots_of(int sharing) {
        const size_t room = (most_shared + 1024) / (size_t)sharing - 1024 - besides;
        const int slots = (int)(room / Base::slot_bytes);
        return slots < most_slots ? slots : most_slots;
    }
    static constexpr size_t room_bytes(int slots) {
        const size_t bytes = (size_t)slots * Base::slot_bytes;
        return bytes > Base::sum_bytes ? bytes : Base::sum_bytes;
    }
    static_assert(slots_of(blocks) >= 3 && room_bytes(slots_of(blocks)) + besides <= most_shared);
};

/* Where a walk begins: pixel i of the product is where row i / width, column i % width of the
 * frame is, and a tap lies `column` and `row` further, from the frame's first pixel counted. */
struct wi_conv_walk {
    int step_h, step_w, first_h, first_w; /* of pixels */
    int row, column;                      /* of the first tap */
    int extent;                           /* channels of a pixel: none begins here */
};

template <class T>
struct wi_conv_box_work {
    wi_boxes plain, walked[wi_conv_classes];
    wi_conv_tensor_job<T> job[wi_conv_classes];
    wi_conv_walk walk[wi_conv_classes];
    unsigned begin[wi_conv_classes + 1]; /* the first tile of each, and how many there are */
    int slots;
};

template <class Shape>
struct wi_conv_box_copier {
    using T = typename Shape::T;
    using Walked = typename Shape::Walked;

    const wi_conv_tensor_job<T> &p;
    const wi_conv_walk &walk;
    const wi_conv_tensor_tile &tile;
    const wi_boxes *plain, *walked;
    char *slots;
    wi_barrier *full, *empty;
    int slot_count;

    /* Where pixel i of the product is, in the frame. */
    __device__ void go_to(int (&at)[4], int i) const {
        const unsigned image = p.view.plane.of((unsigned)i);
        const unsigned rest = (unsigned)i - image * p.view.plane.by;
        const unsigned row = p.view.width.of(rest), column = rest - row * p.view.width.by;
        at[1] = walk.first_w + (int)column * walk.step_w;
        at[2] = walk.first_h + (int)row * walk.step_h;
        at[3] = (int)image;
    }
    struct tap {
        int channel, row, column;
    };
    /* The tap of that number, and its distance. */
    __device__ tap tap_of(int i) const {
        const unsigned place = p.view.channels.of((unsigned)i);
        const unsigned row = p.view.window_w.of(place), column = place - row * p.view.window_w.by;
        return {i - (int)(place * p.view.channels.by), walk.row + (int)row * p.view.unit_h,
                walk.column + (int)column * p.view.unit_w};
    }

    /* Pixels stay, taps go on. */
    __device__ void load(char *to, int (&at)[4], int term, wi_barrier *arrived) const {
        const tap t = tap_of(term);
        at[0] = tile.group * (int)p.gathered_group + t.channel;
        wi_walk_load(to, walked, at, t.column, t.row, arrived);
    }
    /* Taps stay, pixels go on. Boxes beyond the last tap are of no channel: zeros. */
    __device__ void load_across(char *to, const tap (&taps)[Walked::boxes], int term,
                                wi_barrier *arrived) const {
        int at[4];
        go_to(at, term);
#pragma unroll
        for (int box = 0; box < Walked::boxes; box++) {
            at[0] = taps[box].channel;
            wi_walk_load(to + (uint32_t)box * Walked::box_bytes, walked, at, taps[box].column,
                         taps[box].row, arrived);
        }
    }

    __device__ void copy(int steps) const {
        int at[4];
        tap taps[Walked::boxes];
        if constexpr (Shape::taps) {
#pragma unroll
            for (int box = 0; box < Walked::boxes; box++) {
                const int column = tile.column + box * Walked::across;
                taps[box] = column < p.columns ? tap_of(column) : tap{walk.extent, 0, 0};
                if (column < p.columns)
                    taps[box].channel += tile.group * (int)p.gathered_group;
            }
        } else {
            go_to(at, tile.row);
        }
        wi_conv_ring_turn turn = {0, 1}; /* a slot that was never used is empty */
        for (int s = 0; s < steps; s++, turn.next(slot_count)) {
            const int term = tile.first + s * Shape::depth;
            char *const to = slots + (uint32_t)turn.slot * Shape::slot_bytes;
            wi_barrier *const arrived = &full[turn.slot];
            wi_barrier_wait(&empty[turn.slot], turn.parity);
            wi_barrier_arrive_expect(arrived, Shape::slot_bytes);
            if constexpr (Shape::taps)
                load_across(to + Shape::walked_at, taps, term, arrived);
            else
                load(to + Shape::walked_at, at, term, arrived);
            wi_conv_load_plain<Shape>(to + Shape::plain_at, p, tile, plain, term, arrived);
        }
    }
};

/* Stores some rows of a tile, whose sums the blocks of the cluster have parts of. */
template <class Shape, class T>
__device__ inline void wi_conv_store_shares(const wi_conv_tensor_job<T> &p,
                                            const wi_conv_tensor_tile &tile, float *sums, int share,
                                            int shares) {
    const int rows = (Shape::rows + shares - 1) / shares, from = share * rows;
    const int to = from + rows < Shape::rows ? from + rows : Shape::rows;
    wi_conv_store_rows<Shape::columns, Shape::threads>(
        p, tile, from, to, [&](int i, int j, float(&run)[wi_conv_run_length]) {
            float part[wi_conv_run_length];
            wi_conv_read_run<Shape::columns>(wi_cluster_map(sums, 0), i, j, run);
            for (int other = 1; other < shares; other++) {
                wi_conv_read_run<Shape::columns>(wi_cluster_map(sums, (unsigned)other), i, j, part);
#pragma unroll
                for (int q = 0; q < wi_conv_run_length; q++)
                    run[q] += part[q];
            }
        });
}

template <class Shape>
static __global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    wi_conv_box_tiles(const __grid_constant__ wi_conv_box_work<typename Shape::T> work) {
    WEFT_DYNAMIC_SHARED(memory);
    typename Shape::barriers &b = *(typename Shape::barriers *)memory;
    char *const after = (char *)memory + sizeof b;
    char *const slots = after + (wi_box_align - (uintptr_t)after % wi_box_align);
    int own = 0;
    while (own + 1 < wi_conv_classes && blockIdx.x >= work.begin[own + 1])
        own++;
    const wi_conv_tensor_job<typename Shape::T> &p = work.job[own];
    const int share = (int)wi_cluster_rank(), shares = (int)wi_cluster_size();
    wi_conv_tensor_tile tile = wi_conv_tensor_tile_of<Shape::rows, Shape::columns>(
        p, (blockIdx.x - work.begin[own]) / (unsigned)shares);
    tile.first = (tile.slice * shares + share) * p.slice_terms;
    tile.end = p.terms - tile.first < p.slice_terms ? p.terms : tile.first + p.slice_terms;
    const int left = tile.end - tile.first;
    const int steps = left > 0 ? (left + Shape::depth - 1) / Shape::depth : 0;
    if (threadIdx.x == 0) {
        for (int s = 0; s < work.slots; s++) {
            wi_barrier_init(&b.full[s], 1);
            wi_barrier_init(&b.empty[s], Shape::adders);
        }
        wi_barrier_publish();
    }
    __syncthreads();
    const wi_conv_group<Shape> group = {slots, b.full, b.empty, work.slots};
    float sum[Shape::sums];
    if ((int)threadIdx.x < 32 * Shape::adders)
        group.multiply(sum, steps);
    else if (threadIdx.x == 32 * Shape::adders)
        wi_conv_box_copier<Shape>{p,     work.walk[own], tile,    &work.plain, &work.walked[own],
                                  slots, b.full,         b.empty, work.slots}
            .copy(steps);
    __syncthreads();
    if ((int)threadIdx.x < 32 * Shape::adders)
        group.lay_out(sum);
    if (shares == 1) {
        __syncthreads();
        wi_conv_store_sums<Shape::rows, Shape::columns, Shape::threads>(p, tile, (float *)slots);
    } else {
        wi_cluster_sync();
        wi_conv_store_shares<Shape>(p, tile, (float *)slots, share, shares);
        wi_cluster_sync();
    }
}

#endif
