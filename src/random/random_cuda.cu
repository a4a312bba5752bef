/* SPDX-License-Identifier: Apache-2.0 */
/* random, the rungs "block_each" and "tiles": a thread makes one block of the sequence after the
 * other and stores what comes of each in one access of 16 bytes, where x lies as blocks do. The
 * words that rounds add are made once, by the host, and read as constants: a round is two
 * multiplications and two exclusive ors. */
#include "random/random_cuda.cuh"

#include "cuda/size.cuh"

/* What a thread makes of a block: the bytes of `count` elements. */
template <class T, int count>
struct alignas(sizeof(T) * count < 16 ? sizeof(T) * count : 16) wi_random_made {
    T at[count];
};

/* What a launch works on. Block k of it is block first + k of the sequence and lies at
 * start + k * (the bytes of a block); the part of it that is in the array is all of it, but of the
 * first and the last block. */
struct wi_random_job {
    wi_random_args args;
    wi_random_keys keys;
    unsigned char *start; /* where block 0 would begin, perhaps before the array */
    uint64_t first, blocks;
    unsigned skip;   /* elements of block 0 before the array */
    unsigned last;   /* elements of the last block up to the end of the array */
    bool is_aligned; /* blocks lie as wide stores need it */
    bool in_tiles;   /* a block of threads makes one tile, instead of blocks a grid's width apart */
};

constexpr unsigned tile_turns = 4; /* blocks of a thread of a tile */

/* The elements of a block. */
template <wi_random_op op, class T>
__device__ static auto make_block(const wi_random_job &job, uint64_t b) {
    const wi_random_args &args = job.args;
    const uint64_t k = job.first + b;
    const wi_random_words w = wi_random_block_with(&job.keys, k);
    if constexpr (op == WI_RANDOM_BITS) {
        return wi_bit_cast<wi_random_made<T, 16 / sizeof(T)>>(w);
    } else if constexpr (op == WI_RANDOM_INTEGERS_32) {
        wi_random_made<T, 4> made;
#pragma unroll
        for (unsigned e = 0; e < 4; e++)
            made.at[e] = (T)wi_random_integer_32(&args, k, e, w.at[e]);
        return made;
    } else if constexpr (op == WI_RANDOM_INTEGERS_64) {
        wi_random_made<T, 2> made;
#pragma unroll
        for (unsigned e = 0; e < 2; e++)
            made.at[e] = (T)wi_random_integer_64(&args, k, e, wi_random_wide(&w, e));
        return made;
    } else if constexpr (op == WI_RANDOM_UNIFORM_32) {
        wi_random_made<T, 4> made;
#pragma unroll
        for (int e = 0; e < 4; e++)
            made.at[e] = wi_random_uniform_32(w.at[e]);
        return made;
    } else if constexpr (op == WI_RANDOM_UNIFORM_64) {
        wi_random_made<T, 2> made;
#pragma unroll
        for (unsigned e = 0; e < 2; e++)
            made.at[e] = wi_random_uniform_64(wi_random_wide(&w, e));
        return made;
    } else if constexpr (op == WI_RANDOM_NORMAL_32) {
        wi_random_made<T, 4> made;
#pragma unroll
        for (int e = 0; e < 4; e += 2) {
            const float radius = sqrtf(wi_random_square_32(w.at[e]));
            float sine;
            const float cosine = wi_random_circle_32(w.at[e + 1], &sine);
            made.at[e] = radius * cosine;
            made.at[e + 1] = radius * sine;
        }
        return made;
    } else {
        wi_random_made<T, 2> made;
        double sine;
        const double cosine = wi_random_circle(wi_random_uniform_64(wi_random_wide(&w, 1)), &sine);
        const double u = wi_random_above_0_64(wi_random_wide(&w, 0));
        const double radius = sqrt(wi_random_square(u));
        made.at[0] = radius * cosine;
        made.at[1] = radius * sine;
        return made;
    }
}

/* Stores the elements of a block one by one, as many as are in the array. */
template <wi_random_op op, class T>
__device__ static void store_part(const wi_random_job &job, uint64_t b) {
    const auto made = make_block<op, T>(job, b);
    constexpr unsigned count = sizeof made / sizeof(T);
    const unsigned from = b == 0 ? job.skip : 0, to = b == job.blocks - 1 ? job.last : count;
    T *const x = (T *)(job.start + b * sizeof made);
#pragma unroll
    for (unsigned e = 0; e < count; e++)
        if (e >= from && e < to)
            x[e] = made.at[e];
}

/* Blocks 0 and blocks - 1 may be in the array in part. All others are stored whole: by this thread
 * every stride-th from `first` on, those below `end`. */
struct wi_random_turns {
    uint64_t first, stride, end;
};
__device__ static wi_random_turns turns_of(const wi_random_job &job) {
    constexpr uint64_t threads = wi_random_threads_each;
    const uint64_t last = job.blocks - 1, me = threadIdx.x + 1, block = blockIdx.x;
    if (!job.in_tiles)
        return {block * threads + me, gridDim.x * threads, last};
    const uint64_t start = block * threads * tile_turns, end = start + threads * tile_turns + 1;
    return {start + me, threads, end < last ? end : last};
}

template <wi_random_op op, class T>
__global__ void __launch_bounds__(wi_random_threads_each)
    each_block(const __grid_constant__ wi_random_job job) {
    using Made = decltype(make_block<op, T>(job, 0));
    if (blockIdx.x == 0 && threadIdx.x == 0)
        store_part<op, T>(job, 0);
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 32 && job.blocks > 1)
        store_part<op, T>(job, job.blocks - 1);
    const wi_random_turns t = turns_of(job);
    if (job.is_aligned)
        for (uint64_t b = t.first; b < t.end; b += t.stride) {
            const Made made = make_block<op, T>(job, b);
            *(Made *)(job.start + b * sizeof(Made)) = made;
        }
    else
        for (uint64_t b = t.first; b < t.end; b += t.stride)
            store_part<op, T>(job, b);
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

/* Blocks of threads: as many as the device holds, each going through the array in steps of all of
 * them, or one for each tile. */
template <wi_random_op op, class T>
static weft_status grid_of(weft_context *ctx, const wi_random_job &job, size_t *blocks) {
    const uint64_t threads = job.in_tiles ? (job.blocks - 1) / tile_turns + 1 : job.blocks;
    const unsigned needed = wi_random_grid(threads);
    *blocks = needed;
    if (job.in_tiles)
        return WEFT_OK;
    const weft_status status =
        wi_resident_blocks(ctx, each_block<op, T>, wi_random_threads_each, 0, blocks);
    *blocks = needed < *blocks ? needed : *blocks;
    return status;
}

template <wi_random_op op, class T>
static weft_status launch(weft_context *ctx, const wi_random_args *args, bool in_tiles) {
    constexpr size_t size = sizeof(T);
    const unsigned each = wi_random_each(op, size);
    const size_t width = each * size < 16 ? each * size : 16;
    wi_random_job job;
    job.args = *args;
    job.keys = wi_random_keys_of(args->seed);
    job.first = args->first / each;
    job.skip = (unsigned)(args->first % each);
    job.blocks = (job.skip + args->n + each - 1) / each;
    job.last = (unsigned)(job.skip + args->n - (job.blocks - 1) * each);
    job.start = (unsigned char *)args->x - job.skip * size;
    job.is_aligned = (uintptr_t)job.start % width == 0;
    job.in_tiles = in_tiles;
    size_t blocks;
    const weft_status status = grid_of<op, T>(ctx, job, &blocks);
    return status == WEFT_OK ? WEFT_LAUNCH((each_block<op, T>), ctx, (unsigned)blocks,
                                           wi_random_threads_each, 0, job)
                             : status;
}

template <wi_random_op op>
static weft_status launch_sized(weft_context *ctx, const wi_random_args *args, bool in_tiles) {
    return wi_with_size(weft_type_size(args->type), [=](auto tag) {
        return launch<op, typename decltype(tag)::type>(ctx, args, in_tiles);
    });
}

static weft_status make_all(weft_context *ctx, const wi_random_args *args, bool in_tiles) {
    switch (args->op) {
    case WI_RANDOM_BITS:
        return launch_sized<WI_RANDOM_BITS>(ctx, args, in_tiles);
    case WI_RANDOM_INTEGERS_32:
        return launch_sized<WI_RANDOM_INTEGERS_32>(ctx, args, in_tiles);
    case WI_RANDOM_INTEGERS_64:
        return launch<WI_RANDOM_INTEGERS_64, uint64_t>(ctx, args, in_tiles);
    case WI_RANDOM_UNIFORM_32:
        return launch<WI_RANDOM_UNIFORM_32, float>(ctx, args, in_tiles);
    case WI_RANDOM_UNIFORM_64:
        return launch<WI_RANDOM_UNIFORM_64, double>(ctx, args, in_tiles);
    case WI_RANDOM_NORMAL_32:
        return launch<WI_RANDOM_NORMAL_32, float>(ctx, args, in_tiles);
    case WI_RANDOM_NORMAL_64:
        return launch<WI_RANDOM_NORMAL_64, double>(ctx, args, in_tiles);
    case WI_RANDOM_PERMUTATION:
        return WEFT_LAUNCH(each_permuted, ctx, wi_random_grid(args->n), wi_random_threads_each, 0,
                           *args, (unsigned)weft_type_size(args->type));
    default:
        return wi_random_order_few(ctx, args);
    }
}

weft_status wi_random_block_each(weft_context *ctx, const void *args) {
    return make_all(ctx, (const wi_random_args *)args, false);
}

weft_status wi_random_tiles(weft_context *ctx, const void *args) {
    return make_all(ctx, (const wi_random_args *)args, true);
}
