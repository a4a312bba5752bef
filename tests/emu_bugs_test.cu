/* SPDX-License-Identifier: Apache-2.0 */
/* Planted bugs: kernels with one typical mistake each, which emu must report at the right line, and
 * their corrected versions, which must pass. A line marked "caught: NAME" is where NAME is
 * reported. */
#include "emu_bugs_clusters.cuh"
#include "emu_bugs_far.cuh"
#include "emu_bugs_fences.cuh"
#include "emu_bugs_spins.cuh"

#include <cudaTypedefs.h>
#include <vector>

namespace {

/* ---- a tree without its barrier ---- */

template <bool wrong>
__global__ void tree(int *sum) {
    WEFT_SHARED(int, part, [threads]);
    const int t = (int)threadIdx.x;
    part[t] = t;
    __syncthreads();
    for (int half = threads / 2; half > 0; half /= 2) {
        if (t < half)
            part[t] += part[t + half]; /* caught: tree */
        if (!wrong)
            __syncthreads();
    }
    if (t == 0)
        *sum = part[0];
}

template <bool wrong>
void run_tree() {
    LAUNCH(tree<wrong>, 1, threads, nullptr, device_ints(1));
    finish();
}

/* ---- a barrier in a divergent branch ---- */

template <bool wrong>
__global__ void branch(int *out) {
    const int t = (int)threadIdx.x;
    if (wrong && t < 40)
        __syncthreads(); /* caught: branch */
    if (!wrong || t >= 40)
        __syncthreads();
    out[t] = t;
}

template <bool wrong>
void run_branch() {
    LAUNCH(branch<wrong>, 1, threads, nullptr, device_ints(threads));
    finish();
}

/* ---- a barrier that some threads have already passed by returning ---- */

template <bool wrong>
__global__ void early(int *out, int n) {
    const int t = (int)threadIdx.x;
    if (wrong && t >= n)
        return;
    __syncthreads(); /* caught: early */
    if (t < n)
        out[t] = t;
}

template <bool wrong>
void run_early() {
    LAUNCH(early<wrong>, 1, threads, nullptr, device_ints(100), 100);
    finish();
}

/* ---- a shuffle whose mask names lanes that never arrive ---- */

template <bool wrong>
__global__ void mask(int *out) {
    const int t = (int)threadIdx.x;
    int v = t;
    if (t < 16)
        v += __shfl_down_sync(wrong ? 0xffffffffu : 0xffffu, v, 8, 16); /* caught: mask */
    __syncthreads();
    out[t] = v;
}

template <bool wrong>
void run_mask() {
    LAUNCH(mask<wrong>, 1, 32, nullptr, device_ints(32));
    finish();
}

/* ---- a shuffle whose mask does not contain the caller ---- */

template <bool wrong>
__global__ void outside(int *out) {
    const int t = (int)threadIdx.x;
    out[t] = __shfl_xor_sync(wrong ? 0x7fffffffu : 0xffffffffu, t, 1); /* caught: outside */
}

template <bool wrong>
void run_outside() {
    LAUNCH(outside<wrong>, 1, 32, nullptr, device_ints(32));
    finish();
}

/* ---- a store off by one ---- */

template <bool wrong>
__global__ void store(int *out, int n) {
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (wrong ? i <= n : i < n)
        out[i] = i; /* caught: store */
}

template <bool wrong>
void run_store() {
    LAUNCH(store<wrong>, 2, threads, nullptr, device_ints(200), 200);
    finish();
}

/* ---- a shared array too small ---- */

template <bool wrong>
__global__ void narrow(int *out) {
    WEFT_SHARED(int, of_warp, [wrong ? threads / 32 - 1 : threads / 32]);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = (int)threadIdx.x; /* caught: narrow */
    __syncthreads();
    out[threadIdx.x] = of_warp[threadIdx.x % 3];
}

template <bool wrong>
void run_narrow() {
    LAUNCH(narrow<wrong>, 1, threads, nullptr, device_ints(threads));
    finish();
}

/* ---- a look-back flag published before its value ---- */

template <bool wrong>
__global__ void publish(int *value, int *flag, int *out) {
    if (blockIdx.x == 0) {
        if (wrong)
            atomicExch(flag, 1);
        *value = 42;
        __threadfence();
        if (!wrong)
            atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0)
            wi_spin();
        __threadfence();
        *out = *(volatile int *)value; /* caught: publish */
    }
}

template <bool wrong>
void run_publish() {
    for (int k = 0; k < 40; k++)
        LAUNCH(publish<wrong>, 2, 1, nullptr, device_ints(1), zeroed_ints(1), device_ints(1));
    finish();
}

/* ---- a flag without a fence between it and its value, on the writer's side ---- */

template <bool fence_before, bool fence_after>
__device__ void hand_over(int *value, int *flag, int *out) {
    if (blockIdx.x == 0) {
        *value = 42;
        if (fence_before)
            __threadfence();
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0)
            wi_spin();
        if (fence_after)
            __threadfence();
        *out = *value; /* caught: unfenced, unfenced_reader */
    }
}

template <bool wrong>
__global__ void unfenced(int *value, int *flag, int *out) {
    hand_over<!wrong, true>(value, flag, out);
}

template <bool wrong>
void run_unfenced() {
    LAUNCH(unfenced<wrong>, 2, 1, nullptr, device_ints(1), zeroed_ints(1), device_ints(1));
    finish();
}

/* ---- the same on the reader's side ---- */

template <bool wrong>
__global__ void unfenced_reader(int *value, int *flag, int *out) {
    hand_over<true, !wrong>(value, flag, out);
}

template <bool wrong>
void run_unfenced_reader() {
    LAUNCH(unfenced_reader<wrong>, 2, 1, nullptr, device_ints(1), zeroed_ints(1), device_ints(1));
    finish();
}

/* ---- a flag that one thread sets before its block is known to have written ---- */

template <bool wrong>
__global__ void hasty(int *values, int *flag, int *out) {
    if (blockIdx.x == 0) {
        values[threadIdx.x] = 42;
        if (!wrong)
            __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicExch(flag, 1);
        }
        return;
    }
    if (threadIdx.x == 0) {
        while (atomicAdd(flag, 0) == 0)
            wi_spin();
        __threadfence();
    }
    __syncthreads();
    out[threadIdx.x] = values[threadIdx.x]; /* caught: hasty */
}

template <bool wrong>
void run_hasty() {
    LAUNCH(hasty<wrong>, 2, threads, nullptr, device_ints(threads), zeroed_ints(1),
           device_ints(threads));
    finish();
}

/* ---- warp-synchronous code without __syncwarp ---- */

template <bool wrong>
__global__ void warp(int *out) {
    WEFT_SHARED(int, word, [32]);
    const int t = (int)threadIdx.x;
    word[t] = 0;
    __syncwarp();
    word[t] = t;
    if (!wrong)
        __syncwarp();
    out[t] = word[t ^ 1]; /* caught: warp */
}

template <bool wrong>
void run_warp() {
    LAUNCH(warp<wrong>, 1, 32, nullptr, device_ints(32));
    finish();
}

/* ---- a histogram without atomics ---- */

template <bool wrong>
__global__ void histogram(int *out) {
    WEFT_SHARED(int, bins, [4]);
    if (threadIdx.x < 4)
        bins[threadIdx.x] = 0;
    __syncthreads();
    if (wrong)
        bins[threadIdx.x % 4]++; /* caught: histogram */
    else
        atomicAdd(&bins[threadIdx.x % 4], 1);
    __syncthreads();
    if (threadIdx.x < 4)
        out[threadIdx.x] = bins[threadIdx.x];
}

template <bool wrong>
void run_histogram() {
    LAUNCH(histogram<wrong>, 1, threads, nullptr, device_ints(4));
    finish();
}

/* ---- work on two streams that no event orders ---- */

__global__ void produce(int *p) {
    p[threadIdx.x] = (int)threadIdx.x;
}

__global__ void consume(const int *p, int *out) {
    out[threadIdx.x] = p[threadIdx.x]; /* caught: event */
}

template <bool wrong>
void run_event() {
    cudaStream_t first, second;
    cudaEvent_t event;
    cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    for (int k = 0; k < 20; k++) {
        int *const p = device_ints(threads);
        LAUNCH(produce, 1, threads, first, p);
        cudaEventRecord(event, first);
        if (!wrong)
            cudaStreamWaitEvent(second, event, 0);
        LAUNCH(consume, 1, threads, second, p, device_ints(threads));
        cudaStreamSynchronize(second);
    }
    finish();
}

/* ---- shared memory read before anything is written ---- */

template <bool wrong>
__global__ void unwritten(int *out) {
    WEFT_SHARED(int, sum, );
    if (!wrong && threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    atomicAdd(&sum, 1); /* caught: unwritten */
    __syncthreads();
    if (threadIdx.x == 0)
        *out = sum;
}

template <bool wrong>
void run_unwritten() {
    LAUNCH(unwritten<wrong>, 1, threads, nullptr, device_ints(1));
    finish();
}

/* ---- a block of the pool used after it is freed ---- */

__global__ void touch(int *p) {
    p[threadIdx.x] = 1; /* caught: freed */
}

template <bool wrong>
void run_freed() {
    int *const p = device_ints(threads);
    if (wrong)
        cudaFreeAsync(p, nullptr);
    LAUNCH(touch, 1, threads, nullptr, p);
    if (!wrong)
        cudaFreeAsync(p, nullptr);
    finish();
}

/* ---- a block freed twice ---- */

template <bool wrong>
void run_twice() {
    int *const p = device_ints(threads);
    cudaFreeAsync(p, nullptr);
    if (wrong)
        cudaFreeAsync(p, nullptr); /* caught: twice */
    finish();
}

/* ---- a bulk copy that no one waits for ---- */

template <bool wrong>
__global__ void unawaited(const int *p, int *out) {
    WEFT_SHARED(int4, tile, [8]);
    WEFT_SHARED(wi_barrier, arrived, );
    if (threadIdx.x == 0)
        wi_barrier_init(&arrived, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        wi_barrier_arrive_expect(&arrived, sizeof tile);
        wi_bulk_load(&tile, p, sizeof tile, &arrived);
    }
    if (!wrong)
        wi_barrier_wait(&arrived, 0);
    out[threadIdx.x] = tile[threadIdx.x % 8].x; /* caught: unawaited */
}

template <bool wrong>
void run_unawaited() {
    LAUNCH(unawaited<wrong>, 1, 32, nullptr, zeroed_ints(32), device_ints(32));
    finish();
}

/* ---- a loop that waits for a flag which nobody sets ---- */

template <bool wrong>
__global__ void stuck(int *flag) {
    if (blockIdx.x == 0 && !wrong)
        atomicExch(flag, 1);
    while (atomicAdd(flag, 0) == 0)
        wi_spin(); /* caught: stuck */
}

template <bool wrong>
void run_stuck() {
    LAUNCH(stuck<wrong>, 2, 32, nullptr, zeroed_ints(1));
    finish();
}

/* ---- a wide access at an unaligned address ---- */

template <bool wrong>
__global__ void odd(const int *p, int4 *out) {
    out[threadIdx.x] = ((const int4 *)(p + (wrong ? 1 : 0)))[threadIdx.x]; /* caught: odd */
}

template <bool wrong>
void run_odd() {
    LAUNCH(odd<wrong>, 1, 4, nullptr, zeroed_ints(32), (int4 *)device_ints(32));
    finish();
}

/* ---- a launch that does not wait for the whole grid before it ---- */

__global__ void gather(const int *p, int *out) {
    out[threadIdx.x] = p[threadIdx.x]; /* caught: forget */
}

template <bool wrong>
__global__ void forget(int *p, int *out) {
    p[blockIdx.x] = (int)blockIdx.x;
    if (blockIdx.x == 0 && wrong)
        (void)WEFT_LAUNCH_FORGET(gather, 1u, 2u, 0, p, out);
    if (blockIdx.x == 0 && !wrong)
        (void)WEFT_LAUNCH_TAIL(gather, 1u, 2u, 0, p, out);
}

template <bool wrong>
void run_forget() {
    LAUNCH(forget<wrong>, 2, 1, nullptr, device_ints(2), device_ints(2));
    finish();
}

/* ---- more stack than a thread has ---- */

__device__ __attribute__((noinline)) int deepen(int *out, int depth) {
    volatile int local[64];
    local[depth % 64] = depth;
    if (depth == 0)
        return *out;
    return deepen(out, depth - 1) + local[depth % 64];
}

__global__ void deep(int *out, int depth) {
    *out = 0;
    *out = deepen(out, depth);
}

void run_deep() {
    LAUNCH(deep, 1, 1, nullptr, device_ints(1), 10000);
    finish();
}

/* ---- more shared memory than a block of the kernel has ---- */

__global__ void roomy(int *out) {
    WEFT_SHARED(int, first, [6 * 1024]);
    WEFT_SHARED(int, second, [6 * 1024 + 1]);
    first[0] = 1;
    second[0] = 2;
    *out = first[0] + second[0];
}

void run_roomy() {
    LAUNCH(roomy, 1, 1, nullptr, device_ints(1));
    finish();
}

/* ---- memory of another device ---- */

__global__ void foreign(int *out) {
    out[threadIdx.x] = (int)threadIdx.x; /* caught: foreign, pooled, ranged */
}

void run_on_device_1(int *out) {
    cudaSetDevice(1);
    LAUNCH(foreign, 1, threads, nullptr, out);
    finish();
}

template <bool wrong>
void run_foreign() {
    int *const out = device_ints(threads);
    cudaSetDevice(1);
    if (!wrong)
        cudaDeviceEnablePeerAccess(0, 0);
    run_on_device_1(out);
}

/* Peer access does not open pools. */
template <bool wrong>
void run_pooled() {
    const cudaMemPoolProps properties = {cudaMemAllocationTypePinned,
                                         {cudaMemLocationTypeDevice, 0}};
    const cudaMemAccessDesc reader = {{cudaMemLocationTypeDevice, 1},
                                      cudaMemAccessFlagsProtReadWrite};
    cudaMemPool_t pool;
    void *out;
    cudaMemPoolCreate(&pool, &properties);
    cudaMallocFromPoolAsync(&out, threads * sizeof(int), pool, nullptr);
    cudaSetDevice(1);
    cudaDeviceEnablePeerAccess(0, 0);
    if (!wrong)
        cudaMemPoolSetAccess(pool, &reader, 1);
    run_on_device_1((int *)out);
}

template <class Function>
Function driver(const char *name) {
    void *entry;
    cudaDriverEntryPointQueryResult found;
    cudaGetDriverEntryPointByVersion(name, &entry, 10020, cudaEnableDefault, &found);
    assert_int_equal(found, cudaDriverEntryPointSuccess);
    return (Function)entry;
}

/* The second half of a range is memory of device 1, but both halves must be opened to it. */
template <bool wrong>
void run_ranged() {
    constexpr size_t half = 1024;
    const CUmemAccessDesc to[] = {
        {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
        {{CU_MEM_LOCATION_TYPE_DEVICE, 1}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
    CUdeviceptr p;
    driver<PFN_cuMemAddressReserve_v10020>("cuMemAddressReserve")(&p, 2 * half, 0, 0, 0);
    for (int device = 0; device < 2; device++) {
        const CUmemAllocationProp on = {CU_MEM_ALLOCATION_TYPE_PINNED,
                                        {CU_MEM_LOCATION_TYPE_DEVICE, device}};
        CUmemGenericAllocationHandle handle;
        driver<PFN_cuMemCreate_v10020>("cuMemCreate")(&handle, half, &on, 0);
        driver<PFN_cuMemMap_v10020>("cuMemMap")(p + (size_t)device * half, half, 0, handle, 0);
    }
    driver<PFN_cuMemSetAccess_v10020>("cuMemSetAccess")(p, 2 * half, to, wrong ? 1 : 2);
    cudaPointerAttributes first, last;
    cudaPointerGetAttributes(&first, (void *)(p + half - 1));
    cudaPointerGetAttributes(&last, (void *)(p + half));
    assert_true(first.device == 0 && last.device == 1);
    run_on_device_1((int *)(p + half - threads * sizeof(int) / 2));
}

const Bug bugs[] = {
    BUG(tree, "data race"),
    BUG(branch, "divergent barrier"),
    BUG(early, "divergent barrier"),
    BUG(mask, "__shfl_down_sync"),
    BUG(outside, "__shfl_xor_sync"),
    BUG(store, "out of bounds"),
    BUG(narrow, "out of bounds"),
    BUG(publish, "reads"),
    BUG(warp, "data race"),
    BUG(histogram, "data race"),
    BUG(event, "reads"),
    BUG(unwritten, "never written"),
    BUG(freed, "use after free"),
    BUG(twice, "double free"),
    BUG(unawaited, "never written"),
    BUG(stuck, "livelock"),
    BUG(odd, "misaligned"),
    BUG(unfenced, "data race"),
    BUG(unfenced_reader, "data race"),
    BUG(hasty, "reads"),
    BUG(forget, "reads"),
    BUG(foreign, "device 1 writes memory of device 0"),
    BUG(pooled, "device 1 writes memory of device 0"),
    BUG(ranged, "to which it was given no access"),
};

/* The output of `body`, which runs in its own process, and how that process ends. */
std::string output_of(void (*body)(), int *status) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        body();
        _exit(0);
    }
    close(ends[1]);
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
        text.append(buffer, (size_t)n);
    close(ends[0]);
    waitpid(child, status, 0);
    return text;
}

/* "FILE:LINE" of the line marked for that bug. */
std::string marked_line(const Bug *bug) {
    const std::string name = bug->name;
    const std::string mark = "/* caught: ", alone = name + " */", first = name + ", ";
    FILE *const file = fopen(bug->file, "r");
    assert_non_null(file);
    char line[1024];
    int number = 0, found = 0;
    while (fgets(line, sizeof line, file)) {
        number++;
        const char *const names = strstr(line, mark.c_str());
        if (names && (strstr(names, (" " + alone).c_str()) || strstr(names, (" " + first).c_str())))
            found = number;
    }
    fclose(file);
    assert_true(found > 0);
    return strrchr(bug->file, '/') + 1 + (":" + std::to_string(found));
}

void test_bug(void **state) {
    const Bug *const bug = (const Bug *)*state;
    int status;
    const std::string report = output_of(bug->wrong, &status);
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 0)
        fail_msg("%s was not caught: status %#x; %s", bug->name, (unsigned)status, report.c_str());
    const std::string line = marked_line(bug);
    if (report.find(bug->diagnosis) == std::string::npos || report.find(line) == std::string::npos)
        fail_msg("%s: the report does not say \"%s\" and %s:\n%s", bug->name, bug->diagnosis,
                 line.c_str(), report.c_str());
    const std::string quiet = output_of(bug->right, &status);
    if (status != 0)
        fail_msg("%s, corrected, fails: %s", bug->name, quiet.c_str());
}

void expect_report(void (*body)(), std::initializer_list<const char *> words) {
    int status;
    const std::string report = output_of(body, &status);
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 0)
        fail_msg("not caught: status %#x; %s", (unsigned)status, report.c_str());
    for (const char *word : words)
        if (report.find(word) == std::string::npos)
            fail_msg("\"%s\" is not in the report: %s", word, report.c_str());
}

/* What a GPU's compiler or driver would refuse, or what would be a hardware error there. */
void test_resources(void **) {
    expect_report(run_deep, {"stack of a thread is full", "deep, block (0, 0, 0)"});
    expect_report(run_roomy,
                  {"49156 bytes of shared memory", "may have 49152", "roomy, block (0, 0, 0)"});
}

} // namespace

int main() {
    std::vector<struct CMUnitTest> tests = {
        cmocka_unit_test(test_resources), cmocka_unit_test(test_patient),
        cmocka_unit_test(test_together), cmocka_unit_test(test_counted),
        cmocka_unit_test(test_far)};
    for (const Bug &bug : bugs)
        tests.push_back({bug.name, test_bug, nullptr, nullptr, (void *)&bug});
    for (const Bug &bug : fence_bugs)
        tests.push_back({bug.name, test_bug, nullptr, nullptr, (void *)&bug});
    for (const Bug &bug : far_bugs)
        tests.push_back({bug.name, test_bug, nullptr, nullptr, (void *)&bug});
    for (const Bug &bug : cluster_bugs)
        tests.push_back({bug.name, test_bug, nullptr, nullptr, (void *)&bug});
    return _cmocka_run_group_tests("planted bugs", tests.data(), tests.size(), nullptr, nullptr);
}
