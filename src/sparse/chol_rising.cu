/* SPDX-License-Identifier: Apache-2.0 */
/* The first levels of the tree, of small fronts only, by one kernel that stays. Its blocks of
 * threads take fronts by tickets, a level after the other, and whoever waits for a child waits for
 * an earlier ticket; so it does not matter how many blocks there are at once. A front begins when
 * its children are done, whatever the others of their level do. Two levels share the memory for
 * updates with the two after them: before a front stores its update, the level before its own must
 * be done. */
#include "cuda/memory.cuh"
#include "cuda/progress.cuh"
#include "sparse/chol_small.cuh"

constexpr int rise_threads = 32 * WI_RISE_WARPS, rise_side = WI_FRONT_SMALL;
constexpr int rise_blocks = 3; /* of a multiprocessor */
static_assert(wi_front_block<rise_side>::threads == rise_threads, "a block for a small front");

union wi_rise_room {
    wi_warp_room tiny[WI_RISE_WARPS];
    wi_small_room<rise_side> small;
};

/* What a front waits for. */
struct wi_rise_ready {
    const uint32_t *done;   /* 1 for each front that is done */
    const uint32_t *before; /* how many fronts of the level before are done */
    uint32_t all;           /* how many that level has */

    __device__ void child(int number) const {
        wait(done + number, 1);
    }
    __device__ void memory() const {
        wait(before, all);
    }

  private:
    __device__ static void wait(const uint32_t *count, uint32_t until) {
        while (wi_read_word(count) < until)
            wi_pause();
        (void)wi_progress(count); /* so that what was written before is seen */
    }
};

/* The fronts of an item. */
template <class real>
__device__ static void rise(const wi_device_chol &d, const wi_rise_item &item, wi_rise_room &room) {
    const int own = (int)threadIdx.x / 32, number = item.front + own;
    const wi_rise_ready ready = {d.arrived, d.risen + item.level, (uint32_t)item.before};
    const bool by_block = item.fronts == 0;
    if (by_block)
        wi_factor_small_front<real, rise_side, false>(d, d.front[item.front], room.small, ready);
    else if (own < item.fronts) {
        wi_factor_by_warp<real>(d, d.front[number], room.tiny[own], ready);
        __syncwarp();
        if (wi_lane() == 0)
            wi_advance(d.arrived + number, 1);
    }
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    if (by_block)
        wi_advance(d.arrived + item.front, 1);
    wi_advance(d.risen + 1 + item.level, by_block ? 1u : (uint32_t)item.fronts);
}

template <class real>
__global__ void __launch_bounds__(rise_threads, rise_blocks)
    wi_factor_rising(wi_device_chol d, int items) {
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(int, ticket, [2]); /* of even and of odd turns: the next one is taken early */
    if (threadIdx.x == 0)
        ticket[0] = (int)atomicAdd(d.risen, 1u);
    for (int turn = 0;; turn ^= 1) {
        __syncthreads();
        if (ticket[turn] >= items)
            return;
        const wi_rise_item item = d.rise[ticket[turn]];
        if (threadIdx.x == 0)
            ticket[turn ^ 1] = (int)atomicAdd(d.risen, 1u);
        rise<real>(d, item, *(wi_rise_room *)memory);
    }
}

weft_status wi_chol_rise(weft_context *ctx, const weft_chol *plan) {
    const wi_device_chol d = wi_chol_device_view(plan);
    const wi_schedule *const s = &plan->device->schedule;
    const int64_t fronts = s->rising < s->levels ? s->level[s->rising].first : s->fronts;
    const size_t words = (size_t)(1 + s->rising + fronts);
    const unsigned items = (unsigned)s->rises;
    const unsigned most = rise_blocks * (unsigned)ctx->gpu->multiprocessors;
    const weft_status status =
        wi_cuda(ctx, cudaMemsetAsync(d.risen, 0, words * sizeof *d.risen, ctx->gpu->stream),
                "beginning the first levels");
    return status == WEFT_OK
               ? WEFT_LAUNCH(plan->narrow ? wi_factor_rising<float> : wi_factor_rising<double>, ctx,
                             items < most ? items : most, rise_threads, sizeof(wi_rise_room), d,
                             (int)items)
               : status;
}
