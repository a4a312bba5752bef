/* SPDX-License-Identifier: Apache-2.0 */
/* A block of columns in one cluster, in one kernel: panel after panel is factored in registers
 * (lu_panel.cuh), applied to the columns beside it (lu_apply.cuh) and subtracted from those after
 * it (lu_slab.cuh). Panels reach no further than a group of 32 columns, and the group reaches the
 * rest of the block at once. */
#ifndef WI_LU_BLOCK_CUH
#define WI_LU_BLOCK_CUH

#include "cuda/anew.cuh"
#include "lu/lu_apply.cuh"
#include "lu/lu_panel.cuh"
#include "lu/lu_slab.cuh"

constexpr int wi_lu_group_width = 32;

template <class Shape>
struct wi_lu_block {
    using T = typename Shape::T;
    static constexpr int warps = Shape::threads / 32;
    using Applier = wi_lu_applier<T, warps>;
    using Subtractor = wi_lu_subtractor<T, warps>;
    struct memory {
        wi_lu_panel_shared<Shape> panel;
        typename Applier::memory beside;
        int partner[wi_lu_group_width]; /* which row each of the group is exchanged with */
        wi_lu_range columns, group;     /* of the panel in turn, and of its group */
    };

    const wi_lu_block_params<T> &p;
    memory &s;
    typename Subtractor::memory &u;

    __device__ T *at(int row, int column) const {
        return p.a + row + column * p.lda;
    }
    /* By the first warp of a block that knows the pivots. */
    __device__ void tell_partners() const {
        const int lane = wi_lane(), before = s.columns.begin - s.group.begin;
        if (lane < s.columns.end - s.columns.begin)
            for (unsigned block = 0; block < wi_cluster_size(); block++)
                wi_cluster_map(s.partner, block)[before + lane] =
                    before + (int)s.panel.chosen[lane].word[2];
    }
    __device__ void factor() const {
        const unsigned rank = wi_cluster_rank();
        if (rank < p.holders) {
            T x[Shape::rows][Shape::width];
            uint32_t now[Shape::rows];
            wi_lu_panel_block<Shape>{p, s.columns, s.panel, x, now, rank}.run();
            if (rank == 0 && threadIdx.x < 32)
                tell_partners();
            if (s.columns.end < p.whole.end)
                s.panel.announce(p.holders);
        }
        wi_cluster_sync();
    }
    /* What columns c, factored, do to the others of `among`. */
    __device__ void spread(wi_lu_range c, wi_lu_range among) const {
        const int thread = wi_thread_here();
        const int warp = (int)wi_cluster_rank() + thread / 32 * (int)wi_cluster_size();
        const int all = (int)wi_cluster_size() * warps;
        const int left = c.begin - among.begin, right = among.end - c.end;
        if (left + right == 0)
            return;
        const int lane = thread % 32, before = c.begin - s.group.begin;
        Applier{{at(c.begin, 0), p.lda, c.end - c.begin, (size_t)c.begin, (size_t)among.begin,
                 (size_t)c.end, (size_t)(left + right)},
                s.beside,
                thread}
            .run(warp, all, lane < c.end - c.begin ? s.partner[before + lane] - before : lane);
        wi_cluster_sync();
        if (right == 0 || p.rows == c.end)
            return;
        Subtractor{{at(c.end, c.begin), at(c.begin, c.end), at(c.end, c.end), p.lda, p.rows - c.end,
                    right, c.end - c.begin},
                   u,
                   thread}
            .run(warp, all);
        wi_cluster_sync();
    }
    __device__ static int lesser(int x, int y) {
        return x < y ? x : y;
    }
    /* By one thread: the columns from k on. */
    __device__ void turn_to(int k) const {
        if (k == s.group.end)
            s.group = {k, lesser(k + wi_lu_group_width, p.whole.end)};
        s.columns = {k, lesser(k + Shape::width, s.group.end)};
    }
    __device__ void begin() const {
        if (threadIdx.x == 0) {
            wi_barrier_init(&s.panel.arrived[0], 1);
            wi_barrier_init(&s.panel.arrived[1], 1);
            wi_barrier_publish();
            if (wi_cluster_rank() < p.holders)
                s.panel.announce(p.holders);
            s.group.end = p.whole.begin;
            turn_to(p.whole.begin);
        }
        wi_cluster_sync();
    }
    __device__ void run() const {
        begin();
#pragma unroll 1
        for (;;) {
            factor();
            const int k = s.columns.end, levels = k == s.group.end ? 2 : 1;
#pragma unroll 1
            for (int level = Shape::width < wi_lu_group_width ? 0 : 1; level < levels; level++)
                spread(level == 0 ? s.columns : s.group, level == 0 ? s.group : p.whole);
            if (k == p.whole.end)
                break;
            __syncthreads();
            if (threadIdx.x == 0)
                turn_to(k);
            __syncthreads();
        }
    }
};

template <class Shape>
__global__ void __launch_bounds__(Shape::threads, 1)
    wi_lu_factor_block(wi_lu_block_params<typename Shape::T> p) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    using Block = wi_lu_block<Shape>;
    WEFT_SHARED(typename Block::memory, shared, );
    WEFT_DYNAMIC_SHARED(u);
    Block{p, wi_shared_anew(shared), *(typename Block::Subtractor::memory *)u}.run();
#endif
}

#endif
