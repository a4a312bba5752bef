/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that wait for another device or for the host; and planted bugs with the words by which
 * they do, for emu_bugs_test.cu, which explains how they are marked. */
#ifndef EMU_BUGS_FAR_CUH
#define EMU_BUGS_FAR_CUH

#include "emu_bugs_spins.cuh"

namespace {

/* ---- a value for another device, behind a flag for threads of the same ---- */

template <bool wrong>
__global__ void near(int *value, unsigned long long *flag) {
    *value = 7;
    __threadfence();
    if (wrong)
        atomicExch(flag, 1ull);
    else
        wi_publish((uint64_t *)flag, 1);
}

__global__ void await_near(const int *value, const unsigned long long *flag, int *out) {
    while (wi_observe((const uint64_t *)flag) == 0) /* caught: near */
        wi_spin_far();
    *out = *value; /* caught: early_flag */
}

template <void (*kernel)(int *, unsigned long long *)>
void hand_to_device_1(unsigned many) {
    int *const value = device_ints(1);
    auto *const flag = (unsigned long long *)zeroed_ints(2);
    finish();
    cudaSetDevice(1);
    cudaDeviceEnablePeerAccess(0, 0);
    LAUNCH(await_near, 1, 1, nullptr, value, flag, device_ints(1));
    cudaSetDevice(0);
    LAUNCH(kernel, 1, many, nullptr, value, flag);
    finish();
}

template <bool wrong>
void run_near() {
    hand_to_device_1<near<wrong>>(1);
}

/* ---- the same with a flag that is raised by a thread which does not wait for the others ---- */

template <bool wrong>
__global__ void early_flag(int *value, unsigned long long *flag) {
    if (threadIdx.x == 33)
        *value = 7;
    if (!wrong)
        __syncthreads();
    if (threadIdx.x == 0)
        wi_publish((uint64_t *)flag, 1);
}

template <bool wrong>
void run_early_flag() {
    hand_to_device_1<early_flag<wrong>>(64);
}

const Bug far_bugs[] = {
    BUG(near, "both need system scope"),
    BUG(early_flag, "data race"),
};

/* ---- no bug ---- */

/* A thread that waits for the host: the host goes on, and its word is seen. */
__global__ void waits_for_host(const uint64_t *word, int *out) {
    while (wi_observe(word) == 0)
        wi_spin_far();
    *out = 5;
}

__attribute__((no_sanitize("thread"))) void set_word(uint64_t *pinned, uint64_t word) {
    *pinned = word;
}

void test_far(void **) {
    uint64_t *word;
    int *const out = zeroed_ints(1);
    assert_int_equal(cudaHostAlloc((void **)&word, sizeof *word, cudaHostAllocPortable),
                     cudaSuccess);
    set_word(word, 0);
    LAUNCH(waits_for_host, 1, 1, nullptr, (const uint64_t *)word, out);
    for (int k = 0; k < 3; k++)
        assert_int_equal(cudaStreamQuery(nullptr), cudaErrorNotReady);
    set_word(word, 1);
    assert_int_equal(ints_of(out, 1)[0], 5);
}

} // namespace

#endif
