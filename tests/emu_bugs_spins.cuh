/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that spin: they take few turns, and none is forgotten. */
#ifndef EMU_BUGS_SPINS_CUH
#define EMU_BUGS_SPINS_CUH

#include "emu_bugs.cuh"

namespace {

constexpr int long_work = 2000; /* turns */

std::vector<int> ints_of(const int *p, size_t n) {
    std::vector<int> host(n);
    finish();
    assert_int_equal(cudaMemcpyAsync(host.data(), p, n * sizeof(int), cudaMemcpyDefault, nullptr),
                     cudaSuccess);
    finish();
    return host;
}

__device__ void await_word(const uint32_t *flag) {
    while (wi_read_word(flag) == 0)
        wi_spin();
}

/* All threads of a block wait for one that works. */
__global__ void patient(uint32_t *flag) {
    if (blockIdx.x == 0)
        await_word(flag);
    else if (threadIdx.x == 0)
        for (int k = 0; k <= long_work; k++)
            wi_write_word(flag + (k < long_work), 1);
}

void test_patient(void **) {
    const unsigned long long begun = emu_steps();
    LAUNCH(patient, 2, threads, nullptr, (uint32_t *)zeroed_ints(2));
    finish();
    assert_true(emu_steps() - begun < 10 * long_work);
}

/* The lanes of a warp read a flag each, and spin until all are set. Meanwhile others are never
 * idle. */
__global__ void together(uint32_t *flags, uint32_t *through, int *turns) {
    if (blockIdx.x == 0) {
        while (!__all_sync(~0u, wi_read_word(flags + threadIdx.x) != 0))
            wi_spin();
        wi_write_word(through, 1);
    } else if (blockIdx.x == 1 && threadIdx.x == 0) {
        for (int lane = 0; lane < 32; lane++)
            wi_write_word(flags + lane, 1);
    } else if (threadIdx.x == 0) {
        while (wi_read_word(through) == 0 && *turns < 100 * long_work)
            ++*turns;
    }
}

void test_together(void **) {
    int *const turns = zeroed_ints(1);
    LAUNCH(together, 3, 32, nullptr, (uint32_t *)zeroed_ints(32), (uint32_t *)zeroed_ints(1),
           turns);
    assert_in_range(ints_of(turns, 1)[0], 1, 20 * long_work);
}

/* A thread that looks a few times for what does not come. */
__global__ void counted(const uint32_t *flag, int *looks) {
    while (wi_read_word(flag) == 0 && ++looks[threadIdx.x] < 9)
        wi_spin();
}

void test_counted(void **) {
    int *const looks = zeroed_ints(threads);
    LAUNCH(counted, 1, threads, nullptr, (const uint32_t *)zeroed_ints(1), looks);
    for (int each : ints_of(looks, threads))
        assert_int_equal(each, 9);
}

} // namespace

#endif
