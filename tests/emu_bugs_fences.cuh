/* SPDX-License-Identifier: Apache-2.0 */
/* Planted bugs with fences, asynchronous copies and pools, for emu_bugs_test.cu, which explains how
 * they are marked. */
#ifndef EMU_BUGS_FENCES_CUH
#define EMU_BUGS_FENCES_CUH

#include "emu_bugs.cuh"

namespace {

/* ---- a ticket that does not order what the block's other threads added ---- */

template <bool wrong>
__global__ void ticket(int *counts, unsigned *done, int *out) {
    WEFT_SHARED(bool, last, );
    atomicAdd(&counts[threadIdx.x], 1);
    if (!wrong)
        __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!last)
        return;
    __threadfence();
    out[threadIdx.x] = *(const volatile int *)&counts[threadIdx.x ^ 1]; /* caught: ticket */
}

template <bool wrong>
void run_ticket() {
    LAUNCH(ticket<wrong>, 3, threads, nullptr, zeroed_ints(threads), (unsigned *)zeroed_ints(1),
           device_ints(threads));
    finish();
}

/* ---- a slot loaded again, although the copy engine may not see what was written there ---- */

template <bool wrong>
__global__ void reload(const int *p, int *out) {
    WEFT_SHARED(int4, tile, [8]);
    WEFT_SHARED(wi_barrier, arrived, );
    if (threadIdx.x == 0)
        wi_barrier_init(&arrived, 1);
    if (threadIdx.x < 8)
        tile[threadIdx.x] = {1, 2, 3, 4};
    if (!wrong)
        wi_bulk_fence();
    __syncthreads();
    if (threadIdx.x == 0) {
        wi_barrier_arrive_expect(&arrived, sizeof tile);
        wi_bulk_load(&tile, p, sizeof tile, &arrived); /* caught: reload */
    }
    wi_barrier_wait(&arrived, 0);
    out[threadIdx.x] = tile[threadIdx.x % 8].x;
}

template <bool wrong>
void run_reload() {
    LAUNCH(reload<wrong>, 1, 32, nullptr, zeroed_ints(32), device_ints(32));
    finish();
}

/* ---- a slot loaded again while what it had before may still be on its way to registers ---- */

template <bool wrong>
__global__ void overtaken(const int *p, int *out) {
    WEFT_SHARED(int4, tile, [8]);
    WEFT_SHARED(wi_barrier, arrived, );
    if (threadIdx.x == 0)
        wi_barrier_init(&arrived, 1);
    __syncthreads();
    for (uint32_t parity = 0; parity < 2; parity++) {
        if (threadIdx.x == 0) {
            wi_barrier_arrive_expect(&arrived, sizeof tile);
            wi_bulk_load(&tile, p, sizeof tile, &arrived); /* caught: overtaken */
        }
        wi_barrier_wait(&arrived, parity);
        out[threadIdx.x] = tile[threadIdx.x % 8].x;
        if (!wrong)
            wi_bulk_fence();
        __syncthreads();
    }
}

template <bool wrong>
void run_overtaken() {
    LAUNCH(overtaken<wrong>, 1, 32, nullptr, zeroed_ints(32), device_ints(32));
    finish();
}

/* ---- a store of data that the copy engine may not see yet ---- */

template <bool wrong>
__global__ void unseen(int *out) {
    WEFT_SHARED(int4, tile, [8]);
    if (threadIdx.x < 8)
        tile[threadIdx.x] = {1, 2, 3, 4};
    if (!wrong)
        wi_bulk_fence();
    __syncthreads();
    if (wrong)
        wi_bulk_fence(); /* too late: the writer must call it before the barrier */
    if (threadIdx.x == 0) {
        wi_bulk_store(out, &tile, sizeof tile); /* caught: unseen */
        wi_bulk_commit();
        wi_bulk_wait_all();
    }
}

template <bool wrong>
void run_unseen() {
    LAUNCH(unseen<wrong>, 1, 32, nullptr, device_ints(32));
    finish();
}

/* ---- an asynchronous copy of 16 bytes where 12 are left ---- */

template <bool wrong>
__global__ void chunk(const int *in) {
    WEFT_SHARED(int4, tile, );
    if (wrong)
        wi_async_copy<16>(&tile, in); /* caught: chunk */
    else
        wi_async_copy_first((int *)&tile, in, 3);
    wi_async_wait<0>();
}

template <bool wrong>
void run_chunk() {
    LAUNCH(chunk<wrong>, 1, 1, nullptr, zeroed_ints(3));
    finish();
}

/* ---- memory of a pool that is never freed ---- */

template <bool wrong>
void run_leak() {
    cudaMemPool_t pool;
    void *p;
    const cudaMemPoolProps properties = {cudaMemAllocationTypePinned,
                                         {cudaMemLocationTypeDevice, 0}};
    assert_int_equal(cudaMemPoolCreate(&pool, &properties), cudaSuccess);
    assert_int_equal(cudaMallocFromPoolAsync(&p, 77, pool, nullptr), cudaSuccess);
    if (!wrong)
        cudaFreeAsync(p, nullptr);
    cudaMemPoolDestroy(pool); /* caught: leak */
    finish();
}

const Bug fence_bugs[] = {
    BUG(ticket, "data race"),
    BUG(reload, "fence.proxy.async"),
    BUG(overtaken, "fence.proxy.async"),
    BUG(unseen, "fence.proxy.async"),
    BUG(chunk, "out of bounds"),
    BUG(leak, "never freed"),
};

} // namespace

#endif
