/* SPDX-License-Identifier: Apache-2.0 */
/* Scan, the teaching rungs: from one in which each output sums its own prefix to the whole array in
 * three passes. */
#include "cuda/warp.cuh"
#include "scan/scan_cuda.cuh"

constexpr unsigned step_threads = 256;    /* for rungs with many blocks */
constexpr unsigned one_block = 1024;      /* for rungs with one block */
constexpr unsigned sweep = 2 * one_block; /* elements that a two-sweep block scans */

static unsigned blocks_for(size_t n, size_t per_block) {
    return (unsigned)((n + per_block - 1) / per_block);
}

/* The output: the start value, then everything before, then (if inclusive) the element. */
template <class Op, class T>
__device__ inline T shifted(const wi_scan_params<T> &p, wi_scan_value<T> before) {
    return (T)Op::combine((wi_scan_value<T>)p.start(), before);
}

/* Stores the carry: the start value and all elements combined. */
template <class Op, class T>
__device__ inline void hand_on(const wi_scan_params<T> &p, wi_scan_carry<T> all) {
    if (p.carry_out)
        *p.carry_out = wi_carry_bits(Op::combine(p.start(), all));
}

/* Every thread combines the whole prefix of its element. */
template <class Op, class T>
__global__ void all_prefixes(wi_scan_params<T> p, const T *x) {
    using V = wi_scan_value<T>;
    const size_t i = (size_t)blockIdx.x * step_threads + threadIdx.x;
    if (i >= p.n)
        return;
    V before = Op::template identity<V>();
    for (size_t j = 0; j < i; j++)
        before = Op::combine(before, (V)x[j]);
    const V with = Op::combine(before, (V)x[i]);
    p.y[i] = shifted<Op>(p, p.exclusive ? before : with);
    if (i == p.n - 1)
        hand_on<Op>(p, (wi_scan_carry<T>)with);
}

/* One round of step-doubling: element i is combined with the element `step` before it. */
template <class Op, class T>
__global__ void double_step(const T *from, T *to, size_t n, size_t step) {
    using V = wi_scan_value<T>;
    const size_t i = (size_t)blockIdx.x * step_threads + threadIdx.x;
    if (i < n)
        to[i] = i < step ? from[i] : (T)Op::combine((V)from[i - step], (V)from[i]);
}

/* Turns the inclusive scan in `scanned` into the result asked for. */
template <class Op, class T>
__global__ void deliver(wi_scan_params<T> p, const T *scanned) {
    using V = wi_scan_value<T>;
    const size_t i = (size_t)blockIdx.x * step_threads + threadIdx.x;
    if (i >= p.n)
        return;
    const V before = i == 0 ? Op::template identity<V>() : (V)scanned[i - 1];
    const V with = (V)scanned[i]; /* read first: y may be `scanned` if there is one element */
    p.y[i] = shifted<Op>(p, p.exclusive ? before : with);
    if (i == p.n - 1)
        hand_on<Op>(p, (wi_scan_carry<T>)with);
}

/* Step-doubling by one block in shared memory: it reads one of two copies and writes the other. */
template <class Op, class T>
__global__ void __launch_bounds__(one_block) doubling_shared(wi_scan_params<T> p) {
    using V = wi_scan_value<T>;
    WEFT_SHARED(V, copy, [2][one_block]);
    const unsigned i = threadIdx.x;
    const V identity = Op::template identity<V>();
    copy[0][i] = i < p.n ? (V)p.x[i] : identity;
    int now = 0;
    for (unsigned step = 1; step < one_block; step *= 2) {
        __syncthreads();
        const V v = copy[now][i];
        copy[1 - now][i] = i < step ? v : Op::combine(copy[now][i - step], v);
        now = 1 - now;
    }
    __syncthreads();
    if (i < p.n) {
        const V before = i == 0 ? identity : copy[now][i - 1];
        p.y[i] = shifted<Op>(p, p.exclusive ? before : copy[now][i]);
    }
    if (i == 0)
        hand_on<Op>(p, (wi_scan_carry<T>)copy[now][one_block - 1]);
}

/* The place of element i in shared memory. Padding of one word in 32 spreads the strides of the
 * sweeps over all banks. */
template <bool padded>
__host__ __device__ constexpr unsigned slot(unsigned i) {
    return padded ? i + i / 32 : i;
}

/* Replaces `work` by its exclusive scan, with an up-sweep (sums in a tree) and a down-sweep;
 * returns the total. Called by every thread of the block. */
template <bool padded, class Op, class V>
__device__ V two_sweeps(V *work) {
    const unsigned t = threadIdx.x;
    unsigned stride = 1;
    for (unsigned pairs = sweep / 2; pairs > 0; pairs /= 2, stride *= 2) {
        __syncthreads();
        if (t < pairs) {
            const unsigned right = slot<padded>((2 * t + 2) * stride - 1);
            work[right] = Op::combine(work[slot<padded>((2 * t + 1) * stride - 1)], work[right]);
        }
    }
    __syncthreads();
    const V total = work[slot<padded>(sweep - 1)];
    __syncthreads();
    if (t == 0)
        work[slot<padded>(sweep - 1)] = Op::template identity<V>();
    for (unsigned pairs = 1; pairs <= sweep / 2; pairs *= 2) {
        stride /= 2;
        __syncthreads();
        if (t < pairs) {
            const unsigned left = slot<padded>((2 * t + 1) * stride - 1);
            const unsigned right = slot<padded>((2 * t + 2) * stride - 1);
            const V before = work[right], below = work[left];
            work[left] = before;
            work[right] = Op::combine(before, below);
        }
    }
    __syncthreads();
    return total;
}

template <bool padded, class Op, class T>
__global__ void __launch_bounds__(one_block) two_sweep(wi_scan_params<T> p) {
    using V = wi_scan_value<T>;
    WEFT_SHARED(V, work, [slot<padded>(sweep)]);
    for (unsigned i = threadIdx.x; i < sweep; i += one_block)
        work[slot<padded>(i)] = i < p.n ? (V)p.x[i] : Op::template identity<V>();
    const V total = two_sweeps<padded, Op>(work);
    for (unsigned i = threadIdx.x; i < p.n; i += one_block) {
        const V before = work[slot<padded>(i)];
        p.y[i] = shifted<Op>(p, p.exclusive ? before : Op::combine(before, (V)p.x[i]));
    }
    if (threadIdx.x == 0)
        hand_on<Op>(p, (wi_scan_carry<T>)total);
}

/* First pass of three: each block scans its tile, without the start value, and stores its total. */
template <class Op, class T>
__global__ void __launch_bounds__(one_block)
    scan_tiles(wi_scan_params<T> p, const T *x, T *y, T *totals) {
    using V = wi_scan_value<T>;
    WEFT_SHARED(V, work, [slot<true>(sweep)]);
    const size_t first = (size_t)blockIdx.x * sweep;
    V mine[2];
    for (unsigned k = 0; k < 2; k++) {
        const unsigned i = threadIdx.x + k * one_block;
        mine[k] = first + i < p.n ? (V)x[first + i] : Op::template identity<V>();
        work[slot<true>(i)] = mine[k];
    }
    const V total = two_sweeps<true, Op>(work);
    for (unsigned k = 0; k < 2; k++) {
        const unsigned i = threadIdx.x + k * one_block;
        const V before = work[slot<true>(i)];
        if (first + i < p.n)
            y[first + i] = (T)(p.exclusive ? before : Op::combine(before, mine[k]));
    }
    if (threadIdx.x == 0)
        totals[blockIdx.x] = (T)total;
}

/* Third pass: every tile is combined with what came before it. */
template <class Op, class T>
__global__ void add_back(T *y, size_t n, const T *before_tiles) {
    using V = wi_scan_value<T>;
    const size_t i = (size_t)blockIdx.x * step_threads + threadIdx.x;
    if (i < n)
        y[i] = (T)Op::combine((V)before_tiles[i / sweep], (V)y[i]);
}

/* Calls f(type tag, wi_scan_op) for a type that teaching rungs offer; only for MIN and MAX does the
 * sign of integers matter. */
template <class F>
static weft_status with_step(const wi_scan_args *args, F f) {
    if (args->type == WEFT_I32 && args->op == WEFT_MIN)
        return f(wi_tag<int32_t>{}, wi_scan_op<WEFT_MIN>{});
    if (args->type == WEFT_I32 && args->op == WEFT_MAX)
        return f(wi_tag<int32_t>{}, wi_scan_op<WEFT_MAX>{});
    return wi_with_step_bits(args->type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        return wi_with_scan_op<T>(args->op, [=](auto op) { return f(tag, op); });
    });
}

weft_status wi_scan_all_prefixes(weft_context *ctx, const void *arguments) {
    const wi_scan_args *args = (const wi_scan_args *)arguments;
    return with_step(args, [=](auto tag, auto op) {
        using T = typename decltype(tag)::type;
        using Op = decltype(op);
        const wi_scan_params<T> p = wi_scan_typed<T>(args);
        const T *x = p.x;
        T *copy = nullptr;
        weft_status status = WEFT_OK;
        if (p.x == p.y) { /* other threads still read what this thread overwrites */
            status = wi_gpu_alloc(ctx, (void **)&copy, p.n * sizeof(T));
            if (status == WEFT_OK)
                status = wi_gpu_copy(ctx, copy, p.x, p.n * sizeof(T));
            x = copy;
        }
        if (status == WEFT_OK)
            status = WEFT_LAUNCH((all_prefixes<Op, T>), ctx, blocks_for(p.n, step_threads),
                                 step_threads, 0, p, x);
        const weft_status freed = wi_gpu_free(ctx, copy);
        return status != WEFT_OK ? status : freed;
    });
}

weft_status wi_scan_doubling(weft_context *ctx, const void *arguments) {
    const wi_scan_args *args = (const wi_scan_args *)arguments;
    return with_step(args, [=](auto tag, auto op) {
        using T = typename decltype(tag)::type;
        using Op = decltype(op);
        const wi_scan_params<T> p = wi_scan_typed<T>(args);
        const unsigned blocks = blocks_for(p.n, step_threads);
        T *copies = nullptr;
        weft_status status = wi_gpu_alloc(ctx, (void **)&copies, 2 * p.n * sizeof(T));
        const T *from = p.x;
        T *to = copies;
        for (size_t step = 1; step < p.n && status == WEFT_OK; step *= 2) {
            status = WEFT_LAUNCH((double_step<Op, T>), ctx, blocks, step_threads, 0, from, to, p.n,
                                 step);
            from = to;
            to = to == copies ? copies + p.n : copies;
        }
        if (status == WEFT_OK)
            status = WEFT_LAUNCH((deliver<Op, T>), ctx, blocks, step_threads, 0, p, from);
        const weft_status freed = wi_gpu_free(ctx, copies);
        return status != WEFT_OK ? status : freed;
    });
}

weft_status wi_scan_doubling_shared(weft_context *ctx, const void *arguments) {
    const wi_scan_args *args = (const wi_scan_args *)arguments;
    return with_step(args, [=](auto tag, auto op) {
        using T = typename decltype(tag)::type;
        return WEFT_LAUNCH((doubling_shared<decltype(op), T>), ctx, 1, one_block, 0,
                           wi_scan_typed<T>(args));
    });
}

template <bool padded>
static weft_status run_two_sweep(weft_context *ctx, const void *arguments) {
    const wi_scan_args *args = (const wi_scan_args *)arguments;
    return with_step(args, [=](auto tag, auto op) {
        using T = typename decltype(tag)::type;
        return WEFT_LAUNCH((two_sweep<padded, decltype(op), T>), ctx, 1, one_block, 0,
                           wi_scan_typed<T>(args));
    });
}

weft_status wi_scan_two_sweep(weft_context *ctx, const void *args) {
    return run_two_sweep<false>(ctx, args);
}

weft_status wi_scan_two_sweep_padded(weft_context *ctx, const void *args) {
    return run_two_sweep<true>(ctx, args);
}

/* Scans p.x into p.y: first the tiles, then (by the same three passes) the tiles' totals, and then
 * each tile is combined with what came before it. `totals` has room for all levels. */
template <class Op, class T>
static weft_status three_passes(weft_context *ctx, wi_scan_params<T> p, T *totals) {
    if (p.n <= sweep)
        return WEFT_LAUNCH((two_sweep<true, Op, T>), ctx, 1, one_block, 0, p);
    const unsigned tiles = blocks_for(p.n, sweep);
    weft_status status =
        WEFT_LAUNCH((scan_tiles<Op, T>), ctx, tiles, one_block, 0, p, p.x, p.y, totals);
    if (status != WEFT_OK)
        return status;
    wi_scan_params<T> of_totals = p;
    of_totals.x = of_totals.y = totals;
    of_totals.n = tiles;
    of_totals.exclusive = true;
    status = three_passes<Op, T>(ctx, of_totals, totals + tiles);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH((add_back<Op, T>), ctx, blocks_for(p.n, step_threads), step_threads, 0, p.y,
                       p.n, (const T *)totals);
}

weft_status wi_scan_three_pass(weft_context *ctx, const void *arguments) {
    const wi_scan_args *args = (const wi_scan_args *)arguments;
    return with_step(args, [=](auto tag, auto op) {
        using T = typename decltype(tag)::type;
        const wi_scan_params<T> p = wi_scan_typed<T>(args);
        size_t room = 1;
        for (size_t level = p.n; level > sweep; level = blocks_for(level, sweep))
            room += blocks_for(level, sweep);
        T *totals = nullptr;
        weft_status status = wi_gpu_alloc(ctx, (void **)&totals, room * sizeof(T));
        if (status == WEFT_OK)
            status = three_passes<decltype(op), T>(ctx, p, totals);
        const weft_status freed = wi_gpu_free(ctx, totals);
        return status != WEFT_OK ? status : freed;
    });
}
