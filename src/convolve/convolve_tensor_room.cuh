/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel of rung tensor (convolve_tensor.cuh) is told, and how its blocks are divided:
 * their warps, tiles and shared memory. */
#ifndef WI_CONVOLVE_TENSOR_ROOM_CUH
#define WI_CONVOLVE_TENSOR_ROOM_CUH

#include "convolve/convolve_cuda.cuh"
#include "cuda/boxes.cuh"

constexpr int wi_tensor_warps = 8; /* that multiply */
constexpr int wi_tensor_multipliers = 32 * wi_tensor_warps;
/* Warps that make sums in doubt again: a low filter has few products. */
template <bool is_low>
constexpr int wi_tensor_settlers = is_low ? 1 : 4;
template <bool is_low>
constexpr int wi_tensor_threads = wi_tensor_multipliers + 32 * wi_tensor_settlers<is_low>;
constexpr int wi_tensor_rows = 4;   /* of the output in a piece, of x in a group */
constexpr int wi_tensor_piece = 64; /* bytes of such rows */
constexpr int wi_tensor_pieces = 3; /* of a tile's row */
constexpr int wi_tensor_width = wi_tensor_pieces * wi_tensor_piece;
constexpr int wi_tensor_pitch = 224;    /* bytes of a row of x; a warp's words are in all banks */
constexpr int wi_tensor_most_rows = 64; /* of a tile */
constexpr int wi_tensor_bytes = 8;      /* outputs of a lane in a piece: two words, ... */
constexpr int wi_tensor_apart = 32;     /* ... so many bytes from one to the other */
constexpr int wi_tensor_turns = 3;      /* tiles that a block has at a time */
constexpr unsigned wi_tensor_entries = 512; /* of a tile's queue */
constexpr int wi_tensor_weights = WI_CONVOLVE_TAUGHT_WEIGHTS;

__host__ __device__ constexpr int wi_tensor_lesser(int a, int b) {
    return a < b ? a : b;
}

struct wi_tensor_params {
    wi_convolve_images m;
    int left, above, filter_width, filter_height; /* in pixels */
    int skipped; /* bytes of a slot's row before the first that counts */
    bool by_factors, is_exact;
    bool aligned_y; /* four bytes at a time */
    int shift, begin, in_doubt;
    int groups, tile_rows;
    unsigned across, down, tiles;
    float weight[wi_tensor_weights]; /* of the filter; or of its row, and then of its column */
};

/* Products along k, of 32 bytes: two groups of `slots` words are `slots` products. A last single
 * group is half as many, with zeros at the end if need be. */
template <int slots, int parts>
struct wi_tensor_table {
    static constexpr int line_steps = wi_box_line / 32; /* whose weights are in one line of B */
    static constexpr int boxes = (slots + line_steps - 1) / line_steps; /* of two groups */
    static constexpr uint32_t box_bytes = 16 * (uint32_t)parts * wi_box_line;
    static constexpr uint32_t pair_bytes = boxes * box_bytes;

    /* Where the weights of a step of two groups begin. */
    __host__ __device__ static constexpr uint32_t step_at(int step) {
        return (uint32_t)(step / line_steps) * box_bytes + (uint32_t)(step % line_steps * 32);
    }
};

/* Where a block's shared memory has what. */
struct wi_tensor_room {
    uint32_t table, slot_bytes, queue, weights, units, bytes;

    __host__ __device__ wi_tensor_room(const wi_tensor_params &p, uint32_t pair_bytes,
                                       int tile_rows) {
        const uint32_t rows = (uint32_t)(tile_rows - wi_tensor_rows + p.groups * wi_tensor_rows);
        const uint32_t n = (uint32_t)(p.filter_width * p.filter_height);
        slot_bytes = rows * wi_tensor_pitch;
        table = (uint32_t)(p.groups + 1) / 2 * pair_bytes;
        queue = table + wi_tensor_turns * slot_bytes;
        weights = queue + wi_tensor_turns * wi_tensor_entries * 4;
        units = weights + n * 4;
        bytes = wi_box_align + units + n * 4;
    }
};

/* What a block signals, and counts. */
struct wi_tensor_signals {
    wi_barrier arrived[wi_tensor_turns]; /* a tile's pixels */
    wi_barrier done[wi_tensor_turns];    /* its outputs, but for those in doubt */
    wi_barrier settled[wi_tensor_turns]; /* these */
    wi_barrier bordered;
    unsigned queued[wi_tensor_turns];
};

/* An output tile: its first byte and row, and what there is of it. */
struct wi_tensor_tile {
    unsigned image;
    int column, row, columns, rows;
    bool is_whole; /* and its words may be stored at once */
};

#endif
