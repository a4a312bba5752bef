/* SPDX-License-Identifier: Apache-2.0 */
/* random, the rung "block_each": a thread makes one block of the sequence and stores what comes of
 * it in one access of 16 bytes, where x lies as blocks do. */
#include "random/random_cuda.cuh"

/* Elements that a thread makes: they begin at `at`, which may be before the array or reach behind
 * it. */
template <class T, int count>
struct wi_random_made {
    T value[count];

    __device__ void store(T *x, int64_t at, size_t n) const {
        constexpr int each = wi_vector<T>::count < count ? wi_vector<T>::count : count;
        struct alignas(sizeof(T) * each) piece {
            T at[each];
        };
        if (at >= 0 && (uint64_t)at + count <= n && (uintptr_t)(x + at) % sizeof(piece) == 0) {
#pragma unroll
            for (int k = 0; k < count; k += each) {
                piece out;
#pragma unroll
                for (int e = 0; e < each; e++)
                    out.at[e] = value[k + e];
                *(piece *)(x + at + k) = out;
            }
            return;
        }
        for (int e = 0; e < count; e++)
            if (at + e >= 0 && (uint64_t)(at + e) < n)
                x[at + e] = value[e];
    }
};

/* The bytes of a block, as elements. */
template <class T>
__device__ static void store_bits(const wi_random_args &args, const wi_random_words &w,
                                  int64_t at) {
    constexpr int count = 16 / sizeof(T);
    wi_random_made<T, count> made;
#pragma unroll
    for (int e = 0; e < count; e++) {
        const unsigned bit = 8 * e * (unsigned)sizeof(T);
        made.value[e] =
            sizeof(T) == 8 ? (T)wi_random_wide(&w, e & 1) : (T)(w.at[bit / 32] >> bit % 32);
    }
    made.store((T *)args.x, at, args.n);
}

template <class T, int count>
__device__ static void store_integers(const wi_random_args &args, const uint64_t (&v)[count],
                                      int64_t at) {
    wi_random_made<T, count> made;
#pragma unroll
    for (int e = 0; e < count; e++)
        made.value[e] = (T)v[e];
    made.store((T *)args.x, at, args.n);
}

template <int count>
__device__ static void store_sized(const wi_random_args &args, unsigned size,
                                   const uint64_t (&v)[count], int64_t at) {
    if (size == 4)
        store_integers<uint32_t>(args, v, at);
    else if (size == 8)
        store_integers<uint64_t>(args, v, at);
    else if (size == 2)
        store_integers<uint16_t>(args, v, at);
    else
        store_integers<uint8_t>(args, v, at);
}

/* Both numbers of a pair: the arithmetic of wi_random_normal_of. */
__device__ static void make_pair(double u, double v, double *x, double *y) {
    double sine;
    const double cosine = wi_random_circle(v, &sine), radius = sqrt(wi_random_square(u));
    *x = radius * cosine;
    *y = radius * sine;
}

template <wi_random_op op>
__device__ static void store_block(const wi_random_args &args, unsigned size,
                                   const wi_random_words &w, uint64_t k, int64_t at) {
    if constexpr (op == WI_RANDOM_BITS) {
        if (size == 4)
            store_bits<uint32_t>(args, w, at);
        else if (size == 8)
            store_bits<uint64_t>(args, w, at);
        else if (size == 2)
            store_bits<uint16_t>(args, w, at);
        else
            store_bits<uint8_t>(args, w, at);
    } else if constexpr (op == WI_RANDOM_INTEGERS_32) {
        uint64_t v[4];
#pragma unroll
        for (unsigned e = 0; e < 4; e++)
            v[e] = wi_random_integer_32(&args, k, e, w.at[e]);
        store_sized(args, size, v, at);
    } else if constexpr (op == WI_RANDOM_INTEGERS_64) {
        uint64_t v[2];
#pragma unroll
        for (unsigned e = 0; e < 2; e++)
            v[e] = wi_random_integer_64(&args, k, e, wi_random_wide(&w, e));
        store_sized(args, size, v, at);
    } else if constexpr (op == WI_RANDOM_UNIFORM_32) {
        wi_random_made<float, 4> made;
#pragma unroll
        for (int e = 0; e < 4; e++)
            made.value[e] = wi_random_uniform_32(w.at[e]);
        made.store((float *)args.x, at, args.n);
    } else if constexpr (op == WI_RANDOM_UNIFORM_64) {
        wi_random_made<double, 2> made;
#pragma unroll
        for (int e = 0; e < 2; e++)
            made.value[e] = wi_random_uniform_64(wi_random_wide(&w, (unsigned)e));
        made.store((double *)args.x, at, args.n);
    } else if constexpr (op == WI_RANDOM_NORMAL_32) {
        wi_random_made<float, 4> made;
#pragma unroll
        for (int e = 0; e < 4; e += 2) {
            double x, y;
            make_pair(wi_random_above_0_32(w.at[e]), w.at[e + 1] * 0x1p-32, &x, &y);
            made.value[e] = (float)x;
            made.value[e + 1] = (float)y;
        }
        made.store((float *)args.x, at, args.n);
    } else {
        wi_random_made<double, 2> made;
        make_pair(wi_random_above_0_64(wi_random_wide(&w, 0)),
                  wi_random_uniform_64(wi_random_wide(&w, 1)), &made.value[0], &made.value[1]);
        made.store((double *)args.x, at, args.n);
    }
}

/* Blocks first ... first + blocks - 1; element 0 of the first is element `at` of x. */
template <wi_random_op op>
__global__ void __launch_bounds__(wi_random_threads_each)
    each_block(const __grid_constant__ wi_random_args args, unsigned size, unsigned each,
               uint64_t first, uint64_t blocks, int64_t at) {
    const uint64_t stride = (uint64_t)gridDim.x * wi_random_threads_each;
    for (uint64_t b = (uint64_t)blockIdx.x * wi_random_threads_each + threadIdx.x; b < blocks;
         b += stride)
        store_block<op>(args, size, wi_random_block(args.seed, first + b, 0), first + b,
                        at + (int64_t)(b * each));
}

__global__ void each_permuted(const __grid_constant__ wi_random_args args, unsigned size) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < args.n; i += stride)
        wi_random_put(args.x, i, size, wi_random_permuted(&args, args.first + i));
}

/* Each number's place is how many keys are less than its own. */
__global__ void order_few(const __grid_constant__ wi_random_args args, unsigned size) {
    WEFT_SHARED(uint64_t, key, [WI_RANDOM_SMALL]);
    const unsigned total = (unsigned)args.total;
    for (unsigned i = threadIdx.x; i < total; i += blockDim.x)
        key[i] = wi_random_order_key(args.seed, i);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < total; i += blockDim.x) {
        const uint64_t own = key[i];
        unsigned place = 0;
        for (unsigned k = 0; k < total; k++)
            place += key[k] < own || (key[k] == own && k < i);
        if (place >= args.first && place - args.first < args.n)
            wi_random_put(args.x, place - args.first, size, i);
    }
}

weft_status wi_random_order_few(weft_context *ctx, const wi_random_args *args) {
    return WEFT_LAUNCH(order_few, ctx, 1, WI_RANDOM_SMALL, 0, *args,
                       (unsigned)weft_type_size(args->type));
}

template <wi_random_op op>
static weft_status launch(weft_context *ctx, const wi_random_args *args) {
    const unsigned size = (unsigned)weft_type_size(args->type);
    const unsigned each = wi_random_each(op, size);
    const uint64_t first = args->first / each, into = args->first % each;
    const uint64_t blocks = (into + args->n + each - 1) / each;
    return WEFT_LAUNCH((each_block<op>), ctx, wi_random_grid(blocks), wi_random_threads_each, 0,
                       *args, size, each, first, blocks, -(int64_t)into);
}

weft_status wi_random_block_each(weft_context *ctx, const void *arguments) {
    const wi_random_args *args = (const wi_random_args *)arguments;
    switch (args->op) {
    case WI_RANDOM_BITS:
        return launch<WI_RANDOM_BITS>(ctx, args);
    case WI_RANDOM_INTEGERS_32:
        return launch<WI_RANDOM_INTEGERS_32>(ctx, args);
    case WI_RANDOM_INTEGERS_64:
        return launch<WI_RANDOM_INTEGERS_64>(ctx, args);
    case WI_RANDOM_UNIFORM_32:
        return launch<WI_RANDOM_UNIFORM_32>(ctx, args);
    case WI_RANDOM_UNIFORM_64:
        return launch<WI_RANDOM_UNIFORM_64>(ctx, args);
    case WI_RANDOM_NORMAL_32:
        return launch<WI_RANDOM_NORMAL_32>(ctx, args);
    case WI_RANDOM_NORMAL_64:
        return launch<WI_RANDOM_NORMAL_64>(ctx, args);
    case WI_RANDOM_PERMUTATION:
        return WEFT_LAUNCH(each_permuted, ctx, wi_random_grid(args->n), wi_random_threads_each, 0,
                           *args, (unsigned)weft_type_size(args->type));
    default:
        return wi_random_order_few(ctx, args);
    }
}
