/* SPDX-License-Identifier: Apache-2.0 */
/* Records, by merge sort. Their fields become words of ordered bits, as many fields in a word as
 * fit. Pairs of a record's first word and its number are sorted; the other words are read only if
 * first words are equal. The records move once, at the end, unless only their positions are wanted.
 */
#include "sort/sort_merge.cuh"

struct alignas(16) numbered {
    uint64_t word, record;
};

static constexpr uint64_t no_record = ~(uint64_t)0;

struct record_order {
    using Key = numbered;
    static constexpr bool is_number = false;
    const uint64_t *rest; /* word w + 1 of record i at rest[w n + i] */
    size_t n, words;      /* words besides the first */

    __device__ bool less(const numbered &a, const numbered &b) const {
        if (a.word != b.word || words == 0)
            return a.word < b.word;
        if (a.record == no_record || b.record == no_record)
            return a.record != no_record && b.record == no_record;
        for (size_t w = 0; w < words; w++) {
            const uint64_t of_a = rest[w * n + a.record], of_b = rest[w * n + b.record];
            if (of_a != of_b)
                return of_a < of_b;
        }
        return false;
    }
    __device__ numbered load(const numbered &x) const {
        return x;
    }
    __device__ numbered store(const numbered &x) const {
        return x;
    }
    __device__ numbered last() const {
        return {~(uint64_t)0, no_record};
    }
};

constexpr unsigned threads = 256;

static unsigned blocks_of(size_t n) {
    return (unsigned)((n + threads - 1) / threads);
}

/* Where a word of each record is: consecutive records are `stride` words apart. */
struct column {
    uint64_t *first;
    size_t stride;
};

/* Appends a field to a word: word = word * 2^bits + key. */
template <class U>
__global__ void append_field(const unsigned char *field, size_t record_bytes, size_t n,
                             wi_key_map<U> map, bool is_first, column word) {
    const size_t i = (size_t)blockIdx.x * threads + threadIdx.x;
    if (i >= n)
        return;
    U bits = 0;
    for (size_t b = 0; b < sizeof(U); b++) /* unaligned, little endian */
        bits = (U)(bits | (U)((U)field[i * record_bytes + b] << (8 * b)));
    uint64_t so_far = 0;
    if constexpr (sizeof(U) < sizeof(uint64_t))
        so_far = is_first ? 0 : word.first[i * word.stride] << (8 * sizeof(U));
    word.first[i * word.stride] = so_far | map.key(bits);
}

__global__ void number_records(numbered *items, size_t n) {
    const size_t i = (size_t)blockIdx.x * threads + threadIdx.x;
    if (i < n)
        items[i].record = i;
}

template <class Index>
__global__ void list_records(const numbered *items, size_t n, Index *records) {
    const size_t i = (size_t)blockIdx.x * threads + threadIdx.x;
    if (i < n)
        records[i] = (Index)items[i].record;
}

/* How many words the fields fill; no field is split. */
static size_t words_of(const wi_records_args *args) {
    size_t words = 1, used = 0;
    for (size_t f = 0; f < args->n_fields; f++) {
        const size_t size = weft_type_size(args->fields[f].type);
        if (used + size > sizeof(uint64_t)) {
            words++;
            used = 0;
        }
        used += size;
    }
    return words;
}

/* Temporary memory, as offsets in one block. The list of records reuses the memory of spare items,
 * and the copy for sorting records in place that of the other words. */
struct records_layout {
    size_t items, spare, splits, rest, bytes;
};

static records_layout plan(const wi_records_args *args) {
    const size_t n = args->n, tile = wi_merge_tile<numbered, wi_no_value>;
    const size_t rest = (words_of(args) - 1) * n * sizeof(uint64_t);
    const size_t copy = args->out == args->records ? n * args->record_bytes : 0;
    records_layout l;
    l.items = 0;
    l.spare = n * sizeof(numbered);
    l.splits = l.spare + n * sizeof(numbered);
    l.rest = l.splits + ((n + tile - 1) / tile * sizeof(uint64_t) + 15) / 16 * 16;
    l.bytes = l.rest + (rest > copy ? rest : copy);
    return l;
}

static weft_status make_words(weft_context *ctx, const wi_records_args *args, numbered *items,
                              uint64_t *rest) {
    size_t used = 0, word = 0;
    weft_status status = WEFT_OK;
    for (size_t f = 0; f < args->n_fields && status == WEFT_OK; f++) {
        const weft_field *const field = &args->fields[f];
        const size_t size = weft_type_size(field->type);
        if (used + size > sizeof(uint64_t)) {
            word++;
            used = 0;
        }
        const column to = word == 0 ? column{&items->word, sizeof *items / sizeof(uint64_t)}
                                    : column{rest + (word - 1) * args->n, 1};
        status = wi_with_size(size, [=](auto tag) {
            using U = typename decltype(tag)::type;
            return WEFT_LAUNCH(
                append_field<U>, ctx, blocks_of(args->n), threads, 0,
                (const unsigned char *)args->records + field->offset, args->record_bytes, args->n,
                wi_key_map_of<U>(field->type, field->order == WEFT_DESCENDING), used == 0, to);
        });
        used += size;
    }
    return status;
}

/* out = the records in the order of the items. */
static weft_status move_records(weft_context *ctx, const wi_records_args *args,
                                const numbered *items, uint64_t *list, void *copy) {
    weft_status status = WEFT_LAUNCH(list_records<uint64_t>, ctx, blocks_of(args->n), threads, 0,
                                     items, args->n, list);
    const void *from = args->records;
    if (status == WEFT_OK && args->out == args->records) {
        status = wi_gpu_copy(ctx, copy, from, args->n * args->record_bytes);
        from = copy;
    }
    const wi_sort_gather_args gather = {args->n, args->record_bytes, sizeof *list, from,
                                        list,    args->out};
    return status == WEFT_OK ? wi_sort_gather_each(ctx, &gather) : status;
}

static weft_status list_positions(weft_context *ctx, const wi_records_args *args,
                                  const numbered *items) {
    const unsigned blocks = blocks_of(args->n);
    if (args->index_bytes == sizeof(uint32_t))
        return WEFT_LAUNCH(list_records<uint32_t>, ctx, blocks, threads, 0, items, args->n,
                           (uint32_t *)args->indices);
    return WEFT_LAUNCH(list_records<uint64_t>, ctx, blocks, threads, 0, items, args->n,
                       (uint64_t *)args->indices);
}

static weft_status sort_records(weft_context *ctx, const wi_records_args *args, char *memory,
                                const records_layout &l) {
    numbered *const items = (numbered *)(memory + l.items);
    numbered *const spare = (numbered *)(memory + l.spare);
    uint64_t *const rest = (uint64_t *)(memory + l.rest);
    weft_status status = make_words(ctx, args, items, rest);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(number_records, ctx, blocks_of(args->n), threads, 0, items, args->n);
    if (status != WEFT_OK)
        return status;
    const record_order order = {rest, args->n, words_of(args) - 1};
    const wi_merge_homes<numbered, wi_no_value> homes = {
        {{items, NULL}, {spare, NULL}}, {items, NULL}, (uint64_t *)(memory + l.splits)};
    status = wi_merge_sort<record_order, wi_no_value>(ctx, {items, NULL, 0}, args->n, homes, order,
                                                      order, order, order);
    if (status != WEFT_OK)
        return status;
    return args->index_bytes > 0 ? list_positions(ctx, args, items)
                                 : move_records(ctx, args, items, (uint64_t *)spare, rest);
}

weft_status wi_sort_records_by_fields(weft_context *ctx, const void *arguments) {
    const wi_records_args *const args = (const wi_records_args *)arguments;
    const records_layout l = plan(args);
    if (args->bytes) {
        *args->bytes += l.bytes;
        return WEFT_OK;
    }
    void *memory = NULL;
    weft_status status = wi_gpu_alloc(ctx, &memory, l.bytes);
    if (status != WEFT_OK)
        return status;
    status = sort_records(ctx, args, (char *)memory, l);
    const weft_status freed = wi_gpu_free(ctx, memory);
    return status == WEFT_OK ? freed : status;
}
