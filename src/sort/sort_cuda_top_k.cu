/* SPDX-License-Identifier: Apache-2.0 */
/* The first k in order, by selection. The key of the last one is found digit by digit from the top,
 * by counting. All elements before it, and as many equal ones as there is room for, are then packed
 * in the order of x, and sorted. All of it is queued: the host never waits for a count. */
#include "cuda/launch.cuh"
#include "cuda/limit.cuh"
#include "cuda/memory.cuh"
#include "cuda/warp.cuh"
#include "sort/sort_key.cuh"

constexpr unsigned top_threads = 256;
constexpr int warps = top_threads / 32;
constexpr int vectors = 4; /* that a thread counts in one round */
constexpr int digit_bits = 11;
constexpr int bins = 1 << digit_bits;
constexpr int each = 16; /* elements of a thread in a tile; a warp's elements are contiguous */
constexpr size_t tile = (size_t)top_threads * each;

/* The search for the last key: its bits above `shift` are `prefix`, and `need` of the elements with
 * that prefix are among the first k. */
struct threshold {
    uint64_t prefix, need;
    uint32_t shift;
};

/* ---- the last key ---- */

/* Counts the digits of `bits` bits below the prefix, of elements with that prefix. */
template <class U>
__global__ void __launch_bounds__(top_threads)
    count_digits(const U *x, size_t n, wi_key_map<U> map, const threshold *last, int bits,
                 unsigned long long *counts) {
    WEFT_SHARED(uint32_t, count, [bins]);
    for (int b = (int)threadIdx.x; b < bins; b += top_threads)
        count[b] = 0;
    __syncthreads();
    const int shift = (int)last->shift - bits;
    const uint64_t prefix = last->prefix;
    const bool all = last->shift == 8 * sizeof(U), aligned = wi_is_aligned(x);
    const auto add = [&](U element) {
        const U key = map.key(element);
        if (all || (uint64_t)key >> (shift + bits) == prefix)
            atomicAdd(&count[(key >> shift) & ((1 << bits) - 1)], 1u);
    };
    constexpr int wide = wi_vector<U>::count;
    constexpr size_t turn = (size_t)top_threads * wide * vectors;
    for (size_t first = blockIdx.x * turn; first < n; first += gridDim.x * turn) {
        if (aligned && first + turn <= n) {
            wi_vector<U> vector[vectors];
#pragma unroll
            for (int v = 0; v < vectors; v++)
                vector[v] = ((const wi_vector<U> *)(x + first))[v * top_threads + threadIdx.x];
#pragma unroll
            for (int v = 0; v < vectors; v++)
#pragma unroll
                for (int e = 0; e < wide; e++)
                    add(vector[v].at[e]);
        } else {
            for (size_t i = first + threadIdx.x; i < n && i < first + turn; i += top_threads)
                add(x[i]);
        }
    }
    __syncthreads();
    for (int b = (int)threadIdx.x; b < bins; b += top_threads)
        if (count[b])
            atomicAdd(&counts[b], (unsigned long long)count[b]);
}

/* One warp: finds the digit of the last of the `need` from the counts, and clears them. */
__global__ void choose_digit(threshold *last, int bits, unsigned long long *counts) {
    constexpr int own = bins / 32;
    const int lane = wi_lane();
    uint64_t mine = 0;
    for (int b = 0; b < own; b++)
        mine += counts[lane * own + b];
    uint64_t before = wi_warp_scan(mine, [](uint64_t a, uint64_t b) { return a + b; }) - mine;
    const uint64_t need = last->need, prefix = last->prefix;
    const uint32_t shift = last->shift;
    __syncwarp();
    for (int b = 0; b < own; b++) {
        const uint64_t count = counts[lane * own + b];
        if (before < need && need <= before + count) {
            last->prefix = prefix << bits | (uint64_t)(lane * own + b);
            last->need = need - before;
            last->shift = shift - (uint32_t)bits;
        }
        before += count;
        counts[lane * own + b] = 0;
    }
}

/* ---- the selected elements ---- */

/* How many elements come before the last key, and how many equal it. */
struct winners {
    uint64_t sure, equal;
};

__device__ inline winners operator+(winners a, winners b) {
    return {a.sure + b.sure, a.equal + b.equal};
}

__device__ inline winners operator-(winners a, winners b) {
    return {a.sure - b.sure, a.equal - b.equal};
}

/* Which of a warp's `each` rows of 32 elements are selected: masks of lanes. */
template <class U>
__device__ winners find_winners(const U *x, size_t first, size_t n, wi_key_map<U> map,
                                const threshold &last, U (&element)[each], unsigned (&sure)[each],
                                unsigned (&equal)[each]) {
    const uint64_t end = last.prefix;
    uint32_t sures = 0, equals = 0;
#pragma unroll
    for (int k = 0; k < each; k++)
        element[k] = first + 32 * k < n ? x[first + 32 * k] : 0;
#pragma unroll
    for (int k = 0; k < each; k++) {
        const uint64_t key = (uint64_t)map.key(element[k]) >> last.shift;
        const bool in = first + 32 * k < n;
        sure[k] = __ballot_sync(wi_all_lanes, in && key < end);
        equal[k] = __ballot_sync(wi_all_lanes, in && key == end);
        sures += (uint32_t)__popc(sure[k]);
        equals += (uint32_t)__popc(equal[k]);
    }
    return {sures, equals};
}

/* The first element of this lane in a tile. */
__device__ inline size_t lane_place(size_t t) {
    return t * tile + threadIdx.x / 32 * (32 * each) + (size_t)wi_lane();
}

template <class U>
__global__ void __launch_bounds__(top_threads)
    count_winners(const U *x, size_t n, wi_key_map<U> map, const threshold *last, winners *tiles) {
    WEFT_SHARED(winners, of_warp, [warps]);
    U element[each];
    unsigned sure[each], equal[each];
    const winners mine =
        find_winners(x, lane_place(blockIdx.x), n, map, *last, element, sure, equal);
    if (wi_lane() == 0)
        of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        winners all = {0, 0};
        for (int w = 0; w < warps; w++)
            all = all + of_warp[w];
        tiles[blockIdx.x] = all;
    }
}

/* One block: turns the tiles' counts into what comes before each tile. */
constexpr unsigned most_scanners = 1024;
WI_LIMIT(unsigned, wi_top_k_scanners, most_scanners)
__global__ void __launch_bounds__(most_scanners) scan_winners(winners *tiles, size_t count) {
    WEFT_SHARED(winners, of_warp, [most_scanners / 32]);
    const bool is_warp = /* is there a warp with this lane's number? */
        wi_top_k_scanners == most_scanners || (unsigned)wi_lane() < wi_top_k_scanners / 32;
    const auto add = [](winners a, winners b) { return a + b; };
    winners before = {0, 0};
    for (size_t first = 0; first < count; first += wi_top_k_scanners) {
        const size_t t = first + threadIdx.x;
        const winners mine = t < count ? tiles[t] : winners{0, 0};
        const winners scanned = wi_warp_scan(mine, add);
        if (wi_lane() == 31)
            of_warp[threadIdx.x / 32] = scanned;
        __syncthreads();
        const winners own = of_warp[threadIdx.x / 32];
        const winners warp = wi_warp_scan(is_warp ? of_warp[wi_lane()] : winners{0, 0}, add);
        const winners through = wi_shuffle(warp, (int)threadIdx.x / 32) + scanned;
        if (t < count)
            tiles[t] = before + through - own - mine;
        before = before + wi_shuffle(warp, 31);
        __syncthreads();
    }
}

/* Stores the selected elements in the order of x; NULL: not wanted. */
template <class U>
struct packed {
    U *elements;
    uint64_t *positions;
};

template <class U>
__global__ void __launch_bounds__(top_threads)
    pack_winners(const U *x, size_t n, wi_key_map<U> map, const threshold *last,
                 const winners *tiles, size_t count, packed<U> out) {
    WEFT_SHARED(winners, of_warp, [warps]);
    const threshold at = *last;
    winners before = tiles[blockIdx.x];
    if (blockIdx.x + 1 < count) {
        const winners here = tiles[blockIdx.x + 1] - before;
        if (here.sure == 0 && (here.equal == 0 || before.equal >= at.need))
            return;
    }
    U element[each];
    unsigned sure[each], equal[each];
    const size_t first = lane_place(blockIdx.x);
    const winners mine = find_winners(x, first, n, map, at, element, sure, equal);
    if (wi_lane() == 0)
        of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    for (int w = 0; w < (int)threadIdx.x / 32; w++)
        before = before + of_warp[w];
    const unsigned me = 1u << wi_lane(), lower = me - 1;
#pragma unroll
    for (int k = 0; k < each; k++) {
        const uint64_t equals = before.equal + (uint64_t)__popc(equal[k] & lower);
        const uint64_t room = equals < at.need ? equals : at.need;
        const uint64_t place = before.sure + (uint64_t)__popc(sure[k] & lower) + room;
        if ((sure[k] & me) || ((equal[k] & me) && equals < at.need)) {
            out.elements[place] = element[k];
            if (out.positions)
                out.positions[place] = first + 32 * (size_t)k;
        }
        before.sure += (uint64_t)__popc(sure[k]);
        before.equal += (uint64_t)__popc(equal[k]);
    }
}

/* ---- the call ---- */

/* Temporary memory, as offsets in one block. Counts and threshold start as zeros. */
struct top_k_layout {
    size_t counts, last, tiles, elements, positions, bytes;
};

static size_t tiles_of(size_t n) {
    return (n + tile - 1) / tile;
}

static top_k_layout plan_top(const wi_top_k_args *args) {
    top_k_layout l;
    l.counts = 0;
    l.last = l.counts + bins * sizeof(unsigned long long);
    l.tiles = l.last + (sizeof(threshold) + 15) / 16 * 16;
    l.positions = l.tiles + tiles_of(args->n) * sizeof(winners);
    l.elements = l.positions + (args->positions ? args->k * sizeof(uint64_t) : 0);
    l.bytes = l.elements + args->k * weft_type_size(args->type);
    return l;
}

/* Sorts the selected, packed elements; or only finds how much memory that takes. */
static weft_status sort_winners(weft_context *ctx, const wi_top_k_args *args, const void *elements,
                                const uint64_t *positions) {
    const wi_sort_args sort = {.call = args->call,
                               .plain = true,
                               .type = args->type,
                               .descending = args->descending,
                               .first_bit = 0,
                               .end_bit = 8 * (unsigned)weft_type_size(args->type),
                               .n = args->k,
                               .x = elements,
                               .y = args->values,
                               .value_bytes = args->positions ? sizeof(uint64_t) : 0,
                               .values = positions,
                               .values_out = args->positions,
                               .spends = false,
                               .bytes = args->bytes};
    return wi_sort_onesweep(ctx, &sort);
}

template <class U>
static weft_status find_last(weft_context *ctx, const wi_top_k_args *args, wi_key_map<U> map,
                             threshold *last, unsigned long long *counts) {
    size_t blocks = 1;
    weft_status status = wi_resident_blocks(ctx, count_digits<U>, top_threads, 0, &blocks);
    const size_t enough = (args->n + top_threads - 1) / top_threads;
    for (int left = 8 * (int)sizeof(U); left > 0 && status == WEFT_OK; left -= digit_bits) {
        const int bits = left < digit_bits ? left : digit_bits;
        status = WEFT_LAUNCH(count_digits<U>, ctx, (unsigned)(enough < blocks ? enough : blocks),
                             top_threads, 0, (const U *)args->x, args->n, map, last, bits, counts);
        if (status == WEFT_OK)
            status = WEFT_LAUNCH(choose_digit, ctx, 1, 32, 0, last, bits, counts);
    }
    return status;
}

__global__ void begin(threshold *last, uint64_t k, uint32_t bits) {
    *last = {0, k, bits};
}

template <class U>
static weft_status select_first(weft_context *ctx, const wi_top_k_args *args, char *memory,
                                const top_k_layout &l) {
    const wi_key_map<U> map = wi_key_map_of<U>(args->type, args->descending);
    threshold *const last = (threshold *)(memory + l.last);
    winners *const tiles = (winners *)(memory + l.tiles);
    unsigned long long *const counts = (unsigned long long *)(memory + l.counts);
    const U *const x = (const U *)args->x;
    const size_t count = tiles_of(args->n);
    const packed<U> out = {(U *)(memory + l.elements),
                           args->positions ? (uint64_t *)(memory + l.positions) : NULL};
    weft_status status =
        wi_cuda(ctx, cudaMemsetAsync(counts, 0, bins * sizeof *counts, ctx->gpu->stream),
                "clearing counts of digits");
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(begin, ctx, 1, 1, 0, last, args->k, 8 * (uint32_t)sizeof(U));
    if (status == WEFT_OK)
        status = find_last<U>(ctx, args, map, last, counts);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(count_winners<U>, ctx, (unsigned)count, top_threads, 0, x, args->n,
                             map, last, tiles);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(scan_winners, ctx, 1, wi_top_k_scanners, 0, tiles, count);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(pack_winners<U>, ctx, (unsigned)count, top_threads, 0, x, args->n, map,
                             last, tiles, count, out);
    return status == WEFT_OK ? sort_winners(ctx, args, out.elements, out.positions) : status;
}

weft_status wi_top_k_digits(weft_context *ctx, const void *arguments) {
    const wi_top_k_args *const args = (const wi_top_k_args *)arguments;
    const top_k_layout l = plan_top(args);
    if (args->bytes) {
        *args->bytes += l.bytes;
        return sort_winners(ctx, args, (const void *)l.elements, (const uint64_t *)l.positions);
    }
    void *memory = NULL;
    weft_status status = wi_gpu_alloc(ctx, &memory, l.bytes);
    if (status != WEFT_OK)
        return status;
    status = wi_with_size(weft_type_size(args->type), [=](auto tag) {
        return select_first<typename decltype(tag)::type>(ctx, args, (char *)memory, l);
    });
    const weft_status freed = wi_gpu_free(ctx, memory);
    return status == WEFT_OK ? freed : status;
}
