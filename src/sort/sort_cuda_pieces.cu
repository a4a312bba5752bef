/* SPDX-License-Identifier: Apache-2.0 */
/* The steps on one GPU of a sort by ranges that are first digits: partitioning the elements, and
 * sorting many ranges at once by the digits behind. */
#include "cuda/launch.cuh"
#include "sort/sort_pieces.cuh"
#include "sort/sort_ranges.h"

WI_LIMIT(unsigned, wi_first_digit_bits, wi_digit_bits)
WI_LIMIT(double, wi_first_digit_most, 3) /* so that half of the digits may be missing */
WI_LIMIT(uint64_t, wi_first_digit_from, (uint64_t)1 << 27) /* below, copies are too short */

wi_sort_digit wi_sort_first_digit(void) {
    return {wi_first_digit_bits, wi_first_digit_most, wi_first_digit_from};
}

/* Memory in parts that begin at lines, one behind the other. */
static size_t part(size_t *bytes, size_t of_part) {
    const size_t at = *bytes;
    *bytes += (of_part + 255) / 256 * 256;
    return at;
}

/* The offsets of a call's temporary memory. The first `zeros` bytes must be zero at first. */
struct piece_layout {
    size_t status, tickets, counts, zeros, begins, ends, pieces, keys, values, bytes;
};

/* What a call does: passes over pieces. */
struct piece_work {
    int count, passes;
    wi_placed_piece *piece; /* host memory */
    uint64_t tiles, longest, n;
    unsigned char *memory; /* of the device */
    piece_layout at;
};

/* Where pieces lie. In spare memory they lie one behind the other. */
static void place_pieces(piece_work *w, wi_placed_piece *placed, const wi_sort_piece *pieces,
                         int count, size_t of_tile) {
    w->count = count;
    w->piece = placed;
    for (int k = 0; k < count; k++) {
        const wi_sort_piece *const p = &pieces[k];
        placed[k] = {{}, p->n, w->tiles};
        placed[k].at[WI_SORT_IN] = p->from;
        placed[k].at[WI_SORT_OUT] = p->to;
        placed[k].at[WI_SORT_SPARE] = w->n;
        w->n += p->n;
        w->tiles += (p->n + of_tile - 1) / of_tile;
        w->longest = p->n > w->longest ? p->n : w->longest;
    }
}

/* Only if it `sorts` are there counts, and room for the elements between passes. */
template <class K, class V>
static void lay_out(piece_work *w, bool sorts) {
    const size_t passes = (size_t)w->passes, pieces = (size_t)w->count;
    const size_t digits = passes * pieces * wi_digits;
    piece_layout *const l = &w->at;
    size_t bytes = 0;
    l->status = part(&bytes, w->tiles * wi_digits * sizeof(uint32_t));
    l->tickets = part(&bytes, passes * pieces * sizeof(uint32_t));
    l->counts = part(&bytes, sorts ? digits * sizeof(uint64_t) : 0);
    l->zeros = bytes;
    l->begins = part(&bytes, digits * sizeof(uint64_t));
    l->ends = part(&bytes, wi_digits * sizeof(uint64_t));
    l->pieces = part(&bytes, pieces * sizeof(wi_placed_piece));
    l->keys = part(&bytes, sorts ? w->n * sizeof(K) : 0);
    l->values = part(&bytes, sorts && wi_has_values<V> ? w->n * sizeof(V) : 0);
    l->bytes = bytes;
}

static weft_status send(weft_context *ctx, void *to, const void *from, size_t bytes) {
    return wi_cuda(ctx, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, ctx->gpu->stream),
                   "copying a table to the device");
}

/* Takes memory, and sends the pieces there. */
static weft_status begin(weft_context *ctx, piece_work *w) {
    void *memory;
    weft_status status = wi_gpu_alloc(ctx, &memory, w->at.bytes);
    if (status != WEFT_OK)
        return status;
    w->memory = (unsigned char *)memory;
    status = wi_cuda(ctx, cudaMemsetAsync(memory, 0, w->at.zeros, ctx->gpu->stream),
                     "cudaMemsetAsync: zeroing the counts of a sort");
    if (status == WEFT_OK)
        status = send(ctx, w->memory + w->at.pieces, w->piece, (size_t)w->count * sizeof *w->piece);
    if (status != WEFT_OK)
        wi_gpu_free(ctx, memory);
    return status;
}

static weft_status end(weft_context *ctx, const piece_work *w, weft_status status) {
    const weft_status freed = wi_gpu_free(ctx, w->memory);
    return status != WEFT_OK ? status : freed;
}

template <class K, class V>
static wi_piece_pass<K, V> pass_of(const piece_work *w, const wi_sort_args *a) {
    wi_piece_pass<K, V> p = {};
    p.map = wi_key_map_of<K>(a->type, a->descending);
    p.maps = p.map.changes();
    p.status = (uint32_t *)(w->memory + w->at.status);
    p.portions = 1;
    p.minus_one = -1;
    p.pieces = (const wi_placed_piece *)(w->memory + w->at.pieces);
    return p;
}

/* Queues pass number `place`. */
template <class K, class V>
static weft_status launch_pass(weft_context *ctx, const piece_work *w, int place,
                               wi_piece_pass<K, V> p) {
    using tile = wi_tile<K, V, true>;
    const size_t before = (size_t)place * (size_t)w->count;
    p.step.place = (uint8_t)place;
    p.step.first = place == 0;
    p.step.last = place == w->passes - 1;
    p.begins = (const uint64_t *)(w->memory + w->at.begins) + before * wi_digits;
    p.next_tile = (uint32_t *)(w->memory + w->at.tickets) + before;
    p.tiles = (unsigned)((w->longest + tile::keys - 1) / tile::keys);
    const unsigned blocks = p.tiles * (unsigned)w->count;
    return WEFT_LAUNCH((sort_pieces<K, V>), ctx, blocks, tile::threads, tile::shared_bytes, p);
}

/* ---- partitioning ---- */

template <class K, class V>
static weft_status deal_by_digit(weft_context *ctx, const wi_sort_args *a, uint64_t position,
                                 const wi_sort_rooms *rooms, uint64_t *ends) {
    const wi_sort_piece all = {0, a->n, 0};
    wi_placed_piece whole;
    piece_work w = {};
    w.passes = 1;
    place_pieces(&w, &whole, &all, 1, wi_tile<K, V, true>::keys);
    lay_out<K, V>(&w, false);
    weft_status status = begin(ctx, &w);
    if (status != WEFT_OK)
        return status;
    status = send(ctx, w.memory + w.at.begins, rooms->begin, sizeof rooms->begin);
    if (status == WEFT_OK)
        status = send(ctx, w.memory + w.at.ends, rooms->end, sizeof rooms->end);
    wi_piece_pass<K, V> p = pass_of<K, V>(&w, a);
    p.keys[WI_SORT_IN] = (K *)a->x;
    p.keys[WI_SORT_OUT] = (K *)rooms->keys;
    p.values[WI_SORT_IN] = (V *)a->values;
    p.values[WI_SORT_OUT] = (V *)rooms->values;
    p.keep_keys = true;
    p.shift = 8 * (unsigned)sizeof(K) - wi_first_digit_bits;
    p.mask = (1u << wi_first_digit_bits) - 1;
    p.from = WI_SORT_IN;
    p.ends = (const uint64_t *)(w.memory + w.at.ends);
    p.next_begins = ends;
    p.first_position = position;
    if (status == WEFT_OK)
        status = launch_pass(ctx, &w, 0, p);
    return end(ctx, &w, status);
}

/* ---- sorting ---- */

/* Counts digits, and finds where each begins. */
template <class K>
static weft_status launch_counts(weft_context *ctx, const piece_work *w, const wi_sort_args *a) {
    wi_count_args<K> c = {};
    const wi_placed_piece *const pieces = (const wi_placed_piece *)(w->memory + w->at.pieces);
    c.x = (const K *)a->x;
    c.map = wi_key_map_of<K>(a->type, a->descending);
    c.maps = c.map.changes();
    c.end_bit = 8 * (unsigned)sizeof(K) - wi_first_digit_bits;
    c.passes = w->passes;
    c.counts = (unsigned long long *)(w->memory + w->at.counts);
    const size_t bins = (size_t)w->passes * wi_digits * sizeof(uint32_t);
    const size_t room = ctx->gpu->shared_optin - wi_count_static_shared;
    for (c.copy_bits = wi_whole_copy_bits<K>; bins << c.copy_bits > room; c.copy_bits--)
        ;
    const bool whole = wi_first_digit_bits == wi_digit_bits && c.copy_bits == wi_whole_copy_bits<K>;
    const unsigned chunks = (unsigned)((w->longest + wi_piece_chunk - 1) / wi_piece_chunk);
    const unsigned blocks = chunks * (unsigned)w->count;
    const weft_status status =
        whole ? WEFT_LAUNCH((count_pieces<K, true>), ctx, blocks, wi_count_threads,
                            bins << c.copy_bits, c, pieces, chunks)
              : WEFT_LAUNCH((count_pieces<K, false>), ctx, blocks, wi_count_threads,
                            bins << c.copy_bits, c, pieces, chunks);
    return status != WEFT_OK
               ? status
               : WEFT_LAUNCH(begin_pieces, ctx, (unsigned)w->count, 32 * (unsigned)w->passes, 0,
                             c.counts, pieces, w->passes, (uint64_t *)(w->memory + w->at.begins));
}

template <class K, class V>
static weft_status launch_passes(weft_context *ctx, const piece_work *w, const wi_sort_args *a) {
    K *const keys[] = {(K *)a->x, (K *)a->y, (K *)(w->memory + w->at.keys)};
    V *const values[] = {(V *)a->values, (V *)a->values_out, (V *)(w->memory + w->at.values)};
    const unsigned end_bit = 8 * (unsigned)sizeof(K) - wi_first_digit_bits;
    wi_piece_pass<K, V> p = pass_of<K, V>(w, a);
    p.keep_keys = a->y != NULL;
    weft_status status = WEFT_OK;
    for (int place = 0; place < w->passes && status == WEFT_OK; place++) {
        const int to = wi_pass_target(w->passes, place, false, true);
        p.keys[WI_SORT_IN] = keys[p.from];
        p.keys[WI_SORT_OUT] = keys[to];
        p.values[WI_SORT_IN] = values[p.from];
        p.values[WI_SORT_OUT] = values[to];
        p.shift = (unsigned)place * wi_digit_bits;
        p.mask = wi_digit_mask(p.shift, end_bit);
        status = launch_pass(ctx, w, place, p);
        p.from = to;
    }
    return status;
}

template <class K, class V>
static weft_status sort_all(weft_context *ctx, const wi_sort_args *a, const wi_sort_piece *pieces,
                            int count) {
    wi_placed_piece placed[WI_SORT_MOST_DIGITS];
    const unsigned bits = 8 * (unsigned)sizeof(K) - wi_first_digit_bits;
    piece_work w = {};
    w.passes = (int)((bits + wi_digit_bits - 1) / wi_digit_bits);
    place_pieces(&w, placed, pieces, count, wi_tile<K, V, true>::keys);
    if (w.n == 0)
        return WEFT_OK;
    lay_out<K, V>(&w, true);
    weft_status status = begin(ctx, &w);
    if (status != WEFT_OK)
        return status;
    status = launch_counts<K>(ctx, &w, a);
    if (status == WEFT_OK)
        status = launch_passes<K, V>(ctx, &w, a);
    return end(ctx, &w, status);
}

/* ---- the calls ---- */

weft_status wi_sort_digits_deal(weft_context *ctx, const wi_sort_args *a, uint64_t position,
                                const wi_sort_rooms *rooms, uint64_t *ends) {
    if (a->n == 0)
        return send(ctx, ends, rooms->begin, sizeof rooms->begin);
    return wi_with_wide_keys(a, [=](auto keys, auto values) {
        return deal_by_digit<typename decltype(keys)::type, typename decltype(values)::type>(
            ctx, a, position, rooms, ends);
    });
}

weft_status wi_sort_pieces(weft_context *ctx, const wi_sort_args *a, const wi_sort_piece *pieces,
                           int count) {
    return wi_with_wide_keys(a, [=](auto keys, auto values) {
        return sort_all<typename decltype(keys)::type, typename decltype(values)::type>(
            ctx, a, pieces, count);
    });
}
