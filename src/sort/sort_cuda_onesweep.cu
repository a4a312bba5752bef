/* SPDX-License-Identifier: Apache-2.0 */
/* sort by radix, a digit of 8 bits a pass. One read counts the digits of all passes; then each pass
 * reads and writes every element once. What the counts decide, which passes there are and between
 * which arrays they go, is decided on the device, so a call waits for nothing. */
#include "cuda/launch.cuh"
#include "sort/sort_onesweep.cuh"

/* ---- counting ---- */

constexpr int count_threads = 1024;
constexpr size_t count_static_shared = 1024; /* at most; what counters leave */
constexpr int count_vectors = 4;             /* of 16 bytes, under way at once for a thread */

template <class K>
struct count_args {
    const K *x;
    size_t n;
    wi_key_map<K> map;
    unsigned first_bit, end_bit;
    unsigned copy_bits; /* each counter has 2^copy_bits copies, neighbours in shared memory */
    int passes;
    unsigned long long *counts; /* of each pass and digit, zeros */
    uint32_t *blocks_done;      /* zero */
    uint64_t *begins; /* where each digit's keys begin; a pass's lie `pass_begins` apart */
    size_t pass_begins;
    wi_sort_plan *plan;
    bool in_place;
};

__host__ __device__ static unsigned digit_mask(unsigned shift, unsigned end_bit) {
    const unsigned bits = end_bit - shift;
    return bits < wi_digit_bits ? (1u << bits) - 1 : wi_digits - 1;
}

/* Lanes count in copies of their own, each in a bank of its own. */
template <class K>
__device__ static void count_key(const count_args<K> &c, unsigned char *counters, K element) {
    const K key = c.map.key(element);
    const unsigned scale = c.copy_bits + 2;
    const unsigned copy = (threadIdx.x & ((1u << c.copy_bits) - 1)) << 2;
#pragma unroll
    for (int pass = 0; pass < (int)sizeof(K); pass++) {
        if (pass >= c.passes)
            break;
        const unsigned shift = c.first_bit + (unsigned)pass * wi_digit_bits;
        const unsigned mask = digit_mask(shift, c.end_bit) << scale;
        const unsigned at =
            ((unsigned)pass * wi_digits << scale) + ((wi_rotated(key, shift, scale) & mask) | copy);
        atomicAdd((uint32_t *)(counters + at), 1u);
    }
}

template <class K>
__device__ static void count_all(const count_args<K> &c, unsigned char *counters) {
    constexpr unsigned per_vector = wi_vector<K>::count;
    const size_t me = (size_t)blockIdx.x * count_threads + threadIdx.x;
    const size_t stride = (size_t)gridDim.x * count_threads;
    const size_t past = wi_past_boundary(c.x);
    const size_t to_boundary = past ? per_vector - past : 0;
    const size_t head = to_boundary < c.n ? to_boundary : c.n;
    const size_t vectors = (c.n - head) / per_vector;
    const size_t tail = head + vectors * per_vector;
    if (me < head)
        count_key(c, counters, c.x[me]);
    const wi_vector<K> *const x = (const wi_vector<K> *)(c.x + head);
    for (size_t i = me; i < vectors; i += stride * count_vectors) {
        wi_vector<K> vector[count_vectors] = {};
#pragma unroll
        for (int v = 0; v < count_vectors; v++)
            if (i + (size_t)v * stride < vectors)
                vector[v] = x[i + (size_t)v * stride];
#pragma unroll
        for (int v = 0; v < count_vectors; v++)
            if (i + (size_t)v * stride < vectors)
#pragma unroll
                for (unsigned e = 0; e < per_vector; e++)
                    count_key(c, counters, vector[v].at[e]);
    }
    if (me < c.n - tail)
        count_key(c, counters, c.x[tail + me]);
}

/* From counts to where each digit begins, a pass a warp; tells whether one digit has all keys. */
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

/* The last pass goes to the output, those before it in turns; sorting in place an odd number of
 * passes must go the other way round, for the first may not write what it reads. */
__device__ static void make_plan(wi_sort_plan *plan, int passes, const uint32_t *skip,
                                 bool in_place) {
    int wanted = 0, place = 0;
    for (int pass = 0; pass < passes; pass++)
        wanted += !skip[pass];
    const int turned = in_place && wanted % 2;
    uint8_t at = WI_SORT_IN;
    for (int pass = 0; pass < passes; pass++) {
        const uint8_t to = (wanted - place + turned) % 2 ? WI_SORT_OUT : WI_SORT_SPARE;
        plan->pass[pass] = {(uint8_t)skip[pass], place == 0, place == wanted - 1, at, to,
                            (uint8_t)place};
        if (skip[pass])
            continue;
        at = to;
        place++;
    }
    plan->result = at;
}

template <class K>
__global__ void __launch_bounds__(count_threads) count_digits(count_args<K> c) {
    WEFT_DYNAMIC_SHARED(counters);
    WEFT_SHARED(bool, is_last, );
    WEFT_SHARED(uint32_t, skip, [wi_most_passes]);
    const unsigned bins = (unsigned)c.passes * wi_digits, copies = 1u << c.copy_bits;
    for (unsigned i = threadIdx.x; i < bins * copies; i += count_threads)
        ((uint32_t *)counters)[i] = 0;
    __syncthreads();
    count_all(c, counters);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < bins; i += count_threads) {
        uint32_t sum = 0;
        for (unsigned k = 0; k < copies; k++) /* each thread begins in another bank */
            sum += ((const uint32_t *)counters)[i * copies + ((i + k) & (copies - 1))];
        if (sum)
            atomicAdd(&c.counts[i], (unsigned long long)sum);
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        is_last = atomicAdd(c.blocks_done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!is_last)
        return;
    __threadfence();
    const int warp = (int)threadIdx.x / 32;
    if (warp < c.passes) {
        const bool all = begin_digits(c, warp);
        if (wi_lane() == 0)
            skip[warp] = all;
    }
    __syncthreads();
    if (threadIdx.x == 0)
        make_plan(c.plan, c.passes, skip, c.in_place);
}

/* ---- what no pass brought to the output ---- */

constexpr int finish_threads = 256;

template <class K, class V>
__global__ void __launch_bounds__(finish_threads) finish(wi_pass<K, V> p) {
    const uint32_t from = p.plan->result;
    const bool keys_too = p.keep_keys && p.keys[from] != p.keys[WI_SORT_OUT];
    const bool values_too = wi_has_values<V> && p.values[from] != p.values[WI_SORT_OUT];
    if (!keys_too && !values_too)
        return;
    const size_t stride = (size_t)gridDim.x * finish_threads;
    for (size_t i = (size_t)blockIdx.x * finish_threads + threadIdx.x; i < p.n; i += stride) {
        if (keys_too)
            p.keys[WI_SORT_OUT][i] = p.keys[from][i];
        if constexpr (wi_has_values<V>)
            if (values_too)
                p.values[WI_SORT_OUT][i] = p.values[from] ? p.values[from][i] : (V)i;
    }
}

/* ---- the call ---- */

constexpr size_t portion_keys = (size_t)1 << 30; /* a portion has fewer: counts of 30 bits */
constexpr size_t large_from = (size_t)1 << 20;   /* keys; below, small tiles fill the device */
constexpr size_t line_bytes = 256;

/* How a call is cut up, and where its temporary memory begins: at offset 0 what starts as zeros. */
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
    const size_t tiles = (a->n + tile - 1) / tile, most = portion_keys / tile;
    layout l = {};
    l.passes = (int)((a->end_bit - a->first_bit + wi_digit_bits - 1) / wi_digit_bits);
    l.portions = (unsigned)((tiles + most - 1) / most);
    l.tiles = (unsigned)((tiles + l.portions - 1) / l.portions);
    const size_t of_pass = wi_digits * sizeof(uint64_t), passes = (size_t)l.passes;
    l.next_tile = l.counts + lined(passes * of_pass);
    /* one a launch, and the blocks that are done counting */
    l.status = l.next_tile + lined((passes * l.portions + 1) * sizeof(uint32_t));
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
    p.minus_one = -1;
    return p;
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
    c.begins = (uint64_t *)(memory + l->begins);
    c.pass_begins = (size_t)l->portions * wi_digits;
    c.plan = (wi_sort_plan *)(memory + l->plan);
    c.in_place = a->x == a->y || (a->values && a->values == a->values_out);
    const size_t bins = (size_t)l->passes * wi_digits * sizeof(uint32_t);
    const size_t room = ctx->gpu->shared_optin - count_static_shared;
    for (c.copy_bits = 5; bins << c.copy_bits > room; c.copy_bits--)
        ;
    const size_t per_block = (size_t)count_threads * count_vectors * wi_vector<K>::count;
    const size_t needed = (a->n + per_block - 1) / per_block;
    const size_t fill = (size_t)ctx->gpu->multiprocessors;
    return WEFT_LAUNCH(count_digits<K>, ctx, (unsigned)(needed < fill ? needed : fill),
                       count_threads, bins << c.copy_bits, c);
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
                       finish_threads, 0, p);
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
    return a->n < large_from ? run<K, V, false>(ctx, a) : run<K, V, true>(ctx, a);
}

weft_status wi_sort_onesweep(weft_context *ctx, const void *args) {
    const wi_sort_args *const a = (const wi_sort_args *)args;
    return wi_with_key_size(weft_type_size(a->type), [=](auto tag) {
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
