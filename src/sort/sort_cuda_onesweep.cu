/* SPDX-License-Identifier: Apache-2.0 */
/* Radix sort, with digits of 8 bits. One read counts the digits of all passes; then each pass reads
 * and writes every element once. The device decides from the counts which passes are needed and
 * between which arrays they go, so the call does not wait. */
#include "cuda/launch.cuh"
#include "cuda/limit.cuh"
#include "sort/sort_onesweep.cuh"

/* ---- counting ---- */

constexpr int count_threads = 1024;
constexpr size_t count_static_shared =
    1024; /* at most; dynamic shared memory for the counters is what remains */
constexpr int count_vectors = 4; /* of 16 bytes, in flight at once for each thread */
/* How many copies of each counter there are when whole keys are sorted, as a power of two: as many
 * as fit 128 KiB, so that each lane, or each pair of lanes, has its own. */
template <class K>
constexpr unsigned whole_copy_bits = sizeof(K) == 8 ? 4 : 5;
constexpr size_t short_ties = 32; /* so many equal keys in a row one thread can handle */

template <class K>
struct count_args {
    const K *x;
    size_t n;
    wi_key_map<K> map;
    unsigned first_bit, end_bit;
    unsigned
        copy_bits; /* each counter has 2^copy_bits copies, next to each other in shared memory */
    int passes;
    unsigned long long *counts; /* of each pass and digit; zeros at first */
    uint32_t *blocks_done;      /* zero at first */
    uint32_t *disorder;         /* zero at first; becomes `fell`, `rose` or both */
    bool maps;                  /* keys differ from the elements' bits */
    size_t ties; /* a longer run of equal keys (x[i] == x[i + ties]) rules out "falling" */
    uint64_t
        *begins; /* where each digit's keys begin; consecutive passes are `pass_begins` apart */
    size_t pass_begins;
    wi_sort_plan *plan;
    bool in_place;
};

__host__ __device__ static unsigned digit_mask(unsigned shift, unsigned end_bit) {
    const unsigned bits = end_bit - shift;
    return bits < wi_digit_bits ? (1u << bits) - 1 : wi_digits - 1;
}

/* ---- are the keys in order already? ---- */

/* Evidence against ascending order (fell) and against descending order (rose). */
constexpr unsigned fell = 1, rose = 2, disordered = fell | rose;

/* The part of an element that is compared. */
template <class K>
__device__ static K compared(const count_args<K> &c, K element) {
    const unsigned unused = 8 * (unsigned)sizeof(K) - c.end_bit;
    return (K)((K)(c.map.key(element) << unused) >> unused >> c.first_bit);
}

/* The evidence of x[i] and the next element. A run of equal keys does not rule out descending order
 * if it may be reversed, because there are no values, or if it is short enough for one thread to
 * keep its order. */
template <class K>
__device__ static unsigned disorder_at(const count_args<K> &c, size_t i, K element, K behind) {
    const K key = compared(c, element), next = compared(c, behind);
    const bool tied = key == next && c.ties < c.n - i && key == compared(c, c.x[i + c.ties]);
    return (key > next ? fell : 0) | (key < next || tied ? rose : 0);
}

template <class K>
__device__ static unsigned disorder_of(const count_args<K> &c, size_t first,
                                       const wi_vector<K> &vector) {
    constexpr unsigned width = wi_vector<K>::count;
    unsigned met = 0;
#pragma unroll
    for (unsigned e = 0; e + 1 < width; e++)
        met |= disorder_at(c, first + e, vector.at[e], vector.at[e + 1]);
    if (first + width < c.n)
        met |= disorder_at(c, first + width - 1, vector.at[width - 1], c.x[first + width]);
    return met;
}

/* ---- digits ---- */

/* Which bits are sorted, and how many copies each counter has. They are constants for whole keys,
 * so that finding a digit's counter takes a shift, a mask and an addition. */
template <class K, bool whole>
struct count_form {
    unsigned first_bit, end_bit, copy_bits;
    int passes;

    __device__ explicit count_form(const count_args<K> &c)
        : first_bit(whole ? 0 : c.first_bit), end_bit(whole ? 8 * sizeof(K) : c.end_bit),
          copy_bits(whole ? whole_copy_bits<K> : c.copy_bits),
          passes(whole ? (int)sizeof(K) : c.passes) {}

    /* Each lane counts in its own copy, which is in its own memory bank. */
    __device__ void count(unsigned char *counters, K key) const {
        const unsigned scale = copy_bits + 2;
        const unsigned copy = (threadIdx.x & ((1u << copy_bits) - 1)) << 2;
#pragma unroll
        for (int pass = 0; pass < (int)sizeof(K); pass++) {
            if (pass >= passes)
                break;
            const unsigned shift = first_bit + (unsigned)pass * wi_digit_bits;
            const unsigned mask = digit_mask(shift, end_bit) << scale;
            const unsigned at = ((unsigned)pass * wi_digits << scale) +
                                ((wi_rotated(key, shift, scale) & mask) | copy);
            atomicAdd((uint32_t *)(counters + at), 1u);
        }
    }
};

/* Up to count_vectors vectors of a thread, `stride` apart, loaded at the same time. */
template <class K>
struct count_batch {
    wi_vector<K> vector[count_vectors];

    __device__ void load(const wi_vector<K> *x, size_t first, size_t stride, size_t vectors) {
#pragma unroll
        for (int v = 0; v < count_vectors; v++)
            if (first + (size_t)v * stride < vectors)
                vector[v] = x[first + (size_t)v * stride];
    }

    /* Calls f(vector, number) for each. */
    template <class F>
    __device__ void each(size_t first, size_t stride, size_t vectors, F f) const {
#pragma unroll
        for (int v = 0; v < count_vectors; v++)
            if (first + (size_t)v * stride < vectors)
                f(vector[v], first + (size_t)v * stride);
    }
};

/* Counts the digits of all keys; returns the evidence of disorder that this warp has found, and
 * stops looking when it has both kinds. */
template <class K, bool whole>
__device__ static unsigned count_all(const count_args<K> &c, unsigned char *counters) {
    constexpr unsigned width = wi_vector<K>::count;
    const count_form<K, whole> form(c);
    const size_t me = (size_t)blockIdx.x * count_threads + threadIdx.x;
    const size_t stride = (size_t)gridDim.x * count_threads;
    const size_t past = wi_past_boundary(c.x);
    const size_t to_boundary = past ? width - past : 0;
    const size_t head = to_boundary < c.n ? to_boundary : c.n;
    const size_t vectors = (c.n - head) / width;
    const size_t tail = head + vectors * width;
    const wi_vector<K> *const x = (const wi_vector<K> *)(c.x + head);
    const auto count = [&](const wi_vector<K> &vector, size_t) {
#pragma unroll
        for (unsigned e = 0; e < width; e++)
            form.count(counters, c.maps ? c.map.key(vector.at[e]) : vector.at[e]);
    };
    const auto take = [&](size_t i) {
        form.count(counters, c.map.key(c.x[i]));
        return i + 1 < c.n ? disorder_at(c, i, c.x[i], c.x[i + 1]) : 0;
    };
    count_batch<K> batch;
    unsigned met = 0;
    size_t i = me;
    for (; i - (unsigned)wi_lane() < vectors && met != disordered; i += stride * count_vectors) {
        batch.load(x, i, stride, vectors);
        batch.each(i, stride, vectors, count);
        batch.each(i, stride, vectors, [&](const wi_vector<K> &vector, size_t v) {
            met |= disorder_of(c, head + v * width, vector);
        });
        met = (__any_sync(wi_all_lanes, met & fell) ? fell : 0) |
              (__any_sync(wi_all_lanes, met & rose) ? rose : 0);
    }
    batch.load(x, i, stride, vectors);
    for (; i < vectors; i += stride * count_vectors) {
        const count_batch<K> now = batch;
        batch.load(x, i + stride * count_vectors, stride,
                   vectors); /* these are loaded while those before are counted */
        now.each(i, stride, vectors, count);
    }
    if (me < head)
        met |= take(me);
    if (me < c.n - tail)
        met |= take(tail + me);
    return met;
}

/* Turns counts into the places where each digit begins, one warp for each pass; returns whether one
 * digit has all keys. */
template <class K>
__device__ static bool begin_digits(const count_args<K> &c, int pass) {
    constexpr int per_lane = wi_digits / 32;
    const volatile unsigned long long *const counts =
        c.counts + pass * wi_digits + wi_lane() * per_lane;
    uint64_t count[per_lane], sum = 0;
    bool all = false;
#pragma unroll
    for (int k = 0; k < per_lane; k++) {
        count[k] = counts[k];
        sum += count[k];
        all = all || count[k] == c.n;
    }
    uint64_t begin = wi_warp_scan(sum, [](uint64_t a, uint64_t b) { return a + b; }) - sum;
    uint64_t *const begins = c.begins + (size_t)pass * c.pass_begins + wi_lane() * per_lane;
#pragma unroll
    for (int k = 0; k < per_lane; k++) {
        begins[k] = begin;
        begin += count[k];
    }
    return __any_sync(wi_all_lanes, all);
}

/* Decides between which arrays passes go: the last one writes the output, those before it
 * alternate. If the sort is in place and the number of passes is odd, the first pass must not write
 * to what it reads. Keys that are in order need no pass. */
__device__ static void make_plan(wi_sort_plan *plan, int passes, const uint32_t *skip,
                                 unsigned disorder, bool in_place) {
    const bool in_order = disorder != disordered;
    int wanted = 0, place = 0;
    for (int pass = 0; pass < passes; pass++)
        wanted += !in_order && !skip[pass];
    const int turned = in_place && wanted % 2;
    uint8_t at = WI_SORT_IN;
    for (int pass = 0; pass < passes; pass++) {
        const uint8_t to = (wanted - place + turned) % 2 ? WI_SORT_OUT : WI_SORT_SPARE;
        const bool skipped = in_order || skip[pass];
        plan->pass[pass] = {skipped, place == 0, place == wanted - 1, at, to, (uint8_t)place};
        if (skipped)
            continue;
        at = to;
        place++;
    }
    plan->result = at;
    plan->falls = disorder == fell;
}

/* Is this the last block of the grid to call this? Called by all threads. */
__device__ static bool is_last_block(uint32_t *blocks_done) {
    WEFT_SHARED(bool, is_last, );
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        is_last = atomicAdd(blocks_done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (is_last)
        __threadfence();
    return is_last;
}

template <class K, bool whole>
__global__ void __launch_bounds__(count_threads) count_digits(count_args<K> c) {
    WEFT_DYNAMIC_SHARED(counters);
    WEFT_SHARED(uint32_t, skip, [wi_most_passes]);
    const unsigned bins = (unsigned)c.passes * wi_digits, copies = 1u << c.copy_bits;
    for (unsigned i = threadIdx.x; i < bins * copies; i += count_threads)
        ((uint32_t *)counters)[i] = 0;
    __syncthreads();
    const unsigned met = count_all<K, whole>(c, counters);
    const bool any_fell = __syncthreads_or(met & fell), any_rose = __syncthreads_or(met & rose);
    if (threadIdx.x == 0 && (any_fell || any_rose))
        atomicOr(c.disorder, (any_fell ? fell : 0) | (any_rose ? rose : 0));
    for (unsigned i = threadIdx.x; i < bins; i += count_threads) {
        uint32_t sum = 0;
        for (unsigned k = 0; k < copies; k++) /* each thread begins in another bank */
            sum += ((const uint32_t *)counters)[i * copies + ((i + k) & (copies - 1))];
        if (sum)
            atomicAdd(&c.counts[i], (unsigned long long)sum);
    }
    if (!is_last_block(c.blocks_done))
        return;
    const int warp = (int)threadIdx.x / 32;
    if (warp < c.passes) {
        const bool all = begin_digits(c, warp);
        if (wi_lane() == 0)
            skip[warp] = all;
    }
    __syncthreads();
    if (threadIdx.x == 0)
        make_plan(c.plan, c.passes, skip, *(const volatile uint32_t *)c.disorder, c.in_place);
}

/* ---- moving what no pass has moved ---- */

constexpr int finish_threads = 256;

/* The place of element i of descending keys; equal keys with values keep their order. */
template <class K>
__device__ static size_t turned_place(const K *key, size_t n, bool keep_ties, size_t i) {
    size_t before = 0, behind = 0;
    while (keep_ties && before < i && key[i - before - 1] == key[i])
        before++;
    while (keep_ties && i + behind + 1 < n && key[i + behind + 1] == key[i])
        behind++;
    return n - 1 - i - behind + before;
}

/* to[place(i)] = from[i] for all i; i instead of from[i] if `from` is NULL. In place, the first and
 * the last change places. */
template <class T, class Place>
__device__ static void turn_round(const T *from, T *to, size_t n, Place place) {
    const size_t stride = (size_t)gridDim.x * finish_threads;
    const size_t end = from == to ? n / 2 : n;
    for (size_t i = (size_t)blockIdx.x * finish_threads + threadIdx.x; i < end; i += stride) {
        const T x = from ? from[i] : (T)i;
        if (from == to) {
            to[i] = from[n - 1 - i];
            to[n - 1 - i] = x;
        } else {
            to[place(i)] = x;
        }
    }
}

template <class T>
__device__ static void bring(const T *from, T *to, size_t n) {
    const size_t stride = (size_t)gridDim.x * finish_threads;
    if (from == to)
        return;
    for (size_t i = (size_t)blockIdx.x * finish_threads + threadIdx.x; i < n; i += stride)
        to[i] = from ? from[i] : (T)i;
}

template <class K, class V>
__global__ void __launch_bounds__(finish_threads) finish(wi_pass<K, V> p, bool keep_ties) {
    const uint32_t from = p.plan->result;
    const K *const keys = p.keys[from];
    const auto place = [&](size_t i) { return turned_place(keys, p.n, keep_ties, i); };
    if (p.plan->falls) {
        if (p.keep_keys)
            turn_round(keys, p.keys[WI_SORT_OUT], p.n, place);
        if constexpr (wi_has_values<V>)
            turn_round(p.values[from], p.values[WI_SORT_OUT], p.n, place);
        return;
    }
    if (p.keep_keys)
        bring(keys, p.keys[WI_SORT_OUT], p.n);
    if constexpr (wi_has_values<V>)
        bring(p.values[from], p.values[WI_SORT_OUT], p.n);
}

/* ---- the call ---- */

WI_LIMIT(size_t, wi_portion_keys, (size_t)1 << 30) /* at most: counts have 30 bits */
WI_LIMIT(size_t, wi_large_from, (size_t)1 << 20)   /* keys; below, small tiles fill the device */
constexpr size_t line_bytes = 256;

/* How a call is divided, and the offsets of its temporary memory. Offset 0 is where the part begins
 * that must be zero at first. */
struct layout {
    int passes;
    unsigned tiles, portions; /* tiles of each portion */
    size_t counts, next_tile, status, zeros, begins, plan, keys[2], values, bytes;
};

static size_t lined(size_t bytes) {
    return (bytes + line_bytes - 1) / line_bytes * line_bytes;
}

template <class K, class V, bool large>
static layout lay_out(const wi_sort_args *a) {
    const size_t tile = wi_tile<K, V, large>::keys;
    const size_t tiles = (a->n + tile - 1) / tile, most = wi_portion_keys / tile;
    layout l = {};
    l.passes = (int)((a->end_bit - a->first_bit + wi_digit_bits - 1) / wi_digit_bits);
    l.portions = (unsigned)((tiles + most - 1) / most);
    l.tiles = (unsigned)((tiles + l.portions - 1) / l.portions);
    const size_t of_pass = wi_digits * sizeof(uint64_t), passes = (size_t)l.passes;
    l.next_tile = l.counts + lined(passes * of_pass);
    /* one counter for each launch, the number of blocks that have finished counting, and the
     * evidence of disorder */
    l.status = l.next_tile + lined((passes * l.portions + 2) * sizeof(uint32_t));
    l.zeros = l.status + (size_t)l.tiles * wi_digits * sizeof(uint32_t);
    l.begins = l.zeros;
    l.plan = l.begins + passes * l.portions * of_pass;
    l.keys[0] = l.plan + lined(sizeof(wi_sort_plan));
    l.keys[1] = l.keys[0] + lined(a->n * sizeof(K));
    l.values = l.keys[1] + (a->y ? 0 : lined(a->n * sizeof(K)));
    l.bytes = l.values + (wi_has_values<V> ? lined(a->n * sizeof(V)) : 0);
    return l;
}

template <class K, class V>
static wi_pass<K, V> pass_of(const wi_sort_args *a, const layout *l, unsigned char *memory) {
    wi_pass<K, V> p = {};
    p.keys[WI_SORT_IN] = (K *)a->x;
    p.keys[WI_SORT_OUT] = a->y ? (K *)a->y : (K *)(memory + l->keys[1]);
    p.keys[WI_SORT_SPARE] = (K *)(memory + l->keys[0]);
    if constexpr (wi_has_values<V>) {
        p.values[WI_SORT_IN] = (V *)a->values;
        p.values[WI_SORT_OUT] = (V *)a->values_out;
        p.values[WI_SORT_SPARE] = (V *)(memory + l->values);
    }
    p.map = wi_key_map_of<K>(a->type, a->descending);
    p.plan = (const wi_sort_plan *)(memory + l->plan);
    p.status = (uint32_t *)(memory + l->status);
    p.n = a->n;
    p.portions = l->portions;
    p.keep_keys = a->y != NULL;
    p.maps = p.map.changes();
    p.minus_one = -1;
    return p;
}

/* Does the call overwrite its input? */
static bool is_in_place(const wi_sort_args *a) {
    return a->x == a->y || (a->values && a->values == a->values_out);
}

/* How many equal keys in a row descending keys may have, plus 1: any number if equal keys cannot be
 * told apart. */
static size_t ties_of(const wi_sort_args *a) {
    if (!wi_sort_whole(a))
        return 1;
    if (!a->values_out)
        return SIZE_MAX;
    return is_in_place(a) ? 1 : short_ties;
}

template <class K>
static weft_status launch_counts(weft_context *ctx, const wi_sort_args *a, const layout *l,
                                 unsigned char *memory) {
    count_args<K> c = {};
    c.x = (const K *)a->x;
    c.n = a->n;
    c.map = wi_key_map_of<K>(a->type, a->descending);
    c.first_bit = a->first_bit;
    c.end_bit = a->end_bit;
    c.passes = l->passes;
    c.counts = (unsigned long long *)(memory + l->counts);
    c.blocks_done = (uint32_t *)(memory + l->next_tile) + (size_t)l->passes * l->portions;
    c.disorder = c.blocks_done + 1;
    c.ties = ties_of(a);
    c.begins = (uint64_t *)(memory + l->begins);
    c.pass_begins = (size_t)l->portions * wi_digits;
    c.plan = (wi_sort_plan *)(memory + l->plan);
    c.in_place = is_in_place(a);
    c.maps = c.map.changes();
    const size_t bins = (size_t)l->passes * wi_digits * sizeof(uint32_t);
    const size_t room = ctx->gpu->shared_optin - count_static_shared;
    for (c.copy_bits = 5; bins << c.copy_bits > room; c.copy_bits--)
        ;
    const size_t per_block = (size_t)count_threads * count_vectors * wi_vector<K>::count;
    const size_t needed = (a->n + per_block - 1) / per_block;
    const size_t fill = (size_t)ctx->gpu->multiprocessors;
    const unsigned blocks = (unsigned)(needed < fill ? needed : fill);
    if (wi_sort_whole(a) && c.copy_bits == whole_copy_bits<K>)
        return WEFT_LAUNCH((count_digits<K, true>), ctx, blocks, count_threads, bins << c.copy_bits,
                           c);
    return WEFT_LAUNCH((count_digits<K, false>), ctx, blocks, count_threads, bins << c.copy_bits,
                       c);
}

template <class K, class V, bool large>
static weft_status launch_passes(weft_context *ctx, const wi_sort_args *a, const layout *l,
                                 unsigned char *memory) {
    using tile = wi_tile<K, V, large>;
    wi_pass<K, V> p = pass_of<K, V>(a, l, memory);
    uint64_t *begins = (uint64_t *)(memory + l->begins);
    uint32_t *next_tile = (uint32_t *)(memory + l->next_tile);
    weft_status status = WEFT_OK;
    for (p.pass = 0; p.pass < l->passes; p.pass++) {
        p.shift = a->first_bit + (unsigned)p.pass * wi_digit_bits;
        p.mask = digit_mask(p.shift, a->end_bit);
        p.first = 0;
        for (p.portion = 0; p.portion < l->portions && status == WEFT_OK; p.portion++) {
            p.begins = begins;
            begins += wi_digits;
            p.next_begins = p.portion + 1 < l->portions ? begins : NULL;
            p.next_tile = next_tile++;
            status = WEFT_LAUNCH((onesweep<K, V, large>), ctx, l->tiles, tile::threads,
                                 tile::shared_bytes, p);
            p.first += (size_t)l->tiles * tile::keys;
        }
    }
    if (status != WEFT_OK)
        return status;
    const size_t needed = (a->n + finish_threads - 1) / finish_threads;
    const size_t fill = (size_t)ctx->gpu->multiprocessors * 8;
    return WEFT_LAUNCH((finish<K, V>), ctx, (unsigned)(needed < fill ? needed : fill),
                       finish_threads, 0, p, ties_of(a) == short_ties);
}

template <class K, class V, bool large>
static weft_status run(weft_context *ctx, const wi_sort_args *a) {
    const layout l = lay_out<K, V, large>(a);
    if (a->bytes) {
        *a->bytes += l.bytes;
        return WEFT_OK;
    }
    void *memory;
    weft_status status = wi_gpu_alloc(ctx, &memory, l.bytes);
    if (status != WEFT_OK)
        return status;
    status = wi_cuda(ctx, cudaMemsetAsync(memory, 0, l.zeros, ctx->gpu->stream),
                     "cudaMemsetAsync: zeroing the counts of a sort");
    if (status == WEFT_OK)
        status = launch_counts<K>(ctx, a, &l, (unsigned char *)memory);
    if (status == WEFT_OK)
        status = launch_passes<K, V, large>(ctx, a, &l, (unsigned char *)memory);
    const weft_status freed = wi_gpu_free(ctx, memory);
    return status != WEFT_OK ? status : freed;
}

template <class K, class V>
static weft_status run_sized(weft_context *ctx, const wi_sort_args *a) {
    return a->n < wi_large_from ? run<K, V, false>(ctx, a) : run<K, V, true>(ctx, a);
}

weft_status wi_sort_onesweep(weft_context *ctx, const void *args) {
    const wi_sort_args *const a = (const wi_sort_args *)args;
    return wi_with_size(weft_type_size(a->type), [=](auto tag) {
        using K = typename decltype(tag)::type;
        switch (a->value_bytes) {
        case 0:
            return run_sized<K, wi_no_values>(ctx, a);
        case 4:
            return run_sized<K, uint32_t>(ctx, a);
        default:
            return run_sized<K, uint64_t>(ctx, a);
        }
    });
}
