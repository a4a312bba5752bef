/* SPDX-License-Identifier: Apache-2.0 */
/* The device language. Every operation that orders threads comes here with its source line, and is
 * a point where the scheduler may let others run first. */
#ifndef EMU_DEVICE_H
#define EMU_DEVICE_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned wide = 1, unsigned high = 1, unsigned deep = 1)
        : x(wide), y(high), z(deep) {}
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) int2 {
    int x, y;
};
struct alignas(16) int4 {
    int x, y, z, w;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

/* Where the running thread is. */
struct emu_index {
    uint3 thread, block;
    dim3 threads, blocks;
};
/* Constant to the compiler, since a kernel's code never moves to another thread. */
__attribute__((const)) const emu_index *emu_here();
#define threadIdx (emu_here()->thread)
#define blockIdx (emu_here()->block)
#define blockDim (emu_here()->threads)
#define gridDim (emu_here()->blocks)
constexpr int warpSize = 32;

/* A place in the source; as a default argument, that of the call. */
struct emu_site {
    const char *file;
    int line;
    const char *what; /* the operation there */
};
#define EMU_SITE(name) emu_site at = {__builtin_FILE(), __builtin_LINE(), name}

/* ---- launches and shared memory ---- */

/* What a launch asks for. */
struct emu_grid {
    const char *what;
    dim3 blocks, threads;
    unsigned cluster; /* blocks */
    size_t shared_bytes;
    std::function<void()> body;
};
cudaError_t emu_launch(const void *kernel, cudaStream_t stream, const emu_grid &shape);
void emu_device_launch(bool tail, const emu_grid &shape);
cudaError_t emu_set_constant(void *constant, const void *value, size_t bytes, cudaStream_t stream);
cudaError_t emu_occupancy(int *blocks, int threads, size_t shared_bytes);
cudaError_t emu_cluster_occupancy(int *clusters, int threads, unsigned cluster,
                                  size_t shared_bytes);

template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Kernel, int threads,
                                                          size_t shared_bytes) {
    return emu_occupancy(blocks, threads, shared_bytes);
}

/* The block's variable that `key` stands for, and its dynamic shared memory. */
void *emu_shared(const void *key, size_t bytes, size_t alignment);
unsigned char *emu_dynamic_shared();

/* ---- the block ---- */

enum emu_vote {
    EMU_NONE,
    EMU_AND,
    EMU_OR,
    EMU_COUNT
};
int emu_block_barrier(emu_vote vote, int value, emu_site at);

inline void __syncthreads(EMU_SITE("__syncthreads")) {
    emu_block_barrier(EMU_NONE, 0, at);
}
inline int __syncthreads_and(int value, EMU_SITE("__syncthreads_and")) {
    return emu_block_barrier(EMU_AND, value, at);
}
inline int __syncthreads_or(int value, EMU_SITE("__syncthreads_or")) {
    return emu_block_barrier(EMU_OR, value, at);
}
inline int __syncthreads_count(int value, EMU_SITE("__syncthreads_count")) {
    return emu_block_barrier(EMU_COUNT, value, at);
}

/* ---- the cluster ---- */

unsigned emu_cluster_rank();
unsigned emu_cluster_size();
void emu_cluster_barrier(emu_site at);
void *emu_cluster_map(void *mine, unsigned rank, emu_site at);

/* ---- the warp ---- */

enum emu_warp_op {
    EMU_SYNCWARP,
    EMU_SHUFFLE,
    EMU_SHUFFLE_UP,
    EMU_SHUFFLE_DOWN,
    EMU_SHUFFLE_XOR,
    EMU_BALLOT,
    EMU_MATCH
};
/* What the lane gets; `lane` is the shuffle's operand, `width` its groups. */
uint64_t emu_warp(emu_warp_op op, unsigned mask, uint64_t value, int lane, int width, emu_site at);
unsigned __activemask();

inline void __syncwarp(unsigned mask = 0xffffffffu, EMU_SITE("__syncwarp")) {
    emu_warp(EMU_SYNCWARP, mask, 0, 0, 32, at);
}
inline unsigned __ballot_sync(unsigned mask, int value, EMU_SITE("__ballot_sync")) {
    return (unsigned)emu_warp(EMU_BALLOT, mask, value != 0, 0, 32, at);
}
inline int __any_sync(unsigned mask, int value, EMU_SITE("__any_sync")) {
    return emu_warp(EMU_BALLOT, mask, value != 0, 0, 32, at) != 0;
}
inline int __all_sync(unsigned mask, int value, EMU_SITE("__all_sync")) {
    return emu_warp(EMU_BALLOT, mask, value == 0, 0, 32, at) == 0;
}

template <class T>
inline T emu_shuffle(emu_warp_op op, unsigned mask, T value, int lane, int width, emu_site at) {
    static_assert(sizeof(T) <= 8, "shuffles move 8 bytes at most");
    uint64_t bits = 0;
    memcpy((void *)&bits, (const void *)&value, sizeof value);
    bits = emu_warp(op, mask, bits, lane, width, at);
    memcpy((void *)&value, (const void *)&bits, sizeof value);
    return value;
}
template <class T>
inline T __shfl_sync(unsigned mask, T value, int lane, int width = 32, EMU_SITE("__shfl_sync")) {
    return emu_shuffle(EMU_SHUFFLE, mask, value, lane, width, at);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned lanes, int width = 32,
                        EMU_SITE("__shfl_up_sync")) {
    return emu_shuffle(EMU_SHUFFLE_UP, mask, value, (int)lanes, width, at);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned lanes, int width = 32,
                          EMU_SITE("__shfl_down_sync")) {
    return emu_shuffle(EMU_SHUFFLE_DOWN, mask, value, (int)lanes, width, at);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32,
                         EMU_SITE("__shfl_xor_sync")) {
    return emu_shuffle(EMU_SHUFFLE_XOR, mask, value, lanes, width, at);
}
template <class T>
inline unsigned __match_any_sync(unsigned mask, T value, EMU_SITE("__match_any_sync")) {
    uint64_t bits = 0;
    memcpy((void *)&bits, (const void *)&value, sizeof value);
    return (unsigned)emu_warp(EMU_MATCH, mask, bits, 0, 32, at);
}

/* ---- atomics, ordered accesses, fences ---- */

enum emu_access {
    EMU_READ = 1,
    EMU_WRITE = 2
};
/* Stand around an access that other threads may make at the same time: let others run first (and,
 * after a write, before this thread goes on), and tell the checks. `kind` is of emu_access. */
void emu_before_ordered(const volatile void *p, size_t bytes, int kind, const emu_site &at);
void emu_after_ordered(int kind, bool changed);

/* *p = change(*p) as one step; gives what was there. */
template <class T, class Change>
__attribute__((no_sanitize("thread"))) inline T emu_atomic(T *p, const emu_site &at, Change change,
                                                           int kind = EMU_READ | EMU_WRITE) {
    emu_before_ordered(p, sizeof *p, kind, at);
    const T old = *p, now = change(old);
    if (kind & EMU_WRITE)
        *p = now;
    emu_after_ordered(kind, memcmp((const void *)&old, (const void *)&now, sizeof old) != 0);
    return old;
}
template <class T>
inline T emu_ordered_read(const T *p, const emu_site &at) {
    return emu_atomic((T *)p, at, [](T old) { return old; }, EMU_READ);
}
template <class T>
inline void emu_ordered_write(T *p, T value, const emu_site &at) {
    emu_atomic(
        p, at, [=](T) { return value; }, EMU_WRITE);
}

/* The operand converts to the target's type, as in CUDA's overloads. */
template <class T>
using emu_same = typename std::common_type<T>::type;

template <class T>
inline T atomicAdd(T *p, emu_same<T> v, EMU_SITE("atomicAdd")) {
    return emu_atomic(p, at, [=](T old) { return (T)(old + v); });
}
template <class T>
inline T atomicSub(T *p, emu_same<T> v, EMU_SITE("atomicSub")) {
    return emu_atomic(p, at, [=](T old) { return (T)(old - v); });
}
template <class T>
inline T atomicExch(T *p, emu_same<T> v, EMU_SITE("atomicExch")) {
    return emu_atomic(p, at, [=](T) { return v; });
}
template <class T>
inline T atomicMin(T *p, emu_same<T> v, EMU_SITE("atomicMin")) {
    return emu_atomic(p, at, [=](T old) { return v < old ? v : old; });
}
template <class T>
inline T atomicMax(T *p, emu_same<T> v, EMU_SITE("atomicMax")) {
    return emu_atomic(p, at, [=](T old) { return v > old ? v : old; });
}
template <class T>
inline T atomicAnd(T *p, emu_same<T> v, EMU_SITE("atomicAnd")) {
    return emu_atomic(p, at, [=](T old) { return (T)(old & v); });
}
template <class T>
inline T atomicOr(T *p, emu_same<T> v, EMU_SITE("atomicOr")) {
    return emu_atomic(p, at, [=](T old) { return (T)(old | v); });
}
template <class T>
inline T atomicXor(T *p, emu_same<T> v, EMU_SITE("atomicXor")) {
    return emu_atomic(p, at, [=](T old) { return (T)(old ^ v); });
}
template <class T>
inline T atomicCAS(T *p, emu_same<T> expected, emu_same<T> v, EMU_SITE("atomicCAS")) {
    return emu_atomic(p, at, [=](T old) { return old == expected ? v : old; });
}
inline unsigned atomicInc(unsigned *p, unsigned last, EMU_SITE("atomicInc")) {
    return emu_atomic(p, at, [=](unsigned old) { return old >= last ? 0 : old + 1; });
}
inline unsigned atomicDec(unsigned *p, unsigned first, EMU_SITE("atomicDec")) {
    return emu_atomic(p, at,
                      [=](unsigned old) { return old == 0 || old > first ? first : old - 1; });
}

/* Memory here is sequentially consistent; what fences are for, the race check knows. */
void emu_fence();
inline void __threadfence() {
    emu_fence();
}
inline void __threadfence_block() {
    emu_fence();
}
inline void __threadfence_system() {
    emu_fence();
}
/* In a loop that waits for another thread: gives way, and reports a wait that cannot end. */
void emu_spin(EMU_SITE("spin"));
inline void __nanosleep(unsigned, EMU_SITE("__nanosleep")) {
    emu_spin(at);
}

/* ---- asynchronous copies and their barriers ---- */

void emu_barrier_init(uint64_t *barrier, unsigned count);
void emu_barrier_arrive(uint64_t *barrier, unsigned bytes);
void emu_barrier_wait(uint64_t *barrier, unsigned parity, EMU_SITE("barrier wait"));
void emu_bulk_load(void *shared, const void *global, size_t bytes, uint64_t *barrier);
void emu_bulk_store(void *global, const void *shared, size_t bytes);
void emu_bulk_wait();

/* ---- arithmetic ---- */

inline int __popc(unsigned x) {
    return __builtin_popcount(x);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)((((uint64_t)high << 32) | low) >> (shift % 32));
}
inline int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
inline int __clz(int x) {
    return x ? __builtin_clz((unsigned)x) : 32;
}
inline int __clzll(long long x) {
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
inline int __double2int_rd(double x) { /* saturates; NaN gives 0 */
    if (x != x)
        return 0;
    return x < -0x1p31 ? -0x7fffffff - 1 : x >= 0x1p31 ? 0x7fffffff : (int)__builtin_floor(x);
}
inline int __ffs(int x) {
    return __builtin_ffs(x);
}
inline int __ffsll(long long x) {
    return __builtin_ffsll(x);
}
inline unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int bit = 0; bit < 32; bit++)
        reversed |= (x >> bit & 1u) << (31 - bit);
    return reversed;
}
template <class To, class From>
inline To emu_bits(From x) {
    static_assert(sizeof(To) == sizeof(From), "bit casts keep the size");
    To to;
    memcpy(&to, &x, sizeof to);
    return to;
}
inline float __int_as_float(int x) {
    return emu_bits<float>(x);
}
inline int __float_as_int(float x) {
    return emu_bits<int>(x);
}
inline double __longlong_as_double(long long x) {
    return emu_bits<double>(x);
}
inline long long __double_as_longlong(double x) {
    return emu_bits<long long>(x);
}
template <class T>
inline T __ldg(const T *p) {
    return *p;
}
template <class T>
inline T __ldcs(const T *p) {
    return *p;
}
template <class T>
inline void __stcs(T *p, T value) {
    *p = value;
}
using std::fabs;
using std::fma;
using std::sqrt;

#endif
