/* SPDX-License-Identifier: Apache-2.0 */
/* emu's stand-in for what nvcc includes by itself: the device language, for a C++17 compiler. Every
 * operation that orders threads calls emu with its source line, and lets other threads run first.
 */
#ifndef EMU_CUDA_RUNTIME_H
#define EMU_CUDA_RUNTIME_H

#if defined(__clang__) && defined(__has_feature)
#    if __has_feature(thread_sanitizer)
/* Clang does not report copies of structs in a kernel: its calls of memcpy and so on are redirected
 * to the hooks, before anything else. */
__asm__(".set memcpy, emu_memcpy\n.set memmove, emu_memmove\n.set memset, emu_memset");
#    endif
#endif

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#include "cuda_runtime_api.h"

#define __global__
#define __device__
#define __grid_constant__
#define __host__
#define __constant__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

#define EMU_VECTOR(name, bytes, type, ...)                                                         \
    struct alignas(bytes) name {                                                                   \
        type __VA_ARGS__;                                                                          \
    }
EMU_VECTOR(uint3, 4, unsigned, x, y, z);
EMU_VECTOR(uint4, 16, unsigned, x, y, z, w);
EMU_VECTOR(int2, 8, int, x, y);
EMU_VECTOR(int4, 16, int, x, y, z, w);
EMU_VECTOR(float2, 8, float, x, y);
EMU_VECTOR(float4, 16, float, x, y, z, w);
struct dim3 : uint3 {
    constexpr dim3(unsigned wide = 1, unsigned high = 1, unsigned deep = 1)
        : uint3{wide, high, deep} {}
};

/* The indices of the running thread. Constant for the compiler: a kernel's code never moves to
 * another thread. */
struct emu_index {
    uint3 thread, block;
    dim3 threads, blocks;
    unsigned rank, cluster; /* number of the block in its cluster, and size of the cluster */
    int lane;               /* in its warp */
};
__attribute__((const)) const emu_index *emu_here();
#define threadIdx (emu_here()->thread)
#define blockIdx (emu_here()->block)
#define blockDim (emu_here()->threads)
#define gridDim (emu_here()->blocks)
constexpr int warpSize = 32;

/* An operation and its place in the source; as a default argument, the place of the call. */
struct emu_site {
    const char *file;
    int line;
    const char *what;
};
#define EMU_HERE(name) (emu_site{__FILE__, __LINE__, name})
#define EMU_SITE(name) emu_site at = {__builtin_FILE(), __builtin_LINE(), name}

/* ---- launches, memory of the block, the cluster ---- */

struct emu_grid {
    const char *what;
    dim3 blocks, threads;
    unsigned cluster; /* blocks */
    size_t shared_bytes;
    std::function<void()> body;
    const void *kernel = nullptr; /* set by the launch */
};
cudaError_t emu_launch(const void *kernel, cudaStream_t stream, const emu_grid &shape);
/* False if the device refuses the launch. */
bool emu_device_launch(bool tail, const void *kernel, const emu_grid &shape);
cudaError_t emu_set_constant(void *constant, const void *value, size_t bytes, cudaStream_t stream);
/* How many clusters of so many blocks the device can hold. */
cudaError_t emu_cluster_occupancy(int *clusters, const void *kernel, int threads, unsigned cluster,
                                  size_t shared);

/* The block's variable that `key` identifies, and its dynamic shared memory. */
void *emu_shared(const void *key, size_t bytes, size_t alignment);
unsigned char *emu_dynamic_shared();

void *emu_cluster_map(void *mine, unsigned rank, emu_site at);

/* ---- where threads meet ---- */

/* Waits for the lanes of the warp in `mask`, or for all of the block or cluster. Returns the bits
 * of a vote, the value from lane `source`, or how many threads of the block give a nonzero value.
 */
EMU_ENUM(emu_op, EMU_SYNCWARP, EMU_SHUFFLE, EMU_GATHER, EMU_BALLOT, EMU_MATCH, EMU_BLOCK,
         EMU_CLUSTER);
uint64_t emu_meet(emu_op op, emu_site at, unsigned mask, uint64_t value = 0, int source = 0);
#define emu_cluster_barrier(at) emu_meet(EMU_CLUSTER, at, 0)
#define EMU_BARRIER(name, value) ((int)emu_meet(EMU_BLOCK, EMU_HERE(name), 0, (value) != 0))
#define __syncthreads() ((void)EMU_BARRIER("__syncthreads", 0))
#define __syncthreads_and(value) (EMU_BARRIER("__syncthreads_and", !(value)) == 0)
#define __syncthreads_or(value) (EMU_BARRIER("__syncthreads_or", value) != 0)
#define __syncthreads_count(value) EMU_BARRIER("__syncthreads_count", value)

inline void __syncwarp(unsigned mask = ~0u, EMU_SITE("__syncwarp")) {
    emu_meet(EMU_SYNCWARP, at, mask);
}
#define EMU_VOTE(name, mask, value)                                                                \
    ((unsigned)emu_meet(EMU_BALLOT, EMU_HERE(name), mask, (value) != 0))
#define __ballot_sync(mask, value) EMU_VOTE("__ballot_sync", mask, value)
#define __any_sync(mask, value) (EMU_VOTE("__any_sync", mask, value) != 0)
#define __all_sync(mask, value) (EMU_VOTE("__all_sync", mask, !(value)) == 0)
unsigned __activemask();

/* Lets all lanes of a warp read `bytes` bytes of each: what takes many shuffles, in one meeting.
 * Lane k's begin at k times emu_gather_bytes, and stay there until the next gathering but one. */
constexpr size_t emu_gather_bytes = 96;
const unsigned char *emu_gather(const void *mine, size_t bytes, emu_site at);
/* Word i of a lane's. */
template <class T>
__attribute__((no_sanitize("thread"))) inline T emu_gathered(const unsigned char *all, int lane,
                                                             int i) {
    T word;
    memcpy(&word, all + (size_t)lane * emu_gather_bytes + (size_t)i * sizeof word, sizeof word);
    return word;
}

template <class To, class From>
inline To emu_bits(From from) {
    static_assert(sizeof(From) <= sizeof(To) || sizeof(From) == 8, "at most 8 bytes");
    To to = {};
    memcpy((void *)&to, (const void *)&from, sizeof to < sizeof from ? sizeof to : sizeof from);
    return to;
}

/* Shuffles in groups of `width` lanes; a lane that would read beyond its group gets its own value.
 */
template <class T>
inline T emu_shuffle(emu_site at, unsigned mask, T value, bool within, int source) {
    return emu_bits<T>(emu_meet(EMU_SHUFFLE, at, mask, emu_bits<uint64_t>(value),
                                within ? source : emu_here()->lane));
}
template <class T>
inline T __shfl_sync(unsigned mask, T value, int lane, int width = 32, EMU_SITE("__shfl_sync")) {
    const int first = emu_here()->lane & -width;
    return emu_shuffle(at, mask, value, true, first + (lane & (width - 1)));
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, int by, int width = 32,
                        EMU_SITE("__shfl_up_sync")) {
    const int lane = emu_here()->lane;
    return emu_shuffle(at, mask, value, lane % width >= by, lane - by);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, int by, int width = 32,
                          EMU_SITE("__shfl_down_sync")) {
    const int lane = emu_here()->lane;
    return emu_shuffle(at, mask, value, lane % width + by < width, lane + by);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32,
                         EMU_SITE("__shfl_xor_sync")) {
    const int lane = emu_here()->lane, source = lane ^ with;
    return emu_shuffle(at, mask, value, source < (lane & -width) + width, source);
}
template <class T>
inline unsigned __match_any_sync(unsigned mask, T value, EMU_SITE("__match_any_sync")) {
    return (unsigned)emu_meet(EMU_MATCH, at, mask, emu_bits<uint64_t>(value));
}

/* ---- atomics, ordered accesses, fences ---- */

EMU_ENUM(emu_access, EMU_READ = 1, EMU_WRITE = 2, EMU_BOTH = 3,
         EMU_SYSTEM = 8 /* and: ordered with those of other devices, and of the host */);
/* Called around an access that other threads may make at the same time: lets others run first (and,
 * after a write, before this thread continues), and informs the checks. */
void emu_before_ordered(const volatile void *p, size_t bytes, int kind, const emu_site &at);
void emu_after_ordered(int kind, bool changed);

/* *p = change(*p, v) as one step; returns the old value. v is converted, as in CUDA's overloads. */
template <class T, class Change>
__attribute__((no_sanitize("thread"))) inline T
emu_atomic(T *p, std::common_type_t<T> v, const emu_site &at, Change change, int kind = EMU_BOTH) {
    emu_before_ordered(p, sizeof *p, kind, at);
    const T old = *p, now = (T)change(old, v);
    if (kind & EMU_WRITE)
        *p = now;
    emu_after_ordered(kind, memcmp((const void *)&old, (const void *)&now, sizeof old) != 0);
    return old;
}
template <class T>
inline T emu_ordered_read(const T *p, const emu_site &at) {
    return emu_atomic((T *)p, T(), at, [](T old, T) { return old; }, EMU_READ);
}
template <class T>
inline void emu_ordered_write(T *p, T value, const emu_site &at) {
    emu_atomic(
        p, value, at, [](T, T v) { return v; }, EMU_WRITE);
}
#define EMU_ATOMIC(name, p, x, now)                                                                \
    emu_atomic(p, x, EMU_HERE(name), [](auto old, auto v) { return (void)old, now; })
#define atomicAdd(p, x) EMU_ATOMIC("atomicAdd", p, x, old + v)
#define atomicSub(p, x) EMU_ATOMIC("atomicSub", p, x, old - v)
#define atomicExch(p, x) EMU_ATOMIC("atomicExch", p, x, v)
#define atomicMin(p, x) EMU_ATOMIC("atomicMin", p, x, v < old ? v : old)
#define atomicMax(p, x) EMU_ATOMIC("atomicMax", p, x, v > old ? v : old)
#define atomicAnd(p, x) EMU_ATOMIC("atomicAnd", p, x, old &v)
#define atomicOr(p, x) EMU_ATOMIC("atomicOr", p, x, old | v)
#define atomicXor(p, x) EMU_ATOMIC("atomicXor", p, x, old ^ v)
#define atomicInc(p, last) EMU_ATOMIC("atomicInc", p, last, old >= v ? 0 : old + 1)
#define atomicDec(p, x) EMU_ATOMIC("atomicDec", p, x, old == 0 || old > v ? v : old - 1)
template <class T>
inline T atomicCAS(T *p, std::common_type_t<T> expected, std::common_type_t<T> v,
                   EMU_SITE("atomicCAS")) {
    return emu_atomic(p, v, at, [=](T old, T now) { return old == expected ? now : old; });
}

/* Moves bytes as they are: what was never written stays so. */
void emu_move(void *to, const void *from, size_t bytes);

/* Memory in emu is sequentially consistent; the race check keeps track of fences. */
void __threadfence();
#define __threadfence_block __threadfence
#define __threadfence_system __threadfence
/* Called in a loop that waits for another thread: lets others run, and reports a wait that cannot
 * end. */
void emu_spin(EMU_SITE("spin"));
/* The same for what another device or the host will do. */
void emu_spin_far(EMU_SITE("spin"));

/* ---- asynchronous copies and their barriers ---- */

void emu_barrier_init(uint64_t *barrier, unsigned count);
void emu_barrier_arrive(uint64_t *barrier, unsigned bytes);
void emu_barrier_arrive_at(uint64_t *barrier, unsigned rank, emu_site at);
void emu_barrier_wait(uint64_t *barrier, unsigned parity, EMU_SITE("barrier wait"));
/* A message of 8 or 16 bytes to another block of the cluster. */
void emu_send(void *to, const void *value, size_t bytes, uint64_t *barrier, unsigned rank,
              emu_site at);
void emu_bulk_load(void *shared, const void *global, size_t bytes, uint64_t *barrier);
void emu_bulk_prefetch(const void *global, size_t bytes);
void emu_bulk_store(void *global, const void *shared, size_t bytes);
void emu_bulk_wait();
void emu_bulk_fence();
void emu_box_load(void *shared, const struct CUtensorMap *from, int x, int y, int z,
                  uint64_t *barrier);
void emu_box_load_to(void *shared, const struct CUtensorMap *from, int x, int y, int z,
                     uint64_t *barrier, unsigned blocks, emu_site at);
void emu_box_store(const struct CUtensorMap *to, int x, int y, int z, const void *shared);
void emu_async_copy(void *shared, const void *global, size_t bytes, size_t valid);
void emu_async_commit();
void emu_async_wait(unsigned pending);

/* ---- arithmetic ---- */

#define __popc(x) __builtin_popcount(x)
#define __popcll(x) __builtin_popcountll(x)
#define __ffs(x) __builtin_ffs(x)
#define __ffsll(x) __builtin_ffsll(x)
#define __funnelshift_r(low, high, n) ((unsigned)(((uint64_t)(high) << 32 | (low)) >> (n) % 32))
#define __int_as_float(x) emu_bits<float>((int)(x))
#define __float_as_int(x) emu_bits<int>((float)(x))
#define __longlong_as_double(x) emu_bits<double>((long long)(x))
#define __double_as_longlong(x) emu_bits<long long>((double)(x))
#define __ldg(p) (*(p))
#define __ldcs(p) (*(p))
#define __stcs(p, value) (void)(*(p) = (value))
inline int __clz(int x) {
    return x ? __builtin_clz((unsigned)x) : 32;
}
inline int __clzll(long long x) {
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
inline int __double2int_rd(double x) { /* saturates; 0 for NaN */
    return std::isnan(x) ? 0 : (int)std::fmin(std::fmax(std::floor(x), -0x1p31), 0x1p31 - 1);
}
using std::fabs;
using std::fma;
using std::sqrt;

#endif
