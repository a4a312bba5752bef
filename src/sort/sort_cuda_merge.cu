/* SPDX-License-Identifier: Apache-2.0 */
/* Merge sort, and weft_merge: tiles sorted in shared memory, then runs merged two by two. */
#include "sort/sort_merge.cuh"

static size_t tiles_of(size_t n, size_t tile) {
    return (n + tile - 1) / tile;
}

/* ---- merge sort ---- */

/* Few keys are sorted by a block whose threads have few each: what counts is how long one takes. */
constexpr int few_items = 8;
constexpr size_t few = (size_t)wi_merge_threads * few_items;

template <class U, class V>
static weft_status merge_sort(weft_context *ctx, const wi_sort_args *args) {
    const size_t n = args->n, tile = wi_merge_tile<U, V>;
    const bool one_tile = n <= tile;
    size_t bytes = 0;
    const size_t keys = wi_take(&bytes, one_tile ? 0 : n * sizeof(U));
    const size_t own_keys = wi_take(&bytes, one_tile || args->y ? 0 : n * sizeof(U));
    const size_t values = wi_take(&bytes, one_tile ? 0 : n * args->value_bytes);
    const size_t splits = wi_take(&bytes, one_tile ? 0 : tiles_of(n, tile) * sizeof(uint64_t));
    if (args->bytes) {
        *args->bytes += bytes;
        return WEFT_OK;
    }
    void *block = NULL;
    weft_status status = bytes ? wi_gpu_alloc(ctx, &block, bytes) : WEFT_OK;
    if (status != WEFT_OK)
        return status;
    char *const memory = (char *)block;
    V *const values_out = args->value_bytes ? (V *)args->values_out : NULL;
    const wi_merge_homes<U, V> homes = {
        {{args->y ? (U *)args->y : (U *)(memory + own_keys), values_out},
         {(U *)(memory + keys), args->value_bytes ? (V *)(memory + values) : NULL}},
        {(U *)args->y, values_out},
        (uint64_t *)(memory + splits)};
    const auto order = [=](bool maps_in, bool maps_out) {
        const U mask = (U)((U) ~(U)0 >> (8 * sizeof(U) - (args->end_bit - args->first_bit)));
        return wi_plain_order<U>{wi_key_map_of<U>(args->type, args->descending), maps_in, maps_out,
                                 args->first_bit, mask};
    };
    const wi_stretch<U, V> x = {(const U *)args->x, (const V *)args->values, 0};
    static_assert(few <= wi_merge_tile<U, V> || wi_merge_has_values<V>, "few keys are one tile");
    if constexpr (!wi_merge_has_values<V>)
        if (n <= few)
            return WEFT_LAUNCH((wi_sort_tiles<wi_plain_order<U>, V, wi_merge_threads, few_items>),
                               ctx, 1, wi_merge_threads, 0, x, n, homes.out, order(true, true));
    status =
        wi_merge_sort<wi_plain_order<U>, V>(ctx, x, n, homes, order(true, true), order(true, false),
                                            order(false, false), order(false, true));
    const weft_status freed = wi_gpu_free(ctx, block);
    return status == WEFT_OK ? freed : status;
}

static weft_status sort_whole(weft_context *ctx, const wi_sort_args *args) {
    return wi_with_sort_sizes(
        weft_type_size(args->type), args->value_bytes, [=](auto key, auto value) {
            return merge_sort<typename decltype(key)::type, typename decltype(value)::type>(ctx,
                                                                                            args);
        });
}

/* Temporary arrays of a sort by some of the bits, as offsets in one block: positions (unless they
 * are the values asked for) and copies of outputs that are also inputs. */
struct bits_layout {
    bool own_positions;
    size_t index_bytes, positions, keys, values, bytes;
};

static bits_layout plan_bits(const wi_sort_args *args) {
    bits_layout l = {};
    l.own_positions = args->value_bytes == 0 || args->values;
    l.index_bytes = !l.own_positions        ? args->value_bytes
                    : args->n <= UINT32_MAX ? sizeof(uint32_t)
                                            : sizeof(uint64_t);
    l.positions = wi_take(&l.bytes, l.own_positions ? args->n * l.index_bytes : 0);
    l.keys = wi_take(&l.bytes, args->y == args->x ? args->n * weft_type_size(args->type) : 0);
    l.values =
        wi_take(&l.bytes,
                args->values && args->values == args->values_out ? args->n * args->value_bytes : 0);
    return l;
}

/* Moves values as `g` says; by way of `copy` if the output is the input. */
static weft_status move(weft_context *ctx, wi_sort_gather_args g, void *copy) {
    weft_status status = WEFT_OK;
    if (g.values_out == g.values) {
        status = wi_gpu_copy(ctx, copy, g.values, g.n * g.value_bytes);
        g.values = copy;
    }
    return status == WEFT_OK ? wi_sort_gather_each(ctx, &g) : status;
}

/* Sorts by some of the bits: keys made of these bits are sorted with their positions, and then all
 * elements move. */
static weft_status sort_by_bits(weft_context *ctx, const wi_sort_args *args, const bits_layout &l,
                                char *memory) {
    const size_t n = args->n, size = weft_type_size(args->type);
    wi_sort_args part = *args;
    part.y = NULL;
    part.value_bytes = l.index_bytes;
    part.values = NULL;
    part.values_out = l.own_positions ? memory + l.positions : args->values_out;
    weft_status status = sort_whole(ctx, &part);
    if (status != WEFT_OK || args->bytes)
        return status;
    if (args->y)
        status =
            move(ctx, {n, size, l.index_bytes, args->x, part.values_out, args->y}, memory + l.keys);
    if (status == WEFT_OK && args->values)
        status = move(
            ctx,
            {n, args->value_bytes, l.index_bytes, args->values, part.values_out, args->values_out},
            memory + l.values);
    return status;
}

weft_status wi_sort_merge(weft_context *ctx, const void *arguments) {
    const wi_sort_args *args = (const wi_sort_args *)arguments;
    if (wi_sort_whole(args))
        return sort_whole(ctx, args);
    const bits_layout l = plan_bits(args);
    if (args->bytes) {
        *args->bytes += l.bytes;
        return sort_by_bits(ctx, args, l, NULL);
    }
    void *memory = NULL;
    weft_status status = l.bytes ? wi_gpu_alloc(ctx, &memory, l.bytes) : WEFT_OK;
    if (status != WEFT_OK)
        return status;
    status = sort_by_bits(ctx, args, l, (char *)memory);
    const weft_status freed = wi_gpu_free(ctx, memory);
    return status == WEFT_OK ? freed : status;
}

/* ---- merge ---- */

/* out[i] = element positions[i] of a[0..na) followed by b; elements have `bytes` bytes. */
template <class Word>
__global__ void take_values(const Word *a, size_t na, const Word *b, const uint64_t *positions,
                            size_t n, size_t words, Word *out) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n * words; i += stride) {
        const uint64_t place = positions[i / words];
        out[i] = place < na ? a[place * words + i % words] : b[(place - na) * words + i % words];
    }
}

/* Do the arrays of values consist of aligned words of `bytes` bytes? */
static bool fit_words(const wi_merge_args *args, size_t bytes) {
    const uintptr_t all = (uintptr_t)args->a_values | (uintptr_t)args->b_values |
                          (uintptr_t)args->values_out | args->value_bytes;
    return all % bytes == 0;
}

static weft_status take_by_position(weft_context *ctx, const wi_merge_args *args,
                                    const uint64_t *positions) {
    constexpr unsigned threads = 256;
    const size_t n = args->na + args->nb;
    const auto launch = [=](auto tag) {
        using Word = typename decltype(tag)::type;
        const size_t words = args->value_bytes / sizeof(Word);
        size_t blocks;
        const weft_status status = wi_resident_blocks(ctx, take_values<Word>, threads, 0, &blocks);
        if (status != WEFT_OK)
            return status;
        return WEFT_LAUNCH(take_values<Word>, ctx, (unsigned)blocks, threads, 0,
                           (const Word *)args->a_values, args->na, (const Word *)args->b_values,
                           positions, n, words, (Word *)args->values_out);
    };
    return fit_words(args, sizeof(uint32_t)) ? launch(wi_tag<uint32_t>{})
                                             : launch(wi_tag<uint8_t>{});
}

/* The outputs of one merge, and the room for its splits. */
template <class U, class V>
static weft_status merge_two(weft_context *ctx, const wi_merge_args *args, V *values_out,
                             bool by_position, uint64_t *splits) {
    const V *const a_values = by_position ? NULL : (const V *)args->a_values;
    const V *const b_values = by_position ? NULL : (const V *)args->b_values;
    /* kernels count back from b, which may have no address if it is empty */
    const U *const a = (const U *)args->a, *const b = args->nb > 0 ? (const U *)args->b : a;
    const wi_merge_io<U, V> io = {.a = {a, a_values, 0},
                                  .b = {b, b_values, args->na},
                                  .out = {(U *)args->out, values_out},
                                  .run_a = args->na,
                                  .run_b = args->nb,
                                  .n = args->na + args->nb,
                                  .first_tile = 0};
    const wi_key_map<U> map = wi_key_map_of<U>(args->type, args->descending);
    const wi_plain_order<U> order = {map, map.changes(), map.changes(), 0, (U) ~(U)0};
    return wi_merge_runs<wi_plain_order<U>, V>(ctx, io, order, splits);
}

/* Values other than words of 4 or 8 bytes are gathered afterwards, by their positions in a and b.
 */
weft_status wi_merge_paths(weft_context *ctx, const void *arguments) {
    const wi_merge_args *const args = (const wi_merge_args *)arguments;
    const size_t n = args->na + args->nb, width = args->value_bytes;
    const bool by_position = width != 0 && !((width == 4 || width == 8) && fit_words(args, width));
    const size_t value_bytes = by_position ? sizeof(uint64_t) : width;
    return wi_with_sort_sizes(weft_type_size(args->type), value_bytes, [=](auto key, auto value) {
        using U = typename decltype(key)::type;
        using V = typename decltype(value)::type;
        size_t bytes = 0;
        const size_t splits = wi_take(&bytes, tiles_of(n, wi_merge_tile<U, V>) * sizeof(uint64_t));
        const size_t positions = wi_take(&bytes, by_position ? n * sizeof(uint64_t) : 0);
        if (args->bytes) {
            *args->bytes += bytes;
            return WEFT_OK;
        }
        void *block = NULL;
        weft_status status = wi_gpu_alloc(ctx, &block, bytes);
        if (status != WEFT_OK)
            return status;
        char *const memory = (char *)block;
        V *const out = by_position ? (V *)(memory + positions)
                       : width     ? (V *)args->values_out
                                   : NULL;
        status = merge_two<U, V>(ctx, args, out, by_position, (uint64_t *)(memory + splits));
        if (status == WEFT_OK && by_position)
            status = take_by_position(ctx, args, (const uint64_t *)out);
        const weft_status freed = wi_gpu_free(ctx, block);
        return status == WEFT_OK ? freed : status;
    });
}
