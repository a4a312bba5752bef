/* SPDX-License-Identifier: Apache-2.0 */
/* An operand in a slot of the ring of gemm_boxes.cuh: how many boxes it is, and where in them. */
#ifndef WI_GEMM_PANEL_CUH
#define WI_GEMM_PANEL_CUH

#include "cuda/boxes.cuh"

/* `extent` rows of A, or columns of B, by `depth` of k. In the caller's matrix elements lie
 * together along k if `by_k`; each line of a box is then a row (or column), else it is one of k,
 * and boxes follow each other across. */
template <class T, int extent, bool by_k_, bool is_shared = false>
struct wi_gemm_panel {
    static constexpr bool by_k = by_k_;
    static constexpr int across = wi_box_line / (int)sizeof(T), depth = across;
    static constexpr int most_lines = is_shared ? extent / 2 : extent % 128 == 0 ? 128 : extent;
    static constexpr int box_lines = by_k ? most_lines : depth;
    static constexpr int box_extent = by_k ? box_lines : across, boxes = extent / box_extent;
    static constexpr uint32_t box_bytes = (uint32_t)box_lines * wi_box_line;
    static constexpr uint32_t bytes = box_bytes * boxes;
    static_assert(extent % box_extent == 0, "whole boxes");

    /* Starts the copies of rows (or columns) from `first` on and k from p on; if it is shared,
     * those of every other box, for both blocks of a pair. */
    __device__ static void load(char *slot, const wi_boxes *matrix, int first, int p, int part,
                                wi_barrier *arrived, int rank = 0) {
#pragma unroll
        for (int box = 0; box < boxes; box++) {
            const int i = first + box * box_extent;
            char *const to = slot + (uint32_t)box * box_bytes;
            if constexpr (!is_shared)
                wi_box_load(to, matrix, by_k ? p : i, by_k ? i : p, part, arrived);
            else if (box % 2 == rank)
                wi_box_load_to(to, matrix, by_k ? p : i, by_k ? i : p, part, arrived, 3);
        }
    }

    /* The bytes from the first element to element p along k of row (or column) i, if lines were not
     * shuffled. */
    __device__ static constexpr uint32_t at(int i, int p) {
        return by_k ? (uint32_t)(i * wi_box_line + p * (int)sizeof(T))
                    : (uint32_t)(i / across) * box_bytes +
                          (uint32_t)(p * wi_box_line + i % across * (int)sizeof(T));
    }
};

#endif
