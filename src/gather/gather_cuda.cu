/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "batches" of gather and scatter, and the check of indices. A thread first reads several
 * indices, then all their elements, and then writes: as many accesses in flight as it has indices.
 * What a random access costs is its latency, unless there are enough of them. */
#include "cuda/launch.cuh"
#include "cuda/memory.cuh"
#include "cuda/size.cuh"
#include "gather/gather_cuda.cuh"

constexpr unsigned threads = 256;

/* So many blocks may find the first index out of range by themselves, at the price of a ticket of
 * each; before more a launch clears *bad, which takes 2 us. */
constexpr size_t most_telling = 4096;

/* Blocks on each multiprocessor that take less than their threads could have in flight. */
constexpr size_t small_blocks = 4;

/* Elements that a thread has in flight. */
template <class Word>
constexpr unsigned batch_of = sizeof(Word) == 16 ? 4 : 8;

/* *bad = the smallest of its value and the positions that threads found. */
static __device__ inline void put_bad(uint64_t *bad, uint64_t found) {
    if (bad && found != WEFT_NOWHERE)
        atomicMin((unsigned long long *)bad, (unsigned long long)found);
}

/* A block has found the position, or WEFT_NOWHERE, in its threads: tells the others, of which the
 * last stores *bad. Nothing waits but one thread, for its ticket, while elements are on their way;
 * blocks order what they write only if they have found something. */
static __device__ inline void tell_bad(const wi_gather_moves &g, uint64_t found) {
    constexpr unsigned long long one_found = (unsigned long long)1 << 32;
    unsigned long long all = one_found;
    const bool mine = found != WEFT_NOWHERE;
    if (mine) {
        atomicMax(&g.seen->not_first, (unsigned long long)~found);
        __threadfence();
    }
    const bool any = __syncthreads_or(mine);
    if (threadIdx.x > 0)
        return;
    if (gridDim.x > 1) {
        all = (any ? one_found : 0) + 1;
        all += atomicAdd(&g.seen->ended, all);
        if ((unsigned)all < gridDim.x)
            return;
        atomicExch(&g.seen->ended, 0ull);
    }
    uint64_t first = WEFT_NOWHERE;
    if (gridDim.x > 1 ? all >= one_found : any) {
        __threadfence();
        first = ~(uint64_t)atomicExch(&g.seen->not_first, 0ull);
    }
    *g.bad = first;
}

__global__ void __launch_bounds__(threads) check_indices(wi_gather_moves g) {
    const uint64_t stride = (uint64_t)gridDim.x * threads;
    uint64_t found = WEFT_NOWHERE;
    for (uint64_t i = (uint64_t)blockIdx.x * threads + threadIdx.x; i < g.n; i += stride)
        if (found == WEFT_NOWHERE && g.index(i) >= g.m)
            found = i;
    put_bad(g.bad, found);
}

/* Elements of one word. Indices and results of gather are used once, so that the caches are left to
 * what is read at random. */
template <bool scatters, class Word, class Owner, class Index>
__global__ void __launch_bounds__(threads) move_words(wi_gather_moves g) {
    constexpr unsigned batch = batch_of<Word>;
    const Owner *const owners = (const Owner *)g.owners;
    const uint64_t stride = (uint64_t)gridDim.x * g.tile, limit = g.limit();
    uint64_t found = WEFT_NOWHERE;
    for (uint64_t first = (uint64_t)blockIdx.x * g.tile; first < g.n; first += stride) {
        const unsigned left = (unsigned)(g.n - first < g.tile ? g.n - first : g.tile);
        const Index *const index = (const Index *)g.indices + first;
        const Word *const x = (const Word *)g.x + (scatters ? first : 0);
        Word *const y = (Word *)g.y + (scatters ? 0 : first);
        Index at[batch];
        Word word[batch];
        bool moves[batch], all = true;
#pragma unroll
        for (unsigned k = 0; k < batch; k++) {
            const unsigned i = k * threads + threadIdx.x;
            at[k] = i >= left ? 0 : scatters ? index[i] : wi_load_once(index + i);
            if (scatters && i < left)
                word[k] = x[i];
        }
#pragma unroll
        for (unsigned k = 0; k < batch; k++) {
            moves[k] = k * threads + threadIdx.x < left && at[k] < limit;
            all = all && (moves[k] || k * threads + threadIdx.x >= left);
        }
#pragma unroll
        for (unsigned k = 0; k < batch; k++)
            if (!scatters && moves[k])
                word[k] = x[at[k]];
        for (unsigned k = 0; k < batch && !all && found == WEFT_NOWHERE; k++) {
            const unsigned i = k * threads + threadIdx.x;
            if (i < left && index[i] >= limit)
                found = first + i;
        }
        if (g.seen && first + stride >= g.n)
            tell_bad(g, found);
#pragma unroll
        for (unsigned k = 0; k < batch; k++) {
            const unsigned i = k * threads + threadIdx.x;
            if (!scatters && moves[k])
                wi_store_once(y + i, word[k]);
            else if (moves[k] && (!owners || owners[at[k]] == (Owner)(first + i + 1)))
                y[at[k]] = word[k];
        }
    }
    if (!g.seen)
        put_bad(g.bad, found);
}

/* Elements of several words: neighbouring threads take neighbouring words. */
template <bool scatters, class Word, class Owner>
__global__ void __launch_bounds__(threads) move_elements(wi_gather_moves g, size_t words) {
    const Word *const x = (const Word *)g.x;
    Word *const y = (Word *)g.y;
    const Owner *const owners = (const Owner *)g.owners;
    const uint64_t stride = (uint64_t)gridDim.x * threads;
    uint64_t found = WEFT_NOWHERE;
    for (uint64_t j = (uint64_t)blockIdx.x * threads + threadIdx.x; j < g.n * words; j += stride) {
        const uint64_t i = j / words, w = j - i * words, at = g.index(i);
        if (at >= g.m)
            found = i < found ? i : found;
        else if (!scatters)
            y[j] = x[at * words + w];
        else if (!owners || owners[at] == (Owner)(i + 1))
            y[at * words + w] = x[j];
    }
    put_bad(g.bad, found);
}

/* owners[k] = 1 + the last position that goes to k; 0: none does. */
template <class Owner>
__global__ void __launch_bounds__(threads) find_owners(wi_gather_moves g) {
    const uint64_t stride = (uint64_t)gridDim.x * threads;
    for (uint64_t i = (uint64_t)blockIdx.x * threads + threadIdx.x; i < g.n; i += stride) {
        const uint64_t at = g.index(i);
        if (at < g.m)
            atomicMax((Owner *)(uintptr_t)g.owners + at, (Owner)(i + 1));
    }
}

static unsigned blocks_for(const weft_context *ctx, size_t units) {
    const size_t needed = (units + threads - 1) / threads;
    const size_t fill = (size_t)ctx->gpu->multiprocessors * wi_gather_blocks;
    return (unsigned)(needed < fill ? needed : fill);
}

/* How many elements a block takes: as many as its threads have in flight, but less as long as
 * multiprocessors have room for more blocks, for then each of them waits only for the latency of
 * one. */
static unsigned tile_of(const weft_context *ctx, size_t n, unsigned batch) {
    const size_t room = (size_t)ctx->gpu->multiprocessors * small_blocks;
    unsigned each = 1;
    while (each < batch && (n - 1) / (threads * each) >= room)
        each *= 2;
    return threads * each;
}

/* A block for each batch of all its threads: when one has ended, the next is begun at once. */
template <bool scatters, class Word, class Owner, class Index>
static weft_status launch_words(weft_context *ctx, const wi_gather_args *a) {
    static const char key = 0;
    constexpr size_t most_blocks = 0x7fffffff;
    wi_gather_moves g = wi_gather_moves_of(a);
    g.tile = tile_of(ctx, g.n, batch_of<Word>);
    const size_t blocks = (g.n - 1) / g.tile + 1;
    void *seen = nullptr;
    const bool tells = a->bad && a->clears && blocks <= most_telling;
    const weft_status status =
        tells ? wi_gpu_scratch(ctx, &key, sizeof *g.seen, &seen) : wi_gather_begin(ctx, a);
    if (status != WEFT_OK)
        return status;
    g.seen = (wi_gather_seen *)seen;
    return WEFT_LAUNCH((move_words<scatters, Word, Owner, Index>), ctx,
                       (unsigned)(blocks < most_blocks ? blocks : most_blocks), threads, 0, g);
}

template <bool scatters, class Word, class Owner>
static weft_status launch_moves(weft_context *ctx, const wi_gather_args *a) {
    const size_t words = a->width / sizeof(Word);
    if (words == 1)
        return weft_type_size(a->index_type) == 4
                   ? launch_words<scatters, Word, Owner, uint32_t>(ctx, a)
                   : launch_words<scatters, Word, Owner, uint64_t>(ctx, a);
    const weft_status status = wi_gather_begin(ctx, a);
    return status == WEFT_OK ? WEFT_LAUNCH((move_elements<scatters, Word, Owner>), ctx,
                                           blocks_for(ctx, a->n * words), threads, 0,
                                           wi_gather_moves_of(a), words)
                             : status;
}

template <class Owner>
static weft_status launch_scatter(weft_context *ctx, const wi_gather_args *a) {
    weft_status status = WEFT_OK;
    if (a->owners) {
        status = wi_cuda(ctx, cudaMemsetAsync(a->owners, 0, a->m * sizeof(Owner), ctx->gpu->stream),
                         "clearing the owners of places");
        if (status == WEFT_OK)
            status = WEFT_LAUNCH(find_owners<Owner>, ctx, blocks_for(ctx, a->n), threads, 0,
                                 wi_gather_moves_of(a));
    }
    if (status != WEFT_OK)
        return status;
    return wi_with_word(a, [=](auto tag) {
        return launch_moves<true, typename decltype(tag)::type, Owner>(ctx, a);
    });
}

weft_status wi_gather_begin(weft_context *ctx, const wi_gather_args *a) {
    if (!a->bad || !a->clears)
        return WEFT_OK;
    return wi_cuda(ctx, cudaMemsetAsync(a->bad, 0xff, sizeof *a->bad, ctx->gpu->stream),
                   "clearing the position of the first bad index");
}

weft_status wi_gather_check_cuda(weft_context *ctx, const wi_gather_args *args) {
    wi_gather_args own = *args, *const a = &own;
    own.clears = true;
    const weft_status status = wi_gather_begin(ctx, a);
    return status == WEFT_OK ? WEFT_LAUNCH(check_indices, ctx, blocks_for(ctx, a->n), threads, 0,
                                           wi_gather_moves_of(a))
                             : status;
}

weft_status wi_gather_batches(weft_context *ctx, const void *args) {
    const wi_gather_args *const a = (const wi_gather_args *)args;
    if (a->scatters)
        return a->n < UINT32_MAX ? launch_scatter<uint32_t>(ctx, a)
                                 : launch_scatter<unsigned long long>(ctx, a);
    return wi_with_word(a, [=](auto tag) {
        return launch_moves<false, typename decltype(tag)::type, uint32_t>(ctx, a);
    });
}
