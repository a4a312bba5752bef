/* SPDX-License-Identifier: Apache-2.0 */
/* Radix sort, with digits of 8 bits. One read counts the digits of all passes; then each pass reads
 * and writes every element once. The device decides from the counts which passes are needed and
 * between which arrays they go, so the call does not wait. */
#include "cuda/launch.cuh"
#include "cuda/limit.cuh"
#include "sort/sort_onesweep_count.cuh"

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
struct onesweep_layout {
    int passes;
    unsigned tiles, portions; /* tiles of each portion */
    size_t counts, next_tile, status, zeros, begins, plan, keys[2], values, bytes;
};

static size_t lined(size_t bytes) {
    return (bytes + line_bytes - 1) / line_bytes * line_bytes;
}

template <class K, class V, bool large>
static onesweep_layout lay_out(const wi_sort_args *a) {
    const size_t tile = wi_tile<K, V, large>::keys;
    const size_t tiles = (a->n + tile - 1) / tile, most = wi_portion_keys / tile;
    onesweep_layout l = {};
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
static wi_pass<K, V> pass_of(const wi_sort_args *a, const onesweep_layout *l,
                             unsigned char *memory) {
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
    return is_in_place(a) ? 1 : wi_short_ties;
}

template <class K>
static weft_status launch_counts(weft_context *ctx, const wi_sort_args *a, const onesweep_layout *l,
                                 unsigned char *memory) {
    wi_count_args<K> c = {};
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
    c.spends = a->spends;
    c.maps = c.map.changes();
    const size_t bins = (size_t)l->passes * wi_digits * sizeof(uint32_t);
    const size_t room = ctx->gpu->shared_optin - wi_count_static_shared;
    for (c.copy_bits = 5; bins << c.copy_bits > room; c.copy_bits--)
        ;
    const size_t per_block = (size_t)wi_count_threads * wi_count_vectors * wi_vector<K>::count;
    const size_t needed = (a->n + per_block - 1) / per_block;
    const size_t fill = (size_t)ctx->gpu->multiprocessors;
    const unsigned blocks = (unsigned)(needed < fill ? needed : fill);
    if (wi_sort_whole(a) && c.copy_bits == wi_whole_copy_bits<K>)
        return WEFT_LAUNCH((wi_count_digits<K, true>), ctx, blocks, wi_count_threads,
                           bins << c.copy_bits, c);
    return WEFT_LAUNCH((wi_count_digits<K, false>), ctx, blocks, wi_count_threads,
                       bins << c.copy_bits, c);
}

template <class K, class V, bool large>
static weft_status launch_passes(weft_context *ctx, const wi_sort_args *a, const onesweep_layout *l,
                                 unsigned char *memory) {
    using tile = wi_tile<K, V, large>;
    wi_pass<K, V> p = pass_of<K, V>(a, l, memory);
    uint64_t *begins = (uint64_t *)(memory + l->begins);
    uint32_t *next_tile = (uint32_t *)(memory + l->next_tile);
    weft_status status = WEFT_OK;
    for (p.pass = 0; p.pass < l->passes; p.pass++) {
        p.shift = a->first_bit + (unsigned)p.pass * wi_digit_bits;
        p.mask = wi_digit_mask(p.shift, a->end_bit);
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
                       finish_threads, 0, p, ties_of(a) == wi_short_ties);
}

template <class K, class V, bool large>
static weft_status run(weft_context *ctx, const wi_sort_args *a) {
    const onesweep_layout l = lay_out<K, V, large>(a);
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
