/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of devices, planted: launches beyond the limits, kernels that fail, devices that are
 * lost or shared. On a GPU only what it refuses by itself, and one kernel that fails in a process
 * of its own; the rest on emu. */
#include <initializer_list>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern "C" {
#include "core/gpu_limits.h"
#include "gpu_name.h"
#include "testing.h"
}

#include "cuda/launch.cuh"

#ifdef WEFT_EMU
#    include <emu_faults.h>
#endif

namespace {

void ok(weft_context *ctx, weft_status status) {
    if (status != WEFT_OK)
        fail_msg("%s: %s", weft_status_name(status), weft_message(ctx));
}

/* Checks the status, and that the message is one line that contains all the words. */
void expect(const weft_context *ctx, weft_status status, weft_status wanted,
            std::initializer_list<const char *> words) {
    const char *const message = weft_message(ctx);
    if (status != wanted)
        fail_msg("%s, not %s: %s", weft_status_name(status), weft_status_name(wanted), message);
    for (const char *word : words)
        if (!strstr(message, word))
            fail_msg("\"%s\" is not in the message: %s", word, message);
    assert_null(strchr(message, '\n'));
    assert_true(strlen(message) < WI_MESSAGE_BYTES - 1);
}

__global__ void number(int *out, int n) {
    const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (k < n)
        out[k] = k;
}

__global__ void __launch_bounds__(64) narrow(int *out, int n) {
    if ((int)threadIdx.x < n)
        out[threadIdx.x] = (int)threadIdx.x;
}

__global__ void spare(int *out, int n) {
    if (threadIdx.x == 0)
        out[0] = n;
}

/* Checks that the context works: a kernel runs and its result comes back. */
void expect_working(weft_context *ctx) {
    constexpr int n = 100;
    void *p = nullptr;
    std::vector<int> host(n);
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    ok(ctx, weft_alloc(ctx, &p, n * sizeof(int)));
    ok(ctx, WEFT_LAUNCH(number, ctx, 4u, 32u, 0, (int *)p, n));
    ok(ctx, weft_copy(ctx, host.data(), p, n * sizeof(int)));
    ok(ctx, weft_free(ctx, p));
    for (int k = 0; k < n; k++)
        assert_int_equal(host[(size_t)k], k);
}

/* ---- launches beyond the limits ---- */

void test_grids(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    const int most = wi_device_attribute(ctx->device, cudaDevAttrMaxGridDimY);
    const std::string limit = "takes 1 to " + std::to_string(most);
    const std::string high = std::to_string(most + 1) + " blocks in y";
    expect(ctx, WEFT_LAUNCH(spare, ctx, dim3(1, (unsigned)most + 1), 32u, 0, (int *)nullptr, 0),
           WEFT_EDEVICE, {"launch of spare: ", high.c_str(), limit.c_str(), "weft_use"});
    expect(ctx, WEFT_LAUNCH(spare, ctx, 0u, 32u, 0, (int *)nullptr, 0), WEFT_EDEVICE,
           {"launch of spare: ", "0 blocks in x", "takes 1 to 2147483647"});
    expect_working(ctx);
}

void test_blocks(weft_context *ctx) {
    if (!ctx->gpu)
        return;
#ifdef WEFT_EMU
    emu_kernel_needs((const void *)narrow, 255, 0);
#endif
    expect(ctx, WEFT_LAUNCH(narrow, ctx, 1u, dim3(32, 33), 0, (int *)nullptr, 0), WEFT_EDEVICE,
           {"launch of narrow: ", "1056 threads a block", "takes at most 1024"});
    expect(ctx, WEFT_LAUNCH(narrow, ctx, 1u, dim3(1, 1, 65), 0, (int *)nullptr, 0), WEFT_EDEVICE,
           {"launch of narrow: ", "65 threads in z", "takes 1 to 64"});
    expect(ctx, WEFT_LAUNCH(narrow, ctx, 1u, 512u, 0, (int *)nullptr, 0), WEFT_EDEVICE,
           {"launch of narrow: ", "512 threads a block",
#ifdef WEFT_EMU
            "of 255 registers each, and the 65536 registers", "at most 256",
#else
            "compiled for at most 64",
#endif
            "choose another variant"});
    expect_working(ctx);
}

void test_shared_memory(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    const std::string most = " has " + std::to_string(ctx->gpu->shared_optin);
    expect(ctx, WEFT_LAUNCH(spare, ctx, 1u, 32u, 300000, (int *)nullptr, 0), WEFT_EDEVICE,
           {"launch of spare: ", "300000 bytes of shared memory a block", most.c_str()});
    expect_working(ctx);
}

void test_cluster(weft_context *ctx) {
    if (!ctx->gpu || ctx->gpu->capability < 90)
        return;
    expect(ctx, WEFT_LAUNCH_CLUSTER(spare, ctx, 64u, 32u, 32, 0, (int *)nullptr, 0), WEFT_EDEVICE,
           {"launch of spare: ", "64 blocks in clusters of 32", "at most 16"});
    expect_working(ctx);
}

/* An error that the program left behind does not belong to the launch. */
void test_left_behind(weft_context *ctx) {
    void *p = nullptr;
    if (!ctx->gpu)
        return;
    ok(ctx, weft_alloc(ctx, &p, sizeof(int)));
    assert_int_equal(cudaSetDevice(9999), cudaErrorInvalidDevice);
    expect(ctx, WEFT_LAUNCH(spare, ctx, 1u, 32u, 0, (int *)p, 0), WEFT_EDEVICE,
           {"launch of spare: ", "no limit of ", "1 blocks of 32 threads",
            "an earlier CUDA call of the program failed unnoticed", "cudaErrorInvalidDevice"});
    ok(ctx, weft_free(ctx, p));
    expect_working(ctx);
}

/* ---- what kernels use ---- */

void test_watch(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    wi_kernel_use use[2];
    wi_watch watch = {use, 2, 0, false};
    wi_gpu_limits limits;
#ifdef WEFT_EMU
    emu_kernel_needs((const void *)number, 100, 16);
#endif
    ok(ctx, wi_gpu_limits_of(ctx, &limits));
    wi_gpu_watch(ctx, &watch);
    expect_working(ctx);
    expect_working(ctx);
    assert_int_equal(watch.count, 1);
    assert_false(watch.full);
    void *p = nullptr;
    ok(ctx, weft_alloc(ctx, &p, sizeof(int)));
    ok(ctx, WEFT_LAUNCH(spare, ctx, 1u, 1024u, 0, (int *)p, 0));
    ok(ctx, WEFT_LAUNCH(spare, ctx, 1u, 512u, 0, (int *)p, 0)); /* no room to record it */
    ok(ctx, weft_free(ctx, p));
    wi_gpu_watch(ctx, nullptr);
    expect_working(ctx);
    assert_int_equal(watch.count, 2);
    assert_true(watch.full);
    assert_string_equal(use[0].kernel, "number");
    assert_int_equal(use[0].threads, 32);
    assert_string_equal(use[1].kernel, "spare");
    for (const wi_kernel_use &u : use) {
        assert_true(u.registers > 0 && u.registers <= limits.registers_per_thread);
        assert_true(u.most_threads >= (int)u.threads);
        assert_true(u.blocks > 0 && u.blocks <= limits.blocks_per_multiprocessor);
        assert_true(u.occupancy > 0 && u.occupancy <= 1);
    }
#ifdef WEFT_EMU
    assert_int_equal(use[0].registers, 100);
    assert_int_equal(use[0].local_bytes, 16);
    assert_int_equal(use[0].blocks, 19); /* of 104 registers * 32 threads in 65,536 */
    assert_int_equal(use[0].bound, WI_BOUND_REGISTERS);
    assert_int_equal(use[1].bound, WI_BOUND_THREADS);
    assert_int_equal(limits.registers_per_block, 65536);
    emu_kernel_needs((const void *)number, 32, 0);
#endif
    assert_true(limits.stack_bytes > 0 && limits.pending_launches > 0);
    assert_true(limits.free_bytes <= limits.memory_bytes);
    assert_true(limits.grid[1] > 0 && limits.block[2] > 0 && limits.shared_per_block > 0);
}

/* How much memory there is, and who holds it. */
void test_memory(weft_context *ctx) {
    void *p = nullptr;
    if (!ctx->gpu)
        return;
    expect(ctx, weft_alloc(ctx, &p, (size_t)1 << 48), WEFT_ENOMEM,
           {"taking 281474976710656 bytes", " are free and ", "held by this context",
            "other contexts and processes", "smaller arrays"});
    assert_null(p);
    expect_working(ctx);
}

#ifdef WEFT_EMU

/* ---- launches that fail although nothing is wrong with them ---- */

void test_never_ran(void **) {
    weft_context *const ctx = test_open(TEST_GPU);
    emu_plant(EMU_AT_LAUNCH, cudaErrorNoKernelImageForDevice, 0);
    expect(
        ctx, WEFT_LAUNCH(spare, ctx, 3u, 32u, 0, (int *)nullptr, 0), WEFT_EDEVICE,
        {"launch of spare: ", "never ran", "compute capability 9.0", "CMAKE_CUDA_ARCHITECTURES"});
    expect_working(ctx);
    emu_kernel_needs((const void *)spare, 32, 5000);
    emu_plant(EMU_AT_LAUNCH, cudaErrorMemoryAllocation, 0);
    expect(ctx, WEFT_LAUNCH(spare, ctx, 1u, 32u, 0, (int *)nullptr, 0), WEFT_ENOMEM,
           {"launch of spare: ", "5000 bytes of stack a thread", "4096 threads", "free memory"});
    expect_working(ctx);
    weft_close(ctx);
    emu_replace_device();
}

/* Kernels that were compiled for an older device lack what only the newer one has: rungs that need
 * it are not chosen, and refused if forced. */
void test_older_code(void **) {
    constexpr size_t n = 300000;
    const std::vector<float> x(n, 1);
    std::vector<float> y(n);
    emu_compile_for(80);
    weft_context *const ctx = test_open(TEST_GPU);
    assert_int_equal(ctx->gpu->capability, 80);
    ok(ctx, weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, n, x.data(), y.data(), nullptr));
    assert_string_equal(weft_used(ctx, "scan"), "lookback");
    assert_true(y[n - 1] == (float)n);
    ok(ctx, weft_use(ctx, "scan", "bulk"));
    expect(ctx, weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, n, x.data(), y.data(), nullptr),
           WEFT_EUNSUPPORTED, {"weft_scan: ", "bulk", "compute capability 9.0"});
    weft_close(ctx);
    emu_compile_for(90);
}

/* Launches by kernels that the device refuses: the launching kernel does their work. */
void test_nested(void **) {
    constexpr size_t n = 20000;
    std::vector<float> x(n), y(n);
    for (const char *variant : {"quick_naive", "quick"})
        for (unsigned after : {0u, 1u, 4u}) {
            weft_context *const ctx = test_open(TEST_GPU);
            for (size_t k = 0; k < n; k++)
                x[k] = (float)(k * 7919 % n);
            if (weft_use(ctx, "sort", variant) == WEFT_OK) { /* else without teaching rungs */
                emu_plant(EMU_IN_NESTED_LAUNCH, cudaErrorLaunchPendingCountExceeded, after);
                ok(ctx, weft_sort(ctx, WEFT_ASCENDING, WEFT_F32, n, x.data(), y.data()));
                for (size_t k = 0; k < n; k++)
                    assert_true(y[k] == (float)k);
            }
            weft_close(ctx);
            emu_replace_device();
        }
}

/* ---- kernels that fail while they run, and devices that are lost ---- */

/* Every call returns the first error, and touches nothing. */
void expect_lost(weft_context *ctx, const void *there, std::initializer_list<const char *> words) {
    float host[4] = {1, 2, 3, 4}, sum = -1;
    void *p = nullptr;
    const auto expect_all = [&](weft_status status) {
        expect(ctx, status, WEFT_EDEVICE, {"is out of use since an earlier failure: "});
        expect(ctx, status, WEFT_EDEVICE, words);
    };
    expect_all(weft_alloc(ctx, &p, 100));
    expect_all(weft_sync(ctx));
    expect_all(weft_copy(ctx, host, there, sizeof host));
    expect_all(weft_reduce(ctx, WEFT_SUM, WEFT_F32, 4, there, &sum));
    expect_all(weft_reduce(ctx, WEFT_SUM, WEFT_F32, 4, host, &sum));
    expect_all(weft_sort(ctx, WEFT_ASCENDING, WEFT_F32, 4, host, host));
    assert_true(sum == -1 && host[3] == 4 && !p);
}

struct fault {
    cudaError_t error;
    const char *remedy;
    bool by_kernel;
};
const fault faults[] = {
    {cudaErrorIllegalAddress, "compute-sanitizer", true},
    {cudaErrorAssert, "compute-sanitizer", true},
    {cudaErrorLaunchTimeout, "display's watchdog", true},
    {cudaErrorHardwareStackError, "cudaLimitStackSize", true},
    {cudaErrorECCUncorrectable, "nvidia-smi -q -d ECC", false},
    {cudaErrorMpsClientTerminated, "another client", false},
    {cudaErrorUnknown, "Xid in dmesg", false},
};

/* The third of five kernels fails; that becomes known when somebody waits. */
void test_late_errors(void **) {
    for (const fault &f : faults) {
        weft_context *const ctx = test_open(TEST_GPU), *const other = test_open(TEST_GPU);
        void *p = nullptr;
        ok(ctx, weft_alloc(ctx, &p, 100 * sizeof(int)));
        ok(ctx, weft_sync(ctx));
        emu_plant(EMU_IN_KERNEL, f.error, 2);
        for (unsigned k = 0; k < 4; k++)
            ok(ctx, WEFT_LAUNCH(number, ctx, 1u + k, 32u, 0, (int *)p, 100));
        ok(ctx, WEFT_LAUNCH(spare, ctx, 1u, 32u, 0, (int *)p, 100));
        expect(ctx, weft_sync(ctx), WEFT_EDEVICE,
               {"waiting for queued work: ", cudaGetErrorName(f.error), f.remedy,
                "restart the process"});
        if (f.by_kernel)
            expect(ctx, WEFT_EDEVICE, WEFT_EDEVICE,
                   {"in one of the kernels number, spare or before them"});
        else
            assert_null(strstr(weft_message(ctx), "kernel"));
        expect_lost(ctx, p, {"waiting for queued work: ", cudaGetErrorName(f.error)});
        /* For a context that does not know it yet, too, this thread must not touch memory. */
        assert_false(wi_gpu_is_host(other, p) || wi_gpu_is_host(ctx, p));
        expect(other, weft_sync(other), WEFT_EDEVICE, {cudaGetErrorName(f.error)});
        weft_close(other);
        weft_close(ctx);
        emu_replace_device();
        weft_context *const again = test_open(TEST_GPU);
        expect_working(again);
        weft_close(again);
    }
}

/* A kernel that was waited for is not named. */
void test_waited(void **) {
    weft_context *const ctx = test_open(TEST_GPU);
    void *p = nullptr;
    ok(ctx, weft_alloc(ctx, &p, 100 * sizeof(int)));
    ok(ctx, WEFT_LAUNCH(number, ctx, 1u, 32u, 0, (int *)p, 100));
    ok(ctx, weft_sync(ctx));
    emu_plant(EMU_IN_KERNEL, cudaErrorMisalignedAddress, 0);
    ok(ctx, WEFT_LAUNCH(spare, ctx, 1u, 32u, 0, (int *)p, 100));
    expect(ctx, weft_sync(ctx), WEFT_EDEVICE, {", in kernel spare;"});
    weft_close(ctx);
    emu_replace_device();
}

/* A launch that finds an earlier error is not named as its cause, unless launches wait. */
void test_blame(void **) {
    for (const char *blocking : {"0", "1"}) {
        weft_context *const ctx = test_open(TEST_GPU);
        setenv("CUDA_LAUNCH_BLOCKING", blocking, 1);
        void *p = nullptr;
        ok(ctx, weft_alloc(ctx, &p, 100 * sizeof(int)));
        ok(ctx, WEFT_LAUNCH(number, ctx, 1u, 32u, 0, (int *)p, 100));
        emu_plant(EMU_IN_KERNEL, cudaErrorLaunchFailure, 0);
        const weft_status status = WEFT_LAUNCH((spare), ctx, 1u, 32u, 0, (int *)p, 100);
        if (*blocking == '1') {
            expect(ctx, status, WEFT_EDEVICE, {"launch of spare: ", ", in kernel spare;"});
        } else {
            ok(ctx, status);
            cudaDeviceSynchronize();
            cudaGetLastError();
            expect(ctx, WEFT_LAUNCH(narrow, ctx, 1u, 32u, 0, (int *)p, 100), WEFT_EDEVICE,
                   {"launch of narrow: ", "in one of the kernels number, spare;"});
        }
        unsetenv("CUDA_LAUNCH_BLOCKING");
        weft_close(ctx);
        emu_replace_device();
    }
}

/* ---- processes that share a device ---- */

void test_sharing(void **) {
    weft_context *ctx = nullptr;
    wi_gpu_limits limits;
    emu_plant(EMU_AT_OPEN, cudaErrorDevicesUnavailable, 0);
    expect(nullptr, weft_open(&ctx, TEST_GPU), WEFT_EDEVICE,
           {"another process holds the GPU", "compute mode", "multi-process service"});
    assert_null(ctx);
    emu_plant(EMU_AT_OPEN, cudaErrorMpsMaxClientsReached, 0);
    expect(nullptr, weft_open(&ctx, TEST_GPU), WEFT_EDEVICE, {"no room for more clients"});
    emu_set_attribute(cudaDevAttrComputeMode, cudaComputeModeProhibited);
    expect(nullptr, weft_open(&ctx, TEST_GPU), WEFT_EDEVICE, {"\"prohibited\"", "nvidia-smi -c 0"});
    emu_set_attribute(cudaDevAttrComputeMode, cudaComputeModeExclusiveProcess);
    emu_set_attribute(cudaDevAttrMpsEnabled, 1);
    emu_set_attribute(cudaDevAttrKernelExecTimeout, 1);
    ctx = test_open(TEST_GPU);
    ok(ctx, wi_gpu_limits_of(ctx, &limits));
    assert_string_equal(limits.compute_mode, "exclusive process");
    assert_int_equal(limits.shared_by_mps, WI_YES);
    assert_true(limits.watchdog);
    weft_close(ctx);
    emu_replace_device();
}

#else

/* ---- on a GPU: a kernel that fails, in a process of its own ---- */

const char child[] = "a kernel that fails";

__global__ void stray(int *out) {
    *out = 1;
}

/* What the child does: 0 if all is as it should be. */
int fail_in_kernel() {
    weft_context *ctx = nullptr;
    float host[4] = {1, 2, 3, 4}, sum = -1;
    void *p = nullptr;
    if (weft_open(&ctx, "gpu") != WEFT_OK || weft_alloc(ctx, &p, sizeof host) != WEFT_OK ||
        weft_sync(ctx) != WEFT_OK)
        return 1;
    /* The first page is not device memory. */
    if (WEFT_LAUNCH(stray, ctx, 1u, 1u, 0, (int *)64) != WEFT_OK)
        return 2;
    if (weft_sync(ctx) != WEFT_EDEVICE || !strstr(weft_message(ctx), "in kernel stray") ||
        !strstr(weft_message(ctx), "restart the process"))
        return 3;
    if (weft_reduce(ctx, WEFT_SUM, WEFT_F32, 4, p, &sum) != WEFT_EDEVICE || sum != -1 ||
        !strstr(weft_message(ctx), "out of use since an earlier failure: "))
        return 4;
    if (weft_copy(ctx, host, p, sizeof host) != WEFT_EDEVICE || host[3] != 4)
        return 5;
    weft_close(ctx);
    return 0;
}

void test_in_child(void **) {
    const char *names[TEST_MAX_PLACES];
    bool wanted = false;
    for (size_t k = test_places(names); k-- > 0;)
        wanted = wanted || test_place_is_gpu(names[k]);
    if (!wanted)
        return;
    int how = 0;
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(120);
        execl("/proc/self/exe", "faults_test", child, (char *)nullptr);
        _exit(99);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
}

#endif

const test_body bodies[] = {{test_grids},       {test_blocks}, {test_shared_memory}, {test_cluster},
                            {test_left_behind}, {test_watch},  {test_memory}};
const char *const names[] = {"grids",       "blocks", "shared memory", "cluster",
                             "left behind", "watch",  "memory"};

} // namespace

int main(int count, char **words) {
#ifndef WEFT_EMU
    if (count == 2 && strcmp(words[1], child) == 0)
        return fail_in_kernel();
#endif
    (void)count;
    (void)words;
    std::vector<struct CMUnitTest> tests;
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++)
        tests.push_back({names[k], test_on_each_place, nullptr, nullptr, (void *)&bodies[k]});
#ifdef WEFT_EMU
    tests.push_back(cmocka_unit_test(test_never_ran));
    tests.push_back(cmocka_unit_test(test_older_code));
    tests.push_back(cmocka_unit_test(test_nested));
    tests.push_back(cmocka_unit_test(test_late_errors));
    tests.push_back(cmocka_unit_test(test_waited));
    tests.push_back(cmocka_unit_test(test_blame));
    tests.push_back(cmocka_unit_test(test_sharing));
#else
    tests.push_back(cmocka_unit_test(test_in_child));
#endif
    return _cmocka_run_group_tests("faults", tests.data(), tests.size(), nullptr, nullptr);
}
