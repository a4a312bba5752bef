/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of the emulated device (those of compute capability 9.0 unless a comment says
 * otherwise), how launches beyond them are refused, and the faults that tests plant. */
#include "emu.h"

#include <utility>

#include "emu_faults.h"

using namespace emu;

constexpr unsigned multiprocessors = 4;
constexpr unsigned largest_block[3] = {1024, 1024, 64};
constexpr unsigned largest_grid[3] = {0x7fffffff, highest_grid, highest_grid};
constexpr unsigned portable_cluster = 8, largest_cluster = 16;
constexpr unsigned registers_per_multiprocessor = 65536, most_blocks_each = 32;
constexpr size_t shared_per_multiprocessor = 228 * 1024, shared_reserved = 1024;
constexpr int usual_registers = 32; /* of kernels without declared needs */
constexpr size_t no_allowance = 0;

/* The needs of a kernel, and what was requested for it. */
struct Kernel {
    int registers = usual_registers;
    size_t local_bytes = 0;
    size_t granted_shared = no_allowance;
    bool large_clusters = false;
};

static std::map<const void *, Kernel> kernels;
static std::map<int, int> changed_attributes;
static int compiled_for = 90;
static struct {
    emu_moment moment;
    cudaError_t error;
    unsigned after;
} planted;
cudaError_t emu::lost;

/* ---- the device ---- */

static const int attributes[EMU_ATTRIBUTES] = {
    /* in the order of the names */
    most_threads,
    largest_block[0],
    largest_block[1],
    largest_block[2],
    largest_grid[0],
    largest_grid[1],
    largest_grid[2],
    shared_default,
    shared_limit,
    shared_per_multiprocessor,
    shared_reserved,
    registers_per_multiprocessor,
    registers_per_multiprocessor,
    most_threads, /* 2,048 on a GPU; fewer here, so that small grids fill the device */
    most_blocks_each,
    multiprocessors,
    1 << 20, /* of second-level cache */
    cudaComputeModeDefault,
    9,
    0,
    1,
    0,
    0,
    /* what an H200 has for so many multiprocessors, so that the library chooses as there */
    1980000, /* kHz */
    2328000,
    256, /* bits */
    2,
};

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr name, int device) {
    const Guard guard(lock);
    const auto changed = changed_attributes.find(name);
    const bool known = (unsigned)name < EMU_ATTRIBUTES;
    *value = changed != changed_attributes.end() ? changed->second : known ? attributes[name] : 0;
    return device < settings.devices ? cudaSuccess : cudaErrorInvalidDevice;
}

void emu_set_memory(size_t bytes) {
    const Guard guard(lock);
    memory_limit = bytes > 0 ? bytes : device_bytes;
}

void emu_set_attribute(enum cudaDeviceAttr name, int value) {
    changed_attributes[name] = value;
}

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit name) {
    static const size_t limits[EMU_DEVICE_LIMITS] = {1024, (size_t)8 << 20, 2048};
    *value = limits[name];
    return lost;
}

/* ---- kernels ---- */

static uint64_t round_up(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

/* Registers are allocated in units of 8 for each thread, and for whole warps. */
static uint64_t registers_of_block(const Kernel &kernel, uint64_t threads) {
    return round_up((uint64_t)kernel.registers, 8) * round_up(threads, 32);
}

static unsigned most_threads_of(const Kernel &kernel) {
    unsigned threads = most_threads;
    while (registers_of_block(kernel, threads) > registers_per_multiprocessor)
        threads -= 32;
    return threads;
}

static size_t dynamic_shared_of(const Kernel &kernel) {
    return std::max(shared_default, kernel.granted_shared);
}

size_t emu::shared_limit_of(const void *kernel) {
    return kernels[kernel].granted_shared == no_allowance ? shared_default : shared_limit;
}

/* How many blocks fit one multiprocessor. */
static uint64_t blocks_each(const Kernel &kernel, uint64_t threads, size_t shared_bytes) {
    if (threads < 1 || threads > most_threads_of(kernel) || shared_bytes > shared_limit)
        return 0;
    const uint64_t by_threads = most_threads / round_up(threads, 32);
    const uint64_t by_registers =
        registers_per_multiprocessor / registers_of_block(kernel, threads);
    const uint64_t by_shared = shared_per_multiprocessor / (shared_bytes + shared_reserved);
    return std::min({by_threads, by_registers, by_shared, (uint64_t)most_blocks_each});
}

static uint64_t clusters_of(const Kernel &kernel, uint64_t threads, unsigned cluster,
                            size_t shared_bytes) {
    const uint64_t each = blocks_each(kernel, threads, shared_bytes);
    if (each == 0 || cluster < 1 || cluster > largest_cluster)
        return 0;
    return std::max((uint64_t)1, each * multiprocessors / cluster);
}

uint64_t emu::clusters_that_fit(const emu_grid &shape) {
    return clusters_of(kernels[shape.kernel], volume(shape.threads), shape.cluster,
                       shape.shared_bytes);
}

static bool within(dim3 extent, const unsigned most[3]) {
    return extent.x - 1 < most[0] && extent.y - 1 < most[1] && extent.z - 1 < most[2];
}

cudaError_t emu::refusal(const void *function, const emu_grid &shape) {
    const Kernel &kernel = kernels[function];
    if (!within(shape.blocks, largest_grid) || !within(shape.threads, largest_block) ||
        volume(shape.threads) > most_threads)
        return cudaErrorInvalidConfiguration;
    if (volume(shape.threads) > most_threads_of(kernel))
        return cudaErrorLaunchOutOfResources;
    if (shape.shared_bytes > dynamic_shared_of(kernel))
        return cudaErrorInvalidValue;
    const unsigned most = kernel.large_clusters ? largest_cluster : portable_cluster;
    if (shape.cluster - 1 >= most || shape.blocks.x % shape.cluster != 0)
        return cudaErrorInvalidClusterSize;
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute name, int value) {
    const Guard guard(lock);
    Kernel &kernel = kernels[function];
    if (name == cudaFuncAttributeNonPortableClusterSizeAllowed)
        kernel.large_clusters = value != 0;
    else if ((size_t)value <= shared_limit)
        kernel.granted_shared = (size_t)value;
    else
        return cudaErrorInvalidValue;
    return lost;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *answer, const void *function) {
    const Guard guard(lock);
    const Kernel &kernel = kernels[function];
    *answer = {0,
               kernel.local_bytes,
               (int)most_threads_of(kernel),
               kernel.registers,
               (int)dynamic_shared_of(kernel),
               compiled_for};
    return lost;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel,
                                                          int threads, size_t shared_bytes) {
    const Guard guard(lock);
    *blocks = (int)blocks_each(kernels[kernel], (uint64_t)threads, shared_bytes);
    return lost;
}

cudaError_t emu_cluster_occupancy(int *clusters, const void *kernel, int threads, unsigned cluster,
                                  size_t shared_bytes) {
    const Guard guard(lock);
    *clusters = (int)clusters_of(kernels[kernel], (uint64_t)threads, cluster, shared_bytes);
    return *clusters ? lost : cudaErrorInvalidValue;
}

void emu_compile_for(int capability) {
    compiled_for = capability;
}

void emu_kernel_needs(const void *kernel, int registers, size_t local_bytes) {
    kernels[kernel].registers = registers;
    kernels[kernel].local_bytes = local_bytes;
}

/* ---- planted faults ---- */

void emu_plant(enum emu_moment moment, cudaError_t error, unsigned after) {
    planted = {moment, error, after};
}

cudaError_t emu::planted_now(int moment) {
    if (planted.error == cudaSuccess || planted.moment != moment || planted.after-- > 0)
        return cudaSuccess;
    planted.after = 0;
    return moment == EMU_IN_NESTED_LAUNCH ? planted.error
                                          : std::exchange(planted.error, cudaSuccess);
}

void emu::forget_plants() {
    kernels.clear();
    changed_attributes.clear();
    memory_limit = device_bytes;
    planted = {};
    lost = cudaSuccess;
}
