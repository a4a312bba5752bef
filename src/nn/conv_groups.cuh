/* SPDX-License-Identifier: Apache-2.0 */
/* Warp groups that multiply from a ring of slots in shared memory: what the kernels of conv's rung
 * ring share. A group has 64 rows of the tile, or of a tile of 64 rows half of the columns. */
#ifndef WI_CONV_GROUPS_CUH
#define WI_CONV_GROUPS_CUH

#include "cuda/boxes.cuh"
#include "cuda/group.cuh"
#include "nn/conv_tensor.cuh"

/* A slot of a ring, and the parity of how often it has been used. */
struct wi_conv_ring_turn {
    int slot;
    uint32_t parity;
    __device__ void next(int slots) {
        if (++slot == slots) {
            slot = 0;
            parity ^= 1;
        }
    }
};

/* Tiles of rows x columns, whose factors lie in slots as panels A and B. */
template <class T_, class A_, class B_, int rows_, int columns_>
struct wi_conv_group_shape {
    using T = T_;
    using A = A_;
    using B = B_;
    static constexpr int rows = rows_, columns = columns_;
    static constexpr int high_groups = rows / 64, groups = high_groups > 2 ? high_groups : 2;
    static constexpr int adders = 4 * groups;                          /* warps */
    static constexpr int own_columns = columns * high_groups / groups; /* of a group */
    static constexpr int sums = own_columns / 2;                       /* of a thread */
    static constexpr int depth = wi_box_line / (int)sizeof(T);
    static constexpr uint32_t slot_bytes = A::bytes + B::bytes;
    static constexpr size_t sum_bytes = wi_conv_sums_bytes(rows, columns);
};

/* The plain matrix, as the copy engine is told of it. */
template <class Shape, class T>
inline wi_box_source wi_conv_plain_source(const wi_conv_tensor_job<T> &p, weft_type type) {
    const size_t pitch = p.plain_pitch * sizeof(T), length = (size_t)p.plain_length;
    if (Shape::across)
        return {type,
                p.plain,
                length,
                (size_t)p.plain_lines,
                pitch,
                (size_t)p.places,
                length * sizeof(T),
                false};
    const size_t lines = (size_t)(Shape::taps ? p.terms : p.columns);
    return {type, p.plain, length, lines, pitch, (size_t)p.groups, p.plain_group * sizeof(T),
            false};
}

/* Starts the copies of the plain matrix, for the step whose terms begin at `term`. */
template <class Shape, class T>
__device__ inline void wi_conv_load_plain(char *to, const wi_conv_tensor_job<T> &p,
                                          const wi_conv_tensor_tile &tile, const wi_boxes *plain,
                                          int term, wi_barrier *full) {
    if constexpr (Shape::across) {
        const unsigned window = p.view.channels.of((unsigned)term);
        const unsigned row = p.view.window_w.of(window);
        const int filter = term - (int)(window * p.view.channels.by);
        const int place =
            p.place + (int)row * p.place_h + (int)(window - row * p.view.window_w.by) * p.place_w;
        Shape::Plain::load(to, plain, tile.column, tile.group * (int)p.plain_group + filter, place,
                           full);
    } else {
        Shape::Plain::load(to, plain, Shape::taps ? tile.row : tile.column, term, tile.group, full);
    }
}

template <class Shape>
struct wi_conv_group {
    char *slots;
    wi_barrier *full, *empty;
    int slot_count;

    __device__ static int row() {
        return (int)threadIdx.x / 128 % Shape::high_groups * 64;
    }
    __device__ static int column() {
        return (int)threadIdx.x / 128 / Shape::high_groups * Shape::own_columns;
    }

    __device__ void release(int slot) const {
        __syncwarp();
        if (wi_lane() == 0)
            wi_barrier_arrive(&empty[slot]);
    }

    __device__ void multiply(float (&sum)[Shape::sums], int steps) const {
        using T = typename Shape::T;
        using A = typename Shape::A;
        using B = typename Shape::B;
        constexpr int product_k = 32 / (int)sizeof(T);
        int before = 0;
        wi_conv_ring_turn turn = {0, 0};
#pragma unroll
        for (int q = 0; q < Shape::sums; q++)
            sum[q] = 0;
#pragma unroll(1)
        for (int s = 0; s < steps; s++) {
            const char *const of_a = slots + (uint32_t)turn.slot * Shape::slot_bytes;
            const char *const of_b = of_a + A::bytes;
            wi_barrier_wait(&full[turn.slot], turn.parity);
            wi_group_begin();
#pragma unroll
            for (int k = 0; k < Shape::depth; k += product_k) {
                const wi_group_operand x = {of_a + A::at(row(), k), A::box_bytes};
                const wi_group_operand y = {of_b + B::at(column(), k), B::box_bytes};
                wi_group_multiply<T, A::by_k, B::by_k>(sum, x, y);
            }
            wi_group_commit();
            wi_group_wait<1>();
            if (s > 0)
                release(before);
            before = turn.slot;
            turn.next(slot_count);
        }
        wi_group_wait<0>();
    }

    /* Sums to shared memory, in the place of slots that nobody needs any more. */
    __device__ void lay_out(const float (&sum)[Shape::sums]) const {
        constexpr int pitch = Shape::columns + wi_conv_sums_pad;
        const int lane = wi_lane(), warp = (int)threadIdx.x / 32 % 4;
        float *const to =
            (float *)slots + (row() + warp * 16 + lane / 4) * pitch + column() + lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < Shape::sums / 4; j++)
#pragma unroll
            for (int r = 0; r < 2; r++)
                *(float2 *)(to + 8 * r * pitch + 8 * j) = {sum[4 * j + 2 * r],
                                                           sum[4 * j + 2 * r + 1]};
    }
};

#endif
