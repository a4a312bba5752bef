/* SPDX-License-Identifier: Apache-2.0 */
/* Planted bugs in clusters: shared memory of a neighbour that is not there yet or any more, and
 * messages. */
#ifndef EMU_BUGS_CLUSTERS_CUH
#define EMU_BUGS_CLUSTERS_CUH

#include "cuda/message.cuh"
#include "emu_bugs.cuh"

namespace {

/* ---- a neighbour's shared memory read before the cluster has met ---- */

template <bool wrong>
__global__ void neighbour(int *out) {
    WEFT_SHARED(int, word, [32]);
    word[threadIdx.x] = (int)blockIdx.x;
    if (wrong)
        __syncthreads();
    else
        wi_cluster_sync();
    const int *const theirs = wi_cluster_map(word, wi_cluster_rank() ^ 1);
    out[blockIdx.x * 32 + threadIdx.x] = theirs[threadIdx.x]; /* caught: neighbour */
    wi_cluster_sync();
}

template <bool wrong>
void run_neighbour() {
    LAUNCH_PAIRS(neighbour<wrong>, 4, 32, nullptr, device_ints(128));
    finish();
}

/* ---- a block that ends while its neighbour still reads its shared memory ---- */

template <bool wrong>
__global__ void leave(int *out) {
    WEFT_SHARED(int, word, [32]);
    word[threadIdx.x] = (int)blockIdx.x;
    wi_cluster_sync();
    if (wi_cluster_rank() == 0)
        out[threadIdx.x] = wi_cluster_map(word, 1)[threadIdx.x]; /* caught: leave */
    if (!wrong)
        wi_cluster_sync();
}

template <bool wrong>
void run_leave() {
    LAUNCH_PAIRS(leave<wrong>, 2, 32, nullptr, device_ints(32));
    finish();
}

/* ---- a message in a cluster of one block ---- */

__global__ void lonely(int *out) {
    WEFT_SHARED(wi_message, word, );
    WEFT_SHARED(wi_barrier, arrived, );
    if (threadIdx.x == 0) {
        wi_barrier_init(&arrived, 1);
        wi_barrier_arrive_expect(&arrived, sizeof word);
    }
    wi_cluster_sync();
    if (threadIdx.x == 0)
        wi_send(&word, {{1, 2, 3, blockIdx.x}}, &arrived, wi_cluster_rank()); /* caught: lonely */
    wi_receive(&arrived, 0);
    out[blockIdx.x * 32 + threadIdx.x] = (int)word.word[threadIdx.x % 4];
    wi_cluster_sync();
}

template <bool wrong>
void run_lonely() {
    launch("lonely", lonely, wrong ? 1 : 2, 2, 32, nullptr, device_ints(64));
    finish();
}

const Bug cluster_bugs[] = {
    BUG(neighbour, "shared memory"),
    BUG(leave, "shared memory"),
    BUG(lonely, "cluster of one block"),
};

} // namespace

#endif
